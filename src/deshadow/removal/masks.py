"""Masks: any picture as a mask, the shadows in it one by one, and how far a removal reaches around them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.image import morphology
from deshadow.image.filters import Field, box, fit_within, resized
from deshadow.image.regions import label

Mask = NDArray[np.float32]
"""(H, W) in [0, 1]; 1 is shadow."""
Labels = NDArray[np.int32]
"""(H, W): 0 outside, 1, 2, … for each shadow, from the largest."""

SEEN = 512
"""Longer side of the picture that the network sees at once; lengths are told in its pixels."""
_LABELLED = 1024
"""Longer side at which shadows are told apart: what touches there is one."""
_SPECK = 0.0005
"""Share of the picture below which a shadow is a speck."""
_BEYOND = 0.5
"""By which floats may lie beyond 0 and 1, as those do that were resized."""
_NEAR = 0.02
"""Share of the longer side by which a point may miss a shadow."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to be removed, and what must not be touched."""

    mask: Mask
    barrier: NDArray[np.bool_] | None = None
    """(H, W): the shadows that stay."""


def as_mask(values: NDArray[np.generic], height: int, width: int, invert: bool = False) -> Mask:
    """(h, w) or (h, w, C) of any type → (height, width) in [0, 1].

    Numbers up to 1 are taken as such, larger ones by the range of 8 or 16 bits that they fit. Several
    channels are averaged; a second or a fourth is taken as opacity.
    """
    if values.ndim == 3 and 0 not in values.shape:
        values = _flattened(values)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"a mask is a grey picture, (height, width), not of the shape {values.shape}")
    mask = resized(_unit(values), height, width, Image.Resampling.BILINEAR).clip(0, 1)
    return 1 - mask if invert else mask


def instances(mask: Mask, threshold: float = 0.5) -> Labels:
    """(H, W) → the connected shadows, numbered from the largest; specks are dropped.

    They are told apart at a reduced size; their outlines are those of the mask.
    """
    height, width = mask.shape
    inside = mask > threshold
    small = fit_within((height, width), _LABELLED)
    reduced = inside if small == mask.shape else resized(inside.astype(np.float32), *small) > 0.25
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


def choose(
    mask: Mask,
    labels: Labels,
    at: Sequence[tuple[int, int]] = (),
    numbers: Sequence[int] = (),
    exclude: Sequence[int] = (),
) -> Chosen:
    """The shadows under the points (x, y) and of the numbers, or all of them, without the excluded ones."""
    count = int(labels.max(initial=0))
    for number in (*numbers, *exclude):
        if not 1 <= number <= count:
            has = f"they are numbered from 1 to {count}" if count else "none was found"
            raise ValueError(f"there is no shadow number {number}: {has}")
    wanted = {*numbers, *(under(labels, x, y) for x, y in at)} or set(range(1, count + 1))
    wanted -= set(exclude)
    picked = np.isin(labels, sorted(wanted))
    barrier = (labels > 0) & ~picked
    return Chosen(np.where(picked, mask, np.float32(0)), barrier if barrier.any() else None)


def under(labels: Labels, x: int, y: int) -> int:
    """The number of the shadow at a point, or of the nearest one if the point just misses it."""
    height, width = labels.shape
    if not (0 <= x < width and 0 <= y < height):
        raise ValueError(f"the point {x},{y} lies outside the picture of {width} × {height} pixels")
    if labels[y, x]:
        return int(labels[y, x])
    reach = max(1, round(_NEAR * max(height, width)))
    top, left = max(0, y - reach), max(0, x - reach)
    near = labels[top : y + reach + 1, left : x + reach + 1]
    rows, columns = np.nonzero(near)
    if not len(rows):
        raise ValueError(f"there is no shadow at {x},{y}: choose a point in one, or give a mask")
    nearest = int(np.argmin((rows + top - y) ** 2 + (columns + left - x) ** 2))
    return int(near[rows[nearest], columns[nearest]])


def reach(chosen: Chosen, dilate: int, feather: float) -> Field:
    """(H, W) in [0, 1]: the weight of a removal; 1 in the dilated mask, fading beyond it, then exactly 0.

    `dilate` and `feather` are lengths in pixels of the picture that the network sees. No shadow that is to
    stay is touched.
    """
    height, width = chosen.mask.shape
    small = fit_within((height, width), SEEN)
    seen = resized(chosen.mask, *small, Image.Resampling.BOX).clip(0, 1)
    wide = morphology.dilate(seen, dilate)
    radius = round(feather)
    if radius:
        # Half of a square that is centred on a straight border lies inside: there the fading begins.
        share = (2 * box(wide, radius)).clip(0, 1)
        wide = np.maximum(wide, share * share * (3 - 2 * share))
    if small == (height, width):
        weight = wide
    elif dilate or radius:
        weight = resized(wide, height, width, Image.Resampling.BILINEAR).copy()
        np.maximum(weight, chosen.mask, out=weight)
    else:
        weight = chosen.mask
    if chosen.barrier is not None:
        weight = np.where(chosen.barrier, np.float32(0), weight)
    return weight


def seen_mask(chosen: Chosen, dilate: int, height: int, width: int) -> Mask:
    """(height, width): the mask as the network sees it, dilated as in training, without what is to stay."""
    mask = morphology.dilate(resized(chosen.mask, height, width, Image.Resampling.BOX).clip(0, 1), dilate)
    kept = seen_barrier(chosen, height, width)
    return mask if kept is None else np.where(kept, np.float32(0), mask)


def seen_barrier(chosen: Chosen, height: int, width: int) -> NDArray[np.bool_] | None:
    """(height, width): what is to stay, if anything is."""
    if chosen.barrier is None:
        return None
    kept: NDArray[np.bool_] = (
        resized(chosen.barrier.astype(np.float32), height, width, Image.Resampling.BOX) > 0.5
    )
    return kept


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
