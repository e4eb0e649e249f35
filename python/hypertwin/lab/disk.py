"""This machine's disk: measure its curves, fit a device to them, predict an unmeasured load, then measure that load.

The device has a few parameters. Each is fitted to the points that depend on it: latencies by single I/Os, random rates
by deep queues, sequential rates by large blocks, flushes by synchronous writes. The prediction is on disk, with a hash,
before the first measurement of its load.

The lab uses `calibration` in the same way as users, and has no model of its own.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from hypertwin import _core, scenario
from hypertwin.calibration.calibrate import calibrate
from hypertwin.documents import lab as documents
from hypertwin.errors import HypertwinError
from hypertwin.files import writing
from hypertwin.lab import fio, system
from hypertwin.lab.fio import Fio, Load
from hypertwin.runs import simulation
from hypertwin.runs.simulation import LabelledProgress

PROMISED_PCT = 20.0
"""Maximum error of the predicted throughput, on a quiet machine."""
PREDICTED_RUNS = 5
"""Number of measurements of the predicted load. The median counts."""
KIB = 2**10
SMALL, LARGE = 4 * KIB, 128 * KIB
DEPTHS, FEW_DEPTHS = (1, 4, 16, 64), (1, 16)
LARGE_DEPTH = 16
HEADS_MS = 2.0
"""Time of a random read above which a disk has moving heads."""
SPREAD_NOTE_PCT = 20.0
BUSY_PCT = 90.0
"""CPU time of fio in per cent of its single thread, above which fio might limit a rate."""
TWIN = {"duration": "200 ms", "warmup": "50 ms", "sample_interval": "100 ms", "replications": 3, "seed": 1}
"""Run settings of the twin for each load."""
NOT_MODELLED = (
    "Not modelled: caches of the hypervisor's host, limits of a cloud's volumes, other users of the same disk, and "
    "what a disk does after minutes of writing. Where the spread is large, one of these is at work."
)


class DiskError(HypertwinError):
    """Raised if the disk could not be measured or fitted."""

    code = "lab-disk"


@dataclass(frozen=True)
class Plan:
    """Loads to measure, and their duration."""

    size_bytes: int = 2**30
    seconds: float = 2.0
    repeat: int = 3
    depths: Sequence[int] = DEPTHS
    read_pct: int = 70
    """Share of reads in the predicted load, which is random with blocks of 4 KiB."""
    depth: int = 8
    """Queue depth of the predicted load. This mix is not measured before, and by default neither is this depth."""

    @property
    def loads(self) -> dict[str, list[Load]]:
        """The loads to measure, by the parameters that they determine."""
        return {
            "reads": [Load(100, True, SMALL, depth) for depth in self.depths],
            "writes": [Load(0, True, SMALL, depth) for depth in self.depths],
            "sequential reads": [Load(100, False, LARGE, LARGE_DEPTH)],
            "sequential writes": [Load(0, False, LARGE, LARGE_DEPTH)],
            "flushes": [Load(0, True, SMALL, 1, synchronous=True)],
        }

    @property
    def predicted(self) -> Load:
        """The load to predict."""
        return Load(self.read_pct, True, SMALL, self.depth)


QUICK = Plan(size_bytes=2**26, seconds=0.5, repeat=1, depths=FEW_DEPTHS)
"""Short plan of a few seconds for a test of the measurement."""

TOLD: Mapping[str, Sequence[str]] = {
    "sequential reads": ("sequential_read",),
    "reads": ("read_latency", "random_read"),
    "sequential writes": ("sequential_write",),
    "writes": ("write_latency", "random_write"),
    "flushes": ("flush",),
}
"""Parameters of a device by the loads that determine them, in the order of fitting."""


# ---- measuring


@dataclass(frozen=True)
class Measured:
    """Runs of one load."""

    load: Load
    reports: Sequence[Mapping[str, Any]]

    def iops(self, report: Mapping[str, Any]) -> float:
        """Return I/Os per second of one run."""
        return float(report["jobs"][0]["read"]["iops"] + report["jobs"][0]["write"]["iops"])

    @property
    def median(self) -> Mapping[str, Any]:
        """Return the run with the median throughput.

        For an even number, the lower of the two middle runs is returned.
        """
        return sorted(self.reports, key=self.iops)[(len(self.reports) - 1) // 2]

    @property
    def figures(self) -> documents.DiskFigures:
        """Figures of the median run."""
        return _figures(self.median, self.iops(self.median))

    @property
    def spread_pct(self) -> float | None:
        """Half of the range of throughput over the runs, in per cent of the median, or None for a single run."""
        if len(self.reports) < 2:
            return None
        rates = [self.iops(report) for report in self.reports]
        return 100 * (max(rates) - min(rates)) / 2 / self.iops(self.median)

    @property
    def cpu_pct(self) -> float:
        """CPU time of fio in the median run, in per cent of a thread."""
        job = self.median["jobs"][0]
        return float(job["usr_cpu"] + job["sys_cpu"])


def _figures(report: Mapping[str, Any], iops: float) -> documents.DiskFigures:
    job = report["jobs"][0]
    parts = [job[way] for way in ("read", "write") if job[way]["iops"] > 0]
    mean_ns = sum(part["iops"] * part["lat_ns"]["mean"] for part in parts) / iops
    found: documents.DiskFigures = {"iops": iops, "latency_ms_mean": mean_ns / 1e6}
    if len(parts) > 1:
        found["read_latency_ms_mean"] = job["read"]["lat_ns"]["mean"] / 1e6
        found["write_latency_ms_mean"] = job["write"]["lat_ns"]["mean"] / 1e6
    else:
        found["latency_ms_p99"] = parts[0]["clat_ns"]["percentile"]["99.000000"] / 1e6
    return found


def _measure(
    tool: Fio, loads: Sequence[Load], runs: int, seconds: float, finished: Callable[[], None]
) -> dict[str, Measured]:
    """Measure every load once, and then repeat all loads, so that slow changes affect the spread of all loads."""
    reports: dict[str, list[Mapping[str, Any]]] = {load.name: [] for load in loads}
    for _ in range(runs):
        for load in loads:
            reports[load.name].append(tool.measure(load, seconds))
            finished()
    return {load.name: Measured(load, reports[load.name]) for load in loads}


# ---- the twin


def scenario_of(found: Mapping[str, Measured], cpus: int, clock_hz: float) -> dict[str, Any]:
    """Return the scenario of this machine's disk. Its device parameters are first guesses from the points."""
    reads = [each for each in found.values() if _is(each.load, 100, random=True)]
    writes = [each for each in found.values() if _is(each.load, 0, random=True) and not each.load.synchronous]
    large = {way: next(each for each in found.values() if _is(each.load, way, random=False)) for way in (100, 0)}
    synchronous = next(each for each in found.values() if each.load.synchronous)
    alone = {way: each[0].figures["latency_ms_mean"] for way, each in (("read", reads), ("write", writes))}
    most = {way: max(each.figures["iops"] for each in of) for way, of in (("read", reads), ("write", writes))}
    flush_ms = max(synchronous.figures["latency_ms_mean"] - alone["write"], 0.001)
    deepest = reads[-1]
    user_s = float(deepest.median["jobs"][0]["usr_cpu"]) / 100 / deepest.figures["iops"]
    rate = {way: each.figures["iops"] * LARGE / 1e6 for way, each in large.items()}
    return {
        "name": "disk",
        "description": "This machine's disk, as `hypertwin lab disk` measured it.",
        "run": TWIN,
        "hosts": {
            "machine": {
                "sockets": 1,
                "cores_per_socket": cpus,
                "clock": f"{clock_hz / 1e6:.3f} MHz",
                "memory_per_node": "64 GiB",
                "hypervisor": "none",
            }
        },
        "vms": {"system": {"vcpus": cpus, "memory": "1 GiB", "array": "disk", "vdisks": 1, "workload": "fio"}},
        "workloads": {
            "fio": {
                "arrivals": {"io": {"outstanding": 1, "workers": 1}},
                "cpu": {"mean": f"{1e6 * user_s:.4g} us", "cv": 0},
                "wake_up": "0 s",  # part of fio's latency, and so of the device's
                "block": f"{SMALL} B",
                "sync_pct": 0,
            }
        },
        "arrays": {
            "disk": {"protocol": "local", "raid": "raid-0", "disks": {"device": "measured", "count": 1}},
        },
        "devices": {
            "measured": {
                "kind": "nvme",
                "read_latency": f"{1e3 * alone['read']:.4g} us",
                "random_read": f"{most['read']:.0f} /s",
                "write_latency": f"{1e3 * alone['write']:.4g} us",
                "random_write": f"{most['write']:.0f} /s",
                "sequential_read": f"{rate[100]:.1f} MB/s",
                "sequential_write": f"{rate[0]:.1f} MB/s",
                "flush": f"{1e3 * flush_ms:.4g} us",
            }
        },
    }


