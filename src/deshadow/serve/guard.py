"""Checks every request (host, origin, token, size and speed of its body) and adds security headers."""

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

from deshadow.serve.errors import INTERNAL, ApiError, error_body, error_response, stopping
from deshadow.serve.settings import MIB, Settings
from deshadow.serve.token_page import ask_for_token

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
        # The cookie does not contain the token. Cookies ignore ports, so each server needs one of its own.
        self._cookie = hmac.new(token, b"deshadow cookie", hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that fails the checks; pass the others on to the application."""
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
            response = self.check(scope)
            if response is not None:
                await response(scope, receive, send_on)
            elif scope["method"] in ("POST", "PUT", "PATCH"):
                await self._receive_body(scope, receive, send_on)
            else:
                await self.app(scope, receive, send_on)
        except ApiError as error:
            if not started:
                await error_response(error)(scope, receive, send_on)
        except Exception:
            log.exception("%s %r", scope["method"], scope["path"])
            if not started:
                await JSONResponse(error_body("internal", INTERNAL), 500)(scope, receive, send_on)

    def check(self, scope: Scope) -> Response | None:
        """Return None if the request may pass, or the response to it; raise an error if it may not."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        self._check_host(host)
        _check_origin(scope, headers, host)
        if self.settings.token is None or scope["path"] == "/healthz":
            return None
        return self._check_token(scope, headers, host)

    def _check_host(self, host: str) -> None:
        # A site whose name points at 127.0.0.1 (DNS rebinding) still sends its own name in the Host header.
        # On other addresses the valid names are not known, and the token keeps such a site out.
        found = _HOST.fullmatch(host)
        allowed = {*_LOOPBACK_NAMES, self.settings.host.lower(), f"[{self.settings.host.lower()}]"}
        if not found or (self.settings.loopback and found["name"].lower() not in allowed):
            raise ApiError(403, "host", "The Host header does not name this server.")

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
        cookie = _cookie(headers, name)
        if hmac.compare_digest(cookie.encode(), self._cookie.encode()):
            return None
        wrong = bool(given or kind or cookie)
        if scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
            return ask_for_token(wrong)
        how = "open the address that the server printed, or send the header `Authorization: Bearer TOKEN`."
        error = (
            ApiError(401, "wrong_token", f"The token is wrong: {how}")
            if wrong
            else ApiError(401, "missing_token", f"This server needs a token: {how}")
        )
        error.headers = {"WWW-Authenticate": "Bearer"}
        raise error

    async def _receive_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        meter = Meter(receive, self.settings, self.stopping)
        if self.uploads >= self.settings.uploads:
            raise ApiError(
                429,
                "busy",
                "There are too many uploads at the same time; try again in a few seconds.",
                retry_after=2,
            )
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
                raise _close_after(ApiError(415, "content_type", "The body must be multipart/form-data."))
            await self.app(scope, meter.receive, send)
        finally:
            self.uploads -= 1


class Meter:
    """Measures a request body while it arrives; raises an error if it is too large or too slow."""

    def __init__(self, receive: Receive, settings: Settings, stopping: Callable[[], bool]) -> None:
        self._receive: Callable[[], Awaitable[Message]] = receive
        self._settings = settings
        self._stopping = stopping
        self._bytes = 0
        self._waited = 0.0
        self._complete = False

    async def receive(self) -> Message:
        """The next part of the body; after its end, messages about the connection."""
        if self._complete:
            return await self._receive()
        message = await self._next()
        if self._bytes > self._settings.max_upload:
            await self.drain()
            raise self.too_large()
        return message

    def too_large(self) -> ApiError:
        """The error that states the limit."""
        limit = self._settings.max_upload / MIB
        message = f"The upload is larger than the limit of this server, {limit:.4g} MiB."
        return _close_after(ApiError(413, "too_large", message))

    async def drain(self) -> None:
        """Read and discard the rest for a while: a client that is still sending often misses the response."""
        end = time.monotonic() + _DRAIN_SECONDS
        while not self._complete and time.monotonic() < end and self._bytes < 8 * self._settings.max_upload:
            await self._next()

    async def _next(self) -> Message:
        allowance = self._settings.patience + self._bytes / self._settings.slowest - self._waited
        began = time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), max(allowance, 0.001))
        except TimeoutError:
            self._complete = True
            raise _close_after(ApiError(408, "slow", "The upload was too slow; send it again.")) from None
        self._waited += time.monotonic() - began
        self._bytes += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._stopping():
            raise _close_after(stopping())
        return message


def _close_after(error: ApiError) -> ApiError:
    """The same error, after which the connection is closed: the rest of the body is not read."""
    error.headers = {"Connection": "close"}
    return error


def _check_origin(scope: Scope, headers: Headers, host: str) -> None:
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
        raise ApiError(403, "origin", "Pages of other sites may not use this server.")
    # Browsers send no Origin for pictures and scripts, but Sec-Fetch-Site. A link to the page is allowed.
    link = scope["method"] == "GET" and scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not link:
        raise ApiError(403, "origin", "Pages of other sites may not use this server.")


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""
