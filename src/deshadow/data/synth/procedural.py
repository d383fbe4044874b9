"""Procedural backgrounds and occluders, for tests, examples and training without a data set."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from deshadow.data.rng import Draws
from deshadow.data.synth import silhouettes, textures
from deshadow.data.synth.occluders import OccluderKind, Occluders, gather_occluders
from deshadow.image.colour import round_to_8_bits

Drawer = Callable[[Draws, int], Tensor]

SURFACES: dict[str, Drawer] = {
    "brick": textures.brick,
    "tiles": textures.tiles,
    "asphalt": textures.asphalt,
    "grass": textures.grass,
    "planks": textures.planks,
    "plaster": textures.plaster,
    "noise": textures.clouds,
}
SHAPES: dict[OccluderKind, tuple[Drawer, ...]] = {
    OccluderKind.OBJECT: (silhouettes.person, silhouettes.plant, silhouettes.hand, silhouettes.lump),
    OccluderKind.FOLIAGE: (silhouettes.canopy,),
    OccluderKind.EDGE: (silhouettes.roof,),
    OccluderKind.BARS: (silhouettes.bars,),
    OccluderKind.CABLES: (silhouettes.cables,),
}
CHUNK = 4
BORDER = 2


def draw_backgrounds(
    count: int,
    size: int = 256,
    seed: int = 0,
    surfaces: Sequence[str] = tuple(SURFACES),
    dark_things: float = 0.2,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Draw evenly lit surfaces (count, 3, size, size) of 8 bits, with the named surfaces in turn.

    `dark_things` is the probability of a stain, of a painted band and of a dark object, each.
    """
    unknown = [name for name in surfaces if name not in SURFACES]
    if unknown or not surfaces:
        raise ValueError(
            f"surfaces must be some of {', '.join(SURFACES)}; got {', '.join(unknown) or 'none'}"
        )
    result = torch.empty(count, 3, size, size, dtype=torch.uint8, device=device)
    for turn, name in enumerate(surfaces):
        for index in _chunks(count, turn, len(surfaces), device):
            draws = Draws(seed, index)
            # Twice the size, then halved: fine lines stay smooth.
            picture = textures.add_dark_things(draws, SURFACES[name](draws, 2 * size), dark_things)
            result[index] = round_to_8_bits(F.avg_pool2d(picture, 2).clamp(0, 1))
    return result


def draw_silhouettes(
    kind: OccluderKind, count: int, size: int = 192, seed: int = 0, device: torch.device | str = "cpu"
) -> Tensor:
    """Draw silhouettes (count, 1, size, size) of one kind, 255 where light is blocked."""
    drawers = SHAPES[kind]
    result = torch.empty(count, 1, size, size, dtype=torch.uint8, device=device)
    for turn, drawer in enumerate(drawers):
        for index in _chunks(count, turn, len(drawers), device):
            result[index] = round_to_8_bits(drawer(Draws(seed, index), size))[:, None]
    if kind is OccluderKind.OBJECT:
        # An object ends: what lies outside the square repeats its border.
        result = F.pad(result[..., BORDER:-BORDER, BORDER:-BORDER], (BORDER,) * 4)
    return result


def draw_occluders(
    count: int = 32,
    size: int = 192,
    seed: int = 0,
    objects: Tensor | None = None,
    device: torch.device | str = "cpu",
) -> Occluders:
    """Make a bank with `count` silhouettes of every kind, or with these `objects` (n, 1, s, s)."""
    size = size if objects is None else objects.shape[-1]
    drawn = {
        kind: draw_silhouettes(kind, count, size, seed, device)
        for kind in OccluderKind
        if kind is not OccluderKind.OBJECT or objects is None
    }
    return gather_occluders(drawn if objects is None else {OccluderKind.OBJECT: objects.to(device), **drawn})


def _chunks(count: int, turn: int, turns: int, device: torch.device | str) -> tuple[Tensor, ...]:
    """The numbers below `count` of one of `turns` drawers, a few at a time; none where there are fewer."""
    index = torch.arange(count, device=device)[turn::turns]
    return torch.split(index, CHUNK) if len(index) else ()
