"""Small clusters, and what is best for them by trying everything: no code of the planner decides here."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from bench.clusters import HostMade, Made, VmMade

from hypertwin.plan.placement.problem import Problem, Rule

CLOSE = 1 + 1e-9


def small(seed: int, *, hosts: int = 4, vms: int = 7) -> tuple[Problem, list[tuple[int, ...]]]:
    """A cluster so small that everything can be tried, tight enough that often little or nothing fits."""
    draw = random.Random(seed)
    kinds = [draw.choice((8, 8, 12, 16)) if seed % 2 else 12 for _ in range(hosts)]
    made = tuple(HostMade(f"h{number}", 2 * size, 1_000, 1, 20 * size) for number, size in enumerate(kinds))
    fill = draw.uniform(0.3, 0.85)
    sizes = [(draw.uniform(0.2, 1), draw.uniform(0.2, 1)) for _ in range(vms)]
    scale = [fill * sum(host.room[each] for host in made) / sum(size[each] for size in sizes) for each in (0, 1)]
    machines = tuple(
        VmMade(f"v{number}", 1, max(1, round(size[0] * scale[0])), max(1, round(size[1] * scale[1])))
        for number, size in enumerate(sizes)
    )
    at = tuple(draw.randrange(hosts) for _ in machines)
    problem = Made("small", made, machines, (), at).problem()
    fits = np.array([[draw.random() < 0.95 for _ in made] for _ in machines], bool)
    fits[~fits.any(axis=1), 0] = True
    restarts = np.array([draw.random() < 0.9 for _ in machines])
    failover = problem.rooms * draw.choice((1.0, 1.0, 1.1, 0.95))
    places = problem.at.copy()
    if draw.random() < 0.2:
        places[draw.randrange(vms)] = -1
    failures = [(host,) for host in range(hosts)]
    kind = draw.random()
    if kind < 0.15:
        failures = []
    elif kind < 0.25:
        failures = [(0, 1), (2,), (3,)]
    elif kind < 0.35:
        failures = failures[:2]
    rules = tuple(_rules(draw, hosts, vms))
    problem = replace(problem, fits=fits, restarts=restarts, failover=failover, at=places, rules=rules)
    return problem, failures


def odd(seed: int, *, hosts: int = 4, vms: int = 6) -> tuple[Problem, list[tuple[int, ...]]]:
    """One with what `small` has too seldom: VMs kept together of which one never restarts, chains of rules, no VMs."""
    problem, failures = small(seed, hosts=hosts, vms=vms)
    draw = random.Random(f"odd {seed}")
    if draw.random() < 0.02:
        return without_vms_at_all(problem), failures
    fits, restarts, at = problem.fits.copy(), problem.restarts.copy(), problem.at.copy()
    members = tuple(sorted(draw.sample(range(vms), draw.randint(2, 3))))
    fixed = members[draw.randrange(len(members))]
    restarts[fixed] = False
    if draw.random() < 0.7:  # as one that is bound to the disks or the CPUs of its host
        at[fixed] = draw.randrange(hosts) if at[fixed] < 0 else at[fixed]
        fits[fixed] = np.arange(hosts) == at[fixed]
    rules = [Rule("odd", "keep-together", members, mandatory=draw.random() < 0.8)]
    if draw.random() < 0.3:  # what links two of them may not restart
        other = draw.choice([vm for vm in range(vms) if vm not in members])
        rules.append(Rule("chain", "keep-together", tuple(sorted((fixed, other))), mandatory=draw.random() < 0.8))
    rules += [rule for rule in problem.rules if draw.random() < 0.5]
    draw.shuffle(rules)
    return replace(problem, fits=fits, restarts=restarts, at=at, rules=tuple(rules)), failures


def fixed(seed: int, *, hosts: int = 4, vms: int = 6) -> tuple[Problem, list[tuple[int, ...]]]:
    """One with VMs that cannot migrate, and most of which restart."""
    problem, failures = small(seed, hosts=hosts, vms=vms)
    draw = random.Random(f"fixed {seed}")
    made = tuple(replace(vm, live_migration=draw.random() < 0.6) for vm in problem.vms)
    fits = problem.fits.copy()
    for vm, of in enumerate(made):
        if not of.live_migration and draw.random() < 0.9:
            fits[vm, problem.at[vm]] = True
    return replace(problem, vms=made, fits=fits), failures


def without_vms_at_all(problem: Problem) -> Problem:
    """Its hosts alone."""
    none = {
        "sizes": problem.sizes[:0],
        "fits": problem.fits[:0],
        "at": problem.at[:0],
        "restarts": problem.restarts[:0],
    }
    return replace(problem, vms=(), rules=(), **none)


def _rules(draw: random.Random, hosts: int, vms: int) -> Iterator[Rule]:
    for number in range(draw.randrange(4)):
        kind = draw.choice(("keep-apart", "keep-apart", "keep-together", "run-on", "not-on"))
        about = tuple(sorted(draw.sample(range(vms), draw.randint(2, 3))))
        on: tuple[int, ...] = ()
        if kind in ("run-on", "not-on"):
            about, on = about[:1], tuple(sorted(draw.sample(range(hosts), 2)))
        yield Rule(f"r{number}", kind, about, on, mandatory=draw.random() < 0.5)  # type: ignore[arg-type]


class Everything:
    """All places of a small problem that are within limits, keep all rules and bear all failures."""

    def __init__(self, problem: Problem, failures: Sequence[tuple[int, ...]]) -> None:
        self.problem, self.failures = problem, failures
        self.hosts, self.vms = len(problem.hosts), len(problem.vms)
        grid = np.indices((self.hosts,) * self.vms).reshape(self.vms, self.hosts**self.vms).T
        self.fine = grid[self._fine(grid)]
        self._sizes: list[list[float]] = problem.sizes.tolist()
        self._most: list[list[float]] = (problem.failover * CLOSE).tolist()
        self._fits: list[list[bool]] = problem.fits.tolist()
        self._tried_first = list(failures)

    def _fine(self, places: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        """Per place: whether it is within limits and keeps all rules, failures aside."""
        problem = self.problem
        fine = problem.fits[np.arange(self.vms), places].all(axis=1)
        for vm, of in enumerate(problem.vms):
            if not of.live_migration and problem.at[vm] >= 0:
                fine &= places[:, vm] == problem.at[vm]
        for host in range(self.hosts):
            limit = problem.rooms[host]
            if any(host not in failed for failed in self.failures):
                limit = np.minimum(limit, problem.failover[host])
            loads = (places == host).astype(float) @ problem.sizes
            fine &= (loads <= limit * CLOSE).all(axis=1)
        for rule in problem.rules:
            of = places[:, list(rule.vms)]
            if rule.kind in ("run-on", "not-on"):
                fine &= (np.isin(of, rule.hosts) == (rule.kind == "run-on")).all(axis=1)
            else:
                for one, two in itertools.combinations(range(of.shape[1]), 2):
                    fine &= (of[:, one] == of[:, two]) == (rule.kind == "keep-together")
        return fine

    def safe(self, place: Sequence[int], kept: Sequence[int] | None = None) -> bool:
        """Whether after each failure all VMs that restart find a host, by trying all ways."""
        kept = range(self.hosts) if kept is None else kept
        for failed in self._tried_first:
            if not self._borne(list(place), [host for host in failed if host in kept], kept):
                self._tried_first.sort(key=lambda each: each != failed)  # likely to break the next place too
                return False
        return True

    def _borne(self, place: list[int], failed: Sequence[int], kept: Sequence[int]) -> bool:
        problem = self.problem
        waits = [vm for vm, host in enumerate(place) if host in failed and problem.restarts[vm]]
        now = [-1 if host in failed else host for host in place]
        left = [host for host in kept if host not in failed]
        none = [0.0] * problem.sizes.shape[1]
        loads = dict.fromkeys(left, none)
        for vm, host in enumerate(now):
            if host in loads:
                loads[host] = [load + size for load, size in zip(loads[host], self._sizes[vm], strict=True)]

        def put(rest: list[int]) -> bool:
            if not rest:
                return self._rules_hold(now)
            vm = rest[0]
            for host in left:
                if not self._fits[vm][host]:
                    continue
                before = loads[host]
                more = [load + size for load, size in zip(before, self._sizes[vm], strict=True)]
                if any(load > most for load, most in zip(more, self._most[host], strict=True)):
                    continue
                now[vm], loads[host] = host, more
                if put(rest[1:]):
                    return True
                now[vm], loads[host] = -1, before
            return False

        return put(waits)

    def _rules_hold(self, now: Sequence[int]) -> bool:
        for rule in self.problem.rules:
            where = [now[vm] for vm in rule.vms if now[vm] >= 0]
            if not rule.mandatory:
                continue
            if rule.kind == "keep-apart" and len(set(where)) < len(where):
                return False
            if rule.kind == "keep-together" and len(set(where)) > 1:
                return False
            if rule.kind == "run-on" and not set(where) <= set(rule.hosts):
                return False
            if rule.kind == "not-on" and set(where) & set(rule.hosts):
                return False
        return True

    def fewest_moves(self) -> float | None:
        """None where there is no place."""
        at = self.problem.at
        moves = ((self.fine != at) & (at >= 0)).sum(axis=1)
        return self._first(moves.astype(float))

    def most_level(self) -> float | None:
        """The least fullness of the fullest host."""
        full = np.zeros(len(self.fine))
        for host in range(self.hosts):
            loads = (self.fine == host).astype(float) @ self.problem.sizes
            full = np.maximum(full, (loads / self.problem.rooms[host]).max(axis=1))
        return self._first(full)

    def _first(self, values: np.ndarray) -> float | None:  # type: ignore[type-arg]
        for each in np.argsort(values, kind="stable").tolist():
            if self.safe(self.fine[each].tolist()):
                return float(values[each])
        return None

    def fewest_hosts(self) -> float | None:
        """Hosts that are kept, one that is empty for failures included."""
        for many in range(self.hosts + 1):
            for kept in itertools.combinations(range(self.hosts), many):
                for place in self.fine[np.isin(self.fine, kept).all(axis=1)].tolist():
                    if self.safe(place, kept):
                        return float(many)
        return None
