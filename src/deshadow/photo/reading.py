"""Reads a Photo from the bytes of a file; a ValueError says in one sentence what is wrong with the file."""

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageFile, JpegImagePlugin, TiffImagePlugin, UnidentifiedImageError

from deshadow.photo.deep import allow_grey_alpha, is_deep, png_chunks, read_deep
from deshadow.photo.exif import ORIENTATION, STRUCTURE, reset_orientation, reset_xmp_orientation
from deshadow.photo.formats import is_heif, is_raw, name_readable
from deshadow.photo.photo import Codes, Coding, Metadata, Photo
from deshadow.system.extras import require

KNOWN = ("JPEG", "PNG", "TIFF", "WEBP", "AVIF", "BMP", "DIB", "GIF")
_BROKEN = (OSError, SyntaxError, ValueError, EOFError, TypeError, LookupError, RuntimeError, struct.error)
_PLANES, _BITS, _PHOTOMETRIC, _CHANNELS, _RESOLUTION = 284, 258, 262, 277, 282
_KEPT_CHUNKS = frozenset({b"gAMA", b"cHRM", b"sRGB", b"cICP", b"pHYs", b"tEXt", b"zTXt", b"iTXt", b"tIME"})
_XMP_CHUNK = b"XML:com.adobe.xmp\0"
_LONG_XMP = b"http://ns.adobe.com/xmp/extension/\0"


def read_photo(source: bytes | Path, name: str = "") -> Photo:
    """Read a photo from its bytes or its path; `name` is its name in error messages."""
    name = name or (str(source) if isinstance(source, Path) else "the photo")
    data = source if isinstance(source, bytes) else _bytes_of(source)
    if not data:
        raise ValueError(f"{name} is empty (0 bytes): copy it again")
    if is_raw(data, name):
        return _read_raw(data, name)
    if is_heif(data):
        require("heif", "pillow_heif")
    try:
        return _read_heif(data) if is_heif(data) else _read_common(data)
    except Image.DecompressionBombError as error:
        most = f"{2 * (Image.MAX_IMAGE_PIXELS or 0) / 1e6:.0f} million"
        raise ValueError(f"{name} has more than {most} pixels: scale or crop it") from error
    except UnidentifiedImageError as error:
        raise ValueError(f"{name} is not a photo that can be read: {name_readable()}") from error
    except RefusedError as error:
        raise ValueError(f"{name} {error}") from error
    except MemoryError as error:
        raise ValueError(f"{name} does not fit into memory: scale or crop it") from error
    except _BROKEN as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise ValueError(f"{name} is damaged or incomplete ({reason}): copy or save it again") from error


def read_size(data: bytes) -> tuple[int, int]:
    """Width and height of the photo in a file, by its header; raises what the decoder raises."""
    if is_heif(data):
        from pillow_heif import open_heif

        width, height = open_heif(io.BytesIO(data)).size
        return width, height
    with Image.open(io.BytesIO(data), formats=list(KNOWN)) as image:
        return image.size


def read_image(image: Image.Image) -> Photo:
    """A photo from a Pillow image, as displayed: its orientation and its colour profile are used."""
    if 0 in image.size:
        raise ValueError(f"the picture has no pixels: its size is {image.size}")
    try:
        image.load()
        values = _values(image)
    except RefusedError as error:
        raise ValueError(f"the picture {error}") from error
    except _BROKEN as error:
        raise ValueError(f"the picture cannot be read ({error}): open it again") from error
    turn = _orientation(image)
    metadata = Metadata(
        exif=reset_orientation(image.info.get("exif") or b"", turn >= 5),
        xmp=reset_xmp_orientation(_xmp(image)),
        icc=image.info.get("icc_profile") or b"",
        dpi=_dpi(image),
    )
    values = np.ascontiguousarray(_turn(values, turn))
    return _photo(values, image.mode == "CMYK", "PNG", metadata, Coding(), ())


class RefusedError(Exception):
    """Why a photo cannot be used: a phrase that follows its name."""


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ValueError(f"{path}: file not found") from error
    except IsADirectoryError as error:
        raise ValueError(f"{path} is a folder, not a photo") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(f"{path} cannot be opened ({reason}): check its permissions") from error


def _read_common(data: bytes) -> Photo:
    try:
        return _decode(data)
    except UnidentifiedImageError:
        if not data.startswith((TiffImagePlugin.II, TiffImagePlugin.MM)):
            raise
    with allow_grey_alpha():
        return _decode(data)


