import numpy as np
import pytest
from scenes import scene

from deshadow.evaluation.baselines import apply_region_gain, copy_input, transfer_statistics
from deshadow.image.colour import decode_srgb, linear_to_srgb, round_to_8_bits, srgb_to_lab
from deshadow.image.morphology import dilate
from deshadow.metrics.scores import lab_difference

METHODS = [copy_input, apply_region_gain, transfer_statistics]


def wall(gains: tuple[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A wall of one colour with two round shadows of different depth, far apart."""
    clean = np.full((200, 300, 3), (180, 150, 120), np.uint8)
    rows, columns = np.mgrid[:200, :300]
    light, mask = decode_srgb(clean), np.zeros((200, 300), np.uint8)
    for centre, gain in zip((70, 230), gains, strict=True):
        disc = (rows - 100) ** 2 + (columns - centre) ** 2 < 40**2
        light[disc] *= gain
        mask[disc] = 255
    return round_to_8_bits(linear_to_srgb(light)), mask, clean


def test_a_gain_restores_shadows_of_different_depth_each_by_its_own() -> None:
    picture, mask, clean = wall((0.2, 0.5))
    result = apply_region_gain(picture, mask)
    core = dilate(255 - mask, 7) == 0  # the feathered edge apart
    assert lab_difference(picture, clean, core) > 30
    assert lab_difference(result, clean, core) < 2


def test_a_gain_fades_over_the_edge_and_leaves_the_rest_alone() -> None:
    picture, mask, _ = wall((0.2, 0.5))
    far = dilate(mask, 15) == 0
    np.testing.assert_array_equal(apply_region_gain(picture, mask)[far], picture[far])


def test_statistics_of_the_shadow_become_those_of_the_rest() -> None:
    _, mask, _ = scene()
    inside = mask > 0
    rng = np.random.default_rng(0)
    lit, dark = (
        rng.normal((150, 140, 120), 10, (*mask.shape, 3)),
        rng.normal((60, 60, 80), 4, (*mask.shape, 3)),
    )
    picture = np.where(inside[..., None], dark, lit).round().astype(np.uint8)
    result = transfer_statistics(picture, mask)
    np.testing.assert_array_equal(result[~inside], picture[~inside])
    for statistic in (np.mean, np.std):
        ours = statistic(srgb_to_lab(result[inside][None]), axis=1)
        np.testing.assert_allclose(ours, statistic(srgb_to_lab(picture[~inside][None]), axis=1), atol=0.3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0, 255])
def test_an_empty_or_full_mask_leaves_the_picture(method: type, level: int) -> None:
    picture, mask, _ = scene()
    np.testing.assert_array_equal(method(picture, np.full_like(mask, level)), picture)


def test_a_black_shadow_and_one_without_texture_stay_finite() -> None:
    picture, mask, _ = scene()
    black = np.where(mask[..., None] > 0, np.uint8(0), picture)
    for method in METHODS:
        assert method(black, mask).shape == picture.shape
