"""What is done to a photo, in the working thread: find its shadows, remove them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deshadow.photo import Photo
from deshadow.removal.masks import under
from deshadow.removal.modes import Progress
from deshadow.removal.options import Options
from deshadow.removal.remover import Relit
from deshadow.serve import pictures
from deshadow.serve.layers import layer, load
from deshadow.serve.queue import Task
from deshadow.serve.refusal import Refusal
from deshadow.serve.shadows import MOST, shadows
from deshadow.serve.store import Entry, Job, remove_files, write

_PREVIEW_PAUSE = 0.7
"""Seconds between previews at least."""
_PREVIEW_SHARE = 0.2
"""Of the time, spent on previews at most."""
_COVERED = 0.1
"""Share of a found shadow that a painted mask must cover to mean it."""


class Networks(Protocol):
    """What the server needs of a `deshadow.removal.remover.Remover`."""

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
    asked = _asked(networks, job, request, photo, task)
    relit = networks.relight(start, asked.mask, asked.options, _reporter(job, task))
    if relit is not None and asked.spared is not None:
        relit = replace(relit, weight=np.where(asked.spared, np.float32(0), relit.weight))
    task.at("write", 0.97, task.done, task.total)
    job.found = relit is not None
    if relit is None:
        nowhere = np.zeros((photo.height, photo.width), np.float32)
        relit = Relit(start, nowhere, nowhere)
    weight, touched = relit.weight, relit.weight > 0
    if base is None:
        composed = photo.composed(relit.pixels, weight)
    else:
        touched |= base.everywhere(photo.height, photo.width)
        composed = photo.composed(relit.over(start), touched.astype(np.float32))
    del photo, start, relit  # large, and no longer needed
    job.bytes += write(job.file("result"), composed.encode())
    if request.keep:
        task.check()
        job.bytes += layer(composed.pixels, touched).save(job.file("layer"))
        job.bytes += write(job.file("picture"), pictures.shown(composed)[0])
        job.bytes += write(job.file("mask"), pictures.grey_png(pictures.to_codes(weight)))
    task.at("write", 1.0, task.done, task.total)


def _base_file(job: Job) -> Path:
    base = job.photo.jobs.get(job.base or "")
    if base is None:
        raise Refusal(409, "not_ready", "The job to start from has been deleted.")
    return base.file("layer")


@dataclass(frozen=True)
class _Asked:
    """`mask` (H, W) in [0, 1], or None for all that is found; `spared` (H, W): what must stay."""

    mask: NDArray[np.float32] | None
    options: Options
    spared: NDArray[np.bool_] | None = None


def _asked(networks: Networks, job: Job, request: Request, photo: Photo, task: Task) -> _Asked:
    """Which shadows to remove, in the remover's terms."""
    options = request.options
    if request.masked:
        mask = pictures.read_mask(job.file("given").read_bytes(), photo.height, photo.width)
        spared = None
        if job.photo.shadows:
            spared = spare(_labels(networks, job.photo, photo, task), mask)
        return _Asked(mask.astype(np.float32) / np.float32(255), options, spared)
    if not request.instances and not request.points:
        return _Asked(None, options)
    # Those that were found in the photo as it came, whatever a start from another result has left of them.
    labels = _labels(networks, job.photo, photo, task)
    known = {shadow.number: shadow.centre for shadow in job.photo.shadows or ()}
    for number in request.instances:
        if number not in known:
            raise Refusal(422, "invalid", f"There is no shadow {number}; {len(known)} were found.")
    try:
        chosen = {*request.instances, *(under(labels.astype(np.int32), x, y) for x, y in request.points)}
    except ValueError as error:
        raise Refusal(422, "invalid", str(error)) from error
    points = tuple(known[number] for number in sorted(chosen))
    return _Asked((labels > 0).astype(np.float32), replace(options, at=points))


def spare(labels: NDArray[np.uint8], mask: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """(H, W): the found shadows that a painted mask hardly covers, so that it does not grow into them."""
    covered = np.bincount(labels[mask > 127], minlength=MOST + 1)
    areas = np.bincount(labels.ravel(), minlength=MOST + 1)
    stays = covered < _COVERED * areas
    stays[0] = False
    spared: NDArray[np.bool_] = stays[labels] & (mask == 0)
    return spared


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
    due = time.monotonic() + _PREVIEW_PAUSE

    def report(progress: Progress) -> None:
        nonlocal due
        task.at(progress.stage, 0.95 * progress.share, progress.done, progress.total)
        began = time.monotonic()
        if progress.preview is not None and began >= due:
            job.preview = pictures.preview(progress.preview())
            job.previews += 1
            now = time.monotonic()
            due = now + max(_PREVIEW_PAUSE, (now - began) * (1 / _PREVIEW_SHARE - 1))

    return report
