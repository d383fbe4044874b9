"""Colour profiles: convert the code values of a photo to sRGB, which the networks see, and back.

Profiles of a matrix and curves (sRGB, Display P3, Adobe RGB, ProPhoto, grey) are computed here in floats, at
any bit depth; profiles of tables (CMYK, scanners) are left to LittleCMS, which Pillow has at 8 bits.
"""

import io
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms

from deshadow.image.colour import LUMINANCE, srgb_to_linear

Floats = NDArray[np.float32]
_GRID = 65535
# sRGB's primaries adapted to D50, the white of the profiles' connection space (IEC 61966-2-1, Bradford).
_XYZ_FROM_SRGB = np.array(
    [
        [0.4360747, 0.3850649, 0.1430804],
        [0.2225045, 0.7168786, 0.0606169],
        [0.0139322, 0.0971045, 0.7141733],
    ]
)


@dataclass(frozen=True, slots=True)
class Profile:
    """Two functions of pixels (N, C) in [0, 1]: from the C channels of a photo to sRGB, and back."""

    to_srgb: Callable[[Floats], Floats]
    from_srgb: Callable[[Floats, Floats], Floats]
    """(N, 3) sRGB, and the (N, C) values before, of which CMYK keeps the black."""


PLAIN = Profile(lambda codes: codes, lambda new, _: new)
"""sRGB itself."""


@lru_cache(maxsize=16)
def open_profile(icc: bytes, channels: int) -> Profile:
    """The profile of a photo of 1, 3 or 4 (CMYK) channels; sRGB if there is none or it does not fit."""
    space = {1: b"GRAY", 3: b"RGB ", 4: b"CMYK"}[channels]
    if icc[16:20] != space:
        return {1: _plain_grey(), 3: PLAIN, 4: _NAIVE}[channels]
    tags = _read_tags(icc)
    try:
        if channels == 1 and b"kTRC" in tags:
            return _grey(_curve(tags[b"kTRC"]))
        if channels == 3 and b"A2B0" not in tags and {b"rXYZ", b"gXYZ", b"bXYZ", b"rTRC"} <= set(tags):
            return _matrix(tags)
        return _from_tables(icc, {1: "L", 3: "RGB", 4: "CMYK"}[channels])
    except (struct.error, KeyError, ValueError, ImageCms.PyCMSError, np.linalg.LinAlgError, OSError):
        return open_profile(b"", channels)  # damaged: viewers show such a photo as sRGB


def _matrix(tags: dict[bytes, bytes]) -> Profile:
    xyz = np.array([struct.unpack(">3i", tags[name][8:20]) for name in (b"rXYZ", b"gXYZ", b"bXYZ")]).T / 65536
    forward = (np.linalg.inv(_XYZ_FROM_SRGB) @ xyz).astype(np.float32)
    back = np.linalg.inv(forward.astype(np.float64)).astype(np.float32)
    curves = [_curve(tags.get(name, tags[b"rTRC"])) for name in (b"rTRC", b"gTRC", b"bTRC")]
    inverses = [_inverse(curve) for curve in curves]

    def to_srgb(codes: Floats) -> Floats:
        light = np.stack([_look_up(curve, codes[:, i]) for i, curve in enumerate(curves)], axis=1)
        return _encode(_mix(light, forward))

    def from_srgb(new: Floats, _: Floats) -> Floats:
        light = _mix(_look_up(_srgb_table(), new), back)
        roots = np.sqrt(np.clip(light, 0, 1))
        return np.stack([_look_up(inverse, roots[:, i]) for i, inverse in enumerate(inverses)], axis=1)

    steps = np.linspace(0, 1, 9, dtype=np.float32)
    cube = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    if np.abs(to_srgb(cube) - cube).max() < 1 / 255:  # sRGB by another name
        return PLAIN
    return Profile(to_srgb, from_srgb)


def _grey(curve: Floats) -> Profile:
    inverse = _inverse(curve)

    def to_srgb(codes: Floats) -> Floats:
        grey = codes if curve is _srgb_table() else _encode(_look_up(curve, codes))
        return np.repeat(grey, 3, axis=1)

    def from_srgb(new: Floats, _: Floats) -> Floats:
        light = _mix(_look_up(_srgb_table(), new), np.array([LUMINANCE], np.float32))
        return _look_up(inverse, np.sqrt(np.clip(light, 0, 1)))

    return Profile(to_srgb, from_srgb)


@lru_cache(maxsize=1)
def _plain_grey() -> Profile:
    return _grey(_srgb_table())


