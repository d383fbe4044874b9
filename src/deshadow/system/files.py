"""Files that are written completely or not at all, and libraries kept from printing."""

import logging
import os
import re
import sys
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OPEN_FILE = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/(self|\d+)/fd/\d+")


def silence_pillow() -> None:
    """Keep Pillow from warning and logging: its exceptions say what is wrong with a file."""
    warnings.filterwarnings("ignore", module=r"PIL\.")
    logging.getLogger("PIL").addHandler(logging.NullHandler())


@contextmanager
def silence_stderr(silent: bool = True) -> Iterator[None]:
    """Discard what C libraries write to standard error; only for a process with one thread."""
    if not silent:
        yield
        return
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def write_atomically(path: Path, folder: Path | None = None) -> Iterator[Path]:
    """Yield a path to write to: it is renamed to `path` at the end, or deleted if an exception is raised.

    It is beside `path`, or in another folder of the same file system. Of a link the target is replaced.
    """
    if path.is_symlink():
        path = path.resolve()
    # A short name, because the path's own name may already be as long as the file system allows.
    beside = (folder or path.parent) / f".{uuid.uuid4().hex}.part"
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def is_stream(path: Path) -> bool:
    """Whether a path stands for a pipe, a device or an open file, which is written to and not replaced."""
    return bool(_OPEN_FILE.fullmatch(str(path))) or path.is_fifo() or path.is_char_device()


def write_whole(path: Path, data: bytes) -> None:
    """Write bytes to a file, completely or not at all; or to a pipe or a device."""
    if is_stream(path):
        path.write_bytes(data)
        return
    with write_atomically(path) as beside:
        beside.write_bytes(data)


def write_output(path: Path, data: bytes) -> None:
    """Write a file that the user asked for with -o; ValueError says why it cannot be written."""
    try:
        write_whole(path, data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(
            f"{path} cannot be written ({reason}): free some space, or choose another path with -o"
        ) from error
