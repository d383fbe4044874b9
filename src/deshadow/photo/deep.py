"""16 bits for each channel, in PNG and TIFF.

Pillow decodes such files in C, but keeps only the high byte of each colour. It can unpack either byte order,
though: read in the wrong order, it keeps the low bytes, and both readings together are exact. So reading
needs no library of tens of megabytes (imagecodecs 26, OpenCV 61), no system library (pyvips) and no decoder
in Python (pypng takes minutes for a photo). Writing is a few lines over zlib.
"""

import io
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile, TiffImagePlugin

from deshadow.photo.exif import STRUCTURE

_PNG_BEGINNING = b"\x89PNG\r\n\x1a\n"
_PNG_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}  # channels, alpha included → the colour type of the header
_WRONG = {"L": "B", "B": "L", "N": "B" if sys.byteorder == "little" else "L"}
_BITS = 258  # the TIFF tag of the bits of each channel
_GREY_ALPHA: dict[tuple[bytes, int, tuple[int], int, tuple[int, ...], tuple[int, ...]], tuple[str, str]] = {
    (order, 1, (1,), 1, (16, 16), (2,)): ("RGBA", "RGBA")
    for order in (TiffImagePlugin.II, TiffImagePlugin.MM)
}
"""Byte order, grey, integers, bit order, bits, straight alpha → mode, raw mode; entries of Pillow's table."""
_OPENING = Lock()
_ROWS = 128
_LEVEL = 4  # of zlib: takes half the time of 6, and the files are as small within 1 %


@contextmanager
def allow_grey_alpha() -> Iterator[None]:
    """Let Pillow open TIFFs of 16-bit grey with alpha, which it refuses otherwise; `read_deep` reads them.

    Pillow takes the four bytes of a pixel for those of 8-bit RGBA. Only one thread at a time may open them.
    """
    with _OPENING:
        TiffImagePlugin.OPEN_INFO.update(_GREY_ALPHA)
        try:
            yield
        finally:
            for key in _GREY_ALPHA:
                del TiffImagePlugin.OPEN_INFO[key]


def is_deep(image: ImageFile.ImageFile) -> bool:
    """Whether an opened, not yet loaded picture has 16 bits for each of several channels."""
    if _is_grey_alpha_tiff(image):
        return True
    return bool(image.tile) and ";16" in _raw_mode(image) and not image.mode.startswith("I")


def read_deep(data: bytes, formats: Iterable[str]) -> NDArray[np.uint16]:
    """(H, W, C) of a PNG or TIFF for which `is_deep` holds, alpha last."""
    image = _decode(data, formats, lambda raw: "RGBA" if raw == "LA;16B" else raw)
    high = np.asarray(image)
    if image.info.get("deshadow_raw") == "LA;16B":  # decoded as four bytes, which are two channels
        return np.ascontiguousarray(high).view(">u2").astype(np.uint16)
    if _is_grey_alpha_tiff(image):  # likewise; libtiff, which decompresses, gives the machine's byte order
        stored = image.info.get("compression") == "raw"
        order = ">u2" if stored and data.startswith(TiffImagePlugin.MM) else "<u2" if stored else "=u2"
        return np.ascontiguousarray(high).view(order).astype(np.uint16)
    low = np.asarray(_decode(data, formats, lambda raw: raw[:-1] + _WRONG[raw[-1]]))
    joined = high.astype(np.uint16)
    joined <<= 8
    joined |= low
    return joined


