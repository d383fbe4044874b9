"""Closes connections that send no request: they would keep others out."""

import asyncio
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

Client = tuple[str, int]
"""Address and port of the other end of a connection."""


class IdleTimeouts:
    """ASGI middleware that closes connections without a request under way after `patience` seconds.

    uvicorn closes idle connections only after a response; one that never sends a whole request would stay
    open. The protocol class says when a connection opens and closes, the middleware when a request runs.
    """

    def __init__(self, app: ASGIApp, patience: float) -> None:
        self.app = app
        self.patience = patience
        self.timers: dict[Client, IdleTimer] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request while the timer of its connection is stopped."""
        timer = self.timers.get(scope["client"]) if scope["type"] == "http" else None
        if timer is None:
            await self.app(scope, receive, send)
            return
        timer.begin_request()
        try:
            await self.app(scope, receive, send)
        finally:
            timer.end_request()

    def wrap(self, inner: type[asyncio.Protocol]) -> type[asyncio.Protocol]:
        """The protocol class with a timer for each of its connections."""
        timeouts = self

        class TimedProtocol(asyncio.Protocol):
            """Hands every event on to the protocol that it wraps."""

            def __init__(self, *arguments: Any, **named: Any) -> None:
                self.inner = inner(*arguments, **named)
                self.client: Client | None = None

            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                self.inner.connection_made(transport)
                peer = transport.get_extra_info("peername")
                if isinstance(peer, tuple):
                    self.client = (str(peer[0]), int(peer[1]))
                    timer = timeouts.timers[self.client] = IdleTimer(transport, timeouts.patience)
                    timer.start()

            def connection_lost(self, error: Exception | None) -> None:
                if self.client and (timer := timeouts.timers.pop(self.client, None)):
                    timer.stop()
                self.inner.connection_lost(error)

            def data_received(self, data: bytes) -> None:
                self.inner.data_received(data)

            def eof_received(self) -> bool | None:
                return self.inner.eof_received()

            def pause_writing(self) -> None:
                self.inner.pause_writing()

            def resume_writing(self) -> None:
                self.inner.resume_writing()

        return TimedProtocol


class IdleTimer:
    """Closes a connection that has no request under way for some seconds."""

    def __init__(self, transport: asyncio.BaseTransport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds
        self._requests = 0  # with pipelining, the next one may begin before the last one is done
        self._handle: asyncio.TimerHandle | None = None

    def begin_request(self) -> None:
        """Keep the connection open."""
        self._requests += 1
        self.stop()

    def end_request(self) -> None:
        """Wait for the next request."""
        self._requests -= 1
        if not self._requests and not self._transport.is_closing():
            self.start()

    def start(self) -> None:
        """Close the connection after the given seconds."""
        self._handle = asyncio.get_running_loop().call_later(self._seconds, self._transport.close)

    def stop(self) -> None:
        """Leave the connection open."""
        if self._handle:
            self._handle.cancel()
            self._handle = None
