"""Search for the best topology of one VM on a host, with its advantage over naive choices.

There are five rules. A VM has one vCPU per physical core, without hyper-threads. Peak demand is 80 % of the vCPUs.
vCPUs and memory are split evenly over the fewest NUMA nodes that hold them, with an even count over several nodes.
Virtual sockets are as large as virtual nodes. CPU hot-add is off on several nodes. Sources: "Virtualizing large
databases - VMware CPU capacity planning" (InterSystems community, 2017); VMware, "Performance Best Practices for VMware
vSphere 8.0", on virtual CPUs and NUMA. The core's model of virtual NUMA (`hypertwin.scenario.virtual_numa`) evaluates
every candidate, and the advice is the candidate with the best findings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, cast

from hypertwin import _core, language, members, scenario
from hypertwin.arguments import Option
from hypertwin.documents import plan as documents
from hypertwin.documents.vnuma import Layout, LayoutWarning
from hypertwin.errors import Mistake, ScenarioError, fail
from hypertwin.naming import counted
from hypertwin.plan import snippets
from hypertwin.scenario import virtual_numa

PEAK_UTILIZATION = 0.8
"""Fraction of its vCPUs that a VM can use at its peak."""

MEMORY_STEP_MIB = 4
"""Memory step of ESXi in MiB."""

GIB = 1024**3

_COMPACT = re.compile(r"([0-9]{1,3})x([0-9]{1,3})(?:x([0-9]))?(?:@(.+))?")
_CORES = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_HOST_FORMS = "SOCKETSxCORES[xTHREADS][@CLOCK], such as 2x12 or 2x12x2@2.5GHz, or SCENARIO.yaml:HOST"


def _file(host: str, _options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the scenario that contains the host."""
    return (host.rpartition(":")[0],)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Request to size a VM for a host."""

    host: Annotated[
        str, Option("2x12, 2x12x2@2.5GHz (sockets x cores x threads), or SCENARIO.yaml:HOST.", "HOST", files=_file)
    ] = field(kw_only=False)
    memory: Annotated[str, Option("Memory of the VM, e.g. 96GiB.", "SIZE")]
    vcpus: Annotated[int | None, Option("Requested vCPUs.", "N")] = None
    demand: Annotated[
        str | None, Option("Peak CPU demand in cores or GHz; the VM is sized for 80% load at this peak.", "D")
    ] = None
    node_memory: Annotated[
        str | None, Option("Memory of one NUMA node (default: 128 GiB, or 10 GiB per core if more).", "SIZE")
    ] = None
    nodes_per_socket: Annotated[
        int | None, Option("NUMA nodes of one socket: AMD NPS, Intel sub-NUMA clustering (default: 1).", "N")
    ] = None
    hypervisor: Annotated[
        str | None,
        Option(
            "Hypervisor and version (default: esxi-8.0, or linux-6.12 for a --snippet of KVM).",
            "NAME",
            offered=language.hypervisors,
        ),
    ] = None
    reserved_cores: Annotated[int, Option("Cores reserved for other software, e.g. hyperconverged storage.", "N")] = 0
    name: Annotated[str, Option("VM name in the text to paste; for qm, the VM number.", "NAME")] = snippets.PLACEHOLDER
    bind: Annotated[bool, Option("libvirt, qm, qemu: bind each virtual node to its host node.")] = False

    def advice(self, snippet: str | None = None) -> Advice:
        """Return the advice for the VM. If the hypervisor is unknown, the snippet target `snippet` determines it."""
        found = find_host(
            self.host,
            hypervisor=self.hypervisor,
            node_memory=self.node_memory,
            nodes_per_socket=self.nodes_per_socket,
            snippet=snippet,
        )
        return advise(
            found, memory=self.memory, vcpus=self.vcpus, demand=self.demand, reserved_cores=self.reserved_cores
        )


@dataclass(frozen=True)
class Host:
    """Properties of a host that are needed to size a VM."""

    hypervisor: str
    """Hypervisor with version as in scenarios, such as `esxi-8.0`."""
    sockets: int
    cores_per_socket: int
    threads_per_core: int = 2
    node_memory: str | None = None
    """Memory of one node, such as `128 GiB`, or None for the default of `hypertwin.scenario.virtual_numa.layout`."""
    clock_hz: int | None = None
    """Nominal clock in Hz, or None if unknown."""
    name: str = "host"
    others: tuple[Host, ...] | None = None
    """Hosts to which a VM can fail over, or None if unknown."""
    nodes_per_socket: int = 1
    """Number of NUMA nodes of one socket."""

    @property
    def cores(self) -> int:
        """Number of physical cores."""
        return self.sockets * self.cores_per_socket

    @property
    def nodes(self) -> int:
        """Number of NUMA nodes."""
        return self.sockets * self.nodes_per_socket

    @property
    def cores_per_node(self) -> int:
        """Number of physical cores of one NUMA node."""
        return self.cores_per_socket // self.nodes_per_socket

    @property
    def options(self) -> members.HypervisorFacts:
        """Options of the hypervisor of the host."""
        return language.hypervisors()[self.hypervisor]

    @property
    def has_cells(self) -> bool:
        """True if the nodes of the guest are libvirt cells, set by hand. ESXi creates the nodes itself."""
        return "cells" in self.options.numa

    @property
    def sets_topology(self) -> bool:
        """True if the host assigns the topology at each power-on, as ESXi 8.0 and later do."""
        return "cores_per_node" in self.options.numa

    def layout(self, vcpus: int, memory: str, **settings: Any) -> Layout:
        """Return the virtual NUMA of a VM that is alone on this host. Raises ScenarioError."""
        try:
            return virtual_numa.layout(
                hypervisor=self.hypervisor,
                sockets=self.sockets,
                cores=self.cores_per_socket,
                threads=self.threads_per_core,
                nodes_per_socket=self.nodes_per_socket,
                node_memory=self.node_memory,
                vcpus=vcpus,
                memory=memory,
                **settings,
            )
        except ScenarioError as error:
            raise ScenarioError.of(_of_host(mistake) for mistake in error.mistakes) from None


def _of_host(mistake: Mistake) -> Mistake:
    """Return the problem, with arguments of `hypertwin.scenario.virtual_numa.layout` renamed to those of the host."""
    if mistake.path in ("sockets", "cores", "threads"):
        return replace(mistake, path="host", value=f"{mistake.value} {mistake.path}")
    return replace(mistake, hint="choose one of these") if mistake.code == "uneven-division" else mistake


@dataclass(frozen=True)
class Candidate:
    """Topology of the VM, with its evaluation by the model."""

    name: str
    """Name of the topology: `advised`, or the name of a naive choice such as `one core per socket`."""
    settings: Mapping[str, Any]
    """Arguments of `hypertwin.scenario.virtual_numa.layout` for this topology, besides vCPUs and memory."""
    layout: Layout
    """Document of `hypertwin.scenario.virtual_numa.layout`."""

    @property
    def vcpus(self) -> int:
        """Number of vCPUs."""
        return int(self.layout["vcpus"])

    @property
    def cores_per_socket(self) -> int:
        """Number of cores of one virtual socket."""
        return int(self.settings.get("cores_per_socket") or 1)

    @property
    def vpds(self) -> list[int]:
        """Number of vCPUs of each virtual node that the guest sees."""
        return list(self.layout["vpds"])

    @property
    def fits_node(self) -> bool:
        """True if vCPUs and memory are all on one node."""
        return len(set(self.layout["homes"])) == 1 and self.local_share == 1

    @property
    def local_share(self) -> float:
        """Fraction of the memory on the home node of the vCPUs that use the memory, at power-on, from 0 to 1."""
        return float(sum(client["local_bytes"] for client in self.layout["clients"]) / self.layout["memory_bytes"])

    @property
    def bandwidth_nodes(self) -> int:
        """Number of nodes whose memory bandwidth the busy VM gets. It is 1 if all NUMA clients settle on one node."""
        return len(set(self.layout["settled_homes"]))

    @property
    def warnings(self) -> list[LayoutWarning]:
        """Warnings of the model, each with `code` and `text`."""
        return list(self.layout["warnings"])

    def to_dict(self) -> documents.Candidate:
        """Return the JSON form."""
        return {
            "name": self.name,
            "vcpus": self.vcpus,
            "sockets": self.vcpus // self.cores_per_socket,
            "cores_per_socket": self.cores_per_socket,
            "settings": {key: value for key, value in self.settings.items() if key != "cores_per_socket"},
            "vpds": self.vpds,
            "ppds": list(self.layout["ppds"]),
            "homes": list(self.layout["homes"]),
            "fits_node": self.fits_node,
            "local_memory_pct": round(100 * self.local_share, 1),
            "bandwidth_nodes": self.bandwidth_nodes,
            "warnings": self.warnings,
        }


@dataclass(frozen=True)
class Advice:
    """Best topology, naive alternatives, and notes."""

    host: Host
    asked_vcpus: int | None
    """Requested number of vCPUs."""
    demand_cores: float | None
    """Given peak demand, in cores."""
    advised: Candidate
    alternatives: tuple[Candidate, ...]
    notes: tuple[str, ...]

    @property
    def text(self) -> str:
        """Advice in one sentence."""
        return _sentence(self.advised)

    def machine(self, name: str = snippets.PLACEHOLDER, *, bind: bool = False) -> snippets.Machine:
        """Return the advised topology for `hypertwin.plan.snippets`. `bind` ties each virtual node to its home node.

        Raises ScenarioError if a target does not accept the name.
        """
        if not snippets.NAME.fullmatch(name):
            hint = "take the name that the hypervisor shows, or its number for qm"
            fail(
                "bad-name", "name", name, "letters, digits, space, . _ - ( ), at most 80, first a letter or digit", hint
            )
        layout, cpus, threads = self.advised.layout, self.host.cores_per_node, self.host.threads_per_core
        step = MEMORY_STEP_MIB * snippets.MIB
        return snippets.Machine(
            vcpus=self.advised.vcpus,
            cores_per_socket=self.advised.cores_per_socket,
            memory_bytes=-(-layout["memory_bytes"] // step) * step,
            nodes=tuple(self.advised.vpds),
            name=name,
            settings={key: value for key, value in self.advised.settings.items() if key in snippets.VMX_KEYS},
            host_nodes=tuple(layout["homes"]) if bind else None,
            host_cpus=tuple(
                ",".join(
                    f"{thread * self.host.cores + node * cpus}-{thread * self.host.cores + (node + 1) * cpus - 1}"
                    for thread in range(threads)
                )
                for node in layout["homes"]
            ),
        )

    def snippets(
        self, name: str = snippets.PLACEHOLDER, *, bind: bool = False, only: str | None = None
    ) -> dict[str, str]:
        """Return the change as text by target, for the hypervisor of the host or for the target `only`.

        Raises ScenarioError.
        """
        family = self.host.options.family
        if only is not None:
            family = snippets.family(only)
        hypervisor = next(each for each in language.hypervisors().values() if each.family == family)
        if bind and "cells" not in hypervisor.numa:
            title = hypervisor.family_title
            hint = f"leave it out: {title} places its clients itself"
            fail("wrong-hypervisor", "bind", title, "libvirt, qm or qemu", hint)
        if only == "qm" and not name.isdecimal():
            fail("bad-name", "name", name, "a number", "qm names VMs by number, for example 105")
        machine = self.machine(name, bind=bind)
        return {target: write(machine) for target, write in snippets.TARGETS[family].items() if only in (None, target)}

    def to_dict(self) -> documents.Sizing:
        """Return the JSON form. `advice` is the result of `advise_topology`."""
        return {
            "host": {
                "name": self.host.name,
                "hypervisor": self.host.hypervisor,
                **self.advised.layout["host_topology"],
            },
            "asked": {
                "vcpus": self.asked_vcpus,
                "demand_cores": self.demand_cores,
                "memory_bytes": self.advised.layout["memory_bytes"],
            },
            "advice": _brief(self.advised),
            "candidates": [candidate.to_dict() for candidate in (self.advised, *self.alternatives)],
            "notes": list(self.notes),
        }


def find_host(
    text: str,
    *,
    hypervisor: str | None = None,
    node_memory: str | None = None,
    nodes_per_socket: int | None = None,
    snippet: str | None = None,
) -> Host:
    """Return the host that `text` describes.

    Forms: `2x12`, `2x12x2@2.5GHz`, or `SCENARIO.yaml:HOST` for a host group of a scenario.

    `hypervisor`, `node_memory` and `nodes_per_socket` belong to the compact form. The default hypervisor follows from
    the target `snippet`, or is ESXi without one. Raises ScenarioError. The path of a problem is
    the name of the argument (`host` for `text`).
    """
    compact = _COMPACT.fullmatch(text)
    if compact:
        sockets, cores, threads, clock = compact.groups()
        return _of_vms(
            "hypervisor",
            Host(
                hypervisor=hypervisor
                or language.assumed_hypervisor("esxi" if snippet is None else snippets.family(snippet)),
                sockets=int(sockets),
                cores_per_socket=int(cores),
                threads_per_core=int(threads or 2),
                nodes_per_socket=1 if nodes_per_socket is None else nodes_per_socket,
                node_memory=node_memory,
                clock_hz=_frequency_hz("host", clock) if clock else None,
            ),
        )
    file, colon, group = text.rpartition(":")
    if not colon or not file:
        fail("bad-host", "host", text, _HOST_FORMS, "write the sockets, an x, and the cores of one socket")
    given = {"hypervisor": hypervisor, "node_memory": node_memory, "nodes_per_socket": nodes_per_socket}
    for path, value in given.items():
        if value is not None:
            fail("one-of", path, str(value), f"nothing: {file} has it", "leave it out, or describe the host as 2x12")
    members = scenario.load(file).inventory.hosts
    groups = dict.fromkeys(host.group for host in members)
    if group not in groups:
        fail("unknown-reference", "host", group, f"a host group of {file}: {', '.join(groups)}", "choose one of these")
    first = next(host for host in members if host.group == group)
    own, *others = [
        Host(
            hypervisor=host.hypervisor,
            sockets=host.sockets,
            cores_per_socket=host.cores_per_socket,
            threads_per_core=host.threads_per_core,
            nodes_per_socket=host.nodes // host.sockets,
            node_memory=f"{host.memory_per_node_bytes} B",
            clock_hz=host.clock_hz,
            name=host.group,
        )
        for host in (first, *(host for host in members if host is not first and host.cluster == first.cluster))
    ]
    same = tuple(other for other in others if other.options.family == own.options.family)
    return _of_vms("host", replace(own, others=same))


def _of_vms(path: str, host: Host) -> Host:
    """Return the host if VMs can run on the host."""
    known = language.hypervisors()
    if host.hypervisor in known and host.options.family not in snippets.TARGETS:
        fail(
            "wrong-hypervisor", path, host.hypervisor, "a hypervisor", "there are no VMs to size on a host without one"
        )
    return host


def demand_in_cores(text: str, host: Host) -> float:
    """Return the cores of a demand such as `10` (cores) or `25 GHz` (divided by the nominal clock).

    Raises ScenarioError.
    """
    if _CORES.fullmatch(text):
        cores = float(text)
        if not cores:
            fail("out-of-range", "demand", text, "more than 0", "give the CPU that the VM needs at its peak")
        return cores
    hertz = _frequency_hz("demand", text)
    if host.clock_hz is None:
        hint = "give the clock with the host, such as 2x12@2.5GHz, or the demand in cores"
        fail("missing-key", "demand", text, "cores, such as 10; GHz where the host's clock is known", hint)
    return hertz / host.clock_hz


def advise(
    host: Host,
    *,
    memory: str,
    vcpus: int | None = None,
    demand: str | None = None,
    reserved_cores: int = 0,
) -> Advice:
    """Return the topology for a VM with `memory` and `vcpus`, or with enough vCPUs for a peak `demand` at 80 %.

    If both are given, the demand decides, and a note reports the difference. `demand` is in cores (`10`) or cycles (`25
    GHz`). `reserved_cores` of the host are not for this VM, for example cores of storage software in a hyperconverged
    cluster.

    Raises ScenarioError. The path of a problem is the name of the argument.
    """
    host.layout(1, memory)
    if not 0 <= reserved_cores < host.cores:
        allowed = f"0 to {host.cores - 1}, less than the host's cores"
        fail("out-of-range", "reserved_cores", str(reserved_cores), allowed, "leave cores for the VM")
    demand_cores = None
    if demand is not None:
        demand_cores = demand_in_cores(demand, host)
        # slightly less, so that rounding adds no vCPU for 8 cores at 80 %
        wanted = max(1, math.ceil(demand_cores / PEAK_UTILIZATION - 1e-9))
    elif vcpus is not None:
        wanted = vcpus
    else:
        hint = "say how many vCPUs it has, or what CPU it needs at its peak"
        fail("one-of", "vcpus", "(missing)", "vcpus, demand, or both", hint)
    most = host.cores - reserved_cores
    if wanted > most:
        path, value = ("vcpus", str(vcpus)) if demand is None else ("demand", f"{demand} takes {wanted} vCPUs at 80 %")
        free = f", less {reserved_cores} reserved" if reserved_cores else ""
        allowed = f"up to {most} vCPUs: the {host.cores} physical cores of the host{free}"
        hint = f"choose at most {most}, or a larger host: hyper-threads are no cores for a busy VM"
        fail("more-vcpus-than-cores", path, value, allowed, hint)
    host.layout(wanted, memory)
    advised = _best(host, wanted, memory, most)
    return Advice(
        host=host,
        asked_vcpus=vcpus,
        demand_cores=demand_cores,
        advised=advised,
        alternatives=tuple(_alternatives(host, advised, vcpus or wanted, memory)),
        notes=tuple(_notes(host, advised, vcpus, demand_cores, wanted, memory, reserved_cores)),
    )


def advise_topology(present: Layout) -> documents.TopologyAdvice:
    """Return the advice for the VM and host of a `hypertwin.scenario.virtual_numa.layout` document.

    Keys: `sockets`, `cores_per_socket`, `vcpus`, `vpds`, `fits_node`, `settings` and `text`. If the VM has more vCPUs
    than the host has cores, the advice uses the host's cores. Raises ScenarioError.
    """
    topology = present["host_topology"]
    host = Host(
        hypervisor=present["hypervisor"],
        sockets=topology["sockets"],
        cores_per_socket=topology["cores_per_socket"],
        threads_per_core=topology["threads_per_core"],
        nodes_per_socket=topology["nodes"] // topology["sockets"],
        node_memory=f"{topology['memory_per_node_bytes']} B",
    )
    wanted = min(present["vcpus"], host.cores)
    return _brief(_best(host, wanted, f"{present['memory_bytes']} B", host.cores))


def advised_layout(asked: virtual_numa.Asked) -> documents.AdvisedLayout:
    """Return the document of `hypertwin.scenario.virtual_numa.layout`, with the advice of `advise_topology`."""
    present = virtual_numa.layout(**vars(asked))
    others: dict[str, Any] = dict(present)
    first = {key: others.pop(key) for key in ("vpds", "ppds", "homes", "warnings")}
    return cast(documents.AdvisedLayout, {**first, "advice": advise_topology(present), **others})


def _best(host: Host, vcpus: int, memory: str, most: int) -> Candidate:
    """Return the best candidate.

    The criteria are, in this order: not collapsed, not odd, few warnings, local memory, fewest nodes, fewest vCPUs.
    """
    return min(
        _candidates(host, vcpus, memory, most),
        key=lambda candidate: (
            candidate.layout["collapsed"],
            len(candidate.vpds) > 1 and candidate.vcpus % 2,
            len(candidate.warnings),
            -round(candidate.local_share, 2),
            len(candidate.vpds),
            candidate.vcpus,
        ),
    )


def _candidates(host: Host, vcpus: int, memory: str, most: int) -> Iterator[Candidate]:
    """Yield a topology with about `vcpus`, split evenly, for every number of nodes that can hold them."""
    for nodes in range(-(-vcpus // host.cores_per_node), host.nodes + 1):
        room = min(most, nodes * host.cores_per_node)
        # on several nodes an even count, rounded up if the host has the cores, else down; an odd one only if both fail
        even = math.lcm(nodes, 2) if nodes > 1 else 1
        counts = (-(-vcpus // even) * even, -(-vcpus // nodes) * nodes, vcpus // even * even, vcpus // nodes * nodes)
        count = next((count for count in counts if 0 < count <= room), None)
        if count is None:
            continue
        wanted = [count // nodes] * nodes
        for settings in _settings(host, wanted):
            candidate = Candidate("advised", settings, host.layout(count, memory, **settings))
            if candidate.vpds == wanted:
                yield candidate
                break


def _settings(host: Host, nodes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the settings that could give the VM these virtual nodes, the simplest first."""
    sockets = {"cores_per_socket": nodes[0]}
    if host.has_cells:
        yield {**sockets, "cells": list(nodes)}
        return
    yield sockets
    if "max_per_virtual_node" not in host.options.numa:
        return
    by_hand = "cores_per_node" if host.sets_topology else "max_per_virtual_node"
    few = {"vcpu_min": sum(nodes)}
    yield {**sockets, **few}
    yield {**sockets, by_hand: nodes[0]}
    yield {**sockets, by_hand: nodes[0], **few}


