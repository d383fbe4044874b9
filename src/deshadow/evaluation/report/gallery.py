"""Pictures inside an HTML page: thumbnails, and maps of the error of a result."""

import base64
import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.image.colour import srgb_to_lab
from deshadow.image.sheets import shrink_to_fit

Pixels = NDArray[np.uint8]

MOST_ERROR = 40
"""The LAB difference, summed over channels, from which on the map is brightest."""
RAMP = ("#000004", "#57106e", "#bc3754", "#f98e09", "#fcffa4")
_THUMBNAIL = 384  # long side: enough to look closer on a phone


def error_map(result: Pixels, truth: Pixels) -> Pixels:
    """(H, W, 3), (H, W, 3) → (H, W, 3): black where they agree, bright where they differ by MOST_ERROR."""
    error = np.abs(srgb_to_lab(result) - srgb_to_lab(truth)).sum(axis=-1) / MOST_ERROR
    stops = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in RAMP])
    places = np.linspace(0, 1, len(RAMP))
    channels = [np.interp(error.clip(0, 1), places, stops[:, channel]) for channel in range(3)]
    return np.stack(channels, axis=-1).round().astype(np.uint8)


def data_uri(picture: Pixels) -> str:
    """(H, W, 3) or (H, W) → a small WebP that a page carries in its text."""
    buffer = io.BytesIO()
    shrink_to_fit(Image.fromarray(picture), _THUMBNAIL).save(buffer, format="webp", quality=78, method=4)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"
