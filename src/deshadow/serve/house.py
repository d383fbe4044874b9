"""All that the routes share, and what they do with it."""

import asyncio
import shutil
from contextlib import suppress

from fastapi import Request, UploadFile

from deshadow.serve import pictures, work
from deshadow.serve.forms import JobForm
from deshadow.serve.metrics import Metrics
from deshadow.serve.queue import Queue, Task
from deshadow.serve.refusal import Refusal
from deshadow.serve.settings import Settings
from deshadow.serve.store import Entry, Job, Store, new_id, write

_LAST_STEP = 60.0
"""Seconds that the work may take to end when the server stops."""


class House:
    """Settings, files, queue and networks of one running server."""

    def __init__(self, networks: work.Networks, settings: Settings) -> None:
        self.networks = networks
        self.settings = settings
        self.metrics = Metrics()
        self.store = Store(settings.expire, settings.max_store)
        self.queue = Queue(settings.queue, self.metrics.count_task)
        self.metrics.watch(self.queue, self.store)
        self._decoding = asyncio.Lock()  # one at a time: a photo is large once it is unpacked

    async def take_in(self, file: UploadFile, show: bool) -> Entry:
        """Keep an upload if it is a photo."""
        if self.queue.stopping:
            raise Refusal(503, "stopping", "The server is being stopped.")
        self.store.check_room(file.size or 0)
        entry = self.store.new(file.filename or "")
        try:
            async with self._decoding:
                await asyncio.to_thread(_copy, file, entry)
                await asyncio.to_thread(work.admit, entry, self.settings.max_pixels, show)
        except BaseException:
            self.store.drop(entry)
            raise
        self.store.add(entry)
        return entry

    async def find_shadows(self, entry: Entry, request: Request) -> None:
        """Run the detector once for a photo, however many ask; give up when nobody waits any more."""
        if entry.shadows is not None:
            return
        task = entry.detection
        if task is None or task.over.done() or task.giving_up.is_set():
            task = Task(work.find_shadows(self.networks, entry, self.settings.max_pixels), quick=True)
            self.queue.put(task)
            entry.detection = task
        task.listeners += 1
        try:
            await attend(task, request)
        finally:
            task.listeners -= 1
            if task.listeners == 0:
                self.cancel(task)
        _raise(task, self.queue)

    async def start_job(self, entry: Entry, form: JobForm, keep: bool) -> Job:
        """Check what is asked for and put it in line."""
        self.queue.check_room()
        self.store.check_room()
        request = work.Request(
            form.options(), form.mask is not None, tuple(form.instances), _points(form, entry), keep
        )
        if form.base:
            base = entry.jobs.get(form.base)
            if base is None or base.task.state != "done":
                raise Refusal(409, "not_ready", "`base` is not a finished job of this photo.")
        if form.mask is not None and (form.instances or form.points):
            raise Refusal(422, "mask", "Give a mask, or instances and points, not both.")
        job = Job(new_id(), entry, form.base or None, Task(_nothing))
        job.task.run = work.remove(self.networks, job, request, self.settings.max_pixels)
        if form.mask is not None:
            data = await form.mask.read()
            async with self._decoding:
                mask = await asyncio.to_thread(pictures.read_mask, data, entry.height, entry.width)
                packed = await asyncio.to_thread(pictures.grey_png, mask)
            self.store.photo(entry.id)  # it may have been deleted meanwhile
            job.bytes += write(job.file("given"), packed)
        try:
            self.queue.put(job.task)
        except Refusal:
            self.store.drop_job(job)
            raise
        self.store.add_job(job)
        return job

    async def result_of(self, job: Job, request: Request) -> None:
        """Wait for a job that nobody else knows of."""
        try:
            await attend(job.task, request)
        finally:
            self.queue.cancel(job.task)
        _raise(job.task, self.queue)

    def cancel(self, task: Task) -> None:
        """End a piece of work, unless it has ended."""
        if not task.over.done():
            self.queue.cancel(task)

    def forget(self, entry: Entry) -> None:
        """Cancel all work on a photo and remove its files."""
        for task in list(entry.tasks):
            self.queue.cancel(task)
        self.store.drop(entry)

    async def sweep(self) -> None:
        """Forget what has expired, for ever."""
        while True:
            await asyncio.sleep(min(self.settings.expire / 4, 30.0))
            for entry in self.store.stale():
                self.forget(entry)
            with suppress(OSError):
                await asyncio.to_thread(self.store.clear_leftovers)

    def close(self) -> None:
        """Cancel everything, wait for the work to end, and leave no files."""
        self.queue.stop()
        self.queue.join(_LAST_STEP)
        self.store.close()


async def attend(task: Task, request: Request) -> None:
    """Wait until a task is over, or until whoever asked has gone."""
    over = asyncio.wrap_future(task.over)
    while not over.done():
        await asyncio.wait([over], timeout=0.5)
        if not over.done() and await request.is_disconnected():
            return


def _raise(task: Task, queue: Queue) -> None:
    if task.error is not None:
        raise task.error
    if task.state != "done":
        if queue.stopping:
            raise Refusal(503, "stopping", "The server is being stopped.")
        raise Refusal(409, "not_ready", "This was cancelled.")


def _points(form: JobForm, entry: Entry) -> tuple[tuple[int, int], ...]:
    points = []
    for text in form.points:
        x, y = (int(part) for part in text.split(","))
        if not (x < entry.width and y < entry.height):
            raise Refusal(422, "invalid", f"{x},{y} is outside the photo of {entry.width}×{entry.height}.")
        points.append((x, y))
    return tuple(points)


def _copy(file: UploadFile, entry: Entry) -> None:
    with entry.file("upload").open("xb") as out:
        shutil.copyfileobj(file.file, out, 1 << 20)


def _nothing(task: Task) -> None:
    """What a task does before it is told."""
