"""`hypertwin lab`: measurements on this machine."""

from __future__ import annotations

import sys

import typer

from hypertwin.cli import lab_vm

app = typer.Typer(help="Measure this machine.")
app.command(name="vm")(lab_vm.command)


@app.callback(invoke_without_command=True)
def options(context: typer.Context) -> None:
    """Measure this machine."""
    if context.invoked_subcommand is None:
        sys.stderr.write(context.get_help() + "\n")
        raise typer.Exit(2)
