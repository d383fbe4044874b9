import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from skimage import data
from skimage.color import lab2rgb, rgb2lab

import deshadow
from deshadow.image.colour import (
    decode_srgb,
    lab_to_srgb,
    linear_to_srgb,
    round_to_8_bits,
    srgb_to_lab,
    srgb_to_linear,
)

CUBE = np.stack(np.meshgrid(*[np.arange(0, 256, 5, dtype=np.uint8)] * 3, indexing="ij"), axis=-1)


@pytest.mark.parametrize("picture", [data.astronaut(), data.coffee(), CUBE.reshape(52, -1, 3)])
def test_lab_is_that_of_scikit_image(picture: np.ndarray) -> None:
    np.testing.assert_allclose(srgb_to_lab(picture), rgb2lab(picture), atol=1e-10)


def test_every_colour_survives_the_way_to_lab_and_back() -> None:
    np.testing.assert_array_equal(lab_to_srgb(srgb_to_lab(CUBE)), CUBE)


def test_colours_beyond_the_gamut_are_clipped_as_scikit_image_does() -> None:
    values = np.random.default_rng(0).uniform((0, -60, -60), (100, 60, 60), (40, 40, 3))
    ours = lab_to_srgb(values).astype(float) / 255
    with warnings.catch_warnings():  # it warns of each colour that it clips
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(ours, lab2rgb(values), atol=0.5 / 255 + 1e-3)


def test_linear_light_survives_encoding() -> None:
    codes = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    np.testing.assert_array_equal(round_to_8_bits(linear_to_srgb(decode_srgb(codes))), codes)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numpy_and_torch_share_the_curve(dtype: str) -> None:
    values = np.linspace(-0.1, 1.1, 1001).astype(dtype)
    for change in (srgb_to_linear, linear_to_srgb):
        ours, theirs = change(values), change(torch.from_numpy(values)).numpy()
        assert ours.dtype == theirs.dtype == values.dtype
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    np.testing.assert_array_equal(round_to_8_bits(values), round_to_8_bits(torch.from_numpy(values)).numpy())


def test_numpy_and_torch_share_lab() -> None:
    picture = data.astronaut()[:64, :64]
    theirs = srgb_to_lab(torch.from_numpy(picture).permute(2, 0, 1)[None] / 255)[0].permute(1, 2, 0)
    np.testing.assert_allclose(srgb_to_lab(picture), theirs.numpy(), atol=1e-3)


@pytest.mark.parametrize("constant", ["0.04045", "0.0031308", "7.787", "0.008856"])
def test_each_constant_is_written_in_one_module(constant: str) -> None:
    package = Path(deshadow.__file__).parent
    assert [path.name for path in package.rglob("*.py") if constant in path.read_text()] == ["colour.py"]
