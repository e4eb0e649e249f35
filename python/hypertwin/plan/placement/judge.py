"""The twin judges a plan: objectives before it, after it, and in the state that each failure leaves.

A state is a steady one: VMs are on their hosts, those of failed hosts where the certificate restarts them, and nothing
moves or fails meanwhile. Without arrays and pools hosts have nothing in common in a run, so that each host with its VMs
is simulated by itself, and once for all states, plans and commands in which it has the same VMs: after a failure only
hosts that received VMs differ. Figures are those of a run of the whole, to the last digit.

An objective without a name (`ready_pct<5`), or with that of a VM group, holds if it holds for each VM: the worst VM is
told. VMs that do nothing, and those that are down, have nothing to judge. How sure a figure is comes from replications.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from hypertwin import _core, run
from hypertwin import scenario as scenarios
from hypertwin.documents.placement import Verified
from hypertwin.errors import Argument, fail
from hypertwin.execution.runner import Runner, running
from hypertwin.frame import flatten
from hypertwin.judgement.limits import limiting
from hypertwin.plan import objective
from hypertwin.plan.objective import Objective
from hypertwin.plan.placement.found import Found
from hypertwin.plan.placement.moved import hosts_of, moved
from hypertwin.plan.placement.problem import NOWHERE, Ints, Problem
from hypertwin.plan.placement.restart import Outcome
from hypertwin.run import LabelledProgress
from hypertwin.scenario import Scenario

LOWERED = 0.9
"""Factor for the limit of a host that misses an objective."""
ROUNDS = 4
"""Plans that are judged at most."""
LEAST_REPLICATIONS = 3
"""Replications where the scenario asks for fewer: intervals need several."""
IDLE_PCT = 1.0
"""Run and ready time up to which a VM that has no figure does nothing, and has nothing to judge."""

ALONE = ("hosts", "vms", "groups")
"""Sections of a report whose figures are of a host or a VM."""

Values = Mapping[int, Mapping[str, float | None]]
"""Per objective, by position: the figure of each host or VM in one replication."""


class Place(Protocol):
    """Where VMs are, and which hosts are gone."""

    @property
    def place(self) -> Ints: ...  # noqa: D102
    @property
    def failed(self) -> tuple[int, ...]: ...  # noqa: D102


@dataclass(frozen=True)
class State:
    """Where VMs are; NOWHERE of those that are down."""

    place: Ints
    failed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Judged:
    """A place that was judged."""

    found: Found
    outcomes: Mapping[str, Outcome]
    after: Verified
    failures: Mapping[str, Verified]
    missing: tuple[tuple[str, str], ...]
    """Objectives that are missed: the state, and the host on which."""
    lowered: Mapping[str, float]
    """Hosts whose limits were lowered to find it, and to which part."""

    @property
    def meets(self) -> bool:
        """True if all objectives are met in all states."""
        return not self.missing

    def rank(self) -> tuple[float, ...]:
        """Better is less: states that miss, then the objective of the search."""
        return (len({state for state, _ in self.missing}), len(self.missing), self.found.value or 0.0)


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
        """Objectives as `plan.objective` reads them; `new` are entries of VMs that the scenario lacks.

        Raises ScenarioError for a mistake in an objective, before anything is simulated.
        """
        self.scenario, self.problem, self.new, self.progress = scenario, problem, dict(new), progress
        self.objectives = objective.parse(slo, scenario, "*")
        own = int(scenario.run["replications"])
        self.replications = replications or max(own, LEAST_REPLICATIONS)
        self.whole = bool(scenario.data.get("arrays") or scenario.data.get("storage"))
        """True if hosts share storage, so that a state is simulated as a whole."""
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
        self._values: dict[str, list[Values]] = {}
        """Per part of a state that was simulated, by its JSON: the figures of each replication."""
        self._steady: dict[str, str] = {}
        self._limits: dict[str, dict[str, str]] = {}
        """Per part: whether it is steady, in the word of the verdict on all of its replications."""
        self.simulated = 0
        """Parts that were simulated: not those whose figures the cache has."""

    def _entries(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Per VM: its group in the scenario, and its entry as the only VM of a group."""
        groups: Mapping[str, Any] = json.loads(self.scenario.json)["vms"]
        dropped = ("count", "host", "label", "measured", "host_is_guess", "cluster")
        return {
            vm.name: (vm.group, {key: value for key, value in groups[vm.group].items() if key not in dropped})
            for vm in self.scenario.inventory.vms
        } | {name: (name, dict(entry)) for name, entry in self.new.items()}

    def verify(self, states: Mapping[str, Place]) -> dict[str, Verified]:
        """Verification of states by simulation. All unknown states are simulated in one go."""
        parts = {name: self._parts(state) for name, state in states.items()}
        self._simulate([part for listed in parts.values() for part in listed.values()])
        return {name: self._verified(states[name], parts[name]) for name in states}

    def _parts(self, state: Place) -> dict[str, str]:
        """The scenarios, as JSON, that a state consists of: one per host with VMs, or one in all, named by ''."""
        hosts = hosts_of(self.problem, state.place)
        if self.whole:
            return {"": self._together(hosts, state)}
        here: dict[str, list[str]] = {}
        appliances = {vm.name: vm.host for vm in self.scenario.inventory.vms if vm.storage_appliance}
        gone = {self.problem.hosts[host].name for host in state.failed}
        for vm, host in {**appliances, **hosts}.items():
            if host not in gone:
                here.setdefault(host, []).append(vm)
        names = {host.name for host in self.problem.hosts}
        return {host: self._alone(host, sorted(vms)) for host, vms in sorted(here.items()) if host in names}

    def _alone(self, host: str, vms: Sequence[str]) -> str:
        """A host with its VMs as a scenario."""
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

    def _together(self, hosts: Mapping[str, str], state: Place) -> str:
        """All hosts, since they share storage; failed hosts fail at once, with the VMs that are down on them."""
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

    def _simulate(self, parts: Sequence[str]) -> None:
        """Find the figures of parts that are not known: in the cache, or by simulating them."""
        with running() as runner:
            unknown = [part for part in dict.fromkeys(parts) if part not in self._values]
            missing = [part for part in unknown if not self._kept(runner, part)]
            if missing:
                self._run(missing)
            for part in missing:
                self._keep(runner, part)

    def _run(self, parts: Sequence[str]) -> None:
        self.simulated += len(parts)
        points = run.Points(len(parts), lambda index: run.Point({}, scenarios.loads(parts[index], file="a state")))
        runs: list[list[Values | None]] = [[None] * self.replications for _ in parts]
        made: list[dict[int, _core.Replication]] = [{} for _ in parts]
        steady: list[str] = [""] * len(parts)
        limits: list[dict[str, str]] = [{}] * len(parts)

        def done(index: int, k: int, replication: _core.Replication) -> None:
            runs[index][k] = self._read(json.loads(_core.aggregate([replication])))
            made[index][k] = replication
            if len(made[index]) == self.replications:
                together = [made[index][number] for number in sorted(made[index])]
                report = json.loads(_core.aggregate(together))
                steady[index], limits[index] = report["verdict"]["steady"], _limits(report)
                made[index].clear()

        def count(done: int, total: int) -> None:
            if self.progress:
                self.progress(f"{len(parts)} states of hosts", done, total)

        tasks = [(index, k) for index in range(len(parts)) for k in range(self.replications)]
        settled = run.settled(points, progress=count)
        run.run_replications(settled.points, tasks, done, known=settled.pilots, progress=count)
        for part, values, word, limit in zip(parts, runs, steady, limits, strict=True):
            self._values[part] = [each for each in values if each is not None]
            self._steady[part], self._limits[part] = word, limit

    def _key(self, part: str) -> bytes:
        """Names the figures of a part, which follow from the build, the part and the objectives."""
        asked = [each.path.text for each in self.objectives]
        groups = {vm: group for vm, (group, _) in self._vms.items()} if self._names_groups else {}
        return hashlib.sha256(json.dumps(["figures", _core.build(), asked, groups, part]).encode()).digest()

    @cached_property
    def _names_groups(self) -> bool:
        return any(each.path.section == "groups" and each.path.entity != "*" for each in self.objectives)

    def _kept(self, runner: Runner, part: str) -> bool:
        data = runner.cache.get(self._key(part)) if runner.cache else None
        if data is None:
            return False
        kept = json.loads(data)
        self._steady[part], self._limits[part] = kept["steady"], kept["limits"]
        self._values[part] = [{int(number): of for number, of in values.items()} for values in kept["values"]]
        return True

    def _keep(self, runner: Runner, part: str) -> None:
        if runner.cache:
            kept = {"steady": self._steady[part], "limits": self._limits[part], "values": self._values[part]}
            runner.cache.put(self._key(part), json.dumps(kept).encode())

    def _read(self, report: Mapping[str, Any]) -> Values:
        """The figures of a replication that objectives ask for, by host or VM."""
        flat = {
            section: {name: flatten(of) for name, of in report.get(section, {}).items()} for section in ("hosts", "vms")
        }
        found: dict[int, dict[str, float | None]] = {}
        for number, each in enumerate(self.objectives):
            key, section = each.path.key, each.path.section
            if section not in ALONE:
                value = each.read(report)
                found[number] = {each.path.entity: value}
                continue
            records = flat["hosts" if section == "hosts" else "vms"]
            found[number] = {
                name: record[key] if isinstance(record[key], int | float) else None
                for name, record in records.items()
                if key in record and self._is_meant(each, name) and not _is_idle(record, key)
            }
        return found

    def _is_meant(self, each: Objective, name: str) -> bool:
        """True if an objective is about a host or VM."""
        if each.path.section == "groups":
            name = self._vms[name][0] if name in self._vms else name
        return fnmatchcase(name, each.path.entity)

    def _verified(self, state: Place, parts: Mapping[str, str]) -> Verified:
        meets = sure = True
        metrics: dict[str, dict[str, float | None]] = {}
        worst: dict[str, str] = {}
        limits: dict[str, str] = {}
        for number, each in enumerate(self.objectives):
            figures = dict(self._figures(number, parts))
            name = _worst(each, figures)
            if name is None:
                metrics[each.text] = {"mean": None, "ci95": None, "limit": each.limit}
                continue
            mean, ci95 = figures[name]
            metrics[each.text] = {"mean": mean, "ci95": ci95, "limit": each.limit}
            worst[each.text] = name
            if mean is None or not each.meets(mean):
                limits[each.text] = next(filter(None, (self._limits[part].get(name) for part in parts.values())), "")
            meets &= mean is not None and each.meets(mean)
            sure &= all(_surely(each, *figure) for figure in figures.values())
        words = {self._steady[part] for part in parts.values()}
        steady = words <= {"steady"}
        meets &= "not-steady" not in words  # its figures are of no state
        return {
            "meets": meets,
            "sure": meets and sure and steady,
            "metrics": metrics,
            "worst": worst,
            "limits": limits,
            "steady": steady,
        }

    def _figures(
        self, number: int, parts: Mapping[str, str]
    ) -> Iterator[tuple[str, tuple[float | None, float | None]]]:
        """Mean and half-width of each host or VM that an objective is about."""
        for part in parts.values():
            runs = [values[number] for values in self._values[part]]
            for name in dict.fromkeys(name for values in runs for name in values):
                known = [value for values in runs if (value := values.get(name)) is not None]
                if len(known) < len(runs):
                    yield name, (None, None)
                else:
                    yield name, (math.fsum(known) / len(known), _core.half_width_95(known))

    def missing_hosts(self, state: Place, verified: Verified) -> list[str]:
        """The hosts on which a state misses objectives: of each objective the one that the worst is on."""
        hosts = hosts_of(self.problem, state.place)
        found = []
        for each in self.objectives:
            mean, name = verified["metrics"][each.text]["mean"], verified["worst"].get(each.text)
            if name is not None and (mean is None or not each.meets(mean)):
                found.append(hosts.get(name, name))
        return list(dict.fromkeys(found))


