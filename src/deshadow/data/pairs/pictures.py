"""Picture files of data sets: their size from the header, their pixels, masks, and writing."""

import io
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from deshadow.image.masks import scale_mask
from deshadow.system.files import write_whole

ENDINGS = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})

# What Pillow raises on a file that is not a picture, or only the beginning of one.
_BROKEN = (OSError, SyntaxError, ValueError, EOFError, struct.error, Image.DecompressionBombError)
_ORIENTATION = 0x0112  # the EXIF tag; 5 to 8 lie on their side


@dataclass(frozen=True, slots=True)
class PictureFile:
    """The bytes of one picture: a file, or a stretch of a tar shard that is read in place."""

    path: Path
    member: str = ""
    offset: int = 0
    length: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.member}" if self.member else str(self.path)

    def open(self) -> BinaryIO:
        """The open file; the part of a shard is read into memory, so that a decoder cannot read beyond it."""
        file = self.path.open("rb")
        if not self.member:
            return file
        with file:
            file.seek(self.offset)
            return io.BytesIO(file.read(self.length))


def is_picture(path: Path) -> bool:
    """Whether a path is a picture by its name; hidden files, pipes and devices are not."""
    named = path.suffix.lower() in ENDINGS and not path.name.startswith(".")
    return named and (path.is_file() or path.is_symlink())


def picture_size(source: PictureFile) -> tuple[int, int]:
    """(width, height) as decoded, from the header; ValueError with the reason if it cannot be read.

    The pixels are decoded only when the file does not end as its format should, which is how an
    interrupted copy shows.
    """
    try:
        with source.open() as file:
            file.seek(-min(file.seek(0, os.SEEK_END), 64), os.SEEK_END)
            tail = file.read()
            file.seek(0)
            with Image.open(file) as image:
                width, height = image.size
                sideways = "exif" in image.info and image.getexif().get(_ORIENTATION, 1) >= 5
                if not _ends_well(tail, image.format):
                    image.load()
    except _BROKEN as error:
        raise ValueError(_reason(error)) from error
    return (height, width) if sideways else (width, height)


def read_picture(source: PictureFile) -> NDArray[np.uint8]:
    """(H, W, 3) sRGB, upright; ValueError names a file that cannot be decoded."""
    image = _decode(source)
    if image.mode.startswith(("I", "F")):
        return np.repeat(_scaled(image)[..., None], 3, axis=2)
    if image.has_transparency_data:
        image = image.convert("RGBA")  # or Pillow warns of what it drops
    return np.asarray(image.convert("RGB"))


def read_grey(source: PictureFile) -> NDArray[np.uint8]:
    """(H, W), upright; ValueError names a file that cannot be decoded."""
    image = _decode(source)
    if image.mode.startswith(("I", "F")):
        return _scaled(image)
    return np.asarray(image.convert("L"))


def read_mask(source: PictureFile) -> NDArray[np.uint8]:
    """(H, W): 255 where the mask is brighter than half of white (see `scale_mask`), 0 elsewhere."""
    return np.where(scale_mask(read_grey(source)) > 0.5, np.uint8(255), np.uint8(0))


def _scaled(image: Image.Image) -> NDArray[np.uint8]:
    """(H, W) of 8 bits from more, scaled by the range of the values, since Pillow would clip them."""
    values = np.asarray(image).astype(np.float64)
    top = next((top for top in (1, 255, 65535) if values.max() <= top), values.max())
    return np.asarray(values / top * 255).round().clip(0, 255).astype(np.uint8)


def save_picture(path: Path, picture: NDArray[np.uint8]) -> None:
    """Write an (H, W, 3) picture or an (H, W) mask in the format of its ending, whole or not at all."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format=Image.registered_extensions()[path.suffix.lower()])
    write_whole(path, buffer.getvalue())


def _decode(source: PictureFile) -> Image.Image:
    try:
        with source.open() as file:
            image = Image.open(file)
            image.load()
            return ImageOps.exif_transpose(image) if "exif" in image.info else image
    except _BROKEN as error:
        raise ValueError(f"{source} cannot be read ({_reason(error)}); replace it or leave it out") from error


def _ends_well(tail: bytes, kind: str | None) -> bool:
    match kind:
        case "PNG":
            return b"IEND" in tail
        case "JPEG":
            return tail.endswith(b"\xff\xd9")
        case "WEBP":
            return True  # its decoder has already refused a file that is shorter than it says
    return False


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "file not found"
    if isinstance(error, UnidentifiedImageError):
        return "not a picture"
    return str(error).rstrip(".") or type(error).__name__
