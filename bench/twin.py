"""One timed run of the full twin, printed as the JSON line that every benchmark program prints.

`twin.py solo|pair|io|pool|scale|vms [--hosts N] [--vms N] [--seconds T] [--threads N] [--seed S]`: the monster-VM host
with its 24-vCPU VM at 3x, the same beside a second 24-vCPU VM at 2x, six VMs with a million I/Os per second, any number
of hosts of `pool.yaml` (distributed storage), `scale.yaml` or `vms.yaml` (VMs with load steps, so many on a host).

Islands, hosts that share nothing, run on `--threads` threads. Only the simulation is timed, from the scenario's text to
the merged measurements, not reading the scenario or writing the report. A run of 2 ms is timed first: `setup_s` is what
making the hosts and machines costs, and `ns_per_event` is without it; both are CPU time, of all threads.
"""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hypertwin
from hypertwin import _core
from hypertwin.scenario import loads

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))
from line import peak_rss_mib  # noqa: E402

MONSTER_VM = HERE.parent / "studies" / "monster-vm" / "scenario.yaml"
SOLO: dict[str, Any] = {"vms.db.vcpus": 24, "vms.db.load": 3}
MILLION_IOPS = HERE.parent / "studies" / "million-iops" / "multi-vm.yaml"
PAIR: dict[str, Any] = {**SOLO, "vms.neighbour.count": 1, "vms.neighbour.vcpus": 24, "vms.neighbour.load": 2}
VMS_PER_HOST = 4
MESH = "mirrored-mesh"
VMS_PER_NODE = 20
STEPS = 24
"""Load steps of `vms`, a second each."""
RATE_PER_S, CPU_S = 160, 0.01
"""Of the workload of `vms.yaml`."""
CHUNKS_PER_THREAD = 8
"""Pieces of about equal weight that the islands are dealt out in."""
DOES = "schedulers, guests, VMkernel worlds, all metrics of the report, latency histograms, timeline"


def lengths(warmup_ms: int, duration_ms: int) -> dict[str, str]:
    """How long to simulate, with 20 points of timeline."""
    return {
        "run.warmup": f"{warmup_ms} ms",
        "run.duration": f"{duration_ms} ms",
        "run.sample_interval": f"{max(1, duration_ms // 20)} ms",
    }


def with_load_steps(hosts: int, per_host: int) -> hypertwin.Scenario:
    """`vms.yaml` with so many hosts and VMs. All VMs have the same day, but begin it up to eight hours apart."""
    data = json.loads(hypertwin.load(HERE / "vms.yaml", {"hosts.esx.count": hosts}).json)
    template, total = data["vms"].pop("vm"), hosts * per_host
    for number in range(total):
        late_h = number % per_host % 8 + number / total
        factors = [0.5 - 0.45 * math.cos(2 * math.pi * (step + late_h) / STEPS) for step in range(STEPS)]
        steps = [{"at": f"{step} s", "factor": round(factor, 6)} for step, factor in enumerate(factors)]
        host = f"esx-{number // per_host + 1}" if hosts > 1 else "esx"
        data["vms"][f"vm-{number:04d}"] = {**template, "host": host, "load_steps": steps}
    return loads(json.dumps(data))


def chunks(weights: list[int], pieces: int) -> list[list[int]]:
    """Islands in their order, in about so many pieces of about equal weight."""
    found: list[list[int]] = [[]]
    full, weight = sum(weights) / pieces, 0
    for island, more in enumerate(weights):
        if found[-1] and weight + more / 2 > full * len(found):
            found.append([])
        found[-1].append(island)
        weight += more
    return found


def simulate(scenario: str, seed: int, threads: int) -> _core.Replication:
    """All islands, on so many threads."""
    islands = _core.Islands(scenario)
    weights = islands.weights()
    if threads == 1:
        return islands.merge(islands.run(list(range(len(weights))), seed))
    with ThreadPoolExecutor(threads) as pool:
        dealt = pool.map(lambda chunk: islands.run(chunk, seed), chunks(weights, CHUNKS_PER_THREAD * threads))
        return islands.merge([part for parts in dealt for part in parts])


def timed(scenario: str, seed: int, threads: int) -> tuple[_core.Replication, float, float]:
    """One run, the seconds it took, and those of all cores on it."""
    start, cpu = time.perf_counter(), time.process_time()
    replication = simulate(scenario, seed, threads)
    return replication, time.perf_counter() - start, time.process_time() - cpu


