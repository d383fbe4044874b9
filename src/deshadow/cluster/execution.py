"""The work of Ray: blocks of photos go to a pool of workers, each of which has its share of the machines."""

import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import ray
import ray.data

from deshadow.cluster.manifest import count
from deshadow.cluster.settings import GIB, Job, Resources
from deshadow.cluster.worker import PhotoWorker, WorkerError

_BLOCK, _BLOCK_BYTES, _BLOCKS = 16, 64 * 2**20, 20_000
_POLL = 0.5  # seconds


def execute_blocks(job: Job, waiting: pa.Table, workers: int) -> Iterator[tuple[int, int]]:
    """Process the photos of a plan; yields the number of photos and of failures of each finished block."""
    ray.data.DataContext.get_current().enable_progress_bars = False
    out = ray.data.from_arrow(divide(waiting, workers)).map_batches(
        PhotoWorker,
        fn_constructor_args=(job,),
        batch_size=None,
        batch_format="pyarrow",
        **worker_arguments(job.resources, workers),
    )
    for block in out.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        yield len(block), count(block).get("failed", 0)


def execute_remotely(job: Job, waiting: pa.Table, workers: int) -> Iterator[tuple[int, int]]:
    """As `execute_blocks`, from a machine outside the cluster (ray://), where Ray Data cannot run itself."""
    runner = ray.remote(num_cpus=0)(RemoteRunner).remote(job, waiting, workers)
    while (finished := ray.get(runner.take.remote())) is not None:
        yield from finished
        time.sleep(_POLL)


class RemoteRunner:
    """Runs `execute_blocks` on a machine of the cluster."""

    def __init__(self, job: Job, waiting: pa.Table, workers: int) -> None:
        self._finished: list[tuple[int, int]] = []
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(job, waiting, workers), daemon=True)
        self._thread.start()

    def take(self) -> list[tuple[int, int]] | None:
        """What was finished since the last call; None at the end."""
        is_over = not self._thread.is_alive()
        if is_over and self._error:
            raise self._error
        taken, self._finished = self._finished, []
        return None if is_over and not taken else taken

    def _run(self, job: Job, waiting: pa.Table, workers: int) -> None:
        try:
            for finished in execute_blocks(job, waiting, workers):
                self._finished.append(finished)
        except Exception as error:  # whatever ended the run is raised where it was started
            cause = getattr(error, "cause", None)
            self._error = cause if isinstance(cause, WorkerError) else error


def choose_workers(resources: Resources) -> int:
    """The number of workers: as many as the cluster has room for, unless a number is given."""
    if resources.workers is not None:
        return resources.workers
    room = 0
    for node in ray.nodes():
        has = node["Resources"] if node["Alive"] else {}
        fits = [has.get("CPU", 0) // resources.threads, has.get("memory", 0) // (resources.memory * GIB)]
        gpus = share_of_gpu(resources)
        room += int(min([*fits, has.get("GPU", 0) // gpus] if gpus else fits))
    if not room:
        raise ValueError(
            f"no machine has room for a worker of {resources.threads} cores and {resources.memory:g} GiB: "
            "lower --threads-per-worker or --memory-per-worker"
        )
    return room


def share_of_gpu(resources: Resources) -> float:
    """The share of a GPU that a worker takes."""
    if resources.gpus is not None:
        return resources.gpus
    return 0.25 if ray.cluster_resources().get("GPU", 0) else 0.0


def worker_arguments(resources: Resources, workers: int) -> dict[str, Any]:
    """What `map_batches` is told of the workers."""
    return {
        "compute": ray.data.ActorPoolStrategy(size=workers),
        "num_cpus": resources.threads,
        "num_gpus": share_of_gpu(resources),
        "memory": int(resources.memory * GIB),
    }


def divide(plan: pa.Table, workers: int) -> list[pa.Table]:
    """Blocks for the workers: small enough to share the work evenly, not more than Ray can keep track of."""
    most = max(min(_BLOCK, -(-len(plan) // (8 * workers))), -(-len(plan) // _BLOCKS))
    blocks: list[pa.Table] = []
    run_name, begin, size = uuid.uuid4().hex[:8], 0, 0
    sizes = plan["size"].to_pylist()
    for place, own in enumerate([*sizes, 0]):
        full = place - begin >= most or (size + own > _BLOCK_BYTES and most <= _BLOCK)
        if place == len(sizes) or (full and place > begin):
            rows = plan.slice(begin, place - begin)
            name = pa.array([f"{run_name}-{len(blocks):06d}"] * len(rows))
            blocks.append(rows.append_column("block", name))
            begin, size = place, 0
        size += own
    return blocks
