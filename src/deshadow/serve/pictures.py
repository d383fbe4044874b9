"""Pictures: reads uploads within limits, encodes what a browser shows, lists shadows, keeps what changed."""

import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.image.colour import round_to_8_bits
from deshadow.photo import Photo, read_photo
from deshadow.photo.inputs import open_mask
from deshadow.photo.reading import read_size
from deshadow.removal.masks import as_mask
from deshadow.serve.errors import ApiError

PREVIEW_SIDE = 1600
"""Longer side of a preview at most."""
MAX_SHADOWS = 255
"""Number of shadows that an 8-bit picture of labels can tell apart."""
_WHITE = 65535


def decode_photo(path: Path, name: str, max_pixels: int) -> Photo:
    """Decode an upload; raise an error if it is not a photo or has too many pixels."""
    data = path.read_bytes()
    check_size(data, max_pixels)
    with _api_errors("picture", "The photo"):
        photo = read_photo(data, name)
    _check_pixels(photo.width * photo.height, max_pixels)
    return photo


def decode_mask(data: bytes, height: int, width: int, max_pixels: int) -> NDArray[np.uint8]:
    """Decode a mask of the photo's shape, in any format and size, as (H, W), 255 = shadow."""
    check_size(data, max_pixels)
    with _api_errors("mask", "The mask"):
        (values,) = open_mask(data, name="The mask")
        mask = round_to_8_bits(as_mask(values, height, width))
    if not mask.any():
        raise ApiError(422, "mask", "The mask is empty: mark a shadow, or send no mask.")
    return mask


def check_size(data: bytes, max_pixels: int) -> None:
    """Raise an error if the header says that the picture has too many pixels. Nothing is decoded."""
    try:
        width, height = read_size(data)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        width = height = max_pixels
    except Exception:
        return  # the reader explains what is wrong with the file
    _check_pixels(width * height, max_pixels)


def encode_for_display(photo: Photo) -> tuple[bytes, str]:
    """A photo in sRGB for the browser and its media type: JPEG, or PNG if it has alpha."""
    codes = round_to_8_bits(photo.pixels)
    out = io.BytesIO()
    if photo.alpha is None:
        Image.fromarray(codes).save(out, "JPEG", quality=95, subsampling=0)
        return out.getvalue(), "image/jpeg"
    alpha = round_to_8_bits((photo.alpha / photo.top).astype(np.float32))
    Image.fromarray(np.dstack([codes, alpha])).save(out, "PNG", compress_level=1)
    return out.getvalue(), "image/png"


