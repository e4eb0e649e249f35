"""Duration of moves: the migration model in time, with links shared by the moves of one step.

All moves of a step start together. Each sends at most as fast as its host allows. Moves share links by max-min
fairness, and a move that ends leaves its share to the others. If a VM writes faster than it is sent, its host slows it
down:

- ESXi slows a VM after a pass during which it wrote more than half of what was sent, to half the send rate;
- QEMU with auto-converge takes 20 % of its time after two passes that wrote more than half, then 10 % more each time;
- QEMU before 5.0 does the same after three such passes;
- QEMU with post-copy resumes the VM on the target after the first pass;
- otherwise the migration never ends.

The model is that of `crates/models/src/migration`, for VMs with a steady CPU demand. The write rate of a VM follows
from this demand.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from hypertwin import _core
from hypertwin.plan.capacity.demand import own_cpu
from hypertwin.plan.placement.problem import NOWHERE, Problem
from hypertwin.scenario import Scenario

Transfer = tuple[int, int, int]
"""Position of a VM, of the host that the VM leaves (NOWHERE for a new VM), and of its target host."""

SLOWED_WRITES = 0.5
"""Write rate of a VM slowed by ESXi, as a fraction of the send rate."""
HIGH_WRITES = 0.5
"""Ratio of written to sent data that counts as high for QEMU's auto-converge."""
HIGH_PASSES: Mapping[str, int] = {"auto-converge": 2, "auto-converge-4": 3}
"""High passes until QEMU acts: in a row from 5.0, and otherwise before."""
LEAST_SPEED: Mapping[str, float] = {
    "nothing": 1.0,
    "slow-down": 0.0,
    "post-copy": 0.0,
    "auto-converge": 0.01,
    "auto-converge-4": 0.01,
}
"""Least fraction of their time that each convergence leaves to vCPUs of a VM that is sent."""
MOST_PASSES = 10_000
TICK_S, ROUNDING = 1e-9, 1e-12

Stage = Literal["waiting", "passes", "last copy"]
"""Sends nothing; sends while the VM writes; sends the rest."""


@dataclass(frozen=True)
class Migrations:
    """Migration settings of hosts, and the data to send for each VM."""

    problem: Problem
    scenario: Scenario

    @cached_property
    def _facts(self) -> Mapping[str, Any]:
        found: dict[str, Any] = json.loads(_core.migration_facts(self.scenario.json))
        return found

    @cached_property
    def concurrent(self) -> list[int]:
        """Maximum number of concurrent migrations of each host, incoming and outgoing."""
        return [self._host(host)["concurrent"] for host in range(len(self.problem.hosts))]

    def seconds(self, transfers: Sequence[Transfer]) -> list[float | None]:
        """Return the duration of each transfer of one step, or None if the transfer does not end.

        The duration is 0 for a new VM.
        """
        found: list[float | None] = [0.0 if source == NOWHERE else None for _, source, _ in transfers]
        under_way = {
            number: self._migration(*transfer) for number, transfer in enumerate(transfers) if transfer[1] != NOWHERE
        }
        now, shared = 0.0, list[_Migration]()
        while under_way:
            sending = [each for each in under_way.values() if each.stage != "waiting"]
            if sending != shared:
                _share_links(sending)
                shared = sending
            if all(each.never_ends for each in under_way.values()):
                break
            took = min(min(each.left / each.rate, each.deadline_s - now) for each in under_way.values())
            now += took
            for number, each in list(under_way.items()):
                each.left -= each.rate * took
                if now >= each.deadline_s:
                    del under_way[number]
                elif each.left <= each.rate * TICK_S and (arrives := each.goes_on(now)) is not None:
                    found[number] = now if arrives else None
                    del under_way[number]
        return found

    def _migration(self, vm: int, source: int, target: int) -> _Migration:
        of, what = self._host(source), self._facts["vms"][self.problem.vms[vm].group]
        said = self.scenario.data["hosts"][self.problem.hosts[source].group].get("migration") or {}
        return _Migration(
            of,
            what,
            float(self.problem.vms[vm].vcpus),
            self._cpu_seconds(vm, source),
            throttles=(said.get("throttle_initial_pct", 20) / 100, said.get("throttle_step_pct", 10) / 100),
            links={(source, "out"): of["link"], (target, "in"): self._host(target)["link"]},
        )

    def _host(self, host: int) -> Mapping[str, Any]:
        facts: Mapping[str, Any] = self._facts["hosts"][self.problem.hosts[host].group]
        return facts

    def _cpu_seconds(self, vm: int, source: int) -> float:
        """Return the CPU seconds that a VM uses per second.

        If unknown, all vCPUs are assumed, so that no duration is too short.
        """
        vcpus = float(self.problem.vms[vm].vcpus)
        if "cpu" not in self.problem.resources:
            return vcpus
        mhz, host = self.problem.sizes[vm, self.problem.resources.index("cpu")], self.problem.hosts[source]
        own = self._own_cpu[self.problem.hosts[self.problem.at[vm]].name]
        return min(vcpus, float(mhz) / (1 + own) * 1e6 / (host.clock_hz * host.work_per_cycle))

    @cached_property
    def _own_cpu(self) -> Mapping[str, float]:
        """CPU of the hypervisor per CPU of its VMs, by host."""
        return own_cpu(self.scenario, self.problem.hosts)


