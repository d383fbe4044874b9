"""Random numbers as a function of (seed, index, stream, counter), without state and so without order."""

import math
from functools import lru_cache

import torch
from torch import Tensor

WORD = 0xFFFFFFFF


class Draws:
    """The random numbers of pictures `index` (B,) int64 under one `seed`.

    Every draw names its stream. A number depends on the seed, the picture's index, the stream and the
    place within the draw alone: not on the batch that the picture came in, nor on earlier draws, nor
    on the device.
    """

    def __init__(self, seed: int, index: Tensor) -> None:
        self.index = index
        low, high = mix_word(seed & WORD), mix_word((seed >> 32) & WORD)
        self.key = mix(mix(mix(index ^ low) ^ (index >> 32)) ^ high)[:, None]

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
        bits = self.bits(stream, *shape)
        return torch.stack([((bits >> shift) & 255).float() for shift in (0, 8, 16, 24)]) * (1 / 255) - 0.5


def counters(stream: str, count: int, device: torch.device) -> Tensor:
    """Words (count,) of a stream; they are the same for every picture, so they are computed once."""
    # A compiled graph keeps its own constants, and the compiler cannot trace caches.
    compiling = torch.compiler.is_compiling()
    return count_words(stream, count, device) if compiling else count_words_once(stream, count, device)


def count_words(stream: str, count: int, device: torch.device) -> Tensor:
    """Words (count,) of a stream."""
    return mix(mix(torch.arange(count, device=device)) ^ mix_word(hash_name(stream)))


count_words_once = lru_cache(256)(count_words)


def mix(value: Tensor) -> Tensor:
    """Scramble 32-bit words held in int64: a bijection in which every input bit stirs every output bit.

    The products may overflow 64 bits; their low 32 bits are right nevertheless, on any device.
    """
    value = value & WORD
    value = ((value ^ (value >> 16)) * 0x7FEB352D) & WORD
    value = ((value ^ (value >> 15)) * 0x846CA68B) & WORD
    return value ^ (value >> 16)


def mix_word(value: int) -> int:
    """Scramble one word as `mix` does."""
    value = ((value ^ (value >> 16)) * 0x7FEB352D) & WORD
    value = ((value ^ (value >> 15)) * 0x846CA68B) & WORD
    return value ^ (value >> 16)


def hash_name(name: str) -> int:
    """The 32-bit hash of a name (FNV-1a)."""
    value = 0x811C9DC5
    for letter in name:
        value = ((value ^ ord(letter)) * 0x01000193) & WORD
    return value
