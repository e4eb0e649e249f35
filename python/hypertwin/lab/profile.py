"""Properties and speed of this machine. Each figure has its spread, and the noise during the measurement is included.

The result, `machine.json`, is the input of predictions by `hypertwin lab cpu`. docs/guides/lab.md explains each key.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, cast

from hypertwin import _core
from hypertwin.documents.lab import Cpu, Processor, Profile, ProfiledCoding
from hypertwin.errors import HypertwinError, Mistake, ScenarioError, fail, short
from hypertwin.ingest import outside
from hypertwin.lab import erasure_coding, system
from hypertwin.lab.isal import LibraryMissingError

MIB = 2**20
SAMPLE_S = 0.02
"""CPU time of one sample of the spin kernel."""
LEAST_S, MOST_S = 0.05, 60.0


class ProfileError(HypertwinError):
    """Raised if the machine could not be measured."""

    code = "lab-profile"


class BadMachineError(HypertwinError):
    """Raised if a file is not a machine.json."""

    code = "bad-machine"


def profile(
    *,
    seconds: float = 2.0,
    folder: Path | None = None,
    memory_bandwidth: bool = True,
    disk: bool = True,
    coding: bool = True,
    array_bytes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Profile:
    """Measure this machine. `seconds` is the approximate time per part, `folder` the place of disk I/O.

    Raises ProfileError if the system refuses a measurement, ScenarioError for a parameter out of range.
    """
    if not LEAST_S <= seconds <= MOST_S:
        allowed = f"{LEAST_S:g} to {MOST_S:g} seconds"
        fail("out-of-range", "", f"{seconds:g}", allowed, "2 is usual", "--seconds")
    if folder is not None and not folder.is_dir():
        raise ScenarioError.of(
            [Mistake("not-a-file", "", str(folder), "a folder on the disk to measure", "create it first", "--dir")]
        )
    before = system.stat_line()
    started = datetime.now(UTC).isoformat()
    cpus = system.topology()
    usable = [cpu for cpu in system.usable_cpus() if any(entry["cpu"] == cpu for entry in cpus)]
    cores = [core for core in (sorted(set(core) & set(usable)) for core in system.siblings(cpus)) if core]
    one_each = [core[0] for core in cores]
    found: dict[str, Any] = {
        "version": _core.version(),
        "measured_at": started,
        "processor": system.processor(),
        "topology": {"cpus": cpus, "usable": usable, "caches": system.caches(), "nodes": system.memory()},
        "kernel": system.kernel(),
    }
    parts: list[tuple[str, Callable[[], Any]]] = [
        ("spin", lambda: spin(one_each, seconds)),
        ("smt", lambda: smt_yield(cores, seconds)),
        ("timers", lambda: _core_json(_core.lab_timers, usable[-1], 2_000_000, max(20, round(seconds / 0.0025)))),
        (
            "context_switch_ns",
            lambda: _core_json(_core.lab_context_switch, usable[-1], max(100, round(2500 * seconds)), 9),
        ),
        (
            "bandwidth",
            lambda: bandwidth(cpus, one_each, found["topology"], array_bytes, seconds) if memory_bandwidth else [],
        ),
        (
            "erasure_coding",
            lambda: coding_figures(found["processor"], seconds) if coding else {"skipped": "not asked for"},
        ),
        ("disk", lambda: disk_figures(folder, seconds) if disk else {"skipped": "not asked for"}),
    ]
    for done, (name, part) in enumerate(parts):
        if progress:
            progress(done, len(parts))
        found[name] = part()
    if progress:
        progress(len(parts), len(parts))
    found["noise"] = {
        "steal_pct": system.noise(before, system.stat_line(), 0.0)["steal_pct"],
        "load": system.load(),
        "spin_spread_pct": found["spin"]["spread_pct"],
        "lost_pct": found["spin"]["lost_pct"],
    }
    return cast(Profile, found)


def spin(cpus: Sequence[int], seconds: float) -> dict[str, Any]:
    """Return the speed of the spin kernel on one CPU and on all of `cpus` at once. Bursts consist of `units_per_s`."""
    samples = max(3, round(seconds / SAMPLE_S / 2))
    alone = _core_json(_core.lab_spin, [cpus[0]], samples)[0]
    together = _core_json(_core.lab_spin, list(cpus), samples)
    speed = statistics.median(found["units_per_s"]["median"] for found in together)
    wall = statistics.fmean(found["units_per_wall_s"] for found in together)
    return {
        "units_per_s": speed,
        "spread_pct": max(found["units_per_s"]["spread_pct"] for found in (alone, *together)),
        "together_over_alone": speed / alone["units_per_s"]["median"],
        "lost_pct": max(0.0, 100 * (1 - wall / speed)),
        "alone": alone,
        "together": together,
    }


def smt_yield(cores: Sequence[Sequence[int]], seconds: float) -> dict[str, Any] | None:
    """Return the ratio of the work of two siblings at once to the work of one alone.

    The result is None if no core has two usable threads.
    """
    pair = next((core[:2] for core in cores if len(core) > 1), None)
    if pair is None:
        return None
    samples = max(3, round(seconds / SAMPLE_S / 2))
    alone = _core_json(_core.lab_spin, [pair[0]], samples)[0]["units_per_s"]["median"]
    both = [found["units_per_s"] for found in _core_json(_core.lab_spin, list(pair), samples)]
    return {
        "cpus": list(pair),
        "yield": sum(found["median"] for found in both) / alone,
        "spread_pct": max(found["spread_pct"] for found in both),
    }


def bandwidth(
    cpus: Sequence[Mapping[str, int]],
    one_each: Sequence[int],
    topology: Mapping[str, Any],
    array_bytes: int | None,
    seconds: float,
) -> list[dict[str, Any]]:
    """Return STREAM by number of threads (1, 2, 4 ... cores) on each node, and on all cores."""
    llc = max((cache["size_bytes"] for cache in topology["caches"]), default=32 * MIB)
    size = array_bytes or max(4 * llc, 64 * MIB)
    node_of = {entry["cpu"]: entry["node"] for entry in cpus}
    sets: list[tuple[int | None, list[int]]] = []
    nodes = sorted({node_of[cpu] for cpu in one_each})
    for node in nodes:
        own = [cpu for cpu in one_each if node_of[cpu] == node]
        counts = sorted({min(2**power, len(own)) for power in range(math.ceil(math.log2(len(own))) + 1)})
        sets += [(node, own[:count]) for count in counts]
    if len(nodes) > 1:
        sets.append((None, list(one_each)))
    repetitions = max(2, min(20, round(5 * seconds)))
    return [
        {"node": node, "threads": len(chosen), **_core_json(_core.lab_bandwidth, chosen, size, repetitions)}
        for node, chosen in sets
    ]


def coding_figures(processor: Processor, seconds: float) -> ProfiledCoding:
    """Return the measurement of `hypertwin lab erasure-coding` for one scheme.

    Without ISA-L, the reason for skipping the measurement is returned.
    """
    clock = None if processor["clock_hz"] is None else f"{processor['clock_hz'] / 1e6:.3f} MHz"
    try:
        found = erasure_coding.measure(["3+2"], seconds=max(LEAST_S, min(1.0, seconds / 4)), clock=clock)
    except LibraryMissingError as error:
        return {"skipped": str(error)}
    return cast(ProfiledCoding, found)


def disk_figures(folder: Path | None, seconds: float) -> dict[str, Any]:
    """Return IOPS and latency of random 4 KiB reads and writes with fio, at depths 1 and 16."""
    program = shutil.which("fio")
    if program is None:
        return {"skipped": "fio is not installed"}
    with tempfile.TemporaryDirectory(prefix="hypertwin-lab-", dir=folder) as place:
        rows = []
        for kind in ("randread", "randwrite"):
            for depth in (1, 16):
                runs = [_fio(program, Path(place), kind, depth, max(1, round(seconds))) for _ in range(3)]
                rows.append(
                    {
                        "kind": kind,
                        "block_bytes": 4096,
                        "depth": depth,
                        "iops": statistics.median(one["iops"] for one in runs),
                        "iops_spread_pct": _spread_pct([one["iops"] for one in runs]),
                        "latency_ms_mean": statistics.median(one["latency_ms_mean"] for one in runs),
                        "latency_ms_p99": statistics.median(one["latency_ms_p99"] for one in runs),
                    }
                )
    return {"folder": str(folder or tempfile.gettempdir()), "rows": rows}


def _fio(program: str, place: Path, kind: str, depth: int, seconds: int) -> dict[str, float]:
    command = [program, "--name=lab", f"--directory={place}", "--size=256M", "--bs=4k", f"--rw={kind}"]
    command += [f"--iodepth={depth}", "--ioengine=libaio", "--direct=1", "--time_based", f"--runtime={seconds}"]
    ended = subprocess.run([*command, "--output-format=json"], capture_output=True, text=True, check=False)
    if ended.returncode:
        raise ProfileError(f"fio failed: {(ended.stderr or ended.stdout).strip()[-300:]}")
    job = json.loads(ended.stdout[ended.stdout.index("{") :])["jobs"][0]["read" if kind == "randread" else "write"]
    latency = job["clat_ns"]
    return {
        "iops": job["iops"],
        "latency_ms_mean": latency["mean"] / 1e6,
        "latency_ms_p99": latency["percentile"]["99.000000"] / 1e6,
    }


def _spread_pct(values: Sequence[float]) -> float:
    median = statistics.median(values)
    return 100 * (max(values) - min(values)) / median if median else 0.0


MOST_FILE_BYTES = 16 * MIB
"""Maximum bytes of a machine.json: one of 1,024 CPUs has 1 MiB."""
MOST_CPUS = 8192

Check = Callable[[Any], bool]


def _number(least: float, most: float) -> Check:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _whole(most: int) -> Check:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 1000


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and 0 < len(value) <= MOST_CPUS and all(map(check, value))


def _is_cpu(value: Any) -> bool:
    numbers = [value.get(key) for key in Cpu.__annotations__] if isinstance(value, dict) else [None]
    return all(map(_whole(MOST_CPUS), numbers))


_CLOCK, _TIME_NS = _number(1e6, 1e11), _number(0, 1e9)
_READ: Mapping[str, tuple[Check, str]] = {
    "processor.model": (_text, "a text"),
    "processor.clock_hz": (lambda value: value is None or _CLOCK(value), "Hz, or null"),
    "processor.virtual": (lambda value: isinstance(value, bool), "true or false"),
    "topology.cpus": (_list_of(_is_cpu), "a list of {cpu, core, socket, node}, all integers"),
    "topology.usable": (_list_of(_whole(MOST_CPUS)), "a list of numbers of CPUs"),
    "kernel.release": (_text, "a text"),
    "kernel.hz": (_number(1, 1e6), "ticks a second"),
    "kernel.base_slice_ns": (_number(1, 1e9), "nanoseconds"),
    "spin.units_per_s": (_number(1, 1e15), "units a second"),
    "timers.typical_ns": (_TIME_NS, "nanoseconds"),
    "context_switch_ns.median": (_TIME_NS, "nanoseconds"),
}
"""Values read from a machine.json: their check, and the allowed values."""


def read(path: Path) -> dict[str, Any]:
    """Return a machine.json from `hypertwin lab profile`. Raises BadMachineError."""
    try:
        machine = outside.json_value(path, MOST_FILE_BYTES)
    except ScenarioError as error:
        raise BadMachineError(f"{error}\n  help: hypertwin lab profile --out FILE makes one") from None
    needed = list(dict.fromkeys([*(place.partition(".")[0] for place in _READ), "smt"]))
    missing = [key for key in needed if not isinstance(machine, dict) or key not in machine]
    if missing:
        raise BadMachineError(f"{path} has no {', '.join(missing)}; make it with `hypertwin lab profile --out {path}`")
    for place, (check, allowed) in _READ.items():
        section, _, key = place.partition(".")
        value = machine[section].get(key) if isinstance(machine[section], dict) else machine[section]
        if not check(value) or key not in machine[section]:
            _wrong(path, place, value, allowed)
    smt = machine["smt"]
    if smt is not None and not (isinstance(smt, dict) and _number(0, 100)(smt.get("yield"))):
        _wrong(path, "smt", smt, "{yield: NUMBER}, or null")
    cpus = {entry["cpu"] for entry in machine["topology"]["cpus"]}
    if len(cpus) < len(machine["topology"]["cpus"]) or not cpus.issuperset(machine["topology"]["usable"]):
        _wrong(
            path, "topology.usable", machine["topology"]["usable"], "CPUs of topology.cpus, each of which is there once"
        )
    return dict(machine)


def _wrong(path: Path, place: str, value: Any, allowed: str) -> NoReturn:
    written = "(missing)" if value is None else short(str(value))
    raise BadMachineError(
        f"{path}: {place}: {written}; allowed: {allowed}\n  help: hypertwin lab profile --out FILE makes one"
    )


def _core_json(function: Callable[..., str], *arguments: Any) -> Any:
    try:
        return json.loads(function(*arguments))
    except _core.LabFailed as error:
        raise ProfileError(f"the machine could not be measured: {error}") from None
