"""`deshadow serve`: listen, say where, and leave nothing behind."""

import asyncio
import logging
import socket
import sys
import threading
import webbrowser
from types import FrameType
from urllib.parse import quote

import uvicorn

from deshadow.serve.app import Application, create_app
from deshadow.serve.connections import IdleTimeouts
from deshadow.serve.settings import Settings
from deshadow.serve.work import Networks

_GRACE = 10
"""Seconds that connections have to end when the server stops."""

_CONNECTIONS = 500
"""Open connections at most, so that there are always files left to open."""


class Server(uvicorn.Server):
    """Tells the application to stop as soon as a signal comes: streams end only when the work does."""

    def __init__(self, app: Application, address: str, browser: bool, port: int = 0) -> None:
        timeouts = IdleTimeouts(app, app.house.settings.patience)
        config = uvicorn.Config(
            timeouts,
            port=port,
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=_GRACE,
            limit_concurrency=_CONNECTIONS,
        )
        config.load()
        config.http_protocol_class = timeouts.wrap(config.http_protocol_class)
        super().__init__(config)
        self._app = app
        self._address = address
        self._browser = browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say where."""
        await super().startup(sockets)
        print(self._address, flush=True)  # noqa: T201
        if self._browser:
            threading.Thread(target=webbrowser.open, args=[self._address], daemon=True).start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End at a signal."""
        threading.Thread(target=self._app.stop).start()  # a signal handler must not wait for a lock
        super().handle_exit(sig, frame)


def serve(remover: Networks, settings: Settings, browser: bool) -> None:
    """Serve until a signal comes; SIGTERM and Ctrl-C cancel what is under way."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # a client's broken body is no news
    listening = _listen(settings.host, settings.port)
    app = create_app(remover, settings)
    address = printed_address(settings, listening.getsockname()[1])
    try:
        with listening:
            asyncio.run(Server(app, address, browser).serve([listening]))
    finally:
        app.house.close()  # again, in case the start failed


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or a sentence that says why not."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)  # without it small answers wait 40 ms (Nagle)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
    except OSError as error:
        raise ValueError(
            f"cannot listen on {host}, port {port} ({error.strerror}): choose another --port or --host"
        ) from error
    return listening


def printed_address(settings: Settings, port: int) -> str:
    """What to type into a browser."""
    host = settings.host
    if host in ("0.0.0.0", "::"):
        host = _own_address()
    query = f"?token={quote(settings.token, safe='')}" if settings.token else ""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/{query}"


def _own_address() -> str:
    """The address of this machine on its network, as others see it. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address for documentation: never reached
        except OSError:
            return socket.gethostname()
        return str(probe.getsockname()[0])
