"""One (picture, mask, clean picture) of a data set, decoded when it is asked for."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deshadow.data.pairs.derive import derive_mask
from deshadow.data.pairs.pictures import PictureFile, read_grey, read_mask, read_picture

Pixels = NDArray[np.uint8]


class Triplet(NamedTuple):
    """(H, W, 3) picture, (H, W) mask of 0 and 255, (H, W, 3) clean picture, all uint8."""

    picture: Pixels
    mask: Pixels
    clean: Pixels


@dataclass(frozen=True, slots=True)
class Sample:
    """The files of a triplet. Each access decodes them anew, so that a large set takes no memory."""

    name: str
    """Unique within its split."""
    scene: str
    """Samples of one scene show the same place; they belong into the same split."""
    split: str
    """train, test, val or the folder's own name; empty when the set has no splits."""
    picture_file: PictureFile
    clean_file: PictureFile
    mask_file: PictureFile | None
    """None if the mask is derived from the pair."""
    instance: int | None = None
    """For a set with a mask per shadow: this shadow's grey level in the mask, 0 when the mask is its own.
    The clean picture then differs from the picture only under the mask; other shadows stay in both."""
    other_files: tuple[PictureFile, ...] = ()
    """Masks of the shadows that stay, where each has a file of its own."""

    def load(self) -> Triplet:
        """The three pictures, each decoded once; ValueError names a file that cannot be decoded."""
        picture, clean = read_picture(self.picture_file), read_picture(self.clean_file)
        if self.mask_file is None:
            return Triplet(picture, derive_mask(picture, clean), clean)
        if self.instance:
            mask = np.where(read_grey(self.mask_file) == self.instance, np.uint8(255), np.uint8(0))
        else:
            mask = read_mask(self.mask_file)
        if self.instance is not None:
            clean = np.where(mask[..., None] > 0, clean, picture)
        return Triplet(picture, mask, clean)

    @property
    def others(self) -> NDArray[np.bool_] | None:
        """(H, W): the shadows that stay; None where the set does not name them."""
        if self.other_files:
            return np.asarray(np.any([read_mask(file) > 0 for file in self.other_files], axis=0))
        if not self.instance or self.mask_file is None:
            return None
        levels = read_grey(self.mask_file)
        others: NDArray[np.bool_] = (levels > 0) & (levels != self.instance)
        return others

    @property
    def picture(self) -> Pixels:
        """(H, W, 3) with the shadow."""
        return read_picture(self.picture_file)

    @property
    def mask(self) -> Pixels:
        """(H, W): 255 in the shadow, 0 outside."""
        return self.load().mask

    @property
    def clean(self) -> Pixels:
        """(H, W, 3) without the shadow."""
        return self.load().clean


@dataclass(frozen=True, slots=True)
class Problem:
    """A file of a data set that cannot be used, and why."""

    file: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"
