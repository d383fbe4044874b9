"""Random numbers as a function of (seed, index, stream, counter): no state, so no order to depend on."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from zlib import crc32

import torch
from torch import Tensor

WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Draws:
    """The random numbers of pictures `index` (B,) int64 under one `seed`.

    Every draw names its stream. A number depends on the seed, the picture's index, the stream and the
    place within the draw alone: not on the batch that the picture came in, nor on earlier draws, nor
    on the device.
    """

    seed: int
    index: Tensor

    @cached_property
    def key(self) -> Tensor:
        """The pictures' own keys (B, 1)."""
        seed = crc32(self.seed.to_bytes(16, "little", signed=True))
        return mix(mix(self.index ^ seed) ^ (self.index >> 32) ^ mixed(seed))[:, None]

    def bits(self, stream: str, *shape: int) -> Tensor:
        """Integers (B, *shape) in [0, 2³²)."""
        return mix(counters(stream, math.prod(shape), self.index.device) ^ self.key).view(-1, *shape)

    def uniform(self, stream: str, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Uniform floats (B, *shape) between `low` and `high`, never 0 or 1 themselves by default."""
        return ((self.bits(stream, *shape) >> 9).float() + 0.5) * ((high - low) * 2**-23) + low

    def normal(self, stream: str, *shape: int) -> Tensor:
        """Standard normal floats (B, *shape)."""
        return torch.erfinv(self.uniform(stream, *shape, low=-1.0)) * 2**0.5

    def integers(self, stream: str, *shape: int, high: int | Tensor) -> Tensor:
        """Integers (B, *shape) in [0, high), where `high` is under 2³¹ and broadcasts."""
        return (self.bits(stream, *shape) * high) >> 32

    def chance(self, stream: str, *shape: int, of: float) -> Tensor:
        """True (B, *shape) with probability `of`."""
        return self.bits(stream, *shape) < round(of * 2**32)

    def grain(self, stream: str, *shape: int) -> Tensor:
        """Four coarse uniform floats (4, B, *shape) in [-0.5, 0.5] from each word: cheap noise."""
        word = self.bits(stream, *shape)
        return torch.stack([((word >> shift) & 255).float() for shift in (0, 8, 16, 24)]) * (1 / 255) - 0.5


@lru_cache(256)
def counters(stream: str, count: int, device: torch.device) -> Tensor:
    """Words (count,) of a stream, the same for every picture and so made once."""
    return mix(mix(torch.arange(count, device=device)) ^ mixed(crc32(stream.encode())))


def mix(value: Tensor) -> Tensor:
    """Scramble 32-bit words held in int64: a bijection in which every input bit stirs every output bit.

    The products overflow 64 bits at times; their low 32 bits are right all the same, on any device.
    """
    value = value & WORD
    value = ((value ^ (value >> 16)) * 0x7FEB352D) & WORD
    value = ((value ^ (value >> 15)) * 0x846CA68B) & WORD
    return value ^ (value >> 16)


def mixed(value: int) -> int:
    """Scramble one word as `mix` does."""
    value = ((value ^ (value >> 16)) * 0x7FEB352D) & WORD
    value = ((value ^ (value >> 15)) * 0x846CA68B) & WORD
    return value ^ (value >> 16)
