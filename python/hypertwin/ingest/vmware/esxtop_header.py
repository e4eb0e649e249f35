"""Parser of the first line of an esxtop batch file: the table rows of each column.

A group is a VM if it has vCPU worlds. In a file without worlds (recorded without -a), a group is a VM if it owns
virtual disks or is not named like a process. Processes have well-known names, or end in the number of their cartel,
`hostd.2098765`.
"""

from __future__ import annotations

import csv
import re
from collections import Counter as Tally
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from hypertwin.errors import short
from hypertwin.ingest import outside, telemetry
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.vmware import esxtop_counters as counters
from hypertwin.ingest.vmware.esxtop_counters import Counter

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
MOST_COLUMNS = 200_000
"""Maximum columns, four times those of the largest public file (github.com/vfedotovs/esxtop-batch-data-visualizer)."""

_TIME = re.compile(r"\(PDH-CSV 4\.0\)\s*(?:\([^()]*\)\((?P<bias>-?\d{1,4})\))?")
_PATH = re.compile(r"\\\\(?P<host>[^\\]*)\\(?P<object>.*)\\(?P<counter>[^\\]*)", re.DOTALL)
_GROUP = re.compile(r"(?P<id>\d+):(?P<name>.*)", re.DOTALL)
_WORLD = re.compile(r"\d+:(?:vmx-vcpu-|vcpu-|vmm)(?P<vcpu>\d{1,4})(?::.*)?", re.DOTALL)
_NAME_AND_WORLD = re.compile(r"(?P<name>.*?):(?P<world>\d+:(?:vmx-vcpu-|vcpu-|vmm)\d{1,4}(?::.*)?)", re.DOTALL)
_DISK = re.compile(r"(?P<vm>.*):(?P<disk>[A-Za-z]+\d+:\d+)", re.DOTALL)
_CARTEL = re.compile(r"\.\d{4,}$")
_SYSTEM = re.compile(
    r"(?:host|idle|init|vim|user|kernel|vmkernel|minfree|iofilters|plugins)|[A-Za-z][\w.-]*\.\d{4,}", re.IGNORECASE
)
"""Names of groups that are neither VMs nor services, and are left out."""
_SERVICE = re.compile(
    r"(?:system|helper|drivers|ft|vmotion|"
    r"(?:vsan|cmmds|clomd|osfs|vvol|nfs|iscsi|swapobj|storage|hbr|vdfs|zdfs|epd|lsud)[\w-]*)(?:\.\d{4,})?",
    re.IGNORECASE,
)
"""Names of groups whose CPU is the hypervisor's overhead: the VMkernel, vSAN, storage and replication services."""
_SERVICE_METRICS = frozenset(("used_sum_pct", "run_sum_pct", "ready_sum_pct", "system_pct"))
_NAMELESS = frozenset(("", "local", "localhost"))
_SUMS_OF_VCPUS = frozenset(("ready_sum_pct", "wait_sum_pct", "idle_sum_pct"))
"""Metrics of a VM that are summed over its vCPU worlds, because a group's ready includes its helper worlds."""
_NOT_OF_EACH_VCPU = frozenset(("wait_sum_pct", "idle_sum_pct"))
"""Metrics without rows for each vCPU."""

_OF_VCPUS = frozenset(("idle_sum_pct", "vm_wait_sum_pct"))
"""Metrics that are used only for a group without worlds: with its demanded CPU time they add up to 100 % x vCPUs."""

