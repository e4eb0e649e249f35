"""`make bench`: the speed of the kernel beside other simulators and a bare heap loop, and of the full twin.

Everything runs side by side in one go: repetition 1 of every tool, then repetition 2 of every tool and so on, each run
a process of its own, so that a slow minute of the machine hits all of them alike. What counts are the ratios. Prints
tables and writes kernel.json, twin.json, vms.json, batch.json, place.json and machine.json (default: below out/bench).
"""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shutil
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
import goals  # noqa: E402
from catalogue import PEERS, PROXLB, Peer, Unavailable, install_debian  # noqa: E402
from results import (  # noqa: E402
    HEAP,
    KERNEL_SERVICE_S,
    POPULATION,
    SIMGRID,
    STATIONS,
    TWIN,
    Job,
    Row,
    disagreements,
    result_hash,
    summarise,
)
from tables import batch_table, kernel_table, notes, place_table, twin_table, vms_table  # noqa: E402

PENDING = (1, 1_000, 100_000)
HOSTS = (1, 10, 34, 100, 1_000)
VMS_PER_HOST = (8, 16)
"""VMs of two vCPUs on a host of 16 cores: one vCPU a core, and two."""
VMS_LIMIT_S = 300
"""After which a simulator of VMs is given up."""
POOL_KINDS = ("chunk-store", "ceph", "vsan")
"""Beside the mirrored mesh, on the most hosts."""
KERNEL_GROUPS = ("mm1", "network", "hold")
BATCH_GROUPS = ("sweep", "tasks", "hit", "esxtop")
PLACE_GOALS = {
    "memory": "level, memory alone",
    "level": "level, any host may fail",
    "moves": "fewest moves, any host may fail",
    "hosts": "fewest hosts, any host may fail",
    "place": "new VMs, any host may fail",
    "evacuate": "one host into maintenance",
}
"""What `place.py` is asked, and how the table calls it."""
GROUPS = (*KERNEL_GROUPS, "twin", "scale", "vms", *BATCH_GROUPS, "place")
TOGETHER = {"kernel": KERNEL_GROUPS, "batch": BATCH_GROUPS}
"""Names of several groups."""
ESXTOP_COLUMNS = (17_000, 1_500)
IO_PER_SECOND_OF_OTHERS = 100
"""Simulated time of the other twin cases over that of `io`, whose seconds are full of events."""


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
    vms_hosts: int
    sweep_points: int
    tasks: int
    hit_hosts: int
    esxtop_mb: int
    threads: int
    place_hosts: tuple[int, ...]
    place_fills: tuple[int, ...]
    """Memory in use, in per cent of what may be."""
    place_limit_s: int
    """Seconds that a peer has for a plan."""


CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
FULL = Scale(
    *(1_000_000, 20_000, 5_000_000, 200, 400, HOSTS, 60, (4, 100), 100, 1_000, 2_000, 34, 1_000, CORES),
    *((16, 34, 64, 128), (70, 90, 95), 30),
)
SMOKE = Scale(2_000, 20, 20_000, 2, 1, (1, 3), 0.1, (2, 3), 2, 50, 20, 2, 1, 2, (4,), (70,), 3)


Jobs = tuple[list[Job], list[dict[str, str]]]
"""What to run; and what could not be had, each with the reason."""


@dataclass
class Section:
    """A table of the report, and its JSON file."""

    name: str
    title: str
    table: Callable[[list[dict[str, Any]], list[dict[str, str]]], str]
    jobs: list[Job]
    missing: list[dict[str, str]] = field(default_factory=list)
    repeat: int = 0
    """Repetitions; 0: as many as of the others."""
    rows: list[Row] = field(default_factory=list)


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


def prepared(
    peer: Peer, given: argparse.Namespace, say: Callable[[str], None], missing: list[dict[str, str]]
) -> list[str] | None:
    """Build a peer, after installing what it needs if that is wanted. Return its command, or None if it is missing."""
    say(f"preparing {peer.source}")
    try:
        if given.install and peer.debian:
            install_debian(peer.debian)
        return peer.prepare(ROOT / "out" / "bench" / "peers" / peer.name)
    except Unavailable as reason:
        missing.append({"tool": peer.name, "source": peer.source, "reason": str(reason)})
        return None


