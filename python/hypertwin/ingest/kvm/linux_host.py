"""Shared parts of readers of Linux and KVM hosts: lists of CPUs, their numbering, clocks, weights.

Linux numbers the logical CPUs of a host in the order of its firmware: usually first one thread of every core, then the
others. A scenario numbers them socket by socket, core by core, thread by thread; `Numbering` translates.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hypertwin.ingest.inventory import ASSUMED_CLOCK_HZ

MOST_CPUS = 16_384
"""Maximum number of logical CPUs of a host. CONFIG_NR_CPUS of Linux goes to 8,192."""
MOST_LIST = 20_000
"""Maximum characters of a list of CPUs. Every second one of 8,192 takes 20,000."""
DEFAULT_SHARES = 1_000
"""A scenario's shares for the default weight: those of one vCPU with normal shares, or of a task with nice 0."""
DEFAULT_WEIGHTS = {1: 1024, 2: 100}
"""Default weight of a control group: `cpu.shares` of version 1, `cpu.weight` of version 2 (Linux,
Documentation/admin-guide/cgroup-v2.rst, "Weights"). libvirt writes `<shares>` to either unchanged. The range is 2 to
262144 in version 1, 1 to 10000 in version 2 (libvirt, src/util/vircgroupv2.c, virCgroupV2SetCpuShares)."""
CGROUP_COMMAND = "stat -fc %T /sys/fs/cgroup"
CGROUP_OUTPUTS = {"tmpfs": 1, "cgroup2fs": 2}
"""Version of control groups by the output of `CGROUP_COMMAND` (kubernetes.io, About cgroup v2)."""
USUAL = "affinities: Linux numbers its logical CPUs as usual, the first threads of all cores before the second ones"
"""Assumption behind `Numbering.usual`."""
BUSY_THREADS = (
    "CPU usage from the time that its logical CPUs were busy, as if each busy one had a core to itself, up to 100 %"
)
"""Assumption behind `usage_pct`, for cores with several threads."""
FULL_PCT = 100.0
"""Maximum CPU usage of a host of which only the busy time of its logical CPUs is known."""

NOTICEABLE = 0.05
"""Share of a host's memory that firmware and kernel can keep from its NUMA nodes without a note."""


class Place(NamedTuple):
    """Location of a logical CPU, in the host's own numbers."""

    socket: int
    node: int
    core: int
    """Unique within the socket."""
    thread: int
    """Position among the threads of its core."""


@dataclass(frozen=True)
class Numbering:
    """Numbers of a host's logical CPUs: in Linux and in a scenario."""

    in_scenario: Mapping[int, int]
    """Number in a scenario, by the number in Linux."""
    node_of: Mapping[int, int]
    """Position of a CPU's NUMA node, by the number in Linux, or an empty dict if unknown."""

    @staticmethod
    def of(places: Mapping[int, Place], cores_per_socket: int, threads_per_core: int) -> Numbering:
        """Return the numbering of CPUs at these places.

        Nodes of a socket are consecutive, so the result does not depend on whether a scenario has them as one socket or
        as several.
        """
        sockets = {
            number: position for position, number in enumerate(sorted({place.socket for place in places.values()}))
        }
        nodes = {pair: position for position, pair in enumerate(sorted({place[:2] for place in places.values()}))}
        cores: dict[int, dict[tuple[int, int], int]] = {socket: {} for socket in sockets}
        numbers, node_of = {}, {}
        for cpu, place in sorted(places.items(), key=lambda item: item[1]):
            listed = cores[place.socket]
            core = listed.setdefault((place.node, place.core), len(listed))
            numbers[cpu] = (sockets[place.socket] * cores_per_socket + core) * threads_per_core + place.thread
            node_of[cpu] = nodes[place[:2]]
        return Numbering(numbers, node_of)

    @staticmethod
    def usual(sockets: int, cores_per_socket: int, threads_per_core: int) -> Numbering:
        """Return Linux's usual numbering: the first threads of all cores, socket by socket, then their siblings."""
        cores = sockets * cores_per_socket
        numbers = {
            thread * cores + core: core * threads_per_core + thread
            for thread in range(threads_per_core)
            for core in range(cores)
        }
        return Numbering(numbers, {})

    def affinity(self, cpus: Collection[int]) -> str | None:
        """Return an affinity in the form of scenarios, or None if all CPUs are allowed, or only CPUs that the host
        lacks.
        """
        there = [self.in_scenario[cpu] for cpu in cpus if cpu in self.in_scenario]
        return written(there) if 0 < len(there) < len(self.in_scenario) else None

    def node(self, cpus: Collection[int]) -> int | None:
        """Return the single node of all `cpus`, or None if there are several."""
        nodes = {self.node_of.get(cpu) for cpu in cpus}
        return nodes.pop() if len(nodes) == 1 else None


