"""Files that are either whole or not there."""

import logging
import os
import sys
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def hush() -> None:
    """Keep Pillow from warning and logging: what is wrong with a file is in its exceptions too."""
    warnings.filterwarnings("ignore", module=r"PIL\.")
    logging.getLogger("PIL").addHandler(logging.NullHandler())


@contextmanager
def silenced(silent: bool = True) -> Iterator[None]:
    """Keep from stderr what libraries in C write there by themselves; for a process of one thread only."""
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
def replacing(path: Path) -> Iterator[Path]:
    """Write to the path that this gives: it becomes `path` at the end, or vanishes if anything goes wrong."""
    # Short, since the path's own name may be the longest that there can be.
    beside = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> None:
    """Write bytes in one piece, whole or not at all."""
    with replacing(path) as beside:
        beside.write_bytes(data)


def deliver(path: Path, data: bytes) -> None:
    """Write what was asked for with -o, whole or not at all; ValueError says why it cannot be."""
    try:
        write_whole(path, data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(
            f"{path} cannot be written ({reason}): make room, or choose another place with -o"
        ) from error
