"""Balance a cluster with proxlb-solver: `place --clusters FOLDER --hosts H --limit SECONDS --seed S`.

Reads FOLDER/H-S.json, which `bench/place.py` writes, and prints one JSON line. The solver levels the memory that VMs
are configured with, against a weight for each move; it knows neither what CPU VMs want nor failures. Level 5 of its
balanciness weighs moves least.
"""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

from proxlb_solver.models import VM, Balancing, Cluster, Constraints, Expect, Node
from proxlb_solver.solver import solve

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from line import peak_rss_mib

GIB = 2**30


def main() -> None:
    """Solve and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--clusters", type=Path)
    parser.add_argument("--hosts", type=int)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    asked = json.loads((given.clusters / f"{given.hosts}-{given.seed}.json").read_text())
    nodes = [Node(name=name, cpu_total=100_000, memory_total=int(room)) for name, room in asked["rooms"].items()]
    vms = [
        VM(name=name, node=vm["host"], cpu=vm["vcpus"], memory=vm["memory_gib"] * GIB)
        for name, vm in asked["vms"].items()
    ]
    rules = Constraints(
        affinity=[{"name": name, "vms": of, "hard": True} for name, of in asked["keep-together"].items()],
        anti_affinity=[{"name": name, "vms": of, "hard": True} for name, of in asked["keep-apart"].items()],
        pin=[{"vm": vm, "nodes": hosts} for vm, hosts in asked["pins"].items()],
    )
    cluster = Cluster(
        name="bench",
        description="",
        balancing=Balancing(method="memory", balanciness=5, cpu_overcommit=100.0),
        nodes=nodes,
        vms=vms,
        constraints=rules,
        expect=Expect(),
    )
    start, cpu = time.perf_counter(), time.process_time()
    found = solve(cluster, time_limit_s=given.limit)
    seconds, cpu_s = time.perf_counter() - start, time.process_time() - cpu
    used = dict.fromkeys(asked["rooms"], 0)
    for vm in vms if found.feasible else ():
        used[found.placements[vm.name]] += vm.memory
    fullest = max(used[name] / room for name, room in asked["rooms"].items()) if found.feasible else None
    line = {
        "case": given.case,
        "tool": "proxlb",
        "version": version("proxlb-solver"),
        "events": len(vms),
        "seconds": seconds,
        "cpu_s": cpu_s,
        "events_per_s": len(vms) / seconds,
        "peak_rss_mib": round(peak_rss_mib(), 1),
        "status": found.stats.status,
        "peak_pct": None if fullest is None else 100 * fullest,
        "bound_pct": asked["bound_pct"],
        "moves": len(found.migrations),
        "does": "levels configured memory; neither CPU demand nor failures",
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
