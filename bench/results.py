"""What the runs of a benchmark gave: rows, their medians and ratios, and whether they agree with theory."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

STATIONS, POPULATION = 100, 10_000
"""The closed network: exponential first-come-first-served stations, uniform routing, this many customers."""
LOAD = 0.8
"""Utilisation of the M/M/1 queue."""
KERNEL_SERVICE_S = 0.01
"""Mean service time of the network in `hypertwin-bench`; the peers' is 1 s."""
TWIN, HEAP, SIMPY, SIMGRID = "hypertwin", "binary heap", "simpy", "simgrid"
RUN_TIMEOUT_S = 600
VOLATILE = {
    "threads",
    "seconds",
    "events_per_s",
    "peak_rss_mib",
    "ns_per_event",
    "simulated_s_per_s",
    "setup_s",
    "cpu_s",
    "seconds_per_million_ios",
}
"""Keys of a line that differ from run to run; the rest is a function of program, size and seed."""


@dataclass(frozen=True)
class Job:
    """One tool on one case."""

    case: str
    tool: str
    source: str
    size: str
    command: list[str]
    own: bool
    threads: int = 1
    how: str = ""
    """What tells it from others of the same case and tool."""
    limit_s: int = RUN_TIMEOUT_S
    late: Mapping[str, Any] | None = None
    """The line that stands for a run over its limit; None if that is a failure."""


@dataclass
class Row:
    """What the repetitions of a job gave."""

    job: Job
    lines: list[dict[str, Any]] = field(default_factory=list)
    failure: str | None = None


def judge(row: Row) -> dict[str, Any] | None:
    """Compare what the repetitions measured with the exact value; None for the twin's cases, which have none.

    M/M/1: mean response over mean service, 1 / (1 - rho). Network: completions per mean service time,
    N K / (N + K - 1) (Gordon and Newell 1967). Hold: time per event over mean delay, 1 / pending.
    VMs with load steps: busy cores of a host, what the steps ask for.

    The tolerance is four standard errors. M/M/1: the asymptotic variance of the mean wait over n customers,
    rho (2 + 5 rho - 4 rho^2 + rho^3) / (1 - rho)^4 / n in units of the squared service time (Daley 1968, "The serial
    correlation coefficients of waiting times in a stationary single server queue"). Otherwise that of a Poisson count;
    the network gets 1.5 % more, because its customers start evenly spread and every station busy.
    """
    case = row.job.case.split("-")[0]
    events = sum(int(line["events"]) for line in row.lines)
    poisson_pct = 400 / max(1, events) ** 0.5
    if case == "mm1":
        exact = 1 / (1 - LOAD)
        relative_variance = LOAD * (2 + 5 * LOAD - 4 * LOAD**2 + LOAD**3) / (1 - LOAD) ** 4 / (events / 2) / exact**2
        what, tolerance_pct = "mean response / mean service", 400 * relative_variance**0.5
    elif case == "network":
        exact = POPULATION * STATIONS / (POPULATION + STATIONS - 1)
        what, tolerance_pct = "completions per mean service time", 1.5 + poisson_pct
    elif case == "hold":
        exact = 1 / int(row.job.case.split("-")[1])
        what, tolerance_pct = "time per event / mean delay", poisson_pct
    elif case == "vms":
        exact = float(row.lines[0]["check"]["exact"])
        tasks = sum(float(line.get("tasks", "inf")) for line in row.lines)
        what, tolerance_pct = "busy cores per host", 1 + 400 * (2 / tasks) ** 0.5
    else:
        return None
    value = statistics.fmean(observed(case, row.job, line) for line in row.lines)
    error_pct = 100 * (value / exact - 1)
    return {
        "what": what,
        "value": value,
        "exact": exact,
        "error_pct": error_pct,
        "tolerance_pct": tolerance_pct,
        "ok": abs(error_pct) <= tolerance_pct,
    }


def observed(case: str, job: Job, line: dict[str, Any]) -> float:
    """The quantity of `judge` from one line. `hypertwin-bench` gives nanoseconds, at 1 ms a service and 1 s a delay."""
    if not job.own or case == "vms":
        return float(line["check"]["value"])
    if case == "network":
        return int(line["events"]) * KERNEL_SERVICE_S / float(line["options"]["seconds"])
    return float(line["check"]) / {"mm1": 1e6, "hold": 1e9}[case]


