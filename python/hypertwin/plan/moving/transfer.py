"""Time of copying a set of VMs off ESXi, what limits it, and the downtime of each VM.

The streams of a copy share the read limit of their ESXi host, their datastore, network, appliance and target storage
(`sharing.py`). A stream is a VM with its disks in turn, or one disk, as the tool copies them.
Each VM adds the overhead of the tool, for start and conversion.

| end of the interval | time |
|---|---|
| fast | rates of the faster laboratory, but never faster than a limit that the user states |
| slow | rates of the slower laboratory, or storage of unknown speed, which gives several hosts half of their rates |

For a tool without published rates, the ends have the fastest and slowest published rates of any tool.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from hypertwin.errors import Argument, fail
from hypertwin.plan.moving import rates
from hypertwin.plan.moving.rates import ZERO, Estimate, Mode, Rate, Tool
from hypertwin.plan.moving.sharing import OVERHEAD, Capacities, Resource, Schedule, Stream, ends_by, schedule

DAY_S = 86_400.0

REMEDIES: Mapping[str, str] = {
    "host": "Copy VMs of more ESXi hosts at the same time, or spread the VMs over more hosts before.",
    "datastore": "Copy VMs of more datastores at the same time, or move the VMs to faster storage before.",
    "network": "Use a faster migration network, or several.",
    "appliance": "Use several appliances or gateways.",
    "target": "Write to faster target storage, or to several.",
    "vm": "Divide large VMs into more disks, if the tool copies disks at once, or copy more VMs at once.",
    "slots": "Copy more VMs of a host at once, if its NFC memory and the tool allow it.",
}
"""Advice on each limit that can be raised, by kind."""

MAX_STEPS = 8
"""Maximum number of limits that are doubled to halve a time."""

Data = Mapping[str, tuple[tuple[float, str], ...]]
"""Bytes of each disk to copy with the datastore, by VM."""

Basis = Literal["all", "measured", "assumed", "off"]
"""Data copied in a downtime: all, its measured writes, assumed changes, or none because the VM is off anyway."""


@dataclass(frozen=True)
class Disk:
    """Disk of a VM."""

    capacity_bytes: float
    used_bytes: float | None = None
    """Data on the datastore, or None if unknown."""
    datastore: str = ""
    """Name of the datastore, or an empty string if unknown."""


@dataclass(frozen=True)
class MovingVm:
    """VM to copy."""

    name: str
    host: str
    """ESXi host, or an empty string if unknown. VMs of unknown hosts count as VMs of one host."""
    disks: tuple[Disk, ...] = ()
    used_bytes: float | None = None
    """Data of the VM, for disks without their own figure, or None if unknown."""
    write_bytes_per_s: float | None = None
    """Measured rate of writes, or None. Blocks that are written twice count twice, so the changes are fewer."""
    powered_on: bool = True

    @property
    def capacity_bytes(self) -> float:
        """Provisioned bytes, at least the known data."""
        return max(sum(each.capacity_bytes for each in self.disks), self.used_bytes or 0.0)

    @property
    def size_known(self) -> bool:
        """True if the data of the VM are known, so that the provisioned size is not used instead."""
        return self.used_bytes is not None or all(each.used_bytes is not None for each in self.disks)

    @property
    def data(self) -> tuple[tuple[float, str], ...]:
        """Bytes of each disk to copy, with the datastore. Unknown data count as the provisioned size."""
        if not self.disks:
            return ((self.used_bytes, ""),) if self.used_bytes else ()
        known = sum(each.used_bytes or 0.0 for each in self.disks)
        unknown = sum(each.capacity_bytes for each in self.disks if each.used_bytes is None)
        left = unknown if self.used_bytes is None else min(max(self.used_bytes - known, 0.0), unknown)
        part = left / unknown if unknown else 0.0
        return tuple(
            (each.capacity_bytes * part if each.used_bytes is None else each.used_bytes, each.datastore)
            for each in self.disks
        )

    @property
    def volume(self) -> float:
        """Bytes to copy."""
        return sum(volume for volume, _ in self.data)


@dataclass(frozen=True)
class Limits:
    """Limits that the user states, in bytes per second. None means not stated, so that it does not limit."""

    network: float | None = None
    """Bandwidth of the migration network, as on its data sheet."""
    target: float | None = None
    """Write limit of the target storage."""
    appliance: float | None = None
    """Limit of the appliance or gateway through which all data pass."""
    hosts: Mapping[str, float] = field(default_factory=dict)
    """Read limits of single ESXi hosts."""
    datastores: Mapping[str, float] = field(default_factory=dict)
    """Read limits of single datastores."""
    datastore: float | None = None
    """Read limit of each other datastore."""
    host: float | None = None
    """Measured read limit of an ESXi host, instead of the published one."""
    vm: float | None = None
    """Measured rate of one VM, instead of the published one."""
    slots_per_host: int | None = None
    """VMs or disks of one host that are copied at a time, instead of the number of the tool."""

    def __post_init__(self) -> None:
        """Reject limits that are not above 0."""
        stated = {each.name: getattr(self, each.name) for each in fields(self)}
        single = {f"{key}.{name}": value for key in ("hosts", "datastores") for name, value in stated.pop(key).items()}
        for name, value in {**stated, **single}.items():
            if value is not None and not (value > 0 and math.isfinite(value)):
                fail("out-of-range", name, value, "above 0", "Leave it out if unknown.", Argument("limits"))


@dataclass(frozen=True)
class Limit:
    """Limit of a copy, with its share of the time on the host that ends last."""

    kind: str
    """Kind of `sharing.Resource`."""
    name: str
    share: float


@dataclass(frozen=True)
class VmTime:
    """Time of a VM in a copy, in seconds from its start."""

    name: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Transfer:
    """Copy of a set of VMs."""

    tool: str
    mode: Mode
    seconds: Estimate
    volume_bytes: float
    provisioned_bytes: float
    vms: tuple[VmTime, ...]
    """Times of the VMs, without the interval, in the given order."""
    limited_by: tuple[Limit, ...]
    """Limits with their share of the time, the most important first."""
    division_s: float | None
    """Data over the bandwidth of the network, or None if the bandwidth is not stated."""
    planner_rule_s: float
    """Time by the rule of Red Hat's migration planner."""
    notes: tuple[str, ...]
    """Assumptions about these VMs."""