_COSTS = (
    (counters.PHYSICAL_CPU, "usage_pct", "host usage: saturation that guests do not see"),
    (counters.GROUP_CPU, "ready_sum_pct", "ready"),
    (counters.GROUP_CPU, "costop_sum_pct", "co-stop"),
    (counters.GROUP_CPU, "limited_sum_pct", "limits hit"),
    (counters.GROUP_CPU, "swap_wait_sum_pct", "swap wait"),
    (counters.VCPU, "run_sum_pct", "the number of vCPUs, and everything per vCPU"),
    (counters.VCPU, "idle_sum_pct", "CPU use of guests"),
    (counters.GROUP_MEMORY, "numa_local_pct", "remote NUMA memory"),
    (counters.GROUP_MEMORY, "ballooned_bytes", "ballooning"),
    (counters.GROUP_MEMORY, "swapped_bytes", "swapping"),
    (counters.DEVICE, "queued_commands", "full storage queues"),
    (counters.DEVICE, "queue_depth", "depth of storage queues"),
    (counters.DEVICE, "kernel_latency_ms", "latency in the hypervisor"),
    (counters.DEVICE, "device_latency_ms", "latency of devices"),
    (counters.VIRTUAL_DISK, "read_latency_ms", "latency as VMs see it"),
)
"""Counters whose absence is a gap, and results that need them."""


@dataclass(frozen=True)
class Column:
    """Column of a known counter, with its parsed name."""

    index: int
    host: str
    object: str
    instance: str
    counter: Counter


@dataclass
class Plan:
    """Table rows of each column."""

    bias_minutes: int
    """Minutes to add to the file's times for UTC."""
    last: int
    """Index of the last column of any counter. Later columns are padding."""
    series: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """Columns by entity and metric. If there are several, their values are summed."""
    scales: list[float] = field(default_factory=list)
    """Factor for the values of each series."""
    less: dict[int, int] = field(default_factory=dict)
    """Columns to subtract from the values of some series, by the place of the series."""
    constants: list[tuple[str, str, float]] = field(default_factory=list)
    """Values from names of columns: entity, metric, value."""
    unsized: list[str] = field(default_factory=list)
    """VMs whose number of vCPUs is not visible from names."""
    hosts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


@dataclass(frozen=True)
class _Row:
    """Destination of a column."""

    entity: str
    scale: float = 1.0
    metric: str | None = None
    """Metric, or None for that of the counter."""
    summed: bool = False
    """True if columns of the same entity and metric are summed. Otherwise the first one counts."""


def recognises(head: bytes) -> bool:
    """True if the first bytes are Performance Monitor CSV, in any language and encoding."""
    if head[:2] in UTF_16_MARKS:
        return "(PDH-CSV" in head[:64].decode("utf-16", "replace")
    return head.removeprefix(BYTE_ORDER_MARK).lstrip(b'"').startswith(b"(PDH-CSV")


def read(line: bytes, path: Path) -> Plan:
    """Return the plan for a file with this first line. Raises SourceError if it has no known counter."""
    source = outside.Source(path, line=1)
    fields = _fields(line, source)
    time = _TIME.match(fields[0].strip()) if fields else None
    if time is None:
        allowed = (
            "the first line of esxtop -b: (PDH-CSV 4.0) (UTC)(0), then \\\\host\\Group Cpu(12:db)\\% Run and so on"
        )
        source.refuse(fields[0] if fields else "an empty file", allowed, "use the file from its beginning")
    columns, last = _columns(fields)
    if not columns:
        first = next((text for text in fields[1:] if text.strip()), "no column")
        hint = "record with esxtop itself; counters of Windows, or translated ones, are not known"
        source.at(short(first)).refuse("no known counter", "counters of esxtop, in English", hint)
    plan = Plan(int(time["bias"] or 0), last)
    by_host: dict[str, list[Column]] = {}
    for column in columns:
        by_host.setdefault(column.host, []).append(column)
    for host, shown in _hosts(by_host, path, plan).items():
        plan.hosts.append(telemetry.entity("host", shown))
        _plan_host(plan, by_host[host], plan.hosts[-1])
    if not plan.series:
        hint = "record with -a, without an entity file that leaves VMs out"
        source.refuse("only counters of processes", "counters of a host or a VM", hint)
    there = {(column.object, column.counter.metric) for column in columns}
    if plan.unsized and (counters.GROUP_CPU, "idle_sum_pct") in there:
        there.add((counters.VCPU, "idle_sum_pct"))
    for object_, metric, costs in _COSTS:
        if (object_, metric) not in there:
            plan.gaps.append(Gap(f"{object_}\\{counters.BY_METRIC[object_, metric].name}", costs))
    return plan


