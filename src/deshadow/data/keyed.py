"""Random numbers as a function of (seed, index, stream, counter): no state, so no order to depend on."""

import math
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import torch
from torch import Tensor

WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Draws:
    """The random numbers of pictures `index` (B,) under one `seed`.

    Every draw names its stream. The number depends on seed, index, stream and the place within the
    draw alone: not on the batch that the picture came in, nor on earlier draws, nor on the device.
    """

    seed: int
    index: Tensor

    @cached_property
    def key(self) -> Tensor:
        """The pictures' own keys (B,)."""
        key = torch.full_like(self.index, crc32(self.seed.to_bytes(16, "little", signed=True)))
        return mix(mix(key ^ (self.index & WORD)) ^ ((self.index >> 32) & WORD))

    def bits(self, stream: str, *shape: int) -> Tensor:
        """Integers (B, *shape) in [0, 2³²)."""
        key = mix(self.key ^ crc32(stream.encode()))[:, None]
        counter = torch.arange(math.prod(shape), device=self.index.device)
        # Two rounds: neighbouring counters under one key must not show through.
        return mix(mix(counter + key) ^ key).reshape(len(self.index), *shape)

    def grain(self, stream: str, *shape: int) -> Tensor:
        """Four coarse uniform floats (4, B, *shape) in [-0.5, 0.5] from every word: cheap noise for whole pictures."""
        word = self.bits(stream, *shape)
        return torch.stack([((word >> shift) & 255).float() for shift in (0, 8, 16, 24)]) * (1 / 255) - 0.5

    def uniform(self, stream: str, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Uniform floats (B, *shape) in [low, high)."""
        return low + (high - low) * ((self.bits(stream, *shape) >> 8).float() * 2**-24)

    def normal(self, stream: str, *shape: int) -> Tensor:
        """Standard normal floats (B, *shape), by Box and Muller."""
        radius = torch.sqrt(-2 * torch.log1p(-self.uniform(f"{stream}/radius", *shape)))
        return radius * torch.cos(2 * torch.pi * self.uniform(f"{stream}/angle", *shape))

    def integers(self, stream: str, *shape: int, high: int | Tensor) -> Tensor:
        """Integers (B, *shape) in [0, high), where `high` is under 2³¹ and broadcasts."""
        return (self.bits(stream, *shape) * high) >> 32

    def chance(self, stream: str, *shape: int, of: float | Tensor) -> Tensor:
        """True (B, *shape) with probability `of`."""
        return self.uniform(stream, *shape) < of


def mix(value: Tensor) -> Tensor:
    """Scramble 32-bit words held in int64: a bijection in which every input bit stirs every output bit.

    The products overflow 64 bits at times; their low 32 bits are right all the same, on any device.
    """
    value = value & WORD
    value = ((value ^ (value >> 16)) * 0x7FEB352D) & WORD
    value = ((value ^ (value >> 15)) * 0x846CA68B) & WORD
    return value ^ (value >> 16)
