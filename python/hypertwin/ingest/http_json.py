"""A JSON API over HTTPS: bounded responses, threads with connections of their own, and notes on missing responses.

The server is not trusted. Responses are limited in bytes and time, and no message of the server is shown. The client
holds a secret in its headers, and never shows it.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any, ClassVar, TypeVar

from hypertwin.errors import SourceError, UnreachableError
from hypertwin.ingest import address as addresses
from hypertwin.ingest import outside, tls
from hypertwin.ingest.address import Address
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.tls import PinnedConnection, Trust

Part = TypeVar("Part")
Answer = TypeVar("Answer")

TIMEOUT_S = 30.0
"""Maximum seconds without a byte from the server."""
ANSWER_S = 60.0
"""Maximum seconds of one response."""
MAX_BYTES = 16 * 2**20
"""Maximum size of one response."""
MAX_ALL_BYTES = 4 * 2**30
CONNECTIONS = 4
"""Number of requests at the same time."""
MAX_TRIES = 5
MAX_WAIT_S = 30.0
"""Maximum seconds before a refused request is repeated."""


@dataclass(frozen=True)
class Service:
    """System that answers."""

    server: str
    """Its server in messages: `Proxmox VE node`."""
    api: str
    """Its API in messages: `API of Proxmox VE`."""
    port: int
    prefix: str
    """Beginning of all paths."""
    trust_hint: str
    """Source of its certificate."""
    needed: Mapping[str, str]
    """Results that need a response, by its path or the last part of that."""
    repeated: frozenset[int] = frozenset()
    """Status of responses after which a request is repeated."""

    @property
    def hint(self) -> str:
        """Advice for responses of another server."""
        return f"check that it is a {self.server}, and its port"


class MissingError(Exception):
    """Raised if there is no response to a path, with the reason for the notes."""

    def __init__(self, reason: str, *, is_node: bool = False) -> None:
        """Keep the reason, and whether the server, or the node behind it, does not answer."""
        super().__init__(reason)
        self.reason = reason
        self.is_node = is_node
        """True if the node does not answer."""


class Client:
    """Connections to a server. Holds the secret, and never shows it."""

    service: ClassVar[Service]

    def __init__(self, address: Address, trust: Trust) -> None:
        """Prepare a connection for each thread. Raises SourceError for a file without certificates."""
        self.address, self.trust = address, trust
        self.headers = {"Accept-Encoding": "identity", "Connection": "keep-alive"}
        self.missing: Counter[tuple[str, str]] = Counter()
        """Responses that are missing, by kind of path and reason."""
        self.taken = 0
        """Bytes of all responses."""
        self.stopped = threading.Event()
        """Set after an error or an interrupt, which ends all threads."""
        self.source = outside.Source(address, self.service.hint)
        self._context = trust.context(str(address))
        self._local = threading.local()
        self._open: list[PinnedConnection] = []
        self._lock = threading.Lock()

    def secret(self, hint: str) -> str:
        """Return the secret for the address. Raises SourceError unless it is printable ASCII."""
        secret = addresses.password(self.address)
        if not secret.isascii() or not secret.isprintable() or not secret:
            self.source.refuse("a secret that cannot be sent", "printable ASCII", hint)
        return secret

    def miss(self, kind: str, reason: str) -> None:
        """Note that a response is missing."""
        with self._lock:
            self.missing[kind, reason] += 1

    def gaps(self) -> list[Gap]:
        """Return the missing responses by kind, each with the reason and what needs it."""
        needed = self.service.needed
        return [
            Gap(
                f"{kind} ({reason}{f', {count} times' if count > 1 else ''})",
                needed.get(kind) or needed[kind.rpartition("/")[2]],
            )
            for (kind, reason), count in sorted(self.missing.items())
        ]

    def json(self, path: str, data: bytes) -> Any:
        """Return the value of the JSON text of a response. Raises SourceError."""
        return self.checked(path, lambda: outside.parsed(data, str(self.address)))

    def checked(self, path: str, parse: Callable[[], Any]) -> Any:
        """Return a parsed response. Raises SourceError that names server and path, and shows nothing of the text."""
        try:
            return parse()
        except SourceError as error:
            form = f"JSON of the {self.service.api}"
            self.source.at(path).refuse("a response in the wrong form", form, code=error.code)

    def request(
        self, path: str, body: str | None = None, *, method: str = "", headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Return the status and the bytes of a response: GET without a body, otherwise POST.

        A connection that the server has closed is opened again, and a request that it refuses for now is repeated.
        Raises MissingError, UnreachableError or SourceError.
        """
        method = method or ("GET" if body is None else "POST")
        for attempt in range(MAX_TRIES):
            status, data, wait_s = self._response(path, method, body, headers or {})
            if status not in self.service.repeated or attempt + 1 == MAX_TRIES:
                return status, data
            self.stopped.wait(min(2.0**attempt if wait_s is None else wait_s, MAX_WAIT_S))
        raise AssertionError

    @contextmanager
    def in_parallel(self, ask: Callable[[Part], Answer], parts: Iterable[Part]) -> Iterator[Iterator[Answer]]:
        """Provide the answer to each part, several at a time. An error in the block ends all threads."""
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            try:
                yield pool.map(ask, parts)
            except BaseException:
                self.stopped.set()
                raise

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in self._open:
            connection.close()

    def _response(
        self, path: str, method: str, body: str | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes, float | None]:
        for attempt in (1, 2):
            try:
                return self._exchange(path, method, body, headers)
            except (OSError, HTTPException) as error:
                self._close()
                self._give_up(path, error, is_last=attempt == 2)
        raise AssertionError

    def _give_up(self, path: str, error: OSError | HTTPException, *, is_last: bool) -> None:
        """Raise the error of a failed request, unless it is worth another attempt."""
        shown = str(self.address)
        if isinstance(error, ssl.SSLCertVerificationError):
            text = f"the certificate of the server is not trusted\n  help: {self.service.trust_hint}"
            raise UnreachableError(f"{shown}: {text}") from None
        if isinstance(error, tls.OtherCertificateError):
            raise UnreachableError(f"{shown}: {tls.changed(error)}") from None
        if isinstance(error, TimeoutError):
            raise MissingError("no answer in time", is_node=True) from None
        if is_last:
            reason = error.strerror if isinstance(error, OSError) else None
            raise UnreachableError(f"{shown}: {reason or type(error).__name__} ({path})") from None

    def _exchange(
        self, path: str, method: str, body: str | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes, float | None]:
        """Return status, bytes, and the seconds after which the server wants to be asked again."""
        if self.stopped.is_set():
            raise MissingError("stopped", is_node=True)
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = PinnedConnection(
                self.address.host, self.address.port or self.service.port, timeout=TIMEOUT_S, context=self._context
            )
            connection.fingerprint = self.trust.fingerprint
            self._local.connection = connection
            with self._lock:
                self._open.append(connection)
        end = time.monotonic() + ANSWER_S
        connection.request(method, f"{self.service.prefix}{path}", body, {**self.headers, **headers})
        response = connection.getresponse()
        try:
            data = self._bytes(response, path, end)
        except BaseException:
            self._close()
            raise
        wait_s = outside.number(response.getheader("Retry-After") or "")
        return response.status, data, wait_s if wait_s is not None and wait_s >= 0 else None

    def _bytes(self, response: HTTPResponse, path: str, end: float) -> bytes:
        parts, size = [], 0
        while part := response.read1(2**16):
            size += len(part)
            parts.append(part)
            if time.monotonic() > end:
                raise TimeoutError
            if size > MAX_BYTES:
                hint = f"check that it is a {self.service.server}"
                self.source.at(path).too_large("a larger response", f"at most {MAX_BYTES} bytes", hint)
        response.close()
        with self._lock:
            self.taken += size
            if self.taken > MAX_ALL_BYTES:
                allowed = f"at most {MAX_ALL_BYTES} bytes of all responses"
                self.source.at(path).too_large("more", allowed, "import a dump")
        return b"".join(parts)

    def _close(self) -> None:
        """Close the connection of this thread. The next request opens it again."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
