"""Colour profiles made of a matrix and a curve, as cameras and phones embed them."""

import struct

import numpy as np


def _profile(space: bytes, tags: dict[bytes, bytes]) -> bytes:
    at = 128 + 4 + 12 * len(tags)
    table, body = struct.pack(">I", len(tags)), b""
    for name, content in tags.items():
        content += b"\0" * (-len(content) % 4)
        table += struct.pack(">4sII", name, at + len(body), len(content))
        body += content
    head = struct.pack(">I4sI4s4s4s", at + len(body), b"lcms", 0x04300000, b"mntr", space, b"XYZ ")
    head += struct.pack(">6H4s", 2026, 1, 1, 0, 0, 0, b"acsp") + bytes(28)
    head += struct.pack(">3i", 63190, 65536, 54061)
    return head.ljust(128, b"\0") + table + body


def _text(text: str) -> bytes:
    coded = text.encode("utf-16-be")
    return struct.pack(">4sIII2s2sII", b"mluc", 0, 1, 12, b"en", b"US", len(coded), 28) + coded


def _xyz(values: np.ndarray) -> bytes:
    return struct.pack(">4sI3i", b"XYZ ", 0, *(round(65536 * float(value)) for value in values))


def _gamma(gamma: float) -> bytes:
    return struct.pack(">4sIIH", b"curv", 0, 1, round(256 * gamma))


def _parametric(*values: float) -> bytes:
    return struct.pack(f">4sIHH{len(values)}i", b"para", 0, 3, 0, *(round(65536 * value) for value in values))


def _rgb(matrix: list[list[float]], curve: bytes, name: str) -> bytes:
    """The matrix gives XYZ (D50) from linear red, green and blue."""
    columns = np.array(matrix).T
    tags = {b"desc": _text(name), b"cprt": _text("none"), b"wtpt": _xyz(np.array([0.9642, 1, 0.8249]))}
    tags |= {b"rXYZ": _xyz(columns[0]), b"gXYZ": _xyz(columns[1]), b"bXYZ": _xyz(columns[2])}
    return _profile(b"RGB ", tags | {b"rTRC": curve, b"gTRC": curve, b"bTRC": curve})


DISPLAY_P3 = _rgb(
    [[0.51512, 0.29198, 0.15710], [0.24119, 0.69225, 0.06657], [-0.00105, 0.04189, 0.78407]],
    _parametric(2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045),
    "a wide one",
)
ADOBE_RGB = _rgb(
    [[0.60974, 0.20528, 0.14919], [0.31111, 0.62567, 0.06322], [0.01947, 0.06087, 0.74457]],
    _gamma(2.19921875),
    "a green one",
)
PROPHOTO = _rgb(
    [[0.79767, 0.13519, 0.03134], [0.28804, 0.71188, 0.00009], [0.0, 0.0, 0.82491]],
    _gamma(1.8),
    "a very wide one",
)
GREY_GAMMA = _profile(
    b"GRAY",
    {
        b"desc": _text("grey"),
        b"cprt": _text("none"),
        b"wtpt": _xyz(np.array([0.9642, 1, 0.8249])),
        b"kTRC": _gamma(1.8),
    },
)
