"""A Prism Central that serves the answers of v4 over TLS, in pages, and misbehaves if told to.

What it refuses, as releases of Prism Central do: pages of over 100, statistics of VMs without `$select` (VMM-30102), a
`stats/` in `$select` of hosts (CLU-10007), and a version that it does not have (404).
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.estate import nutanix, tls_server
from tests.estate.tls_server import Answering, JsonHandler, Reply, Running

USER = "auditor"
SECRET = "correct-horse-battery"
API_KEY = "11111111-2222-3333-4444-555555555555"


def refuses(*parts: str, status: int = 403) -> Answering:
    """Answer all paths with such a part with a status."""
    return lambda path: (status, b'{"data":{"error":[]}}') if any(part in path for part in parts) else None


@contextmanager
def serving(
    answers: Mapping[str, Any],
    folder: Path,
    instead: Answering = lambda _path: None,
    *,
    newest: int = 2,
    late: Mapping[str, float] = {},
    busy: int = 0,
    only_all: bool = False,
) -> Iterator[Running]:
    """Serve answers by path, in versions v4.0 to `newest`.

    Paths with a part in `late` are answered after so many seconds. Of each path, the first `busy` requests are refused
    for now. With `only_all`, the statistics of VMs have no `$select` but `*`.
    """
    central = Running("nutanix", USER, folder)
    tries: dict[str, int] = {}
    lock = threading.Lock()

    class Handler(JsonHandler, BaseHTTPRequestHandler):
        def do_OPTIONS(self) -> None:
            known = newest >= 2 and self._is_allowed()
            self.reply(*((200, json.dumps({"data": f"v4.{newest}"}).encode()) if known else (404, b"")))

        def do_GET(self) -> None:
            path = self.path.removeprefix("/api/")
            central.asked.append(path)
            time.sleep(next((seconds for part, seconds in late.items() if part in path), 0))
            with lock:
                tries[path] = tries.get(path, 0) + 1
            if not self._is_allowed():
                self.reply(401, b"")
            elif tries[path] <= busy:
                self.reply(429, b"", Retry_After="0")
            else:
                self.reply(*self._found(path))

        def _is_allowed(self) -> bool:
            basic = base64.b64encode(f"{USER}:{SECRET}".encode()).decode()
            return self.headers["Authorization"] == f"Basic {basic}" or self.headers["X-ntnx-api-key"] == API_KEY

        def _found(self, path: str) -> Reply:
            if (other := instead(path)) is not None:
                return other
            split = urlsplit(path)
            version = re.match(r"([a-z]+)/v4\.([0-9]+)/(.*)", split.path)
            query = dict(parse_qsl(split.query))
            if version is None or int(version[2]) > newest or (split.path.endswith("/cvms") and newest < 2):
                return 404, b""
            key = f"{version[1]}/{version[3]}"
            if not _is_accepted(key, query, only_all):
                return 400, b'{"data":{"error":[]}}'
            if key not in answers:
                known = key.partition("/")[0] != "clustermgmt" or "/stats/" not in key
                return (200, json.dumps(nutanix.envelope(key, [], 0)).encode()) if known else (404, b"")
            return 200, json.dumps(_page(key, answers[key], query)).encode()

    with tls_server.serving(Handler, central):
        yield central


def _is_accepted(key: str, query: Mapping[str, str], only_all: bool) -> bool:
    limit, select = int(query.get("$limit", 50)), query.get("$select", "")
    if not 1 <= limit <= 100 or int(query.get("$page", 0)) < 0:
        return False
    if "/stats/" not in key:
        return True
    if any(name not in query for name in ("$startTime", "$endTime", "$samplingInterval", "$statType")):
        return False
    if key.startswith("clustermgmt/"):
        return "stats/" not in select
    return select == "*" if only_all else bool(select)


def _page(key: str, data: Any, query: Mapping[str, str]) -> dict[str, Any]:
    if not isinstance(data, list):
        return nutanix.envelope(key, _selected(data, query))
    limit, page = int(query.get("$limit", 50)), int(query.get("$page", 0))
    part = [_selected(each, query) for each in data[page * limit : (page + 1) * limit]]
    return nutanix.envelope(key, nutanix.listed(part), len(data))


def _selected(entity: dict[str, Any], query: Mapping[str, str]) -> dict[str, Any]:
    """The fields of an entity that are asked for."""
    names = query.get("$select", "*").split(",")
    if "*" in names:
        return entity
    inner = {name.removeprefix("stats/") for name in names if name.startswith("stats/")}
    found = {key: value for key, value in entity.items() if key.startswith("$") or key in names}
    if inner:
        found["stats"] = [
            {key: value for key, value in each.items() if key.startswith("$") or key in inner}
            for each in entity["stats"]
        ]
    return found