@dataclass(frozen=True)
class Step:
    """Limit that is doubled."""

    kind: str
    name: str
    factor: float
    """Factor after the step."""
    seconds: float
    """Time of the copy after the step."""


@dataclass(frozen=True)
class Halving:
    """The fewest doublings found that halve a time."""

    steps: tuple[Step, ...]
    before_s: float
    after_s: float

    @property
    def halved(self) -> bool:
        """True if the steps halve the time."""
        return bool(self.steps) and self.after_s <= self.before_s / 2 * (1 + 1e-9)


@dataclass(frozen=True)
class Downtime:
    """Time for which a VM is off."""

    name: str
    seconds: Estimate
    changes_bytes: Estimate
    """Data that are copied while the VM is off."""
    basis: Basis
    converges: bool
    """False if a warm move cannot keep up with the changes."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Case:
    """Rates of a copy: a tool in a mode, under limits, at one end of the intervals."""

    tool: Tool
    mode: Mode
    limits: Limits
    end: Literal["low", "value", "high"] = "value"
    """End of the rates: `low` is the slow one."""
    factors: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Factors of limits, by kind and name."""

    def rate(self, rate: Rate, stated: float | None, kind: str) -> float:
        value: float = getattr(rate, self.end) if stated is None else stated
        return value * self.factors.get((kind, ""), 1.0)

    @property
    def slots_per_host(self) -> int:
        stated = self.limits.slots_per_host or self.tool.slots_per_host
        return int(stated * self.factors.get(("slots", ""), 1))


def copy(vms: Sequence[MovingVm], tool: Tool, limits: Limits | None = None, *, mode: Mode = "cold") -> Transfer:
    """Return the time of copying VMs, with its interval and what limits it. Raises ScenarioError.

    In a warm move, this is the first copy, of all data, while the VMs run.
    """
    case = _case(tool, mode, limits)
    return _transfer(vms, {each.name: each.data for each in vms}, case)