def encode_deep_png(codes: NDArray[np.uint16]) -> bytes:
    """(H, W, C) → a PNG without metadata; each row has the filter whose residue is smallest."""
    height, width, channels = codes.shape
    step = 2 * channels
    packer = zlib.compressobj(_LEVEL)
    packed = []
    above = np.zeros((1, width * step), np.uint8)
    for top in range(0, height, _ROWS):
        rows = codes[top : top + _ROWS].astype(">u2").view(np.uint8).reshape(-1, width * step)
        up = np.concatenate([above, rows[:-1]])
        left = np.pad(rows[:, :-step], ((0, 0), (step, 0)))
        average = ((up.astype(np.uint16) + left) // 2).astype(np.uint8)
        filtered = np.stack([rows, rows - left, rows - up, rows - average])
        cost = np.abs(filtered.view(np.int8).astype(np.int16)).sum(axis=2, dtype=np.int64)
        kinds = cost.argmin(axis=0)
        best = filtered[kinds, np.arange(len(rows))]
        packed.append(packer.compress(np.concatenate([kinds[:, None].astype(np.uint8), best], 1).tobytes()))
        above = rows[-1:]
    packed.append(packer.flush())
    header = struct.pack(">IIBBBBB", width, height, 16, _PNG_COLOURS[channels], 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", b"".join(packed)), (b"IEND", b"")]
    return _PNG_BEGINNING + b"".join(map(_chunk, chunks))


def png_chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """Names and contents of the chunks of a PNG, as far as it is whole."""
    chunks, at = [], len(_PNG_BEGINNING)
    while at + 8 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        chunks.append((name, data[at + 8 : at + 8 + length]))
        at += 12 + length
    return chunks


def with_chunks(png: bytes, chunks: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The PNG with further chunks behind its header."""
    end = len(_PNG_BEGINNING) + 25
    return png[:end] + b"".join(map(_chunk, chunks)) + png[end:]


def encode_tiff(codes: NDArray[Any], alpha: bool, tags: dict[int, Any], exif: bytes, packed: bool) -> bytes:
    """(H, W, C), alpha last → a TIFF of one strip, deflated with differences if `packed`."""
    height, width, channels = codes.shape
    bits = codes.dtype.itemsize * 8
    if packed:
        steps = codes.copy()
        steps[:, 1:] -= codes[:, :-1]  # wraps, as the format wants
        body = zlib.compress(steps.astype(steps.dtype.newbyteorder("<"), copy=False).tobytes(), _LEVEL)
    else:
        body = codes.astype(codes.dtype.newbyteorder("<"), copy=False).tobytes()
    folder = TiffImagePlugin.ImageFileDirectory_v2(b"II*\0\0\0\0\0")
    for tag, value in _exif_tags(exif).items():
        _put(folder, tag, value)
    colours = channels - alpha
    folder[256], folder[257] = width, height
    folder[258] = (bits,) * channels
    folder[259] = 8 if packed else 1
    folder[262] = {1: 1, 3: 2, 4: 5}[colours]
    folder[273], folder[277], folder[278], folder[279] = 0, channels, height, len(body)
    folder[284] = 1
    folder[339] = (1,) * channels
    if packed:
        folder[317] = 2
    if alpha:
        folder[338] = 2
    for tag, value in tags.items():
        folder[tag] = value
    buffer = io.BytesIO()
    folder.save(buffer)
    return buffer.getvalue() + body


def _decode(data: bytes, formats: Iterable[str], raw_mode: Callable[[str], str]) -> ImageFile.ImageFile:
    image = Image.open(io.BytesIO(data), formats=list(formats))
    raw = _raw_mode(image)
    image.tile = [
        tile._replace(
            args=raw_mode(raw) if isinstance(tile.args, str) else (raw_mode(raw), *(tile.args or ())[1:])
        )
        for tile in image.tile
    ]
    image.info["deshadow_raw"] = raw
    image.load()
    return image


def _is_grey_alpha_tiff(image: ImageFile.ImageFile) -> bool:
    return isinstance(image, TiffImagePlugin.TiffImageFile) and image.tag_v2.get(_BITS) == (16, 16)


def _raw_mode(image: ImageFile.ImageFile) -> str:
    args = image.tile[0].args
    return str(args if isinstance(args, str) else args[0] if args else "")


def _chunk(chunk: tuple[bytes, bytes]) -> bytes:
    name, content = chunk
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _exif_tags(exif: bytes) -> dict[int, Any]:
    """The tags of an EXIF block that belong into a TIFF's own folder, the inner folders as dictionaries."""
    found = Image.Exif()
    try:
        found.load(exif)
        tags = {tag: value for tag, value in found.items() if tag not in STRUCTURE}
        inner: dict[int, Any] = {tag: dict(found.get_ifd(tag)) for tag in (0x8769, 0x8825) if tag in tags}
    except (SyntaxError, struct.error, ValueError, KeyError, TypeError):
        return {}
    return {**tags, **inner}


def _put(folder: TiffImagePlugin.ImageFileDirectory_v2, tag: int, value: Any) -> None:
    """Set a tag if it can be written: a damaged one is left out."""
    trial = TiffImagePlugin.ImageFileDirectory_v2(b"II*\0\0\0\0\0")
    try:
        trial[tag] = value
        trial.tobytes()
    except Exception:  # whatever a value of a wrong type runs into
        return
    folder[tag] = value
