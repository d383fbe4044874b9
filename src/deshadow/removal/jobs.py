"""What is to be done: which photos are meant, where each result goes, and which mask belongs to it."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deshadow.photo.formats import ENDINGS, RAW_ENDINGS, READABLE, format_of

MARK = ".deshadowed"
STREAM = "-"
"""Standard input, or standard output."""


@dataclass(frozen=True, slots=True)
class Job:
    """One photo and the place of its result; None stands for standard input and output."""

    photo: Path | None
    output: Path | None
    mask: Path | None = None
    problem: str = ""
    """Why it cannot be done, if that is known beforehand."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.photo) if self.photo else "standard input"

    def beside(self, addition: str) -> Path:
        """A further file: `photo.deshadowed.jpg` and `mask.png` give `photo.deshadowed.mask.png`."""
        assert self.output is not None
        return self.output.with_name(f"{self.output.stem}.{addition}")


@dataclass(frozen=True, slots=True)
class Found:
    """A photo, and its place below the folder that was given."""

    path: Path
    below: Path


def plan(
    photos: Sequence[str], output: str | None, mask: Path | None = None, recursive: bool = False
) -> list[Job]:
    """The jobs for files, folders and patterns, or `-`; ValueError for what cannot be meant."""
    if STREAM in photos:
        return [_stream_job(photos, output, mask)]
    found = _unique([each for given in photos for each in _find(given, recursive)])
    fresh = [each for each in found if not is_result(each.path)]
    if not fresh:
        raise ValueError(
            "only results of deshadow were found, which are not taken again: rename one to use it"
            if found
            else f"no photos in {', '.join(photos)}: give files that end in {', '.join(sorted(ENDINGS))}"
        )
    places = _places(fresh, output, folders=any(Path(given).is_dir() for given in photos))
    jobs = [_with_mask(each, place, mask) for each, place in zip(fresh, places, strict=True)]
    check_places(jobs, [job.output for job in jobs if job.output])
    return jobs


def is_result(path: Path) -> bool:
    """Whether the name is one that we give to what we write."""
    return f"{MARK}." in path.name


def check_places(jobs: Sequence[Job], outputs: Sequence[Path]) -> None:
    """Refuse to write over a photo or a mask, links included, or twice to one place."""
    inputs = {key for job in jobs for path in (job.photo, job.mask) if path and (key := _identity(path))}
    seen: set[Path] = set()
    for place in outputs:
        if _identity(place) in inputs:
            raise ValueError(f"{place} is an input and would be overwritten: choose another place with -o")
        if place.is_dir():
            raise ValueError(f"{place} is a folder: give the name of a file")
        if place.resolve() in seen:
            raise ValueError(f"two results would go to {place}: keep them apart, or leave out -o")
        seen.add(place.resolve())


def make_folder(folder: Path) -> None:
    """Make the folder of an output, and see that it can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{folder} cannot be made ({error.strerror}): choose another with -o") from error
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{folder} cannot be written to: choose another folder with -o")


def _find(given: str, recursive: bool) -> Iterator[Found]:
    path = Path(given)
    if path.is_dir():
        inner = path.rglob("*") if recursive else path.iterdir()
        for each in sorted(inner):
            if each.suffix.lower() in READABLE and not each.name.startswith(".") and each.is_file():
                yield Found(each, each.relative_to(path))
    elif path.exists():
        yield Found(path, Path(path.name))
    elif glob.has_magic(given):
        for match in sorted(glob.glob(given, recursive=True)):  # noqa: PTH207 (the pattern may be absolute)
            if Path(match).is_file():
                yield Found(Path(match), Path(Path(match).name))
    else:
        kind = (
            "is neither a photo nor a command" if path.name == given and not path.suffix else "is not there"
        )
        raise ValueError(f"{given} {kind}: check its name")


def _unique(found: Sequence[Found]) -> list[Found]:
    return list({each.path.resolve(): each for each in reversed(found)}.values())[::-1]


def _stream_job(photos: Sequence[str], output: str | None, mask: Path | None) -> Job:
    if len(photos) > 1:
        raise ValueError("- takes one photo from standard input: give no others with it")
    if mask is not None and not mask.is_file():
        raise ValueError(f"{mask} is not a file: a photo from standard input needs a mask file")
    if output is None or output == STREAM:
        return Job(None, None, mask)
    place = Path(output)
    format_of(place)
    job = Job(None, place, mask)
    check_places([job], [place])
    return job


def _places(found: Sequence[Found], output: str | None, folders: bool) -> list[Path | None]:
    """Where each result goes."""
    if output is None:
        return [each.path.with_name(f"{each.path.stem}{MARK}{_ending(each.path)}") for each in found]
    if output == STREAM:
        if len(found) > 1:
            raise ValueError("-o - writes one photo to standard output: give one photo, or a folder with -o")
        return [None]
    place = Path(output)
    is_folder = place.is_dir() or output.endswith(("/", os.sep)) or not place.suffix
    if not is_folder and (folders or len(found) > 1):
        raise ValueError(
            f"-o {output} is a file, but there are several photos: name a folder, as in -o {place.stem}/"
        )
    if is_folder:
        return [place / each.below.with_suffix(_ending(each.path)) for each in found]
    format_of(place)
    return [place]


def _ending(path: Path) -> str:
    """Of the result: that of the photo, or TIFF for what cannot be written."""
    return ".tif" if path.suffix.lower() in RAW_ENDINGS or path.suffix.lower() not in ENDINGS else path.suffix


def _with_mask(found: Found, place: Path | None, mask: Path | None) -> Job:
    if mask is None:
        return Job(found.path, place)
    if mask.is_file():
        return Job(found.path, place, mask)
    if not mask.is_dir():
        raise ValueError(f"{mask} is not there: give a mask, or a folder of masks, with --mask")
    for folder in dict.fromkeys((mask / found.below.parent, mask)):
        same = [path for path in sorted(folder.glob("*")) if path.is_file() and path.stem == found.path.stem]
        named = [path for path in same if path.name == found.path.name] or same
        if len(named) == 1:
            return Job(found.path, place, named[0])
        if named:
            names = ", ".join(path.name for path in named)
            return Job(found.path, place, problem=f"{mask} has several masks for it ({names}): keep one")
    return Job(found.path, place, problem=f"{mask} has no mask for it: add one named {found.path.stem}.png")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.resolve().stat()  # resolved, since a folder on the way may be made later
    except OSError:
        return None
    return found.st_dev, found.st_ino
