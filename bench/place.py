"""One plan of a seeded cluster (`clusters.py`), printed as the JSON line that every benchmark program prints.

`--goal memory` levels memory alone, as a peer does; `level` CPU and memory; `moves` are the fewest until all limits
and rules hold; `hosts` the fewest hosts; `place` puts new VMs beside the others, which stay. The last four tolerate
the failure of any host. `evacuate` takes one host into maintenance. The plan is checked (`checked.py`) after it was
measured. With `--write FOLDER` the program only writes FOLDER/H-S.json of the cluster, for programs that have no
Python of ours.
"""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = "1"
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peers")]
import clusters  # noqa: E402
from checked import Claim, complaints, world  # noqa: E402
from clusters import SIZES, Made, made  # noqa: E402
from goals import GOALS  # noqa: E402
from line import peak_rss_mib  # noqa: E402

from hypertwin import _core, scenario  # noqa: E402
from hypertwin.plan.placement.balance import fewest_moves, most_level  # noqa: E402
from hypertwin.plan.placement.bounds import fullest  # noqa: E402
from hypertwin.plan.placement.evacuate import evacuate  # noqa: E402
from hypertwin.plan.placement.found import Found  # noqa: E402
from hypertwin.plan.placement.migrations import Migrations  # noqa: E402
from hypertwin.plan.placement.place import beside, fewest_hosts  # noqa: E402
from hypertwin.plan.placement.problem import NOWHERE, Ints, Problem  # noqa: E402
from hypertwin.plan.placement.restart import Restarts  # noqa: E402
from hypertwin.plan.placement.task import Task  # noqa: E402

ASKED = ("memory", "level", "moves", "hosts", "place", "evacuate")
SAFE = ("level", "moves", "hosts", "place")
"""What tolerates the failure of any host."""
CPU_LESS_PCT = 4
"""CPU in use less than memory, in points."""
SPARE = (2, 3, 4)
"""Hosts with room for the largest VM, before new VMs are placed: the first number that makes the cluster safe."""
VIOLATED = re.compile(r"Should rule (.+) is violated while .+ is empty\.")


@dataclass(frozen=True)
class Case:
    """A cluster, and what is asked of it."""

    asked: str
    seed: int
    cluster: Made

    @property
    def emptied(self) -> int:
        """The host that goes into maintenance."""
        return random.Random(f"evacuate {self.cluster.name} {self.seed}").randrange(len(self.cluster.hosts))


class Searched(NamedTuple):
    """What a search says."""

    found: Found
    stays: frozenset[str] = frozenset()
    """VMs that do not leave a host in maintenance."""
    given_up: frozenset[str] = frozenset()
    """Rules that are violated meanwhile."""


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


def cluster_of(given: argparse.Namespace) -> Made:
    """The cluster of the command line."""
    vms = dict(SIZES).get(given.hosts, 25 * given.hosts)
    memory, cpu = given.fill / 100, (given.fill - CPU_LESS_PCT) / 100
    cluster = made(given.hosts, vms, given.seed, mixed=given.mixed, memory=memory, cpu=cpu)
    return safe_start(cluster, given.seed) if given.goal == "place" and not given.write else cluster


def safe_start(cluster: Made, seed: int) -> Made:
    """The cluster with new VMs, beside others that tolerate the failure of any host, if such a place is at hand."""
    for spare in SPARE:
        found = clusters.beside(cluster, seed, spare)
        if _is_safe(found):
            break
    return found


def _is_safe(cluster: Made) -> bool:
    problem = cluster.problem()
    old = problem.without_vms([vm for vm, at in enumerate(cluster.at) if at == NOWHERE])
    each = [(host,) for host in range(len(cluster.hosts))]
    return not old.broken(old.at) and Restarts(old).first_unsafe(old.at, each, exact=False) is None


def searched(case: Case, problem: Problem) -> Callable[[], Searched]:
    """The search of a case, to be measured."""
    failures = [(host,) for host in range(len(problem.hosts))]
    searches: Mapping[str, Callable[[], Found]] = {
        "memory": lambda: most_level(memory_only(problem), (), from_nothing=False),
        "level": lambda: most_level(problem, failures, from_nothing=False),
        "moves": lambda: fewest_moves(problem, failures),
        "hosts": lambda: fewest_hosts(problem, failures),
        "place": lambda: beside(problem, failures),
    }
    if case.asked != "evacuate":
        return lambda: Searched(searches[case.asked]())
    made = scenario.loads(json.dumps(case.cluster.scenario()))
    migrations = Migrations(problem, made)
    named = [(host.name, failed) for host, failed in zip(problem.hosts, failures, strict=True)]

    def emptied() -> Searched:
        found = evacuate(problem, migrations, case.emptied, named)
        given_up = {each[1] for note in found.notes if (each := VIOLATED.match(note))}
        return Searched(found.found, frozenset(vm for vm, _ in found.stays), frozenset(given_up))

    return emptied


