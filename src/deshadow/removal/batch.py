"""Removing the shadows of many photos: one after another or some at a time, each whole or not at all."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock

import numpy as np
from PIL import Image
from rich.console import Console

from deshadow.photo import Photo, encode_photo, format_of, read
from deshadow.photo.inputs import open_mask
from deshadow.photo.writing import written_format
from deshadow.removal import sheets
from deshadow.removal.jobs import STREAM, Job, check_places, make_folder, plan
from deshadow.removal.modes import Progress
from deshadow.removal.options import RemovalOptions
from deshadow.removal.outcomes import Outcome, report_text, residual, say
from deshadow.removal.remover import RemovalResult, Remover, WeightsError
from deshadow.system.files import silence_pillow, silence_stderr, write_output
from deshadow.system.progress import show_progress
from deshadow.system.streams import write_out


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for, beside the photos and the options of the removal."""

    output: str | None = None
    """A file, a folder, or `-` for standard output; beside each photo, if None."""
    mask: Path | None = None
    recursive: bool = False
    skip_existing: bool = False
    save_mask: bool = False
    compare: bool = False
    variants: int = 1
    json: str | None = None
    quality: int | None = None
    workers: int = 1


class StoppedError(Exception):
    """Raised in a worker when the user has stopped the run."""


def run(photos: Sequence[str], request: Request, options: RemovalOptions, remover: Remover) -> list[Outcome]:
    """Do it, with a progress bar on stderr; what fails does not keep the others from being done."""
    silence_pillow()
    jobs = plan(photos, request.output, request.mask, request.recursive)
    _check(jobs, request)
    outcomes: dict[int, Outcome] = {}
    errors = Console(stderr=True, soft_wrap=True)
    # On a terminal what is said goes through the bar's own console, which draws the bar anew below it.
    taken = _stdout_is_taken(jobs, request) or sys.stdout.isatty()
    console = errors if taken else Console(soft_wrap=True)
    with _bar(len(jobs), errors) as advance:
        for index, outcome in _each(jobs, request, options, remover, advance):
            outcomes[index] = outcome
            say(outcome, console, errors)
    ordered = [outcomes[index] for index in range(len(jobs))]
    if request.json:
        text = report_text(ordered, options)
        if request.json == STREAM:
            sys.stdout.write(text)
        else:
            _deliver(Path(request.json), text.encode(errors="backslashreplace"))  # as JSON escapes too
    return ordered


def process(
    job: Job, request: Request, options: RemovalOptions, remover: Remover, report: Callable[[float], None]
) -> Outcome:
    """One photo from its file to the files of its results."""
    began = time.monotonic()
    data = job.photo.read_bytes() if job.photo else sys.stdin.buffer.read()
    with silence_stderr(request.workers == 1):  # libtiff says what is wrong in lines of its own
        photo = read(data, job.name)
        mask = None if job.mask is None else open_mask(job.mask)[0]
    selection = None
    if mask is not None or request.variants > 1:  # otherwise found while the networks are opened
        selection = remover.select(photo.pixels, mask, options)
    kind = format_of(job.output) if job.output else written_format(photo)
    known = Outcome(job.name, "done", (), "", photo.width, photo.height, photo.format, notes=photo.notes)
    results: list[tuple[str, Image.Image]] = []
    written: list[str] = []
    for number in range(request.variants):
        seeded = replace(options, seed=options.seed + number)

        def progress(now: Progress, number: int = number) -> None:
            report((number + now.share) / request.variants)

        relit = remover.relight(photo.pixels, selection, seeded, progress)
        if relit is None:
            copy = data if kind == photo.format else encode_photo(photo, kind, request.quality)
            copied = _deliver(job.output, copy)
            seconds = time.monotonic() - began
            return replace(known, state="no shadow", outputs=(copied,), seconds=seconds)
        result = photo.composite(relit.pixels, relit.weight)
        packed = encode_photo(result, kind, request.quality)
        place = job.output if request.variants == 1 else job.beside(_numbered(job, number))
        written.append(_deliver(place, packed))
        if number == 0:
            known = replace(
                known,
                shadow_share=float((relit.mask > 0.5).mean()),
                touched_share=float((relit.weight > 0).mean()),
                residual=residual(photo, packed, kind, relit.weight),
            )
            written += _further(job, request, photo, result, relit)
        if request.variants > 1:
            results.append((f"seed {seeded.seed}", sheets.reduced(result.pixels, 480)))
    if results:
        small = [("before", sheets.reduced(photo.pixels, 480)), *results]
        written.append(_deliver(job.beside("sheet.png"), sheets.packed(sheets.variants(small))))
    return replace(known, outputs=tuple(written), seconds=time.monotonic() - began)


