"""Writer of esxtop batch files: the CSV that `esxtop -b` would record on each host of a simulated cluster.

The samples are those of `hypertwin._core.SampledRun`. The writer uses the counters of `esxtop_counters` that the twin
knows. Samples lack reclaimed memory: balloon and swap are 0 if VMs have no more memory than their host, and are left
out otherwise. Queued commands are means over the interval, whereas esxtop shows the current number. The only processes
are the services of storage pools.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypertwin.errors import HypertwinError
from hypertwin.files import writing
from hypertwin.ingest.vmware import esxtop_counters as counters

START = datetime(2026, 1, 1, tzinfo=UTC)
"""Start of the measurement: always the same, so that the same run gives the same bytes."""
_FIRST_GROUP = 10_000
"""Number of the first group. Its world numbers begin with it."""
_WORLDS_PER_GROUP = 1_000
_RESERVED_UNIT = 7
"""SCSI number of the controller itself, which no disk can have."""
READ, WRITE = 0, 1
SHORT = 0.06
"""Free part of a host's memory below which ESXi may reclaim some: `Mem.MinFreePct` of its first 4 GiB."""
RECLAIMED = frozenset(
    ("ballooned_bytes", "swapped_bytes", "swap_in_bytes_per_s", "swap_out_bytes_per_s", "swap_wait_sum_pct")
)
"""Metrics of reclaimed memory."""


class ExportError(HypertwinError):
    """Raised if samples do not fit the format, or a file cannot be written."""

    code = "export-failed"


@dataclass(frozen=True)
class Block:
    """Counters of one instance of an object, in the form of esxtop, by metric."""

    object: str
    instance: str
    values: Mapping[str, float]


def write(samples: Iterable[Mapping[str, Any]], folder: Path) -> list[Path]:
    """Write `FOLDER/HOST.csv` for every host, with a row for each sample. Return the files, in the order of the hosts.

    A file appears when it is complete. A VM that was elsewhere, or was off, has empty cells. Raises ExportError if an
    interval is not in whole seconds, as the format requires, or if a file cannot be written.
    """
    parts: dict[str, _Part] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for sample in samples:
            time = _time(sample)
            for host in sample["hosts"]:
                name = host["name"]
                if name not in parts:
                    writing.claim(folder / f"{name}.csv")
                    parts[name] = _Part(folder / f".{name}.csv.part")
                parts[name].add(time, host)
        return [part.finish(folder / f"{name}.csv", name) for name, part in parts.items()]
    except OSError as error:
        raise ExportError(f"cannot write into {folder}: {error.strerror}") from error
    finally:
        for part in parts.values():
            for path in (part.path, part.whole):
                with contextlib.suppress(OSError):
                    path.unlink()


