"""Hosts of an inventory as hosts of a scenario.

A host has its measured CPU and memory use. Use that VMs do not explain is that of the hypervisor: `hypervisor_memory`
and CPU overhead.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from hypertwin.files.yaml_writing import Quoted
from hypertwin.ingest import outside
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import ASSUMED_CLOCK_HZ, Host, Inventory
from hypertwin.ingest.to_scenario import hypervisor, names
from hypertwin.ingest.to_scenario.clusters import DEFAULT, Clusters
from hypertwin.ingest.to_scenario.measured import of_host
from hypertwin.ingest.to_scenario.yaml_text import frequency, memory_size
from hypertwin.language import hypervisors, limits
from hypertwin.members import HypervisorFacts

MIB = 2**20
POWER_POLICIES = ("high-performance", "balanced", "low-power", "custom", "not-managed")
MOST_MODEL = 200
"""Maximum characters of the name of a CPU model."""
MOST_GENERATION = 100
"""Maximum characters of the name of a CPU generation."""
_MODEL_CLOCK = re.compile(r"@ *([0-9]{1,5}(?:\.[0-9]{1,4})?) *([GM])Hz", re.IGNORECASE)


@dataclass(frozen=True)
class ScenarioHost:
    """A host in the form of the scenario."""

    sockets: int
    cores_per_socket: int
    nodes_per_socket: int
    """NUMA nodes of one socket."""
    threads_per_core: int
    memory_per_node: int
    clock_hz: int
    hypervisor: str
    source: Host
    """Host in the inventory."""
    cluster: str
    """Key of its cluster."""
    key: str = ""

    @property
    def name(self) -> str:
        """Name in the inventory."""
        return self.source.name

    @property
    def nodes(self) -> int:
        """NUMA nodes."""
        return self.sockets * self.nodes_per_socket

    @property
    def cores(self) -> int:
        """Cores of all nodes."""
        return self.sockets * self.cores_per_socket

    @property
    def logical_cpus(self) -> int:
        """Logical CPUs of all nodes."""
        return self.sockets * self.cores_per_socket * self.threads_per_core

    @property
    def memory_bytes(self) -> int:
        """Memory of all nodes."""
        return self.nodes * self.memory_per_node

    @property
    def capacity_hz(self) -> int:
        """Cores x clock."""
        return self.sockets * self.cores_per_socket * self.clock_hz

    @property
    def options(self) -> HypervisorFacts:
        """Settings of its hypervisor."""
        return hypervisors()[self.hypervisor]

    def entry(self, overhead: Mapping[str, float], hypervisor_memory: int) -> dict[str, Any]:
        """Return the entry in `hosts`, with the work and the memory of the hypervisor, in the order of the schema."""
        label = outside.name(self.name)
        entry: dict[str, Any] = {"label": Quoted(label)} if label and label != self.key else {}
        if self.cluster != DEFAULT:
            entry["cluster"] = self.cluster
        entry |= {"sockets": self.sockets, "cores_per_socket": self.cores_per_socket}
        if self.nodes_per_socket != 1:
            entry["nodes_per_socket"] = self.nodes_per_socket
        if self.threads_per_core != 2:
            entry["threads_per_core"] = self.threads_per_core
        entry |= {"clock": frequency(self.clock_hz), "memory_per_node": memory_size(self.memory_per_node)}
        if hypervisor_memory:
            entry["hypervisor_memory"] = memory_size(hypervisor_memory)
        entry["hypervisor"] = self.hypervisor
        if overhead:
            entry["overhead"] = dict(overhead)
        return entry | self._facts()

    def hardware(self) -> dict[str, Any]:
        """Return the part of its entry that limits VMs."""
        memory = memory_size(self.memory_per_node)
        return {
            **{"sockets": self.sockets, "cores_per_socket": self.cores_per_socket},
            **({"nodes_per_socket": self.nodes_per_socket} if self.nodes_per_socket != 1 else {}),
            **{"threads_per_core": self.threads_per_core, "clock": frequency(self.clock_hz)},
            **{"memory_per_node": memory, "hypervisor": self.hypervisor},
        }

    def _facts(self) -> dict[str, Any]:
        """Return facts from its source that no simulation uses."""
        source = self.source
        facts: dict[str, Any] = {}
        if source.processors is not None and source.processors != self.sockets and 1 <= source.processors <= 16:
            facts["processors"] = source.processors
        if outside.name(source.cpu_model or ""):
            facts["cpu_model"] = Quoted(outside.name(source.cpu_model or "")[:MOST_MODEL])
        if source.hyper_threading_available is not None:
            facts["hyper_threading_available"] = source.hyper_threading_available
        if source.power_policy in POWER_POLICIES:
            facts["power_policy"] = source.power_policy
        for key, generation in (("evc", source.evc), ("evc_most", source.evc_most)):
            if outside.name(generation or ""):
                facts[key] = Quoted(outside.name(generation or "")[:MOST_GENERATION])
        measured = of_host(source)
        return facts | ({"measured": measured} if measured else {})


def by_cluster(hosts: Iterable[ScenarioHost]) -> dict[str, list[str]]:
    """Return the hypervisor of each host, by cluster."""
    found: dict[str, list[str]] = {}
    for host in hosts:
        found.setdefault(host.cluster, []).append(host.hypervisor)
    return found


def convert(inventory: Inventory, clusters: Clusters, notes: ImportNotes) -> list[ScenarioHost]:
    """Return the valid hosts for a scenario, by name, including those in maintenance.

    Raises SourceError if there is none.
    """
    usable: list[ScenarioHost] = []
    seen = set()
    for host in sorted(inventory.hosts, key=lambda host: (host.name, host.cluster or "", host.datacenter or "")):
        cluster = clusters.of_host(host)
        if (host.name, cluster) in seen:
            notes.host(host.name, "left out: another host has the same name")
            continue
        seen.add((host.name, cluster))
        made = _convert(host, cluster, notes)
        if made is not None:
            usable.append(made)
            if clusters.stands_alone(host):
                notes.host(host.name, "in no cluster: imported as a cluster of its own")
    if not usable:
        refuse_none(inventory, notes)
    keys = names.keys(names.short_host_names([host.name for host in usable]), "host")
    return [replace(host, key=key) for key, host in zip(keys, usable, strict=True)]


def refuse_none(inventory: Inventory, notes: ImportNotes) -> NoReturn:
    """Raise the SourceError for an inventory without a usable host."""
    why = next((note.text for note in notes.names if note.kind == "host"), None)
    value = f"{len(inventory.hosts)} hosts, none usable{f' ({why})' if why else ''}"
    hint = "export everything, hosts included"
    outside.Source(inventory.source).lacks(value if inventory.hosts else "no host", "at least one host", hint)


def in_use(hosts: Iterable[ScenarioHost], needed: Container[str], notes: ImportNotes) -> list[ScenarioHost]:
    """Return the hosts, except those in maintenance without a VM of `needed` (keys)."""
    kept = []
    for host in hosts:
        if not host.source.in_maintenance or host.key in needed:
            kept.append(host)
            if host.source.in_maintenance:
                notes.host(host.name, "in maintenance mode, kept because VMs run on it")
        else:
            notes.host(host.name, "left out: in maintenance mode, without VMs")
    return kept


def _convert(host: Host, cluster: str, notes: ImportNotes) -> ScenarioHost | None:
    most = limits()
    sockets, per_socket, nodes_each = host.sockets, host.cores_per_socket, 1
    is_flat = host.numa_nodes is None and per_socket == 1  # as a hypervisor presents vCPUs to a nested host
    nodes = 1 if is_flat else host.numa_nodes or sockets
    if nodes > sockets >= 1 and nodes % sockets == 0 and per_socket % (nodes // sockets) == 0:
        nodes_each = nodes // sockets
    elif 1 <= nodes < sockets and sockets * per_socket % nodes == 0:
        sockets, per_socket = nodes, sockets * per_socket // nodes
        text = f"{host.sockets} sockets of one core: assumed one NUMA node; check with `lscpu`, set hosts.NAME.sockets"
        notes.host(host.name, text if is_flat else "fewer NUMA nodes than sockets: each node is imported as a socket")
    elif nodes != sockets:
        notes.host(host.name, f"{nodes} NUMA nodes do not divide its sockets: assumed one node per socket")
    is_sound = 1 <= sockets <= most.sockets and 1 <= per_socket <= most.cores_per_socket
    if not (is_sound and nodes_each <= most.nodes_per_socket):
        notes.host(host.name, f"left out: {host.sockets} sockets of {host.cores_per_socket} cores")
        return None
    memory = host.memory_bytes // (sockets * nodes_each) // MIB * MIB
    if not most.least_memory_bytes <= memory <= most.memory_bytes:
        notes.host(host.name, "left out: no plausible memory")
        return None
    threads = min(max(host.threads_per_core, 1), 2)
    if threads != host.threads_per_core:
        notes.host(
            host.name, f"{host.threads_per_core} threads per core: imported as {threads} (scenarios have 1 or 2)"
        )
    clock, runs = _clock_hz(host, notes), _hypervisor(host, notes)
    return ScenarioHost(sockets, per_socket, nodes_each, threads, memory, clock, runs, host, cluster)


def _clock_hz(host: Host, notes: ImportNotes) -> int:
    least, most = limits().least_clock_hz, limits().clock_hz
    if host.clock_hz is not None and least <= host.clock_hz <= most:
        return round(host.clock_hz)
    found = _MODEL_CLOCK.search(host.cpu_model or "")
    if found:
        hz = float(found[1]) * (1e9 if found[2] in "gG" else 1e6)
        if least <= hz <= most:
            notes.host(host.name, "clock from the name of the CPU model")
            return round(hz)
    notes.host(host.name, f"clock unknown: assumed {ASSUMED_CLOCK_HZ / 1e9:g} GHz")
    return ASSUMED_CLOCK_HZ


def _hypervisor(host: Host, notes: ImportNotes) -> str:
    name, note = hypervisor.nearest(host.hypervisor or "")
    if note is not None:
        notes.host(host.name, note)
    return name
