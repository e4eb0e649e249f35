"""`hypertwin plan`: what survives a failure, and where VMs go: to balance, to empty a host, from nothing."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hypertwin import scenario, writing
from hypertwin.cli import options, output, progress, streams
from hypertwin.cli.capacity import Demand
from hypertwin.cli.commands import App, Input
from hypertwin.cli.vnuma import of_option
from hypertwin.errors import ScenarioError
from hypertwin.extras import needs
from hypertwin.report import conditions, registry
from hypertwin.report import placement as shown

app = App(
    "Plan where VMs go: what survives a failure, balance, empty hosts, new VMs; with proof, and the twin as judge."
)


class Memory(enum.StrEnum):
    """Which memory of a VM counts."""

    configured = "configured"
    consumed = "consumed"


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
Failures = Annotated[
    int,
    typer.Option(
        metavar="N", min=0, max=64, help="Hosts that may fail together: every host, and every set of so many, is tried."
    ),
]
Domain = Annotated[
    list[str] | None,
    typer.Option(metavar="POOL", help="Also the failure of each rack or site of this pool of storage; repeatable."),
]
Cpu = Annotated[str, typer.Option(metavar="P%", help="CPU of a host that may be used.")]
MemoryLimit = Annotated[str, typer.Option("--memory", metavar="P%", help="Memory of a host that may be used.")]
Ratio = Annotated[float | None, typer.Option(metavar="R", help="vCPUs that a core may have (default: no limit).")]
FailoverCpu = Annotated[
    str | None, typer.Option(metavar="P%", help="CPU that may be used while hosts have failed (default: as --cpu).")
]
FailoverMemory = Annotated[
    str | None,
    typer.Option(metavar="P%", help="Memory that may be used while hosts have failed (default: as --memory)."),
]
Wanted = Annotated[Demand, typer.Option(help="Which demand of CPU counts, where it was measured.")]
MemoryDemand = Annotated[Memory, typer.Option(help="Which memory of a VM counts.")]


def _policies() -> Iterable[str]:
    from hypertwin.plan.placement.policies import POLICIES  # numpy takes longer than the help

    return POLICIES


OnlyCluster = Annotated[
    str | None, typer.Option(metavar="NAME", help="The cluster to plan, of a scenario with several.")
]
Policy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[=VALUE]",
        help="Switch a policy on, or give it a value; repeatable.",
        autocompletion=options.offered(_policies),
    ),
]
WithoutPolicy = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Switch a policy off; repeatable.", autocompletion=options.offered(_policies)),
]
Slo = Annotated[
    list[str] | None,
    typer.Option(
        metavar="METRIC<NUMBER",
        help="What must hold in the twin before, after and in every failure, e.g. 'ready_pct<5'; repeatable.",
    ),
]
Explain = Annotated[
    list[str] | None, typer.Option(metavar="VM", help="Say why this VM goes where it goes; repeatable.")
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
WithOff = Annotated[bool, typer.Option("--with-off", help="Count VMs that are off as if they ran.")]
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
    failures: Failures = 1,
    domain: Domain = None,
    cpu: Cpu = "80%",
    memory: MemoryLimit = "90%",
    ratio: Ratio = None,
    failover_cpu: FailoverCpu = None,
    failover_memory: FailoverMemory = None,
    demand: Wanted = Demand.p95,
    memory_demand: MemoryDemand = Memory.configured,
    with_off: WithOff = False,
    cluster: OnlyCluster = None,
    policy: Policy = None,
    without_policy: WithoutPolicy = None,
    slo: Slo = None,
    explain: Explain = None,
    sets: options.Sets = None,
    replications: options.Replications = None,
    duration: options.Duration = None,
    jobs: options.Jobs = None,
    store: options.Store = None,
    on: options.On = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Say for each failure where every VM restarts, or which one fits nowhere, what it lacks and what would help."""
    _plan("plan_survive", dict(locals()))


