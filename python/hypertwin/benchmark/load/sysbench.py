"""sysbench: OLTP scripts with MySQL, MariaDB or PostgreSQL, and tests without a database.

Options go into a file that only the user of the target can read, because other users see command lines. Sources:
https://github.com/akopytov/sysbench (README, `sysbench --help`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hypertwin import naming
from hypertwin.benchmark.load.generator import (
    SCHEMA,
    SECRET,
    Figures,
    Load,
    OutputError,
    clients,
    creating,
    dropping,
    flags,
    number,
    percentiles,
)
from hypertwin.files.yaml_fields import Fields, shown

if TYPE_CHECKING:
    from hypertwin.benchmark.step import Step
    from hypertwin.benchmark.target import Target

DRIVERS = ("mysql", "pgsql", "none")
WITHOUT_DATABASE = ("cpu", "memory", "threads", "mutex")
SCRIPTS = (
    *WITHOUT_DATABASE,
    *("bulk_insert", "oltp_delete", "oltp_insert", "oltp_point_select", "oltp_read_only", "oltp_read_write"),
    *("oltp_update_index", "oltp_update_non_index", "oltp_write_only", "select_random_points", "select_random_ranges"),
)
"""Tests of sysbench 1.0, without `fileio`, which is fio's task here."""
BYTES_PER_ROW = 240
"""Approximate size of a row of the OLTP scripts with its index [estimate: 3.5 MB hold 15,000 rows and more]."""

MYSQL = "mysql --defaults-extra-file=client.cnf -e"

_SCRIPT = re.compile(r"[A-Za-z0-9_./-]{1,255}")
_CLIENT = ("mysql-host", "mysql-port", "mysql-socket", "mysql-user")


