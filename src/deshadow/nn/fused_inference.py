"""A Triton kernel for where no gradient is wanted: the norm of small pictures, each group by one program.

With one picture the kernels of `fused` take no longer to compute than to start, and a norm needs three.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

ELEMENTS = 16384
"""Most elements of a group that a program holds."""
CHANNELS = 4
"""Fewest channels of a group: with fewer, a program would read only a little of each line of memory."""


def fits(x: Tensor, groups: int) -> bool:
    """Whether `norm_at_once` takes pictures (B, C, h, w): small groups, and no gradient is wanted."""
    rows, width = measure_group(x, groups)
    return not torch.is_grad_enabled() and rows * width <= ELEMENTS and x.shape[1] >= CHANNELS * groups


def norm_at_once(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    modulation: Tensor | None,
    offset: Tensor | None,
    groups: int,
    eps: float,
    activation: bool,
) -> Tensor:
    """`blocks.Norm` without a gradient."""
    x = x.contiguous(memory_format=torch.channels_last)
    (pictures, channels, *size), (rows, width) = x.shape, measure_group(x, groups)
    y = torch.empty_like(x)
    group_kernel[(pictures, groups)](
        x, weight, bias, None if modulation is None else modulation.contiguous(), offset, y,
        size[0] * size[1], channels, groups, eps, ROWS=rows, WIDTH=width,
        MODULATED=modulation is not None, OFFSET=offset is not None, ACTIVATION=activation,
        num_warps=min(max(rows * width // 1024, 4), 16),
    )  # fmt: skip
    return y


def measure_group(x: Tensor, groups: int) -> tuple[int, int]:
    """Pixels and channels of a group of pictures (B, C, h, w), each as the next power of two."""
    _, c, h, w = x.shape
    return triton.next_power_of_2(h * w), triton.next_power_of_2(c // groups)


@triton.jit
def group_kernel(
    x, weight, bias, modulation, offset, y, P, C, groups, eps, ROWS: tl.constexpr, WIDTH: tl.constexpr,
    MODULATED: tl.constexpr, OFFSET: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    """One group of one picture: y = silu(norm(x + offset) · (1 + scale) + shift)."""
    picture, count = tl.program_id(0), C // groups
    within = tl.arange(0, WIDTH) < count
    channel = tl.program_id(1) * count + tl.arange(0, WIDTH)
    pixel = tl.arange(0, ROWS)
    inside = (pixel < P)[:, None] & within[None, :]
    at = picture.to(tl.int64) * P * C + pixel[:, None] * C + channel[None, :]
    value = tl.load(x + at, inside, 0.0).to(tl.float32)
    if OFFSET:
        moved = tl.load(offset + channel, within, 0.0).to(tl.float32)
        value = tl.where(inside, value + moved[None, :], 0.0)
    mean = tl.sum(tl.sum(value, 0), 0) / (P * count)
    centred = tl.where(inside, value - mean, 0.0)
    variance = tl.sum(tl.sum(centred * centred, 0), 0) / (P * count)
    scale = tl.load(weight + channel, within, 0.0).to(tl.float32) / tl.sqrt(variance + eps)
    shift = tl.load(bias + channel, within, 0.0).to(tl.float32)
    if MODULATED:
        more = 1 + tl.load(modulation + 2 * picture * C + channel, within, 0.0).to(tl.float32)
        scale *= more
        shift = shift * more + tl.load(modulation + (2 * picture + 1) * C + channel, within, 0.0).to(
            tl.float32
        )
    h = centred * scale[None, :] + shift[None, :]
    if ACTIVATION:
        h *= tl.sigmoid(h)
    tl.store(y + at, h.to(y.dtype.element_ty), inside)
