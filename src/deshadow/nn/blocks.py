"""The blocks of the U-Net of Dhariwal and Nichol (2021): residual blocks and attention."""

import logging
import math
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Modulation(NamedTuple):
    """What modulates every block; None where the network has no such input."""

    vector: Tensor | None = None
    """(B, E): timestep and noise, after a SiLU that all blocks share."""
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
        self.conv2 = zero_init(nn.Conv2d(outputs, outputs, 3, padding=1))
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else None

    def forward(self, x: Tensor, vector: Tensor | None = None, noise: Tensor | None = None) -> Tensor:
        """`vector` (B, E) scales and shifts; `noise` (B, C, h', w') is added after the first convolution."""
        h: Tensor = self.norm1(x)
        if self.resample != "no":
            h, x = resample(h, self.resample), resample(x, self.resample)
        h, offset = conv_without_bias(self.conv1, h)
        if self.noise is not None:
            h = h + self.noise(noise)
        modulation = None
        if self.modulate is not None:
            assert vector is not None
            modulation = self.modulate(vector)
        h = self.norm2(h, modulation, offset)
        if self.dropout is not None:
            h = self.dropout(h)
        return add_residual(x, self.skip, h, self.conv2)


class Norm(nn.GroupNorm):
    """(B, C, h, w) → the same: group norm, then the modulation if one is given, then SiLU."""

    def __init__(self, channels: int, *, activation: bool = True) -> None:
        # 32 groups where the channels allow it, and never of a single channel.
        super().__init__(math.gcd(channels // 2, 32), channels)
        self.activation = activation

    def forward(self, x: Tensor, modulation: Tensor | None = None, offset: Tensor | None = None) -> Tensor:
        """`modulation` (B, 2 C) holds scales, then shifts; `offset` (C,) is added to `x` first."""
        if kernels := find_kernels(x):
            h: Tensor = kernels.norm(
                x, self.weight, self.bias, modulation, offset, self.num_groups, self.eps, self.activation
            )
            return h
        h = super().forward(x if offset is None else x + offset[:, None, None])
        if modulation is not None:
            scale, shift = modulation[:, :, None, None].chunk(2, dim=1)
            h = h * (1 + scale) + shift
        return F.silu(h) if self.activation else h


def find_kernels(x: Tensor) -> ModuleType | None:
    """The module `deshadow.nn.fused` if the tensor is on a GPU on which Triton works, else None."""
    return load_kernels(x.device) if x.is_cuda else None


@cache
def load_kernels(device: torch.device) -> ModuleType | None:
    """The module, if Triton is installed and can build a kernel, for which it needs a C compiler."""
    if not find_spec("triton"):
        return None
    try:
        kernels = import_module("deshadow.nn.fused")
        picture = torch.zeros(1, 2, 1, 1, device=device)
        kernels.total(picture, picture, torch.zeros(2, device=device))
    except Exception as error:  # the compiler, the driver and Triton have errors of their own
        logging.getLogger(__name__).warning("slower on this GPU, because Triton does not work: %s", error)
        return None
    return kernels


def conv_without_bias(conv: nn.Conv2d, x: Tensor) -> tuple[Tensor, Tensor | None]:
    """The convolution of x without its bias, and the bias: on a GPU the next kernel adds it.

    Elsewhere the bias is added here, and None stands in its place.
    """
    if find_kernels(x):
        return conv._conv_forward(x, conv.weight, None), conv.bias
    return conv(x), None


def add_residual(x: Tensor, skip: nn.Conv2d | None, h: Tensor, conv: nn.Conv2d) -> Tensor:
    """skip(x) + conv(h); without a skip, x + conv(h)."""
    kernels = find_kernels(x)
    if kernels is None:
        plain: Tensor = conv(h) + (x if skip is None else skip(x))
        return plain
    h, bias = conv_without_bias(conv, h)
    if skip is not None:
        x, other = conv_without_bias(skip, x)
        assert bias is not None
        assert other is not None
        bias = bias + other
    total: Tensor = kernels.total(x, h, bias)
    return total


class Attention(nn.Module):
    """(B, C, h, w) → the same: every position looks at every other, in heads of `head_channels`."""

    def __init__(self, channels: int, head_channels: int) -> None:
        super().__init__()
        self.heads = channels // head_channels
        self.norm = Norm(channels, activation=False)
        self.qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.out = zero_init(nn.Conv2d(channels, channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        """x plus the output of the attention."""
        b, c, h, w = x.shape
        # Positions before channels: channels-last tensors need no copy for it, and the channels of each head
        # are contiguous, which the fast kernels require.
        found = self.attend(self.qkv(self.norm(x)).flatten(2).transpose(1, 2))
        return add_residual(x, None, found.transpose(1, 2).reshape(b, c, h, w), self.out)

    def attend(self, qkv: Tensor) -> Tensor:
        """(B, N, 3 C), the queries, keys and values of N positions → (B, N, C)."""
        b, n, channels = qkv.shape
        q, k, v = (part.transpose(1, 2) for part in qkv.reshape(b, n, 3, self.heads, -1).unbind(2))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, channels // 3)


def join(x: Tensor, skip: Tensor) -> Tensor:
    """(B, C, h, w) and (B, D, h, w) → (B, C + D, h, w)."""
    if kernels := find_kernels(x):
        joined: Tensor = kernels.join(x, skip)
        return joined
    return torch.cat([x, skip], dim=1)


def zero_init(conv: nn.Conv2d) -> nn.Conv2d:
    """A convolution that starts as zero, so that its block starts as the identity."""
    nn.init.zeros_(conv.weight)
    assert conv.bias is not None
    nn.init.zeros_(conv.bias)
    return conv


def resample(x: Tensor, way: Literal["down", "up"]) -> Tensor:
    """(B, C, h, w) → half the size by averaging, or twice the size by repeating."""
    if kernels := find_kernels(x):
        resized: Tensor = kernels.halve(x) if way == "down" else kernels.double(x)
        return resized
    if way == "down":
        return F.avg_pool2d(x, 2)
    if x.is_cuda:
        with torch.autocast("cuda", enabled=False):  # autocast would return it in single precision
            return F.interpolate(x, scale_factor=2.0, mode="nearest")
    return F.interpolate(x, scale_factor=2.0, mode="nearest")


def timestep_embedding(t: Tensor, channels: int) -> Tensor:
    """(B,) timesteps → (B, channels): cosines and sines of geometric frequencies from 1 to 1/10,000."""
    half = channels // 2
    frequencies = torch.exp(torch.arange(half, device=t.device) * (-math.log(10_000) / half))
    angles = t.to(torch.float32)[:, None] * frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=1)
