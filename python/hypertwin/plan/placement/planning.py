"""Entry points of plans for the public API and the command line: from a scenario and options to one document.

A plan is checked in three ways: against limits, for failures, and by simulation if it has objectives.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hypertwin import scenario as scenarios
from hypertwin.arguments import asks
from hypertwin.documents import placement as documents
from hypertwin.errors import fail
from hypertwin.members import Cluster
from hypertwin.metrics.words import count, some
from hypertwin.plan.capacity import limits as capacity_limits
from hypertwin.plan.capacity.limits import AskedVm, Limits
from hypertwin.plan.placement import answer, balance, evacuate, fixes, moved, place, policies, steps, texts
from hypertwin.plan.placement.beside import A_GLANCE, Progress
from hypertwin.plan.placement.drop import smallest_drop
from hypertwin.plan.placement.explain import explain, vm_named
from hypertwin.plan.placement.failures import Failures, failures_of
from hypertwin.plan.placement.found import Found
from hypertwin.plan.placement.incumbent import Tell
from hypertwin.plan.placement.judge import Judge, Judged, State, by_ratio, search
from hypertwin.plan.placement.lacking import above_limits
from hypertwin.plan.placement.migrations import Migrations
from hypertwin.plan.placement.options import Balance, Evacuate, Moving, Options, Place
from hypertwin.plan.placement.problem import NOWHERE, Ints, Problem, Rule, holds, problem
from hypertwin.plan.placement.restart import Restarts
from hypertwin.plan.placement.survive import survive
from hypertwin.plan.placement.verdict import verdict
from hypertwin.plan.powered_off import with_off
from hypertwin.results.answers import Document
from hypertwin.runs.runner import Runner, running
from hypertwin.scenario import Given, Scenario
from hypertwin.scenario.overrides import by_path

if TYPE_CHECKING:
    from hypertwin.records.placement import PlanFields
else:  # attributes for type checkers only
    PlanFields = object

_NEW = re.compile(r"(?:\s*([0-9]{1,18})\s*\*)?\s*(\S.*)")
MOST_REMEDIES = 8
"""Maximum number of fixes to try if new VMs have no host."""
MOST_NEW = 10_000
"""Maximum number of new VMs in one plan."""


@dataclass(frozen=True, repr=False)
class Planned(Document[documents.Plan], PlanFields):
    """Plan, with the scenario after the plan."""

    VIEWS: ClassVar[str] = "PLACEMENT"

    moved: Callable[[], str] | None = None
    """Function that returns the YAML of the scenario after the plan, or None without a plan."""


@dataclass(frozen=True)
class _Asked:
    """Parsed and checked request for a cluster."""

    options: Options
    scenario: Scenario
    limits: Limits
    failover: Limits
    problem: Problem
    """Planning problem, including resources and rules of policies, and new VMs."""
    failures: Failures
    policies: dict[str, Any]

    def running(self) -> AbstractContextManager[Runner]:
        """Return the runner of simulations, as selected by options."""
        return running(**self.options.where)

    def judge(self, new: Mapping[str, Mapping[str, Any]] = MappingProxyType({})) -> Judge:
        """Return the judge that verifies objectives by simulation."""
        return Judge(
            self.scenario,
            self.problem,
            self.options.slo or (),
            replications=self.options.replications,
            new=new,
            progress=self.options.progress,
        )

    @property
    def positions(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the hosts of each failure."""
        return tuple(failed for _, failed in self.failures)

    def document(
        self,
        command: answer.Command,
        found: Found | None,
        order: steps.Order | None,
        certificates: Mapping[str, documents.Certificate],
        extras: answer.Extras,
        *,
        feasible: bool | None = None,
    ) -> documents.Plan:
        """Return the plan as a document, with decisions, explanations and commands."""
        after = self.problem.at if found is None else found.place
        if after is not None:
            extras = replace(
                extras,
                explained=[explain(self.problem, after, name, self.positions) for name in self.options.why or ()],
            )
        guesses = _guesses(self.problem, order)
        moving = self.options if isinstance(self.options, Moving) else Moving()
        if guesses and not moving.commands_for_guesses:
            if moving.commands is not None:
                value = f"{count(guesses, 'move')} of VMs whose host is a guess"
                hint = "name hosts in the export; --commands-for-guesses writes them all the same"
                fail("guessed-host", "commands", value, "moves of VMs whose host is known", hint)
            text = f"No commands: the hosts of {count(guesses, 'VM')} to move are guesses (--commands-for-guesses)."
            extras = replace(extras, notes=(*extras.notes, text))
        elif order is not None and any(move["from"] is not None for move in order.moves):
            written = {tool: texts.commands(self.problem, self.scenario, order.moves, tool) for tool in self._tools()}
            extras = replace(extras, commands=written)
        asked = answer.Asked(
            command, self.scenario, self.problem, self.limits, self.failover, self.options.memory_demand
        )
        extras = replace(extras, policies=self.policies)
        return answer.answer(asked, found, order, certificates, feasible=feasible, extras=extras)

    def _tools(self) -> Sequence[str]:
        return tuple(texts.tools(self.problem))


