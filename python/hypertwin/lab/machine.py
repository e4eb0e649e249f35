"""CPU data of this machine for a measurement: model, clock, caches, instruction sets."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hypertwin.lab.system import MachineUnknownError

CPUINFO = Path("/proc/cpuinfo")
MEMINFO = Path("/proc/meminfo")
CPUS = Path("/sys/devices/system/cpu")
MHZ = 1e6


@dataclass(frozen=True)
class Machine:
    """Logical CPU with its caches."""

    cpu: str
    """Model name as reported by the CPU, with family, model and stepping if available."""
    logical_cpu: int
    """Measured logical CPU."""
    clock_hz: float
    """Nominal clock: the unit of the cycles reported. The core can run faster (turbo) or slower."""
    clock_source: str
    """Source of the nominal clock."""
    l2_bytes: int
    """Level-2 cache of the core."""
    llc_bytes: int
    """Last-level cache that the core can use."""
    virtual: bool
    """True if this is a virtual machine, whose host might have been busy."""
    flags: frozenset[str]
    """Instruction sets, by their names in /proc/cpuinfo."""


def machine(clock_hz: float | None = None) -> Machine:
    """Return this machine and the logical CPU to measure. `clock_hz` overrides the clock reported by the system.

    Raises MachineUnknownError outside Linux, or if the clock or the caches are unknown.
    """
    try:
        cpu = max(os.sched_getaffinity(0))
        values = _cpuinfo(CPUINFO.read_text(encoding="utf-8"), cpu)
    except (AttributeError, OSError) as error:
        raise MachineUnknownError(f"this measurement needs Linux with /proc: {error}") from None
    name = values.get("model name") or values.get("cpu part", "unknown CPU")
    identity = [f"{key} {values[field]}" for key, field in _IDENTITY.items() if field in values]
    clock, source = (clock_hz, "given") if clock_hz else _nominal_clock(cpu, values)
    caches = _caches(cpu)
    flags = frozenset(values.get("flags", values.get("Features", "")).split())
    return Machine(
        cpu=f"{name} ({', '.join(identity)})" if identity else name,
        logical_cpu=cpu,
        clock_hz=clock,
        clock_source=source,
        l2_bytes=caches[2],
        llc_bytes=caches[max(caches)],
        virtual="hypervisor" in flags,
        flags=flags,
    )


def available_bytes() -> int:
    """Return the memory available without swapping. Raises MachineUnknownError."""
    with contextlib.suppress(OSError):
        found = re.search(r"^MemAvailable: *(\d+) kB$", MEMINFO.read_text(encoding="ascii"), re.MULTILINE)
        if found:
            return int(found[1]) * 1024
    raise MachineUnknownError(f"{MEMINFO} does not tell the available memory")


@contextlib.contextmanager
def pinned(cpu: int) -> Iterator[None]:
    """Keep this thread on one logical CPU while the block runs."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


_IDENTITY = {"family": "cpu family", "model": "model", "stepping": "stepping"}


def _cpuinfo(text: str, cpu: int) -> dict[str, str]:
    """Return the fields of one logical CPU."""
    for block in text.split("\n\n"):
        lines = (line.partition(":") for line in block.splitlines())
        values = {key.strip(): value.strip() for key, _, value in lines}
        if values.get("processor") == str(cpu):
            return values
    raise OSError(f"{CPUINFO} has no processor {cpu}")


def _nominal_clock(cpu: int, values: dict[str, str]) -> tuple[float, str]:
    base = CPUS / f"cpu{cpu}" / "cpufreq" / "base_frequency"
    if base.is_file():
        return float(base.read_text(encoding="ascii")) * 1e3, f"{base.name} of cpufreq"
    named = re.search(r"@ *([0-9.]+) *GHz", values.get("model name", ""))
    if named:
        return float(named[1]) * 1e9, "the CPU's name"
    # on x86 Linux derives it from the time stamp counter, which ticks at the nominal clock
    if "constant_tsc" in values.get("flags", "").split() and "bogomips" in values:
        return float(values["bogomips"]) / 2 * MHZ, "time stamp counter (bogomips / 2 in /proc/cpuinfo)"
    raise MachineUnknownError(
        "the system does not tell the CPU's nominal clock\n  help: give it, for example --clock 2.6GHz"
    )


def _caches(cpu: int) -> dict[int, int]:
    """Return the bytes of each level's data cache."""
    found: dict[int, int] = {}
    for folder in sorted((CPUS / f"cpu{cpu}" / "cache").glob("index*")):
        level, kind, size = (
            (folder / name).read_text(encoding="ascii").strip() if (folder / name).is_file() else ""
            for name in ("level", "type", "size")
        )
        if kind in ("Data", "Unified") and re.fullmatch(r"\d+K", size):
            found[int(level)] = int(size[:-1]) * 1024
    if 2 not in found:
        raise MachineUnknownError(f"{CPUS}/cpu{cpu}/cache does not tell the size of the level-2 cache")
    return found
