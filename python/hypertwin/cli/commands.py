"""How commands become part of the command line: imported when they are called; what they read is marked, so that
no output replaces it, pages say what they were made from, and a re-run reads nothing else.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections import UserDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

import typer

from hypertwin import writing
from hypertwin.cli import provenance

OUTPUTS = frozenset({"out", "report", "drawing"})
"""Names of the parameters that say what a command writes."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _named(value: Any, _arguments: Mapping[str, Any]) -> Iterable[str | Path]:
    """The value is the name of the file."""
    return () if value is None else (value,)


@dataclass(frozen=True)
class Input:
    """Marks a parameter of a command, in its `Annotated`, that names what the command reads."""

    files: Callable[[Any, Mapping[str, Any]], Iterable[str | Path]] = _named
    """The files that a value names, given the values of all parameters; None stands for no value."""


class App(typer.Typer):
    """A group of commands, none of which can write over what it reads."""

    def __init__(self, help: str | None = None) -> None:
        """A group without commands; `help` is the first line of its help text."""
        super().__init__(help=help, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

    def command(self, name: str | None = None, **options: Any) -> Callable[[_Command], _Command]:
        """As in Typer."""
        register = super().command(name, **options)
        return lambda command: register(_protected(command))


class Commands(UserDict[str, Any]):
    """Commands by name, given the module of each, which is imported when its command is called or listed in a help."""

    def __getitem__(self, name: str) -> Any:
        """The command for Typer."""
        return typer.main.get_command(app(name, super().__getitem__(name)))


def app(name: str, module: str) -> App:
    """What a module has for a name on the command line: its group, `app`, or its only command, `command`."""
    found = import_module(module)
    if hasattr(found, "app"):
        return cast(App, found.app)
    single = App()
    single.command(name)(found.command)
    return single


def inputs(command: Callable[..., Any]) -> dict[str, Input]:
    """The parameters of a command that are marked as `Input`, by name."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    annotations = {each.name: each.annotation for each in parameters if get_origin(each.annotation) is Annotated}
    return {
        name: mark
        for name, annotation in annotations.items()
        for mark in get_args(annotation)
        if isinstance(mark, Input)
    }


def _protected(command: _Command) -> _Command:
    marked = inputs(command)

    @functools.wraps(command)
    def protected(**arguments: Any) -> Any:
        @functools.cache  # scenarios are read to find them
        def named() -> Sequence[str | Path]:
            return [file for name, mark in marked.items() for file in mark.files(arguments[name], arguments) if file]

        provenance.confine(named, [value for name, value in arguments.items() if name in OUTPUTS])
        read: Iterable[str | Path] = ()
        if arguments.get("report") is not None:
            from hypertwin.report import page  # pages are for some runs only

            page.date_now()  # refuses a bad one before anything runs
            read = named()  # now: the files may be others when the command ends
        with writing.protecting(named), provenance.under_way(sys.argv[1:], read):
            return command(**arguments)

    return cast(_Command, protected)
