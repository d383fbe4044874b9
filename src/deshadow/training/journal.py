"""The log of a run as JSON lines, its messages, and TensorBoard where that is installed."""

import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deshadow.system.progress import show_line

LOG = "log.jsonl"


class Journal:
    """Writes log and messages; a quiet one, for all processes but the first, writes nothing."""

    def __init__(self, folder: Path, *, resume: bool, quiet: bool) -> None:
        """A run that is not resumed begins a new log: one that is there is of a run that saved nothing."""
        self.quiet = quiet
        self.board: Any = None
        if quiet:
            return
        self.file = (folder / LOG).open("a" if resume else "w", encoding="utf-8")
        if find_spec("tensorboard") is not None:
            from torch.utils.tensorboard.writer import SummaryWriter

            self.board = SummaryWriter(str(folder))

    def close(self) -> None:
        """Close the files."""
        if not self.quiet:
            self.file.close()
        if self.board is not None:
            self.board.close()

    def write(self, kind: str, images: int, **values: Any) -> None:
        """One line of the log; numbers go to TensorBoard too."""
        if self.quiet:
            return
        line = {"kind": kind, "images": images, "time": round(time.time(), 3), **values}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        if self.board is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self.board.add_scalar(f"{kind}/{name}", value, images)

    def say(self, text: str) -> None:
        """Write a line to the terminal."""
        if not self.quiet:
            ending = "\033[K\n" if sys.stderr.isatty() else "\n"
            sys.stderr.write(f"{text}{ending}")
            sys.stderr.flush()

    def show(self, text: str) -> None:
        """Overwrite the last line of a terminal; elsewhere, do nothing."""
        if not self.quiet:
            show_line(text)


def format_time(seconds: float) -> str:
    """Seconds as hours, minutes and seconds: 1:02:03, or 2:03."""
    hours, rest = divmod(int(max(0.0, seconds)), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's log. Where a resumed run wrote a line again, the later one counts."""
    path = folder / LOG
    if not path.exists():
        raise ValueError(f"{folder} holds no training run: there is no {LOG} in it")
    lines: dict[tuple[str, int], dict[str, Any]] = {}
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue  # a line that was being written when the run was killed
        key = line["kind"], line["images"]
        lines.pop(key, None)  # so that a line that was written again stands where it was written last
        lines[key] = line
    return sorted(lines.values(), key=lambda line: line["images"])
