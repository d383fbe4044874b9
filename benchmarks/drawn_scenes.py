"""Pictures that may be shown, with shadows drawn over them, for the gallery and the shipped examples.

The pictures are drawn here, or come with scikit-image, where they are in the public domain or under CC0. The
silhouettes are drawn by deshadow.data.synth. python benchmarks/drawn_scenes.py writes the shipped examples.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from skimage import data

from deshadow.data.rng import Draws
from deshadow.data.synth import silhouettes
from deshadow.image.colour import decode_srgb, linear_to_srgb, round_to_8_bits
from deshadow.image.filters import approximate_gaussian_blur
from deshadow.image.strips import Field

Codes = NDArray[np.uint8]
Corners = tuple[tuple[float, float], tuple[float, float], tuple[float, float], tuple[float, float]]
"""Top left, top right, bottom right and bottom left, as shares of width and height."""

DEEP = (0.22, 0.26, 0.34)
"""Shares of red, green and blue light that are left in a shadow under a blue sky."""
LAMP = (0.45, 0.44, 0.42)
FAINT = (0.58, 0.61, 0.66)
_SILHOUETTE = 768


@dataclass(frozen=True)
class Scene:
    """A picture with a drawn shadow, and the truth."""

    photo: Codes
    """(H, W, 3)"""
    clean: Codes
    shade: Field
    """(H, W) in [0, 1]: 1 where the light is blocked."""


def cast(clean: Codes, shade: Field, left: tuple[float, float, float]) -> Scene:
    """The scene in which so much of the light is left where the shade is 1, with the noise of a camera."""
    light = decode_srgb(clean) * (1 - shade[..., None] * (1 - np.asarray(left)))
    noise = np.random.default_rng(0).normal(size=light.shape) * 0.004 * np.sqrt(light + 0.01)
    return Scene(round_to_8_bits(linear_to_srgb((light + noise).clip(0, 1).astype(np.float32))), clean, shade)


def silhouette(kind: str, seed: int) -> Field:
    """(s, s) in [0, 1]: a person, a plant, a hand, a canopy, …, upright."""
    drawn: Field = getattr(silhouettes, kind)(Draws(seed, torch.tensor([seed])), _SILHOUETTE)[0].numpy()
    return drawn


def place(shape: Field, corners: Corners, size: tuple[int, int], soft: float) -> Field:
    """(H, W): a silhouette stretched to four corners of a picture, with an edge of so many pixels."""
    height, width = size
    far = len(shape)
    rows = []
    for (x, y), (u, v) in zip(corners, [(0, 0), (far, 0), (far, far), (0, far)], strict=True):
        x, y = x * width, y * height
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    target = np.array([0, 0, far, 0, far, far, 0, far], float)
    coefficients = tuple(np.linalg.solve(np.array(rows), target))
    image = Image.fromarray(shape).transform(
        (width, height), Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR
    )
    return approximate_gaussian_blur(np.array(image, np.float32), soft).clip(0, 1)


def surface(name: str, tint: tuple[float, float, float]) -> Codes:
    """(600, 900, 3): brick, grass or gravel of scikit-image, enlarged, in a colour."""
    grey = Image.fromarray(getattr(data, name)()).resize((900, 900), Image.Resampling.LANCZOS)
    tinted = np.asarray(grey)[:600, :, None] / 255 * np.asarray(tint)
    return round_to_8_bits(tinted.clip(0, 1).astype(np.float32))


def draw_page(height: int = 900, width: int = 700) -> Codes:
    """(H, W, 3): a printed page."""
    grain = np.random.default_rng(1).normal(0, 1, (height, width)).astype(np.float32)
    paper = 244 + 2 * approximate_gaussian_blur(grain, 1.5)
    page = Image.fromarray(np.stack([paper, paper - 3, paper - 10], axis=-1).clip(0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(page)
    draw.text((70, 60), "Shadows on paper", (30, 30, 34), ImageFont.load_default(44))
    text = (
        "A shadow is missing light. The lamp stands behind the hand that holds the camera, so the hand "
        "darkens the page, and the copy shows a grey cloud over the text. Removing it is a gain in linear "
        "light that is smooth except at the edge of the shadow. The letters must stay as black as they "
        "were, and the paper must become as bright as beside the shadow. "
    )
    font, line, top = ImageFont.load_default(21), "", 150
    for word in (text * 6).split():
        if draw.textlength(f"{line} {word}", font) > width - 140:
            draw.text((70, top), line.strip(), (38, 38, 42), font)
            line, top = "", top + 33
            if top > height - 80:
                break
        line += f" {word}"
    return np.asarray(page)


def draw_scenes() -> dict[str, Scene]:
    """All scenes by name."""
    ground, paper, face = (600, 900), (900, 700), data.astronaut()
    people = [
        place(
            silhouette("person", seed),
            ((x, 0.1), (x + 0.3, 0.1), (x + 0.22, 0.9), (x - 0.08, 0.9)),
            ground,
            2.5,
        )
        for seed, x in ((1, 0.06), (2, 0.37), (4, 0.70))
    ]
    leaves = place(silhouette("canopy", 3), ((-0.1, -0.1), (1, -0.1), (1, 1.1), (-0.1, 1.1)), ground, 3)
    person = place(
        silhouette("person", 1), ((0.3, -0.05), (0.78, -0.05), (0.62, 1.02), (0.12, 1.02)), ground, 3
    )
    hand = place(silhouette("hand", 2), ((0.3, 0.28), (1.2, 0.2), (1.25, 1.25), (0.15, 1.3)), paper, 12)
    plant = place(silhouette("plant", 2), ((-0.1, -0.1), (0.9, -0.3), (1.1, 1.2), (0.1, 1.3)), (512, 512), 4)
    pavement = surface("brick", (1.25, 1.0, 0.9))
    gravel = surface("gravel", (1.25, 1.17, 1.05))
    grass = surface("grass", (0.85, 1.0, 0.5))
    return {
        "pavement": cast(pavement, leaves, DEEP),
        "page": cast(draw_page(*paper), hand, LAMP),
        "portrait": cast(face, plant, (0.38, 0.4, 0.45)),
        "lawn": cast(grass, np.maximum.reduce(people), DEEP),
        "faint": cast(gravel, person, FAINT),
        "deep": cast(gravel, person, (0.1, 0.115, 0.14)),
        "black": cast(gravel, person, (0.004, 0.004, 0.005)),
        "photographer": cast(np.stack([data.camera()] * 3, axis=-1), np.zeros((512, 512), np.float32), DEEP),
    }


def main() -> None:
    folder = Path(__file__).parents[1] / "src/deshadow/examples"
    scenes = draw_scenes()
    for name in ("pavement", "page", "lawn"):
        Image.fromarray(scenes[name].photo).save(folder / f"{name}.jpg", quality=80, optimize=True)


if __name__ == "__main__":
    main()
