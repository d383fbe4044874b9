import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from diffusers import DDIMScheduler, DPMSolverMultistepScheduler

from deshadow.diffusion.arrays import FloatArray
from deshadow.diffusion.choices import Sampler
from deshadow.diffusion.sampling import ddim, dpm_solver, repaint, repaint_times, sample
from deshadow.diffusion.schedule import Schedule, Spacing

SCHEDULE = Schedule()
STEPS = [1, 2, 4, 10, 50]
SAMPLERS: list[Sampler] = ["ddim", "dpm"]
SHAPE = (2, 3, 6, 5)


def fake(noisy: torch.Tensor, t: int) -> torch.Tensor:
    """A denoiser that is neither linear nor the same at every t."""
    return torch.tanh(0.8 * noisy + np.sin(t / 70)) * (1 - t / 2000)


def noise(seed: int = 0) -> torch.Tensor:
    return torch.randn(SHAPE, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


BETAS = {"num_train_timesteps": 1000, "beta_start": 1e-4, "beta_end": 0.02, "beta_schedule": "linear"}


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("spacing", ["trailing", "leading"])
@pytest.mark.parametrize("eta", [0.0, 0.7])
def test_ddim_agrees_with_diffusers(steps: int, spacing: Spacing, eta: float) -> None:
    oracle = DDIMScheduler(
        **BETAS, clip_sample=False, prediction_type="sample", timestep_spacing=spacing, steps_offset=0
    )
    oracle.set_timesteps(steps)
    expected = noise()
    rng = torch.Generator().manual_seed(5)
    for t in oracle.timesteps.tolist():
        extra = torch.randn(SHAPE, generator=rng, dtype=torch.float64)
        output = fake(expected, t + 1)  # diffusers counts its timesteps from 0
        expected = oracle.step(output, t, expected, eta=eta, variance_noise=extra).prev_sample

    rng = torch.Generator().manual_seed(5)
    ours = sample(fake, noise(), SCHEDULE, steps=steps, spacing=spacing, eta=eta, rng=rng)

    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("spacing", ["trailing", "linspace"])
def test_dpm_solver_agrees_with_diffusers(steps: int, spacing: Spacing) -> None:
    oracle = DPMSolverMultistepScheduler(
        **BETAS,
        solver_order=2,
        algorithm_type="dpmsolver++",
        prediction_type="sample",
        timestep_spacing=spacing,
        final_sigmas_type="zero",
    )
    oracle.set_timesteps(steps)
    expected = noise()
    for t in oracle.timesteps.tolist():
        expected = oracle.step(fake(expected, t + 1), t, expected).prev_sample
    times = [t + 1 for t in oracle.timesteps.tolist()] + [0]

    *_, ours = dpm_solver(fake, noise(), SCHEDULE, times)

    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=0)
    if spacing == "trailing":
        assert times == SCHEDULE.times(steps)


# Data from N(μ, v): the best denoiser is linear, and the flow of the probability is known exactly.
MEAN, VARIANCE = 0.3, 0.25


def gaussian(noisy: FloatArray, t: int) -> FloatArray:
    a, s = SCHEDULE.level(t)
    return MEAN + a * VARIANCE / (a**2 * VARIANCE + s**2) * (noisy - a * MEAN)


def gain(t: int) -> float:
    """How much of y_t − a μ the denoiser takes for y_0 − μ."""
    a, s = SCHEDULE.level(t)
    return a * VARIANCE / (a**2 * VARIANCE + s**2)


@pytest.mark.parametrize("steps", STEPS)
def test_ddim_on_a_gaussian_is_the_recursion_by_hand(steps: int) -> None:
    start = np.array([1.7, -0.4])
    times = SCHEDULE.times(steps)
    deviation = start - SCHEDULE.level(1000)[0] * MEAN
    for t, s in pairwise(times):
        (a_t, s_t), (a_s, s_s) = SCHEDULE.level(t), SCHEDULE.level(s)
        deviation = deviation * (a_s * gain(t) + s_s * (1 - a_t * gain(t)) / s_t)

    *_, ours = ddim(gaussian, start, SCHEDULE, times)

    np.testing.assert_allclose(ours, MEAN + deviation, atol=1e-10)