def halving(waves: Sequence[tuple[Sequence[MovingVm], Mode]], tool: Tool, limits: Limits | None = None) -> Halving:
    """Return what would halve the time of copies one after another: the main limit is doubled until the time is half.

    A wave is a set of VMs with the mode in which it is copied.
    """
    cases = [(vms, {each.name: each.data for each in vms}, _case(tool, mode, limits)) for vms, mode in waves]
    factors: dict[tuple[str, str], float] = {}

    def schedules() -> list[Schedule]:
        return [_schedule(vms, data, replace(case, factors=factors)) for vms, data, case in cases]

    plans = schedules()
    before = after = sum(each.end_s for each in plans)
    steps: list[Step] = []
    while after > before / 2 * (1 + 1e-9) and len(steps) < MAX_STEPS:
        main = _main_limit(plans)
        if main is None:
            break
        factors[main] = 2 * factors.get(main, 1.0)
        plans = schedules()
        seconds = sum(each.end_s for each in plans)
        if seconds > after * 0.99:
            break
        after = seconds
        steps.append(Step(*main, factors[main], after))
    return Halving(tuple(steps), before, after)


def _main_limit(plans: Sequence[Schedule]) -> tuple[str, str] | None:
    """Return kind and name of the limit of most time. Only datastores have a name, because they are raised alone."""
    seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
    for plan in plans:
        for each in _limited_by(plan):
            if each.kind != OVERHEAD.kind:
                seconds[each.kind, each.name if each.kind == "datastore" else ""] += each.share * plan.end_s
    return max(sorted(seconds), key=lambda each: seconds[each], default=None)


def cutover(
    vms: Sequence[MovingVm],
    tool: Tool,
    limits: Limits | None = None,
    *,
    mode: Mode = "cold",
    interval_s: float | None = None,
) -> tuple[Estimate, tuple[Downtime, ...]]:
    """Return the time from the first VM that is powered off to the last that has booted, and each VM's downtime.

    A cold move powers off each VM when its copy begins. A warm move powers off each VM when the copy of its last
    changes begins, those of `interval_s` seconds. The time includes the overhead of the tool and the boot. Raises
    ScenarioError.
    """
    case = _case(tool, mode, limits)
    boot = rates.assumption("boot_s").estimate
    if mode == "cold":
        whole = copy(vms, tool, limits)
        found = [_cold(vm, at, whole.seconds, boot) for vm, at in zip(vms, whole.vms, strict=True)]
        return (whole.seconds + boot if vms else ZERO), tuple(found)
    interval = tool.interval_s if interval_s is None else interval_s
    if not (interval > 0 and math.isfinite(interval)):
        fail(
            "out-of-range", "", interval, "above 0", "Seconds between snapshots.", Argument("interval_s", f"{interval}")
        )
    rate = {vm.name: changes_bytes_per_s(vm) for vm in vms}
    last = {vm.name: _last_changes(vm, rate[vm.name][0], interval) for vm in vms}
    seconds, spans = _last_copy(vms, last, case)
    found = []
    for vm, span in zip(vms, spans, strict=True):
        own, basis = rate[vm.name]
        notes = _warm_notes(last[vm.name], tool, interval)
        off = span + boot if vm.powered_on else ZERO
        found.append(Downtime(vm.name, off, last[vm.name], basis, own.value < _vm_rate(case), notes))
    return (seconds + boot if vms else ZERO), tuple(found)


def within(
    vms: Sequence[MovingVm],
    tool: Tool,
    limits: Limits | None = None,
    *,
    mode: Mode = "cold",
    interval_s: float | None = None,
    before_s: float = math.inf,
    window_s: float = math.inf,
) -> bool:
    """Return true if the slow ends of `cutover`, and of a warm move's first copy, are within these times."""
    case = _case(tool, mode, limits)
    data = {each.name: each.data for each in vms}
    boot = rates.assumption("boot_s").high
    if mode == "cold":
        return not vms or _slow_within(vms, data, case, window_s - boot)
    interval = tool.interval_s if interval_s is None else interval_s
    last = {vm.name: _last_changes(vm, changes_bytes_per_s(vm)[0], interval).high for vm in vms}
    changes = {vm.name: _part(vm, last[vm.name]) for vm in vms}
    return not vms or (_slow_within(vms, data, case, before_s) and _slow_within(vms, changes, case, window_s - boot))


