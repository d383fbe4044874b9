"""Large pictures in strips of rows, computed by several threads and in little memory."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float32]
"""(H, W) or (H, W, C)."""
_PIXELS = 1 << 16
"""Pixels of a strip: few enough that what is computed for them stays in the processor's cache."""
_THREADS = 4
Place = tuple[slice, slice]
"""Rows and columns of a picture, whose ends are given."""


class Picture(Protocol):
    """(H, W, 3), sRGB in [0, 1]: an array, or a picture that computes a part of it when it is read."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(H, W, 3)"""
        ...

    def __getitem__(self, place: Any, /) -> Any:
        """The part at these rows, or at these rows and columns, as an array."""
        ...


@dataclass(frozen=True, slots=True)
class ComputedPicture:
    """A picture (H, W, 3) whose parts are computed when they are read."""

    shape: tuple[int, ...]
    compute: Callable[[slice, slice], Field]
    """Returns the part (h, w, 3) at rows and columns, whose ends are given."""
    downscaled: dict[tuple[int, int], Field] = field(default_factory=dict, repr=False, compare=False)
    """The picture at smaller sizes, as far as they are known: detection and Quick see the same one."""

    def __getitem__(self, place: slice | tuple[slice, slice]) -> Field:
        rows, columns = place if isinstance(place, tuple) else (place, slice(None))
        return self.compute(slice(*rows.indices(self.shape[0])), slice(*columns.indices(self.shape[1])))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        whole = np.empty(self.shape, dtype or np.float32)

        def fill(rows: slice) -> None:
            whole[rows] = self[rows]

        for_each_strip(fill, *self.shape[:2])
        return whole


def cut(picture: Picture, place: Place) -> ComputedPicture:
    """The part (h, w, 3) of a picture at a place, read from the picture when it is read itself."""
    (top, bottom), (left, right) = ((along.start, along.stop) for along in place)

    def compute(rows: slice, columns: slice) -> Field:
        part: Field = picture[top + rows.start : top + rows.stop, left + columns.start : left + columns.stop]
        return part

    return ComputedPicture((bottom - top, right - left, 3), compute)


def insert(picture: Picture, part: Picture, place: Place) -> ComputedPicture:
    """The picture (H, W, 3) with another part (h, w, 3) at a place."""

    def compute(rows: slice, columns: slice) -> Field:
        asked = rows, columns
        found: Field = np.array(picture[asked], np.float32)
        both = tuple(
            slice(max(one.start, own.start), min(one.stop, own.stop))
            for one, own in zip(asked, place, strict=True)
        )
        if all(along.start < along.stop for along in both):
            found[_count_from(asked, both)] = part[_count_from(place, both)]
        return found

    return ComputedPicture(picture.shape, compute)


def _count_from(frame: tuple[slice, ...], place: tuple[slice, ...]) -> tuple[slice, ...]:
    """Rows and columns counted from the first ones of a frame."""
    return tuple(
        slice(along.start - own.start, along.stop - own.start)
        for along, own in zip(place, frame, strict=True)
    )


def for_each_strip(work: Callable[[slice], None], height: int, width: int, multiple: int = 1) -> None:
    """Call `work` with the rows of each strip of a picture, in several threads.

    Each strip but the last has a multiple of so many rows.
    """
    step = max(1, _PIXELS // (width * multiple)) * multiple
    strips = [slice(top, min(top + step, height)) for top in range(0, height, step)]
    if len(strips) < _THREADS:
        for strip in strips:
            work(strip)
        return
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as pool:
        for _ in pool.map(work, strips):
            pass


def find_span(inside: NDArray[np.bool_]) -> slice | None:
    """(N,) → the first to the last place that is True; None if there is none."""
    places = np.flatnonzero(inside)
    return slice(int(places[0]), int(places[-1]) + 1) if len(places) else None
