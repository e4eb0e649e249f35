"""The answer of a refresh as a document: present hosts, candidates, the twin's word, energy, costs and sources."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from hypertwin import _core
from hypertwin import scenario as scenarios
from hypertwin.arguments import asks
from hypertwin.documents import refresh as documents
from hypertwin.documents.cost import Costs, Sensitivity
from hypertwin.errors import ScenarioError
from hypertwin.language import Host, Vm
from hypertwin.metrics.bands import band
from hypertwin.metrics.words import number
from hypertwin.plan.placement import moved
from hypertwin.plan.placement.problem import Ints
from hypertwin.plan.refresh import candidate, energy, expense, judged
from hypertwin.plan.refresh.described import numa_fit, planned_cluster, present_cluster
from hypertwin.plan.refresh.fewest import Made
from hypertwin.plan.refresh.options import Refresh
from hypertwin.plan.refresh.present import OLD_DAYS
from hypertwin.plan.refresh.request import Found, Request
from hypertwin.plan.refresh.sources import sources
from hypertwin.plan.refresh.speed import Speed
from hypertwin.plan.refresh.texts import notes, verdict
from hypertwin.results.answers import Document
from hypertwin.runs.runner import running
from hypertwin.scenario import Given, Scenario
from hypertwin.show.page import date_now

if TYPE_CHECKING:
    from hypertwin.records.refresh import RefreshFields
else:  # attributes for type checkers only
    RefreshFields = object

GIB = 2**30


@dataclass(frozen=True, repr=False)
class Refreshed(Document[documents.Refresh], RefreshFields):
    """Plan to replace hosts, with the scenario of each candidate."""

    VIEWS: ClassVar[str] = "REFRESH"

    scenarios: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    """Function that returns the scenario of a candidate as YAML, by name of the candidate, for one cluster."""


@asks(Refresh)
def plan_refresh(scenario: Given, options: Refresh) -> Refreshed:
    """Return the fewest hosts of each candidate that carry the demand, with costs, energy and the twin's figures.

    `host_type` names files with host types. Raises ScenarioError. The path of an option's problem is its name.
    """
    asked = _Answering.of(scenario, options)
    found = list(asked.candidates())
    with running(**options.where):
        return asked.answer(found)


@dataclass(frozen=True)
class _Answering(Request):
    """Request with the figures of its candidates."""

    def answer(self, found: Sequence[Found]) -> Refreshed:
        """Return the answer with all figures of the candidates."""
        before = self._simulated(
            (self.present.scenario, made, made.problem.at) for made in (self._as_is(each) for each in self.names)
        )
        present = self._described("present", "present", [self._as_is(each) for each in self.names], before, before)
        grown = self._grown(before)
        made = [self._candidate(each, before) for each in found]
        priced = expense.are_comparable([each for each in made if each["feasible"]])

        def rank(each: documents.Candidate) -> tuple[float, int]:
            return expense.worth(each) if priced else 0.0, each["hosts"] or 0

        best = min((each for each in made if each["feasible"]), key=rank, default=None)
        document: documents.Refresh = {
            "version": _core.version(),
            "scenario": self.present.scenario.name,
            "asked": self._asked(),
            "demand": self._demand(),
            "reference": self.present.reference.cpu_model or self.present.reference.group,
            "speeds": [each.document() for each in self._shown_speeds()],
            "present": present,
            "grown": grown,
            "candidates": made,
            "best": None if best is None else best["name"],
            "ranked_by": "cost" if priced else "hosts",
            "sensitivity": self._sensitivity(found, made),
            "rules_left_out": self._rules_left_out(found),
            "notes": [],
            "sources": [],
        }
        for each in (present, *([grown] if grown else []), *made):
            each["verdict"] = verdict(each, document)
        document["notes"] = notes(document)
        document["sources"] = sources(document)
        return Refreshed(
            document, scenarios={each.name: scenario for each in found for scenario in self._scenarios(each)}
        )

    def _sensitivity(self, found: Sequence[Found], made: Sequence[documents.Candidate]) -> Sensitivity | None:
        """Return the inputs that move the ranking by cost, also the number of hosts, or None without prices."""
        if self.prices is None:
            return None
        other: dict[str, dict[int, Costs]] = {}
        for one, each in zip(found, made, strict=True):
            parts = [part.made for part in one.parts if part.made is not None]
            for count in {each["hosts_if_fast"], each["hosts_if_slow"]} - {each["hosts"], None}:
                if each["feasible"] and count is not None and each["hosts"] is not None:
                    last = one.parts[-1].choice.last.name
                    costs = self._costs(parts, each["energy"], last, count - each["hosts"])
                    other.setdefault(each["name"], {})[count] = costs
        return expense.sensitivity(made, other)

    def _costs(self, made: Sequence[Made], power: documents.Energy | None, more: str = "", hosts: int = 0) -> Costs:
        """Return the costs of clusters, with some more hosts of a type in the last one."""
        options, like = self.options, self.present.grown_like
        return expense.costs(
            made, self.types, self.prices, options.years, options.failures, power, like=like, more=more, hosts=hosts
        )

    def _as_is(self, cluster: str) -> Made:
        return self.planner.as_is(self.present.scenario, self.present.state(cluster).cluster)

    def _candidate(self, found: Found, before: _Twin | None) -> documents.Candidate:
        """Return a candidate with all figures, or with the reason why it is not feasible."""
        failing = next((part for part in found.parts if part.made is None), None)
        if failing is not None:
            where = f"{failing.choice.cluster}: " if len(found.parts) > 1 else ""
            return _infeasible(found, where + (failing.reason or "no number of hosts is enough"))
        parts = [(part, part.made, part.place) for part in found.parts if part.made is not None]
        twin = self._simulated((made.scenario, made, place) for _, made, place in parts if place is not None)
        made_ = [made for _, made, _ in parts]
        document = self._described(found.name, found.kind, made_, twin, before)
        document["clusters"] = [planned_cluster(part, self.present.grown) for part in found.parts]
        document["hosts_if_fast"] = _sum(part.if_fast for part in found.parts)
        document["hosts_if_slow"] = _sum(part.if_slow for part in found.parts)
        for each in document["clusters"]:
            for name, count in each["added"].items():
                document["new_hosts"][name] = document["new_hosts"].get(name, 0) + count
        return document

    def _described(
        self, name: str, kind: documents.Kind, made: Sequence[Made], twin: _Twin | None, before: _Twin | None
    ) -> documents.Candidate:
        """Return the figures of clusters, except those of the search for them."""
        hosts = [host for each in made for host in each.problem.hosts]
        types = {each.name: each for each in self.types}
        groups = {host.group: host for host in hosts}
        vms = [vm for each in made for vm in each.problem.vms]
        used = self._mean_usage(made) if twin is None else twin.usage(made)
        power = None if used is None else energy.energy(hosts, used, types, "demand" if twin is None else "twin")
        units = [expense.rack_units(host, types, self.prices) for host in hosts]
        return {
            "name": name,
            "kind": kind,
            "feasible": True,
            "reason": None,
            "hosts": len(hosts),
            "hosts_if_fast": len(hosts),
            "hosts_if_slow": len(hosts),
            "new_hosts": {},
            "cores": sum(host.cores for host in hosts),
            "sockets": sum(host.processors for host in hosts),
            "rack_units": None if None in units else math.fsum(unit for unit in units if unit is not None),
            "clusters": [present_cluster(each, self.present.grown) for each in made],
            "numa": _numa(groups, vms),
            "twin": None if twin is None else twin.document(before, len(self.present.vms)),
            "slower": None if twin is None or before is None or twin is before else twin.is_slower(before),
            "energy": power,
            "costs": self._costs(made, power),
            "verdict": "",
        }

    def _simulated(self, states: Iterable[tuple[Scenario, Made, Ints]], *, failing: bool = True) -> _Twin | None:
        """Return the twin's figures of clusters with their placements, or None without the twin."""
        if self.options.twin == "off":
            return None
        fails = failing and self.options.twin == "failure"
        return _Twin(
            [
                judged.simulated(
                    scenario,
                    made.problem,
                    place,
                    made.positions if fails else (),
                    replications=self.options.replications,
                    progress=self.options.progress,
                )
                for scenario, made, place in states
            ]
        )

    def _grown(self, before: _Twin | None) -> documents.Candidate | None:
        """Return the present hosts with the growth, each new VM on the host of the VM that it is like.

        The result is None without growth, without the twin, or if the VMs cannot be on these hosts.
        """
        if not self.present.copies or before is None:
            return None
        data = self.present.scenario.as_written()
        more = {}
        for name, group in self.present.grown.items():
            entry = {key: value for key, value in data["vms"][group].items() if key not in ("count", "label")}
            more[name] = {**entry, "count": self.present.copies[group]}
        data["vms"] = {**data["vms"], **more}
        try:
            scenario = scenarios.load(data)
            made = [self.planner.as_is(scenario, scenario.inventory.cluster[name]) for name in self.names]
            twin = self._simulated(((scenario, each, each.problem.at) for each in made), failing=False)
        except ScenarioError:
            return None
        return self._described("present, with growth", "grown", made, twin, before)

    def _mean_usage(self, made: Sequence[Made]) -> list[float] | None:
        """Return the mean CPU usage of each host in per cent, as if the load was even, or None if it is unknown."""
        found: list[float] = []
        mean = self.planner.mean_part
        for each in made:
            if "cpu" not in each.problem.resources or mean is None:
                return None
            at = each.problem.resources.index("cpu")
            part = mean * each.problem.sizes[:, at].sum() / each.problem.capacity[:, at].sum()
            found += [100 * float(part)] * len(each.problem.hosts)
        return found

    def _asked(self) -> documents.Asked:
        limits, options = self.planner.limits, self.options
        return {
            "failures": limits.failures,
            "cpu_pct": 100 * limits.cpu,
            "memory_pct": 100 * limits.memory,
            "memory": options.memory_demand,
            "vcpu_ratio": None
            if self.present.is_measured and limits.vcpu_ratio is None
            else self.planner.limits_of(self.names).vcpu_ratio,
            "demand": limits.demand,
            "growth_pct": 100 * self.present.growth,
            "years": options.years,
            "prices": None if options.prices is None else str(options.prices),
        }

    def _demand(self) -> documents.Demand:
        present = self.present
        vms, copies = present.vms, present.copies
        vcpus, memory = sum(vm.vcpus for vm in vms), sum(vm.memory_bytes for vm in vms)
        first = {vm.group: vm for vm in vms}
        more_vcpus = sum(first[group].vcpus * many for group, many in copies.items())
        more_memory = sum(first[group].memory_bytes * many for group, many in copies.items())
        age = present.age_days(date_now().date())
        mhz = None
        if present.is_measured:
            demand = self.planner.demand
            mhz = math.fsum(demand.mhz.values()) + sum(demand.of_group[group] * many for group, many in copies.items())
        bases = present.bases
        text = [f"{name}: {basis['text']}" if len(bases) > 1 else basis["text"] for name, basis in bases]
        if own := present.own_cpu(self.names):
            text.append(f"hypervisors take {number(100 * own)}% of the CPU of VMs beside it, also on new hosts")
        return {
            "is_measured": present.is_measured,
            "text": text,
            "age_days": age,
            "is_old": age is not None and age > OLD_DAYS,
            "cpu_ghz": None if mhz is None else mhz / 1000,
            "memory_gib": (memory + more_memory) / GIB,
            "vcpus": vcpus + more_vcpus,
            "grown_vcpus_pct": 100 * more_vcpus / vcpus,
            "grown_memory_pct": 100 * more_memory / memory,
            "guessed_hosts": len([vm for vm in vms if vm.host_is_guess]),
        }

    def _shown_speeds(self) -> list[Speed]:
        """Return the speeds of present processors, each once, and of host types."""
        seen: dict[tuple[str | None, int, int], Speed] = {}
        for each in self.speeds.values():
            if each.name not in {type_.name for type_ in self.types}:
                seen.setdefault((each.host.cpu_model, each.host.clock_hz, each.host.cores), each)
        return [*seen.values(), *(self.speeds[each.name] for each in self.types)]

    def _rules_left_out(self, found: Sequence[Found]) -> list[str]:
        """Return the names of rules about hosts that some candidate does not keep."""
        names = {
            name
            for each in found
            for part in each.parts
            if part.made is not None
            for name in candidate.rules_left_out(self.present, part.made.scenario)
        }
        return sorted(names)

    def _scenarios(self, found: Found) -> Iterator[Callable[[], str]]:
        """Yield the scenario of a candidate of one cluster as YAML."""
        if len(found.parts) == 1 and found.parts[0].made is not None and found.parts[0].place is not None:
            made, place = found.parts[0].made, found.parts[0].place
            hosts = moved.hosts_of(made.problem, place)
            work = self.planner.demand.measured_on(made.scenario)
            comment = f"The cluster after a refresh: {found.name}."
            yield lambda: moved.moved(made.scenario, hosts, work=work, comment=comment)[0]


