"""The windows of Removal: they overlap, start from the result of Quick, and blend without seams."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from deshadow.diffusion.arrays import FloatArray
from deshadow.diffusion.choices import Sampler
from deshadow.image.filters import approximate_gaussian_blur
from deshadow.image.strips import Field
from deshadow.removal.parts import raised_cosine
from deshadow.runtime.backend import Backend, sample_picture

WINDOW_SIDE = 384
"""Side of a window. Larger ones overlap less, but the cost of attention grows faster than their area."""
OVERLAP = 64
"""Smallest overlap of neighbouring windows, in pixels."""
START = 0.5
"""Timestep, as a share of all, to which the result of Quick is noised before it is denoised."""
_COARSE = 32.0
"""Standard deviation of a blur, in pixels; the windows change nothing that is coarse enough to survive it."""
_SHARE = 0.5
"""Share of the windows in the fine detail; the rest is Quick's. With 1 the error is larger than Quick's."""


@dataclass(frozen=True, slots=True)
class Window:
    """A rectangle of the picture."""

    top: int
    left: int
    height: int
    width: int

    @property
    def place(self) -> tuple[slice, slice]:
        """Its rows and columns, as an index."""
        return slice(self.top, self.top + self.height), slice(self.left, self.left + self.width)


def lay_out(mask: Field) -> list[Window]:
    """The windows of a picture (H, W) where the mask is not 0, evenly spread over its bounding box."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return []
    height, width = (min(WINDOW_SIDE, size) for size in mask.shape)
    windows = []
    for top in _spread(int(rows[0]), int(rows[-1]) + 1, mask.shape[0]):
        for left in _spread(int(columns[0]), int(columns[-1]) + 1, mask.shape[1]):
            window = Window(top, left, height, width)
            if mask[window.place].any():
                windows.append(window)
    return windows


def refine(
    backend: Backend,
    shadow: Field,
    quick: Field,
    mask: Field,
    windows: list[Window],
    *,
    steps: int,
    sampler: Sampler,
    seed: int,
) -> Iterator[Callable[[], Field]]:
    """Denoise the windows of (H, W, 3) sRGB one by one; yields a function that returns the picture so far.

    The result of Quick in a window is noised to an intermediate timestep and denoised from there. So a window
    that lies completely in the shadow still has the brightness of its surroundings. All windows take their
    noise from one field, so that they agree where they overlap. Only detail finer than a fraction of a window
    is changed, so that windows cannot differ in exposure.
    """
    schedule = backend.config.schedule
    start = max(steps, round(START * schedule.length))
    a, s = schedule.level(start)
    noise = np.random.default_rng(seed).standard_normal(shadow.shape).astype(np.float32)
    total, weights = np.zeros_like(shadow), np.zeros(shadow.shape[:2], np.float32)

    def so_far() -> Field:
        return _add_detail(quick, total, weights)

    for window in windows:
        place = window.place
        picture, light = (_to_batch(field[place] * 2 - 1) for field in (shadow, quick))
        inside = np.ascontiguousarray(mask[place])[None, None]
        noisy: FloatArray = a * light + s * _to_batch(noise[place])  # Eq. 2
        clean = sample_picture(backend, picture, inside, noisy, steps=steps, sampler=sampler, start=start)
        share = raised_cosine(window.top, window.height, shadow.shape[0])[:, None]
        share = share * raised_cosine(window.left, window.width, shadow.shape[1])
        total[place] += share[..., None] * ((clean[0].transpose(1, 2, 0) + 1) / 2).clip(0, 1)
        weights[place] += share
        yield so_far


def _add_detail(quick: Field, total: Field, weights: Field) -> Field:
    """The result of Quick with the fine detail of the blended windows."""
    covered = weights > 0
    refined = np.where(covered[..., None], total / np.maximum(weights, 1e-6)[..., None], quick)
    known = approximate_gaussian_blur(covered.astype(np.float32), _COARSE)[..., None]
    drift = approximate_gaussian_blur(refined - quick, _COARSE) / np.maximum(known, 1e-3)
    change = np.float32(_SHARE) * (refined - drift - quick)
    result: Field = np.where(covered[..., None], quick + change, quick).clip(0, 1)
    return result


def _spread(first: int, end: int, size: int) -> list[int]:
    """Where windows begin along one axis of `size` pixels so that they cover `first` to `end` evenly."""
    if size <= WINDOW_SIDE:
        return [0]
    margin = OVERLAP // 2  # beyond the edge of the shadow, so that the windows contain lit ground
    first, end = max(0, first - margin), min(size, end + margin)
    if end - first <= WINDOW_SIDE:
        return [min(max(0, (first + end - WINDOW_SIDE) // 2), size - WINDOW_SIDE)]
    count = -(-(end - first - OVERLAP) // (WINDOW_SIDE - OVERLAP))
    return [int(start) for start in np.linspace(first, end - WINDOW_SIDE, count).round()]


def _to_batch(field: Field) -> Field:
    """(H, W, 3) → (1, 3, H, W)"""
    return np.ascontiguousarray(field.transpose(2, 0, 1)[None])
