"""A folder of files that are costly to compute and may vanish at any time, in the user's cache folder.

Any number of processes may use it at once. Nothing that is wrong with it is an error: a file that is missing,
damaged or cannot be read is computed again, and one that cannot be written is not kept.
"""

import hashlib
import os
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

VARIABLE = "DESHADOW_CACHE"
"""Environment variable: the path of the cache folder, or `off` for none."""
OFF = "off"
LARGEST = 512 * 2**20
"""Bytes of all files together; beyond it those that were used longest ago are removed."""
LONGEST = 30 * 24 * 3600
"""Seconds after which a file that was not used is removed."""
_ENDING, _UNFINISHED = ".cached", ".part"
_ABANDONED = 3600
"""Seconds after which an unfinished file is removed: the process that wrote it was killed."""
_DIGEST = hashlib.sha256().digest_size


def find_cache_folder() -> Path | None:
    """The cache folder of deshadow, which need not exist; None if there is none, or if it is switched off.

    It is the one that the environment variable names, else a folder in the usual place of the platform.
    """
    chosen = os.environ.get(VARIABLE, "")
    if chosen:
        return None if chosen.lower() == OFF else Path(chosen)
    given = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
    if given and Path(given).is_absolute():
        return Path(given) / "deshadow"
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home
        return None
    usual = {"win32": "AppData/Local", "darwin": "Library/Caches"}
    return home / usual.get(sys.platform, ".cache") / "deshadow"


def load_cached(key: str) -> bytes | None:
    """What was stored under a key; None if it is missing, damaged or cannot be read."""
    folder = find_cache_folder()
    if folder is None:
        return None
    path = folder / (key + _ENDING)
    try:
        with path.open("rb") as file:
            digest, data = file.read(_DIGEST), file.read()
    except OSError:
        return None
    if hashlib.sha256(data).digest() != digest:
        return None
    with suppress(OSError):  # a folder that is only read
        os.utime(path)  # the time of the last use
    return data


def store_cached(key: str, compute: Callable[[], bytes]) -> None:
    """Store data under a key, if the folder can be written to, and remove what is old."""
    folder = find_cache_folder()
    if folder is None:
        return
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(folder / (key + _ENDING), compute)
        _remove_old(folder)


def measure_cache() -> int:
    """The bytes that the files of the cache take."""
    folder = find_cache_folder()
    try:
        return sum(size for _, size, _ in _list_files(folder, 0)) if folder else 0
    except OSError:
        return 0


def _write(path: Path, compute: Callable[[], bytes]) -> None:
    """Write a file beside its place, and rename it; one that a crash damages is recognised by its digest."""
    unfinished = path.with_name(uuid.uuid4().hex + _UNFINISHED)
    try:
        with unfinished.open("xb") as file:
            data = compute()
            file.write(hashlib.sha256(data).digest())
            file.write(data)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _remove_old(folder: Path) -> None:
    """Remove what was not used for long, and what does not fit beside what was used more recently."""
    room = LARGEST
    for age, size, path in sorted(_list_files(folder, time.time())):
        unfinished = path.suffix == _UNFINISHED
        if age > (_ABANDONED if unfinished else LONGEST) or (size > room and not unfinished):
            with suppress(OSError):  # another process was faster, or has it open on Windows
                path.unlink()
        else:
            room -= size


def _list_files(folder: Path, now: float) -> list[tuple[float, int, Path]]:
    """Seconds since its last use, size and path of each file of the cache."""
    found = []
    for path in folder.iterdir():
        if path.suffix in (_ENDING, _UNFINISHED):
            with suppress(OSError):  # removed meanwhile
                state = path.stat()
                found.append((now - state.st_mtime, state.st_size, path))
    return found