def _is(load: Load, read_pct: int, *, random: bool) -> bool:
    return load.read_pct == read_pct and load.random is random


@dataclass(frozen=True)
class Fitted:
    """Device after the fit."""

    data: Mapping[str, Any]
    """Scenario with the fitted device."""
    parameters: Sequence[documents.DiskParameter]
    twin: Mapping[str, documents.DiskFigures]
    """Twin's figures of each load."""
    unknown: Sequence[str]
    """Parameters that the points do not determine."""


def fit(data: Mapping[str, Any], plan: Plan, folder: Path, progress: LabelledProgress | None) -> Fitted:
    """Fit the device to the points in `folder`, group by group."""
    data = json.loads(json.dumps(data))
    parameters: list[documents.DiskParameter] = []
    unknown: list[str] = []
    twin: dict[str, documents.DiskFigures] = {}
    device = data["devices"]["measured"]
    for what, keys in TOLD.items():
        loads = plan.loads[what]
        found = calibrate(
            scenario.loads(yaml.safe_dump(data)),
            [folder / f"{load.name}.json" for load in loads],
            free=[f"devices.measured.{key}" for key in keys],
            progress=progress,
        )
        unknown += [each.parameter.path.rpartition(".")[2] for each in found.fitted if not each.identified]
        for key, each in zip(keys, found.fitted, strict=True):
            device[key] = each.parameter.text(each.value)
            parameters.append(
                {
                    "parameter": key,
                    "value": device[key],
                    "interval": list(each.interval) if each.interval else None,
                    "unit": each.parameter.unit,
                    "told_by": what,
                }
            )
        for number, load in enumerate(loads, 1):
            cells = {each.cell.metric.key: each.twin for each in found.compared if each.row.number == number}
            twin[load.name] = {"iops": cells["iops"], "latency_ms_mean": cells["io_latency_ms_mean"]}
    return Fitted(data, parameters, twin, unknown)


