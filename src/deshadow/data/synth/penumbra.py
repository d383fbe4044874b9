"""A blur whose width varies from pixel to pixel, by a pyramid of evenly blurred pictures."""

import torch
from torch import Tensor
from torch.nn import functional as F

LEVELS = 6
FIRST = 1.2
WIDEST = FIRST * 2 ** (LEVELS - 2)
"""Largest standard deviation in pixels; a wider one is cut to it."""


def soften(picture: Tensor, sigma: Tensor) -> Tensor:
    """Blur (N, 1, H, W) by a Gaussian of standard deviation `sigma` (N, 1, h, w) in pixels of the picture.

    `sigma` may be coarser than the picture; it varies slowly. The pyramid holds the picture itself, then
    standard deviations of about 1.2, 2.4, 4.8, 9.6 and 19 pixels, each at a resolution where it is a
    little over one pixel wide. From the coarsest up, each is mixed with what lies above it.
    """
    level = torch.where(sigma < FIRST, sigma / FIRST, 1 + torch.log2(sigma.clamp(FIRST, WIDEST) / FIRST))
    levels = [picture, binomial(picture)]
    while len(levels) < LEVELS:
        levels.append(binomial(F.avg_pool2d(levels[-1], 2, ceil_mode=True)))
    result = levels.pop()
    while levels:
        above = levels.pop()
        share = (resize_bilinear(level, above.shape[-2:]) - len(levels)).clamp(0, 1)
        result = torch.lerp(above, resize_bilinear(result, above.shape[-2:]), share)
    return result


def binomial(picture: Tensor) -> Tensor:
    """Blur (N, C, H, W) with the taps 1, 4, 6, 4, 1 both ways: a standard deviation of one pixel."""
    padded = F.pad(picture, (2, 2, 2, 2), mode="replicate")
    for _ in range(4):
        padded = padded[..., 1:] + padded[..., :-1]
    for _ in range(4):
        padded = padded[..., 1:, :] + padded[..., :-1, :]
    return padded * (1 / 256)


def resize_bilinear(picture: Tensor, size: torch.Size) -> Tensor:
    """Resize (N, C, h, w) to `size` (height, width), bilinear."""
    if picture.shape[-2:] == size:
        return picture
    return F.interpolate(picture, size=list(size), mode="bilinear", align_corners=False)
