"""`deshadow PHOTOS`: removes shadows from files. It imports what it needs when it runs."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from deshadow.cli.parameters import WHOLE_NUMBER, ChosenRuntime, DetectorWeights, Device, Flag, Weights
from deshadow.cli.removal_flags import (
    FILES,
    NETWORKS,
    SHADOWS,
    Compare,
    Quality,
    RemovalFlags,
    SaveMask,
    Variants,
)

if TYPE_CHECKING:
    from rich.console import Console

    from deshadow.removal.options import RemovalOptions
    from deshadow.removal.outcomes import Outcome
    from deshadow.removal.process import PhotoRequest
    from deshadow.removal.remover import Remover
    from deshadow.removal.tasks import PhotoTask


OPEN: "list[Remover]" = []
"""The networks of the last removal, which stay open until the process ends."""


def remove(
    *photos: Annotated[
        str,
        Parameter(
            allow_leading_hyphen=True, help="Files, folders, patterns, or - for standard input.", group=FILES
        ),
    ],
    output: Annotated[
        str | None,
        Parameter(
            alias="-o",
            allow_leading_hyphen=True,
            group=FILES,
            help="A file, a folder, or - for standard output. Without it each result is written beside its "
            "photo. In a folder, results have the names of the photos.",
        ),
    ] = None,
    recursive: Annotated[Flag, Parameter(group=FILES, help="Search folders within folders too.")] = False,
    skip_existing: Annotated[
        Flag, Parameter(group=FILES, help="Skip photos whose result exists already.")
    ] = False,
    save_mask: SaveMask = False,
    compare: Compare = False,
    variants: Variants = 1,
    json: Annotated[
        str | None,
        Parameter(
            allow_leading_hyphen=True,
            group=FILES,
            help="Write a report to this file, or to - for standard output.",
        ),
    ] = None,
    quality: Quality = None,
    workers: Annotated[
        int | None,
        WHOLE_NUMBER,
        Parameter(
            group=FILES,
            help="Photos processed at a time. Each needs memory. Default: 2, or 1 for large photos.",
        ),
    ] = None,
    mask: Annotated[
        Path | None,
        Parameter(
            group=SHADOWS,
            help="A picture that is white in the shadow, or a folder of such pictures named like the photos. "
            "Without it the shadows are found.",
        ),
    ] = None,
    options: Annotated[RemovalFlags, Parameter(name="*")] = RemovalFlags(),  # noqa: B008 (immutable)
    weights: Annotated[Weights, Parameter(group=NETWORKS)] = "light",
    detector: Annotated[DetectorWeights, Parameter(group=NETWORKS)] = "detector",
    device: Annotated[Device, Parameter(group=NETWORKS)] = "auto",
    runtime: Annotated[ChosenRuntime, Parameter(group=NETWORKS)] = "auto",
) -> None:
    """Remove the shadows of photos: all of them, or those that you point at."""
    if not photos:
        from deshadow.cli.app import app

        app.help_print()
        return
    if unknown := [each for each in photos if each.startswith("-") and each != "-"]:
        hint = "deshadow --help lists the options"
        if Path(unknown[0]).exists():
            hint = f"./{unknown[0]} names the file"
        raise ValueError(f"unknown option {unknown[0]}: {hint}")
    if workers is not None and workers < 1:
        raise ValueError(f"--workers is {workers}: it must be 1 or more")
    from deshadow.removal.process import PhotoRequest
    from deshadow.removal.remover import Remover
    from deshadow.removal.tasks import plan_tasks

    if options.invert_mask and mask is None:
        raise ValueError("--invert-mask is for a mask: give one with --mask")
    request = PhotoRequest(save_mask, compare, variants, quality)
    tasks = plan_tasks(photos, output, mask, recursive)
    remover = Remover(weights, detector, device, runtime=runtime)
    OPEN[:] = [remover]
    outcomes = _process(tasks, request, options, remover, json, workers, skip_existing)
    if any(outcome.state == "failed" for outcome in outcomes):
        sys.exit(2)


def _process(
    tasks: "Sequence[PhotoTask]",
    request: "PhotoRequest",
    options: "RemovalOptions",
    remover: "Remover",
    report: str | None,
    workers: int | None,
    skip_existing: bool,
) -> "list[Outcome]":
    """Process all photos with a progress bar on stderr, print a line for each, and write the report."""
    from rich.console import Console

    from deshadow.cli.messages import describe_stop, summarise
    from deshadow.removal.batch import prepare_outputs, process_batch
    from deshadow.removal.outcomes import format_report
    from deshadow.removal.tasks import STANDARD_STREAM
    from deshadow.system.files import silence_pillow, write_output
    from deshadow.system.streams import write_out

    silence_pillow()
    prepare_outputs(tasks, request, report)
    errors = Console(stderr=True, soft_wrap=True)
    # On a terminal, messages go through the console of the progress bar, which is then drawn below them.
    taken = report == STANDARD_STREAM or any(task.output is None for task in tasks) or sys.stdout.isatty()
    console = errors if taken else Console(soft_wrap=True)
    outcomes: dict[int, Outcome] = {}
    began = time.monotonic()
    try:
        with _show_progress(len(tasks), errors) as advance:
            for index, outcome in process_batch(
                tasks, request, options, remover, advance, workers, skip_existing
            ):
                outcomes[index] = outcome
                _print_outcome(outcome, console, errors)
    except KeyboardInterrupt:
        _print(errors, f"deshadow: {describe_stop(outcomes.values(), len(tasks))}")
        sys.exit(130)
    ordered = [outcomes[index] for index in range(len(tasks))]
    if len(tasks) > 1:
        _print(console, summarise(ordered, time.monotonic() - began))
    if report:
        text = format_report(ordered, options).encode(errors="backslashreplace")  # as JSON escapes too
        if report == STANDARD_STREAM:
            write_out(text)
        else:
            write_output(Path(report), text)
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
    from deshadow.cli.messages import describe_outcome

    for note in outcome.notes:
        _print(errors, f"deshadow: {outcome.photo}: {note}")
    if outcome.state == "failed":
        named = "" if outcome.error.startswith(outcome.photo) else f"{outcome.photo}: "
        _print(errors, f"deshadow: {named}{' '.join(outcome.error.split())}")
    else:
        _print(console, describe_outcome(outcome))


def _print(console: "Console", line: str) -> None:
    console.print(line, highlight=False, markup=False)