def cpu_list(text: str) -> list[int] | None:
    """Return the numbers in a list of Linux or libvirt (`0-3,8,^2`), ascending, or None for other text."""
    if len(text) > MOST_LIST:
        return None
    chosen: set[int] = set()
    for part in text.replace(" ", "").split(","):
        match = re.fullmatch(r"(\^?)([0-9]{1,5})(?:-([0-9]{1,5}))?", part)
        if match is None:
            return None
        first, last = int(match[2]), int(match[3] or match[2])
        if first > last or last >= MOST_CPUS:
            return None
        numbers = range(first, last + 1)
        if match[1]:
            chosen.difference_update(numbers)
        else:
            chosen.update(numbers)
    return sorted(chosen)


def written(cpus: Iterable[int]) -> str:
    """Return the numbers in the list form of Linux: `0-2,5`."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], cpu]
        else:
            runs.append([cpu])
    return ",".join("-".join(map(str, run)) for run in runs)


def cgroup_version(weights: Iterable[float | None]) -> int | None:
    """Return the version of control groups with these weights of VMs, or None if both versions allow them."""
    given = [weight for weight in weights if weight is not None]
    if any(weight > 10_000 for weight in given):
        return 1
    return 2 if any(weight < 2 for weight in given) else None


def weights(version: int | None, weights: Iterable[float | None]) -> str:
    """Return the assumption behind `shares` for VMs with these weights on a host with control groups of `version`."""
    if version is None and any(weight is not None for weight in weights):
        shown = f"check with `{CGROUP_COMMAND}`, which shows cgroup2fs, or tmpfs for version 1"
        return f"assumed control groups of version 2 (default weight 100, not 1024): {shown}"
    groups = "" if version is None else f"control groups of version {version}: "
    return f"{groups}a VM of default weight has 1000 shares, whatever its vCPUs"


def free_name(name: str, taken: Container[str]) -> str:
    """Return a host's name, with a number if it is taken."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)


def usage_pct(busy: float | None, threads_per_core: int) -> float | None:
    """Return CPU used, in per cent of cores x nominal clock, from the share of time (0-1) that logical CPUs were busy.

    Linux prefers idle cores to idle threads, so up to half of the time of two threads is time of whole cores. None for
    an invalid share.
    """
    if busy is None or not 0 <= busy <= 1.01:  # the counters of all CPUs are not read at one moment
        return None
    return min(100 * busy * threads_per_core, FULL_PCT)


def clock_mhz(clock_hz: float | None) -> float:
    """Return the nominal clock of a host in MHz, or the assumed clock of its scenario if unknown.

    CPU in cores, such as a limit, then is the same part of the host.
    """
    return (clock_hz or ASSUMED_CLOCK_HZ) / 1e6


def outside_nodes(total_bytes: int, nodes_bytes: int) -> str | None:
    """Return a note if a host's NUMA nodes have noticeably less memory than the host, otherwise None.

    Linux does not resize its nodes when memory is added to a running system.
    """
    if total_bytes - nodes_bytes <= NOTICEABLE * total_bytes:
        return None
    node, whole = nodes_bytes / 2**30, total_bytes / 2**30
    return f"{node:.1f} GiB of memory, the sum of its NUMA nodes; {whole - node:.1f} of its {whole:.1f} GiB are on none"


def clock_in_name(model: str) -> float | None:
    """Return the nominal clock, in Hz, in a processor's own name: `Xeon(R) CPU E5-2680 v3 @ 2.50GHz`.

    The name is CPUID's brand string (Intel SDM volume 2, CPUID leaf 80000002H). Newer Intel processors and AMD
    processors omit the clock.
    """
    match = re.search(r"@\s*([0-9]{1,2}(?:\.[0-9]{1,3})?)\s*GHz", model[:1000], re.IGNORECASE)
    return float(match[1]) * 1e9 if match and float(match[1]) > 0 else None


def shares(weight: float | None, version: int | None) -> int:
    """Return a scenario's shares for a weight in control groups of this version: 1, otherwise 2.

    No weight is the default weight. A VM has one weight for any number of vCPUs: under contention, a large VM gets no
    more than a small one.
    """
    default = DEFAULT_WEIGHTS[1 if version == 1 else 2]
    scaled = DEFAULT_SHARES * (default if weight is None else weight) / default
    return min(max(round(scaled), 1), 1_000_000)
