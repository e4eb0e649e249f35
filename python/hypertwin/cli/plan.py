"""`hypertwin plan`: failover, balance, evacuation and placement of VMs, and replacement of hosts."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hypertwin import scenario as scenarios
from hypertwin.cli import mistakes, options, output, progress, streams
from hypertwin.cli.commands import App
from hypertwin.errors import fail
from hypertwin.extras import needs
from hypertwin.files import writing
from hypertwin.plan.moving.options import Move
from hypertwin.plan.placement.options import Balance, Evacuate, Moving, Options, Place
from hypertwin.plan.refresh.options import Refresh
from hypertwin.scenario import Scenario
from hypertwin.scenario.overrides import by_path
from hypertwin.show import conditions, placement, registry
from hypertwin.show import move as moves

if TYPE_CHECKING:
    from hypertwin.plan.placement import planning

app = App("Plan VM placement and new hosts: failover, balance, maintenance, refresh; with proof and simulation.")

FailOn = enum.StrEnum("FailOn", ["moves", "unproven", "slo"])
"""Conditions that fail a plan."""


Failing = Annotated[
    list[FailOn] | None,
    typer.Option(
        "--fail-on",
        metavar="CONDITION",
        help="Exit with 1 if: VMs have to move (moves); the plan is not proven optimal (unproven); the simulation "
        "misses an objective of --slo (slo). Repeatable.",
    ),
]
PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="PLAN.yaml",
        help="Write the scenario after the plan; - for stdout, instead of the plan.",
    ),
]


@app.command(
    examples=[
        "hypertwin plan survive cluster.yaml --report survive.html",
        "hypertwin plan survive cluster.yaml --failures 2 --slo 'ready_pct<5'",
    ]
)
def survive(
    path: options.Cluster,
    *,
    asked: Options,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Check each host failure: restarts, VMs that cannot restart, shortages and fixes."""
    _plan("plan_survive", path, asked, _Shown(form, report, fail_on))


