"""The mask of a pair without one, derived from its two pictures."""

import numpy as np
from numpy.typing import NDArray

from deshadow.image.colour import decode_luminance
from deshadow.image.filters import gaussian_blur
from deshadow.image.regions import remove_small

# Added to both luminances before their ratio is taken: under 2 % of white a ratio is mostly noise.
_FLOOR = 0.02
# Regions and holes under this share of the picture are texture or misalignment, not shadow.
_SPECK = 0.0005


def derive_mask(picture: NDArray[np.uint8], clean: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(H, W, 3), (H, W, 3) → (H, W), 255 where the clean picture is clearly brighter, otherwise 0.

    Otsu's threshold on the blurred log ratio of linear luminance, without specks and pinholes. It
    uses the truth, so figures that were measured with such a mask are optimistic.
    """
    ratio = np.log((decode_luminance(clean) + _FLOOR) / (decode_luminance(picture) + _FLOOR))
    ratio = gaussian_blur(ratio, sigma=max(1.0, max(ratio.shape) / 256))
    # Otsu splits anything; a shadow is where the clean picture is brighter at all.
    mask = ratio > max(otsu(ratio), 0.0)
    least = round(_SPECK * mask.size)
    mask = remove_small(mask, least)
    mask = ~remove_small(~mask, least)
    return np.where(mask, np.uint8(255), np.uint8(0))


def otsu(values: NDArray[np.float32]) -> float:
    """Any shape → the threshold that leaves the least variance within the two classes."""
    counts, edges = np.histogram(values, 256)
    centres = (edges[1:] + edges[:-1]) / 2
    below = np.cumsum(counts)[:-1]
    above = counts.sum() - below
    sums = np.cumsum(counts * centres)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = below * above * (sums[:-1] / below - (sums[-1] - sums[:-1]) / above) ** 2
    # Where one class is empty there is nothing between them.
    return float(edges[1:-1][np.argmax(np.nan_to_num(between))])
