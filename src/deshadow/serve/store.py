"""Photos and what was made of them, in a private folder that is gone when the server is."""

import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from deshadow.serve.queue import Task
from deshadow.serve.refusal import Refusal, not_found
from deshadow.serve.shadows import Shadow

JOBS_PER_PHOTO = 100


def new_id() -> str:
    """A name that nobody can guess, 22 characters."""
    return secrets.token_urlsafe(16)


@dataclass(eq=False)
class Job:
    """One removal that was asked for. Its files lie in the folder of its photo."""

    id: str
    photo: "Entry"
    base: str | None
    task: Task
    preview: bytes | None = None
    previews: int = 0
    found: bool | None = None
    bytes: int = 0

    def file(self, what: str) -> Path:
        """Where a file of it lies: result, picture, mask, given, layer."""
        return self.photo.folder / f"{self.id}.{what}"


@dataclass(eq=False)
class Entry:
    """One photo that was uploaded."""

    id: str
    folder: Path
    name: str
    used: float = field(default_factory=time.monotonic)
    format: str = ""
    width: int = 0
    height: int = 0
    size: int = 0
    """Bytes of the upload."""
    bytes: int = 0
    """Bytes of its own files."""
    display: str = "image/jpeg"
    shadows: list[Shadow] | None = None
    detection: Task | None = None
    jobs: dict[str, Job] = field(default_factory=dict)

    def file(self, what: str) -> Path:
        """Where a file of it lies: upload, picture, labels."""
        return self.folder / what

    @property
    def tasks(self) -> Iterator[Task]:
        """All work on it that has not ended."""
        found = [job.task for job in self.jobs.values()]
        return (task for task in [*found, *filter(None, [self.detection])] if not task.over.done())


class Store:
    """All photos. Used from one thread; only the bytes in the files come from others."""

    def __init__(self, expire: float, bound: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="deshadow-"))  # 0700
        self.expire = expire
        self.bound = bound
        self._photos: dict[str, Entry] = {}
        self._folders: set[Path] = set()

    def __len__(self) -> int:
        return len(self._photos)

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._photos.values()))

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(entry.bytes + sum(job.bytes for job in entry.jobs.values()) for entry in self)

    def check_room(self, more: int = 0) -> None:
        """Refuse what the disk is not meant to hold."""
        if self.bytes + more > self.bound:
            raise Refusal(
                429, "busy", "The server holds as many photos as it may; delete some, or try later.", 60
            )

    def new(self, name: str) -> Entry:
        """An entry with a folder, not yet among the photos."""
        entry = Entry(new_id(), self.folder / new_id(), clean_name(name))
        self._folders.add(entry.folder)
        entry.folder.mkdir(mode=0o700)
        return entry

    def add(self, entry: Entry) -> None:
        """From now on it can be asked for."""
        entry.used = time.monotonic()
        self._photos[entry.id] = entry

    def photo(self, name: str) -> Entry:
        """The photo of this id, which counts as a use of it."""
        entry = self._photos.get(name)
        if entry is None:
            raise not_found("photo")
        entry.used = time.monotonic()
        return entry

    def job(self, name: str) -> Job:
        """The job of this id, which counts as a use of its photo."""
        for entry in self._photos.values():
            if name in entry.jobs:
                entry.used = time.monotonic()
                return entry.jobs[name]
        raise not_found("job")

    def add_job(self, job: Job) -> None:
        """Keep it; of very many that have ended the oldest goes."""
        jobs = job.photo.jobs
        if len(jobs) >= JOBS_PER_PHOTO:
            oldest = next((old for old in jobs.values() if old.task.over.done()), None)
            if oldest:
                self.drop_job(oldest)
        jobs[job.id] = job

    def drop_job(self, job: Job) -> None:
        """Forget it and remove its files."""
        job.photo.jobs.pop(job.id, None)
        remove_files(job)

    def drop(self, entry: Entry) -> None:
        """Forget a photo and remove all of its files."""
        self._photos.pop(entry.id, None)
        self._folders.discard(entry.folder)
        shutil.rmtree(entry.folder, ignore_errors=True)

    def stale(self) -> list[Entry]:
        """Photos that nobody has used for long and nothing works on."""
        before = time.monotonic() - self.expire
        return [entry for entry in self if entry.used < before and not any(entry.tasks)]

    def clear_leftovers(self) -> None:
        """Remove what was written into a folder while it was being removed."""
        os.utime(self.folder)  # what cleans temporary folders takes only what nobody has touched for days
        for folder in self.folder.iterdir():
            if folder not in self._folders:
                shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Remove everything."""
        self._photos.clear()
        shutil.rmtree(self.folder, ignore_errors=True)


def remove_files(job: Job) -> None:
    """Remove what a job has written, unless the folder went with its photo."""
    job.bytes = 0
    for path in job.photo.folder.glob(f"{job.id}.*"):
        path.unlink(missing_ok=True)


def write(path: Path, data: bytes) -> int:
    """Write a file that only we can read; says how many bytes."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return len(data)


def clean_name(name: str) -> str:
    """The last part of a client's file name, harmless; it is shown and given back, never opened."""
    last = PurePosixPath(name.replace("\\", "/")).name
    printable = "".join(character for character in last if character.isprintable())
    return re.sub(r'[<>:"|?*;]', "_", printable).strip(". ")[-100:] or "photo"
