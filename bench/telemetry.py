"""How fast an esxtop batch file becomes the table that `diagnose` reads: a generator of such files, and a clock.

Writes files of two shapes, with the columns that `esxtop -b -a` has on a small and a large host, reads each into
Parquet and diagnoses it, in processes of their own, and prints seconds, MB/s, rows and peak memory.

    .venv/bin/python bench/telemetry.py                                      # 1 GB of each shape, minutes
    .venv/bin/python bench/telemetry.py --columns 17000 --bytes 200e6
    .venv/bin/python bench/telemetry.py --write big.csv --columns 1500       # only write a file
"""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hypertwin.ingest.vmware.esxtop_counters import TIME_COLUMN, TIME_FORMAT

SHAPES = (17_000, 1_500)
"""Columns of the files that are compared."""
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def _listed(names: str) -> list[str]:
    return names.split(",")


# what `-a` writes for each kind of object, whether anybody wants it or not; sources as in `esxtop_counters`
GROUP_CPU = _listed(
    "Members,% Used,% Run,% System,% Wait,% VmWait,% Ready,% Idle,% Overlap,% CoStop,% Max Limited,% Swap Wait,"
    "Alloc Min,Alloc Max,Alloc Shares,Effective Min (MHz),% CPU Latency,% Demand,Power Usage Watts,Switches/sec,"
    "Migrates/sec,Quantum Expires/sec,Wakeups/sec,Timers/sec"
)
VCPU = [*GROUP_CPU[1:16], "Physical Cpu", *GROUP_CPU[16:]]
GROUP_MEMORY = _listed(
    "Members,Alloc Min,Alloc Max,Alloc Shares,Memory Size MBytes,Memory Granted Size MBytes,"
    "Memory Consumed Size MBytes,Target Size MBytes,Touched MBytes,Touched Write MBytes,% Active Estimate,"
    "% Active Slow Estimate,% Active Fast Estimate,% Active Next Estimate,Numa Home Nodes,Numa Rebalance Count Delta,"
    "Numa Remote MBytes,"
    "Numa Local MBytes,Numa % Local,Memctl?,Memctl MBytes,Memctl Target MBytes,Memctl Max MBytes,Swapped MBytes,"
    "Swap Target MBytes,Swap Read MBytes/sec,Swap Written MBytes/sec,Compressed Memory MBytes,Compression MBytes/sec,"
    "Decompression MBytes/sec,Zero MBytes,Shared MBytes,Shared Saved MBytes,Copy On Write Hint MBytes,"
    "Overhead UW MBytes,Overhead MBytes,Overhead Max MBytes,Committed Charge MBytes"
)
MEMORY = _listed(
    "Memory Overcommit (1 Minute Avg),Memory Overcommit (5 Minute Avg),Memory Overcommit (15 Minute Avg),"
    "Machine MBytes,Kernel MBytes,NonKernel MBytes,Free MBytes,Kernel Managed MBytes,Kernel MinFree MBytes,"
    "Kernel Reserved MBytes,Kernel Unreserved MBytes,Kernel State,PShare Shared MBytes,PShare Common MBytes,"
    "PShare Savings MBytes,Swap Used MBytes,Swap Target MBytes,Swap MBytes Read/sec,Swap MBytes Write/sec,"
    "Memctl Current MBytes,Memctl Target MBytes,Memctl Max MBytes"
)
_LATENCIES = [f"Average {part} MilliSec/{of}" for of in ("Command", "Read", "Write") for part in
              ("Driver", "Kernel", "Guest", "Queue")]  # fmt: skip
