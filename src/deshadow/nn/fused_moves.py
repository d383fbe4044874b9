"""Triton kernels that move pixels and channels: half the size, twice the size, two pictures joined."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from deshadow.nn.tiling import tile, tiling_of


def halve(x: Tensor) -> Tensor:
    """(B, C, h, w) → (B, C, h / 2, w / 2): the mean of each square of 2×2 pixels."""
    with torch.cuda.device_of(x):
        found: Tensor = FusedHalving.apply(x)
    return found


def double(x: Tensor) -> Tensor:
    """(B, C, h, w) → (B, C, 2 h, 2 w): every pixel repeated in a square of 2×2."""
    with torch.cuda.device_of(x):
        found: Tensor = FusedDoubling.apply(x)
    return found


def join(x: Tensor, skip: Tensor) -> Tensor:
    """(B, C, h, w) and (B, D, h, w) → (B, C + D, h, w)."""
    assert x.dtype == skip.dtype
    with torch.cuda.device_of(x):
        found: Tensor = FusedJoin.apply(x, skip)
    return found


class FusedHalving(torch.autograd.Function):
    """The mean of each square of 2×2 pixels."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return gather_squares(x, 0.25)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return spread_squares(gradients[0], 0.25)


class FusedDoubling(torch.autograd.Function):
    """Every pixel repeated in a square of 2×2."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return spread_squares(x, 1.0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return gather_squares(gradients[0], 1.0)


class FusedJoin(torch.autograd.Function):
    """The channels of two pictures in one; the gradients of both are contiguous, as the kernels want them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, skip: Tensor) -> Tensor:
        ctx.channels = x.shape[1], skip.shape[1]
        both = new_picture(x, sum(ctx.channels), *x.shape[2:])
        for part, start in ((x, 0), (skip, x.shape[1])):
            part = part.contiguous(memory_format=torch.channels_last)
            tiling_of(part).each(insert_kernel, part, both, both.shape[1], start)
        return both

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        dy = gradients[0].contiguous(memory_format=torch.channels_last)
        parts = tuple(new_picture(dy, channels, *dy.shape[2:]) for channels in ctx.channels)
        for part, start in zip(parts, (0, ctx.channels[0]), strict=True):
            tiling_of(part).each(extract_kernel, dy, part, dy.shape[1], start)
        return parts


def gather_squares(x: Tensor, scale: float) -> Tensor:
    """(B, C, h, w) → (B, C, h / 2, w / 2): the sum of each square of 2×2 pixels, times `scale`."""
    x = x.contiguous(memory_format=torch.channels_last)
    h, w = x.shape[-2:]
    y = new_picture(x, x.shape[1], h // 2, w // 2)
    tiling_of(y).each(gather_kernel, x, y, w // 2, scale)
    return y


def spread_squares(x: Tensor, scale: float) -> Tensor:
    """(B, C, h, w) → (B, C, 2 h, 2 w): every pixel times `scale` in a square of 2×2."""
    x = x.contiguous(memory_format=torch.channels_last)
    h, w = x.shape[-2:]
    y = new_picture(x, x.shape[1], 2 * h, 2 * w)
    tiling_of(x).each(spread_kernel, x, y, w, scale)
    return y


def new_picture(like: Tensor, channels: int, height: int, width: int) -> Tensor:
    """Empty pictures of another size, channels last."""
    shape = len(like), channels, height, width
    return torch.empty(shape, dtype=like.dtype, device=like.device, memory_format=torch.channels_last)


@triton.jit
def square_of(P, C, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Addresses of the first pixel of each square, in a picture with twice the width and height."""
    pixel = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    channel = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    first = 4 * width * (pixel // width) + 2 * (pixel % width)
    return tl.program_id(0).to(tl.int64) * 4 * P * C + first[:, None] * C + channel[None, :]


@triton.jit
def gather_kernel(x, y, width, scale, P, C, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """y = scale · the sum over the square of each pixel."""
    _, at, inside = tile(P, C, ROWS, WIDTH)
    first = x + square_of(P, C, width, ROWS, WIDTH)
    second = first + 2 * width * C
    total = tl.load(first, inside, 0.0).to(tl.float32) + tl.load(first + C, inside, 0.0).to(tl.float32)
    total += tl.load(second, inside, 0.0).to(tl.float32) + tl.load(second + C, inside, 0.0).to(tl.float32)
    tl.store(y + at, (scale * total).to(y.dtype.element_ty), inside)


@triton.jit
def spread_kernel(x, y, width, scale, P, C, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """All four pixels of a square of y = scale · x."""
    _, at, inside = tile(P, C, ROWS, WIDTH)
    value = (scale * tl.load(x + at, inside, 0.0).to(tl.float32)).to(y.dtype.element_ty)
    first = y + square_of(P, C, width, ROWS, WIDTH)
    second = first + 2 * width * C
    tl.store(first, value, inside)
    tl.store(first + C, value, inside)
    tl.store(second, value, inside)
    tl.store(second + C, value, inside)


@triton.jit
def part_of(wide, start, P, C, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Addresses of this program's pixels in a picture with `wide` channels, of which C begin at `start`."""
    pixel = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    channel = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    return (tl.program_id(0).to(tl.int64) * P + pixel[:, None]) * wide + start + channel[None, :]


@triton.jit
def insert_kernel(x, y, wide, start, P, C, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """The channels of y from `start` on are those of x."""
    _, at, inside = tile(P, C, ROWS, WIDTH)
    tl.store(y + part_of(wide, start, P, C, ROWS, WIDTH), tl.load(x + at, inside), inside)


@triton.jit
def extract_kernel(x, y, wide, start, P, C, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """The channels of y are those of x from `start` on."""
    _, at, inside = tile(P, C, ROWS, WIDTH)
    tl.store(y + at, tl.load(x + part_of(wide, start, P, C, ROWS, WIDTH), inside), inside)
