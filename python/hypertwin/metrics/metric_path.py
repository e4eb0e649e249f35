"""Path of a figure in a report: `hosts.esx-1.usage_pct`, `groups.web.response_ms.p99`, `vms.db-3.costop_pct`.

A path is a section, a name and a key. Objectives and columns of measured values use this form. Names can be patterns
with `*` if the caller can choose among several figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NoReturn

from hypertwin import naming
from hypertwin.errors import fail
from hypertwin.metrics.catalogue import CATALOGUE, Metric, catalogue_key
from hypertwin.metrics.frame import KINDS, flatten
from hypertwin.scenario import Scenario

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
"""Size of each unit in the unit of the metric. All other metrics accept only their own unit."""

NESTED = ("response_ms_", "io_latency_ms_")
"""Prefixes of flat keys that reports nest: `response_ms_p99` is `response_ms.p99` in a report."""

WORDS = frozenset(
    {
        "unit",
        "outcomes",
        "redundancy",
        "incidents",
        "policies",
        "scrub_keeps_up",
        "host",
        "cluster",
        "clusters",
        "peak_host",
    }
)
"""Keys of names and lists, which are not figures. `hosts` is a list for a group, and a number for a cluster."""

_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)\s*(.*)")


@dataclass(frozen=True)
class MetricPath:
    """Path of a figure of a report."""

    section: str
    """Section of a point's report: a key of `hypertwin.metrics.frame.KINDS`."""
    entity: str
    """Name of the entity in the section, or a pattern with `*`."""
    key: str
    """Flat key of the figure, such as `response_ms_p99`."""
    metric: Metric
    """Entry of the figure in the catalogue."""
    location: str
    """Place of the path in the input, for messages."""

    @property
    def text(self) -> str:
        """The path in the nested form of reports: `groups.db.response_ms.p99`."""
        return f"{self.section}.{self.entity}.{dotted(self.key)}"

    def entities(self, report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the flat figures of every entity that matches the name. Raises ScenarioError if no entity matches."""
        section = report.get(self.section, {})
        names = [name for name in section if fnmatchcase(name, self.entity)]
        if self.section == "vms" and not names:  # the only machine of a group has no number
            names = [name for name in section if fnmatchcase(f"{name}-1", self.entity)]
        if not names:
            unknown_name(self.section, self.entity, section, self.location)
        return {name: flatten(section[name]) for name in names}

    def known(self, report: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the flat figures of the entities with this figure.

        Raises ScenarioError if no entity has the figure.
        """
        found = self.entities(report)
        known = [flat for flat in found.values() if self.key in flat]
        if not known:
            keys = {key for flat in found.values() for key, value in flat.items() if isinstance(value, int | float)}
            unknown_metric(self.text, self.key, keys, self.location)
        return known

    def read(self, report: Mapping[str, Any]) -> float | None:
        """Return the figure of the entity with this name, or None if not measured. Raises ScenarioError."""
        value = self.known(report)[0][self.key]
        return float(value) if isinstance(value, int | float) else None


def parse(text: str, scenario: Scenario, location: str, group: str | None = None) -> MetricPath:
    """Return the figure of a path. A path without a section belongs to the VM group `group`. Raises ScenarioError.

    Names of metrics, hosts and groups are checked here, before any simulation. Stations of the I/O path and single VMs
    are known only from a report (`MetricPath.known`).
    """
    section, _, rest = text.partition(".")
    entity, _, key = rest.partition(".")
    if section not in KINDS or not key:
        section, entity, key = "groups", group or "", text
    key = key.replace(".", "_")
    names = _names(scenario, section)
    if names is not None and not any(fnmatchcase(name, entity) for name in names):
        unknown_name(section, entity, names, location)
    catalogue = {each.key: each for each in CATALOGUE if KINDS[section] in each.scopes}
    known = catalogue.get(catalogue_key(key))
    if known is None or not _is_numeric(known, section):
        unknown_metric(text, key, {each.key for each in catalogue.values() if _is_numeric(each, section)}, location)
    return MetricPath(section, entity, key, known, location)


def number(written: str, metric: Metric, location: str, code: str, hint: str) -> float:
    """Return a number with or without a unit, in the unit of the metric.

    Raises ScenarioError, with `code` if the text is not a number.
    """
    found = _NUMBER.fullmatch(written)
    if found is None:
        fail(code, "", written, f"a number{_in(metric.unit)}", hint, location)
    value, unit = float(found[1]), found[2]
    factors = CONVERSIONS.get(metric.unit, {metric.unit: 1.0} if metric.unit else {})
    if unit and unit not in factors:
        allowed = f"{', '.join(factors)}, or no unit" if factors else "no unit"
        what = f"{dotted(metric.key)} is in {metric.unit}" if metric.unit else f"{dotted(metric.key)} has no unit"
        fail("bad-unit", "", written, allowed, what, location)
    return value * (factors[unit] if unit else 1.0)


def dotted(key: str) -> str:
    """Return a flat key in the nested form of reports: `response_ms_p99` is `response_ms.p99`."""
    nest = next((nest for nest in NESTED if key.startswith(nest)), None)
    return key if nest is None else f"{nest[:-1]}.{key.removeprefix(nest)}"


def unknown_name(section: str, name: str, known: Iterable[str], location: str) -> NoReturn:
    """Refuse a name that is not in a section."""
    names = list(known)
    hint = naming.hint(name, names, "choose one of these", start=f"{section}.")
    listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    fail("unknown-reference", "", f"{section}.{name}", f"a name in {section}: {listed or '(none)'}", hint, location)


def unknown_metric(metric: str, key: str, known: Iterable[str], location: str) -> NoReturn:
    """Refuse a figure that an entity lacks."""
    keys = sorted(key for key in known if not key.endswith("_ci95"))
    ends = [each for each in keys if each.endswith(f"_{key}")]  # of p99 users mean that of the response
    near = min(ends, key=lambda each: (not each.startswith("response"), each), default=None) or naming.nearest(
        key, keys, cutoff=0.5
    )
    hint = f"did you mean {dotted(near)}?" if near else "docs/metrics.md lists all"
    fail("unknown-metric", "", metric, ", ".join(map(dotted, keys)), hint, location)


def _is_numeric(metric: Metric, section: str) -> bool:
    return metric.key not in WORDS and (metric.key, section) != ("hosts", "groups")


def _names(scenario: Scenario, section: str) -> list[str] | None:
    """Return the names that a section of a report will have, or None if only the report has them."""
    if section == "groups":
        return list(scenario.data["vms"])
    if section == "pools":
        return list(scenario.data.get("storage", {}))
    if section == "hosts":
        return [host.name for host in scenario.inventory.hosts]
    if section == "clusters":
        return list(scenario.inventory.cluster)
    return None


def _in(unit: str) -> str:
    return f", in {unit} or with a unit" if unit in CONVERSIONS else f", in {unit}" if unit else ""