_RATES = ["Commands/sec", "Reads/sec", "Writes/sec", "MBytes Read/sec", "MBytes Written/sec"]
_FAILURES = [f"Failed {what}/sec" for what in ("Commands", "Reads", "Writes", "Bytes Read", "Bytes Written")]
DEVICE = [
    *("Device Q Depth", "World Q Depth", "Active Commands", "Queued Commands", "% Used", "Load"),
    *(*_RATES, *_LATENCIES, *_FAILURES, "Failed Reserves/sec", "Aborts/sec", "Resets/sec"),
]
ADAPTER = ["Adapter Q Depth", *_RATES, *_LATENCIES, *_FAILURES, "Aborts/sec", "Resets/sec"]
PER_WORLD = ["Active Commands", "Queued Commands", *_RATES, *_LATENCIES]
VIRTUAL_DISK = [*_RATES, "Average MilliSec/Read", "Average MilliSec/Write"]
PORT = _listed(
    "Link State,Full Duplex,Link Speed (Mb/s),Packets Transmitted/sec,MBits Transmitted/sec,Packets Received/sec,"
    "MBits Received/sec,% Outbound Packets Dropped,% Received Packets Dropped,Multicast Packets Received/sec,"
    "Broadcast Packets Received/sec"
)
SYSTEM_GROUPS = (
    "idle",
    "system",
    "helper",
    "drivers",
    "ft",
    "vmotion",
    "init.2097491",
    "hostd.2098765",
    "vpxa.2099012",
)
HELPER_WORLDS = ("vmx", "vmx-filtPoll", "vmast.100", "vmx-mks", "vmx-svga")


@dataclass(frozen=True)
class Machine:
    """A machine of a generated file."""

    name: str
    vcpus: int
    disks: int = 2


def columns(machines: list[Machine], threads: int = 64, devices: int = 8, host: str = "esx1") -> Iterator[str]:
    """The names of all columns but the time's, in the order of a real file."""

    def listed(object_: str, instance: str, counters: list[str]) -> Iterator[str]:
        return (f"\\\\{host}\\{object_}{f'({instance})' if instance else ''}\\{counter}" for counter in counters)

    yield from listed("Memory", "", MEMORY)
    yield from listed("Physical Cpu Load", "", [f"Cpu Load ({minutes} Minute Avg)" for minutes in (1, 5, 15)])
    instances = [*map(str, range(threads)), "_Total"]
    for counter in ("% Processor Time", "% Util Time", "% Core Util Time"):
        for instance in instances:
            yield from listed("Physical Cpu", instance, [counter])
    groups = [(number, name) for number, name in enumerate(SYSTEM_GROUPS, 1)]
    groups += [(10_000 + 7 * number, machine.name) for number, machine in enumerate(machines)]
    for number, name in groups:
        yield from listed("Group Cpu", f"{number}:{name}", GROUP_CPU)
    for index, machine in enumerate(machines):
        group, world = 10_000 + 7 * index, 2_100_000 + 100 * index
        worlds = [*HELPER_WORLDS, *(f"vmx-vcpu-{vcpu}:{machine.name}" for vcpu in range(machine.vcpus))]
        for offset, name in enumerate(worlds):
            yield from listed("Vcpu", f"{group}:{machine.name}:{world + offset}:{name}", VCPU)
    for number, name in groups:
        yield from listed("Group Memory", f"{number}:{name}", GROUP_MEMORY)
    for adapter in ("vmhba0", "vmhba1", "vmhba64"):
        yield from listed("Physical Disk Adapter", adapter, ADAPTER)
    for device in range(devices):
        yield from listed("Physical Disk SCSI Device", f"naa.6000097000029780{device:04x}", DEVICE)
    for index in range(len(machines)):
        world = f"naa.6000097000029780{index % max(devices, 1):04x}-{2_100_000 + 100 * index}"
        yield from listed("Physical Disk Per-Device-Per-World", world, PER_WORLD)
    for index, machine in enumerate(machines):
        yield from listed("Virtual Disk", machine.name, VIRTUAL_DISK)
        for disk in range(machine.disks):
            yield from listed("Virtual Disk", f"{machine.name}:scsi0:{disk}", VIRTUAL_DISK)
        yield from listed(
            "Network Port", f"vSwitch0:{67_108_880 + index}:{2_100_000 + 100 * index}:{machine.name}", PORT
        )
    for port in range(4):
        yield from listed("Network Port", f"vSwitch0:{33_554_434 + port}:vmnic{port}", PORT)


