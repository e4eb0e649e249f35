"""Moves in an executable order, in steps of concurrent moves.

While a step runs, its VMs count on both hosts. A move waits until three conditions hold. Its target has room within the
limits in addition to all VMs that leave in the same step. Anti-affinity rules hold meanwhile. Both hosts have a free
migration slot. VMs in an affinity rule move in one step, or in consecutive steps if their hosts allow fewer concurrent
migrations.

If moves wait for each other, VMs move temporarily to the host with the most room, and on later. VMs that have to move
anyway and have the least memory go first, then others, which return. The order with the fewest temporary moves wins. If
all orders get stuck, `untangle` continues move by move.

A host that exceeds its limits even after all moves can have that load meanwhile. An example is a host that gets its old
VMs back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hypertwin.documents.placement import Move, Step
from hypertwin.metrics import words
from hypertwin.plan.placement.migrations import Migrations
from hypertwin.plan.placement.problem import NOWHERE, SLACK, Floats, Ints, Problem, holds, part
from hypertwin.plan.placement.survive import MOST_PCT
from hypertwin.plan.placement.units import Units
from hypertwin.plan.placement.untangle import Item, untangle
from hypertwin.scenario import Scenario

Sooner = Literal["waited-for", "largest", "smallest"]
"""Priority of moves if not all can start."""

MOST_UNITS = 40
"""Maximum number of units that `untangle` can move out of the way.

