"""A new folder that a data set is written to: it appears when it is complete, or not at all."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def make_new_folder(output: Path, read: Path) -> Iterator[Path]:
    """Yield a folder to write to, which is renamed to `output` at the end; `read` is the folder that is read.

    ValueError if `output` holds files already, or if one of the two folders lies inside the other.
    """
    one, other = read.resolve(), output.resolve()
    if one == other or one in other.parents or other in one.parents:
        raise ValueError(f"{output} overlaps {read}, which is read: write to another folder")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise ValueError(f"{output} exists already: give a new folder, or empty this one")
    beside = output.with_name(f".{output.name}.{uuid.uuid4().hex}")
    beside.mkdir(parents=True)
    try:
        yield beside
        if output.exists():
            output.rmdir()  # empty, or it would have been refused
        beside.rename(output)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
