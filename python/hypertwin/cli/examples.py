"""`hypertwin examples`: the scenarios that come with the package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hypertwin.cli import output, streams
from hypertwin.cli.commands import Input
from hypertwin.cli.names import Offered
from hypertwin.files import writing
from hypertwin.scenario import example


def _files(name: str | None, _arguments: Mapping[str, Any]) -> Iterator[Path]:
    if name in example.names():
        found = example.find(name)
        yield from (found.scenario, *found.beside)


EXAMPLES = (
    "hypertwin examples",
    "hypertwin examples small-esxi -o small-esxi.yaml",
)


def command(
    name: Annotated[
        str | None,
        Input(_files),
        typer.Argument(
            metavar="[NAME]",
            help="The example to print (default: list all).",
        ),
        Offered(example.names),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the example and its other files to a file or folder; - for stdout.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """List the examples, or print or write one of them."""
    if name is None:
        if out is not None:
            raise output.UsageError(f"--out needs the NAME of an example: {', '.join(example.names())}")
        output.print_table(_listed())
        return
    found = example.find(name)
    if output.file_of(out) is not None and out is not None:
        if isinstance(out, writing.Folder):
            writing.make(out)
        _write(found, Path(out, found.scenario.name) if out.is_dir() else out, force)
        return
    streams.write(found.scenario.read_text(encoding="utf-8"))
    if found.beside:
        beside = ", ".join(path.name for path in found.beside)
        streams.note(f"with it: {beside}; hypertwin examples {name} -o {name}.yaml writes all")


def _listed() -> Table:
    table = Table("example", "what it shows", box=None, pad_edge=False, header_style="dim")
    for name in example.names():
        table.add_row(name, Text(example.find(name).description))
    return table


def _write(found: example.Example, out: Path, force: bool) -> None:
    files = {out: found.scenario, **{out.parent / path.name: path for path in found.beside}}
    writing.check_writable(*files)
    if not force:
        writing.check_new(*files)
    for target, source in files.items():
        output.write_file(target, source.read_bytes)
