"""`deshadow PHOTOS`: removes shadows from files. It imports what it needs when it runs."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, make_dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from deshadow.cli.parameters import DetectorWeights, Device, Flag, Weights
from deshadow.removal.options import Option, RemovalOptions, list_options

if TYPE_CHECKING:
    from cyclopts import Token
    from rich.console import Console

    from deshadow.removal.batch import BatchRequest
    from deshadow.removal.outcomes import Outcome
    from deshadow.removal.remover import Remover
    from deshadow.removal.tasks import PhotoTask

_FILES = Group("Photos and results", sort_key=1)
_SHADOWS = Group("Which shadows", sort_key=2)
_REMOVAL = Group("How they are removed", sort_key=3)
_NETWORKS = Group("Networks", sort_key=4)
_SELECTING = ("at", "instance", "exclude", "invert_mask", "threshold")


def _parse_points(_: Any, tokens: "Sequence[Token]") -> tuple[tuple[int, int], ...]:
    """((120, 80),) from `--at 120,80`."""
    points = []
    for token in tokens:
        x, comma, y = token.value.partition(",")
        if not (comma and x.strip().isdigit() and y.strip().isdigit()):
            raise ValueError(f"{token.value!r} is not a point: write X,Y in pixels, as in --at 120,80")
        points.append((int(x), int(y)))
    return tuple(points)


def _parse_numbers(_: Any, tokens: "Sequence[Token]") -> tuple[int, ...]:
    """(1, 2) from `--instance 1 --instance 2` or `--instance 1,2`."""
    words = [word.strip() for token in tokens for word in token.value.split(",")]
    for word in words:
        if not word.isdigit():
            raise ValueError(f"{word!r} is not the number of a shadow: deshadow detect lists the numbers")
    return tuple(int(word) for word in words)


def _make_flag(option: Option) -> tuple[str, Any, Any]:
    """The field of a dataclass that cyclopts makes a flag of: name, annotation and default."""
    help_text, how = option.help, dict[str, Any]()
    if option.range is not None:
        help_text += f" From {option.range.minimum} to {option.range.maximum}."
    if option.name == "at":
        how = {"converter": _parse_points, "n_tokens": 1, "metavar": "X,Y"}
    elif option.name in ("instance", "exclude"):
        how = {"converter": _parse_numbers, "n_tokens": 1, "metavar": "N"}
    how["show_default"] = not isinstance(option.default, tuple | bool)
    group = _SHADOWS if option.name in _SELECTING else _REMOVAL
    parameter = Parameter(help=help_text, group=group, negative=(), **how)
    return option.name, Annotated[option.type, parameter], field(default=option.default)


if TYPE_CHECKING:
    _Flags = RemovalOptions
else:
    _Flags = make_dataclass(
        "Flags", [_make_flag(option) for option in list_options("cli")], bases=(RemovalOptions,), frozen=True
    )
    _Flags.__module__ = __name__  # cyclopts takes a class of another module for a single value


def remove(
    *photos: Annotated[
        str,
        Parameter(
            allow_leading_hyphen=True, help="Files, folders, patterns, or - for standard input.", group=_FILES
        ),
    ],
    output: Annotated[
        str | None,
        Parameter(
            alias="-o",
            allow_leading_hyphen=True,
            group=_FILES,
            help="A file, a folder, or - for standard output. Without it each result is written beside its "
            "photo. In a folder, results have the names of the photos.",
        ),
    ] = None,
    recursive: Annotated[Flag, Parameter(group=_FILES, help="Search folders within folders too.")] = False,
    skip_existing: Annotated[
        Flag, Parameter(group=_FILES, help="Skip photos whose result exists already.")
    ] = False,
    save_mask: Annotated[
        Flag,
        Parameter(group=_FILES, help="Write the mask that was used, too: photo.deshadowed.mask.png."),
    ] = False,
    compare: Annotated[
        Flag,
        Parameter(
            group=_FILES, help="Write before and after side by side, too: photo.deshadowed.compare.jpg."
        ),
    ] = False,
    variants: Annotated[
        int, Parameter(group=_FILES, help="Number of variants, each from its own seed, with a sheet of all.")
    ] = 1,
    json: Annotated[
        str | None,
        Parameter(
            allow_leading_hyphen=True,
            group=_FILES,
            help="Write a report to this file, or to - for standard output.",
        ),
    ] = None,
    quality: Annotated[
        int | None,
        Parameter(
            group=_FILES,
            help="Quality of JPEG, WebP, AVIF and HEIC, from 1 to 100. Without it a JPEG keeps its quality.",
        ),
    ] = None,
    workers: Annotated[
        int, Parameter(group=_FILES, help="Number of photos processed at a time. Each needs memory.")
    ] = 1,
    mask: Annotated[
        Path | None,
        Parameter(
            group=_SHADOWS,
            help="A picture that is white in the shadow, or a folder of such pictures named like the photos. "
            "Without it the shadows are found.",
        ),
    ] = None,
    options: Annotated[_Flags, Parameter(name="*")] = _Flags(),  # noqa: B008 (immutable)
    weights: Annotated[Weights, Parameter(group=_NETWORKS)] = "light",
    detector: Annotated[DetectorWeights, Parameter(group=_NETWORKS)] = "detector",
    device: Annotated[Device, Parameter(group=_NETWORKS)] = "auto",
) -> None:
    """Remove the shadows of photos: all of them, or those that you point at."""
    if not photos:
        from deshadow.cli.app import app

        app.help_print()
        return
    if unknown := [each for each in photos if each.startswith("-") and each != "-"]:
        raise ValueError(f"unknown option {unknown[0]}: deshadow --help lists the options")
    from deshadow.removal.batch import BatchRequest
    from deshadow.removal.remover import Remover
    from deshadow.removal.tasks import plan_tasks

    tasks = plan_tasks(photos, output, mask, recursive)
    request = BatchRequest(skip_existing, save_mask, compare, variants, quality, workers)
    outcomes = _process(tasks, request, options, Remover(weights, detector, device), json)
    if any(outcome.state == "failed" for outcome in outcomes):
        sys.exit(2)


def _process(
    tasks: "Sequence[PhotoTask]",
    request: "BatchRequest",
    options: RemovalOptions,
    remover: "Remover",
    report: str | None,
) -> "list[Outcome]":
    """Process all photos with a progress bar on stderr, print a line for each, and write the report."""
    from rich.console import Console

    from deshadow.removal.batch import prepare_outputs, process_batch
    from deshadow.removal.outcomes import format_report
    from deshadow.removal.tasks import STANDARD_STREAM
    from deshadow.system.files import silence_pillow, write_output

    silence_pillow()
    prepare_outputs(tasks, request, report)
    errors = Console(stderr=True, soft_wrap=True)
    # On a terminal, messages go through the console of the progress bar, which is then drawn below them.
    taken = report == STANDARD_STREAM or any(task.output is None for task in tasks) or sys.stdout.isatty()
    console = errors if taken else Console(soft_wrap=True)
    outcomes: dict[int, Outcome] = {}
    with _show_progress(len(tasks), errors) as advance:
        for index, outcome in process_batch(tasks, request, options, remover, advance):
            outcomes[index] = outcome
            _print_outcome(outcome, console, errors)
    ordered = [outcomes[index] for index in range(len(tasks))]
    if report:
        text = format_report(ordered, options)
        if report == STANDARD_STREAM:
            sys.stdout.write(text)
        else:
            write_output(Path(report), text.encode(errors="backslashreplace"))  # as JSON escapes too
    return ordered


@contextmanager
def _show_progress(count: int, console: "Console") -> Iterator[Callable[[int, float], None]]:
    """A progress bar; yields a function of the index of a photo and the share of it that is done."""
    from deshadow.system.progress import show_progress

    with show_progress("Removing shadows", count, console) as bar:
        shares, lock = [0.0] * count, Lock()

        def advance(index: int, share: float) -> None:
            with lock:
                bar.advance(max(0.0, share - shares[index]))
                shares[index] = max(shares[index], share)

        yield advance


def _print_outcome(outcome: "Outcome", console: "Console", errors: "Console") -> None:
    """Print one line about a photo, and its notes."""
    from deshadow.photo import format_of
    from deshadow.removal.tasks import STANDARD_STREAM

    for note in outcome.notes:
        errors.print(f"deshadow: {outcome.photo}: {note}", highlight=False, markup=False)
    place = outcome.outputs[0] if outcome.outputs else ""
    match outcome.state:
        case "failed":
            named = "" if outcome.error.startswith(outcome.photo) else f"{outcome.photo}: "
            line = f"deshadow: {named}{' '.join(outcome.error.split())}"
            errors.print(line, highlight=False, markup=False)
            return
        case "skipped":
            line = f"{place}: exists already, skipped"
        case "no shadow":
            line = f"{place}: no shadow found, so this is {outcome.photo} unchanged"
        case "done":
            percent = 100 * outcome.touched_share
            line = f"{place}: {percent:.0f} % of the photo relit in {outcome.seconds:.1f} s"
            if outcome.compression_loss:
                kind = format_of(Path(place)) if place != STANDARD_STREAM else outcome.format
                mean, most = outcome.compression_loss.mean, round(outcome.compression_loss.most)
                line += f"; {kind} changed the rest by {mean:.2f} of 255 levels on average, {most} at most"
    console.print(line, highlight=False, markup=False)
