"""SSIM (Wang et al. 2004) in the shadow, outside it and everywhere, in one pass."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_SIGMA = 1.5
_RADIUS = 5
"""A window of 11 × 11."""
_STEPS = np.arange(-_RADIUS, _RADIUS + 1)
_TAPS = np.exp(-0.5 * (_STEPS / _SIGMA) ** 2)
_TAPS = (_TAPS / _TAPS.sum()).astype(np.float32)
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2

Planes = NDArray[np.float32]


class Similarity(NamedTuple):
    """SSIM of both pictures multiplied by the mask, by what it leaves out, and as they are."""

    shadow: float
    non_shadow: float
    all: float


def ssim(result: NDArray[np.uint8], truth: NDArray[np.uint8], inside: NDArray[np.bool_]) -> Similarity:
    """(H, W, 3), (H, W, 3), (H, W) → the mean over channels and over the windows that lie in the picture.

    Gaussian window of 11 × 11, σ 1.5, population covariance, 8-bit range. nan where no window fits.

    Every window needs the means of x, y, x² + y² and xy. Means are linear and a mask is 0 or 1, so those of
    the part outside the shadow are those of the whole less those of the part inside.
    """
    if min(inside.shape) < len(_TAPS):
        return Similarity(math.nan, math.nan, math.nan)
    totals = np.zeros(3)
    mask = inside.astype(np.float32)
    for channel in range(3):
        x, y = (view[..., channel].astype(np.float32) for view in (result, truth))
        # Sum and difference in the place of x and y: where both agree, the difference is small and exact.
        moments = np.stack([x + y, x - y, (x + y) ** 2, (x - y) ** 2])
        whole, part = window_means(moments), window_means(moments * mask)
        totals += [_mean_ssim(means) for means in (part, whole - part, whole)]
    return Similarity(*(totals / 3).tolist())


def window_means(planes: Planes) -> Planes:
    """(N, H, W) → (N, H − 10, W − 10): the Gaussian mean of every window that lies within the picture."""
    return _slide(_slide(planes).swapaxes(1, 2)).swapaxes(1, 2)


def _slide(planes: Planes) -> Planes:
    """The weighted sum of eleven neighbours down each column: five symmetric pairs, and the middle."""
    height = planes.shape[1] - 2 * _RADIUS
    total: Planes = _TAPS[_RADIUS] * planes[:, _RADIUS : _RADIUS + height]
    for near in range(_RADIUS):
        far = 2 * _RADIUS - near
        pair = planes[:, near : near + height] + planes[:, far : far + height]
        pair *= _TAPS[near]
        total += pair
    return total


def _mean_ssim(means: Planes) -> float:
    """From the means of s = x + y, d = x − y, s² and d²: 2xy = (s² − d²)/2 and x² + y² = (s² + d²)/2."""
    s, d, s_squared, d_squared = means
    s_mean, d_mean = s * s, d * d
    s_variance, d_variance = s_squared - s_mean, d_squared - d_mean
    above = ((s_mean - d_mean) / 2 + _C1) * ((s_variance - d_variance) / 2 + _C2)
    below = ((s_mean + d_mean) / 2 + _C1) * ((s_variance + d_variance) / 2 + _C2)
    return float((above / below).mean(dtype=np.float64))
