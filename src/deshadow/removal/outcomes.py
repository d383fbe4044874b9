"""What became of photos, as it is told: a line each, and a report."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from deshadow import __version__
from deshadow.photo import Photo, format_of, read
from deshadow.photo.formats import FORMATS
from deshadow.removal.jobs import STREAM

if TYPE_CHECKING:
    from deshadow.removal.options import RemovalOptions

LOSSY_NOTE = "elsewhere {format} differs by {mean:.2f} of 255 on average, {most} at most"


@dataclass(frozen=True, slots=True)
class Residual:
    """What packing changed where nothing was removed, in code values of 255."""

    mean: float
    most: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one photo."""

    photo: str
    state: str
    """done, no shadow, skipped or failed."""
    outputs: tuple[str, ...] = ()
    error: str = ""
    width: int = 0
    height: int = 0
    format: str = ""
    shadow_share: float = 0.0
    """Of the photo's pixels, that lie in the mask which was used."""
    touched_share: float = 0.0
    """Of the photo's pixels, whose weight is not 0."""
    residual: Residual | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


def residual(photo: Photo, packed: bytes, kind: str, weight: NDArray[np.float32]) -> Residual | None:
    """What the written file differs by where the weight is 0; None for what keeps every bit."""
    if FORMATS[kind].lossless:
        return None
    again = read(packed)
    if again.codes.shape != photo.codes.shape:  # grey or CMYK, in a format that has none
        return None
    scale = np.float32(255 / photo.top)
    outside = weight == 0
    if not outside.any():
        return None
    total, most = 0.0, 0.0
    for rows in np.array_split(np.arange(photo.height), max(1, photo.codes.size >> 20)):
        part = slice(rows[0], rows[-1] + 1)
        before, after = photo.codes[part][outside[part]], again.codes[part][outside[part]]
        difference = np.abs(before * scale - after * np.float32(255 / again.top))
        total += float(difference.sum(dtype=np.float64))
        most = max(most, float(difference.max(initial=0)))
    return Residual(total / (int(outside.sum()) * photo.codes.shape[2]), most)


def say(outcome: Outcome, console: Console, errors: Console) -> None:
    """One line about a photo."""
    for note in outcome.notes:
        errors.print(f"deshadow: {outcome.photo}: {note}", highlight=False, markup=False)
    place = outcome.outputs[0] if outcome.outputs else ""
    match outcome.state:
        case "failed":
            named = "" if outcome.error.startswith(outcome.photo) else f"{outcome.photo}: "
            line = f"deshadow: {named}{' '.join(outcome.error.split())}"
            errors.print(line, highlight=False, markup=False)
            return
        case "skipped":
            line = f"{place}: exists already, left as it is"
        case "no shadow":
            line = f"{place}: no shadow found, so it is {outcome.photo} unchanged"
        case _:
            line = (
                f"{place}: {100 * outcome.touched_share:.0f} % of the photo relit in {outcome.seconds:.1f} s"
            )
            if outcome.residual:
                kind = format_of(Path(place)) if place != STREAM else outcome.format
                found = {"mean": outcome.residual.mean, "most": round(outcome.residual.most)}
                line += "; " + LOSSY_NOTE.format(format=kind, **found)
    console.print(line, highlight=False, markup=False)


def report_text(outcomes: Sequence[Outcome], options: "RemovalOptions") -> str:
    """The report as JSON: version, options, and an entry for each photo."""
    report: dict[str, Any] = {
        "version": __version__,
        "options": asdict(options),
        "photos": [asdict(outcome) for outcome in outcomes],
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"