def _each(
    jobs: Sequence[Job],
    request: Request,
    options: RemovalOptions,
    remover: Remover,
    advance: Callable[[int, float], None],
) -> Iterator[tuple[int, Outcome]]:
    """Outcomes as they come, `workers` photos at a time; never more of them in memory."""
    stopped = Event()

    def one(index: int, job: Job) -> Outcome:
        def report(share: float) -> None:
            if stopped.is_set():
                raise StoppedError
            advance(index, share)

        try:
            if job.problem:
                return Outcome(job.name, "failed", error=job.problem)
            if _is_done(job, request):
                return Outcome(job.name, "skipped", (str(job.output),))
            report(0.0)
            return process(job, request, options, remover, report)
        except WeightsError:  # every other photo would say the same
            raise
        except (ValueError, MemoryError) as error:
            return Outcome(job.name, "failed", error=str(error) or "memory does not suffice: make it smaller")
        except BrokenPipeError:  # nobody reads the results any more
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            return Outcome(job.name, "failed", error=f"{reason}: check {error.filename or 'the disk'}")
        finally:
            advance(index, 1.0)

    if request.workers == 1:
        yield from ((index, one(index, job)) for index, job in enumerate(jobs))
        return
    with ThreadPoolExecutor(request.workers) as pool:
        rest, running = iter(enumerate(jobs)), dict[Future[Outcome], int]()
        try:
            while True:
                for index, job in rest:
                    running[pool.submit(one, index, job)] = index
                    if len(running) >= request.workers:
                        break
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        finally:
            stopped.set()  # on Ctrl-C the workers end at their next report


def _check(jobs: Sequence[Job], request: Request) -> None:
    """Refuse what cannot be done before anything is."""
    if request.variants < 1 or request.workers < 1:
        raise ValueError("--variants and --workers take a number from 1")
    if request.quality is not None and not 1 <= request.quality <= 100:
        raise ValueError(f"--quality {request.quality} is not possible: choose 1 to 100")
    outputs = []
    for job in jobs:
        if job.output is None:
            if request.variants > 1 or request.compare or request.save_mask:
                raise ValueError("only the photo itself goes to standard output: name a file with -o")
            continue
        outputs.append(job.output)
        outputs += [job.beside("mask.png")] * request.save_mask + [
            job.beside("compare.jpg")
        ] * request.compare
        if request.variants > 1:
            outputs.append(job.beside("sheet.png"))
            outputs += [job.beside(_numbered(job, number)) for number in range(request.variants)]
    if request.json and request.json != STREAM:
        outputs.append(Path(request.json))
    elif request.json and any(job.output is None for job in jobs):
        raise ValueError("the photo and the report cannot both go to standard output: name a file for one")
    check_places(jobs, outputs)
    for folder in dict.fromkeys(place.parent for place in outputs):
        make_folder(folder)


def _is_done(job: Job, request: Request) -> bool:
    if not request.skip_existing or job.output is None:
        return False
    first = job.output if request.variants == 1 else job.beside(_numbered(job, request.variants - 1))
    return first.exists()


def _numbered(job: Job, number: int) -> str:
    assert job.output is not None
    return f"{number + 1}{job.output.suffix}"


def _further(job: Job, request: Request, photo: Photo, result: Photo, relit: RemovalResult) -> list[str]:
    """The mask and the comparison, where they are asked for."""
    written = []
    if request.save_mask:
        mask = (relit.mask * np.float32(255) + np.float32(0.5)).astype(np.uint8)
        written.append(_deliver(job.beside("mask.png"), sheets.packed(Image.fromarray(mask))))
    if request.compare:
        sheet = sheets.compare(photo.pixels, result.pixels)
        written.append(_deliver(job.beside("compare.jpg"), sheets.packed(sheet, "JPEG")))
    return written


def _deliver(place: Path | None, data: bytes) -> str:
    """Write to a file, whole or not at all, or to standard output."""
    if place is None:
        write_out(data)
        return STREAM
    write_output(place, data)
    return str(place)


def _stdout_is_taken(jobs: Sequence[Job], request: Request) -> bool:
    return request.json == STREAM or any(job.output is None for job in jobs)


@contextmanager
def _bar(count: int, console: Console) -> Iterator[Callable[[int, float], None]]:
    """A progress bar on stderr; gives a function of a photo's index and how far it is."""
    with show_progress("Removing shadows", count, console) as bar:
        shares, lock = [0.0] * count, Lock()

        def advance(index: int, share: float) -> None:
            with lock:
                bar.advance(max(0.0, share - shares[index]))
                shares[index] = max(shares[index], share)

        yield advance
