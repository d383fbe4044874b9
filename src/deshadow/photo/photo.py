"""A photo: the code values of its file, its metadata, and the sRGB pixels that networks see."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deshadow.image.strips import ComputedPicture, Picture, find_span, for_each_strip
from deshadow.photo.profile import PLAIN, Profile, open_profile

Codes = NDArray[Any]
"""uint8 or uint16."""
Floats = NDArray[np.float32]


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

    @property
    def picture(self) -> ComputedPicture:
        """(H, W, 3) sRGB in [0, 1]: what the networks see, computed where it is read."""

        def see(rows: slice, columns: slice) -> Floats:
            codes = self.codes[rows, columns]
            return self._seen(codes.reshape(-1, codes.shape[2])).reshape(*codes.shape[:2], 3)

        return ComputedPicture((self.height, self.width, 3), see)

    @cached_property
    def pixels(self) -> Floats:
        """(H, W, 3) sRGB in [0, 1]: all of the picture that the networks see."""
        return np.asarray(self.picture)

    def composite(self, result: Picture, weight: Floats) -> "Photo":
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

        def mix(rows: slice) -> None:
            columns = find_span(np.any(weight[rows] > 0, axis=0))
            if columns is None:
                return
            part = codes[rows, columns]
            old = part.reshape(-1, codes.shape[2])
            new = np.asarray(result[rows, columns], np.float32).reshape(-1, 3).clip(0, 1)
            share = weight[rows, columns].reshape(-1, 1).astype(np.float32, copy=False).clip(0, 1)
            part[:] = self._mix(old, new, share).reshape(part.shape)

        for_each_strip(mix, self.height, self.width)
        return replace(self, codes=codes)

    def _mix(self, old: Codes, new: Floats, share: Floats) -> Codes:
        """(N, C) code values, (N, 3) sRGB and (N, 1) → (N, C): the code values mixed with the new colours."""
        if self._is_plain:  # without a profile the two ways are the identity
            changed = old + share * (new * np.float32(self.top) - old)
        else:
            touched = share[:, 0] > 0
            before = old[touched]
            own, seen = self._unit(before), self._seen(before)
            profile = self._profile
            change = np.subtract(profile.from_srgb(new[touched], own), profile.from_srgb(seen, own))
            changed = old.astype(np.float32)
            changed[touched] += share[touched] * (change * self.top)
        return changed.round().clip(0, self.top).astype(old.dtype)

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
