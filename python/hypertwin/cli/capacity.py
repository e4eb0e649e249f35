"""`hypertwin capacity`: capacity now and after host failures, and VMs remaining."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from hypertwin.cli import mistakes, options, output
from hypertwin.plan import failover
from hypertwin.plan.capacity.options import Asked
from hypertwin.show import capacity as shown
from hypertwin.show import conditions, registry

Show = enum.StrEnum("Show", ["capacity", "reclaimable"])
"""Content of tables and CSV."""

FailOn = enum.StrEnum(
    "FailOn",
    {"over_limits": "over-limits", "no_failover": "no-failover", "no_power_on": "no-power-on", "no_room": "no-room"},
)
"""Conditions that fail a cluster."""


EXAMPLES = (
    "hypertwin capacity cluster.yaml --failures 1 --report capacity.html",
    "hypertwin capacity cluster.yaml --vm 4x16GiB --vcpu-ratio 6 --format csv",
)


def command(
    path: options.Cluster,
    *,
    asked: Asked,
    show: Annotated[Show, typer.Option(help="Tables and CSV to show; JSON has everything.")] = Show.capacity,
    form: options.Form = None,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(
            metavar="CONDITION",
            help="Exit with 1 if a cluster: exceeds its limits (over-limits); exceeds them after failures "
            "(no-failover); cannot power on every VM then (no-power-on); cannot take another VM (no-room). Repeatable.",
        ),
    ] = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Show capacity now and after host failures, failover headroom and VMs remaining."""
    output.check(registry.CAPACITY, form, out, report)
    with mistakes.as_typed():
        found = failover.capacity(path, asked)
    reclaimable = show is Show.reclaimable
    only, as_csv = (["reclaimable"], shown.reclaimable_csv) if reclaimable else ([], shown.csv)
    output.show(registry.CAPACITY, found, form, out, report, only=only, csv=as_csv)
    output.fail_on(conditions.CAPACITY, fail_on or (), found)
