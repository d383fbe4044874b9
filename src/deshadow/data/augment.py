"""Augmentation of batches on any device: crops, flips, rotations and light, the same for both pictures."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from deshadow.data.grids import sample_grid, turn
from deshadow.data.rng import Draws
from deshadow.image.colour import linear_to_srgb, round_to_8_bits, srgb_to_linear


class Pairs(NamedTuple):
    """A batch of shadow pictures (B, 3, H, W) of 8 bits, masks (B, 1, H, W) bool and clean pictures."""

    picture: Tensor
    mask: Tensor
    clean: Tensor


@dataclass(frozen=True)
class Augmentation:
    """How far pairs are varied."""

    crop: tuple[float, float] = (0.5, 1.0)
    """Smallest and largest share of the shorter side that a crop spans, log-uniform."""
    squeeze: bool = True
    """Whether some crops have the picture's aspect ratio and are squeezed into the square."""
    flip: bool = True
    """Whether half of the pictures are mirrored."""
    turn: bool = True
    """Whether pictures are rotated by a random multiple of 90 degrees."""
    exposure: float = 0.35
    """Standard deviation of the exposure in stops."""
    balance: float = 0.06
    """Standard deviation of the natural log of the gains of red and blue."""
    depth: float = 0.12
    """Standard deviation of the power to which the ratio of shadow to clean is raised, around 1."""
    tint: float = 0.03
    """Standard deviation of that power between channels, as under other skies and in other cameras."""
    hue: float = 0.0
    """Standard deviation of the angle by which colours are turned around grey, in degrees."""
    saturation: float = 0.0
    """Standard deviation of the natural log of the factor of their distance from grey."""

    def __post_init__(self) -> None:
        if not 0 < self.crop[0] <= self.crop[1] <= 1:
            raise ValueError("a crop spans a share of the picture: 0 < least <= most <= 1")


DEFAULT_AUGMENTATION = Augmentation()
FLOOR = 1e-3
"""Linear light that is added before ratios are taken, which are noise near black."""


def augment(pairs: Pairs, draws: Draws, size: int, chosen: Augmentation = DEFAULT_AUGMENTATION) -> Pairs:
    """Crop squares of `size` pixels from pairs of any size, and vary their light.

    Where the pictures were equal they stay equal, and the mask still covers every pixel that differs
    if it did before. The result is laid out channels last, whatever rotation was drawn.
    """
    height, width = pairs.picture.shape[-2:]
    grid, samples = cut(draws, chosen, height, width, size)
    gains, colours = draw_gains(draws, chosen), draw_colours(draws, chosen)
    picture, clean = (
        change_colours(sample_grid(tone(view, gains), grid, samples), colours)
        for view in (pairs.picture, pairs.clean)
    )
    picture, clean = (
        round_to_8_bits(deepen_shadows(picture, clean, draw_depths(draws, chosen))),
        round_to_8_bits(clean),
    )
    share = sample_grid(pairs.mask.float(), grid, samples)
    differs = (picture != clean).any(1, keepdim=True)
    # Rounding in the grid lets a trace of a neighbour in: it counts only if it shows.
    mask = (share > 1e-4) | ((share > 0) & differs)
    layout = torch.channels_last
    return Pairs(picture.contiguous(memory_format=layout), mask, clean.contiguous(memory_format=layout))


def vary(picture: Tensor, draws: Draws, size: int, chosen: Augmentation = DEFAULT_AUGMENTATION) -> Tensor:
    """Crop squares of `size` pixels from pictures (B, 3, H, W) of 8 bits, as `augment` does from pairs."""
    height, width = picture.shape[-2:]
    cut_out = cut(draws, chosen, height, width, size)
    view = sample_grid(tone(picture, draw_gains(draws, chosen)), *cut_out)
    return round_to_8_bits(change_colours(view, draw_colours(draws, chosen)))


def cut(draws: Draws, chosen: Augmentation, height: int, width: int, size: int) -> tuple[Tensor, int]:
    """The grid at which squares of `size` pixels are sampled, and the number of samples to a pixel's side."""
    # Several where a crop is made smaller, so that nothing flickers or aliases.
    samples = max(1, round(chosen.crop[1] * min(height, width) / size))
    return crop_grid(draws, chosen, height, width, size * samples), samples