def _decode(data: bytes) -> Photo:
    with Image.open(io.BytesIO(data), formats=list(KNOWN)) as image:
        kind = {"MPO": "JPEG", "DIB": "BMP"}.get(image.format or "", image.format or "")
        notes = _frames(image, kind)
        if _tiff_tags(image).get(_CHANNELS, 1) > len(image.getbands()):
            notes += ("it has channels beside its colours and transparency, which the result does not have",)
        if kind == "TIFF":
            _check_tiff(image)
        deep = is_deep(image)
        image.load()
        turn, exif = _orientation(image), _exif(image, kind)
        coding = _coding(image, data, kind)
        metadata = Metadata(
            exif=reset_orientation(exif, turn >= 5),
            xmp=reset_xmp_orientation(_xmp(image)),
            icc=image.info.get("icc_profile") or b"",
            dpi=_dpi(image),
            comment=image.info.get("comment") or b"" if kind == "JPEG" else b"",
            segments=_segments(image),
            chunks=_chunks(data) if kind == "PNG" else (),
        )
        values = read_deep(data, KNOWN) if deep else _values(image)
        if deep and image.info.get("transparency") is not None and values.shape[2] == 3:
            shown = (values != np.array(image.info["transparency"], np.uint16)).any(axis=2)
            values = np.dstack([values, shown * np.uint16(65535)])
        inks = image.mode == "CMYK"
    values = np.ascontiguousarray(_turn(values, turn))
    return _photo(values, inks, kind, metadata, coding, notes)


def _photo(
    values: Codes, inks: bool, kind: str, metadata: Metadata, coding: Coding, notes: tuple[str, ...]
) -> Photo:
    """A photo from values (H, W, C); the last of two or four channels is alpha, unless they are inks."""
    if inks or values.shape[2] in (1, 3):
        return Photo(values, None, kind, metadata, coding, notes)
    codes, alpha = np.ascontiguousarray(values[..., :-1]), np.ascontiguousarray(values[..., -1])
    return Photo(codes, alpha, kind, metadata, coding, notes)


def _values(image: Image.Image) -> Codes:
    """(H, W, C): code values of a loaded picture, alpha last; a palette is replaced by its colours."""
    if image.mode.startswith("I;16"):
        grey = np.asarray(image).astype(np.uint16)[..., None]
        if _tiff_tags(image).get(_PHOTOMETRIC) == 0:  # white is 0, which Pillow heeds at 8 bits alone
            grey = np.uint16(65535) - grey
        key = image.info.get("transparency")
        return grey if key is None else np.dstack([grey, (grey != key) * np.uint16(65535)])
    if image.mode in ("I", "F", "LAB", "HSV"):
        raise RefusedError(f"has pixels of an unsupported kind ({image.mode}): save it as RGB or grey")
    clear = image.has_transparency_data
    if image.mode == "P":
        palette = np.array(image.getpalette("RGB") or [0, 0, 0]).reshape(-1, 3)
        is_grey = bool((palette == palette[:, :1]).all())
        image = image.convert(("LA" if clear else "L") if is_grey else ("RGBA" if clear else "RGB"))
    elif image.mode in ("1", "L", "La", "LA"):
        image = image.convert("LA" if clear else "L")
    elif image.mode not in ("CMYK", "RGBA" if clear else "RGB"):  # to its own mode it would be copied
        image = image.convert("RGBA" if clear else "RGB")
    values = np.asarray(image)
    return values[..., None] if values.ndim == 2 else values


def _turn(values: Codes, orientation: int) -> Codes:
    """The picture as displayed, turned by one of the eight orientations of EXIF."""
    if orientation in (5, 6, 7, 8):
        values = values.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        values = values[:, ::-1]
    if orientation in (3, 4, 7, 8):
        values = values[::-1]
    return values


def _orientation(image: Image.Image) -> int:
    try:
        found = image.getexif().get(ORIENTATION, 1)
    except _BROKEN:
        return 1
    return found if found in range(1, 9) else 1


def _exif(image: Image.Image, kind: str) -> bytes:
    """The EXIF block; of a TIFF, a block of all its tags except those about its structure."""
    if kind != "TIFF":
        return image.info.get("exif") or b""
    try:
        found = image.getexif()
        for tag in STRUCTURE & set(found):
            del found[tag]
        return found.tobytes() if len(found) else b""
    except _BROKEN:
        return b""


def _xmp(image: Image.Image) -> bytes:
    xmp = image.info.get("xmp") or image.info.get("XML:com.adobe.xmp") or b""
    return xmp.encode() if isinstance(xmp, str) else xmp


