"""The figures of a set from those of its pictures. Sums are exact, so their order does not matter."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from deshadow.metrics.scores import REGIONS, RegionScore, Scores


@dataclass(frozen=True, slots=True)
class Region:
    """The figures of a set in one region; nan where no picture has pixels there."""

    lab_mae: float
    """Mean absolute LAB difference, summed over channels, over all pixels: what papers print as RMSE."""
    lab_rmse: float
    """The root of the mean squared LAB distance, over all pixels of the set."""
    lab_mae_per_picture: float
    """The mean over pictures of their own `lab_mae`."""
    psnr: float
    psnr_region: float
    ssim: float


def pool(scores: Sequence[Scores]) -> dict[str, Region]:
    """The figures of a set in each region; a picture counts where it has pixels of that region."""
    return {name: _pool_region([each.regions[name] for each in scores]) for name in REGIONS}


def sharpness(scores: Iterable[Scores]) -> float:
    """Gradient energy in the shadows, result over truth: 1 is as sharp as the truth, below 1 is blurred."""
    pairs = [each.energy for each in scores]
    truth = math.fsum(energy.truth for energy in pairs)
    return math.fsum(energy.result for energy in pairs) / truth if truth else math.nan


def gradient_correlation(scores: Iterable[Scores]) -> float:
    """Correlation of the gradients in the shadows, result with truth: noise is sharp, but not correlated."""
    pairs = [each.energy for each in scores]
    result, truth = math.fsum(each.result for each in pairs), math.fsum(each.truth for each in pairs)
    shared = math.fsum(each.shared for each in pairs)
    return shared / math.sqrt(result * truth) if result and truth else math.nan


def headline(scores: Sequence[Scores]) -> list[float]:
    """LAB error, PSNR and SSIM of each region in order, sharpness, gradient correlation: a row of a table."""
    regions = pool(scores)
    columns = ((regions[name].lab_mae, regions[name].psnr, regions[name].ssim) for name in REGIONS)
    return [*chain.from_iterable(columns), sharpness(scores), gradient_correlation(scores)]


def mean(values: Iterable[float]) -> float:
    """The mean of the values that are not nan; nan if there are none."""
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def none_for_nan(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values with None in the place of nan and infinity, which JSON does not have."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }


def _pool_region(scores: Sequence[RegionScore]) -> Region:
    there = [each for each in scores if each.pixels]
    pixels = sum(each.pixels for each in there) or math.nan
    return Region(
        lab_mae=math.fsum(each.lab_absolute for each in there) / pixels,
        lab_rmse=math.sqrt(math.fsum(each.lab_squared for each in there) / pixels),
        lab_mae_per_picture=mean(each.lab_mae for each in there),
        psnr=mean(each.psnr for each in there),
        psnr_region=mean(each.psnr_region for each in there),
        ssim=mean(each.ssim for each in there),
    )
