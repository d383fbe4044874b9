"""Uploaded photos and the files of their jobs, in a private folder that the server deletes when it stops."""

import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from deshadow.removal.options import Sensitivity
from deshadow.serve.errors import ApiError, not_found
from deshadow.serve.pictures import Shadow
from deshadow.serve.queue import QueuedTask

MAX_JOBS_PER_PHOTO = 100


def new_id() -> str:
    """A random id of 22 characters that cannot be guessed."""
    return secrets.token_urlsafe(16)


@dataclass(eq=False)
class RemovalJob:
    """One removal of shadows from a photo. Its files lie in the folder of the photo."""

    id: str
    photo: "StoredPhoto"
    base: str | None
    """Id of the job whose result this one starts from."""
    task: QueuedTask
    preview: bytes | None = None
    """A JPEG of the latest state."""
    previews: int = 0
    """Number of previews so far."""
    found: bool | None = None
    """Whether there was a shadow to remove; None until that is known."""
    left_out: int = 0
    """Number of found shadows that stay because they may be something else."""
    bytes: int = 0
    """Bytes of its files."""

    def file(self, what: str) -> Path:
        """Path of one of its files: result, picture, mask, given (the mask that was sent), layer."""
        return self.photo.folder / f"{self.id}.{what}"


@dataclass(eq=False)
class StoredPhoto:
    """An uploaded photo."""

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
    """Bytes of its files, without those of its jobs."""
    display: str = "image/jpeg"
    """Media type of the picture for the browser."""
    shadows: dict[Sensitivity, list[Shadow]] = field(default_factory=dict)
    """Those found with each sensitivity that was asked for."""
    detections: dict[Sensitivity, QueuedTask] = field(default_factory=dict)
    jobs: dict[str, RemovalJob] = field(default_factory=dict)

    def file(self, what: str) -> Path:
        """Path of one of its files: upload, picture."""
        return self.folder / what

    def labels(self, sensitivity: Sensitivity) -> Path:
        """Path of the picture of its shadows' numbers."""
        return self.folder / f"labels-{sensitivity}"

    @property
    def tasks(self) -> Iterator[QueuedTask]:
        """All tasks of this photo that have not ended."""
        found = [job.task for job in self.jobs.values()]
        return (task for task in [*found, *self.detections.values()] if not task.ended.done())


class Store:
    """All photos. Its methods are called from one thread; other threads write only into the files."""

    def __init__(self, expire: float, max_bytes: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="deshadow-"))  # 0700
        self.expire = expire
        self.max_bytes = max_bytes
        self._photos: dict[str, StoredPhoto] = {}
        self._folders: set[Path] = set()

    def __len__(self) -> int:
        return len(self._photos)

    def __iter__(self) -> Iterator[StoredPhoto]:
        return iter(list(self._photos.values()))

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(photo.bytes + sum(job.bytes for job in photo.jobs.values()) for photo in self)

    def check_room(self, more: int = 0) -> None:
        """Raise an error if so many more bytes do not fit into the store."""
        if self.bytes + more > self.max_bytes:
            raise ApiError(
                429, "busy", "The server's storage is full; delete photos, or try again later.", 60
            )

    def create(self, name: str) -> StoredPhoto:
        """Create a photo with an empty folder. Clients cannot see it until it is added."""
        photo = StoredPhoto(new_id(), self.folder / new_id(), clean_name(name))
        self._folders.add(photo.folder)
        photo.folder.mkdir(mode=0o700)
        return photo

    def add(self, photo: StoredPhoto) -> None:
        """Make a photo visible to clients."""
        photo.used = time.monotonic()
        self._photos[photo.id] = photo

    def get_photo(self, name: str) -> StoredPhoto:
        """The photo of this id; its time to expire restarts."""
        photo = self._photos.get(name)
        if photo is None:
            raise not_found("photo")
        photo.used = time.monotonic()
        return photo

    def get_job(self, name: str) -> RemovalJob:
        """The job of this id; its photo's time to expire restarts."""
        for photo in self._photos.values():
            if name in photo.jobs:
                photo.used = time.monotonic()
                return photo.jobs[name]
        raise not_found("job")

    def add_job(self, job: RemovalJob) -> None:
        """Add a job to its photo; if the photo has too many, the oldest one that has ended is deleted."""
        jobs = job.photo.jobs
        if len(jobs) >= MAX_JOBS_PER_PHOTO:
            oldest = next((old for old in jobs.values() if old.task.ended.done()), None)
            if oldest:
                self.delete_job(oldest)
        jobs[job.id] = job

    def delete_job(self, job: RemovalJob) -> None:
        """Delete a job and its files."""
        job.photo.jobs.pop(job.id, None)
        delete_files(job)

    def delete(self, photo: StoredPhoto) -> None:
        """Delete a photo, its jobs and all of their files."""
        self._photos.pop(photo.id, None)
        self._folders.discard(photo.folder)
        shutil.rmtree(photo.folder, ignore_errors=True)

    def find_expired(self) -> list[StoredPhoto]:
        """Photos that have expired and have no task in the queue."""
        before = time.monotonic() - self.expire
        return [photo for photo in self if photo.used < before and not any(photo.tasks)]

    def delete_leftovers(self) -> None:
        """Delete folders of deleted photos into which a task has written since."""
        os.utime(self.folder)  # so that the system's cleaning of temporary files does not take it for unused
        for folder in self.folder.iterdir():
            if folder not in self._folders:
                shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Delete all photos and the folder."""
        self._photos.clear()
        shutil.rmtree(self.folder, ignore_errors=True)


def delete_files(job: RemovalJob) -> None:
    """Delete the files of a job."""
    job.bytes = 0
    for path in job.photo.folder.glob(f"{job.id}.*"):
        path.unlink(missing_ok=True)


def write_private(path: Path, data: bytes) -> int:
    """Write a file that only this user can read; return its size in bytes."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return len(data)


def clean_name(name: str) -> str:
    """The last part of a client's file name without special characters; it is never used as a path."""
    last = PurePosixPath(name.replace("\\", "/")).name
    printable = "".join(character for character in last if character.isprintable())
    return re.sub(r'[<>:"|?*;]', "_", printable).strip(". ")[-100:] or "photo"
