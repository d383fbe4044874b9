"""The manifest: a Parquet row for each photo that is finished, in a folder of the destination.

While a run goes on, each worker keeps the rows of its present block of photos in a file of its own, a part,
and writes it again after every photo. So a finished photo is on record, whatever is killed next. At the end
all parts become one file. The checkpoints of Ray Data are not used: they record a whole block when a later
stage has written it, so that a killed run would compute all photos of the unfinished blocks again.
"""

import io
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
from pyarrow.fs import FileType

from deshadow.cluster.storage import Storage, is_local

ROW = pa.schema(
    [
        ("source", pa.string()),
        ("destination", pa.string()),
        ("status", pa.string()),  # done, no shadow, empty mask or failed
        ("error", pa.string()),  # a sentence
        ("shadows", pa.int32()),  # number of shadows found
        ("fraction_relit", pa.float64()),
        ("seconds", pa.float64()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("bytes", pa.int64()),  # size of the result
        ("version", pa.string()),  # of deshadow
        ("weights_digest", pa.string()),
        ("detector_digest", pa.string()),
        ("result_digest", pa.string()),  # SHA-256 of the result's file
        ("finished", pa.timestamp("ms", "UTC")),
        ("notes", pa.string()),
    ]
)
FOLDER = "_manifest"
WHOLE = "manifest.parquet"
_SETTINGS, _TEMPORARY, _ATTEMPTS = "settings.json", "temporary", b"attempts"
_THREADS = 16


class Manifest:
    """The rows of all finished photos of a destination, and the settings that they were computed with."""

    def __init__(self, storage: Storage, destination: str) -> None:
        self.storage, self.folder = storage, f"{destination}/{FOLDER}"

    def read(self) -> pa.Table:
        """The rows of ROW, one for each source, sorted by source."""
        return self._read(self._list_parts())

    def merge(self) -> pa.Table:
        """Make one file of all parts; returns its rows."""
        parts = self._list_parts()
        rows = self._read(parts)
        small = [part for part in parts if not part.endswith(f"/{WHOLE}")]
        if small:
            buffer = io.BytesIO()
            pyarrow.parquet.write_table(rows, buffer, compression="zstd")
            self.storage.write(f"{self.folder}/{WHOLE}", buffer.getvalue())
            self.storage.delete_files(small)
        return rows

    def part(self, name: str) -> "Part":
        """The part of a block of photos."""
        return Part(self.storage, f"{self.folder}/part-{name}.parquet")

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ValueError if the rows were computed with other settings; without any, record these."""
        place = f"{self.folder}/{_SETTINGS}"
        if self.storage.kind(place) == FileType.NotFound:
            self.storage.write(place, json.dumps(settings, indent=2).encode())
            return
        earlier = json.loads(self.storage.read(place))
        changed = [name for name in settings if earlier.get(name) != settings[name]]
        if changed:
            what = ", ".join(f"{name} was {earlier.get(name)} and is {settings[name]}" for name in changed)
            raise ValueError(
                f"{self.folder} belongs to results of other settings ({what}): use the same settings, choose "
                "another destination with -o, or start anew with --overwrite"
            )

    def clear(self) -> None:
        """Delete the manifest, so that every photo is computed again."""
        self.storage.delete(self.folder)

    def remove_temporary(self) -> None:
        """Delete the unfinished files of workers that were killed."""
        if is_local(self.folder):
            self.storage.delete(str(temporary_folder(self.folder)))

    def _list_parts(self) -> list[str]:
        if self.storage.kind(self.folder) == FileType.NotFound:
            return []
        return sorted(
            found.address
            for found in self.storage.list_files(self.folder)
            if found.address.endswith(".parquet")
        )

    def _read(self, parts: Sequence[str]) -> pa.Table:
        """The latest row of each source: some have two if a run was killed while parts were being merged."""
        with ThreadPoolExecutor(_THREADS) as pool:
            tables = list(pool.map(self._read_part, parts))
        rows = pa.concat_tables([ROW.empty_table(), *tables])
        rows = rows.sort_by([("source", "ascending"), ("finished", "ascending")])
        sources = rows["source"].combine_chunks()
        is_last = pyarrow.compute.not_equal(sources[:-1], sources[1:])
        return rows.filter(pa.array([*is_last.to_pylist(), True][: len(rows)], pa.bool_()))

    def _read_part(self, address: str) -> pa.Table:
        return _parse(self.storage.read(address), address).select(ROW.names).cast(ROW)


class Part:
    """The rows of one block of photos, and how often an unfinished photo of it was begun."""

    def __init__(self, storage: Storage, address: str) -> None:
        self._storage, self._address = storage, address
        self.rows: list[dict[str, Any]] = []
        self.attempts: dict[str, int] = {}
        self.is_retry = storage.kind(address) != FileType.NotFound
        """Whether an earlier worker began this block and was killed."""
        if self.is_retry:
            table = _parse(storage.read(address), address)
            self.rows = table.to_pylist()
            self.attempts = json.loads((table.schema.metadata or {}).get(_ATTEMPTS, b"{}"))

    def write(self) -> None:
        """Replace the part by the present rows and attempts."""
        table = pa.Table.from_pylist(self.rows, ROW)
        table = table.replace_schema_metadata({_ATTEMPTS: json.dumps(self.attempts)})
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(table, buffer, compression="zstd")
        self._storage.write(self._address, buffer.getvalue())


def temporary_folder(manifest: str) -> Path | None:
    """Where the unfinished files of a destination on a file system are written; object storage needs none."""
    return Path(manifest) / _TEMPORARY if is_local(manifest) else None


def find_manifest(storage: Storage, address: str) -> pa.Table:
    """The rows of a manifest, given its file, its folder or the destination that contains it."""
    if storage.kind(address) == FileType.File:
        return _parse(storage.read(address), address)
    destination = address.removesuffix(f"/{FOLDER}")
    rows = Manifest(storage, destination).read()
    if not len(rows):
        raise ValueError(f"{address} has no manifest: give the destination of deshadow batch")
    return rows


def count(rows: pa.Table) -> dict[str, int]:
    """Number of rows of each status."""
    return {
        each["values"]: each["counts"] for each in pyarrow.compute.value_counts(rows["status"]).to_pylist()
    }


def _parse(data: bytes, address: str) -> pa.Table:
    try:
        return pyarrow.parquet.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"{address} is not readable as a part of a manifest ({error}): delete it, and the same command "
            "computes its photos again"
        ) from error