def kernel_and_peers(given: argparse.Namespace, scale: Scale, say: Callable[[str], None]) -> Jobs:
    """All kernel cases, those of the peers beside ours."""
    if not set(KERNEL_GROUPS) & set(given.groups):
        return [], []
    say("building the kernel's benchmark")
    ours = kernel_jobs(given.groups, scale, kernel_binary())
    peers, missing = peer_jobs(given, say) if given.peers else ([], [])
    order = {case: number for number, case in enumerate(dict.fromkeys(job.case for job in ours))}
    return sorted([*ours, *peers], key=lambda job: order[job.case]), missing


def peer_jobs(given: argparse.Namespace, say: Callable[[str], None]) -> Jobs:
    """The other simulators."""
    jobs: list[Job] = []
    missing: list[dict[str, str]] = []
    if not {"mm1", "network"} & set(given.groups):
        return jobs, missing
    for peer in PEERS:
        command = prepared(peer, given, say, missing)
        if command is None:
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


def twin_job(case: str, size: str, options: list[str], threads: int = 1) -> Job:
    """A run of `twin.py`."""
    command = [sys.executable, str(HERE / "twin.py"), *options, "--threads", str(threads)]
    return Job(case, TWIN, "full twin", size, command, True, threads)


def twin_jobs(groups: Sequence[str], scale: Scale) -> list[Job]:
    """The whole twin: the monster-VM host, and one scenario on more and more hosts, on one core and on all."""
    jobs = []
    if "twin" in groups:
        seconds = f"{scale.twin_seconds:g}"
        jobs += [twin_job(case, f"{seconds} s", [case, "--seconds", seconds]) for case in ("solo", "pair")]
        seconds = f"{scale.twin_seconds / IO_PER_SECOND_OF_OTHERS:g}"
        jobs.append(twin_job("io", f"{seconds} s", ["io", "--seconds", seconds]))
        for nodes in scale.pool_nodes:
            options = ["pool", "--hosts", str(nodes), "--seconds", f"{scale.pool_seconds:g}"]
            length = f"{scale.pool_seconds:g} s"
            jobs.append(twin_job(f"pool-{nodes}", length, options))
            kinds = POOL_KINDS if nodes == max(scale.pool_nodes) else ()
            jobs += [twin_job(f"{kind}-{nodes}", length, [*options, "--kind", kind]) for kind in kinds]
    if "scale" in groups:
        for hosts in scale.hosts:
            seconds = f"{max(0.02, scale.host_seconds / hosts):g}"
            options = ["scale", "--hosts", str(hosts), "--seconds", seconds]
            both = sorted({1, min(hosts, scale.threads)})
            jobs += [twin_job(f"scale-{hosts}", f"{seconds} s", options, threads) for threads in both]
    return jobs


def vms_jobs(given: argparse.Namespace, scale: Scale, say: Callable[[str], None]) -> Jobs:
    """Hosts full of VMs with load steps, in SimGrid and in the twin."""
    jobs: list[Job] = []
    missing: list[dict[str, str]] = []
    if "vms" not in given.groups:
        return jobs, missing
    peer = next(peer for peer in PEERS if peer.name == SIMGRID)
    simgrid = prepared(peer, given, say, missing) if given.peers else None
    for vms in VMS_PER_HOST:
        case = f"vms-{scale.vms_hosts * vms}"
        size = f"{scale.vms_hosts} hosts, {vms} VMs each"
        options = ["vms", "--hosts", str(scale.vms_hosts), "--vms", str(vms)]
        if simgrid:
            jobs.append(Job(case, SIMGRID, peer.source, size, [*simgrid, *options], False, limit_s=VMS_LIMIT_S))
        jobs += [twin_job(case, size, options, threads) for threads in sorted({1, scale.threads})]
    return jobs, missing


def batch_job(case: str, size: str, how: str, options: list[str], jobs: int = 1) -> Job:
    """A run of `batch.py`."""
    command = [sys.executable, str(HERE / "batch.py"), *options, "--jobs", str(jobs)]
    return Job(case, TWIN, "full twin", size, command, True, jobs, how)