def scenario_of(given: argparse.Namespace) -> hypertwin.Scenario:
    """What the case simulates, but for how long."""
    if given.case == "vms":
        return with_load_steps(given.hosts, given.vms)
    if given.case == "scale":
        changes: dict[str, Any] = {"hosts.esx.count": given.hosts, "vms.app.count": VMS_PER_HOST * given.hosts}
        return hypertwin.load(HERE / "scale.yaml", changes)
    if given.case == "pool":
        changes = {"hosts.node.count": given.hosts, "vms.app.count": VMS_PER_NODE * given.hosts}
        changes |= {"storage.pool.kind": given.kind, "storage.pool.redundancy": "replicas-2"}
        return hypertwin.load(HERE / "pool.yaml", changes)
    if given.case == "io":
        return hypertwin.load(MILLION_IOPS)
    return hypertwin.load(MONSTER_VM, SOLO if given.case == "solo" else PAIR)


def demand_of(given: argparse.Namespace, groups: dict[str, Any]) -> dict[str, Any]:
    """Cores of a host that were busy with VMs of `vms`, and how many their load steps ask for."""
    used = sum(group["used_pct"] / 100 * group["vcpus"] for group in groups.values()) / given.hosts
    asked = RATE_PER_S * CPU_S * given.vms / 2
    tasks = asked * given.hosts * STEPS / CPU_S
    return {"tasks": tasks, "check": {"what": "busy cores per host", "value": used, "exact": asked}}


def main() -> None:
    """Run one case and print its line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("case", choices=["solo", "pair", "io", "pool", "scale", "vms"])
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--kind", default=MESH, choices=[MESH, "chunk-store", "ceph", "vsan"], help="of `pool`")
    parser.add_argument("--vms", type=int, default=8, help="of `vms`, on each host")
    parser.add_argument("--seconds", type=float, default=100.0, help="simulated, a tenth of it warm-up; 24 for `vms`")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()

    scenario = scenario_of(given)
    warmup_ms = max(1, round(given.seconds * 100))
    duration_ms = max(1, round(given.seconds * 1000) - warmup_ms)
    if given.case == "vms":
        warmup_ms, duration_ms = 0, 1000 * STEPS
    start_only = hypertwin.load(scenario, lengths(1, 1)).json
    whole = scenario.json if given.case == "vms" else hypertwin.load(scenario, lengths(warmup_ms, duration_ms)).json

    _, _, setup_s = timed(start_only, given.seed, 1)
    started, _, again_s = timed(start_only, given.seed, 1)
    setup_s = min(setup_s, again_s)
    replication, seconds, cpu_s = timed(whole, given.seed, given.threads)

    report = _core.aggregate([replication])
    read = json.loads(report)
    groups = read["groups"]
    ios = sum(g["iops"] for g in groups.values()) * duration_ms / 1000 if given.case in {"io", "pool"} else 0
    events = int(read["events"])
    later = events - int(json.loads(_core.aggregate([started]))["events"])
    simulated_s = (warmup_ms + duration_ms) / 1000
    pool = "pool" if given.kind == MESH else given.kind
    name = {"pool": f"{pool}-{given.hosts}", "scale": f"scale-{given.hosts}", "vms": f"vms-{given.hosts * given.vms}"}
    line = {
        "case": name.get(given.case, given.case),
        "tool": "hypertwin",
        "version": _core.version(),
        "hosts": given.hosts,
        "threads": given.threads,
        "events": events,
        "seconds": seconds,
        "cpu_s": cpu_s,
        "events_per_s": events / seconds,
        "simulated_s": simulated_s,
        "simulated_s_per_s": simulated_s / seconds,
        "setup_s": setup_s,
        # warm-up included in the time, a tenth of it, and not in the I/Os
        **({"ios": ios, "seconds_per_million_ios": 1e6 * seconds / ios} if ios else {}),
        **(demand_of(given, groups) if given.case == "vms" else {}),
        "ns_per_event": 1e9 * max(0.0, cpu_s - setup_s) / max(1, later),
        "peak_rss_mib": round(peak_rss_mib(), 1),
        "report_sha256": hashlib.sha256(report.encode()).hexdigest(),
        "does": DOES,
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
