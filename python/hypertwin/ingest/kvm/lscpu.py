"""One Linux host, from `lscpu`, plain or `-J`, and `numactl -H`: hardware for planning before it has VMs.

Formats: util-linux, sys-utils/lscpu.c (JSON: fields in a flat list, nested in `children` for a hierarchy; plain: lines
`Field: value`), and numactl(8), numactl.c (`--hardware`). The locale translates field names; this reader needs English
ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypertwin.ingest import export_files, outside
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Host, Inventory
from hypertwin.ingest.kvm import linux_host
from hypertwin.ingest.outside import Source

COMMANDS = (
    "LC_ALL=C lscpu -J > lscpu.json; LC_ALL=C numactl -H > numactl.txt; grep MemTotal /proc/meminfo >> numactl.txt"
)
MOST_BYTES = 2**20
MOST_FIELDS = 10_000
MOST_NODES = 1_024
"""Maximum number of NUMA nodes of a host. CONFIG_NODES_SHIFT of Linux goes to 10."""
MOST_HOSTS = 1_000
GIB = 2**30
ASSUMED_BYTES_PER_CORE = 8 * GIB
ASSUMED_CLOCK_HZ = 2.5e9
X86 = ("x86_64", "i686", "i586", "i386")


@dataclass(frozen=True)
class Nodes:
    """The NUMA nodes of a host, from `numactl -H`."""

    with_cpus: int
    memory_bytes: int
    without_cpus_bytes: int
    """Memory on nodes without CPUs (CXL, persistent memory)."""
    host_bytes: int | None = None
    """Host's memory from `/proc/meminfo`, or None if the file lacks `MemTotal`."""


def recognises(head: bytes) -> bool:
    """True if the text begins like output of `lscpu` or `numactl -H`."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return bool(re.match(rb'\{\s*"lscpu"\s*:|Architecture:[ \t]', text)) or is_numactl(head)


def read(sources: Sequence[str]) -> Inventory:
    """Return the hosts in outputs of `lscpu -J`, each with its `numactl -H` directly after its `lscpu`.

    The name of a host is that of its lscpu file. Raises SourceError.
    """
    if len(sources) > 2 * MOST_HOSTS:
        Source(sources[0]).too_large(f"{len(sources)} files", f"at most {2 * MOST_HOSTS}", "read them in parts")
    pairs: list[tuple[Path, Path | None]] = []
    orphan: Path | None = None
    for path in map(Path, sources):
        if not is_numactl(outside.head(path)):
            pairs.append((path, orphan))
            orphan = None
        elif pairs and pairs[-1][1] is None:
            pairs[-1] = (pairs[-1][0], path)
        elif not pairs and orphan is None:
            orphan = path
        else:
            Source(path).refuse(
                "a numactl -H with no lscpu -J of its own", "one after each lscpu -J, at most", COMMANDS
            )
    if orphan is not None:
        Source(orphan, COMMANDS).lacks("numactl -H without lscpu -J", "both of one host")
    source = export_files.shown(sources)
    notes, hosts = ImportNotes(Source(source)), list[Host]()
    for lscpu, numactl in pairs:
        hosts.append(host(lscpu, numactl, {each.name for each in hosts}, notes))
    return Inventory(source, "lscpu", hosts, gaps=notes.gaps, assumptions=notes.assumptions())


def fields(path: Path) -> dict[str, str]:
    """Return the fields of `lscpu`, plain or as JSON, by name without the colon. The first field of a name counts."""
    if not outside.head(path).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return _plain(path)
    answer = outside.json_value(path, MOST_BYTES)
    listed = answer.get("lscpu") if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        Source(path, COMMANDS).refuse("JSON without a list lscpu", "the output of lscpu -J")
    found: dict[str, str] = {}
    for number, item in enumerate(_flat(listed)):
        if number == MOST_FIELDS:
            Source(path).at("lscpu").too_many(MOST_FIELDS, "fields", hint="use the output of one host")
        field, data = item.get("field"), item.get("data")
        if isinstance(field, str) and isinstance(data, (str, int, float)):
            found.setdefault(field.strip().rstrip(":"), str(data).strip())
    return found


def _plain(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in outside.read_bytes(path, MOST_BYTES).decode("utf-8-sig", "replace").splitlines()[:MOST_FIELDS]:
        field, separator, data = line.partition(":")
        if separator:
            found.setdefault(field.strip(), data.strip())
    return found


def _flat(items: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield fields, each followed by its children, at any depth."""
    waiting = [items]
    while waiting:
        for position, item in enumerate(current := waiting.pop()):
            if isinstance(item, dict):
                yield item
                if isinstance(children := item.get("children"), list):
                    waiting += [current[position + 1 :], children]
                    break


