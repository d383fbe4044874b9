"""True masks degraded in one known way, to see how much a method depends on good ones."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from deshadow.image.morphology import dilate, erode

Pixels = NDArray[np.uint8]

RADIUS = 8
"""Pixels at 256 × 256 by which masks are dilated and eroded."""


def fill_box(mask: Pixels) -> Pixels:
    """(H, W) of 0 and 255 → the bounding box of all that is masked."""
    box = np.zeros_like(mask)
    rows, columns = np.nonzero(mask)
    if rows.size:
        box[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1] = 255
    return box


# Named as on the command line.
DEGRADATIONS: Mapping[str, Callable[[Pixels], Pixels]] = {
    "dilated": lambda mask: dilate(mask, RADIUS),
    "eroded": lambda mask: erode(mask, RADIUS),
    "boxed": fill_box,
}


def degrade_mask(mask: Pixels, kind: str) -> Pixels:
    """(256, 256) of 0 and 255 → the same, degraded as `kind` says."""
    return DEGRADATIONS[kind](mask)
