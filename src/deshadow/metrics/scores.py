"""How far a result is from the truth: in the shadow, outside it, and over the whole picture.

`psnr`, `lab_sums` and `gradient_energy` take numpy arrays and tensors alike, so that training can
use them on its device.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deshadow.image.colour import srgb_to_lab
from deshadow.metrics.ssim import ssim

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Array = Any
"""A numpy array or a tensor: what they share is enough here."""

REGIONS = ("shadow", "non_shadow", "all")


@dataclass(frozen=True, slots=True)
class RegionScore:
    """The figures of one picture in one region; sums, where a set is pooled over its pixels."""

    pixels: int
    lab_absolute: float
    """Σ |ΔL| + |Δa| + |Δb| over the region's pixels."""
    lab_squared: float
    """Σ ΔL² + Δa² + Δb² over the region's pixels."""
    psnr: float
    """Of the frame with both pictures black outside the region, as other papers compute it."""
    psnr_region: float
    """Of the region's own pixels; nan where it has none."""
    ssim: float
    """Of the frame with both pictures black outside the region; nan where a side is under 11 pixels."""

    @property
    def lab_mae(self) -> float:
        """The mean absolute LAB difference, summed over the channels; nan where the region is empty."""
        return self.lab_absolute / self.pixels if self.pixels else math.nan


class Energy(NamedTuple):
    """Sums over all pairs of neighbours that both lie in the shadow."""

    result: float
    """Σ of the squared differences of L in the result."""
    truth: float
    """Σ of the squared differences of L in the truth."""
    shared: float
    """Σ of the products of both differences."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The figures of one picture at one size."""

    regions: dict[str, RegionScore]
    energy: Energy


class InstanceScore(NamedTuple):
    """One shadow of several was to be removed: mean absolute LAB differences, summed over channels."""

    inside: float
    """Result to truth in the target shadow."""
    outside: float
    """Result to input everywhere else, other shadows included: what was changed that should have stayed."""
    others: float
    """Result to input in the other shadows alone; nan where there are none or the set does not mark them."""


def score(result: Pixels, truth: Pixels, inside: Mask) -> Scores:
    """(H, W, 3), (H, W, 3), (H, W) → the figures of each region, `inside` being the shadow."""
    lab_result, lab_truth = srgb_to_lab(result), srgb_to_lab(truth)
    difference = lab_result - lab_truth
    levels = ((result.astype(np.int32) - truth) ** 2).sum(axis=-1)
    similarity = ssim(result, truth, inside)._asdict()
    regions = {}
    for name, region in (("shadow", inside), ("non_shadow", ~inside), ("all", np.ones_like(inside))):
        pixels, error = int(region.sum()), int(levels[region].sum())
        regions[name] = RegionScore(
            pixels,
            *lab_sums(difference, region),
            psnr(error, 3 * region.size),
            psnr(error, 3 * pixels),
            similarity[name],
        )
    return Scores(regions, gradient_energy(lab_result[..., 0], lab_truth[..., 0], inside))


def psnr(squared_error: float, values: int) -> float:
    """Decibels of a sum of squared 8-bit errors over so many values; nan for none.

    Without any error the ratio would be infinite, and the mean over a set with it: such a picture counts as
    if one value were off by one level, which no other picture can surpass.
    """
    if not values:
        return math.nan
    return 10 * math.log10(255**2 * values / max(squared_error, 1))


def lab_sums(difference: Array, region: Array) -> tuple[float, float]:
    """LAB difference (…, H, W, 3), bool mask (…, H, W) → (Σ|Δ|, ΣΔ²) in it."""
    chosen = difference[region]
    return float(abs(chosen).sum()), float((chosen * chosen).sum())


def gradient_energy(result: Array, truth: Array, inside: Array) -> Energy:
    """The lightness (…, H, W) of both pictures, (…, H, W) bool → the energies of their gradients inside."""
    sums = [0.0, 0.0, 0.0]
    across, down = (..., slice(1, None)), (..., slice(1, None), slice(None))
    before_across, before_down = (..., slice(None, -1)), (..., slice(None, -1), slice(None))
    for after, before in ((across, before_across), (down, before_down)):
        both = inside[after] & inside[before]
        one, other = ((view[after] - view[before])[both] for view in (result, truth))
        for place, product in enumerate((one * one, other * other, one * other)):
            sums[place] += float(product.sum())
    return Energy(*sums)


def lab_difference(one: Pixels, other: Pixels, region: Mask) -> float:
    """(H, W, 3), (H, W, 3), (H, W) → mean absolute LAB difference in a region; nan where it is empty."""
    if not region.any():
        return math.nan
    return float(
        np.abs(srgb_to_lab(one[region][None]) - srgb_to_lab(other[region][None])).sum() / region.sum()
    )


def score_instance(
    result: Pixels, picture: Pixels, truth: Pixels, target: Mask, others: Mask
) -> InstanceScore:
    """Result, input and truth (H, W, 3), masks (H, W) of the shadow to remove and of all others → figures."""
    return InstanceScore(
        lab_difference(result, truth, target),
        lab_difference(result, picture, ~target),
        lab_difference(result, picture, others & ~target),
    )