@dataclass(frozen=True)
class _Twin:
    """Simulated clusters of a candidate."""

    clusters: Sequence[judged.Simulated]

    @property
    def normal(self) -> list[judged.Figures]:
        """Figures without a failure."""
        return [each.normal for each in self.clusters]

    @property
    def failed(self) -> list[judged.Figures]:
        """Figures after the worst failure of each cluster, or an empty list without failures."""
        found = [each.failure for each in self.clusters]
        return [] if None in found else [each for each in found if each is not None]

    def usage(self, made: Sequence[Made]) -> list[float]:
        """Return the CPU usage of each host of clusters without a failure. Clusters can have hosts of equal names."""
        found: list[float] = []
        for cluster, each in zip(self.clusters, made, strict=True):
            known = judged.usage(cluster.normal)
            found += [known.get(host.name, 0.0) for host in each.problem.hosts]
        return found

    def document(self, before: _Twin | None, vms: int) -> documents.Twin:
        """Return the figures, with response times relative to those of the present hosts."""
        here = before is self
        return {
            "normal": _state(self.normal, None if here or before is None else before, vms),
            "failure": _state(self.failed, before, vms) if self.failed else None,
            "failed": [name for each in self.clusters for name in each.failed],
        }

    def is_slower(self, before: _Twin) -> bool:
        """True if most VMs take longer than before, or if a VM has ready time that users notice and that grew."""
        response = judged.compared(before.normal, self.normal, 0)
        now, then = (judged.worst(each.normal, judged.READY) for each in (before, self))
        waits = then is not None and then["mean"] >= (band("ready_pct").warning or math.inf)
        grew = now is None or (then is not None and then["mean"] > now["mean"])
        return bool(response and response["median"] > judged.SLOWER) or (waits and grew)


