"""How a command of training ends: with what it made, with one line and an exit code, or by a signal."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

Made = TypeVar("Made")
STOPPING = b"\nstopping after this step; Ctrl-C again stops at once and loses what is not saved\n"


class Interrupted(Exception):  # noqa: N818 (not an error: the state is saved)
    """Training was asked to stop by a signal, and its state is saved. The message is the signal's name."""


@contextmanager
def catch_signals() -> Iterator[dict[str, int]]:
    """Record SIGINT and SIGTERM under "signal", so that the loop can end after the step.

    A second SIGINT ends the process at once, without saving; but not under torchrun, where a process may get
    each signal twice.
    """
    caught: dict[str, int] = {}
    alone = int(os.environ.get("WORLD_SIZE", "1")) == 1

    def note(number: int, _: object) -> None:
        if alone and caught.get("signal") == number == signal.SIGINT:
            raise KeyboardInterrupt
        caught["signal"] = number
        if alone and number == signal.SIGINT:
            with suppress(OSError):  # standard error may be closed
                os.write(2, STOPPING)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_and_exit(command: Callable[[], Made]) -> Made:
    """Run a command; an error of the user ends in one line and exit code 2, a signal in its own code."""
    try:
        return command()
    except (ValueError, OSError) as error:
        sys.stderr.write(f"deshadow: {' '.join(str(error).split())}\n")
        sys.exit(2)
    except Interrupted as interrupted:
        sys.exit(130 if str(interrupted) == "SIGINT" else 143)
    except KeyboardInterrupt:
        sys.exit(130)