def _from_tables(icc: bytes, mode: Any) -> Profile:
    own, srgb = ImageCms.ImageCmsProfile(io.BytesIO(icc)), ImageCms.createProfile("sRGB")
    intent, flags = ImageCms.Intent.RELATIVE_COLORIMETRIC, ImageCms.Flags.BLACKPOINTCOMPENSATION
    forward = ImageCms.buildTransform(own, srgb, mode, "RGB", intent, flags)
    back = ImageCms.buildTransform(srgb, own, "RGB", mode, intent, flags)

    def convert(transform: ImageCms.ImageCmsTransform, values: Floats) -> Floats:
        codes = (values.clip(0, 1) * 255).round().astype(np.uint8)
        image = Image.frombytes(transform.input_mode, (len(codes), 1), codes.tobytes())
        done: Floats = np.asarray(ImageCms.applyTransform(image, transform)).astype(np.float32)
        return done.reshape(len(codes), -1) / np.float32(255)

    return Profile(lambda codes: convert(forward, codes), lambda new, _: convert(back, new))


def _naive_to_srgb(inks: Floats) -> Floats:
    light: Floats = (1 - inks[:, :3]) * (1 - inks[:, 3:])
    return light


def _naive_from_srgb(new: Floats, inks: Floats) -> Floats:
    """CMYK with the black that it had before, unless that is too dark for the new colour."""
    black = np.minimum(inks[:, 3], 1 - new.max(axis=1))[:, None].clip(0, 1)
    rest = 1 - new / np.maximum(1 - black, 1e-6)
    return np.concatenate([rest.clip(0, 1), black], axis=1).astype(np.float32)


_NAIVE = Profile(_naive_to_srgb, _naive_from_srgb)


def _read_tags(icc: bytes) -> dict[bytes, bytes]:
    try:
        (count,) = struct.unpack_from(">I", icc, 128)
        places = [struct.unpack_from(">4sII", icc, 132 + 12 * index) for index in range(min(count, 200))]
    except struct.error:
        return {}
    return {name: icc[offset : offset + size] for name, offset, size in places}


def _curve(tag: bytes) -> Floats:
    """A curve of a profile (ICC.1:2010, 10.5 and 10.15): linear light at each step of the grid."""
    x = np.arange(_GRID + 1) / _GRID
    if tag[:4] == b"curv":
        (count,) = struct.unpack_from(">I", tag, 8)
        if count == 0:
            y = x
        elif count == 1:
            y = x ** (struct.unpack_from(">H", tag, 12)[0] / 256)
        else:
            points = np.frombuffer(tag, ">u2", count, 12) / 65535
            y = np.interp(x, np.linspace(0, 1, count), points)
    elif tag[:4] == b"para":
        (kind,) = struct.unpack_from(">H", tag, 8)
        length = {0: 1, 1: 3, 2: 4, 3: 5, 4: 7}[kind]
        given = [value / 65536 for value in struct.unpack_from(f">{length}i", tag, 12)]
        g, a, b, c, d, e, f = _parameters(kind, given)
        y = np.where(x >= d, np.maximum(a * x + b, 0) ** g + e, c * x + f)
    else:
        raise ValueError("unknown type of curve")
    return np.clip(y, 0, 1).astype(np.float32)


def _parameters(kind: int, given: list[float]) -> list[float]:
    """g, a, b, c, d, e, f of the fullest parametric curve: (ax + b)^g + e from d on, cx + f before."""
    match kind:
        case 0:
            return [given[0], 1, 0, 0, 0, 0, 0]
        case 1:
            g, a, b = given
            return [g, a, b, 0, -b / a, 0, 0]
        case 2:
            g, a, b, c = given
            return [g, a, b, 0, -b / a, c, c]
        case 3:
            return [*given, 0, 0]
    return given


def _inverse(curve: Floats) -> Floats:
    """A table of codes over the square root of light: even steps of that are fine enough in the dark."""
    light = (np.arange(_GRID + 1) / _GRID) ** 2
    rising = np.maximum.accumulate(curve.astype(np.float64))
    return np.interp(light, rising, np.arange(_GRID + 1) / _GRID).astype(np.float32)


def _mix(light: Floats, matrix: Floats) -> Floats:
    """(N, 3) times a matrix; as sums, since the threads of BLAS wait for each other on busy cores."""
    return np.stack([light[:, 0] * r + light[:, 1] * g + light[:, 2] * b for r, g, b in matrix], axis=1)


def _look_up(table: Floats, values: Floats) -> Floats:
    places = values * np.float32(_GRID)
    places += np.float32(0.5)
    return table.take(places.astype(np.int32), mode="clip")


def _encode(light: Floats) -> Floats:
    return _look_up(_srgb_inverse(), np.sqrt(np.clip(light, 0, 1)))


@lru_cache(maxsize=1)
def _srgb_table() -> Floats:
    return srgb_to_linear(np.arange(_GRID + 1) / _GRID).astype(np.float32)


@lru_cache(maxsize=1)
def _srgb_inverse() -> Floats:
    return _inverse(_srgb_table())
