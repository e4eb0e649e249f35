"""`hypertwin diagnose`: what is wrong with a cluster, and what would cure it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin import _core, writing
from hypertwin.cli import options, output
from hypertwin.cli.commands import Input
from hypertwin.documents.diagnosis import Document
from hypertwin.report import diagnosis, files, registry


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
            metavar="CLUSTER.yaml", help="The cluster as a scenario: configuration, and what-ifs on the twin."
        ),
    ] = None,
    what_if: Annotated[
        bool, typer.Option("--what-if/--no-what-if", help="Simulate what would help (needs --cluster).")
    ] = True,
    form: Annotated[output.Format, typer.Option("--format", help="Form of the findings.")] = output.Format.table,
    store: options.Store = None,
    on: options.On = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the findings here instead of stdout.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a page with the findings and their charts as well.")
    ] = None,
) -> None:
    """Say what is wrong, with evidence and source, and what would cure it. Exit code 0 with and without findings."""
    if not sources and cluster is None:
        raise output.UsageError("nothing to look at: give telemetry files, --cluster CLUSTER.yaml, or both")
    writing.check_writable(out, page=report)
    from hypertwin import diagnose  # as long to import as all else together

    with output.labelled_progress_bar() as progress:
        found = diagnose.diagnose(
            sources or [],
            cluster=cluster,
            charts=report is not None,
            simulate=what_if,
            store=store,
            on=on,
            progress=progress,
        )
    result: Document = {"version": _core.version(), **found.to_dict()}
    output.write_page(registry.DIAGNOSIS, result, report, series=[finding.charts for finding in found.findings])
    if out is None:
        output.show(registry.DIAGNOSIS, result, form)
        return
    as_json = form is output.Format.json
    content = files.to_json(result) if as_json else output.render(diagnosis.table(result))
    output.write_file(out, lambda: content, f": {diagnosis.summary(result)}")