@asks(Options)
def plan_survive(scenario: Given, options: Options) -> Planned:
    """Return the failover check: restart hosts of all VMs after each failure, or VMs that cannot restart and fixes.

    Raises ScenarioError. The path of an option's problem is the name of the option.
    """
    asked = _ask(scenario, options)
    at = asked.problem.at
    survival = survive(asked.problem, asked.scenario, at, asked.failures)
    verified = None
    if asked.options.slo:
        with asked.running():
            judge = asked.judge()
            told = judge.verify({"": State(at), **survival.outcomes})
        verified = {"before": told.pop(""), "after": None, "failures": told}
    helps: Sequence[documents.Fix] = ()
    if not survival.feasible:
        helps = fixes.fixes(asked.problem, at, asked.positions, fixes.survives(at))
    notes = (*_wrong_now(asked.problem), *survival.notes)
    judged = verdict(asked.scenario, asked.problem, at, asked.failover, asked.failures)
    extras = answer.Extras(
        fixes=helps, binding_constraints=survival.binding_constraints, notes=notes, verified=verified, failover=judged
    )
    feasible = survival.feasible and judged["survives"] is not False and _met(verified)
    return Planned(asked.document("survive", None, None, survival.certificates, extras, feasible=feasible))


@asks(Balance)
def plan_balance(scenario: Given, options: Balance) -> Planned:
    """Return the fewest moves until no host exceeds its limits, every rule holds and all failures are tolerated.

    With `goal="min-peak"`, the placement with the lowest peak load.
    """
    asked = _ask(scenario, options)

    def solve(made: Problem) -> Found:
        if options.goal == "moves":
            return balance.fewest_moves(made, asked.positions, tell=_tell(asked))
        return balance.most_level(made, asked.positions, from_nothing=False, tell=_tell(asked))

    return _planned("balance", asked, solve)


@asks(Evacuate)
def plan_evacuate(scenario: Given, options: Evacuate) -> Planned:
    """Return the fewest moves that evacuate a host.

    With `rolling`, hosts are evacuated in turn. VMs return unless `stay` is true.

    The other hosts need not tolerate a failure during the maintenance. The plan reports whether they do.
    """
    asked, host = _ask(scenario, options), options.host
    migrations = Migrations(asked.problem, asked.scenario)
    if (host is None) != options.rolling:
        hint = "name the host to empty" if host is None else "leave out one of the two"
        fail("one-of", "host", host or "nothing given", "a host, or `rolling` for all of them", hint)
    if options.stay and not options.rolling:
        hint = "a host that is emptied once stays empty"
        fail("one-of", "stay", "without `rolling`", "`rolling` and `stay`", hint)
    if host is None:
        done = evacuate.rolling(asked.problem, migrations, asked.failures, back=not options.stay)
    else:
        done = evacuate.evacuate(asked.problem, migrations, evacuate.host_named(asked.problem, host), asked.failures)
    verified = None
    if asked.options.slo and done.found.place is not None:
        with asked.running():
            told = asked.judge().verify({"before": State(asked.problem.at), "after": State(done.order.place)})
        verified = {**told, "failures": {}}
    extras = answer.Extras(notes=done.notes, verified=verified)
    document = asked.document(
        "evacuate", done.found, done.order, done.certificates, extras, feasible=done.feasible and _met(verified)
    )
    return Planned(document, moved=partial(_moved, asked, done.order.place) if document["feasible"] else None)


