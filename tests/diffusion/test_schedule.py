import itertools

import numpy as np
import pytest

from deshadow.diffusion.schedule import Schedule

SCHEDULE = Schedule()


def test_beta_is_linear_and_alpha_bar_is_what_remains_of_the_picture() -> None:
    assert SCHEDULE.beta[[0, 1, 1000]].tolist() == pytest.approx([0, 1e-4, 0.02])
    assert np.ptp(np.diff(SCHEDULE.beta[1:])) < 1e-15
    signal = 1.0
    for t in range(1001):
        signal *= 1 - SCHEDULE.beta[t]
        assert SCHEDULE.alpha_bar[t] == pytest.approx(signal)


def test_single_steps_add_up_to_the_closed_form() -> None:
    # Eq. 1 (mean √(1−β_t) y, variance β_t) applied 700 times gives Eq. 2.
    mean, variance = 1.0, 0.0
    for beta in SCHEDULE.beta[1:701]:
        mean, variance = np.sqrt(1 - beta) * mean, (1 - beta) * variance + beta
    assert SCHEDULE.level(700) == pytest.approx((mean, np.sqrt(variance)))


@pytest.mark.parametrize("t", [2, 3, 50, 500, 1000])
def test_posterior_is_bayes_rule_on_a_grid(t: int) -> None:
    clean, noisy = np.array([0.3]), np.array([-0.4])
    a, s = SCHEDULE.level(t - 1)
    beta = SCHEDULE.beta[t]
    grid = np.linspace(-8, 8, 400_001)
    log_prior = -((grid - a * clean) ** 2) / (2 * s**2)
    log_likelihood = -((noisy - np.sqrt(1 - beta) * grid) ** 2) / (2 * beta)
    density = np.exp(log_prior + log_likelihood - (log_prior + log_likelihood).max())
    density /= density.sum()
    expected_mean = (density * grid).sum()
    expected_variance = (density * (grid - expected_mean) ** 2).sum()

    mean, variance = SCHEDULE.posterior(noisy, clean, t)

    assert mean.item() == pytest.approx(expected_mean, abs=1e-6)
    assert variance == pytest.approx(expected_variance, rel=1e-4)


def test_posterior_of_the_first_step_is_the_clean_picture() -> None:
    mean, variance = SCHEDULE.posterior(np.array([5.0]), np.array([0.25]), 1)
    assert mean.item() == pytest.approx(0.25)
    assert variance == 0


@pytest.mark.parametrize("t", [0, -1, 1001])
def test_posterior_refuses_a_step_that_does_not_exist(t: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 1000"):
        SCHEDULE.posterior(np.zeros(1), np.zeros(1), t)


def test_p2_weights_follow_the_closed_form() -> None:
    # With γ = k = 1: 1 / (1 + ᾱ/(1−ᾱ)) = 1 − ᾱ.
    np.testing.assert_allclose(SCHEDULE.p2_weights(1, 1), 1 - SCHEDULE.alpha_bar, atol=1e-12)
    t = 300
    ratio = SCHEDULE.alpha_bar[t] / (1 - SCHEDULE.alpha_bar[t])
    assert SCHEDULE.p2_weights(0.5, 2)[t] == pytest.approx((2 + ratio) ** -0.5)
    assert (SCHEDULE.p2_weights(0, 1) == 1).all()


def test_times_descend_to_zero_from_where_they_should() -> None:
    assert SCHEDULE.times(1) == [1000, 0]
    assert SCHEDULE.times(4) == [1000, 750, 500, 250, 0]
    assert SCHEDULE.times(2, start=300) == [300, 150, 0]
    assert SCHEDULE.times(4, "leading") == [751, 501, 251, 1, 0]
    assert SCHEDULE.times(4, "linspace") == [1000, 667, 334, 1, 0]
    assert SCHEDULE.times(1000) == list(range(1000, -1, -1))


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 16, 50, 333, 999])
def test_times_never_repeat(steps: int) -> None:
    for spacing in ("trailing", "leading", "linspace"):
        times = SCHEDULE.times(steps, spacing)
        assert len(times) == steps + 1
        assert all(later < earlier for earlier, later in itertools.pairwise(times))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "steps must be from 1 to 1000, not 0"),
        ({"steps": -3}, "steps must be"),
        ({"steps": 1001}, "steps must be"),
        ({"steps": 20, "start": 10}, "from 1 to 10, not 20"),
        ({"steps": 1, "start": 0}, "start at 1 to 1000"),
        ({"steps": 4, "spacing": "karras"}, "unknown spacing 'karras': choose from trailing"),
    ],
)
def test_times_say_what_is_wrong(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SCHEDULE.times(**arguments)  # type: ignore[arg-type]