def changes_bytes_per_s(vm: MovingVm) -> tuple[Estimate, Basis]:
    """Return the rate at which blocks of a VM change, from its measured writes or else an assumption."""
    if not vm.powered_on:
        return ZERO, "off"
    if vm.write_bytes_per_s is not None:
        return Estimate(0.0, vm.write_bytes_per_s, vm.write_bytes_per_s), "measured"
    share = rates.assumption("churn_per_day")
    per_s = vm.volume / DAY_S
    return Estimate(share.low * per_s, share.value * per_s, share.high * per_s), "assumed"


_ENDS = ("low", "value", "high")


def _case(tool: Tool, mode: Mode, limits: Limits | None) -> _Case:
    if mode not in tool.modes:
        allowed = ", ".join(tool.modes)
        hint = f"{tool.name} has no {mode} move."
        fail("one-of", "", mode, allowed, hint, Argument("mode", mode))
    return _Case(tool, mode, limits or Limits())


def _cold(vm: MovingVm, at: VmTime, whole: Estimate, boot: Estimate) -> Downtime:
    span = at.end_s - at.start_s
    low, high = (end / whole.value if whole.value else 1.0 for end in (whole.low, whole.high))
    data = Estimate(vm.volume, vm.volume, vm.volume)
    if not vm.powered_on:
        return Downtime(vm.name, ZERO, data, "off", True)
    return Downtime(vm.name, Estimate(span * low, span, span * high) + boot, data, "all", True)


def _last_copy(
    vms: Sequence[MovingVm], last: Mapping[str, Estimate], case: _Case
) -> tuple[Estimate, tuple[Estimate, ...]]:
    """Return the time of copying the last changes, of all VMs and of each."""
    few, some, many = ({vm.name: _part(vm, getattr(last[vm.name], end)) for vm in vms} for end in _ENDS)
    plans = [_schedule(vms, data, case) for data in (few, some, many)]
    volume = sum(last[vm.name].low for vm in vms)
    whole = Estimate(
        _fast(vms, few, case, plans[0].end_s, volume), plans[1].end_s, _slow(vms, many, case, plans[2].end_s)
    )
    ends = (whole.low, whole.value, whole.high)
    scales = [end / plan.end_s if plan.end_s else 1.0 for end, plan in zip(ends, plans, strict=True)]
    times = [_vm_times(vms, data, plan) for data, plan in zip((few, some, many), plans, strict=True)]
    spans = (
        Estimate(*((at.end_s - at.start_s) * scale for at, scale in zip(each, scales, strict=True)))
        for each in zip(*times, strict=True)
    )
    return whole, tuple(Estimate(min(each.low, each.value), each.value, max(each.value, each.high)) for each in spans)


def _last_changes(vm: MovingVm, changes: Estimate, interval_s: float) -> Estimate:
    """Return the data that change between two snapshots, at most all data of the VM."""
    return Estimate(*(min(each * interval_s, vm.volume) for each in (changes.low, changes.value, changes.high)))


def _part(vm: MovingVm, volume: float) -> tuple[tuple[float, str], ...]:
    """Return some data of a VM, spread over its disks like all its data."""
    share = volume / vm.volume if vm.volume else 0.0
    return tuple((each * share, datastore) for each, datastore in vm.data)


def _warm_notes(last: Estimate, tool: Tool, interval_s: float) -> tuple[str, ...]:
    if last.value < tool.churn_bytes:
        return ()
    changed = f"{last.value / rates.GB:.0f} GB change in {interval_s / 60:.0f} minutes"
    return (f"{changed}: shorten the interval, and begin the first copy at least 24 h before the window.",)


def _vm_rate(case: _Case) -> float:
    """Return the highest rate of one stream, within all limits that it passes."""
    own = case.rate(case.tool.rates[case.mode].vm, case.limits.vm, "vm")
    return min([own, *_common(case).values()])


def _transfer(vms: Sequence[MovingVm], data: Data, case: _Case) -> Transfer:
    """Return the copy of some data of VMs."""
    plan = _schedule(vms, data, case)
    value = plan.end_s
    volume = sum(part for each in vms for part, _ in data[each.name])
    provisioned = sum(each.capacity_bytes for each in vms)
    network = case.limits.network
    return Transfer(
        tool=case.tool.id,
        mode=case.mode,
        seconds=Estimate(_fast(vms, data, case, value, volume), value, _slow(vms, data, case, value)),
        volume_bytes=volume,
        provisioned_bytes=provisioned,
        vms=_vm_times(vms, data, plan),
        limited_by=_limited_by(plan),
        division_s=None if network is None else volume / network,
        planner_rule_s=rates.planner_rule().seconds(provisioned),
        notes=_notes(vms, case),
    )


