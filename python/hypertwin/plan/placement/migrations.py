"""Duration of moves: the migration model with links shared by the moves of one step.

The rate of a move is limited by its host, and by an equal share of both links among the moves of the step. If a VM
writes faster than that, its host slows it down:

- ESXi slows a VM after a pass that wrote as much as was sent, until it writes at half the send rate;
- QEMU with auto-converge takes 20 % of its time after two passes that wrote more than half, then 10 % more each time;
- QEMU before 5.0 does the same after three such passes;
- QEMU with post-copy resumes the VM on the target after the first pass;
- otherwise the migration never ends.

The model is that of `crates/models/src/migration`, at a steady rate. The write rate of a VM follows from its CPU
demand.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hypertwin import _core
from hypertwin.plan.placement.problem import NOWHERE, Problem
from hypertwin.scenario import Scenario

Transfer = tuple[int, int, int]
"""Position of a VM, of the host that the VM leaves (NOWHERE for a new VM), and of its target host."""

SLOWED_WRITES = 0.5
"""Write rate of a VM slowed by ESXi, as a fraction of the send rate."""
HIGH_WRITES, MAX_THROTTLE = 0.5, 0.99
"""Parameters of QEMU's auto-converge: ratio of written to sent data that counts as high, and maximum throttle."""
HIGH_PASSES: Mapping[str, int] = {"auto-converge": 2, "auto-converge-4": 3}
"""High passes until QEMU acts: in a row from 5.0, and otherwise before."""
MOST_PASSES = 10_000


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
        """Return the duration of each transfer of one step, or None if the step does not end.

        The duration is 0 for a new VM.
        """
        sending = Counter(source for _, source, _ in transfers if source != NOWHERE)
        receiving = Counter(target for _, source, target in transfers if source != NOWHERE)
        found: list[float | None] = []
        for vm, source, target in transfers:
            if source == NOWHERE:
                found.append(0.0)
                continue
            of, to = self._host(source), self._host(target)
            rate = min(of["most"], of["link"] / sending[source], to["link"] / receiving[target])
            found.append(self._seconds(vm, source, rate))
        return found

    def _host(self, host: int) -> Mapping[str, Any]:
        facts: Mapping[str, Any] = self._facts["hosts"][self.problem.hosts[host].group]
        return facts

    def _seconds(self, vm: int, source: int, rate: float) -> float | None:
        of, what = self._host(source), self._facts["vms"][self.problem.vms[vm].group]
        memory, written_set = what["memory_bytes"], what["written_set_bytes"]
        dirty = what["dirty_per_cpu_s"] * self._cpu_seconds(vm, source)
        scan_s = what["zero_bytes"] * of["zero_s_per_byte"]
        passes = _core.migration_forecast(memory, scan_s, rate, dirty, written_set, of["downtime_s"])
        sending = None if passes is None else passes[0] + passes[1]
        if sending is None and (slowed := self._slowed(source, memory, rate, dirty, written_set)) is not None:
            sending = scan_s + slowed
        if sending is None or (of["timeout_s"] is not None and sending > of["timeout_s"]):
            return None
        return float(of["setup_s"] + sending + of["resume_s"])

    def _cpu_seconds(self, vm: int, source: int) -> float:
        """Return the CPU seconds that a VM uses per second.

        If unknown, all vCPUs are assumed, so that no duration is too short.
        """
        vcpus = float(self.problem.vms[vm].vcpus)
        if "cpu" not in self.problem.resources:
            return vcpus
        mhz = self.problem.sizes[vm, self.problem.resources.index("cpu")]
        return min(vcpus, float(mhz) * 1e6 / self.problem.hosts[source].clock_hz)

    def _slowed(self, source: int, memory: float, rate: float, dirty: float, written_set: float) -> float | None:
        """Return the seconds to send a VM that does not converge by itself, or None if the transfer never ends."""
        of = self._host(source)
        if of["convergence"] == "slow-down":
            # passes of the whole written set until what is written while one is sent exceeds it: then it is slowed
            seconds, volume = memory / rate, min(dirty * memory / rate, written_set)
            if volume < memory:
                seconds, volume = seconds + volume / rate, min(dirty * volume / rate, written_set)
            rest = _core.migration_forecast(volume, 0.0, rate, SLOWED_WRITES * rate, written_set, of["downtime_s"])
            return None if rest is None else seconds + rest[0] + rest[1]
        if of["convergence"] == "post-copy":
            # what the first pass left is sent once more while the VM runs elsewhere
            return memory / rate + min(dirty * memory / rate, written_set) / rate
        if of["convergence"] in HIGH_PASSES:
            return self._throttled(source, memory, rate, dirty, written_set)
        return None

    def _throttled(self, source: int, memory: float, rate: float, dirty: float, written_set: float) -> float | None:
        of = self._host(source)
        said = self.scenario.data["hosts"][self.problem.hosts[source].group].get("migration") or {}
        first, further = said.get("throttle_initial_pct", 20) / 100, said.get("throttle_step_pct", 10) / 100
        seconds, volume, high, throttle = 0.0, memory, 0, 0.0
        for _ in range(MOST_PASSES):
            took = volume / rate
            written = min(dirty * (1 - throttle) * took, written_set)
            seconds += took
            if written <= rate * of["downtime_s"]:
                return seconds + written / rate
            if written > HIGH_WRITES * volume:
                high += 1
            elif of["convergence"] == "auto-converge":
                high = 0
            if high == HIGH_PASSES[of["convergence"]]:
                high, throttle = 0, min(MAX_THROTTLE, throttle + further if throttle else first)
            volume = written
        return None
