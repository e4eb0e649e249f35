"""Properties of this machine in Linux: CPUs, caches, memory, kernel, and use by other processes."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hypertwin.documents.lab import Cache, Kernel, Processor
from hypertwin.errors import HypertwinError

ROOT = Path("/")
TICKS_PER_S = 100
"""Unit of /proc/stat (USER_HZ)."""


class MachineUnknownError(HypertwinError):
    """Raised if the system does not report data that the lab needs."""

    code = "machine-unknown"


def topology(root: Path = ROOT) -> list[dict[str, int]]:
    """Return every online logical CPU with its core, socket and NUMA node. Raises MachineUnknownError."""
    folder = root / "sys/devices/system/cpu"
    online = _text(folder / "online")
    if online is None:
        raise MachineUnknownError(f"the lab needs Linux: {folder / 'online'} cannot be read")
    cpus = []
    for cpu in cpu_list(online):
        place = folder / f"cpu{cpu}"
        nodes = [int(entry.name[4:]) for entry in place.glob("node[0-9]*")]
        cpus.append(
            {
                "cpu": cpu,
                "core": int(_text(place / "topology/core_id") or 0),
                "socket": max(0, int(_text(place / "topology/physical_package_id") or 0)),
                "node": min(nodes, default=0),
            }
        )
    return cpus


def siblings(cpus: Sequence[Mapping[str, int]]) -> list[list[int]]:
    """Return the logical CPUs of each core, first core first."""
    cores: dict[tuple[int, int], list[int]] = {}
    for entry in cpus:
        cores.setdefault((entry["socket"], entry["core"]), []).append(entry["cpu"])
    return [sorted(found) for _, found in sorted(cores.items())]


def caches(root: Path = ROOT) -> list[Cache]:
    """Return the caches of the first CPU: level, type, size, and the CPUs that share them."""
    found: list[Cache] = []
    for index in sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index[0-9]*")):
        size = _text(index / "size")
        if size is None or not size.endswith("K"):
            continue
        found.append(
            {
                "level": int(_text(index / "level") or 0),
                "type": _text(index / "type") or "",
                "size_bytes": int(size[:-1]) * 1024,
                "cpus": cpu_list(_text(index / "shared_cpu_list") or "0"),
            }
        )
    return found


def memory(root: Path = ROOT) -> list[dict[str, Any]]:
    """Return the memory and CPUs of each NUMA node."""
    nodes = []
    for folder in sorted((root / "sys/devices/system/node").glob("node[0-9]*"), key=lambda path: int(path.name[4:])):
        total = re.search(r"MemTotal: *(\d+) kB", _text(folder / "meminfo") or "")
        nodes.append(
            {
                "node": int(folder.name[4:]),
                "memory_bytes": int(total[1]) * 1024 if total else 0,
                "cpus": cpu_list(_text(folder / "cpulist") or ""),
            }
        )
    if not nodes:
        total = re.search(r"MemTotal: *(\d+) kB", _text(root / "proc/meminfo") or "")
        nodes = [{"node": 0, "memory_bytes": int(total[1]) * 1024 if total else 0, "cpus": []}]
    return nodes


def processor(root: Path = ROOT) -> Processor:
    """Return the model and nominal clock of the CPU, with the source of the clock, or null if unknown."""
    text = _text(root / "proc/cpuinfo") or ""
    values: dict[str, str] = dict(re.findall(r"^([^:\n]+?)\s*: (.*)$", text.split("\n\n")[0], re.MULTILINE))
    name = values.get("model name", values.get("CPU part", "unknown"))
    base = _text(root / "sys/devices/system/cpu/cpu0/cpufreq/base_frequency")
    written = re.search(r"@ ([0-9.]+)GHz", name)
    if base is not None:
        clock, source = float(base) * 1e3, "cpufreq base_frequency"
    elif written:
        clock, source = float(written[1]) * 1e9, "model name"
    elif "bogomips" in values:
        # on x86 BogoMIPS are twice the frequency of the time-stamp counter, which is the nominal clock
        clock, source = float(values["bogomips"]) / 2 * 1e6, "time-stamp counter (BogoMIPS / 2)"
    else:
        clock, source = None, "unknown"
    return {
        "model": name,
        "clock_hz": clock,
        "clock_source": source,
        "virtual": "hypervisor" in values.get("flags", ""),
    }


def kernel(root: Path = ROOT) -> Kernel:
    """Return the release of the kernel and its scheduler settings, each with its source."""
    config = _config(root)
    hz = next((int(found) for found in re.findall(r"^CONFIG_HZ=(\d+)$", config, re.MULTILINE)), None)
    base_slice = _text(root / "sys/kernel/debug/sched/base_slice_ns")
    cpus = len(cpu_list(_text(root / "sys/devices/system/cpu/online") or "0"))
    return {
        "release": platform.release(),
        "hz": hz or 250,
        "hz_source": "CONFIG_HZ" if hz else "assumed",
        "base_slice_ns": int(base_slice) if base_slice else 700_000 * (1 + (min(cpus, 8)).bit_length() - 1),
        "base_slice_source": "base_slice_ns" if base_slice else "kernel/sched/fair.c by the number of CPUs",
        "autogroup": _text(root / "proc/sys/kernel/sched_autogroup_enabled") == "1",
    }


def cpu_ticks(line: str) -> dict[str, int]:
    """Return the CPU ticks in the first line of /proc/stat: busy (any process here), idle, and stolen by the host."""
    user, nice, system, idle, iowait, irq, softirq, steal = (int(value) for value in line.split()[1:9])
    return {"busy": user + nice + system + irq + softirq, "idle": idle + iowait, "steal": steal}


def noise(before: str, after: str, own_run_s: float) -> dict[str, float]:
    """Return the disturbances of a measurement between two first lines of /proc/stat, in per cent of all CPUs' time.

    `steal_pct` is time of other guests of the host. `foreign_pct` is busy time of other processes here, beyond our own.
    """
    first, last = cpu_ticks(before), cpu_ticks(after)
    spent = {key: last[key] - first[key] for key in first}
    total = max(1, sum(spent.values()))
    foreign = max(0.0, spent["busy"] - own_run_s * TICKS_PER_S)
    return {"steal_pct": 100 * spent["steal"] / total, "foreign_pct": 100 * foreign / total}


def stat_line(root: Path = ROOT) -> str:
    """Return the first line of /proc/stat."""
    return (_text(root / "proc/stat") or "cpu 0 0 0 0 0 0 0 0").splitlines()[0]


def load(root: Path = ROOT) -> float:
    """Return the load average of the last minute."""
    return float((_text(root / "proc/loadavg") or "0").split()[0])


def usable_cpus() -> list[int]:
    """Return logical CPUs that this process can use."""
    if not hasattr(os, "sched_getaffinity"):
        raise MachineUnknownError("the lab measures Linux machines only")
    return sorted(os.sched_getaffinity(0))


def cpu_list(text: str) -> list[int]:
    """Return the numbers in a list such as `0-3,8`."""
    found: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def _config(root: Path) -> str:
    packed = root / "proc/config.gz"
    if packed.exists():
        return gzip.decompress(packed.read_bytes()).decode("utf-8", "replace")
    return _text(root / f"boot/config-{platform.release()}") or ""


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def write_json(path: Path, value: Any) -> None:
    """Write a value as a JSON file. Raises OSError."""
    path.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def sha256(path: Path) -> str:
    """Return the hash of a file. Raises OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
