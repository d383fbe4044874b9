"""Removes the shadows of one photo and writes its results, wherever files are kept."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Protocol

from PIL import Image

from deshadow.image.colour import round_to_8_bits
from deshadow.photo import Photo, encode_photo, format_of, read_photo
from deshadow.photo.inputs import open_mask
from deshadow.photo.writing import written_format
from deshadow.removal import sheets
from deshadow.removal.modes import Progress
from deshadow.removal.options import RemovalOptions
from deshadow.removal.outcomes import (
    Outcome,
    PhotoState,
    describe_left_out,
    find_changed,
    measure_compression_loss,
)
from deshadow.removal.remover import RemovalResult, Remover, WeightsError
from deshadow.removal.tasks import STANDARD_STREAM, PhotoTask
from deshadow.system.files import silence_stderr, write_output
from deshadow.system.streams import write_out

_SEEDS = 2**32


@dataclass(frozen=True, slots=True)
class PhotoRequest:
    """What is written for each photo. ValueError says which value is out of range."""

    save_mask: bool = False
    compare: bool = False
    variants: int = 1
    quality: int | None = None

    def __post_init__(self) -> None:
        if self.variants < 1:
            raise ValueError(f"--variants is {self.variants}: it must be 1 or more")
        if self.quality is not None and not 1 <= self.quality <= 100:
            raise ValueError(f"--quality is {self.quality}: it must be from 1 to 100")


class Files(Protocol):
    """Where photos and masks are read, and results are written; no path stands for a stream."""

    def read(self, path: PurePath | None) -> bytes:
        """The bytes of a file."""
        ...

    def write(self, path: PurePath | None, data: bytes) -> None:
        """Write a file completely or not at all; ValueError says why it cannot be written."""
        ...


class LocalFiles:
    """The files of this machine, and its standard input and output."""

    def read(self, path: PurePath | None) -> bytes:
        """The bytes of a file, or of standard input."""
        return Path(path).read_bytes() if path else sys.stdin.buffer.read()

    def write(self, path: PurePath | None, data: bytes) -> None:
        """Write a file completely or not at all, or to standard output."""
        if path is None:
            write_out(data)
        else:
            write_output(Path(path), data)


def process_photo(
    task: PhotoTask,
    request: PhotoRequest,
    options: RemovalOptions,
    remover: Remover,
    files: Files,
    report: Callable[[float], None],
    one_thread: bool = True,
) -> Outcome:
    """Read a photo, remove its shadows, and write its results.

    `report` is called with the share that is done. `one_thread` says that no other
    thread uses standard error.
    """
    began = time.monotonic()
    remover.open_ahead()  # while the photo is read
    data = files.read(task.photo)
    with silence_stderr(one_thread):  # libtiff prints messages of its own
        photo = read_photo(data, task.name)
        mask = None if task.mask is None else open_mask(files.read(task.mask), name=str(task.mask))[0]
    picture = photo.picture
    selection = remover.select(picture, mask, options)
    kind = format_of(task.output) if task.output else written_format(photo)
    known = Outcome(
        task.name,
        "done",
        width=photo.width,
        height=photo.height,
        format=photo.format,
        shadows=selection.found,
        left_out=selection.left_out,
        notes=(*photo.notes, *describe_left_out(selection.left_out)),
    )
    views: list[tuple[str, Image.Image]] = []
    written: list[str] = []
    for number in range(request.variants):
        seeded = replace(options, seed=(options.seed + number) % _SEEDS)

        def progress(now: Progress, number: int = number) -> None:
            report((number + now.share) / request.variants)

        found = remover.relight(picture, selection, seeded, progress)
        if found is None:
            copy = data if kind == photo.format else encode_photo(photo, kind, request.quality)
            place = _write(files, task.output, copy)
            state: PhotoState = "no shadow" if mask is None else "empty mask"
            if options.exclude and selection.found > selection.left_out:
                state = "all excluded"
            return replace(known, state=state, outputs=(place,), seconds=time.monotonic() - began)
        result = photo.composite(found.relit, found.weight)
        encoded = encode_photo(result, kind, request.quality)
        place = _write(files, task.output if request.variants == 1 else variant_path(task, number), encoded)
        written.append(place)
        if number == 0:
            changed = find_changed(photo, result)
            known = replace(
                known,
                shadow_share=float((found.mask > 0.5).mean()),
                touched_share=float(changed.mean()),
                compression_loss=measure_compression_loss(photo, changed, encoded, kind),
            )
            written += _write_extras(files, task, request, photo, result, found)
        if request.variants > 1:
            views.append((f"seed {seeded.seed}", sheets.shrink_picture(result.pixels, 480)))
    if views:
        views.insert(0, ("before", sheets.shrink_picture(photo.pixels, 480)))
        sheet = sheets.encode_image(sheets.draw_variants(views))
        written.append(_write(files, task.beside("sheet.png"), sheet))
    return replace(known, outputs=tuple(written), seconds=time.monotonic() - began)


def try_photo(
    task: PhotoTask,
    request: PhotoRequest,
    options: RemovalOptions,
    remover: Remover,
    files: Files,
    report: Callable[[float], None],
    one_thread: bool = True,
) -> Outcome:
    """The outcome of a photo, also if it fails; raises what would make every other photo fail as well."""
    if task.problem:
        return Outcome(task.name, "failed", error=task.problem)
    try:
        return process_photo(task, request, options, remover, files, report, one_thread)
    except (WeightsError, BrokenPipeError):
        raise
    except (ValueError, MemoryError) as error:
        return Outcome(task.name, "failed", error=str(error) or "not enough memory: use a smaller photo")
    except OSError as error:
        reason = error.strerror or str(error)
        return Outcome(task.name, "failed", error=f"{error.filename or 'file'}: {reason}")


def list_outputs(task: PhotoTask, request: PhotoRequest) -> list[PurePath]:
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
        outputs += [variant_path(task, number) for number in range(request.variants)]
    return outputs


def variant_path(task: PhotoTask, number: int) -> PurePath:
    """The path of one of several variants, which are numbered from 0."""
    assert task.output is not None
    return task.beside(f"{number + 1}{task.output.suffix}")


def _write_extras(
    files: Files,
    task: PhotoTask,
    request: PhotoRequest,
    photo: Photo,
    result: Photo,
    found: RemovalResult,
) -> list[str]:
    """Write the mask and the comparison, if they are requested; returns their paths."""
    written = []
    if request.save_mask:
        mask = Image.fromarray(round_to_8_bits(found.mask))
        written.append(_write(files, task.beside("mask.png"), sheets.encode_image(mask)))
    if request.compare:
        sheet = sheets.draw_comparison(photo.pixels, result.pixels)
        written.append(_write(files, task.beside("compare.jpg"), sheets.encode_image(sheet, "JPEG")))
    return written


def _write(files: Files, place: PurePath | None, data: bytes) -> str:
    """Write a file, or to standard output; returns its name."""
    files.write(place, data)
    return str(place) if place else STANDARD_STREAM
