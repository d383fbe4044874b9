"""The formats of photos: their endings, their first bytes, and what they can hold."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePath

from PIL import features

from deshadow.photo.exif import find_entries
from deshadow.system.extras import require

RAW_ENDINGS = frozenset(
    {".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".fff", ".iiq", ".kdc", ".mef", ".mos"}
    | {".mrw", ".nef", ".nrw", ".orf", ".pef", ".raf", ".raw", ".rw2", ".rwl", ".sr2", ".srf", ".srw", ".x3f"}
)


@dataclass(frozen=True, slots=True)
class Format:
    """What a format can hold."""

    name: str
    endings: tuple[str, ...]
    """The first is the usual one."""
    lossless: bool
    """Whether a written picture is read again bit for bit."""
    deep: bool = False
    """Whether it can hold 16 bits for each channel."""
    alpha: bool = True
    cmyk: bool = False
    grey: bool = True


FORMATS = {
    each.name: each
    for each in (
        Format("JPEG", (".jpg", ".jpeg", ".jpe", ".jfif"), lossless=False, alpha=False, cmyk=True),
        Format("PNG", (".png", ".apng"), lossless=True, deep=True),
        Format("TIFF", (".tif", ".tiff"), lossless=True, deep=True, cmyk=True),
        Format("WEBP", (".webp",), lossless=False, grey=False),
        Format("AVIF", (".avif",), lossless=False),
        Format("BMP", (".bmp", ".dib"), lossless=True, alpha=False),
        Format("HEIF", (".heic", ".heif", ".hif"), lossless=False, deep=True),
    )
}
ENDINGS = {ending: each.name for each in FORMATS.values() for ending in each.endings}
WRITTEN_AS = {"RAW": "TIFF", "GIF": "PNG"}
"""Formats that are only read, and the format in which their results are written."""
GIF_ENDINGS = frozenset({".gif"})
READABLE = frozenset(ENDINGS) | RAW_ENDINGS | GIF_ENDINGS
_TITLES = {"WEBP": "WebP", "HEIF": "HEIC", "RAW": "camera raw"}

_DNG_VERSION, _KIND, _INNER = 50706, 254, 330
_HEIF_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
_RAW_BEGINNINGS = (b"FUJIFILMCCD-RAW", b"IIRO", b"IIRS", b"MMOR", b"IIU\0", b"FOVb", b"\0MRM")


def format_of(path: PurePath) -> str:
    """The format of a file to write, by its ending; ValueError says which endings can be written."""
    name = ENDINGS.get(path.suffix.lower())
    if name == "HEIF":
        require("heif", "pillow_heif")
    if name is None or not is_installed(name):
        known = ", ".join(each.endings[0] for each in FORMATS.values() if is_installed(each.name))
        raise ValueError(f"{path}: a file cannot be written with this ending; use one of {known}")
    return name


def is_installed(name: str) -> bool:
    """Whether this installation can read photos of a format."""
    match name:
        case "HEIF":
            return find_spec("pillow_heif") is not None
        case "RAW":
            return find_spec("rawpy") is not None
        case "AVIF" | "WEBP":
            return bool(features.check(name.lower()))
    return True


def name_readable() -> str:
    """The formats that this installation reads, as in "JPEG, PNG or GIF"."""
    *names, last = [_TITLES.get(name, name) for name in _list_readable()]
    return f"{', '.join(names)} or {last}"


def list_readable_endings() -> list[str]:
    """The endings of the photos that this installation reads."""
    own: dict[str, Iterable[str]] = {name: each.endings for name, each in FORMATS.items()}
    own |= {"GIF": GIF_ENDINGS, "RAW": RAW_ENDINGS}
    return sorted(ending for name in _list_readable() for ending in own[name])


def _list_readable() -> list[str]:
    return [name for name in (*FORMATS, "GIF", "RAW") if is_installed(name)]


def is_heif(data: bytes) -> bool:
    """Whether these bytes are a HEIC or HEIF photo; AVIF, which has the same container, is not."""
    if data[4:8] != b"ftyp" or data[8:12] in (b"avif", b"avis"):
        return False
    brands = {data[at : at + 4] for at in range(8, min(int.from_bytes(data[:4], "big"), 128), 4)}
    return bool(brands & _HEIF_BRANDS) and b"avif" not in brands


def is_raw(data: bytes, name: str) -> bool:
    """Whether this is the raw file of a camera; most of them look like a TIFF of their thumbnail."""
    return (
        Path(name).suffix.lower() in RAW_ENDINGS
        or data.startswith(_RAW_BEGINNINGS)
        or (data[:2] in (b"II", b"MM") and data[8:10] == b"CR")
        or data[4:12] == b"ftypcrx "
        or _is_raw_tiff(data)
    )


def _is_raw_tiff(data: bytes) -> bool:
    """Whether the first directory has the DNG tag, or is a thumbnail that points to other directories."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(data[:4])
    if order is None:
        return False
    try:
        tags, _ = find_entries(data, struct.unpack_from(f"{order}I", data, 4)[0], order)
        reduced = _KIND in tags and struct.unpack_from(f"{order}I", data, tags[_KIND] + 8)[0] == 1
    except struct.error:
        return False
    return _DNG_VERSION in tags or (reduced and _INNER in tags)