def _dpi(image: Image.Image) -> tuple[float, float] | None:
    dpi = image.info.get("dpi")
    if image.format == "TIFF" and _RESOLUTION not in _tiff_tags(image):
        return None  # Pillow gives 1
    return (float(dpi[0]), float(dpi[1])) if dpi and all(np.isfinite([*map(float, dpi)])) else None


def _coding(image: Image.Image, data: bytes, kind: str) -> Coding:
    if isinstance(image, JpegImagePlugin.JpegImageFile):
        tables = tuple(tuple(table) for _, table in sorted(image.quantization.items()))
        plain = image.mode == "RGB" and image.info.get("adobe_transform") == 0
        progressive = bool(image.info.get("progressive"))
        return Coding(tables, JpegImagePlugin.get_sampling(image), progressive, plain)
    return Coding(
        lossless=kind == "WEBP" and b"VP8L" in data[: 1 << 16],
        packed=image.info.get("compression") != "raw",
    )


def _segments(image: Image.Image) -> bytes:
    """The segments of a JPEG that Pillow would drop: IPTC, and the continuation of a long XMP."""
    kept = [
        (int(name.removeprefix("APP")), content)
        for name, content in getattr(image, "applist", ())
        if name == "APP13" or (name == "APP1" and content.startswith(_LONG_XMP))
    ]
    return b"".join(struct.pack(">BBH", 255, 0xE0 + n, 2 + len(content)) + content for n, content in kept)


def _chunks(data: bytes) -> tuple[tuple[bytes, bytes], ...]:
    return tuple(
        (name, content)
        for name, content in png_chunks(data)
        if name in _KEPT_CHUNKS and not content.startswith(_XMP_CHUNK)
    )


def _frames(image: Image.Image, kind: str) -> tuple[str, ...]:
    frames = getattr(image, "n_frames", 1)
    if frames < 2:
        return ()
    if kind == "JPEG":
        return ("it contains further pictures (depth or HDR gain), which the result does not have",)
    return (f"it has {frames} frames or pages; only the first was used",)


def _tiff_tags(image: Image.Image) -> Any:
    """The tags of a TIFF by number; of another picture none."""
    return getattr(image, "tag_v2", {})


def _check_tiff(image: ImageFile.ImageFile) -> None:
    """Refuse TIFFs that Pillow would read wrongly, or with half of their bits."""
    tags = _tiff_tags(image)
    if tags.get(_PLANES, 1) == 2 and max(tags.get(_BITS, (8,))) > 8:
        raise RefusedError("stores its 16-bit channels separately: save it with interleaved channels")
    args = image.tile[0].args if image.tile else None
    if isinstance(args, tuple) and str(args[0]).startswith("RGBa;16"):
        raise RefusedError("has 16-bit colours multiplied by its alpha: save it with straight alpha")


def _read_heif(data: bytes) -> Photo:
    import pillow_heif

    file = pillow_heif.open_heif(io.BytesIO(data), convert_hdr_to_8bit=False)
    first = file[file.primary_index]
    width, height = first.size
    if width * height > 2 * (Image.MAX_IMAGE_PIXELS or width * height):
        raise Image.DecompressionBombError
    values = np.asarray(first)
    values = values[..., None] if values.ndim == 2 else values
    # libheif has turned the pixels. pillow_heif has reset the orientation in EXIF; that in XMP is reset here.
    info: dict[str, Any] = first.info
    metadata = Metadata(
        exif=reset_orientation(info.get("exif") or b"", False),
        xmp=reset_xmp_orientation(info.get("xmp") or b""),
        icc=info.get("icc_profile") or b"",
    )
    notes = (f"it contains {len(file)} pictures; only the main one was used",) if len(file) > 1 else ()
    return _photo(np.array(values), False, "HEIF", metadata, Coding(), notes)


def _read_raw(data: bytes, name: str) -> Photo:
    """Develop a raw photo with the white balance of the camera, to 16-bit sRGB."""
    require("raw", "rawpy")
    import rawpy

    try:
        with rawpy.imread(io.BytesIO(data)) as raw:
            values = raw.postprocess(use_camera_wb=True, output_bps=16, gamma=(2.4, 12.92))
    except rawpy.LibRawError as error:
        reason = str(error).strip("b'\"")
        raise ValueError(f"{name} cannot be developed ({reason}): convert it to DNG or TIFF") from error
    try:
        with Image.open(io.BytesIO(data), formats=["TIFF"]) as image:
            exif = _exif(image, "TIFF")
    except _BROKEN:
        exif = b""
    return Photo(np.array(values), None, "RAW", Metadata(exif=exif))
