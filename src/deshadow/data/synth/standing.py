"""A thing that stands in the sun at the foot of its shadow, such as somebody in dark clothes."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from deshadow.data.rng import Draws
from deshadow.data.synth.constants import constant
from deshadow.data.synth.occluders import Occluders
from deshadow.data.synth.projection import Placement, blur_edges, ground, invert, nearness
from deshadow.image.colour import linear_to_srgb, round_to_8_bits

PARTS = (0.15, 0.52, 0.93)
"""Where, from top to bottom, upper clothes, lower clothes and shoes of a person begin, below the hair."""
DARK = 0.65
"""Probability that a part is dark."""
BLUR = 0.5
"""How soft the edge of a thing is, relative to the sharpest edge of a shadow: things are about in focus."""


class Shown(NamedTuple):
    """Pictures in which a thing stands."""

    lit: Tensor  # (B, 3, H, W) of 8 bits, without shadows
    visible: Tensor  # (B, K, H, W) share of the sun that passes each occluder: 1 on the thing
    things: Tensor  # (B, 1, H, W) bool, what the thing covers


class Upright(NamedTuple):
    """Where a thing stands in each picture. Lengths are in halves of the frame's shorter side."""

    outline: Tensor  # (B, 1, h, w) in [0, 1], its silhouette
    top: Tensor  # (B, 1) v of its top in the silhouette
    foot: Tensor  # (B, 2) the middle (u, v) of its foot in the silhouette
    point: Tensor  # (B, 2) the same in the image
    scale: Tensor  # (B, 1) half the width of the silhouette in the image
    side: Tensor  # (B, 1) 1, or -1 where the shadow, and so the thing, is a mirror image of the silhouette
    sun: Tensor  # (B, 2) the direction to the sun along the ground


def stand(lit: Tensor, visible: Tensor, placement: Placement, occluders: Occluders, draws: Draws) -> Shown:
    """Show the occluder of each picture that is seen itself.

    It hides the ground and the shadows behind it, and stands in the sun.
    """
    height, width = lit.shape[-2:]
    thing = find_thing(placement, occluders, height / width)
    unit = 2 / min(height, width)
    x, y = ((torch.arange(side, device=lit.device) + (1 - side) / 2) * unit for side in (width, height))
    tall = thing.scale * draws.uniform("standing/tall", 1, low=0.8, high=1.2)
    u = thing.foot[:, :1] + thing.side * (x - thing.point[:, :1]) / thing.scale
    v = thing.foot[:, 1:] + (y - thing.point[:, 1:]) / tall
    grid = torch.stack([u[:, None].expand(-1, height, -1), v[:, :, None].expand(-1, -1, width)], -1)
    seen = F.grid_sample(torch.cat([thing.outline, light_round(thing)], 1), grid, align_corners=False)
    # A silhouette may be coarser than the frame, so it is sharpened; then the lens blurs its edge.
    cover = (seen[:, :1] * 2 - 0.5).clamp(0, 1)
    cover = blur_edges(cover, BLUR * placement.lens[..., None, None] * min(height, width) / 256)
    cover = cover * placement.seen.any(1)[:, None, None, None]
    down = (v - thing.top) / (thing.foot[:, 1:] - thing.top)
    light = dress(draws, down, grid) * torch.exp(seen[:, 1:])
    picture = torch.lerp(lit.float() * (1 / 255), linear_to_srgb(light), cover)
    return Shown(round_to_8_bits(picture), torch.lerp(visible, torch.ones_like(visible), cover), cover > 0.5)


