"""Prometheus servers that are wrong, hostile or locked: one clear error, in bounded time, and no secret in it."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import needs

from hypertwin.errors import HypertwinError, SourceError, UnreachableError
from hypertwin.ingest import formats, prometheus

START = 1_767_225_600
SECRET = "tr0ub4dor&3"

Answer = Callable[[str, dict[str, str]], object]
"""Gives what is answered for a path and its parameters: bytes as they are, anything else as the data of a success."""


class Stub(ThreadingHTTPServer):
    """A server that answers what it is told, and keeps the headers that it got."""

    daemon_threads = True

    def __init__(self, answer: Answer, status: int = 200, headers: dict[str, str] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.status, self.headers = answer, status, headers or {}
        self.seen: list[tuple[str, str | None]] = []


class Handler(BaseHTTPRequestHandler):
    """One answer of a Stub."""

    server: Stub

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        parameters = {key: values[0] for key, values in parse_qs(parts.query).items()}
        self.server.seen.append((parts.path, self.headers.get("Authorization")))
        body = self.server.answer(parts.path, parameters)
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for part in body if isinstance(body, Iterator) else [body]:
                self.wfile.write(part if isinstance(part, bytes) else success(part))
                self.wfile.flush()
        except OSError:  # the reader has had enough
            self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


def success(data: object) -> bytes:
    return json.dumps({"status": "success", "data": data}).encode()


def matrix(*series: tuple[dict[str, str], list[object]]) -> dict[str, object]:
    result = [{"metric": labels, "values": values} for labels, values in series]
    return {"resultType": "matrix", "result": result}


@contextmanager
def serving(answer: Answer, **options: object) -> Iterator[Stub]:
    stub = Stub(answer, **options)  # type: ignore[arg-type]
    thread = threading.Thread(target=stub.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.shutdown()
        stub.server_close()


def address(stub: Stub, query: str = f"start={START}&end={START + 60}&step=15s", user: str = "") -> str:
    return f"prometheus://{user}127.0.0.1:{stub.server_port}?{query}"


def vmware(values: list[object] | None = None, labels: dict[str, str] | None = None) -> Answer:
    """A server that has vCPUs and ready time of one machine."""
    machine = labels if labels is not None else {"vm_name": "db", "host_name": "esx1"}

    def answer(path: str, parameters: dict[str, str]) -> object:
        query = parameters["query"]
        if "__name__" in query:
            names = ("vmware_vm_num_cpu", "vmware_vm_cpu_ready_summation")
            return matrix(*(({"__name__": name}, [[START + 30, "1"]]) for name in names))
        if path.endswith("/query"):
            return matrix((machine, [[START, "4"], [START + 15, "4"]]))
        return matrix((machine, values if values is not None else [[START + 15, "2800"]]))

    return answer


def read(source: str) -> pl.DataFrame:
    return pl.concat(formats.read(source).frames)


def test_what_is_answered_becomes_rows() -> None:
    with serving(vmware([[START, "NaN"], [START + 15, "2800"], [START + 30, "+Inf"]])) as stub:
        found = read(address(stub))
    rows = {(entity, metric): value for _, entity, metric, value, _ in found.iter_rows()}
    assert rows["host/esx1/vm/db", "ready_sum_pct"] == 2800  # the stub does not calculate
    assert rows["host/esx1/vm/db", "interval_s"] == 20
    assert found["time"].dt.epoch("s").unique().to_list() == [START + 15]


def test_names_are_kept_as_data() -> None:
    hostile = {"vm_name": "=cmd|'/c calc'!A1\x1b[31m<script>/%\u202e", "host_name": "n/a", "other": "x"}
    with serving(vmware(labels=hostile)) as stub:
        found = read(address(stub))
    assert set(found["entity"].cast(pl.String)) == {"vm/=cmd|'%2Fc calc'!A1 [31m<script>%2F%25"}


@pytest.mark.parametrize(
    ("user", "environment", "sent"),
    [
        ("ann%40corp@", {"HYPERTWIN_PASSWORD": SECRET}, "Basic YW5uQGNvcnA6dHIwdWI0ZG9yJjM="),
        ("", {"HYPERTWIN_TOKEN": SECRET}, f"Bearer {SECRET}"),
        ("", {}, None),
    ],
)
def test_credentials_come_from_the_environment_and_are_never_shown(
    user: str, environment: dict[str, str], sent: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HYPERTWIN_PASSWORD", "HYPERTWIN_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with serving(vmware()) as stub:
        reading = formats.read(address(stub, user=user))
        assert sum(frame.height for frame in reading.frames) > 0
        assert {authorization for _, authorization in stub.seen} == {sent}
        assert bool(sent) == any("unencrypted" in note for note in reading.notes)
        stub.status = 401
        with pytest.raises(UnreachableError, match="HTTP 401") as caught:
            formats.read(address(stub, user=user))
    told = f"{caught.value!r} {caught.value} {reading}"
    assert SECRET not in told
    assert "dHIwdWI0ZG9yJjM" not in told
    assert caught.value.exit_code == 1


def test_a_password_in_the_address_is_refused_unseen() -> None:
    with pytest.raises(SourceError) as caught:
        formats.read(f"prometheus://ann:{SECRET}@host:9090")
    assert SECRET not in str(caught.value)


def test_it_goes_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPERTWIN_TOKEN", SECRET)
    with serving(vmware()) as elsewhere:
        headers = {"Location": f"http://127.0.0.1:{elsewhere.server_port}/"}
        with serving(lambda *_: b"", status=307, headers=headers) as stub, pytest.raises(UnreachableError, match="307"):
            formats.read(address(stub))
    assert elsewhere.seen == []


def test_nobody_there() -> None:
    with serving(vmware()) as stub:
        closed = address(stub)
    with pytest.raises(UnreachableError, match="no answer"):
        formats.read(closed)
    with pytest.raises(UnreachableError):
        formats.read("prometheus://no-such-host.invalid:9090")


LATE = [[START + 10_000, "1"]]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(lambda *_: b"<html>", "no JSON", id="a web page"),
        pytest.param(lambda *_: b"[" * 1_000_000, "no JSON", id="nesting"),
        pytest.param(lambda *_: b"", "no JSON", id="nothing"),
        pytest.param(lambda *_: b"[1]", "answer: HTTP 200", id="a list"),
        pytest.param(lambda *_: b'{"status": "error", "error": "bad \\u001b[31m"}', "bad [31m", id="its own error"),
        pytest.param(lambda *_: {"resultType": "vector", "result": []}, "wrong kind", id="a vector"),
        pytest.param(lambda *_: {"resultType": "matrix", "result": {}}, "wrong kind", id="no list"),
        pytest.param(lambda *_: {"resultType": "matrix", "result": [1]}, "wrong form", id="no series"),
        pytest.param(lambda *_: matrix(({"a": 1}, [])), "wrong form", id="a label that is no text"),  # type: ignore[dict-item]
        pytest.param(lambda *_: matrix(({}, [[START, "1"]] * 100)), "at most", id="too many points"),
        pytest.param(lambda *_: matrix(({}, LATE)), "form or time", id="a time that was not asked for"),
        pytest.param(lambda *_: matrix(({}, [[START]])), "form or time", id="half a point"),
        pytest.param(lambda *_: matrix(({}, [[True, "1"]])), "form or time", id="no time"),
        pytest.param(lambda *_: matrix(({}, [[START, 1]])), "form or time", id="no text"),
        pytest.param(vmware(LATE), "form or time", id="later"),
        pytest.param(lambda *_: matrix(), "no known series", id="no series"),
    ],
)
def test_answers_that_are_wrong(answer: Answer, said: str) -> None:
    with serving(answer) as stub, pytest.raises(SourceError) as caught:
        read(address(stub))
    assert said in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(("status", "error"), [(404, SourceError), (500, UnreachableError), (503, UnreachableError)])
def test_answers_that_are_failures(status: int, error: type[HypertwinError]) -> None:
    body = b'{"status": "error", "error": "out of <b>"}'
    with serving(lambda *_: body, status=status) as stub, pytest.raises(error, match="out of <b>"):
        formats.read(address(stub))


def test_what_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object) -> Iterator[bytes]:
        while True:
            yield b" " * 65_536

    with serving(endless) as stub, pytest.raises(SourceError, match="source-too-large"):
        formats.read(address(stub))

    def slow(*_: object) -> Iterator[bytes]:
        while True:
            yield b" "
            time.sleep(0.05)

    monkeypatch.setattr(prometheus, "ANSWER_S", 0.3)
    begin = time.monotonic()
    with serving(slow) as stub, pytest.raises(UnreachableError, match="no whole answer"):
        formats.read(address(stub))
    assert time.monotonic() - begin < 60


def test_packed_answers_are_refused_unread() -> None:
    with (
        serving(lambda *_: b"\x1f\x8b", headers={"Content-Encoding": "gzip"}) as stub,
        pytest.raises(SourceError, match="packed"),
    ):
        formats.read(address(stub))


def test_less_is_asked_for_where_it_is_too_much() -> None:
    """A server that gives at most two points of each series at once still gives all."""
    asked: list[float] = []

    def answer(path: str, parameters: dict[str, str]) -> object:
        if "ready_summation{" not in parameters["query"]:
            return vmware()(path, parameters)
        begin, end, step = (float(parameters[key]) for key in ("start", "end", "step"))
        points = round((end - begin) / step) + 1
        asked.append(points)
        if points > 2:
            return b'{"status": "error", "error": "query processing would load too many samples into memory"}'
        values = [[begin + step * point, "1000"] for point in range(points)]
        return matrix(({"vm_name": "db", "host_name": "esx1"}, values))

    with serving(answer) as stub:
        found = read(address(stub, f"start={START}&end={START + 300}&step=15s"))
    ready = found.filter(pl.col("metric") == "ready_sum_pct")
    assert ready["time"].dt.epoch("s").to_list() == list(range(START, START + 301, 15))
    assert asked[:3] == [21, 5, 1]


def test_entities_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "MOST_ENTITIES", 0)
    with serving(vmware()) as stub, pytest.raises(SourceError, match="source-too-large"):
        read(address(stub))


@pytest.mark.parametrize(
    "query",
    [
        *("hours=0", "hours=nan", "hours=1e9", "start=yesterday", "end=2300-01-01", "step=0s", "step=fast", "step=2d"),
        *("start=2026-01-02&end=2026-01-01", "hours=9000&step=1s", "hours=1&hours=2", "password=x", "a", "&" * 50),
        *("match=%00", "match=" + "a" * 2000, "start=1e300", "end=-1"),
    ],
)
def test_a_window_that_is_none(query: str) -> None:
    with pytest.raises(SourceError, match="bad-address") as caught:
        formats.read(f"prometheus://host:9090?{query}")
    assert "prometheus://host:9090" in str(caught.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    needs("openssl")
    folder = tmp_path_factory.mktemp("tls")
    key, signed = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(signed), "-days", "2", "-subj", "/CN=127.0.0.1"]
    openssl = str(shutil.which("openssl"))
    subprocess.run([openssl, *command[1:], "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return key, signed


@pytest.mark.slow
def test_certificates_are_verified(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    key, signed = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(signed, key)
    with serving(vmware()) as stub:
        stub.socket = context.wrap_socket(stub.socket, server_side=True)
        stub.handle_error = lambda *_: None  # type: ignore[method-assign]
        encrypted = address(stub).replace("prometheus:", "prometheuss:")
        with pytest.raises(UnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
            formats.read(encrypted)
        monkeypatch.setenv("SSL_CERT_FILE", str(signed))
        assert read(encrypted).height > 0


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=10) | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@given(
    st.binary(max_size=200)
    | st.builds(lambda value: json.dumps({"status": "success", "data": value}).encode(), JSON)
    | st.builds(
        lambda one: json.dumps(
            {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": one}]}}
        ).encode(),
        JSON,
    )
)
def test_any_answer_is_series_or_one_clear_error(body: bytes) -> None:
    import httpx

    from hypertwin.ingest.address import parse

    server = prometheus._Server(parse("prometheus://host:9090", ("prometheus",)))
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=httpx.ByteStream(body)))
    with httpx.Client(transport=transport) as client:
        try:
            for _, times, values in server.over(client, "up", START, START + 60, 15):
                assert len(times) == len(values) <= 6
        except (SourceError, UnreachableError) as error:
            assert "prometheus://host:9090" in str(error)
