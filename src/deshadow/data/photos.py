"""Photos for a detector: with masks of all their shadows but no shadow-free picture, or without shadows."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from deshadow.data.synth.banks import decode_picture, picture_files
from deshadow.image.masks import scale_mask

HEIGHT, WIDTH = 384, 512
"""Size to which photos are resized; portrait photos are turned first."""


class Photos(NamedTuple):
    """Photos (N, 3, H, W) of 8 bits, and where (N, 1, H, W) bool they lie in shadow."""

    picture: Tensor
    mask: Tensor


class SplitPhotos(NamedTuple):
    """Photos to train on, and photos that are held out for validation."""

    train: Photos
    held_out: Photos

    def to(self, device: torch.device) -> "SplitPhotos":
        """The same on a device."""
        return SplitPhotos(*(Photos(*(view.to(device) for view in photos)) for photos in self))


def load_masked_photos(source: Path, held_out: int) -> SplitPhotos:
    """The photos of a folder or tar, in its folders `shadow` and `mask`, of which `held_out` are held out."""
    pictures: dict[str, bytes] = {}
    masks: dict[str, bytes] = {}
    for name, data in picture_files(source):
        path = PurePosixPath(name)
        if path.parent.name in ("shadow", "mask"):
            (pictures if path.parent.name == "shadow" else masks)[path.stem] = data
    if alone := sorted(pictures.keys() ^ masks.keys()):
        raise ValueError(f"{source} has a photo or a mask alone: {', '.join(alone[:3])}; both need one name")
    if not pictures:
        raise ValueError(f"{source} holds no photos in a folder shadow/ with masks in mask/")
    check_several(source, len(pictures))
    return SplitPhotos(
        *(
            stack_photos(source, {name: pictures[name] for name in names}, masks)
            for names in split_names(list(pictures), held_out)
        )
    )


def load_lit_photos(source: Path, held_out: int) -> SplitPhotos:
    """The photos of a folder or tar, which show no shadows, of which `held_out` are held out."""
    files = dict(picture_files(source))
    if not files:
        raise ValueError(f"{source} holds no pictures")
    check_several(source, len(files))
    return SplitPhotos(
        *(
            stack_photos(source, {name: files[name] for name in names}, {})
            for names in split_names(list(files), held_out)
        )
    )


def check_several(source: Path, count: int) -> None:
    """Refuse a single photo."""
    if count < 2:
        raise ValueError(
            f"{source} holds one photo, but one is needed to train on and another to validate on"
        )


def split_names(names: Sequence[str], held_out: int) -> tuple[list[str], list[str]]:
    """The names to train on, and those held out: those with the smallest hashes, half of all at most."""
    ranked = sorted(names, key=lambda name: hashlib.sha256(PurePosixPath(name).stem.encode()).digest())
    count = min(held_out, len(names) // 2)
    return sorted(ranked[count:]), sorted(ranked[:count])


def stack_photos(source: Path, pictures: Mapping[str, bytes], masks: Mapping[str, bytes]) -> Photos:
    """Photos with their masks; a photo without a mask has an empty one."""
    found = np.zeros((len(pictures), HEIGHT, WIDTH, 3), np.uint8)
    shadows = np.zeros((len(pictures), HEIGHT, WIDTH), bool)
    for place, (name, data) in enumerate(pictures.items()):
        picture = decode_picture(source, name, data).convert("RGB")
        turn = picture.height > picture.width
        found[place] = fit_photo(picture, turn=turn)
        if name in masks:
            values = scale_mask(np.asarray(decode_picture(source, name, masks[name]).convert("L")))
            shadows[place] = fit_photo(Image.fromarray(values), turn=turn) > 0.5
    return Photos(torch.from_numpy(found).permute(0, 3, 1, 2), torch.from_numpy(shadows)[:, None])


def fit_photo(picture: Image.Image, *, turn: bool) -> np.ndarray:
    """A photo or mask at the common size, turned by a quarter first if asked to."""
    turned = picture.transpose(Image.Transpose.ROTATE_90) if turn else picture
    return np.asarray(turned.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC))