@dataclass(eq=False)
class _Migration:
    """A live migration under way."""

    of: Mapping[str, Any]
    """Settings of the source host."""
    what: Mapping[str, Any]
    """Memory of the VM."""
    vcpus: float
    cpu_s: float
    """CPU seconds that the VM uses per second."""
    throttles: tuple[float, float]
    """First and further throttle of auto-converge, as fractions of the VM's time."""
    links: Mapping[tuple[int, str], float]
    """Capacity of the links of both hosts, in the direction of the migration."""
    stage: Stage = "waiting"
    left: float = 0.0
    """Bytes to send in this stage, or seconds to wait."""
    rate: float = 1.0
    """Bytes sent per second, or 1."""
    high: int = 0
    """Passes that count for auto-converge."""
    speed: float = 1.0
    """Fraction of their time that the VM's vCPUs get."""
    deadline_s: float = field(init=False)
    """Time at which it is given up. None is, once the VM stands still for the last copy."""
    stages: Generator[tuple[Stage, float], float, bool] = field(init=False)

    def __post_init__(self) -> None:
        """Start."""
        timeout_s = self.of["timeout_s"]
        self.deadline_s = math.inf if timeout_s is None else timeout_s
        self.stages = self._stages()
        self.stage, self.left = next(self.stages)

    def goes_on(self, now: float) -> bool | None:
        """Begin the next stage. After the last stage, return true if the VM is on its target."""
        try:
            self.stage, self.left = self.stages.send(now)
        except StopIteration as end:
            return bool(end.value)
        if self.stage == "waiting":
            self.rate = 1.0
        return None

    @property
    def never_ends(self) -> bool:
        """True if the VM writes at least as fast as it is sent at the current rate, and nothing changes this."""
        is_too_fast = self._written_per_s(LEAST_SPEED[self.of["convergence"]]) >= self.rate
        is_too_much = self.what["written_set_bytes"] > self.rate * self.of["downtime_s"]
        return self.stage == "passes" and self.of["timeout_s"] is None and is_too_fast and is_too_much

    def _stages(self) -> Generator[tuple[Stage, float], float, bool]:
        """Yield each stage with its bytes or seconds, receive the time of its end, and return true on arrival."""
        began = yield "waiting", self.of["setup_s"]
        yield "waiting", self.what["zero_bytes"] * self.of["zero_s_per_byte"]
        volume = self.what["memory_bytes"]
        for _ in range(MOST_PASSES):
            now = yield "passes", volume
            all_written = self._written_per_s(self.speed) * (now - began)
            written = min(all_written, self.what["written_set_bytes"])
            stops = written <= self.rate * self.of["downtime_s"]
            if stops or self.of["convergence"] == "post-copy":
                self.deadline_s = math.inf
                if not stops:
                    yield "waiting", self.of["resume_s"]
                yield "last copy", written
                if stops:
                    yield "waiting", self.of["resume_s"]
                return True
            self._slow_down(volume, all_written, written)
            began, volume = now, written
        return False

    def _written_per_s(self, speed: float) -> float:
        """Return the bytes that the VM writes per second. Slowed less than to its demand, it writes as before."""
        return float(self.what["dirty_per_cpu_s"]) * min(self.cpu_s, speed * self.vcpus)

    def _slow_down(self, sent: float, all_written: float, written: float) -> None:
        """Slow a VM that wrote too much during a pass: `all_written` bytes, to `written` bytes of memory."""
        convergence = self.of["convergence"]
        if convergence == "slow-down" and all_written > SLOWED_WRITES * sent:
            self.speed *= SLOWED_WRITES * sent / all_written
        if convergence not in HIGH_PASSES:
            return
        if written > HIGH_WRITES * sent:
            self.high += 1
        elif convergence == "auto-converge":
            self.high = 0
        if self.high == HIGH_PASSES[convergence]:
            first, further = self.throttles
            self.high = 0
            self.speed = max(LEAST_SPEED[convergence], self.speed - further if self.speed < 1 else 1 - first)


def _share_links(sending: Sequence[_Migration]) -> None:
    """Set max-min fair rates: all grow alike, until their host allows no more or a link is full."""
    free = {link: capacity for each in sending for link, capacity in each.links.items()}
    full = {link: capacity * ROUNDING for link, capacity in free.items()}
    growing, rate = list(sending), 0.0
    while growing:
        users = Counter(link for each in growing for link in each.links)
        more = min(
            *(each.of["most"] - rate for each in growing),
            *(free[link] / many for link, many in users.items()),
        )
        rate += more
        for link, many in users.items():
            free[link] -= more * many
        for each in growing:
            each.rate = rate
        growing = [
            each
            for each in growing
            if rate < each.of["most"] * (1 - ROUNDING) and all(free[link] > full[link] for link in each.links)
        ]
