"""pgbench, the benchmark of PostgreSQL. Source: https://www.postgresql.org/docs/current/pgbench.html.

pgbench prints no percentiles. Its log has the time of each transaction, which the target counts in steps of 1%.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hypertwin.benchmark.load.generator import (
    SCHEMA,
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
from hypertwin.benchmark.load.sysbench import PSQL, pg_environment
from hypertwin.files.yaml_fields import Fields, shown

if TYPE_CHECKING:
    from hypertwin.benchmark.step import Step
    from hypertwin.benchmark.target import Target

SCRIPTS = ("tpcb-like", "simple-update", "select-only")
BYTES_PER_SCALE = 16 * 2**20
"""Size of the data of one unit of scale: 100,000 accounts [about 15 MiB, by the documentation]."""
STEP = 1.01
"""Ratio of two neighbouring ends of the histogram."""
MAX_SCALE = 1_000_000
CONNECTION = ("host", "port", "user")

_COUNT = re.compile(r"histogram ([0-9]{1,5}) ([0-9]{1,15})")

_HISTOGRAM = (
    "cat pgbench_log.* | awk '$3 > 0 { n[int(log($3) / log(1.01)) + 1]++ }"
    ' END { for (i in n) print "histogram", i, n[i] }\'\nrm -f pgbench_log.*\n'
)


class Pgbench(Load):
    """pgbench."""

    kind: ClassVar[str] = "pgbench"
    step_keys: ClassVar[tuple[str, ...]] = ("threads", "rate")
    keys: ClassVar[tuple[str, ...]] = ("script", "scale")
    own: ClassVar[tuple[str, ...]] = ("client", "jobs", "time", "transactions", "rate", "builtin", "log", "progress")
    packages: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "pgbench": {"apt-get": "postgresql-contrib", "dnf": "postgresql-contrib", "zypper": "postgresql-contrib"},
        "psql": {"apt-get": "postgresql-client", "dnf": "postgresql", "zypper": "postgresql"},
    }

    def __init__(self, entry: Mapping[str, Any], fields: Fields, path: str) -> None:
        """Read script, scale and options."""
        super().__init__(entry, fields, path)
        self.script = str(entry.get("script", SCRIPTS[0]))
        if self.script not in SCRIPTS:
            fields.wrong("unknown-value", f"{path}.script", shown(self.script), ", ".join(SCRIPTS), SCRIPTS[0])
        self.scale = int(fields.number(entry.get("scale", 10), 1, MAX_SCALE, f"{path}.scale") or 10)

    def programs(self) -> Sequence[str]:
        """Return pgbench and the client."""
        return ("pgbench", "psql")

    def space_bytes(self) -> int:
        """Return the size of the tables, and as much again for logs."""
        return 2 * self.scale * BYTES_PER_SCALE

    def prepare(self, target: Target) -> str:
        """Return shell text that creates the database and fills its tables."""
        return f"{self._connect(target)}{creating(PSQL)}pgbench -i -q -s {self.scale} {SCHEMA} 2>&1\n"

    def run(self, step: Step, target: Target, seconds: float) -> str:
        """Return shell text of a run, with the times of all transactions counted."""
        count = clients(step)
        more = {key: value for key, value in self.of(target).items() if key not in CONNECTION}
        words = ["pgbench", "-n", "-c", str(count), "-j", str(min(count, 16)), "-T", number(math.ceil(seconds))]
        words += ["-b", self.script, "-P", "1", "-l"]
        words += ["-R", number(float(step.values["rate"]))] if "rate" in step.values else []
        line = " ".join([*words, flags(more), SCHEMA])
        return f"{self._connect(target)}rm -f pgbench_log.*\n{line} 2>&1 || exit 1\n{_HISTOGRAM}"

    def cleanup(self, target: Target) -> str:
        """Return shell text that drops the database."""
        return dropping(self._connect(target), PSQL)

    def figures(self, output: Path) -> Figures:
        """Return throughput and mean as pgbench prints them, with percentiles of the log."""
        from hypertwin.ingest.benchmarks import load_runs

        runs, notes = load_runs.read(output, self.kind)
        values = dict(runs[-1].figures) if runs else {}
        if not values.get("throughput_per_s", 0) > 0 or "response_ms_mean" not in values:
            raise OutputError("no summary of pgbench with tps and latency average")
        text = output.read_text(encoding="utf-8", errors="replace")
        histogram = {STEP ** int(i) / 1000: int(n) for i, n in _COUNT.findall(text)}
        return Figures({**values, **percentiles(histogram)}, histogram or None, tuple(notes))

    def _connect(self, target: Target) -> str:
        lines = pg_environment(self.of(target), "")
        return lines if "host" in self.of(target) else lines + f"export PGAPPNAME={shlex.quote(SCHEMA)}\n"
