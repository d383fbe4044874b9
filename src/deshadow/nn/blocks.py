"""The blocks of the U-Net of Dhariwal and Nichol (2021): residual blocks and attention."""

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Modulation(NamedTuple):
    """What every block is told besides its input; None where the network has no such thing."""

    vector: Tensor | None = None
    """(B, E): timestep and noise."""
    maps: tuple[Tensor, ...] | None = None
    """(B, C, h, w) per level: the noise picture pooled to it (Eq. 14)."""


class Residual(nn.Module):
    """(B, inputs, h, w) → (B, outputs, h', w'): two convolutions, the second one's input modulated."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        resample: Literal["no", "down", "up"] = "no",
        embedding: int = 0,
        map_channels: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.resample = resample
        self.norm1 = group_norm(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.modulate = nn.Linear(embedding, 2 * outputs) if embedding else None
        self.noise = nn.Conv2d(map_channels, outputs, 1) if map_channels else None
        self.norm2 = group_norm(outputs)
        self.dropout = nn.Dropout(dropout) if dropout else None
        self.conv2 = zeroed(nn.Conv2d(outputs, outputs, 3, padding=1))
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else None

    def forward(self, x: Tensor, vector: Tensor | None = None, noise: Tensor | None = None) -> Tensor:
        """`vector` (B, E) scales and shifts; `noise` (B, C, h', w') is added after the first convolution."""
        h: Tensor = F.silu(self.norm1(x))
        if self.resample != "no":
            h, x = resampled(h, self.resample), resampled(x, self.resample)
        h = self.conv1(h)
        if self.noise is not None:
            h = h + self.noise(noise)
        h = self.norm2(h)
        if self.modulate is not None:
            assert vector is not None
            modulation = self.modulate(F.silu(vector))[:, :, None, None]
            h = h * (1 + modulation[:, : h.shape[1]]) + modulation[:, h.shape[1] :]
        h = F.silu(h)
        if self.dropout is not None:
            h = self.dropout(h)
        h = self.conv2(h)
        return h + (x if self.skip is None else self.skip(x))


class Attention(nn.Module):
    """(B, C, h, w) → the same: every position looks at every other, in heads of `head_channels`."""

    def __init__(self, channels: int, head_channels: int) -> None:
        super().__init__()
        self.heads = channels // head_channels
        self.norm = group_norm(channels)
        self.qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.out = zeroed(nn.Conv2d(channels, channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Add what each position found."""
        b, c, h, w = x.shape
        # Positions before channels: for pictures that lie channels last these are views, and each head's
        # channels lie together, without which the fast kernels are not used.
        qkv = self.qkv(self.norm(x)).flatten(2).transpose(1, 2).reshape(b, h * w, 3, self.heads, -1)
        q, k, v = (part.transpose(1, 2) for part in qkv.unbind(2))
        found = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, h * w, c)
        found = found.transpose(1, 2).reshape(b, c, h, w)
        out: Tensor = self.out(found)
        return x + out


def group_norm(channels: int) -> nn.GroupNorm:
    """Groups of equal size, 32 of them where the channels allow it, and never of a single channel."""
    return nn.GroupNorm(math.gcd(channels // 2, 32), channels)


def zeroed(conv: nn.Conv2d) -> nn.Conv2d:
    """A convolution that starts as zero, so that its block starts as the identity."""
    nn.init.zeros_(conv.weight)
    assert conv.bias is not None
    nn.init.zeros_(conv.bias)
    return conv


def resampled(x: Tensor, way: Literal["down", "up"]) -> Tensor:
    """Halve by averaging, or double by repeating."""
    if way == "down":
        return F.avg_pool2d(x, 2)
    return F.interpolate(x, scale_factor=2.0, mode="nearest")


def sinusoids(t: Tensor, channels: int) -> Tensor:
    """(B,) timesteps → (B, channels): cosines and sines of geometric frequencies from 1 to 1/10,000."""
    half = channels // 2
    frequencies = torch.exp(torch.arange(half, device=t.device) * (-math.log(10_000) / half))
    angles = t.to(torch.float32)[:, None] * frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=1)