def status_of(said: Searched) -> str:
    """As a plan says it."""
    if said.found.place is None or said.stays:
        return "infeasible" if said.found.proven or said.stays else "unknown"
    return "optimal" if said.found.proven else "feasible"


def claim_of(case: Case, problem: Problem, said: Searched) -> Claim | None:
    """What is to be checked; None if there is no plan."""
    found = said.found
    place = found.partial if found.place is None else found.place
    if place is None:
        return None
    names = [host.name for host in problem.hosts]
    where = {vm.name: None if at == NOWHERE else names[at] for vm, at in zip(problem.vms, place.tolist(), strict=True)}
    kept = _kept(problem, place, found) if case.asked == "hosts" else list(range(len(names)))
    return Claim(
        case.asked,
        where,
        found.value,
        found.bound,
        _certificates(problem, place, kept) if case.asked in SAFE and found.place is not None else {},
        frozenset(names[host] for host in kept) if case.asked == "hosts" else None,
        names[case.emptied] if case.asked == "evacuate" else None,
        said.stays,
        said.given_up,
    )


def _kept(problem: Problem, place: Ints, found: Found) -> list[int]:
    """Hosts that are left: those with VMs, and empty ones up to the value, the largest first."""
    kept = sorted(set(place.tolist()))
    empty = sorted(set(range(len(problem.hosts))) - set(kept), key=lambda host: -float(problem.rooms[host].min()))
    return kept + empty[: max(0, int(found.value or 0) - len(kept))]


def _certificates(problem: Problem, place: Ints, kept: Sequence[int]) -> dict[str, dict[str, Any]]:
    """Where VMs restart after the failure of each host that is left."""
    vms, hosts = [vm.name for vm in problem.vms], [host.name for host in problem.hosts]
    left = problem.without_hosts(sorted(set(range(len(hosts))) - set(kept)))
    return {
        hosts[outcome.failed[0]]: {
            "failed": [hosts[host] for host in outcome.failed],
            "placed": {vms[vm]: hosts[to] for vm, to in outcome.placed.items()},
            "cannot_restart": [{"vm": vms[vm], "short_of": why} for vm, why in outcome.cannot_restart],
            "not_restarted": [{"vm": vms[vm]} for vm, _ in outcome.not_restarted],
            "violated_should_rules": list(outcome.wishes),
        }
        for outcome in Restarts(left).all(place, [(host,) for host in kept])
    }


def line_of(given: argparse.Namespace, problem: Problem, said: Searched) -> dict[str, Any]:
    """What the plan is, without times and memory."""
    found = said.found
    of = memory_only(problem) if given.goal == "memory" else problem
    place = problem.at if found.place is None else found.place
    line = {
        "case": given.case,
        "tool": "hypertwin",
        "version": _core.version(),
        "events": len(problem.vms),
        "fill": given.fill,
        "hosts": given.hosts,
        "asked": given.goal,
        "status": status_of(said),
        "value": found.value,
        "bound": found.bound,
        "gap_pct": found.gap_pct,
        "placeable": found.placeable,
        "peak_pct": None if found.place is None else 100 * float(of.fullness(place).max()),
        "moves": int(((place != problem.at) & (problem.at != NOWHERE)).sum()),
        "place_sha256": hashlib.sha256(place.tobytes()).hexdigest(),
    }
    return {**line, "bound_pct": 100 * (found.bound or 0.0)} if given.goal in ("memory", "level") else line


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--case", default="place")
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument(
        "--fill", type=int, choices=tuple(GOALS), default=70, help="memory in use, per cent of the limit"
    )
    parser.add_argument("--mixed", action="store_true", help="three kinds of hosts")
    parser.add_argument("--goal", choices=ASKED, default="level")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path)
    return parser.parse_args()


def main() -> None:
    """Plan, print and check, or write."""
    given = parse()
    case = Case(given.goal, given.seed, cluster_of(given))
    if given.write is not None:
        given.write.mkdir(parents=True, exist_ok=True)
        (given.write / f"{given.hosts}-{given.seed}.json").write_text(json.dumps(written(case.cluster)))
        return
    problem = case.cluster.problem()
    search = searched(case, problem)
    start, cpu = time.perf_counter(), time.process_time()
    said = search()
    seconds, cpu_s = time.perf_counter() - start, time.process_time() - cpu
    memory = round(peak_rss_mib(), 1)
    claim = claim_of(case, problem, said)
    wrong = [] if claim is None else complaints(world(case.cluster, memory_only=given.goal == "memory"), claim)
    if wrong:
        more = f"; and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        sys.exit(f"the plan is wrong: {'; '.join(wrong[:3])}{more}")
    measured = {"seconds": seconds, "cpu_s": cpu_s, "events_per_s": len(problem.vms) / seconds}
    print(json.dumps({**line_of(given, problem, said), **measured, "peak_rss_mib": memory}))


if __name__ == "__main__":
    main()
