"""What is done to a photo, in the working thread: find its shadows, remove them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deshadow.photo import Photo
from deshadow.remover import Options, Progress, Relit
from deshadow.serve import pictures
from deshadow.serve.layers import blended, layer, load
from deshadow.serve.queue import Task
from deshadow.serve.refusal import Refusal
from deshadow.serve.shadows import MOST, shadows
from deshadow.serve.store import Entry, Job, remove_files, write

_PREVIEW_PAUSE = 0.7
"""Seconds between previews, so that drawing them never costs more than the work."""


class Networks(Protocol):
    """What the server needs of a `deshadow.remover.Remover`."""

    def instances(self, pixels: NDArray[np.float32], /) -> NDArray[np.int32]:
        """(H, W, 3) → (H, W), numbered from the largest shadow on."""

    def relight(
        self,
        pixels: NDArray[np.float32],
        mask: NDArray[np.float32] | None,
        options: Options,
        progress: Callable[[Progress], None] | None,
        /,
    ) -> Relit | None:
        """Remove; None if there is no shadow."""


@dataclass(frozen=True)
class Request:
    """What a job is to do: which shadows (none named: all), and how."""

    options: Options
    masked: bool = False
    instances: tuple[int, ...] = ()
    points: tuple[tuple[int, int], ...] = ()
    keep: bool = True
    """Keep what the page shows and what a next job starts from."""


def admit(entry: Entry, most: int, show: bool) -> None:
    """Look at an upload for the first time: refuse it, or note what it is and how to show it."""
    photo = pictures.read_photo(entry.file("upload"), entry.name, most)
    entry.format, entry.width, entry.height = photo.format, photo.width, photo.height
    entry.size = entry.bytes = entry.file("upload").stat().st_size
    if show:
        data, entry.display = pictures.shown(photo)
        entry.bytes += write(entry.file("picture"), data)


def find_shadows(networks: Networks, entry: Entry, most: int) -> Callable[[Task], None]:
    """Work that finds the shadows of a photo."""

    def run(task: Task) -> None:
        if entry.shadows is None:
            task.at("detect", 0.0)
            photo = pictures.read_photo(entry.file("upload"), entry.name, most)
            _labels(networks, entry, photo, task)

    return run


def remove(networks: Networks, job: Job, request: Request, most: int) -> Callable[[Task], None]:
    """Work that removes shadows and leaves the files of a job."""

    def run(task: Task) -> None:
        try:
            _remove(networks, job, request, most, task)
        except BaseException:
            remove_files(job)
            raise
        finally:
            job.preview = None

    return run


def _remove(networks: Networks, job: Job, request: Request, most: int, task: Task) -> None:
    entry = job.photo
    task.at("detect", 0.0)
    photo = pictures.read_photo(entry.file("upload"), entry.name, most)
    base = load(_base_file(job)) if job.base else None
    start = photo.pixels if base is None else base.laid_over(photo.pixels)
    mask = _mask(networks, job, request, photo, task)
    relit = networks.relight(start, mask, request.options, _reporter(job, task))
    task.at("write", 0.97, task.done, task.total)
    job.found = relit is not None
    if relit is None:
        nowhere = np.zeros((photo.height, photo.width), np.float32)
        relit = Relit(start, nowhere, nowhere)
    touched = relit.weight > 0
    if base is None:
        composed = photo.composed(relit.pixels, relit.weight)
    else:
        touched |= base.everywhere(photo.height, photo.width)
        picture = blended(start, relit.pixels, relit.weight)
        composed = photo.composed(picture, touched.astype(np.float32))
    job.bytes += write(job.file("result"), composed.encode())
    if request.keep:
        task.check()
        job.bytes += layer(composed.pixels, touched).save(job.file("layer"))
        job.bytes += write(job.file("picture"), pictures.shown(composed)[0])
        job.bytes += write(job.file("mask"), pictures.grey_png(pictures.to_codes(relit.weight)))
    task.at("write", 1.0, task.done, task.total)


def _base_file(job: Job) -> Path:
    base = job.photo.jobs.get(job.base or "")
    if base is None:
        raise Refusal(409, "not_ready", "The job to start from has been deleted.")
    return base.file("layer")


def _mask(
    networks: Networks, job: Job, request: Request, photo: Photo, task: Task
) -> NDArray[np.float32] | None:
    """(H, W) in [0, 1] of what is asked for, or None for all that is found."""
    if request.masked:
        given = pictures.read_mask(job.file("given").read_bytes(), photo.height, photo.width)
        return given.astype(np.float32) / np.float32(255)
    if not request.instances and not request.points:
        return None
    labels = _labels(networks, job.photo, photo, task)
    known = {shadow.number for shadow in job.photo.shadows or ()}
    chosen = set(request.instances)
    if not chosen <= known:
        raise Refusal(422, "invalid", f"There is no shadow {min(chosen - known)}; {len(known)} were found.")
    for x, y in request.points:
        if labels[y, x] == 0:
            raise Refusal(422, "invalid", f"No shadow was found at {x},{y}.")
        chosen.add(int(labels[y, x]))
    return np.isin(labels, sorted(chosen)).astype(np.float32)


def _labels(networks: Networks, entry: Entry, photo: Photo, task: Task) -> NDArray[np.uint8]:
    """(H, W) instances of the photo as it came, found once."""
    path = entry.file("labels")
    if entry.shadows is None:
        found = networks.instances(photo.pixels)
        task.check()
        labels = np.where(found <= MOST, found, 0).astype(np.uint8)
        entry.bytes += write(path, pictures.grey_png(labels))
        entry.shadows = shadows(labels)
        return labels
    return pictures.read_grey(path)


def _reporter(job: Job, task: Task) -> Callable[[Progress], None]:
    last = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal last
        task.at(progress.stage, 0.95 * progress.share, progress.done, progress.total)
        if progress.preview is not None and time.monotonic() - last > _PREVIEW_PAUSE:
            job.preview = pictures.preview(progress.preview())
            job.previews += 1
            last = time.monotonic()

    return report
