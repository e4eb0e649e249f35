"""Measured points: a CSV file with one row per point.

| column | meaning |
|---|---|
| path into the scenario, `vms.db.load` | the value there, written as for `--set`; empty: as in the scenario |
| path into a report, `hosts.esx1.usage_pct` | the measured value, in the metric's unit or its own; empty: none |
| `METRIC.error` | standard deviation of that value's error, in the same unit |
| `name` | name of the row |

A path of both kinds (`vms.db.vcpus`) is a setting. Lines that begin with `#` are comments. The first line determines
the separator: comma, semicolon or tab.
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypertwin import language, naming
from hypertwin.errors import Mistake, ScenarioError, fail
from hypertwin.files import reading
from hypertwin.metrics import metric_path
from hypertwin.metrics.frame import KINDS
from hypertwin.metrics.metric_path import MetricPath
from hypertwin.naming import counted
from hypertwin.scenario import Scenario
from hypertwin.scenario.overrides import parse_sets

ERROR = ".error"
NAME = "name"
ALMOST = 0.85
"""Similarity from which a name counts as a misspelt path into the scenario."""

MAX_ROWS = 1_000
MAX_BYTES = 4 << 20
"""Maximum bytes of a file, far more than manual measurements or a fit by simulation need."""


@dataclass(frozen=True)
class Cell:
    """One measured value, in the metric's own unit."""

    metric: MetricPath
    value: float
    error: float | None
    """Standard deviation of the error of the value, or None if the file does not give the deviation."""
    held: bool = False
    """True if the value is only predicted, regardless of its row."""


@dataclass(frozen=True)
class Row:
    """One measured point."""

    number: int
    """Number from 1, without comments and the header, as for `--holdout`."""
    name: str
    settings: Mapping[str, Any]
    cells: tuple[Cell, ...]
    location: str
    """`FILE:LINE`."""


@dataclass(frozen=True)
class Measurements:
    """Contents of a file."""

    file: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    """Notes on ignored parts of the files."""


def read(file: str | Path, scenario: Scenario) -> Measurements:
    """Read a file of measured points of a scenario.

    Raises ScenarioError, which names file, line, column, value and allowed values.
    """
    return parse(_text(Path(file), str(file)), str(file), scenario)


def parse(text: str, file: str, scenario: Scenario) -> Measurements:
    """Return the measured points in a text. `file` is its name in messages. Otherwise like `read`."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and line[0] != "#"]
    if not lines:
        fail("empty-file", "", "nothing in it", "a line of column names, then a line per measured point", _HINT, file)
    first, head = lines[0][0], lines[0][1]
    delimiter = next((each for each in (",", ";", "\t") if each in head), ",")
    records = list(csv.reader([line for _, line in lines], delimiter=delimiter, skipinitialspace=True))
    columns = [_column(name.strip(), f"{file}:{first}", scenario) for name in records[0]]
    _check_columns(columns, f"{file}:{first}")
    if len(records) == 1:
        fail("empty-file", "", "only column names", "a line per measured point", "add what was measured", file)
    if len(records) - 1 > MAX_ROWS:
        fail("too-large", "", f"{len(records) - 1} rows", f"at most {MAX_ROWS}", "average points that are alike", file)
    rows = [
        _row(number, record, columns, f"{file}:{line}")
        for number, (record, (line, _)) in enumerate(zip(records[1:], lines[1:], strict=True), 1)
    ]
    if not any(row.cells for row in rows):
        fail("empty-file", "", "no measured value in any row", "numbers in the columns of metrics", _HINT, file)
    return Measurements(file, _named(rows))


@dataclass(frozen=True)
class _Column:
    name: str
    kind: str
    """`setting`, `metric`, `error` or `name`."""
    metric: MetricPath | None = None


_HINT = "for example vms.db.load,groups.db.response_ms.mean,hosts.esx1.usage_pct and below it 2,14.1,63"


def _column(name: str, location: str, scenario: Scenario) -> _Column:
    if name == NAME:
        return _Column(name, "name")
    if name.endswith(ERROR):
        return _Column(name, "error")
    if language.schema_node(name) is not None:
        return _Column(name, "setting")
    section, _, rest = name.partition(".")
    if section not in KINDS or "." not in rest:
        sections = ", ".join(KINDS)
        allowed = f"a path into the scenario, SECTION.NAME.METRIC of a report ({sections}), or name"
        hint = naming.hint(name, [*_paths(scenario), NAME], _HINT)
        fail("unknown-column", "", name or "a column without a name", allowed, hint, location)
    if "*" in rest:
        fail("unknown-column", "", name, "one entity", "write one column for each host or group", location)
    try:
        return _Column(name, "metric", metric_path.parse(name, scenario, f"{location}: column {name}"))
    except ScenarioError:
        near = difflib.get_close_matches(name, _paths(scenario), n=1, cutoff=ALMOST)
        if not near:
            raise
        allowed = "a path into the scenario, or a figure of a report"
        fail("unknown-column", "", name, allowed, f"did you mean {near[0]}?", location)


def _paths(scenario: Scenario) -> list[str]:
    """Return the paths of a scenario's values and names of figures in reports, for hints on misspelt names."""

    def below(value: Any, path: str) -> list[str]:
        if isinstance(value, Mapping):
            return [each for key, inner in value.items() for each in below(inner, f"{path}.{key}" if path else key)]
        return [path]

    return below(scenario.data, "")


