"""Figures of triplets with known answers."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from deshadow.data.pairs.alignment import misalignment
from deshadow.data.pairs.sample import Triplet
from deshadow.data.pairs.statistics import dark_rate, measure_triplet, shadow_fraction

Pixels = NDArray[np.uint8]


def texture(seed: int = 0, size: tuple[int, int] = (160, 200)) -> NDArray[np.float64]:
    """(H, W, 3) of blotches, in [40, 220]."""
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=(*size, 3)), (2, 2, 0))
    scaled: NDArray[np.float64] = 40 + 180 * (noise - noise.min()) / np.ptp(noise)
    return scaled


def encode(light: NDArray[np.float64]) -> Pixels:
    coded = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return (255 * coded).round().clip(0, 255).astype(np.uint8)


@pytest.mark.parametrize("rate", [2.0, 5.0, 10.0])
def test_dark_rate_is_the_ratio_in_linear_light(rate: float) -> None:
    light = np.random.default_rng(0).uniform(0.3, 0.9, (40, 40, 3))
    mask = np.zeros((40, 40), np.uint8)
    mask[10:30, 10:30] = 255
    dimmed = np.where(mask[..., None] > 0, light / rate, light)
    assert dark_rate(encode(dimmed), mask, encode(light)) == pytest.approx(rate, rel=0.02)


def test_dark_rate_of_black_shadows_and_of_none() -> None:
    black, white = np.zeros((4, 4, 3), np.uint8), np.full((4, 4, 3), 255, np.uint8)
    assert math.isfinite(dark_rate(black, np.full((4, 4), 255, np.uint8), white))
    assert math.isnan(dark_rate(black, np.zeros((4, 4), np.uint8), white))


def test_shadow_fraction() -> None:
    mask = np.zeros((10, 20), np.uint8)
    mask[:5, :8] = 255
    assert shadow_fraction(mask) == pytest.approx(0.2)


@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.3, -0.6), (-1.5, 2.25), (7.4, -9.8)])
def test_misalignment_is_found_to_a_fraction_of_a_pixel(shift: tuple[float, float]) -> None:
    still = texture()
    moved = ndimage.shift(still, (shift[1], shift[0], 0), order=3, mode="reflect")
    mask = np.zeros(still.shape[:2], np.uint8)
    mask[40:120, 60:140] = 255
    # The shadow stays where it is, the exposure changes, and something walks through.
    picture = np.where(mask[..., None] > 0, still * 0.4, still * 0.9)
    picture[:30, :30] = texture(5)[:30, :30]
    found = misalignment(*(view.round().clip(0, 255).astype(np.uint8) for view in (picture, mask, moved)))
    assert found == pytest.approx(shift, abs=0.05)


@pytest.mark.parametrize("kind", ["flat", "stripes", "all in shadow"])
def test_misalignment_that_cannot_be_told(kind: str) -> None:
    picture = np.full((96, 96, 3), 128, np.uint8)
    mask = np.zeros((96, 96), np.uint8)
    if kind == "stripes":
        picture[:, ::8] = 200
    if kind == "all in shadow":
        picture, mask = texture().astype(np.uint8)[:96, :96], np.full((96, 96), 255, np.uint8)
    assert all(math.isnan(value) for value in misalignment(picture, mask, picture))


def test_all_figures_of_a_triplet() -> None:
    clean = texture().round().astype(np.uint8)
    mask = np.zeros(clean.shape[:2], np.uint8)
    mask[:80] = 255
    figures = measure_triplet(Triplet(np.where(mask[..., None] > 0, clean // 2, clean), mask, clean))
    assert (figures.width, figures.height) == (200, 160)
    assert figures.shadow_fraction == 0.5
    assert figures.dark_rate > 3
    assert figures.misalignment < 0.02
