"""How far the two pictures of a pair are shifted against each other."""

import math

import numpy as np
from numpy.typing import NDArray

from deshadow.image.colour import decode_luminance
from deshadow.image.filters import gaussian_blur

Field = NDArray[np.float32]

_REACH = 1 / 8  # share of the shorter side: a larger shift is not looked for
_STEPS = 15
_LEAST = 0.02  # share of the picture that must lie outside the shadow
_BLURRED = 10.0  # pixels that the smoothing in `_detail` makes count as one
_SURE = 0.25  # pixels: a larger standard error tells nothing
_SMALLEST = 16  # pixels a side, under which there is nothing to align


def misalignment(
    picture: NDArray[np.uint8], mask: NDArray[np.uint8], clean: NDArray[np.uint8]
) -> tuple[float, float]:
    """(H, W, 3), (H, W), (H, W, 3) → the shift (right, down) in pixels from picture to clean.

    On the detail of log luminance (so that exposure does not count), outside the shadow: the peak of the
    cross-correlation, then Lucas and Kanade's least squares from there to a fraction of a pixel, with
    Tukey's weights against what moved by itself or changed its light. The edge of the mask, the same in both
    pictures, would draw a correlation alone towards zero. (nan, nan) where there is too little unshadowed
    texture to tell.
    """
    if min(mask.shape) < _SMALLEST:
        return math.nan, math.nan
    one, other = _detail(picture), _detail(clean)
    use = gaussian_blur((mask > 0).astype(np.float32), 2.0) < 0.02
    right, down, error = _refine(one, other, use, *_peak(one, other, use))
    return (right, down) if error < _SURE else (math.nan, math.nan)


def _peak(one: Field, other: Field, use: NDArray[np.bool_]) -> tuple[float, float]:
    """The shift (right, down) in pixels at which the cross-correlation of two (H, W) fields is largest.

    At half the resolution: a quarter of the work, and near enough for what follows.
    """
    seen = _half(use.astype(np.float32)) == 1
    limit = 4 * float(np.std(one)) + 1e-6
    fields = [np.clip(_half(field), -limit, limit) * seen for field in (one, other)]
    height, width = seen.shape
    reach = max(1, int(_REACH * min(height, width)))
    # Padded by the reach, so that what leaves on one side does not come in on the other.
    shape = (height + reach, width + reach)
    first, second = (np.fft.rfft2(field, shape) for field in fields)
    correlation = np.fft.irfft2(np.conj(first) * second, shape)
    shifts = np.arange(-reach, reach + 1)
    near = correlation[np.ix_(shifts, shifts)]
    down, right = np.unravel_index(int(np.argmax(near)), near.shape)
    return 2.0 * float(shifts[right]), 2.0 * float(shifts[down])


def _detail(picture: NDArray[np.uint8]) -> Field:
    """(H, W, 3) → (H, W): log luminance between the finest grain and the broad light."""
    light = np.log(decode_luminance(picture) + 0.02)
    return gaussian_blur(light, 1.0) - gaussian_blur(light, 4.0)


def _half(field: Field) -> Field:
    """(H, W) → (H / 2, W / 2), the mean of each four."""
    height, width = (side // 2 * 2 for side in field.shape)
    fours = field[:height, :width].reshape(height // 2, 2, width // 2, 2)
    mean: Field = fours.mean((1, 3), dtype=np.float32)
    return mean


def _refine(
    one: Field, other: Field, use: NDArray[np.bool_], right: float, down: float
) -> tuple[float, float, float]:
    """The shift from `one` to `other` from a first guess, and its standard error in pixels."""
    slopes_down, slopes_right = (np.gradient(one, axis=axis) for axis in (0, 1))
    height, width = one.shape
    error = math.inf
    for _ in range(_STEPS):
        x, y = math.floor(right), math.floor(down)
        # Where both the pixel and its four neighbours behind the shift lie within the picture.
        rows = slice(max(0, -y), min(height, height - 1 - y))
        columns = slice(max(0, -x), min(width, width - 1 - x))
        seen = use[rows, columns]
        if seen.sum() < _LEAST * one.size:
            return 0.0, 0.0, math.inf
        window = other[rows.start + y : rows.stop + y + 1, columns.start + x : columns.stop + x + 1]
        moved = _between(window, right - x, down - y)
        difference = moved[seen] - one[rows, columns][seen]
        slopes = np.stack([slopes_right[rows, columns][seen], slopes_down[rows, columns][seen]])
        spread = 1.4826 * float(np.median(np.abs(difference))) + 1e-6
        trust = np.maximum(1 - (difference / (4.685 * spread)) ** 2, 0) ** 2
        weighted = slopes * trust
        normal = (weighted @ slopes.T).astype(np.float64)
        if np.linalg.det(normal) <= 1e-12 * np.trace(normal) ** 2:
            return right, down, math.inf
        inverse = np.linalg.inv(normal)
        towards = (weighted * difference).sum(1, dtype=np.float64)
        step = np.clip(inverse @ towards, -1, 1)
        right, down = right - float(step[0]), down - float(step[1])
        error = spread * math.sqrt(_BLURRED * float(np.linalg.eigvalsh(inverse)[-1]))
        if np.abs(step).max() < 0.003:
            break
    return right, down, error


def _between(window: Field, right: float, down: float) -> Field:
    """(H + 1, W + 1) → (H, W), moved by part of a pixel."""
    across, along = np.float32(right), np.float32(down)
    rows = window[:-1] + along * (window[1:] - window[:-1])
    moved: Field = rows[:, :-1] + across * (rows[:, 1:] - rows[:, :-1])
    return moved
