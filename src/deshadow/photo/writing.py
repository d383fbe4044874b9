"""Encodes a Photo as the bytes of a file."""

import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image

from deshadow.photo.deep import encode_deep_png, encode_tiff, with_chunks
from deshadow.photo.formats import FORMATS, WRITTEN_AS, Format
from deshadow.photo.photo import Codes, Metadata, Photo
from deshadow.system.extras import require

QUALITY = 90
"""Quality of lossy formats where that of the input is unknown."""
_JPEG_QUALITY = 95  # of a JPEG that is made from another format
_MOST_IN_SEGMENT = 65_000  # bytes that a segment of a JPEG holds


def encode_photo(photo: Photo, format: str | None = None, quality: int | None = None) -> bytes:  # noqa: A002
    """The file's bytes, in the photo's own format (a raw photo: TIFF; a GIF: PNG) or another.

    What the format cannot hold is converted: CMYK to sRGB, 16 bits to 8, and transparent pixels to white. A
    JPEG keeps the quantisation tables and the subsampling of the input unless a quality is given.
    """
    kind = FORMATS.get((format or written_format(photo)).upper())
    if kind is None:
        raise ValueError(f"unknown format {format!r}: choose one of {', '.join(FORMATS)}")
    if quality is not None and not 1 <= quality <= 100:
        raise ValueError(f"quality is {quality}: it must be from 1 to 100")
    codes, alpha, metadata = _convert(photo, kind)
    try:
        match kind.name:
            case "PNG":
                return _png(codes, alpha, metadata)
            case "TIFF":
                return _tiff(photo, codes, alpha, metadata)
            case "HEIF":
                return _heif(codes, alpha, metadata, quality)
        return _by_pillow(photo, kind.name, as_image(codes, alpha), metadata, quality)
    except (OSError, ValueError, SystemError, struct.error, RuntimeError) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise ValueError(f"cannot be written as {kind.name} ({reason}): choose another format") from error


def written_format(photo: Photo) -> str:
    """The photo's own format, or that of its result if its own is only read."""
    return WRITTEN_AS.get(photo.format, photo.format)


def to_pil(photo: Photo) -> Image.Image:
    """The picture for Pillow, with profile and metadata; Pillow has no 16-bit colours, they become 8 bits."""
    info: dict[str, Any] = {
        "icc_profile": photo.metadata.icc,
        "exif": photo.metadata.exif,
        "xmp": photo.metadata.xmp,
        "dpi": photo.metadata.dpi,
    }
    image = as_image(photo.codes, photo.alpha)
    image.info.update({key: value for key, value in info.items() if value})
    return image


def as_image(codes: Codes, alpha: Codes | None) -> Image.Image:
    """A Pillow image of the code values; 16-bit colours become 8 bits."""
    if codes.dtype == np.uint16 and (codes.shape[2] > 1 or alpha is not None):
        codes, alpha = _shallow(codes), None if alpha is None else _shallow(alpha)
    if codes.shape[2] == 4:
        return Image.frombytes("CMYK", codes.shape[1::-1], codes.tobytes())
    joined = codes if alpha is None else np.dstack([codes, alpha])
    return Image.fromarray(joined[..., 0] if joined.shape[2] == 1 else joined)


def _convert(photo: Photo, kind: Format) -> tuple[Codes, Codes | None, Metadata]:
    """Code values, alpha and metadata, converted to what the format can hold."""
    codes, alpha, metadata = photo.codes, photo.alpha, photo.metadata
    channels = codes.shape[2]
    to_srgb = (channels == 4 and not kind.cmyk) or (channels == 1 and not kind.grey and metadata.icc)
    if to_srgb:
        codes = (photo.pixels * photo.top).round().astype(codes.dtype)
        metadata = Metadata(metadata.exif, metadata.xmp, b"", metadata.dpi)
    elif channels == 1 and not kind.grey:
        codes = np.repeat(codes, 3, axis=2)
    if alpha is not None and not kind.alpha:
        share = alpha[..., None].astype(np.float32) / photo.top
        codes = (codes * share + photo.top * (1 - share)).round().astype(codes.dtype)
        alpha = None
    if codes.dtype == np.uint16 and not kind.deep:
        codes, alpha = _shallow(codes), None if alpha is None else _shallow(alpha)
    return codes, alpha, metadata


