"""Pictures in and out: limits before anything is decoded, and what a browser is shown."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.photo import Photo, read
from deshadow.photo.formats import is_heif
from deshadow.photo.reading import KNOWN
from deshadow.serve.refusal import Refusal

PREVIEW_SIDE = 1600


def read_photo(path: Path, name: str, most: int) -> Photo:
    """Decode an upload of at most so many pixels, or say what is wrong with it."""
    data = path.read_bytes()
    check_size(data, most)
    with _refused("picture", "This photo"):
        photo = read(data, name)
    _check_pixels(photo.width * photo.height, most)
    return photo


def read_mask(data: bytes, height: int, width: int) -> NDArray[np.uint8]:
    """(H, W) of the photo's size, 255 = shadow; a mask may be any picture."""
    with _refused("mask", "The mask"), Image.open(io.BytesIO(data), formats=KNOWN) as picture:
        if picture.size != (width, height):
            raise ValueError(
                f"The mask has {picture.width}×{picture.height} pixels and the photo {width}×{height}: "
                "draw it on the photo as displayed."
            )
        mask = _grey(picture)
    if not mask.any():
        raise Refusal(422, "mask", "The mask is empty: mark a shadow, or leave the mask out.")
    return mask


def check_size(data: bytes, most: int) -> None:
    """Refuse by the header alone what would fill the memory."""
    try:
        width, height = _size(data)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        width = height = most
    except Exception:
        return  # whatever is wrong with it, the reader says so in a sentence
    _check_pixels(width * height, most)


def _size(data: bytes) -> tuple[int, int]:
    if is_heif(data):
        from pillow_heif import open_heif

        width, height = open_heif(io.BytesIO(data)).size
        return width, height
    with Image.open(io.BytesIO(data), formats=KNOWN) as picture:
        return picture.size


def shown(photo: Photo) -> tuple[bytes, str]:
    """A photo as a browser shows it: sRGB, and PNG if it has alpha."""
    codes = to_codes(photo.pixels)
    out = io.BytesIO()
    if photo.alpha is None:
        Image.fromarray(codes).save(out, "JPEG", quality=95, subsampling=0)
        return out.getvalue(), "image/jpeg"
    alpha = to_codes((photo.alpha / photo.top).astype(np.float32))
    Image.fromarray(np.dstack([codes, alpha])).save(out, "PNG", compress_level=1)
    return out.getvalue(), "image/png"


def preview(pixels: NDArray[np.float32]) -> bytes:
    """(H, W, 3) in [0, 1] → a JPEG, small enough to be made while the work goes on."""
    step = -(-max(pixels.shape[:2]) // PREVIEW_SIDE)
    out = io.BytesIO()
    Image.fromarray(to_codes(pixels[::step, ::step])).save(out, "JPEG", quality=85)
    return out.getvalue()


def grey_png(values: NDArray[np.uint8]) -> bytes:
    """(H, W) → PNG."""
    out = io.BytesIO()
    Image.fromarray(values).save(out, "PNG", compress_level=3)
    return out.getvalue()


def to_codes(pixels: NDArray[np.float32]) -> NDArray[np.uint8]:
    """(…) in [0, 1] → 8 bits."""
    return (np.clip(pixels, 0, 1) * np.float32(255) + np.float32(0.5)).astype(np.uint8)


def read_grey(path: Path) -> NDArray[np.uint8]:
    """(H, W) from a PNG that `grey_png` made."""
    with Image.open(path) as picture:
        return np.asarray(picture)


def _check_pixels(count: int, most: int) -> None:
    if count > most:
        limit = f"{most / 1e6:.4g} million"
        raise Refusal(
            413, "too_many_pixels", f"The picture has more pixels than this server takes ({limit})."
        )


def _grey(picture: Image.Image) -> NDArray[np.uint8]:
    if picture.mode.startswith(("I", "F")):
        values = np.asarray(picture, np.float32)
        return to_codes(values / np.float32(max(float(values.max()), 1.0)))
    return np.asarray(picture.convert("L"))


@contextmanager
def _refused(code: str, what: str) -> Iterator[None]:
    """Turn what a picture can be wrong in into a refusal."""
    try:
        yield
    except ValueError as error:
        raise Refusal(422, code, " ".join(str(error).split())[:300]) from error
    except (OSError, SyntaxError, Image.DecompressionBombError, EOFError, MemoryError) as error:
        raise Refusal(422, code, f"{what} cannot be read: save it again as PNG or JPEG.") from error
