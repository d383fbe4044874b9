"""How real synthetic shadows are: ratio to the clean picture and edge width, as histograms over pairs."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deshadow.data.pairs.derive import otsu
from deshadow.image.colour import LUMINANCE, decode_luminance, decode_srgb
from deshadow.image.filters import gaussian_blur

Array = NDArray[np.float32]
Bytes = NDArray[np.uint8]

REACH = 16
"""Half the length in pixels of a profile across an edge; no wider edge than twice that is measured."""
RATIO_BINS = np.linspace(-4.0, 0.6, 47)
"""Natural log of shadow over clean: bins of 0.1."""
WIDTH_BINS = np.linspace(0.0, 24.0, 25)
"""Edge width in pixels at 256×256: bins of one pixel."""


@dataclass(frozen=True)
class Measures:
    """Normalised histograms over a set: log ratio (3, R) of red, green, blue, and edge width (W,)."""

    ratio: NDArray[np.float64]
    width: NDArray[np.float64]
    pairs: int
    edges: int


def measure_pairs(pairs: Iterable[tuple[Bytes, Bytes]]) -> Measures:
    """Measure pairs (shadow, clean), each (H, W, 3) of 8 bits and 256×256 by convention.

    Every pair has the same weight, however large its shadow; pairs without a measurable shadow are left out.
    """
    ratio = np.zeros((3, len(RATIO_BINS) - 1))
    width = np.zeros(len(WIDTH_BINS) - 1)
    count = edges = 0
    for shadow, clean in pairs:
        logs = log_ratio(shadow, clean)
        inside = shadow_area(logs)
        if inside.mean() < 0.002:
            continue
        count += 1
        sound = inside & well_exposed(clean)
        for channel in range(3):
            ratio[channel] += histogram(logs[..., channel][sound], RATIO_BINS)
        widths = edge_widths(luminance_ratio(shadow, clean), inside)
        edges += len(widths)
        if len(widths) >= 8:
            width += histogram(widths, WIDTH_BINS)
    return Measures(ratio / max(ratio[0].sum(), 1e-9), width / max(width.sum(), 1e-9), count, edges)


def overlap(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """The area that two normalised histograms share, from 0 to 1."""
    return float(np.minimum(first, second).sum())


def histogram(values: Array, bins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normalised histogram of `values`, those beyond the bins counted in the outermost."""
    counts, _ = np.histogram(np.clip(values, bins[0], bins[-1]), bins)
    return np.asarray(counts / max(counts.sum(), 1), np.float64)


def log_ratio(shadow: Bytes, clean: Bytes) -> Array:
    """Natural log (H, W, 3) of shadow over clean in linear light, smoothed against noise and misalignment."""
    below, above = (gaussian_blur(decode_srgb(view).astype(np.float32), 1.5) for view in (shadow, clean))
    return np.log((below + 5e-4) / (above + 5e-4))


def luminance_ratio(shadow: Bytes, clean: Bytes) -> Array:
    """Ratio (H, W) of linear luminance, barely smoothed so that a sharp edge stays sharp."""
    below, above = (gaussian_blur(decode_luminance(view), 0.5) for view in (shadow, clean))
    return (below + 2e-3) / (above + 2e-3)


def well_exposed(clean: Bytes) -> NDArray[np.bool_]:
    """Pixels (H, W) that are neither clipped nor so dark that a ratio of 8-bit values means nothing."""
    return np.asarray((clean.max(-1) < 250) & (clean.min(-1) > 40))


def shadow_area(logs: Array) -> NDArray[np.bool_]:
    """Where (H, W) the log ratio (H, W, 3) falls below Otsu's threshold between lit and shaded."""
    level = logs @ LUMINANCE
    return np.asarray(level < min(otsu(level), -0.15))


