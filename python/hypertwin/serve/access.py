"""Protection of every request, before any other code sees it.

A server on a loopback address is reachable by every page in the user's browser. Therefore:

- A name that an attacker points at this computer is refused (DNS rebinding): `Host` must be an address of the server.
- Requests that other sites send are refused (CSRF): by `Origin`, `Sec-Fetch-Site` and a strict cookie.
- Other users of this computer lack the token. The token works once, and is exchanged for a cookie.
- Bodies, times and parallel requests are limited.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from hypertwin.serve.refusal import RefusedError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MAX_BODY = 8 << 20
"""Maximum bytes of a request, except for an upload. Scenarios have at most half of it."""

MAX_UPLOAD = 256 << 20
"""Maximum bytes of an uploaded export."""

UPLOADS = "/api/import/"
"""Start of the addresses that take uploads."""

STREAMS = "/events"
"""End of the addresses that stay open, which have a limit of their own."""

MAX_PARALLEL = 32
"""Maximum number of requests at the same time."""

MAX_STREAMS = 64
"""Maximum number of open streams of events."""

MAX_HEADERS = 100
"""Maximum number of header lines. The server limits their size."""

BODY_PAUSE_S = 10.0
"""Maximum seconds between two parts of a body."""

BODY_S = 120.0
"""Maximum seconds for a whole body."""

FRAMED = "/page"
"""End of the addresses of pages that the app shows in a frame."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:;"
    " frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""Content-Security-Policy of every answer except a page."""

PAGE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; style-src 'unsafe-inline';"
    " img-src data: blob:; worker-src blob:; frame-ancestors 'self'; base-uri 'none'; form-action 'none';"
    " sandbox allow-scripts allow-downloads"
)
"""Policy of a page. Its own policy, by hashes, applies too. A page loads nothing. The sandbox has another origin, so no
page can send requests to the server.
"""


@dataclass
class Door:
    """Who is allowed in: addresses of the server, token and cookie."""

    hosts: frozenset[str]
    """Allowed values of `Host`."""
    port: int
    token: str
    is_token_kept: bool = False
    """True for a token from a file, which works more than once."""
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    is_used: bool = False

    @property
    def cookie(self) -> str:
        """Name of the cookie. Browsers send cookies to all ports of a host, so the name has the port."""
        return f"hypertwin-{self.port}"

    def admit(self, token: str) -> bool:
        """Return true if a token is valid, and use it up."""
        fits = hmac.compare_digest(token.encode(), self.token.encode())
        if not fits or (self.is_used and not self.is_token_kept):
            return False
        self.is_used = True
        return True

    def knows(self, cookies: Iterable[str]) -> bool:
        """True if one of the cookie headers has the session's cookie."""
        found = False
        for header in cookies:
            for part in header.split(";"):
                name, _, value = part.strip().partition("=")
                if name == self.cookie:
                    found |= hmac.compare_digest(value.encode(), self.session.encode())
        return found


def hosts(host: str, port: int) -> frozenset[str]:
    """Return the allowed values of `Host` for a server at an address."""
    names = {"127.0.0.1", "localhost", "[::1]"} if host in LOOPBACK else set()
    names.add(f"[{host}]" if ":" in host else host.lower())
    return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set()))