def _alternatives(host: Host, advised: Candidate, asked: int, memory: str) -> Iterator[Candidate]:
    """Yield the naive choices, and their evaluation by the model."""
    vcpus, several = advised.vcpus, len(advised.vpds) > 1
    naive: list[tuple[str, int, dict[str, Any]]] = []
    if asked != vcpus:
        naive.append(("as asked", asked, {"cores_per_socket": 1}))
    if host.has_cells:
        naive.append(("no virtual nodes", vcpus, {"cores_per_socket": advised.cores_per_socket}))
    else:
        naive.append(("one core per socket", vcpus, {"cores_per_socket": 1}))
        naive.append(("one socket", vcpus, {"cores_per_socket": vcpus}))
    if "cpu_hot_add" in host.options.vm:
        naive.append(("CPU hot-add on", vcpus, {**advised.settings, "cpu_hot_add": True}))
    if several and vcpus % 2 == asked % 2 == 0:
        naive.append(("odd count", vcpus - 1, {"cores_per_socket": 1}))
    seen = [(vcpus, dict(advised.settings))]
    for name, count, settings in naive:
        if (count, settings) not in seen and count <= host.cores * host.threads_per_core:
            seen.append((count, settings))
            yield Candidate(name, settings, host.layout(count, memory, **settings))


