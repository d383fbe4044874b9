"""Lists of photos: text, CSV or Parquet files with addresses."""

import io
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from deshadow.cluster.storage import Storage, clean_address, is_local

LISTS = (".txt", ".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a list, by name."""

    source: str | None = None
    """Addresses of the photos; without a name, the first column."""
    mask: str | None = None
    """Addresses of masks."""
    at: str | None = None
    """Points, such as "120,80" or "120,80 300,40"."""
    instance: str | None = None
    """Numbers of shadows, such as "2" or "1,2"."""


class ListedPhoto(NamedTuple):
    """What a list says about a photo."""

    address: str
    inside: str
    """The path below the folder of the list, otherwise the whole path with the bucket."""
    mask: str
    at: str
    instance: str


def read_list(storage: Storage, address: str, columns: Columns) -> Iterator[ListedPhoto]:
    """The photos that a text, CSV or Parquet file names; relative paths start at the folder of the list."""
    table = _open_list(storage, address)
    named = [columns.source or table.column_names[0], columns.mask, columns.at, columns.instance]
    for name in named:
        if name is not None and name not in table.column_names:
            known = ", ".join(table.column_names)
            raise ValueError(f"{address} has no column {name!r}: its columns are {known}")
    empty = pa.nulls(len(table), pa.string())
    values = [empty if name is None else table[name].cast(pa.string()) for name in named]
    folder = address.rpartition("/")[0]
    for source, mask, at, instance in zip(*(each.to_pylist() for each in values), strict=True):
        if source and source.strip():
            full = _join(folder, source.strip())
            inside = full.removeprefix(f"{folder}/")
            if inside == full:
                inside = (full.partition("://")[2] or full).strip("/")
            yield ListedPhoto(full, inside, _join(folder, mask) if mask else "", at or "", instance or "")


def _open_list(storage: Storage, address: str) -> pa.Table:
    data = storage.read(address)
    try:
        if address.lower().endswith(".parquet"):
            return pyarrow.parquet.read_table(io.BytesIO(data))
        if address.lower().endswith(".csv"):
            return pyarrow.csv.read_csv(io.BytesIO(data))
        return pa.table({"address": pa.array(data.decode().splitlines(), pa.string())})
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise ValueError(f"{address} cannot be read as a list ({error}): write it again") from error


def _join(folder: str, given: str) -> str:
    """The address that a list gives, absolute and without .. in it."""
    if not is_local(given) or given.startswith("/"):
        return clean_address(given)
    start, sign, inside = folder.rpartition("://")
    return start + sign + posixpath.normpath(posixpath.join(inside, given))
