from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from random_models import SMALL, random_model
from torch import Tensor

from deshadow.diffusion.prediction import Kind, diffuse
from deshadow.image.colour import srgb_to_lab
from deshadow.nn.config import Fusion, LatentRange, ModelConfig
from deshadow.nn.layout import lay_out_unet
from deshadow.nn.lfg import invariant_colour
from deshadow.training import spikes
from deshadow.training.objectives import Batch, Criterion, detail_strength
from deshadow.training.options import InvariantTarget, Objective
from deshadow.training.spikes import SpikeLoss

CONFIG = ModelConfig(SMALL, SMALL, predicts="noise")


def batch(seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    picture, clean, noise = torch.randn(3, 2, 3, 16, 16, generator=generator)
    return Batch(
        picture, torch.ones(2, 1, 16, 16), clean, noise, torch.tensor([100, 800]), torch.zeros(2) > 0
    )


def noisy_pictures(images: Batch) -> torch.Tensor:
    """y_t of the batch."""
    levels = torch.tensor([CONFIG.schedule.level(int(t)) for t in images.t]).float().view(2, 2, 1, 1, 1)
    return diffuse(images.clean, images.noise, levels[:, 0], levels[:, 1])


@pytest.mark.parametrize(
    ("kind", "noise_of"),
    [("noise", lambda output, y, a, s: output), ("v", lambda output, y, a, s: s * y + a * output)],
)
def test_the_simple_loss_is_eq_7_with_p2_weights(kind: Kind, noise_of: Callable[..., Tensor]) -> None:
    model, images = random_model(replace(CONFIG, predicts=kind)), batch()
    loss = Criterion(model, Objective("l2", "p2", invariant=0)).joint_loss(images)
    expected = torch.zeros(())
    for i, t in enumerate((100, 800)):
        a, s = CONFIG.schedule.level(t)
        noisy = diffuse(images.clean[i : i + 1], images.noise[i : i + 1], a, s)
        guidance = model.encode(images.picture[i : i + 1], images.mask[i : i + 1])
        output = model(noisy, torch.tensor([t]), images.picture[i : i + 1], images.mask[i : i + 1], guidance)
        error = noise_of(output, noisy, a, s) - images.noise[i]
        expected += s**2 * error.square().mean() / 2  # 1 / (1 + SNR) = 1 − ᾱ
    torch.testing.assert_close(loss.denoiser, expected, rtol=1e-4, atol=1e-5)
    assert loss.encoder == 0


def test_errors_under_the_mask_weigh_more_and_lab_is_added() -> None:
    model, images = random_model(replace(CONFIG, predicts="clean")), batch()
    half = images._replace(mask=torch.cat([images.mask[..., :8], images.mask[..., 8:] * 0], dim=-1))

    guided = model.encode(half.picture, half.mask)
    a, s = (torch.tensor([CONFIG.schedule.level(t)[k] for t in (100, 800)]).view(2, 1, 1, 1) for k in (0, 1))
    noisy = diffuse(half.clean, half.noise, a.float(), s.float())
    found = model(noisy, half.t, half.picture, half.mask, guided)
    difference = (found - half.clean).abs()
    one, other = (srgb_to_lab(((each + 1) / 2).clamp(0, 1)) for each in (found, half.clean))
    colours = (one - other).abs() / 50

    for objective, expected in (
        (Objective(), difference),
        (Objective(emphasis=2.0), difference * (1 + 2 * half.mask)),
        (Objective(lab=0.5, emphasis=2.0), (difference + 0.5 * colours) * (1 + 2 * half.mask)),
    ):
        loss = Criterion(model, objective).simple_loss(half, half.picture, guided)
        torch.testing.assert_close(loss, expected.mean(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", ["joint", "detached"])
def test_the_joint_loss_is_eq_11(target: InvariantTarget) -> None:
    model, images = random_model(CONFIG), batch()
    with_it = Criterion(model, Objective("l2", invariant=0.5, invariant_target=target)).joint_loss(images)
    without = Criterion(model, Objective("l2", invariant=0)).joint_loss(images)
    ours, clean = model.encode(images.picture, images.mask), model.encode(images.clean, images.mask * 0)
    assert ours is not None
    assert clean is not None
    torch.testing.assert_close(with_it.encoder, 0.5 * (ours - clean).square().mean())
    torch.testing.assert_close(with_it.total, without.total + with_it.encoder)


@pytest.mark.parametrize("blind", [True, False])
def test_the_loss_of_stage_one_is_eq_12(blind: bool) -> None:
    # Of the clean picture alone, under E(y_0, 0); blind, the denoiser does not see y_0 itself.
    model, images = random_model(CONFIG), batch()
    losses = Criterion(model, Objective("l2", blind=blind)).pretraining_loss(images)

    def loss(picture: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        seen = torch.zeros_like(images.clean) if blind else images.clean
        output = model(noisy_pictures(images), images.t, seen, images.mask, model.encode(picture, mask))
        return torch.nn.functional.mse_loss(output, images.noise)

    nothing = torch.zeros_like(images.mask)
    torch.testing.assert_close(losses.total, loss(images.clean, nothing), rtol=1e-5, atol=1e-6)
    for wrong in (loss(images.clean, images.mask), loss(images.picture, nothing)):
        assert (losses.total - wrong).abs() > 1e-3
    assert losses.encoder == 0


def test_a_pattern_common_to_all_latents_is_an_error_of_stage_one() -> None:
    model, images = random_model(CONFIG), batch()
    plain, with_it = (
        Criterion(model, Objective("l2", distinct=weight)).pretraining_loss(images) for weight in (0.0, 0.5)
    )
    latents = model.encode(images.clean, images.mask * 0)
    assert latents is not None
    expected = 0.5 * latents.mean(0).var() / latents.var()
    torch.testing.assert_close(with_it.encoder, expected)
    torch.testing.assert_close(with_it.total, plain.total + expected)
    alike = images._replace(clean=images.clean[:1].expand(2, -1, -1, -1))
    assert Criterion(model, Objective("l2", distinct=0.5)).pretraining_loss(alike).encoder > 0.49


def test_a_spike_is_what_exceeds_twenty_times_the_root_mean_square() -> None:
    features = torch.ones(2, 4, 64, 64)
    assert SpikeLoss()(features) == 0
    features[1, 2, 3, 4] = 5000.0
    features.requires_grad_()
    loss = SpikeLoss()(features)
    size = (features[1].square().mean()).sqrt()
    torch.testing.assert_close(loss, (5000 / (20 * size)).log() / 2)
    (gradient,) = torch.autograd.grad(loss, features)
    assert gradient[1, 2, 3, 4] > 0
    assert gradient.count_nonzero() == 1  # other features are not to grow
    nothing = torch.zeros(2, 4, 8, 8, requires_grad=True)
    assert not torch.autograd.grad(SpikeLoss()(nothing), nothing)[0].any()


def test_spikes_of_the_finest_blocks_are_an_error_in_both_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spikes, "SPIKE", 0.5)  # so that many features of a random network are spikes
    model, images = random_model(CONFIG), batch()
    layout = lay_out_unet(SMALL)
    finest = sum(block.level == 0 for block in (*layout.down, *layout.middle, *layout.up))
    for stage in ("joint_loss", "pretraining_loss"):
        plain, with_it = (
            getattr(Criterion(model, Objective("l2", invariant=0, spikes=weight)), stage)(images)
            for weight in (0.0, 0.25)
        )
        seen: list[torch.Tensor] = []
        criterion = Criterion(model, Objective("l2", invariant=0, spikes=0.25))
        criterion.spike_loss.register_forward_hook(lambda _, given, found, seen=seen: seen.append(found))
        getattr(criterion, stage)(images)
        assert len(seen) == finest
        torch.testing.assert_close(with_it.total, plain.total + 0.25 * torch.stack(seen).sum())
        assert with_it.total > plain.total + 0.01
    assert not any(module._forward_hooks for module in model.modules())


def test_stage_one_does_not_depend_on_the_shadow_picture() -> None:
    model, images = random_model(replace(CONFIG, predicts="clean")), batch()
    criterion = Criterion(model, Objective())
    other = images._replace(picture=images.picture + 1)
    assert criterion.pretraining_loss(images).total == criterion.pretraining_loss(other).total
    literal = Criterion(model, Objective(blind=False)).pretraining_loss(images)
    assert literal.total != criterion.pretraining_loss(images).total


def test_a_hidden_picture_reaches_the_encoder_and_not_the_denoiser() -> None:
    model, images = random_model(CONFIG), batch()._replace(hidden=torch.tensor([True, False]))
    seen = []
    model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs))
    Criterion(model, Objective(invariant=0)).joint_loss(images)
    picture, guidance = seen[0][2], seen[0][4]
    assert not picture[0].any()
    assert torch.equal(picture[1], images.picture[1])
    expected = model.encode(images.picture, images.mask)
    assert expected is not None
    assert torch.equal(guidance, expected)


@pytest.mark.parametrize("fusion", ["vector", "map"])
@pytest.mark.parametrize("pretraining", [True, False])
def test_fusion_is_fed_with_y_t(fusion: Fusion, pretraining: bool) -> None:
    model, images, fed = random_model(replace(CONFIG, fusion=fusion)), batch(), []
    assert model.fusion is not None
    model.fusion.register_forward_pre_hook(lambda _, inputs: fed.append(inputs[0]))
    Criterion(model, Objective(invariant=0))(images, pretraining)
    assert len(fed) == 1
    torch.testing.assert_close(fed[0], noisy_pictures(images))


def test_the_frozen_target_is_compared_in_units_of_its_variance() -> None:
    model, images, frozen = random_model(CONFIG), batch(), random_model(CONFIG, seed=1).encoder
    losses = Criterion(model, Objective("l2", invariant=0.5), frozen).joint_loss(images)
    assert frozen is not None
    ours, target = model.encode(images.picture, images.mask), frozen(images.clean, images.mask * 0)
    assert ours is not None
    expected = 0.5 * (ours - target).square().mean() / target.var(correction=0)
    torch.testing.assert_close(losses.encoder, expected, rtol=1e-4, atol=1e-6)
    for wrong in (frozen(images.clean, images.mask), frozen(images.picture, images.mask * 0)):
        assert (losses.encoder - 0.5 * (ours - wrong).square().mean() / wrong.var()).abs() > 1e-3


def test_the_invariant_loss_moves_the_encoder_and_not_the_frozen_one() -> None:
    model, frozen = random_model(CONFIG), random_model(CONFIG, seed=1).encoder
    Criterion(model, Objective(), frozen).joint_loss(batch()).encoder.backward()  # type: ignore[no-untyped-call]
    assert model.encoder is not None
    assert frozen is not None
    assert all(each.grad is not None and each.grad.any() for each in model.encoder.parameters())
    assert all(each.grad is None for each in frozen.parameters())
    assert all(each.grad is None for each in model.denoiser.parameters())


def test_detached_the_clean_latent_gets_no_gradient() -> None:
    model, images = random_model(CONFIG), batch()
    gradients = []
    targets: tuple[InvariantTarget, ...] = ("detached", "joint")
    for target in targets:
        model.zero_grad()
        losses = Criterion(model, Objective(invariant_target=target)).joint_loss(images)
        losses.encoder.backward()  # type: ignore[no-untyped-call]
        assert model.encoder is not None
        weight = model.encoder.unet.stem.weight.grad
        assert weight is not None
        gradients.append(weight.clone())
    # By hand: the gradient with the clean latent held fixed.
    model.zero_grad()
    ours, clean = model.encode(images.picture, images.mask), model.encode(images.clean, images.mask * 0)
    assert ours is not None
    assert clean is not None
    (ours - clean.detach()).square().mean().backward()  # type: ignore[no-untyped-call]
    assert model.encoder is not None
    torch.testing.assert_close(gradients[0], model.encoder.unet.stem.weight.grad)
    assert (gradients[0] - gradients[1]).abs().max() > 1e-4


@pytest.mark.parametrize("guidance", ["colour", "coarse"])
def test_estimators_learn_what_tab_4_gives_them(guidance: str) -> None:
    model, images = random_model(replace(CONFIG, guidance=guidance)), batch()  # type: ignore[arg-type]
    losses = Criterion(model, Objective()).joint_loss(images)
    truth = invariant_colour(images.clean) if guidance == "colour" else images.clean
    ours = model.encode(images.picture, images.mask)
    assert ours is not None
    torch.testing.assert_close(losses.encoder, (ours - truth).abs().mean())


@pytest.mark.parametrize("guidance", ["colour", "coarse", "latent"])
def test_estimators_learn_from_their_own_loss_alone_and_the_latent_from_the_denoiser_too(
    guidance: str,
) -> None:
    model, images = random_model(replace(CONFIG, guidance=guidance)), batch()  # type: ignore[arg-type]
    Criterion(model, Objective(invariant=0)).joint_loss(images).denoiser.backward()  # type: ignore[no-untyped-call]
    assert model.encoder is not None
    moved = [each.grad is not None and bool(each.grad.any()) for each in model.encoder.parameters()]
    assert all(moved) if guidance == "latent" else not any(moved)
    assert all(each.grad is not None for each in model.denoiser.parameters())


def test_the_latent_has_the_range_that_the_configuration_says() -> None:
    images = batch()
    latents = {}
    ranges: tuple[LatentRange, ...] = ("free", "bounded", "standardised")
    for kind in ranges:
        latent = random_model(replace(CONFIG, latent_range=kind)).encode(images.picture, images.mask)
        assert latent is not None
        latents[kind] = latent
    free, standardised = latents["free"], latents["standardised"]
    assert free.abs().max() > 1
    torch.testing.assert_close(latents["bounded"], free.tanh())
    torch.testing.assert_close(standardised.mean(dim=(1, 2, 3)), torch.zeros(2), atol=1e-5, rtol=0)
    deviation = standardised.std(dim=(1, 2, 3), correction=0)
    torch.testing.assert_close(deviation, torch.ones(2), atol=1e-3, rtol=0)


def test_detail_minds_how_strong_it_is_and_not_where_it_lies() -> None:
    torch.manual_seed(0)
    sharp = torch.rand(1, 3, 64, 64) - 0.5
    blurred = torch.nn.functional.avg_pool2d(sharp, 3, 1, 1)
    moved = sharp.roll(2, dims=3)
    assert (detail_strength(moved) - detail_strength(sharp)).abs().mean() < 0.1 * detail_strength(
        sharp
    ).mean()
    assert (detail_strength(blurred) - detail_strength(sharp)).abs().mean() > 0.5 * detail_strength(
        sharp
    ).mean()
    assert detail_strength(sharp).shape == (1, 1, 64, 64)