def nodes(path: Path) -> Nodes | None:
    """Return the nodes in the output of `numactl -H`, or None if it reports a host without NUMA."""
    cpus: dict[int, int] = {}
    sizes: dict[int, int] = {}
    host: int | None = None
    for number, line in enumerate(outside.read_bytes(path, MOST_BYTES).decode("utf-8", "replace").splitlines(), 1):
        if line.startswith("No NUMA available"):
            return None
        if total := re.fullmatch(r"MemTotal:\s*([0-9]{1,15}) kB\s*", line):
            host = int(total[1]) * 1024
        match = re.fullmatch(r"node ([0-9]{1,5}) (cpus|size):\s*(.*)", line)
        if match is None:
            continue
        node, what, value = int(match[1]), match[2], match[3]
        if what == "cpus":
            cpus[node] = len(value.split())
            continue
        size = re.fullmatch(r"([0-9]{1,12}) MB", value.strip())
        if size is None:
            Source(path, line=number).at(f"node {node} size").refuse(value, "a number of MB", COMMANDS)
        sizes[node] = int(size[1]) * 2**20
        if len(sizes) > MOST_NODES:
            Source(path).at("nodes").too_many(MOST_NODES, hint="use the output of one host")
    if not any(sizes.values()):
        Source(path, COMMANDS, "node 0 size").refuse("nothing", "the output of numactl -H, with a size of each node")
    empty = [node for node in sizes if not cpus.get(node)]
    with_cpus = sum(1 for count in cpus.values() if count)
    return Nodes(with_cpus, sum(sizes.values()), sum(sizes[node] for node in empty) if with_cpus else 0, host)


def is_numactl(head: bytes) -> bool:
    """True if the text begins like output of `numactl -H`."""
    return head.startswith((b"available: ", b"No NUMA available"))


def host(lscpu: Path, numactl: Path | None, taken: set[str], notes: ImportNotes) -> Host:
    """Return one host with a name that is not `taken`."""
    found = fields(lscpu)
    name = linux_host.free_name(outside.name(lscpu.stem.removeprefix("lscpu").lstrip("-_. ")) or "host", taken)
    if under := under_a_hypervisor(found):
        _refuse_guest(found, lscpu)
        notes.host(name, under)
    sockets, cores, threads = _topology(found, lscpu)
    online = linux_host.cpu_list(found.get("On-line CPU(s) list", ""))
    counted = len(online) if online is not None else _count(found.get("CPU(s)"))
    if counted is not None and counted != sockets * cores * threads:
        text = f"has {counted} logical CPUs, assumed {sockets} x {cores} cores of {threads} threads: cores differ"
        notes.host(name, text)

    numa = nodes(numactl) if numactl is not None else None
    count = _count(found.get("NUMA node(s)"))
    if numa is not None:
        memory = numa.memory_bytes - numa.without_cpus_bytes
        count = numa.with_cpus or count
        if numa.without_cpus_bytes:
            left = f"{numa.without_cpus_bytes / GIB:.0f} GiB on NUMA nodes without CPUs are left out"
            notes.host(name, left)
        outside_nodes = linux_host.outside_nodes(numa.host_bytes or 0, numa.memory_bytes)
        if outside_nodes:
            notes.host(name, outside_nodes)
    else:
        memory = sockets * cores * ASSUMED_BYTES_PER_CORE
        notes.missing("numactl -H", "memory of the host")
        notes.host(name, f"{memory // GIB} GiB of memory, 8 GiB per core: there is no numactl -H of it")
    if count is None:
        notes.missing("lscpu/NUMA node(s)", "NUMA nodes")

    clock, how = clock_hz(found)
    if clock is None:
        clock = ASSUMED_CLOCK_HZ
        notes.missing("lscpu/Model name with a clock, BogoMIPS", "nominal clock")
        notes.host(name, "assumed a nominal clock of 2.5 GHz: lscpu does not show it")
    elif how:
        notes.host(name, how)
    notes.missing("kernel version", "which scheduler the host has")
    return Host(
        name,
        sockets,
        cores,
        threads,
        memory,
        clock_hz=clock,
        hypervisor="Linux",
        numa_nodes=count,
        cpu_model=outside.name(found.get("Model name", "")) or None,
    )


