"""What the server does for clients: stores photos, detects shadows, runs removals, deletes expired photos."""

import asyncio
import shutil
from contextlib import suppress

from fastapi import Request, UploadFile

from deshadow.removal.options import Sensitivity
from deshadow.serve import jobs, pictures
from deshadow.serve.errors import ApiError, stopping
from deshadow.serve.jobs import Networks, RemovalRequest
from deshadow.serve.metrics import Metrics
from deshadow.serve.queue import Queue, QueuedTask
from deshadow.serve.schema import JobForm, read_options
from deshadow.serve.settings import Settings
from deshadow.serve.store import RemovalJob, Store, StoredPhoto, new_id, write_private

_SHUTDOWN_SECONDS = 60.0
"""Seconds that the running task may take to end when the server stops."""


class Service:
    """Settings, files, queue and networks of one running server."""

    def __init__(self, networks: Networks, settings: Settings) -> None:
        self.networks = networks
        self.settings = settings
        self.metrics = Metrics()
        self.store = Store(settings.expire, settings.max_store)
        self.queue = Queue(settings.queue, self.metrics.count_task)
        self.metrics.watch(self.queue, self.store)
        self._decoding = asyncio.Lock()  # one at a time: a decoded photo takes much memory

    async def add_photo(self, file: UploadFile, show: bool) -> StoredPhoto:
        """Store an upload, or raise an error if it is no photo; with `show`, make the picture to display."""
        if self.queue.stopping:
            raise stopping()
        self.store.check_room(file.size or 0)
        photo = self.store.create(file.filename or "")
        try:
            async with self._decoding:
                await asyncio.to_thread(_copy, file, photo)
                await asyncio.to_thread(jobs.examine_upload, photo, self.settings.max_pixels, show)
        except BaseException:
            self.store.delete(photo)
            raise
        self.store.add(photo)
        return photo

    async def detect_shadows(self, photo: StoredPhoto, sensitivity: Sensitivity, request: Request) -> None:
        """Wait until the shadows of a photo are known.

        All requests for them share one task, which is cancelled when the last of these requests is closed.
        """
        if sensitivity in photo.shadows:
            return
        task = photo.detections.get(sensitivity)
        if task is None or task.ended.done() or task.cancelled.is_set():

            def run(task: QueuedTask) -> None:
                jobs.run_detection(self.networks, photo, sensitivity, self.settings.max_pixels, task)

            task = QueuedTask(run, urgent=True)
            self.queue.put(task)
            photo.detections[sensitivity] = task
        task.waiting_requests += 1
        try:
            await wait_for_task(task, request)
        finally:
            task.waiting_requests -= 1
            if task.waiting_requests == 0:
                self.cancel(task)
        _raise_error(task, self.queue)

    async def start_job(self, photo: StoredPhoto, form: JobForm, keep: bool) -> RemovalJob:
        """Check a form and put its removal into the queue."""
        self.queue.check_room()
        self.store.check_room()
        request = RemovalRequest(
            read_options(form),
            form.mask is not None,
            tuple(form.instances),
            _read_points(form, photo),
            keep,
        )
        if form.base:
            base = photo.jobs.get(form.base)
            if base is None or base.task.state != "done":
                raise ApiError(409, "not_ready", "`base` is not a finished job of this photo.")
        if form.mask is not None and (form.instances or form.points):
            raise ApiError(422, "mask", "Send either a mask or instances and points, not both.")

        def run(task: QueuedTask) -> None:
            jobs.run_removal(
                self.networks, job, request, self.settings.max_pixels, task, self.queue.run_urgent
            )

        # Quick is short: it need not wait for the windows of another removal.
        task = QueuedTask(run, urgent=request.options.mode == "quick")
        job = RemovalJob(new_id(), photo, form.base or None, task)
        if form.mask is not None:
            data = await form.mask.read()
            async with self._decoding:
                size = photo.height, photo.width
                mask = await asyncio.to_thread(pictures.decode_mask, data, *size, self.settings.max_pixels)
                packed = await asyncio.to_thread(pictures.encode_grey, mask)
            self.store.get_photo(photo.id)  # raises an error if it was deleted meanwhile
            job.bytes += write_private(job.file("given"), packed)
        try:
            self.queue.put(job.task)
        except ApiError:
            self.store.delete_job(job)
            raise
        self.store.add_job(job)
        return job

    async def convert_result(self, job: RemovalJob, kind: str, quality: int | None) -> bytes:
        """The result of a finished job in another format or quality."""
        async with self._decoding:
            try:
                return await asyncio.to_thread(
                    jobs.encode_result, job, kind, quality, self.settings.max_pixels
                )
            except (ValueError, OSError) as error:
                raise ApiError(422, "format", f"The result {error}.") from error

    async def wait_for_job(self, job: RemovalJob, request: Request) -> None:
        """Wait until a job is done; cancel it if the request is closed before."""
        try:
            await wait_for_task(job.task, request)
        finally:
            self.queue.cancel(job.task)
        _raise_error(job.task, self.queue)

    def cancel(self, task: QueuedTask) -> None:
        """Cancel a task, unless it has ended."""
        if not task.ended.done():
            self.queue.cancel(task)

    def delete_photo(self, photo: StoredPhoto) -> None:
        """Cancel all tasks of a photo and delete its files."""
        for task in list(photo.tasks):
            self.queue.cancel(task)
        self.store.delete(photo)

    async def delete_expired(self) -> None:
        """Delete expired photos from time to time, until this is cancelled."""
        while True:
            await asyncio.sleep(min(self.settings.expire / 4, 30.0))
            for photo in self.store.find_expired():
                self.delete_photo(photo)
            with suppress(OSError):
                await asyncio.to_thread(self.store.delete_leftovers)

    def close(self) -> None:
        """Cancel all tasks, wait for the running one to end, and delete all files."""
        self.queue.stop()
        self.queue.join(_SHUTDOWN_SECONDS)
        self.store.close()


async def wait_for_task(task: QueuedTask, request: Request) -> None:
    """Wait until a task has ended or the client has closed the connection."""
    ended = asyncio.wrap_future(task.ended)
    while not ended.done():
        await asyncio.wait([ended], timeout=0.5)
        if not ended.done() and await request.is_disconnected():
            return


def _raise_error(task: QueuedTask, queue: Queue) -> None:
    """Raise the error of a task that is not done."""
    if task.error is not None:
        raise task.error
    if task.state != "done":
        if queue.stopping:
            raise stopping()
        raise ApiError(409, "not_ready", "The task was cancelled.")


def _read_points(form: JobForm, photo: StoredPhoto) -> tuple[tuple[int, int], ...]:
    points = []
    for text in form.points:
        x, y = (int(part) for part in text.split(","))
        if not (x < photo.width and y < photo.height):
            raise ApiError(
                422,
                "invalid",
                f"The point {x},{y} is outside the photo of {photo.width}×{photo.height} pixels.",
            )
        points.append((x, y))
    return tuple(points)


def _copy(file: UploadFile, photo: StoredPhoto) -> None:
    with photo.file("upload").open("xb") as out:
        shutil.copyfileobj(file.file, out, 1 << 20)
