"""Grids of points at which pictures are sampled, in [-1, 1]², x to the right and y down."""

import torch
from torch import Tensor
from torch.nn import functional as F


def pixel_centres(side: int, device: torch.device) -> Tensor:
    """(side,) in [-1, 1]: the centres of the pixels along a side."""
    return (torch.arange(side, device=device) + 0.5) * (2 / side) - 1


def turn(across: Tensor, down: Tensor, quarters: Tensor, mirror: Tensor) -> tuple[Tensor, Tensor]:
    """Coordinates rotated by so many quarters, and mirrored where `mirror` is true."""
    sign = torch.where(quarters >= 2, -1.0, 1.0)
    odd = quarters % 2 == 1
    x = torch.where(odd, -down, across) * sign * torch.where(mirror, -1.0, 1.0)
    return x, torch.where(odd, across, down) * sign


def sample_grid(picture: Tensor, grid: Tensor, samples: int, beyond: str = "border") -> Tensor:
    """Sample (B, C, H, W) at `grid`, averaging `samples`² of them to a pixel; `beyond` is torch's padding."""
    fine = F.grid_sample(picture, grid, padding_mode=beyond, align_corners=False)
    return F.avg_pool2d(fine, samples) if samples > 1 else fine
