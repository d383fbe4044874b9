"""Figures for Prometheus, in its text format."""

import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deshadow.serve.queue import Queue, Task
from deshadow.serve.store import Store


class Metrics:
    """Counts since the start."""

    def __init__(self) -> None:
        self._began = time.time()
        self._answers: Counter[int] = Counter()
        self._work: Counter[str] = Counter()
        self._seconds = 0.0

    def answered(self, status: int) -> None:
        """Count an answer."""
        self._answers[status] += 1

    def ended(self, task: Task) -> None:
        """Count a piece of work."""
        self._work[task.state] += 1
        self._seconds += task.seconds

    def text(self, queue: Queue, store: Store) -> str:
        """Everything, one figure a line."""
        lines = [
            *_family("requests_total", "counter", "Answers by status.", "status", dict(self._answers)),
            *_family("work_total", "counter", "Work that has ended, by how.", "state", dict(self._work)),
            *_figure("work_seconds_total", "counter", "Time spent at work.", self._seconds),
            *_figure("queue_length", "gauge", "Pictures that wait.", len(queue)),
            *_figure("queue_bound", "gauge", "Pictures that may wait.", queue.bound),
            *_figure("photos", "gauge", "Photos held.", len(store)),
            *_figure("store_bytes", "gauge", "Bytes of all files held.", store.bytes),
            *_figure("start_time_seconds", "gauge", "When the server started.", self._began),
        ]
        memory = resident()
        if memory is not None:
            lines += _figure("resident_memory_bytes", "gauge", "Memory of the process.", memory)
        return "\n".join(lines) + "\n"


def resident() -> int | None:
    """Bytes of memory that this process holds, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _figure(name: str, kind: str, meaning: str, value: float) -> list[str]:
    return [*_head(name, kind, meaning), f"deshadow_{name} {value}"]


def _family(name: str, kind: str, meaning: str, label: str, values: Mapping[Any, int]) -> list[str]:
    rows = [f'deshadow_{name}{{{label}="{key}"}} {value}' for key, value in sorted(values.items(), key=str)]
    return [*_head(name, kind, meaning), *rows]


def _head(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP deshadow_{name} {meaning}", f"# TYPE deshadow_{name} {kind}"]
