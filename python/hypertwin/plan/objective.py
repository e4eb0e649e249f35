"""Service-level objectives: `response_ms.p99<200`, what they mean, and whether a report meets them.

An objective is METRIC, one of `<`, `<=`, `>`, `>=`, and a number, with or without a unit. METRIC is a figure of the
group that is asked about (`response_ms.p99`), or a path into the report: `hosts.esx-1.usage_pct`,
`groups.web.ready_pct`, `vms.db-3.costop_pct`, `storage.san-disks.utilization_pct`, `pools.vsan.write_mb_per_s`. A name
may have `*`: then the worst of all that fit counts. `per_vm.` in front divides a sum over a group's machines by their
number.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NoReturn

from hypertwin.errors import Mistake, ScenarioError
from hypertwin.frame import KINDS, flatten
from hypertwin.report.metrics import CATALOGUE, Metric, catalogue_key
from hypertwin.scenario import Scenario

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

SUMS = frozenset(
    {
        *("vcpus", "throughput_per_s", "throughput_units_per_s", "response_count", "iops", "io_mb_per_s", "used_mhz"),
        *(
            "demand_mhz",
            "numa_local_mb",
            "numa_remote_mb",
            "memory_gb_per_s",
            "memory_remote_gb_per_s",
            "virtual_nodes",
        ),
    }
)
"""Figures of a group that are sums over its machines; the others are means or distributions."""

PER_VM = "per_vm."

CONVERSIONS: Mapping[str, Mapping[str, float]] = {
    "ms": {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1, "s": 1e3, "min": 6e4},
    "s": {"ms": 1e-3, "s": 1, "min": 60},
    "1/s": {"/s": 1, "1/s": 1},
    "units/s": {"/s": 1, "units/s": 1},
    "MB/s": {"kB/s": 1e-3, "MB/s": 1, "GB/s": 1e3},
    "GB/s": {"MB/s": 1e-3, "GB/s": 1},
    "MHz": {"MHz": 1, "GHz": 1e3},
    "MB": {"MiB": 1, "GiB": 1024},
}
"""What one of a unit is in a metric's own unit; any other metric takes its own unit only."""

NESTED = ("response_ms_", "io_latency_ms_")
"""Beginnings of flat keys that reports nest: `response_ms_p99` is `response_ms.p99` there."""

_FORM = re.compile(r"([^<>=\s]+)\s*(<=|>=|<|>)\s*([^<>=]+)")
_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)\s*(.*)")
_EXAMPLE = "METRIC<NUMBER with <, <=, > or >=, such as response_ms.p99<200 or 'hosts.*.usage_pct<=80%'"


