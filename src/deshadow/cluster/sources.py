"""The plan of a run: the photos of a folder, a bucket, a pattern or a list, and where each result goes."""

import posixpath
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import pyarrow as pa
from pyarrow.fs import FileType

from deshadow.cluster.lists import LISTS, Columns, read_list
from deshadow.cluster.storage import Found, Storage, clean_address, is_local
from deshadow.photo.formats import READABLE, list_readable_endings
from deshadow.removal.tasks import choose_ending, choose_mask, is_result

PLAN = pa.schema(
    [
        ("source", pa.string()),
        ("relative", pa.string()),  # path of the result below the destination
        ("size", pa.int64()),  # of the photo's file in bytes; 0 if it is not known
        ("mask", pa.string()),
        ("at", pa.string()),
        ("instance", pa.string()),
        ("problem", pa.string()),  # why the photo cannot be processed, if that is known beforehand
    ]
)
_MAGIC = frozenset("*?[")


@dataclass(slots=True)
class _Row:
    """A row of the plan."""

    source: str
    relative: str
    size: int = 0
    mask: str = ""
    at: str = ""
    instance: str = ""
    problem: str = ""


def plan_photos(
    storage: Storage,
    source: str,
    destination: str,
    mask: str | None = None,
    columns: Columns = Columns(),  # noqa: B008 (immutable)
) -> pa.Table:
    """A row of PLAN for each photo of a source; ValueError says what is wrong with the source.

    A photo that cannot be processed has a row too, with the reason.
    """
    rows = _drop_duplicates(_find(storage, source, destination, columns))
    if not rows:
        endings = ", ".join(list_readable_endings())
        raise ValueError(f"no photos found in {source}: the name of a photo ends in {endings}")
    if mask is not None:
        _add_masks(storage, rows, clean_address(mask))
    _check_results(rows, destination)
    return pa.table({name: [getattr(row, name) for row in rows] for name in PLAN.names}, PLAN)


def _find(storage: Storage, source: str, destination: str, columns: Columns) -> Iterator[_Row]:
    address = clean_address(source)
    if is_local(address) and Path(address).exists():
        kind = FileType.Directory if Path(address).is_dir() else FileType.File
    elif _MAGIC & set(address):
        yield from _match(storage, address, destination)
        return
    else:
        kind = storage.kind(address)
    if kind == FileType.File and PurePosixPath(address).suffix.lower() in LISTS:
        for each in read_list(storage, address, columns):
            relative = _name_result(each.inside)
            yield _Row(each.address, relative, mask=each.mask, at=each.at, instance=each.instance)
        return
    if columns != Columns():
        raise ValueError(f"{source} is not a list: columns can be named for a {', '.join(LISTS)} file")
    if kind == FileType.File:
        yield _Row(address, _name_result(PurePosixPath(address).name))
    elif kind == FileType.NotFound:
        raise ValueError(f"{source}: file or folder not found")
    else:
        yield from _walk(storage, address, destination)


def _walk(storage: Storage, folder: str, destination: str) -> Iterator[_Row]:
    """The photos of a folder and of those within it, in the order of their names."""
    if f"{_resolve(destination)}/".startswith(f"{_resolve(folder)}/"):
        raise ValueError(
            f"the destination {destination} is in the source {folder}, so that results would be taken for "
            "photos: choose another folder with -o"
        )
    for found in sorted(storage.list_files(folder)):
        if _is_photo(found):
            relative = found.address.removeprefix(f"{folder}/")
            yield _Row(found.address, _name_result(relative), found.size)


def _match(storage: Storage, pattern: str, destination: str) -> Iterator[_Row]:
    """The photos that match a pattern, in which ** stands for any number of folders."""
    parts = pattern.split("/")
    fixed = next(place for place, part in enumerate(parts) if _MAGIC & set(part))
    for row in _walk(storage, "/".join(parts[:fixed]) or "/", destination):
        if _matches(row.source.split("/")[fixed:], parts[fixed:]):
            yield row


def _matches(names: Sequence[str], parts: Sequence[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return any(_matches(names[skipped:], parts[1:]) for skipped in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], parts[0]) and _matches(names[1:], parts[1:])


def _is_photo(found: Found) -> bool:
    path = PurePosixPath(found.address)
    return path.suffix.lower() in READABLE and not path.name.startswith(".") and not is_result(path)


def _name_result(relative: str) -> str:
    path = PurePosixPath(
        posixpath.normpath(f"/{relative}").lstrip("/")
    )  # .. never leads out of a destination
    return str(path.with_suffix(choose_ending(path)))


def _drop_duplicates(rows: Iterator[_Row]) -> list[_Row]:
    return list({row.source: row for row in rows}.values())


def _add_masks(storage: Storage, rows: Sequence[_Row], mask: str) -> None:
    """Give each photo the one mask, or that of its name in a folder of masks."""
    kind = storage.kind(mask)
    if kind == FileType.NotFound:
        raise ValueError(f"--mask {mask}: file not found")
    if kind == FileType.File:
        for row in rows:
            row.mask = mask
        return
    folders: dict[PurePosixPath, list[PurePosixPath]] = {}
    for found in sorted(storage.list_files(mask)):
        path = PurePosixPath(found.address.removeprefix(f"{mask}/"))
        folders.setdefault(path.parent, []).append(path)
    stems = {folder: _by_stem(paths) for folder, paths in folders.items()}
    for row in rows:
        photo = PurePosixPath(row.relative).with_name(PurePosixPath(row.source).name)
        own = (stems.get(folder, {}).get(photo.stem, []) for folder in (photo.parent, PurePosixPath()))
        chosen, row.problem = choose_mask(photo, own, mask)
        row.mask = f"{mask}/{chosen}" if chosen else ""


def _by_stem(paths: Sequence[PurePosixPath]) -> dict[str, list[PurePosixPath]]:
    found: dict[str, list[PurePosixPath]] = {}
    for path in paths:
        found.setdefault(path.stem, []).append(path)
    return found


def _check_results(rows: Sequence[_Row], destination: str) -> None:
    """Mark the photos whose result would overwrite a photo or another result."""
    uses = Counter(row.relative for row in rows)
    sources = (
        {_resolve(row.source) for row in rows} if is_local(destination) else {row.source for row in rows}
    )
    root = _resolve(destination)
    for row in rows:
        if f"{root}/{row.relative}" in sources:
            row.problem = (
                f"{destination}/{row.relative} is an input and would be overwritten: choose another -o"
            )
        elif uses[row.relative] > 1:
            row.problem = (
                f"{uses[row.relative]} results would be written to {destination}/{row.relative}: "
                "process these photos separately"
            )


def _resolve(address: str) -> str:
    """The address without symbolic links."""
    return str(Path(address).resolve()) if is_local(address) else address