def _fast(vms: Sequence[MovingVm], data: Data, case: _Case, value: float, volume: float) -> float:
    """Return the fast end of a time, within the limits that the user states."""
    low = value / rates.labs_differ()
    if _open_rates(case):
        low = min(low, _schedule(vms, data, replace(case, end="high")).end_s)
    stated = (case.limits.network, case.limits.target, case.limits.appliance)
    floor = max((volume / each for each in stated if each is not None), default=0.0)
    return min(max(low, floor), value)


def _slow(vms: Sequence[MovingVm], data: Data, case: _Case, value: float) -> float:
    """Return the slow end of a time."""
    slow = _slow_case(vms, data, case)
    return max(value * rates.labs_differ(), 0.0 if slow is None else _schedule(vms, data, slow).end_s)


def _slow_within(vms: Sequence[MovingVm], data: Data, case: _Case, seconds: float) -> bool:
    """Return true if the slow end of a time is within some seconds."""
    slow = _slow_case(vms, data, case)
    if slow is not None and not ends_by(*_inputs(vms, data, slow), seconds):
        return False
    return ends_by(*_inputs(vms, data, case), seconds / rates.labs_differ())


def _slow_case(vms: Sequence[MovingVm], data: Data, case: _Case) -> _Case | None:
    """Return the case with the slow ends of rates and of storage that hosts share, or None if there are none."""
    return replace(case, end="low") if _open_rates(case) or _storage(vms, data, case) else None


def _open_rates(case: _Case) -> bool:
    """Return true if a published rate that the user does not replace has an interval."""
    own = case.tool.rates[case.mode]
    pairs = ((own.vm, case.limits.vm), (own.host, case.limits.host))
    return any(stated is None and rate.low < rate.high for rate, stated in pairs)


def _schedule(vms: Sequence[MovingVm], data: Data, case: _Case) -> Schedule:
    return schedule(*_inputs(vms, data, case))


def _inputs(vms: Sequence[MovingVm], data: Data, case: _Case) -> tuple[list[Stream], Capacities]:
    """Return the streams of VMs, and the capacities that they share."""
    tool, mode = case.tool, case.mode
    rate = case.rate(tool.rates[mode].vm, case.limits.vm, "vm")
    overhead = tool.rates[mode].overhead.value
    streams = []
    for vm in vms:
        parts = data[vm.name]
        if tool.flow[mode] == "vm" or len(parts) < 2:
            streams.append(Stream(vm.name, vm.host, parts, rate, overhead))
            continue
        largest = max(range(len(parts)), key=lambda index: (parts[index][0], -index))
        for index, part in enumerate(parts):
            own = overhead if index == largest else 0.0
            streams.append(Stream(_disk(vm.name, index), vm.host, (part,), rate, own))
    total = tool.total_slots(mode)
    factor = case.factors.get(("slots", ""), 1)
    slots = None if total is None else int(total * factor)
    return streams, Capacities(_resources(vms, data, case), case.slots_per_host, slots)


def _disk(vm: str, index: int) -> str:
    """Return the name of the stream of a disk, which is no name of a VM."""
    return f"{vm}\0{index}"


def _resources(vms: Sequence[MovingVm], data: Data, case: _Case) -> dict[Resource, float]:
    """Return the capacity of everything that streams share."""
    limits, factors = case.limits, case.factors
    found = {Resource("host", name): value for name, value in _host_limits(vms, case).items()}
    found |= {Resource(kind): value * factors.get((kind, ""), 1.0) for kind, value in _common(case).items()}
    known = limits.datastores
    if limits.datastore is not None:
        used = dict.fromkeys(name for vm in vms for _, name in data[vm.name] if name)
        known = {**dict.fromkeys(used, limits.datastore), **known}
    found |= {
        Resource("datastore", name): value * factors.get(("datastore", name), 1.0) for name, value in known.items()
    }
    return found if case.end != "low" else _storage(vms, data, case) | found


