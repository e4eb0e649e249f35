"""`make bench`: the speed of the kernel beside other simulators and a bare heap loop, and of the full twin.

Everything runs side by side in one go: repetition 1 of every tool, then repetition 2 of every tool and so on, each run
a process of its own, so that a slow minute of the machine hits all of them alike. What counts are the ratios. Prints
tables and writes kernel.json, twin.json and machine.json (default: below out/bench).
"""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "peers"))
from catalogue import PEERS, Unavailable, install_debian  # noqa: E402

RUN_TIMEOUT_S = 600
STATIONS, POPULATION = 100, 10_000
"""The closed network: exponential first-come-first-served stations, uniform routing, this many customers."""
LOAD = 0.8
"""Utilisation of the M/M/1 queue."""
KERNEL_SERVICE_S = 0.01
"""Mean service time of the network in `hypertwin-bench`; the peers' is 1 s."""
PENDING = (1, 1_000, 100_000)
HOSTS = (1, 10, 100, 1_000)
GROUPS = ("mm1", "network", "hold", "twin", "scale")
TWIN, HEAP, SIMPY = "hypertwin", "binary heap", "simpy"
IO_PER_SECOND_OF_OTHERS = 100
"""Simulated time of the other twin cases over that of `io`, whose seconds are full of events."""
VOLATILE = {
    "seconds",
    "events_per_s",
    "peak_rss_mib",
    "ns_per_event",
    "simulated_s_per_s",
    "setup_s",
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


@dataclass
class Row:
    """What the repetitions of a job gave."""

    job: Job
    lines: list[dict[str, Any]] = field(default_factory=list)
    failure: str | None = None


@dataclass(frozen=True)
class Scale:
    """How large the runs of the twin and its kernel are; the peers' sizes are in their catalogue."""

    mm1_customers: int
    network_services: int
    hold_events: int
    twin_seconds: float
    host_seconds: float
    hosts: tuple[int, ...]
    pool_seconds: float
    pool_nodes: tuple[int, ...]


FULL = Scale(1_000_000, 20_000, 5_000_000, 200, 400, HOSTS, 60, (4, 100))
SMOKE = Scale(2_000, 20, 20_000, 2, 1, (1, 3), 0.1, (2,))


def kernel_binary() -> Path:
    """Build `hypertwin-bench` if needed, and say where it is."""
    manifest = HERE / "kernel" / "Cargo.toml"
    command = ["cargo", "build", "--release", "--quiet", "--message-format", "json-render-diagnostics"]
    done = subprocess.run(
        [*command, "--manifest-path", str(manifest)], stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT
    )
    for row in done.stdout.splitlines():
        message = json.loads(row)
        if message.get("executable") and message["target"]["name"] == "hypertwin-bench":
            return Path(message["executable"])
    sys.exit("bench: cargo could not build bench/kernel (see above)")


def kernel_jobs(groups: Sequence[str], scale: Scale, binary: Path) -> list[Job]:
    """The kernel and the bare heap loop on the same three models."""
    sizes: list[tuple[str, str, list[str]]] = []
    if "mm1" in groups:
        sizes.append(("mm1", f"{scale.mm1_customers:,} customers", ["--customers", str(scale.mm1_customers)]))
    if "network" in groups:
        seconds = scale.network_services * KERNEL_SERVICE_S
        closed = ["--stations", str(STATIONS), "--customers", str(POPULATION), "--seconds", f"{seconds:g}"]
        sizes.append(("network", f"{scale.network_services:,} service times", closed))
    if "hold" in groups:
        for pending in PENDING:
            options = ["--pending", str(pending), "--events", str(scale.hold_events)]
            sizes.append((f"hold-{pending}", f"{pending:,} pending events", options))
    jobs = []
    for case, size, options in sizes:
        command = case.split("-")[0]
        jobs.append(Job(case, TWIN, "this kernel", size, [str(binary), command, *options], True))
        jobs.append(Job(case, HEAP, "bare loop, Rust", size, [str(binary), f"{command}-heap", *options], True))
    return jobs


def peer_jobs(
    given: argparse.Namespace, folder: Path, say: Callable[[str], None]
) -> tuple[list[Job], list[dict[str, str]]]:
    """The other simulators, built below `folder`; and those that could not be had, each with the reason."""
    jobs: list[Job] = []
    missing: list[dict[str, str]] = []
    if not {"mm1", "network"} & set(given.groups):
        return jobs, missing
    for peer in PEERS:
        say(f"preparing {peer.source}")
        try:
            if given.install and peer.debian:
                install_debian(peer.debian)
            command = peer.prepare(folder / peer.name)
        except Unavailable as reason:
            missing.append({"tool": peer.name, "source": peer.source, "reason": str(reason)})
            continue
        sizes = peer.smoke if given.smoke else peer.sizes
        customers = max(sizes.mm1_customers, FULL.mm1_customers if given.full else 0)
        if "mm1" in given.groups:
            options = ["mm1", "--customers", str(customers)]
            jobs.append(Job("mm1", peer.name, peer.source, f"{customers:,} customers", [*command, *options], False))
        if "network" in given.groups:
            options = ["network", "--stations", str(STATIONS), "--customers", str(POPULATION)]
            options += ["--seconds", str(sizes.network_seconds)]
            size = f"{sizes.network_seconds:,} service times"
            jobs.append(Job("network", peer.name, peer.source, size, [*command, *options], False))
    return jobs, missing


def twin_jobs(groups: Sequence[str], scale: Scale) -> list[Job]:
    """The whole twin: the monster-VM host, and one scenario on more and more hosts."""
    command = [sys.executable, str(HERE / "twin.py")]
    jobs = []
    if "twin" in groups:
        for case in ("solo", "pair"):
            options = [case, "--seconds", str(scale.twin_seconds)]
            jobs.append(Job(case, TWIN, "full twin", f"{scale.twin_seconds:g} s", [*command, *options], True))
        seconds = scale.twin_seconds / IO_PER_SECOND_OF_OTHERS
        jobs.append(Job("io", TWIN, "full twin", f"{seconds:g} s", [*command, "io", "--seconds", f"{seconds:g}"], True))
        for nodes in scale.pool_nodes:
            options = ["pool", "--hosts", str(nodes), "--seconds", f"{scale.pool_seconds:g}"]
            jobs.append(
                Job(f"pool-{nodes}", TWIN, "full twin", f"{scale.pool_seconds:g} s", [*command, *options], True)
            )
    if "scale" in groups:
        for hosts in scale.hosts:
            seconds = max(0.02, scale.host_seconds / hosts)
            options = ["scale", "--hosts", str(hosts), "--seconds", f"{seconds:g}"]
            jobs.append(Job(f"scale-{hosts}", TWIN, "full twin", f"{seconds:g} s", [*command, *options], True))
    return jobs


def measure(jobs: Iterable[Job], repeat: int, say: Callable[[str], None]) -> list[Row]:
    """Run every job once per repetition, in turn; repetition r has seed r."""
    rows = [Row(job) for job in jobs]
    for repetition in range(1, repeat + 1):
        for row in rows:
            if row.failure is None:
                say(f"repetition {repetition} of {repeat}: {row.job.case}, {row.job.tool}")
                run_once(row, repetition)
    return rows


def run_once(row: Row, seed: int) -> None:
    """One process; its last line of output is the JSON line."""
    command = [*row.job.command, "--seed", str(seed)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        row.failure = f"did not end within {RUN_TIMEOUT_S} s"
        return
    lines = done.stdout.strip().splitlines()
    try:
        if done.returncode != 0:
            raise ValueError
        row.lines.append(json.loads(lines[-1]))
    except (ValueError, IndexError):
        why = (done.stderr.strip().splitlines() or ["no output"])[-1]
        row.failure = f"exit {done.returncode}: {why[:300]}"


def judge(row: Row) -> dict[str, Any] | None:
    """Compare what the repetitions measured with the exact value; None for the twin, which has none.

    M/M/1: mean response over mean service, 1 / (1 - rho). Network: completions per mean service time,
    N K / (N + K - 1) (Gordon and Newell 1967). Hold: time per event over mean delay, 1 / pending.

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
    if not job.own:
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
        if row.failure is not None or not row.lines:
            records.append({**record, "failure": row.failure})
            continue
        rates = [float(line["events_per_s"]) for line in row.lines]
        record |= {
            "version": row.lines[0].get("version"),
            "repetitions": len(rates),
            "events": int(row.lines[0]["events"]),
            "events_per_s": statistics.median(rates),
            "events_per_s_min": min(rates),
            "events_per_s_max": max(rates),
            "peak_rss_mib": max(float(line["peak_rss_mib"]) for line in row.lines),
            "check": judge(row),
            "does": row.lines[0].get("does"),
        }
        for key in ("simulated_s_per_s", "ns_per_event", "setup_s", "seconds_per_million_ios"):
            if key in row.lines[0]:
                record[key] = statistics.median(float(line[key]) for line in row.lines)
        record["runs"] = row.lines
        records.append(record)
    for record in records:
        for other, key in ((HEAP, "ratio_to_heap"), (SIMPY, "ratio_to_simpy")):
            base = next((r for r in records if r["case"] == record["case"] and r["tool"] == other), {})
            both = "events_per_s" in record and "events_per_s" in base
            record[key] = record["events_per_s"] / base["events_per_s"] if both else None
    return records


def result_hash(rows: list[Row]) -> str:
    """SHA-256 over what is deterministic in our own lines: same sizes, seeds and version, same hash."""
    kept = [
        {"job": [row.job.case, row.job.tool], "line": {k: v for k, v in line.items() if k not in VOLATILE}}
        for row in rows
        if row.job.own
        for line in row.lines
    ]
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def machine() -> dict[str, Any]:
    """Where the figures come from."""

    def output(*command: str) -> str | None:
        found = shutil.which(command[0])
        if found is None:
            return None
        done = subprocess.run([found, *command[1:]], capture_output=True, text=True, check=False, cwd=ROOT)
        return done.stdout.strip() or None

    def field_of(path: str, key: str) -> str | None:
        try:
            rows = Path(path).read_text().splitlines()
        except OSError:
            return None
        return next((row.split(":", 1)[1].strip() for row in rows if row.startswith(key)), None)

    return {
        "cpu": field_of("/proc/cpuinfo", "model name") or platform.processor(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory": field_of("/proc/meminfo", "MemTotal"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "rustc": output("rustc", "--version"),
        "commit": output("git", "rev-parse", "HEAD"),
        "load_average_before": os.getloadavg(),
    }


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they must be, the first two to the left."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = [
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, rows)])


def rate(value: float) -> str:
    """Events per second with three digits: 12.3 M, 456 k."""
    for limit, unit in ((1e6, " M"), (1e3, " k")):
        if value >= limit:
            scaled = value / limit
            return f"{scaled:.0f}{unit}" if scaled >= 100 else f"{scaled:.3g}{unit}"
    return f"{value:.3g}"


def times(ratio: float | None) -> str:
    """A ratio, or nothing: 41x, 0.615x, 1/195."""
    if ratio is None:
        return ""
    if ratio < 0.1:
        return f"1/{1 / ratio:,.0f}"
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.3g}x"


def kernel_table(records: list[dict[str, Any]], missing: list[dict[str, str]]) -> str:
    """The kernel beside the bare loop and the peers."""
    header = ("case", "tool", "events", "events/s", "spread", "/ heap", "/ SimPy", "peak RSS", "vs exact", "allowed")
    rows = []
    for record in records:
        if "failure" in record:
            rows.append((record["case"], record["tool"], "", "failed", *[""] * 6))
            continue
        spread = 100 * (record["events_per_s_max"] - record["events_per_s_min"]) / record["events_per_s"]
        check = record["check"]
        rows.append(
            (
                record["case"],
                record["tool"],
                rate(record["events"]),
                rate(record["events_per_s"]),
                f"{spread:.0f} %" if record["repetitions"] > 1 else "",
                times(record["ratio_to_heap"]),
                times(record["ratio_to_simpy"]),
                f"{record['peak_rss_mib']:,.0f} MiB",
                f"{check['error_pct']:+.2f} %" + ("" if check["ok"] else " WRONG") if check else "",
                f"{check['tolerance_pct']:.2f} %" if check else "",
            )
        )
    rows += [("-", entry["tool"], "", "not measured", *[""] * 6) for entry in missing]
    return table(header, rows)


def twin_table(records: list[dict[str, Any]]) -> str:
    """The full twin."""
    header = (
        *(
            "case",
            "tool",
            "simulated",
            "times real time",
            "events/s",
            "set-up",
            "ns/event",
            "vs 1 host",
            "s/million I/Os",
        ),
        "peak RSS",
    )
    single = next((r.get("ns_per_event") for r in records if r["case"] == "scale-1"), None)
    rows = []
    for record in records:
        if "failure" in record:
            rows.append((record["case"], record["tool"], record["size"], "failed", *[""] * 6))
            continue
        ios = record.get("seconds_per_million_ios")
        ratio = record["ns_per_event"] / single if single and record["case"].startswith("scale-") else None
        rows.append(
            (
                record["case"],
                record["tool"],
                record["size"],
                times(record["simulated_s_per_s"]),
                rate(record["events_per_s"]),
                f"{1000 * record['setup_s']:,.1f} ms",
                f"{record['ns_per_event']:,.0f}",
                times(ratio),
                f"{ios:.2f}" if ios else "",
                f"{record['peak_rss_mib']:,.0f} MiB",
            )
        )
    return table(header, rows)


def notes(records: list[dict[str, Any]], missing: list[dict[str, str]]) -> list[str]:
    """What each tool keeps per customer, what failed, and what could not be had."""
    said: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if record.get("does"):
            said.setdefault((f"{record['tool']} [{record['source']}]", record["does"]), []).append(record["case"])
    found = [f"{tool} ({', '.join(cases)}): {does}" for (tool, does), cases in said.items()]
    found += [f"FAILED {r['case']}, {r['tool']}: {r['failure']}" for r in records if "failure" in r]
    found += [f"NOT MEASURED {entry['tool']} [{entry['source']}]: {entry['reason']}" for entry in missing]
    return found


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, one repetition: does everything run?")
    parser.add_argument("--full", action="store_true", help="1,000,000 customers for slow peers too (minutes)")
    parser.add_argument("--only", metavar="CASE[,CASE]", help=f"some of {', '.join(GROUPS)}, kernel (the first three)")
    parser.add_argument("--repeat", type=int, metavar="N", help="repetitions, interleaved (default 3; 1 with --smoke)")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="measure other simulators")
    parser.add_argument("--install", action="store_true", help="let apt-get install what a peer needs (as root)")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench", metavar="FOLDER", help="where JSON goes")
    given = parser.parse_args()
    names = (given.only or ",".join(GROUPS)).split(",")
    given.groups = [group for name in names for group in (GROUPS[:3] if name == "kernel" else (name,))]
    unknown = [name for name in given.groups if name not in GROUPS]
    if unknown:
        parser.error(f"--only: no case {', '.join(unknown)}; there are {', '.join(GROUPS)} and kernel")
    if given.repeat is not None and given.repeat < 1:
        parser.error("--repeat: at least 1")
    given.repeat = given.repeat or (1 if given.smoke else 3)
    return given


def main() -> int:
    """Build, measure, print and write; 1 if one of our own runs failed or missed its exact value."""
    given = parse()
    out: Path = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)

    def say(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    facts = machine()
    scale = SMOKE if given.smoke else FULL
    ours: list[Job] = []
    peers: list[Job] = []
    missing: list[dict[str, str]] = []
    if {"mm1", "network", "hold"} & set(given.groups):
        say("building the kernel's benchmark")
        ours = kernel_jobs(given.groups, scale, kernel_binary())
        if given.peers:
            peers, missing = peer_jobs(given, ROOT / "out" / "bench" / "peers", say)
    order = {case: number for number, case in enumerate(dict.fromkeys(job.case for job in ours))}
    kernel_rows = measure(sorted([*ours, *peers], key=lambda job: order[job.case]), given.repeat, say)
    twin_rows = measure(twin_jobs(given.groups, scale), given.repeat, say)
    say("")

    facts["load_average_after"] = os.getloadavg()
    facts["finished"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    digest = result_hash([*kernel_rows, *twin_rows])
    kernel, twin = summarise(kernel_rows), summarise(twin_rows)
    common = {"smoke": given.smoke, "repetitions": given.repeat, "result_sha256": digest, "machine": facts}
    (out / "machine.json").write_text(json.dumps(facts, indent=2) + "\n")
    if kernel_rows:
        written = {**common, "rows": kernel, "not_measured": missing}
        (out / "kernel.json").write_text(json.dumps(written, indent=2) + "\n")
        print(f"\nKernel, side by side, {given.repeat} repetitions, median\n\n{kernel_table(kernel, missing)}\n")
    if twin_rows:
        (out / "twin.json").write_text(json.dumps({**common, "rows": twin}, indent=2) + "\n")
        print(f"\nFull twin, one thread, {given.repeat} repetitions, median\n\n{twin_table(twin)}\n")
    for note in notes([*kernel, *twin], missing):
        print(textwrap.fill(note, 120, subsequent_indent="    "))
    print(
        f"\n{facts['cpu']}, {facts['cpus']} CPUs, load average {facts['load_average_before'][0]:.1f} before, ", end=""
    )
    print(f"{facts['load_average_after'][0]:.1f} after. Written to {out}")
    print(f"result {digest}")
    own = [record for record in [*kernel, *twin] if record["tool"] in (TWIN, HEAP)]
    bad = [r for r in own if "failure" in r or (r["check"] is not None and not r["check"]["ok"])]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
