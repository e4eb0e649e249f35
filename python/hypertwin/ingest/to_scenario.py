"""From an inventory to a scenario: every host and every machine that is on, with names, sizes and load that fit one.

An inventory says what is there, not what it does. Its mean CPU demand becomes work in bursts of some milliseconds
(`BURST_CYCLES`): a mean says nothing of how long bursts are, and requests, queries and interrupts take between tenths
and tens of milliseconds, well under a scheduler's quantum. Longer bursts would show more ready time, shorter ones less.
Whatever had to be assumed, changed or left out is told, grouped by what was done.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import yaml

from hypertwin.ingest import outside
from hypertwin.ingest.inventory import Assumption, Demand, Host, Inventory, Vm

MOST_MACHINES = 10_000
"""Machines, and hosts, that a scenario can have of its own each."""
MOST_VCPUS = 200_000
MOST_NAMES = 50
"""Names that one assumption lists."""
MOST_DESCRIPTION = 9_000
"""Characters of a scenario's description; the schema allows 10,000."""

BURST_CYCLES = 10_000_000
"""Cycles of a mean burst: 4 ms at 2.5 GHz [an assumption of this project]."""
OPEN_UP_TO = 0.5
"""Part of all its vCPUs up to which a machine's load is open: busier ones, slowed by hyper-threading and neighbours,
would get work faster than they can do it."""
OPEN_HOST_UP_TO = 0.85
"""Part of a host's cores x clock up to which the load of its machines is open."""
LIGHT_LOAD = 0.05
"""Part of its vCPUs that a machine without measured demand is taken to use [an assumption of this project]."""
MOST_IOS = 10
"""I/Os of one burst, where there are enough bursts to spread them over."""
MOST_IOPS = 5_000_000
DEFAULT_CLOCK_HZ = 2_500_000_000

RUN = {"duration": "60 s", "warmup": "10 s", "sample_interval": "20 s", "replications": 2}
"""Enough to see a whole cluster in about a minute; `--duration` and `--replications` ask for more."""

ESXI = {
    **{(5, 0): "esxi-5.0", (5, 1): "esxi-5.1", (5, 5): "esxi-5.5", (6, 0): "esxi-6.0", (6, 5): "esxi-6.5"},
    **{(6, 7): "esxi-6.7", (7, 0): "esxi-7.0", (8, 0): "esxi-8.0", (9, 0): "esxi-9.0"},
}
"""First release of each scheduler that scenarios know; 7.0.2 (`esxi-7.0u2`) is told apart below."""
LINUX = {(6, 6): "linux-6.6", (6, 12): "linux-6.12"}

MIB = 2**20
_SOCKETS, _CORES, _VCPUS = 16, 256, 768
_LEAST_CLOCK_HZ, _MOST_CLOCK_HZ = 100e6, 20e9
_MOST_BYTES = 2**50
_MOST_MHZ = 1e9
_AFFINITY = re.compile(r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*\Z")
_MODEL_CLOCK = re.compile(r"@ *([0-9]{1,5}(?:\.[0-9]{1,4})?) *([GM])Hz", re.IGNORECASE)
_VERSION = re.compile(r"(?<![0-9.])([0-9]{1,3})\.([0-9]{1,3})(?:\.([0-9]{1,3}))?")


def to_scenario(inventory: Inventory) -> tuple[dict[str, Any], list[Assumption]]:
    """The scenario as a mapping in the order of the schema, and everything that it does not have from its source.

    Raises SourceError where there is no host to put anything on, or more of something than scenarios take.
    """
    return _Builder(inventory).build()


def with_demand(inventory: Inventory, measured: Mapping[str, Demand]) -> Inventory:
    """The inventory with demand measured elsewhere, by name of machine, in place of what its source says."""
    on = [vm for vm in inventory.vms if vm.powered_on and not vm.is_template]
    found = sum(vm.name in measured for vm in on)
    told = list(inventory.assumptions)
    if found < len(on):
        told.append(
            Assumption(
                f"{len(on) - found} of {len(on)} machines",
                "not in the telemetry under this name: demand as the source says it, if it does",
            )
        )
    vms = tuple(replace(vm, demand=measured.get(vm.name, vm.demand)) for vm in inventory.vms)
    return replace(inventory, vms=vms, assumptions=told)


def summary(inventory: Inventory, scenario: Mapping[str, Any], assumptions: Iterable[Assumption]) -> list[str]:
    """What an import found, assumed and missed, in lines for people."""
    vcpus = sum(vm["vcpus"] for vm in scenario["vms"].values())
    cores = sum(host["sockets"] * host["cores_per_socket"] for host in scenario["hosts"].values())
    of = len(inventory.vms)
    rules = f", {len(scenario['rules'])} rules" if "rules" in scenario else ""
    return [
        f"{outside.name(inventory.source)} ({inventory.kind}): {len(scenario['hosts'])} hosts with {cores} cores, "
        f"{len(scenario['vms'])} of {of} machines with {vcpus} vCPUs{rules}",
        *(f"assumed: {_line(each.subject)}: {_line(each.text)}" for each in assumptions),
        *(f"missing: {_line(gap.what)}, which costs {_line(gap.costs)}" for gap in inventory.gaps),
    ]


def to_yaml(scenario: Mapping[str, Any]) -> str:
    """A scenario as text: long texts in a block, texts from elsewhere in quotes, lists of words on one line."""
    return yaml.dump(
        dict(scenario), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110, default_flow_style=False
    )


class Quoted(str):
    """A text from outside, which YAML must not take for anything else."""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))
