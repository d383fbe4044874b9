"""The values of a mask file as shares of shadow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

BEYOND = 0.5
"""Floats may lie beyond 0 and 1 by so much, as they do after resizing."""
_NOISE = 16
"""A mask of 8 bits whose brightest value is below this, but not 1, is black with the noise of a codec."""


def scale_mask(values: NDArray[Any]) -> NDArray[np.float32]:
    """Numbers of any range → [0, 1].

    Numbers up to 1 are taken as they are, others as 8 or 16 bits, by their size. Where no value is brighter
    than half of white (a mask of a dark grey), the brightest value counts as white.
    """
    brightest = float(values.max(initial=0))
    white = 1.0
    if brightest > 1 + BEYOND:
        white = 255.0 if brightest <= 255 else max(65535.0, brightest)
        if _NOISE <= brightest <= white / 2:
            white = brightest
    mask = values.astype(np.float32)
    mask /= np.float32(white)
    return mask.clip(0, 1, out=mask)
