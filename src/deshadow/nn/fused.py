"""The operations between two convolutions as Triton kernels (Triton comes with torch's builds for GPUs).

Pictures are channels last: (B, P, C) in memory, where P counts pixels. torch's own operations take several
times as long, because each of them reads and writes the picture again.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from deshadow.nn.fused_inference import fits, norm_at_once
from deshadow.nn.fused_moves import double, halve, join
from deshadow.nn.tiling import tile, tiling_of

__all__ = ["double", "halve", "join", "norm", "total"]


def norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    modulation: Tensor | None,
    offset: Tensor | None,
    groups: int,
    eps: float,
    activation: bool,
) -> Tensor:
    """`blocks.Norm`, by three kernels each way; without a gradient by a single one, where it fits."""
    with torch.cuda.device_of(x):
        if fits(x, groups):
            return norm_at_once(x, weight, bias, modulation, offset, groups, eps, activation)
        found: Tensor = FusedNorm.apply(x, weight, bias, modulation, offset, groups, eps, activation)
    return found


def total(x: Tensor, h: Tensor, bias: Tensor) -> Tensor:
    """x + h + bias, of pictures (B, C, h, w) of one precision and a bias (C,)."""
    assert x.dtype == h.dtype
    with torch.cuda.device_of(x):
        found: Tensor = FusedTotal.apply(x, h, bias)
    return found


class FusedNorm(torch.autograd.Function):
    """Group norm, modulation and SiLU."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        modulation: Tensor | None,
        offset: Tensor | None,
        groups: int,
        eps: float,
        activation: bool,
    ) -> Tensor:
        x = x.contiguous(memory_format=torch.channels_last)
        b, c, h, w = x.shape
        tiling = tiling_of(x)
        parts = tiling.sums(sum_kernel, x)
        lines, sums = x.new_empty(2, b, c, dtype=torch.float32), x.new_empty(b, c, dtype=torch.float32)
        moments = x.new_empty(2, b, groups, dtype=torch.float32)
        modulation = None if modulation is None else modulation.contiguous()
        line_kernel[(b, groups)](
            parts, weight, bias, modulation, offset, lines, sums, moments,
            b, h * w, c, groups, eps,
            PARTS=tiling.parts, WIDTH=triton.next_power_of_2(c // groups),
            MODULATED=modulation is not None, OFFSET=offset is not None,
        )  # fmt: skip
        y = torch.empty_like(x)
        tiling.each(activate_kernel, x, lines, y, b, ACTIVATION=activation)
        ctx.save_for_backward(x, weight, bias, modulation, offset, lines, sums, moments)
        ctx.groups, ctx.activation, ctx.tiling = groups, activation, tiling
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, modulation, offset, lines, sums, moments = ctx.saved_tensors
        dy = gradients[0].contiguous(memory_format=torch.channels_last)
        b, c, h, w = x.shape
        parts = ctx.tiling.sums(back_sum_kernel, x, dy, lines, ACTIVATION=ctx.activation)
        curves = torch.empty_like(lines)  # dx = slope · dh + curve · x + shift
        found = x.new_empty(3, b, c, dtype=torch.float32)
        back_line_kernel[(b, ctx.groups)](
            parts, weight, modulation, offset, lines, sums, moments, curves, found,
            b, h * w, c, ctx.groups,
            PARTS=ctx.tiling.parts, WIDTH=triton.next_power_of_2(c // ctx.groups),
            MODULATED=modulation is not None, OFFSET=offset is not None,
        )  # fmt: skip
        dx = torch.empty_like(x)
        ctx.tiling.each(back_kernel, x, dy, lines, curves, dx, b, ACTIVATION=ctx.activation)
        scales, shifts, moved = found
        d_offset = None if offset is None else moved.sum(0)
        if modulation is None:
            return dx, scales.sum(0), shifts.sum(0), None, d_offset, None, None, None
        more = 1 + modulation[:, :c].float()
        d_modulation = torch.cat([scales * weight + shifts * bias, shifts], 1).to(modulation.dtype)
        return dx, (scales * more).sum(0), (shifts * more).sum(0), d_modulation, d_offset, None, None, None


class FusedTotal(torch.autograd.Function):
    """The sum of two pictures and a bias; the gradient of both pictures is that of the sum itself."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, h: Tensor, bias: Tensor) -> Tensor:
        x, h = (each.contiguous(memory_format=torch.channels_last) for each in (x, h))
        y = torch.empty_like(x)
        tiling_of(x).each(total_kernel, x, h, bias, y)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        dy = gradients[0].contiguous(memory_format=torch.channels_last)
        return dy, dy, tiling_of(dy).sums(sum_kernel, dy)[0].sum((0, 1))


@triton.jit
def pair(table, picture, channel, B, C):
    """The two numbers that a table (2, B, C) has for each channel."""
    first = tl.load(table + picture * C + channel, channel < C, 0.0)[None, :]
    return first, tl.load(table + (B + picture) * C + channel, channel < C, 0.0)[None, :]


@triton.jit
def store_sums(parts, first, second, place, channel, B, C, PARTS: tl.constexpr):
    """Store two sums over a part of a picture."""
    at = parts + place * C + channel
    tl.store(at, tl.sum(first, 0), channel < C)
    tl.store(at + B * PARTS * C, tl.sum(second, 0), channel < C)


@triton.jit
def sum_parts(parts, B, C, groups, PARTS: tl.constexpr, WIDTH: tl.constexpr):
    """Channels of this program's group, which of them exist, and both sums over all parts."""
    count = C // groups
    within = tl.arange(0, WIDTH) < count
    channel = tl.program_id(1) * count + tl.arange(0, WIDTH)
    at = parts + (tl.program_id(0) * PARTS + tl.arange(0, PARTS)[:, None]) * C + channel[None, :]
    first = tl.sum(tl.load(at, within[None, :], 0.0), 0)
    return channel, within, first, tl.sum(tl.load(at + B * PARTS * C, within[None, :], 0.0), 0)


@triton.jit
def sum_kernel(x, parts, B, P, C, length, PARTS: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Sums of x and of its square."""
    picture, part = tl.program_id(0), tl.program_id(1)
    channel = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    first = tl.zeros([ROWS, WIDTH], tl.float32)
    second = tl.zeros([ROWS, WIDTH], tl.float32)
    start = x + picture.to(tl.int64) * P * C
    for row in range(0, length, ROWS):
        pixel = part * length + row + tl.arange(0, ROWS)
        inside = (pixel < P)[:, None] & (channel < C)[None, :]
        value = tl.load(start + pixel[:, None] * C + channel[None, :], inside, 0.0).to(tl.float32)
        first += value
        second += value * value
    store_sums(parts, first, second, picture * PARTS + part, channel, B, C, PARTS)


@triton.jit
def line_kernel(
    parts, weight, bias, modulation, offset, lines, sums, moments, B, P, C, groups, eps,
    PARTS: tl.constexpr, WIDTH: tl.constexpr, MODULATED: tl.constexpr, OFFSET: tl.constexpr,
):  # fmt: skip
    """The line through each channel of one group, h = scale · x + shift, from the sums."""
    picture, group, count = tl.program_id(0), tl.program_id(1), C // groups
    channel, within, total, square = sum_parts(parts, B, C, groups, PARTS, WIDTH)
    at = picture * C + channel
    tl.store(sums + at, total, within)
    moved = tl.zeros([WIDTH], tl.float32)
    if OFFSET:
        moved = tl.load(offset + channel, within, 0.0).to(tl.float32)
        square += 2 * moved * total + P * moved * moved
        total += P * moved
    mean = tl.sum(total, 0) / (P * count)
    variance = tl.maximum(tl.sum(square, 0) / (P * count) - mean * mean, 0.0)
    sharp = 1 / tl.sqrt(variance + eps)
    tl.store(moments + picture * groups + group, mean)
    tl.store(moments + (B + picture) * groups + group, sharp)
    scale = sharp * tl.load(weight + channel, within, 0.0).to(tl.float32)
    shift = tl.load(bias + channel, within, 0.0).to(tl.float32) - scale * mean
    if MODULATED:
        more = 1 + tl.load(modulation + 2 * picture * C + channel, within, 0.0).to(tl.float32)
        scale *= more
        shift = shift * more + tl.load(modulation + (2 * picture + 1) * C + channel, within, 0.0).to(
            tl.float32
        )
    tl.store(lines + at, scale, within)
    tl.store(lines + B * C + at, shift + scale * moved, within)


@triton.jit
def activate_kernel(
    x, lines, y, B, P, C, ROWS: tl.constexpr, WIDTH: tl.constexpr, ACTIVATION: tl.constexpr
):  # fmt: skip
    """y = silu(scale · x + shift), or the line itself."""
    picture = tl.program_id(0)
    channel, at, inside = tile(P, C, ROWS, WIDTH)
    scale, shift = pair(lines, picture, channel, B, C)
    h = tl.load(x + at, inside, 0.0).to(tl.float32) * scale + shift
    if ACTIVATION:
        h *= tl.sigmoid(h)
    tl.store(y + at, h.to(y.dtype.element_ty), inside)


@triton.jit
def gradient_of_h(x, dy, at, inside, scale, shift, ACTIVATION: tl.constexpr):
    """x, and the gradient with respect to h."""
    value = tl.load(x + at, inside, 0.0).to(tl.float32)
    gradient = tl.load(dy + at, inside, 0.0).to(tl.float32)
    if ACTIVATION:
        h = value * scale + shift
        share = tl.sigmoid(h)
        gradient *= share * (1 + h * (1 - share))
    return value, gradient


@triton.jit
def back_sum_kernel(
    x, dy, lines, parts, B, P, C, length,
    PARTS: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    """Sums of the gradient at h, and of its product with x."""
    picture, part = tl.program_id(0), tl.program_id(1)
    channel = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    scale, shift = pair(lines, picture, channel, B, C)
    first = tl.zeros([ROWS, WIDTH], tl.float32)
    second = tl.zeros([ROWS, WIDTH], tl.float32)
    start = picture.to(tl.int64) * P * C
    for row in range(0, length, ROWS):
        pixel = part * length + row + tl.arange(0, ROWS)
        inside = (pixel < P)[:, None] & (channel < C)[None, :]
        at = start + pixel[:, None] * C + channel[None, :]
        value, gradient = gradient_of_h(x, dy, at, inside, scale, shift, ACTIVATION)
        first += gradient
        second += gradient * value
    store_sums(parts, first, second, picture * PARTS + part, channel, B, C, PARTS)


@triton.jit
def back_line_kernel(
    parts, weight, modulation, offset, lines, sums, moments, curves, found, B, P, C, groups,
    PARTS: tl.constexpr, WIDTH: tl.constexpr, MODULATED: tl.constexpr, OFFSET: tl.constexpr,
):  # fmt: skip
    """Coefficients of the gradient of x, and the gradients of scale, shift and offset."""
    picture, group, count = tl.program_id(0), tl.program_id(1), C // groups
    channel, within, plain, product = sum_parts(parts, B, C, groups, PARTS, WIDTH)
    moved = tl.zeros([WIDTH], tl.float32)
    if OFFSET:
        moved = tl.load(offset + channel, within, 0.0).to(tl.float32)
        product += moved * plain
    mean = tl.load(moments + picture * groups + group)
    sharp = tl.load(moments + (B + picture) * groups + group)
    straight = (product - mean * plain) * sharp  # the gradient's sum with what is normalised
    gain = tl.load(weight + channel, within, 0.0).to(tl.float32)
    if MODULATED:
        gain *= 1 + tl.load(modulation + 2 * picture * C + channel, within, 0.0).to(tl.float32)
    level = tl.sum(gain * plain, 0) / (P * count)
    slope = tl.sum(gain * straight, 0) / (P * count)
    curve = tl.zeros([WIDTH], tl.float32) - sharp * sharp * slope
    shift = curve * (moved - mean) - sharp * level
    at = picture * C + channel
    tl.store(curves + at, curve, within)
    tl.store(curves + B * C + at, shift, within)
    tl.store(found + at, straight, within)
    tl.store(found + B * C + at, plain, within)
    scale = tl.load(lines + at, within, 0.0)
    total = tl.load(sums + at, within, 0.0)
    tl.store(found + 2 * B * C + at, scale * plain + curve * total + shift * P, within)


@triton.jit
def back_kernel(
    x, dy, lines, curves, dx, B, P, C, ROWS: tl.constexpr, WIDTH: tl.constexpr, ACTIVATION: tl.constexpr
):  # fmt: skip
    """dx = scale · dh + curve · x + shift."""
    picture = tl.program_id(0)
    channel, at, inside = tile(P, C, ROWS, WIDTH)
    scale, shift = pair(lines, picture, channel, B, C)
    value, gradient = gradient_of_h(x, dy, at, inside, scale, shift, ACTIVATION)
    curve, level = pair(curves, picture, channel, B, C)
    tl.store(dx + at, (scale * gradient + curve * value + level).to(dx.dtype.element_ty), inside)


@triton.jit
def total_kernel(x, h, bias, y, P, C, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """y = x + h + bias."""
    channel, at, inside = tile(P, C, ROWS, WIDTH)
    value = tl.load(x + at, inside, 0.0).to(tl.float32) + tl.load(h + at, inside, 0.0).to(tl.float32)
    value += tl.load(bias + channel, channel < C, 0.0).to(tl.float32)[None, :]
    tl.store(y + at, value.to(y.dtype.element_ty), inside)