def _notes(
    host: Host,
    advised: Candidate,
    asked: int | None,
    demand_cores: float | None,
    wanted: int,
    memory: str,
    reserved_cores: int,
) -> Iterator[str]:
    several = len(advised.vpds) > 1
    if demand_cores is not None:
        yield f"A peak of {demand_cores:.3g} cores at {PEAK_UTILIZATION:.0%} load needs {counted(wanted, 'vCPU')}" + (
            f", not {asked}." if asked not in (None, wanted) else "."
        )
    if advised.vcpus != wanted:
        yield f"Advised {advised.vcpus} vCPUs instead of {wanted}: they split evenly over {len(advised.vpds)} nodes."
    if host.node_memory is None:
        node = advised.layout["host_topology"]["memory_per_node_bytes"] / GIB
        yield f"Assumed {node:g} GiB of memory per node: set --node-memory to check that the VM fits."
    if several and host.has_cells:
        yield "Bind each virtual node to a host node (--bind). Otherwise the host might put its memory on another node."
    if several and "cpu_hot_add" in host.options.vm:
        yield "CPU hot-add stays off: it would hide the virtual nodes from the guest."
    if several and "sized_on" in host.options.numa:
        yield (
            "ESXi before 8.0 keeps the virtual nodes of the first power-on while the vCPU count stays. If the VM has "
            "run, remove numa.autosize.cookie and numa.autosize.vcpu.maxPerVirtualNode."
        )
    if advised.vcpus >= host.cores:
        fewer = host.nodes * (host.cores_per_node - 1)
        yield (
            f"The VM uses all {host.cores} cores of the host: hypervisor and other VMs make it wait (ready, co-stop)."
            + (f" {counted(fewer, 'vCPU')} leave a core of each node free." if fewer else "")
        )
    if advised.vcpus // advised.cores_per_socket > 1:
        yield "Some licences count virtual sockets."
    yield _failover(host, advised, memory, reserved_cores)


