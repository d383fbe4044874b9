"""The formats of photos: their endings, their first bytes, and what they can hold."""

import struct
from dataclasses import dataclass
from pathlib import Path

from deshadow.photo.exif import find_entries

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
READABLE = frozenset(ENDINGS) | RAW_ENDINGS

_DNG_VERSION, _KIND, _INNER = 50706, 254, 330
_HEIF_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
_RAW_BEGINNINGS = (b"FUJIFILMCCD-RAW", b"IIRO", b"IIRS", b"MMOR", b"IIU\0", b"FOVb", b"\0MRM")


def format_of(path: Path) -> str:
    """The format of a file by its ending; ValueError lists the endings that can be written."""
    name = ENDINGS.get(path.suffix.lower())
    if name is None:
        known = ", ".join(each.endings[0] for each in FORMATS.values())
        raise ValueError(f"{path}: unknown file ending; use one of {known}")
    return name


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
