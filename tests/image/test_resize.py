import numpy as np
import pytest
from PIL import Image
from skimage import data

from deshadow.image.resize import bicubic, cubic, nearest, weights


def test_halving_four_pixels_is_what_one_finds_by_hand() -> None:
    # Distances 1/4, 3/4, 5/4, 7/4 on the widened kernel: 111/128, 29/128, −9/128, −3/128, halved, and what
    # lies beyond the border added to its mirror image.
    row = np.array([70, 51, 13, -6]) / 128
    np.testing.assert_allclose(weights(4, 2), [row, row[::-1]], atol=1e-15)


def test_doubling_two_pixels_is_what_one_finds_by_hand() -> None:
    expected = np.array([[140, -12], [102, 26], [26, 102], [-12, 140]]) / 128
    np.testing.assert_allclose(weights(2, 4), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("before", "after"), [(390, 256), (512, 256), (256, 390), (7, 256), (256, 3), (1, 4)]
)
def test_weights_share_out_each_pixel_symmetrically(before: int, after: int) -> None:
    matrix = weights(before, after)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    np.testing.assert_allclose(matrix, matrix[::-1, ::-1], atol=1e-12)


def test_the_kernel_widens_as_the_picture_shrinks() -> None:
    def reach(before: int, after: int) -> int:
        return int((weights(before, after)[after // 2] != 0).sum())

    assert reach(64, 128) == 4
    assert reach(128, 64) == 8
    assert reach(256, 64) == 16


def test_the_kernel_interpolates_and_reproduces_a_slope() -> None:
    np.testing.assert_allclose(cubic(np.array([0.0, 1, -1, 2, -2, 3])), [1, 0, 0, 0, 0, 0], atol=1e-15)
    ramp = weights(64, 100) @ np.arange(64.0)
    np.testing.assert_allclose(np.diff(ramp)[5:-5], 0.64, atol=1e-12)


@pytest.mark.parametrize("size", [(256, 256), (300, 700), (100, 90)])
def test_pillow_agrees_away_from_the_border(size: tuple[int, int]) -> None:
    picture = data.astronaut()[:390]
    ours = bicubic(picture, *size).astype(int)
    theirs = np.asarray(Image.fromarray(picture).resize(size[::-1], Image.Resampling.BICUBIC)).astype(int)
    assert ours.shape == (*size, 3)
    # Pillow has weights of 8 bits, and beyond the border nothing where MATLAB has a mirror.
    assert np.abs(ours - theirs)[8:-8, 8:-8].max() <= 1


def test_the_axis_that_shrinks_most_goes_first_and_is_rounded_by_itself() -> None:
    picture = data.astronaut()[:400, :400, 0]  # halves and quarters, so that no sum is rounded
    narrow = np.floor(picture @ weights(400, 100).T + 0.5).clip(0, 255)
    expected = np.floor(weights(400, 200) @ narrow + 0.5).clip(0, 255)
    np.testing.assert_array_equal(bicubic(picture, 200, 100), expected)


def test_the_same_size_is_the_same_picture() -> None:
    picture = data.astronaut()
    assert bicubic(picture, 512, 512) is picture


def test_a_mask_takes_the_pixel_under_each_centre() -> None:
    mask = np.random.default_rng(0).integers(0, 256, (39, 50), dtype=np.uint8)
    for height, width in ((16, 16), (39, 50), (100, 77)):
        by_hand = [
            [
                mask[int((row + 0.5) * 39 / height), int((column + 0.5) * 50 / width)]
                for column in range(width)
            ]
            for row in range(height)
        ]
        np.testing.assert_array_equal(nearest(mask, height, width), by_hand)
    np.testing.assert_array_equal(nearest(np.arange(8, dtype=np.uint8)[None], 1, 4), [[1, 3, 5, 7]])
