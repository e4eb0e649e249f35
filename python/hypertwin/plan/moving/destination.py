"""The target cluster as a document: hosts of all VMs, simulated figures before and after, and steps of reused hosts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hypertwin.documents import move as documents
from hypertwin.documents.refresh import TwinState
from hypertwin.errors import fail
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.moving import arrived, causes, rolling
from hypertwin.plan.moving.arrival import arrival, foreign_pools, reused_hosts, storage, target_hosts
from hypertwin.plan.moving.options import Move
from hypertwin.plan.placement.problem import Problem
from hypertwin.plan.refresh import judged, speed
from hypertwin.plan.refresh.described import present_cluster
from hypertwin.plan.refresh.fewest import Made
from hypertwin.plan.refresh.planning import Planner
from hypertwin.plan.refresh.present import Present
from hypertwin.plan.refresh.speed import work_per_cycle
from hypertwin.scenario import Scenario

LOAN = "loan"
"""Host group of hosts on loan."""


@dataclass(frozen=True)
class Destination:
    """Target of a move."""

    options: Move
    present: Present
    limits: Limits
    target: Scenario | None
    """Hosts and storage of the target, or None if the present hosts are reused."""
    blocked: Collection[str] = ()
    """VMs that a rule blocks. They count as VMs of the target, but stay while hosts are reused."""

    def document(self) -> documents.Arrival:
        """Return the target cluster. Raises ScenarioError."""
        own = storage(self.present.scenario)
        present = speed.of_present(self.present.hosts, self.present.reference)
        if self.target is not None:
            hosts, sections = target_hosts(self.target)
            theirs = speed.of_present(self.target.inventory.hosts, self.present.reference)
        else:
            foreign = foreign_pools(self.present.scenario)
            if foreign:
                hint = "describe hosts and storage of the target in a file, and give it with `target`"
                fail("one-of", "reuse_hosts", f"pool {foreign[0]} (vSAN)", "storage that the target has", hint)
            hosts, sections, theirs = reused_hosts(self.present), own, present
        cycles = work_per_cycle(present)
        found = arrived.arrive(
            self.present,
            arrival(self.present, hosts, sections, cycles, work_per_cycle(theirs)),
            self.limits,
            self.options.memory_demand,
            cycles,
        )
        planner = Planner(self.present, self.limits, self.options.memory_demand, present, None, lambda _: None)
        befores = [planner.as_is(self.present.scenario, state.cluster) for state in self.present.states]
        return self._arrived(found, befores, cycles)

    def _arrived(
        self, found: arrived.Arrived, befores: Sequence[Made], cycles: Mapping[str, float]
    ) -> documents.Arrival:
        document: documents.Arrival = {
            "hosts": len(found.made.problem.hosts),
            "feasible": found.place is not None,
            "reason": found.reason,
            "cluster": None,
            "dropped": list(found.arrival.dropped),
            "before": None,
            "after": None,
            "failure": None,
            "failed": [],
            "causes": [],
            "vms": [],
            "rolling": self._rolling(befores, cycles),
        }
        if found.place is None:
            return document
        document["cluster"] = present_cluster(found.made, place=found.place)
        if self.options.twin == "off":
            return document
        twin = arrived.simulated(
            self.present,
            befores,
            found,
            cycles,
            failing=self.options.twin == "failure",
            replications=self.options.replications,
            progress=self.options.progress,
        )
        count = len(self.present.vms)
        document["before"] = _state(twin.before, None, count)
        document["after"] = _state(twin.after, twin.before, count)
        document["failure"] = _state(twin.failure, twin.before, count) if twin.failure else None
        document["failed"] = list(twin.failed)
        document["vms"] = causes.changes(twin.before, twin.parts or [causes.Part("", twin.after)])
        document["causes"] = causes.causes(document["vms"], twin.parts)
        return document

    def _rolling(self, befores: Sequence[Made], cycles: Mapping[str, float]) -> list[documents.Rolling]:
        """Return the steps of reusing the hosts of each cluster, or nothing for other hosts."""
        if not self.options.reuse_hosts:
            return []
        pairs = zip(self.present.states, befores, strict=True)
        return [self._of_cluster(Present(self.present.scenario, (state,), 0.0), made, cycles) for state, made in pairs]

    def _of_cluster(self, present: Present, before: Made, cycles: Mapping[str, float]) -> documents.Rolling:
        """Return the steps of one cluster, on its own hosts and hosts on loan."""
        problem, name = before.problem, present.states[0].cluster.name
        holding = sorted(vm.name for vm in problem.vms if vm.name in self.blocked)
        hosts = {host.name for host in problem.hosts}
        pools = [pool.name for pool in present.scenario.inventory.pools if hosts & set(pool.hosts)]
        if pools:
            why = f"pool {pools[0]} keeps its data on hosts that would be reinstalled: move the data first"
            return _rolling(name, holding, rolling.Rolling(0, why, (), ()))
        used = problem.loads(problem.at)[:, -1]
        order = sorted(range(len(problem.hosts)), key=lambda host: (used[host], host))
        tell = self.options.progress
        found = rolling.rolling(
            rolling.Side(problem, tuple(order)),
            lambda loans: self._converted(present, problem, order, cycles, loans),
            self.limits.failures,
            (lambda text: tell(text, 0, 0)) if tell is not None else (lambda _: None),
            holding,
        )
        return _rolling(name, holding, found)

    def _converted(
        self, present: Present, before: Problem, order: Sequence[int], cycles: Mapping[str, float], loans: int
    ) -> rolling.Side:
        """Return the target side: hosts on loan like the largest host type, then the present ones."""
        own = {key: each for key, each in storage(present.scenario).items() if key != "storage"}
        hosts, like = reused_hosts(present), present.reference.group
        if loans:
            hosts[LOAN] = {**hosts[like], "count": loans}
        there = arrival(present, hosts, own, cycles, {LOAN: cycles[like], **cycles})
        made = arrived.made(present, there, self.limits, self.options.memory_demand, cycles).problem
        number = {host.name: at for at, host in enumerate(made.hosts)}
        lent = [at for at, host in enumerate(made.hosts) if host.group == LOAN]
        return rolling.Side(made, (*lent, *(number[before.hosts[each].name] for each in order)))


def _rolling(cluster: str, holding: Sequence[str], found: rolling.Rolling) -> documents.Rolling:
    def pct(placed: rolling.Placed | None) -> tuple[float | None, float | None]:
        return (None, None) if placed is None else (placed.peak_pct, placed.after_failure_pct)

    final, final_after = pct(found.final)
    steps: list[documents.RollingStep] = []
    for each in found.steps:
        (source, source_after), (target, target_after) = pct(each.source), pct(each.target)
        steps.append(
            {
                "host": each.host,
                "moves": list(each.moves),
                "moved": each.moved,
                "staying": each.staying,
                "source_peak_pct": source,
                "source_after_failure_pct": source_after,
                "target_peak_pct": target,
                "target_after_failure_pct": target_after,
            }
        )
    return {
        "cluster": cluster,
        "feasible": found.reason is None,
        "loans": found.loans,
        "reason": found.reason,
        "steps": steps,
        "kept": list(found.kept),
        "holding": list(holding),
        "final_peak_pct": final,
        "final_after_failure_pct": final_after,
    }


def _state(figures: Sequence[judged.Figures], before: Sequence[judged.Figures] | None, vms: int) -> TwinState:
    return {
        "ready_pct": judged.worst(figures, judged.READY),
        "costop_pct": judged.worst(figures, judged.COSTOP),
        "response_ms_p99": judged.worst(figures, judged.RESPONSE),
        "response": None if before is None else judged.compared(before, figures, vms),
    }
