"""Removal: overlapping windows over the shadow, each started from the Quick result, blended without seams."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from deshadow.diffusion.arrays import FloatArray
from deshadow.diffusion.sampling import Sampler, sample
from deshadow.image.filters import Field, approximate_gaussian_blur
from deshadow.runtime.backend import Backend, condition

SIDE = 256
"""Of a window, as in training."""
OVERLAP = 96
"""Pixels, at the least, that neighbouring windows share."""
START = 0.5
"""Share of the diffusion that the Quick result is taken back before it is denoised."""
_AGREED = 32.0
"""Deviation in pixels of the blur below which the windows may not change what Quick found."""
_SHARE = 0.5
"""Of the windows in what is fine; the rest is Quick's. With all of it the error rose above Quick's."""


@dataclass(frozen=True, slots=True)
class Window:
    """A place in the picture: rows and columns."""

    top: int
    left: int
    height: int
    width: int

    @property
    def place(self) -> tuple[slice, slice]:
        """Rows and columns, as an index."""
        return slice(self.top, self.top + self.height), slice(self.left, self.left + self.width)


def lay_out(weight: Field, side: int = SIDE, overlap: int = OVERLAP) -> list[Window]:
    """The windows of a picture (H, W) that meet the mask, evenly spread over the mask's box."""
    rows, columns = np.flatnonzero(weight.any(axis=1)), np.flatnonzero(weight.any(axis=0))
    if not len(rows):
        return []
    height, width = (min(side, size) for size in weight.shape)
    windows = []
    for top in _starts(int(rows[0]), int(rows[-1]) + 1, weight.shape[0], side, overlap):
        for left in _starts(int(columns[0]), int(columns[-1]) + 1, weight.shape[1], side, overlap):
            window = Window(top, left, height, width)
            if weight[window.place].any():
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
    """One by one, the windows of (H, W, 3) sRGB; after each, a callable gives the refined picture so far.

    Each window is noised to an intermediate timestep from the Quick result, which tells it how bright its
    surroundings are even when all of it lies in the shadow, and denoised from there. All windows share one
    field of noise, so that they agree where they overlap. What is coarser than a fraction of a window is
    Quick's: windows cannot disagree in exposure.
    """
    schedule = backend.config.schedule
    start = max(steps, round(START * schedule.length))
    a, s = schedule.level(start)
    noise = np.random.default_rng(seed).standard_normal(shadow.shape).astype(np.float32)
    total, weights = np.zeros_like(shadow), np.zeros(shadow.shape[:2], np.float32)

    def so_far() -> Field:
        return _agreed(quick, total, weights)

    for window in windows:
        place = window.place
        picture, light = (_batch(field[place] * 2 - 1) for field in (shadow, quick))
        denoise = condition(backend, picture, np.ascontiguousarray(mask[place])[None, None])
        noisy: FloatArray = a * light + s * _batch(noise[place])  # Eq. 2
        clean = sample(denoise, noisy, schedule, steps=steps, sampler=sampler, start=start)
        share = _bell(window.height, shadow.shape[0], window.top)[:, None]
        share = share * _bell(window.width, shadow.shape[1], window.left)
        total[place] += share[..., None] * ((clean[0].transpose(1, 2, 0) + 1) / 2).clip(0, 1)
        weights[place] += share
        yield so_far


def _agreed(quick: Field, total: Field, weights: Field) -> Field:
    """Quick, changed by what is fine in the blended windows."""
    covered = weights > 0
    refined = np.where(covered[..., None], total / np.maximum(weights, 1e-6)[..., None], quick)
    known = approximate_gaussian_blur(covered.astype(np.float32), _AGREED)[..., None]
    drift = approximate_gaussian_blur(refined - quick, _AGREED) / np.maximum(known, 1e-3)
    change = np.float32(_SHARE) * (refined - drift - quick)
    result: Field = np.where(covered[..., None], quick + change, quick).clip(0, 1)
    return result


def _starts(first: int, end: int, size: int, side: int, overlap: int) -> list[int]:
    """Where windows of a side begin so that they cover first … end, inside 0 … size, evenly spread."""
    if size <= side:
        return [0]
    margin = overlap // 2  # the windows reach over the border of the shadow, so that they see lit ground
    first, end = max(0, first - margin), min(size, end + margin)
    if end - first <= side:
        return [min(max(0, (first + end - side) // 2), size - side)]
    count = -(-(end - first - overlap) // (side - overlap))
    return [int(start) for start in np.linspace(first, end - side, count).round()]


def _bell(length: int, size: int, start: int) -> Field:
    """(length,): a raised cosine that fades to both ends of a window, but not at the picture's border."""
    line = (np.arange(length) + 0.5) / length
    bell = np.sin(np.pi * line) ** 2
    if start == 0:
        bell[: length // 2] = 1
    if start + length == size:
        bell[length // 2 :] = 1
    return (bell + 1e-4).astype(np.float32)


def _batch(field: Field) -> Field:
    """(H, W, 3) → (1, 3, H, W)"""
    return np.ascontiguousarray(field.transpose(2, 0, 1)[None])
