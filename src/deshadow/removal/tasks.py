"""What the command line has to do: which photos are meant, where each result goes, and which mask it uses."""

import glob
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from deshadow.photo.formats import (
    ENDINGS,
    GIF_ENDINGS,
    RAW_ENDINGS,
    READABLE,
    format_of,
    list_readable_endings,
)

MARK = ".deshadowed"
"""What the name of a result contains."""
STANDARD_STREAM = "-"
"""Standard input, or standard output."""


@dataclass(frozen=True, slots=True)
class PhotoTask:
    """One photo to process, and the path of its result; None stands for standard input and output."""

    photo: PurePath | None
    output: PurePath | None
    mask: PurePath | None = None
    problem: str = ""
    """Why the photo cannot be processed, if that is known beforehand."""
    address: str = ""
    """The name of the photo in messages, where it is not its path."""

    @property
    def name(self) -> str:
        """The name of the photo in messages."""
        return self.address or (str(self.photo) if self.photo else "standard input")

    def beside(self, ending: str) -> PurePath:
        """The path of a further file: `photo.deshadowed.mask.png` beside `photo.deshadowed.jpg`."""
        assert self.output is not None
        return self.output.with_name(f"{self.output.stem}.{ending}")


@dataclass(frozen=True, slots=True)
class FoundPhoto:
    """The path of a photo, and its path relative to the folder that was given."""

    path: Path
    relative: Path


def plan_tasks(
    photos: Sequence[str], output: str | None, mask: Path | None = None, recursive: bool = False
) -> list[PhotoTask]:
    """A task for each photo among files, folders and patterns, or for `-`; ValueError says what is wrong."""
    if STANDARD_STREAM in photos:
        return [_plan_stream(photos, output, mask)]
    found = _drop_duplicates([each for given in photos for each in _find(given, recursive)])
    fresh = [each for each in found if not is_result(each.path)]
    if not fresh and found:
        raise ValueError(
            "only results of deshadow were found, which are skipped: rename one to use it as input"
        )
    if not fresh:
        endings = ", ".join(list_readable_endings())
        raise ValueError(f"no photos found in {', '.join(photos)}: the name of a photo ends in {endings}")
    outputs = _place_outputs(fresh, output, folders=any(Path(given).is_dir() for given in photos))
    tasks = [_add_mask(each, place, mask) for each, place in zip(fresh, outputs, strict=True)]
    check_outputs(tasks, [Path(task.output) for task in tasks if task.output])
    return tasks


def is_result(path: PurePath) -> bool:
    """Whether the name is that of a result, which is not used as input."""
    return f"{MARK}." in path.name


def check_outputs(tasks: Sequence[PhotoTask], outputs: Sequence[Path]) -> None:
    """Raise ValueError if an output is an input (by a link, too), a folder, or the same as another output."""
    inputs = {key for task in tasks for path in (task.photo, task.mask) if path and (key := _identify(path))}
    seen: set[Path] = set()
    for place in outputs:
        if _identify(place) in inputs:
            raise ValueError(f"{place} is an input and would be overwritten: choose another path with -o")
        if place.is_dir():
            raise ValueError(f"{place} is a folder: give the name of a file")
        if place.resolve() in seen:
            raise ValueError(
                f"two results would be written to {place}: leave out -o, or process them separately"
            )
        seen.add(place.resolve())