LEAVE = b'<!doctype html><meta http-equiv="refresh" content="0;url=/"><title>hypertwin</title>'
"""Page that leaves for the app."""

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Addresses that only this computer reaches."""


class Guard:
    """ASGI application that passes on only allowed requests, and adds headers to every answer."""

    def __init__(self, inner: Application, door: Door) -> None:
        """Protect an application."""
        self.inner, self.door = inner, door
        self.parallel = self.streams = 0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        if scope["type"] != "http":  # a web socket: no address has one
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = _Answer(send, scope["path"])
        try:
            async with self._place(scope["path"]):
                entry = self._check(scope)
                if entry is not None:
                    await answer.redirect(entry, by_link="cross-site" in _values(scope, b"sec-fetch-site"))
                    return
                limit = MAX_UPLOAD if scope["path"].startswith(UPLOADS) else MAX_BODY
                body = _Body(receive, limit, _length(scope))
                await self.inner(scope, body.receive, answer.send)
        except RefusedError as error:
            if answer.is_begun:
                raise
            await answer.refuse(error)

    @contextlib.asynccontextmanager
    async def _place(self, path: str) -> Any:
        """Count the request. Raises RefusedError if there are too many."""
        is_stream = path.endswith(STREAMS)
        count, most = (self.streams, MAX_STREAMS) if is_stream else (self.parallel, MAX_PARALLEL)
        if count >= most:
            raise RefusedError(503, f"more than {most} requests at once: try again")
        self.streams, self.parallel = self.streams + is_stream, self.parallel + (not is_stream)
        try:
            yield
        finally:
            self.streams, self.parallel = self.streams - is_stream, self.parallel - (not is_stream)

    def _check(self, scope: MutableMapping[str, Any]) -> str | None:
        """Return the cookie to set if the request has the token, otherwise None. Raises RefusedError."""
        if len(scope["headers"]) > MAX_HEADERS:
            raise RefusedError(431, f"more than {MAX_HEADERS} headers")
        named = _values(scope, b"host")
        host = named[0].lower() if len(named) == 1 else ""
        if host not in self.door.hosts:
            raise RefusedError(421, f"this server is {', '.join(sorted(self.door.hosts))}: open one of these")
        reads = scope["method"] in ("GET", "HEAD")
        self._check_site(scope, host, reads)
        if reads and scope["path"] == "/" and scope["query_string"]:
            return self._enter(scope)
        if not self.door.knows(_values(scope, b"cookie")):
            raise RefusedError(401, "no session: open the address that `hypertwin serve` printed")
        return None

    def _check_site(self, scope: MutableMapping[str, Any], host: str, reads: bool) -> None:
        """Refuse requests of other sites, and of other ports of this host. Raises RefusedError."""
        sites, origins = _values(scope, b"sec-fetch-site"), _values(scope, b"origin")
        is_opened = reads and scope["path"] == "/" and _values(scope, b"sec-fetch-mode") == ["navigate"]
        if not set(sites) <= {"same-origin", "none"} and not is_opened:
            raise RefusedError(403, "a request from another site")
        if (not reads or origins) and origins != [f"http://{host}"]:
            raise RefusedError(403, "a request without the origin of this server")

    def _enter(self, scope: MutableMapping[str, Any]) -> str:
        """Return the cookie for the token in the address, or for a browser that has it already. Raises RefusedError."""
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token", "")
        if not (self.door.admit(given) or self.door.knows(_values(scope, b"cookie"))):
            raise RefusedError(401, "the token is wrong or was used: start `hypertwin serve` again for a new address")
        return f"{self.door.cookie}={self.door.session}; HttpOnly; SameSite=Strict; Path=/"


class _Answer:
    """Answer of a request, with headers that protect it."""

    def __init__(self, send: Send, path: str) -> None:
        self._send = send
        self.is_begun = False
        self._is_framed = path.startswith("/runs/") and path.endswith(FRAMED)

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.is_begun = True
            is_page = self._is_framed and message["status"] == 200
            kept = [each for each in message.get("headers", ()) if each[0].lower() not in _OWN]
            message = {**message, "headers": [*kept, *_headers(is_page)]}
        await self._send(message)

    async def refuse(self, error: RefusedError) -> None:
        """Answer with a status and a reason."""
        text = json.dumps({"error": error.reason}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
        headers.append((b"connection", b"close"))  # the rest of the body is not read
        await self.send({"type": "http.response.start", "status": error.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": text})

    async def redirect(self, cookie: str, *, by_link: bool) -> None:
        """Set the cookie, and remove the token from the address.

        After a link of another site or file, browsers hold the strict cookie back until a page of the server asks.
        """
        text = LEAVE if by_link else b""
        headers = [(b"set-cookie", cookie.encode()), (b"content-length", str(len(text)).encode())]
        headers.append((b"content-type", b"text/html") if by_link else (b"location", b"/"))
        await self.send({"type": "http.response.start", "status": 200 if by_link else 303, "headers": headers})
        await self.send({"type": "http.response.body", "body": text})


def _headers(is_page: bool) -> list[tuple[bytes, bytes]]:
    policy = PAGE_POLICY if is_page else POLICY
    return [
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"SAMEORIGIN" if is_page else b"DENY"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"cache-control", b"no-store"),
    ]


_OWN = {name for name, _ in _headers(False)}


class _Body:
    """Body of a request, with limits on size and time."""

    def __init__(self, receive: Receive, most: int, length: int | None) -> None:
        if length is not None and length > most:
            raise RefusedError(413, f"more than {most} bytes")
        self._receive, self._most = receive, most
        self._read, self._is_whole = 0, False
        self._ends = time.monotonic() + BODY_S

    async def receive(self) -> Message:
        """Return the next part of the body, or the end of the connection."""
        if self._is_whole:
            return await self._receive()
        patience = min(BODY_PAUSE_S, self._ends - time.monotonic())
        try:
            message = await asyncio.wait_for(self._receive(), max(patience, 0))
        except TimeoutError:
            raise RefusedError(408, "the body does not arrive") from None
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            self._is_whole = not message.get("more_body", False)
            if self._read > self._most:
                raise RefusedError(413, f"more than {self._most} bytes")
        return message


def _length(scope: MutableMapping[str, Any]) -> int | None:
    given = _values(scope, b"content-length")
    return int(given[0]) if len(given) == 1 and given[0].isdecimal() and len(given[0]) < 20 else None


def _values(scope: MutableMapping[str, Any], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
