"""`deshadow batch`: removes the shadows of very many photos with Ray, which is imported when it runs."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from deshadow.cli.parameters import ChosenRuntime, DetectorWeights, Device, Flag, Weights
from deshadow.cli.removal_flags import (
    FILES,
    NETWORKS,
    SHADOWS,
    Compare,
    Quality,
    RemovalFlags,
    SaveMask,
    Variants,
)

_RUN = Group("The run", sort_key=5)
_EARLY = 3
"""Exit code of a run that was ended because too many photos failed."""


def batch(
    source: Annotated[
        str | None,
        Parameter(
            group=FILES,
            help="A folder, a bucket or prefix such as s3://archive/2024, a pattern, or a list of addresses "
            "(.txt, .csv or .parquet).",
        ),
    ] = None,
    *,
    output: Annotated[
        str | None,
        Parameter(
            alias="-o",
            group=FILES,
            help="A folder, bucket or prefix for the results, which have the names of the photos, and for "
            "the manifest.",
        ),
    ] = None,
    column: Annotated[
        str | None,
        Parameter(group=FILES, help="Column of a list that holds the addresses. Default: the first."),
    ] = None,
    save_mask: SaveMask = False,
    compare: Compare = False,
    variants: Variants = 1,
    quality: Quality = None,
    report: Annotated[
        str | None,
        Parameter(
            group=FILES,
            help="Process nothing: print the totals of the run at this destination and write a contact sheet "
            "of sampled and failed photos to -o, by default deshadow-batch.jpg.",
        ),
    ] = None,
    mask: Annotated[
        str | None,
        Parameter(
            group=SHADOWS,
            help="A picture that is white in the shadow, or a folder of such pictures named like the photos.",
        ),
    ] = None,
    mask_column: Annotated[
        str | None, Parameter(group=SHADOWS, help="Column of a list with addresses of masks.")
    ] = None,
    at_column: Annotated[
        str | None, Parameter(group=SHADOWS, help='Column of a list with points, as in "120,80 300,40".')
    ] = None,
    instance_column: Annotated[
        str | None, Parameter(group=SHADOWS, help='Column of a list with numbers of shadows, as in "1,2".')
    ] = None,
    options: Annotated[RemovalFlags, Parameter(name="*")] = RemovalFlags(),  # noqa: B008 (immutable)
    weights: Annotated[Weights, Parameter(group=NETWORKS)] = "light",
    detector: Annotated[DetectorWeights, Parameter(group=NETWORKS)] = "detector",
    device: Annotated[Device, Parameter(group=NETWORKS)] = "auto",
    runtime: Annotated[ChosenRuntime, Parameter(group=NETWORKS)] = "auto",
    address: Annotated[
        str | None,
        Parameter(
            group=_RUN,
            help="Ray cluster to run on, such as ray://head:10001 or auto. Without it this machine.",
        ),
    ] = None,
    workers: Annotated[
        int | None, Parameter(group=_RUN, help="Number of workers. Without it as many as there is room for.")
    ] = None,
    threads_per_worker: Annotated[int, Parameter(group=_RUN, help="Processor cores of each worker.")] = 1,
    gpus_per_worker: Annotated[
        float | None,
        Parameter(
            group=_RUN,
            help="Share of a GPU of each worker. Without it 0.25 where the cluster has GPUs, else 0.",
        ),
    ] = None,
    memory_per_worker: Annotated[
        float,
        Parameter(
            group=_RUN,
            help="GiB for each worker. A photo of N megapixels needs 1.2 + 0.055 N; a larger one fails.",
        ),
    ] = 2.75,
    max_errors: Annotated[
        str | None,
        Parameter(
            group=_RUN,
            help="End the run when more photos than this have failed: a number, or a share as in 1%.",
        ),
    ] = None,
    retry_failed: Annotated[
        Flag, Parameter(group=_RUN, help="Process photos again that failed in an earlier run.")
    ] = False,
    overwrite: Annotated[
        Flag, Parameter(group=_RUN, help="Start anew instead of going on where an earlier run ended.")
    ] = False,
    verbose: Annotated[Flag, Parameter(group=_RUN, help="Show what Ray reports.")] = False,
) -> None:
    """Remove the shadows of very many photos, on this machine or on a Ray cluster, in any storage.

    A run that was stopped goes on when the same command is given again.

    For one photo or some hundreds use deshadow PHOTOS, which starts at once.
    """
    from deshadow.system.extras import require

    require("cluster", "ray", "pyarrow", "fsspec")
    if report is not None:
        from deshadow.cluster.report import make_report

        print(make_report(report, Path(output or "deshadow-batch.jpg")))  # noqa: T201
        return
    if source is None or output is None:
        raise ValueError("give a source and a destination, as in deshadow batch photos/ -o clean/")
    terminal = sys.stderr.isatty()
    with _quieten(verbose) as say:
        from deshadow.cluster.lists import Columns
        from deshadow.cluster.progress import Reporter, format_summary
        from deshadow.cluster.run import ErrorLimit, run_batch
        from deshadow.cluster.settings import Job, Networks, Resources
        from deshadow.cluster.storage import clean_address
        from deshadow.removal.options import RemovalOptions
        from deshadow.removal.process import PhotoRequest

        networks = Networks(weights, detector, device, runtime)
        job = Job(
            options=RemovalOptions(**asdict(options)),
            request=PhotoRequest(save_mask, compare, variants, quality),
            networks=networks,
            resources=Resources(workers, threads_per_worker, gpus_per_worker, memory_per_worker),
            digests=networks.digests(),
            roots=tuple(root for root in (source, output, mask) if root),
            destination=clean_address(output),
        )
        limit = None if max_errors is None else ErrorLimit(max_errors)
        try:
            tally = run_batch(
                job,
                source,
                mask=mask,
                columns=Columns(column, mask_column, at_column, instance_column),
                address=address,
                overwrite=overwrite,
                retry_failed=retry_failed,
                max_errors=limit,
                report=Reporter(say, terminal),
            )
        except KeyboardInterrupt:
            say("deshadow: stopped; finished photos are kept, and the same command goes on\n")
            raise
    print(format_summary(tally, job.destination))  # noqa: T201
    if tally.early:
        sys.exit(_EARLY)
    if tally.failed and limit is None:
        sys.exit(2)


@contextmanager
def _quieten(verbose: bool) -> Iterator[Callable[[str], None]]:
    """Discard what Ray prints on standard error; yields a function that writes there nevertheless."""
    from deshadow.system.files import silence_stderr

    kept = os.dup(2)
    try:
        with silence_stderr(not verbose):
            yield lambda text: _write_all(kept, text.encode(errors="replace"))
    finally:
        os.close(kept)


def _write_all(stream: int, data: bytes) -> None:
    while data:
        data = data[os.write(stream, data) :]
