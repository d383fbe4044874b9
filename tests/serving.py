"""A real server on a real port, in a thread, with networks that need no weights."""

import io
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from standin import StandIn

from deshadow.serve.app import Application, PageFile, create_app
from deshadow.serve.jobs import Networks
from deshadow.serve.server import Server
from deshadow.serve.settings import Settings

PAGE = {"index.html": PageFile(b"<!doctype html><title>page</title>", "text/html", '"1"')}


@dataclass
class Served:
    """A server that runs, and a client of it."""

    app: Application
    networks: Any
    http: httpx.Client
    port: int

    def upload(self, picture: bytes, name: str = "photo.png") -> dict[str, Any]:
        answer = self.http.post("/api/photos", files={"file": (name, picture)})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def start(self, photo: str, **fields: Any) -> dict[str, Any]:
        answer = self.http.post(f"/api/photos/{photo}/jobs", files=parts(**fields))
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def job(self, name: str) -> dict[str, Any]:
        return dict(self.http.get(f"/api/jobs/{name}").json())

    def wait(self, name: str, *states: str) -> dict[str, Any]:
        for _ in range(500):
            job = self.job(name)
            if job["state"] in (states or ("done", "failed", "cancelled")):
                return job
            time.sleep(0.02)
        raise AssertionError(job)

    def result(self, name: str) -> NDArray[np.uint8]:
        answer = self.http.get(f"/api/jobs/{name}/result")
        assert answer.status_code == 200, answer.text
        return decoded(answer.content)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.app.service.store.folder.rglob("*") if path.is_file())


def parts(**fields: Any) -> list[tuple[str, tuple[str | None, bytes]]]:
    """Fields as parts of a multipart body; bytes are files, a list is a field that repeats."""
    return [
        (name, (f"{name}.png", each) if isinstance(each, bytes) else (None, str(each).encode()))
        for name, value in fields.items()
        for each in (value if isinstance(value, list) else [value])
    ]


@contextmanager
def serving(
    networks: Networks | None = None,
    settings: Settings | None = None,
    page: Mapping[str, PageFile] | None = PAGE,
) -> Iterator[Served]:
    """Serve while the context lasts; `page=None` serves the page of the package."""
    networks = networks or StandIn()
    settings = settings or Settings()
    app = create_app(networks, settings, page)
    server = Server(app, address="", browser=False)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            yield Served(app, networks, client, port)
    finally:
        app.stop()
        server.should_exit = True
        thread.join()
    assert not app.service.store.folder.exists()


def scene(width: int = 80, height: int = 60, tint: int = 0) -> NDArray[np.uint8]:
    """(H, W, 3): a bright ground with a large shadow on the right and a small one on the left."""
    generator = np.random.default_rng(tint)
    picture = generator.integers(120, 200, (height, width, 3), np.uint8)
    for top, left, bottom, right in ((20, 10, 40, 20), (10, 40, 50, 70)):
        box = np.s_[top * height // 60 : bottom * height // 60, left * width // 80 : right * width // 80]
        picture[box] = picture[box] // 4
    return picture


def doubtful(width: int = 80, height: int = 60) -> NDArray[np.uint8]:
    """(H, W, 3): the same, but the small shadow is blue, so that the stand-in is not sure of it."""
    picture = scene(width, height)
    small = picture[:, : 30 * width // 80]
    small[..., :2] //= np.where(small.max(-1, keepdims=True) < 64, 3, 1).astype(np.uint8)
    return picture


def shaded(picture: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """(H, W): where the stand-in sees shadow."""
    dark: NDArray[np.bool_] = picture.max(-1) < 64
    return dark


def encoded(picture: NDArray[np.uint8], kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    Image.fromarray(picture).save(out, kind, **options)
    return out.getvalue()


def decoded(data: bytes) -> NDArray[np.uint8]:
    with Image.open(io.BytesIO(data)) as picture:
        return np.asarray(picture)