@asks(Place)
def plan_place(scenario: Given, options: Place) -> Planned:
    """Return the hosts for new VMs, or with `repack` a new placement of all VMs.

    `vm` is a size with an optional count and demand, such as `4x16GiB` or `10*4x16GiBx900MHz`.

    `goal` is `min-peak` for the lowest peak load, or `hosts` for the fewest hosts.
    """
    everything, goal = options.repack, options.goal
    new = _new(options.vm or ())
    if not new and not everything:
        fail("one-of", "vm", "nothing given", "new VMs, or `repack`", "say what to place, such as 10*4x16GiB")
    asked = _ask(scenario, options, new)

    def solve(made: Problem) -> Found:
        if everything and goal == "hosts":
            return place.fewest_hosts(made, asked.positions, tell=_tell(asked))
        if everything:
            return balance.most_level(made, asked.positions, from_nothing=True, tell=_tell(asked))
        done = place.beside(made, asked.positions, fewest=goal == "hosts", progress=_told(asked, "placing VMs"))
        return _with_peak(done, asked.problem)

    if everything:
        return _planned("place", asked, solve, new)
    eased = _eased(asked.problem)
    notes = evacuate.already_wrong(asked.problem, None)
    unsafe = Restarts(asked.problem).first_unsafe(asked.problem.at, asked.positions)
    if unsafe is not None and unsafe.proven:
        failed = " and ".join(eased.hosts[each].name for each in unsafe.failed)
        lost = ", ".join(eased.vms[vm].called for vm, _ in unsafe.cannot_restart[:1])
        why = f"already without new VMs, {lost} {unsafe.verb} if {failed} fails"
        notes.append("Run plan balance first, or place new VMs without failover (--failures 0).")
        found = Found(None, goal, None, None, proven=True, binding_constraints=(why,), partial=eased.at, placeable=0)
        return _partly(asked, found, new, notes, helps=False)
    return _planned("place", replace(asked, problem=eased), solve, new, notes)


def _planned(
    command: answer.Command,
    asked: _Asked,
    solve: Callable[[Problem], Found],
    new: Mapping[str, AskedVm] = MappingProxyType({}),
    notes: Sequence[str] = (),
    wishes: Sequence[Rule] = (),
) -> Planned:
    """Return a plan from a search, verified by simulation if there are objectives, or the reason why no plan exists.

    Should rules become `wishes` if no plan satisfies them.
    """
    verified, ratio, judged_notes, best = None, {}, [*notes], None
    if asked.options.slo:
        with asked.running():
            judge = asked.judge(_entries(asked, new))
            best, tried = search(
                judge, solve, lambda made, at: survive(made, asked.scenario, at, asked.failures).outcomes
            )
            if best is not None:
                before = None if new else judge.verify({"": State(asked.problem.at)})[""]
                verified = {"before": before, "after": best.after, "failures": dict(best.failures)}
                ratio = by_ratio(judge, best)
                judged_notes += _judged(best, tried)
    found = solve(asked.problem) if best is None else best.found
    optional = [rule for rule in asked.problem.rules if not rule.mandatory]
    if found.place is None and optional:
        asked = replace(asked, problem=asked.problem.without_wishes())
        found = solve(asked.problem)  # what is said of it, too, is not the fault of a wish
        if found.place is not None:
            return _planned(command, asked, solve, new, notes, optional)
    if found.place is None and found.partial is not None:
        return _partly(asked, found, new, judged_notes)
    if found.place is None:
        names, proven = smallest_drop(asked.problem, asked.positions)
        found = replace(found, conflict=tuple(names), conflict_proven=proven)
        tried_remedies = fixes.fixes(asked.problem, None, asked.positions, _solve)
        extras = answer.Extras(fixes=tried_remedies, notes=judged_notes)
        return Planned(asked.document(command, found, None, {}, extras, feasible=False))
    order = steps.order(asked.problem, Migrations(asked.problem, asked.scenario), asked.problem.at, found.place)
    whole = replace(asked.problem, rules=(*asked.problem.rules, *wishes))  # a certificate names wishes that do not hold
    survival = survive(whole, asked.scenario, found.place, asked.failures)
    broken = [rule.name for rule in wishes if not holds(rule, found.place)]
    if broken:
        judged_notes.append(f"Should rules that this plan violates: {', '.join(broken)}.")
    extras = answer.Extras(notes=(*judged_notes, *survival.notes), verified=verified, ratio=ratio)
    document = asked.document(
        command, found, order, survival.certificates, extras, feasible=survival.feasible and _met(verified)
    )
    return Planned(document, moved=partial(_moved, asked, found.place, new) if document["feasible"] else None)


