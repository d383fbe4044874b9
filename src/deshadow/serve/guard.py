"""The door: who may ask, how much they may send, and what every answer carries."""

import asyncio
import hashlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deshadow.serve.refusal import INTERNAL, Refusal, answer, body
from deshadow.serve.settings import MIB, Settings

log = logging.getLogger("deshadow.serve")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "connect-src 'self'; worker-src 'self' blob:; manifest-src 'self'; font-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_HOST = re.compile(r"(?P<name>[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:\d{1,5})?")
_DRAIN_SECONDS = 10.0


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(
        self, app: ASGIApp, settings: Settings, count: Callable[[int], None], stopping: Callable[[], bool]
    ) -> None:
        self.app = app
        self.settings = settings
        self.count = count
        self.stopping = stopping
        self.uploads = 0
        token = (settings.token or secrets.token_hex()).encode()
        self._token = token
        # The cookie is not the token itself, and cookies know no ports: two servers must not share one.
        self._cookie = hmac.new(token, b"deshadow cookie", hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or hand it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_on(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self.count(message["status"])
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            refused = self.examine(scope)
            if refused is not None:
                await refused(scope, receive, send_on)
            elif scope["method"] in ("POST", "PUT", "PATCH"):
                await self._receive_body(scope, receive, send_on)
            else:
                await self.app(scope, receive, send_on)
        except Refusal as refusal:
            if not started:
                await answer(refusal)(scope, receive, send_on)
        except Exception:
            log.exception("%s %r", scope["method"], scope["path"])
            if not started:
                await JSONResponse(body("internal", INTERNAL), 500)(scope, receive, send_on)

    def examine(self, scope: Scope) -> Response | None:
        """Let a request pass (None), answer it, or raise a refusal."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        self._check_host(host)
        _check_origin(scope, headers, host)
        if self.settings.token is None or scope["path"] == "/healthz":
            return None
        return self._check_token(scope, headers, host)

    def _check_host(self, host: str) -> None:
        # A page whose name was made to point at 127.0.0.1 (DNS rebinding) still sends its own name here.
        # Beyond loopback the names are not known, and the token keeps such a page out.
        found = _HOST.fullmatch(host)
        allowed = {*_LOOPBACK_NAMES, self.settings.host.lower(), f"[{self.settings.host.lower()}]"}
        if not found or (self.settings.loopback and found["name"].lower() not in allowed):
            raise Refusal(403, "host", "This server does not answer under that name.")

    def _check_token(self, scope: Scope, headers: Headers, host: str) -> Response | None:
        name = "deshadow" + "".join(character for character in host if character.isalnum())
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and given and hmac.compare_digest(given.encode(), self._token):
            response = RedirectResponse("/", 303)
            response.set_cookie(name, self._cookie, httponly=True, samesite="lax", path="/")
            return response
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(bearer.strip().encode(), self._token):
            return None
        if hmac.compare_digest(_cookie(headers, name).encode(), self._cookie.encode()):
            return None
        refusal = Refusal(
            401, "token", "A token is needed: open the address that the server printed, or send it as Bearer."
        )
        refusal.headers = {"WWW-Authenticate": "Bearer"}
        raise refusal

    async def _receive_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        meter = Meter(receive, self.settings, self.stopping)
        if self.uploads >= self.settings.uploads:
            raise Refusal(429, "busy", "Too many uploads at once; try again in a moment.", retry_after=2)
        self.uploads += 1
        try:
            length = headers.get("content-length", "")
            if int(length or 0) > self.settings.max_upload:
                await meter.drain()
                raise meter.too_large()
            if (length not in ("", "0") or "transfer-encoding" in headers) and not headers.get(
                "content-type", ""
            ).lower().startswith("multipart/form-data"):
                await meter.drain()
                raise _last(415, "content_type", "The body must be multipart/form-data.")
            await self.app(scope, meter.receive, send)
        finally:
            self.uploads -= 1


class Meter:
    """Counts a body while it comes in: too much of it, or too slowly, is refused."""

    def __init__(self, receive: Receive, settings: Settings, stopping: Callable[[], bool]) -> None:
        self._receive: Callable[[], Awaitable[Message]] = receive
        self._settings = settings
        self._stopping = stopping
        self._bytes = 0
        self._waited = 0.0
        self._whole = False

    async def receive(self) -> Message:
        """The next piece of the body; later, news of the connection."""
        if self._whole:
            return await self._receive()
        message = await self._next()
        if self._bytes > self._settings.max_upload:
            await self.drain()
            raise self.too_large()
        return message

    def too_large(self) -> Refusal:
        """Say what the limit is."""
        limit = self._settings.max_upload / MIB
        return _last(413, "too_large", f"The upload is larger than this server takes ({limit:.4g} MiB).")

    async def drain(self) -> None:
        """Read on and throw away for a while: who is cut off while sending often misses the answer."""
        end = time.monotonic() + _DRAIN_SECONDS
        while not self._whole and time.monotonic() < end and self._bytes < 8 * self._settings.max_upload:
            await self._next()

    async def _next(self) -> Message:
        allowance = self._settings.patience + self._bytes / self._settings.slowest - self._waited
        began = time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), max(allowance, 0.001))
        except TimeoutError:
            self._whole = True
            raise _last(408, "slow", "The upload stalled; send it again.") from None
        self._waited += time.monotonic() - began
        self._bytes += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._stopping():
            raise _last(503, "stopping", "The server is being stopped.")
        return message


def _last(status: int, code: str, message: str) -> Refusal:
    """A refusal after which nothing more is read."""
    refusal = Refusal(status, code, message)
    refusal.headers = {"Connection": "close"}
    return refusal


def _check_origin(scope: Scope, headers: Headers, host: str) -> None:
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
        raise Refusal(403, "origin", "Pages of other sites may not use this server.")
    # Pictures and the like are fetched without an Origin; browsers say so here. A link to the page is fine.
    link = scope["method"] == "GET" and scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not link:
        raise Refusal(403, "origin", "Pages of other sites may not use this server.")


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""
