"""Removes the shadows of many photos; each file is written completely or not at all."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

import numpy as np
from PIL import Image

from deshadow.photo import Photo, encode_photo, format_of, read_photo
from deshadow.photo.inputs import open_mask
from deshadow.photo.writing import written_format
from deshadow.removal import sheets
from deshadow.removal.modes import Progress
from deshadow.removal.options import RemovalOptions
from deshadow.removal.outcomes import Outcome, measure_compression_loss
from deshadow.removal.remover import RemovalResult, Remover, WeightsError
from deshadow.removal.tasks import STANDARD_STREAM, PhotoTask, check_outputs, make_folder
from deshadow.system.files import silence_stderr, write_output
from deshadow.system.streams import write_out

_SEEDS = 2**32


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """What is written for each photo, and how many photos are processed at a time."""

    skip_existing: bool = False
    save_mask: bool = False
    compare: bool = False
    variants: int = 1
    quality: int | None = None
    workers: int = 1


class StoppedError(Exception):
    """Raised in a worker when the user has stopped the run."""


def prepare_outputs(tasks: Sequence[PhotoTask], request: BatchRequest, report: str | None = None) -> None:
    """Check every file that will be written, the report included, and create their folders.

    ValueError says what cannot be written, before any photo is processed.
    """
    if request.variants < 1:
        raise ValueError(f"--variants is {request.variants}: it must be 1 or more")
    if request.workers < 1:
        raise ValueError(f"--workers is {request.workers}: it must be 1 or more")
    if request.quality is not None and not 1 <= request.quality <= 100:
        raise ValueError(f"--quality is {request.quality}: it must be from 1 to 100")
    outputs = [place for task in tasks for place in _list_outputs(task, request)]
    if report and report != STANDARD_STREAM:
        outputs.append(Path(report))
    elif report and any(task.output is None for task in tasks):
        raise ValueError("photo and report cannot both go to standard output: give a file for one of them")
    check_outputs(tasks, outputs)
    for folder in dict.fromkeys(place.parent for place in outputs):
        make_folder(folder)


def process_batch(
    tasks: Sequence[PhotoTask],
    request: BatchRequest,
    options: RemovalOptions,
    remover: Remover,
    advance: Callable[[int, float], None],
) -> Iterator[tuple[int, Outcome]]:
    """Process the tasks, and yield the index and the outcome of each when it is done.

    Only `workers` photos are in memory at a time. A photo that fails does not stop the others. `advance` is
    called with the index of a task and the share of it that is done.
    """
    stopped = Event()

    def run(index: int, task: PhotoTask) -> Outcome:
        def report(share: float) -> None:
            if stopped.is_set():
                raise StoppedError
            advance(index, share)

        try:
            report(0.0)
            return _try_photo(task, request, options, remover, report)
        finally:
            advance(index, 1.0)

    if request.workers == 1:
        yield from ((index, run(index, task)) for index, task in enumerate(tasks))
        return
    with ThreadPoolExecutor(request.workers) as pool:
        waiting, running = iter(enumerate(tasks)), dict[Future[Outcome], int]()
        try:
            while True:
                for index, task in waiting:
                    running[pool.submit(run, index, task)] = index
                    if len(running) >= request.workers:
                        break
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        finally:
            stopped.set()  # on Ctrl-C the workers end at their next report


def process_photo(
    task: PhotoTask,
    request: BatchRequest,
    options: RemovalOptions,
    remover: Remover,
    report: Callable[[float], None],
) -> Outcome:
    """Read a photo, remove its shadows, and write its results."""
    began = time.monotonic()
    data = task.photo.read_bytes() if task.photo else sys.stdin.buffer.read()
    with silence_stderr(request.workers == 1):  # libtiff prints messages of its own
        photo = read_photo(data, task.name)
        mask = None if task.mask is None else open_mask(task.mask)[0]
    selection = None
    if mask is not None or request.variants > 1:  # otherwise selected while the networks are opened
        selection = remover.select(photo.pixels, mask, options)
    kind = format_of(task.output) if task.output else written_format(photo)
    known = Outcome(task.name, "done", (), "", photo.width, photo.height, photo.format, notes=photo.notes)
    views: list[tuple[str, Image.Image]] = []
    written: list[str] = []
    for number in range(request.variants):
        seeded = replace(options, seed=(options.seed + number) % _SEEDS)

        def progress(now: Progress, number: int = number) -> None:
            report((number + now.share) / request.variants)

        found = remover.relight(photo.pixels, selection, seeded, progress)
        if found is None:
            copy = data if kind == photo.format else encode_photo(photo, kind, request.quality)
            place = _write(task.output, copy)
            return replace(known, state="no shadow", outputs=(place,), seconds=time.monotonic() - began)
        result = photo.composite(found.pixels, found.weight)
        encoded = encode_photo(result, kind, request.quality)
        written.append(_write(task.output if request.variants == 1 else _variant_path(task, number), encoded))
        if number == 0:
            known = replace(
                known,
                shadow_share=float((found.mask > 0.5).mean()),
                touched_share=float((found.weight > 0).mean()),
                compression_loss=measure_compression_loss(photo, encoded, kind, found.weight),
            )
            written += _write_extras(task, request, photo, result, found)
        if request.variants > 1:
            views.append((f"seed {seeded.seed}", sheets.shrink_picture(result.pixels, 480)))
    if views:
        views.insert(0, ("before", sheets.shrink_picture(photo.pixels, 480)))
        written.append(_write(task.beside("sheet.png"), sheets.encode_image(sheets.draw_variants(views))))
    return replace(known, outputs=tuple(written), seconds=time.monotonic() - began)


def _try_photo(
    task: PhotoTask,
    request: BatchRequest,
    options: RemovalOptions,
    remover: Remover,
    report: Callable[[float], None],
) -> Outcome:
    """The outcome of a photo, also if it fails; raises what would make every other photo fail as well."""
    if task.problem:
        return Outcome(task.name, "failed", error=task.problem)
    if request.skip_existing and _exists(task, request):
        return Outcome(task.name, "skipped", (str(task.output),))
    try:
        return process_photo(task, request, options, remover, report)
    except (WeightsError, BrokenPipeError):
        raise
    except (ValueError, MemoryError) as error:
        return Outcome(task.name, "failed", error=str(error) or "not enough memory: use a smaller photo")
    except OSError as error:
        reason = error.strerror or str(error)
        return Outcome(task.name, "failed", error=f"{error.filename or 'file'}: {reason}")


def _list_outputs(task: PhotoTask, request: BatchRequest) -> list[Path]:
    """Every file that is written for a photo."""
    if task.output is None:
        if request.variants > 1 or request.compare or request.save_mask:
            raise ValueError("standard output takes only the result itself: give a file with -o")
        return []
    outputs = [task.output]
    if request.save_mask:
        outputs.append(task.beside("mask.png"))
    if request.compare:
        outputs.append(task.beside("compare.jpg"))
    if request.variants > 1:
        outputs.append(task.beside("sheet.png"))
        outputs += [_variant_path(task, number) for number in range(request.variants)]
    return outputs


def _exists(task: PhotoTask, request: BatchRequest) -> bool:
    if task.output is None:
        return False
    last = task.output if request.variants == 1 else _variant_path(task, request.variants - 1)
    return last.exists()


def _variant_path(task: PhotoTask, number: int) -> Path:
    assert task.output is not None
    return task.beside(f"{number + 1}{task.output.suffix}")


def _write_extras(
    task: PhotoTask, request: BatchRequest, photo: Photo, result: Photo, found: RemovalResult
) -> list[str]:
    """Write the mask and the comparison, if they are requested; returns their paths."""
    written = []
    if request.save_mask:
        mask = (found.mask * np.float32(255) + np.float32(0.5)).astype(np.uint8)
        written.append(_write(task.beside("mask.png"), sheets.encode_image(Image.fromarray(mask))))
    if request.compare:
        sheet = sheets.draw_comparison(photo.pixels, result.pixels)
        written.append(_write(task.beside("compare.jpg"), sheets.encode_image(sheet, "JPEG")))
    return written


def _write(place: Path | None, data: bytes) -> str:
    """Write to a file, completely or not at all, or to standard output; returns its name."""
    if place is None:
        write_out(data)
        return STANDARD_STREAM
    write_output(place, data)
    return str(place)
