"""A real `hypertwin serve` in a process of its own, and requests to it as an attacker or as the app sends them."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    process: subprocess.Popen[str]
    address: str
    host: str
    port: int
    cookie: str = ""
    said: list[str] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    def enter(self) -> Answer:
        """Exchange the token for the cookie."""
        parts = urlsplit(self.address)
        answer = self.send("GET", f"/?{parts.query}", cookie=False)
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        return answer

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        cookie: bool | str = True,
        origin: str | None = "own",
        headers: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> Answer:
        """A request as the app sends it, except for what is given otherwise."""
        given = dict(headers or {})
        if cookie:
            given.setdefault("Cookie", self.cookie if cookie is True else cookie)
        if method not in ("GET", "HEAD") and origin is not None:
            given.setdefault("Origin", self.origin if origin == "own" else origin)
        if isinstance(body, dict):
            body = json.dumps(body).encode()
            given.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        with contextlib.closing(connection):
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())

    def run(self, name: str, *, seconds: float = 60) -> dict[str, Any]:
        """Wait for the end of a run."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            run: dict[str, Any] = self.send("GET", f"/api/runs/{name}").json
            if run["ended"] is not None:
                return run
            time.sleep(0.05)
        raise AssertionError(f"the run does not end: {run}")

    @contextlib.contextmanager
    def stream(self, path: str) -> Iterator[http.client.HTTPResponse]:
        """A stream of events, whose lines are read as they come."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Cookie": self.cookie})
            yield connection.getresponse()

    def tab(self, name: str) -> contextlib.AbstractContextManager[http.client.HTTPResponse]:
        """An open tab."""
        return self.stream(f"/api/events?tab={name}")


@contextlib.contextmanager
def served(folder: Path, *options: object, state: Path, **environment: str) -> Iterator[Served]:
    """Start a server, and end it."""
    words = [sys.executable, "-c", "from hypertwin.cli.main import main; main()", "serve", str(folder)]
    words += ["--port", "0", "--state", str(state), *map(str, options)]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    assert process.stdout is not None
    assert process.stderr is not None
    said: list[str] = []
    reading = threading.Thread(target=lambda: said.extend(process.stderr or ()), daemon=True)
    reading.start()
    try:
        address = process.stdout.readline().strip()
        if not address:
            process.wait(20)
            reading.join(5)
            raise RuntimeError("".join(said))
        parts = urlsplit(address)
        assert parts.hostname is not None
        assert parts.port is not None
        yield Served(process, address, parts.hostname, parts.port, said=said)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
        process.stdout.close()
        reading.join(5)
        process.stderr.close()
