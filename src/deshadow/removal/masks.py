"""Masks: a picture of any type as a mask, and the connected shadows in it."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.image import morphology
from deshadow.image.filters import fit_within, resize
from deshadow.image.regions import label

Mask = NDArray[np.float32]
"""(H, W) in [0, 1]; 1 is shadow."""
Labels = NDArray[np.int32]
"""(H, W): 0 outside, 1, 2, … for each shadow, from the largest."""

_LABELLED = 1024
"""Longer side at which shadows are told apart: what touches there is one."""
_SPECK = 0.0005
"""Share of the picture below which a shadow is a speck."""
_BEYOND = 0.5
"""By which floats may lie beyond 0 and 1, as those do that were resized."""


def as_mask(values: NDArray[np.generic], height: int, width: int, invert: bool = False) -> Mask:
    """(h, w) or (h, w, C) of any type → (height, width) in [0, 1].

    Numbers up to 1 are taken as such, larger ones by the range of 8 or 16 bits that they fit. Several
    channels are averaged; a second or a fourth is taken as opacity.
    """
    if values.ndim == 3 and 0 not in values.shape:
        values = _flattened(values)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"a mask is a grey picture, (height, width), not of the shape {values.shape}")
    mask = resize(_unit(values), height, width, Image.Resampling.BILINEAR).clip(0, 1)
    return 1 - mask if invert else mask


def label_shadows(mask: Mask, threshold: float = 0.5) -> Labels:
    """(H, W) → the connected shadows, numbered from the largest; specks are dropped.

    They are told apart at a reduced size; their outlines are those of the mask.
    """
    height, width = mask.shape
    inside = mask > threshold
    small = fit_within((height, width), _LABELLED)
    reduced = inside if small == mask.shape else resize(inside.astype(np.float32), *small) > 0.25
    found = label(reduced)
    sizes = np.bincount(found.ravel())
    sizes[0] = 0
    kept = np.flatnonzero(sizes >= max(1, _SPECK * reduced.size))
    order = kept[np.argsort(-sizes[kept], kind="stable")]
    numbers = np.zeros(len(sizes), np.int32)
    numbers[order] = np.arange(1, len(order) + 1)
    labels = numbers[found]
    if small != mask.shape:
        labels = _enlarged(labels, height, width)
    return np.where(inside, labels, np.int32(0))


def _flattened(values: NDArray[np.generic]) -> NDArray[np.generic]:
    channels = values.shape[2]
    if channels in (2, 4):
        grey = _unit(values[..., :-1]).mean(axis=2)
        return np.asarray(grey * _unit(values[..., -1]))
    return np.asarray(_unit(values).mean(axis=2))


def _unit(values: NDArray[np.generic]) -> Mask:
    if values.dtype == bool:
        return values.astype(np.float32)
    if not np.issubdtype(values.dtype, np.integer) and not np.issubdtype(values.dtype, np.floating):
        raise ValueError(f"a mask holds numbers, not {values.dtype}")
    least, most = float(values.min()), float(values.max())
    if not np.isfinite([least, most]).all():
        raise ValueError("the mask has values that are not finite numbers (NaN or infinity)")
    if least < -_BEYOND:
        raise ValueError("a mask has no values below 0")
    top = 1 if most <= 1 + _BEYOND else 255 if most <= 255 else max(65535, most)
    mask = values.astype(np.float32)
    mask /= np.float32(top)
    return mask.clip(0, 1, out=mask)


def _enlarged(labels: Labels, height: int, width: int) -> Labels:
    """Each pixel takes its small pixel's number; just beyond a shadow, that of the shadow beside it."""
    grown = morphology.dilate(labels.astype(np.float32), 1).astype(np.int32)
    grown = np.where(labels > 0, labels, grown)
    rows, columns = (
        np.arange(size) * before // size for before, size in zip(labels.shape, (height, width), strict=True)
    )
    large: Labels = grown[rows[:, None], columns]
    return large
