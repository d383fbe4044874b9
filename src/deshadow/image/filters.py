"""Filters of pictures and masks, in numpy and Pillow alone: resizing, means, blurs and the guided filter."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.image.strips import Field, Picture, find_span, for_each_strip

_GAP = 3.0
"""A picture that shrinks by more than this is first reduced by averaging, which costs next to nothing."""
_FEW = 16
"""Radius up to which adding shifted copies is faster than differences of running sums."""
_BLOCK = 1 << 16
"""Values of which running sums are taken at a time, so that they stay in the processor's cache."""


def fit_within(size: tuple[int, ...], longest: int) -> tuple[int, int]:
    """(height, width), scaled down to a longer side of at most `longest` pixels; each side is at least 1."""
    height, width = size
    scale = min(1.0, longest / max(size))
    return max(1, round(height * scale)), max(1, round(width * scale))


def resize(
    field: Picture,
    height: int,
    width: int,
    how: Image.Resampling = Image.Resampling.BICUBIC,
    gap: float = _GAP,
) -> Field:
    """(H, W) or (H, W, C) → the same at (height, width) in float32, antialiased where it shrinks.

    With a smaller `gap` more of the shrinking is done by averaging blocks: faster, and a little less exact.
    """
    if field.shape[:2] == (height, width):
        return np.asarray(field, np.float32)
    down, across = (
        max(1, int(before / after / gap))
        for before, after in zip(field.shape[:2], (height, width), strict=True)
    )
    planes = _reduce(field, down, across)
    box = 0, 0, field.shape[1] / across, field.shape[0] / down
    small = [np.asarray(Image.fromarray(plane).resize((width, height), how, box=box)) for plane in planes]
    return np.stack(small, axis=-1) if len(field.shape) == 3 else small[0]


def _reduce(field: Picture, down: int, across: int) -> Field:
    """(H, W) or (H, W, C) → (C, H / down, W / across): means of blocks, those at the border cut off."""
    height, width = field.shape[:2]
    channels = field.shape[2] if len(field.shape) == 3 else 1
    planes = np.empty((channels, -(-height // down), -(-width // across)), np.float32)

    def fill(rows: slice) -> None:
        part = np.asarray(field[rows], np.float32).reshape(-1, width, channels)
        lines = _average_groups(part, down).transpose(2, 0, 1)
        columns = np.ascontiguousarray(lines).transpose(2, 0, 1)
        inner = slice(rows.start // down, -(-rows.stop // down))
        planes[:, inner] = _average_groups(columns, across).transpose(1, 2, 0)

    for_each_strip(fill, height, width, down)
    return planes


def _average_groups(lines: Field, size: int) -> Field:
    """(N, …) → (N / size, …): the means of so many lines each; the last may be of fewer."""
    if size == 1:
        return lines
    totals = lines[::size].copy("K")
    for place in range(1, size):
        more = lines[place::size]
        totals[: len(more)] += more
    counts = np.minimum(len(lines) - size * np.arange(len(totals)), size).astype(np.float32)
    totals *= (1 / counts)[:, None, None]
    return totals


def box_filter(field: Field, radius: int) -> Field:
    """(H, W) or (H, W, C) → the mean over squares of 2 · radius + 1 pixels, cut off at the border."""
    height, width, *channels = field.shape
    down = _average_lines(field.reshape(1, height, -1), radius)
    return _average_lines(down.reshape(height, width, *channels or (1,)), radius).reshape(field.shape)


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
    """Small fields (C, h, w) upsampled linearly to (height, width), computed part by part on demand."""

    def __init__(self, fields: Field, height: int, width: int) -> None:
        self._fields = np.ascontiguousarray(fields)
        self._top, self._down = _find_neighbours(fields.shape[1], height)
        self._left, self._across = _find_neighbours(fields.shape[2], width)

    def find_span(self, rows: slice, columns: slice) -> slice | None:
        """Those of the large columns outside which all fields are 0 in these rows; None if none is left."""
        top, left = self._top[rows], self._left[columns]
        span = find_span(np.asarray(self._fields[:, top[0] : top[-1] + 2].any(axis=(0, 1))))
        if span is None:
            return None
        first, last = np.searchsorted(left, [span.start - 1, span.stop])
        start = columns.start or 0
        return slice(start + int(first), start + int(last)) if first < last else None

    def read(self, rows: slice, columns: slice = slice(None)) -> Field:
        """(C, rows, columns) of the large fields."""
        top = self._top[rows]
        lines = self._fields[:, top[0] : top[-1] + 2]
        # First along the rows, of which there are few.
        wide = _interpolate(lines, self._left[columns], self._across[columns], 2)
        return _interpolate(wide, top - top[0], self._down[rows, None], 1)


def _interpolate(lines: Field, low: NDArray[np.intp], share: Field, axis: int) -> Field:
    """Linear interpolation along an axis, by `share` of the way from each place at `low` to the next."""
    last = lines.take([-1], axis)
    found = np.diff(lines, axis=axis, append=last).take(low, axis)
    found *= share
    found += lines.take(low, axis)
    return found


def _find_neighbours(before: int, after: int) -> tuple[NDArray[np.intp], Field]:
    """For each pixel of the longer line: the pixel before it in the shorter line, and the distance to it."""
    centres = ((np.arange(after) + 0.5) * (before / after) - 0.5).clip(0, before - 1)
    low = np.floor(centres).astype(np.intp)
    return low, (centres - low).astype(np.float32)


def _average_lines(lines: Field, radius: int) -> Field:
    """(M, N, C) → (M, N, C): the means of the values at most `radius` away along the second axis."""
    many, count, step = lines.shape
    radius = min(radius, count)
    if radius <= _FEW:
        # Shifted views of whole lines: long runs of memory, whichever axis of the picture they are.
        padded = np.zeros((many, (count + 2 * radius) * step), np.float32)
        padded[:, radius * step : (radius + count) * step] = lines.reshape(many, -1)
        totals = padded[:, : count * step].copy()
        for start in range(step, (2 * radius + 1) * step, step):
            totals += padded[:, start : start + count * step]
        means = totals.reshape(lines.shape)
    else:
        means = np.empty(lines.shape, np.float32)
        parts = -(-lines.size // _BLOCK)
        axis = 0 if many > 1 else 2
        for given, found in zip(*(np.array_split(each, parts, axis) for each in (lines, means)), strict=True):
            found[:] = _running_sums(given, radius)
    averages: Field = np.divide(means, _count_neighbours(count, radius)[:, None], out=means)
    return averages


def _running_sums(lines: Field, radius: int) -> NDArray[np.float64]:
    """(M, N, C) → (M, N, C): the sums of the values at most `radius` away along the second axis."""
    many, count, step = lines.shape
    # In float64: a running sum in float32 would lose small values.
    sums = np.zeros((many, count + 2 * radius + 1, step))
    np.cumsum(lines, axis=1, dtype=np.float64, out=sums[:, radius + 1 : radius + 1 + count])
    sums[:, radius + 1 + count :] = sums[:, radius + count, None]
    return sums[:, 2 * radius + 1 :] - sums[:, :count]


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
