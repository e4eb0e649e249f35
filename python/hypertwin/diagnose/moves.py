"""Which machine should go where when a host is too full.

Placement rules of the cluster file, and memory and width of its hosts, are kept: no move is proposed that breaks one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hypertwin.diagnose.subjects import Case, Machine, Server

MOST_MOVES = 24
"""Machines that are moved in one change."""
TARGETS = 4
"""Hosts, the emptiest, that are looked at for each move."""
MOST_TARGETS = 3
"""Hosts that machines are moved to in one change."""
FULL_PCT = 80.0
"""Usage down to which several machines are moved away, and up to which other hosts are filled with them: the rule of
planning for peaks at 80 %."""

Move = tuple[Machine, Server]
"""A machine, and the host where it goes to."""


class Loads:
    """How full hosts are, and what machines ask for: in cores where hosts were measured, else in vCPUs."""

    def __init__(self, case: Case) -> None:
        """Of the hosts and machines that are in the cluster file."""
        self.case = case
        self.by_key = {each.key: each for each in case.machines if each.key}
        self.servers = [each for each in case.servers if each.key]
        usage = {
            each.key or "": stat for each in self.servers if (stat := case.evidence.stat(each.entity, "usage_pct"))
        }
        measured = len(usage) > 1
        if measured:
            # nobody knows how full the others are
            self.servers = [each for each in self.servers if each.key in usage]
        placed = [machine for each in self.servers for machine in case.placed.get(each.key or "", [])]
        shares = {each.key: busy.stat.mean / 100 for each in placed if measured and (busy := case.busy(each))}
        usual = sum(shares.values()) / len(shares) if shares else 1.0
        self.work = {each.key or "": (each.vcpus or 0) * shares.get(each.key, usual) for each in placed}
        self.full: dict[str, float] = {}
        self.most = FULL_PCT if measured else float("inf")
        """How full a host may become by several moves; of vCPUs per core nobody knows how many are too many."""
        for server in self.servers:
            key = server.key or ""
            asked = 100 * sum(self.work[each.key or ""] for each in case.placed.get(key, [])) / (server.cores or 1)
            # a full host uses no more than it has, whatever its machines ask for
            self.full[key] = max(asked, usage[key].mean) if measured else asked

    def moves(self, server: Server) -> list[list[Move]]:
        """The best single moves away from a host, of machines of different sizes, and the moves that relieve it."""
        here = self.case.placed.get(server.key or "", [])
        if server.key not in self.full or len([each for each in here if each.vcpus and not each.appliance]) < 2:
            return []
        first = self._best(server, self.full)
        if first is None:
            return []
        sizes = (first[0].vcpus,)
        second = self._best(server, self.full, other_than=sizes)
        found = [[each] for each in (first, second) if each]
        full, moved = dict(self.full), list[Move]()
        while len(moved) < MOST_MOVES and full[server.key or ""] > FULL_PCT:
            there = {machine.key or "": target.key or "" for machine, target in moved}
            best = self._best(server, full, there, most=self.most)
            if best is None:
                break
            moved.append(best)
            self._shift(full, server, *best)
        if len(moved) > 1:
            found.append(moved)
        return found

    def move_of(self, machine: Machine, server: Server, targets: list[Server] | None = None) -> Move | None:
        """The move of one machine to the emptiest host that may take it."""
        fitting = [each for each in self.servers if each is not server and (targets is None or each in targets)]
        fitting = [each for each in fitting if self._allowed(machine, each, {})]
        if not fitting:
            return None
        best = min(fitting, key=lambda each: (round(self._after(each, machine, self.full), 6), each.name))
        return machine, best

    def half_of(self, server: Server) -> list[Machine]:
        """Machines that ask for half of what is asked of a host, the largest first, as far as rules let them go."""
        here = self.case.placed.get(server.key or "", [])
        whole = sum(self.work.get(each.key or "", 0.0) for each in here)
        gone: list[Machine] = []
        for machine in sorted(here, key=lambda each: (-self.work.get(each.key or "", 0.0), each.name)):
            work = self.work.get(machine.key or "", 0.0)
            there = frozenset(each.key or "" for each in gone)
            fits = sum(self.work.get(each, 0.0) for each in there) + work <= whole / 2
            if (
                fits
                and not machine.appliance
                and all(rule.allows(machine.key or "", "", there) for rule in self.case.rules)
            ):
                gone.append(machine)
        return gone

    def _best(
        self,
        server: Server,
        full: Mapping[str, float],
        moved: Mapping[str, str] = MappingProxyType({}),
        other_than: tuple[int | None, ...] = (),
        most: float = float("inf"),
    ) -> Move | None:
        """The move that leaves the fuller of both hosts the least full, if any makes it less full than now."""
        key, cores = server.key or "", server.cores or 1
        emptiest = sorted(
            (each for each in self.servers if each is not server), key=lambda each: (full[each.key or ""], each.name)
        )
        if len(set(moved.values())) == MOST_TARGETS:
            emptiest = [each for each in emptiest if each.key in moved.values()]
        options = []
        for machine in self.case.placed.get(key, []):
            name = machine.key or ""
            if not machine.vcpus or machine.appliance or name in moved or machine.vcpus in other_than:
                continue
            allowed = (each for each in emptiest if self._allowed(machine, each, moved))
            for target, _ in zip(allowed, range(TARGETS), strict=False):
                left = full[key] - 100 * self.work[name] / cores
                there = self._after(target, machine, full)
                after = max(left, there)
                if after < full[key] and there <= most:
                    options.append(
                        (round(after / full[key], 6), -machine.vcpus, machine.name, target.name, machine, target)
                    )
        if not options:
            return None
        *_, machine, target = min(options, key=lambda option: option[:4])
        return machine, target

    def _after(self, target: Server, machine: Machine, full: Mapping[str, float]) -> float:
        return full[target.key or ""] + 100 * self.work[machine.key or ""] / (target.cores or 1)

    def _shift(self, full: dict[str, float], server: Server, machine: Machine, target: Server) -> None:
        full[target.key or ""] = self._after(target, machine, full)
        full[server.key or ""] -= 100 * self.work[machine.key or ""] / (server.cores or 1)

    def _allowed(self, machine: Machine, target: Server, moved: Mapping[str, str]) -> bool:
        """Whether a machine may and can be on a host: width, memory, placement rules."""
        there = [each for each in self.case.placed.get(target.key or "", []) if each.key not in moved]
        there += [self.by_key[name] for name, host in moved.items() if host == target.key]
        used = sum(each.memory_bytes or 0 for each in there)
        if (machine.vcpus or 0) > (target.threads or 0) or used + (machine.memory_bytes or 0) > (
            target.memory_bytes or 0
        ):
            return False
        keys = frozenset(each.key or "" for each in there)
        return all(rule.allows(machine.key or "", target.key or "", keys) for rule in self.case.rules)
