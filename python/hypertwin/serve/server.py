"""Start and end of the server."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import secrets
import signal
import socket
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hypertwin import scenario
from hypertwin.errors import HypertwinError, short
from hypertwin.runs import cache
from hypertwin.serve import access
from hypertwin.serve.app import WORKER_MEMORY, WORKERS, Api, application
from hypertwin.serve.files import ENDINGS, Folder
from hypertwin.serve.offers import Offer
from hypertwin.serve.runs import Limits, Runs
from hypertwin.serve.workers import Workers

MIN_TOKEN = 32
"""Minimum characters of a token from a file."""
MAX_HEADER = 32 << 10
"""Maximum bytes of all headers of a request."""
MAX_CONNECTIONS = 128
"""Maximum number of connections."""
HEADERS_S = 30
"""Maximum seconds from the start of a connection, or from an answer, to the end of the headers of a request."""
GRACE_S = 3
"""Seconds until open connections are closed at the end."""


class ServeError(HypertwinError):
    """Raised if the server cannot start."""

    code = "not-served"


@dataclass(frozen=True)
class Settings:
    """Options of the server."""

    path: Path
    """The folder, or the only scenario to serve."""
    offers: Mapping[str, Offer]
    compare: Callable[[str, str], list[str]]
    host: str = "127.0.0.1"
    port: int = 8765
    token_file: Path | None = None
    is_read_only: bool = False
    state: Path | None = None
    limits: Limits = field(default_factory=Limits)


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Serve a folder until SIGINT or SIGTERM. `say` gets the address, once. Raises ServeError."""
    folder = _folder(settings)
    is_local = settings.host in access.LOOPBACK
    token = _token(settings, is_local)
    state = _state(settings, folder)
    with contextlib.closing(_listening(settings.host, settings.port)) as listening:
        port: int = listening.getsockname()[1]
        door = access.Door(access.hosts(settings.host, port), port, token, settings.token_file is not None)
        os.environ[scenario.WITHIN] = str(folder.path)
        asyncio.run(_run(settings, folder, state, door, listening, say))


async def _run(
    settings: Settings,
    folder: Folder,
    state: Path,
    door: access.Door,
    listening: socket.socket,
    say: Callable[[str], None],
) -> None:
    api = Api(
        folder,
        Runs(state, settings.limits),
        settings.offers,
        Workers(folder.path, WORKERS, WORKER_MEMORY),
        state,
        settings.compare,
    )
    configured = uvicorn.Config(
        access.Guard(application(api), door),
        http=Protocol,
        h11_max_incomplete_event_size=MAX_HEADER,
        ws="none",
        lifespan="on",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=HEADERS_S,
        timeout_graceful_shutdown=GRACE_S,
        access_log=False,
        log_config=None,
        log_level="critical",
        server_header=False,
        proxy_headers=False,
    )
    server = _Server(configured)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, server.end)
    query = "" if settings.token_file else f"?token={door.token}"
    name = f"[{settings.host}]" if ":" in settings.host else settings.host
    say(f"http://{name}:{door.port}/{query}")
    await server.serve([listening])


class Protocol(H11Protocol):
    """Connection that limits the size of headers, and the time in which they arrive.

    Without that time, anyone on this computer could occupy all connections, without a token.
    """

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def handle_events(self) -> None:
        """Handle what arrived, and wait for the next request unless one is being answered."""
        super().handle_events()
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._patience is None and not self.transport.is_closing():
            self._patience = self.loop.call_later(HEADERS_S, self.timeout_keep_alive_handler)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


class _Server(uvicorn.Server):
    """Server whose end the caller decides."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        """Leave signals to `_run`."""
        yield

    def end(self) -> None:
        """End the server. A second signal closes connections at once."""
        self.force_exit, self.should_exit = self.should_exit, True


def _folder(settings: Settings) -> Folder:
    path = Path(os.path.realpath(settings.path))
    if path.is_dir():
        return Folder(path, is_read_only=settings.is_read_only)
    if not path.is_file():
        raise ServeError(f"no folder or scenario {short(str(settings.path))}\n  help: name an existing one")
    if not path.name.endswith(ENDINGS):
        raise ServeError(f"{settings.path} is no scenario; allowed: a folder, or a file that ends in .yaml or .yml")
    return Folder(path.parent, path.name, settings.is_read_only)


def _token(settings: Settings, is_local: bool) -> str:
    file = settings.token_file
    if file is None:
        if not is_local:
            raise ServeError(
                f"--host {settings.host} is reachable from other computers, and needs a token of your own\n"
                "  help: add --token-file FILE, made by: (umask 077; openssl rand -hex 32 > FILE)"
            )
        return secrets.token_urlsafe(32)
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="utf-8").strip() if stat.S_ISREG(mode) else ""
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ServeError(f"--token-file {file}: {reason}\n  help: name a readable file with the token") from None
    if not stat.S_ISREG(mode):
        raise ServeError(f"--token-file {file}: not a regular file\n  help: name a file with the token")
    if mode & 0o077:
        raise ServeError(
            f"--token-file {file}: mode {stat.S_IMODE(mode):04o}; allowed: 0600 or 0400\n  help: chmod 600 {file}"
        )
    if len(text) < MIN_TOKEN or not all(each.isalnum() or each in "-_.~" for each in text) or not text.isascii():
        raise ServeError(
            f"--token-file {file}: allowed: at least {MIN_TOKEN} letters, digits, '-', '_', '.' and '~'\n"
            "  help: openssl rand -hex 32"
        )
    return text


def _state(settings: Settings, folder: Folder) -> Path:
    """Return the state folder: by default one for each served folder, in the folder of the result cache."""
    if settings.state is not None:
        state = Path(os.path.realpath(settings.state))
        if state == folder.path:
            raise ServeError(f"--state {settings.state}: this is the served folder\n  help: name another folder")
    else:
        key = hashlib.sha256(str(folder.path).encode()).hexdigest()[:16]
        try:
            state = (cache.place() or cache.default()) / "serve" / key
        except RuntimeError:
            raise ServeError("no home folder for the results of runs\n  help: add --state FOLDER") from None
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ServeError(
            f"cannot make the state folder {state}: {error.strerror}\n  help: name another folder with --state"
        ) from None
    return state


def _listening(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises ServeError."""
    if host in ("0.0.0.0", "::", ""):
        raise ServeError(
            f"--host {host or '(empty)'}: all addresses at once are not allowed\n"
            "  help: name the address that browsers use"
        )
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ServeError(f"--host {short(host)}: {reason}\n  help: name an address of this computer") from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(MAX_CONNECTIONS)
    except OSError as error:
        made.close()
        hint = "choose another --port; 0 takes a free one"
        if error.errno == errno.EADDRNOTAVAIL:
            hint = "name an address of this computer"
        raise ServeError(f"cannot listen on {host}:{port}: {error.strerror}\n  help: {hint}") from None
    if sys.platform == "linux":
        made.set_inheritable(False)
    return made
