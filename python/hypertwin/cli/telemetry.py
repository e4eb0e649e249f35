"""`hypertwin telemetry`: measurements of any format as one table, or a summary."""

from __future__ import annotations

import enum
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from hypertwin.cli import options, output, progress, streams
from hypertwin.cli.commands import Input
from hypertwin.extras import needs
from hypertwin.files import writing
from hypertwin.show import registry
from hypertwin.show import telemetry as shown


class Format(enum.StrEnum):
    """Format of the result."""

    parquet = "parquet"
    csv = "csv"
    table = "table"
    json = "json"


EXAMPLES = (
    "hypertwin telemetry esx1.csv",
    "hypertwin telemetry esx1.csv esx2.csv -o measured.parquet",
)


def command(
    sources: Annotated[
        list[str],
        Input(options.telemetry_files),
        typer.Argument(metavar="SOURCE...", help="Files of any known format, or addresses: prometheus://HOST:9090."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the table here (default: show figures).")
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="parquet or csv with -o (default: by its ending, else parquet), else table or json (default: table).",
        ),
    ] = None,
) -> None:
    """Convert measurements into one table of time, entity, metric, value and unit, or summarise them."""
    needs("telemetry", "telemetry")
    from hypertwin.ingest import formats, parquet_table
    from hypertwin.ingest import telemetry_table as table
    from hypertwin.ingest.overview import overview

    if form is not None and (form in (Format.parquet, Format.csv)) != (out is not None):
        raise output.UsageError(
            f"--format {form} {'says nothing about a file' if out else 'needs a file: add -o FILE'}"
        )
    writing.check_writable(out)
    if out is not None:
        form = output.form_of(form, out, (Format.parquet, Format.csv))
    readings = [formats.read(source) for source in sources]
    with tempfile.TemporaryDirectory(prefix="hypertwin-") as folder:
        gathered = Path(folder, "table.parquet")
        with progress.reading() as update:
            rows = table.gather(readings, gathered, update)
            found = overview(gathered, readings, rows)
        if out is not None:
            with writing.appearing(out) as file:
                if form is Format.csv:
                    table.write_csv(parquet_table.read(gathered).frames, file)
                else:
                    shutil.copyfile(gathered, file)
    streams.note(*shown.summary(found))
    if out is not None:
        streams.note(f"wrote {out}: {shown.extent(found)}")
        return
    output.show(registry.TELEMETRY, found, output.Format.json if form is Format.json else output.Format.table)
