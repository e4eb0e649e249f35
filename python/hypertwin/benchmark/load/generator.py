"""Base class of load generators, and the figures that they return."""

from __future__ import annotations

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hypertwin.errors import Argument, ScenarioError, fail
from hypertwin.files.yaml_fields import Fields, shown

if TYPE_CHECKING:
    from hypertwin.benchmark.step import Step
    from hypertwin.benchmark.target import Target
    from hypertwin.scenario import Scenario

FIGURES = (
    *("throughput_per_s", "response_ms_mean", "response_ms_p95", "response_ms_p99"),
    *("iops", "io_latency_ms_mean", "io_latency_ms_p95", "io_latency_ms_p99"),
    *("read_latency_ms_mean", "read_latency_ms_p95", "read_latency_ms_p99"),
    *("write_latency_ms_mean", "write_latency_ms_p95", "write_latency_ms_p99"),
    *("guest_cpu_pct", "run_pct", "ready_pct"),
)
"""Figures of a group that are predicted and measured, in the order of views. A load has some of them."""

SCHEMA = "hypertwin_benchmark"
"""Name of the database that a campaign makes and drops. An existing one is never used."""
MADE = "database.made"
"""File in the work folder that shows that the campaign has made the database. Without it, none is dropped."""
SECRET = "BENCHMARK_PASSWORD"
"""Variable of the shell with the password of the database."""
CLIENTS_OF_RATE = 32
"""Connections of a step with a rate and no threads."""
MAX_THREADS = 4096
MAX_RATE = 10_000_000

_OPTION = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


@dataclass(frozen=True)
class Figures:
    """Figures of one VM in one run, by flat key of a group in a report (`throughput_per_s`, `response_ms_p99`)."""

    values: Mapping[str, float]
    histogram: Mapping[float, int] | None = None
    """Number of response times by upper end in ms, or None if the generator prints no histogram."""
    notes: tuple[str, ...] = ()

    def with_values(self, more: Mapping[str, float]) -> Figures:
        """Return these figures with more of them."""
        return replace(self, values={**self.values, **more})


class OutputError(Exception):
    """Raised if the output of a generator has no figures. The argument is the reason."""


class Load(ABC):
    """Load generator with its options."""

    kind: ClassVar[str]
    step_keys: ClassVar[tuple[str, ...]]
    """Keys of a step besides `vms`."""
    factors: ClassVar[tuple[str, ...]] = ("threads", "depth", "jobs")
    """Keys of a step whose product is the number of requests under way in each VM."""
    keys: ClassVar[tuple[str, ...]]
    """Keys of `load` in a plan, without `kind`."""
    own: ClassVar[tuple[str, ...]] = ()
    """Options that only steps and hypertwin itself set."""
    percentile: ClassVar[str] = "response_ms_p99"
    packages: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """Package of each program, by package manager."""

    fitted: ClassVar[tuple[str, ...]] = ("throughput_per_s", "response_ms_mean", "iops", "guest_cpu_pct", "run_pct")
    """Figures that set parameters. Percentiles are predicted only, because they repeat worse."""

    def __init__(self, entry: Mapping[str, Any], fields: Fields, path: str) -> None:
        """Read the options. Problems are added to `fields`."""
        self.path = path
        fields.known(entry, ("kind", "options", "password_from", *self.keys), f"{path}.")
        self.options = self.read_options(entry.get("options"), fields, f"{path}.options")
        self.password_from = entry.get("password_from")
        if self.password_from is not None and not _VARIABLE.fullmatch(str(self.password_from)):
            allowed = "the name of an environment variable"
            fields.wrong("wrong-type", f"{path}.password_from", shown(self.password_from), allowed, "DB_PASSWORD")

    @property
    def title(self) -> str:
        """Name of the load, for people."""
        return self.kind

    @abstractmethod
    def programs(self) -> Sequence[str]:
        """Return the programs that a target needs."""

    @abstractmethod
    def prepare(self, target: Target) -> str:
        """Return shell text that makes data. It fails if data of this name exist already."""

    @abstractmethod
    def run(self, step: Step, target: Target, seconds: float) -> str:
        """Return shell text that loads the target for some seconds, and prints figures."""

    @abstractmethod
    def cleanup(self, target: Target) -> str:
        """Return shell text that removes the data of `prepare`, and succeeds without any."""

    def read(self, output: Path) -> Figures:
        """Return the figures in the output of a run. Raises OutputError."""
        try:
            return self.figures(output)
        except ScenarioError as error:
            raise OutputError(error.mistakes[0].value) from None

    @abstractmethod
    def figures(self, output: Path) -> Figures:
        """Return the figures in the output of a run. Raises OutputError, ScenarioError."""

    def settings(self, step: Step, scenario: Scenario, group: str) -> dict[str, Any]:
        """Return the settings of the scenario for a step, by default of transactions. Raises ScenarioError."""
        return transactional(step, scenario, group, 1)

    def seen(self, figures: Mapping[str, float], step: Step, scenario: Scenario, group: str) -> dict[str, float]:
        """Return predicted figures as the generator measures them. The scenario has the settings of the step."""
        return dict(figures)

    def space_bytes(self) -> int:
        """Return the approximate size of the data in bytes, or 0 if unknown."""
        return 0

    def check_step(self, key: str, value: object, fields: Fields, path: str) -> None:
        """Check the value of a key of a step."""
        most = {"threads": MAX_THREADS, "depth": MAX_THREADS, "jobs": 1024}.get(key, MAX_RATE)
        found = fields.number(value, 1, most, path)
        if found is not None and found != int(found):
            fields.wrong("wrong-type", path, shown(value), "a whole number", "write a whole number")

    def check_steps(self, steps: Sequence[Step], fields: Fields) -> None:  # noqa: B027  # most loads take any steps
        """Check that the load can run these steps. Problems are added to `fields`."""

    def read_options(self, value: object, fields: Fields, path: str) -> dict[str, str]:
        """Return options of the generator, or of it on one target. Problems are added to `fields`."""
        found: dict[str, str] = {}
        for key, each in fields.mapping(value, path, "{tables: 4}").items():
            if not _OPTION.fullmatch(key):
                allowed = "the name of an option, without hyphens in front"
                fields.wrong("bad-name", f"{path}.{key}", shown(key), allowed, "tables: 4")
            elif key in self.own:
                hint = "remove it; threads, rate and the like are keys of `steps`"
                fields.wrong("unknown-key", f"{path}.{key}", key, "an option that hypertwin does not set", hint)
            elif "password" in key or key in ("passwd", "pwd"):
                hint = "give the name of an environment variable with the password: `password_from: DB_PASSWORD`"
                fields.wrong("password-in-plan", f"{path}.{key}", "(hidden)", "no password", hint)
            elif isinstance(each, dict | list) or each is None or not str(each).isprintable():
                fields.wrong("wrong-type", f"{path}.{key}", shown(each), "a text or number", "tables: 4")
            else:
                found[key] = str(each).lower() if isinstance(each, bool) else str(each)
        return found

    def of(self, target: Target) -> dict[str, str]:
        """Return the options on a target."""
        return {**self.options, **target.options}