class Sysbench(Load):
    """sysbench."""

    kind: ClassVar[str] = "sysbench"
    step_keys: ClassVar[tuple[str, ...]] = ("threads", "rate")
    keys: ClassVar[tuple[str, ...]] = ("script", "driver")
    own: ClassVar[tuple[str, ...]] = (
        *("threads", "rate", "time", "percentile", "histogram", "report-interval"),
        *("config-file", "db-driver", "mysql-db", "pgsql-db"),
    )
    packages: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "sysbench": {"apt-get": "sysbench", "dnf": "sysbench", "zypper": "sysbench"},
        "mysql": {"apt-get": "mariadb-client", "dnf": "mariadb", "zypper": "mariadb-client"},
        "psql": {"apt-get": "postgresql-client", "dnf": "postgresql", "zypper": "postgresql"},
    }

    def __init__(self, entry: Mapping[str, Any], fields: Fields, path: str) -> None:
        """Read script, driver and options."""
        super().__init__(entry, fields, path)
        self.script = str(entry.get("script", "oltp_read_write"))
        if not _SCRIPT.fullmatch(self.script) or self.script.startswith("-"):
            fields.wrong("bad-name", f"{path}.script", shown(self.script), "a test or Lua file", "oltp_read_write")
        elif self.script not in SCRIPTS and not self.script.endswith(".lua"):
            hint = naming.hint(self.script, SCRIPTS, "script: oltp_read_write")
            fields.wrong("unknown-value", f"{path}.script", self.script, "a test of sysbench, or a Lua file", hint)
        usual = "none" if self.script in WITHOUT_DATABASE else "mysql"
        self.driver = str(entry.get("driver", usual))
        if self.driver not in DRIVERS:
            fields.wrong("unknown-value", f"{path}.driver", shown(self.driver), ", ".join(DRIVERS), "driver: mysql")

    def programs(self) -> Sequence[str]:
        """Return sysbench and the client of the database."""
        return ("sysbench", *{"mysql": ("mysql",), "pgsql": ("psql",), "none": ()}.get(self.driver, ()))

    def space_bytes(self) -> int:
        """Return the size of the tables, and as much again for logs."""
        if self.driver == "none":
            return 0
        tables, rows = (_whole(self.options.get(key), usual) for key, usual in (("tables", 1), ("table-size", 10_000)))
        return 2 * tables * rows * BYTES_PER_ROW

    def prepare(self, target: Target) -> str:
        """Return shell text that creates the database and fills its tables."""
        if self.driver == "none":
            return self._file(target)
        threads = min(_whole(self.options.get("tables"), 1), 8)
        connect, client = self._connect(target)
        fill = f"sysbench --config-file=sysbench.conf --threads={threads} {self._name} prepare\n"
        return self._file(target) + connect + creating(client) + fill

    def run(self, step: Step, target: Target, seconds: float) -> str:
        """Return shell text of a run, with a report each second and a histogram."""
        told = {"threads": clients(step), "rate": step.values.get("rate", 0), "time": number(seconds)}
        told |= {"percentile": 99, "histogram": "on", "report-interval": 1}
        words = flags({key: str(value) for key, value in told.items()})
        return f"{self._file(target)}exec sysbench --config-file=sysbench.conf {words} {self._name} run\n"

    def cleanup(self, target: Target) -> str:
        """Return shell text that drops the database."""
        return "" if self.driver == "none" else dropping(*self._connect(target))

    def figures(self, output: Path) -> Figures:
        """Return the figures of the summary, with percentiles of the histogram."""
        from hypertwin.ingest.benchmarks import load_runs, sysbench

        runs, notes = load_runs.read(output, self.kind)
        found = runs[-1].figures if runs else {}
        if not found.get("throughput_per_s", 0) > 0:
            raise OutputError("no completed transaction")
        histogram = sysbench.histogram(output)
        keys = ("throughput_per_s", "response_ms_mean", "response_ms_p95", "response_ms_p99")
        values = {key: found[key] for key in keys if key in found}
        return Figures({**values, **percentiles(histogram)}, histogram or None, tuple(notes))

    @property
    def _name(self) -> str:
        return shlex.quote(self.script)

    def _file(self, target: Target) -> str:
        """Return shell text that writes the file of options."""
        options = self.of(target)
        if self.driver != "none":
            options = {"db-driver": self.driver, **options, f"{self.driver}-db": SCHEMA}
        lines = "\n".join(f"{key}={value}" for key, value in options.items())
        secret = f'[ -z "${{{SECRET}:-}}" ] || printf "%s\\n" "{self.driver}-password=${SECRET}" >> sysbench.conf\n'
        return f"umask 077\nprintf '%s\\n' {shlex.quote(lines)} > sysbench.conf\n" + (
            secret if self.driver != "none" else ""
        )

    def _client(self, target: Target) -> str:
        """Return shell text that writes the options of the MySQL client."""
        options = self.of(target)
        lines = [f"{key.removeprefix('mysql-')}={options[key]}" for key in _CLIENT if key in options]
        text = "\n".join(["[client]", *lines])
        # in quotes, because the client takes what follows a `#` for a comment
        text_of = f'printf %s "${SECRET}" | sed \'s/[\\\\"]/\\\\&/g\''
        secret = f'[ -z "${{{SECRET}:-}}" ] || printf "password=\\"%s\\"\\n" "$({text_of})" >> client.cnf\n'
        return f"umask 077\nprintf '%s\\n' {shlex.quote(text)} > client.cnf\n{secret}"

    def _connect(self, target: Target) -> tuple[str, str]:
        """Return shell text for the connection to the database, and the command of its client."""
        if self.driver == "pgsql":
            return pg_environment(self.of(target), "pgsql-"), PSQL
        return self._client(target), MYSQL


PSQL = "psql -X -q -d postgres -c"


def pg_environment(options: Mapping[str, str], prefix: str) -> str:
    """Return shell text that sets the connection of PostgreSQL's clients."""
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER"}
    told = {names[key]: options[f"{prefix}{key}"] for key in names if f"{prefix}{key}" in options}
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in told.items()]
    return "".join([*lines, f'[ -z "${{{SECRET}:-}}" ] || export PGPASSWORD="${SECRET}"\n'])


def _whole(text: str | None, usual: int) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 12 else usual
