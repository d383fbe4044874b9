"""Files that are either whole or not there."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write to the path that this gives: it becomes `path` at the end, or vanishes if anything goes wrong."""
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
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
