"""Progress on standard error: a bar by rich where it is installed, a line of text otherwise.

Nothing is shown where standard error is not a terminal.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

Item = TypeVar("Item")


class Bar(Protocol):
    """A progress bar that is being shown."""

    def advance(self, amount: float = 1) -> None:
        """Move the bar on by so much of its total."""
        ...

    def begin(self, title: str, total: float | None) -> None:
        """Start anew, under another title; without a total the bar only shows that something happens."""
        ...


@contextmanager
def show_progress(title: str, total: float | None = None, console: "Console | None" = None) -> Iterator[Bar]:
    """Show a bar until the block ends.

    A caller that prints meanwhile passes the `rich.console.Console` of standard error that it prints on, so
    that the bar is drawn anew below each line.
    """
    if console is None and find_spec("rich") is None:
        line = _TextBar(title, total)
        try:
            yield line
        finally:
            show_line("")
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    shown_on = console or Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=shown_on, transient=True, disable=not shown_on.is_terminal) as progress:
        yield _RichBar(progress, title, total)


def track(items: Iterable[Item], title: str, total: int) -> Iterator[Item]:
    """The items, with a bar that moves on by one for each."""
    with show_progress(title, total) as bar:
        for item in items:
            yield item
            bar.advance()


def show_line(text: str) -> None:
    """Replace the moving line of a terminal; without a terminal, do nothing."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{text}\033[K\r")
        sys.stderr.flush()


def draw_bar(share: float, width: int = 24) -> str:
    """A bar of `width` characters, of which the share (0 to 1) is filled."""
    full = round(width * min(1.0, max(0.0, share)))
    return "━" * full + "╌" * (width - full)


class _RichBar:
    def __init__(self, progress: Any, title: str, total: float | None) -> None:
        self.progress = progress
        self.task = progress.add_task(title, total=total)

    def advance(self, amount: float = 1) -> None:
        self.progress.advance(self.task, amount)

    def begin(self, title: str, total: float | None) -> None:
        self.progress.reset(self.task, description=title, total=total)


class _TextBar:
    def __init__(self, title: str, total: float | None) -> None:
        self.begin(title, total)

    def advance(self, amount: float = 1) -> None:
        self.done += amount
        self._show()

    def begin(self, title: str, total: float | None) -> None:
        self.title, self.total, self.done = title, total, 0.0
        self._show()

    def _show(self) -> None:
        if self.total is None:
            show_line(f"{self.title} …")
        else:
            show_line(f"{self.title} {draw_bar(self.done / self.total)} {self.done:.0f}/{self.total:.0f}")
