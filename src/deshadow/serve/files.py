"""Files as answers: those of the page, which are known when the server starts, and those of the store."""

import asyncio
import hashlib
import mimetypes
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from deshadow.serve.refusal import Refusal, not_found

_CHUNK = 1 << 18
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml", ".webp": "image/webp"}


@dataclass(frozen=True)
class PageFile:
    """One file of the page."""

    data: bytes
    kind: str
    tag: str


def page_files(folder: Path) -> dict[str, PageFile]:
    """Every file of the page by its path in it; what is not in here is never opened."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith((".", "_")) and path.suffix != ".py":
            kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            data = path.read_bytes()
            tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
            found[path.relative_to(folder).as_posix()] = PageFile(data, kind, tag)
    return found


def page_answer(files: Mapping[str, PageFile], name: str, request: Request) -> Response:
    """A file of the page, or word that the browser's copy is still good."""
    file = files.get(name)
    if file is None:
        raise Refusal(404, "not_found", "There is no such file.")
    headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    kind = f"{file.kind}; charset=utf-8" if file.kind.startswith("text/") else file.kind
    return Response(file.data, headers={**headers, "Content-Type": kind})


async def stored_answer(path: Path, kind: str, headers: dict[str, str] | None = None) -> Response:
    """A file of the store, piece by piece; it may be deleted meanwhile."""
    try:
        file = await asyncio.to_thread(path.open, "rb")
    except OSError:
        raise not_found("file") from None
    length = os.fstat(file.fileno()).st_size
    return StreamingResponse(
        _pieces(file), headers={"Content-Length": str(length), "Content-Type": kind, **(headers or {})}
    )


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, _CHUNK):
            yield piece


def attachment(name: str) -> dict[str, str]:
    """The header that names a download (RFC 6266): plain, and in full."""
    plain = "".join(each if each.isascii() and each not in '"\\%' else "_" for each in name)
    return {
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    }
