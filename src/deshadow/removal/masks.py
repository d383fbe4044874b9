"""Masks: a picture of any type as a mask, and the connected shadows in it."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.image import morphology
from deshadow.image.filters import resize
from deshadow.image.masks import BEYOND, scale_mask
from deshadow.image.regions import label
from deshadow.image.strips import for_each_strip
from deshadow.removal.parts import fit_parts, measure_extent

Mask = NDArray[np.float32]
"""(H, W) in [0, 1]; 1 is shadow."""
Labels = NDArray[np.int32]
"""(H, W): 0 outside, 1, 2, … for each shadow, from the largest."""

_SLACK = 2
"""Pixels by which a side may differ, at the smaller of both sizes, for a mask to have the photo's shape."""
_LABELLED = 1024
"""Longer side of the picture or part in which shadows are told apart: those that touch there are one."""
_SPECK = 0.0005
"""A smaller share of the picture (or of a part) is a speck, not a shadow."""


def as_mask(values: NDArray[np.generic], height: int, width: int, invert: bool = False) -> Mask:
    """(h, w) or (h, w, C) of any type → (height, width) in [0, 1].

    `scale_mask` says what the numbers mean. Colours are averaged; the last of two or four channels is the
    opacity. A mask of another size is scaled; ValueError if it has another shape.
    """
    if values.ndim not in (2, 3) or 0 in values.shape:
        raise ValueError(f"a mask must be a grey picture, (height, width), not of the shape {values.shape}")
    _check(values)
    check_shape(values.shape[:2], height, width)
    if values.ndim == 3 and values.shape[2] in (2, 4):
        mask = scale_mask(_average(values[..., :-1])) * scale_mask(values[..., -1])
    else:
        mask = scale_mask(_average(values) if values.ndim == 3 else values)
    mask = resize(mask, height, width, Image.Resampling.BILINEAR).clip(0, 1)
    return 1 - mask if invert else mask


def check_shape(size: tuple[int, ...], height: int, width: int) -> None:
    """Raise ValueError if a mask of this size, (h, w), does not have the shape of the photo."""
    (rows, columns), large = sorted([(size[0], size[1]), (height, width)], key=prod)
    missed = abs(rows - columns * large[0] / large[1]), abs(columns - rows * large[1] / large[0])
    if min(missed) > _SLACK:
        raise ValueError(
            f"the mask has {size[1]} × {size[0]} pixels and the photo {width} × {height}: give a mask of the "
            "photo's shape, at any size"
        )


def label_shadows(mask: Mask, threshold: float = 0.5, core: float = 0.0) -> Labels:
    """(H, W) → (H, W): the connected shadows, numbered from the largest; specks are dropped.

    A shadow is where the mask is above the threshold, if more than a speck of it is above `core` as well.
    Shadows are told apart in a downscaled mask; their outlines are those of the mask itself.
    """
    height, width = mask.shape
    inside = mask > threshold
    small = fit_parts((height, width), _LABELLED)
    found = label(_reduce(inside, small))
    sizes = np.bincount(found.ravel())
    clear = sizes.copy()
    if core > threshold:
        clear = np.bincount(found[_reduce(mask > core, small)], minlength=len(sizes))
    clear[0] = 0
    kept = np.flatnonzero(clear >= max(1, _SPECK * min(small) * measure_extent(*small)))
    order = kept[np.argsort(-sizes[kept], kind="stable")]
    numbers = np.zeros(len(sizes), np.int32)
    numbers[order] = np.arange(1, len(order) + 1)
    labels = numbers[found]
    return labels * inside if small == mask.shape else _upscale(labels, inside)


def _reduce(inside: NDArray[np.bool_], small: tuple[int, int]) -> NDArray[np.bool_]:
    """(H, W) → small: where at least a quarter of the pixels lie inside."""
    if small == inside.shape:
        return inside
    share = Image.fromarray(inside.view(np.uint8) * np.uint8(255)).resize(small[::-1], Image.Resampling.BOX)
    return np.asarray(share) >= 64


def _check(values: NDArray[np.generic]) -> None:
    if values.dtype == bool:
        return
    if not np.issubdtype(values.dtype, np.integer) and not np.issubdtype(values.dtype, np.floating):
        raise ValueError(f"a mask must hold numbers, not {values.dtype}")
    if not np.isfinite([float(values.min()), float(values.max())]).all():
        raise ValueError("the mask has values that are not finite numbers (NaN or infinity)")
    if float(values.min()) < -BEYOND:
        raise ValueError("the mask has values below 0")


def _average(values: NDArray[Any]) -> NDArray[Any]:
    """(h, w, C) → (h, w): the mean of the channels, of integers rounded up: red of 1 is not black."""
    if not np.issubdtype(values.dtype, np.integer):
        return np.asarray(values.mean(axis=2, dtype=np.float32))
    return np.asarray(np.ceil(values.mean(axis=2)).astype(np.int64))


def _upscale(labels: Labels, inside: NDArray[np.bool_]) -> Labels:
    """Labels at the size of `inside` (H, W); a pixel just outside a small shadow takes its number."""
    grown = morphology.dilate(labels.astype(np.float32), 1).astype(np.int32)
    grown = np.where(labels > 0, labels, grown)
    down, across = (
        np.arange(size) * before // size for before, size in zip(labels.shape, inside.shape, strict=True)
    )
    large = np.empty(inside.shape, np.int32)

    def fill(rows: slice) -> None:
        np.multiply(grown[down[rows]].take(across, axis=1), inside[rows], out=large[rows])

    for_each_strip(fill, *inside.shape)
    return large