def _partly(
    asked: _Asked, found: Found, new: Mapping[str, AskedVm], notes: Sequence[str], *, helps: bool = True
) -> Planned:
    """Return the plan of the new VMs that fit, the shortage of the others, and fixes."""
    made, at = asked.problem, found.partial
    assert at is not None
    missing = np.flatnonzero(at == NOWHERE).tolist()
    lacking = place.lacking(made, at, missing)
    tried: Sequence[documents.Fix] = ()
    if helps:
        tried = fixes.fixes(made, None, asked.positions, _has_room, most=MOST_REMEDIES)
    asked = replace(asked, problem=made.without_vms(missing))
    at = np.delete(at, missing)
    kept = {name: vm for name, vm in new.items() if name not in lacking}
    order = steps.order(asked.problem, Migrations(asked.problem, asked.scenario), asked.problem.at, at)
    survival = survive(asked.problem, asked.scenario, at, asked.failures)
    extras = answer.Extras(fixes=tried, notes=(*notes, *survival.notes), not_placed=lacking)
    document = asked.document("place", replace(found, place=at), order, survival.certificates, extras, feasible=False)
    return Planned(document, moved=partial(_moved, asked, at, kept) if kept else None)


def _tell(asked: _Asked) -> Tell | None:
    """Report the progress of a search: its incumbent and bound."""
    progress = asked.options.progress
    return None if progress is None else lambda text: progress(f"best so far: {text}", 0, 0)


def _told(asked: _Asked, label: str) -> Progress | None:
    """Return the progress of a search."""
    progress = asked.options.progress
    return None if progress is None else partial(progress, label)


def _guesses(made: Problem, order: steps.Order | None) -> int:
    """Return the moves of VMs whose current host is a guess."""
    guessed = {vm.name for vm in made.vms if vm.host_is_guess}
    return sum(move["vm"] in guessed for move in order.moves) if order is not None else 0


def _wrong_now(made: Problem) -> list[str]:
    """Return the existing violations: hosts above their limits, VMs on wrong hosts, violated rules."""
    full = above_limits(made, made.at)
    astray = [made.vms[vm].called for vm in np.flatnonzero(~made.fits[np.arange(len(made.at)), made.at])]
    rules = [rule.policy or rule.name for rule in made.rules if not holds(rule, made.at)]
    return [
        f"{what}: {some(names)}."
        for what, names in (
            ("Already above its limits", full),
            ("On hosts that cannot run them", astray),
            ("Already violated", rules),
        )
        if names
    ]


def _eased(made: Problem) -> Problem:
    """Return the problem with existing violations allowed: higher limits for hosts above them, no violated rules.

    Violated must rules still hold for VMs that restart.
    """
    loads = made.loads(made.at)
    return replace(
        made,
        rooms=np.maximum(made.rooms, loads),
        failover=np.maximum(made.failover, loads),
        rules=tuple(rule for rule in made.rules if holds(rule, made.at)),
        violated=tuple(rule for rule in made.rules if rule.mandatory and not holds(rule, made.at)),
    )


