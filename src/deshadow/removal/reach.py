"""How far a removal reaches around the selected shadows: its weight, and the masks that the network sees."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.image import morphology
from deshadow.image.filters import Upsampled, resize
from deshadow.image.strips import Field, for_each_strip
from deshadow.removal.masks import Mask
from deshadow.removal.parts import fit_parts
from deshadow.removal.selection import Selection

NETWORK_SIDE = 512
"""Longer side of the picture that the network sees at once."""
_SIDE = 256
"""Shorter side of the picture in whose pixels `dilate` and `feather` are measured, as in the paper."""


def weigh(selection: Selection, dilate: int, feather: float) -> Field:
    """(H, W) in [0, 1]: the weight of a removal; 1 in the dilated mask, fading beyond it, then exactly 0.

    The mask is dilated by a disc; that of the network is dilated by a square, as in training. `dilate` and
    `feather` are lengths in pixels of a picture whose shorter side is 256. The weight of what is protected
    is 0.
    """
    height, width = selection.mask.shape
    small = fit_parts((height, width), NETWORK_SIDE)
    seen = resize(selection.mask, *small, Image.Resampling.BOX).clip(0, 1)
    radius = round(feather * measure_scale(*small))
    wide = fade(morphology.dilate_round(seen, _radius(dilate, *small)), radius)
    is_small, large = small == (height, width), Upsampled(wide[None], height, width)
    weight = np.empty((height, width), np.float32)

    def fill(rows: slice) -> None:
        if is_small:
            weight[rows] = wide[rows]
        elif dilate or radius:
            np.maximum(large.read(rows)[0], selection.mask[rows], out=weight[rows])
        else:
            weight[rows] = selection.mask[rows]
        if selection.protected is not None:
            weight[rows][selection.protected[rows]] = 0

    for_each_strip(fill, height, width)
    return weight


def fade(mask: Field, radius: int) -> Field:
    """(H, W) in [0, 1] → the same, and around the mask what falls smoothly to 0 over `radius` pixels."""
    if not radius:
        return mask
    near = 1 - morphology.measure_distance(mask > 0, radius) / np.float32(radius + 1)
    faded: Field = np.maximum(mask, near * near * (3 - 2 * near) * morphology.dilate(mask, radius))
    return faded


def make_network_mask(selection: Selection, dilate: int, height: int, width: int) -> Mask:
    """(height, width): the mask that the network sees at this size, 0 in what is protected.

    It is dilated as in training: `dilate` is in pixels of a picture whose shorter side is 256.
    """
    small = resize(selection.mask, height, width, Image.Resampling.BOX).clip(0, 1)
    mask = morphology.dilate(small, _radius(dilate, height, width))
    protected = downscale_protected(selection, height, width)
    return mask if protected is None else np.where(protected, np.float32(0), mask)


def downscale_protected(selection: Selection, height: int, width: int) -> NDArray[np.bool_] | None:
    """(height, width): what is protected, at the size that the network sees."""
    if selection.protected is None:
        return None
    share = resize(selection.protected, height, width, Image.Resampling.BOX)
    protected: NDArray[np.bool_] = share > 0.5
    return protected


def measure_scale(height: int, width: int) -> float:
    """How many pixels of a picture of this size one pixel of `dilate` and `feather` is."""
    return min(height, width) / _SIDE


def _radius(dilate: int, height: int, width: int) -> int:
    return morphology.dilation_radius(height, width, dilate) if dilate else 0
