"""The folder layouts in which shadow data sets are published: which folder plays which part."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Layout = Literal["csv", "istd", "aistd", "desoba", "srd", "plain"]

# Folder names in lower case, the usual one first.
_SHADOW = ("shadow", "shadows", "shadow_image", "shadow_images", "input", "origin")
_CLEAN = ("shadow_free", "shadowfree", "shadow-free", "no_shadow", "free", "clean", "gt", "target")
_MASK = ("mask", "masks", "shadow_mask", "shadow_masks")
_SRD_ENDINGS = ("_no_shadow", "_free")


@dataclass(frozen=True, slots=True)
class Parts:
    """The folders of one split."""

    split: str
    shadow: Path
    clean: Path
    mask: Path | None
    names: Path | None = None
    """A text file that lists the pictures of this split, where one folder holds all splits."""
    instances: Path | None = None
    """A folder of each shadow's own mask, where some shadows stay."""
    flaw: str = ""
    """Why this split cannot be read as this layout, and what to do."""


def istd_parts(folder: Path) -> list[Parts]:
    """train_A (shadow), train_B (mask), train_C (clean), the same for test; also inside train/ and test/."""
    return [
        Parts(split, shadow, clean, mask)
        for split, shadow, mask, clean, _ in _lettered(folder)
        if clean is not None
    ]


def aistd_parts(folder: Path) -> list[Parts]:
    """As ISTD, the clean pictures in train_C_fixed_official, test_C_fixed_ours or the like."""
    splits = _lettered(folder)
    if not any(fixed for *_, fixed in splits):
        return []
    found = []
    for split, shadow, mask, clean, fixed in splits:
        if fixed is not None:
            found.append(Parts(split, shadow, fixed, mask))
        elif clean is not None:
            # Read as AISTD, unadjusted pictures would give figures that pass for what they are not.
            flaw = (
                f"{clean} has no adjusted pictures beside it ({clean.name}_fixed_…): choose another split, "
                "or layout istd to read it as it is, or make them with deshadow data adjust"
            )
            found.append(Parts(split, shadow, clean, mask, flaw=flaw))
    return found


def _lettered(folder: Path) -> list[tuple[str, Path, Path | None, Path | None, Path | None]]:
    """(split, A, B, C, C_fixed…) of every split."""
    found = []
    for place in _places(folder, lambda names: any(name.endswith("_a") for name in names)):
        names = _subfolders(place)
        for stem in (name.removesuffix("_a") for name in names if name.endswith("_a")):
            fixed = sorted(
                (name for name in names if name.startswith(f"{stem}_c_")),
                key=lambda name: ("official" not in name, name),
            )
            clean, adjusted = names.get(f"{stem}_c"), names[fixed[0]] if fixed else None
            if clean or adjusted:
                found.append((_split(stem), names[f"{stem}_a"], names.get(f"{stem}_b"), clean, adjusted))
    return found


def desoba_parts(folder: Path) -> list[Parts]:
    """ShadowImage, DeshadowedImage, ShadowMask, with Training_labels.txt and Testing_labels.txt beside."""
    found = []
    for place in _places(folder, lambda names: {"shadowimage", "deshadowedimage", "shadowmask"} <= names):
        names = _subfolders(place)
        folders = (names["shadowimage"], names["deshadowedimage"], names["shadowmask"])
        lists = {_split(path.stem): path for path in sorted(place.glob("*.txt")) if _NAMED.search(path.stem)}
        found += [Parts(split, *folders, names=path) for split, path in lists.items()]
        if not lists:
            found.append(Parts(_split_of(place, folder), *folders))
    return found


def plain_parts(folder: Path) -> list[Parts]:
    """shadow/, shadow_free/ and, if it is there, mask/; also inside train/ and test/ or the like."""

    def fits(names: set[str]) -> bool:
        return not names.isdisjoint(_SHADOW) and not names.isdisjoint(_CLEAN)

    found = []
    for place in _places(folder, fits):
        names = _subfolders(place)
        shadow = next(names[name] for name in _SHADOW if name in names)
        clean = next(names[name] for name in _CLEAN if name in names)
        split, mask = _split_of(place, folder), _mask_folder(place, names)
        found.append(Parts(split, shadow, clean, mask, instances=names.get("instances")))
    return found


def srd_parts(folder: Path) -> list[Parts]:
    """As plain, the clean pictures named IMG_1_no_shadow.jpg (train) and IMG_1_free.jpg (test)."""
    parts = plain_parts(folder)
    marked = any(path.stem.endswith(_SRD_ENDINGS) for part in parts for path in part.clean.iterdir())
    return parts if marked else []


def _mask_folder(place: Path, names: dict[str, Path]) -> Path | None:
    """The folder of masks: by its usual name, or the only one with "mask" in it (testmask, mask_new, …)."""
    for name in _MASK:
        if name in names:
            return names[name]
    others = [path for name, path in sorted(names.items()) if "mask" in name and "instance" not in name]
    if len(others) > 1:
        raise ValueError(
            f"{place} has several folders of masks ({', '.join(path.name for path in others)}); "
            "rename the one to use to mask"
        )
    return others[0] if others else None


_NAMED = re.compile("(?<![a-z])(train|test|val)", re.IGNORECASE)


def _split(text: str) -> str:
    """train, test or val where the text has one of these words, otherwise the text in lower case."""
    word = _NAMED.search(text)
    return word.group().lower() if word else text.lower()


def _split_of(place: Path, folder: Path) -> str:
    return "" if place == folder else _split(place.relative_to(folder).as_posix())


def _subfolders(place: Path) -> dict[str, Path]:
    """The folders in a folder by their name in lower case; none where one may not look."""
    try:
        with os.scandir(place) as entries:  # which knows the folders without asking for every file
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except PermissionError:
        return {}
    return {name.lower(): place / name for name in names}


def _places(folder: Path, fits: Callable[[set[str]], bool], depth: int = 2) -> Iterator[Path]:
    """The folder if it fits, otherwise those below it that do: SRD/Train, SRD_Train/Train, …"""
    names = _subfolders(folder)
    if fits(set(names)):
        yield folder
    elif depth:
        for name, path in names.items():
            if not name.startswith("."):
                yield from _places(path, fits, depth - 1)
