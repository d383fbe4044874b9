"""Dark surfaces that fill most of a picture, such as walls and slabs with letters, which are no shadows."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from deshadow.data.rng import Draws
from deshadow.data.synth.distractors import Distraction, Painted, fill_surface, sunlight_share
from deshadow.data.synth.grounds import cut_frame
from deshadow.data.synth.occluders import Occluders
from deshadow.image.colour import linear_to_srgb, srgb_to_linear


@dataclass(frozen=True)
class DarkSurface:
    """How often a dark surface, such as a wall or a slab with letters, fills most of the picture."""

    chance: float = 0.12
    """Probability of one in a picture."""
    whole: float = 0.4
    """Probability that it fills the whole picture; otherwise it ends at a straight edge."""
    depth: tuple[float, float] = (0.8, 3.0)
    """Least and most natural log of how much darker it is than the texture that it is made of."""
    marks: float = 0.6
    """Probability of marks on it, such as letters, print and ornaments."""


DEFAULT_SURFACE = DarkSurface()


def add_dark_surface(
    picture: Tensor,
    clean: Tensor,
    textures: Tensor,
    occluders: Occluders,
    draws: Draws,
    chosen: DarkSurface = DEFAULT_SURFACE,
) -> Painted:
    """Put a dark surface over most of some pictures (B, 3, H, W); shadows fall on it as on what it covers."""
    there = draws.chance("surface/there", 1, 1, 1, of=chosen.chance)
    whole = draws.chance("surface/whole", 1, 1, 1, of=chosen.whole)
    cover = torch.where(whole, 1.0, cut_frame(draws, "surface", picture.shape[-2:])) * there
    made = fill_surface(
        draws,
        "surface",
        srgb_to_linear(clean),
        textures,
        Distraction(kinds=(0.7, 0.3, 0.0), depth=chosen.depth),
    )
    marked = draws.chance("surface/marked", 1, 1, 1, of=chosen.marks)
    contrast = draws.uniform("surface/contrast", 1, 1, 1, low=-0.8, high=1.8)
    made = made * torch.exp(contrast * marked * draw_marks(draws, occluders, picture.shape[-2:]))
    light = linear_to_srgb(made * sunlight_share(picture, clean))
    return Painted(torch.lerp(picture, light, cover), cover > 0.5)


def draw_marks(draws: Draws, occluders: Occluders, frame: tuple[int, ...]) -> Tensor:
    """(B, 1, H, W) in [0, 1]: rows of one small silhouette, as letters and ornaments stand."""
    height, width = frame
    bank = occluders.silhouettes
    shape = bank[draws.integers("surface/mark", high=len(bank))].float() * (1 / 255)
    count = 2 + 14 * draws.uniform("surface/count", 1).square()
    x, y = (
        ((torch.arange(side, device=bank.device) + 0.5) * count / min(height, width)) % 1 * 2 - 1
        for side in (width, height)
    )
    grid = torch.stack([x[:, None, :].expand(-1, height, -1), y[:, :, None].expand(-1, -1, width)], -1)
    return F.grid_sample(shape, 1.15 * grid, padding_mode="zeros", align_corners=False)