def _common(case: _Case) -> dict[str, float]:
    """Return the stated limits of what all streams use."""
    limits = case.limits
    payload = rates.assumption("ethernet_payload").value
    stated = {
        "network": None if limits.network is None else limits.network * payload,
        "appliance": limits.appliance,
        "target": limits.target,
    }
    return {kind: value for kind, value in stated.items() if value is not None}


def _host_limits(vms: Sequence[MovingVm], case: _Case) -> dict[str, float]:
    own = case.rate(case.tool.rates[case.mode].host, case.limits.host, "host")
    factor = case.factors.get(("host", ""), 1.0)
    stated = case.limits.hosts
    return {name: stated[name] * factor if name in stated else own for name in {vm.host: None for vm in vms}}


def _storage(vms: Sequence[MovingVm], data: Data, case: _Case) -> dict[Resource, float]:
    """Return limits of the slow end: storage without a stated limit, if several hosts share it."""
    hosts = _host_limits(vms, case)
    share = rates.assumption("shared_storage").value
    readers: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for vm in vms:
        for _, datastore in data[vm.name]:
            readers[datastore][vm.host] = None
    found = {
        Resource("datastore", name): share * sum(hosts[host] for host in users)
        for name, users in readers.items()
        if len(users) > 1 and name not in case.limits.datastores
    }
    if len(hosts) > 1 and case.limits.target is None:
        found[Resource("target")] = share * sum(hosts.values())
    return found


def _vm_times(vms: Sequence[MovingVm], data: Data, plan: Schedule) -> tuple[VmTime, ...]:
    found = []
    for vm in vms:
        disks = (_disk(vm.name, index) for index in range(len(data[vm.name])))
        times = [plan.times[name] for name in (vm.name, *disks) if name in plan.times]
        found.append(VmTime(vm.name, min(start for start, _ in times), max(end for _, end in times)))
    return tuple(found)


def _limited_by(plan: Schedule) -> tuple[Limit, ...]:
    """Return the limits on the host that ends last, by their share of its time."""
    if not plan.end_s:
        return ()
    ends: defaultdict[str, float] = defaultdict(float)
    for period in plan.periods:
        for flow in period.flows:
            ends[flow.kind.host] = period.end_s
    last = max(sorted(ends), key=lambda host: ends[host], default=None)
    shares: defaultdict[Resource, float] = defaultdict(float)
    for period in plan.periods:
        own = [flow for flow in period.flows if flow.kind.host == last]
        rate = sum(flow.streams * flow.bytes_per_s for flow in own)
        length = (period.end_s - period.start_s) / plan.end_s
        for flow in own:
            shares[flow.limit] += length * flow.streams * flow.bytes_per_s / rate
        if not own:
            shares[OVERHEAD] += length
    ordered = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Limit(resource.kind, resource.name, share) for resource, share in ordered)


def _notes(vms: Sequence[MovingVm], case: _Case) -> tuple[str, ...]:
    """Return the assumptions about these VMs and rates."""
    unknown = sum(not each.size_known for each in vms)
    bare = sum(not each.disks and each.used_bytes is None for each in vms)
    homeless = sum(not each.host for each in vms)
    notes = []
    if unknown:
        notes.append(f"Used size unknown for {unknown} of {len(vms)} VMs: their provisioned size is copied.")
    if bare:
        notes.append(f"{bare} of {len(vms)} VMs have no known disk: only their overhead is counted.")
    if homeless:
        notes.append(f"Host unknown for {homeless} of {len(vms)} VMs: they share the read limit of one host.")
    if case.tool.rates[case.mode].assumed and case.limits.vm is None:
        like = rates.tool(rates.REFERENCE).name
        notes.append(f"No rate of {case.tool.name} is published: assumed like {like}, with a wide interval.")
    if (case.limits.slots_per_host or 0) > case.tool.slots_per_host:
        notes.append(f"{case.limits.slots_per_host} at a time from one host. {case.tool.slots_reason}")
    if len({each.host for each in vms}) > 1 and case.limits.target is None:
        notes.append("The target's write limit is not stated: at the slow end, it is half of what the hosts read.")
    return tuple(notes)
