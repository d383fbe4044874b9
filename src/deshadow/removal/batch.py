"""Removes the shadows of many photos on this machine, one after another or several at a time."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event

from deshadow.removal.options import RemovalOptions
from deshadow.removal.outcomes import Outcome
from deshadow.removal.process import LocalFiles, PhotoRequest, list_outputs, try_photo, variant_path
from deshadow.removal.remover import Remover
from deshadow.removal.tasks import STANDARD_STREAM, PhotoTask, check_outputs, make_folder


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
    for folder in dict.fromkeys(place.parent for place in outputs):
        make_folder(folder)


def process_batch(
    tasks: Sequence[PhotoTask],
    request: PhotoRequest,
    options: RemovalOptions,
    remover: Remover,
    advance: Callable[[int, float], None],
    workers: int = 1,
    skip_existing: bool = False,
) -> Iterator[tuple[int, Outcome]]:
    """Process the tasks, and yield the index and the outcome of each when it is done.

    Only `workers` photos are in memory at a time. A photo that fails does not stop the others. `advance` is
    called with the index of a task and the share of it that is done.
    """
    stopped, files = Event(), LocalFiles()

    def run(index: int, task: PhotoTask) -> Outcome:
        def report(share: float) -> None:
            if stopped.is_set():
                raise StoppedError
            advance(index, share)

        try:
            report(0.0)
            if skip_existing and not task.problem and _exists(task, request):
                return Outcome(task.name, "skipped", (str(task.output),))
            return try_photo(task, request, options, remover, files, report, one_thread=workers == 1)
        finally:
            advance(index, 1.0)

    if workers == 1:
        yield from ((index, run(index, task)) for index, task in enumerate(tasks))
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting, running = iter(enumerate(tasks)), dict[Future[Outcome], int]()
        try:
            while True:
                for index, task in waiting:
                    running[pool.submit(run, index, task)] = index
                    if len(running) >= workers:
                        break
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        finally:
            stopped.set()  # on Ctrl-C the workers end at their next report


def _exists(task: PhotoTask, request: PhotoRequest) -> bool:
    if task.output is None:
        return False
    last = task.output if request.variants == 1 else variant_path(task, request.variants - 1)
    return Path(last).exists()
