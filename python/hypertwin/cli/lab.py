"""`hypertwin lab`: measure this machine, and predict what contention does to it before measuring that."""

from __future__ import annotations

import sys

import typer

from hypertwin.cli import lab_cpu, lab_profile, lab_vm

app = typer.Typer(help="Measure this machine, and check the twin's predictions of it.")
app.command(name="profile")(lab_profile.command)
app.command(name="cpu")(lab_cpu.command)
app.command(name="vm")(lab_vm.command)


@app.callback(invoke_without_command=True)
def options(context: typer.Context) -> None:
    """Measure this machine, and check the twin's predictions of it."""
    if context.invoked_subcommand is None:
        sys.stderr.write(context.get_help() + "\n")
        raise typer.Exit(2)