def header(count: int) -> list[str]:
    """At least 1,000 names of columns, exactly `count` with the time's: as many machines as fit, then interrupts."""
    threads, devices = (64, 8) if count > 5_000 else (16, 2)
    machines: list[Machine] = []
    fits: list[str] = list(columns(machines, threads, devices))
    while True:
        machines.append(Machine(f"vm-{len(machines):03d}", (2, 4, 4, 8, 16)[len(machines) % 5]))
        more = list(columns(machines, threads, devices))
        if len(more) > count - 2:
            break
        fits = more
    missing = count - 2 - len(fits)
    interrupts = [f"\\\\esx1\\Interrupt Cookie({number}:0x{number:x})\\Interrupts/second" for number in range(missing)]
    return [*[TIME_COLUMN, *fits, *interrupts][: count - 1], "     -"]


def write(path: Path, count: int, size_bytes: float, least_rows: int = 1, seed: int = 1, interval_s: int = 5) -> int:
    """Write a file of about that size, with so many rows at least; return its rows. A third of the values are zero."""
    names = header(count)
    random = np.random.default_rng(seed)
    pool = (
        [f"{value:.2f}" for value in random.gamma(0.6, 12.0, 20_000)] + ["0.00"] * 10_000 + ["8192.00", "64.00"] * 500
    )
    rows, written = 0, 0
    with path.open("w", newline="\n") as out:
        written += out.write(",".join(f'"{name}"' for name in names) + "\n")
        while written < size_bytes or rows < least_rows:
            time = (START + datetime.timedelta(seconds=interval_s * rows)).strftime(TIME_FORMAT)
            picked = random.integers(0, len(pool), count - 2).tolist()
            written += out.write(f'"{time}","' + '","'.join([pool[index] for index in picked]) + '",""\n')
            rows += 1
    return rows


READ = """
import json, resource, sys, time
from pathlib import Path
from hypertwin.ingest import formats, telemetry_table
start, cpu = time.perf_counter(), time.process_time()
rows = telemetry_table.write(formats.read(sys.argv[1]).frames, Path(sys.argv[2]))
seconds, cpu_s = time.perf_counter() - start, time.process_time() - cpu
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"seconds": seconds, "cpu_s": cpu_s, "rows": rows, "peak_rss_mib": peak / 1024}))
"""


DIAGNOSE = """
import json, sys, time
from hypertwin import diagnosis
start = time.perf_counter()
diagnosis.diagnose([sys.argv[1]])
seconds = time.perf_counter() - start
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"seconds": seconds, "peak_rss_mib": peak / 1024}))
"""


def measured(code: str, *arguments: Path) -> dict[str, float]:
    """What a process of its own says of its work."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    told: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return told


def main() -> None:
    """Write, read, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, action="append", help="columns of a file; may be given several times")
    parser.add_argument("--bytes", type=float, default=1e9, help="size of each file (1e9)")
    parser.add_argument("--write", type=Path, help="only write one file of that name")
    options = parser.parse_args()
    shapes = options.columns or list(SHAPES)
    if options.write:
        print(f"{options.write}: {shapes[0]} columns, {write(options.write, shapes[0], options.bytes)} rows")
        return
    print("columns     rows      MB |  reader s    MB/s  long rows  Parquet MB  peak MiB | diagnose s  peak MiB")
    for count in shapes:
        with tempfile.TemporaryDirectory() as folder:
            source, table = Path(folder) / "esx1.csv", Path(folder) / "table.parquet"
            rows = write(source, count, options.bytes)
            read, found = measured(READ, source, table), measured(DIAGNOSE, source)
            size = source.stat().st_size / 1e6
            print(
                f"{count:7,} {rows:8,} {size:7.0f} | {read['seconds']:9.1f} {size / read['seconds']:7.0f}"
                f" {read['rows']:10,.0f} {table.stat().st_size / 1e6:11.1f} {read['peak_rss_mib']:9.0f}"
                f" | {found['seconds']:10.1f} {found['peak_rss_mib']:9.0f}"
            )


if __name__ == "__main__":
    main()
