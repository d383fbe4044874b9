"""Long photos, such as panoramas, in overlapping parts of ordinary shape.

The networks see a photo downscaled until its longer side fits, so that of a long photo only a thin line would
be left. Each part is processed like a photo, and the parts are blended where they overlap.
"""

from dataclasses import dataclass

import numpy as np

from deshadow.image.strips import Field, Place

LONGEST = 2.0
"""Longer side of a part, in shorter sides; photos up to this shape are processed whole."""
LEAST = 512
"""Longer side of a part at least, in pixels: the networks see so many without downscaling."""
OVERLAP = 0.25
"""Share of its length that a part has in common with the next one, at least."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A rectangle of a photo."""

    place: Place
    """Its rows and columns, as an index."""
    share: Field
    """(h, 1) or (1, w): its weight in the blend. The shares of all parts add up to 1 at every pixel."""


def split(height: int, width: int, least: float = LEAST) -> list[Part]:
    """The parts of a photo along its longer side, of `least` pixels at least; one of an ordinary photo."""
    size, longest = max(height, width), round(measure_extent(height, width, least))
    if size <= longest:
        return [Part((slice(0, height), slice(0, width)), np.ones((1, 1), np.float32))]
    overlap = round(OVERLAP * longest)
    count = -(-(size - overlap) // (longest - overlap))
    length = -(-(size + (count - 1) * overlap) // count)  # no longer than they have to be
    starts = [int(start) for start in np.linspace(0, size - length, count).round()]
    total = np.zeros(size, np.float32)
    for start in starts:
        total[start : start + length] += raised_cosine(start, length, size)
    parts = []
    for start in starts:
        along = slice(start, start + length)
        share = raised_cosine(start, length, size) / total[along]
        if height > width:
            parts.append(Part((along, slice(0, width)), share[:, None]))
        else:
            parts.append(Part((slice(0, height), along), share[None, :]))
    return parts


def measure_extent(height: int, width: int, least: float = LEAST) -> float:
    """Longer side of the parts of a photo; that of the photo, if it is processed whole.

    Lengths that are a share of the longer side are a share of this one, so that they do not grow with a
    panorama.
    """
    return min(max(height, width), max(LONGEST * min(height, width), least))


def fit_parts(size: tuple[int, ...], longest: int) -> tuple[int, int]:
    """(height, width), scaled down until the longer side of a part has at most `longest` pixels."""
    height, width = size
    scale = min(1.0, longest / measure_extent(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def add_change(blended: Field, part: Part, change: Field) -> None:
    """Add the change that a part makes to (H, W) or (H, W, C), by its share, in place."""
    blended[part.place] += (part.share if change.ndim == 2 else part.share[..., None]) * change


def raised_cosine(start: int, length: int, size: int) -> Field:
    """(length,): a raised cosine over a part or window, which does not fall where the picture ends."""
    bell = np.sin(np.pi * (np.arange(length) + 0.5) / length) ** 2
    if start == 0:
        bell[: length // 2] = 1
    if start + length == size:
        bell[length // 2 :] = 1
    return (bell + 1e-4).astype(np.float32)
