"""Functions that count licences.

Each function has the clusters of a licence, with the VMs that it concerns, and parameters. A licence without
conditions on VMs concerns every cluster. Other licences concern the clusters that have such VMs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hypertwin import naming
from hypertwin.cost.estate import Cluster, Hosts, Vm

Value = int | float | str
Values = Mapping[str, Value]

UNITS: Mapping[str, str] = {
    "core": "cores",
    "socket": "sockets",
    "socket-pair": "socket-pairs",
    "processor": "processors",
    "host": "hosts",
    "vm": "vms",
    "vm-pair": "vm-pairs",
    "tib": "tib",
}
"""Units of licences, with their plurals. A processor is Oracle's: cores times the core factor."""

MAX_STEPS = 6
"""Maximum number of host types and clusters in the text of a count."""


@dataclass(frozen=True)
class Covered:
    """A cluster with the VMs that a licence concerns."""

    cluster: Cluster
    vms: tuple[Vm, ...] | None = None
    """VMs in question, or None if the licence does not depend on VMs."""

    @property
    def applies(self) -> bool:
        """True if the cluster's hosts need the licence."""
        return self.vms is None or bool(self.vms)


@dataclass(frozen=True)
class Count:
    """Number of licences, with the calculation as text."""

    quantity: float
    steps: str


@dataclass(frozen=True)
class Parameter:
    """Allowed values of a parameter."""

    meaning: str
    low: float = 0
    high: float = 0
    whole: bool = True
    """True if the value is an integer."""
    choices: tuple[str, ...] = ()
    """Allowed texts, or an empty tuple for a number."""

    @property
    def allowed(self) -> str:
        """Allowed values as text."""
        if self.choices:
            return " or ".join(self.choices)
        return f"{'an integer' if self.whole else 'a number'}, {self.low:g} to {self.high:,g}"

    def accepts(self, value: object) -> bool:
        """Return true if the value is allowed."""
        if self.choices:
            return value in self.choices
        allowed = int if self.whole else (int, float)
        return isinstance(value, allowed) and not isinstance(value, bool) and self.low <= value <= self.high


PARAMETERS: Mapping[str, Parameter] = {
    "minimum_per_cpu": Parameter("Minimum number of licences per CPU (socket).", 0, 1024),
    "minimum_per_host": Parameter("Minimum number of licences per host.", 0, 4096),
    "minimum_per_vm": Parameter("Minimum number of licences per VM.", 0, 1024),
    "minimum_order": Parameter("Minimum number of licences of an order.", 0, 1_000_000),
    "pack": Parameter("Licences of a pack. The number for each host or VM is rounded up to whole packs.", 1, 1024),
    "vms_per_license": Parameter("VMs that one licence, or one full licensing of a host, allows.", 1, 1000),
    "vms_on_each_host": Parameter(
        "VMs for which each host is licensed. even: the cluster's VMs divided among the hosts after the planned "
        "failures. all: every VM of the cluster, the strict reading if any host can receive all VMs.",
        choices=("even", "all"),
    ),
    "cores_per_pair": Parameter("Maximum number of cores that the licence of a socket pair covers.", 1, 100_000),
    "core_factor": Parameter("Licences per physical core.", 0, 10, whole=False),
    "scope": Parameter(
        "Hosts where a VM can run. cluster: those of its cluster. estate: those of every cluster.",
        choices=("cluster", "estate"),
    ),
    "included_tib_per_core": Parameter("TiB of raw capacity that each licensed core includes.", 0, 1000, whole=False),
    "counts": Parameter(
        "Capacity to license if it exceeds the included one. surplus: the excess, pooled over all clusters. "
        "whole: the whole capacity of each cluster that exceeds its own.",
        choices=("surplus", "whole"),
    ),
}
"""Parameters of all functions. A preset lists the ones that it has."""


def packed(quantity: float, pack: int) -> int:
    """Return the quantity, rounded up to whole packs."""
    return math.ceil(quantity / pack) * pack


def per_core(scope: Sequence[Covered], unit: str, values: Values, failures: int) -> Count:
    """Return the licences for all physical cores, with a minimum per CPU and per order."""
    pack = _whole(values, "pack", 1)
    where = [each for each in scope if each.applies]
    return _at_least(_of_hosts(where, lambda hosts: packed(_cores(hosts, values), pack), "cores"), values, "cores")


def storage(scope: Sequence[Covered], unit: str, values: Values, failures: int) -> Count:
    """Return the licences for TiB of raw capacity beyond those that licensed cores include."""
    included_per_core = float(values.get("included_tib_per_core", 0))
    found = []
    for each in scope:
        if each.applies:
            raw = math.fsum(hosts.count * hosts.raw_tib for hosts in each.cluster.hosts)
            cores = sum(hosts.count * _cores(hosts, values) for hosts in each.cluster.hosts)
            found.append((each.cluster.name, raw, cores * included_per_core))
    raw, included = math.fsum(raw for _, raw, _ in found), math.fsum(part for _, _, part in found)
    if values.get("counts") == "whole":
        over = [(name, raw) for name, raw, part in found if raw > part + 1e-9]
        steps = _listed(f"{name}: {raw:.4g} TiB, all counted" for name, raw in over)
        quantity = sum(_up(raw) for _, raw in over)
        return Count(quantity, steps or f"{raw:.4g} TiB raw, at most the {included:.4g} TiB included in each cluster")
    return Count(_up(max(0.0, raw - included)), f"{raw:.4g} TiB raw, {included:.4g} TiB included")


