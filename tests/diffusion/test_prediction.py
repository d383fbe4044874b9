from typing import get_args

import numpy as np
import pytest
import torch

from deshadow.diffusion.prediction import PREDICTIONS, Kind, clean_from, diffuse, noise_from, target
from deshadow.diffusion.schedule import Schedule

RNG = np.random.default_rng(1)
CLEAN, NOISE, SHADOW = RNG.uniform(-1, 1, (3, 2, 3, 5, 7))
UNIQUE = tuple(kind for kind in PREDICTIONS if kind != "relighting")


@pytest.mark.parametrize("kind", UNIQUE)
@pytest.mark.parametrize("t", [1, 20, 500, 999, 1000])
def test_every_prediction_leads_back_to_the_picture_and_the_noise(kind: Kind, t: int) -> None:
    a, s = Schedule().level(t)
    noisy = diffuse(CLEAN, NOISE, a, s)

    output = target(kind, CLEAN, NOISE, SHADOW, a, s)
    clean = clean_from(kind, output, noisy, SHADOW, a, s)

    np.testing.assert_allclose(clean, CLEAN, atol=1e-9)
    np.testing.assert_allclose(noise_from(clean, noisy, a, s), NOISE, atol=1e-9)


@pytest.mark.parametrize("kind", UNIQUE)
def test_any_output_is_the_target_of_the_picture_that_it_stands_for(kind: Kind) -> None:
    a, s = Schedule().level(321)
    noisy, output = RNG.normal(size=(2, *CLEAN.shape))

    clean = clean_from(kind, output, noisy, SHADOW, a, s)

    np.testing.assert_allclose(target(kind, clean, noise_from(clean, noisy, a, s), SHADOW, a, s), output)


def test_a_relighting_undoes_a_shadow_of_one_gain_and_keeps_what_it_does_not_touch() -> None:
    shadow = (CLEAN + 1) * 0.4 - 1
    output = np.concatenate([np.full_like(CLEAN, 1 / 0.4 - 1), np.zeros_like(CLEAN)], axis=1)

    np.testing.assert_allclose(clean_from("relighting", output, NOISE, shadow, 0.5, 0.5), CLEAN, atol=1e-12)
    np.testing.assert_array_equal(clean_from("relighting", 0 * output, NOISE, shadow, 0.5, 0.5), shadow)


def test_a_relighting_has_no_target_of_its_own() -> None:
    with pytest.raises(ValueError, match="compare pictures"):
        target("relighting", CLEAN, NOISE, SHADOW, 0.5, 0.5)


def test_v_is_the_velocity_of_the_noising_angle() -> None:
    # With a = cos φ and s = sin φ, v = dy/dφ.
    angle, small = 0.7, 1e-6
    a, s = np.cos(angle), np.sin(angle)
    ahead = diffuse(CLEAN, NOISE, np.cos(angle + small), np.sin(angle + small))
    v = target("v", CLEAN, NOISE, SHADOW, a, s)
    np.testing.assert_allclose((ahead - diffuse(CLEAN, NOISE, a, s)) / small, v, atol=1e-5)


def test_levels_may_differ_within_a_batch_of_tensors() -> None:
    clean, noise, shadow = (torch.from_numpy(array) for array in (CLEAN, NOISE, SHADOW))
    a, s = (
        torch.tensor(pair, dtype=torch.float64).view(2, 1, 1, 1) for pair in ((0.9, 0.2), (0.43589, 0.9798))
    )
    output = target("v", clean, noise, shadow, a, s)
    for i in range(2):
        alone = target("v", clean[i], noise[i], shadow[i], a[i], s[i])
        torch.testing.assert_close(output[i], alone)


def test_every_prediction_has_a_name_of_its_type() -> None:
    assert tuple(PREDICTIONS) == get_args(Kind)


def test_an_unknown_prediction_is_named() -> None:
    for convert in (target, clean_from):
        with pytest.raises(ValueError, match="unknown prediction 'score': choose from noise, v, clean"):
            convert("score", CLEAN, NOISE, SHADOW, 0.5, 0.5)  # type: ignore[arg-type]