def batch_jobs(groups: Sequence[str], scale: Scale) -> Jobs:
    """Sweeps, tasks, results from the store and esxtop."""
    jobs: list[Job] = []
    missing: list[dict[str, str]] = []
    both = sorted({1, scale.threads})
    if "sweep" in groups:
        points = scale.sweep_points
        case, size, options = f"sweep-{points}", f"{points:,} points", ["sweep", "--items", str(points)]
        jobs += [batch_job(case, size, "simulated", options, threads) for threads in both]
        for kept in (0, points * 9 // 10, points):
            how = f"{kept:,} in the store" if kept else "into the store"
            jobs.append(batch_job(case, size, how, [*options, "--kept", str(kept)]))
    if "tasks" in groups:
        case, size, options = f"tasks-{scale.tasks}", f"{scale.tasks:,} tasks", ["tasks", "--items", str(scale.tasks)]
        for via, how in (("core", "loop over the core"), ("threads", "a thread"), ("dask", "a Dask worker")):
            if via == "dask" and importlib.util.find_spec("distributed") is None:
                missing.append({"tool": "dask", "source": "extra", "reason": "install hypertwin[dask]"})
            else:
                jobs.append(batch_job(case, size, how, [*options, "--via", via]))
    if "hit" in groups:
        hosts = scale.hit_hosts
        case, size, options = f"hit-{hosts}", f"{hosts} hosts", ["hit", "--items", str(hosts)]
        jobs.append(batch_job(case, size, "simulated", options))
        jobs.append(batch_job(case, size, "from the store", [*options, "--kept", "1"]))
    if "esxtop" in groups:
        for columns in ESXTOP_COLUMNS:
            options = ["esxtop", "--items", str(scale.esxtop_mb), "--columns", str(columns)]
            size = f"{scale.esxtop_mb:,} MB"
            jobs.append(batch_job(f"esxtop-{columns}", size, "to Parquet", options))
    return jobs, missing


def place_jobs(given: argparse.Namespace, scale: Scale, say: Callable[[str], None]) -> Jobs:
    """Plans for seeded clusters, beside a peer; repetition r is of the cluster with seed r."""
    jobs: list[Job] = []
    missing: list[dict[str, str]] = []
    if "place" not in given.groups:
        return jobs, missing
    peer = prepared(PROXLB, given, say, missing) if given.peers else None
    for fill in scale.place_fills:
        for hosts in given.hosts or scale.place_hosts:
            for mixed in (False, True):
                jobs += place_case(given, scale, peer, (hosts, fill, mixed), say)
    return jobs, missing


def place_case(
    given: argparse.Namespace,
    scale: Scale,
    peer: list[str] | None,
    made: tuple[int, int, bool],
    say: Callable[[str], None],
) -> list[Job]:
    """All that is asked of clusters of one size, fill and kind; the peer has the first question alone."""
    hosts, fill, mixed = made
    case = f"place-{hosts}-{fill}" + ("-mixed" if mixed else "")
    size = f"{hosts} {'mixed ' if mixed else ''}hosts, {fill} % of memory"
    ours = [sys.executable, str(HERE / "place.py"), "--case", case, "--hosts", str(hosts), "--fill", str(fill)]
    ours += ["--mixed"] if mixed else []
    jobs = []
    if peer:
        say(f"writing {case}")
        clusters = given.out.resolve() / "clusters" / case
        for seed in range(1, given.seeds + 1):
            subprocess.run([*ours, "--seed", str(seed), "--write", str(clusters)], check=True)
        options = [case, "--clusters", str(clusters), "--hosts", str(hosts), "--limit", str(scale.place_limit_s)]
        first = PLACE_GOALS["memory"]
        jobs.append(Job(case, PROXLB.name, PROXLB.source, size, [*peer, *options], False, how=first))
    limit_s = goals.limit_s(fill, hosts)
    for goal, how in PLACE_GOALS.items():
        late = goals.late(fill, hosts, goal)
        command = [*ours, "--goal", goal]
        jobs.append(Job(case, TWIN, "planner", size, command, True, how=how, limit_s=limit_s, late=late))
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
            command, capture_output=True, text=True, timeout=row.job.limit_s, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        if row.job.late is not None:
            row.lines.append(dict(row.job.late))
            return
        row.failure = f"did not end within {row.job.limit_s} s"
        return
    lines = done.stdout.strip().splitlines()
    try:
        if done.returncode != 0:
            raise ValueError
        row.lines.append(json.loads(lines[-1]))
    except (ValueError, IndexError):
        why = (done.stderr.strip().splitlines() or ["no output"])[-1]
        row.failure = f"exit {done.returncode}: {why[:300]}"


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
        "cpus": CORES,
        "memory": field_of("/proc/meminfo", "MemTotal"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "rustc": output("rustc", "--version"),
        "commit": output("git", "rev-parse", "HEAD"),
        "load_average_before": os.getloadavg(),
    }


def _hosts(text: str) -> tuple[int, ...]:
    """Numbers of hosts, the smallest of which rules of clusters allow."""
    found = tuple(int(each) for each in text.split(","))
    if min(found) < 4:
        raise ValueError
    return found


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, one repetition: does everything run?")
    parser.add_argument(
        "--full",
        action="store_true",
        help="1,000,000 customers for slow peers too (minutes), and plans of three seeds (hours)",
    )
    parser.add_argument(
        "--only", metavar="CASE[,CASE]", help=f"some of {', '.join(GROUPS)}, kernel (the first {len(KERNEL_GROUPS)})"
    )
    parser.add_argument(
        "--repeat",
        type=int,
        metavar="N",
        help="repetitions, interleaved (default 3; 1 with --smoke, and of plans without --full)",
    )
    parser.add_argument(
        "--hosts", type=_hosts, metavar="N[,N]", help="sizes of the clusters of place (default: all four)"
    )
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="measure other simulators")
    parser.add_argument("--install", action="store_true", help="let apt-get install what a peer needs (as root)")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench", metavar="FOLDER", help="where JSON goes")
    given = parser.parse_args()
    names = (given.only or ",".join(GROUPS)).split(",")
    given.groups = [group for name in names for group in TOGETHER.get(name, (name,))]
    unknown = [name for name in given.groups if name not in GROUPS]
    if unknown:
        parser.error(f"--only: no case {', '.join(unknown)}; there are {', '.join(GROUPS)}, kernel and batch")
    if given.repeat is not None and given.repeat < 1:
        parser.error("--repeat: at least 1")
    given.seeds = given.repeat or (3 if given.full and not given.smoke else 1)
    given.repeat = given.repeat or (1 if given.smoke else 3)
    return given


