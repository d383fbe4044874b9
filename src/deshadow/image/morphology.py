"""Masks made wider."""

import numpy as np
from numpy.typing import NDArray


def dilate(mask: NDArray[np.uint8], kernel: int) -> NDArray[np.uint8]:
    """(H, W) of 0 and 255 → the same, 255 wherever a square of this odd side meets the mask."""
    assert kernel % 2 == 1
    wide = mask > 0
    for _ in range(2):
        wide = _down(wide, kernel // 2).T
    return np.where(wide, np.uint8(255), np.uint8(0))


def _down(inside: NDArray[np.bool_], radius: int) -> NDArray[np.bool_]:
    """Whether anything lies within the radius along each column: a difference of running counts."""
    counts = np.pad(inside, ((radius + 1, radius), (0, 0))).cumsum(axis=0, dtype=np.int32)
    reach = 2 * radius + 1
    met: NDArray[np.bool_] = counts[reach:] > counts[:-reach]
    return met
