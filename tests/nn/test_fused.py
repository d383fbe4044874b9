"""The kernels against torch: on a GPU, or interpreted where Triton is installed without one."""

import os
from typing import Literal

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
pytest.importorskip("triton", reason="Triton comes with torch's builds for GPUs")

from deshadow.nn import blocks, fused, fused_inference  # noqa: E402


def same(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


def same_gradients(found: Tensor, expected: Tensor, *inputs: Tensor) -> None:
    gradient = torch.randn_like(expected)
    both = (torch.autograd.grad(value, inputs, gradient) for value in (found, expected))
    for one, other in zip(*both, strict=True):
        same(one, other)


def values(*shape: int) -> Tensor:
    return torch.randn(shape, device=DEVICE, requires_grad=True)


@pytest.mark.parametrize("activation", [True, False])
@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("modulated", [True, False])
@pytest.mark.parametrize(
    "shape", [(2, 32, 8, 16, 16), (3, 48, 5, 7, 8), (1, 160, 3, 5, 16), (2, 14, 9, 3, 1)]
)
def test_norm(shape: tuple[int, int, int, int, int], modulated: bool, offset: bool, activation: bool) -> None:
    torch.manual_seed(0)
    b, c, h, w, groups = shape
    x, weight, bias = values(b, c, h, w), values(c), values(c)
    modulation, moved = (values(b, 2 * c) if modulated else None), (values(c) if offset else None)
    expected = F.group_norm(x if moved is None else x + moved[:, None, None], groups, weight, bias, 1e-5)
    if modulation is not None:
        scale, shift = modulation[:, :, None, None].chunk(2, dim=1)
        expected = expected * (1 + scale) + shift
    expected = F.silu(expected) if activation else expected
    found = fused.norm(x, weight, bias, modulation, moved, groups, 1e-5, activation)
    same(found, expected)
    with torch.no_grad():
        assert fused_inference.fits(x, groups) == (c >= 4 * groups)
        at_once = fused.norm(x, weight, bias, modulation, moved, groups, 1e-5, activation)
        same(at_once, expected.detach())
        assert at_once.is_contiguous(memory_format=torch.channels_last)
    same_gradients(
        found, expected, x, weight, bias, *(each for each in (modulation, moved) if each is not None)
    )


def test_the_norm_at_once_is_for_small_groups_without_gradients() -> None:
    small, large, thin = (torch.zeros(1, c, side, side) for c, side in ((32, 32), (32, 128), (8, 32)))
    assert not fused_inference.fits(small, 4)
    with torch.no_grad():
        assert fused_inference.fits(small, 4)
        assert not fused_inference.fits(large, 4)
        assert not fused_inference.fits(thin, 4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_without_a_gradient_small_groups_are_normalised_at_once(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 32, 8, 8, device=DEVICE).to(dtype)
    given = values(32), values(32), None, values(32), 4, 1e-5, True
    expected = fused.norm(x, *given).detach()
    monkeypatch.setattr(fused.FusedNorm, "apply", lambda *_: pytest.fail("three kernels"))
    with torch.no_grad():
        found = fused.norm(x, *given)
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


def test_total() -> None:
    torch.manual_seed(0)
    x, h, bias = values(2, 12, 5, 6), values(2, 12, 5, 6), values(12)
    expected, found = x + h + bias[:, None, None], fused.total(x, h, bias)
    same(found, expected)
    same_gradients(found, expected, x, h, bias)


@pytest.mark.parametrize("outputs", [8, 12])
def test_a_block_gives_the_same_either_way(outputs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    block = blocks.Residual(8, outputs, embedding=6).to(DEVICE)
    for each in block.parameters():
        torch.nn.init.normal_(each)
    attention = blocks.Attention(outputs, 4).to(DEVICE)
    torch.nn.init.normal_(attention.out.weight)
    x, vector = values(2, 8, 6, 5), values(2, 6)
    inputs = [x, vector, *block.parameters(), *attention.parameters()]
    both = []
    for kernels in (None, fused):
        monkeypatch.setattr(blocks, "find_kernels", lambda _, kernels=kernels: kernels)
        found = attention(block(x, vector))
        both.append([found, *torch.autograd.grad(found.square().mean(), inputs)])
    for one, other in zip(*both, strict=True):
        same(other, one)


@pytest.mark.parametrize("shape", [(2, 32, 8, 16), (3, 14, 4, 6), (1, 160, 2, 4)])
@pytest.mark.parametrize("way", ["down", "up"])
def test_resample(shape: tuple[int, int, int, int], way: Literal["down", "up"]) -> None:
    torch.manual_seed(0)
    x = values(*shape)
    found = fused.halve(x) if way == "down" else fused.double(x)
    expected = F.avg_pool2d(x, 2) if way == "down" else F.interpolate(x, scale_factor=2.0)
    same(found, expected)
    same_gradients(found, expected, x)


@pytest.mark.parametrize("channels", [(32, 32), (14, 160), (130, 6)])
def test_join(channels: tuple[int, int]) -> None:
    torch.manual_seed(0)
    x, skip = (values(2, each, 5, 3) for each in channels)
    found, expected = fused.join(x, skip), torch.cat([x, skip], dim=1)
    same(found, expected)
    same_gradients(found, expected, x, skip)
