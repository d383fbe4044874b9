"""The server's figures for Prometheus, in a registry of their own."""

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, generate_latest

from deshadow.serve.queue import Queue, QueuedTask
from deshadow.serve.store import Store


class Metrics:
    """Counts requests and work since the start, and reads the queue, the store and the process when asked."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests answered, by HTTP status.", "status")
        self._tasks = self._counter("work", "Tasks that ended, by how they ended.", "state")
        self._seconds = self._counter("work_seconds", "Seconds spent on tasks.")
        ProcessCollector(namespace="deshadow", registry=self._registry)

    def watch(self, queue: Queue, store: Store) -> None:
        """Add the figures of the queue and the store, which are read at each request for the metrics."""
        for name, meaning, read in (
            ("queue_length", "Tasks that wait in the queue.", lambda: len(queue)),
            ("queue_bound", "Tasks that may wait in the queue.", lambda: queue.bound),
            ("photos", "Photos in the store.", lambda: len(store)),
            ("store_bytes", "Bytes of all files in the store.", lambda: store.bytes),
        ):
            Gauge(f"deshadow_{name}", meaning, registry=self._registry).set_function(read)

    def count_response(self, status: int) -> None:
        """Count a response of this HTTP status."""
        self._requests.labels(status).inc()

    def count_task(self, task: QueuedTask) -> None:
        """Count a task that has ended."""
        self._tasks.labels(task.state).inc()
        self._seconds.inc(task.seconds)

    def text(self) -> str:
        """All figures in the text format of Prometheus."""
        return generate_latest(self._registry).decode()

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"deshadow_{name}", meaning, labels, registry=self._registry)
