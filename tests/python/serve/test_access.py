"""Each rule that protects the server, with the attack that it stops."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import uvicorn
from tests.conftest import TINY
from tests.python.serve.served import Served, served

from hypertwin.cli import serve
from hypertwin.serve import access, files
from hypertwin.serve import server as serving
from hypertwin.serve.refusal import RefusedError


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "tiny.yaml").write_text(TINY)
    with served(folder, state=tmp_path_factory.mktemp("state")) as found:
        assert found.enter().status == 303
        yield found


def test_the_app_is_served_with_the_cookie(server: Served) -> None:
    answer = server.send("GET", "/")
    assert answer.status == 200
    assert b'<div id="app">' in answer.body


@pytest.mark.parametrize(
    "name", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "127.0.0.2:{port}"]
)
def test_a_name_that_was_rebound_to_this_computer_is_refused(server: Served, name: str) -> None:
    host = name.format(port=server.port)
    answer = server.send("GET", "/api/folder", headers={"Host": host})
    assert answer.status == 421, host
    # Origin equals Host in an attack by rebinding, so that the comparison of both alone would pass it
    answer = server.send("POST", "/api/check", {"text": TINY}, origin=f"http://{host}", headers={"Host": host})
    assert answer.status == 421


def test_two_host_headers_are_refused(server: Served) -> None:
    with socket.create_connection((server.host, server.port), timeout=10) as raw:
        own = f"127.0.0.1:{server.port}"
        raw.sendall(f"GET / HTTP/1.1\r\nHost: {own}\r\nHost: {own}\r\nCookie: {server.cookie}\r\n\r\n".encode())
        assert raw.recv(100).split()[1] in (b"400", b"421")
    door = access.Door(access.hosts("127.0.0.1", 1), 1, "t" * 40)
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b""}
    for hosts in ((b"evil", b"127.0.0.1:1"), (b"127.0.0.1:1", b"evil"), (b"127.0.0.1:1", b"127.0.0.1:1"), ()):
        headers = [(b"host", host) for host in hosts] + [(b"cookie", f"{door.cookie}={door.session}".encode())]
        with pytest.raises(RefusedError) as refused:
            access.Guard(None, door)._check({**scope, "headers": headers})  # type: ignore[arg-type]
        assert refused.value.status == 421


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_names_of_this_computer_are_allowed(server: Served, name: str) -> None:
    assert server.send("GET", "/api/folder", headers={"Host": f"{name}:{server.port}"}).status == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1", "http://127.0.0.1:1", "https://127.0.0.1:{port}", None],
)
def test_a_foreign_or_missing_origin_changes_nothing(server: Served, origin: str | None) -> None:
    given = origin and origin.format(port=server.port)
    for method, path in (("POST", "/api/check"), ("PUT", "/api/scenario/new.yaml"), ("DELETE", "/api/runs/x")):
        answer = server.send(method, path, {"text": TINY, "opened": None}, origin=given)
        assert answer.status == 403, (method, given)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "evil"])
def test_requests_of_other_sites_are_refused_also_where_they_only_read(server: Served, site: str) -> None:
    headers = {"Sec-Fetch-Site": site}
    assert server.send("POST", "/api/check", {"text": TINY}, headers=headers).status == 403
    assert server.send("GET", "/api/folder", headers=headers).status == 403
    assert server.send("GET", "/", headers=headers).status == 403, "only a link can open the app"
    headers["Sec-Fetch-Mode"] = "navigate"
    assert server.send("GET", "/", headers=headers).status == 200
    assert server.send("GET", "/api/folder", headers=headers).status == 403, "a link opens the app, and nothing else"


def test_a_read_with_the_origin_of_another_site_is_refused(server: Served) -> None:
    assert server.send("GET", "/api/folder", headers={"Origin": "http://evil.example"}).status == 403
    assert server.send("GET", "/api/folder", headers={"Origin": server.origin}).status == 200


def test_a_cookie_of_another_port_does_not_hide_that_of_the_session(server: Served) -> None:
    other = f"{server.cookie.partition('=')[0]}=x"
    for cookies in (f"{other}; {server.cookie}", f"{server.cookie}; {other}"):
        assert server.send("GET", "/api/folder", cookie=cookies).status == 200
    assert server.send("GET", "/api/folder", cookie=other).status == 401


def test_a_refusal_ends_the_connection(server: Served) -> None:
    with socket.create_connection((server.host, server.port), timeout=10) as raw:
        text = f"POST /api/check HTTP/1.1\r\nHost: {server.host}:{server.port}\r\nContent-Length: 0\r\n\r\n"
        raw.sendall(text.encode())
        answer = b""
        while part := raw.recv(1_000):
            answer += part
    assert answer.startswith(b"HTTP/1.1 403")


def test_requests_of_the_app_are_allowed(server: Served) -> None:
    for site in ("same-origin", "none"):
        assert server.send("POST", "/api/check", {"text": TINY}, headers={"Sec-Fetch-Site": site}).status == 200


def test_nothing_is_shown_without_the_cookie(server: Served) -> None:
    name, _, value = server.cookie.partition("=")
    others = ["", f"{name}=wrong", f"{name}={value}x", f"hypertwin-1={value}", f"{name}2={value}", f"x{name}={value}"]
    for cookie in others:
        for path in (
            "/",
            "/assets/app.js",
            "/api/folder",
            "/api/schema",
            "/api/events",
            "/favicon.ico",
            "/runs/x/page",
        ):
            assert server.send("GET", path, cookie=cookie or False).status == 401, (cookie, path)
        assert server.send("POST", "/api/check", {"text": TINY}, cookie=cookie or False).status == 401


def test_the_token_works_once_and_is_not_shown_again(tmp_path: Path) -> None:
    with served(tmp_path, state=tmp_path / "state") as server:
        token = parse_qs(urlsplit(server.address).query)["token"][0]
        assert len(token) >= 32
        for wrong in ("", "x", token[:-1], f"{token}x", token.swapcase(), "%00", "é"):
            assert server.send("GET", f"/?token={wrong.encode().hex() if wrong == 'é' else wrong}").status == 401
        first = server.enter()
        assert first.status == 303
        assert first.headers["location"] == "/"
        assert token not in str(first.headers)
        cookie = first.headers["set-cookie"]
        assert cookie.startswith(f"hypertwin-{server.port}=")
        for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
            assert part in cookie
        assert server.send("GET", f"/?token={token}", cookie=False).status == 401, "it was used"
        assert server.send("GET", f"/?token={token}").status == 303, "this browser is in already"
        assert server.send("GET", "/api/folder").status == 200


def test_a_link_from_elsewhere_enters_without_a_redirect(tmp_path: Path) -> None:
    with served(tmp_path, state=tmp_path / "state") as server:
        query = urlsplit(server.address).query
        headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        answer = server.send("GET", f"/?{query}", cookie=False, headers=headers)
        assert (answer.status, answer.body) == (200, access.LEAVE)
        assert "SameSite=Strict" in answer.headers["set-cookie"]
        assert "token" not in answer.body.decode()


def test_the_address_for_a_browser_is_in_a_private_file(monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[str] = []
    monkeypatch.setattr(serve.webbrowser, "open", named.append)
    with serve._opened("http://127.0.0.1:1/?token=x&y"):
        file = Path(urlsplit(named[0]).path)
        assert "token" not in named[0]
        assert file.parent.stat().st_mode & 0o077 == 0
        assert "url=http://127.0.0.1:1/?token=x&amp;y" in file.read_text()
    assert not file.exists()


def test_every_answer_has_headers_that_protect_it(server: Served) -> None:
    for path, cookie in (("/", True), ("/api/folder", True), ("/none", True), ("/", False), ("/assets/app.css", True)):
        headers = server.send("GET", path, cookie=cookie).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_a_web_socket_is_refused(server: Served) -> None:
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x", "Sec-WebSocket-Version": "13"}
    assert server.send("GET", "/api/events2", headers=headers).status in (400, 404)


def test_a_large_body_is_refused_before_it_is_read(server: Served) -> None:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
    with contextlib.closing(connection):
        connection.putrequest("POST", "/api/check")
        for name, value in {"Cookie": server.cookie, "Origin": server.origin}.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(access.MAX_BODY + 1))
        connection.endheaders()
        assert connection.getresponse().status == 413


def test_a_large_body_in_chunks_is_refused(server: Served) -> None:
    with socket.create_connection((server.host, server.port), timeout=20) as raw:
        head = f"POST /api/check HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nCookie: {server.cookie}\r\n"
        head += f"Origin: {server.origin}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        raw.sendall(head.encode())
        chunk = b"100000\r\n" + b"a" * 0x100000 + b"\r\n"
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may close before all is sent
            for _ in range(2 + (access.MAX_BODY >> 20)):
                raw.sendall(chunk)
        assert raw.recv(100).split()[1] == b"413"
    assert server.send("GET", "/api/folder").status == 200


def test_headers_are_limited(server: Served) -> None:
    assert server.send("GET", "/", headers={f"X-{number}": "x" for number in range(200)}).status == 431
    with contextlib.suppress(ConnectionError, http.client.HTTPException):
        assert server.send("GET", "/", headers={"X-Large": "x" * 200_000}).status in (400, 431)
    assert server.send("GET", "/api/folder").status == 200


def test_a_slow_body_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "BODY_PAUSE_S", 0.05)

    async def never() -> Any:
        await asyncio.sleep(60)

    async def drip() -> Any:
        await asyncio.sleep(0.03)
        return {"type": "http.request", "body": b"a", "more_body": True}

    with pytest.raises(RefusedError, match="does not arrive"):
        asyncio.run(access._Body(never, 10, None).receive())
    monkeypatch.setattr(access, "BODY_S", 0.1)

    async def read() -> None:
        body = access._Body(drip, 1_000, None)
        while True:
            await body.receive()

    with pytest.raises(RefusedError, match="does not arrive"):
        asyncio.run(read())


@pytest.mark.parametrize(
    "begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\nG"]
)
def test_a_connection_without_a_whole_request_is_closed(begun: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEADERS_S", 0.3)

    async def slow(_scope: Any, _receive: Any, send: Any) -> None:
        await asyncio.sleep(0.6)  # an answer has the time that it needs
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def read() -> bytes:
        server = uvicorn.Server(uvicorn.Config(slow, http=serving.Protocol, ws="none", log_config=None, lifespan="off"))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            running = asyncio.create_task(server.serve([listening]))
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            writer.write(begun)
            answer = await asyncio.wait_for(reader.read(), 5)
            writer.close()
            server.should_exit = True
            await running
        return answer

    answer = asyncio.run(read())
    assert answer[:12] == (b"HTTP/1.1 204" if b"\r\n\r\n" in begun else b"")


def test_parallel_requests_stay_within_limits_and_memory(server: Served, record_property: Any) -> None:
    before = _memory(server)
    text = json.dumps({"text": TINY + "# " + "x" * 1_000_000}).encode()
    headers = {"Content-Type": "application/json"}
    with ThreadPoolExecutor(50) as pool:
        statuses = list(pool.map(lambda _: server.send("POST", "/api/check", text, headers=headers).status, range(50)))
    grown = _memory(server) - before
    record_property("MiB after 50 parallel checks of 1 MB", f"{grown / 2**20:.0f}")
    assert set(statuses) <= {200, 503}
    assert statuses.count(200) >= 2
    assert grown < 300 * 2**20
    assert server.send("GET", "/api/folder").status == 200


@pytest.mark.parametrize(("path", "most"), [("/api/folder", access.MAX_PARALLEL), ("/api/events", access.MAX_STREAMS)])
def test_only_a_limited_number_of_requests_is_answered_at_once(path: str, most: int) -> None:
    async def ask() -> list[int]:
        release = asyncio.Event()

        async def inner(_scope: Any, _receive: Any, send: Any) -> None:
            await release.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})

        door = access.Door(access.hosts("127.0.0.1", 1), 1, "t" * 40)
        guard, statuses = access.Guard(inner, door), []
        headers = [(b"host", b"127.0.0.1:1"), (b"cookie", f"{door.cookie}={door.session}".encode())]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        tasks = [asyncio.create_task(guard(dict(scope), None, send)) for _ in range(most + 9)]  # type: ignore[arg-type]
        await asyncio.sleep(0.05)
        release.set()
        await asyncio.gather(*tasks)
        return statuses

    statuses = asyncio.run(ask())
    assert statuses.count(200) == most
    assert statuses.count(503) == 9


def _memory(server: Served) -> int:
    pages = Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


BAD_TOKENS = {
    "none": (None, 0o600, "needs a token"),
    "short": ("x" * 31, 0o600, "at least 32"),
    "open to others": ("x" * 40, 0o644, "mode 0644; allowed: 0600"),
    "open to the group": ("x" * 40, 0o620, "mode 0620"),
    "odd": ("x" * 40 + "\nSet-Cookie: a", 0o600, "allowed: at least 32 letters"),
}


@pytest.mark.parametrize("case", BAD_TOKENS)
def test_other_computers_need_a_token_from_a_private_file(case: str, tmp_path: Path) -> None:
    token, mode, said = BAD_TOKENS[case]
    options: list[object] = ["--host", "127.0.0.2"]
    if token is not None:
        file = tmp_path / "token"
        file.write_text(token)
        file.chmod(mode)
        options += ["--token-file", file]
    with pytest.raises(RuntimeError, match=said) as caught, served(tmp_path, *options, state=tmp_path / "state"):
        pass
    assert "warning: traffic to 127.0.0.2 is not encrypted" in str(caught.value)


def test_a_token_from_a_file_is_not_printed_and_works_more_than_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("k" * 40 + "\n")
    file.chmod(0o600)
    with served(tmp_path, "--host", "127.0.0.2", "--token-file", file, state=tmp_path / "state") as server:
        assert "k" * 40 not in server.address
        for _ in range(2):
            assert server.send("GET", f"/?token={'k' * 40}", cookie=False).status == 303
        assert server.send("GET", "/api/folder", headers={"Host": f"127.0.0.1:{server.port}"}).status == 421
    assert any("not encrypted" in line for line in server.said)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_all_addresses_at_once_are_refused(host: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("k" * 40)
    file.chmod(0o600)
    options = ("--host", host, "--token-file", file)
    with pytest.raises(RuntimeError, match="all addresses"), served(tmp_path, *options, state=tmp_path / "state"):
        pass


def test_a_port_in_use_is_one_clear_error(cli: Any, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = cli("serve", tmp_path, "--port", port, "--state", tmp_path / "state")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: cannot listen on 127.0.0.1:{port}: Address already in use")
    assert "--port; 0 takes a free one" in done.stderr


def test_ctrl_c_ends_it_while_a_tab_is_open(tmp_path: Path) -> None:
    with served(tmp_path, state=tmp_path / "state") as server:
        server.enter()
        with server.tab("one") as stream:
            assert stream.readline() == b"event: runs\n"
            began = time.monotonic()
            server.process.send_signal(2)
            assert server.process.wait(20) == 0
        assert time.monotonic() - began < 10
    assert "Traceback" not in "".join(server.said)


NAMES = {
    "../secret.yaml": 403,
    "..%2Fsecret.yaml": 404,
    "%2e%2e%2fsecret.yaml": 404,
    "..%5Csecret.yaml": 403,
    "%2Fetc%2Fpasswd": 404,
    "link.yaml": 403,
    "folder-link.yaml": 403,
    "a%00.yaml": 403,
    ".hidden.yaml": 403,
    "hidden-link.yaml": 403,
    "pipe.yaml": 403,
    "none.yaml": 404,
    "notes.txt": 403,
    "new%0d%0aSet-Cookie:a.yaml": 403,
    "-.yaml": 403,
    "x" * 300 + ".yaml": 403,
}


@pytest.mark.parametrize("name", NAMES)
def test_names_stay_in_the_folder(name: str, tmp_path: Path) -> None:
    folder = _with_traps(tmp_path)
    found = files.Folder(folder)
    with pytest.raises(RefusedError):
        found.read(unquote(name))
    with pytest.raises(RefusedError):
        found.save(unquote(name), "x: 1\n", None if "none" not in name else "0" * 64)
    assert (tmp_path / "secret.yaml").read_text() == "hosts: secret\n"


def _with_traps(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret.yaml").write_text("hosts: secret\n")
    (folder / "link.yaml").symlink_to("../secret.yaml")
    (folder / "folder-link.yaml").symlink_to("/etc")
    (folder / ".hidden.yaml").write_text("hosts: hidden\n")
    (folder / "hidden-link.yaml").symlink_to(".hidden.yaml")
    (folder / "notes.txt").write_text("notes\n")
    os.mkfifo(folder / "pipe.yaml")
    (folder / "tiny.yaml").write_text(TINY)
    return folder


def test_names_in_addresses_stay_in_the_folder(tmp_path: Path) -> None:
    folder = _with_traps(tmp_path)
    with served(folder, state=tmp_path / "state") as server:
        server.enter()
        assert [each["name"] for each in server.send("GET", "/api/folder").json["files"]] == ["tiny.yaml"]
        for name in NAMES:
            answer = server.send("GET", f"/api/scenario/{name}")
            assert answer.status in (403, 404), name
            assert b"secret:" not in answer.body
            assert b"hosts" not in answer.body
            assert "set-cookie" not in answer.headers
            assert server.send("PUT", f"/api/scenario/{name}", {"text": TINY, "opened": None}).status in (
                *(403, 404, 405, 409, 422),
                *((200,) if name == "none.yaml" else ()),
            ), name
        for name in ("../../etc", "20261126-000000-00000000", "..%2F..", "x%00"):
            assert server.send("GET", f"/runs/{name}/page").status == 404
            assert server.send("GET", f"/api/runs/{name}").status == 404
    assert (tmp_path / "secret.yaml").read_text() == "hosts: secret\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", "secret.yaml", "state"]


def test_a_read_only_server_writes_nothing_into_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "tiny.yaml").write_text(TINY)
    with served(folder, "--read-only", state=tmp_path / "state") as server:
        server.enter()
        opened = server.send("GET", "/api/scenario/tiny.yaml").json
        changed = {"text": TINY + "# changed\n", "opened": opened["sha256"]}
        assert server.send("PUT", "/api/scenario/tiny.yaml", changed).status == 403
        assert server.send("PUT", "/api/scenario/new.yaml", {"text": TINY, "opened": None}).status == 403
        assert server.send("POST", "/api/import/x.json", b"{}").status == 403
        started = server.send(
            "POST", "/api/runs", {"command": "simulate", "file": "tiny.yaml", "text": changed["text"], "keep": True}
        )
        assert started.status == 201
        assert server.run(started.json["id"])["status"] == "done"
        assert server.send("GET", f"/runs/{started.json['id']}/page").status == 200
    assert {each.name: each.read_text() for each in folder.iterdir()} == {"tiny.yaml": TINY}


def test_a_change_elsewhere_is_never_lost(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "tiny.yaml").write_text(TINY)
    with served(folder, state=tmp_path / "state") as server:
        server.enter()
        opened = server.send("GET", "/api/scenario/tiny.yaml").json["sha256"]
        first = server.send("PUT", "/api/scenario/tiny.yaml", {"text": TINY + "# one\n", "opened": opened})
        assert first.status == 200
        assert server.send("PUT", "/api/scenario/tiny.yaml", {"text": "lost", "opened": opened}).status == 409
        (folder / "tiny.yaml").write_text(TINY + "# by vi\n")
        again = {"text": "lost", "opened": first.json["sha256"]}
        assert server.send("PUT", "/api/scenario/tiny.yaml", again).status == 409
        assert server.send("PUT", "/api/scenario/tiny.yaml", {"text": "lost", "opened": None}).status == 409
    assert (folder / "tiny.yaml").read_text() == TINY + "# by vi\n"


def test_one_scenario_is_served_alone(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    (tmp_path / "other.yaml").write_text(TINY)
    with served(tmp_path / "tiny.yaml", state=tmp_path / "state") as server:
        server.enter()
        assert [each["name"] for each in server.send("GET", "/api/folder").json["files"]] == ["tiny.yaml"]
        assert server.send("GET", "/api/scenario/other.yaml").status == 404
        assert server.send("PUT", "/api/scenario/new.yaml", {"text": TINY, "opened": None}).status == 403


def test_the_served_folder_is_no_state_folder(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="this is the served folder"), served(tmp_path, state=tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_second_server_does_not_share_the_state_folder(tmp_path: Path) -> None:
    state = tmp_path / "state"
    refused = pytest.raises(RuntimeError, match="another `hypertwin serve`")
    with served(tmp_path, state=state), refused, served(tmp_path, state=state):
        pass