def repeated(section: Section, given: argparse.Namespace) -> str:
    """The repetitions of a section in words."""
    if not section.repeat:
        return f"{given.repeat} repetitions, median"
    return f"seeds 1 to {section.repeat}" if section.repeat > 1 else "seed 1"


def main() -> int:
    """Build, measure, print and write; 1 if one of our own runs failed, missed its exact value or gave a wrong plan."""
    given = parse()
    out: Path = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)

    def say(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    facts = machine()
    scale = SMOKE if given.smoke else FULL
    kernel, vms, batch = (
        kernel_and_peers(given, scale, say),
        vms_jobs(given, scale, say),
        batch_jobs(given.groups, scale),
    )
    place = place_jobs(given, scale, say)
    sections = [
        Section("kernel", "Kernel, side by side", kernel_table, *kernel),
        Section("twin", "Full twin", lambda records, _: twin_table(records), twin_jobs(given.groups, scale)),
        Section("vms", "VMs with load steps, beside SimGrid's model of VMs", vms_table, *vms),
        Section("batch", "Batches", batch_table, *batch),
        Section("place", "Plans, beside proxlb-solver", place_table, *place, repeat=given.seeds),
    ]
    for section in sections:
        section.rows = measure(section.jobs, section.repeat or given.repeat, say)
    say("")

    facts["load_average_after"] = os.getloadavg()
    facts["finished"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    rows = [row for section in sections for row in section.rows]
    digest = result_hash(rows)
    common = {"smoke": given.smoke, "result_sha256": digest, "machine": facts}
    (out / "machine.json").write_text(json.dumps(facts, indent=2) + "\n")
    every: list[dict[str, Any]] = []
    for section in sections:
        if section.rows:
            records = summarise(section.rows)
            every += records
            written = {
                **common,
                "repetitions": section.repeat or given.repeat,
                "rows": records,
                "not_measured": section.missing,
            }
            (out / f"{section.name}.json").write_text(json.dumps(written, indent=2) + "\n")
            text = section.table(records, section.missing)
            print(f"\n{section.title}, {repeated(section, given)}\n\n{text}\n")
    for note in notes(every, [entry for section in sections for entry in section.missing]):
        print(textwrap.fill(note, 120, subsequent_indent="    "))
    others = disagreements(rows)
    for other in others:
        print(f"WRONG {other}")
    print(
        f"\n{facts['cpu']}, {facts['cpus']} CPUs, load average {facts['load_average_before'][0]:.1f} before, ", end=""
    )
    print(f"{facts['load_average_after'][0]:.1f} after. Written to {out}")
    print(f"result {digest}")
    own = [record for record in every if record["tool"] in (TWIN, HEAP)]
    bad = [r for r in own if "failure" in r or (r["check"] is not None and not r["check"]["ok"])]
    return 1 if bad or others else 0


if __name__ == "__main__":
    sys.exit(main())
