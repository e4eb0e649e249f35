"""Verification of a plan by simulation: objectives before the plan, after it, and after each failure.

A state is steady: VMs are on their hosts, restarted VMs on the hosts of the certificate, and nothing moves or fails
meanwhile. Without arrays and pools, hosts share nothing in a run. Each host with its VMs is then simulated by itself.
The result is reused in all states, plans and commands where the host has the same VMs. After a failure, only hosts that
received VMs differ. Figures equal those of a run of the whole cluster, to the last digit. Without a given number of
replications, simulations stop when objectives are decided (`simulated.py`), and states share one (`grouped.py`).

An objective without a name (`ready_pct<5`), or with the name of a VM group, must hold for each VM: the report shows the
worst VM. Idle VMs and VMs that are down are not judged. Replications give the confidence of a figure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from hypertwin.documents.placement import Verified
from hypertwin.errors import Argument, fail
from hypertwin.plan import objective
from hypertwin.plan.objective import Objective
from hypertwin.plan.placement import grouped
from hypertwin.plan.placement.found import Found
from hypertwin.plan.placement.moved import hosts_of, moved
from hypertwin.plan.placement.problem import NOWHERE, Ints, Problem
from hypertwin.plan.placement.restart import Outcome
from hypertwin.plan.placement.simulated import ALONE, FULL_REPLICATIONS, Simulated, surely
from hypertwin.runs.simulation import LabelledProgress
from hypertwin.scenario import Scenario

LOWERED = 0.9
"""Factor by which the limit of a host that misses an objective is lowered."""
MAX_GROUPED = 0.95
"""Maximum load of a host with the VMs of several failures, as a fraction of its limit. Above it, most hosts miss."""
ROUNDS = 4
"""Maximum number of plans to judge."""


class Place(Protocol):
    """Placement with the hosts of VMs, and the failed hosts."""

    @property
    def place(self) -> Ints: ...  # noqa: D102
    @property
    def failed(self) -> tuple[int, ...]: ...  # noqa: D102


@dataclass(frozen=True)
class State:
    """State with the host of each VM, or NOWHERE for a VM that is down."""

    place: Ints
    failed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Judged:
    """Placement with the result of its simulation."""

    found: Found
    outcomes: Mapping[str, Outcome]
    after: Verified
    failures: Mapping[str, Verified]
    missing: tuple[tuple[str, str], ...]
    """Missed objectives, with the state and the host that misses each."""
    lowered: Mapping[str, float]
    """Hosts with a lowered limit, with the factor of the limit."""

    @property
    def meets(self) -> bool:
        """True if all objectives are met in all states."""
        return not self.missing

    def rank(self) -> tuple[float, ...]:
        """Return the sort key (lower is better): states that miss objectives, then the objective of the search."""
        return (len({state for state, _ in self.missing}), len(self.missing), self.found.value or 0.0)


@dataclass(frozen=True)
class _Seen:
    """Simulated part of a state."""

    part: str
    host: str = ""
    """Name of the only host, or an empty string if the part is the whole cluster."""
    vms: grouped.Vms = ()
    """VMs of the host in this state. The part can have more VMs."""

    def has(self, name: str) -> bool:
        """True if a host or VM is in the state."""
        return not self.host or name == self.host or name in self.vms


class Ends(NamedTuple):
    """Figure of a host or VM in a state."""

    mean: float
    ci95: float | None
    """Half-width of the 95% confidence interval."""
    low: float
    """Ends of the interval with the twin's own error."""
    high: float


