"""Typer commands and groups with complete help, and with values parsed without Pydantic."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from hypertwin import naming
from hypertwin.cli import catalogue
from hypertwin.cli.values import read_plainly

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": catalogue.WIDEST}
"""Settings of every command and group."""


def examples_text(examples: Sequence[str]) -> str:
    """Return the examples for the help.

    Typer keeps the line breaks of a paragraph that begins with a backspace.
    """
    return "\n".join(["\b", "Examples:", *(f"  {example}" for example in examples)]) if examples else ""


def _write_examples(command: TyperCommand | TyperGroup, formatter: Any) -> None:
    """Write examples without indentation, like all sections."""
    if command.epilog:
        formatter.write_paragraph()
        formatter.write_text(command.epilog)


def _name_plainly(parameters: Iterable[Any]) -> None:
    """Show arguments by name alone: without types, and with brackets only around optional ones."""
    for each in parameters:
        if each.param_type_name == "argument":
            name = each.display_name_raw.removesuffix("...").strip("[]")
            several = "..." * (each.nargs != 1)
            named = {"_rich_display_name": f"{name}{several}", "display_type_rich": None}
            named["_usage_display_name"] = f"{name if each.required else f'[{name}]'}{several}"
            vars(each).update({key: functools.partial(_always, text) for key, text in named.items()})


def _always(text: str | None, **_context: Any) -> str | None:
    return text


def _at_width(ctx: Any) -> Any:
    """Return the context, with help as wide as the terminal."""
    ctx.terminal_width = catalogue.width()
    return ctx


def _plain(option: Any) -> Any:
    """Return the help option, which Typer creates late, with plainly parsed values."""
    read_plainly([] if option is None else [option])
    return option


class Command(TyperCommand):
    """A command."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Create the command as in Typer."""
        super().__init__(*arguments, **named)
        read_plainly(self.params)
        _name_plainly(self.params)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the help option of Typer."""
        return _plain(super().get_help_option(ctx))

    def get_help(self, ctx: Any) -> str:
        """Return the help text, as wide as the terminal."""
        return super().get_help(_at_width(ctx))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        _write_examples(self, formatter)


class Group(TyperGroup):
    """A group of commands, which lists each command with its whole first sentence."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Create the group as in Typer."""
        super().__init__(*arguments, **named)
        read_plainly(self.params)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the help option of Typer."""
        return _plain(super().get_help_option(ctx))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        _write_examples(self, formatter)

    def get_help(self, ctx: Any) -> str:
        """Return the help text, as wide as the terminal."""
        return super().get_help(_at_width(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments as in Typer. Without a command, show help and report bad usage."""
        if not args and not ctx.resilient_parsing:
            sys.stderr.write(f"{self.get_help(ctx)}\n")
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command as in Typer, with a hint for an unknown command."""
        if not ctx.resilient_parsing and args[0] not in self.commands and not args[0].startswith("-"):
            known = self.list_commands(ctx)
            ctx.fail(f"no command {args[0]!r}; {naming.hint(args[0], known, ', '.join(known))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List each command on one or more lines, without truncation."""
        rows = [(name, summary(self.commands[name].help or "")) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Root(Group):
    """Group of `hypertwin` itself, whose help imports no command module."""

    def get_help(self, ctx: Any) -> str:
        """Return the commands by section."""
        return catalogue.help_text(catalogue.width()).rstrip("\n")


def summary(text: str) -> str:
    """Return the first sentence of a help text, on one line."""
    first = text.split("\n\n", maxsplit=1)[0].replace("\n", " ")
    return re.split(r"(?<=[.])\s", first)[0].removesuffix(".")
