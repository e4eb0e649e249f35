"""`hypertwin completion`: a shell completion script."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from hypertwin.cli import catalogue, streams

Shell = enum.StrEnum("Shell", ["bash", "zsh", "fish", "powershell"])
"""A shell."""


EXAMPLES = (
    "hypertwin completion bash > ~/.local/share/bash-completion/completions/hypertwin",
    "hypertwin completion fish > ~/.config/fish/completions/hypertwin.fish",
)


def command(shell: Annotated[Shell, typer.Argument(metavar="SHELL", help=f"The shell: {', '.join(Shell)}.")]) -> None:
    """Print a shell completion script.

    zsh: put it into a file `_hypertwin` of a folder in $fpath, before compinit. PowerShell: append it to $PROFILE.
    """
    from typer._completion_shared import get_completion_script

    streams.write(
        get_completion_script(prog_name="hypertwin", complete_var=catalogue.COMPLETE, shell=shell.value) + "\n"
    )
