"""`hypertwin plan`: what survives a failure, and where VMs go: to balance, to empty a host, from nothing."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from hypertwin import writing
from hypertwin.cli import mistakes, options, output, progress, streams
from hypertwin.cli.commands import App, Input
from hypertwin.extras import needs
from hypertwin.plan.placement.options import Balance, Evacuate, Moving, Options, Place
from hypertwin.report import conditions, placement, registry

app = App(
    "Plan where VMs go: what survives a failure, balance, empty hosts, new VMs; with proof, and the twin as judge."
)


class FailOn(enum.StrEnum):
    """What may be wrong with a plan."""

    moves = "moves"
    unproven = "unproven"
    slo = "slo"


Cluster = Annotated[
    str,
    Input(options.scenario_files),
    typer.Argument(metavar="CLUSTER.yaml", help="A scenario, such as `hypertwin import` writes; - for stdin."),
]
Failing = Annotated[
    list[FailOn] | None,
    typer.Option(
        "--fail-on",
        metavar="CONDITION",
        help="Exit with 1, as without a plan, if: VMs are to move (moves); it is not proven that none is better "
        "(unproven); the twin misses an objective of --slo (slo). Repeatable.",
    ),
]
Scenario = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="PLAN.yaml",
        help="Write the scenario with the VMs where the plan puts them; - for stdout, in place of the plan.",
    ),
]


@app.command(
    examples=[
        "hypertwin plan survive cluster.yaml --report survive.html",
        "hypertwin plan survive cluster.yaml --failures 2 --slo 'ready_pct<5'",
    ]
)
def survive(
    path: Cluster,
    *,
    asked: Options,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Say for each failure where every VM restarts, or which one fits nowhere, what it lacks and what would help."""
    _plan("plan_survive", path, asked, _Shown(form, report, fail_on))


@app.command(
    examples=[
        "hypertwin plan balance cluster.yaml -o plan.yaml",
        "hypertwin plan balance cluster.yaml --goal min-peak --commands govc",
    ]
)
def balance(
    path: Cluster,
    *,
    asked: Balance,
    out: Scenario = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Find the fewest moves until no host is above its limits, every rule holds and any host may fail."""
    _plan("plan_balance", path, asked, _Shown(form, report, fail_on, out))


@app.command(
    examples=[
        "hypertwin plan evacuate cluster.yaml esx-2 --commands powercli",
        "hypertwin plan evacuate cluster.yaml --rolling --report patching.html",
    ]
)
def evacuate(
    path: Cluster,
    *,
    asked: Evacuate,
    out: Scenario = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Empty a host with the fewest moves, or all hosts one after another, with the way back."""
    _plan("plan_evacuate", path, asked, _Shown(form, report, fail_on, out))


@app.command(
    examples=[
        "hypertwin plan place cluster.yaml --vm 10*4x16GiB",
        "hypertwin plan place cluster.yaml --repack --goal hosts --format json",
    ]
)
def place(
    path: Cluster,
    *,
    asked: Place,
    out: Scenario = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Place new VMs beside those that there are, or all from nothing, so that any host may fail."""
    _plan("plan_place", path, asked, _Shown(form, report, fail_on, out))


@dataclass(frozen=True)
class _Shown:
    """How a plan is shown, and where it is written."""

    form: output.Format | None
    report: Path | None
    fail_on: list[FailOn] | None
    out: Path | None = None


def _plan(name: str, path: str, asked: Options, shown: _Shown) -> None:
    """Make a plan, show it, and end with 1 where there is none."""
    needs("plan", "hypertwin plan")
    from hypertwin.plan.placement import planning

    if str(shown.out) == "-" and shown.form is not None:
        raise output.UsageError("-o - prints the scenario in place of the plan, whose form --format is: leave one out")
    if FailOn.slo in (shown.fail_on or ()) and not asked.slo:
        raise output.UsageError("--fail-on slo is of the objectives of --slo: add one, or leave it out")
    writing.check_writable(output.file_of(shown.out), page=shown.report)
    writing.check_ending(output.file_of(shown.out), (".yaml", ".yml"), "a scenario is YAML")
    plan: Callable[..., planning.Planned] = getattr(planning, name)
    tool = asked.commands if isinstance(asked, Moving) else None
    with mistakes.as_typed(), progress.labelled_bar() as update:
        found = plan(path, **vars(replace(asked, progress=update)))
    document = found.document
    pasted = document["commands"].get(tool, "") if tool else ""
    if shown.out is not None and found.moved is None:
        streams.warn(f"{shown.out} was not written: there is no plan")
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
        raise typer.Exit(1)
    output.fail_on(conditions.PLACEMENT, shown.fail_on or (), document)