def find_thing(placement: Placement, occluders: Occluders, aspect: float) -> Upright:
    """The occluder that is seen, upright, with its foot where its shadow begins; height over width → a thing.

    Of a picture without one it is any other.
    """
    slot = placement.seen.int().argmax(1)
    row = torch.arange(len(slot), device=slot.device)
    outline = occluders.silhouettes[placement.entry[row, slot]].float() * (1 / 255)
    top, foot = find_ends(outline)
    to_ground = invert(*placement.inverse[row, slot].unbind(-1))
    # The inverse of `projection.silhouette_coordinates` for one point.
    half = constant((max(1 / aspect, 1.0), max(aspect, 1.0)), slot.device)
    origin = ground(placement.point[row, slot] * half, placement.tilt)
    spot = origin + (to_ground @ (foot - placement.anchor[row, slot])[..., None])[..., 0]
    near = nearness(spot, placement.tilt)
    across = to_ground[..., 0]
    return Upright(
        outline,
        top,
        foot,
        point=spot * near,
        scale=across.norm(dim=-1, keepdim=True) * near,
        side=torch.where(across[:, :1] < 0, -1.0, 1.0),
        sun=F.normalize(to_ground[..., 1], dim=-1),
    )


def find_ends(outline: Tensor) -> tuple[Tensor, Tensor]:
    """Silhouettes (B, 1, h, w) → v (B, 1) of their top, and (u, v) (B, 2) of the middle of their foot."""
    side = outline.shape[-1]
    solid = outline[:, 0] > 0.5
    rows, line = solid.any(-1), torch.arange(side, device=outline.device)
    first = torch.where(rows, line, side - 1).amin(1)
    last = torch.where(rows, line, 0).amax(1)
    # The middle of the lowest rows, of two feet the middle between them.
    low = solid & (line[:, None] >= (last - side // 32)[:, None, None])
    middle = (low * line).sum((1, 2)) / low.sum((1, 2)).clamp(min=1)
    top, bottom, across = (((place + 0.5) * 2 / side - 1)[:, None] for place in (first, last, middle))
    return torch.minimum(top, bottom - 0.1), torch.cat([across, bottom], 1)


def light_round(thing: Upright) -> Tensor:
    """(B, 1, h, w): the natural log of the light on a thing that is as round as its silhouette."""
    smooth, size = thing.outline, thing.outline.shape[-1]
    radius = max(1, round(size / 32))
    for _ in range(2):
        smooth = F.avg_pool2d(smooth, 2 * radius + 1, stride=1, padding=radius)
    across = F.pad(smooth[..., 2:] - smooth[..., :-2], (1, 1, 0, 0))
    down = F.pad(smooth[..., 2:, :] - smooth[..., :-2, :], (0, 0, 1, 1))
    x, y = (thing.sun * F.pad(thing.side, (0, 1), value=1.0))[..., None, None, None].unbind(1)
    return (-size / 24 * (across * x + down * y)).clamp(-1, 1) * 0.6


def dress(draws: Draws, down: Tensor, grid: Tensor) -> Tensor:
    """(B, 3, H, W) linear light in the sun, for rows `down` (B, H) that are 0 at its top and 1 at its foot.

    Each part has one colour, but for the folds, which follow `grid` (B, H, W, 2), the places in the
    silhouette. Some things are of one part.
    """
    count = len(PARTS) + 1
    dark = draws.chance("standing/dark", count, 1, of=DARK)
    low = torch.where(dark, 0.006, 0.07)
    high = torch.where(dark, 0.08, 0.75)
    level = low * (high / low) ** draws.uniform("standing/level", count, 1)
    vivid = 0.4 * draws.uniform("standing/vivid", count, 1)
    colours = level * torch.exp(vivid * draws.normal("standing/colour", count, 3).clamp(-2, 2))
    begin = constant(PARTS, down.device) + 0.06 * draws.normal("standing/parts", len(PARTS)).clamp(-1, 1)
    begin = torch.where(draws.chance("standing/plain", 1, of=0.4), 2.0, begin)
    number = (down[:, :, None] >= begin[:, None]).sum(-1)
    light = colours.gather(1, number[..., None].expand(-1, -1, 3)).mT[..., None]
    coarse = draws.normal("standing/folds", 1, 20, 20)
    folds = F.grid_sample(coarse, grid, padding_mode="border", align_corners=False)
    return light * torch.exp(draws.uniform("standing/relief", 1, 1, 1, high=0.5) * folds)