def _fields(line: bytes, source: outside.Source) -> list[str]:
    if line[:2] in UTF_16_MARKS:
        hint = "iconv -f utf-16 -t utf-8 FILE > NEW.csv (the > of PowerShell writes UTF-16)"
        source.refuse("UTF-16 text", "UTF-8 text, as esxtop writes it", hint)
    if len(line) > outside.MOST_LINE_BYTES:
        allowed = f"a first line of at most {outside.MOST_LINE_BYTES} bytes"
        source.too_large("a longer one", allowed, "check that it is a text file")
    text = line.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "replace").replace("\0", "").strip("\r\n")
    try:
        fields = next(csv.reader([text]), [])
    except csv.Error as error:
        source.refuse(error, "names of columns between commas", "record it again")
    if len(fields) > MOST_COLUMNS:
        source.too_large(f"{len(fields)} columns", f"at most {MOST_COLUMNS} columns", "record fewer counters")
    return fields


def _columns(fields: list[str]) -> tuple[list[Column], int]:
    """Return the columns of known counters, and the index of the last column of any counter."""
    columns, last = [], 0
    for index, text in enumerate(fields[1:], 1):
        parsed = _PATH.fullmatch(text.strip())
        if parsed is None:
            continue
        last = index
        object_, bracket, instance = parsed["object"].partition("(")
        counter = counters.BY_NAME.get((object_.strip().lower(), parsed["counter"].strip('" ').lower()))
        if counter is not None:
            instance = instance.rpartition(")")[0] if bracket else ""
            columns.append(Column(index, parsed["host"], counter.object, instance, counter))
    return columns, last


def _hosts(names: Iterable[str], path: Path, plan: Plan) -> dict[str, str]:
    """Display names by name in the file. A host without a name gets the file's name."""
    hosts = {}
    for host in names:
        hosts[host] = outside.name(host)
        if hosts[host].lower() in _NAMELESS:
            stem = re.sub(r"(\.csv)?(\.gz)?$", "", path.name, flags=re.IGNORECASE)
            hosts[host] = outside.name(stem) or "host"
            plan.notes.append(f"the file calls its host {host or 'nothing'}: it is named {hosts[host]} after the file")
    return hosts


def _plan_host(plan: Plan, columns: list[Column], entity: str) -> None:
    host = _Host(plan, columns, entity)
    repeated = 0
    names: set[tuple[str, str, Counter]] = set()
    for column in columns:
        name = (column.object, column.instance, column.counter)
        if name in names:
            repeated += 1
            continue
        names.add(name)
        for row in host.rows(column):
            key = (row.entity, row.metric or column.counter.metric)
            if key not in plan.series:
                plan.series[key] = [column.index]
                plan.scales.append(column.counter.scale * row.scale)
            elif row.summed:
                plan.series[key].append(column.index)
            else:
                repeated += 1
    total, free = (plan.series.get((entity, metric)) for metric in ("memory_bytes", "memory_free_bytes"))
    if total and free:
        # memory of ESXi that is not free is in use
        plan.less[len(plan.series)] = free[0]
        plan.series[entity, "memory_used_bytes"] = total
        plan.scales.append(counters.MIB)
    if repeated:
        plan.notes.append(f"{repeated} columns are there more than once: the first of each was taken")


