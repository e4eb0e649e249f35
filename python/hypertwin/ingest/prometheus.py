"""Telemetry from a Prometheus server, over its HTTP API: `prometheus://HOST:9090`, `prometheuss://` for HTTPS.

The queries are in `prometheus_queries.py`. The time window is the last hour, or that of the address: `?hours=24`,
`?start=2026-01-01T08:00Z&end=...`, `&step=60s`, `&match=cluster="prod"` (label matchers of PromQL). Each `query_range`
covers a limited time; a response with more than the requested data is refused. API:
https://prometheus.io/docs/prometheus/latest/querying/api/. VictoriaMetrics, Thanos and Mimir have the same API.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn
from urllib.parse import parse_qsl

import httpx
import polars as pl

from hypertwin.errors import UnreachableError, short
from hypertwin.ingest import address, outside, prometheus_series
from hypertwin.ingest.address import Address
from hypertwin.ingest.prometheus_queries import EXPORTERS, NODE, PROBES, Exporter, Query
from hypertwin.ingest.prometheus_series import Series, Systems, gaps, parts
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.telemetry_table import SCHEMA

SCHEMES = {"prometheus": "http", "prometheuss": "https"}
TOKEN_VARIABLE = "HYPERTWIN_TOKEN"
MOST_BYTES = 16 * 2**20
"""Maximum bytes of a response."""
MOST_SERIES = 50_000
"""Maximum number of series in one response."""
MOST_ENTITIES = 200_000
CHUNK_POINTS = 500
"""Number of points of each series in the first query. Prometheus returns up to 11,000."""
LONGEST_DAYS = 400
MOST_POINTS = 100_000
"""Maximum number of points of each series in total."""
ANSWER_S = 120.0
"""Maximum seconds of one response."""
TIMEOUT = httpx.Timeout(60.0, connect=10.0)
LOOKS = 10
"""Times of the window at which the server is queried for existing series."""
ASSUMED_INTERVAL_S = 60.0
"""Default interval of samples, if they do not show it."""
SAMPLES_OF_A_RATE = 2.5
"""Length of a rate's window, in sample intervals. It always contains two samples."""
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h|d)?")
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, None: 1.0}


@dataclass(frozen=True)
class Window:
    """Time window and series selection."""

    start: float
    end: float
    step: float | None
    """Time between points in seconds, or None for the interval of the samples."""
    match: str
    """Label matchers in PromQL, with a comma at the end, or an empty string for all."""


def read(text: str) -> Reading:
    """Return the reading of the known series on a server. Raises SourceError, UnreachableError."""
    where = address.parse(text, tuple(SCHEMES))
    window = _window(where)
    server = _Server(where)
    notes = ["the credentials went unencrypted: prometheuss:// is HTTPS"] if server.tells_all else []
    with server.client() as client:
        present = _present(server, client, window)
        found = [exporter for exporter in EXPORTERS if exporter.probe in present]
        if not found:
            hint = "ask for another time with ?start=...&end=..., or see what is scraped at /targets"
            outside.Source(where).at("series").lacks("no known series", f"one of: {PROBES}", hint)
        plans = [_plan(server, client, window, exporter, present, notes) for exporter in found]
        systems = Systems()
        if NODE.probe in present:
            systems = prometheus_series.systems(lambda expression: _look(server, client, window, expression))
        nanoseconds = _in_nanoseconds(server, client, window, present, notes)
    if NODE in found:
        notes += systems.notes()
    reading = Reading(str(where), "prometheus", iter(()), gaps(found, present), notes)
    reading.frames = _frames(server, window, plans, systems, nanoseconds)
    return reading


@dataclass(frozen=True)
class _Plan:
    exporter: Exporter
    queries: tuple[Query, ...]
    step: float
    range_s: float


