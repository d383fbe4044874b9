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
        self.norm1 = Norm(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.modulate = nn.Linear(embedding, 2 * outputs) if embedding else None
        self.noise = nn.Conv2d(map_channels, outputs, 1) if map_channels else None
        self.norm2 = Norm(outputs)
        self.dropout = nn.Dropout(dropout) if dropout else None
        self.conv2 = zeroed(nn.Conv2d(outputs, outputs, 3, padding=1))
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else None

    def forward(self, x: Tensor, vector: Tensor | None = None, noise: Tensor | None = None) -> Tensor:
        """`vector` (B, E) scales and shifts; `noise` (B, C, h', w') is added after the first convolution."""
        h: Tensor = self.norm1(x)
        if self.resample != "no":
            h, x = resampled(h, self.resample), resampled(x, self.resample)
        h = self.conv1(h)
        if self.noise is not None:
            h = h + self.noise(noise)
        if self.modulate is None:
            h = self.norm2(h)
        else:
            assert vector is not None
            h = self.norm2(h, self.modulate(F.silu(vector)))
        if self.dropout is not None:
            h = self.dropout(h)
        h = self.conv2(h)
        return h + (x if self.skip is None else self.skip(x))


class Norm(nn.GroupNorm):
    """(B, C, h, w) → the same: normalised in groups, scaled and shifted if told to, and bent by SiLU."""

    def __init__(self, channels: int, *, bends: bool = True) -> None:
        # 32 groups where the channels allow it, and never of a single channel.
        super().__init__(math.gcd(channels // 2, 32), channels)
        self.narrow = NarrowNorm(bends=bends)

    def forward(self, x: Tensor, modulation: Tensor | None = None) -> Tensor:
        """`modulation` (B, 2 C) holds scales, then shifts."""
        if x.dtype != torch.float32:
            # As views, since what is compiled would take each parameter's length for a constant.
            affine = self.weight[None], self.bias[None]
            narrow: Tensor = self.narrow(x, *affine, modulation, self.num_groups, self.eps)
            return narrow
        h = super().forward(x)
        if modulation is not None:
            scale, shift = modulation[:, :, None, None].chunk(2, dim=1)
            h = h * (1 + scale) + shift
        return F.silu(h) if self.narrow.bends else h


class NarrowNorm(nn.Module):
    """What `Norm` does, in the precision and the layout of its input: a line through each channel.

    Torch's own lays pictures out anew for itself, and its autocast doubles their size; compiled, this is
    two passes over the picture.
    """

    def __init__(self, *, bends: bool) -> None:
        super().__init__()
        self.bends = bends

    def forward(
        self, x: Tensor, weight: Tensor, bias: Tensor, modulation: Tensor | None, groups: int, eps: float
    ) -> Tensor:
        """Computed in single precision, given in that of `x`."""
        with torch.autocast(x.device.type, enabled=False):
            wide = x.float()
            mean, square = (each.mean(dim=(2, 3)).view(len(x), groups, -1) for each in (wide, wide.square()))
            centre = mean.mean(dim=2, keepdim=True)
            variance = (square.mean(dim=2, keepdim=True) - centre.square()).clamp(min=0)
            scale = (variance + eps).rsqrt().expand_as(mean).flatten(1) * weight
            shift = bias - scale * centre.expand_as(mean).flatten(1)
            if modulation is not None:
                more, offset = modulation.float().chunk(2, dim=1)
                scale, shift = scale * (1 + more), shift * (1 + more) + offset
            h = wide * scale[:, :, None, None] + shift[:, :, None, None]
            return (F.silu(h) if self.bends else h).to(x.dtype)


class Attention(nn.Module):
    """(B, C, h, w) → the same: every position looks at every other, in heads of `head_channels`."""

    def __init__(self, channels: int, head_channels: int) -> None:
        super().__init__()
        self.heads = channels // head_channels
        self.norm = Norm(channels, bends=False)
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
