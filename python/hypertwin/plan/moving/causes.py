"""Mechanisms of a change: a chain of clusters from the present to the target, each with one more change.

Each cluster is simulated. The ratio of two clusters in turn is the part of one mechanism, and the parts multiply to the
whole. A mechanism that changes nothing is not simulated. A mechanism that cannot be simulated alone is joined with the
next one. The parts depend on the order of the chain, because mechanisms interact.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hypertwin import scenario as scenarios
from hypertwin.documents import move as documents
from hypertwin.errors import ScenarioError
from hypertwin.plan.moving import arrival
from hypertwin.plan.moving.arrival import CLUSTER, Arrival
from hypertwin.plan.placement.problem import Ints
from hypertwin.plan.refresh import judged
from hypertwin.plan.refresh.fewest import Made
from hypertwin.plan.refresh.present import Present

NOTICED = 0.1
"""Change of a figure of a VM, as a fraction, from which its mechanism is named."""

MIN_READY_PCT = 1.0
"""Ready time in % below which a change is not named."""

METRICS: Mapping[documents.Metric, str] = {
    "response_ms_p99": judged.RESPONSE,
    "ready_pct": judged.READY,
    "io_latency_ms": judged.IO,
    "throughput_per_s": judged.THROUGHPUT,
}
"""Figures of a VM before and after, with their objectives."""

OPTIONS = "options that the target lacks"
HYPERVISOR = "hypervisor: scheduling of CPU and memory"
DEVICES = "virtual controllers and I/O threads"
PROCESSORS = "processors: clock and work per cycle"
HOSTS = "hosts and placement"
STORAGE = "storage"

OF_PROCESSOR = ("clock", "turbo", "smt_yield", "work_per_cycle")
"""Keys of hosts that describe the speed of a core."""

NOT_SIMULATED = ("count", "cluster", "label", "measured")
"""Keys of present hosts that are not copied, because they change no simulation or are set."""


@dataclass(frozen=True)
class Link:
    """Cluster of the chain."""

    name: str
    """Mechanisms that differ from the cluster before."""
    data: Mapping[str, Any]
    """Scenario of the cluster."""
    hosts: Mapping[str, str]
    """Host of each VM, by name."""

    def is_like(self, other: Link) -> bool:
        """True if both have the same figures, because nothing that is simulated differs."""
        return self.hosts == other.hosts and {**self.data, "rules": None} == {**other.data, "rules": None}


@dataclass(frozen=True)
class Part:
    """Figures after a mechanism and all before it."""

    name: str
    figures: Sequence[judged.Figures]


def parts(
    present: Present,
    found: Arrival,
    hosts: Mapping[str, str],
    speeds: Mapping[str, float],
    ends: tuple[Sequence[judged.Figures], Sequence[judged.Figures]],
    said: Mapping[str, Any],
) -> list[Part]:
    """Return the mechanisms of a change, or an empty list if no figure changes noticeably.

    `ends` are the figures before and after. `hosts` has the host of each VM on the target, and `speeds` the work per
    cycle of present host groups.
    """
    before, after = ends
    if not any(each["noticed"] for vm in changes(before, [Part("", after)]) for each in vm["figures"].values()):
        return []
    links = chain(present, found, hosts, speeds)
    parts, figures = list[Part](), before
    for last, link in pairwise(links):
        if not link.is_like(last):
            figures = after if link is links[-1] else simulated(present, link, said)
        parts.append(Part(link.name, figures))
    return parts


def changes(before: Sequence[judged.Figures], parts: Sequence[Part]) -> list[documents.VmChange]:
    """Return the figures of each VM before and after each part, and what changes them most."""
    found: dict[str, dict[documents.Metric, documents.Change]] = {}
    states = [before, *(part.figures for part in parts)]
    for metric, objective in METRICS.items():
        of = [judged.of_vms(each, objective) for each in states]
        for name in dict.fromkeys(name for each in of for name in each):
            values = [each[name].mean if name in each else None for each in of]
            error = math.hypot(*(each[name].ci95 or 0.0 for each in (of[0], of[-1]) if name in each))
            found.setdefault(name, {})[metric] = _change(metric, values, error, [part.name for part in parts])
    return [{"name": name, "figures": found[name]} for name in sorted(found)]


def of_change(vm: documents.VmChange) -> tuple[documents.Metric, documents.Change] | None:
    """Return the first noticed figure of a VM in the order of METRICS, or None without any."""
    return next(((metric, vm["figures"][metric]) for metric in METRICS if _is_noticed(vm, metric)), None)


def causes(vms: Sequence[documents.VmChange], parts: Sequence[Part]) -> list[documents.Cause]:
    """Return the parts of the change of the median response time. They multiply to the whole."""
    main = [noticed[1]["cause"] for vm in vms if (noticed := of_change(vm)) is not None]
    response = [vm["figures"]["response_ms_p99"] for vm in vms if "response_ms_p99" in vm["figures"]]
    known = [each for each in response if each["before"] and each["after"]]
    whole = [1.0] + [
        statistics.median((each["steps"][at] or 0.0) / (each["before"] or 1.0) for each in known) if known else 1.0
        for at in range(len(parts))
    ]
    return [
        {"name": part.name, "ratio": now / last if known and last else None, "vms": main.count(part.name)}
        for part, (last, now) in zip(parts, pairwise(whole), strict=True)
    ]


def _is_noticed(vm: documents.VmChange, metric: documents.Metric) -> bool:
    return metric in vm["figures"] and vm["figures"][metric]["noticed"]


def _change(
    metric: documents.Metric, values: Sequence[float | None], error: float, names: Sequence[str]
) -> documents.Change:
    """Return the change of a figure, with its sampling error (95%).

    A state without the figure counts like the state before, so that the parts stay whole.
    """
    first, last = values[0], values[-1]
    known = list(values)
    for at in range(1, len(known)):
        known[at] = known[at - 1] if known[at] is None else known[at]
    noticed = first is not None and last is not None and abs(last - first) > max(NOTICED * first, error)
    if metric == "ready_pct":
        noticed = noticed and max(first or 0.0, last or 0.0) >= MIN_READY_PCT
    return {
        "before": first,
        "after": last,
        "steps": known[1:],
        "noticed": noticed,
        "cause": _main(metric, [each or 0.0 for each in known], names) if noticed else None,
    }


def _main(metric: documents.Metric, values: Sequence[float], names: Sequence[str]) -> str:
    """Return the part with the largest change in the direction of the whole."""
    if metric != "ready_pct" and min(values) > 0:  # ready time adds up, the others are ratios
        values = [math.log(each) for each in values]
    up = values[-1] >= values[0]
    sizes = [(now - last) if up else (last - now) for last, now in pairwise(values)]
    return names[max(range(len(sizes)), key=lambda at: sizes[at])]


def simulated(present: Present, link: Link, said: Mapping[str, Any]) -> Sequence[judged.Figures]:
    """Return the figures of a cluster of the chain."""
    placed = _placed(present, link)
    assert placed is not None, "only possible clusters are in a chain"
    made, where = placed
    return [judged.simulated(made.scenario, made.problem, where, (), **said).normal]


def chain(present: Present, found: Arrival, hosts: Mapping[str, str], speeds: Mapping[str, float]) -> list[Link]:
    """Return the clusters from the present one, which is the first, to the target, which is the last.

    `hosts` has the host of each VM on the target, and `speeds` the work per cycle of present host groups.
    """
    between = list(_between(present, found, hosts, speeds))
    moved = _hosts_name(found)
    last = Link(STORAGE if between[-1].name == moved else f"{moved}, {STORAGE}", found.data, hosts)
    links, names = [_present(present, speeds)], list[str]()
    for link in (*between, last):
        names.append(link.name)
        if link is last or _placed(present, link) is not None:
            links.append(Link(", ".join(names), link.data, link.hosts))
            names = []
    return links


def _present(present: Present, speeds: Mapping[str, float]) -> Link:
    """Return the present cluster, written like the target, so that both can be compared."""
    data = present.scenario.as_written()
    many: dict[str, int] = {}
    for host in present.hosts:
        many[host.group] = many.get(host.group, 0) + 1
    hosts = {
        group: {**{key: each for key, each in data["hosts"][group].items() if key not in NOT_SIMULATED}, "count": count}
        for group, count in many.items()
    }
    vms, workloads = arrival.entries(present, speeds, bound=True)
    made = arrival.assembled(present, hosts, vms, workloads, arrival.storage(present.scenario), speeds)
    return Link("", made, {vm.name: vm.host for vm in present.vms})


def _between(present: Present, found: Arrival, where: Mapping[str, str], speeds: Mapping[str, float]) -> Iterator[Link]:
    """Yield the clusters between the present one and the target."""
    before = _present(present, speeds)
    data, here = dict(before.data), before.hosts
    vms = {group: dict(entry) for group, entry in data["vms"].items()}

    def link(name: str, where: Mapping[str, str] = here) -> Link:
        return Link(name, {**data, "vms": {group: dict(entry) for group, entry in vms.items()}}, where)

    for path in found.dropped:
        if path.count(".") == 2:
            arrival.drop({"vms": vms}, path)
    yield link(OPTIONS)
    own = arrival.reused_hosts(present)
    data["hosts"] = arrival.assembled(present, own, vms, {}, {}, speeds)["hosts"]
    for path in found.dropped:
        arrival.drop(data, path)
    arrival.with_hypervisor(present, vms)
    yield link(HYPERVISOR)
    arrival.with_devices(vms)
    yield link(DEVICES)
    types = list(found.data["hosts"].values())
    if len(types) == 1:
        core = {key: types[0][key] for key in OF_PROCESSOR if key in types[0]}
        data["hosts"] = {
            group: {**{key: each for key, each in entry.items() if key not in OF_PROCESSOR}, **core}
            for group, entry in data["hosts"].items()
        }
        yield link(PROCESSORS)
    if any(vm.storage_appliance for state in present.states for vm in state.vms):
        return  # appliances end with their storage
    data["hosts"] = found.data["hosts"]
    yield link(_hosts_name(found), where)


def _hosts_name(found: Arrival) -> str:
    """Return the name of the part with hosts and placement, which has processors if there are several types."""
    return HOSTS if len(found.data["hosts"]) == 1 else f"processors, {HOSTS}"


def _placed(present: Present, link: Link) -> tuple[Made, Ints] | None:
    """Return a cluster with the host of each VM, or None if the VMs cannot be there as they are."""
    try:
        scenario = scenarios.load(dict(link.data))
    except ScenarioError:
        return None
    if arrival.foreign_pools(scenario) and any(host.family == arrival.FAMILY for host in scenario.inventory.hosts):
        return None
    cluster = next(each for each in scenario.inventory.clusters if each.name == CLUSTER)
    made = Made.of(scenario, cluster, present.states[0].limits, None, "configured", tuple(link.data["hosts"]))
    number = {host.name: at for at, host in enumerate(made.problem.hosts)}
    if any(link.hosts[vm.name] not in number for vm in made.problem.vms):
        return None
    return made, np.array([number[link.hosts[vm.name]] for vm in made.problem.vms], np.int64)
