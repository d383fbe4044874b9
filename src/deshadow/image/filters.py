"""Filters of pictures and masks, in numpy and Pillow alone: resizing, means, blurs and the guided filter."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Field = NDArray[np.float32]
"""(H, W) or (H, W, C)."""
_FEW = 16
"""Radius up to which adding shifted copies is faster than differences of running sums."""


def fit_within(size: tuple[int, ...], longest: int) -> tuple[int, int]:
    """(height, width), scaled down to a longer side of at most `longest` pixels; each side is at least 1."""
    height, width = size
    scale = min(1.0, longest / max(size))
    return max(1, round(height * scale)), max(1, round(width * scale))


def resize(field: Field, height: int, width: int, how: Image.Resampling = Image.Resampling.BICUBIC) -> Field:
    """(H, W) or (H, W, C) → the same at (height, width), antialiased where it shrinks."""
    if field.shape[:2] == (height, width):
        return field
    if field.ndim == 3:
        channels = [resize(field[..., each], height, width, how) for each in range(field.shape[2])]
        return np.stack(channels, axis=-1)
    image = Image.fromarray(np.ascontiguousarray(field, np.float32))
    # A picture that shrinks much is first halved a few times by averaging, which costs next to nothing.
    return np.asarray(image.resize((width, height), how, reducing_gap=3.0))


def box_filter(field: Field, radius: int) -> Field:
    """(H, W) or (H, W, C) → the mean over squares of 2 · radius + 1 pixels, cut off at the border."""
    for axis in range(2):
        field = _means_along(field, radius, axis)
    return field


def approximate_gaussian_blur(field: Field, sigma: float) -> Field:
    """(H, W) or (H, W, C) → about what a Gaussian of this deviation gives, by three box filters in a row."""
    radius = round((np.sqrt(4 * sigma**2 + 1) - 1) / 2)  # three boxes of that radius have this variance
    for _ in range(3 if radius else 0):
        field = box_filter(field, radius)
    return field


def gaussian_blur(field: Field, sigma: float) -> Field:
    """(H, W) or (H, W, C) → blurred by a Gaussian, cut off at 3 σ; the border repeats its last pixel."""
    radius = max(1, round(3 * sigma))
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    weights = (taps / taps.sum()).astype(np.float32)
    return _weighted_sums(_weighted_sums(field, weights).swapaxes(0, 1), weights).swapaxes(0, 1)


def fit_local_lines(guide: Field, field: Field, radius: int, least: float) -> tuple[Field, Field]:
    """Slope and offset of local lines field ≈ slope · guide + offset (He et al. 2013, Eq. 5 and 6).

    `guide` is (H, W), `field` (H, W) or (H, W, C). Where the guide varies less than `least` (a variance), the
    fit is the mean.
    """
    if field.ndim > guide.ndim:
        guide = guide[..., None]
    mean, field_mean = box_filter(guide, radius), box_filter(field, radius)
    variance: Field = np.maximum(box_filter(guide * guide, radius) - mean * mean, np.float32(0))
    together: Field = box_filter(guide * field, radius) - mean * field_mean
    slope: Field = together / (variance + np.float32(least))
    offset: Field = field_mean - slope * mean
    return box_filter(slope, radius), box_filter(offset, radius)


def guided_filter(guide: Field, field: Field, radius: int, least: float) -> Field:
    """The guided filter (He et al. 2013): the field, smoothed everywhere but at the edges of the guide.

    `guide` is (H, W), `field` (H, W) or (H, W, C), as is the result.
    """
    slope, offset = fit_local_lines(guide, field, radius, least)
    return slope * (guide[..., None] if field.ndim > guide.ndim else guide) + offset


class Upsampled:
    """A small field (h, w, C) upsampled linearly to (height, width), computed strip by strip on demand."""

    def __init__(self, field: Field, height: int, width: int) -> None:
        self._field = field
        self._low, self._share = _find_neighbours(field.shape[0], height)
        self._left, self._across = _find_neighbours(field.shape[1], width)

    def rows(self, rows: slice, columns: slice = slice(None)) -> Field:
        """(rows, columns, C) of the large field."""
        lines = _interpolate(self._field, self._low[rows], self._share[rows])
        across = _interpolate(lines.swapaxes(0, 1), self._left[columns], self._across[columns])
        return across.swapaxes(0, 1)


def _interpolate(lines: Field, low: NDArray[np.intp], share: Field) -> Field:
    """(n, …) → (m, …): linear interpolation, by `share` of the way from each line at `low` to the next."""
    high = np.minimum(low + 1, len(lines) - 1)
    found: Field = lines[high] - lines[low]
    found *= share.reshape(-1, *[1] * (lines.ndim - 1))
    found += lines[low]
    return found


def _find_neighbours(before: int, after: int) -> tuple[NDArray[np.intp], Field]:
    """For each pixel of the longer line: the pixel before it in the shorter line, and the distance to it."""
    centres = ((np.arange(after) + 0.5) * (before / after) - 0.5).clip(0, before - 1)
    low = np.floor(centres).astype(np.intp)
    return low, (centres - low).astype(np.float32)


def _means_along(field: Field, radius: int, axis: int) -> Field:
    count = field.shape[axis]
    radius = min(radius, count)
    moved = np.moveaxis(field, axis, 0)
    counts = _count_neighbours(count, radius).reshape(-1, *[1] * (moved.ndim - 1))
    if radius <= _FEW:
        padded = np.zeros((count + 2 * radius, *moved.shape[1:]), np.float32)
        padded[radius : radius + count] = moved
        means = padded[:count].copy()
        for start in range(1, 2 * radius + 1):
            means += padded[start : start + count]
    else:
        # In float64: a running sum in float32 would lose small values.
        sums = np.zeros((count + 2 * radius + 1, *moved.shape[1:]))
        np.cumsum(moved, axis=0, dtype=np.float64, out=sums[radius + 1 : radius + 1 + count])
        sums[radius + 1 + count :] = sums[radius + count]
        means = (sums[2 * radius + 1 :] - sums[:count]).astype(np.float32)
    means /= counts
    return np.moveaxis(means, 0, axis)


def _count_neighbours(count: int, radius: int) -> Field:
    """(count,): how many pixels of a line lie within the radius of each pixel."""
    places = np.arange(count)
    found = np.minimum(places + radius + 1, count) - np.maximum(places - radius, 0)
    return found.astype(np.float32)


def _weighted_sums(field: Field, taps: Field) -> Field:
    """(H, W) or (H, W, C) → the same, the weighted sum down each column."""
    height, radius = field.shape[0], len(taps) // 2
    padded = np.pad(field, [(radius, radius)] + [(0, 0)] * (field.ndim - 1), mode="edge")
    total = np.zeros_like(field)
    for start, tap in enumerate(taps):
        total += tap * padded[start : start + height]
    return total