def _failover(host: Host, advised: Candidate, memory: str, reserved_cores: int) -> str:
    if not host.others:
        alone = f"The cluster has no other {host.options.family_title} host: the VM cannot restart if this host fails. "
        size = f"{len(advised.vpds)} × {max(advised.vpds)} cores and {advised.layout['memory_bytes'] / GIB:g} GiB"
        return f"{'' if host.others is None else alone}For failover, another host needs {size}."
    fitting = sum(_fits(other, advised, memory, reserved_cores) for other in host.others)
    return f"The VM fits on {fitting} of {counted(len(host.others), 'other host')}" + (
        "." if fitting else ": it cannot restart if this host fails."
    )


def _fits(host: Host, advised: Candidate, memory: str, reserved_cores: int) -> bool:
    """True if another host has enough memory, and a core for each vCPU on each node and besides reserved cores."""
    if advised.vcpus > host.cores - reserved_cores:
        return False
    if len(advised.vpds) > host.nodes or max(advised.vpds) > host.cores_per_node:
        return False
    try:
        host.layout(advised.vcpus, memory)
    except ScenarioError:
        return False
    return True


def _brief(advised: Candidate) -> documents.TopologyAdvice:
    found = advised.to_dict()
    return {
        "sockets": found["sockets"],
        "cores_per_socket": found["cores_per_socket"],
        "vcpus": found["vcpus"],
        "vpds": found["vpds"],
        "fits_node": found["fits_node"],
        "settings": found["settings"],
        "text": _sentence(advised),
    }


def _sentence(advised: Candidate) -> str:
    sockets, cores, vpds = advised.vcpus // advised.cores_per_socket, advised.cores_per_socket, advised.vpds
    shape = f"{counted(advised.vcpus, 'vCPU')} as {counted(sockets, 'socket')} of {counted(cores, 'core')}"
    if advised.fits_node:
        return f"{shape}: it fits one NUMA node."
    if len(vpds) == 1:
        return f"{shape}: one virtual node, {advised.local_share:.0%} of its memory local."
    return (
        f"{shape}: {len(vpds)} virtual nodes of {counted(vpds[0], 'vCPU')}, {advised.local_share:.0%} of memory local."
    )


def _frequency_hz(path: str, text: str) -> int:
    try:
        hertz = _core.frequency_hz(text)
    except ValueError as error:
        fail("bad-quantity", path, text, "a frequency, such as 2.5 GHz", f"it {error}")
    if not hertz:
        fail("out-of-range", path, text, "more than 0 Hz", "for example 2.5 GHz")
    return hertz
