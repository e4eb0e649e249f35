"""A server over TLS whose certificate a test can trust."""

from __future__ import annotations

import hashlib
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trustme

Reply = tuple[int, bytes]
Answering = Callable[[str], Reply | None]
"""What is replied to a path instead of its answer; None for the answer."""


@dataclass
class Running:
    """A running server."""

    scheme: str
    user: str
    """User of its addresses, unless told otherwise."""
    folder: Path
    port: int = 0
    fingerprint: str = ""
    asked: list[str] = field(default_factory=list)
    """Paths with their queries, in the order in which they were asked for."""

    def address(self, user: str | None = None, *, trust: str | None = None, host: str = "127.0.0.1") -> str:
        """Its address; its certificate is trusted unless told otherwise."""
        who = self.user if user is None else user
        query = f"ca={self.folder / 'ca.pem'}" if trust is None else trust
        return f"{self.scheme}://{who and f'{who}@'}{host}:{self.port}?{query}"


class JsonHandler(BaseHTTPRequestHandler):
    """Answers of JSON, a whole one at once."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # a whole reply at once: a second packet would wait for an acknowledgement

    def reply(self, status: int, data: bytes, **headers: str) -> None:
        """Send an answer."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json;charset=UTF-8")
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass


@contextmanager
def serving(handler: type[JsonHandler], running: Running) -> Iterator[Running]:
    """Serve at a port of this computer; the certificate of the authority is in the folder."""
    ca = trustme.CA()
    certificate = ca.issue_cert("127.0.0.1", "localhost")
    ca.cert_pem.write_to_path(running.folder / "ca.pem")
    der = ssl.PEM_cert_to_DER_cert(certificate.cert_chain_pems[0].bytes().decode())
    server = _Quiet(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    running.port, running.fingerprint = server.server_address[1], hashlib.sha256(der).hexdigest()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
