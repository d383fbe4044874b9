"""SRD from its original download: validation scenes set aside, pictures downscaled, masks derived, shards."""

import csv
import io
import os
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.data.pairs.derive import derive_mask
from deshadow.data.pairs.find import find, list_problems
from deshadow.data.pairs.new_folder import make_new_folder
from deshadow.data.pairs.pictures import read_picture
from deshadow.data.pairs.sample import Problem, Sample
from deshadow.data.pairs.shards import PAIRS_TABLE
from deshadow.image.colour import decode_luminance
from deshadow.system.progress import track

SIDE = 512
"""Longer side to which pictures are downscaled."""
TRAIN_SHARDS = 4
"""Number of shards of the training pairs; all pairs of a scene are in one shard."""
TRAIN_QUALITY, HELD_OUT_QUALITY = 85, 95
"""Quality of WebP; the pictures that results are compared with keep more."""
COVERED = 0.004, 0.9
"""Shares of the picture between which a derived mask is used; others are empty or nearly full."""
BRIGHTER = 1.2
"""How many times brighter than its shadow the shadow-free picture must be under the mask, in linear light."""

_VALIDATION = Path(__file__).with_name("srd_validation.txt")
_COLUMNS = ("shadow", "shadow_free", "mask", "scene", "split", "shadow_fraction")


@dataclass(frozen=True, slots=True)
class Assigned:
    """A pair and the split that it belongs to."""

    sample: Sample
    split: str


@dataclass(frozen=True, slots=True)
class Encoded:
    """The files of one pair, as they are written."""

    shadow: bytes
    clean: bytes
    mask: bytes
    covered: float
    """Share of the picture under the mask."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What was prepared."""

    pairs: dict[str, int]
    """Number of pairs in each split."""
    scenes: dict[str, int]
    left_out: tuple[Problem, ...]
    missing: tuple[str, ...]
    """Validation pictures that the download does not have, or that were left out."""


@cache
def list_validation_scenes() -> tuple[tuple[str, ...], ...]:
    """The shadow pictures of SRD's training part on which we validate, by scene."""
    lines = _VALIDATION.read_text(encoding="utf-8").splitlines()
    return tuple(tuple(line.split()) for line in lines if line and not line.startswith("#"))


def prepare_srd(folder: Path, output: Path, skip_problems: bool = False) -> Summary:
    """Write the training part of SRD as train-0.tar … train-3.tar, val.tar and pairs.csv in a new folder.

    A test part in the folder is not used. Files that cannot be read end in a ValueError, unless they are to
    be skipped.
    """
    found = find(folder, skip_problems=skip_problems)
    assigned, left_out = assign_splits(found.samples)
    with make_new_folder(output, folder) as beside:
        rows: list[dict[str, str]] = []
        with ShardWriter(beside) as shards:
            for each, encoded in track(_encode_all(assigned, skip_problems), "Preparing", len(assigned)):
                if isinstance(encoded, Problem):
                    left_out.append(encoded)
                else:
                    rows.append(shards.add(each, encoded))
        splits = Counter(row["split"] for row in rows)
        if not splits["train"] or not splits["val"]:
            raise ValueError(f"too little of {folder} can be used: {list_problems(left_out, most=5)}")
        _write_table(beside / PAIRS_TABLE, rows)
    kept = {Path(row["shadow"]).stem for row in rows}
    missing = tuple(name for scene in list_validation_scenes() for name in scene if name not in kept)
    scenes = Counter(split for split, _ in {(row["split"], row["scene"]) for row in rows})
    return Summary(dict(splits), dict(scenes), (*found.problems, *left_out), missing)


def assign_splits(samples: Sequence[Sample]) -> tuple[list[Assigned], list[Problem]]:
    """The samples of the training part, each as train or val, sorted by name; and those that are left out.

    The listed pictures are val. Others of their scenes are left out, so that no scene is in both splits.
    ValueError if none of the listed pictures is here.
    """
    listed = {name for scene in list_validation_scenes() for name in scene}
    samples = sorted((each for each in samples if each.split != "test"), key=lambda each: each.name)
    held_out = {sample.scene for sample in samples if sample.name in listed}
    if not held_out:
        raise ValueError(
            f"none of the validation pictures of SRD is here ({min(listed)} and others): give the folder of "
            "the original training part, with shadow and shadow_free in it"
        )
    assigned, left_out = [], []
    for sample in samples:
        if sample.name in listed:
            assigned.append(Assigned(sample, "val"))
        elif sample.scene not in held_out:
            assigned.append(Assigned(sample, "train"))
        else:
            reason = "shows a validation scene, but is not in the list of validation pictures"
            left_out.append(Problem(str(sample.picture_file), reason))
    return assigned, left_out