def under_a_hypervisor(found: Mapping[str, str]) -> str | None:
    """Return a note on a system that is itself a VM, otherwise None (util-linux, sys-utils/lscpu-virt.c)."""
    if found.get("Virtualization type") not in ("full", "para"):  # `none` is Xen's domain 0, `container` is no VM
        return None
    vendor = outside.name(found.get("Hypervisor vendor", "")) or "unknown"
    return f"runs under another hypervisor ({vendor}), which can delay its CPUs: not modelled"


def _refuse_guest(found: Mapping[str, str], path: Path) -> None:
    """Refuse a VM that cannot run VMs.

    On x86, `Virtualization` shows that the processor has vmx or svm, which KVM needs. Other architectures do not show
    it, and partitions of IBM's systems are hosts.
    """
    if found.get("Architecture") in X86 and not found.get("Virtualization"):
        value = f"{found.get('Hypervisor vendor', 'unknown')}: the output of a VM without VT-x or AMD-V"
        allowed = "the output of the host that runs the VMs"
        hint = "run it on the host; if that is a VM, turn on its nested virtualization"
        Source(path).at("lscpu/Hypervisor vendor").lacks(value, allowed, hint)


def _topology(found: Mapping[str, str], path: Path) -> tuple[int, int, int]:
    """Return sockets, cores per socket and threads per core."""
    if not any(field in found for field in ("Thread(s) per core", "Socket(s)", "CPU(s)")):
        some = ", ".join(list(found)[:3])
        Source(path, COMMANDS, "lscpu").lacks(some, "fields in English, with Thread(s) per core")
    values = {
        "Socket(s)": _count(found.get("Socket(s)")) or _count(found.get("Cluster(s)")),  # Arm without ACPI tables
        "Core(s) per socket": _count(found.get("Core(s) per socket")) or _count(found.get("Core(s) per cluster")),
        "Thread(s) per core": _count(found.get("Thread(s) per core")),
    }
    for field, value in values.items():
        if value is None:
            told = found.get(field, "nothing")
            Source(path).at(f"lscpu/{field}").lacks(told, "a number from 1", "run it on the physical host")
        if value > linux_host.MOST_CPUS:
            allowed = f"at most {linux_host.MOST_CPUS}"
            Source(path).at(f"lscpu/{field}").too_large(value, allowed, "run it on the physical host")
    sockets, cores, threads = (value for value in values.values() if value is not None)
    return sockets, cores, threads


def clock_hz(found: Mapping[str, str]) -> tuple[float | None, str]:
    """Return the nominal clock, and its derivation if it is not in the processor's name.

    On x86, BogoMIPS is twice the frequency of the time-stamp counter, which is the nominal clock (Linux,
    arch/x86/kernel/tsc.c: loops_per_jiffy is preset from tsc_khz). `CPU max MHz` is turbo.
    """
    for field in ("Model name", "BIOS Model name"):
        clock = linux_host.clock_in_name(found.get(field, ""))
        if clock is not None:
            return clock, ""
    bogomips = outside.number(found.get("BogoMIPS", ""))
    if bogomips is not None and 200 <= bogomips <= 40_000 and found.get("Architecture") in X86:
        return round(bogomips / 2 / 10) * 1e7, f"a nominal clock of {bogomips / 2000:.2f} GHz: half of BogoMIPS"
    return None, ""


def _count(text: str | None) -> int | None:
    """Return an integer of at least 1, or None."""
    return int(text) if text and re.fullmatch("[0-9]{1,9}", text) and int(text) > 0 else None
