"""Files at any address: a path, or a URI such as s3://bucket/key.

pyarrow and fsspec speak the protocols, find the credentials, and try again when a connection breaks (31 times
for S3 in pyarrow 26).
"""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import fsspec
from pyarrow import ArrowInvalid, ArrowNotImplementedError
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, FSSpecHandler, PyFileSystem

from deshadow.system.files import write_atomically

_THREADS = 16


class Found(NamedTuple):
    """A file: its address and its size in bytes."""

    address: str
    size: int


class Storage:
    """Reads, writes and lists files by their addresses; it opens each bucket once."""

    def __init__(self, *roots: str, temporary: Path | None = None) -> None:
        """`roots` are addresses that may end in a query, such as ?endpoint_override=host:9000&scheme=http.

        The query then holds for all addresses of the same bucket. `temporary` is the folder of unfinished
        files, if results are written to a file system.
        """
        self._temporary = temporary
        self._opened: dict[str, tuple[FileSystem, str]] = {}
        for root in roots:
            self._opened[_bucket(root)] = _open_bucket(_bucket(root), urlsplit(root).query)

    def locate(self, address: str) -> tuple[FileSystem, str]:
        """The file system of an address, and the path in it."""
        bucket = _bucket(address)
        if bucket not in self._opened:
            self._opened[bucket] = _open_bucket(bucket, "")
        system, base = self._opened[bucket]
        inside = address.removeprefix(bucket)
        return system, inside if not bucket else f"{base}/{inside.strip('/')}".rstrip("/")

    def kind(self, address: str) -> FileType:
        """Whether the address is that of a file or of a folder; ValueError if that cannot be found out."""
        system, path = self.locate(address)
        try:
            found: FileInfo = system.get_file_info(path)
        except OSError as error:
            raise ValueError(f"{address} cannot be opened ({_reason(error)}): check your access") from error
        return found.type

    def list_files(self, address: str) -> Iterator[Found]:
        """All files in a folder and in the folders within it; ValueError if it cannot be listed."""
        system, path = self.locate(address)
        try:
            found = system.get_file_info(FileSelector(path, recursive=True))
        except FileNotFoundError as error:
            raise ValueError(f"{address}: folder not found") from error
        except OSError as error:
            raise ValueError(f"{address} cannot be listed ({_reason(error)}): check your access") from error
        for each in found:
            if each.type == FileType.File:
                yield Found(f"{address.rstrip('/')}/{each.path.removeprefix(path).lstrip('/')}", each.size)

    def read(self, address: str) -> bytes:
        """The bytes of a file."""
        if is_local(address):
            return Path(address).read_bytes()  # the errors of Python name the file
        system, path = self.locate(address)
        try:
            with system.open_input_stream(path) as stream:
                data: bytes = stream.readall()
                return data
        except FileNotFoundError as error:
            raise ValueError(f"{address}: file not found") from error
        except OSError as error:
            raise ValueError(f"{address} cannot be read ({_reason(error)}): check your access") from error

    def write(self, address: str, data: bytes) -> None:
        """Write a file completely or not at all; ValueError says why it cannot be written."""
        try:
            if is_local(address):
                self._write_local(Path(address), data)
            else:
                self._put(address, data)
        except OSError as error:
            raise ValueError(
                f"{address} cannot be written ({_reason(error)}): free some space, or choose another path "
                "with -o"
            ) from error

    def delete(self, address: str) -> None:
        """Delete a folder with all that it contains, if it exists."""
        system, path = self.locate(address)
        if system.get_file_info(path).type != FileType.NotFound:
            system.delete_dir(path)

    def delete_files(self, addresses: Sequence[str]) -> None:
        """Delete files."""

        def delete(address: str) -> None:
            system, path = self.locate(address)
            system.delete_file(path)

        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(delete, addresses))

    def _write_local(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if self._temporary is not None:
            self._temporary.mkdir(parents=True, exist_ok=True)
        with write_atomically(path, self._temporary) as beside:
            beside.write_bytes(data)

    def _put(self, address: str, data: bytes) -> None:
        """Object storage shows an object when its upload has ended, and never a part of it."""
        system, path = self.locate(address)
        stream = system.open_output_stream(path)
        stream.write(data)
        stream.close()


def is_local(address: str) -> bool:
    """Whether the address is a path of this machine."""
    return not _bucket(address)


def clean_address(given: str) -> str:
    """The address without its query and its last slash; a path becomes absolute."""
    given = given.removeprefix("file://")
    if is_local(given):
        return str(Path(given).expanduser().absolute())
    return given.partition("?")[0].rstrip("/") if urlsplit(given).query else given.rstrip("/")


def _bucket(address: str) -> str:
    """s3://bucket of s3://bucket/key; nothing for a path."""
    found = re.match(r"[a-z][a-z0-9+.-]+://[^/?]*", address)
    return found.group() if found else ""


def _open_bucket(bucket: str, query: str) -> tuple[FileSystem, str]:
    """The file system of a bucket, and the path of the bucket in it."""
    if not bucket:
        return FileSystem.from_uri("file:///")[0], ""
    if bucket.startswith("s3://"):  # upload small objects by one request instead of three
        query = "&".join(filter(None, (query, "allow_delayed_open=true")))
    try:
        system, base = FileSystem.from_uri(f"{bucket}/?{query}" if query else bucket)
    except (ArrowInvalid, ArrowNotImplementedError):
        system, base = _open_by_fsspec(bucket)
    except OSError as error:
        raise ValueError(
            f"{bucket} cannot be opened ({_reason(error)}): check its name and access"
        ) from error
    return system, base.rstrip("/")


def _open_by_fsspec(bucket: str) -> tuple[FileSystem, str]:
    try:
        system, base = fsspec.core.url_to_fs(f"{bucket}/")
    except (ValueError, ImportError) as error:
        raise ValueError(f"{bucket} cannot be opened: {error}") from error
    return PyFileSystem(FSSpecHandler(system)), base


def _reason(error: OSError) -> str:
    return error.strerror or " ".join(str(error).split())
