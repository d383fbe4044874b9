"""Where shadows fall: one camera and one sun for a picture, a place for every occluder."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from deshadow.data.rng import Draws
from deshadow.data.synth.constants import constant
from deshadow.data.synth.occluders import ANCHORS, OccluderKind, Occluders
from deshadow.data.synth.penumbra import soften
from deshadow.data.synth.recipe import ShadowRecipe

TAIL = 0.02
"""Light lost below which a pixel counts as fully lit: a penumbra ends, and a mask with it."""


class Placement(NamedTuple):
    """Occluders of a batch; B pictures, K slots. Lengths are in halves of the frame."""

    active: Tensor  # (B, K) bool
    kind: Tensor  # (B, K)
    entry: Tensor  # (B, K) which silhouette of the bank
    anchor: Tensor  # (B, K, 2) point of the silhouette that falls on
    point: Tensor  # (B, K, 2) this point of the frame
    inverse: Tensor  # (B, K, 2, 2) from the ground to the silhouette
    lift: Tensor  # (B, K) height of the silhouette's foot above the ground
    length: Tensor  # (B, K) height of the silhouette itself
    opacity: Tensor  # (B, K) share of the sun that it blocks
    softness: Tensor  # (B, 1) standard deviation of the penumbra over height
    lens: Tensor  # (B, 1) standard deviation of the sharpest edge, in pixels at 256
    tilt: Tensor  # (B, 2) how the camera looks across the ground
    seen: Tensor  # (B, K) bool, whether the occluder itself is in the frame; at most one of a picture


def place(draws: Draws, recipe: ShadowRecipe, occluders: Occluders) -> Placement:
    """Choose occluders and where their shadows fall."""
    slots = recipe.slots
    device = draws.index.device
    number = pick(draws.uniform("number", 1), recipe.shadows)
    active = torch.arange(slots, device=device) <= number
    kinds = constant(recipe.kinds, device) * (occluders.count > 0)
    kind = pick(draws.uniform("kind", slots), kinds)
    entry = occluders.first[kind] + draws.integers("entry", slots, high=occluders.count[kind])
    which = draws.integers("anchor", slots, high=ANCHORS)

    # `.value`, here and below: torch.compile holds a tensor for unequal to an enum.
    thing = kind == OccluderKind.OBJECT.value
    entering = thing & draws.chance("entering", slots, of=recipe.entering)
    whole = thing & ~entering
    # A shadow that is to be seen whole is placed by its middle, any other by a point of its outline.
    anchor = torch.where(whole[..., None], 0.0, occluders.anchors[entry, which])
    seen = whole & active & draws.chance("seen", slots, of=recipe.standing)
    seen &= seen.cumsum(1) == 1
    held = thing & ~seen & draws.chance("held", slots, of=0.35)
    # Shadows point away from the sun, all of one picture alike.
    angle = draws.uniform("sun", 1, high=2 * torch.pi).expand(-1, slots)
    low, high = spans(kind, SCALES)
    size = low * (high / low) ** draws.uniform("size", slots)
    size = torch.where(entering, 1.3 * size, size)
    stretch = torch.where(thing & ~held, draws.uniform("stretch", slots, low=0.8, high=1.9), 1.0)
    length = size * stretch
    free = draws.uniform("turn", slots, high=2 * torch.pi)
    turn = torch.where(thing & ~held, 0.12 * draws.normal("lean", slots), free)

    point, length = positions(draws, entering, angle, anchor, length)
    point = torch.where(whole[..., None], 0.6 * point, point)
    # What is seen itself is placed by its foot and farther down, so that less of it is cut off.
    anchor = torch.where(seen[..., None], constant(FOOT, device), anchor)
    point = torch.where(seen[..., None], point + constant((0.0, 0.25), device), point)
    length = torch.where(entering, length, size * stretch)
    size = torch.where(entering, torch.maximum(size, 0.55 * length), size)
    shear = 0.35 * draws.normal("shear", slots)
    mirror = torch.where(draws.chance("mirror", slots, of=0.5), 1.0, -1.0)
    # Columns of the map from silhouette to ground: across, and down (its top points away from the sun).
    across = torch.stack(
        [torch.cos(angle + torch.pi / 2 + shear), torch.sin(angle + torch.pi / 2 + shear)], -1
    )
    down = torch.stack([-torch.cos(angle), -torch.sin(angle)], -1)
    across = across * (mirror * size)[..., None]
    down = down * length[..., None]
    inverse = rotation(turn) @ invert(across, down)

    base_low, base_high = spans(kind, LIFTS)
    lift = base_low + (base_high - base_low) * draws.uniform("lift", slots)
    lift = torch.where(held, draws.uniform("hold", slots, low=0.1, high=1.2), lift)
    softness = recipe.softness[0] * torch.exp(recipe.softness[1] * draws.normal("softness", 1))
    lens = draws.uniform("lens", 1, low=recipe.lens[0], high=recipe.lens[1])
    thin = (kind == OccluderKind.FOLIAGE.value) | draws.chance("thin", slots, of=0.06)
    opacity = torch.where(thin, draws.uniform("opacity", slots, low=0.7, high=1.0), 1.0)
    steep = draws.uniform("tilt", 1, low=-0.05, high=0.42)
    tilt = torch.cat([0.1 * draws.normal("roll", 1).clamp(-2, 2), steep], 1)
    height = torch.where(thing & ~held, length, 0.25)
    return Placement(
        active, kind, entry, anchor, point, inverse, lift, height, opacity, softness, lens, tilt, seen
    )


FOOT = (0.0, 0.95)
"""Where silhouettes stand, but for their blank border."""
SCALES = ((0.28, 0.8), (0.8, 1.8), (0.9, 2.0), (0.6, 1.6), (1.8, 2.8))
"""Half the width of a silhouette on the ground, for each kind."""
LIFTS = ((0.0, 0.05), (1.5, 4.0), (0.3, 2.5), (0.1, 1.2), (0.3, 2.0))
"""Height of its foot above the ground, for each kind."""


def spans(kind: Tensor, table: tuple[tuple[float, float], ...]) -> tuple[Tensor, Tensor]:
    """Lower and upper end from `table` for each kind."""
    ends = constant(table, kind.device)[kind]
    return ends[..., 0], ends[..., 1]


def pick(number: Tensor, chances: tuple[float, ...] | Tensor) -> Tensor:
    """Turn uniform numbers into choices 0, 1, … with the given chances."""
    share = chances if isinstance(chances, Tensor) else constant(chances, number.device)
    bounds = share.cumsum(0) / share.sum()
    return (number[..., None] >= bounds[:-1]).sum(-1)


def positions(
    draws: Draws, entering: Tensor, angle: Tensor, anchor: Tensor, length: Tensor
) -> tuple[Tensor, Tensor]:
    """Points (B, K, 2) for the anchors; lengths (B, K) that keep outside what only casts a shadow into it."""
    slots = entering.shape[1]
    point = draws.uniform("point", slots, 2, low=-0.85, high=0.85)
    away = torch.stack([torch.cos(angle), torch.sin(angle)], -1)
    # From the point back towards the sun to the border, and in again by a little.
    room = ((torch.sign(away) + point) / torch.where(away.abs() < 1e-3, 1e-3, away)).abs()
    reach = room.amin(-1)
    depth = draws.uniform("depth", slots, low=0.15, high=1.2)
    inward = torch.minimum(depth, reach)
    entered = point - away * (reach - inward)[..., None]
    risen = (1 - anchor[..., 1]).clamp_min(0.4)
    needed = (inward + 0.15) / risen
    return torch.where(entering[..., None], entered, point), torch.maximum(length, needed)


def invert(first: Tensor, second: Tensor) -> Tensor:
    """Inverse (..., 2, 2) of the matrix with columns `first` and `second` (..., 2)."""
    a, c = first.unbind(-1)
    b, d = second.unbind(-1)
    determinant = a * d - b * c
    rows = torch.stack([torch.stack([d, -b], -1), torch.stack([-c, a], -1)], -2)
    return rows / determinant[..., None, None]


def rotation(angle: Tensor) -> Tensor:
    """Rotation matrices (..., 2, 2)."""
    cosine, sine = torch.cos(angle), torch.sin(angle)
    return torch.stack([torch.stack([cosine, -sine], -1), torch.stack([sine, cosine], -1)], -2)


def ground(point: Tensor, tilt: Tensor) -> Tensor:
    """Image points (..., 2) to the ground plane: a camera that looks across it sees more of it at the top."""
    return point / (1 + (point * tilt).sum(-1, keepdim=True))


def nearness(spot: Tensor, tilt: Tensor) -> Tensor:
    """Points (..., 2) of the ground → (..., 1): the scale there. A point times its nearness is its image."""
    return 1 / (1 - (spot * tilt).sum(-1, keepdim=True)).clamp(min=0.3)


def cast(placement: Placement, occluders: Occluders, height: int, width: int) -> Tensor:
    """Share of the sun (B, K, H, W) that passes each occluder: exactly 1 outside its shadow."""
    batch, slots = placement.kind.shape
    # Pixels are square, and the shorter side of the frame spans [-1, 1].
    unit = 2 / min(height, width)
    u, v, _ = silhouette_coordinates(placement, height, width, unit)
    endless = (placement.kind == OccluderKind.FOLIAGE.value) | (placement.kind == OccluderKind.BARS.value)
    # What is endless repeats mirrored; the others hold their border, which is blank for objects.
    limit = torch.where(endless, 1e3, 0.99)[..., None, None]
    grid = torch.stack([u.clamp(-limit, limit), v.clamp(-limit, limit)], -1).flatten(0, 1)
    silhouettes = occluders.silhouettes[placement.entry.flatten()].float() / 255
    blocked = F.grid_sample(silhouettes, grid, padding_mode="reflection", align_corners=False)
    # A silhouette is often coarser than the frame: sharpen what the interpolation blurred.
    blocked = (blocked * 2 - 0.4).clamp(0, 1)
    shade = blur_edges(blocked, spread(placement, height, width, unit)).view(batch, slots, height, width)
    strength = torch.where(placement.active, placement.opacity, 0.0)
    return 1 - shade * strength[..., None, None]


def blur_edges(cover: Tensor, sigma: Tensor) -> Tensor:
    """`soften` in [0, 1], without the last of the tails."""
    return ((soften(cover, sigma) - TAIL) / (1 - 2 * TAIL)).clamp(0, 1)


def silhouette_coordinates(
    placement: Placement, height: int, width: int, unit: float, step: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """Place u, v (B, K, h, w) in the silhouette of every `step`th pixel, and how near it is (B, 1, h, w)."""
    device = placement.kind.device
    y = (torch.arange(0, height, step, device=device) + (step - height) / 2) * unit
    x = (torch.arange(0, width, step, device=device) + (step - width) / 2) * unit
    tilt_x, tilt_y = placement.tilt[..., None, None].unbind(1)
    near = 1 + tilt_x * x + tilt_y * y[:, None]  # (B, h, w)
    right, down = (x / near)[:, None], (y[:, None] / near)[:, None]
    half = constant((width * unit / 2, height * unit / 2), device)
    origin = ground(placement.point * half, placement.tilt[:, None])
    # anchor + inverse · (ground − origin), with what does not depend on the pixel put together first.
    fixed = placement.anchor - (placement.inverse @ origin[..., None])[..., 0]
    matrix = placement.inverse[..., None, None]
    u = fixed[..., 0, None, None] + matrix[:, :, 0, 0] * right + matrix[:, :, 0, 1] * down
    v = fixed[..., 1, None, None] + matrix[:, :, 1, 0] * right + matrix[:, :, 1, 1] * down
    return u, v, near[:, None]


def spread(placement: Placement, height: int, width: int, unit: float) -> Tensor:
    """Penumbra (B·K, 1, h, w) as a standard deviation in pixels, on a coarse grid: it grows with height."""
    _, v, near = silhouette_coordinates(placement, height, width, unit, step=4)
    risen = placement.lift[..., None, None] + placement.length[..., None, None] * ((1 - v) / 2).clamp(0, 1)
    sigma = placement.softness[..., None, None] * risen * near / unit
    # The lens and the pixel blur every edge a little.
    sharpest = placement.lens[..., None, None] * min(height, width) / 256
    return (sigma**2 + sharpest**2).sqrt().flatten(0, 1)[:, None]
