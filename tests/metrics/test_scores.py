import math

import numpy as np
import pytest
import torch
from scenes import scene
from skimage.color import rgb2lab
from skimage.filters import gaussian
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from deshadow.metrics.pooling import gradient_correlation, pool, sharpness
from deshadow.metrics.scores import Scores, gradient_energy, lab_difference, lab_sums, psnr, score

SSIM = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "win_size": 11}


def scored(seed: int = 0) -> tuple[Scores, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """The shadow picture, with a little noise, scored against the clean one."""
    picture, mask, truth = scene(seed=seed)
    rng = np.random.default_rng(seed)
    result = (picture.astype(int) + rng.integers(-6, 7, picture.shape)).clip(0, 255).astype(np.uint8)
    inside = mask > 0
    regions = {"shadow": inside, "non_shadow": ~inside, "all": np.ones_like(inside)}
    return score(result, truth, inside), result, truth, regions


@pytest.mark.parametrize("seed", [0, 1])
def test_lab_errors_are_those_of_scikit_image_pixel_by_pixel(seed: int) -> None:
    ours, result, truth, regions = scored(seed)
    for name, region in regions.items():
        difference = (rgb2lab(result) - rgb2lab(truth))[region]
        assert ours.regions[name].pixels == region.sum()
        assert ours.regions[name].lab_absolute == pytest.approx(np.abs(difference).sum(), rel=1e-12)
        assert ours.regions[name].lab_squared == pytest.approx((difference**2).sum(), rel=1e-12)
        assert ours.regions[name].lab_mae == pytest.approx(np.abs(difference).sum(axis=1).mean())


@pytest.mark.parametrize("seed", [0, 1])
def test_psnr_and_ssim_are_those_of_scikit_image_on_masked_pictures(seed: int) -> None:
    ours, result, truth, regions = scored(seed)
    for name, region in regions.items():
        pair = result * region[..., None], truth * region[..., None]
        assert ours.regions[name].psnr == pytest.approx(peak_signal_noise_ratio(*pair, data_range=255))
        ssim = structural_similarity(*pair, channel_axis=-1, data_range=255, **SSIM)
        assert ours.regions[name].ssim == pytest.approx(ssim, abs=1e-6)


def test_the_region_s_own_psnr_leaves_the_frame_out() -> None:
    ours, result, truth, regions = scored()
    for name, region in regions.items():
        own = peak_signal_noise_ratio(result[region], truth[region], data_range=255)
        assert ours.regions[name].psnr_region == pytest.approx(own)
    assert ours.regions["shadow"].psnr_region < ours.regions["shadow"].psnr


def test_the_whole_lies_between_its_parts() -> None:
    pooled = pool([scored(0)[0], scored(1)[0]])
    assert pooled["non_shadow"].lab_mae < pooled["all"].lab_mae < pooled["shadow"].lab_mae
    assert pooled["non_shadow"].lab_rmse < pooled["all"].lab_rmse < pooled["shadow"].lab_rmse


def test_pooling_counts_pixels_and_the_mean_of_pictures_counts_pictures() -> None:
    (one, *_), (other, *_) = scored(0), scored(1)
    pooled = pool([one, other])["shadow"]
    shadows = [each.regions["shadow"] for each in (one, other)]
    pixels = sum(each.pixels for each in shadows)
    assert pooled.lab_mae == pytest.approx(sum(each.lab_absolute for each in shadows) / pixels)
    assert pooled.lab_rmse == pytest.approx(math.sqrt(sum(each.lab_squared for each in shadows) / pixels))
    assert pooled.lab_mae_per_picture == pytest.approx(sum(each.lab_mae for each in shadows) / 2)
    assert pooled.psnr == pytest.approx(sum(each.psnr for each in shadows) / 2)
    assert pool([one, other]) == pool([other, one])


@pytest.mark.parametrize("full", [False, True])
def test_an_empty_or_full_mask_leaves_its_missing_region_out(full: bool) -> None:
    picture, _, truth = scene()
    ours = score(picture, truth, np.full(picture.shape[:2], full))
    missing, there = ("non_shadow", "shadow") if full else ("shadow", "non_shadow")
    assert ours.regions[missing].pixels == 0
    assert math.isnan(ours.regions[missing].lab_mae)
    assert ours.regions[there].lab_mae == ours.regions["all"].lab_mae
    with_another = pool([ours, scored()[0]])
    assert with_another[missing] == pool([scored()[0]])[missing]
    assert math.isnan(pool([ours])[missing].psnr)


def test_a_perfect_picture_is_finite_and_better_than_any_other() -> None:
    _, mask, truth = scene()
    off_by_one = truth.copy()
    off_by_one[0, 0, 0] ^= 1
    perfect, almost = (score(each, truth, mask > 0).regions["all"] for each in (truth, off_by_one))
    assert perfect.lab_absolute == 0
    assert perfect.ssim == 1
    assert perfect.psnr == almost.psnr == pytest.approx(20 * math.log10(255) + 10 * math.log10(truth.size))
    assert math.isnan(psnr(0, 0))


def test_sharpness_is_one_for_the_truth_and_falls_with_blur() -> None:
    _, mask, truth = scene()
    inside = mask > 0
    lightness = rgb2lab(truth)[..., 0]
    by_hand = sum(
        (lightness[row, column] - lightness[row + down, column + right]) ** 2
        for down, right in ((0, 1), (1, 0))
        for row in range(len(mask) - down)
        for column in range(len(mask[0]) - right)
        if inside[row, column] and inside[row + down, column + right]
    )
    assert score(truth, truth, inside).energy.truth == pytest.approx(by_hand)
    assert sharpness([score(truth, truth, inside)]) == 1
    blurred = (255 * gaussian(truth, 1, channel_axis=-1)).round().astype(np.uint8)
    more = (255 * gaussian(truth, 2, channel_axis=-1)).round().astype(np.uint8)
    assert 1 > sharpness([score(blurred, truth, inside)]) > sharpness([score(more, truth, inside)])
    # Only the shadow counts.
    beside = np.where(inside[..., None], truth, more)
    assert sharpness([score(beside, truth, inside)]) == 1


def test_a_picture_smaller_than_the_window_has_no_ssim() -> None:
    _, mask, truth = scene(8, 30)
    assert math.isnan(score(truth, truth, mask > 0).regions["all"].ssim)


def test_the_difference_of_a_region_is_that_of_its_pixels() -> None:
    picture, mask, truth = scene()
    region = mask > 0
    by_hand = np.abs(rgb2lab(picture) - rgb2lab(truth)).sum(axis=-1)[region].mean()
    assert lab_difference(picture, truth, region) == pytest.approx(by_hand)
    assert math.isnan(lab_difference(picture, truth, np.zeros_like(region)))


def test_the_gradient_correlation_is_one_for_the_truth_at_any_contrast_and_near_nothing_for_noise() -> None:
    _, mask, truth = scene()
    inside = mask > 0
    noise = np.random.default_rng(0).integers(0, 256, truth.shape, dtype=np.uint8)
    pale = (truth // 2 + 60).astype(np.uint8)

    assert gradient_correlation([score(truth, truth, inside)]) == pytest.approx(1)
    assert gradient_correlation([score(pale, truth, inside)]) > 0.95
    assert abs(gradient_correlation([score(noise, truth, inside)])) < 0.1
    assert math.isnan(gradient_correlation([score(truth, truth, np.zeros_like(inside))]))


def test_tensors_have_the_figures_of_arrays() -> None:
    pictures = [scene(seed=seed) for seed in (0, 1)]
    results, truths = (np.stack([rgb2lab(each[k]) for each in pictures]) for k in (0, 2))
    inside = np.stack([each[1] > 0 for each in pictures])
    by_array = gradient_energy(results[..., 0], truths[..., 0], inside)
    one, other, mask = (torch.from_numpy(each) for each in (results, truths, inside))
    assert gradient_energy(one[..., 0], other[..., 0], mask) == pytest.approx(by_array)
    assert lab_sums(one - other, mask) == pytest.approx(lab_sums(results - truths, inside))