def _window(where: Address) -> Window:
    allowed = "start, end, hours, step and match, each once: ?hours=24&step=60s"
    pairs = parse_qsl(where.query, keep_blank_values=True, max_num_fields=20) if where.query.count("&") < 20 else []
    given = dict(pairs)
    if (
        len(given) != len(pairs)
        or (where.query and not given)
        or given.keys() - {"start", "end", "hours", "step", "match"}
    ):
        _bad(where, "its query", allowed)
    end = _time(where, "end", given["end"]) if "end" in given else time.time()
    hours = outside.number(given.get("hours", "1"))
    if hours is None or not 0 < hours <= LONGEST_DAYS * 24:
        _bad(where, "hours", f"a number of hours up to {LONGEST_DAYS * 24}")
    start = _time(where, "start", given["start"]) if "start" in given else end - hours * 3600
    step = _seconds(given["step"]) if "step" in given else None
    if "step" in given and (step is None or not 0.1 <= step <= 86_400):
        _bad(where, "step", "100ms to 1d, as 15s or 1m")
    if not 0 < end - start <= LONGEST_DAYS * 86_400:
        _bad(where, "start and end", f"start before end, at most {LONGEST_DAYS} days apart")
    if step is not None and (end - start) / step > MOST_POINTS:
        _bad(where, "step", f"at most {MOST_POINTS} points from start to end")
    match = given.get("match", "").strip().strip(",")
    if len(match) > 1000 or not match.isprintable():
        _bad(where, "match", 'label matchers of PromQL, as cluster="prod"')
    return Window(start, end, step, f"{match}, " if match else "")


def _bad(where: Address, what: str, allowed: str) -> NoReturn:
    outside.Source(where).at(what).refuse("not understood", allowed, "quote the address in a shell", "bad-address")


def _time(where: Address, key: str, text: str) -> float:
    """Return seconds since 1970, from such a number or ISO 8601. Without a zone, UTC is assumed."""
    seconds = outside.number(text)
    if seconds is None:
        try:
            moment = datetime.fromisoformat(text)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            _bad(where, key, "2026-01-01T08:00Z, or seconds since 1970")
    if not 0 <= seconds <= 7_258_118_400:
        _bad(where, key, "a time from 1970 to 2199")
    return seconds


def _seconds(text: str) -> float | None:
    found = _DURATION.fullmatch(text)
    return float(found[1]) * _UNITS_S[found[2]] if found else None


class _TooMuchError(Exception):
    """Raised if a response exceeds a limit of this reader or of the server."""


