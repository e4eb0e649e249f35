"""Relief of one host by moving one VM, the fewest VMs needed, or half of the VMs to a new host of the same kind.

Only VMs of the host move. Existing violations stay and get no worse. The first resource of the problem is the one that
the host is short of. The other resources only restrict targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hypertwin.plan.placement.balance import fewest_moves
from hypertwin.plan.placement.fixes import with_host
from hypertwin.plan.placement.problem import SLACK, Floats, Ints, Problem, holds

Moves = list[tuple[int, int]]
"""Positions of VMs, each with the position of its target host."""

FEW_HOSTS = 3
"""Number of least loaded hosts that are tried as targets first."""
STEPS = 6
"""Number of limits to try between the limit of the host and its load."""


def one(problem: Problem, vms: Sequence[int], hosts: Sequence[int], *, relieving: bool = False) -> Moves:
    """Return for each VM the move to the least loaded host that can take the VM, best move first.

    The best move gives the lowest peak of the host that the VM leaves and its target. With `relieving`, only moves that
    bring both hosts below the first host's current load.
    """
    beyond = _beyond(problem)
    found = []
    for vm in vms:
        home = int(problem.at[vm])
        there = beyond + problem.sizes[vm, 0] / problem.capacity[:, 0]
        left = beyond[home] - problem.sizes[vm, 0] / problem.capacity[home, 0]
        for host in sorted((host for host in hosts if host != home), key=lambda host: (float(there[host]), host)):
            if _takes(problem, vm, host):
                after = round(max(left, float(there[host])), 9)
                if not relieving or after < beyond[home] - SLACK:
                    found.append((after, -float(problem.sizes[vm, 0]), vm, host))
                break
    return [(vm, host) for *_, vm, host in sorted(found)]


def fewest(problem: Problem, host: int, vms: Sequence[int]) -> Moves:
    """Return the fewest moves of some VMs of a host until it is within its limit, or as near as possible.

    No other host newly exceeds its limit. VMs go to few hosts if these suffice. The result is empty if no move brings
    the host
    nearer.
    """
    beyond = _beyond(problem)
    can = np.flatnonzero(problem.allowed[list(vms)].any(axis=0) & (beyond < beyond[host]))
    ranked = can[np.argsort(beyond[can], kind="stable")].tolist()
    for more in np.linspace(0.0, max(0.0, float(beyond[host])), STEPS, endpoint=False):
        for hosts in (ranked[:FEW_HOSTS], ranked):
            found = _moves(_eased(problem, [host], float(more)), host, vms, hosts)
            if found or beyond[host] <= 0:
                return found
    return []


def half(problem: Problem, host: int, vms: Sequence[int]) -> list[int]:
    """Return the VMs of a host that go to a new host of the same kind, so that each has about half of the load."""
    larger, _ = with_host(problem, host, ())
    load = float(problem.loads(problem.at)[host, 0])
    enough = (load / 2 - float(problem.rooms[host, 0])) / float(problem.capacity[host, 0])
    whole = load / 2 / float(problem.capacity[host, 0])
    for more in np.linspace(enough, enough + whole, STEPS, endpoint=False):
        new = len(problem.hosts)
        found = _moves(_eased(larger, [host, new], float(more)), host, vms, [new])
        if found:
            return [vm for vm, _ in found]
    return []


def _beyond(problem: Problem) -> Floats:
    """Return the excess of each host over its limit, as a share of its capacity. Negative within the limit."""
    found: Floats = (problem.loads(problem.at)[:, 0] - problem.rooms[:, 0]) / problem.capacity[:, 0]
    return found


def _takes(problem: Problem, vm: int, host: int) -> bool:
    """True if a host can take one more VM, by rules and all resources except the first."""
    there = problem.at.copy()
    there[vm] = host
    over = problem.loads(there)[host, 1:] > problem.rooms[host, 1:] * (1 + SLACK)
    return (
        bool(problem.allowed[vm, host])
        and not over.any()
        and all(holds(rule, there) for rule in problem.rules if vm in rule.vms)
    )


def _eased(problem: Problem, hosts: Sequence[int], more: float) -> Problem:
    """Return the problem with higher limits of some hosts, by a share of their capacity."""
    rooms = problem.rooms.copy()
    rooms[hosts, 0] += more * problem.capacity[hosts, 0]
    return replace(problem, rooms=rooms)


def _moves(problem: Problem, host: int, vms: Sequence[int], hosts: Sequence[int]) -> Moves:
    """Return the fewest moves of VMs of a host to some hosts that bring it within its limit."""
    at: Ints = problem.at
    fits = np.zeros_like(problem.fits)
    fits[np.ix_(list(vms), list(hosts))] = problem.fits[np.ix_(list(vms), list(hosts))]
    fits[np.arange(len(at)), at] = True
    rooms = np.maximum(problem.rooms, problem.loads(at))
    rooms[host, 0] = problem.rooms[host, 0]
    rules = tuple(rule for rule in problem.rules if holds(rule, at))
    found = fewest_moves(replace(problem, fits=fits, rooms=rooms, failover=rooms, rules=rules), ())
    if found.place is None:
        return []
    return [(int(vm), int(found.place[vm])) for vm in np.flatnonzero(found.place != at)]
