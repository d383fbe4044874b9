"""Between 8-bit sRGB and linear light, in torch."""

import torch
from torch import Tensor

LUMINANCE = (0.2126, 0.7152, 0.0722)


def decode(picture: Tensor) -> Tensor:
    """8-bit sRGB of any shape to linear light in [0, 1], by a table."""
    value = torch.arange(256, dtype=torch.float32, device=picture.device) / 255
    table = torch.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return table[picture.long()]


def encode(light: Tensor) -> Tensor:
    """Linear light to sRGB in [0, 1], not yet rounded."""
    light = light.clamp(0, 1)
    return torch.where(light <= 0.0031308, light * 12.92, 1.055 * light.clamp_min(1e-5) ** (1 / 2.4) - 0.055)


def quantise(value: Tensor) -> Tensor:
    """[0, 1] to 8 bits, rounded to the nearest."""
    return (value * 255 + 0.5).clamp(0, 255.5).to(torch.uint8)


def luminance(light: Tensor) -> Tensor:
    """Luminance (B, 1, H, W) of linear light (B, 3, H, W)."""
    weights = torch.tensor(LUMINANCE, device=light.device).view(1, 3, 1, 1)
    return (light * weights).sum(1, keepdim=True)
