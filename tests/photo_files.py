"""Files of photos of many kinds, made in memory."""

import io
from typing import Any

import numpy as np
from PIL import Image
from tifffile import imwrite

from deshadow.photo import Photo

RNG = np.random.default_rng(0)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format=kind, **options)
    return buffer.getvalue()


def noise(*shape: int, dtype: type = np.uint8) -> np.ndarray:
    return RNG.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def smooth(height: int = 40, width: int = 56) -> np.ndarray:
    """A picture that a lossy format can hold."""
    rows, columns = np.mgrid[:height, :width]
    planes = [90 + rows, 70 + columns, 120 + (rows + columns) // 2]
    return np.stack(planes, axis=2).astype(np.uint8)


def halved(photo: Photo) -> tuple[Photo, np.ndarray]:
    """The photo with its left half made brighter, and where its weight is 0."""
    weight = np.zeros((photo.height, photo.width), np.float32)
    weight[:, : photo.width // 2] = 1
    return photo.composite((photo.pixels * 0.5 + 0.4).astype(np.float32), weight), weight == 0


def deep_tiff(codes: np.ndarray, **options: Any) -> bytes:
    buffer = io.BytesIO()
    imwrite(buffer, codes, **{"photometric": "rgb" if codes.ndim == 3 else "minisblack", **options})
    return buffer.getvalue()


GREY_ALPHA: dict[str, Any] = {
    "photometric": "minisblack",
    "planarconfig": "contig",
    "extrasamples": ["unassalpha"],
}
