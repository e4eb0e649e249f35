"""The table of completions that `hypertwin.cli.tab` reads, from the commands themselves."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import typer

from hypertwin.cli import catalogue, commands, names, root, tab
from hypertwin.cli.help import summary

PATH = Path(tab.__file__).with_name(tab.TABLE)


def text() -> str:
    """The table as JSON, a line for each command."""
    rows = (f"{json.dumps(path)}: {json.dumps(command)}" for path, command in _commands("", root.group()))
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _commands(path: str, command: Any) -> Iterator[tuple[str, tab.Command]]:
    """A command and those in it, by the words that call it."""
    inner: dict[str, Any] = getattr(command, "commands", {})
    offers = commands.offers(command.callback) if command.callback else {}
    parameters = command.get_params(typer.Context(command))  # with --help
    arguments = [each for each in parameters if each.param_type_name == "argument"]
    yield (
        path,
        {
            "commands": {name: catalogue.SUMMARIES.get(name, summary(each.help or "")) for name, each in inner.items()},
            "options": {
                name: {"help": summary(each.help or ""), "value": None if each.is_flag else _value(each, offers)}
                for each in parameters
                if each not in arguments
                for name in (*each.opts, *each.secondary_opts)
            },
            "arguments": [_value(each, offers) for each in arguments],
            "is_repeated": any(each.nargs == -1 for each in arguments),
        },
    )
    for name, each in inner.items():
        yield from _commands(f"{path} {name}".strip(), each)


def _value(parameter: Any, offers: Mapping[str, names.Offered]) -> tab.Value:
    offered = offers.get(parameter.name)
    if offered is None:
        kind = parameter._runtime_param.kind  # the only place where Typer keeps an enumeration
        choices = list(kind) if isinstance(kind, enum.EnumType) else get_args(kind)
        return {"names": [str(each) for each in choices]} if choices else {}
    if isinstance(offered.names, str):
        return {"kind": offered.names}
    return {"names": list(offered.names()), **({"several": True} if offered.several else {})}