def summarise(rows: list[Row]) -> list[dict[str, Any]]:
    """One record per job: medians over the repetitions, and ratios within the case."""
    records = []
    for row in rows:
        job = row.job
        record: dict[str, Any] = {"case": job.case, "tool": job.tool, "source": job.source, "size": job.size}
        record |= {"threads": job.threads, "how": job.how}
        if row.failure is not None or not row.lines:
            records.append({**record, "failure": row.failure, "limit_s": row.job.limit_s})
            continue
        rates = [float(line["events_per_s"]) for line in row.lines]
        record |= {
            "version": row.lines[0].get("version"),
            "repetitions": len(rates),
            "seconds": statistics.median(float(line["seconds"]) for line in row.lines),
            "events": int(row.lines[0]["events"]),
            "events_per_s": statistics.median(rates),
            "events_per_s_min": min(rates),
            "events_per_s_max": max(rates),
            "peak_rss_mib": max(float(line["peak_rss_mib"]) for line in row.lines),
            "check": judge(row),
            "does": row.lines[0].get("does"),
        }
        for key in ("simulated_s_per_s", "ns_per_event", "setup_s", "cpu_s", "seconds_per_million_ios"):
            if key in row.lines[0]:
                record[key] = statistics.median(float(line[key]) for line in row.lines)
        record["runs"] = row.lines
        records.append(record)
    for record in records:
        add_ratios(record, records)
    return records


def add_ratios(record: dict[str, Any], records: list[dict[str, Any]]) -> None:
    """Add what a record is compared with: others of its case, fewer hosts of its kind, one thread."""

    def other(**wanted: Any) -> dict[str, Any]:
        return next((r for r in records if all(r.get(key) == value for key, value in wanted.items())), {})

    def ratio(key: str, base: dict[str, Any]) -> float | None:
        return record[key] / base[key] if key in record and key in base else None

    case = record["case"]
    record["ratio_to_heap"] = ratio("events_per_s", other(case=case, tool=HEAP))
    record["ratio_to_simpy"] = ratio("events_per_s", other(case=case, tool=SIMPY))
    if record["tool"] == TWIN and "ns_per_event" in record:
        family = case.rpartition("-")[0]
        fewest = next((r for r in records if family and r["case"].startswith(f"{family}-")), {})
        record["ratio_to_fewest_hosts"] = ratio("ns_per_event", fewest) if record["threads"] == 1 else None
        one = other(case=case, tool=TWIN, threads=1)
        record["speedup"] = paired(one, record) if record["threads"] > 1 else None
    if record["how"]:
        record["ratio_to_first"] = paired(other(case=case), record)
    if case.startswith("vms-"):
        record["ratio_to_simgrid"] = paired(other(case=case, tool=SIMGRID), record)


def paired(base: dict[str, Any], record: dict[str, Any]) -> float | None:
    """How many times faster than `base`: the median over repetitions that ran one after the other."""
    if "runs" not in base or "runs" not in record:
        return None
    pairs = zip(base["runs"], record["runs"], strict=False)
    return statistics.median(float(b["seconds"]) / float(r["seconds"]) for b, r in pairs)


def disagreements(rows: list[Row]) -> list[str]:
    """Cases whose result is not the same wherever and however it came about."""
    found = []
    first: dict[tuple[str, int], str] = {}
    for row in rows:
        where = f"{row.job.threads} threads" + (f", {row.job.how}" if row.job.how else "")
        for repetition, line in enumerate(row.lines, 1):
            digest = line.get("report_sha256")
            if digest and first.setdefault((row.job.case, repetition), digest) != digest:
                found.append(f"{row.job.case}, repetition {repetition}: another result with {where}")
    return found


def result_hash(rows: list[Row]) -> str:
    """SHA-256 over what is deterministic in our own lines: same sizes, seeds and version, same hash."""
    kept = [
        {"job": [row.job.case, row.job.tool], "line": {k: v for k, v in line.items() if k not in VOLATILE}}
        for row in rows
        if row.job.own
        for line in row.lines
    ]
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()
