"""What happened to each photo of a batch, for messages and for the report."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deshadow import __version__
from deshadow.image.strips import for_each_strip
from deshadow.photo import Photo, read_photo
from deshadow.photo.formats import FORMATS
from deshadow.removal.options import RemovalOptions

PhotoState = Literal["done", "no shadow", "all excluded", "empty mask", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class CompressionLoss:
    """How much a lossy format changed the pixels that the removal did not change, in levels of 255."""

    mean: float
    most: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened to one photo."""

    photo: str
    state: PhotoState
    outputs: tuple[str, ...] = ()
    error: str = ""
    width: int = 0
    height: int = 0
    format: str = ""
    shadows: int = 0
    """Number of shadows that were found."""
    left_out: int = 0
    """Number of them that stay because they may be something else."""
    shadow_share: float = 0.0
    """Share of the photo's pixels in the mask that was used."""
    touched_share: float = 0.0
    """Share of the photo's pixels that the removal changed."""
    compression_loss: CompressionLoss | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """Sentences for the user, such as that only the first page was read."""


def describe_left_out(count: int) -> tuple[str, ...]:
    """The note about so many found shadows that stay; none if there are none."""
    if not count:
        return ()
    what, them = "1 dark area that may not be a shadow", "it"
    if count > 1:
        what, them = f"{count} dark areas that may not be shadows", "them"
    return (f"left out {what}; --sensitivity high removes {them} too",)


def find_changed(photo: Photo, result: Photo) -> NDArray[np.bool_]:
    """(H, W): the pixels whose code values differ."""
    changed = np.empty((photo.height, photo.width), bool)

    def compare(rows: slice) -> None:
        different = photo.codes[rows] != result.codes[rows]
        # Channel by channel, which is several times as fast as numpy's reduction over so short an axis.
        changed[rows] = different[..., 0]
        for channel in range(1, different.shape[2]):
            changed[rows] |= different[..., channel]

    for_each_strip(compare, photo.height, photo.width)
    return changed


def measure_compression_loss(
    photo: Photo, changed: NDArray[np.bool_], encoded: bytes, kind: str
) -> CompressionLoss | None:
    """How much an encoded result differs from the photo where the result itself does not.

    `changed` (H, W) is where it does. None for a lossless format.
    """
    if FORMATS[kind].lossless:
        return None
    again = read_photo(encoded)
    if again.codes.shape != photo.codes.shape:  # grey or CMYK was converted
        return None
    strips: list[tuple[int, int, int]] = []

    def compare(rows: slice) -> None:
        outside = ~changed[rows]
        before, after = photo.codes[rows], again.codes[rows]
        if again.top != photo.top:
            after = (after * (photo.top / again.top)).round().astype(before.dtype)
        difference = (np.maximum(before, after) - np.minimum(before, after)) * outside[..., None]
        strips.append((int(outside.sum()), int(difference.sum(dtype=np.int64)), int(difference.max())))

    for_each_strip(compare, photo.height, photo.width)
    counts, totals, largest = zip(*strips, strict=True)
    if not sum(counts):
        return None
    levels = 255 / photo.top
    return CompressionLoss(levels * sum(totals) / (sum(counts) * photo.codes.shape[2]), levels * max(largest))


def format_report(outcomes: Sequence[Outcome], options: RemovalOptions) -> str:
    """The report as JSON: version, options, and an entry for each photo."""
    report: dict[str, Any] = {
        "version": __version__,
        "options": asdict(options),
        "photos": [asdict(outcome) for outcome in outcomes],
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"
