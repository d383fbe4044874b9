"""Occluders, which cast the shadows: silhouettes of several kinds, with points to place them by."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

import torch
from torch import Tensor

from deshadow.data.rng import Draws
from deshadow.image.morphology import erode

ANCHORS = 32
CHUNK = 64


class OccluderKind(IntEnum):
    """What casts a shadow: the kind decides how it is placed and how far from the ground."""

    OBJECT = 0
    """A whole silhouette: a person, a plant, a hand that holds something."""
    FOLIAGE = 1
    """A canopy that lets spots of light through."""
    EDGE = 2
    """A wall or roof, dark from its edge on."""
    BARS = 3
    """A fence, a railing, a window frame."""
    CABLES = 4
    """A few thin lines."""


@dataclass(frozen=True)
class Occluders:
    """A bank of silhouettes (M, 1, h, w), 255 where light is blocked, sorted by kind.

    `first` and `count` (5,) say where each kind lies, `anchors` (M, A, 2) hold points (x, y) in [-1, 1]
    on the outline of each: a shadow is placed by putting one of them somewhere in the frame, so that an
    edge is always seen.
    """

    silhouettes: Tensor
    first: Tensor
    count: Tensor
    anchors: Tensor

    def to(self, device: torch.device | str) -> "Occluders":
        """Return the same bank on another device."""
        moved = {
            name: getattr(self, name).to(device) for name in ("silhouettes", "first", "count", "anchors")
        }
        return replace(self, **moved)


def gather_occluders(kinds: Mapping[OccluderKind, Tensor]) -> Occluders:
    """Put silhouettes (n, 1, h, w) of 8 bits of each kind, all of one size, into a bank."""
    sizes = {tuple(silhouettes.shape[1:]) for silhouettes in kinds.values() if len(silhouettes)}
    if len(sizes) != 1:
        raise ValueError(
            "occluders of all kinds must share one size (n, 1, h, w), and there must be at least one"
        )
    silhouettes = torch.cat([kinds[kind] for kind in OccluderKind if kind in kinds])
    count = torch.tensor([len(kinds.get(kind, ())) for kind in OccluderKind], device=silhouettes.device)
    return Occluders(silhouettes, count.cumsum(0) - count, count, outline_points(silhouettes))


def outline_points(silhouettes: Tensor) -> Tensor:
    """Points (M, A, 2) as (x, y) in [-1, 1], spread over the outline of each silhouette (M, 1, h, w)."""
    height, width = silhouettes.shape[-2:]
    points = []
    for start in range(0, len(silhouettes), CHUNK):
        solid = (silhouettes[start : start + CHUNK] > 127).float()
        edge = solid - erode(solid, 1)
        index = torch.arange(start, start + len(solid), device=solid.device)
        order = Draws(0, index).uniform("outline", height * width)
        # Outline first, then whatever is solid, then anything: a blank silhouette still has points.
        rank = order + 2 * edge.flatten(1) + solid.flatten(1)
        points.append(rank.topk(ANCHORS).indices)
    place = torch.cat(points)
    x = (place % width + 0.5) * 2 / width - 1
    y = (torch.div(place, width, rounding_mode="floor") + 0.5) * 2 / height - 1
    return torch.stack([x, y], -1)