def per_host(scope: Sequence[Covered], unit: str, values: Values, failures: int) -> Count:
    """Return the licences for whole hosts, several times if each licensing allows only some VMs."""
    total, steps = 0.0, []
    for each in scope:
        if each.applies:
            found = _of_hosts([each], lambda hosts: _of_host(hosts, unit, values), UNITS[unit])
            times, text = _stacked(each, values, failures)
            total += found.quantity * times
            steps.append(f"{found.steps}{text}" if found.steps else "")
    return Count(total, _listed(steps))


def where_it_can_run(scope: Sequence[Covered], unit: str, values: Values, failures: int) -> Count:
    """Return the licences for all hosts on which one of the VMs can run."""
    everywhere = values.get("scope") == "estate" and any(each.applies for each in scope)
    where = [Covered(each.cluster) for each in scope if everywhere or each.applies]
    if unit == "socket":
        return _of_hosts(where, lambda hosts: hosts.processors, "sockets")
    found = _of_hosts(where, lambda hosts: hosts.cores, "cores")
    factor = float(values.get("core_factor", 1))
    return Count(_up(found.quantity * factor), f"{found.steps}; x {factor:g}" if found.steps else "")


def per_vm(scope: Sequence[Covered], unit: str, values: Values, failures: int) -> Count:
    """Return the licences for VMs, or for their vCPUs with a minimum per VM."""
    vms = [vm for each in scope for vm in (each.cluster.vms if each.vms is None else each.vms)]
    text = naming.counted(len(vms), "VM")
    if unit != "core":
        allowed = _whole(values, "vms_per_license", 1)
        return _at_least(Count(_up(len(vms) / allowed), text), values, UNITS[unit])
    least, pack = _whole(values, "minimum_per_vm", 0), _whole(values, "pack", 1)
    quantity = sum(packed(max(vm.vcpus, least), pack) for vm in vms)
    return _at_least(Count(quantity, f"{text} with {sum(vm.vcpus for vm in vms):,} vCPUs"), values, "cores")


def per_unit(scope: Sequence[Covered], unit: str, values: Values, failures: int) -> Count:
    """Return the number of VMs, hosts, sockets, cores or TiB."""
    if unit == "vm":
        return per_vm(scope, unit, {}, failures)
    of: Mapping[str, Callable[[Hosts], float]] = {
        "host": lambda hosts: 1,
        "socket": lambda hosts: hosts.processors,
        "core": lambda hosts: hosts.cores,
        "tib": lambda hosts: hosts.raw_tib,
    }
    return _of_hosts([each for each in scope if each.applies], of[unit], UNITS[unit])


FUNCTIONS: Mapping[str, Callable[[Sequence[Covered], str, Values, int], Count]] = {
    "per-core": per_core,
    "storage": storage,
    "per-host": per_host,
    "where-it-can-run": where_it_can_run,
    "per-vm": per_vm,
    "per-unit": per_unit,
}
"""Functions by the name that presets use."""

FREE_UNITS = ("vm", "host", "socket", "core", "tib")
"""Units of lines without a preset."""


def _whole(values: Values, name: str, otherwise: int) -> int:
    return int(values.get(name, otherwise))


def _up(quantity: float) -> int:
    """Return the quantity, rounded up, without the error of the last binary digit."""
    return math.ceil(quantity - 1e-9)


def _cores(hosts: Hosts, values: Values) -> int:
    """Return the cores of one host, with the minimum per CPU."""
    return max(hosts.cores, hosts.processors * _whole(values, "minimum_per_cpu", 0))


def _of_host(hosts: Hosts, unit: str, values: Values) -> int:
    """Return the licences of one host, once."""
    if unit == "host":
        return 1
    if unit == "socket":
        return hosts.processors
    if unit == "socket-pair":
        covered = _whole(values, "cores_per_pair", 0)
        return max(math.ceil(hosts.processors / 2), math.ceil(hosts.cores / covered) if covered else 0)
    return packed(max(_cores(hosts, values), _whole(values, "minimum_per_host", 0)), _whole(values, "pack", 1))


def _stacked(each: Covered, values: Values, failures: int) -> tuple[int, str]:
    """Return how many times each host is licensed, and the reason as text."""
    allowed = _whole(values, "vms_per_license", 0)
    if not allowed or each.vms is None:
        return 1, ""
    remaining = max(1, each.cluster.host_count - failures)
    on_each = len(each.vms) if values.get("vms_on_each_host") == "all" else math.ceil(len(each.vms) / remaining)
    times = math.ceil(on_each / allowed)
    return times, f"; x {times} for {naming.counted(on_each, 'VM')} on each host"


def _of_hosts(scope: Iterable[Covered], of: Callable[[Hosts], float], unit: str) -> Count:
    """Return the sum over all hosts."""
    hosts = [hosts for each in scope for hosts in each.cluster.hosts if hosts.count]
    steps = (f"{each.count} x {each.name}: {of(each):,.4g} {unit}" for each in hosts)
    total = math.fsum(each.count * of(each) for each in hosts)
    return Count(total, _listed(steps))


def _at_least(count: Count, values: Values, unit: str) -> Count:
    """Return the count, or the minimum order if it is larger."""
    least = _whole(values, "minimum_order", 0)
    if 0 < count.quantity < least:
        return Count(least, f"{count.steps}; minimum order {least:,} {unit}")
    return count


def _listed(steps: Iterable[str]) -> str:
    """Return the texts as a list. A long list is cut."""
    texts = [text for text in steps if text]
    cut = [f"and {len(texts) - MAX_STEPS} more"] if len(texts) > MAX_STEPS else []
    return ", ".join([*texts[:MAX_STEPS], *cut])
