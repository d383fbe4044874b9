"""Dark things that are not shadows, painted on surfaces, so that a detector learns the difference."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from deshadow.data.grids import pixel_centres
from deshadow.data.rng import Draws
from deshadow.data.synth.occluders import Occluders
from deshadow.data.synth.penumbra import binomial, soften
from deshadow.data.synth.shading import draw_lumps
from deshadow.image.colour import linear_to_srgb, srgb_to_linear


@dataclass(frozen=True)
class Distraction:
    """How many dark things are painted, and of which kinds."""

    things: tuple[float, ...] = (0.55, 0.3)
    """Probabilities of a first, a second … thing in a picture."""
    kinds: tuple[float, float, float] = (0.5, 0.25, 0.25)
    """Probabilities of another texture, a plain colour, and a stain that shows the surface below."""
    size: tuple[float, float] = (0.1, 0.9)
    """Smallest and largest share of the frame that a thing spans, log-uniform."""
    softness: tuple[float, float] = (0.4, 6.0)
    """Smallest and largest standard deviation of its edge in pixels at a size of 256, log-uniform."""
    depth: tuple[float, float] = (0.3, 2.6)
    """Least and most natural log of how much darker it is than the texture that it is made of."""


DEFAULT_DISTRACTION = Distraction()


class Painted(NamedTuple):
    """Pictures (B, 3, H, W) sRGB in [0, 1], and where (B, 1, H, W) bool a dark thing covers them."""

    picture: Tensor
    covered: Tensor


def distract(
    picture: Tensor,
    clean: Tensor,
    textures: Tensor,
    occluders: Occluders,
    draws: Draws,
    chosen: Distraction = DEFAULT_DISTRACTION,
) -> Painted:
    """Paint dark things over pictures (B, 3, H, W) sRGB in [0, 1] whose `clean` side is known.

    They belong to the surface and not to the light: a shadow falls on them as on what they cover, so that
    its mask stays true. `textures` (N, 3, h, w) of 8 bits are what they are made of.
    """
    share = sunlight_share(picture, clean)
    covered = torch.zeros_like(picture[:, :1])
    for number, chance in enumerate(chosen.things):
        name = f"thing/{number}"
        there = draws.chance(f"{name}/there", 1, 1, 1, of=chance)
        cover = place_silhouette(draws, name, occluders, picture.shape[-2:], chosen) * there
        light = fill_surface(draws, name, srgb_to_linear(clean), textures, chosen)
        picture = torch.lerp(picture, linear_to_srgb(light * share), cover)
        covered = torch.maximum(covered, cover)
    return Painted(picture, covered > 0.5)


def sunlight_share(picture: Tensor, clean: Tensor) -> Tensor:
    """(B, 3, H, W): linear light of pictures in sRGB over that of their clean sides."""
    share = (binomial(srgb_to_linear(picture)) + 0.01) / (binomial(srgb_to_linear(clean)) + 0.01)
    return share.clamp(0.02, 1.0)


def place_silhouette(
    draws: Draws, name: str, occluders: Occluders, frame: tuple[int, ...], chosen: Distraction
) -> Tensor:
    """Where (B, 1, H, W) in [0, 1] a thing lies: a silhouette at a random place, size and angle."""
    height, width = frame
    bank = occluders.silhouettes
    shape = bank[draws.integers(f"{name}/shape", high=len(bank))].float() * (1 / 255)
    least, most = chosen.size
    span = least * (most / least) ** draws.uniform(f"{name}/size", 1, 1)
    angle = draws.uniform(f"{name}/angle", 1, 1, low=-3.1416, high=3.1416)
    angle = torch.where(draws.chance(f"{name}/upright", 1, 1, of=0.4), 0.0, angle)
    line = [pixel_centres(side, bank.device) for side in (width, height)]
    x = line[0][None, None, :] - draws.uniform(f"{name}/x", 1, 1, low=-0.9, high=0.9)
    y = line[1][None, :, None] - draws.uniform(f"{name}/y", 1, 1, low=-0.9, high=0.9)
    cos, sin = torch.cos(angle) / span, torch.sin(angle) / span
    grid = torch.stack([x * cos - y * sin, x * sin + y * cos], -1)
    cover = F.grid_sample(shape, grid, padding_mode="zeros", align_corners=False)
    low, high = chosen.softness
    sigma = low * (high / low) ** draws.uniform(f"{name}/soft", 1, 1, 1) * (min(height, width) / 256)
    return soften(cover, sigma)


def fill_surface(draws: Draws, name: str, light: Tensor, textures: Tensor, chosen: Distraction) -> Tensor:
    """What a thing looks like, (B, 3, H, W) linear light, where it lies on `light` of the same kind."""
    height, width = light.shape[-2:]
    texture = textures[draws.integers(f"{name}/texture", high=len(textures))].float() * (1 / 255)
    zoom = draws.uniform(f"{name}/zoom", 1, 1, low=0.2, high=1.0)
    line = [pixel_centres(side, light.device) for side in (width, height)]
    x, y = line[0][None, None, :] * zoom, line[1][None, :, None] * zoom
    grid = torch.stack([x.expand(-1, height, -1), y.expand(-1, -1, width)], -1)
    other = srgb_to_linear(F.grid_sample(texture, grid, padding_mode="reflection", align_corners=False))
    depth = draws.uniform(f"{name}/depth", 1, 1, 1, low=chosen.depth[0], high=chosen.depth[1])
    tint = 0.3 * draws.normal(f"{name}/tint", 3, 1, 1).clamp(-2, 2)
    other = other * torch.exp(tint - depth)
    plain = other.mean((2, 3), keepdim=True).expand_as(other)
    # The sky makes shadows blue: what is darker and warmer than its surroundings is a stain.
    warm = draws.uniform(f"{name}/warm", 1, 1, 1, low=0.2, high=0.6)
    green = 0.15 * draws.normal(f"{name}/green", 1, 1, 1).clamp(-2, 2)
    through = light * torch.exp(torch.cat([warm, green, -warm], 1) - depth.clamp(max=1.6))
    kind = draws.uniform(f"{name}/kind", 1, 1, 1)
    first, second, _ = chosen.kinds
    made = torch.where(kind < first, other, torch.where(kind < first + second, plain, through))
    return made * torch.exp(0.15 * draw_lumps(draws, f"{name}/shade", height, width))
