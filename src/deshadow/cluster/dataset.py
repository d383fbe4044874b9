"""Shadow removal as a step of a pipeline of Ray Data: a Dataset in, a Dataset out."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath, PurePosixPath
from typing import Any

import pyarrow as pa
import ray.data

from deshadow.cluster.execution import choose_workers, share_of_gpu, worker_arguments
from deshadow.cluster.settings import Job, Networks, Resources
from deshadow.cluster.storage import Storage
from deshadow.cluster.worker import WorkerError, check_size, describe, open_networks, process_safely
from deshadow.removal.options import parse_options
from deshadow.removal.process import PhotoRequest
from deshadow.removal.tasks import PhotoTask

COLUMNS = pa.schema(
    [
        (
            "result",
            pa.large_binary(),
        ),  # the file of the result, in the format of the photo; null if it failed
        ("status", pa.string()),
        ("error", pa.string()),
        ("shadows", pa.int32()),
        ("fraction_relit", pa.float64()),
        ("seconds", pa.float64()),
        ("width", pa.int32()),
        ("height", pa.int32()),
    ]
)
"""The columns that are added; their meaning is that of the manifest."""
_BATCH = 4
_PHOTO, _MASK = PurePosixPath("photo"), PurePosixPath("mask")


def remove_shadows(
    dataset: ray.data.Dataset,
    column: str = "bytes",
    mask_column: str | None = None,
    *,
    networks: Networks = Networks(),  # noqa: B008 (immutable)
    resources: Resources = Resources(),  # noqa: B008 (immutable)
    quality: int | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """The Dataset with the columns of COLUMNS added: the results of all photos, and what happened to each.

    `column` holds the bytes of photos or their addresses; `mask_column`, if given, those of masks. The
    options are the fields of `deshadow.removal.options.RemovalOptions`. Ray must have been started.
    """
    job = Job(
        options=parse_options(options),
        request=PhotoRequest(quality=quality),
        networks=networks.on_device(share_of_gpu(resources)),
        resources=resources,
        digests=networks.digests(),
    )
    workers = choose_workers(resources)
    return dataset.map_batches(
        DatasetWorker,
        fn_constructor_args=(job, column, mask_column),
        batch_size=_BATCH,
        batch_format="pyarrow",
        **worker_arguments(resources, workers),
    )


class DatasetWorker:
    """Adds results to batches of rows, one photo at a time."""

    def __init__(self, job: Job, column: str, mask_column: str | None) -> None:
        self.job, self.column, self.mask_column = job, column, mask_column
        self.storage = Storage()
        self.remover, self.problem = open_networks(job)

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Rows → the same rows with the columns of COLUMNS, each in a table of its own."""
        if self.problem:
            raise WorkerError(self.problem)
        for place in range(len(batch)):
            row = batch.slice(place, 1)
            added = self._process(row)
            for column in COLUMNS:
                row = row.append_column(column, pa.array([added[column.name]], column.type))
            yield row

    def _process(self, row: pa.Table) -> dict[str, Any]:
        photo = row[self.column][0].as_py()
        mask = row[self.mask_column][0].as_py() if self.mask_column else None
        files = MemoryFiles(self.storage, self.job, photo, mask)
        task = PhotoTask(_PHOTO, None, _MASK if mask else None, address=files.name)
        outcome = process_safely(self.job, self.job.options, self.remover, task, files)
        return {**describe(replace(outcome, photo=files.name)), "result": files.result}


class MemoryFiles:
    """One photo and its mask, each as bytes or by its address; keeps the result."""

    def __init__(self, storage: Storage, job: Job, photo: bytes | str, mask: bytes | str | None) -> None:
        self._storage, self._job, self._photo, self._mask = storage, job, photo, mask
        self.name = photo if isinstance(photo, str) else "the photo"
        self.result: bytes | None = None

    def read(self, path: PurePath | None) -> bytes:
        """The bytes of the photo or of the mask."""
        given = self._photo if path == _PHOTO else self._mask
        data = self._storage.read(given) if isinstance(given, str) else bytes(given or b"")
        if path == _PHOTO:
            check_size(data, self.name, self._job)
        return data

    def write(self, path: PurePath | None, data: bytes) -> None:
        """Keep the result."""
        self.result = data