def make_folder(folder: Path) -> None:
    """Create the folder of an output; ValueError if it cannot be created or written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ValueError(f"{folder} is not a folder: a file's name needs an ending, such as .jpg") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(f"{folder} cannot be created ({reason}): choose another folder with -o") from error
    # Some folders, such as /proc, refuse new files although their permissions allow them.
    probe = folder / f".{uuid.uuid4().hex}.part"
    try:
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(
            f"{folder} cannot be written to ({reason}): choose another folder with -o"
        ) from error


def _find(given: str, recursive: bool) -> Iterator[FoundPhoto]:
    path = Path(given)
    if path.is_dir():
        inner = path.rglob("*") if recursive else path.iterdir()
        for each in sorted(inner):
            if each.suffix.lower() in READABLE and not each.name.startswith(".") and each.is_file():
                yield FoundPhoto(each, each.relative_to(path))
    elif path.exists():
        yield FoundPhoto(path, Path(path.name))
    elif glob.has_magic(given):
        for match in sorted(glob.glob(given, recursive=True)):  # noqa: PTH207 (the pattern may be absolute)
            if Path(match).is_file():
                yield FoundPhoto(Path(match), Path(Path(match).name))
    elif path.name == given and not path.suffix:
        raise ValueError(f"{given}: no such command or file; deshadow --help lists the commands")
    else:
        raise ValueError(f"{given}: file not found")


def _drop_duplicates(found: Sequence[FoundPhoto]) -> list[FoundPhoto]:
    return list({each.path.resolve(): each for each in reversed(found)}.values())[::-1]


def _plan_stream(photos: Sequence[str], output: str | None, mask: Path | None) -> PhotoTask:
    if len(photos) > 1:
        raise ValueError("- reads one photo from standard input: give no other photos with it")
    if mask is not None and not mask.is_file():
        raise ValueError(f"{mask} is not a file: the mask of a photo from standard input must be a file")
    if output is None or output == STANDARD_STREAM:
        return PhotoTask(None, None, mask)
    place = Path(output)
    format_of(place)
    task = PhotoTask(None, place, mask)
    check_outputs([task], [place])
    return task


def _place_outputs(found: Sequence[FoundPhoto], output: str | None, folders: bool) -> list[Path | None]:
    """The path of each result; None is standard output."""
    if output is None:
        return [each.path.with_name(f"{each.path.stem}{MARK}{choose_ending(each.path)}") for each in found]
    if output == STANDARD_STREAM:
        if len(found) > 1:
            raise ValueError("-o - writes one photo to standard output: give one photo, or a folder with -o")
        return [None]
    place = Path(output)
    is_folder = place.is_dir() or output.endswith(("/", os.sep)) or not place.suffix
    if not is_folder and (folders or len(found) > 1):
        raise ValueError(
            f"-o {output} is a file, but there are several photos: give a folder, as in -o {place.stem}/"
        )
    if is_folder:
        return [place / each.relative.with_suffix(choose_ending(each.path)) for each in found]
    format_of(place)
    return [place]


def choose_ending(path: PurePath) -> str:
    """The ending of the result: that of the photo, or of a format that can be written."""
    if path.suffix.lower() in GIF_ENDINGS:
        return ".png"
    return ".tif" if path.suffix.lower() in RAW_ENDINGS or path.suffix.lower() not in ENDINGS else path.suffix


def _add_mask(found: FoundPhoto, place: Path | None, mask: Path | None) -> PhotoTask:
    if mask is None:
        return PhotoTask(found.path, place)
    itself = _identify(found.path)
    if mask.is_file():
        problem = f"--mask {mask} is the photo itself" if _identify(mask) == itself else ""
        return PhotoTask(found.path, place, mask, problem)
    if not mask.is_dir():
        raise ValueError(f"--mask {mask}: file not found")
    folders = dict.fromkeys((mask / found.relative.parent, mask))
    files = (
        [path for path in sorted(folder.glob("*")) if path.is_file() and _identify(path) != itself]
        for folder in folders
    )
    chosen, problem = choose_mask(found.path, files, str(mask))
    return PhotoTask(found.path, place, chosen, problem)


def choose_mask(
    photo: PurePath, folders: Iterable[Sequence[PurePath]], where: str
) -> tuple[PurePath | None, str]:
    """The mask of a photo by its name, from the first folder that has one, or the problem with it."""
    for files in folders:
        same = [path for path in files if path.stem == photo.stem]
        named = [path for path in same if path.name == photo.name] or same
        if len(named) == 1:
            return named[0], ""
        if named:
            names = ", ".join(path.name for path in named)
            return None, f"{where} has several masks for this photo ({names}): keep one of them"
    return None, f"{where} has no mask for this photo: add one named {photo.stem}.png"


def _identify(path: PurePath) -> tuple[int, int] | None:
    """Device and inode of a file, the same for all its links; None if there is no file."""
    try:
        found = Path(path).resolve().stat()  # resolved, since a folder of the path may be created later
    except OSError:
        return None
    return found.st_dev, found.st_ino
