"""The ground of a synthetic picture: one or two surfaces, seen from near or far."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from deshadow.data.grids import pixel_centres
from deshadow.data.rng import Draws
from deshadow.image.colour import round_to_8_bits


@dataclass(frozen=True)
class Ground:
    """How often there are two surfaces, and how far away they are."""

    distances: tuple[float, ...] = (0.6, 0.16, 0.14, 0.1)
    """Probabilities of the background as it is, and from 2, 4, 8 … times as far away."""
    two: float = 0.4
    """Probability that a second surface begins at a straight edge, as a wall or a lawn does."""


DEFAULT_GROUND = Ground()


def lay_grounds(draws: Draws, backgrounds: Tensor, chosen: Ground = DEFAULT_GROUND) -> Tensor:
    """(B, 3, H, W) of 8 bits: what shadows fall on, from backgrounds (N, 3, H, W) of 8 bits."""
    first, second = (show_surface(draws, f"ground/{place}", backgrounds, chosen) for place in (1, 2))
    there = draws.chance("ground/two", 1, 1, 1, of=chosen.two)
    return round_to_8_bits(torch.lerp(first, second, cut_frame(draws, "ground", first.shape[-2:]) * there))


def show_surface(draws: Draws, name: str, backgrounds: Tensor, chosen: Ground) -> Tensor:
    """(B, 3, H, W) in [0, 1]: a background from some distance; beyond its border it is mirrored."""
    picture = backgrounds[draws.integers(name, high=len(backgrounds))].float() * (1 / 255)
    height, width = picture.shape[-2:]
    line = [pixel_centres(side, picture.device) for side in (width, height)]
    place = draws.uniform(f"{name}/distance", 1, 1, 1)
    found, passed = picture, chosen.distances[0]
    for times, chance in enumerate(chosen.distances[1:], 1):
        scale = 2**times
        reduced = F.avg_pool2d(picture, scale)
        x, y = (draws.uniform(f"{name}/{axis}", 1, 1, low=-scale, high=scale) for axis in "xy")
        across = (x + scale * line[0][None, None, :]).expand(-1, height, -1)
        down = (y + scale * line[1][None, :, None]).expand(-1, -1, width)
        grid = torch.stack([across, down], -1)
        far = F.grid_sample(reduced, grid, padding_mode="reflection", align_corners=False)
        found = torch.where((place >= passed) & (place < passed + chance), far, found)
        passed += chance
    return found


def cut_frame(draws: Draws, name: str, frame: tuple[int, ...]) -> Tensor:
    """(B, 1, H, W) in [0, 1]: the part of a frame on one side of a straight line, mostly the larger one."""
    height, width = frame
    angle = draws.uniform(f"{name}/angle", 1, 1, 1, low=-3.1416, high=3.1416)
    # Most edges of buildings are upright or level.
    level = draws.chance(f"{name}/level", 1, 1, 1, of=0.6)
    angle = torch.where(level, (angle / 1.5708).round() * 1.5708, angle)
    x, y = (pixel_centres(side, draws.index.device) for side in (width, height))
    reach = draws.uniform(f"{name}/reach", 1, 1, 1, low=-0.1, high=0.9)
    distance = reach - x[None, None, None, :] * torch.cos(angle) - y[None, None, :, None] * torch.sin(angle)
    return (distance * (min(height, width) / 2) + 0.5).clamp(0, 1)