class Judge:
    """Judges states of a problem."""

    def __init__(
        self,
        scenario: Scenario,
        problem: Problem,
        slo: Sequence[str],
        *,
        replications: int | None = None,
        new: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        progress: LabelledProgress | None = None,
    ) -> None:
        """Parse objectives with `plan.objective`. `new` are entries of VMs that the scenario lacks.

        Raises ScenarioError for an invalid objective, before any simulation.
        """
        self.scenario, self.problem, self.new = scenario, problem, dict(new)
        self.objectives = objective.parse(slo, scenario, "*")
        own = int(scenario.run["replications"])
        self.replications = replications or max(own, FULL_REPLICATIONS)
        self.whole = bool(scenario.data.get("arrays") or scenario.data.get("storage"))
        """True if hosts share storage. Then a state is simulated as a whole."""
        for each in self.objectives:
            if each.path.section not in ALONE and not self.whole:
                hint = "name a figure of VMs or hosts, such as ready_pct<5 or 'hosts.*.usage_pct<80'"
                fail(
                    "unknown-metric",
                    "",
                    each.metric,
                    f"a figure of {', '.join(ALONE)}",
                    hint,
                    Argument("slo", repr(each.text)),
                )
        self._vms = self._entries()
        groups = {vm: group for vm, (group, _) in self._vms.items()}
        in_full = replications is not None
        self.simulated = Simulated(
            self.objectives, groups, self.replications, in_full=in_full, is_by_host=not self.whole, progress=progress
        )
        self.groups_failures = not (self.whole or in_full) and all(map(grouped.is_rising, self.objectives))
        """True if states of a host after several failures are simulated as one."""

    def _entries(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return the group of each VM in the scenario, and the entry of the VM as the only VM of a group."""
        groups: Mapping[str, Any] = json.loads(self.scenario.json)["vms"]
        dropped = ("count", "host", "label", "measured", "host_is_guess", "cluster", "guest_os", "products", "source")
        return {
            vm.name: (vm.group, {key: value for key, value in groups[vm.group].items() if key not in dropped})
            for vm in self.scenario.inventory.vms
        } | {name: (name, dict(entry)) for name, entry in self.new.items()}

    def verify(self, states: Mapping[str, Place]) -> dict[str, Verified]:
        """Return the verification of states by simulation. All unknown states are simulated together."""
        return {name: self._verified(seen) for name, seen in self._seen(states).items()}

    def figures(self, states: Mapping[str, Place]) -> dict[str, dict[str, dict[str, Ends]]]:
        """Return the figures of states by state, objective and name of the host or VM.

        All unknown states are simulated together. Hosts and VMs without a figure are left out.
        """
        return {name: self._figures(seen) for name, seen in self._seen(states).items()}

    def _figures(self, seen: Sequence[_Seen]) -> dict[str, dict[str, Ends]]:
        found: dict[str, dict[str, Ends]] = {}
        for number, each in enumerate(self.objectives):
            of = found.setdefault(each.text, {})
            for one in seen:
                for name, (mean, ci95) in self.simulated.figures(number, one.part):
                    if mean is not None and one.has(name):
                        low, high = sorted(self.simulated.ends(number, one.part, name, mean))
                        of[name] = Ends(mean, ci95, low, high)
        return found

    def _seen(self, states: Mapping[str, Place]) -> dict[str, list[_Seen]]:
        """Return the simulated parts of each state."""
        if self.whole:
            whole = {name: self._together(state) for name, state in states.items()}
            self.simulated.simulate(list(whole.values()))
            return {name: [_Seen(part)] for name, part in whole.items()}
        vms = {name: self._vms_of(state) for name, state in states.items()}
        alone = [name for name, state in states.items() if not (self.groups_failures and state.failed)]
        parts = {each: self._alone(*each) for name in alone for each in vms[name].items()}
        self.simulated.simulate(list(parts.values()))
        miss = {host for (host, _), part in parts.items() if not self.simulated.is_sure(part)}
        after: dict[str, list[grouped.Vms]] = {}
        for name in states:
            for host, there in vms[name].items():
                if (host, there) not in parts:
                    after.setdefault(host, []).append(there)
        parts |= grouped.parts(
            self.simulated, after, lambda host, vms: host not in miss and self._fits(host, vms), self._alone
        )
        return {
            name: [_Seen(parts[host, there], host, there) for host, there in of.items()] for name, of in vms.items()
        }

    def _vms_of(self, state: Place) -> dict[str, grouped.Vms]:
        """Return the VMs on each host of a state, with storage appliances."""
        appliances = {vm.name: vm.host for vm in self.scenario.inventory.vms if vm.storage_appliance}
        gone = {self.problem.hosts[host].name for host in state.failed}
        here: dict[str, list[str]] = {}
        for vm, host in {**appliances, **hosts_of(self.problem, state.place)}.items():
            if host not in gone:
                here.setdefault(host, []).append(vm)
        names = {host.name for host in self.problem.hosts}
        return {host: tuple(sorted(vms)) for host, vms in sorted(here.items()) if host in names}

    def _fits(self, host: str, vms: grouped.Vms) -> bool:
        """True if a host with all of these VMs is well within its limits after a failure."""
        problem, numbers = self.problem, self._numbers
        load = problem.sizes[[numbers[vm] for vm in vms if vm in numbers]].sum(axis=0)
        return bool((load <= MAX_GROUPED * problem.failover[self._hosts[host]]).all())

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {vm.name: number for number, vm in enumerate(self.problem.vms)}

    @cached_property
    def _hosts(self) -> Mapping[str, int]:
        return {host.name: number for number, host in enumerate(self.problem.hosts)}

    def _alone(self, host: str, vms: Sequence[str]) -> str:
        """Return a host with its VMs as a scenario."""
        data = self._data
        group = self.scenario.inventory.host[host].group
        spec = {key: value for key, value in data["hosts"][group].items() if key not in ("count", "label", "measured")}
        entries = {name: {**self._vms[name][1], "host": host} for name in vms}
        used = sorted({entry["workload"] for entry in entries.values()})
        return json.dumps(
            {
                "name": data["name"],
                "run": {**data["run"], "replications": self.replications},
                "hosts": {host: spec},
                "vms": entries,
                "workloads": {name: data["workloads"][name] for name in used},
            }
        )

    @cached_property
    def _data(self) -> Mapping[str, Any]:
        found: dict[str, Any] = json.loads(self.scenario.json)
        return found

    def _together(self, state: Place) -> str:
        """Return a scenario of all hosts, because the hosts share storage.

        Failed hosts and their VMs fail at the start.
        """
        hosts = hosts_of(self.problem, state.place)
        new = {name: {**entry, "host": hosts[name]} for name, entry in self.new.items() if name in hosts}
        data = json.loads(moved(self.scenario, hosts, new=new)[1].json)
        for cluster in (data.get("clusters") or {}).values():
            cluster.pop("drs", None)
            (cluster.get("ha") or {}).pop("policy", None)
        data.pop("events", None)
        gone = [self.problem.hosts[host].name for host in state.failed]
        data["failures"] = [{"at": "0 s", "fails": gone}] if gone else []
        data["run"]["replications"] = self.replications
        return json.dumps(data)

    def _verified(self, seen: Sequence[_Seen]) -> Verified:
        simulated = self.simulated
        meets = sure = at_worst = True
        metrics: dict[str, dict[str, float | None]] = {}
        worst: dict[str, str] = {}
        limits: dict[str, str] = {}
        at_most: list[str] = []
        for number, each in enumerate(self.objectives):
            figures = {
                name: (one, *figure)
                for one in seen
                for name, figure in simulated.figures(number, one.part)
                if one.has(name)
            }
            name = _worst(each, {name: mean for name, (_, mean, _) in figures.items()})
            if name is None:
                metrics[each.text] = {"mean": None, "ci95": None, "limit": each.limit}
                continue
            one, mean, ci95 = figures[name]
            metrics[each.text] = {"mean": mean, "ci95": ci95, "limit": each.limit}
            if mean is not None:
                low, high = sorted(simulated.ends(number, one.part, name, mean))
                metrics[each.text] |= {"low": low, "high": high}
            worst[each.text] = name
            if one.host and one.part != self._alone(one.host, one.vms):
                at_most.append(each.text)
            if mean is None or not each.meets(mean):
                limits[each.text] = simulated.limit(one.part, name) or ""
            meets &= mean is not None and each.meets(mean)
            sure &= all(surely(each, mean, ci95) for _, mean, ci95 in figures.values())
            at_worst &= all(
                mean is not None and each.meets(simulated.ends(number, one.part, name, mean)[0])
                for name, (one, mean, _) in figures.items()
            )
        words = {simulated.steady(one.part) for one in seen}
        steady = words <= {"steady"}
        meets &= "not-steady" not in words  # its figures are of no state
        return {
            "meets": meets,
            "sure": meets and sure and steady,
            "at_worst": meets and at_worst,
            "metrics": metrics,
            "worst": worst,
            "at_most": at_most,
            "limits": limits,
            "steady": steady,
        }

    def missing_hosts(self, state: Place, verified: Verified) -> list[str]:
        """Return the hosts on which a state misses objectives.

        For each objective this is the host with the worst figure.
        """
        hosts = hosts_of(self.problem, state.place)
        found = []
        for each in self.objectives:
            mean, name = verified["metrics"][each.text]["mean"], verified["worst"].get(each.text)
            if name is not None and (mean is None or not each.meets(mean)):
                found.append(hosts.get(name, name))
        return list(dict.fromkeys(found))


def search(
    judge: Judge,
    solve: Callable[[Problem], Found],
    outcomes_of: Callable[[Problem, Ints], Mapping[str, Outcome]],
    *,
    rounds: int = ROUNDS,
) -> tuple[Judged | None, list[Judged]]:
    """Search plans until one meets all objectives, and return the best judged plan, or None without any plan.

    A host that misses an objective gets a lower limit, and `solve` searches again. If the host misses only after
    failures, only its limit after failures is lower.
    """
    problem = judge.problem
    lowered: dict[str, float] = {}
    tried: list[Judged] = []
    seen: set[bytes] = set()
    for _ in range(max(1, rounds)):
        found = solve(problem)
        if found.place is None or found.place.tobytes() in seen:
            break
        seen.add(found.place.tobytes())
        outcomes = outcomes_of(problem, found.place)
        judged = _judged(judge, found, outcomes, lowered)
        tried.append(judged)
        if judged.meets:
            break
        problem = _lower(problem, judged, lowered)
    best = min(tried, key=Judged.rank, default=None)
    return best, tried


def _judged(judge: Judge, found: Found, outcomes: Mapping[str, Outcome], lowered: Mapping[str, float]) -> Judged:
    assert found.place is not None, "only places are judged"
    states: dict[str, Place] = {"": State(found.place), **outcomes}
    verified = judge.verify(states)
    missing = [
        (name, host)
        for name, state in states.items()
        if not verified[name]["meets"]
        for host in judge.missing_hosts(state, verified[name]) or [""]
    ]
    after = verified.pop("")
    return Judged(found, outcomes, after, verified, tuple(missing), dict(lowered))


def _lower(problem: Problem, judged: Judged, lowered: dict[str, float]) -> Problem:
    """Return the problem with less room on hosts that miss.

    The CPU limit is lowered, because VMs wait for CPU. Without a CPU limit, all limits are lowered.
    """
    cpu = [each for each, name in enumerate(problem.resources) if name in ("cpu", "vcpus")]
    columns = cpu or list(range(len(problem.resources)))
    rooms, failover = problem.rooms.copy(), problem.failover.copy()
    number = {host.name: each for each, host in enumerate(problem.hosts)}
    normal = {host for state, host in judged.missing if not state and host in number}
    for name in sorted({host for _, host in judged.missing if host in number}):
        host = number[name]
        # down to what was too much, where that is less than the limit already
        loads = problem.loads(judged.found.place)[host] if judged.found.place is not None else rooms[host]
        for column in columns:
            if name in normal:
                rooms[host, column] = LOWERED * min(rooms[host, column], loads[column])
            failover[host, column] *= LOWERED
        lowered[name] = LOWERED * lowered.get(name, 1.0)
    return replace(problem, rooms=rooms, failover=failover)


def _worst(each: Objective, means: Mapping[str, float | None]) -> str | None:
    """Return the name with the worst figure. An unmeasured figure is the worst."""
    unknown = [name for name, mean in means.items() if mean is None]
    if unknown:
        return min(unknown)
    sign = 1 if each.upper else -1
    return min(means, key=lambda name: (-sign * (means[name] or 0.0), name), default=None)


def by_ratio(judge: Judge, judged: Judged) -> dict[str, Any]:
    """Return the ratio of vCPUs to cores on the worst host by simulation, after the plan."""
    problem, place = judge.problem, judged.found.place
    if place is None or not judge.objectives:
        return {}
    name = judged.after["worst"].get(judge.objectives[0].text)
    hosts = [host.name for host in problem.hosts]
    at = hosts_of(problem, place).get(name or "", name or "")
    if at not in hosts:
        return {}
    vcpus = np.zeros(len(hosts))
    for vm, host in zip(problem.vms, place.tolist(), strict=True):
        if host != NOWHERE:
            vcpus[host] += vm.vcpus
    ratios = vcpus / np.array([host.cores for host in problem.hosts], float)
    rank = 1 + int((ratios > ratios[hosts.index(at)] + 1e-12).sum())
    mean = judged.after["metrics"][judge.objectives[0].text]["mean"]
    return {
        "worst_by_twin": at,
        "its_ratio": float(ratios[hosts.index(at)]),
        "its_rank": rank,
        "twin": f"{judge.objectives[0].text}: worst is {name} on {at}"
        + (f" with {mean:.3g}" if mean is not None else "")
        + f"; by vCPUs per core that host is number {rank} of {len(hosts)}",
    }
