"""Between 8-bit sRGB and linear light, in torch."""

from functools import lru_cache

import torch
from torch import Tensor

from deshadow.image.colour import KNEE, LUMINANCE, WHITE, XYZ_FROM_RGB

RELATIVE_XYZ = (XYZ_FROM_RGB / WHITE[:, None]).tolist()

Table = tuple[float, ...] | tuple[tuple[float, ...], ...]


def constant(values: Table, device: torch.device) -> Tensor:
    """Numbers as a tensor, sent to the device once: sending makes a GPU wait."""
    # A compiled graph keeps its own constants, and the compiler does not like caches.
    return send(values, device) if torch.compiler.is_compiling() else send_once(values, device)


def send(values: Table, device: torch.device) -> Tensor:
    """Numbers as a tensor."""
    return torch.tensor(values, dtype=torch.float32, device=device)


send_once = lru_cache(64)(send)


def linear(value: Tensor) -> Tensor:
    """sRGB in [0, 1] to linear light."""
    return torch.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def decode(picture: Tensor) -> Tensor:
    """8-bit sRGB of any shape to linear light in [0, 1], by a table."""
    return linear(torch.arange(256, device=picture.device) / 255)[picture.int()]


def encode(light: Tensor) -> Tensor:
    """Linear light to sRGB in [0, 1], not yet rounded."""
    light = light.clamp(0, 1)
    return torch.where(light <= 0.0031308, light * 12.92, 1.055 * light.clamp_min(1e-5) ** (1 / 2.4) - 0.055)


def quantise(value: Tensor) -> Tensor:
    """[0, 1] to 8 bits, rounded to the nearest."""
    return (value * 255 + 0.5).clamp(0, 255.5).to(torch.uint8)


def luminance(light: Tensor) -> Tensor:
    """Luminance (B, 1, H, W) of linear light (B, 3, H, W)."""
    red, green, blue = LUMINANCE
    return red * light[:, :1] + green * light[:, 1:2] + blue * light[:, 2:]


def lab(picture: Tensor) -> Tensor:
    """(B, 3, H, W) of sRGB in [0, 1] → the same in LAB: `deshadow.image.colour.lab` on the device."""
    red, green, blue = linear(picture).unbind(1)
    # Sums, not a product of matrices: that would be done in half precision where a network is trained.
    xyz = torch.stack([r * red + g * green + b * blue for r, g, b in RELATIVE_XYZ], dim=1)
    f = torch.where(xyz > KNEE, xyz.clamp(min=1e-6) ** (1 / 3), xyz * 7.787 + 16 / 116)
    return torch.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], dim=1)
