"""`hypertwin plan`: what survives a failure, and where VMs go: to balance, to empty a host, from nothing."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hypertwin import writing
from hypertwin.cli import options, output, progress, streams
from hypertwin.cli.commands import App, Input, typed
from hypertwin.cli.vnuma import of_option
from hypertwin.errors import ScenarioError
from hypertwin.extras import needs
from hypertwin.plan.placement.options import Options
from hypertwin.report import conditions, placement, registry

app = App(
    "Plan where VMs go: what survives a failure, balance, empty hosts, new VMs; with proof, and the twin as judge."
)


class Goal(enum.StrEnum):
    """What a plan seeks."""

    hosts = "hosts"
    fullest = "fullest"


class Gain(enum.StrEnum):
    """What balancing seeks."""

    moves = "moves"
    fullest = "fullest"


class Tool(enum.StrEnum):
    """For what moves are written as text to paste."""

    powercli = "powercli"
    govc = "govc"
    virsh = "virsh"
    qm = "qm"
    ansible = "ansible"


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
Commands = Annotated[Tool | None, typer.Option(help="Print the moves as text to paste as well.")]
ForGuesses = Annotated[
    bool,
    typer.Option("--commands-for-guesses", help="Write commands for VMs whose host is a guess, too."),
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
    runs: options.Runs,
    where: options.Where,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Say for each failure where every VM restarts, or which one fits nowhere, what it lacks and what would help."""
    _plan("plan_survive", path, (asked, runs, where), {}, _Shown(form, report, fail_on))


@app.command(
    examples=[
        "hypertwin plan balance cluster.yaml -o plan.yaml",
        "hypertwin plan balance cluster.yaml --goal fullest --commands govc",
    ]
)
def balance(
    path: Cluster,
    *,
    goal: Annotated[
        Gain, typer.Option(help="Fewest moves until limits and rules hold, or the lowest fullest host.")
    ] = Gain.moves,
    asked: Options,
    runs: options.Runs,
    where: options.Where,
    commands: Commands = None,
    commands_for_guesses: ForGuesses = False,
    out: Scenario = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Find the fewest moves until no host is above its limits, every rule holds and any host may fail."""
    _plan(
        "plan_balance",
        path,
        (asked, runs, where),
        {"goal": goal, "commands_for_guesses": commands_for_guesses},
        _Shown(form, report, fail_on, out, commands),
    )


@app.command(
    examples=[
        "hypertwin plan evacuate cluster.yaml esx-2 --commands powercli",
        "hypertwin plan evacuate cluster.yaml --rolling --report patching.html",
    ]
)
def evacuate(
    path: Cluster,
    *,
    host: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The host to empty.")] = None,
    rolling: Annotated[
        bool, typer.Option("--rolling", help="Empty one host after another, all of the cluster.")
    ] = False,
    stay: Annotated[
        bool, typer.Option("--stay", help="With --rolling: VMs stay where they went, instead of going back.")
    ] = False,
    asked: Options,
    runs: options.Runs,
    where: options.Where,
    commands: Commands = None,
    commands_for_guesses: ForGuesses = False,
    out: Scenario = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Empty a host with the fewest moves, or all hosts one after another, with the way back."""
    _plan(
        "plan_evacuate",
        path,
        (asked, runs, where),
        {"host": host, "rolling": rolling, "stay": stay, "commands_for_guesses": commands_for_guesses},
        _Shown(form, report, fail_on, out, commands),
    )


@app.command(
    examples=[
        "hypertwin plan place cluster.yaml --vm 10*4x16GiB",
        "hypertwin plan place cluster.yaml --everything --goal hosts --format json",
    ]
)
def place(
    path: Cluster,
    *,
    vm: Annotated[
        list[str] | None,
        typer.Option(metavar="[COUNT*]4x16GiB[x900MHz]", help="New VMs to place; repeatable."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="Place all VMs from nothing, wherever they are now.")
    ] = False,
    goal: Annotated[Goal, typer.Option(help="Fewest hosts, or the lowest fullest host.")] = Goal.fullest,
    asked: Options,
    runs: options.Runs,
    where: options.Where,
    commands: Commands = None,
    commands_for_guesses: ForGuesses = False,
    out: Scenario = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Place new VMs beside those that there are, or all from nothing, so that any host may fail."""
    _plan(
        "plan_place",
        path,
        (asked, runs, where),
        {"vm": vm, "everything": everything, "goal": goal, "commands_for_guesses": commands_for_guesses},
        _Shown(form, report, fail_on, out, commands),
    )


@dataclass(frozen=True)
class _Shown:
    """How a plan is shown, and where it is written."""

    form: output.Format | None
    report: Path | None
    fail_on: list[FailOn] | None
    out: Path | None = None
    commands: Tool | None = None


def _plan(
    name: str, path: str, said: tuple[Options, options.Runs, options.Where], own: Mapping[str, Any], shown: _Shown
) -> None:
    """Make a plan, show it, and end with 1 where there is none."""
    needs("plan", "hypertwin plan")
    from hypertwin.plan.placement import planning

    asked, runs, where = said
    if str(shown.out) == "-" and shown.form is not None:
        raise output.UsageError("-o - prints the scenario in place of the plan, whose form --format is: leave one out")
    if FailOn.slo in (shown.fail_on or ()) and not asked.slo:
        raise output.UsageError("--fail-on slo is of the objectives of --slo: add one, or leave it out")
    writing.check_writable(output.file_of(shown.out), page=shown.report)
    writing.check_ending(output.file_of(shown.out), (".yaml", ".yml"), "a scenario is YAML")
    plan: Callable[..., planning.Planned] = getattr(planning, name)
    given = {key: value.value if isinstance(value, enum.Enum) else value for key, value in own.items()}
    tool = shown.commands.value if shown.commands else None
    asked = replace(asked, commands=tool, **runs.arguments(), **where.arguments())
    try:
        with progress.labelled_bar() as update:
            found = plan(path, **{**vars(asked), **given, "progress": update})
    except ScenarioError as error:
        raise ScenarioError.of(
            replace(each, path="NAME")
            if each.path == "host"
            else of_option(each)
            if each.path in typed() and not each.file
            else each
            for each in error.mistakes
        ) from None
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
        streams.warn(placement.failure(document))
        raise typer.Exit(1)
    output.fail_on(conditions.PLACEMENT, shown.fail_on or (), document)
