"""`hypertwin diagnose`: problems of a cluster, and fixes."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from hypertwin import _core
from hypertwin.cli import options, output, progress
from hypertwin.cli.commands import Input
from hypertwin.documents.diagnosis import Document
from hypertwin.runs.options import Elsewhere
from hypertwin.show import conditions, diagnosis, registry

FailOn = enum.StrEnum("FailOn", ["critical", "warning", "info"])
"""Severity of a finding."""


EXAMPLES = (
    "hypertwin diagnose --cluster cluster.yaml --report diagnosis.html",
    "hypertwin diagnose esx1.csv esx2.csv --fail-on critical",
)


def command(
    sources: Annotated[
        list[str] | None,
        Input(options.telemetry_files),
        typer.Argument(metavar="[FILES]...", help="Telemetry: files of any known format, or addresses."),
    ] = None,
    cluster: Annotated[
        Path | None,
        Input(options.scenario_files),
        typer.Option(
            metavar="CLUSTER.yaml",
            help="The cluster as a scenario (- for stdin): checks its configuration, and simulates fixes.",
        ),
    ] = None,
    what_if: Annotated[bool, typer.Option("--what-if/--no-what-if", help="Simulate fixes (needs --cluster).")] = True,
    form: options.Form = None,
    *,
    where: Elsewhere,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(
            metavar="SEVERITY",
            help="Exit with 1 on a finding of this severity or worse: critical, warning, info.",
        ),
    ] = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Find problems in a cluster, with evidence, and test fixes.

    Exit code 0 with and without findings, unless --fail-on says otherwise.
    """
    if not sources and cluster is None:
        raise output.UsageError("nothing to check: add telemetry files, --cluster CLUSTER.yaml, or both")
    output.check(registry.DIAGNOSIS, form, out, report)
    from hypertwin.diagnosis import diagnose  # as long to import as all else together

    with progress.labelled_bar() as update:
        found = diagnose(
            sources or [],
            cluster=cluster,
            charts=report is not None,
            simulate=what_if,
            **vars(where),
            progress=update,
        )
    result: Document = {"version": _core.version(), **found.document}
    charts = [finding.charts for finding in found.findings]
    said = f": {diagnosis.summary(result)}"
    output.show(registry.DIAGNOSIS, result, form, out, report, note=said, series=charts)
    output.fail_on(conditions.DIAGNOSIS, fail_on or (), result)