_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)
_Dumper.add_representer(
    tuple, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)
)


@dataclass(frozen=True)
class _Place:
    """A host as the scenario has it."""

    key: str
    logical_cpus: int
    sockets: int
    memory_bytes: int
    clock_hz: int
    capacity_hz: int
    hypervisor: str

    @property
    def is_esxi(self) -> bool:
        return self.hypervisor.startswith("esxi")


class _Builder:
    """One conversion: the scenario so far, and what has to be told about it."""

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self.hosts: dict[str, Any] = {}
        self.places: dict[str, _Place] = {}
        self.workloads: dict[str, Any] = {}
        self.told: dict[tuple[str, str, bool], list[str]] = {}

    def build(self) -> tuple[dict[str, Any], list[Assumption]]:
        self.add_hosts()
        vms = self.machines()
        keys = _keys([vm.name for vm in vms], "vm")
        pairs = list(zip(keys, vms, strict=True))
        reservations = self.reservations(pairs)
        crowded = self.crowded(vms)
        self.workload_keys = {"measured", "assumed", *(f"busy-{percent}" for percent in range(1, 101))}
        entries = {key: self.machine(key, vm, reservations.get(key, 0), crowded) for key, vm in pairs}
        rules = self.rules(pairs)
        self.tell_of_the_whole(vms)
        scenario: dict[str, Any] = {
            "name": self.name(),
            "description": "",
            "run": dict(RUN),
            "hosts": self.hosts,
            "vms": entries,
            "workloads": dict(sorted(self.workloads.items())),
        }
        if rules:
            scenario["rules"] = rules
        assumptions = [*self.inventory.assumptions, *self.assumptions(MOST_NAMES)]
        scenario["description"] = self.description(len(entries))
        return scenario, assumptions

    # what is told

    def tell(self, kind: str, text: str, name: str, named: bool = True) -> None:
        """Note that `text` holds for the `kind` (`host`, `machine`, `rule`) of this name."""
        self.told.setdefault((kind, text, named), []).append(outside.name(name) or "(without a name)")

    def assumptions(self, most_names: int) -> list[Assumption]:
        totals = {"host": len(self.inventory.hosts), "machine": len(self.inventory.vms)}
        return [
            Assumption(_subject(kind, names, totals.get(kind), most_names if named else 0), text)
            for (kind, text, named), names in self.told.items()
        ]

    def description(self, machines: int) -> str:
        source = outside.name(self.inventory.source)
        lines = [f"Imported from {source} ({self.inventory.kind}): {len(self.hosts)} hosts, {machines} machines."]
        lines += ["Assumed, changed or left out:"]
        lines += [
            f"- {_line(each.subject)}: {_line(each.text)}"
            for each in [*self.inventory.assumptions, *self.assumptions(8)]
        ]
        if self.inventory.gaps:
            lines += ["Missing in the source:"]
            lines += [f"- {_line(gap.what)}: costs {_line(gap.costs)}" for gap in self.inventory.gaps]
        text = ""
        for position, line in enumerate(lines):
            if len(text) + len(line) > MOST_DESCRIPTION:
                return f"{text}and {len(lines) - position} more lines, which `hypertwin import` prints\n"
            text += f"{line}\n"
        return text

    def name(self) -> str:
        stem = PurePath(self.inventory.source.rstrip("/").rpartition("/")[2]).stem
        return _slug(stem) or self.inventory.kind or "imported"

    def tell_of_the_whole(self, vms: Sequence[Vm]) -> None:
        if not vms:
            return
        self.tell("all", "bursts of 10 million cycles (4 ms at 2.5 GHz): a mean does not say how long they are", "")
        self.tell("all", "I/O takes no time of its own: what is behind the datastores is not known", "")
        for over, count in Counter(
            vm.demand.over for vm in vms if vm.demand is not None and vm.demand.over
        ).most_common(3):
            self.tell("all", f"demand of {count} machines: {over}", "")

    # hosts

    def add_hosts(self) -> None:
        usable: list[tuple[Host, dict[str, Any], _Place]] = []
        seen = set()
        needed = {vm.host for vm in self.inventory.vms if vm.powered_on and not vm.is_template}
        for host in sorted(self.inventory.hosts, key=lambda host: host.name):
            if host.name in seen:
                self.tell("host", "left out: another host has the same name", host.name)
            elif host.in_maintenance and host.name not in needed:
                self.tell("host", "left out: in maintenance mode, without machines", host.name)
            else:
                made = self.host(host)
                if made is not None:
                    usable.append((host, *made))
            seen.add(host.name)
        if not usable:
            why = next((f" ({text})" for kind, text, _ in self.told if kind == "host"), "")
            value = f"{len(self.inventory.hosts)} hosts, none usable{why}" if self.inventory.hosts else "no host"
            hint = "export all of it, hosts included"
            outside.refuse(self.inventory.source, "", value, "at least one host", hint, "source-lacks")
        if len(usable) > MOST_MACHINES:
            self.too_many("hosts", len(usable), MOST_MACHINES)
        for key, (host, entry, place) in zip(
            _keys(_short_names([host.name for host, *_ in usable]), "host"), usable, strict=True
        ):
            label = outside.name(host.name)
            self.hosts[key] = {**({"label": Quoted(label)} if label and label != key else {}), **entry}
            self.places[host.name] = replace(place, key=key)

    def host(self, host: Host) -> tuple[dict[str, Any], _Place] | None:
        cores, nodes = host.sockets * host.cores_per_socket, host.sockets
        if host.numa_nodes and host.numa_nodes != host.sockets:
            if 1 <= host.numa_nodes <= _SOCKETS and cores % host.numa_nodes == 0:
                nodes = host.numa_nodes
                self.tell("host", "more or fewer NUMA nodes than sockets: each node is written as a socket", host.name)
            else:
                self.tell("host", "NUMA nodes that do not divide its cores: each socket is taken for one", host.name)
        if not (1 <= nodes <= _SOCKETS and cores >= 1 and cores // nodes <= _CORES):
            self.tell("host", f"left out: {host.sockets} sockets of {host.cores_per_socket} cores", host.name)
            return None
        memory = host.memory_bytes // nodes // MIB * MIB
        if not MIB <= memory <= _MOST_BYTES:
            self.tell("host", "left out: no plausible memory", host.name)
            return None
        threads = min(max(host.threads_per_core, 1), 2)
        if threads != host.threads_per_core:
            self.tell(
                "host", f"{host.threads_per_core} threads of a core: {threads}, as scenarios have 1 or 2", host.name
            )
        if host.in_maintenance:
            self.tell("host", "in maintenance mode, kept because machines run on it", host.name)
        clock, hypervisor = self.clock(host), self.hypervisor(host)
        entry: dict[str, Any] = {"sockets": nodes, "cores_per_socket": cores // nodes}
        if threads != 2:
            entry["threads_per_core"] = threads
        entry |= {"clock": _frequency(clock), "memory_per_node": _size(memory), "hypervisor": hypervisor}
        place = _Place("", cores * threads, nodes, memory * nodes, clock, cores * clock, hypervisor)
        return entry, place

    def clock(self, host: Host) -> int:
        if host.clock_hz is not None and _LEAST_CLOCK_HZ <= host.clock_hz <= _MOST_CLOCK_HZ:
            return round(host.clock_hz)
        found = _MODEL_CLOCK.search(host.cpu_model or "")
        if found:
            hz = float(found[1]) * (1e9 if found[2] in "gG" else 1e6)
            if _LEAST_CLOCK_HZ <= hz <= _MOST_CLOCK_HZ:
                self.tell("host", "clock from the name of the CPU model", host.name)
                return round(hz)
        self.tell("host", "clock not known: 2.5 GHz assumed", host.name)
        return DEFAULT_CLOCK_HZ

    def hypervisor(self, host: Host) -> str:
        written = outside.name(host.hypervisor or "")
        name, exact = nearest_hypervisor(written)
        if not exact:
            said = f"hypervisor {outside.short(written, 60)}" if written else "hypervisor not known"
            self.tell("host", f"{said}: taken for {name}", host.name)
        return name

    # machines

    def machines(self) -> list[Vm]:
        """The machines that the scenario has, by name."""
        kept = []
        hosts = list(self.places.values())
        listed = {host.name for host in self.inventory.hosts}
        for vm in sorted(self.inventory.vms, key=lambda vm: (vm.name, vm.host or "")):
            if vm.is_template:
                self.tell("machine", "left out: templates", vm.name, named=False)
                continue
            if not vm.powered_on:
                self.tell("machine", "left out: not powered on", vm.name, named=False)
                continue
            if not (1 <= vm.vcpus <= _VCPUS and MIB <= vm.memory_bytes <= _MOST_BYTES):
                self.tell("machine", "left out: no plausible number of vCPUs or size of memory", vm.name)
                continue
            place = self.places.get(vm.host or "")
            candidates = [place] if place is not None else hosts
            if all(vm.vcpus > each.logical_cpus for each in candidates):
                self.tell("machine", "left out: more vCPUs than its host has logical CPUs", vm.name)
                continue
            if place is None:
                if not any(_fits(vm, each) for each in candidates):
                    self.tell("machine", "left out: its host is not known, and it fits no other", vm.name)
                    continue
                why = "its host was left out" if vm.host in listed else "its host is not in the source"
                self.tell("machine", f"{why if vm.host else 'no host is named'}: spread over all hosts", vm.name)
            elif vm.memory_bytes > place.memory_bytes:
                self.tell("machine", "more memory than its host: as much as that", vm.name)
                kept.append(replace(vm, memory_bytes=place.memory_bytes))
                continue
            kept.append(vm)
        if len(kept) > MOST_MACHINES:
            self.too_many("machines that are on", len(kept), MOST_MACHINES)
        vcpus = sum(vm.vcpus for vm in kept)
        if vcpus > MOST_VCPUS:
            self.too_many("vCPUs of machines that are on", vcpus, MOST_VCPUS)
        self.tell_of_memory(kept)
        return kept

    def tell_of_memory(self, vms: Iterable[Vm]) -> None:
        configured: Counter[str] = Counter()
        for vm in vms:
            if vm.host in self.places:
                configured[vm.host] += vm.memory_bytes
        for name, used in sorted(configured.items()):
            if used > self.places[name].memory_bytes:
                text = "more memory configured than there is: neither ballooning nor swapping is simulated"
                self.tell("host", text, name)

    def too_many(self, what: str, count: int, most: int) -> None:
        hint = "import one cluster at a time"
        allowed = f"at most {most} {what}"
        outside.refuse(self.inventory.source, "", f"{count} {what}", allowed, hint, "source-too-large")

    def reservations(self, pairs: Iterable[tuple[str, Vm]]) -> dict[str, int]:
        """The reservation of each machine that has one, in Hz; no host has more reserved than it can give."""
        asked: dict[str, dict[str, int]] = {}
        for key, vm in pairs:
            hz = _hz(vm.reservation_mhz)
            if not hz:
                continue
            place = self.places.get(vm.host or "")
            if place is None:
                self.tell("machine", "reservation left out: it is not known on which host", vm.name)
            elif not place.is_esxi:
                self.tell("machine", "reservation left out: Linux has none for CPU", vm.name)
            else:
                asked.setdefault(vm.host or "", {})[key] = hz
        given: dict[str, int] = {}
        for host, by_key in asked.items():
            total, capacity = sum(by_key.values()), self.places[host].capacity_hz
            if total > capacity:
                self.tell("host", "more CPU reserved than it has: all its reservations are cut alike", host)
            given |= {key: hz * min(capacity, total) // total for key, hz in by_key.items()}
        return given

    def crowded(self, vms: Iterable[Vm]) -> set[str]:
        """Hosts whose machines want so much together that open loads could grow without end."""
        wanted: Counter[str] = Counter()
        for vm in vms:
            if vm.host in self.places and vm.demand is not None:
                wanted[vm.host] += _hz(vm.demand.cpu_mhz)
        crowded = {name for name, hz in wanted.items() if hz > OPEN_HOST_UP_TO * self.places[name].capacity_hz}
        for name in sorted(crowded):
            text = "machines demand more than 85 % of its cores: their load is closed, so that it cannot pile up"
            self.tell("host", text, name)
        return crowded

    def machine(self, key: str, vm: Vm, reservation_hz: int, crowded: set[str]) -> dict[str, Any]:
        place = self.places.get(vm.host or "")
        label = outside.name(vm.name)
        entry: dict[str, Any] = {"label": Quoted(label)} if label and label != key else {}
        entry |= self.size(vm, place)
        entry |= self.entitlement(vm, reservation_hz)
        if place is not None:
            entry["host"] = place.key
        if vm.affinity:
            if place is not None and _affinity_is_sound(vm.affinity, place.logical_cpus):
                entry["affinity"] = Quoted(vm.affinity)
            else:
                self.tell("machine", "affinity left out: not logical CPUs of its host", vm.name)
        if vm.storage_appliance:
            entry["storage_appliance"] = True
        clock = place.clock_hz if place is not None else min(each.clock_hz for each in self.places.values())
        entry["workload"], entry["load"] = self.load(key, vm, clock, vm.host in crowded)
        return entry

    def size(self, vm: Vm, place: _Place | None) -> dict[str, Any]:
        entry: dict[str, Any] = {"vcpus": vm.vcpus}
        if vm.cores_per_socket is not None and vm.cores_per_socket > 1:
            if vm.vcpus % vm.cores_per_socket == 0:
                entry["cores_per_socket"] = vm.cores_per_socket
            else:
                self.tell("machine", "cores per socket left out: they do not divide its vCPUs", vm.name)
        entry["memory"] = _size(vm.memory_bytes)
        if vm.cpu_hot_add:
            if any(each.is_esxi for each in (self.places.values() if place is None else (place,))):
                entry["cpu_hot_add"] = True
            else:
                self.tell("machine", "CPU hot-add left out: an option of ESXi", vm.name)
        numa = self.numa(vm, place)
        if numa:
            entry["numa"] = numa
        return entry

    def entitlement(self, vm: Vm, reservation_hz: int) -> dict[str, Any]:
        """Shares, reservation and limit, where they are not the default."""
        entry: dict[str, Any] = {}
        shares = self.shares(vm)
        if shares != "normal":
            entry["shares"] = shares
        if reservation_hz:
            entry["reservation"] = _frequency(reservation_hz)
        limit_hz = _hz(vm.limit_mhz)
        if limit_hz:
            if limit_hz < reservation_hz:
                self.tell("machine", "limit under the reservation: raised to it", vm.name)
            entry["limit"] = _frequency(max(limit_hz, reservation_hz, 1_000_000))
        return entry

    def shares(self, vm: Vm) -> str | int:
        if vm.shares is None or vm.shares in ("low", "normal", "high"):
            return vm.shares or "normal"
        if isinstance(vm.shares, int) and 1 <= vm.shares <= 1_000_000:
            return "normal" if vm.shares == 1000 * vm.vcpus else vm.shares
        self.tell("machine", "shares that a machine cannot have: normal", vm.name)
        return "normal"

    def numa(self, vm: Vm, place: _Place | None) -> dict[str, Any]:
        """The options of virtual NUMA that its host's hypervisor has, with values that make sense."""
        kept: dict[str, Any] = {}
        for option, value in vm.numa.items():
            sound = place is not None and _numa_is_sound(option, value, vm, place)
            if sound:
                kept[option] = tuple(value) if isinstance(value, list | tuple) else value
            else:
                text = f"numa.{outside.short(outside.name(str(option)), 40)} left out: not for its host"
                self.tell("machine", text, vm.name)
        if "nodes" in kept and len(kept["nodes"]) != len(kept.get("cells", ())):
            del kept["nodes"]
            self.tell("machine", "numa.nodes left out: not one for each of its cells", vm.name)
        return kept

    # load

    def load(self, key: str, vm: Vm, clock_hz: int, crowded: bool) -> tuple[str, float]:
        """The workload of a machine, and its `load`."""
        demand = vm.demand
        if demand is None or not math.isfinite(demand.cpu_mhz) or demand.cpu_mhz < 0:
            self.tell("machine", "no measured demand: 5 % of the vCPUs assumed", vm.name, named=False)
            self.workloads.setdefault("assumed", _open())
            return "assumed", _rounded(LIGHT_LOAD * vm.vcpus * clock_hz / 1e9)
        iops = demand.iops if demand.iops is not None and math.isfinite(demand.iops) else None
        if iops is not None and not 0 <= iops <= MOST_IOPS:
            self.tell("machine", "implausible I/O operations per second left out", vm.name)
            iops = None
        busy = demand.cpu_mhz * 1e6 / (vm.vcpus * clock_hz)
        percent = min(round(busy * 100), 100)
        if busy > 1:
            self.tell("machine", "demand over all its vCPUs at nominal clock (turbo): all of them busy", vm.name)
        if (crowded or busy > OPEN_UP_TO) and percent >= 1:
            if busy > OPEN_UP_TO:
                text = "demand over half of its vCPUs: a closed load of one process per vCPU, which cannot pile up"
                self.tell("machine", text, vm.name)
            workload, load = _closed(percent), float(vm.vcpus)
            shared = f"busy-{percent}"
            per_transaction = (iops or 0) * BURST_CYCLES / DEFAULT_CLOCK_HZ / (percent / 100) / vm.vcpus
        else:
            load = _rounded(max(demand.cpu_mhz / 1000, 0.001 if iops else 0))
            rate = max(1e9 / BURST_CYCLES, math.ceil((iops or 0) / load / MOST_IOS) if load else 0)
            workload, shared = _open(rate), "measured"
            per_transaction = (iops or 0) / load / rate if load else 0
        if iops:
            own = _free(key, self.workload_keys)
            self.workload_keys.add(own)
            self.workloads[own] = {**workload, "ios": _rounded(min(per_transaction, 1e6))}
            return own, load
        self.workloads.setdefault(shared, workload)
        return shared, load

    # rules

    def rules(self, pairs: Iterable[tuple[str, Vm]]) -> list[dict[str, Any]]:
        keys: dict[str, list[str]] = {}
        for key, vm in pairs:
            keys.setdefault(vm.name, []).append(key)
        made: list[dict[str, Any]] = []
        for rule in self.inventory.rules:
            about_hosts = rule.kind in ("run-on", "not-on")
            vms = tuple(dict.fromkeys(key for name in rule.vms for key in keys.get(name, ())))
            hosts = tuple(dict.fromkeys(self.places[name].key for name in rule.hosts if name in self.places))
            if rule.kind not in ("keep-together", "keep-apart", "run-on", "not-on"):
                self.tell("rule", "left out: of an unknown kind", rule.name)
            elif not vms or (about_hosts and not hosts) or (not about_hosts and len(vms) < 2):
                self.tell("rule", "left out: fewer machines or hosts in the scenario than it is about", rule.name)
            elif len(made) == MOST_MACHINES:
                self.tell("rule", f"left out: more than {MOST_MACHINES}", rule.name, named=False)
            else:
                entry: dict[str, Any] = {"name": Quoted(outside.name(rule.name) or "(without a name)")}
                entry |= {"kind": rule.kind, "vms": vms[:MOST_MACHINES]}
                if about_hosts:
                    entry["hosts"] = hosts
                if rule.mandatory:
                    entry["mandatory"] = True
                made.append(entry)
        return made


def nearest_hypervisor(text: str) -> tuple[str, bool]:
    """The scenario's name for a hypervisor as its system calls it, and whether it is that one."""
    version = _VERSION.search(text)
    numbers = (int(version[1]), int(version[2]), int(version[3] or 0)) if version else None
    lower = text.lower()
    if "esx" in lower and numbers is not None:
        if (7, 0, 2) <= numbers < (8,):
            return "esxi-7.0u2", True
        return _at_most(ESXI, numbers)
    if "linux" in lower and numbers is not None:
        return _at_most(LINUX, numbers)
    if any(word in lower for word in ("linux", "qemu", "kvm", "pve", "proxmox", "libvirt", "test")):
        return "linux-6.12", False
    return "esxi-8.0", False


def _at_most(known: Mapping[tuple[int, int], str], numbers: tuple[int, int, int]) -> tuple[str, bool]:
    """The newest of `known` that is not newer, else the oldest; exact if major and minor are the same."""
    older = [version for version in known if version <= numbers[:2]]
    nearest = max(older, default=min(known))
    return known[nearest], nearest == numbers[:2]


def _open(rate_per_s: float = 1e9 / BURST_CYCLES) -> dict[str, Any]:
    """Bursts that come whatever happens to earlier ones; a load of 1 is 1 GHz."""
    return {
        "arrivals": {"open": {"rate": f"{rate_per_s:.0f} /s"}},
        "cpu": {"mean": _duration(1 / rate_per_s)},
        "reference_clock": "1 GHz",
    }


def _closed(percent: int) -> dict[str, Any]:
    """A process that wants `percent` of a vCPU of its own, at any clock; a load of n is n such processes."""
    burst_s = BURST_CYCLES / DEFAULT_CLOCK_HZ
    arrivals: dict[str, Any] = {"population": 1}
    if percent < 100:
        arrivals["think"] = {"mean": _duration(burst_s * (100 - percent) / percent)}
    return {"arrivals": {"closed": arrivals}, "cpu": {"mean": _duration(burst_s)}}


def _fits(vm: Vm, place: _Place) -> bool:
    return vm.vcpus <= place.logical_cpus and vm.memory_bytes <= place.memory_bytes


def _numa_is_sound(option: str, value: object, vm: Vm, place: _Place) -> bool:
    """Whether a scenario takes this option of `vms.NAME.numa`, with this value, for a machine on this host."""
    linux, since_65, since_80 = not place.is_esxi, place.hypervisor >= "esxi-6.5", place.hypervisor >= "esxi-8.0"

    def flag(value: object) -> bool:
        return isinstance(value, bool)

    def whole(value: object, most: int = _VCPUS, least: int = 1) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    def several(value: object) -> bool:
        return isinstance(value, list | tuple) and 1 <= len(value) <= 128

    def host(value: object) -> bool:
        return (
            isinstance(value, dict)
            and value.keys() == {"sockets", "cores_per_socket"}
            and whole(value["sockets"], _SOCKETS)
            and whole(value["cores_per_socket"], _CORES)
        )

    def cells(value: Any) -> bool:
        return several(value) and all(whole(cell) for cell in value) and sum(value) == vm.vcpus

    def nodes(value: Any) -> bool:
        return several(value) and all(whole(node, place.sockets - 1, 0) for node in value)

    options: dict[str, tuple[bool, Callable[[object], bool]]] = {
        "prefer_ht": (place.is_esxi, flag),
        "follow_cores_per_socket": (place.is_esxi and since_65, flag),
        "vcpu_min": (place.is_esxi, whole),
        "max_per_virtual_node": (place.is_esxi, whole),
        "cores_per_node": (place.is_esxi and since_80, whole),
        "expose_on_cpu_hot_add": (place.is_esxi and since_80, flag),
        "sized_on": (place.is_esxi and not since_80, host),
        "cells": (linux, cells),
        "nodes": (linux, nodes),
    }
    available, sound = options.get(option, (False, flag))
    return available and sound(value)


def _affinity_is_sound(text: str, logical_cpus: int) -> bool:
    if len(text) > 10_000 or not text.isascii() or not _AFFINITY.match(text):
        return False
    ranges = [[int(number) for number in part.split("-")] for part in text.split(",")]
    return all(first_last[0] <= first_last[-1] < logical_cpus for first_last in ranges)


def _hz(mhz: float | None) -> int:
    """Whole Hz of a plausible number of MHz, else 0."""
    return round(mhz * 1e6) if mhz is not None and math.isfinite(mhz) and 0 < mhz <= _MOST_MHZ else 0


def _frequency(hz: int) -> str:
    for unit, size in (("GHz", 10**9), ("MHz", 10**6)):
        if hz % (size // 100) == 0 and hz >= size:
            return f"{hz / size:g} {unit}"
    return f"{hz} Hz"


def _duration(seconds: float) -> str:
    """To a microsecond, or to a nanosecond where it is short."""
    for unit, size in (("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{round(seconds / size, 3):.10g} {unit}"
    return f"{max(round(seconds * 1e9), 1)} ns"


def _size(number_of_bytes: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if number_of_bytes % size == 0:
            return f"{number_of_bytes // size} {unit}"
    return f"{number_of_bytes} B"


def _rounded(value: float) -> float:
    """A number as short as its meaning allows."""
    return float(f"{value:.4g}")


def _line(text: str) -> str:
    return " ".join(text.split())


def _subject(kind: str, names: Sequence[str], total: int | None, most_names: int) -> str:
    """`machine db`, `all 800 machines`, `3 hosts (a, b, c)`, `60 machines (a, b, ... and 10 more)`."""
    if kind == "all":
        return "all"
    count = len(names)
    if count == 1 and most_names:
        return f"{kind} {names[0]}"
    counted = f"{count} {kind}{'s' if count != 1 else ''}"
    if count == total:
        return f"all {counted}"
    if not most_names:
        return counted
    listed = ", ".join(names[:most_names])
    more = f" and {count - most_names} more" if count > most_names else ""
    return f"{counted} ({listed}{more})"


def _short_names(names: Sequence[str]) -> list[str]:
    """Host names without their domain, where that leaves them different and they are no addresses."""
    first = [name.split(".")[0] for name in names]
    counts = Counter(label.lower() for label in first)
    return [
        label if counts[label.lower()] == 1 and not label.isdigit() else name
        for label, name in zip(first, names, strict=True)
    ]


def _slug(name: str) -> str:
    """A name of the characters that names in a scenario have, as near as it can be; empty if nothing is left."""
    plain = unicodedata.normalize("NFKD", name[:1024]).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[^A-Za-z0-9_]+", "-", plain).strip("-_")[:64].rstrip("-_")


def _keys(names: Sequence[str], fallback: str) -> list[str]:
    """A key for each name, all different: the name's slug, numbered where several have the same."""
    slugs = [_slug(name) or fallback for name in names]
    counts = Counter(slugs)
    taken = {slug for slug, count in counts.items() if count == 1}
    numbers: Counter[str] = Counter()
    keys = []
    for slug in slugs:
        key = slug
        while counts[slug] > 1:
            numbers[slug] += 1
            suffix = f"-{numbers[slug]}"
            key = f"{slug[: 64 - len(suffix)]}{suffix}"
            if key not in taken:
                taken.add(key)
                break
        keys.append(key)
    return keys


def _free(key: str, taken: set[str]) -> str:
    """`key`, or the first of `key-2`, `key-3` ... that is not taken."""
    candidate, number = key, 1
    while candidate in taken:
        number += 1
        suffix = f"-{number}"
        candidate = f"{key[: 64 - len(suffix)]}{suffix}"
    return candidate
