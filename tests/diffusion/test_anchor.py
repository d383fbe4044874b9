"""Keeping the lit pixels of a photo while sampling."""

import numpy as np
import pytest
import torch

from deshadow.diffusion.anchor import Anchor
from deshadow.diffusion.arrays import FloatArray
from deshadow.diffusion.choices import Sampler
from deshadow.diffusion.prediction import diffuse
from deshadow.diffusion.sampling import sample
from deshadow.diffusion.schedule import Schedule

SCHEDULE = Schedule()
SAMPLERS: list[Sampler] = ["ddim", "dpm"]
PHOTO = np.random.default_rng(0).uniform(-1, 1, (2, 3, 6, 8))
MASK = np.zeros((2, 1, 6, 8))
MASK[..., 4:] = 1
NOISE = np.random.default_rng(1).standard_normal(PHOTO.shape)


def blur(noisy: FloatArray, t: int) -> FloatArray:
    """A denoiser that is wrong everywhere, and whose estimate under the mask depends on the lit pixels."""
    estimate: FloatArray = np.tanh(noisy + noisy.mean(axis=(2, 3), keepdims=True) + np.sin(t))
    return estimate


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("start", [None, 600])
def test_at_every_step_the_lit_pixels_are_the_photo_diffused_to_the_very_same_t(
    sampler: Sampler, start: int | None
) -> None:
    seen: list[int] = []

    def check(noisy: FloatArray, t: int) -> FloatArray:
        expected = diffuse(PHOTO, NOISE, *SCHEDULE.level(t))
        np.testing.assert_allclose((1 - MASK) * noisy, (1 - MASK) * expected, atol=1e-12)
        seen.append(t)
        return blur(noisy, t)

    noisy = NOISE if start is None else diffuse(PHOTO, NOISE, *SCHEDULE.level(start))
    anchor = Anchor("lit", PHOTO, MASK)
    end = sample(check, noisy, SCHEDULE, steps=10, sampler=sampler, start=start, anchor=anchor)
    assert seen == SCHEDULE.times(10, start=start)[:-1]
    np.testing.assert_array_equal((1 - MASK) * end, (1 - MASK) * PHOTO)
    assert np.abs(MASK * (end - PHOTO)).max() > 0.1


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_what_is_kept_is_what_the_denoiser_sees(sampler: Sampler) -> None:
    # The shadow is 0.5 darker than the lit part. A denoiser that knows no more than this finds it from the
    # lit pixels if they are noised to the t that it is told, and from no others.
    photo = PHOTO - 0.5 * MASK

    def knows(noisy: FloatArray, t: int) -> FloatArray:
        a, s = SCHEDULE.level(t)
        light = ((noisy - s * NOISE) / a * (1 - MASK)).sum() / (1 - MASK).sum() / 3
        return np.full_like(noisy, light)

    expected = PHOTO[..., :4].mean()
    end = sample(knows, NOISE, SCHEDULE, steps=10, sampler=sampler, anchor=Anchor("lit", photo, MASK))
    np.testing.assert_allclose(end[..., 4:], expected, atol=1e-9)


def test_with_new_noise_in_every_step_the_lit_pixels_have_the_level_of_noise_of_their_t() -> None:
    photo, mask = np.full((1, 1, 100, 200), 0.7), np.zeros((1, 1, 100, 200))
    rng = np.random.default_rng(0)

    def check(noisy: FloatArray, t: int) -> FloatArray:
        a, s = SCHEDULE.level(t)
        assert noisy.mean() == pytest.approx(a * 0.7, abs=0.03)
        assert noisy.std() == pytest.approx(s, abs=0.02)
        return 0 * noisy

    noisy = rng.standard_normal(photo.shape)
    sample(check, noisy, SCHEDULE, steps=10, eta=1.0, rng=rng, anchor=Anchor("lit", photo, mask))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_without_lit_pixels_an_anchor_changes_nothing(sampler: Sampler) -> None:
    everywhere = np.ones_like(MASK)
    expected = sample(blur, NOISE, SCHEDULE, steps=5, sampler=sampler)
    for kind in ("none", "lit", "mean"):
        anchor = Anchor(kind, PHOTO, everywhere)
        found = sample(blur, NOISE, SCHEDULE, steps=5, sampler=sampler, anchor=anchor)
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.array_equal(
        sample(blur, NOISE, SCHEDULE, steps=5, sampler=sampler, anchor=Anchor("none", PHOTO, MASK)), expected
    )


def test_the_mean_colour_of_the_lit_pixels_is_that_of_the_photo_and_their_texture_is_not() -> None:
    end = sample(blur, NOISE, SCHEDULE, steps=5, anchor=Anchor("mean", PHOTO, MASK))
    lit, photo = end[..., :4], PHOTO[..., :4]
    np.testing.assert_allclose(lit.mean(axis=(2, 3)), photo.mean(axis=(2, 3)), atol=1e-12)
    assert np.abs(lit - photo).max() > 0.1


@pytest.mark.parametrize("kind", ["lit", "mean"])
def test_torch_keeps_what_numpy_keeps(kind: str) -> None:
    def blur_torch(noisy: torch.Tensor, t: int) -> torch.Tensor:
        return torch.from_numpy(blur(noisy.numpy(), t))

    expected = sample(blur, NOISE, SCHEDULE, steps=5, anchor=Anchor(kind, PHOTO, MASK))  # type: ignore[arg-type]
    photo, mask, noise = (torch.from_numpy(each) for each in (PHOTO, MASK, NOISE))
    found = sample(blur_torch, noise, SCHEDULE, steps=5, anchor=Anchor(kind, photo, mask))  # type: ignore[arg-type]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)