def clients(step: Step) -> int:
    """Return the number of connections of each VM. With a rate, no transaction should wait for one."""
    return int(step.values.get("threads", CLIENTS_OF_RATE if "rate" in step.values else 1))


def transactional(step: Step, scenario: Scenario, group: str, usual: int | None = None) -> dict[str, Any]:
    """Return the settings of a step for a workload of transactions: the rate of each VM, or else its threads.

    `usual` is the number of threads of a step without any. Raises ScenarioError if the workload of the group has other
    arrivals.
    """
    name = scenario.data["vms"][group]["workload"]
    where = f"workloads.{name}.arrivals"
    arrivals = scenario.data["workloads"][name]["arrivals"]
    found: dict[str, Any] = counted(step, scenario, group)
    rate, threads = step.values.get("rate"), step.values.get("threads", usual)
    if rate is not None:
        if "open" not in arrivals:
            _unlike(where, arrivals, "`open`, because steps have a rate")
        found[f"{where}.open.rate"] = f"{rate} /s"
    elif threads is not None:
        if "closed" not in arrivals:
            _unlike(where, arrivals, "`closed`, because steps have no rate")
        found[f"{where}.closed.population"] = int(threads)
    return found


def counted(step: Step, scenario: Scenario, group: str) -> dict[str, Any]:
    """Return the settings for the number of VMs of a step, each with the load of one."""
    vm = scenario.data["vms"][group]
    found: dict[str, Any] = {} if vm.get("count", 1) == step.vms else {f"vms.{group}.count": step.vms}
    return found if vm.get("load", 1) == 1 else {**found, f"vms.{group}.load": 1}


def _unlike(where: str, arrivals: Mapping[str, Any], allowed: str) -> None:
    fail("unlike-benchmark", where, ", ".join(arrivals), allowed, "change the workload", Argument("scenario"))


def creating(client: str) -> str:
    """Return shell text that creates the database. It fails if one exists already, which no campaign drops then."""
    return f"{client} 'CREATE DATABASE {SCHEMA}'\n: > {MADE}\n"


def dropping(connect: str, client: str) -> str:
    """Return shell text that drops the database if the campaign has made it."""
    return f"[ -f {MADE} ] || exit 0\n{connect}{client} 'DROP DATABASE IF EXISTS {SCHEMA}'\nrm -f {MADE}\n"


def flags(options: Mapping[str, str]) -> str:
    """Return options as quoted words."""
    return " ".join(shlex.quote(f"--{key}={value}") for key, value in options.items())


def number(value: float) -> str:
    """Return a number as programs read it."""
    return f"{value:g}" if value != int(value) else str(int(value))


def percentiles(histogram: Mapping[float, int]) -> dict[str, float]:
    """Return the 95th and 99th percentile of a histogram, as flat keys. Empty without any count."""
    total, found, seen = sum(histogram.values()), {}, 0
    for end in sorted(histogram):
        seen += histogram[end]
        for name, share in (("p95", 0.95), ("p99", 0.99)):
            if total and name not in found and seen >= share * total:
                found[name] = end
    return {f"response_ms_{name}": value for name, value in found.items()}
