"""Luminance in linear light: what a sensor counted before the picture was encoded for the eye."""

import numpy as np
from numpy.typing import NDArray

from deshadow.image.colour import LINEAR, LUMINANCE

# One table a channel, already weighted, so that a luminance is three look-ups and two sums.
_RED, _GREEN, _BLUE = ((weight * LINEAR).astype(np.float32) for weight in LUMINANCE)


def luminance(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(H, W, 3) sRGB → (H, W) linear luminance in [0, 1]."""
    light: NDArray[np.float32] = _RED[picture[..., 0]]
    light += _GREEN[picture[..., 1]]
    light += _BLUE[picture[..., 2]]
    return light


def blur(field: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """(H, W) or (H, W, C) → the same, smoothed by a Gaussian; the border repeats its last pixel."""
    radius = max(1, round(3 * sigma))
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    weights = (taps / taps.sum()).astype(np.float32)
    return _slide(_slide(field, weights).swapaxes(0, 1), weights).swapaxes(0, 1)


def _slide(field: NDArray[np.float32], taps: NDArray[np.float32]) -> NDArray[np.float32]:
    """(H, W) or (H, W, C) → the same, the weighted sum down each column."""
    height, radius = field.shape[0], len(taps) // 2
    padded = np.pad(field, [(radius, radius)] + [(0, 0)] * (field.ndim - 1), mode="edge")
    total = np.zeros_like(field)
    for start, tap in enumerate(taps):
        total += tap * padded[start : start + height]
    return total
