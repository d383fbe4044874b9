"""The shadows of a photo, one by one, as numbers that a page can draw."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST = 255
"""As many as an 8-bit picture can number."""


@dataclass(frozen=True)
class Shadow:
    """One instance; `box` is left, top, right and bottom (exclusive), `centre` lies in the shadow."""

    number: int
    area: int
    box: tuple[int, int, int, int]
    centre: tuple[int, int]


def shadows(labels: NDArray[np.uint8]) -> list[Shadow]:
    """(H, W), 0 = no shadow → where each one lies."""
    places = np.flatnonzero(labels)
    numbers = labels.ravel()[places]
    places = places[np.argsort(numbers, kind="stable")]
    areas = np.bincount(numbers, minlength=1)
    found = []
    for group, number in zip(np.split(places, np.cumsum(areas)[:-1])[1:], range(1, len(areas)), strict=True):
        if group.size:
            found.append(_shadow(number, *np.divmod(group, labels.shape[1])))
    return found


def _shadow(number: int, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Shadow:
    """Of a shadow's pixels, the one nearest to their middle stands for it."""
    nearest = int(np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2))
    return Shadow(
        number,
        rows.size,
        (int(columns.min()), int(rows[0]), int(columns.max()) + 1, int(rows[-1]) + 1),
        (int(columns[nearest]), int(rows[nearest])),
    )
