"""Resets the orientation in EXIF and XMP; all other bytes stay as they are."""

import re
import struct

ORIENTATION = 0x0112
_EXIF_FOLDER = 0x8769
_WIDTH, _HEIGHT = 0xA002, 0xA003
_PREFIX = b"Exif\0\0"
# Tags about how the pixels are stored in the file.
STRUCTURE = frozenset(
    {*range(254, 260), 262, 263, 266, 273, ORIENTATION, *range(277, 282), 284, *range(288, 294), 301}
    | {*range(317, 326), 330, 332, 336, *range(338, 343), 347, *range(512, 533), 700, 34675}
)


def reset_orientation(exif: bytes, sideways: bool) -> bytes:
    """The EXIF block of a picture that has been turned upright.

    It is patched in place, since writing it anew would break the offsets inside maker notes: the orientation
    becomes 1, width and height are swapped if the picture lay on its side, and the thumbnail, which shows the
    picture before, is unlinked.
    """
    data, start = bytearray(exif), len(_PREFIX) if exif.startswith(_PREFIX) else 0
    order = {b"II": "<", b"MM": ">"}.get(bytes(data[start : start + 2]))
    if order is None:
        return exif
    try:
        first = start + struct.unpack_from(f"{order}I", data, start + 4)[0]
        outer, end = find_entries(data, first, order)
        if end + 4 <= len(data):  # some blocks end without the offset of a next directory
            struct.pack_into(f"{order}I", data, end, 0)
        if ORIENTATION in outer:
            struct.pack_into(f"{order}H", data, outer[ORIENTATION] + 8, 1)
        if sideways and _EXIF_FOLDER in outer:
            folder = start + struct.unpack_from(f"{order}I", data, outer[_EXIF_FOLDER] + 8)[0]
            inner, _ = find_entries(data, folder, order)
            if _WIDTH in inner and _HEIGHT in inner:
                width, height = (slice(inner[tag] + 2, inner[tag] + 12) for tag in (_WIDTH, _HEIGHT))
                data[width], data[height] = data[height], data[width]
    except struct.error:  # an entry points outside the block
        return exif
    return bytes(data)


def reset_xmp_orientation(xmp: bytes) -> bytes:
    """XMP with its orientation set to 1; its length does not change."""
    return re.sub(rb'(tiff:Orientation(?:="|=\'|>))[2-8]', rb"\g<1>1", xmp)


def find_entries(data: bytes | bytearray, at: int, order: str) -> tuple[dict[int, int], int]:
    """Positions of the entries of a TIFF directory by tag, and of the offset of the next directory."""
    (count,) = struct.unpack_from(f"{order}H", data, at)
    places = {
        struct.unpack_from(f"{order}H", data, place)[0]: place
        for place in range(at + 2, at + 2 + 12 * count, 12)
    }
    return places, at + 2 + 12 * count
