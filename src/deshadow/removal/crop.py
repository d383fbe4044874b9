"""How much of a picture the network sees: a small shadow with the ground around it, instead of everything."""

import numpy as np
from numpy.typing import NDArray

from deshadow.image.strips import find_span
from deshadow.removal.parts import Place

MARGIN = 64
"""Pixels of lit ground around the shadow at least, of the picture that the network sees."""
LEAST = 192
"""Shortest side of a crop."""
STEP = 32
"""Sides are multiples of it: some runtimes prepare themselves for each size that they see."""
_WORTHWHILE = 0.8
"""Largest share of the picture that is cropped to; what is larger costs hardly less than everything."""


def crop_around(area: NDArray[np.bool_], least_margin: int = 0) -> Place:
    """Rows and columns of a picture (h, w) that hold an area and its surroundings; all, if that is much."""
    margin = max(MARGIN, least_margin)
    everything = slice(0, area.shape[0]), slice(0, area.shape[1])
    rows, columns = (find_span(np.any(area, axis=axis)) for axis in (1, 0))
    if rows is None or columns is None:
        return everything
    place = _surround(rows, margin, area.shape[0]), _surround(columns, margin, area.shape[1])
    height, width = (along.stop - along.start for along in place)
    return place if height * width <= _WORTHWHILE * area.size else everything


def _surround(span: slice, margin: int, size: int) -> slice:
    """A span with a margin on both sides, within 0 to `size`."""
    first, end = max(0, span.start - margin), min(size, span.stop + margin)
    length = min(size, max(LEAST, -(-(end - first) // STEP) * STEP))
    start = min(max(0, (first + end - length) // 2), size - length)
    return slice(start, start + length)