class ShardWriter:
    """Writes pairs to tar shards: val.tar, and train-0.tar … train-3.tar with all pairs of a scene in one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shards: dict[str, tarfile.TarFile] = {}
        self._scenes: dict[str, dict[str, int]] = {}
        """The scenes of each split with their numbers, in the order in which they were first written."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for shard in self._shards.values():
            shard.close()

    def add(self, each: Assigned, encoded: Encoded) -> dict[str, str]:
        """Write one pair, the shadow-free picture once a scene; returns its row of pairs.csv."""
        row, scene = _make_row(each, encoded.covered), each.sample.scene
        parts = {"shadow": encoded.shadow, "mask": encoded.mask}
        scenes = self._scenes.setdefault(each.split, {})
        if scene not in scenes:
            parts["shadow_free"] = encoded.clean
        number = scenes.setdefault(scene, len(scenes))
        name = f"train-{number % TRAIN_SHARDS}" if each.split == "train" else each.split
        if name not in self._shards:
            self._shards[name] = tarfile.open(self._folder / f"{name}.tar", "w")  # noqa: SIM115
        for role, data in parts.items():
            entry = tarfile.TarInfo(row[role])
            entry.size = len(data)
            self._shards[name].addfile(entry, io.BytesIO(data))
        return row


def downscale(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(H, W, 3) → the same with its longer side at most 512, by Lanczos; never enlarged."""
    height, width = picture.shape[:2]
    scale = SIDE / max(height, width)
    if scale >= 1:
        return picture
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))


def find_flaw(picture: NDArray[np.uint8], mask: NDArray[np.uint8], clean: NDArray[np.uint8]) -> str:
    """Why a pair with its derived mask cannot be used, or nothing."""
    inside = mask > 0
    covered = float(inside.mean())
    if not COVERED[0] <= covered <= COVERED[1]:
        least, most = (f"{100 * share:g} %" for share in COVERED)
        return f"the derived mask covers {100 * covered:.1f} % of the picture, not {least} to {most}"
    light, lit = (float(decode_luminance(view)[inside].mean()) for view in (picture, clean))
    ratio = lit / max(light, 1e-6)
    if ratio < BRIGHTER:
        return f"the shadow-free picture is only {ratio:.2f} times brighter under the derived mask"
    return ""


def _encode_all(
    assigned: Sequence[Assigned], skip_problems: bool
) -> Iterator[tuple[Assigned, Encoded | Problem]]:
    pool = ThreadPoolExecutor(max_workers=os.cpu_count())
    try:
        encoding = pool.map(lambda each: _encode(each, skip_problems), assigned)
        yield from zip(assigned, encoding, strict=True)
    finally:
        pool.shutdown(cancel_futures=True)


def _encode(each: Assigned, skip_problems: bool) -> Encoded | Problem:
    sample = each.sample
    try:
        picture, clean = (downscale(read_picture(file)) for file in (sample.picture_file, sample.clean_file))
    except ValueError as error:
        if not skip_problems:
            raise
        return Problem(str(sample.picture_file), str(error))
    mask = derive_mask(picture, clean)
    if flaw := find_flaw(picture, mask, clean):
        return Problem(str(sample.picture_file), flaw)
    quality = TRAIN_QUALITY if each.split == "train" else HELD_OUT_QUALITY
    shadow, free = (_to_bytes(view, "WEBP", quality=quality, method=6) for view in (picture, clean))
    return Encoded(shadow, free, _to_bytes(mask, "PNG", optimize=True), float((mask > 0).mean()))


def _to_bytes(view: NDArray[np.uint8], kind: str, **how: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(view).save(buffer, kind, **how)
    return buffer.getvalue()


def _make_row(each: Assigned, covered: float) -> dict[str, str]:
    name, scene = each.sample.name, each.sample.scene
    values = (f"shadow/{name}.webp", f"shadow_free/{scene}.webp", f"mask/{name}.png", scene, each.split)
    return dict(zip(_COLUMNS, (*values, f"{covered:.4f}"), strict=True))


def _write_table(path: Path, rows: Sequence[dict[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
