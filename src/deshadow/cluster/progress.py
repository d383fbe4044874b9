"""How a run stands, for a person who watches it."""

import time
from collections.abc import Callable

from deshadow.cluster.manifest import FOLDER
from deshadow.cluster.run import Tally

_MINUTE = 60.0


class Reporter:
    """Shows how a run stands: on a terminal in a line that changes, otherwise in a new line every minute."""

    def __init__(self, say: Callable[[str], None], terminal: bool) -> None:
        self._say, self._terminal = say, terminal
        self._last = float("-inf")

    def __call__(self, tally: Tally) -> None:
        """Show the tally."""
        now = time.monotonic()
        if self._terminal:
            self._say(f"{format_progress(tally, now)}\033[K\r")
        elif now - self._last >= _MINUTE:
            self._say(f"{format_progress(tally, now)}\n")
            self._last = now


def format_progress(tally: Tally, now: float) -> str:
    """One line: photos done, rate, failures and time left."""
    finished = tally.earlier + tally.done
    line = f"{finished:,} of {tally.total:,} photos"
    if tally.failed:
        line += f", {tally.failed:,} failed"
    if not tally.done:
        return f"{line}; the workers are starting" if finished < tally.total else line
    rate = tally.done / max(now - tally.planned, 1e-9)
    left = (tally.total - finished) / rate
    return f"{line}, {format_rate(rate)}, {format_time(left)} left"


def format_rate(rate: float) -> str:
    """12.0 a second, 5.0 a minute or 2.0 an hour."""
    if rate >= 1:
        return f"{rate:.1f} a second"
    return f"{60 * rate:.1f} a minute" if 60 * rate >= 1 else f"{3600 * rate:.1f} an hour"


def format_time(seconds: float) -> str:
    """45 s, 12 min, 3.5 h or 2.1 days."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def format_summary(tally: Tally, destination: str) -> str:
    """What was done, in one or two sentences."""
    seconds = time.monotonic() - tally.planned
    finished = tally.earlier + tally.done
    line = f"{finished:,} of {tally.total:,} photos are finished"
    line += f", {tally.earlier:,} of them before" if tally.earlier else ""
    line += f"; {tally.failed:,} failed" if tally.failed else ""
    line += (
        f". {tally.done:,} took {format_time(seconds)} with {tally.workers} workers." if tally.done else "."
    )
    line += f" The manifest is {destination}/{FOLDER}."
    early = "\nThe run was ended early because more photos failed than --max-errors allows."
    return line + early if tally.early else line
