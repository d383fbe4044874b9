"""Which shadows are removed and which stay: decided once, and the only thing that every caller passes on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deshadow.image.strips import Place
from deshadow.removal.masks import Mask
from deshadow.removal.parts import measure_extent

Labels = NDArray[np.integer[Any]]
"""(H, W): 0 outside, 1, 2, … in each shadow, from the largest."""

_NEAR = 0.02
"""A point may miss a shadow by this share of the longer side of the picture, or of a part of a long one."""
_COVERED = 0.1
"""A painted mask means a found shadow if it covers at least this share of it."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is removed from a picture of (H, W) pixels, and what must stay as it is."""

    mask: Mask
    """(H, W) in [0, 1]: 1 in the shadows that go."""
    protected: NDArray[np.bool_] | None = None
    """(H, W): other shadows, if any. Their pixels stay as they are, however far the mask is dilated."""
    found: int = 0
    """Number of shadows that were found, of which the selection is a choice."""
    left_out: int = 0
    """Number of found shadows that are not selected because they may be something else."""

    def __post_init__(self) -> None:
        if self.mask.ndim != 2:
            raise ValueError(f"the mask of a selection is (height, width), not {self.mask.shape}")
        if self.protected is not None and self.protected.shape != self.mask.shape:
            raise ValueError(
                f"a mask of the shape {self.mask.shape} and a protected area of the shape "
                f"{self.protected.shape} do not fit"
            )

    def crop(self, place: Place) -> "Selection":
        """What is selected and protected in a part of the picture."""
        protected = None if self.protected is None else self.protected[place]
        return replace(self, mask=self.mask[place], protected=protected)


def select(
    labels: Labels,
    mask: Mask | None = None,
    *,
    at: Sequence[tuple[int, int]] = (),
    instances: Sequence[int] = (),
    exclude: Sequence[int] = (),
    unsure: Sequence[int] = (),
) -> Selection:
    """Select shadows of the labels (H, W): those at points (x, y) and of the numbers, or else all.

    The excluded numbers are left out, and of all also the unsure ones, which may not be shadows. Every shadow
    that is not selected is protected. `mask` (H, W) is the soft mask that the labels were made from; without
    it the mask is 1 in all of a selected shadow.
    """
    count = int(labels.max(initial=0))
    for number in (*instances, *exclude):
        _check_number(number, count)
    named = {*instances, *(shadow_at(labels, x, y) for x, y in at)}
    left_out = set() if named else set(unsure) - set(exclude)
    wanted = (named or set(range(1, count + 1))) - set(exclude) - left_out
    chosen = np.zeros(count + 1, np.bool_)
    chosen[list(wanted)] = True
    selected = chosen[labels]
    soft = selected.astype(np.float32) if mask is None else np.where(selected, mask, np.float32(0))
    return Selection(soft, _protect((labels > 0) & ~selected), count, len(left_out))


def select_painted(mask: Mask, labels: Labels) -> Selection:
    """Select what was painted, a mask (H, W) in [0, 1], where the shadows of the labels (H, W) were found.

    The found shadows that the painted mask hardly covers are protected, except for the painted pixels.
    """
    areas = np.bincount(labels.ravel())
    covered = np.bincount(labels[mask > 0.5], minlength=len(areas))
    kept = covered < _COVERED * areas
    kept[0] = False
    return Selection(mask, _protect(kept[labels] & (mask == 0)), len(areas) - 1)


def shadow_at(labels: Labels, x: int, y: int) -> int:
    """The number of the shadow at a point, or of the nearest one if the point just misses it."""
    height, width = labels.shape
    if not (0 <= x < width and 0 <= y < height):
        raise ValueError(f"the point {x},{y} lies outside the picture of {width} × {height} pixels")
    if labels[y, x]:
        return int(labels[y, x])
    reach = max(1, round(_NEAR * measure_extent(height, width)))
    top, left = max(0, y - reach), max(0, x - reach)
    near = labels[top : y + reach + 1, left : x + reach + 1]
    rows, columns = np.nonzero(near)
    if not len(rows):
        raise ValueError(f"there is no shadow at {x},{y}: choose a point inside a shadow, or give a mask")
    nearest = int(np.argmin((rows + top - y) ** 2 + (columns + left - x) ** 2))
    return int(near[rows[nearest], columns[nearest]])


def _protect(area: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    return area if area.any() else None


def _check_number(number: int, count: int) -> None:
    if 1 <= number <= count:
        return
    match count:
        case 0:
            found = "no shadow was found"
        case 1:
            found = "one shadow was found, number 1"
        case _:
            found = f"{count} shadows were found, numbers 1 to {count}"
    raise ValueError(f"there is no shadow number {number}: {found}")