class _Server:
    """A server and its queries. Holds the credentials, and never shows them."""

    def __init__(self, where: Address) -> None:
        host = f"[{where.host}]" if ":" in where.host else where.host
        port = f":{where.port}" if where.port is not None else ""
        self._where = where
        self._url = f"{SCHEMES[where.scheme]}://{host}{port}{where.path}/api/v1/"
        token = os.environ.get(TOKEN_VARIABLE)
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        self._auth: httpx.Auth | None = None
        if where.user:
            self._auth = httpx.BasicAuth(where.user, address.password(where))
        elif token:
            if not token.isascii() or not token.isprintable():
                self._stop("the token", f"the value of {TOKEN_VARIABLE} is none", "set it anew")
            self._headers["Authorization"] = f"Bearer {token}"

    @property
    def tells_all(self) -> bool:
        """True if credentials would travel without encryption."""
        return self._where.scheme == "prometheus" and (self._auth is not None or "Authorization" in self._headers)

    def client(self) -> httpx.Client:
        return httpx.Client(headers=self._headers, auth=self._auth, timeout=TIMEOUT)

    def over(self, client: httpx.Client, expression: str, start: float, end: float, step: float) -> list[Series]:
        """Return the series of a `query_range`. Raises _TooMuchError if the time window must be shorter."""
        points = math.floor((end - start) / step) + 1
        window = {"query": expression, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
        return self._series(self._ask(client, "query_range", window), start - step, end + step, points + 1)

    def samples(self, client: httpx.Client, selector: str, seconds: int, at: float) -> list[Series]:
        """Return the scraped samples of these series before `at`."""
        query = {"query": f"{selector}[{seconds}s]", "time": f"{at:.3f}"}
        return self._series(self._ask(client, "query", query), at - seconds - 1, at + 1, 100_000)

    def _ask(self, client: httpx.Client, path: str, parameters: Mapping[str, str]) -> Any:
        deadline = time.monotonic() + ANSWER_S
        try:
            with client.stream("GET", self._url + path, params=parameters) as response:
                encoding = response.headers.get("content-encoding", "identity")
                if encoding != "identity":
                    self._refuse("an answer that is packed", "plain JSON, as asked for")
                body = bytearray()
                for part in response.iter_raw():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise _TooMuchError
                    if time.monotonic() > deadline:
                        self._stop("no whole answer", f"in {ANSWER_S:.0f} s", "ask for less time")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            reason = short(outside.name(str(error))) or type(error).__name__
            self._stop("no answer", reason, "check host, port and scheme (prometheuss:// for HTTPS)")
        return self._checked(response, bytes(body))

    def _checked(self, response: httpx.Response, body: bytes) -> Any:
        status = response.status_code
        if status in (401, 403):
            hint = f"name a user in the address and set {address.PASSWORD_VARIABLE}, or set {TOKEN_VARIABLE}"
            self._stop("refused", f"HTTP {status}", hint)
        if 300 <= status < 400:
            self._stop("it redirects", f"HTTP {status}", "use the redirect address")
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            if status != 200:
                self._stop("refused", f"HTTP {status}", "check that it is a Prometheus server")
            self._refuse("an answer that is no JSON", "the JSON of Prometheus's HTTP API")
        if not isinstance(answer, dict) or answer.get("status") != "success" or status != 200:
            reason = short(outside.name(str(answer.get("error", "")))) if isinstance(answer, dict) else ""
            if "too many samples" in reason:
                raise _TooMuchError
            if status >= 500:
                self._stop("it fails", f"HTTP {status} {reason}".strip(), "check the server's log")
            self._refuse(reason or f"HTTP {status}", "an answer with status success")
        return answer.get("data")

    def _series(self, data: Any, earliest: float, latest: float, most: int) -> list[Series]:
        """Return the checked series of a response: no more points than requested, at the requested times."""
        if not isinstance(data, dict) or data.get("resultType") != "matrix" or not isinstance(data.get("result"), list):
            self._refuse("an answer of the wrong kind", "resultType matrix")
        if len(data["result"]) > MOST_SERIES:
            self._refuse(f"{len(data['result'])} series", f"at most {MOST_SERIES}", "source-too-large")
        found: list[Series] = []
        for one in data["result"]:
            labels = _labels(one.get("metric") if isinstance(one, dict) else None)
            points = one.get("values") if isinstance(one, dict) else None
            if labels is None or not isinstance(points, list) or len(points) > most:
                self._refuse("a series in the wrong form", f"labels, and at most {most} values")
            times, values = [], []
            for point in points:
                when, value = _point(point)
                if when is None or not earliest <= when <= latest:
                    self._refuse("a point with the wrong form or time", "[seconds, value] within the time asked for")
                if value is not None:
                    times.append(when)
                    values.append(value)
            found.append((labels, times, values))
        return found

    def _refuse(self, value: str, allowed: str, code: str = "bad-source") -> NoReturn:
        hint = 'check that it is a Prometheus server, or ask for less with ?match=instance="..." or a longer step'
        outside.Source(self._where).at("answer").refuse(value, allowed, hint, code)

    def refuse_size(self, what: str) -> NoReturn:
        """Refuse a response with more of something than any real server has."""
        self._refuse(
            what, f"answers of at most {MOST_BYTES} bytes about at most {MOST_ENTITIES} entities", "source-too-large"
        )

    def _stop(self, what: str, reason: str, hint: str) -> NoReturn:
        raise UnreachableError(f"{self._where}: {what}: {reason}\n  help: {hint}") from None


def _labels(labels: Any) -> dict[str, str] | None:
    """Return the labels of a series, or None for anything else."""
    if not isinstance(labels, dict) or len(labels) > 200:
        return None
    return labels if all(isinstance(value, str) and len(value) <= 4096 for value in labels.values()) else None


def _point(point: Any) -> tuple[float | None, float | None]:
    """Return the time and value of `[1767225600.5, "14"]`.

    The time is None for anything else. The value is None for NaN.
    """
    if not isinstance(point, list) or len(point) != 2 or not isinstance(point[1], str):
        return None, None
    when = point[0]
    if isinstance(when, bool) or not isinstance(when, (int, float)) or not 0 <= when < 1e10:
        return None, None
    return float(when), outside.number(point[1])


def _look(server: _Server, client: httpx.Client, window: Window, expression: str) -> list[Series]:
    """Return the series of an expression at a few times of the window."""
    try:
        step = max((window.end - window.start) / LOOKS, 0.1)
        return server.over(client, expression.replace("$m", window.match), window.start, window.end, step)
    except _TooMuchError:
        server.refuse_size("too long an answer")


def _present(server: _Server, client: httpx.Client, window: Window) -> dict[str, float]:
    """Return the known series on the server in this window, with their last time there."""
    names = "|".join(
        sorted({query.series for each in EXPORTERS for query in each.queries} | {e.probe for e in EXPORTERS})
    )
    found = _look(server, client, window, f'count by (__name__) ({{$m __name__=~"{names}"}})')
    return {labels["__name__"]: max(times) for labels, times, _ in found if "__name__" in labels and times}


def _plan(
    server: _Server,
    client: httpx.Client,
    window: Window,
    exporter: Exporter,
    present: Mapping[str, float],
    notes: list[str],
) -> _Plan:
    """Return the queries for an exporter: its existing series, in steps no shorter than its scrape interval."""
    try:
        selector = f"{exporter.probe}{{{window.match}}}"
        found = server.samples(client, selector, 600, present[exporter.probe])
    except _TooMuchError:
        found = []
    apart = [(times[-1] - times[0]) / (len(times) - 1) for _, times, _ in found if len(times) > 1]
    if apart:
        interval = max(apart)
    else:
        interval = ASSUMED_INTERVAL_S
        notes.append(f"{exporter.name}: how often it is scraped is not known; {interval:.0f} s is assumed")
    step = window.step or max(math.ceil(interval), math.ceil((window.end - window.start) / 1440))
    range_s = max(step, math.ceil(SAMPLES_OF_A_RATE * interval))
    rates = any("$r" in query.expression for query in exporter.queries)
    notes.append(f"{exporter.name}: a point each {step:g} s{f', rates over {range_s:g} s' if rates else ''}")
    return _Plan(exporter, tuple(query for query in exporter.queries if query.series in present), step, range_s)


def _in_nanoseconds(
    server: _Server, client: httpx.Client, window: Window, present: Mapping[str, float], notes: list[str]
) -> set[str]:
    """Return the instances that count vCPU time in nanoseconds."""
    if prometheus_series.VCPU_TIME not in present:
        return set()
    step = max((window.end - window.start) / LOOKS, 0.1)
    rates = prometheus_series.TOO_FAST.replace("$r", f"{max(math.ceil(step), 300)}s")
    found = {labels.get("instance", "") for labels, _, _ in _look(server, client, window, rates)}
    if found:
        notes.append(f"{len(found)} libvirt exporters count vCPU time in nanoseconds: read as such")
    return found


def _frames(
    server: _Server, window: Window, plans: list[_Plan], systems: Systems, nanoseconds: set[str]
) -> Iterator[pl.DataFrame]:
    """Yield the parts of the table for all plans over the window, in order of time."""
    entities: set[str] = set()
    stretch = min(plan.step for plan in plans) * CHUNK_POINTS
    points: dict[Query, int] = {}
    with server.client() as client:
        for number in range(math.floor((window.end - window.start) / stretch) + 1):
            for plan in plans:
                first = math.ceil(number * stretch / plan.step - 1e-6)
                last = math.ceil(min((number + 1) * stretch, window.end - window.start + 0.0005) / plan.step - 1e-6)
                for query in plan.queries:
                    expression = query.expression.replace("$m", window.match)
                    expression = expression.replace("$r", f"{round(plan.range_s * 1000)}ms")
                    at = first
                    while at < last:
                        count = min(points.get(query, CHUNK_POINTS), last - at)
                        times = (window.start + at * plan.step, window.start + (at + count - 1) * plan.step)
                        try:
                            found = server.over(client, expression, *times, plan.step)
                        except _TooMuchError:
                            if count == 1:
                                server.refuse_size("too long an answer for one point")
                            points[query] = max(1, count // 4)
                            continue
                        at += count
                        for part in parts(query, found, plan.range_s, systems, nanoseconds):
                            entities.update(part["entity"].unique())
                            if len(entities) > MOST_ENTITIES:
                                server.refuse_size("more entities")
                            yield part.cast(dict(SCHEMA))  # type: ignore[arg-type]
