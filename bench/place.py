"""One plan of a seeded cluster (`clusters.py`), printed as the JSON line that every benchmark program prints.

`--goal memory` levels memory alone, as a peer does; `level` CPU and memory, safe against the failure of any host;
`moves` are the fewest until all limits and rules hold, as safe; `hosts` the fewest hosts, as safe. With
`--write FOLDER` it only writes FOLDER/H-S.json of the cluster, for programs that have no Python of ours.
"""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peers")]
from clusters import SIZES, Made, made  # noqa: E402
from line import peak_rss_mib  # noqa: E402

from hypertwin import _core  # noqa: E402
from hypertwin.plan.placement.balance import fewest_moves, most_level  # noqa: E402
from hypertwin.plan.placement.bounds import fullest  # noqa: E402
from hypertwin.plan.placement.found import Found  # noqa: E402
from hypertwin.plan.placement.place import fewest_hosts  # noqa: E402
from hypertwin.plan.placement.problem import Problem  # noqa: E402
from hypertwin.plan.placement.task import Task  # noqa: E402

GOALS = ("memory", "level", "moves", "hosts")


def memory_only(problem: Problem) -> Problem:
    """The same without CPU."""
    one = problem.resources.index("memory")
    keep = slice(one, one + 1)
    arrays = {key: getattr(problem, key)[:, keep] for key in ("sizes", "capacity", "rooms", "failover")}
    return replace(problem, resources=("memory",), **arrays)


def written(cluster: Made) -> dict[str, object]:
    """What a peer needs of a cluster: rooms in bytes, VMs, rules, and the bound for memory alone."""
    problem = cluster.problem()
    names = [host.name for host in cluster.hosts]
    allowed = problem.allowed
    return {
        "rooms": dict(zip(names, problem.rooms[:, 1].tolist(), strict=True)),
        "vms": {
            vm.name: {"host": names[at], "vcpus": vm.vcpus, "memory_gib": vm.memory_gib}
            for vm, at in zip(cluster.vms, cluster.at, strict=True)
        },
        **{
            kind: {rule.name: [cluster.vms[vm].name for vm in rule.vms] for rule in cluster.rules if rule.kind == kind}
            for kind in ("keep-together", "keep-apart")
        },
        "pins": {
            vm.name: [names[host] for host in allowed[number].nonzero()[0]]
            for number, vm in enumerate(cluster.vms)
            if not allowed[number].all()
        },
        "bound_pct": 100 * fullest(Task(memory_only(problem), ()))[0],
    }


def planned(problem: Problem, goal: str) -> Found:
    """What the planner finds."""
    failures = [(host,) for host in range(len(problem.hosts))]
    if goal == "memory":
        return most_level(memory_only(problem), (), from_nothing=False)
    if goal == "level":
        return most_level(problem, failures, from_nothing=False)
    return fewest_moves(problem, failures) if goal == "moves" else fewest_hosts(problem, failures)


def main() -> None:
    """Plan and print, or write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--goal", choices=GOALS, default="level")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    cluster = made(given.hosts, dict(SIZES).get(given.hosts, 25 * given.hosts), given.seed)
    if given.write is not None:
        given.write.mkdir(parents=True, exist_ok=True)
        (given.write / f"{given.hosts}-{given.seed}.json").write_text(json.dumps(written(cluster)))
        return
    problem = cluster.problem()
    start, cpu = time.perf_counter(), time.process_time()
    found = planned(problem, given.goal)
    seconds, cpu_s = time.perf_counter() - start, time.process_time() - cpu
    place = problem.at if found.place is None else found.place
    of = memory_only(problem) if given.goal == "memory" else problem
    line = {
        "case": f"place-{given.hosts}",
        "tool": "hypertwin",
        "version": _core.version(),
        "events": len(problem.vms),
        "seconds": seconds,
        "cpu_s": cpu_s,
        "events_per_s": len(problem.vms) / seconds,
        "peak_rss_mib": round(peak_rss_mib(), 1),
        "status": "PROVEN" if found.proven else "FEASIBLE" if found.place is not None else "UNKNOWN",
        "value": found.value,
        "bound": found.bound,
        "gap_pct": found.gap_pct,
        "peak_pct": None if found.place is None else 100 * float(of.fullness(place).max()),
        "moves": int((place != problem.at).sum()),
        "place_sha256": hashlib.sha256(place.tobytes()).hexdigest(),
    }
    if given.goal in ("memory", "level"):
        line["bound_pct"] = 100 * (found.bound or 0.0)
    print(json.dumps(line))


if __name__ == "__main__":
    main()
