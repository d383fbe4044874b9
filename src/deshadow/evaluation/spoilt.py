"""Given masks made worse in one known way, to see how much a method depends on good ones."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from deshadow.image.morphology import dilate, erode

Pixels = NDArray[np.uint8]

MARGIN = 8
"""Pixels at 256 × 256 by which masks are grown and shrunk."""


def grown(mask: Pixels) -> Pixels:
    """(H, W) of 0 and 255 → the same, wider on all sides."""
    return dilate(mask, MARGIN)


def shrunk(mask: Pixels) -> Pixels:
    """(H, W) of 0 and 255 → the same, narrower on all sides but those of the frame."""
    return erode(mask, MARGIN)


def boxed(mask: Pixels) -> Pixels:
    """(H, W) of 0 and 255 → the box around all that is masked."""
    box = np.zeros_like(mask)
    rows, columns = np.nonzero(mask)
    if rows.size:
        box[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1] = 255
    return box


# Named as on the command line.
SPOILT: Mapping[str, Callable[[Pixels], Pixels]] = {"grown": grown, "shrunk": shrunk, "boxed": boxed}