def encode_preview(pixels: NDArray[np.float32]) -> bytes:
    """(H, W, 3) in [0, 1] → a JPEG of at most `PREVIEW_SIDE` pixels a side."""
    step = -(-max(pixels.shape[:2]) // PREVIEW_SIDE)
    out = io.BytesIO()
    Image.fromarray(round_to_8_bits(pixels[::step, ::step])).save(out, "JPEG", quality=85)
    return out.getvalue()


def encode_grey(values: NDArray[np.uint8]) -> bytes:
    """(H, W) → PNG."""
    out = io.BytesIO()
    Image.fromarray(values).save(out, "PNG", compress_level=3)
    return out.getvalue()


def decode_grey(path: Path) -> NDArray[np.uint8]:
    """(H, W) of a PNG that `encode_grey` made."""
    with Image.open(path) as picture:
        return np.asarray(picture)


@dataclass(frozen=True)
class Shadow:
    """One found shadow; `box` is left, top, right, bottom (exclusive), `centre` (x, y) lies in the shadow.

    One that is not `sure` may be something else, and is not removed unless it is selected.
    """

    number: int
    sure: bool
    area: int
    box: tuple[int, int, int, int]
    centre: tuple[int, int]


def list_shadows(labels: NDArray[np.uint8], unsure: Collection[int] = ()) -> list[Shadow]:
    """(H, W), 0 = no shadow → the shadows by number, those of the given numbers as unsure."""
    places = np.flatnonzero(labels)
    numbers = labels.ravel()[places]
    places = places[np.argsort(numbers, kind="stable")]
    areas = np.bincount(numbers, minlength=1)
    found = []
    for group, number in zip(np.split(places, np.cumsum(areas)[:-1])[1:], range(1, len(areas)), strict=True):
        if group.size:
            sure = number not in unsure
            found.append(_describe_shadow(number, sure, *np.divmod(group, labels.shape[1])))
    return found


def _describe_shadow(number: int, sure: bool, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Shadow:
    nearest = int(np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2))
    return Shadow(
        number,
        sure,
        rows.size,
        (int(columns.min()), int(rows[0]), int(columns.max()) + 1, int(rows[-1]) + 1),
        (int(columns[nearest]), int(rows[nearest])),
    )


@dataclass(frozen=True)
class Layer:
    """The pixels that a removal changed, at 16 bits: the next removal starts from them without loss.

    `pixels` (h, w, 3) sRGB and `changed` (h, w) are the part of the picture that begins at (top, left).
    """

    top: int
    left: int
    pixels: NDArray[np.uint16]
    changed: NDArray[np.bool_]

    @classmethod
    def crop(cls, picture: NDArray[np.float32], changed: NDArray[np.bool_]) -> "Layer":
        """The smallest layer that holds the changed pixels (H, W) of a picture (H, W, 3) in [0, 1]."""
        rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
        if not rows.size:
            rows = columns = np.zeros(1, np.int64)
        box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        codes = np.rint(np.clip(picture[box], 0, 1) * np.float32(_WHITE)).astype(np.uint16)
        return cls(int(rows[0]), int(columns[0]), codes, changed[box])

    @classmethod
    def from_bytes(cls, data: bytes) -> "Layer":
        """The layer that `to_bytes` packed."""
        top, left, height, width = (int(value) for value in np.frombuffer(data, np.int64, 4))
        pixels = np.frombuffer(data, np.uint16, height * width * 3, 32).reshape(height, width, 3)
        changed = np.frombuffer(data, np.bool_, height * width, 32 + pixels.nbytes).reshape(height, width)
        return cls(top, left, pixels, changed)

    def to_bytes(self) -> bytes:
        """Position, size, pixels and changed pixels, one after another."""
        head = np.array([self.top, self.left, *self.changed.shape], np.int64)
        return head.tobytes() + self.pixels.tobytes() + self.changed.tobytes()

    def paste(self, picture: NDArray[np.float32]) -> NDArray[np.float32]:
        """A copy of the picture (H, W, 3) in [0, 1] with the changed pixels in it."""
        picture = picture.copy()
        height, width = self.changed.shape
        part = picture[self.top : self.top + height, self.left : self.left + width]
        part[self.changed] = self.pixels[self.changed].astype(np.float32) / _WHITE
        return picture

    def expand(self, height: int, width: int) -> NDArray[np.bool_]:
        """(H, W): which pixels of the whole picture changed."""
        changed = np.zeros((height, width), np.bool_)
        rows, columns = self.changed.shape
        changed[self.top : self.top + rows, self.left : self.left + columns] = self.changed
        return changed


def _check_pixels(count: int, max_pixels: int) -> None:
    if count > max_pixels:
        limit = f"{max_pixels / 1e6:.4g} million"
        raise ApiError(
            413, "too_many_pixels", f"The picture has more pixels than this server takes ({limit})."
        )


@contextmanager
def _api_errors(code: str, what: str) -> Iterator[None]:
    """Turn the exceptions of a picture that cannot be read into API errors."""
    try:
        yield
    except ValueError as error:
        text = " ".join(str(error).split())[:300]
        named = "." in text.split(" ")[0]  # a file name keeps its first letter
        raise ApiError(422, code, text if named else text[:1].upper() + text[1:]) from error
    except (OSError, SyntaxError, Image.DecompressionBombError, EOFError, MemoryError) as error:
        raise ApiError(422, code, f"{what} cannot be read: save it again as PNG or JPEG.") from error
