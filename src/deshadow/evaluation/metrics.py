"""How far a result is from the truth: in the shadow, outside it, and over the whole picture."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deshadow.evaluation.similarity import ssim
from deshadow.image.colour import lab

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]

REGIONS = ("shadow", "non_shadow", "all")


@dataclass(frozen=True, slots=True)
class RegionScore:
    """One picture's figures in one region; sums, where a set is pooled over its pixels."""

    pixels: int
    lab_absolute: float
    """Σ |ΔL| + |Δa| + |Δb| over the region's pixels."""
    lab_squared: float
    """Σ ΔL² + Δa² + Δb² over the region's pixels."""
    psnr: float
    """Of the frame with both pictures black outside the region, as the field does it."""
    psnr_region: float
    """Of the region's own pixels; nan where it has none."""
    ssim: float
    """Of the frame with both pictures black outside the region; nan where the frame is under 11 pixels."""

    @property
    def lab_mae(self) -> float:
        """The region's mean absolute LAB difference, summed over the channels; nan where it is empty."""
        return self.lab_absolute / self.pixels if self.pixels else math.nan


class Energy(NamedTuple):
    """Σ of squared differences of L between neighbours that both lie in the shadow."""

    result: float
    truth: float
    shared: float
    """Σ of the products of both pictures' differences."""


@dataclass(frozen=True, slots=True)
class Scores:
    """One picture's figures at one size."""

    regions: dict[str, RegionScore]
    energy: Energy


def score(result: Pixels, truth: Pixels, inside: Mask) -> Scores:
    """(H, W, 3), (H, W, 3), (H, W) → the figures of each region, `inside` being the shadow."""
    lab_result, lab_truth = lab(result), lab(truth)
    difference = lab_result - lab_truth
    absolute, squared = np.abs(difference).sum(axis=-1), (difference**2).sum(axis=-1)
    levels = ((result.astype(np.int32) - truth) ** 2).sum(axis=-1)
    similarity = ssim(result, truth, inside)._asdict()
    regions = {}
    for name, region in (("shadow", inside), ("non_shadow", ~inside), ("all", np.ones_like(inside))):
        pixels, error = int(region.sum()), int(levels[region].sum())
        regions[name] = RegionScore(
            pixels,
            float(absolute[region].sum()),
            float(squared[region].sum()),
            psnr(error, 3 * region.size),
            psnr(error, 3 * pixels),
            similarity[name],
        )
    return Scores(regions, gradient_energy(lab_result[..., 0], lab_truth[..., 0], inside))


def psnr(squared_error: int, values: int) -> float:
    """Decibels of a sum of squared 8-bit errors over so many values; nan for none.

    A picture without any error would be infinitely good and the mean with it: it counts as if one value
    were off by one level, which nothing else can be better than.
    """
    if not values:
        return math.nan
    return 10 * math.log10(255**2 * values / max(squared_error, 1))


def gradient_energy(result: NDArray[np.float64], truth: NDArray[np.float64], inside: Mask) -> Energy:
    """The lightness (H, W) of both pictures, (H, W) → the energies of their gradients in the shadow."""
    one, other = gradients(result, inside), gradients(truth, inside)
    return Energy(float((one**2).sum()), float((other**2).sum()), float((one * other).sum()))


def gradients(lightness: NDArray[np.float64], inside: Mask) -> NDArray[np.float64]:
    """(H, W), (H, W) → (N,): the differences of all neighbours that lie both inside."""
    across = np.diff(lightness, axis=1)[inside[:, 1:] & inside[:, :-1]]
    down = np.diff(lightness, axis=0)[inside[1:] & inside[:-1]]
    return np.concatenate([across, down])


def lab_difference(one: Pixels, other: Pixels, region: Mask) -> float:
    """(H, W, 3), (H, W, 3), (H, W) → mean absolute LAB difference in a region; nan where it is empty."""
    if not region.any():
        return math.nan
    return float(np.abs(lab(one[region][None]) - lab(other[region][None])).sum() / region.sum())
