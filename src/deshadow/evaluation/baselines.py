"""Methods without learning: the input itself, a gain, and a transfer of colour statistics."""

import numpy as np
from numpy.typing import NDArray

from deshadow.image.colour import decode_srgb, lab_to_srgb, linear_to_srgb, round_to_8_bits, srgb_to_lab
from deshadow.image.filters import gaussian_blur
from deshadow.image.morphology import dilate
from deshadow.image.regions import label

Pixels = NDArray[np.uint8]


def copy_input(picture: Pixels, mask: Pixels) -> Pixels:
    """The picture itself."""
    return picture


def apply_region_gain(picture: Pixels, mask: Pixels) -> Pixels:
    """(H, W, 3), (H, W) → (H, W, 3): each shadow made as bright, channel by channel, as its surroundings.

    The gain is the ratio of the means, in linear light, of the lit pixels around a shadow and of those in it;
    it fades over the shadow's edge. A shadow with nothing lit around it is left as it is.
    """
    light = decode_srgb(picture)
    lit = mask == 0
    side = max(mask.shape)
    ring, edge = side // 16, side / 170
    shadows = _shadows(mask)
    gains = np.ones((len(shadows) + 1, 3))
    names = np.zeros(mask.shape, np.intp)
    for name, shadow in enumerate(shadows, start=1):
        around = dilate(shadow, ring) & lit
        names[shadow] = name
        if around.any():
            inside = np.maximum(light[shadow].mean(axis=0), 1e-4)
            gains[name] = np.maximum(light[around].mean(axis=0) / inside, 1.0)
    field = (gains[names] - 1).astype(np.float32)
    faded = np.stack([gaussian_blur(field[..., channel], edge) for channel in range(3)], axis=-1)
    return round_to_8_bits(linear_to_srgb(light * (1 + faded)))


def transfer_statistics(picture: Pixels, mask: Pixels) -> Pixels:
    """(H, W, 3), (H, W) → (H, W, 3): LAB of the shadow with mean and spread of the rest (Reinhard 2001)."""
    inside = mask > 0
    if not inside.any() or inside.all():
        return picture
    values = srgb_to_lab(picture)
    shadow, rest = values[inside], values[~inside]
    spread = rest.std(axis=0) / np.maximum(shadow.std(axis=0), 1e-3)
    result = picture.copy()
    result[inside] = lab_to_srgb((shadow - shadow.mean(axis=0)) * spread + rest.mean(axis=0))
    return result


def _shadows(mask: Pixels) -> list[NDArray[np.bool_]]:
    """The connected shadows of a mask; those that are too small for a gain of their own count as one."""
    labels = label(mask > 0)
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    large = np.flatnonzero(sizes >= 0.005 * mask.size)
    small = (labels > 0) & ~np.isin(labels, large)
    return [*(labels == name for name in large), *([small] if small.any() else [])]
