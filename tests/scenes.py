"""Pictures with shadows that are drawn over those of scikit-image, and data sets made of them."""

from pathlib import Path

import numpy as np
from PIL import Image
from skimage import data

from deshadow.evaluation.methods import Input
from deshadow.image.colour import decode_srgb, linear_to_srgb, round_to_8_bits
from deshadow.removal.selection import Selection

Pixels = np.ndarray


def scene(height: int = 120, width: int = 160, seed: int = 0) -> tuple[Pixels, Pixels, Pixels]:
    """Picture, mask of 0 and 255, clean picture: a quarter of the light left in a tilted band."""
    rng = np.random.default_rng(seed)
    source = (data.astronaut(), data.coffee())[seed % 2]
    top, left = rng.integers(0, 200, 2)
    clean = np.ascontiguousarray(source[top : top + height, left : left + width])
    rows, columns = np.mgrid[:height, :width]
    mask = np.where(np.abs(rows - columns * 0.7 - 5 * seed) < height / 5, 255, 0).astype(np.uint8)
    dark = round_to_8_bits(linear_to_srgb(decode_srgb(clean) * 0.25))
    return np.where(mask[..., None] > 0, dark, clean), mask, clean


def give(picture: Pixels, mask: Pixels, name: str = "a", protected: Pixels | None = None) -> Input:
    """What an evaluated method is given."""
    return Input(picture, Selection(mask.astype(np.float32) / np.float32(255), protected), name)


def write_scenes(folder: Path, count: int = 4, **size: int) -> None:
    """A plain data set of so many scenes, each another."""
    for seed in range(count):
        write_triplet(folder, f"photo{seed}", *scene(seed=seed, **size))


def write_triplet(folder: Path, name: str, picture: Pixels, mask: Pixels, clean: Pixels) -> None:
    for part, pixels in (("shadow", picture), ("mask", mask), ("shadow_free", clean)):
        (folder / part).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / part / f"{name}.png")