@app.command(
    examples=[
        "hypertwin plan balance cluster.yaml -o plan.yaml",
        "hypertwin plan balance cluster.yaml --goal min-peak --commands govc",
    ]
)
def balance(
    path: options.Cluster,
    *,
    asked: Balance,
    out: PlanFile = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Find the fewest moves to bring hosts within limits, meet all rules and tolerate host failures."""
    _plan("plan_balance", path, asked, _Shown(form, report, fail_on, out))


@app.command(
    examples=[
        "hypertwin plan evacuate cluster.yaml esx-2 --commands powercli",
        "hypertwin plan evacuate cluster.yaml --rolling --report patching.html",
    ]
)
def evacuate(
    path: options.Cluster,
    *,
    asked: Evacuate,
    out: PlanFile = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Evacuate a host for maintenance with the fewest moves, or all hosts in turn (rolling maintenance)."""
    _plan("plan_evacuate", path, asked, _Shown(form, report, fail_on, out))


@app.command(
    examples=[
        "hypertwin plan place cluster.yaml --vm 10*4x16GiB",
        "hypertwin plan place cluster.yaml --repack --goal hosts --format json",
    ]
)
def place(
    path: options.Cluster,
    *,
    asked: Place,
    out: PlanFile = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Place new VMs, or repack all, with N-1 failover."""
    _plan("plan_place", path, asked, _Shown(form, report, fail_on, out))


RefreshFailOn = enum.StrEnum("RefreshFailOn", ["slower", "unproven", "unpriced"])
"""Conditions that fail a refresh."""


@app.command(
    examples=[
        "hypertwin plan refresh cluster.yaml --host-type r760.yaml --growth 20% --report hosts.html",
        "hypertwin plan refresh cluster.yaml --host-type r760.yaml --prices prices.yaml -o hosts.xlsx",
    ]
)
def refresh(
    path: options.Cluster,
    *,
    asked: Refresh,
    best: Annotated[
        Path | None,
        typer.Option(metavar="PLAN.yaml", help="Write the scenario of the best candidate (of one cluster)."),
    ] = None,
    fail_on: Annotated[
        list[RefreshFailOn] | None,
        typer.Option(
            "--fail-on",
            metavar="CONDITION",
            help="Exit with 1 if the best candidate: is slower than now (slower); might need fewer hosts (unproven); "
            "has costs without a price (unpriced). Repeatable.",
        ),
    ] = None,
    form: options.Form = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Find hosts that replace the present ones: how many of each type, cost, energy, and whether they are as fast."""
    needs("plan", "hypertwin plan")
    from hypertwin.plan.refresh.answer import plan_refresh  # numpy takes longer than the help

    output.check(registry.REFRESH, form, out, report)
    writing.check_writable(output.file_of(best))
    writing.check_ending(output.file_of(best), (".yaml", ".yml"), "a scenario is YAML")
    with mistakes.as_typed(), progress.labelled_bar() as update:
        found = plan_refresh(path, **vars(replace(asked, progress=update)))
    document = found.document
    made = found.scenarios.get(document["best"] or "")
    if best is not None and made is not None:
        output.write_file(output.file_of(best), made)
    elif best is not None:
        streams.warn(f"{best} was not written: {'no candidate' if document['best'] is None else 'several clusters'}")
    output.show(registry.REFRESH, document, form, out, report)
    if document["best"] is None:
        raise typer.Exit(1)
    output.fail_on(conditions.REFRESH, fail_on or (), document)


@app.command(
    examples=[
        "hypertwin plan move cluster.yaml --to proxmox --reuse-hosts --report move.html",
        "hypertwin plan move cluster.yaml --to openshift --target target.yaml --network '10 Gb/s' -o move.xlsx",
    ]
)
def move(
    path: options.Cluster,
    *,
    asked: Move,
    form: options.Form = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Move VMs off ESXi: what blocks each VM, what it becomes, waves, times, and how fast it is afterwards."""
    needs("plan", "hypertwin plan")
    from hypertwin.plan.moving.answer import plan_move  # numpy takes longer than the help

    output.check(registry.MOVE, form, out, report)
    with mistakes.as_typed(), progress.labelled_bar() as update:
        document = plan_move(path, **vars(replace(asked, progress=update))).document
    output.show(registry.MOVE, document, form, out, report)
    failing = moves.failure(document)
    if failing:
        if form not in (None, output.Format.table):  # a table begins with it
            streams.warn(failing)
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Shown:
    """Output options of a plan."""

    form: output.Format | None
    report: Path | None
    fail_on: list[FailOn] | None
    out: Path | None = None


def _plan(name: str, path: str, asked: Options, shown: _Shown) -> None:
    """Make a plan for each cluster, show it, and exit with 1 if one has no plan."""
    needs("plan", "hypertwin plan")
    from hypertwin.plan.placement import planning  # numpy takes longer than the help

    if str(shown.out) == "-" and shown.form is not None:
        raise output.UsageError(
            "-o - prints the scenario instead of the plan, so --format has no effect: leave one out"
        )
    if FailOn.slo in (shown.fail_on or ()) and not asked.slo:
        raise output.UsageError("--fail-on slo needs an objective: add --slo, or leave it out")
    writing.check_writable(output.file_of(shown.out), page=shown.report)
    writing.check_ending(output.file_of(shown.out), (".yaml", ".yml"), "a scenario is YAML")
    plan: Callable[..., planning.Planned] = getattr(planning, name)
    with mistakes.as_typed():
        given, clusters = _clusters(path, asked, shown)
    answers = []
    for place, each in enumerate(clusters):
        streams.write("\n" if place else "")
        answers.append(_one(plan, given, replace(asked, cluster=each), shown))
    if not all(answers):
        raise typer.Exit(1)


def _clusters(path: str, asked: Options, shown: _Shown) -> tuple[Scenario, Sequence[str | None]]:
    """Return the scenario, and the clusters to plan in turn. Raises ScenarioError if a cluster must be chosen."""
    given = scenarios.load(path, by_path(asked.overrides))
    known = [each.name for each in given.inventory.clusters]
    if asked.cluster is not None or len(known) < 2:
        return given, [asked.cluster]
    if isinstance(asked, Evacuate) and asked.host is not None:
        labels = {name: host.cluster for host in given.inventory.hosts for name in (host.name, host.label)}
        if asked.host in labels:
            return given, [labels[asked.host]]
    new = isinstance(asked, Place) and not asked.repack
    one_file = shown.report is not None or shown.out is not None or shown.form not in (None, output.Format.table)
    if new or one_file:
        fail(
            "one-of",
            "cluster",
            f"{len(known)} clusters in {path}",
            "",
            f"choose one with --cluster ({', '.join(known)})",
        )
    return given, known


def _one(plan: Callable[..., planning.Planned], given: Scenario, asked: Options, shown: _Shown) -> bool:
    """Plan one cluster and show the plan. Return true if the plan meets all requirements."""
    tool = asked.commands if isinstance(asked, Moving) else None
    with mistakes.as_typed(), progress.labelled_bar() as update:
        found = plan(given, **vars(replace(asked, progress=update)))
    document = found.document
    pasted = document["commands"].get(tool, "") if tool else ""
    if shown.out is not None and found.moved is None:
        streams.warn(f"{shown.out} was not written: {placement.unwritten(document)}")
    elif found.moved is not None:
        output.write_file(output.file_of(shown.out), found.moved)
    if str(shown.out) == "-":
        output.write_page(registry.PLACEMENT, document, shown.report)
        streams.write(found.moved() if found.moved else "")
    else:
        output.show(registry.PLACEMENT, document, shown.form, report=shown.report, more=pasted)
    if not document["feasible"]:
        if shown.form not in (None, output.Format.table) or str(shown.out) == "-":  # a table begins with it
            streams.warn(placement.failure(document))
        return False
    return not output.held(conditions.PLACEMENT, shown.fail_on or (), document)
