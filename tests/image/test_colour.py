import warnings

import numpy as np
import pytest
from skimage import data
from skimage.color import lab2rgb, rgb2lab

from deshadow.image.colour import encode, lab, linear, srgb

CUBE = np.stack(np.meshgrid(*[np.arange(0, 256, 5, dtype=np.uint8)] * 3, indexing="ij"), axis=-1)


@pytest.mark.parametrize("picture", [data.astronaut(), data.coffee(), CUBE.reshape(52, -1, 3)])
def test_lab_is_that_of_scikit_image(picture: np.ndarray) -> None:
    np.testing.assert_allclose(lab(picture), rgb2lab(picture), atol=1e-10)


def test_every_colour_survives_the_way_to_lab_and_back() -> None:
    np.testing.assert_array_equal(srgb(lab(CUBE)), CUBE)


def test_colours_beyond_the_gamut_are_clipped_as_scikit_image_does() -> None:
    values = np.random.default_rng(0).uniform((0, -60, -60), (100, 60, 60), (40, 40, 3))
    ours = srgb(values).astype(float) / 255
    with warnings.catch_warnings():  # it warns of each colour that it clips
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(ours, lab2rgb(values), atol=0.5 / 255 + 1e-3)


def test_linear_light_survives_encoding() -> None:
    codes = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    np.testing.assert_array_equal(encode(linear(codes)), codes)
