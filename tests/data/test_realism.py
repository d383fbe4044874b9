import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from deshadow.data.realism import edge_widths, measure_pairs, overlap

Bytes = NDArray[np.uint8]


def pair(sigma: float, ratio: float, noise: float = 0.0, size: int = 128) -> tuple[Bytes, Bytes]:
    """A disc of shadow with `ratio` of the light, its edge blurred by `sigma`, on a textured surface."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:size, :size] - size / 2
    shade = gaussian_filter((np.hypot(x, y) < size / 3.6).astype(np.float32), sigma)
    light = 0.35 + 0.08 * gaussian_filter(rng.standard_normal((size, size)), 1)[..., None] * np.ones(3)
    both = [light * (1 - shade[..., None] * (1 - ratio)), light]
    shaken = [np.clip(1.055 * each ** (1 / 2.4) - 0.055, 0, 1) * 255 for each in both]
    shaken = [each + noise * rng.standard_normal(each.shape) for each in shaken]
    return np.rint(shaken[0]).clip(0, 255).astype(np.uint8), np.rint(shaken[1]).clip(0, 255).astype(np.uint8)


@pytest.mark.parametrize("noise", [0.0, 2.0])
@pytest.mark.parametrize("sigma", [1.0, 2.0, 4.0])
def test_the_width_of_a_gaussian_edge_is_found(sigma: float, noise: float) -> None:
    measures = measure_pairs([pair(sigma, 0.2, noise)])
    centres = np.arange(24) + 0.5
    # From 10 % to 90 % a Gaussian edge spans 2.56 σ; the measure's own smoothing adds a little.
    assert abs(float((measures.width * centres).sum()) - 2.56 * np.hypot(sigma, 0.5)) < 0.9


@pytest.mark.parametrize("ratio", [0.1, 0.25, 0.6])
def test_the_log_ratio_peaks_at_the_one_given(ratio: float) -> None:
    measures = measure_pairs([pair(1.0, ratio)])
    centres = np.linspace(-4.0, 0.6, 47)[:-1] + 0.05
    assert all(abs(centres[channel.argmax()] - np.log(ratio)) < 0.11 for channel in measures.ratio)


def test_a_set_covers_itself_and_not_another() -> None:
    same, other = measure_pairs([pair(1.0, 0.2)]), measure_pairs([pair(5.0, 0.6)])
    assert overlap(same.ratio[0], same.ratio[0]) == pytest.approx(1)
    assert overlap(same.ratio[0], other.ratio[0]) < 0.4
    assert overlap(same.width, other.width) < 0.4


def test_a_pair_without_a_shadow_counts_for_nothing() -> None:
    clean = pair(1.0, 0.2)[1]
    assert measure_pairs([(clean, clean)]).pairs == 0


def test_no_outline_has_no_width() -> None:
    assert len(edge_widths(np.ones((64, 64), np.float32), np.zeros((64, 64), bool))) == 0
