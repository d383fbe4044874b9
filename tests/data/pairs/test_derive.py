"""Masks that are derived from a pair, and the regions they are cleaned by."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import ndimage
from skimage import filters

from deshadow.data.pairs.derive import derive_mask, otsu
from deshadow.image.colour import decode_luminance
from deshadow.image.filters import gaussian_blur
from deshadow.image.regions import label, remove_small


@given(st.integers(0, 2**32 - 1), st.integers(1, 24), st.integers(1, 24), st.floats(0, 1))
def test_regions_are_those_of_scipy(seed: int, height: int, width: int, density: float) -> None:
    mask = np.random.default_rng(seed).random((height, width)) < density
    ours, (theirs, count) = label(mask), ndimage.label(mask)
    assert ours.max() == count
    # The same partition: each of our labels goes with exactly one of theirs.
    assert len(set(zip(ours.ravel().tolist(), theirs.ravel().tolist(), strict=True))) == len(
        np.unique(theirs)
    )
    np.testing.assert_array_equal(ours > 0, mask)


def test_small_regions_go_and_large_ones_stay() -> None:
    mask = np.zeros((20, 20), bool)
    mask[2:8, 2:8] = True
    mask[15, 15:18] = True
    kept = remove_small(mask, least=4)
    assert kept.sum() == 36
    assert remove_small(mask, least=3).sum() == 39


def test_blur_is_a_gaussian() -> None:
    field = np.random.default_rng(0).random((40, 50)).astype(np.float32)
    expected = ndimage.gaussian_filter(field, 2.0, mode="nearest", truncate=3.0)
    assert np.abs(gaussian_blur(field, 2.0) - expected).max() < 1e-5


def test_threshold_is_that_of_scikit_image() -> None:
    noise = np.random.default_rng(0)
    values = np.concatenate([noise.normal(0, 0.1, 4000), noise.normal(1, 0.2, 1000)]).astype(np.float32)
    expected: float = filters.threshold_otsu(values)
    assert abs(otsu(values) - expected) < 1.5 * float(np.ptp(values)) / 256


def test_luminance_of_known_colours() -> None:
    colours = np.array([[[0, 0, 0], [255, 255, 255], [255, 0, 0], [188, 188, 188]]], np.uint8)
    np.testing.assert_allclose(decode_luminance(colours)[0], [0, 1, 0.2126, 0.5029], atol=1e-4)


def shaded(strength: float) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.uint8]]:
    noise = np.random.default_rng(1)
    clean = noise.integers(100, 250, (128, 160, 3), dtype=np.uint8)
    y, x = np.mgrid[:128, :160]
    truth = (x - 80) ** 2 + (y - 60) ** 2 < 40**2
    picture = np.where(truth[..., None], clean * strength, clean).astype(np.uint8)
    return picture, truth, clean


@pytest.mark.parametrize("strength", [0.3, 0.6, 0.8])
def test_mask_of_a_disc(strength: float) -> None:
    picture, truth, clean = shaded(strength)
    mask = derive_mask(picture, clean) > 0
    assert (mask & truth).sum() / (mask | truth).sum() > 0.95


def test_mask_without_specks_and_pinholes() -> None:
    picture, _, clean = shaded(0.4)
    picture[5:8, 5:8] //= 3  # a leaf that moved
    picture[58:61, 79:82] = clean[58:61, 79:82]
    mask = derive_mask(picture, clean) > 0
    assert not mask[:12, :12].any()
    assert mask[50:70, 70:90].all()


def test_equal_pictures_have_no_shadow() -> None:
    clean = shaded(1.0)[2]
    assert not derive_mask(clean, clean).any()
