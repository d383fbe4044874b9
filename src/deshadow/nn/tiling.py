"""How the programs of a Triton kernel share the pixels and channels of pictures.

Pictures are channels last: (B, P, C) in memory, where P counts pixels.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 4096
"""Elements that a program holds at a time."""
PROGRAMS = 1024
"""Number of programs that share a sum, about: a single picture keeps the whole GPU busy."""


class Tiling:
    """How programs share the pixels and channels of a picture."""

    def __init__(self, pictures: int, pixels: int, channels: int) -> None:
        self.pictures, self.pixels, self.channels = pictures, pixels, channels
        self.width = min(128, triton.next_power_of_2(channels))
        self.rows = TILE // self.width
        self.across = triton.cdiv(channels, self.width)
        shared = max(1, PROGRAMS // (pictures * self.across))
        self.parts = min(
            triton.next_power_of_2(shared), 64, triton.next_power_of_2(triton.cdiv(pixels, self.rows))
        )

    def sums(self, kernel: Any, *tensors: Tensor, **flags: bool) -> Tensor:
        """(2, B, parts, C): two sums over the pixels of each part."""
        shape = 2, self.pictures, self.parts, self.channels
        parts = tensors[0].new_empty(shape, dtype=torch.float32)
        length = triton.cdiv(triton.cdiv(self.pixels, self.parts), self.rows) * self.rows
        kernel[(self.pictures, self.parts, self.across)](
            *tensors, parts, self.pictures, self.pixels, self.channels, length,
            PARTS=self.parts, ROWS=self.rows, WIDTH=self.width, **flags,
        )  # fmt: skip
        return parts

    def each(self, kernel: Any, *arguments: Any, **flags: bool) -> None:
        """Run a kernel that treats each pixel by itself."""
        kernel[(self.pictures, triton.cdiv(self.pixels, self.rows), self.across)](
            *arguments, self.pixels, self.channels, ROWS=self.rows, WIDTH=self.width, **flags
        )


def tiling_of(x: Tensor) -> Tiling:
    """The tiling of pictures (B, C, h, w)."""
    b, c, h, w = x.shape
    return Tiling(b, h * w, c)


@triton.jit
def tile(P, C, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Channels and addresses of this program's pixels, and which of them exist."""
    pixel = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    channel = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    at = tl.program_id(0).to(tl.int64) * P * C + pixel[:, None] * C + channel[None, :]
    return channel, at, (pixel < P)[:, None] & (channel < C)[None, :]
