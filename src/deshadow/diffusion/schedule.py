"""The noise schedule: β, ᾱ, what follows from them, and the timesteps that a sampler visits."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from deshadow.diffusion.arrays import Array

Spacing = Literal["trailing", "leading", "linspace"]


@dataclass(frozen=True)
class Schedule:
    """A linear β over `length` steps; t counts as in the paper: 0 is the clean picture, `length` is noise."""

    length: int = 1000
    first_beta: float = 1e-4
    last_beta: float = 0.02

    @cached_property
    def beta(self) -> NDArray[np.float64]:
        """(length + 1,): β_t, with β_0 = 0, so that the index is the paper's t."""
        return np.concatenate([[0.0], np.linspace(self.first_beta, self.last_beta, self.length)])

    @cached_property
    def alpha_bar(self) -> NDArray[np.float64]:
        """(length + 1,): ᾱ_t = ∏ (1 − β_s) for s ≤ t, with ᾱ_0 = 1."""
        return np.cumprod(1.0 - self.beta, dtype=np.float64)

    def level(self, t: int) -> tuple[float, float]:
        """√ᾱ_t and √(1 − ᾱ_t): the coefficients of picture and noise in y_t (Eq. 2)."""
        return float(np.sqrt(self.alpha_bar[t])), float(np.sqrt(1.0 - self.alpha_bar[t]))

    def posterior(self, noisy: Array, clean: Array, t: int) -> tuple[Array, float]:
        """Mean and variance of q(y_{t−1} | y_t, y_0) (Eq. 3, appendix C), in the form that holds at t = 1."""
        if not 1 <= t <= self.length:
            raise ValueError(f"t is {t}: the posterior exists for t from 1 to {self.length}")
        beta, before, now = float(self.beta[t]), float(self.alpha_bar[t - 1]), float(self.alpha_bar[t])
        of_clean = before**0.5 * beta / (1.0 - now)
        of_noisy = (1.0 - beta) ** 0.5 * (1.0 - before) / (1.0 - now)
        return of_clean * clean + of_noisy * noisy, beta * (1.0 - before) / (1.0 - now)

    def p2_weights(self, gamma: float = 1.0, k: float = 1.0) -> NDArray[np.float64]:
        """(length + 1,): weights 1 / (k + SNR_t)^γ of the loss on ε (Choi et al., appendix B)."""
        with np.errstate(divide="ignore"):
            signal_to_noise = self.alpha_bar / (1.0 - self.alpha_bar)
        return (k + signal_to_noise) ** -gamma

    def times(self, steps: int, spacing: Spacing = "trailing", start: int | None = None) -> list[int]:
        """The steps + 1 timesteps of a sampler, descending to 0, from `start` (default: pure noise).

        Trailing begins at `start` itself, so that a single step sees full noise; leading and linspace are
        the spacings of DDIM's and of DDPM's own code, for comparison with others.
        """
        start = self.length if start is None else start
        if not 1 <= start <= self.length:
            raise ValueError(f"a sampler can start at 1 to {self.length}, not at {start}")
        if not 1 <= steps <= start:
            raise ValueError(f"the number of steps must be from 1 to {start}, not {steps}")
        if spacing == "trailing":
            times = np.round(start - np.arange(steps) * (start / steps))
        elif spacing == "leading":
            times = np.arange(steps - 1.0, -1, -1) * (start // steps) + 1
        elif spacing == "linspace":
            times = np.round(np.linspace(0, start - 1, steps))[::-1] + 1
        else:
            raise ValueError(f"unknown spacing {spacing!r}: choose from {', '.join(get_args(Spacing))}")
        return [*times.astype(int).tolist(), 0]