def predict(data: Mapping[str, Any], load: Load, folder: Path) -> documents.DiskPrediction:
    """Simulate a load on the fitted device. Write scenario and prediction to `folder`."""
    io = {"outstanding": load.depth, "workers": 1}
    workload = {**data["workloads"]["fio"], "arrivals": {"io": io}, "read_pct": load.read_pct, "random_pct": 100}
    text = "# Made by `hypertwin lab disk`.\n"
    text += yaml.safe_dump({**data, "workloads": {"fio": workload}}, sort_keys=False, width=120)
    (folder / "scenario.yaml").write_text(text, encoding="utf-8")
    group: Mapping[str, Any] = simulation.simulate(scenario.load(folder / "scenario.yaml")).reports[0]["groups"][
        "system"
    ]
    figures: documents.DiskFigures = {
        "iops": group["iops"],
        "latency_ms_mean": group["io_latency_ms"]["mean"],
        "read_latency_ms_mean": group["read"]["latency_ms"]["mean"],
        "write_latency_ms_mean": group["write"]["latency_ms"]["mean"],
    }
    prediction: documents.DiskPrediction = {
        "predicted_at": datetime.now(UTC).isoformat(),
        "scenario_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "load": load.name,
        "figures": figures,
    }
    system.write_json(folder / "prediction.json", prediction)
    return prediction


# ---- all of it


