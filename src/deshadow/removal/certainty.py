"""How sure it is that a found shadow is a shadow, and not something dark.

The detector looks again, at a smaller and brighter copy of the photo. A shadow is darker than the same ground
in the light, whatever the exposure, so it is found again. Gaps between stones, dark paint and black things
are often not.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from deshadow.image.filters import resize
from deshadow.image.strips import Field, Picture
from deshadow.removal.detect import DETECTOR_SIDE, detect_shadows, is_large
from deshadow.removal.masks import Labels
from deshadow.removal.options import Sensitivity
from deshadow.removal.parts import fit_parts, measure_extent
from deshadow.removal.relighting import downscale
from deshadow.runtime.backend import Detector

Sampled = TypeVar("Sampled", Field, Labels)

THRESHOLD = 0.3
"""Probability from which a pixel belongs to a shadow that is found."""
CORE: dict[Sensitivity, float] = {"low": 0.5, "normal": 0.5, "high": 0.3}
"""Probability that a part of a shadow must have for it to be found."""
LEAST: dict[Sensitivity, float] = {"low": 0.35, "normal": 0.2, "high": 0.0}
"""Certainty from which a found shadow is removed although nobody selected it."""
_SIDE = 256
"""Longer side of the copy of the photo, or of a part of a long one."""
_THIN = 4.0
"""Mean width in that copy, in pixels, below which a shadow hardly shows there."""
_SPREAD = 0.02
"""Least share of the photo that a thin shadow covers to be judged by a larger copy, as that of a fence."""
_BRIGHTER = 0.7
"""Exponent by which the sRGB values of the copy are raised."""
_SAMPLED = 1024
"""Longer side of the grid of pixels, in the photo or in a part of it, over which a shadow is averaged."""


def find_unsure(
    detector: Detector, pixels: Picture, labels: Labels, sensitivity: Sensitivity
) -> tuple[int, ...]:
    """The numbers of those shadows of (H, W) that may be something else, in the picture (H, W, 3)."""
    if not LEAST[sensitivity] or not labels.any():
        return ()
    certainty = measure_certainty(detector, pixels, labels)
    return tuple(int(place) + 1 for place in np.flatnonzero(certainty < LEAST[sensitivity]))


def measure_certainty(detector: Detector, pixels: Picture, labels: Labels) -> Field:
    """(H, W, 3) sRGB in [0, 1], (H, W) → (N,) in [0, 1]: how sure it is that shadow 1, …, N is a shadow.

    It is the mean probability that the detector gives to the pixels of a shadow when it looks again. Thin
    shadows that cover much of the photo may also be sure in a copy of the size in which they were found.
    """
    size = pixels.shape[:2]
    grid, count = fit_parts(size, _SAMPLED), int(labels.max(initial=0)) + 1
    numbers = _sample(labels, *grid)
    areas = np.bincount(numbers.ravel(), minlength=count).clip(1)
    large, small = (fit_parts(size, side) for side in (DETECTOR_SIDE, _SIDE))
    widths = 2 * areas / _count_borders(numbers, count).clip(1) * (max(small) / max(grid))
    thin = (widths < _THIN) & (areas >= _SPREAD * min(grid) * measure_extent(*grid))
    picture = downscale(pixels, *large)

    def look(side: int) -> Field:
        brighter = resize(picture, *fit_parts(size, side)).clip(0, 1) ** _BRIGHTER
        found = detect_shadows(detector, brighter, least=side, soften=is_large(*size))
        again = _sample(found, *grid)
        means: Field = np.bincount(numbers.ravel(), again.ravel(), count) / areas
        return means

    certainty = look(_SIDE)
    if thin[1:].any() and large != small:
        certainty = np.where(thin, np.maximum(certainty, look(DETECTOR_SIDE)), certainty)
    return certainty[1:].astype(np.float32)


def _count_borders(numbers: Labels, count: int) -> NDArray[np.intp]:
    """(h, w) → (count,): how many sides of pixels separate each shadow from what is not part of it."""
    borders = np.zeros(count, np.intp)
    for one, other in ((numbers[1:], numbers[:-1]), (numbers[:, 1:], numbers[:, :-1])):
        apart = one != other
        borders += np.bincount(one[apart], minlength=count) + np.bincount(other[apart], minlength=count)
    return borders


def _sample(field: Sampled, height: int, width: int) -> Sampled:
    """(H, W) → (height, width): the pixels in the middle of the cells of a grid."""
    down, across = (
        (np.arange(count) * 2 + 1) * side // (2 * count)
        for side, count in zip(field.shape, (height, width), strict=True)
    )
    sampled: Sampled = field[np.ix_(down, across)]
    return sampled
