"""`hypertwin migrate`: rename old keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin.cli import streams
from hypertwin.comparison import migrate
from hypertwin.files import writing

EXAMPLES = ("hypertwin migrate cluster.yaml limits.yaml", "hypertwin migrate --check results/*.json")


def command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Scenarios, files of limits, and results in JSON."),
    ],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if a file has an old name.")
    ] = False,
) -> None:
    """Rename old keys in scenarios and results. Comments and order stay."""
    made = [(path, migrate.migrated(path)) for path in files]  # all are read before one is written
    for path, done in made:
        names = ", ".join(sorted(done.renamed)) or "no old names"
        streams.write(f"{path}: {names}\n")
        if done.renamed and not check:
            writing.write_atomically(path, done.text)
    if check and any(done.renamed for _, done in made):
        raise typer.Exit(1)
