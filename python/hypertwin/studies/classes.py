"""The class of a published figure: what limits the case, and which way the figure goes against another one.

A class is words joined by `; `, at most one of each kind, such as `host-cpu; falls`. A source often says it where it
gives no number, and it catches a twin that has the number right for the wrong reason.

What the twin shows is what the report of its run says limits the group (`judgement`), with one set of bands for all
studies and views. A row about moves is limited by the `network` where sending kept link or stream busy for half of
their time, else by the `latency` of setting up and switching over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypertwin.scenario import Scenario
from hypertwin.studies import moves

RATIO = "ratio"
"""The unit of a figure that is one over another."""

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
    "latency": "nothing is full: a closed loop of round trips",
    "nothing": "load comes at a pace and room is left; or a rule gives the figure, without load",
}
"""What limits a case."""

DIRECTIONS: Mapping[str, str] = {
    "rises": "more than 5 % above",
    "falls": "more than 5 % below",
    "flat": "within 5 %",
}
"""Which way a figure goes against that of another case, or a ratio against 1. A cliff falls where the load grew."""


@dataclass(frozen=True)
class Class:
    """What limits a case and which way a figure goes; None for what is not said."""

    limit: str | None = None
    direction: str | None = None

    def __bool__(self) -> bool:
        """True if it says anything."""
        return bool(self.limit or self.direction)

    def fits(self, shown: Class) -> bool:
        """True if what is shown has all that this one says."""
        return self.limit in (None, shown.limit) and self.direction in (None, shown.direction)

    def __str__(self) -> str:
        """As a table has it."""
        return "; ".join(word for word in (self.limit, self.direction) if word)


def class_of(text: str) -> Class:
    """The class that a text names. Raises ValueError, which says what is wrong and what is allowed."""
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
"""Per cent up to which a figure is flat against another."""

SENDING_PCT = 50.0
"""Part of the time of moves that sending takes at full speed, from which the network limits them."""


def direction(figure: float, other: float) -> str:
    """Which way a figure goes against another: `flat` within FLAT_PCT of it."""
    change = figure - other
    if abs(change) <= abs(other) * (FLAT_PCT / 100 + 1e-9):
        return "flat"
    return "rises" if change > 0 else "falls"


def limit_of_run(report: Mapping[str, Any], scenario: Scenario, path: str) -> str:
    """What limits a case, from the report of its run; `path` is that of a figure, which may name a VM or host."""
    if about := moves.about(report, path):
        return "network" if moves.sending_pct(about, report, scenario) >= SENDING_PCT else "latency"
    limit: str = report["judgement"]["limits"][_group(report, scenario, path)]["kind"]
    return limit


def limit_of_density(found: Mapping[str, Any]) -> str:
    """What limits how many VMs fit, from the answer of `density`: what does at the first count that misses."""
    point = next((point for point in found["points"] if not point["meets"]), None)
    if point is None:
        return "nothing"
    if point["reason"]:
        return "memory" if "memory" in f"{point['lacks']}" else "nothing"
    limit: str = point["limit"]["kind"]
    return "latency" if limit == "nothing" else limit


def _group(report: Mapping[str, Any], scenario: Scenario, path: str) -> str:
    """The group that a figure is of; else the one that asks most of its hosts."""
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
