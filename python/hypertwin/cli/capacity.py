"""`hypertwin capacity`: how full clusters are, now and after a failure, and what still fits."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from hypertwin import scenario
from hypertwin.cli import options, output
from hypertwin.cli.commands import Input, typed
from hypertwin.cli.vnuma import of_option
from hypertwin.errors import ScenarioError
from hypertwin.plan import failover
from hypertwin.report import capacity as shown
from hypertwin.report import conditions, registry


class Demand(enum.StrEnum):
    """Which demand of CPU counts."""

    mean = "mean"
    p95 = "p95"
    peak = "peak"


class Show(enum.StrEnum):
    """What tables and CSV show."""

    capacity = "capacity"
    reclaimable = "reclaimable"


class FailOn(enum.StrEnum):
    """What may be wrong with a cluster."""

    over_limits = "over-limits"
    no_failover = "no-failover"
    no_power_on = "no-power-on"
    no_room = "no-room"


EXAMPLES = (
    "hypertwin capacity cluster.yaml --failures 1 --report capacity.html",
    "hypertwin capacity cluster.yaml --vm 4x16GiB --ratio 6 --format csv",
)


def command(
    path: Annotated[
        str,
        Input(options.scenario_files),
        typer.Argument(metavar="CLUSTER.yaml", help="A scenario, such as `hypertwin import` writes; - for stdin."),
    ],
    failures: Annotated[int, typer.Option(metavar="N", help="Hosts of each cluster that may fail.")] = 1,
    cpu: Annotated[str, typer.Option(metavar="P%", help="CPU that may be used then.")] = "80%",
    memory: Annotated[str, typer.Option(metavar="P%", help="Memory that may be used then.")] = "90%",
    ratio: Annotated[
        float | None, typer.Option(metavar="R", help="vCPUs that a core may have (default: no limit).")
    ] = None,
    demand: Annotated[Demand, typer.Option(help="Which demand of CPU counts, where it was measured.")] = Demand.p95,
    vm: Annotated[
        str | None,
        typer.Option(metavar="4x16GiB[x900MHz]", help="The VM to count (default: the mean of those that there are)."),
    ] = None,
    licence_minimum: Annotated[
        int, typer.Option(metavar="N", help="Cores that a processor's licence covers at least.")
    ] = 16,
    cluster: Annotated[str | None, typer.Option(metavar="NAME", help="Only this cluster.")] = None,
    limits: Annotated[
        Path | None,
        Input(),
        typer.Option(metavar="LIMITS.yaml", help="Limits of single clusters, which override these options."),
    ] = None,
    sets: options.Sets = None,
    with_off: Annotated[bool, typer.Option("--with-off", help="Count VMs that are off as if they ran.")] = False,
    show: Annotated[Show, typer.Option(help="What tables and CSV show; JSON has everything.")] = Show.capacity,
    form: options.Form = None,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(
            metavar="CONDITION",
            help="Exit with 1 if a cluster: uses more than its limits (over-limits); would do so after failures "
            "(no-failover); may not power on every VM then (no-power-on); has no room for one VM more (no-room). "
            "Repeatable.",
        ),
    ] = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Say how full clusters are, now and without their largest hosts, and what still fits."""
    output.check(registry.CAPACITY, form, out, report)
    try:
        found = failover.capacity(
            path,
            failures=failures,
            cpu=cpu,
            memory=memory,
            ratio=ratio,
            demand=demand.value,
            vm=vm,
            licence_minimum=licence_minimum,
            cluster=cluster,
            limits=limits,
            with_off=with_off,
            overrides=scenario.parse_sets(sets or []),
        )
    except ScenarioError as error:
        raise ScenarioError.of(
            of_option(each) if each.path in typed() and not each.file else each for each in error.mistakes
        ) from None
    reclaimable = show is Show.reclaimable
    only, as_csv = (["reclaimable"], shown.reclaimable_csv) if reclaimable else ([], shown.csv)
    output.show(registry.CAPACITY, found, form, out, report, only=only, csv=as_csv)
    output.fail_on(conditions.CAPACITY, fail_on or (), found)