def _limits(report: Mapping[str, Any]) -> dict[str, str]:
    """Limits of each VM for which something is full, and of each host with such a VM."""
    full = {group: (of["hosts"], text) for group, of in report["groups"].items() if (text := limiting(report, group))}
    return {name: text for group, (hosts, text) in full.items() for name in (group, *hosts)}


def search(
    judge: Judge,
    solve: Callable[[Problem], Found],
    outcomes_of: Callable[[Problem, Ints], Mapping[str, Outcome]],
    *,
    rounds: int = ROUNDS,
) -> tuple[Judged | None, list[Judged]]:
    """Plans until one meets all objectives, and the best of those that were judged; None without any plan.

    A host that misses an objective gets a lower limit, for what is left after failures if it misses only there, and
    `solve` looks for another place under it.
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
    """The problem with less room on hosts that miss: of CPU, which is what VMs wait for, or of all that counts."""
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


def _is_idle(record: Mapping[str, Any], key: str) -> bool:
    if record[key] is not None or "run_pct" not in record:
        return False
    return float(record["run_pct"] or 0) + float(record.get("ready_pct") or 0) < IDLE_PCT


def _worst(each: Objective, figures: Mapping[str, tuple[float | None, float | None]]) -> str | None:
    """The name with the worst figure; one that nothing was measured of is worse than all."""
    if not figures:
        return None
    unknown = [name for name, (mean, _) in figures.items() if mean is None]
    if unknown:
        return min(unknown)
    sign = 1 if each.upper else -1
    return min(figures, key=lambda name: (-sign * float(figures[name][0] or 0.0), name))


def _surely(each: Objective, mean: float | None, ci95: float | None) -> bool:
    return mean is not None and ci95 is not None and each.meets(mean - ci95) and each.meets(mean + ci95)


def by_ratio(judge: Judge, judged: Judged) -> dict[str, Any]:
    """Ratio of vCPUs to cores of the host that simulation finds worst after the plan."""
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
