"""The actors that Ray starts: each opens the networks once, and processes one photo at a time."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from math import prod
from pathlib import PurePath, PurePosixPath
from typing import Any

import pyarrow as pa

from deshadow import __version__
from deshadow.cluster.manifest import FOLDER, Manifest, temporary_folder
from deshadow.cluster.settings import FIXED_MEMORY, MEGAPIXEL_MEMORY, Job
from deshadow.cluster.storage import Storage
from deshadow.photo.reading import read_size
from deshadow.removal.options import RemovalOptions
from deshadow.removal.outcomes import Outcome
from deshadow.removal.process import Files, try_photo
from deshadow.removal.remover import Remover, WeightsError
from deshadow.removal.tasks import PhotoTask
from deshadow.system.files import silence_pillow

_CRASHES = 2
"""A photo that has ended so many workers is not tried again."""


class WorkerError(ValueError):
    """Why no worker can process any photo."""


class PhotoWorker:
    """Processes blocks of the plan, and keeps the manifest's rows of each."""

    def __init__(self, job: Job) -> None:
        self.job = job
        temporary = temporary_folder(f"{job.destination}/{FOLDER}")
        self.storage = Storage(*job.roots, temporary=temporary)
        self.manifest = Manifest(self.storage, job.destination)
        self.remover, self.problem = open_networks(job)

    def __call__(self, block: pa.Table) -> Iterator[pa.Table]:
        """Rows of PLAN with the name of their block → the status of each photo."""
        if self.problem:  # not raised before: Ray would start this actor again and again
            raise WorkerError(self.problem)
        part = self.manifest.part(block["block"][0].as_py())
        known = {row["source"] for row in part.rows}
        part.write()
        for photo in block.to_pylist():
            source = photo["source"]
            if source in known:
                continue
            tried = part.attempts.get(source, 0)
            if part.is_retry and tried < _CRASHES:
                part.attempts[source] = tried + 1
                part.write()
            row = _crash_row(source) if tried >= _CRASHES else self._process(photo)
            part.rows.append(row)
            part.write()
        yield pa.table({"status": [row["status"] for row in part.rows]})

    def _process(self, photo: Mapping[str, Any]) -> dict[str, Any]:
        """The row of a photo, after its results were written."""
        source, mask = photo["source"], photo["mask"]
        files = StoredFiles(self.storage, self.job, source, mask)
        task = PhotoTask(
            PurePosixPath("photo"),
            PurePosixPath(photo["relative"]),
            PurePosixPath(mask) if mask else None,
            photo["problem"],
            source,
        )
        options = self.job.options
        try:
            options = add_choice(options, photo["at"], photo["instance"])
        except ValueError as error:
            task = replace(task, problem=str(error))
        outcome = process_safely(self.job, options, self.remover, task, files)
        return {
            **describe(outcome),
            "destination": f"{self.job.destination}/{outcome.outputs[0]}" if outcome.outputs else "",
            "bytes": files.size,
            "version": __version__,
            "weights_digest": self.job.digests[0],
            "detector_digest": self.job.digests[1],
            "result_digest": files.digest,
            "finished": datetime.now(UTC),
        }


class StoredFiles:
    """The files of one photo in any storage; remembers size and digest of the result."""

    def __init__(self, storage: Storage, job: Job, source: str, mask: str) -> None:
        self.storage, self.job, self.source, self.mask = storage, job, source, mask
        self.size, self.digest = 0, ""

    def read(self, path: PurePath | None) -> bytes:
        """The bytes of the photo, or of its mask."""
        if path == PurePosixPath("photo"):
            data = self.storage.read(self.source)
            check_size(data, self.source, self.job)
            return data
        return self.storage.read(self.mask)

    def write(self, path: PurePath | None, data: bytes) -> None:
        """Write a file below the destination; the first one is the result."""
        if not self.digest:
            self.size, self.digest = len(data), hashlib.sha256(data).hexdigest()
        self.storage.write(f"{self.job.destination}/{path}", data)


def process_safely(
    job: Job, options: RemovalOptions, remover: Remover, task: PhotoTask, files: Files
) -> Outcome:
    """The outcome of a photo, also after an error that nobody thought of: one photo must not end a run."""
    try:
        return try_photo(task, job.request, options, remover, files, lambda _: None, one_thread=False)
    except WeightsError:
        raise
    except Exception as error:
        message = f"{task.name} cannot be processed ({type(error).__name__}: {error}): please report this"
        return Outcome(task.name, "failed", error=message)


def open_networks(job: Job) -> tuple[Remover, str]:
    """A remover whose networks are open, and why they cannot be opened."""
    silence_pillow()
    networks = job.networks
    remover = Remover(
        networks.weights, networks.detector, networks.device, job.resources.threads, networks.runtime
    )
    try:
        if job.digests not in (("", ""), networks.digests()):
            return remover, (
                f"a worker has other weights under the names {networks.weights} and {networks.detector}: "
                "install the same files on every machine"
            )
        _ = remover.backend, remover.detector
    except (ValueError, OSError) as error:
        return remover, f"a worker cannot open the networks: {error}"
    return remover, ""


def check_size(data: bytes, name: str, job: Job) -> None:
    """Raise ValueError if a photo is too large for the memory of a worker, before it is decoded."""
    try:
        pixels = prod(read_size(data))
    except Exception:  # a file that is no photo can raise anything; the reader of photos says what is wrong
        return
    if pixels > job.resources.most_pixels:
        need = FIXED_MEMORY + MEGAPIXEL_MEMORY * pixels / 1e6
        raise ValueError(
            f"{name} has {pixels / 1e6:.0f} megapixels, for which a worker needs {need:.1f} GiB: raise "
            f"--memory-per-worker, which is {job.resources.memory:g}"
        )


def add_choice(options: RemovalOptions, at: str, instance: str) -> RemovalOptions:
    """The options with points "120,80 300,40" and numbers "1,2" of a list."""
    if not (at or instance):
        return options
    try:
        pairs = [point.split(",") for point in at.split()]
        points = tuple((int(x), int(y)) for x, y in pairs)
        numbers = tuple(int(number) for number in instance.replace(",", " ").split())
    except ValueError:
        raise ValueError(
            f"the list gives the points {at!r} and the numbers {instance!r}: write points as X,Y and numbers "
            "as deshadow detect prints them"
        ) from None
    return replace(options, at=points, instance=numbers)


def describe(outcome: Outcome) -> dict[str, Any]:
    """The columns that are known of an outcome wherever its result is written."""
    return {
        "source": outcome.photo,
        "status": outcome.state,
        "error": " ".join(outcome.error.split()),
        "shadows": outcome.shadows,
        "fraction_relit": outcome.touched_share,
        "seconds": outcome.seconds,
        "width": outcome.width,
        "height": outcome.height,
        "notes": " ".join(outcome.notes),
    }


def _crash_row(source: str) -> dict[str, Any]:
    error = (
        f"{source} ended a worker {_CRASHES + 1} times (too little memory, or a file that crashes it): "
        "process it by itself with deshadow PHOTO"
    )
    outcome = Outcome(source, "failed", error=error)
    return {**describe(outcome), "version": __version__, "finished": datetime.now(UTC)}
