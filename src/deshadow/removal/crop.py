"""How much of a photo the network sees: a small shadow with the ground around it, instead of everything.

Of a large photo the network sees such a crop larger than it would see it in a copy of the whole photo.
"""

import numpy as np
from numpy.typing import NDArray

from deshadow.image.strips import Place, find_span

MARGIN = 64
"""Pixels of lit ground around the shadow at least, of the picture that the network sees."""
LEAST = 192
"""Shortest side of a crop."""
STEP = 32
"""Sides are multiples of it: some runtimes prepare themselves for each size that they see."""
_WORTHWHILE = 0.8
"""Largest share of the picture that is cropped to; what is larger costs hardly less than everything."""
CROP_SIDE = 384
"""Longer side of what the network sees of a crop that is taken from the photo itself."""
LARGER = 4 / 3
"""How many times larger the network must see a crop for it to be taken from the photo itself."""


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


def crop_photo(area: NDArray[np.bool_], least_margin: int, height: int, width: int) -> Place | None:
    """Rows and columns of the photo (height, width) that hold an area (h, w) of its small copy.

    Scaled down to CROP_SIDE, this crop is what the network sees. None if the shadow would not be much larger
    there than in the copy.
    """
    place = crop_around(area, least_margin)
    seen = max(along.stop - along.start for along in place)
    if min(CROP_SIDE / seen, max(height, width) / max(area.shape)) < LARGER:
        return None
    rows, columns = (
        slice(along.start * large // small, -(-along.stop * large // small))
        for along, small, large in zip(place, area.shape, (height, width), strict=True)
    )
    return rows, columns


def _surround(span: slice, margin: int, size: int) -> slice:
    """A span with a margin on both sides, within 0 to `size`."""
    first, end = max(0, span.start - margin), min(size, span.stop + margin)
    length = min(size, max(LEAST, -(-(end - first) // STEP) * STEP))
    start = min(max(0, (first + end - length) // 2), size - length)
    return slice(start, start + length)
