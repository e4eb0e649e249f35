"""Restart of the VMs of failed hosts: search for a packing, or for a proof that none exists.

Running VMs stay where they are. VMs of the failed hosts, the largest first, go to hosts with free capacity within the
limits after a failure. One method picks the host with the most room left, which uses resources evenly and fills no
host. The other picks the host with the least room left, which keeps large gaps. Many failures are tried at once, as
rows of one array. If a VM is left over, an integer programme decides (HiGHS, bounded in nodes). It restarts as many VMs
as possible of each priority, the highest first.

Should rules are kept if all VMs can restart with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hypertwin.metrics import words
from hypertwin.plan.placement import restart_exact
from hypertwin.plan.placement.lacking import Shortage, not_restarted, shortage
from hypertwin.plan.placement.problem import NOWHERE, PRIORITIES, SLACK, Bools, Floats, Ints, Problem, Rule, holds
from hypertwin.plan.placement.ruled import Ruled

MOST_CELLS = 2_000_000
"""Maximum number of cells (failures x hosts) to try at once. More cells take several rounds."""

Fit = Literal["best", "worst"]


@dataclass(frozen=True)
class Outcome:
    """Outcome of a failure for the VMs of the failed hosts."""

    failed: tuple[int, ...]
    placed: Mapping[int, int]
    """Target host of each VM that restarts."""
    cannot_restart: tuple[tuple[int, Shortage], ...]
    """VMs that cannot restart, with the smallest shortage of each."""
    not_restarted: tuple[tuple[int, str], ...]
    """VMs that do not restart by design, with the reason."""
    proven: bool
    """True if it is proven that no restart places more VMs, higher priorities first."""
    wishes: tuple[str, ...]
    """Should rules that the restarts violate."""
    place: Ints
    """Hosts of VMs after restarts, or NOWHERE for VMs that are down."""

    @property
    def verb(self) -> str:
        """Verb for the VMs without a host: `cannot restart`, or `cannot restart within limits`."""
        return words.cannot_restart(short.within_limits for _, short in self.cannot_restart)


class Restarts:
    """Search for restarts of the VMs of a problem. The object has no placement and can be used for all placements."""

    def __init__(self, problem: Problem) -> None:
        """Use the limits after a failure and the must rules of a problem."""
        self.problem = problem
        self.must = Ruled(problem, problem.rules_after_failure)
        """Rules that must hold after a failure."""
        wishes = [rule for rule in problem.rules if not rule.mandatory]
        self._all = Ruled(problem, [*self.must.rules, *wishes]) if wishes else None
        rooms = problem.failover
        most = rooms.max(axis=0, initial=0.0)
        parts = problem.sizes / np.where(most > 0, most, 1.0)
        self._by_size = _ranks(-parts.max(axis=1, initial=0.0), -parts.sum(axis=1))
        self._priority = np.array([PRIORITIES.index(vm.restart_priority) for vm in problem.vms], np.int64)
        self._by_priority = _ranks(self._priority.astype(float), self._by_size.astype(float))
        self._slack = SLACK * np.maximum(rooms, 1.0)
        self._scale = 1.0 / np.where(rooms > 0, rooms, 1.0)

    def after(self, place: Ints, failed: Sequence[int], *, exact: bool = True) -> Outcome:
        """Return the hosts of VMs after hosts have failed together.

        Without `exact`, no integer programme is solved, so fewer VMs might restart than possible.
        """
        one = tuple(sorted(failed))
        waits = self._waits(place, one)
        if not len(waits):
            return self._outcome(place, one, {}, proven=True)
        already = self._wishes_of(self._left(place, one, {}))
        best: dict[int, int] = {}
        reached: tuple[tuple[int, ...], int] | None = None
        for trial in self._trials():
            found = trial.place(self, place, [one])[0]
            broken = len(self._wishes_of(self._left(place, one, found)) - already)
            score = (self._counts(found), -broken)
            if reached is None or score > reached:
                best, reached = found, score
            if len(found) == len(waits) and not broken:
                break
        if len(best) == len(waits):
            return self._outcome(place, one, best, proven=True)
        best = self._filled(place, one, best, waits)
        proven = len(best) == len(waits) or not self._more_possible(place, one, waits, best)
        if exact and not proven:
            best, proven = self._exact(place, one, waits, best)
        return self._outcome(place, one, best, proven=proven)

    def all(self, place: Ints, failures: Sequence[tuple[int, ...]], *, exact: bool = True) -> list[Outcome]:
        """Return the outcome of `after` for each failure. Simple ones are calculated together."""
        first = next(self._trials())
        found: list[Outcome] = []
        for part in self._rounds(range(len(failures))):
            those = [tuple(sorted(failures[each])) for each in part]
            for failed, placed in zip(those, first.place(self, place, those), strict=True):
                outcome = self._outcome(place, failed, placed, proven=True)
                easy = not outcome.cannot_restart and not outcome.wishes
                found.append(outcome if easy else self.after(place, failed, exact=exact))
        return found

    def first_unsafe(self, place: Ints, failures: Sequence[tuple[int, ...]], *, exact: bool = True) -> Outcome | None:
        """Return the first failure after which a VM cannot restart, or None if the placement tolerates all failures.

        Without `exact`, no integer programme is solved, so some safe placements count as unsafe.

        `proven` of the failure is false if a packing was neither found nor ruled out. It is also false if a packing
        is ruled out without a count of the VMs that can be placed.
        """
        unsure = list(range(len(failures)))
        for fit in ("best", "worst"):
            trial = Trial(self.must, None, fit, self._by_size)
            still = []
            for part in self._rounds(unsure):
                done = trial.complete(self, place, [failures[each] for each in part])
                still += [each for each, safe in zip(part, done, strict=True) if not safe]
            unsure = still
        for each in unsure:
            outcome = self.after(place, failures[each], exact=exact and not self._is_lost(place, failures[each]))
            if outcome.cannot_restart:
                return outcome
        return None

    def free(self, place: Ints, failed: Iterable[int] = ()) -> Floats:
        """Return the free capacity for restarts, per host and resource.

        The tolerance of sums is included. The capacity of failed hosts is -inf.
        """
        found = self.problem.failover - self.problem.loads(place) + self._slack
        found[list(failed)] = -np.inf
        return found

    def _trials(self) -> Iterator[Trial]:
        """Yield the methods of restarting, from those that keep all should rules to those that ignore them."""
        wishes = self._all
        orders = [self._by_size]
        if len(set(self._priority.tolist())) > 1:
            orders.insert(0, self._by_priority)
        ways: list[tuple[Ruled, Ruled | None]] = [(self.must, None)]
        if wishes is not None:
            ways = [(wishes, None), (self.must, wishes), *ways]
        for ruled, preferred in ways:
            for order in orders:
                yield Trial(ruled, preferred, "worst", order)
                yield Trial(ruled, preferred, "best", order)

    def _rounds(self, numbers: Sequence[int]) -> Iterator[Sequence[int]]:
        """Yield the failures in batches that are tried at once."""
        many = max(1, MOST_CELLS // max(1, len(self.problem.hosts)))
        for start in range(0, len(numbers), many):
            yield numbers[start : start + many]

    def _waits(self, place: Ints, failed: Sequence[int]) -> Ints:
        """Return the VMs of failed hosts that restart."""
        found: Ints = np.flatnonzero(np.isin(place, failed) & (place != NOWHERE) & self.problem.restarts)
        return found

    def _is_lost(self, place: Ints, failed: Sequence[int]) -> bool:
        """True if the waiting VMs cannot all be placed, by a quick check of their sum and of each VM."""
        waits = self._waits(place, failed)
        free = self.free(place, failed)
        usable = (free >= 0).all(axis=1)
        room = free[usable].sum(axis=0)
        if (self.problem.sizes[waits].sum(axis=0) > room).any():
            return True
        alone = (free[None, :, :] >= self.problem.sizes[waits][:, None, :]).all(axis=2)
        return bool((~(alone & self.must.allowed[waits]).any(axis=1)).any())

    def _more_possible(self, place: Ints, failed: Sequence[int], waits: Ints, found: Mapping[int, int]) -> bool:
        """True if more VMs could be placed, by volume and by each VM alone. False is a proof."""
        if len(set(self._priority[waits].tolist())) > 1:
            return True
        free = self.free(place, failed)
        alone = (free[None, :, :] >= self.problem.sizes[waits][:, None, :]).all(axis=2) & self.must.allowed[waits]
        can = waits[alone.any(axis=1)]
        room = free[(free >= 0).all(axis=1)].sum(axis=0)
        sums = np.cumsum(np.sort(self.problem.sizes[can], axis=0), axis=0)
        most = int((sums <= room).all(axis=1).sum()) if len(can) else 0
        return len(found) < most

    def _exact(
        self, place: Ints, failed: tuple[int, ...], waits: Ints, found: dict[int, int]
    ) -> tuple[dict[int, int], bool]:
        """Return the most VMs that can restart by an integer programme, and whether that is proven."""
        free = self.free(place, failed)
        best, proven = restart_exact.most(
            self.problem, self.must, free, self._left(place, failed, {}), waits, self._priority
        )
        best = self._filled(place, failed, best, waits)
        if self._counts(best) < self._counts(found):
            return found, False
        return best, proven

    def _filled(self, place: Ints, failed: tuple[int, ...], found: Mapping[int, int], waits: Ints) -> dict[int, int]:
        """Return the packing found, with remaining VMs added one by one where they fit."""
        now, filled = self._left(place, failed, found), dict(found)
        free = self.free(now, failed)
        left = sorted((vm for vm in waits.tolist() if vm not in found), key=lambda vm: self._by_priority[vm])
        for vm in left:
            open_ = self.must.open_to(vm, now, failed) & (free >= self.problem.sizes[vm]).all(axis=1)
            if open_.any():
                host = int(np.flatnonzero(open_)[0])
                filled[vm] = now[vm] = host
                free[host] -= self.problem.sizes[vm]
        return filled

    def _counts(self, found: Mapping[int, int]) -> tuple[int, ...]:
        """Return the number of placed VMs per priority, the highest first."""
        counts = np.bincount(self._priority[list(found)], minlength=len(PRIORITIES)) if found else [0] * len(PRIORITIES)
        return tuple(int(each) for each in counts)

    def _left(self, place: Ints, failed: Iterable[int], found: Mapping[int, int]) -> Ints:
        """Return the hosts of VMs without failed hosts, including placed VMs."""
        now = place.copy()
        now[np.isin(place, list(failed))] = NOWHERE
        for vm, host in found.items():
            now[vm] = host
        return now

    def _wishes_of(self, now: Ints) -> set[str]:
        return {rule.name for rule in self.problem.rules if not rule.mandatory and not holds(rule, now)}

    def _outcome(self, place: Ints, failed: tuple[int, ...], found: Mapping[int, int], *, proven: bool) -> Outcome:
        now = self._left(place, failed, found)
        fell = np.flatnonzero(np.isin(place, failed) & (place != NOWHERE)).tolist()
        free = self.free(now, failed)
        broken = self._wishes_of(now)
        return Outcome(
            failed,
            dict(sorted(found.items())),
            tuple(
                (vm, shortage(self.problem, self.must, vm, now, failed, free))
                for vm in fell
                if self.problem.restarts[vm] and vm not in found
            ),
            tuple((vm, not_restarted(self.problem.vms[vm])) for vm in fell if not self.problem.restarts[vm]),
            proven,
            tuple(dict.fromkeys(rule.name for rule in self.problem.rules if rule.name in broken)),
            now,
        )


@dataclass(frozen=True)
class Trial:
    """Method of restarting: rules to keep, rules to prefer, choice of host, order of VMs."""

    ruled: Ruled
    preferred: Ruled | None
    fit: Fit
    order: Ints
    """Rank of each VM."""

    def complete(self, of: Restarts, place: Ints, failures: Sequence[tuple[int, ...]]) -> Bools:
        """Return an array that is true for each failure after which all VMs get a host."""
        jobs, hosts = self._run(of, place, failures)
        found: Bools = ((hosts != NOWHERE) | (jobs.matrix < 0)).all(axis=1)
        return found

    def place(self, of: Restarts, place: Ints, failures: Sequence[tuple[int, ...]]) -> list[dict[int, int]]:
        """Return the hosts that VMs get, per failure."""
        jobs, hosts = self._run(of, place, failures)
        return [
            {
                vm: host
                for job, host in zip(jobs.matrix[row].tolist(), hosts[row].tolist(), strict=True)
                if job >= 0 and host != NOWHERE
                for vm in jobs.vms(job)
            }
            for row in range(len(failures))
        ]

    def _run(self, of: Restarts, place: Ints, failures: Sequence[tuple[int, ...]]) -> tuple[_Jobs, Ints]:
        """Place the largest job of every failure, then the next job of every failure."""
        problem = of.problem
        jobs = _Jobs(self, problem, place, failures)
        base = of.free(place)
        free = [np.repeat(base[None, :, each], len(failures), axis=0) for each in range(base.shape[1])]
        for row, failed in enumerate(failures):
            for room in free:
                room[row, list(failed)] = -np.inf
        now: list[dict[int, int]] = [{} for _ in failures]
        """Hosts of placed VMs that are in rules, per failure."""
        hosts: Ints = np.full(jobs.matrix.shape, NOWHERE, np.int64)
        rows = np.arange(len(failures))
        for step in range(jobs.matrix.shape[1]):
            column = jobs.matrix[:, step]
            sizes: Floats = jobs.sizes[column]
            open_: Bools = jobs.allowed[column] & (column >= 0)[:, None]
            least = np.full(open_.shape, np.inf)
            for each, room in enumerate(free):
                rest = room - sizes[:, each, None]
                open_ &= rest >= 0
                np.minimum(least, rest * of._scale[None, :, each], out=least)
            tied = np.flatnonzero(jobs.special[column] & (column >= 0)).tolist()
            for row in tied:
                open_[row] &= self._ties(self.ruled, jobs, int(column[row]), now[row], place, failures[row])
            if self.preferred is not None:
                open_ = self._prefer(self.preferred, open_, jobs, column, now, place, failures)
            if self.fit == "best":
                chosen = np.where(open_, least, np.inf).argmin(axis=1)
            else:
                chosen = np.where(open_, least, -np.inf).argmax(axis=1)
            goes = open_[rows, chosen]
            at, to = rows[goes], chosen[goes]
            for each, room in enumerate(free):
                room[at, to] -= sizes[goes, each]
            hosts[at, step] = to
            for row in tied:
                if goes[row]:
                    now[row].update(dict.fromkeys(jobs.vms(int(column[row])), int(chosen[row])))
        return jobs, hosts

    def _ties(
        self, ruled: Ruled, jobs: _Jobs, job: int, now: Mapping[int, int], place: Ints, failed: tuple[int, ...]
    ) -> Bools:
        """Return an array that is true for each host where rules about other VMs allow a job."""
        open_: Bools = np.ones(jobs.allowed.shape[1], bool)
        vms = jobs.vms(job)
        for vm in vms:
            for rule in ruled.apart.get(vm, ()):
                if any(other in vms for other in rule.vms if other != vm):
                    open_[:] = False
                open_[_where(rule, vm, now, place, failed)] = False
            for rule in ruled.together.get(vm, ()):
                there = _where(rule, vm, now, place, failed)
                if there:
                    open_ &= np.isin(np.arange(len(open_)), there)
        return open_

    def _prefer(
        self,
        wishes: Ruled,
        open_: Bools,
        jobs: _Jobs,
        column: Ints,
        now: Sequence[Mapping[int, int]],
        place: Ints,
        failures: Sequence[tuple[int, ...]],
    ) -> Bools:
        """Return the open hosts that also satisfy should rules, if any."""
        better: Bools = open_.copy()
        for row, job in enumerate(column.tolist()):
            if job >= 0:
                for vm in jobs.vms(job):
                    better[row] &= wishes.allowed[vm]
                better[row] &= self._ties(wishes, jobs, job, now[row], place, failures[row])
        found: Bools = np.where(np.any(better, axis=1)[:, None], better, open_)
        return found


class _Jobs:
    """Items to place in each failure. An item is a single VM, or the VMs that rules keep together."""

    def __init__(self, trial: Trial, problem: Problem, place: Ints, failures: Sequence[tuple[int, ...]]) -> None:
        ruled, order = trial.ruled, trial.order
        self._first = len(problem.vms)
        self._groups: list[tuple[int, ...]] = []
        restarting: Ints = np.flatnonzero(problem.restarts & (place != NOWHERE))
        restarting = restarting[np.argsort(order[restarting], kind="stable")]
        by_host = restarting[np.argsort(place[restarting], kind="stable")]
        ends = np.searchsorted(place[by_host], np.arange(len(problem.hosts) + 1))
        rows = []
        for failed in failures:
            waits = np.concatenate([by_host[ends[host] : ends[host + 1]] for host in failed] or [by_host[:0]])
            if len(failed) > 1:
                waits = waits[np.argsort(order[waits], kind="stable")]
            rows.append(self._joined(ruled, waits))
        self.matrix: Ints = np.full((len(failures), max(map(len, rows), default=0)), -1, np.int64)
        """Jobs of each failure in order, padded with -1."""
        for number, row in enumerate(rows):
            self.matrix[number, : len(row)] = row
        several = [list(vms) for vms in self._groups]
        self.sizes: Floats = np.vstack([problem.sizes, *(problem.sizes[vms].sum(axis=0) for vms in several)])
        self.allowed: Bools = np.vstack([ruled.allowed, *(ruled.allowed[vms].all(axis=0) for vms in several)])
        tied: Bools = ruled.special
        if trial.preferred is not None:
            tied = tied | trial.preferred.special
        self.special: Bools = np.concatenate([tied, np.ones(len(several), bool)])
        """True for each job that rules tie to hosts of other VMs."""

    def vms(self, job: int) -> tuple[int, ...]:
        return (job,) if job < self._first else self._groups[job - self._first]

    def _joined(self, ruled: Ruled, waits: Ints) -> Ints:
        if not ruled.together:
            return waits
        row = []
        for vms in ruled.groups(waits.tolist()):
            if len(vms) == 1:
                row.append(vms[0])
            else:
                row.append(self._first + len(self._groups))
                self._groups.append(vms)
        return np.array(row, np.int64)


def _where(rule: Rule, vm: int, now: Mapping[int, int], place: Ints, failed: tuple[int, ...]) -> list[int]:
    """Return the hosts on which other VMs of a rule run or were restarted."""
    found = []
    for other in rule.vms:
        if other != vm:
            host = now.get(other, int(place[other]))
            if host != NOWHERE and host not in failed:
                found.append(host)
    return found


def _ranks(*keys: Floats) -> Ints:
    """Return the rank of each element by keys. The first key has priority. Equal elements stay in order."""
    order = np.lexsort(keys[::-1])
    found: Ints = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order))
    return found
