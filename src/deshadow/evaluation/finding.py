"""A detector on a set: masks for the methods that are scored, and figures of its own."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from deshadow.data.pairs.find import Problem, Sample
from deshadow.evaluation.report.table import number
from deshadow.image.resize import SIDE, bicubic, nearest
from deshadow.metrics.detection import Confusion, confusion
from deshadow.metrics.pooling import mean, none_for_nan
from deshadow.nn.layout import detector_cost
from deshadow.runtime.backends import Detector
from deshadow.system.progress import track

Pixels = NDArray[np.uint8]
Find = Callable[[Pixels], Pixels]


@dataclass(frozen=True, slots=True)
class PictureFound:
    """What was found in one picture, at 256 × 256."""

    name: str
    split: str
    seconds: float
    pixels: Confusion


@dataclass(frozen=True, slots=True)
class Finding:
    """A detector's figures on a set."""

    parameters: int
    pictures: tuple[PictureFound, ...]
    problems: tuple[Problem, ...]

    @property
    def pixels(self) -> Confusion:
        """Of all pictures together."""
        return sum((each.pixels for each in self.pictures), Confusion())


def finder(detector: Detector) -> Find:
    """(H, W, 3) → (256, 256), 255 where the picture, resized, is more likely to lie in a shadow than not."""

    def find(picture: Pixels) -> Pixels:
        small = bicubic(picture, SIDE, SIDE).transpose(2, 0, 1)[None] / np.float32(127.5) - 1
        return np.where(detector(small)[0, 0] > 0.5, np.uint8(255), np.uint8(0))

    return find


def score_detector(detector: Detector, samples: Sequence[Sample]) -> Finding:
    """Find the shadows of all samples, and compare with their masks; a picture at a time."""
    find = finder(detector)
    pictures: list[PictureFound] = []
    problems: list[Problem] = []
    for sample in track(samples, "detector", len(samples)):
        try:
            picture, mask, _ = sample.load()
        except ValueError as error:
            problems.append(Problem(sample.name, str(error)))
            continue
        start = time.perf_counter()
        found = find(picture)
        seconds = time.perf_counter() - start
        pixels = confusion(found, nearest(mask, SIDE, SIDE))
        pictures.append(PictureFound(sample.name, sample.split, seconds, pixels))
    if not pictures:
        raise ValueError(f"nothing could be scored: {problems[0] if problems else 'the set is empty'}")
    return Finding(detector_cost(detector.config, SIDE, SIDE).parameters, tuple(pictures), tuple(problems))


def figures(finding: Finding) -> dict[str, Any]:
    """The figures of the whole set, for people and for JSON; percent but for the overlaps."""
    pixels = finding.pixels
    times = sorted(each.seconds for each in finding.pictures)
    return {
        **_rates(pixels),
        "iou_per_picture": mean(each.pixels.iou for each in finding.pictures),
        "seconds_per_picture": times[len(times) // 2],
        "parameters": finding.parameters,
    }


def as_json(finding: Finding, about: dict[str, Any]) -> str:
    """Everything that was measured."""
    found = {
        **about,
        "images": len(finding.pictures),
        **none_for_nan(figures(finding)),
        "pictures": [
            {"name": each.name, "split": each.split, "seconds": round(each.seconds, 4)}
            | none_for_nan(_rates(each.pixels))
            for each in finding.pictures
        ],
        "problems": [asdict(problem) for problem in finding.problems],
    }
    return json.dumps(found, indent=1, allow_nan=False) + "\n"


def show(finding: Finding) -> None:
    """Print the figures, and what was left out."""
    console, found = Console(highlight=False, soft_wrap=True), figures(finding)
    table = Table(title="256×256, threshold 0.5", box=None, padding=(0, 1, 0, 0), title_justify="left")
    columns = {
        "IoU": number(found["iou"], 3),
        "IoU per\npicture": number(found["iou_per_picture"], 3),
        "BER\n(%)": number(found["balanced_error_rate"]),
        "false neg.\n(%)": number(found["false_negative_rate"]),
        "false pos.\n(%)": number(found["false_positive_rate"]),
        "params\n(M)": f"{finding.parameters / 1e6:.2f}",
        "time\n(s)": number(found["seconds_per_picture"], 3),
    }
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(*columns.values())
    console.print(table)
    console.print()
    count = len(finding.pictures)
    left_out = f", {len(finding.problems):,} left out" if finding.problems else ""
    console.print(f"{count:,} picture{'s' * (count != 1)}{left_out}")
    for problem in finding.problems:
        console.print(f"problem: {problem}", markup=False)


def _rates(pixels: Confusion) -> dict[str, float]:
    return {
        "iou": pixels.iou,
        "balanced_error_rate": pixels.balanced_error_rate,
        "false_negative_rate": pixels.false_negative_rate,
        "false_positive_rate": pixels.false_positive_rate,
    }
