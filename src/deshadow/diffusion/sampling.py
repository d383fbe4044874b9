"""Samplers: from noise to a picture, over any denoiser and either array library.

A sampler is a generator: it yields y after every step, so the caller can show progress or stop.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, get_args

from deshadow.diffusion.anchor import Anchor
from deshadow.diffusion.arrays import Array, normal_like
from deshadow.diffusion.choices import Sampler
from deshadow.diffusion.prediction import diffuse, noise_from
from deshadow.diffusion.schedule import Schedule, Spacing

if TYPE_CHECKING:
    from deshadow.diffusion.arrays import Rng


def sample(
    denoise: Callable[[Array, int], Array],
    noisy: Array,
    schedule: Schedule,
    *,
    steps: int = 4,
    sampler: Sampler = "ddim",
    spacing: Spacing = "trailing",
    start: int | None = None,
    eta: float = 0.0,
    rng: "Rng | Sequence[Rng] | None" = None,
    anchor: Anchor[Array] | None = None,
) -> Array:
    """The picture that a sampler ends with; `denoise(y_t, t)` estimates the clean picture.

    `noisy` is y at timestep `start` (default: pure noise). A smaller `start` refines a picture that was
    diffused to that timestep; with an anchor that must be the anchor's photo, at least in its lit pixels.
    """
    times = schedule.times(steps, spacing, start)
    if anchor is not None:
        denoise = anchor.hold(denoise)
        if start is None:
            noisy = anchor.paste(noisy, noisy, *schedule.level(times[0]))
    if sampler == "ddim":
        states = ddim(denoise, noisy, schedule, times, eta=eta, rng=rng)
    elif sampler == "dpm":
        if eta:
            raise ValueError("dpm is deterministic: leave eta at 0, or sample with ddim")
        states = dpm_solver(denoise, noisy, schedule, times)
    else:
        raise ValueError(f"unknown sampler {sampler!r}: choose from {', '.join(get_args(Sampler))}")
    return deque(states, maxlen=1).pop()


def ddim(
    denoise: Callable[[Array, int], Array],
    noisy: Array,
    schedule: Schedule,
    times: Sequence[int],
    *,
    eta: float = 0.0,
    rng: "Rng | Sequence[Rng] | None" = None,
) -> Iterator[Array]:
    """DDIM (Song et al. 2021, Eq. 12): first order; η = 0 is deterministic, η = 1 is ancestral sampling."""
    if eta < 0:
        raise ValueError(f"eta is {eta}: it must not be negative")
    if eta and rng is None:
        raise ValueError("eta above 0 needs random noise: pass a generator as rng")
    for t, s in pairwise(times):
        clean = denoise(noisy, t)
        if s == 0:  # nothing of the noise remains
            yield clean
            return
        a_t, s_t = schedule.level(t)
        a_s, s_s = schedule.level(s)
        sigma = eta * (s_s / s_t) * math.sqrt(1.0 - (a_t / a_s) ** 2)
        direction = math.sqrt(max(s_s**2 - sigma**2, 0.0))
        noisy = a_s * clean + direction * noise_from(clean, noisy, a_t, s_t)
        if sigma and rng is not None:
            noisy = noisy + sigma * normal_like(noisy, rng)
        yield noisy


def dpm_solver(
    denoise: Callable[[Array, int], Array],
    noisy: Array,
    schedule: Schedule,
    times: Sequence[int],
) -> Iterator[Array]:
    """DPM-Solver++(2M) (Lu et al. 2022, Alg. 2): second order, from the last two estimates of the picture.

    The first step has no history, and the step to t = 0 is infinitely long in log-SNR: both are first order.
    """
    before: tuple[Array, float] | None = None  # the last estimate, and the step in log-SNR that followed it
    for t, s in pairwise(times):
        clean = denoise(noisy, t)
        a_t, s_t = schedule.level(t)
        a_s, s_s = schedule.level(s)
        if s == 0:
            noisy = clean
            yield noisy
            return
        step = math.log(a_s / s_s) - math.log(a_t / s_t)
        estimate = clean
        if before is not None:
            weight = 0.5 * step / before[1]
            estimate = (1.0 + weight) * clean - weight * before[0]
        noisy = (s_s / s_t) * noisy - a_s * math.expm1(-step) * estimate
        before = clean, step
        yield noisy


def repaint(
    denoise: Callable[[Array, int], Array],
    noisy: Array,
    schedule: Schedule,
    times: Sequence[int],
    known: Array,
    hole: Array,
    *,
    rng: "Rng | Sequence[Rng]",
    jump: int = 10,
    resamplings: int = 10,
) -> Iterator[Array]:
    """RePaint (Lugmayr et al. 2022, Alg. 1): fill the hole of a picture with an unconditional model.

    `known` is the picture (B, 3, H, W) in [-1, 1], `hole` (B, 1, H, W) is 1 where it is to be filled.
    Each step towards t = 0 is ancestral sampling; outside the hole its result is replaced by the picture,
    diffused to the same t. Every `jump` steps are diffused back and sampled again, until they have been
    sampled `resamplings` times, so that the hole comes to agree with its surroundings. `rng` may be one
    generator for each picture.
    """
    for t, s in pairwise(repaint_times(times, jump, resamplings)):
        a_s, s_s = schedule.level(s)
        if s > t:  # Eq. 2 from t on instead of from 0
            step = a_s / schedule.level(t)[0]
            noisy = diffuse(noisy, normal_like(noisy, rng), step, math.sqrt(1.0 - step**2))
        else:
            made = next(ddim(denoise, noisy, schedule, [t, s], eta=1.0, rng=rng))
            kept = diffuse(known, normal_like(noisy, rng), a_s, s_s)
            noisy = hole * made + (1.0 - hole) * kept
        yield noisy


def repaint_times(times: Sequence[int], jump: int, resamplings: int) -> list[int]:
    """The timesteps of RePaint along `times`: each segment of `jump` steps is sampled `resamplings` times.

    The segments are counted from the clean end, as in the authors' code: the last one ends one step before
    t = 0, and the steps that are left over at the noisy end are sampled once.
    """
    if jump < 1 or resamplings < 1:
        raise ValueError(f"jump and resamplings must be 1 or more, not {jump} and {resamplings}")
    before_last = len(times) - 2
    walk = [0]
    for place in range(1, len(times)):
        walk.append(place)
        if jump <= place <= before_last and (before_last - place) % jump == 0:
            again = [*range(place - 1, place - jump - 1, -1), *range(place - jump + 1, place + 1)]
            walk += again * (resamplings - 1)
    return [times[place] for place in walk]
