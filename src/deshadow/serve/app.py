"""The application: the page, the API, and what keeps both in order."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from deshadow import __version__
from deshadow.serve.description import fails
from deshadow.serve.docs import docs_page
from deshadow.serve.files import PageFile, page_answer, page_files
from deshadow.serve.forms import DEFAULTS, RANGES, ChoiceOut, HealthOut, RangeOut, SettingsOut
from deshadow.serve.guard import Guard
from deshadow.serve.house import House
from deshadow.serve.job_routes import job_routes
from deshadow.serve.photo_routes import photo_routes
from deshadow.serve.refusal import answer, invalid
from deshadow.serve.settings import Settings
from deshadow.serve.work import Networks

PAGE = Path(__file__).parent / "page"
_ABOUT = """
Bodies are `multipart/form-data`. Every answer of 400 or more is
`{"error": {"code": "…", "message": "…"}}`. Coordinates are pixels of the photo as displayed.
Where the server has a token, send `Authorization: Bearer TOKEN`.
"""


class Application:
    """The guarded application, which can be told to stop before its connections end."""

    def __init__(self, house: House, guarded: ASGIApp, inner: FastAPI) -> None:
        self.house = house
        self.inner = inner
        self._guarded = guarded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        await self._guarded(scope, receive, send)

    def stop(self) -> None:
        """Cancel all work, so that whoever waits for it gets an answer."""
        self.house.queue.stop()


def create_app(
    remover: Networks, settings: Settings | None = None, page: Mapping[str, PageFile] | None = None
) -> Application:
    """The whole server for one remover."""
    settings = settings or Settings()
    house = House(remover, settings)
    files = page_files(PAGE) if page is None else page

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        sweeping = asyncio.create_task(house.sweep())
        try:
            yield
        finally:
            sweeping.cancel()
            await asyncio.to_thread(house.close)

    app = FastAPI(
        title="deshadow",
        version=__version__,
        description=_ABOUT,
        lifespan=life,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.include_router(photo_routes(house))
    app.include_router(job_routes(house))
    _about_routes(app, house)
    _page_routes(app, files)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        return answer(error)

    @app.exception_handler(RequestValidationError)
    async def wrong(request: Request, error: RequestValidationError) -> JSONResponse:
        return answer(invalid(error.errors()))

    guard = Guard(app, settings, house.metrics.count_response, lambda: house.queue.stopping)
    return Application(house, guard, app)


def _about_routes(app: FastAPI, house: House) -> None:
    """What the server says about itself."""
    settings = house.settings

    @app.get("/api/settings", tags=["server"], responses=fails())
    async def server_settings() -> SettingsOut:
        """Limits of this server, and the options with their defaults and ranges."""
        return SettingsOut(
            version=__version__,
            max_upload=settings.max_upload,
            max_pixels=settings.max_pixels,
            expire=settings.expire,
            queue=settings.queue,
            accept=_accept(),
            options=_options(),
        )

    @app.get("/healthz", tags=["server"], responses=fails())
    async def health() -> HealthOut:
        """Whether the server is alive; needs no token."""
        return HealthOut(status="ok")

    @app.get("/metrics", tags=["server"], response_class=PlainTextResponse, responses=fails())
    async def metrics() -> PlainTextResponse:
        """Figures in the text format of Prometheus."""
        return PlainTextResponse(house.metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/api/openapi.json", include_in_schema=False)
    async def openapi() -> dict[str, Any]:
        return app.openapi()

    @app.get("/api/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(docs_page(app.openapi()))

    @app.get("/api/docs.css", include_in_schema=False)
    async def docs_style() -> Response:
        return Response((Path(__file__).parent / "docs.css").read_bytes(), media_type="text/css")


def _page_routes(app: FastAPI, files: Mapping[str, PageFile]) -> None:
    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return page_answer(files, "index.html", request)

    @app.get("/page/{name:path}", include_in_schema=False)
    async def page_file(name: str, request: Request) -> Response:
        return page_answer(files, name, request)


def _options() -> dict[str, ChoiceOut | RangeOut]:
    choices: dict[str, ChoiceOut | RangeOut] = {
        "mode": ChoiceOut(default=DEFAULTS.mode, choices=["quick", "removal"]),
        "sampler": ChoiceOut(default=DEFAULTS.sampler, choices=["ddim", "dpm"]),
    }
    for name, (least, most, step) in RANGES.items():
        choices[name] = RangeOut(default=getattr(DEFAULTS, name), minimum=least, maximum=most, step=step)
    return choices


def _accept() -> str:
    kinds = ["jpeg", "png", "webp", "tiff", "bmp", "avif"]
    return ",".join(
        f"image/{kind}" for kind in [*kinds, *(["heic", "heif"] if find_spec("pillow_heif") else [])]
    )
