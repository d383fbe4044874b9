from dataclasses import replace

import pytest
import torch
from random_models import SMALL, random_model
from torch.nn import functional as F

from deshadow.nn.blocks import Attention, Norm, Residual, timestep_embedding
from deshadow.nn.config import Fusion, Guidance, ModelConfig, find_preset
from deshadow.nn.lfg import LFGDiffusion, NoiseMaps, NoiseVector, invariant_colour
from deshadow.nn.unet import UNet


def inputs(config: ModelConfig, batch: int = 2) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(1)
    side = 2 * config.stride
    noisy, picture = torch.randn(2, batch, 3, side, side, generator=generator)
    mask = (torch.rand(batch, 1, side, side, generator=generator) > 0.5).float()
    return noisy, torch.arange(1.0, batch + 1) * 100, picture, mask


@pytest.mark.parametrize("fusion", ["none", "vector", "map"])
@pytest.mark.parametrize("guidance", ["none", "colour", "coarse", "latent"])
def test_gradient_reaches_every_parameter(fusion: Fusion, guidance: Guidance) -> None:
    model = random_model(ModelConfig(SMALL, SMALL, guidance, fusion))
    noisy, t, picture, mask = inputs(model.config)
    model(noisy, t, picture, mask, model.encode(picture, mask)).square().sum().backward()
    untouched = [
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    assert not untouched


@pytest.mark.parametrize("name", ["light", "tiny"])
def test_a_fresh_correction_model_leaves_the_picture_alone(name: str) -> None:
    # The output layer starts at zero, and the network predicts a correction: it starts as the identity.
    model = LFGDiffusion(find_preset(name))
    noisy, t, picture, mask = inputs(model.config)
    guidance = model.encode(picture, mask)
    assert not model(noisy, t, picture, mask, guidance).any()
    assert guidance is not None
    assert guidance.std(dim=(1, 2, 3)).min() > 1e-3  # but the latent says something from the start


def test_every_input_matters() -> None:
    model = random_model(find_preset("tiny"))
    noisy, t, picture, mask = inputs(model.config)
    guidance = model.encode(picture, mask)
    assert guidance is not None
    output = model(noisy, t, picture, mask, guidance)
    for changed in (
        (noisy + 0.5, t, picture, mask, guidance),
        (noisy, t + 300, picture, mask, guidance),
        (noisy, t, -picture, mask, guidance),
        (noisy, t, picture, 1 - mask, guidance),
        (noisy, t, picture, mask, guidance + 1),
    ):
        assert (model(*changed) - output).abs().mean() > 1e-2


def test_pictures_of_a_batch_do_not_see_each_other() -> None:
    model = random_model(find_preset("tiny"))
    noisy, t, picture, mask = inputs(model.config)
    together = model(noisy, t, picture, mask, model.encode(picture, mask))
    for i in range(2):
        one = [tensor[i : i + 1] for tensor in (noisy, t, picture, mask)]
        alone = model(*one, model.encode(one[2], one[3]))
        torch.testing.assert_close(alone[0], together[i], atol=1e-4, rtol=1e-4)


def test_attention_sees_the_whole_picture_and_the_fold_keeps_pixels_in_place() -> None:
    unet = UNet(replace(SMALL, attention=(0, 1)), 3, 3)
    x = torch.zeros(1, 3, 32, 32, requires_grad=True)
    torch.nn.init.normal_(unet.middle[0].attention.out.weight)  # type: ignore[union-attr, arg-type]
    unet(x + torch.randn(1, 3, 32, 32))[0, :, 0, 0].sum().backward()
    assert x.grad is not None
    assert x.grad[0, :, -4:, -4:].abs().max() > 0


def test_attention_is_the_formula_written_out() -> None:
    attention = Attention(16, 8)
    torch.nn.init.normal_(attention.out.weight)
    x = torch.randn(2, 16, 3, 5)
    q, k, v = attention.qkv(attention.norm(x)).flatten(2).reshape(2, 3, 2, 8, 15).unbind(1)
    weights = torch.softmax(torch.einsum("bhcq,bhck->bhqk", q, k) / 8**0.5, dim=-1)
    found = torch.einsum("bhqk,bhck->bhcq", weights, v).reshape(2, 16, 3, 5)
    torch.testing.assert_close(attention(x), x + attention.out(found))


def test_the_embedding_scales_and_shifts_the_normalised_features() -> None:
    block = Residual(8, 8, embedding=4)
    torch.nn.init.dirac_(block.conv2.weight)
    x, vector = torch.randn(2, 8, 6, 6), torch.randn(2, 4)
    assert block.modulate is not None
    scale, shift = block.modulate(vector).chunk(2, dim=1)
    h = torch.nn.GroupNorm.forward(block.norm2, block.conv1(block.norm1(x)))
    expected = x + F.silu(h * (1 + scale[:, :, None, None]) + shift[:, :, None, None])
    torch.testing.assert_close(block(x, vector), expected)


def test_all_blocks_are_modulated_by_the_silu_of_timestep_and_noise() -> None:
    model = random_model(ModelConfig(SMALL, SMALL, "none", "vector"))
    noisy, t, picture, mask = inputs(model.config)
    assert isinstance(model.fusion, NoiseVector)
    embedding = model.time(timestep_embedding(t, SMALL.base))
    expected = F.silu(embedding + model.fusion(noisy))
    blocks = [part for part in model.denoiser.modules() if isinstance(part, Residual)]
    seen = []
    for block in blocks:
        assert block.modulate is not None
        block.modulate.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    model(noisy, t, picture, mask)
    assert len(seen) == len(blocks) > 2
    for vector in seen:
        torch.testing.assert_close(vector, expected)


def test_the_noise_vector_pools_over_all_patches() -> None:
    fusion = NoiseVector(4, 6)
    noisy = torch.randn(2, 3, 8, 16)
    rolled = noisy.roll((4, 8), dims=(2, 3))  # whole patches move: a mean over patches does not mind
    assert fusion(noisy).shape == (2, 6)
    torch.testing.assert_close(fusion(noisy), fusion(rolled))
    assert (fusion(noisy) - fusion(noisy.roll(1, dims=3))).abs().max() > 1e-4


def test_the_noise_maps_are_pooled_to_each_level() -> None:
    maps = NoiseMaps(2, 6, levels=3)(torch.randn(2, 3, 16, 32))
    assert [tuple(level.shape) for level in maps] == [(2, 6, 8, 16), (2, 6, 4, 8), (2, 6, 2, 4)]
    torch.testing.assert_close(maps[2], F.avg_pool2d(maps[0], 4))


def test_timesteps_that_differ_have_embeddings_that_differ() -> None:
    codes = timestep_embedding(torch.arange(0.0, 1001), 32)
    assert codes.shape == (1001, 32)
    distances = torch.cdist(codes, codes) + 10 * torch.eye(1001)
    assert distances.min() > 0.05
    torch.testing.assert_close(codes[0], torch.cat([torch.ones(16), torch.zeros(16)]))


def test_the_invariant_colour_does_not_see_a_neutral_shadow() -> None:
    lit = torch.rand(1, 3, 1, 1).expand(1, 3, 40, 40) * 0.8 + 0.2
    shade = torch.ones(1, 1, 40, 40)
    shade[:, :, :, 20:] = 0.4
    colour = invariant_colour(2 * lit * shade - 1)
    assert (colour - invariant_colour(2 * lit - 1)).abs().max() < 0.05
    assert (colour.sum(dim=1) + 1).abs().max() < 1e-5


def test_the_norm_adds_an_offset_first() -> None:
    torch.manual_seed(0)
    norm, x, modulation, offset = Norm(12), torch.randn(2, 12, 6, 6), torch.randn(2, 24), torch.randn(12)
    moved = x + offset[:, None, None]
    torch.testing.assert_close(norm(x, modulation, offset), norm(moved, modulation))
    assert not torch.allclose(norm(moved), norm(x))


def test_the_bypass_carries_the_level_of_a_picture_past_the_norms() -> None:
    torch.manual_seed(0)
    picture = torch.randn(1, 3, 16, 16)
    for bypass in (False, True):
        unet = UNet(replace(SMALL, bypass=bypass), 3, 3)
        assert unet.stem.bias is not None
        torch.nn.init.zeros_(unet.stem.bias)
        if unet.bypass is not None:
            torch.nn.init.eye_(unet.bypass.weight[:, :, 0, 0])
        # A network of norms alone gives the same for a picture of ten times the contrast.
        change = (unet(10 * picture) - unet(picture)).abs().mean()
        assert change < 0.1 or bypass
        assert change > 1 or not bypass


def test_a_new_bypass_changes_nothing() -> None:
    torch.manual_seed(0)
    unet = UNet(replace(SMALL, bypass=True), 3, 3)
    picture = torch.randn(1, 3, 16, 16)
    output, unet.bypass = unet(picture), None
    assert torch.equal(output, unet(picture))