def _shallow(codes: Codes) -> Codes:
    return ((codes.astype(np.uint32) + 128) // 257).astype(np.uint8)


def _by_pillow(photo: Photo, kind: str, image: Image.Image, metadata: Metadata, quality: int | None) -> bytes:
    options: dict[str, Any] = {"exif": metadata.exif, "icc_profile": metadata.icc, "xmp": metadata.xmp}
    match kind:
        case "JPEG":
            options = {key: value for key, value in options.items() if key == "icc_profile" or _fits(value)}
            options |= {"comment": metadata.comment, "extra": metadata.segments} | _packing(photo, quality)
        case "WEBP":
            lossless = photo.coding.lossless and quality is None
            options |= {"lossless": lossless, "quality": quality or QUALITY, "exact": True}
        case "AVIF":
            options |= {"quality": quality or QUALITY}
            if image.mode != "L":
                options["subsampling"] = "4:4:4"
        case "BMP":
            options = {}
    if metadata.dpi and kind in ("JPEG", "BMP"):
        options["dpi"] = metadata.dpi
    buffer = io.BytesIO()
    image.save(buffer, format=kind, **{key: value for key, value in options.items() if value != b""})
    return buffer.getvalue()


def _packing(photo: Photo, quality: int | None) -> dict[str, Any]:
    coding = photo.coding
    shared = {"progressive": coding.progressive}
    if quality is not None:
        return shared | {"quality": quality, "subsampling": 0 if quality >= 90 else 2}
    if not coding.tables:
        return shared | {"quality": _JPEG_QUALITY, "subsampling": 0}
    # A subsampling that the encoder does not offer is replaced by none, which loses nothing.
    subsampling = coding.subsampling if coding.subsampling in (0, 1, 2) else 0
    tables = [list(table) for table in coding.tables]
    return shared | {"qtables": tables, "subsampling": subsampling, "keep_rgb": coding.plain_rgb}


def _fits(block: bytes) -> bool:
    return len(block) <= _MOST_IN_SEGMENT


def _png(codes: Codes, alpha: Codes | None, metadata: Metadata) -> bytes:
    if codes.dtype == np.uint16:
        joined = codes if alpha is None else np.dstack([codes, alpha])
        bare = encode_deep_png(joined.astype(np.uint16, copy=False))
    else:
        buffer = io.BytesIO()
        as_image(codes, alpha).save(buffer, format="PNG")
        bare = buffer.getvalue()
    chunks = list(metadata.chunks)
    named = {name for name, _ in chunks}
    if metadata.icc:
        chunks = [chunk for chunk in chunks if chunk[0] != b"sRGB"]
        chunks.append((b"iCCP", b"ICC profile\0\0" + zlib.compress(metadata.icc)))
    if metadata.dpi and b"pHYs" not in named:
        x, y = (round(dpi / 0.0254) for dpi in metadata.dpi)
        chunks.append((b"pHYs", struct.pack(">IIB", x, y, 1)))
    if metadata.xmp:
        chunks.append((b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + metadata.xmp))
    if metadata.exif:
        chunks.append((b"eXIf", metadata.exif.removeprefix(b"Exif\0\0")))
    return with_chunks(bare, chunks)


def _tiff(photo: Photo, codes: Codes, alpha: Codes | None, metadata: Metadata) -> bytes:
    tags: dict[int, Any] = {}
    if metadata.dpi:
        tags |= {282: metadata.dpi[0], 283: metadata.dpi[1], 296: 2}
    if metadata.icc:
        tags[34675] = metadata.icc
    if metadata.xmp:
        tags[700] = metadata.xmp
    joined = codes if alpha is None else np.dstack([codes, alpha])
    return encode_tiff(joined, alpha is not None, tags, metadata.exif, photo.coding.packed)


def _heif(codes: Codes, alpha: Codes | None, metadata: Metadata, quality: int | None) -> bytes:
    require("heif", "pillow_heif")
    import pillow_heif

    joined = np.ascontiguousarray(codes if alpha is None else np.dstack([codes, alpha]))
    mode = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[joined.shape[2]]
    mode += ";16" if joined.dtype == np.uint16 else ""
    known = {"exif": metadata.exif, "icc_profile": metadata.icc, "xmp": metadata.xmp}
    options: dict[str, Any] = {key: value for key, value in known.items() if value}
    buffer = io.BytesIO()
    size = joined.shape[1::-1]
    pillow_heif.encode(mode, size, joined.tobytes(), buffer, quality=quality or QUALITY, **options)
    return buffer.getvalue()
