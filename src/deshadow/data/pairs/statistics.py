"""Statistics of pairs: how much of a picture is in shadow, how dark, and how well the pictures align."""

import math
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deshadow.data.pairs.alignment import misalignment
from deshadow.data.pairs.sample import Problem, Sample, Triplet
from deshadow.image.colour import decode_luminance, srgb_to_linear

# Half an 8-bit step above black: what a pixel that was rounded to 0 may have been.
_BLACK = float(srgb_to_linear(np.array([0.5 / 255]))[0])


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of one triplet."""

    width: int
    height: int
    shadow_fraction: float
    """Share of the picture under the mask, 0 to 1."""
    dark_rate: float
    """See `dark_rate`; nan when the mask is empty."""
    misalignment: float
    """Shift between the two pictures in pixels; nan if unknown."""


def measure_triplet(triplet: Triplet) -> Statistics:
    """The statistics of a triplet."""
    picture, mask, clean = triplet
    height, width = mask.shape
    return Statistics(
        width=width,
        height=height,
        shadow_fraction=shadow_fraction(mask),
        dark_rate=dark_rate(picture, mask, clean),
        misalignment=math.hypot(*misalignment(picture, mask, clean)),
    )


def shadow_fraction(mask: NDArray[np.uint8]) -> float:
    """(H, W) → the share of pixels in the shadow, 0 to 1."""
    return float(np.count_nonzero(mask) / mask.size)


def dark_rate(picture: NDArray[np.uint8], mask: NDArray[np.uint8], clean: NDArray[np.uint8]) -> float:
    """(H, W, 3), (H, W), (H, W, 3) → how many times brighter the lit surface is than the shadow on it.

    The paper plots a dark rate (appendix D) without defining it. Here it is the median, over the pixels under
    the mask, of clean to shadow luminance in linear light: 5 means that the shadow blocks four fifths of the
    light, 1 that it blocks none. nan when the mask is empty.
    """
    inside = mask > 0
    if not inside.any():
        return math.nan
    lit, dark = (np.maximum(decode_luminance(view[inside]), _BLACK) for view in (clean, picture))
    return float(np.median(lit / dark))


def measure_all(samples: Iterable[Sample]) -> Iterator[Statistics | Problem]:
    """The statistics of each sample in order; a Problem for one that cannot be decoded."""
    pool = ThreadPoolExecutor(max_workers=os.cpu_count())
    try:
        yield from pool.map(_measure_or_explain, samples)
    finally:
        pool.shutdown(cancel_futures=True)


def _measure_or_explain(sample: Sample) -> Statistics | Problem:
    try:
        return measure_triplet(sample.load())
    except ValueError as error:
        return Problem(sample.name, str(error))
