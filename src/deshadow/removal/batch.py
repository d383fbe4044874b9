"""Removes the shadows of many photos on this machine, one after another or several at a time."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event

from PIL import Image

from deshadow.removal.options import RemovalOptions
from deshadow.removal.outcomes import Outcome
from deshadow.removal.process import LocalFiles, PhotoRequest, list_outputs, try_photo, variant_path
from deshadow.removal.remover import Remover
from deshadow.removal.tasks import STANDARD_STREAM, PhotoTask, check_outputs, make_folder
from deshadow.system.files import is_stream

_AT_ONCE = 2
"""Photos that are processed at a time: while the networks work on one, the other is read or relit."""
_MOST_PIXELS = 32_000_000
"""Pixels of the photos that are processed at a time; a larger photo is processed alone."""


class StoppedError(Exception):
    """Raised in a worker when the user has stopped the run."""


def prepare_outputs(tasks: Sequence[PhotoTask], request: PhotoRequest, report: str | None = None) -> None:
    """Check every file that will be written, the report included, and create their folders.

    ValueError says what cannot be written, before any photo is processed.
    """
    outputs = [Path(place) for task in tasks for place in list_outputs(task, request)]
    if report and report != STANDARD_STREAM:
        outputs.append(Path(report))
    elif report and any(task.output is None for task in tasks):
        raise ValueError("photo and report cannot both go to standard output: give a file for one of them")
    check_outputs(tasks, outputs)
    for folder in dict.fromkeys(place.parent for place in outputs if not is_stream(place)):
        make_folder(folder)


def process_batch(
    tasks: Sequence[PhotoTask],
    request: PhotoRequest,
    options: RemovalOptions,
    remover: Remover,
    advance: Callable[[int, float], None],
    workers: int | None = None,
    skip_existing: bool = False,
) -> Iterator[tuple[int, Outcome]]:
    """Process the tasks, and yield the index and the outcome of each when it is done.

    Only `workers` photos are in memory at a time; without a number two, as long as both are small. A photo
    that fails does not stop the others. `advance` is called with the index of a task and the share of it that
    is done.
    """
    stopped, files = Event(), LocalFiles()

    def run(index: int, task: PhotoTask, alone: bool) -> Outcome:
        def report(share: float) -> None:
            if stopped.is_set():
                raise StoppedError
            advance(index, share)

        try:
            report(0.0)
            if skip_existing and not task.problem and (there := _find_existing(task, request)):
                return Outcome(task.name, "skipped", (str(there),))
            return try_photo(task, request, options, remover, files, report, one_thread=alone)
        finally:
            advance(index, 1.0)

    most = workers or _AT_ONCE
    if most == 1 or len(tasks) == 1:
        yield from ((index, run(index, task, alone=True)) for index, task in enumerate(tasks))
        return
    with ThreadPoolExecutor(most) as pool:
        waiting, running = deque(enumerate(tasks)), dict[Future[Outcome], tuple[int, float]]()
        try:
            while waiting or running:
                while waiting and len(running) < most:
                    pixels = 0.0 if workers else _count_pixels(waiting[0][1])
                    if running and pixels + sum(used for _, used in running.values()) > _MOST_PIXELS:
                        break
                    index, task = waiting.popleft()
                    alone = pixels > _MOST_PIXELS
                    running[pool.submit(run, index, task, alone)] = index, pixels
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future)[0], future.result()
        finally:
            stopped.set()  # on Ctrl-C the workers end at their next report


def _count_pixels(task: PhotoTask) -> float:
    """The pixels of a photo by its header; infinitely many where another photo beside it would do harm.

    That is where the header says nothing, and for TIFF, whose library prints messages on standard error.
    """
    try:
        with Image.open(task.photo or "") as photo:
            return math.inf if photo.format == "TIFF" else float(photo.width * photo.height)
    except Exception:  # a file that is no photo can raise anything
        return math.inf


def _find_existing(task: PhotoTask, request: PhotoRequest) -> Path | None:
    """The result of an earlier run: the last variant, or the only result, as of a photo without shadows."""
    if task.output is None:
        return None
    results = [task.output]
    if request.variants > 1:
        results.insert(0, variant_path(task, request.variants - 1))
    return next((path for path in map(Path, results) if path.exists()), None)
