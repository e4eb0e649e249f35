"""`hypertwin capacity`: how full clusters are, now and after a failure, and what still fits."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from hypertwin.cli import mistakes, options, output
from hypertwin.cli.commands import Input
from hypertwin.plan import failover
from hypertwin.plan.capacity.options import Asked
from hypertwin.report import capacity as shown
from hypertwin.report import conditions, registry


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
    "hypertwin capacity cluster.yaml --vm 4x16GiB --vcpu-ratio 6 --format csv",
)


def command(
    path: Annotated[
        str,
        Input(options.scenario_files),
        typer.Argument(metavar="CLUSTER.yaml", help="A scenario, such as `hypertwin import` writes; - for stdin."),
    ],
    *,
    asked: Asked,
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
    with mistakes.as_typed():
        found = failover.capacity(path, asked)
    reclaimable = show is Show.reclaimable
    only, as_csv = (["reclaimable"], shown.reclaimable_csv) if reclaimable else ([], shown.csv)
    output.show(registry.CAPACITY, found, form, out, report, only=only, csv=as_csv)
    output.fail_on(conditions.CAPACITY, fail_on or (), found)