def crop_grid(draws: Draws, chosen: Augmentation, height: int, width: int, size: int) -> Tensor:
    """Points (B, size, size, 2) in [-1, 1]² of random crops, mirrored and rotated by quarters."""
    least, most = chosen.crop
    share = least * (most / least) ** draws.uniform("crop/span", 1)
    # A quarter of the crops are square, a quarter have the picture's shape, the others lie between.
    squeeze = draws.uniform("crop/squeeze", 1, low=-0.5, high=1.5).clamp(0, 1) * chosen.squeeze
    side = min(height, width)
    span_x, span_y = (share * side * (length / side) ** squeeze for length in (width, height))
    # Flips and turns exchange and negate axes.
    centre_x = width / 2 + (draws.uniform("crop/x", 1) - 0.5) * (width - span_x)
    centre_y = height / 2 + (draws.uniform("crop/y", 1) - 0.5) * (height - span_y)
    line = (torch.arange(size, device=draws.index.device) + 0.5) / size - 0.5
    across, down = line[None, None, :], line[None, :, None]
    quarters = draws.integers("crop/turn", 1, 1, high=4 if chosen.turn else 1)
    u, v = turn(across, down, quarters, draws.chance("flip", 1, 1, of=0.5 if chosen.flip else 0.0))
    x = (centre_x[..., None] + u * span_x[..., None]) * (2 / width) - 1
    y = (centre_y[..., None] + v * span_y[..., None]) * (2 / height) - 1
    return torch.stack([x, y], -1)


def draw_gains(draws: Draws, chosen: Augmentation) -> Tensor:
    """Random gains (B, 3) of linear light."""
    exposure = 0.6931 * chosen.exposure * draws.normal("exposure", 1).clamp(-2, 2)
    balance = chosen.balance * draws.normal("balance", 2).clamp(-2, 2)
    zero = torch.zeros_like(exposure)
    return torch.exp(exposure + torch.cat([balance[:, :1], zero, balance[:, 1:]], 1))


def draw_colours(draws: Draws, chosen: Augmentation) -> Tensor | None:
    """Random matrices (B, 3, 3) for linear light, which change hue and saturation; None without a change."""
    if not (chosen.hue or chosen.saturation):
        return None
    angle = math.radians(chosen.hue) * draws.normal("hue", 1, 1).clamp(-2, 2)
    factor = torch.exp(chosen.saturation * draws.normal("saturation", 1, 1).clamp(-2, 2))
    grey = torch.full((3, 3), 1 / 3, device=angle.device)
    # Perpendicular to grey: the colour as it is, and turned by 90 degrees.
    colour = torch.eye(3, device=angle.device) - grey
    turned = grey.new_tensor([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]) * 3**-0.5
    return grey + factor * (angle.cos() * colour + angle.sin() * turned)


def draw_depths(draws: Draws, chosen: Augmentation) -> Tensor:
    """Random powers (B, 3) for `deepen_shadows`."""
    depth = chosen.depth * draws.normal("depth", 1).clamp(-2, 2)
    return 1 + depth + chosen.tint * draws.normal("tint", 3).clamp(-2, 2)


def deepen_shadows(picture: Tensor, clean: Tensor, powers: Tensor) -> Tensor:
    """Pictures (B, 3, H, W) in [0, 1] with their ratio to the clean ones raised to `powers` (B, 3)."""
    light, full = srgb_to_linear(picture) + FLOOR, srgb_to_linear(clean) + FLOOR
    deeper = linear_to_srgb(full * (light / full) ** powers[..., None, None] - FLOOR)
    return torch.where(picture == clean, picture, deeper)


def change_colours(picture: Tensor, matrices: Tensor | None) -> Tensor:
    """(B, 3, H, W) sRGB in [0, 1] → the same after `matrices` (B, 3, 3) in linear light; grey stays grey."""
    if matrices is None:
        return picture
    light = srgb_to_linear(picture)
    red, green, blue = (matrices[..., each, None, None] * light[:, each : each + 1] for each in range(3))
    return linear_to_srgb((red + green + blue).clamp(0, 1))


def tone(picture: Tensor, gains: Tensor) -> Tensor:
    """8-bit pictures (B, 3, H, W) under `gains` (B, 3) of linear light, as sRGB in [0, 1]."""
    table = linear_to_srgb(srgb_to_linear(torch.arange(256, device=picture.device) / 255) * gains[..., None])
    return table.gather(2, picture.long().flatten(2)).view(picture.shape)
