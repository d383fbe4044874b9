"""A photo: the code values of its file, its metadata, and the sRGB pixels that networks see."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deshadow.photo.profile import PLAIN, Profile, open_profile

Codes = NDArray[Any]
"""uint8 or uint16."""
Floats = NDArray[np.float32]
_BLOCK = 1 << 16  # pixels processed at once, so that intermediate arrays stay in the processor's cache


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the file of a photo contains besides its pixels."""

    exif: bytes = b""
    xmp: bytes = b""
    icc: bytes = b""
    dpi: tuple[float, float] | None = None
    comment: bytes = b""
    segments: bytes = b""
    """Of a JPEG: the segments of IPTC and of a long XMP, as in the file."""
    chunks: tuple[tuple[bytes, bytes], ...] = ()
    """Of a PNG: text, gamma and the like."""


@dataclass(frozen=True, slots=True)
class Coding:
    """How the file was encoded, so that the result can be encoded alike."""

    tables: tuple[tuple[int, ...], ...] = ()
    """Quantisation tables of a JPEG."""
    subsampling: int = -1
    progressive: bool = False
    plain_rgb: bool = False
    """A JPEG that stores red, green and blue themselves."""
    lossless: bool = False
    packed: bool = True


@dataclass(frozen=True, eq=False)
class Photo:
    """A photo as displayed: upright, and only its first frame."""

    codes: Codes
    """(H, W, C): C is 1 for grey, 3 for colour, 4 for CMYK. Do not change them in place."""
    alpha: Codes | None
    """(H, W) of the same bit depth, or None."""
    format: str
    """JPEG, PNG, TIFF, WEBP, AVIF, BMP, GIF, HEIF or RAW."""
    metadata: Metadata = field(default_factory=Metadata, repr=False)
    coding: Coding = field(default_factory=Coding, repr=False)
    notes: tuple[str, ...] = ()
    """Sentences for the user, for instance that only the first frame was read."""

    @property
    def height(self) -> int:
        """In pixels, as displayed."""
        return int(self.codes.shape[0])

    @property
    def width(self) -> int:
        """In pixels, as displayed."""
        return int(self.codes.shape[1])

    @property
    def top(self) -> int:
        """The code value of white: 255 or 65535."""
        return int(np.iinfo(self.codes.dtype).max)

    @cached_property
    def pixels(self) -> Floats:
        """(H, W, 3) sRGB in [0, 1]: what the networks see."""
        pixels = np.empty((self.height, self.width, 3), np.float32)
        for rows in self._blocks():
            pixels[rows] = self._seen(self.codes[rows].reshape(-1, self.codes.shape[2])).reshape(
                -1, self.width, 3
            )
        return pixels

    def composite(self, result: Floats, weight: Floats) -> "Photo":
        """The photo with a result (H, W, 3), sRGB in [0, 1], over it, mixed by a weight (H, W) in [0, 1].

        Where the weight is 0 the code values stay as they are. Elsewhere the change from the photo to the
        result is converted to the photo's profile and added. So colours outside sRGB are kept, and a result
        equal to the photo changes no code value.
        """
        if result.shape != (self.height, self.width, 3) or weight.shape != (self.height, self.width):
            raise ValueError(
                f"the result {result.shape} and its weight {weight.shape} do not fit a photo of "
                f"{self.height} × {self.width}"
            )
        codes = self.codes.copy()
        for rows in self._blocks():
            touched = weight[rows] > 0
            if not touched.any():
                continue
            part = codes[rows]
            share = weight[rows][touched].astype(np.float32).clip(0, 1)[:, None]
            old = part[touched]
            new = result[rows][touched].astype(np.float32).clip(0, 1)
            if self._is_plain:  # without a profile the two ways are the identity
                changed = old + share * (new * self.top - old)
            else:
                own, seen = self._unit(old), self._seen(old)
                profile = self._profile
                change = np.subtract(profile.from_srgb(new, own), profile.from_srgb(seen, own))
                changed = old + share * (change * self.top)
            part[touched] = changed.round().clip(0, self.top).astype(codes.dtype)
        return replace(self, codes=codes)

    @property
    def _profile(self) -> Profile:
        return open_profile(self.metadata.icc, self.codes.shape[2])

    @property
    def _is_plain(self) -> bool:
        return self._profile is PLAIN

    def _seen(self, codes: Codes) -> Floats:
        """(N, C) code values → (N, 3) sRGB."""
        return self._profile.to_srgb(self._unit(codes)).clip(0, 1)

    def _unit(self, codes: Codes) -> Floats:
        return np.divide(codes, self.top, dtype=np.float32)

    def _blocks(self) -> Iterator[slice]:
        step = max(1, _BLOCK // self.width)
        return (slice(top, top + step) for top in range(0, self.height, step))
