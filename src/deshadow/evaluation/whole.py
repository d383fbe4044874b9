"""The whole path of a photo, masks given: what a file that is written would hold, at its own size."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deshadow.evaluation.methods import Remove, Stays
from deshadow.removal.options import RemovalOptions
from deshadow.removal.remover import Remover
from deshadow.removal.selection import Selection
from deshadow.runtime.backends import Backend

Pixels = NDArray[np.uint8]


def whole(backend: Backend, mode: Literal["quick", "removal"], steps: int, seed: int) -> Remove:
    """A method whose result is as large as the picture, and the picture itself outside the mask's reach."""
    remover = Remover(backend)
    options = RemovalOptions(mode=mode, steps=steps, seed=seed)

    def remove(picture: Pixels, mask: Pixels, name: str, stays: Stays = None) -> Pixels:
        pixels = picture.astype(np.float32) / np.float32(255)
        protected = None if stays is None else stays & (mask == 0)
        selection = Selection(mask.astype(np.float32) / np.float32(255), protected)
        relit = remover.relight(pixels, selection, options)
        if relit is None:
            return picture
        levels = (relit.composite(pixels) * 255).round().clip(0, 255).astype(np.uint8)
        return np.where(relit.weight[..., None] > 0, levels, picture)

    return remove
