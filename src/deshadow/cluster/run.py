"""A run: plans the photos, has Ray Data process those that are not finished, and counts what happens."""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
import pyarrow as pa
import pyarrow.compute
import ray
import ray.data
import ray.util.client

from deshadow.cluster.execution import choose_workers, execute_blocks, execute_remotely, share_of_gpu
from deshadow.cluster.lists import Columns
from deshadow.cluster.manifest import Manifest, count
from deshadow.cluster.settings import Job
from deshadow.cluster.sources import plan_photos
from deshadow.cluster.storage import Storage
from deshadow.cluster.worker import WorkerError

_STORE = 256 * 2**20  # bytes of Ray's object store: only addresses and states pass through it
_ANSWER = 5.0  # seconds in which a cluster must answer
_ROUNDS = 3
_JOINS = 3  # times that joining a cluster is tried


@dataclass(slots=True)
class Tally:
    """How a run stands."""

    total: int
    """Photos of the source."""
    earlier: int
    """Photos that were finished before this run."""
    done: int = 0
    """Photos that this run has finished, failed ones included."""
    failed: int = 0
    """Failed photos of all runs."""
    workers: int = 0
    planned: float = field(default_factory=time.monotonic)
    early: bool = False
    """Whether the run was ended because too many photos failed."""


@dataclass(frozen=True, slots=True)
class ErrorLimit:
    """How many photos may fail until the run is ended; ValueError if it is neither a number nor a share."""

    text: str

    def __post_init__(self) -> None:
        self.limit(1)

    def limit(self, total: int) -> int:
        """The number of photos that may fail of so many."""
        with contextlib.suppress(ValueError):
            if self.text.endswith("%") and 0 <= (share := float(self.text[:-1])) <= 100:
                return int(total * share / 100)
            if int(self.text) >= 0:
                return int(self.text)
        raise ValueError(f"--max-errors is {self.text!r}: give a number of photos, or a share such as 1%")


def run_batch(
    job: Job,
    source: str,
    *,
    mask: str | None = None,
    columns: Columns = Columns(),  # noqa: B008 (immutable)
    address: str | None = None,
    overwrite: bool = False,
    retry_failed: bool = False,
    max_errors: ErrorLimit | None = None,
    report: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Remove the shadows of all photos of a source that have no row in the manifest of the destination.

    `report` is called when the photos are known, and after each block of them. ValueError says what is wrong
    with the source, the destination or the cluster.
    """
    storage = Storage(*job.roots)
    manifest = Manifest(storage, job.destination)
    plan = plan_photos(storage, source, job.destination, mask, columns)
    if overwrite:
        manifest.clear()
    manifest.check_settings(job.describe())
    rows = manifest.merge()
    waiting = _subtract(plan, rows, retry_failed)
    failed = 0 if retry_failed else count(rows).get("failed", 0)
    tally = Tally(len(plan), len(plan) - len(waiting), failed=failed)
    limit = None if max_errors is None else max_errors.limit(len(plan))
    report(tally)
    try:
        if len(waiting):
            with connect(address):
                _process_rounds(job, plan, waiting, manifest, tally, limit, report)
    finally:
        manifest.remove_temporary()
        manifest.merge()
    return tally


class LostError(Exception):
    """Ray has ended an execution, because it lost a machine or an object that it needs."""


def _process_rounds(
    job: Job,
    plan: pa.Table,
    waiting: pa.Table,
    manifest: Manifest,
    tally: Tally,
    limit: int | None,
    report: Callable[[Tally], None],
) -> None:
    """Process the photos until each has a row; ValueError if Ray ends one execution after another.

    Ray usually survives the loss of a machine, but not always; and a worker that was cut off from the cluster
    may have replaced a part of its successor. Then the photos without a row are processed in another round.
    """
    reason = "photos are missing in the manifest"
    for _ in range(_ROUNDS):
        try:
            _process(job, waiting, tally, limit, report)
        except LostError as error:
            reason = str(error)
        rows = manifest.read()
        waiting = _subtract(plan, rows, retry_failed=False)
        tally.done = len(plan) - len(waiting) - tally.earlier
        tally.failed = count(rows).get("failed", 0)
        if tally.early or not len(waiting):
            return
    raise ValueError(f"Ray has ended the run {_ROUNDS} times ({reason}): give the same command to go on")


def _process(
    job: Job, waiting: pa.Table, tally: Tally, limit: int | None, report: Callable[[Tally], None]
) -> None:
    """Process the photos, and count them as blocks are finished."""
    job = replace(job, networks=job.networks.on_device(share_of_gpu(job.resources)))
    tally.workers = min(choose_workers(job.resources), len(waiting))
    execute = execute_remotely if ray.util.client.ray.is_connected() else execute_blocks
    for finished, failed in _explain_errors(execute(job, waiting, tally.workers)):
        tally.done += finished
        tally.failed += failed
        report(tally)
        if limit is not None and tally.failed > limit:
            tally.early = True
            return


def _explain_errors(blocks: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The blocks; whatever ends Ray's work is a LostError, unless no worker can work."""
    try:
        yield from blocks
    except Exception as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, WorkerError):
            raise ValueError(str(cause)) from error
        raise LostError(" ".join(str(error).split())[:500]) from error


@contextlib.contextmanager
def connect(address: str | None = None) -> Iterator[None]:
    """Ray, on this machine or on the cluster at an address; ValueError if none answers there."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    if ray.is_initialized():
        yield
        return
    address = address or os.environ.get("RAY_ADDRESS")
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is None:
            ray.init("local", include_dashboard=False, object_store_memory=_STORE, **quiet)
        else:
            _check_answer(address)
            _join(address, **quiet)
    except (ConnectionError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"Ray cannot be started ({reason}): check --address") from error
    try:
        yield
    finally:
        ray.shutdown()


def _join(address: str, **options: Any) -> None:
    """Join a cluster; again if the process that Ray's server starts for each driver ended at once."""
    for _ in range(_JOINS - 1):
        with contextlib.suppress(ConnectionAbortedError):
            ray.init(address, **options)
            return
    ray.init(address, **options)


def _subtract(plan: pa.Table, rows: pa.Table, retry_failed: bool) -> pa.Table:
    """The photos of the plan without a row, or whose row says that they failed."""
    if retry_failed:
        rows = rows.filter(pyarrow.compute.not_equal(rows["status"], "failed"))
    finished = pyarrow.compute.is_in(plan["source"], rows["source"].combine_chunks())
    return plan.filter(pyarrow.compute.invert(finished))


def _check_answer(address: str) -> None:
    """Raise ValueError if no server of Ray answers at a host and port: Ray itself would wait for minutes."""
    place = address.rpartition("://")[2]
    if ":" not in place or os.environ.get("RAY_USE_TLS", "0") != "0":
        return  # auto, local and the like; or a server that answers only to Ray's certificates
    with grpc.insecure_channel(place) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=_ANSWER)
        except grpc.FutureTimeoutError as error:
            raise ValueError(
                f"no Ray cluster answers at {address} within {_ANSWER:.0f} s: check --address"
            ) from error