Above it, only units on hosts of waiting moves can.
"""
MOST_BLOCKED = 64
"""Maximum number of waiting moves that are checked for the cheapest temporary moves, unless none of these works.
"""


class Knot(Exception):  # noqa: N818
    """Raised for moves that wait for each other, if no temporary move works."""

    def __init__(self, order: Order) -> None:
        """Keep the moves that are possible."""
        super().__init__(
            f"moves of {', '.join(order.knot)} wait for each other, and no host has room for a temporary move"
        )
        self.order = order


@dataclass(frozen=True)
class Order:
    """Moves in steps, as far as an order exists."""

    moves: list[Move]
    steps: list[Step]
    place: Ints
    """Final hosts of VMs."""
    knot: tuple[str, ...] = ()
    """VMs whose moves wait for each other. These moves are not in `moves`."""
    notes: tuple[str, ...] = ()

    @property
    def parkings(self) -> int:
        """Number of temporary moves."""
        return sum(move["temporary"] for move in self.moves)


def steps(problem: Problem, scenario: Scenario, before: Ints, after: Ints) -> tuple[list[Move], list[Step]]:
    """Return the moves between two placements, and their steps. Raises Knot."""
    found = order(problem, Migrations(problem, scenario), before, after)
    if found.knot:
        raise Knot(found)
    return found.moves, found.steps


def order(
    problem: Problem, migrations: Migrations, before: Ints, after: Ints, *, why: str = "", first_step: int = 1
) -> Order:
    """Return the moves between two placements, without an error.

    `why` is the reason given for each move. By default the actual reason is given.
    """
    units = Units(problem)
    found: list[_Run] = []
    for sooner in ("waited-for", "largest", "smallest"):
        run = _Run(problem, units, migrations.concurrent, before, after, sooner)
        run.to_the_end()
        found.append(run)
        if not run.pending and not run.parkings:
            break
    best = min(found, key=lambda run: (bool(run.pending), run.parkings, len(run.steps)))
    if best.pending:
        best.untangle(after)
    return _told(best, migrations, before, why, first_step)


@dataclass
class _Bundle:
    """VMs that move together from one host to another."""

    vms: list[int]
    source: int
    target: int
    temporary: bool = False
    waits_for: list[_Bundle] = field(default_factory=list)
    """Bundles that must finish before the bundle starts."""
    begun: bool = False
    """True if some VMs of the bundle have already moved."""
    why: str = ""


@dataclass
class _Done:
    vm: int
    source: int
    target: int
    temporary: bool
    why: str


class _Run:
    """Attempt at an order of moves."""

    def __init__(
        self, problem: Problem, units: Units, concurrent: Sequence[int], before: Ints, after: Ints, sooner: Sooner
    ) -> None:
        self.problem, self.units, self.concurrent, self.sooner = problem, units, concurrent, sooner
        self.place = before.copy()
        self.sizes: list[list[float]] = problem.sizes.tolist()
        rooms: Floats = np.maximum(problem.rooms, problem.loads(after))
        self.rooms: list[list[float]] = (rooms + SLACK * np.maximum(rooms, 1.0)).tolist()
        self.loads: list[list[float]] = problem.loads(before).tolist()
        """Load per host and resource, including VMs that arrive in the current step."""
        self.memory = problem.resources.index("memory") if "memory" in problem.resources else 0
        rules = [rule for rule in problem.rules if rule.kind == "keep-apart" and holds(rule, after)]
        self.apart: list[list[int]] = [[] for _ in problem.vms]
        self.there: list[dict[int, int]] = [{} for _ in rules]
        """Number of VMs per rule and host, including VMs that arrive."""
        for number, rule in enumerate(rules):
            for vm in rule.vms:
                self.apart[vm].append(number)
                if before[vm] != NOWHERE:
                    self._count(number, int(before[vm]), 1)
        self.pending = self._bundles(before, after)
        self.urgent: list[_Bundle] = []
        """Temporary moves with the bundles that need them. Other moves wait."""
        self.parked: set[int] = set()
        self.parkings = 0
        self.slots: list[int] = []
        """Number of free migration slots of each host in the current step."""
        self.kept_for: set[int] = set()
        """Hosts that keep room for the rest of a bundle that is too large for one step."""
        self.steps: list[list[_Done]] = []
        self.fullest: list[tuple[int, float]] = []

    def _bundles(self, before: Ints, after: Ints) -> list[_Bundle]:
        found: dict[tuple[int, int, int], _Bundle] = {}
        for vm in np.flatnonzero((before != after) & (after != NOWHERE)).tolist():
            source, target = int(before[vm]), int(after[vm])
            key = int(self.units.of_vm[vm]), source, target
            found.setdefault(key, _Bundle([], source, target)).vms.append(vm)
        return list(found.values())

    def _count(self, rule: int, host: int, more: int) -> None:
        self.there[rule][host] = self.there[rule].get(host, 0) + more

    def to_the_end(self) -> None:
        """Make steps until all moves are done, or no move can start."""
        while self.pending or self.urgent:
            made = self._step(split=False) or self._step(split=True)
            if not made:
                self.pending, self.urgent = self.urgent + self.pending, []
                if not self._park():
                    return

    def untangle(self, after: Ints) -> None:
        """Continue this attempt with a search for single moves."""
        waiting = {vm for bundle in self.pending for vm in bundle.vms}
        near = {host for bundle in self.pending for host in (bundle.source, bundle.target)}
        if NOWHERE in near:
            return
        if self.units.count <= MOST_UNITS:
            near = set(range(len(self.rooms)))
        items: list[Item] = []
        for vms in self.units.vms:
            here = {int(self.place[vm]) for vm in vms}
            goals = {int(after[vm]) for vm in vms}
            if not (here & near or waiting.intersection(vms.tolist())):
                continue
            if len(here) > 1 or len(goals) > 1:
                return
            size = tuple(float(each) for each in self.problem.sizes[vms].sum(axis=0))
            allowed = np.flatnonzero(np.logical_and.reduce(self.problem.allowed[vms]))
            items.append(Item(tuple(vms.tolist()), size, goals.pop(), tuple(allowed.tolist())))
        begin = [int(self.place[item.vms[0]]) for item in items]
        rooms = (np.array(self.rooms) - np.array(self.loads)).tolist()
        for item, host in zip(items, begin, strict=True):
            for resource, taken in enumerate(item.size):
                rooms[host][resource] += taken
        apart_of = [{rule for vm in item.vms for rule in self.apart[vm]} for item in items]
        others: list[set[int]] = [
            {rule for rule in range(len(self.there)) if self._others(rule, host, items)}
            for host in range(len(self.rooms))
        ]

        def meets(item: int, host: int, now: Sequence[int]) -> bool:
            there = (apart_of[each] for each, at in enumerate(now) if at == host and each != item)
            return any(apart_of[item] & rules for rules in (others[host], *there))

        way = untangle(items, begin, rooms, meets)
        if way is None:
            return
        for number, host in way:
            item = items[number]
            temporary = host != item.goal
            self.parkings += len(item.vms) if temporary else 0
            source = int(self.place[item.vms[0]])
            most = max(1, min(self.concurrent[source], self.concurrent[host]))
            for first in range(0, len(item.vms), most):
                some = item.vms[first : first + most]
                for vm in some:
                    self._add(vm, host, 1)
                self._close([_Done(vm, source, host, temporary, "out of the way" if temporary else "") for vm in some])
        self.pending = []

    def _others(self, rule: int, host: int, items: Sequence[Item]) -> bool:
        """True if other VMs of a rule are on a host, apart from the VMs in items."""
        own = sum(rule in self.apart[vm] for item in items for vm in item.vms if self.place[vm] == host)
        return self.there[rule].get(host, 0) > own

    def _step(self, *, split: bool) -> bool:
        """Start all moves that can run concurrently. Return true if any started."""
        self.slots = list(self.concurrent)
        self.kept_for = set()
        done: list[_Done] = []
        queue = [each for each in (self.urgent or self._sorted()) if not self._waits(each)]
        for bundle in queue:
            gone = self._startable(bundle, split=split)
            done += [_Done(vm, bundle.source, bundle.target, bundle.temporary, bundle.why) for vm in gone]
            bundle.vms = [vm for vm in bundle.vms if vm not in gone]
        if not done:
            return False
        self.pending = [each for each in self.pending if each.vms]
        self.urgent = [each for each in self.urgent if each.vms]
        self._close(done)
        return True

    def _waits(self, bundle: _Bundle) -> bool:
        return any(each.vms for each in bundle.waits_for)

    def _startable(self, bundle: _Bundle, *, split: bool) -> list[int]:
        """Start as much of a bundle as possible in the current step. Return the VMs started."""
        if bundle.target in self.kept_for:
            return []
        slots = self._slots_for(bundle)
        most = min(self._most(bundle), len(bundle.vms))
        if slots < (1 if split else most):
            return []
        if not split and not self._has_room(bundle.vms, bundle.target):
            return []
        gone: list[int] = []
        for vm in bundle.vms:
            if len(gone) == min(slots, len(bundle.vms)):
                break
            if self._has_room([vm], bundle.target):
                self._add(vm, bundle.target, 1)
                gone.append(vm)
                if bundle.source != NOWHERE:
                    self.slots[bundle.source] -= 1
                    self.slots[bundle.target] -= 1
        if gone and len(gone) < len(bundle.vms):
            bundle.begun = True
            self.kept_for.add(bundle.target)
        return gone

    def _most(self, bundle: _Bundle) -> int:
        """Return the maximum VMs of a bundle in one step."""
        if bundle.source == NOWHERE:
            return len(bundle.vms)
        return max(1, min(self.concurrent[bundle.source], self.concurrent[bundle.target]))

    def _slots_for(self, bundle: _Bundle) -> int:
        if bundle.source == NOWHERE:
            return len(bundle.vms)
        return min(self.slots[bundle.source], self.slots[bundle.target])

    def _has_room(self, vms: Sequence[int], host: int) -> bool:
        """True if VMs of other hosts fit on a host in addition to its VMs, including VMs that leave now."""
        loads, rooms = self.loads[host], self.rooms[host]
        for resource, room in enumerate(rooms):
            if loads[resource] + sum(self.sizes[vm][resource] for vm in vms) > room:
                return False
        return all(not self.there[rule].get(host, 0) for vm in vms for rule in self.apart[vm])

    def _add(self, vm: int, host: int, change: Literal[1, -1]) -> None:
        """Add a VM to the load and rules of a host, or remove it."""
        for resource, size in enumerate(self.sizes[vm]):
            self.loads[host][resource] += change * size
        for rule in self.apart[vm]:
            self._count(rule, host, change)

    def _close(self, done: list[_Done]) -> None:
        """End the current step."""
        full = part(np.array(self.loads), self.problem.rooms).max(axis=1, initial=0.0)
        fullest = int(np.argmax(full))
        self.fullest.append((fullest, min(MOST_PCT, 100 * float(full[fullest]))))
        for move in done:
            if move.source != NOWHERE:
                self._add(move.vm, move.source, -1)
            self.place[move.vm] = move.target
        self.steps.append(done)

    def _sorted(self) -> list[_Bundle]:
        """Return the pending items in the order of trial."""
        waited: dict[int, int] = {}
        over = {
            host
            for host, loads in enumerate(self.loads)
            if any(load > room for load, room in zip(loads, self.rooms[host], strict=True))
        }
        for bundle in self.pending:
            if not self._has_room(bundle.vms, bundle.target):
                waited[bundle.target] = waited.get(bundle.target, 0) + 1

        def rank(bundle: _Bundle) -> tuple[float, ...]:
            size = sum(self.sizes[vm][self.memory] for vm in bundle.vms)
            if self.sooner == "waited-for":
                return (
                    not bundle.begun,
                    bundle.source not in over,
                    -waited.get(bundle.source, 0),
                    -len(bundle.vms),
                    -size,
                )
            return (not bundle.begun, -size if self.sooner == "largest" else size)

        return sorted(self.pending, key=lambda bundle: (*rank(bundle), bundle.vms[0]))

    def _park(self) -> bool:
        """Make the cheapest temporary moves that let a bundle start. Return true if any exist."""
        best: tuple[tuple[float, ...], _Bundle, list[_Bundle]] | None = None
        movers = {vm for bundle in self.pending for vm in bundle.vms}
        for number, blocked in enumerate(self._sorted()):
            if best is not None and number >= MOST_BLOCKED:
                break
            if self._waits(blocked):
                continue
            for may_be_others in (False, True):
                parkings = self._parkings_for(blocked, movers, others=may_be_others)
                if parkings:
                    gone = [vm for each in parkings for vm in each.vms]
                    strangers = sum(vm not in movers for vm in gone)
                    memory = sum(self.sizes[vm][self.memory] for vm in gone)
                    cost = (strangers, len(gone), memory, blocked.vms[0])
                    if best is None or cost < best[0]:
                        best = cost, blocked, parkings
                    break
        if best is None:
            return False
        _, blocked, parkings = best
        self._queue(blocked, parkings)
        return True

    def _queue(self, blocked: _Bundle, parkings: list[_Bundle]) -> None:
        for each in parkings:
            each.why = f"makes way for {self.problem.vms[blocked.vms[0]].name}"
            self.parkings += len(each.vms)
            self.parked.update(each.vms)
            onward = [bundle for bundle in self.pending if set(bundle.vms) & set(each.vms)]
            for bundle in onward:
                bundle.source = each.target
                bundle.waits_for = [*bundle.waits_for, each]
            staying = [vm for vm in each.vms if not any(vm in bundle.vms for bundle in onward)]
            if staying:
                back = _Bundle(
                    staying, each.target, each.source, waits_for=[blocked], why="back from where it was parked"
                )
                self.pending.append(back)
        blocked.waits_for = [*blocked.waits_for, *parkings]
        self.pending.remove(blocked)
        self.urgent = [*parkings, blocked]

    def _parkings_for(self, blocked: _Bundle, movers: set[int], *, others: bool) -> list[_Bundle]:
        """Return temporary moves that make room for a bundle, one if that suffices.

        The result is empty if no temporary moves work.
        """
        target = blocked.target
        here: dict[int, list[int]] = {}
        for vm in np.flatnonzero(self.place == target).tolist():
            here.setdefault(int(self.units.of_vm[vm]), []).append(vm)
        items = [
            vms
            for vms in here.values()
            if not self.parked.intersection(vms)
            and not set(vms) & set(blocked.vms)
            and (movers.issuperset(vms) or (others and movers.isdisjoint(vms)))
        ]
        items.sort(key=lambda vms: (sum(self.sizes[vm][self.memory] for vm in vms), vms[0]))
        for item in items:
            found = self._tried(blocked, [item])
            if found:
                return found
        return self._tried(blocked, items[::-1])

    def _tried(self, blocked: _Bundle, items: list[list[int]]) -> list[_Bundle]:
        """Return temporary moves of items, one by one, until a bundle has room, or an empty list. Changes nothing."""
        parkings: list[_Bundle] = []
        try:
            for vms in items:
                host = self._roomiest(vms, blocked)
                if host is None:
                    continue
                parkings.append(_Bundle(list(vms), blocked.target, host, temporary=True))
                for vm in vms:
                    self._add(vm, host, 1)
                    self._add(vm, blocked.target, -1)
                if self._has_room(blocked.vms, blocked.target):
                    return parkings
        finally:
            for each in parkings:
                for vm in each.vms:
                    self._add(vm, each.target, -1)
                    self._add(vm, each.source, 1)
        return []

    def _roomiest(self, vms: Sequence[int], blocked: _Bundle) -> int | None:
        """Return the host with the most room for a temporary move of VMs."""
        allowed = np.logical_and.reduce([self.problem.allowed[vm] for vm in vms])
        best: tuple[float, int] | None = None
        for host in np.flatnonzero(allowed).tolist():
            if host == blocked.target or not self._has_room(vms, host):
                continue
            taken = [
                (load + sum(self.sizes[vm][resource] for vm in vms)) / room if room else 0.0
                for resource, (load, room) in enumerate(zip(self.loads[host], self.rooms[host], strict=True))
            ]
            if best is None or (max(taken), host) < best:
                best = max(taken), host
        return None if best is None else best[1]


def _told(run: _Run, migrations: Migrations, before: Ints, why: str, first_step: int) -> Order:
    """Return a run as an order of documents."""
    problem = run.problem
    reasons = _Reasons(problem, run.units, before)
    moves: list[Move] = []
    listed: list[Step] = []
    endless: list[str] = []
    for number, (done, (fullest, full_pct)) in enumerate(zip(run.steps, run.fullest, strict=True), first_step):
        seconds = migrations.seconds([(move.vm, move.source, move.target) for move in done])
        for move, took in zip(done, seconds, strict=True):
            name = problem.vms[move.vm].name
            if took is None:
                endless.append(name)
            moves.append(
                {
                    "vm": name,
                    "from": None if move.source == NOWHERE else problem.hosts[move.source].name,
                    "to": problem.hosts[move.target].name,
                    "step": number,
                    "seconds": took,
                    "temporary": move.temporary,
                    "why": move.why or why or reasons.of(move.vm),
                }
            )
        known = [took for took in seconds if took is not None]
        listed.append(
            {
                "step": number,
                "moves": len(done),
                "seconds": max(known) if len(known) == len(seconds) else None,
                "peak_host": problem.hosts[fullest].name,
                "peak_pct": full_pct,
            }
        )
    knot = tuple(problem.vms[vm].name for bundle in run.pending for vm in bundle.vms)
    return Order(moves, listed, run.place, knot, _notes(problem, endless))


def _notes(problem: Problem, endless: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if endless:
        names = ", ".join(dict.fromkeys(endless))
        notes.append(
            f"Live migration of {names} never ends: memory changes faster than it is sent, or it reaches a timeout. "
            "Set auto-converge or post-copy, or move at low load."
        )
    if "cpu" not in problem.resources:
        notes.append("Assumed for the times of moves: all vCPUs are busy, because CPU demand is unknown.")
    return tuple(notes)


class _Reasons:
    """Reasons for the moves of VMs."""

    def __init__(self, problem: Problem, units: Units, before: Ints) -> None:
        self.problem, self.units, self.before = problem, units, before
        self.parts = part(problem.loads(before), problem.rooms)
        self.rules = {vm: rule.name for rule in reversed(problem.rules) if not holds(rule, before) for vm in rule.vms}

    def of(self, vm: int) -> str:
        host = int(self.before[vm])
        if host == NOWHERE:
            return "new VM"
        name = self.problem.hosts[host].name
        if not self.problem.fits[vm, host]:
            return f"cannot stay on {name}"
        if vm in self.rules:
            return f"rule {self.rules[vm]}"
        fullest = int(np.argmax(self.parts[host]))
        if self.parts[host, fullest] > 1 + SLACK:
            resource = self.problem.resources[fullest]
            return f"{name} exceeds its {words.resource(resource)} limit"
        together = self.units.vms[self.units.of_vm[vm]]
        others = [int(other) for other in together if other != vm and self.before[other] != NOWHERE]
        if any(other in self.rules or not self.problem.fits[other, self.before[other]] for other in others):
            return f"affinity to {self.problem.vms[others[0]].name}"
        return f"headroom on {name}"
