"""The ASGI application: the API, the page, and the guard around both."""

import asyncio
import hashlib
import mimetypes
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from deshadow import __version__
from deshadow.photo.formats import FORMATS, is_installed, list_readable_endings
from deshadow.removal.options import list_options
from deshadow.serve.docs import render_docs
from deshadow.serve.errors import ApiError, error_response, validation_error
from deshadow.serve.guard import Guard
from deshadow.serve.jobs import Networks
from deshadow.serve.routes import make_job_routes, make_photo_routes
from deshadow.serve.schema import FormatOut, HealthOut, SettingsOut, describe_option, error_responses
from deshadow.serve.service import Service
from deshadow.serve.settings import Settings

PAGE = Path(__file__).parent / "page"
EXAMPLES = Path(__file__).parents[1] / "examples"
_ABOUT = """
Request bodies are `multipart/form-data`. Every response of status 400 or more is
`{"error": {"code": "…", "message": "…"}}`. Coordinates are pixels of the photo as displayed.
If the server has a token, send `Authorization: Bearer TOKEN`.
"""
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml", ".webp": "image/webp"}


class Application:
    """The guarded ASGI application of one service."""

    def __init__(self, service: Service, guarded: ASGIApp) -> None:
        self.service = service
        self._guarded = guarded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._guarded(scope, receive, send)

    def stop(self) -> None:
        """Cancel all tasks, so that the requests that wait for them get a response."""
        self.service.queue.stop()


@dataclass(frozen=True)
class PageFile:
    """One file of the page."""

    data: bytes
    kind: str
    """Its media type."""
    tag: str
    """Its ETag: browsers ask whether it has changed."""


def create_app(
    networks: Networks, settings: Settings | None = None, page: Mapping[str, PageFile] | None = None
) -> Application:
    """The application for a remover; `page` replaces the files of the page."""
    settings = settings or Settings()
    service = Service(networks, settings)

    @asynccontextmanager
    async def run_service(app: FastAPI) -> AsyncIterator[None]:
        deleting = asyncio.create_task(service.delete_expired())
        try:
            yield
        finally:
            deleting.cancel()
            await asyncio.to_thread(service.close)

    app = FastAPI(
        title="deshadow",
        version=__version__,
        description=_ABOUT,
        lifespan=run_service,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.include_router(make_photo_routes(service))
    app.include_router(make_job_routes(service))
    _add_server_routes(app, service)
    _add_page_routes(app, load_site() if page is None else page)

    @app.exception_handler(HTTPException)
    async def handle_error(request: Request, error: HTTPException) -> JSONResponse:
        return error_response(error)

    @app.exception_handler(RequestValidationError)
    async def handle_invalid_form(request: Request, error: RequestValidationError) -> JSONResponse:
        return error_response(validation_error(error.errors()))

    guard = Guard(app, settings, service.metrics.count_response, lambda: service.queue.stopping)
    return Application(service, guard)


def _add_server_routes(app: FastAPI, service: Service) -> None:
    """The addresses with information about the server."""
    settings = service.settings

    @app.get("/api/settings", tags=["server"], responses=error_responses())
    async def get_settings() -> SettingsOut:
        """Limits of this server, and the removal options with their defaults and ranges."""
        return SettingsOut(
            version=__version__,
            max_upload=settings.max_upload,
            max_pixels=settings.max_pixels,
            expire=settings.expire,
            queue=settings.queue,
            accept=",".join(["image/*", *list_readable_endings()]),
            formats=[
                FormatOut(name=each.name, lossy=not each.lossless)
                for each in FORMATS.values()
                if is_installed(each.name)
            ],
            options={option.name: describe_option(option) for option in list_options("http")},
        )

    @app.get("/healthz", tags=["server"], responses=error_responses())
    async def get_health() -> HealthOut:
        """Whether the server is running. This address needs no token."""
        return HealthOut(status="ok")

    @app.get("/metrics", tags=["server"], response_class=PlainTextResponse, responses=error_responses())
    async def get_metrics() -> PlainTextResponse:
        """Figures in the text format of Prometheus."""
        return PlainTextResponse(service.metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/api/openapi.json", include_in_schema=False)
    async def get_openapi() -> dict[str, Any]:
        return app.openapi()

    @app.get("/api/docs", include_in_schema=False)
    async def get_docs() -> HTMLResponse:
        return HTMLResponse(render_docs(app.openapi()))

    @app.get("/api/docs.css", include_in_schema=False)
    async def get_docs_style() -> Response:
        return Response((Path(__file__).parent / "docs.css").read_bytes(), media_type="text/css")


def _add_page_routes(app: FastAPI, files: Mapping[str, PageFile]) -> None:
    @app.get("/", include_in_schema=False)
    async def get_index(request: Request) -> Response:
        return _send_page_file(files, "index.html", request)

    @app.get("/page/{name:path}", include_in_schema=False)
    async def get_page_file(name: str, request: Request) -> Response:
        return _send_page_file(files, name, request)


def load_site(page: Path = PAGE) -> dict[str, PageFile]:
    """Every file of the page, and the shipped examples below `examples/`."""
    examples = {
        f"examples/{name}": file for name, file in load_page(EXAMPLES).items() if name.endswith(".jpg")
    }
    return load_page(page) | examples


def load_page(folder: Path) -> dict[str, PageFile]:
    """Read every file of the page, by its path in the folder; no other file is ever served as part of it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith((".", "_")) and path.suffix != ".py":
            kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            data = path.read_bytes()
            tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
            found[path.relative_to(folder).as_posix()] = PageFile(data, kind, tag)
    return found


def _send_page_file(files: Mapping[str, PageFile], name: str, request: Request) -> Response:
    """A file of the page, or status 304 if the browser's copy is up to date."""
    file = files.get(name)
    if file is None:
        raise ApiError(404, "not_found", "There is no such file.")
    headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    kind = f"{file.kind}; charset=utf-8" if file.kind.startswith("text/") else file.kind
    return Response(file.data, headers={**headers, "Content-Type": kind})
