"""`hypertwin durability`: what redundant storage costs, and how likely it loses data."""

from __future__ import annotations

import enum
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hypertwin import _core
from hypertwin.cli import output
from hypertwin.cli.vnuma import of_option
from hypertwin.errors import ScenarioError
from hypertwin.plan import durability as plan
from hypertwin.report import durability as shown
from hypertwin.report import files


class Format(enum.StrEnum):
    """Form of the figures."""

    table = "table"
    json = "json"


def command(
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            metavar="S", help="17+3 or ec-17+3, 3, 3:2 or replicas-3:2; may be repeated (default: usual ones)."
        ),
    ] = None,
    afr: Annotated[
        str, typer.Option(metavar="P%", help="Annual failure rate of a disk, e.g. 1.5%.")
    ] = plan.ANNUAL_FAILURE_RATE,
    repair: Annotated[
        str | None,
        typer.Option(metavar="T", help=f"Time until a lost part is there again (default: {plan.REPAIR})."),
    ] = None,
    disk: Annotated[str | None, typer.Option(metavar="SIZE", help="In place of --repair: what a disk holds.")] = None,
    rebuild: Annotated[
        str | None, typer.Option(metavar="B", help="In place of --repair: bandwidth of its rebuild, e.g. 50MB/s.")
    ] = None,
    detection: Annotated[
        str | None, typer.Option(metavar="T", help=f"Time until the rebuild begins (default: {plan.DETECTION}).")
    ] = None,
    serial_repair: Annotated[
        bool, typer.Option("--serial-repair", help="Markov: a group rebuilds one lost part after the other.")
    ] = False,
    groups: Annotated[int, typer.Option(metavar="N", help="Arrays or placement groups in the pool.")] = 1,
    usable: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The user's data in the pool, e.g. 100TiB.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="Form of the figures.")] = Format.table,
    report: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Write a page with charts as well.")] = None,
) -> None:
    """Compare copies and erasure codes: overhead, annual loss probability and mean time to data loss."""
    arguments: dict[str, Any] = dict(locals())
    if report is not None:
        files.check_writable(report)
    try:
        result = plan.compare(
            scheme or plan.USUAL_SCHEMES,
            annual_failure_rate=plan.failure_rate(afr),
            repair=plan.repair_time(repair, disk=disk, rebuild=rebuild, detection=detection),
            groups=groups,
            usable_bytes=plan.usable_bytes(usable),
            serial_repair=serial_repair,
        )
    except ScenarioError as error:
        names = {"annual_failure_rate": "afr", "usable_bytes": "usable"}
        renamed = [replace(mistake, path=names.get(mistake.path, mistake.path)) for mistake in error.mistakes]
        raise ScenarioError.of(of_option(mistake, arguments) for mistake in renamed) from None
    if report is not None:
        from hypertwin.report import html

        files.write_atomically(report, html.render_durability(result, plan.curves(result), _core.version()))
        sys.stderr.write(f"wrote {report}\n")
    if form is Format.json:
        output.write(files.to_json({"version": _core.version(), **result}))
    else:
        output.print_table(shown.table(result))
