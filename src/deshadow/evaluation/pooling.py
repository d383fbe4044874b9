"""From the figures of pictures to those of a set. Sums are exact, so the order of the pictures is nothing."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from deshadow.evaluation.metrics import REGIONS, RegionScore, Scores


@dataclass(frozen=True, slots=True)
class Region:
    """A set's figures in one region; nan where no picture has one."""

    lab_mae: float
    """The field's "RMSE": mean absolute LAB difference, summed over channels, over all pixels of the set."""
    lab_rmse: float
    """The root of the mean squared LAB distance, over all pixels of the set."""
    lab_mae_per_picture: float
    """As `lab_mae`, each picture counting alike."""
    psnr: float
    psnr_region: float
    ssim: float


def pool(scores: Sequence[Scores]) -> dict[str, Region]:
    """The set's figures in each region; a picture counts where it has pixels of that region."""
    return {name: _pool_region([each.regions[name] for each in scores]) for name in REGIONS}


def sharpness(scores: Iterable[Scores]) -> float:
    """Gradient energy in the shadows, result to truth: 1 is as sharp as the truth, less is blurred."""
    pairs = [each.energy for each in scores]
    truth = math.fsum(energy.truth for energy in pairs)
    return math.fsum(energy.result for energy in pairs) / truth if truth else math.nan


def likeness(scores: Iterable[Scores]) -> float:
    """Correlation of the gradients in the shadows, result with truth: noise has energy too, but not this."""
    pairs = [each.energy for each in scores]
    result, truth = math.fsum(each.result for each in pairs), math.fsum(each.truth for each in pairs)
    shared = math.fsum(each.shared for each in pairs)
    return shared / math.sqrt(result * truth) if result and truth else math.nan


def headline(scores: Sequence[Scores]) -> list[float]:
    """The columns of the tables: LAB error, PSNR and SSIM of each region in order, sharpness, likeness."""
    regions = pool(scores)
    columns = ((regions[name].lab_mae, regions[name].psnr, regions[name].ssim) for name in REGIONS)
    return [*chain.from_iterable(columns), sharpness(scores), likeness(scores)]


def mean(values: Iterable[float]) -> float:
    """The mean of those that are numbers; nan if none is."""
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


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