def _state(figures: Sequence[judged.Figures], before: _Twin | None, vms: int) -> documents.TwinState:
    return {
        "ready_pct": judged.worst(figures, judged.READY),
        "costop_pct": judged.worst(figures, judged.COSTOP),
        "response_ms_p99": judged.worst(figures, judged.RESPONSE),
        "response": None if before is None else judged.compared(before.normal, figures, vms),
    }


def _sum(counts: Iterable[int | None]) -> int | None:
    """Return the sum of counts, or None if one is unknown."""
    whole = 0
    for count in counts:
        if count is None:
            return None
        whole += count
    return whole


def _numa(groups: Mapping[str, Host], vms: Sequence[Vm]) -> list[documents.NumaFit]:
    """Return the NUMA fit of VMs on each shape of host."""
    shapes: dict[tuple[int, int], tuple[str, Host]] = {}
    for group, host in groups.items():
        shapes.setdefault((host.cores_per_node, host.memory_per_node_bytes), (group, host))
    return [numa_fit(group, host, vms) for group, host in shapes.values()]


def _infeasible(found: Found, reason: str) -> documents.Candidate:
    return {
        "name": found.name,
        "kind": found.kind,
        "feasible": False,
        "reason": reason,
        "hosts": None,
        "hosts_if_fast": None,
        "hosts_if_slow": None,
        "new_hosts": {},
        "cores": None,
        "sockets": None,
        "rack_units": None,
        "clusters": [],
        "numa": [],
        "twin": None,
        "slower": None,
        "energy": None,
        "costs": None,
        "verdict": "",
    }