@app.command(
    examples=[
        "hypertwin plan balance cluster.yaml -o plan.yaml",
        "hypertwin plan balance cluster.yaml --goal fullest --commands govc",
    ]
)
def balance(
    path: Cluster,
    goal: Annotated[
        Gain, typer.Option(help="Fewest moves until limits and rules hold, or the lowest fullest host.")
    ] = Gain.moves,
    failures: Failures = 1,
    domain: Domain = None,
    cpu: Cpu = "80%",
    memory: MemoryLimit = "90%",
    ratio: Ratio = None,
    failover_cpu: FailoverCpu = None,
    failover_memory: FailoverMemory = None,
    demand: Wanted = Demand.p95,
    memory_demand: MemoryDemand = Memory.configured,
    with_off: WithOff = False,
    cluster: OnlyCluster = None,
    policy: Policy = None,
    without_policy: WithoutPolicy = None,
    slo: Slo = None,
    explain: Explain = None,
    sets: options.Sets = None,
    replications: options.Replications = None,
    duration: options.Duration = None,
    jobs: options.Jobs = None,
    store: options.Store = None,
    on: options.On = None,
    commands: Commands = None,
    commands_for_guesses: ForGuesses = False,
    out: Scenario = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Find the fewest moves until no host is above its limits, every rule holds and any host may fail."""
    _plan("plan_balance", dict(locals()))


@app.command(
    examples=[
        "hypertwin plan evacuate cluster.yaml esx-2 --commands powercli",
        "hypertwin plan evacuate cluster.yaml --rolling --report patching.html",
    ]
)
def evacuate(
    path: Cluster,
    host: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The host to empty.")] = None,
    rolling: Annotated[
        bool, typer.Option("--rolling", help="Empty one host after another, all of the cluster.")
    ] = False,
    stay: Annotated[
        bool, typer.Option("--stay", help="With --rolling: VMs stay where they went, instead of going back.")
    ] = False,
    failures: Failures = 1,
    cpu: Cpu = "80%",
    memory: MemoryLimit = "90%",
    ratio: Ratio = None,
    failover_cpu: FailoverCpu = None,
    failover_memory: FailoverMemory = None,
    demand: Wanted = Demand.p95,
    memory_demand: MemoryDemand = Memory.configured,
    with_off: WithOff = False,
    cluster: OnlyCluster = None,
    policy: Policy = None,
    without_policy: WithoutPolicy = None,
    slo: Slo = None,
    explain: Explain = None,
    sets: options.Sets = None,
    replications: options.Replications = None,
    duration: options.Duration = None,
    jobs: options.Jobs = None,
    store: options.Store = None,
    on: options.On = None,
    commands: Commands = None,
    commands_for_guesses: ForGuesses = False,
    out: Scenario = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Empty a host with the fewest moves, or all hosts one after another, with the way back."""
    _plan("plan_evacuate", dict(locals()))


@app.command(
    examples=[
        "hypertwin plan place cluster.yaml --vm 10*4x16GiB",
        "hypertwin plan place cluster.yaml --everything --goal hosts --format json",
    ]
)
def place(
    path: Cluster,
    vm: Annotated[
        list[str] | None,
        typer.Option(metavar="[COUNT*]4x16GiB[x900MHz]", help="New VMs to place; repeatable."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="Place all VMs from nothing, wherever they are now.")
    ] = False,
    goal: Annotated[Goal, typer.Option(help="Fewest hosts, or the lowest fullest host.")] = Goal.fullest,
    failures: Failures = 1,
    domain: Domain = None,
    cpu: Cpu = "80%",
    memory: MemoryLimit = "90%",
    ratio: Ratio = None,
    failover_cpu: FailoverCpu = None,
    failover_memory: FailoverMemory = None,
    demand: Wanted = Demand.p95,
    memory_demand: MemoryDemand = Memory.configured,
    with_off: WithOff = False,
    cluster: OnlyCluster = None,
    policy: Policy = None,
    without_policy: WithoutPolicy = None,
    slo: Slo = None,
    explain: Explain = None,
    sets: options.Sets = None,
    replications: options.Replications = None,
    duration: options.Duration = None,
    jobs: options.Jobs = None,
    store: options.Store = None,
    on: options.On = None,
    commands: Commands = None,
    commands_for_guesses: ForGuesses = False,
    out: Scenario = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Place new VMs beside those that there are, or all from nothing, so that any host may fail."""
    _plan("plan_place", dict(locals()))


def _plan(name: str, arguments: Mapping[str, Any]) -> None:
    """Make a plan, show it, and end with 1 where there is none."""
    needs("plan", "hypertwin plan")
    from hypertwin.plan.placement import planning

    out, report, form = arguments.get("out"), arguments["report"], arguments["form"]
    if str(out) == "-" and form is not None:
        raise output.UsageError("-o - prints the scenario in place of the plan, whose form --format is: leave one out")
    if FailOn.slo in (arguments["fail_on"] or ()) and not arguments["slo"]:
        raise output.UsageError("--fail-on slo is of the objectives of --slo: add one, or leave it out")
    writing.check_writable(output.file_of(out), page=report)
    writing.check_ending(output.file_of(out), (".yaml", ".yml"), "a scenario is YAML")
    given = {key: value for key, value in arguments.items() if key not in ("out", "report", "form", "sets", "fail_on")}
    plan: Callable[..., planning.Planned] = getattr(planning, name)
    try:
        with progress.labelled_bar() as update:
            found = plan(
                **{key: value.value if isinstance(value, enum.Enum) else value for key, value in given.items()}
                | {
                    "duration": options.with_unit(arguments["duration"]),
                    "overrides": scenario.parse_sets(arguments["sets"] or []),
                    "progress": update,
                }
            )
    except ScenarioError as error:
        raise ScenarioError.of(
            replace(each, path="NAME")
            if each.path == "host"
            else of_option(each, dict(arguments))
            if each.path in arguments and not each.file
            else each
            for each in error.mistakes
        ) from None
    document = found.document
    tool = arguments.get("commands")
    pasted = document["commands"].get(tool.value, "") if tool else ""
    if out is not None and found.moved is None:
        streams.warn(f"{out} was not written: there is no plan")
    elif found.moved is not None:
        output.write_file(output.file_of(out), found.moved)
    if str(out) == "-":
        output.write_page(registry.PLACEMENT, document, report)
        streams.write(found.moved() if found.moved else "")
    else:
        output.show(registry.PLACEMENT, document, form, report=report, more=pasted)
    if not document["feasible"]:
        streams.warn(shown.failure(document))
        raise typer.Exit(1)
    output.fail_on(conditions.PLACEMENT, arguments["fail_on"] or (), document)
