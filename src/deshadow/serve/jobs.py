"""The work of the server's thread: detects the shadows of a photo, and removes them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deshadow.image.colour import round_to_8_bits
from deshadow.image.strips import Picture
from deshadow.photo import Photo, encode_photo
from deshadow.photo.writing import written_format
from deshadow.removal.modes import EndEarlyError, Progress
from deshadow.removal.options import RemovalOptions, Sensitivity
from deshadow.removal.remover import RemovalResult
from deshadow.removal.selection import Selection, select, select_painted
from deshadow.serve import pictures
from deshadow.serve.errors import ApiError
from deshadow.serve.pictures import MAX_SHADOWS, Layer
from deshadow.serve.queue import QueuedTask
from deshadow.serve.store import RemovalJob, StoredPhoto, delete_files, write_private

_PREVIEW_PAUSE = 0.7
"""Seconds between two previews at least."""
_PREVIEW_SHARE = 0.2
"""Share of the time that is spent on previews at most."""


class Networks(Protocol):
    """What the server needs of a `deshadow.removal.remover.Remover`."""

    def find_shadows(self, pixels: Picture, sensitivity: Sensitivity, /) -> NDArray[np.int32]:
        """(H, W, 3) sRGB in [0, 1] → (H, W): 0 outside shadows, 1, 2, … in each, from the largest."""

    def find_unsure(
        self, pixels: Picture, labels: NDArray[np.int32], sensitivity: Sensitivity, /
    ) -> tuple[int, ...]:
        """The numbers of those found shadows that may be something else."""

    def select(self, pixels: Picture, mask: None, options: RemovalOptions, /) -> Selection:
        """All shadows that are found, without those that may be something else."""

    def relight(
        self,
        pixels: Picture,
        selection: Selection,
        options: RemovalOptions,
        progress: Callable[[Progress], None] | None,
        /,
    ) -> RemovalResult | None:
        """Remove the selected shadows; None if none is selected."""


@dataclass(frozen=True)
class RemovalRequest:
    """What a client asks for: which shadows to remove (all that are sure, if none is named), and how."""

    options: RemovalOptions
    masked: bool = False
    """Whether the client sent a mask, which is among the files of the job."""
    instances: tuple[int, ...] = ()
    points: tuple[tuple[int, int], ...] = ()
    keep: bool = True
    """Whether to write the files that the page shows and that another job can start from."""


def examine_upload(stored: StoredPhoto, max_pixels: int, show: bool) -> None:
    """Decode an upload and note its format and size; with `show`, write the picture for the browser."""
    photo = pictures.decode_photo(stored.file("upload"), stored.name, max_pixels)
    stored.format, stored.width, stored.height = photo.format, photo.width, photo.height
    stored.size = stored.bytes = stored.file("upload").stat().st_size
    if show:
        data, stored.display = pictures.encode_for_display(photo)
        stored.bytes += write_private(stored.file("picture"), data)


def run_detection(
    networks: Networks, stored: StoredPhoto, sensitivity: Sensitivity, max_pixels: int, task: QueuedTask
) -> None:
    """Find the shadows of a photo, unless they are known."""
    if sensitivity not in stored.shadows:
        task.report("detect", 0.0)
        photo = pictures.decode_photo(stored.file("upload"), stored.name, max_pixels)
        _find_labels(networks, stored, photo, sensitivity, task)


def run_removal(
    networks: Networks,
    job: RemovalJob,
    request: RemovalRequest,
    max_pixels: int,
    task: QueuedTask,
    rest: Callable[[], None],
) -> None:
    """Remove shadows and write the files of a job; a job that fails or is cancelled leaves no files.

    `rest` is called between two windows, and may do other work.
    """
    try:
        _remove(networks, job, request, max_pixels, task, rest)
    except BaseException:
        delete_files(job)
        raise
    finally:
        job.preview = None


def _remove(
    networks: Networks,
    job: RemovalJob,
    request: RemovalRequest,
    max_pixels: int,
    task: QueuedTask,
    rest: Callable[[], None],
) -> None:
    task.report("detect", 0.0)
    photo = pictures.decode_photo(job.photo.file("upload"), job.photo.name, max_pixels)
    base = _read_base(job) if job.base else None
    start: Picture = photo.picture if base is None else base.paste(photo.pixels)
    selection = _select(networks, job, request, photo, start, task)
    job.left_out = selection.left_out
    result = networks.relight(start, selection, request.options, _make_reporter(job, task, rest))
    task.report("write", 0.97, task.done, task.total)
    job.found = result is not None
    if result is None:
        nowhere = np.zeros((photo.height, photo.width), np.float32)
        result = RemovalResult(start, nowhere, nowhere)
    weight, changed = result.weight, result.weight > 0
    if base is None:
        composed = photo.composite(result.relit, weight)
    else:
        changed |= base.expand(photo.height, photo.width)
        composed = photo.composite(result.composite(start), changed.astype(np.float32))
    unchanged = base is None and not job.found and written_format(photo) == photo.format
    del photo, start, result, selection  # large, and no longer needed
    if request.keep:
        _show(job, composed.pixels)  # before the slower encoders of the files
        task.report("write", 0.98, task.done, task.total)
        job.bytes += write_private(job.file("layer"), Layer.crop(composed.pixels, changed).to_bytes())
        job.bytes += write_private(job.file("picture"), pictures.encode_for_display(composed)[0])
        job.bytes += write_private(job.file("mask"), pictures.encode_grey(round_to_8_bits(weight)))
        task.check()
    # Where nothing is removed the result is the upload itself, not compressed again.
    final = job.photo.file("upload").read_bytes() if unchanged else encode_photo(composed)
    job.bytes += write_private(job.file("result"), final)
    task.report("write", 1.0, task.done, task.total)


def encode_result(job: RemovalJob, kind: str, quality: int | None, max_pixels: int) -> bytes:
    """The result of a finished job in another format or quality, made from the upload and what changed."""
    photo = pictures.decode_photo(job.photo.file("upload"), job.photo.name, max_pixels)
    layer = Layer.from_bytes(job.file("layer").read_bytes())
    changed = layer.expand(photo.height, photo.width).astype(np.float32)
    return encode_photo(photo.composite(layer.paste(photo.pixels), changed), kind, quality)


def _read_base(job: RemovalJob) -> Layer:
    base = job.photo.jobs.get(job.base or "")
    if base is None:
        raise ApiError(409, "not_ready", "The job to start from has been deleted.")
    return Layer.from_bytes(base.file("layer").read_bytes())


def _select(
    networks: Networks,
    job: RemovalJob,
    request: RemovalRequest,
    photo: Photo,
    start: Picture,
    task: QueuedTask,
) -> Selection:
    """What the client selected among the shadows of the uploaded photo; if nothing, those left at the start.

    They are those of the upload also for a job that starts from another one's result, so that a number means
    the same shadow in each job.
    """
    sensitivity = request.options.sensitivity
    if request.masked:
        mask = pictures.decode_grey(job.file("given"))
        labels = _find_labels(networks, job.photo, photo, sensitivity, task)
        return select_painted(mask.astype(np.float32) / np.float32(255), labels)
    if not request.instances and not request.points:
        return networks.select(start, None, request.options)
    labels = _find_labels(networks, job.photo, photo, sensitivity, task)
    try:
        return select(labels, at=request.points, instances=request.instances)
    except ValueError as error:
        text = str(error)
        raise ApiError(422, "invalid", f"{text[:1].upper()}{text[1:]}.") from error


def _find_labels(
    networks: Networks, stored: StoredPhoto, photo: Photo, sensitivity: Sensitivity, task: QueuedTask
) -> NDArray[np.integer[Any]]:
    """(H, W): the numbers of the shadows of the uploaded photo, which are found once a sensitivity."""
    path = stored.labels(sensitivity)
    if sensitivity in stored.shadows:
        return pictures.decode_grey(path)
    picture = photo.picture  # it keeps the small copy of the photo that both searches use
    found = networks.find_shadows(picture, sensitivity)
    task.check()
    unsure = networks.find_unsure(picture, found, sensitivity)
    task.check()
    labels = np.where(found <= MAX_SHADOWS, found, 0).astype(np.uint8)
    stored.bytes += write_private(path, pictures.encode_grey(labels))
    stored.shadows[sensitivity] = pictures.list_shadows(labels, unsure)
    return labels


def _show(job: RemovalJob, pixels: NDArray[np.float32]) -> None:
    """Replace the preview of a job by this picture (H, W, 3)."""
    job.preview = pictures.encode_preview(pixels)
    job.previews += 1


def _make_reporter(job: RemovalJob, task: QueuedTask, rest: Callable[[], None]) -> Callable[[Progress], None]:
    """A function that passes progress on to the task, with a preview from time to time."""
    due = time.monotonic() + _PREVIEW_PAUSE

    def report(progress: Progress) -> None:
        nonlocal due
        task.report(progress.stage, 0.95 * progress.share, progress.done, progress.total)
        began = time.monotonic()
        if progress.preview is not None and began >= due:
            _show(job, progress.preview())
            now = time.monotonic()
            due = now + max(_PREVIEW_PAUSE, (now - began) * (1 / _PREVIEW_SHARE - 1))
        if progress.done < progress.total:
            if task.enough.is_set():
                raise EndEarlyError
            rest()
            task.check()

    return report