class _Host:
    """Columns of one host, and their rows."""

    def __init__(self, plan: Plan, columns: list[Column], entity: str) -> None:
        self._entity = entity
        self._groups = _groups(columns)
        self._vcpus = _vcpus(columns, self._groups)
        self._has_ready = {
            self._vcpus[column.instance][0]
            for column in columns
            if self._is_of_vcpu(column) and column.counter.metric == "ready_sum_pct"
        }
        shown = self._vms(plan, columns)
        self._vm = {group: f"{entity}/{telemetry.entity('vm', name)}" for group, name in shown.items()}
        # disks and ports show their VM's name but not its group: if two VMs have that name, the owner is not known
        times = Tally(self._groups[group] for group in self._vm)
        self._by_name = {self._groups[group]: vm for group, vm in self._vm.items() if times[self._groups[group]] == 1}
        self._usage_scale = self._processors(plan, columns)
        for group, count in Tally(group for group, _ in set(self._vcpus.values())).items():
            plan.constants.append((self._vm[group], "vcpus", count))
        if not self._vcpus:
            plan.unsized += self._vm.values()
        self._rows: dict[str, Callable[[Column], _Row | None]] = {
            counters.PHYSICAL_CPU: self._physical_cpu,
            counters.CPU_LOAD: lambda _: _Row(entity),
            counters.GROUP_CPU: self._group,
            counters.GROUP_MEMORY: self._group,
            counters.VCPU: self._vcpu,
            counters.MEMORY: lambda _: _Row(entity),
            counters.NUMA_NODE: lambda column: self._part("node", column.instance),
            counters.DEVICE: lambda column: self._part("device", column.instance),
            counters.NFS_VOLUME: lambda column: self._part("device", column.instance),
            counters.ADAPTER: self._adapter,
            counters.PHYSICAL_DISK: self._adapter,
            counters.VSAN: lambda column: self._part("pool", f"vSAN {column.instance}"),
            counters.VIRTUAL_DISK: self._virtual_disk,
            counters.NETWORK_PORT: self._port,
        }

    def rows(self, column: Column) -> list[_Row]:
        """Return the destinations of a column, or nothing for an ignored column.

        A vCPU column also counts for the sum of its VM.
        """
        row = self._rows[column.object](column)
        rows = [row] if row else []
        if self._is_of_vcpu(column) and column.counter.metric in _SUMS_OF_VCPUS:
            rows.append(_Row(self._vm[self._vcpus[column.instance][0]], summed=True))
        return rows

    def _vms(self, plan: Plan, columns: list[Column]) -> dict[str, str]:
        """Display name of each group that is a VM. The group's number is added to repeated names."""
        found = {group for group, _ in self._vcpus.values()}
        if not found:
            owners = {_owner(column.instance) for column in columns if column.object == counters.VIRTUAL_DISK}
            for group, text in self._groups.items():
                named_like_process = _SYSTEM.fullmatch(text) or _SERVICE.fullmatch(text)
                if group.isdecimal() and (text in owners or not named_like_process):
                    found.add(group)
            if found:
                plan.notes.append("the file has no worlds: groups not named like a process are assumed to be VMs")
        shown = {
            group: outside.name(text) or outside.name(group) or "?"
            for group, text in self._groups.items()
            if group in found
        }
        times = Tally(shown.values())
        if several := sorted(text for text, count in times.items() if count > 1):
            plan.notes.append(f"VMs with the same name have their group's number added: {', '.join(several[:5])}")
        return {group: outside.told_apart(text, group) if times[text] > 1 else text for group, text in shown.items()}

    def _processors(self, plan: Plan, columns: list[Column]) -> float:
        """Count logical CPUs and cores. Returns the factor from `% Processor Time` to usage of the host's cores."""
        each = [column for column in columns if column.object == counters.PHYSICAL_CPU and column.instance.isdecimal()]
        threads = len({column.instance for column in each})
        if threads == 0:
            if any(column.object == counters.PHYSICAL_CPU for column in columns):
                plan.notes.append("the file lacks single logical CPUs: usage is of threads instead of cores")
            return 1.0
        two_threads = threads % 2 == 0 and any(column.counter.metric == "core_utilization_pct" for column in each)
        cores = threads // 2 if two_threads else threads
        plan.constants += [(self._entity, "threads", threads), (self._entity, "cores", cores)]
        return counters.usage_scale(threads, cores)

    def _part(self, kind: str, name: str) -> _Row | None:
        shown = outside.name(name)
        return _Row(f"{self._entity}/{telemetry.entity(kind, shown)}") if shown else None

    def _physical_cpu(self, column: Column) -> _Row | None:
        metric = column.counter.metric
        if column.instance.lower() == counters.TOTAL.lower():
            return _Row(self._entity, self._usage_scale if metric == "usage_pct" else 1.0)
        return self._part("pcpu", column.instance) if metric == "utilization_pct" else None

    def _group(self, column: Column) -> _Row | None:
        group = _group_id(column.instance)
        metric = column.counter.metric
        if group in self._vm:
            if self._vcpus and metric in _OF_VCPUS:
                return None
            of_all_worlds = metric == "ready_sum_pct" and group in self._has_ready
            return _Row(self._vm[group], metric="group_ready_sum_pct" if of_all_worlds else None)
        name = self._groups.get(group, "")
        told = column.object == counters.GROUP_CPU and metric in _SERVICE_METRICS
        if not told or not _SERVICE.fullmatch(name):
            return None
        process = telemetry.entity("process", outside.name(_CARTEL.sub("", name)))
        return _Row(f"{self._entity}/{process}", summed=True)

    def _vcpu(self, column: Column) -> _Row | None:
        if not self._is_of_vcpu(column) or column.counter.metric in _NOT_OF_EACH_VCPU:
            return None
        group, vcpu = self._vcpus[column.instance]
        return _Row(f"{self._vm[group]}/{telemetry.entity('vcpu', vcpu)}")

    def _is_of_vcpu(self, column: Column) -> bool:
        return column.object == counters.VCPU and column.instance in self._vcpus

    def _adapter(self, column: Column) -> _Row | None:
        # Physical Disk(vmhba2:C0:T0:L0) is a path of it
        return None if ":" in column.instance else self._part("adapter", column.instance)

    def _virtual_disk(self, column: Column) -> _Row | None:
        owner = column.instance if column.instance in self._by_name else _owner(column.instance)
        if not outside.name(owner):
            return None
        vm = self._by_name.get(owner) or f"{self._entity}/{telemetry.entity('vm', outside.name(owner))}"
        disk = outside.name(column.instance.removeprefix(owner).removeprefix(":"))
        return _Row(f"{vm}/{telemetry.entity('disk', disk)}" if disk else vm)

    def _port(self, column: Column) -> _Row | None:
        # switch:port:name or switch:port:world:name; a VM's second port is named db.eth1
        last = column.instance.split(":", 3)[-1]
        if re.fullmatch(r"vmnic\d{1,4}", last):
            return self._part("adapter", last)
        vm = self._by_name.get(last) or self._by_name.get(re.sub(r"\.eth\d{1,4}$", "", last))
        return _Row(vm, summed=True) if vm else None


