"""Any command whose output patterns read. `{threads}` and other keys of the step stand for their values.

load:
  kind: command
  run: ./load --clients {threads} --seconds {seconds}
  patterns: { throughput_per_s: 'tps: ([0-9.]+)', response_ms_p99: 'p99: ([0-9.]+) ms' }
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hypertwin.benchmark.load.generator import Figures, Load, OutputError, counted, number, transactional
from hypertwin.errors import short
from hypertwin.extras import needs
from hypertwin.files.yaml_fields import Fields, shown
from hypertwin.ingest.outside import number as number_in

if TYPE_CHECKING:
    from hypertwin.benchmark.step import Step
    from hypertwin.benchmark.target import Target
    from hypertwin.scenario import Scenario

FIGURES = (
    *("throughput_per_s", "response_ms_mean", "response_ms_p95", "response_ms_p99", "iops"),
    *("io_latency_ms_mean", "io_latency_ms_p99"),
)
MAX_PATTERN = 500
MAX_LINE = 4096
MAX_OUTPUT = 2**20
"""Maximum number of characters of the output that patterns search, from its end."""

_PLACE = re.compile(r"\{([a-z_]+)\}")


class Command(Load):
    """Command of the user."""

    kind: ClassVar[str] = "command"
    step_keys: ClassVar[tuple[str, ...]] = ("threads", "rate", "depth", "block")
    keys: ClassVar[tuple[str, ...]] = ("prepare", "run", "cleanup", "patterns", "programs", "settings")

    def __init__(self, entry: Mapping[str, Any], fields: Fields, path: str) -> None:
        """Read the commands and patterns."""
        super().__init__(entry, fields, path)
        self.texts = {
            key: self._shell(entry.get(key), fields, f"{path}.{key}") for key in ("prepare", "run", "cleanup")
        }
        if entry and not self.texts["run"]:
            fields.wrong("missing-key", f"{path}.run", "(missing)", "a command", "run: ./load --clients {threads}")
        self.patterns: dict[str, str] = {}
        form = "{throughput_per_s: 'tps: ([0-9.]+)'}"
        given = fields.mapping(entry.get("patterns"), f"{path}.patterns", form)
        fields.known(given, FIGURES, f"{path}.patterns.")
        for key, text in given.items():
            self._pattern(key, text, fields, f"{path}.patterns.{key}")
        if entry and not given:
            fields.wrong("missing-key", f"{path}.patterns", "(missing)", ", ".join(FIGURES), f"patterns: {form}")
        needed = entry.get("programs", [])
        self.needed = [str(each) for each in needed] if isinstance(needed, list) else [str(needed)]
        self.paths = {
            str(key): str(value)
            for key, value in fields.mapping(
                entry.get("settings"), f"{path}.settings", "{threads: workloads.app.arrivals.closed.population}"
            ).items()
        }

    @staticmethod
    def _shell(value: object, fields: Fields, path: str) -> str:
        if value is None:
            return ""
        if not isinstance(value, str) or not value.strip():
            fields.wrong("wrong-type", path, shown(value), "a shell command", "run: ./load --clients {threads}")
            return ""
        return value

    def _pattern(self, key: str, text: object, fields: Fields, path: str) -> None:
        allowed = f"a regular expression with one group, at most {MAX_PATTERN} characters"
        needs("telemetry", "a benchmark")
        import polars as pl

        # its expressions take a time that grows with the text alone, whatever a target prints
        try:
            groups = pl.Series([""]).str.extract_groups(str(text)[: MAX_PATTERN + 1]).struct.fields
        except pl.exceptions.PolarsError as error:
            fields.wrong("bad-pattern", path, shown(text), allowed, short(str(error).splitlines()[-1], 120))
            return
        if len(groups) != 1 or len(str(text)) > MAX_PATTERN:
            fields.wrong("bad-pattern", path, shown(text), allowed, "'tps: ([0-9.]+)'")
            return
        self.patterns[key] = str(text)

    def check_steps(self, steps: Sequence[Step], fields: Fields) -> None:
        """Check that each step has a value for each of its keys in the command."""
        for key in dict.fromkeys(_PLACE.findall(self.texts["run"])):
            lacks = next((step for step in steps if key in self.step_keys and key not in step.values), None)
            if lacks is not None and key not in self.options:
                hint = f"add {key} to each step, for example steps: {{{key}: [1, 2]}}"
                fields.wrong("missing-key", f"{self.path}.run.{key}", "(missing)", f"a step with {key}", hint)

    def programs(self) -> Sequence[str]:
        """Return the programs that the plan names."""
        return self.needed

    def prepare(self, target: Target) -> str:
        """Return the command of the plan."""
        return f"{self.texts['prepare']}\n"

    def run(self, step: Step, target: Target, seconds: float) -> str:
        """Return the command of the plan with the values of the step."""
        values = {**{key: str(value) for key, value in step.values.items()}, "seconds": number(seconds)}
        values |= {"vms": str(step.vms), "target": target.name, **self.of(target)}
        # braces of other words are text of the shell, for example an awk program
        quoted = {key: shlex.quote(value) for key, value in values.items()}
        return _PLACE.sub(lambda found: quoted.get(found[1], found[0]), self.texts["run"]) + "\n"

    def cleanup(self, target: Target) -> str:
        """Return the command of the plan."""
        return f"{self.texts['cleanup']}\n"

    def figures(self, output: Path) -> Figures:
        """Return the last match of each pattern."""
        import polars as pl

        text = output.read_text(encoding="utf-8", errors="replace")[-MAX_OUTPUT:]
        lines = pl.Series([line[:MAX_LINE] for line in text.splitlines()], dtype=pl.String)
        values: dict[str, float] = {}
        for key, pattern in self.patterns.items():
            found = lines.str.extract(pattern, 1).drop_nulls()
            if found.is_empty():
                raise OutputError(f"no line matches the pattern of {key}")
            value = number_in(found[-1].replace(",", ""))
            if value is None:
                raise OutputError(f"{key} is {shown(found[-1])}, not a number")
            values[key] = value
        return Figures(values)

    def settings(self, step: Step, scenario: Scenario, group: str) -> dict[str, Any]:
        """Return the settings by the paths of the plan, or those of a workload of transactions."""
        if not self.paths:
            return transactional(step, scenario, group)
        found = counted(step, scenario, group)
        return {**found, **{self.paths[key]: value for key, value in step.values.items() if key in self.paths}}