@dataclass(frozen=True)
class Objective:
    """One objective, with its limit in the metric's own unit."""

    text: str
    """As it was written."""
    metric: str
    """The metric as it was written, without spaces."""
    section: str
    """Section of a point's report: a key of `hypertwin.frame.KINDS`."""
    entity: str
    """Name in that section, or a pattern with `*`."""
    key: str
    """Flat key of the figure, such as `response_ms_p99`."""
    sign: str
    """One of OPERATORS."""
    limit: float
    unit: str
    """Unit of the limit and of the metric; empty for plain numbers."""
    per_vm: bool = False

    @property
    def name(self) -> str:
        """Name of the figure in a result: the metric, and whether it is the least of several."""
        return f"least {self.metric}" if "*" in self.entity and not self.upper else self.metric

    @property
    def upper(self) -> bool:
        """Whether smaller is better."""
        return self.sign in ("<", "<=")

    def meets(self, value: float) -> bool:
        """Whether a value is on the right side of the limit."""
        return OPERATORS[self.sign](value, self.limit)

    def read(self, report: Mapping[str, Any]) -> float | None:
        """The figure in the report of a point, the worst where several fit; None where nothing was measured.

        Raises ScenarioError where the report has no such entity or no such figure.
        """
        found = self._entities(report)
        known = [flat for flat in found.values() if self.key in flat]
        if not known:
            self._unknown(found.values())
        values: list[float] = [
            flat[self.key] / (flat["count"] if self.per_vm else 1)
            for flat in known
            if isinstance(flat[self.key], int | float)
        ]
        if len(values) < len(known):
            return None
        return max(values) if self.upper else min(values)

    def _entities(self, report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        section = report.get(self.section, {})
        names = [name for name in section if fnmatchcase(name, self.entity)]
        if self.section == "vms" and not names:  # the only machine of a group has no number
            names = [name for name in section if fnmatchcase(f"{name}-1", self.entity)]
        if not names:
            _unknown_name(self.text, self.section, self.entity, section)
        return {name: flatten(section[name]) for name in names}

    def _unknown(self, found: Iterable[Mapping[str, Any]]) -> NoReturn:
        keys = {key for flat in found for key, value in flat.items() if isinstance(value, int | float)}
        _unknown_metric(self.text, self.metric, self.key, keys)


def parse(texts: str | Sequence[str], scenario: Scenario, group: str) -> tuple[Objective, ...]:
    """The objectives that texts describe, for a VM group of a scenario. Raises ScenarioError.

    Names of metrics, hosts and groups are checked here, so that nothing is simulated for a misspelt one; stations of
    the I/O path and single machines are known from a report only (`Objective.read`).
    """
    listed = [texts] if isinstance(texts, str) else list(texts)
    if not listed:
        _fail("bad-objective", "nothing", _EXAMPLE, "say what must hold with --slo", "--slo")
    return tuple(_parse(text, scenario, group) for text in listed)


def _parse(text: str, scenario: Scenario, group: str) -> Objective:
    form = _FORM.fullmatch(text.strip())
    if form is None:
        _fail("bad-objective", text.strip() or "nothing", _EXAMPLE, "quote it, or the shell takes < and >", _of(text))
    metric, sign, limit = form.groups()
    per_vm = metric.startswith(PER_VM)
    path = metric.removeprefix(PER_VM)
    section, _, rest = path.partition(".")
    entity, _, key = rest.partition(".")
    if section not in KINDS or not key:
        section, entity, key = "groups", group, path
    key = key.replace(".", "_")
    names = _names(scenario, section)
    if names is not None and not any(fnmatchcase(name, entity) for name in names):
        _unknown_name(text, section, entity, names)
    catalogue = {each.key: each for each in CATALOGUE if KINDS[section] in each.scopes}
    known = catalogue.get(catalogue_key(key))
    if known is None or not _is_numeric(known):
        _unknown_metric(text, metric, key, {each.key for each in catalogue.values() if _is_numeric(each)})
    if per_vm and (section != "groups" or key not in SUMS):
        allowed = f"per_vm. before a sum over a group's machines: {', '.join(sorted(SUMS))}"
        hint = f"leave per_vm. out: {path} is not a sum over machines"
        _fail("unknown-metric", metric, allowed, hint, _of(text))
    return Objective(
        text=text.strip(),
        metric=metric,
        section=section,
        entity=entity,
        key=key,
        sign=sign,
        limit=_limit(text, limit.strip(), known),
        unit=known.unit,
        per_vm=per_vm,
    )


def _limit(text: str, written: str, metric: Metric) -> float:
    number = _NUMBER.fullmatch(written)
    if number is None:
        _fail("bad-objective", written, f"a number after the sign{_in(metric.unit)}", _EXAMPLE, _of(text))
    value, unit = float(number[1]), number[2]
    factors = CONVERSIONS.get(metric.unit, {metric.unit: 1.0} if metric.unit else {})
    if unit and unit not in factors:
        allowed = f"{', '.join(factors)}, or no unit" if factors else "no unit"
        what = f"{dotted(metric.key)} is in {metric.unit}" if metric.unit else f"{dotted(metric.key)} has no unit"
        _fail("bad-unit", written, allowed, what, _of(text))
    return value * (factors[unit] if unit else 1.0)


def dotted(key: str) -> str:
    """A flat key as reports nest it: `response_ms_p99` is `response_ms.p99`."""
    nest = next((nest for nest in NESTED if key.startswith(nest)), None)
    return key if nest is None else f"{nest[:-1]}.{key.removeprefix(nest)}"


def _is_numeric(metric: Metric) -> bool:
    return metric.key not in ("unit", "outcomes", "redundancy", "incidents")


def _names(scenario: Scenario, section: str) -> list[str] | None:
    """The names that a section of a report will have; None where only a report knows."""
    if section == "groups":
        return list(scenario.data["vms"])
    if section == "pools":
        return list(scenario.data.get("storage", {}))
    if section == "hosts":
        counts = {name: int(host["count"]) for name, host in scenario.data["hosts"].items()}
        return [
            name if count == 1 else f"{name}-{number}"
            for name, count in counts.items()
            for number in range(1, count + 1)
        ]
    return None


def _in(unit: str) -> str:
    return f", in {unit} or with a unit" if unit in CONVERSIONS else f", in {unit}" if unit else ""


def _unknown_name(text: str, section: str, name: str, known: Iterable[str]) -> NoReturn:
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {section}.{near[0]}?" if near else "choose one of these, or * for the worst of all"
    listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    _fail("unknown-reference", f"{section}.{name}", f"a name in {section}: {listed or '(none)'}", hint, _of(text))


def _unknown_metric(text: str, metric: str, key: str, known: Iterable[str]) -> NoReturn:
    keys = sorted(key for key in known if not key.endswith("_ci95"))
    near = difflib.get_close_matches(key, keys, n=1, cutoff=0.5)
    hint = f"did you mean {dotted(near[0])}?" if near else "docs/metrics.md explains each"
    _fail("unknown-metric", metric, ", ".join(map(dotted, keys)), hint, _of(text))


def _of(text: str) -> str:
    return f"--slo {text!r}"


def _fail(code: str, value: str, allowed: str, hint: str, location: str) -> NoReturn:
    raise ScenarioError.of([Mistake(code, "", value, allowed, hint, location)])