def edge_widths(ratio: Array, inside: NDArray[np.bool_], most: int = 256) -> Array:
    """Distance in pixels from 10 % to 90 % of the step in `ratio` (H, W), at up to `most` edge points.

    A profile runs along the normal of the outline of `inside` and is averaged over five pixels along the
    tangent, which lowers noise without widening a straight edge. Its two ends must be level and differ by
    a clear step, so that thin shadows, corners and texture drop out.
    """
    smooth = gaussian_blur(inside.astype(np.float32), 3.0)
    down, right = np.gradient(smooth, axis=0), np.gradient(smooth, axis=1)
    slope = np.hypot(down, right)
    outline = inside & (erode_once(inside) == 0)
    outline[:REACH], outline[-REACH:], outline[:, :REACH], outline[:, -REACH:] = False, False, False, False
    rows, columns = np.nonzero(outline & (slope > 0.06))
    if len(rows) == 0:
        return np.zeros(0, np.float32)
    chosen = np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(int)
    rows, columns = rows[chosen], columns[chosen]
    # The gradient of `inside` points into the shadow: walk against it, from shadow to light.
    normal = -np.stack([down[rows, columns], right[rows, columns]], -1) / slope[rows, columns][:, None]
    tangent = normal[:, ::-1] * np.array([1, -1], np.float32)
    steps = np.arange(-REACH, REACH + 0.25, 0.5, dtype=np.float32)
    slit = np.arange(-2, 3, dtype=np.float32)
    points = (
        np.stack([rows, columns], -1)[:, None, None]
        + normal[:, None, None] * steps[:, None, None]
        + tangent[:, None, None] * slit[:, None]
    )
    profile = bilinear(ratio, points).mean(-1)
    return profile_widths(profile, steps)


def profile_widths(profile: Array, steps: Array) -> Array:
    """Widths of those profiles (N, S) that rise clearly from shadow to light."""
    quarter = profile.shape[1] // 8
    low, high = np.median(profile[:, :quarter], -1), np.median(profile[:, -quarter:], -1)
    step = high - low
    wobble = np.maximum(profile[:, :quarter].std(-1), profile[:, -quarter:].std(-1))
    sound = (step > 0.15) & (wobble < 0.12 * step)
    level = (profile[sound] - low[sound, None]) / step[sound, None]
    # Out from the middle of the step, the first crossing on either side.
    middle = np.argmin(np.abs(level - 0.5) + 0.02 * np.abs(steps), -1)
    places = np.arange(profile.shape[1])
    up = np.where((level >= 0.9) & (places >= middle[:, None]), places, len(steps)).min(-1)
    down = np.where((level <= 0.1) & (places <= middle[:, None]), places, -1).max(-1)
    crossed = (up < len(steps)) & (down >= 0)
    level, up, down = level[crossed], up[crossed], down[crossed]
    line = np.arange(len(level))
    before, after = level[line, np.maximum(up - 1, 0)], level[line, up]
    right = up - np.clip((after - 0.9) / np.maximum(after - before, 1e-6), 0, 1)
    below, above = level[line, down], level[line, np.minimum(down + 1, len(steps) - 1)]
    left = down + np.clip((0.1 - below) / np.maximum(above - below, 1e-6), 0, 1)
    return np.asarray((right - left) * (steps[1] - steps[0]), np.float32)


def erode_once(area: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Erode (H, W) by one pixel in the four directions."""
    padded = np.pad(area, 1, mode="edge")
    return np.asarray(padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:] & area)


def bilinear(image: Array, points: Array) -> Array:
    """Values of (H, W) at `points` (..., 2) as (row, column)."""
    height, width = image.shape
    row = np.clip(points[..., 0], 0, height - 1.001)
    column = np.clip(points[..., 1], 0, width - 1.001)
    r, c = row.astype(int), column.astype(int)
    y, x = row - r, column - c
    top = image[r, c] * (1 - x) + image[r, c + 1] * x
    return np.asarray(top * (1 - y) + (image[r + 1, c] * (1 - x) + image[r + 1, c + 1] * x) * y, np.float32)
