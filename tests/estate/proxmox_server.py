"""A node of Proxmox VE that serves answers over TLS, as its API does, and misbehaves if told to."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.estate import tls_server
from tests.estate.tls_server import Answering, JsonHandler, Reply, Running

USER = "auditor@pve"
TOKEN = f"{USER}!twin"
SECRET = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
TICKET = "PVE:auditor@pve:65A0::c2lnbmF0dXJl+/=="


def refuses(*paths: str, status: int = 403) -> Answering:
    """Answer all paths that begin so with a status."""
    return lambda path: (status, b'{"data":null}') if path.startswith(paths) else None


@contextmanager
def serving(
    answers: Mapping[str, Any], folder: Path, instead: Answering = lambda _path: None, *, late: Mapping[str, float] = {}
) -> Iterator[Running]:
    """Serve answers by path. Paths that begin like one of `late` are answered after so many seconds."""
    known = {path.strip("/"): answer for path, answer in answers.items()}
    node = Running("proxmox", TOKEN, folder)

    class Handler(JsonHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.removeprefix("/api2/json/")
            node.asked.append(path)
            time.sleep(next((seconds for part, seconds in late.items() if path.startswith(part)), 0))
            allowed = self.headers["Authorization"] == f"PVEAPIToken={TOKEN}={SECRET}"
            allowed |= self.headers["Cookie"] == f"PVEAuthCookie={TICKET}"
            self.reply(*(self._found(path) if allowed else (401, b"")))

        def do_POST(self) -> None:
            time.sleep(late.get(self.path.removeprefix("/api2/json/"), 0))
            given = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            right = given == {"username": [USER], "password": [SECRET]}
            ticket = {"data": {"ticket": TICKET, "CSRFPreventionToken": "x", "username": USER}}
            self.reply(*((200, json.dumps(ticket).encode()) if right else (401, b"")))

        def _found(self, path: str) -> Reply:
            other = instead(path)
            if other is not None:
                return other
            bare = urlsplit(path).path
            if path.endswith("cf=MAX") and f"{bare}-max" in known:
                bare += "-max"
            if bare in known:
                return 200, json.dumps({"data": known[bare]}).encode()
            return (501, b'{"data":null}') if bare.startswith("cluster/") else (500, b'{"data":null}')

    with tls_server.serving(Handler, node):
        yield node
