"""Runs the application with uvicorn until a signal comes."""

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
from deshadow.serve.jobs import Networks
from deshadow.serve.settings import Settings

_GRACE = 10
"""Seconds that open requests may take to end when the server stops."""

_CONNECTIONS = 500
"""Largest number of open connections; it leaves room under the system's limit of open files."""


class Server(uvicorn.Server):
    """Prints its address when it listens; cancels all tasks at a signal, so that open requests end."""

    def __init__(self, app: Application, address: str, browser: bool, port: int = 0) -> None:
        timeouts = IdleTimeouts(app, app.service.settings.patience)
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
        """Listen, then print the address and open the browser."""
        await super().startup(sockets)
        print(self._address, flush=True)  # noqa: T201
        if self._browser:
            threading.Thread(target=webbrowser.open, args=[self._address], daemon=True).start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Cancel all tasks and stop the server."""
        threading.Thread(
            target=self._app.stop
        ).start()  # in a thread: a signal handler must not wait for a lock
        super().handle_exit(sig, frame)


def run_server(networks: Networks, settings: Settings, browser: bool) -> None:
    """Serve until SIGTERM or Ctrl-C, which cancel all tasks."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # it warns about every broken body
    listening = _listen(settings.host, settings.port)
    app = create_app(networks, settings)
    address = make_address(settings, listening.getsockname()[1])
    try:
        with listening:
            asyncio.run(Server(app, address, browser).serve([listening]))
    finally:
        app.service.close()  # a second time does no harm, and the start may have failed before the first


def _listen(host: str, port: int) -> socket.socket:
    """A socket bound to the address; ValueError says why it cannot be."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)  # with the protocol, asyncio sets TCP_NODELAY
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
    except OSError as error:
        raise ValueError(
            f"cannot listen on {host}, port {port} ({error.strerror}): choose another --port or --host"
        ) from error
    return listening


def make_address(settings: Settings, port: int) -> str:
    """The address to open in a browser, with the token."""
    host = settings.host
    if host in ("0.0.0.0", "::"):
        host = _find_own_address()
    query = f"?token={quote(settings.token, safe='')}" if settings.token else ""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/{query}"


def _find_own_address() -> str:
    """The address of this machine in its network. Nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # reserved for documentation, belongs to no machine
        except OSError:
            return socket.gethostname()
        return str(probe.getsockname()[0])
