"""The answer of a move as a document: VMs with rules and settings, the target with the twin's word, waves and dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from hypertwin import _core
from hypertwin import scenario as scenarios
from hypertwin.arguments import asks
from hypertwin.cost import prices as cost_prices
from hypertwin.cost.prices import Prices
from hypertwin.documents import move as documents
from hypertwin.errors import fail
from hypertwin.language import Vm
from hypertwin.metrics.words import count, number
from hypertwin.plan.capacity import limits as capacity_limits
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.capacity.reclaim import off_of
from hypertwin.plan.moving import (
    addresses,
    becomes,
    calendar,
    downtime,
    effort,
    overlap,
    rates,
    rollback,
    rules,
    transfer,
    waves,
)
from hypertwin.plan.moving.context import Context
from hypertwin.plan.moving.destination import Destination
from hypertwin.plan.moving.handover import texts
from hypertwin.plan.moving.off import Off
from hypertwin.plan.moving.options import MAX_DAYS, Move
from hypertwin.plan.moving.rates import Estimate, Tool
from hypertwin.plan.moving.target import TITLES
from hypertwin.plan.powered_off import with_off
from hypertwin.plan.refresh.present import Present
from hypertwin.results.answers import Document
from hypertwin.runs.runner import running
from hypertwin.scenario import Given, Scenario
from hypertwin.scenario.overrides import by_path

if TYPE_CHECKING:
    from hypertwin.records.move import MoveFields
else:  # attributes for type checkers only
    MoveFields = object

GIB = 2**30

WINDOW = "20:00-06:00"
"""Default maintenance window."""

EPOCH = datetime(2024, 1, 1)
"""A Monday. Windows repeat every week."""

FAMILIES: Mapping[str, str] = {
    "proxmox": "KVM on Linux",
    "kvm": "KVM on Linux",
    "openshift": "KVM on Linux",
    "ahv": "KVM on Linux",
    "hyperv": "",
}
"""Hypervisor as which the twin simulates each target. An empty text is a target without a performance verdict."""


@dataclass(frozen=True, repr=False)
class Moved(Document[documents.Move], MoveFields):
    """Plan of a move."""

    VIEWS: ClassVar[str] = "MOVE"


@asks(Move)
def plan_move(scenario: Given, options: Move) -> Moved:
    """Return what each VM becomes on the target, what blocks it, waves with times, and its speed afterwards.

    Raises ScenarioError. The path of an option's problem is its name.
    """
    asked = _Request.of(scenario, options)
    with running(**options.where):
        return Moved(asked.document())


@dataclass(frozen=True)
class _Request:
    """Parsed and checked request."""

    options: Move
    present: Present
    limits: Limits
    target: Scenario | None
    copy_limits: transfer.Limits
    windows: tuple[calendar.Window, ...]
    dates: calendar.Calendar | None
    prices: Prices | None
    classes: tuple[downtime.Class, ...]

    @staticmethod
    def of(given: Given, options: Move) -> _Request:
        """Parse and check the request. Raises ScenarioError."""
        if options.to is None:
            fail("one-of", "to", "nothing given", ", ".join(TITLES), "choose a target, such as proxmox")
        if options.target is not None and options.reuse_hosts:
            fail("one-of", "target", str(options.target), "`target` or `reuse_hosts`", "leave one of them out")
        scenario = scenarios.load(given, by_path(options.overrides))
        scenario.with_overrides(options.settings)
        scenario = with_off(scenario) if options.with_off else scenario
        settings = {path: value for path, value in options.settings.items() if path != "run.replications"}
        scenario = scenario.with_overrides(settings)
        known = [
            each
            for each in scenario.inventory.clusters
            if any(vm.cluster == each.name for vm in scenario.inventory.vms)
        ]
        if options.cluster is not None:
            name = capacity_limits.cluster_named(options.cluster, scenario.inventory.cluster_labels)
            known = [each for each in known if each.name == name]
        limits = capacity_limits.of_options(options)
        present = Present.of(scenario, known, limits, 0.0)
        target = None if options.target is None else scenarios.load(options.target)
        windows = tuple(calendar.Window.parse(each) for each in _texts(options.window) or [WINDOW])
        freezes = tuple(calendar.Freeze.parse(each) for each in _texts(options.freeze))
        dates = None if options.start is None else calendar.Calendar(_start(options.start), windows, freezes)
        copy_limits = transfer.Limits(
            network=_rate("network", options.network),
            target=_rate("target_writes", options.target_writes),
            datastore=_rate("source_reads", options.source_reads),
        )
        classes = downtime.classes(_texts(options.downtime), present.vms)
        days = options.acceptance
        if days is not None and not 0 <= days <= MAX_DAYS:
            fail("out-of-range", "acceptance", days, f"0 to {MAX_DAYS}", "write a number of days")
        prices = None if options.prices is None else cost_prices.read(options.prices)
        return _Request(options, present, limits, target, copy_limits, windows, dates, prices, classes)

    @property
    def to(self) -> documents.Target:
        """Target of the move."""
        assert self.options.to is not None
        return self.options.to

    @property
    def schedule(self) -> calendar.Calendar:
        """Calendar of the waves, from any Monday without a start."""
        return self.dates or calendar.Calendar(EPOCH, self.windows)

    @cached_property
    def tool(self) -> Tool:
        """Tool with the best known rates for the target."""
        return rates.tools_for(self.to)[0]

    @cached_property
    def context(self) -> Context:
        """Facts beside VMs."""
        hosts = self.target.inventory.hosts if self.target is not None else ()
        if self.options.reuse_hosts:
            hosts = tuple(self.present.hosts)
        there = None if self.target is None else self.target.inventory
        names = [vm.called for vm in (*there.vms, *Off.of(there.powered_off, ()).vms)] if there else []
        inventory = self.present.scenario.inventory
        return Context.of(self.to, inventory, off=self.off, target_hosts=hosts, target_names=names)

    @cached_property
    def off(self) -> Off:
        """Powered-off VMs and templates that move: of the chosen cluster, or all."""
        inventory = self.present.scenario.inventory
        chosen = None if self.options.cluster is None else self.present.vms[0].cluster
        listed = inventory.powered_off if chosen is None else off_of(inventory, chosen)
        return Off.of(listed, (vm.name for vm in inventory.vms))

    @cached_property
    def vms(self) -> tuple[Vm, ...]:
        """All VMs that move: running ones, powered-off ones and templates."""
        return (*self.present.vms, *self.off.vms)

    @cached_property
    def findings(self) -> Mapping[str, Sequence[rules.Finding]]:
        """Findings of each VM, by name."""
        return {vm.name: rules.findings(vm, self.context) for vm in self.vms}

    @cached_property
    def gaps(self) -> Mapping[str, str]:
        """Rules whose facts the source has for no VM, with the place of these facts."""
        unknown: Counter[str] = Counter()
        where: dict[str, str] = {}
        for found in self.findings.values():
            for each in found:
                if not each.is_known:
                    unknown[each.rule] += 1
                    where[each.rule] = each.detail.partition(": ")[2]
        return {rule: where[rule] for rule, many in unknown.items() if many == len(self.findings)}

    def document(self) -> documents.Move:
        """Return the whole answer."""
        planned = self._waves()
        copied = {vm.name: self._source(vm) for vm in self._movable()}
        mode = waves.main_mode(planned, self.tool)
        whole = transfer.copy(list(copied.values()), self.tool, self.copy_limits, mode=mode)
        copies = [([copied[name] for name in wave.vms], wave.mode) for wave in planned]
        halving = transfer.halving(copies, self.tool, self.copy_limits)
        times = None if self.dates is None else _dates(planned, self.dates)
        vms = self._vms(planned)
        told = [_wave(each, times) for each in planned]
        days = self.options.acceptance
        acceptance = f"{days} days" if days is not None else "{} to {} days".format(*rollback.ACCEPTANCE_DAYS)
        found: documents.Move = {
            "version": _core.version(),
            "scenario": self.present.scenario.name,
            "asked": self._asked(),
            "tool": self.tool.name,
            "family": FAMILIES[self.to],
            "counts": dict(Counter(vm["verdict"] for vm in vms)),
            "power": dict(Counter(vm["power"] for vm in vms)),
            "rules": dict(Counter(each["rule"] for vm in vms for each in vm["findings"] if each["known"])),
            "gaps": [f"{rule} ({where})" for rule, where in self.gaps.items()],
            "vms": vms,
            "arrival": self._arrival(),
            "waves": told,
            "downtimes": downtime.documented(self.classes, self.present.vms, planned),
            "volume_gib": whole.volume_bytes / GIB,
            "copy_s": _range(sum((each.window + each.before for each in planned), rates.ZERO)),
            "end": None if times is None or times.end is None else times.end.isoformat(),
            "latest_end": None if times is None or times.latest_end is None else times.latest_end.isoformat(),
            "addresses": self._addresses(),
            "rollback": list(rollback.steps(self.to)),
            "effort": effort.work(vm["effort"] for vm in vms),
            "overlap": self._overlap(planned, times),
            "texts": texts.texts(self.to, told, vms, self.present.scenario.inventory.rules)
            | {rollback.FILE: rollback.text(self.to, told, vms, acceptance)},
            "halving": [transfer.REMEDIES[kind] for kind in dict.fromkeys(each.kind for each in halving.steps)]
            if halving.halved
            else [],
            "planner_rule_s": whole.planner_rule_s,
            "notes": [],
        }
        found["notes"] = self._notes(found, whole)
        return found

    def _movable(self) -> list[Vm]:
        """Return the VMs that no rule blocks."""
        return [vm for vm in self.vms if not _blocks(self.findings[vm.name])]

    def _source(self, vm: Vm) -> transfer.MovingVm:
        disks, is_off = vm.source.disks or (), vm.name in self.context.off
        return transfer.MovingVm(
            name=vm.name,
            host=vm.host,
            disks=tuple(transfer.Disk(float(each.capacity_bytes or 0), None, _datastore(each.path)) for each in disks),
            used_bytes=_float(vm.measured.storage_used_bytes or vm.measured.storage_provisioned_bytes),
            write_bytes_per_s=0.0 if is_off else downtime.writes_per_s(vm, self.present.scenario.data),
        )

    def _waves(self) -> tuple[waves.Wave, ...]:
        groups: dict[str, list[str]] = {}
        for rule in self.present.scenario.inventory.rules:
            if rule.kind == "keep-together":
                for name in rule.vms:
                    groups.setdefault(name, []).append(rule.name)
        candidates = [
            waves.Candidate(
                vm=self._source(vm),
                tags=vm.source.tags or (),
                folder=vm.source.folder or "",
                networks=tuple(dict.fromkeys(each.network for each in vm.source.networks or () if each.network)),
                groups=tuple(groups.get(vm.name, ())),
                max_downtime_s=None if vm.name in self.context.off else downtime.longest(vm, self.classes),
                risk=float(sum(each.severity != "note" for each in self.findings[vm.name])),
            )
            for vm in self._movable()
        ]
        lengths = self.schedule.lengths_s
        asked = waves.WaveOptions(
            window_s=lengths[0], together=tuple(_texts(self.options.together)), pilot_vms=self.options.pilot
        )
        options = [replace(asked, filled_s=each) for each in lengths]
        plans = (waves.waves(candidates, self.tool, self.copy_limits, each) for each in options)
        return min(plans, key=self._ends)

    def _ends(self, planned: Sequence[waves.Wave]) -> tuple[int, datetime]:
        """Return the number of waves that fit no window, and the end of all waves or of the others."""
        found = _dates(planned, self.schedule)
        ends = (each.latest_end for each in found.appointments if each.latest_end)
        return len(found.unplaced), found.end or max(ends, default=EPOCH)

    def _vms(self, planned: Sequence[waves.Wave]) -> list[documents.MovedVm]:
        wave_of = {name: each.number for each in planned for name in each.vms}
        off = {each.name: each.seconds for wave in planned for each in wave.downtimes}
        return [self._vm(vm, wave_of.get(vm.name), off.get(vm.name)) for vm in self.vms]

    def _vm(self, vm: Vm, wave: int | None, off: Estimate | None) -> documents.MovedVm:
        found = [each for each in self.findings[vm.name] if each.is_known or each.rule not in self.gaps]
        made, source = becomes.becomes(vm, self.context), self._source(vm)
        return {
            "name": vm.name,
            "label": vm.called,
            "host": vm.host,
            "power": self._power(vm),
            "verdict": _verdict(found),
            "effort": effort.effort(vm, found) or effort.UNKNOWN,
            "findings": [
                {
                    "rule": each.rule,
                    "severity": each.severity,
                    "known": each.is_known,
                    "text": f"{each.detail}: {each.consequence}" if each.detail else each.consequence,
                    "before": each.before,
                    "source": each.source,
                }
                for each in found
            ],
            "becomes": {"name": made.name, **made.settings},
            "best": dict(made.best),
            "networks": [{"network": each.network, "vlan": each.vlan} for each in vm.source.networks or ()],
            "datastores": sorted({store for each in source.disks if (store := each.datastore)}),
            "volume_gib": source.volume / GIB,
            "size_known": vm.measured.storage_used_bytes is not None,
            "wave": wave,
            "mac": addresses.keeping(vm, "mac", self.context).kept,
            "ip": addresses.keeping(vm, "ip", self.context).kept,
            "downtime_s": None if off is None or vm.name in self.context.off else _range(off),
        }

    def _power(self, vm: Vm) -> documents.Power:
        return "template" if vm.name in self.off.templates else "off" if vm.name in self.context.off else "on"

    def _addresses(self) -> list[documents.Keeping]:
        counts = Counter(
            (address, addresses.keeping(vm, address, self.context))
            for address in addresses.ADDRESSES
            for vm in self.vms
        )
        return [
            {
                "address": address,
                "kept": each.kept,
                "vms": count,
                "text": each.text,
                "source": each.source,
                "unchecked": each.unchecked,
            }
            for (address, each), count in counts.items()
        ]

    def _overlap(self, planned: Sequence[waves.Wave], times: calendar.Dates | None) -> documents.Overlap:
        found = times or _dates(planned, self.schedule)
        hosts = self.target.inventory.hosts if self.target is not None else ()
        return overlap.overlap(found, self.present, hosts, self.options.acceptance, self.prices)

    def _asked(self) -> documents.Asked:
        options = self.options
        return {
            "to": self.to,
            "title": TITLES[self.to],
            "target": None if options.target is None else str(options.target),
            "reuse_hosts": options.reuse_hosts,
            "failures": self.limits.failures,
            "window": _texts(options.window) or [WINDOW],
            "network": options.network,
            "target_writes": options.target_writes,
            "start": options.start,
            "prices": None if options.prices is None else str(options.prices),
        }

    def _arrival(self) -> documents.Arrival | None:
        """Return the target cluster, or None without a target or without a hypervisor that the twin knows."""
        if (self.target is None and not self.options.reuse_hosts) or not FAMILIES[self.to]:
            return None
        blocked = {vm.name for vm in self.present.vms} - {vm.name for vm in self._movable()}
        return Destination(self.options, self.present, self.limits, self.target, blocked).document()

    def _notes(self, found: documents.Move, whole: transfer.Transfer) -> list[str]:
        notes = list(whole.notes)
        if not found["family"]:
            notes.insert(0, f"{TITLES[self.to]} has no model here: no word on performance.")
        if found["arrival"] is None and found["family"]:
            notes.append("Without --target or --reuse-hosts, the target cluster is not checked.")
        if self.options.reuse_hosts and not self.present.is_measured:
            ratio = self.present.limits(self.limits, [state.cluster.name for state in self.present.states]).vcpu_ratio
            after = f" after {count(self.limits.failures, 'failure')}" if self.limits.failures else ""
            notes.append(
                f"No CPU demand was measured: the present hosts keep {number(ratio)} vCPUs per core{after}, or what"
                " --vcpu-ratio says. Hosts on loan can follow from that."
            )
        if found["volume_gib"]:
            size = f"{found['volume_gib']:,.0f} GiB in all, by wave as moved"
            notes.append(f"Backup products see new VMs, so the first backup of each is full: {size}.")
        unknown = sum(not vm["size_known"] for vm in found["vms"])
        if unknown:
            notes.append(f"The used storage of {unknown:,} VMs is unknown: their provisioned size counts, if known.")
        return notes


def _verdict(found: Sequence[rules.Finding]) -> documents.Verdict:
    if _blocks(found):
        return "blocked"
    if any(each.severity == "blocks" and not each.is_known for each in found):
        return "not-known"
    return "changes" if any(each.severity == "changes" and each.is_known for each in found) else "ready"


def _blocks(found: Sequence[rules.Finding]) -> bool:
    return any(each.severity == "blocks" and each.is_known for each in found)


def _wave(wave: waves.Wave, times: calendar.Dates | None) -> documents.Wave:
    date = None if times is None else next(each for each in times.appointments if each.name == str(wave.number))
    return {
        "number": wave.number,
        "kind": wave.kind,
        "mode": wave.mode,
        "vms": list(wave.vms),
        "volume_gib": wave.volume_bytes / GIB,
        "window_s": _range(wave.window),
        "before_s": _range(wave.before),
        "fits": wave.fits,
        "limited_by": [f"{each.kind} {each.name}".strip() for each in wave.transfer.limited_by],
        "division_s": wave.transfer.division_s,
        "begin": None if date is None or date.begin is None else date.begin.isoformat(),
        "latest_end": None if date is None or date.latest_end is None else date.latest_end.isoformat(),
        "networks": list(wave.networks),
        "notes": [*wave.notes, *([date.note] if date is not None and date.note else [])],
    }


def _dates(planned: Sequence[waves.Wave], of: calendar.Calendar) -> calendar.Dates:
    return calendar.dates([calendar.Needs(str(each.number), each.window, each.before) for each in planned], of)


def _range(of: Estimate) -> documents.Range:
    return {"low": of.low, "value": of.value, "high": of.high}


def _texts(given: str | Sequence[str] | None) -> list[str]:
    return [] if given is None else [given] if isinstance(given, str) else list(given)


def _rate(path: str, given: str | None) -> float | None:
    if given is None:
        return None
    try:
        return _core.bandwidth_bytes_per_s(given)
    except ValueError as error:
        fail("bad-quantity", path, given, str(error), "write a rate with its unit, such as 10 Gb/s or 800 MB/s")


def _start(given: str) -> datetime:
    try:
        return datetime.fromisoformat(given)
    except ValueError:
        fail("bad-quantity", "start", given, "a date such as 2027-01-16", "write year, month and day")


def _datastore(path: str | None) -> str:
    return path[1 : path.index("]")] if path and path.startswith("[") and "]" in path else ""


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)
