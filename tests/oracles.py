"""Models that know the answer, for what has to hold whatever the weights."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from random_models import SMALL
from skimage import data

from deshadow.diffusion.arrays import Array
from deshadow.image.colour import decode_srgb, linear_to_srgb, round_to_8_bits, srgb_to_linear
from deshadow.nn.config import ModelConfig

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float32]


class Oracle:
    """A backend whose clean picture is given by a function of what the network sees and of the mask."""

    def __init__(self, clean: Callable[[Floats, Floats], Floats]) -> None:
        """`clean`: picture (B, 3, H, W) in [-1, 1], mask (B, 1, H, W) → picture."""
        self.config = ModelConfig(SMALL, SMALL, guidance="none")
        self.clean = clean
        self.device = "cpu"
        self.passes = 0

    def to_device(self, array: Array) -> Array:
        return array

    def encode(self, picture: Array, mask: Array) -> Array | None:
        return None

    def predict(self, noisy: Array, t: int, picture: Array, mask: Array, guidance: Array | None) -> Array:
        self.passes += 1
        assert isinstance(picture, np.ndarray)
        assert isinstance(mask, np.ndarray)
        return self.clean(picture, mask) - picture


def find_darker(picture: Array) -> Array:
    """A detector: what is darker than the picture on average is shadow, however bright the picture is."""
    assert isinstance(picture, np.ndarray)
    light = picture.mean(axis=1, keepdims=True) + 1
    darker: Array = (light < 0.8 * light.mean()).astype(np.float32)
    return darker


def darkened(clean: Pixels, shade: Floats, left: tuple[float, float, float]) -> Pixels:
    """(H, W, 3), (H, W) in [0, 1] → the picture with so much of its light left where the shade is 1."""
    share = 1 - shade[..., None] * (1 - np.asarray(left))
    return round_to_8_bits(linear_to_srgb(decode_srgb(clean) * share))


def lighten(left: tuple[float, float, float]) -> Callable[[Floats, Floats], Floats]:
    """What undoes `darkened` wherever the mask is above one half."""

    def clean(picture: Floats, mask: Floats) -> Floats:
        light = srgb_to_linear((picture + 1) / 2)
        light = np.where(mask > 0.5, light / np.asarray(left).reshape(1, 3, 1, 1), light)
        return (linear_to_srgb(light) * 2 - 1).astype(np.float32)

    return clean


def answer(truth: Pixels) -> Callable[[Floats, Floats], Floats]:
    """The truth itself, reduced to the size that the network sees; for Quick, which sees all of it."""

    def clean(picture: Floats, mask: Floats) -> Floats:
        height, width = picture.shape[2:]
        small = Image.fromarray(truth).resize((width, height), Image.Resampling.BICUBIC)
        return np.asarray(small, np.float32).transpose(2, 0, 1)[None] / np.float32(127.5) - 1

    return clean


def detailed(height: int, width: int) -> Pixels:
    """A picture full of detail, each half another: gravel and brick."""
    halves = []
    for grey, tint in ((data.gravel(), (0.9, 0.85, 0.75)), (data.brick(), (1.0, 0.8, 0.7))):
        mirrored = np.pad(grey, ((0, grey.shape[0]), (0, grey.shape[1])), mode="symmetric")
        tiled = np.tile(mirrored, (height // 1024 + 1, width // 1024 + 1))[:height, :width]
        halves.append((0.9 * tiled[..., None] * np.asarray(tint)).astype(np.uint8))
    picture: Pixels = np.where((np.arange(width) < width // 2)[None, :, None], *halves)
    return picture


def unit(picture: Pixels) -> Floats:
    """8 bits → [0, 1]"""
    return picture.astype(np.float32) / np.float32(255)


def blob(height: int, width: int, soft: float) -> Floats:
    """(H, W) in [0, 1]: a shadow in the middle whose edge is so many pixels soft."""
    rows, columns = np.mgrid[:height, :width]
    distance = np.hypot(rows - height / 2, columns - width / 2) - 0.3 * min(height, width)
    shade: Floats = (1 / (1 + np.exp((distance / soft).clip(-30, 30)))).astype(np.float32)
    return shade
