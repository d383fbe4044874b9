"""Finding the pairs of a data set in a folder, whatever its layout."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, get_args

from deshadow.data.pairs import layouts
from deshadow.data.pairs.folders import read_folders, read_instances
from deshadow.data.pairs.layouts import Layout, Parts
from deshadow.data.pairs.pictures import PictureFile, picture_size
from deshadow.data.pairs.sample import Problem, Sample, Triplet
from deshadow.data.pairs.shards import PAIRS_TABLE, read_rows, read_table

__all__ = ["Layout", "PairSet", "Problem", "Sample", "Triplet", "find", "list_problems", "pick_evenly"]

Item = TypeVar("Item")

_PARTS = {
    "istd": (layouts.istd_parts, "train_A, train_B and train_C, or the same for test"),
    "aistd": (layouts.aistd_parts, "train_A, train_B and train_C_fixed_official, or the same for test"),
    "desoba": (layouts.desoba_parts, "ShadowImage, DeshadowedImage and ShadowMask"),
    "srd": (layouts.srd_parts, "shadow and shadow_free, there with _free or _no_shadow behind the names"),
    "plain": (layouts.plain_parts, "shadow and shadow_free (mask is welcome)"),
}
# All families are tried; within a family the first layout that fits wins.
_FAMILIES: tuple[tuple[Layout, ...], ...] = (("aistd", "istd"), ("desoba",), ("srd", "plain"))


@dataclass(frozen=True, slots=True)
class PairSet:
    """The samples of a folder, and the files that were left out."""

    folder: Path
    layout: Layout
    samples: tuple[Sample, ...]
    problems: tuple[Problem, ...]
    """Pairs of different size, files that cannot be read, names without a partner."""
    absent: int
    """Rows of pairs.csv of which no file is here: their shard was not fetched."""

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def __getitem__(self, index: int) -> Sample:
        return self.samples[index]


def find(
    folder: Path | str,
    split: str | None = None,
    layout: Layout | None = None,
    skip_problems: bool = False,
) -> PairSet:
    """Find the pairs of a data set: of one split or of all, its layout recognised unless it is named.

    Headers are read, pixels are not. Problems end in one ValueError that lists them, unless they are to be
    skipped; then they are found in the result.
    """
    folder = Path(folder)
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise ValueError(f"{folder} {what}: give the folder of the data set")
    if layout is not None and layout not in get_args(Layout):
        raise ValueError(f"unknown layout {layout!r}: choose from {', '.join(get_args(Layout))}")
    absent = 0
    if layout == "csv" or (layout is None and (folder / PAIRS_TABLE).is_file()):
        layout = "csv"
        samples, problems, absent = _read_csv(folder, split)
    else:
        layout, parts = _recognise(folder, layout)
        samples, problems = _read_parts(_choose(parts, split, folder), layout)
    samples, unusable = _check(samples)
    problems += unusable
    if problems and not skip_problems:
        raise ValueError(
            f"{list_problems(problems, most=5)} (in {folder}; mend them, or skip them with --skip-problems "
            "on the command line, skip_problems=True in Python)"
        )
    if not samples:
        raise ValueError(_why_empty(folder, split, problems, absent))
    return PairSet(folder, layout, tuple(samples), tuple(problems), absent)


def list_problems(problems: Iterable[Problem], most: int) -> str:
    """One sentence that counts the problems and names the first of them."""
    lines = [str(problem) for problem in problems]
    head = f"{len(lines):,} problem{'s' if len(lines) > 1 else ''}: {'; '.join(lines[:most])}"
    return f"{head}; and {len(lines) - most:,} more" if len(lines) > most else head


def _recognise(folder: Path, layout: Layout | None) -> tuple[Layout, list[Parts]]:
    if layout is not None:
        look_for, expected = _PARTS[layout]
        parts = look_for(folder)
        if not parts:
            raise ValueError(f"{folder} is not laid out as {layout}: expected the folders {expected}")
        return layout, parts
    found: list[tuple[Layout, list[Parts]]] = []
    for family in _FAMILIES:
        fitting = ((name, _PARTS[name][0](folder)) for name in family)
        found += [(name, parts) for name, parts in fitting if parts][:1]
    if not found:
        raise ValueError(
            f"{folder} holds no data set that is recognised: expected pairs.csv, or the folders "
            f"{'; or '.join(_PARTS[name][1] for name in ('plain', 'istd', 'desoba'))}; up to two folders down"
        )
    if len(found) > 1:
        names = " and ".join(name for name, _ in found)
        raise ValueError(
            f"{folder} holds several data sets ({names}): give the folder of one, or name a layout"
        )
    return found[0]


def _choose(parts: list[Parts], split: str | None, folder: Path) -> list[Parts]:
    names = [part.split for part in parts]
    twice = next((part for part in parts if names.count(part.split) > 1), None)
    if twice:
        places = ", ".join(str(part.shadow) for part in parts if part.split == twice.split)
        raise ValueError(f"{folder} holds several data sets ({places}): give the folder of one")
    _check_split(split, names, folder)
    chosen = [part for part in parts if split in (None, part.split)]
    if flawed := next((part for part in chosen if part.flaw), None):
        raise ValueError(flawed.flaw)
    return chosen


def _check_split(split: str | None, names: Iterable[str], folder: Path) -> None:
    known = sorted({name for name in names if name})
    if split is not None and split not in known:
        has = f"it has {', '.join(known)}" if known else "it has no splits, so leave the split out"
        raise ValueError(f"no split {split!r} in {folder}: {has}")


def _read_parts(parts: list[Parts], layout: Layout) -> tuple[list[Sample], list[Problem]]:
    samples: list[Sample] = []
    problems: list[Problem] = []
    for part in parts:
        found = read_instances(part) if layout == "desoba" else read_folders(part)
        samples += found[0]
        problems += found[1]
    return samples, problems


def _read_csv(folder: Path, split: str | None) -> tuple[list[Sample], list[Problem], int]:
    if not (folder / PAIRS_TABLE).is_file():
        raise ValueError(f"{folder} has no {PAIRS_TABLE}")
    rows = read_rows(folder)
    _check_split(split, (row.get("split", "") for row in rows), folder)
    return read_table(folder, [row for row in rows if split in (None, row.get("split"))])


def _check(samples: list[Sample]) -> tuple[list[Sample], list[Problem]]:
    """The samples whose files can be read and agree in size, and the problems of the others."""
    sizes: dict[PictureFile, tuple[int, int] | None] = {}
    problems: list[Problem] = []

    def size(source: PictureFile) -> tuple[int, int] | None:
        if source not in sizes:
            try:
                sizes[source] = picture_size(source)
            except ValueError as error:
                sizes[source] = None
                problems.append(Problem(str(source), str(error)))
        return sizes[source]

    good = []
    for sample in samples:
        picture = size(sample.picture_file)
        files = (sample.clean_file, sample.mask_file, *sample.other_files)
        others = {file: size(file) for file in files if file is not None}
        if picture is None or None in others.values():
            continue
        odd = next(((file, found) for file, found in others.items() if found != picture), None)
        if odd is None:
            good.append(sample)
            continue
        assert odd[1] is not None
        reason = f"{_text(picture)}, but {odd[0]} is {_text(odd[1])}"
        problems.append(Problem(str(sample.picture_file), reason))
    return good, list(dict.fromkeys(problems))  # a picture with many instances has one problem


def _text(size: tuple[int, int]) -> str:
    return f"{size[0]} × {size[1]}"


def _why_empty(folder: Path, split: str | None, problems: list[Problem], absent: int) -> str:
    which = f"the split {split!r} of {folder}" if split else str(folder)
    if problems:
        return f"nothing in {which} can be used: {list_problems(problems, most=5)}"
    if absent:
        return f"no picture of {which} is here: fetch the tar shards that hold its {absent:,} rows"
    return f"{which} holds no pictures"


def pick_evenly(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many of the items, evenly spaced from the first to the last."""
    if len(items) <= most:
        return list(items)
    return [items[round(k * (len(items) - 1) / max(1, most - 1))] for k in range(most)]
