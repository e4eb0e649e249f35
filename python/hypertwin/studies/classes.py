"""Class of a published figure: the limit of the case, and the direction of the figure relative to another figure.

A class is words joined by `; `, at most one of each kind, such as `host-cpu; falls`. A source often gives a class
without a number. A class also detects a twin that has the right number for the wrong reason.

The twin's class is the limit of the group in the report of its run (`judgement`), with one set of bands for all studies
and views. A row about moves is limited by the `network` if sending used the link or stream for half of the time.
Otherwise the `latency` of setup and switch-over limits it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypertwin.scenario import Scenario
from hypertwin.studies import moves

RATIO = "ratio"
"""Unit of a figure that is a ratio of two figures."""

LIMITS: Mapping[str, str] = {
    "host-cpu": "the cores of the host are busy and worlds wait for them",
    "guest-cpu": "the VM's vCPUs are busy while the host has room",
    "cpu-limit": "a limit on the VM's CPU",
    "memory": "the bandwidth or the size of memory",
    "controller": "a virtual storage controller, its world or its thread",
    "fabric": "ports of adapters or arrays",
    "devices": "the disks of an array or pool",
    "storage-cpu": "the processors of an array or of a pool's nodes",
    "network": "the network of a pool, of VMs, or of migrations",
    "client": "the load generator, or how many requests it has under way",
    "latency": "nothing is saturated: a closed loop of round trips",
    "nothing": "load comes at a pace and room is left; or a rule gives the figure, without load",
}
"""Limits of a case."""

DIRECTIONS: Mapping[str, str] = {
    "rises": "more than 5 % above",
    "falls": "more than 5 % below",
    "flat": "within 5 %",
}
"""Direction of a figure relative to another case, or of a ratio relative to 1. A cliff is a fall while the load grew.
"""


@dataclass(frozen=True)
class Class:
    """Limit of a case and direction of a figure, or None if not given."""

    limit: str | None = None
    direction: str | None = None

    def __bool__(self) -> bool:
        """True if the class has a limit or a direction."""
        return bool(self.limit or self.direction)

    def fits(self, shown: Class) -> bool:
        """True if the shown class has all parts of this class."""
        return self.limit in (None, shown.limit) and self.direction in (None, shown.direction)

    def __str__(self) -> str:
        """Return the form for a table."""
        return "; ".join(word for word in (self.limit, self.direction) if word)


def class_of(text: str) -> Class:
    """Return the class in a text. Raises ValueError with the problem and the allowed values."""
    found: dict[str, str] = {}
    for word in (word.strip() for word in text.split(";")) if text else ():
        kind = "limit" if word in LIMITS else "direction" if word in DIRECTIONS else None
        if kind is None:
            raise ValueError(f"{word[:40]!r} is no class; allowed: {', '.join((*LIMITS, *DIRECTIONS))}")
        if kind in found:
            raise ValueError(f"{found[kind]} and {word} are two of a kind; allowed: one limit and one direction")
        found[kind] = word
    return Class(**found)


FLAT_PCT = 5.0
"""Difference in per cent up to which a figure is flat relative to another."""

SENDING_PCT = 50.0
"""Share of the duration of moves that sending takes at full speed, from which the network limits them."""


def direction(figure: float, other: float) -> str:
    """Return the direction of a figure relative to another figure, which is `flat` within FLAT_PCT of the other."""
    change = figure - other
    if abs(change) <= abs(other) * (FLAT_PCT / 100 + 1e-9):
        return "flat"
    return "rises" if change > 0 else "falls"


def limit_of_run(report: Mapping[str, Any], scenario: Scenario, path: str) -> str:
    """Return the limit of a case from the report of its run.

    `path` is that of a figure, which can name a VM or host.
    """
    if about := moves.about(report, path):
        return "network" if moves.sending_pct(about, report, scenario) >= SENDING_PCT else "latency"
    limit: str = report["judgement"]["limits"][_group(report, scenario, path)]["kind"]
    return limit


def limit_of_density(found: Mapping[str, Any]) -> str:
    """Return the limit of the number of VMs from the answer of `density`: the limit at the first count that misses."""
    point = next((point for point in found["points"] if not point["meets"]), None)
    if point is None:
        return "nothing"
    if point["reason"]:
        return "memory" if "memory" in f"{point['lacks']}" else "nothing"
    limit: str = point["limit"]["kind"]
    return "latency" if limit == "nothing" else limit


def _group(report: Mapping[str, Any], scenario: Scenario, path: str) -> str:
    """Return the group of a figure, or otherwise the group with the highest demand on its hosts."""
    section, _, name = path.partition(".")
    name = name.partition(".")[0]
    if section in ("vms", "groups") and name in report[section]:
        return {vm.name: vm.group for vm in scenario.inventory.vms}.get(name, name)
    groups: Mapping[str, Mapping[str, Any]] = report["groups"]
    there = {key: each for key, each in groups.items() if section != "hosts" or name in each["hosts"]}
    asked = {
        key: (each["run_pct"] + each["ready_pct"] + each["costop_pct"]) * each["vcpus"]
        for key, each in (there or groups).items()
    }
    return max(asked, key=lambda key: asked[key])