def _groups(columns: Iterable[Column]) -> dict[str, str]:
    """Return the names of groups, by number."""
    groups: dict[str, str] = {}
    for column in columns:
        if column.object in (counters.GROUP_CPU, counters.GROUP_MEMORY) and column.instance:
            parsed = _GROUP.fullmatch(column.instance)
            groups.setdefault(_group_id(column.instance), parsed["name"] if parsed else column.instance)
    return groups


def _group_id(instance: str) -> str:
    """Return the number of a group, or its name if it has no number."""
    parsed = _GROUP.fullmatch(instance)
    return parsed["id"] if parsed else instance


def _vcpus(columns: Iterable[Column], groups: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Group and vCPU number of each vCPU world, by instance of Vcpu. Adds groups that appear only there."""
    vcpus = {}
    for instance in dict.fromkeys(column.instance for column in columns if column.object == counters.VCPU):
        group, _, rest = instance.partition(":")
        if group not in groups:
            parsed = _NAME_AND_WORLD.fullmatch(rest)
            if parsed is None:
                continue
            groups[group] = parsed["name"]
        world = _WORLD.fullmatch(rest.removeprefix(f"{groups[group]}:"))
        if world is not None:
            vcpus[instance] = (group, str(int(world["vcpu"])))
    return vcpus


def _owner(instance: str) -> str:
    """Return the VM of a virtual disk: `db` of `db:scsi0:0`."""
    parsed = _DISK.fullmatch(instance)
    return parsed["vm"] if parsed else instance
