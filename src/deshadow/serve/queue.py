"""A bounded queue of tasks, and the one thread that runs them."""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

from deshadow.serve.errors import INTERNAL, ApiError, stopping

log = logging.getLogger("deshadow.serve")

_LAST_STEPS = 1.5
"""How long the last steps of a removal take, compared with a window."""

TaskState = Literal["queued", "running", "done", "failed", "cancelled"]


class TaskCancelledError(Exception):
    """Raised inside a task to end it."""


@dataclass(eq=False)
class QueuedTask:
    """A task and its progress, which the working thread writes and all threads read."""

    run: Callable[["QueuedTask"], None]
    urgent: bool = False
    """Urgent tasks run before the others."""
    state: TaskState = "queued"
    stage: str = "waiting"
    share: float = 0.0
    done: int = 0
    total: int = 0
    error: ApiError | None = None
    began: float | None = None
    seconds: float = 0.0
    version: int = 0
    """Grows with every change of the fields above."""
    waiting_requests: int = 0
    """Number of requests that wait for the task; it is cancelled when the last of them is closed."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set to end the task at its next step."""
    enough: threading.Event = field(default_factory=threading.Event)
    """Set to end the windows of a removal early and keep what is done."""
    stage_began: float = 0.0
    """When the current stage began."""
    step_ended: float = 0.0
    """When the latest step of it ended."""
    ended: "Future[None]" = field(default_factory=Future)
    """Resolved when the task is done, failed or cancelled."""

    def report(self, stage: str, share: float, done: int = 0, total: int = 0) -> None:
        """Set the progress; a cancelled task ends here."""
        self.check()
        self.step_ended = time.monotonic()
        if stage != self.stage:
            self.stage_began = self.step_ended
        self.stage, self.share, self.done, self.total = stage, min(max(share, 0.0), 1.0), done, total
        self.version += 1

    def check(self) -> None:
        """Raise TaskCancelledError if the task was cancelled."""
        if self.cancelled.is_set():
            raise TaskCancelledError

    def elapsed(self) -> float:
        """Seconds that the task has run."""
        return self.seconds or (0.0 if self.began is None else time.monotonic() - self.began)

    def estimate_left(self) -> float | None:
        """Estimate of the seconds until the task is done, from its own windows; None before the first."""
        if self.state != "running" or self.stage != "windows" or not self.done:
            return None
        window = (self.step_ended - self.stage_began) / self.done
        left = window * (self.total - self.done + _LAST_STEPS)
        return max(left - (time.monotonic() - self.step_ended), 0.0)

    def end(self, state: TaskState, error: ApiError | None = None) -> None:
        """Set the final state; called once."""
        self.seconds = self.elapsed()
        self.error = error
        self.state = state
        self.version += 1
        self.ended.set_result(None)


class Queue:
    """Runs tasks one at a time. At most `bound` of them wait; `on_end` is called with each that has ended."""

    def __init__(self, bound: int, on_end: Callable[[QueuedTask], None] = lambda task: None) -> None:
        self.bound = bound
        self._on_end = on_end
        self._change = threading.Condition()
        self._waiting: deque[QueuedTask] = deque()
        self._running: list[QueuedTask] = []
        """The running task; after it, the urgent one that runs between two of its steps."""
        self._stopping = False
        self._mean_seconds = 1.0
        self._thread = threading.Thread(target=self._run_tasks, name="deshadow-work", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def stopping(self) -> bool:
        """Whether the queue takes no more tasks."""
        return self._stopping

    def check_room(self) -> None:
        """Raise an error if no task can be added now."""
        if self._stopping:
            raise stopping()
        if len(self._waiting) >= self.bound:
            wait = min(max(math.ceil(self._mean_seconds), 1), 60)
            raise ApiError(
                429, "queue_full", f"All {self.bound} places in the queue are taken; try again later.", wait
            )

    def put(self, task: QueuedTask) -> None:
        """Add a task, or raise an error if the queue is full."""
        with self._change:
            self.check_room()
            ahead = sum(other.urgent for other in self._waiting) if task.urgent else len(self._waiting)
            self._waiting.insert(ahead, task)
            self._change.notify()

    def position(self, task: QueuedTask) -> int:
        """Number of tasks before this one."""
        with self._change:
            return self._waiting.index(task) + len(self._running) if task in self._waiting else 0

    def cancel(self, task: QueuedTask) -> None:
        """Remove a task from the queue; if it is running, it ends at its next step."""
        task.cancelled.set()
        with self._change:
            if task not in self._waiting:
                return
            self._waiting.remove(task)
        task.end("cancelled")
        self._on_end(task)

    def stop(self) -> None:
        """Take no more tasks and cancel all; does not wait for them to end."""
        with self._change:
            self._stopping = True
            tasks = [*self._waiting, *self._running]
            self._change.notify()
        for task in tasks:
            self.cancel(task)

    def join(self, timeout: float) -> None:
        """Wait until the running task has ended after `stop`."""
        self._thread.join(timeout)

    def _run_tasks(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._stopping or self._waiting)
                if not self._waiting:
                    return
                task = self._take()
            self._run(task)
            del task  # frees its pictures while the thread waits

    def run_urgent(self) -> None:
        """Run the urgent tasks that wait. A long task calls this between its steps, in the queue's thread."""
        while True:
            with self._change:
                if not self._waiting or not self._waiting[0].urgent:
                    return
                task = self._take()
            self._run(task)

    def _take(self) -> QueuedTask:
        """The first task that waits, which is running from now on; for callers that hold the lock."""
        task = self._waiting.popleft()
        self._running.append(task)
        return task

    def _run(self, task: QueuedTask) -> None:
        _run(task)
        self._mean_seconds += 0.2 * (task.seconds - self._mean_seconds)
        self._on_end(task)
        self._running.pop()


def _run(task: QueuedTask) -> None:
    task.began = time.monotonic()
    task.state = "running"
    task.version += 1
    try:
        task.check()
        task.run(task)
    except ApiError as error:
        task.end("failed", error)
    except TaskCancelledError:
        task.end("cancelled")
    except Exception:
        if task.cancelled.is_set():  # its files may have been deleted while it ran
            task.end("cancelled")
            return
        log.exception("a task failed")
        task.end("failed", ApiError(500, "internal", INTERNAL))
    else:
        task.end("done")