def _with_peak(found: Found, made: Problem) -> Found:
    """Return a result with its peak load as a fraction of the real limits. Running VMs stay, so their peak is a bound.

    The search gives hosts above their limits just the room that they use.
    """
    if found.place is None or found.objective != "min-peak":
        return found
    value, now = (float(made.fullness(at).max(initial=0.0)) for at in (found.place, made.at))
    bound = max(found.bound or 0.0, now)
    return replace(found, value=value, bound=min(bound, value), proven=value <= bound * balance.AS_GOOD)


def _judged(best: Judged, tried: Sequence[Judged]) -> list[str]:
    """Return the result of the verification by simulation, in words."""
    if len(tried) == 1 and best.meets:
        return []
    lowered = ", ".join(f"{name} to {100 * part:.0f} %" for name, part in best.lowered.items())
    told = [f"Simulated {len(tried)} plans; limits lowered for this one: {lowered or 'none'}."]
    if not best.meets:
        states = sorted({state or "without a failure" for state, _ in best.missing})
        told.append(f"No simulated plan meets all objectives. This one misses in: {', '.join(states[:5])}.")
    return told


def _met(verified: Mapping[str, Any] | None) -> bool:
    """True if all states of a plan meet the objectives. The state before the plan counts only without other states."""
    if verified is None:
        return True
    states = [verified["after"] or verified["before"], *verified["failures"].values()]
    return all(each is None or each["meets"] for each in states)


def _solve(changed: Problem, failures: Sequence[tuple[int, ...]]) -> bool:
    """True if a placement of all VMs exists after the change."""
    return balance.most_level(changed, failures, from_nothing=False).place is not None


def _has_room(changed: Problem, failures: Sequence[tuple[int, ...]]) -> bool:
    """True if the new VMs fit after the change while all other VMs stay on their hosts."""
    return place.beside(changed, failures, work=A_GLANCE).place is not None


def _moved(asked: _Asked, where: Ints, new: Mapping[str, AskedVm] = MappingProxyType({})) -> str:
    """Return the scenario with the VMs of a placement, as YAML."""
    hosts = moved.hosts_of(asked.problem, where)
    work = {host.name: host.work_per_cycle for host in asked.problem.hosts}
    entries = {
        name: {**moved.scaled(entry, 1 / work[hosts[name]]), "host": hosts[name]}
        for name, entry in _entries(asked, new).items()
    }
    return moved.moved(asked.scenario, hosts, new=entries, comment="The cluster after a plan.")[0]


def _entries(asked: _Asked, new: Mapping[str, AskedVm]) -> dict[str, dict[str, Any]]:
    """Return new VMs as entries of `vms`. Their workload is the most common workload."""
    groups = Counter(vm.group for vm in asked.scenario.inventory.vms)
    usual: Counter[str] = Counter()
    for group, many in groups.items():
        usual[asked.scenario.data["vms"][group]["workload"]] += many
    known = sorted(asked.scenario.data["workloads"])
    if new and not known:
        fail("missing-key", "workloads", "(missing)", "a workload that new VMs run", "add one to the scenario")
    workload = min(usual, key=lambda name: (-usual[name], name), default=next(iter(known), None))
    entries: dict[str, dict[str, Any]] = {}
    sizes = dict(zip((vm.name for vm in asked.problem.vms), asked.problem.sizes.tolist(), strict=True))
    for name, vm in new.items():
        entries[name] = {"vcpus": vm.vcpus, "memory": f"{vm.memory_bytes} B", "workload": workload}
        if "cpu" in asked.problem.resources:
            mhz = sizes[name][asked.problem.resources.index("cpu")] / (1 + asked.problem.own_cpu)
            entries[name]["measured"] = dict.fromkeys(("cpu_mhz", "cpu_p95_mhz", "cpu_peak_mhz"), round(mhz, 3))
    return entries