def measure(plan: Plan, *, folder: Path, out: Path, progress: LabelledProgress | None = None) -> documents.DiskLab:
    """Measure the disk of `folder`, fit a device, predict a load, and measure that load. Files are written to `out`.

    Raises FioMissingError, FioError, DiskError.
    """
    loads = [load for group in plan.loads.values() for load in group]
    steps = len(loads) * plan.repeat + PREDICTED_RUNS + 1
    done = 0

    def finished() -> None:
        nonlocal done
        done += 1
        if progress:
            progress("measuring", done, steps)

    for name in ("scenario.yaml", "prediction.json", "results.json"):
        writing.claim(out / name)
    before, started = system.stat_line(), datetime.now(UTC).isoformat()
    points = out / "points"
    try:
        points.mkdir(parents=True, exist_ok=True)
        with fio.on(folder, plan.size_bytes) as tool:
            tool.prepare()
            finished()
            found = _measure(tool, loads, plan.repeat, plan.seconds, finished)
            for name, each in found.items():
                system.write_json(points / f"{name}.json", each.median)
            clock_hz = float(system.processor()["clock_hz"] or 2.5e9)
            first = scenario_of(found, len(system.usable_cpus()), clock_hz)
            fitted = fit(first, plan, points, progress)
            prediction = predict(fitted.data, plan.predicted, out)
            sha256 = system.sha256(out / "prediction.json")
            measured_from = datetime.now(UTC).isoformat()
            (runs,) = _measure(tool, [plan.predicted], PREDICTED_RUNS, plan.seconds, finished).values()
            system.write_json(points / f"{plan.predicted.name}.json", runs.median)
            version = tool.version
        noise = system.noise(before, system.stat_line(), 0.0)
        summary: documents.DiskLab = {
            "version": _core.version(),
            "measured_at": started,
            "processor": system.processor(),
            "kernel": system.kernel(),
            "fio": version,
            "folder": str(folder),
            "file_bytes": plan.size_bytes,
            "seconds": plan.seconds,
            "repeat": plan.repeat,
            "points": [_point(each, fitted.twin[name]) for name, each in found.items()],
            "parameters": list(fitted.parameters),
            "prediction": _compared(prediction, runs, measured_from, sha256, out),
            "steal_pct": noise["steal_pct"],
            "promised_pct": PROMISED_PCT,
            "notes": [*_notes([*found.values(), runs], noise, fitted), NOT_MODELLED],
            "out": str(out),
        }
        system.write_json(out / "results.json", summary)
    except OSError as error:
        raise DiskError(f"cannot write to {error.filename or out}: {error.strerror}") from error
    return summary


def _point(each: Measured, twin: documents.DiskFigures) -> documents.DiskPoint:
    load = each.load
    measured = each.figures
    return {
        "load": load.name,
        "read_pct": load.read_pct,
        "random": load.random,
        "block_bytes": load.block_bytes,
        "depth": load.depth,
        "synchronous": load.synchronous,
        "measured": measured,
        "spread_pct": each.spread_pct,
        "twin": twin,
        "error_pct": _error_pct(twin["iops"], measured["iops"]),
    }


def _compared(
    prediction: documents.DiskPrediction, runs: Measured, measured_from: str, sha256: str, out: Path
) -> documents.DiskCompared:
    figures = prediction["figures"]
    measured = runs.figures
    measured["iops"] = statistics.median(runs.iops(report) for report in runs.reports)
    return {
        **prediction,
        "sha256": sha256,
        "unchanged": system.sha256(out / "prediction.json") == sha256,
        "measured_from": measured_from,
        "measured": measured,
        "runs": [runs.iops(report) for report in runs.reports],
        "spread_pct": runs.spread_pct,
        "error_pct": _error_pct(figures["iops"], measured["iops"]),
        "latency_error_pct": _error_pct(figures["latency_ms_mean"], measured["latency_ms_mean"]),
    }


def _notes(found: Sequence[Measured], noise: Mapping[str, float], fitted: Fitted) -> list[str]:
    """Return notes on causes of uncertainty."""
    notes = []
    if fitted.unknown:
        notes.append(f"Not determined by the points, and left near the first guess: {', '.join(fitted.unknown)}.")
    alone_ms = min(each.figures["latency_ms_mean"] for each in found if _is(each.load, 100, random=True))
    if alone_ms > HEADS_MS:
        notes.append(
            f"A random read takes {alone_ms:.1f} ms: this is a hard disk, and the device fitted to it is flash."
        )
    spread = [(pct, each.load.name) for each in found if (pct := each.spread_pct or 0.0) > SPREAD_NOTE_PCT]
    if spread:
        most_pct, worst = max(spread)
        notes.append(
            f"{len(spread)} of {len(found)} loads spread by more than {SPREAD_NOTE_PCT:g} % over their runs, "
            f"{worst} by {most_pct:.0f} %: the disk, or what is between it and this system, was not "
            "quiet."
        )
    busy = [each for each in found if each.cpu_pct > BUSY_PCT]
    if busy:
        notes.append(f"fio's thread was busy at {busy[0].load.name}: that rate may be of the CPU, not of the disk.")
    if noise["steal_pct"] > 1:
        notes.append(f"The host took {noise['steal_pct']:.1f} % of the CPUs' time while this was measured.")
    if noise["foreign_pct"] > 50:
        notes.append(f"The CPUs were busy for {noise['foreign_pct']:.0f} % of the time, fio included.")
    return notes


def within_promise(summary: documents.DiskLab) -> bool:
    """True if the predicted throughput is within the promised error, and the prediction is unchanged."""
    found = summary["prediction"]
    return abs(found["error_pct"]) <= summary["promised_pct"] and found["unchanged"]


def _error_pct(twin: float, measured: float) -> float:
    return 100 * (twin - measured) / measured