@pytest.mark.parametrize("steps", STEPS)
def test_dpm_solver_on_a_gaussian_is_the_recursion_by_hand(steps: int) -> None:
    # In λ = log(a/s), with the slope x' of the last two estimates and the picture taken at the middle of the
    # step: (s_s/s_t) y + a_s (1 − e^−h) (x + x' h/2).
    start = np.array([1.7, -0.4])
    deviation = start - SCHEDULE.level(1000)[0] * MEAN
    last = None
    for t, s in pairwise(SCHEDULE.times(steps)):
        (a_t, s_t), (a_s, s_s) = SCHEDULE.level(t), SCHEDULE.level(s)
        clean = gain(t) * deviation
        if s == 0:
            deviation = clean
            break
        h = np.log(a_s / s_s) - np.log(a_t / s_t)
        slope = 0.0 if last is None else (clean - last[0]) / last[1]
        # The mean is carried along exactly, so deviations obey the same recursion.
        deviation = s_s / s_t * deviation + a_s * (1 - np.exp(-h)) * (clean + slope * h / 2)
        last = clean, h

    *_, ours = dpm_solver(gaussian, start, SCHEDULE, SCHEDULE.times(steps))

    np.testing.assert_allclose(ours, MEAN + deviation, atol=1e-10)


@pytest.mark.parametrize(("sampler", "order"), [(ddim, 1), (dpm_solver, 2)])
def test_samplers_converge_to_the_exact_flow_at_their_order(
    sampler: Callable[..., list[FloatArray]], order: int
) -> None:
    first, last = 960, 64
    start = np.array([1.1])
    (a_t, s_t), (a_s, s_s) = SCHEDULE.level(first), SCHEDULE.level(last)
    spread = np.sqrt((a_s**2 * VARIANCE + s_s**2) / (a_t**2 * VARIANCE + s_t**2))
    exact = a_s * MEAN + spread * (start - a_t * MEAN)
    errors = []
    for steps in (28, 56, 112, 224):
        times = list(range(first, last - 1, -(first - last) // steps))
        assert times[-1] == last
        *_, end = sampler(gaussian, start, SCHEDULE, times)
        errors.append(abs(end - exact).item())
    orders = [np.log2(coarse / fine) for coarse, fine in pairwise(errors)]
    assert orders[-1] == pytest.approx(order, abs=0.15)
    assert errors[-1] < 0.01


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("steps", STEPS)
def test_numpy_and_torch_give_the_same_picture_in_their_own_dtype(sampler: Sampler, steps: int) -> None:
    def fake_numpy(noisy: FloatArray, t: int) -> FloatArray:
        return fake(torch.from_numpy(noisy), t).numpy()

    start = noise().to(torch.float32)
    ours = sample(fake, start, SCHEDULE, steps=steps, sampler=sampler)
    theirs = sample(fake_numpy, start.numpy(), SCHEDULE, steps=steps, sampler=sampler)
    assert ours.dtype == torch.float32
    assert theirs.dtype == np.float32
    np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-5)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_perfect_denoiser_ends_at_the_picture(sampler: Sampler) -> None:
    picture = noise(seed=3)
    for steps in STEPS:
        end = sample(lambda noisy, t: picture, noise(), SCHEDULE, steps=steps, sampler=sampler)
        torch.testing.assert_close(end, picture)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_last_step_ends_at_the_last_estimate(sampler: Sampler) -> None:
    times = SCHEDULE.times(3)

    def denoise(noisy: torch.Tensor, t: int) -> torch.Tensor:
        # Nothing is computed with the last estimate: of infinity it would make a NaN.
        return torch.full_like(noisy, math.inf) if t == times[-2] else fake(noisy, t)

    assert (sample(denoise, noise(), SCHEDULE, steps=3, sampler=sampler) == math.inf).all()


def test_ancestral_noise_comes_from_the_generator_alone() -> None:
    def run(seed: int) -> FloatArray:
        rng = np.random.default_rng(seed)
        return sample(gaussian, np.ones(4), SCHEDULE, steps=5, eta=1.0, rng=rng)

    assert (run(1) == run(1)).all()
    assert (run(1) != run(2)).any()


def test_ancestral_samples_of_a_gaussian_have_its_mean_and_variance() -> None:
    rng = np.random.default_rng(0)
    start = rng.standard_normal(20_000)
    end = sample(gaussian, start, SCHEDULE, steps=1000, eta=1.0, rng=rng)
    assert end.mean() == pytest.approx(MEAN, abs=0.02)
    assert end.var() == pytest.approx(VARIANCE, rel=0.05)


def test_a_sampler_can_be_stopped_after_any_step() -> None:
    calls = []

    def counting(noisy: FloatArray, t: int) -> FloatArray:
        calls.append(t)
        return noisy

    next(ddim(counting, np.ones(2), SCHEDULE, SCHEDULE.times(10)))
    assert calls == [1000]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "number of steps"),
        ({"sampler": "euler"}, r"unknown sampler 'euler': choose from ddim, dpm"),
        ({"eta": 0.5}, "pass a generator"),
        ({"eta": -0.5}, "must not be negative"),
        ({"eta": 0.5, "sampler": "dpm"}, "leave eta at 0"),
        ({"eta": 0.5, "rng": torch.Generator()}, r"need a numpy\.random\.Generator"),
    ],
)
def test_bad_options_are_explained(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sample(gaussian, np.ones(2), SCHEDULE, **options)  # type: ignore[arg-type]


def test_torch_noise_needs_a_torch_generator() -> None:
    with pytest.raises(ValueError, match=r"need a torch\.Generator"):
        sample(fake, noise(), SCHEDULE, eta=1.0, rng=np.random.default_rng(0))


def authors_schedule(length: int, jump: int, samples: int) -> list[int]:
    """The pseudo-code of RePaint's supplement: a counter of jumps for every multiple of the jump's length."""
    jumps = dict.fromkeys(range(0, length - jump, jump), samples - 1)
    t, visited = length, []
    while t >= 1:
        t -= 1
        visited.append(t)
        if jumps.get(t, 0) > 0:
            jumps[t] -= 1
            for _ in range(jump):
                t += 1
                visited.append(t)
    return [*visited, -1]


@pytest.mark.parametrize(("length", "jump", "samples"), [(250, 10, 10), (20, 5, 3), (7, 3, 2), (4, 10, 10)])
def test_repaint_walks_as_its_authors_do(length: int, jump: int, samples: int) -> None:
    times = list(range(length - 1, -2, -1))
    assert repaint_times(times, jump, samples) == authors_schedule(length, jump, samples)


def test_repaint_keeps_the_picture_outside_the_hole_and_fills_it_with_what_the_model_makes() -> None:
    rng = np.random.default_rng(0)
    known = np.full((1, 3, 60, 50), -5.0)  # nothing that the model would make
    hole = np.zeros((1, 1, 60, 50))
    hole[:, :, :, 25:] = 1
    noisy = rng.standard_normal(known.shape)
    walk = repaint(gaussian, noisy, SCHEDULE, SCHEDULE.times(250), known, hole, rng=rng, resamplings=2)
    *_, end = walk
    assert (end[..., :25] == -5.0).all()
    assert end[..., 25:].mean() == pytest.approx(MEAN, abs=0.03)
    assert end[..., 25:].var() == pytest.approx(VARIANCE, rel=0.1)


def test_repaint_with_jumps_of_no_use_is_explained() -> None:
    with pytest.raises(ValueError, match="must be 1 or more"):
        repaint_times([3, 2, 1, 0], 0, 2)