class _Part:
    """Rows of one host. Its columns are those of all samples, because VMs come and go."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.whole = path.with_suffix(".whole")
        self._columns: dict[tuple[str, str, str], int] = {}
        self._widths: list[int] = []
        """Number of columns of each written row."""
        self._groups: dict[str, int] = {}

    def add(self, time: str, host: Mapping[str, Any]) -> None:
        """Write the row of a sample."""
        values: dict[int, float] = {}
        is_short = sum(host["node_free_mb"]) < SHORT * host["memory_mb"]
        for block in _blocks(host, self._group):
            for metric, value in block.values.items():
                if is_short and metric in RECLAIMED:
                    continue
                place = self._columns.setdefault((block.object, block.instance, metric), len(self._columns))
                values[place] = value
        cells = [f"{values[place]:.2f}" if place in values else "" for place in range(len(self._columns))]
        with self.path.open("a" if self._widths else "w", encoding="utf-8", newline="") as file:
            file.write(",".join(f'"{cell}"' for cell in [time, *cells]) + "\n")
        self._widths.append(len(self._columns))

    def finish(self, target: Path, host: str) -> Path:
        """Return the file with its header. All rows have the width of the header."""
        names = [
            counters.column(host, counters.BY_METRIC[object_, metric], instance)
            for object_, instance, metric in self._columns
        ]
        with self.whole.open("w", encoding="utf-8", newline="") as file, self.path.open(encoding="utf-8") as rows:
            file.write(",".join(f'"{name}"' for name in [counters.TIME_COLUMN, *names]) + "\n")
            for row, width in zip(rows, self._widths, strict=True):
                file.write(row.rstrip("\n") + ',""' * (len(names) - width) + "\n")
        return self.whole.rename(target)

    def _group(self, name: str) -> int:
        """Return the number of a group, the same in all samples."""
        return self._groups.setdefault(name, _FIRST_GROUP + len(self._groups))


def _time(sample: Mapping[str, Any]) -> str:
    if sample["interval_s"] % 1:
        raise ExportError(
            f"esxtop's clock has whole seconds, and a sample is {sample['interval_s']:g} s long: set "
            "run.sample_interval, e.g. --set 'run.sample_interval=5 s'"
        )
    return (START + timedelta(seconds=round(sample["time_s"]))).strftime(counters.TIME_FORMAT)


def _blocks(host: Mapping[str, Any], group: Callable[[str], int]) -> Iterator[Block]:
    """Yield all blocks of one host in one sample. `group` numbers VMs and services."""
    yield Block(counters.MEMORY, "", _memory(host))
    yield from _processors(host)
    for node, (total, free) in enumerate(zip(host["node_memory_mb"], host["node_free_mb"], strict=True)):
        yield Block(counters.NUMA_NODE, str(node), {"memory_bytes": total, "memory_free_bytes": free})
    for vm in host["vms"]:
        yield from _vm(group(vm["name"]), vm)
    for service in host["services"]:
        name = f"storage-{service['pool']}"
        instance = counters.group_instance(group(name), name)
        yield Block(counters.GROUP_CPU, instance, _sums(service["worlds"], 0.0))
    for device in host["devices"]:
        yield Block(counters.DEVICE, device["name"], {**_disk(device), **_latency(device), **_queue(device)})
    for adapter in host["adapters"]:
        yield Block(counters.ADAPTER, adapter["name"], {**_disk(adapter), **_latency(adapter), **_queue(adapter)})


def _memory(host: Mapping[str, Any]) -> dict[str, float]:
    return {
        "memory_bytes": host["memory_mb"],
        "memory_free_bytes": sum(host["node_free_mb"]),
        "ballooned_bytes": 0.0,
        "swapped_bytes": 0.0,
        "swap_in_bytes_per_s": 0.0,
        "swap_out_bytes_per_s": 0.0,
    }


def _processors(host: Mapping[str, Any]) -> Iterator[Block]:
    threads, cores = len(host["cpu_utilization_pct"]), host["cores"]
    each = zip(host["cpu_utilization_pct"], host["cpu_core_utilization_pct"], strict=True)
    for number, (busy, core_busy) in enumerate(each):
        # esxtop shows cores only where they have two threads
        core = {"core_utilization_pct": core_busy} if threads > cores else {}
        yield Block(counters.PHYSICAL_CPU, str(number), {"utilization_pct": busy, **core})
    core = {"core_utilization_pct": host["core_utilization_pct"]} if threads > cores else {}
    usage = host["usage_pct"] / counters.usage_scale(threads, cores)
    total = {"usage_pct": usage, "utilization_pct": host["utilization_pct"], **core}
    yield Block(counters.PHYSICAL_CPU, counters.TOTAL, total)


def _vm(group: int, vm: Mapping[str, Any]) -> Iterator[Block]:
    name, worlds, vcpus = vm["name"], vm["worlds"], vm["vcpus"]
    instance = counters.group_instance(group, name)
    yield Block(counters.GROUP_CPU, instance, _sums(worlds, vm["system_pct"]))
    for vcpu in range(vcpus):
        world = counters.vcpu_instance(group, name, group * _WORLDS_PER_GROUP + vcpu, vcpu)
        yield Block(
            counters.VCPU,
            world,
            {
                # interrupts are handled on any CPU; esxtop shows them for the VM as a whole
                "used_sum_pct": worlds["used_pct"][vcpu],
                "run_sum_pct": worlds["run_pct"][vcpu],
                "ready_sum_pct": worlds["ready_pct"][vcpu],
                "costop_sum_pct": worlds["costop_pct"][vcpu],
                "limited_sum_pct": worlds["limited_pct"][vcpu],
                "wait_sum_pct": worlds["wait_pct"][vcpu],
                # a vCPU of the twin only waits for work
                "idle_sum_pct": worlds["wait_pct"][vcpu],
            },
        )
    used = vm["memory_touched_mb"]
    local = used * vm["numa_local_pct"] / 100
    yield Block(
        counters.GROUP_MEMORY,
        instance,
        {
            "memory_bytes": vm["memory_mb"],
            "memory_used_bytes": used,
            "ballooned_bytes": 0.0,
            "swapped_bytes": 0.0,
            "swap_in_bytes_per_s": 0.0,
            "swap_out_bytes_per_s": 0.0,
            "numa_local_bytes": local,
            "numa_remote_bytes": used - local,
            "numa_local_pct": vm["numa_local_pct"],
        },
    )
    for number, disk in enumerate(vm["disks"]):
        unit = number // (1 + max(each["controller"] for each in vm["disks"]))
        unit += unit >= _RESERVED_UNIT
        latency = {
            "read_latency_ms": disk["latency_ms"][READ] or 0.0,
            "write_latency_ms": disk["latency_ms"][WRITE] or 0.0,
        }
        place = counters.disk_instance(name, f"scsi{disk['controller']}:{unit}")
        yield Block(counters.VIRTUAL_DISK, place, {**_disk({**disk, "commands_per_s": sum(disk["iops"])}), **latency})


def _sums(worlds: Mapping[str, Sequence[float]], system_pct: float) -> dict[str, float]:
    """Return the counters of a group: sums over all its worlds, including helpers of the hypervisor."""
    return {
        "used_sum_pct": sum(worlds["used_pct"]) + system_pct,
        "run_sum_pct": sum(worlds["run_pct"]),
        "system_pct": system_pct,
        "ready_sum_pct": sum(worlds["ready_pct"]),
        "overlap_sum_pct": sum(worlds["overlap_pct"]),
        "costop_sum_pct": sum(worlds["costop_pct"]),
        "limited_sum_pct": sum(worlds["limited_pct"]),
        "swap_wait_sum_pct": 0.0,
    }


def _disk(disk: Mapping[str, Any]) -> dict[str, float]:
    parts = {} if disk["iops"] is None else {"read_iops": disk["iops"][READ], "write_iops": disk["iops"][WRITE]}
    return {
        "iops": disk["commands_per_s"],
        **parts,
        "read_bytes_per_s": disk["mb_per_s"][READ],
        "write_bytes_per_s": disk["mb_per_s"][WRITE],
    }


def _latency(device: Mapping[str, Any]) -> dict[str, float]:
    """Return DAVG, KAVG and QAVG, or 0 without commands, as in esxtop."""
    driver, kernel, queue = (device[part] or 0.0 for part in ("device_ms", "kernel_ms", "queue_ms"))
    return {
        "latency_ms": driver + kernel,
        "device_latency_ms": driver,
        "kernel_latency_ms": kernel,
        "queue_latency_ms": queue,
    }


def _queue(device: Mapping[str, Any]) -> dict[str, float]:
    return {
        "active_commands": device["active"],
        "queued_commands": device["queued"],
        "queue_depth": device["queue_depth"],
    }
