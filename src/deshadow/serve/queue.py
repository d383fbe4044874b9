"""One line of waiting pictures, with a bound, and the one thread that works on them."""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

from deshadow.serve.refusal import INTERNAL, Refusal

log = logging.getLogger("deshadow.serve")

State = Literal["queued", "running", "done", "failed", "cancelled"]


class StoppedError(Exception):
    """Raised inside the work to end it."""


@dataclass(eq=False)
class Task:
    """A piece of work and how far it is; written by the working thread, read by all."""

    run: Callable[["Task"], None]
    quick: bool = False
    """Goes ahead of what takes long."""
    state: State = "queued"
    stage: str = "waiting"
    share: float = 0.0
    done: int = 0
    total: int = 0
    error: Refusal | None = None
    began: float | None = None
    seconds: float = 0.0
    version: int = 0
    """Changes with anything that a listener wants to hear of."""
    listeners: int = 0
    """Requests that wait for it and would not want it otherwise."""
    giving_up: threading.Event = field(default_factory=threading.Event)
    over: "Future[None]" = field(default_factory=Future)
    """Done when the work has ended, in whichever way."""

    def at(self, stage: str, share: float, done: int = 0, total: int = 0) -> None:
        """Note how far it is; this is also where a cancelled task ends."""
        self.check()
        self.stage, self.share, self.done, self.total = stage, min(max(share, 0.0), 1.0), done, total
        self.version += 1

    def check(self) -> None:
        """End here if that was asked for."""
        if self.giving_up.is_set():
            raise StoppedError

    def elapsed(self) -> float:
        """Seconds since work on it began."""
        return self.seconds or (0.0 if self.began is None else time.monotonic() - self.began)

    def end(self, state: State, error: Refusal | None = None) -> None:
        """Say how it ended, once."""
        self.seconds = self.elapsed()
        self.error = error
        self.state = state
        self.version += 1
        self.over.set_result(None)


class Queue:
    """Takes tasks up to a bound; works on one at a time; stops at once."""

    def __init__(self, bound: int, ended: Callable[[Task], None] = lambda task: None) -> None:
        self.bound = bound
        self._ended = ended
        self._change = threading.Condition()
        self._waiting: deque[Task] = deque()
        self._running: Task | None = None
        self._stopping = False
        self._mean = 1.0
        self._thread = threading.Thread(target=self._work, name="deshadow-work", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def stopping(self) -> bool:
        """Whether no more is taken on."""
        return self._stopping

    def check_room(self) -> None:
        """Refuse what could not be put in now."""
        if self._stopping:
            raise Refusal(503, "stopping", "The server is being stopped.")
        if len(self._waiting) >= self.bound:
            wait = min(max(math.ceil(self._mean), 1), 60)
            raise Refusal(
                429, "queue_full", f"All {self.bound} places in the queue are taken; try again soon.", wait
            )

    def put(self, task: Task) -> None:
        """Put it in line, or refuse."""
        with self._change:
            self.check_room()
            ahead = sum(other.quick for other in self._waiting) if task.quick else len(self._waiting)
            self._waiting.insert(ahead, task)
            self._change.notify()

    def position(self, task: Task) -> int:
        """How many are ahead of it."""
        with self._change:
            return self._waiting.index(task) + (self._running is not None) if task in self._waiting else 0

    def cancel(self, task: Task) -> None:
        """Take it out of the line; one that is being worked on ends at its next step."""
        task.giving_up.set()
        with self._change:
            if task not in self._waiting:
                return
            self._waiting.remove(task)
        task.end("cancelled")
        self._ended(task)

    def stop(self) -> None:
        """Take no more, and cancel what is there; returns at once."""
        with self._change:
            self._stopping = True
            tasks = [*self._waiting, *([self._running] if self._running else [])]
            self._change.notify()
        for task in tasks:
            self.cancel(task)

    def join(self, timeout: float) -> None:
        """Wait for the work to end after `stop`."""
        self._thread.join(timeout)

    def _work(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._stopping or self._waiting)
                if not self._waiting:
                    return
                task = self._running = self._waiting.popleft()
            _perform(task)
            self._mean += 0.2 * (task.seconds - self._mean)
            self._ended(task)
            self._running = None
            del task  # and what it holds, while there is nothing to do


def _perform(task: Task) -> None:
    task.began = time.monotonic()
    task.state = "running"
    task.version += 1
    try:
        task.check()
        task.run(task)
    except Refusal as refusal:
        task.end("failed", refusal)
    except StoppedError:
        task.end("cancelled")
    except Exception:
        if task.giving_up.is_set():  # its files may have gone under its hands
            task.end("cancelled")
            return
        log.exception("work failed")
        task.end("failed", Refusal(500, "internal", INTERNAL))
    else:
        task.end("done")