def _ask(path: Given, options: Options, new: Mapping[str, AskedVm] = MappingProxyType({})) -> _Asked:
    """Parse and check the request."""
    scenario = scenarios.load(path, by_path(options.overrides))
    settings = options.settings
    scenario.with_overrides(settings)  # refused here; replications are the judge's alone
    scenario = scenario.with_overrides({path: value for path, value in settings.items() if path != "run.replications"})
    if options.with_off:
        scenario = with_off(scenario)
    cluster = _cluster(scenario, options.cluster)
    limits = capacity_limits.of_options(options)
    after = _percentages(options)
    failover = replace(limits, cpu=after.get("cpu", limits.cpu), memory=after.get("memory", limits.memory))
    made = problem(scenario, cluster, limits, failover=failover, memory=options.memory_demand)
    if new:
        made = place.with_new(made, _unlike(new, made))
    made, said = policies.apply(made, scenario, _switched(options.policy), options.without_policy or ())
    for name in options.why or ():
        vm_named(made, name)  # refused here, whatever comes of the plan
    commands = options.commands if isinstance(options, Moving) else None
    if commands is not None and commands not in texts.tools(made):
        known = ", ".join(texts.tools(made)) or "none"
        fail("unknown-value", "commands", commands, f"one of {known}", "others move VMs of other hypervisors")
    bears = said["failover-room"]["on"]
    failures = failures_of(scenario, made, options.failures if bears else 0, options.domain or ())
    return _Asked(options, scenario, limits, failover, made, failures, said)


def _cluster(scenario: Scenario, name: str | None) -> Cluster:
    """Return the cluster to plan, either the named or the only cluster."""
    clusters = scenario.inventory.clusters
    if name is None and len(clusters) > 1:
        names = ", ".join(each.name for each in clusters)
        fail("one-of", "cluster", "nothing given", names, "plan one cluster at a time: name it")
    if name is None:
        return clusters[0]
    return scenario.inventory.cluster[capacity_limits.cluster_named(name, scenario.inventory.cluster_labels)]


def _percentages(options: Options) -> dict[str, float]:
    """Return the limits that differ after host failures."""
    found: dict[str, float] = {}
    for path, limit in (("failover_cpu", "cpu"), ("failover_memory", "memory")):
        given = getattr(options, path)
        if given is not None:
            try:
                found[limit] = capacity_limits.percent(given)
            except ValueError as error:
                fail("bad-quantity", path, str(given), str(error), "leave it out for the same as before a failure")
    return found


def _switched(policy: Sequence[str] | None) -> dict[str, Sequence[str] | None]:
    """Return the policies to enable with their arguments: `storage-first=15%`, `one-vcpu-per-core=db*,erp`."""
    found: dict[str, Sequence[str] | None] = {}
    for text in policy or ():
        name, equals, value = text.partition("=")
        found[name.strip()] = [part.strip() for part in value.split(",") if part.strip()] if equals else None
    return found


def _new(texts: Sequence[str]) -> dict[str, AskedVm]:
    """Return the new VMs by name: `new-1`, `new-2` and so on."""
    found: dict[str, AskedVm] = {}
    for text in texts:
        form = _NEW.fullmatch(text)
        many = int(form[1] or 1) if form else 0
        try:
            asked = capacity_limits.vm(form[2] if form else text)
            if not 1 <= many <= MOST_NEW - len(found):
                raise ValueError(f"1 to {MOST_NEW:,} new VMs in all")
        except ValueError as error:
            fail("bad-quantity", "vm", text, str(error), "write 4x16GiB, or 10*4x16GiB for ten such VMs")
        found.update({f"new-{len(found) + each}": asked for each in range(1, many + 1)})
    return found


def _unlike(new: Mapping[str, AskedVm], made: Problem) -> Mapping[str, AskedVm]:
    """Return the new VMs. Raises an error if an existing VM has the same name."""
    taken = sorted({vm.name for vm in made.vms} & new.keys())
    if taken:
        fail("duplicate-name", f"vms.{taken[0]}", taken[0], "names other than new-1, new-2 ...", "rename it")
    return new