def _check_columns(columns: Sequence[_Column], location: str) -> None:
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            fail("duplicate-key", "", name, "each column once", "remove one of them", location)
    metrics = [column.name for column in columns if column.kind == "metric"]
    for column in columns:
        if column.kind == "error" and column.name.removesuffix(ERROR) not in metrics:
            allowed = f"METRIC{ERROR} beside METRIC: {', '.join(f'{each}{ERROR}' for each in metrics) or '(none)'}"
            fail("unknown-column", "", column.name, allowed, "add the metric's own column", location)
    if not metrics:
        fail("missing-key", "", "no column of a metric", "at least one path into a report", _HINT, location)


def _row(number: int, record: Sequence[str], columns: Sequence[_Column], location: str) -> Row:
    if len(record) != len(columns):
        hint = "leave a cell empty where nothing was measured; quote a value that has a comma"
        fail("wrong-type", "", counted(len(record), "cell"), f"{len(columns)}, one for each column", hint, location)
    texts = {column.name: text.strip() for column, text in zip(columns, record, strict=True)}
    settings = {}
    cells = []
    for column in columns:
        text, where = texts[column.name], f"{location}: column {column.name}"
        if not text:
            continue
        if column.kind == "setting":
            settings.update(_setting(column.name, text, where))
        elif column.kind == "metric" and column.metric is not None:
            value = metric_path.number(
                text, column.metric.metric, where, "bad-quantity", "leave it empty if unmeasured"
            )
            cells.append(Cell(column.metric, value, _error(texts.get(f"{column.name}{ERROR}", ""), column, where)))
    return Row(number, texts.get(NAME, ""), settings, tuple(cells), location)


def _named(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows. A row without a name is named by its settings that differ between rows."""
    paths = dict.fromkeys(path for row in rows for path in row.settings)
    varying = [path for path in paths if len({repr(row.settings.get(path)) for row in rows}) > 1]
    named = []
    for row in rows:
        words = [f"{path.split('.')[-1]} {row.settings[path]}" for path in varying if path in row.settings]
        named.append(replace(row, name=row.name or ", ".join(words) or f"row {row.number}"))
    return tuple(named)


def _setting(path: str, text: str, location: str) -> dict[str, Any]:
    try:
        return parse_sets([f"{path}={text}"])
    except ScenarioError as error:
        raise at(error, location) from None


def _error(text: str, column: _Column, location: str) -> float | None:
    if not text or column.metric is None:
        return None
    where = f"{location}{ERROR}"
    value = metric_path.number(text, column.metric.metric, where, "bad-quantity", "leave it empty if unknown")
    if not value > 0:
        fail("out-of-range", "", text, "more than 0", "leave it empty if unknown", where)
    return value


def at(error: ScenarioError, location: str) -> ScenarioError:
    """Return the same problems, with another location."""
    return ScenarioError.of(
        Mistake(each.code, each.path, each.value, each.allowed, each.hint, location) for each in error.mistakes
    )


def _text(path: Path, name: str) -> str:
    try:
        data = reading.first_bytes(path, MAX_BYTES + 1)
    except FileNotFoundError:
        fail("file-not-found", "", "no such file", "a CSV file of measured points", "check the path", name)
    except reading.NotAFileError as error:
        fail("not-a-file", "", str(error.strerror), "a CSV file", "name the file", name)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        fail("unreadable-file", "", reason, "a file that can be read", "check path and permissions", name)
    if len(data) > MAX_BYTES:
        fail("file-too-large", "", f"over {MAX_BYTES >> 20} MiB", f"at most {MAX_BYTES >> 20} MiB", "average", name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fail("not-utf-8", "", f"byte {error.start}", "text in UTF-8", "save it as UTF-8", name)
    if "\0" in text:
        fail("control-character", "", "NUL", "text", "save it as CSV, not as a spreadsheet", name)
    return text
