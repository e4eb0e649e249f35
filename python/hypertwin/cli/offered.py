"""Commands that `hypertwin serve` offers to browsers, from the options of the commands themselves.

An option that names a file, a cache or other computers is left out, so that a browser cannot reach them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, get_args

import typer

from hypertwin.cli import commands, root
from hypertwin.cli.help import summary
from hypertwin.serve.offers import Offer, Option

COMMANDS = (
    "simulate",
    "capacity",
    "density",
    "diagnose",
    "plan survive",
    "plan balance",
    "plan evacuate",
    "plan place",
    "plan move",
)
"""Commands whose only necessary input is a scenario."""

LEFT_OUT = commands.OUTPUTS | {
    *("form", "show", "fail_on", "commands"),  # forms of output
    *("cache", "on", "jobs", "yes"),  # place and size of runs
    *("explain", "quiet", "verbose", "help"),
}
"""Parameters that a browser does not set, in addition to all that name files."""


def offers() -> dict[str, Offer]:
    """Return the offered commands."""
    return {each.command: each for each in map(_offer, COMMANDS)}


def compare(a: str, b: str) -> list[str]:
    """Return the command line that compares two results."""
    return ["compare", "--", a, b]


def _offer(words: str) -> Offer:
    command = root.group()
    for word in words.split():
        command = command.commands[word]
    reads, offered = commands.inputs(command.callback), commands.offers(command.callback)
    parameters = command.get_params(typer.Context(command))
    options = tuple(
        _option(each, offered.get(each.name))
        for each in parameters
        if each.name not in LEFT_OUT and each.name not in reads
    )
    named = [max(each.opts, key=len) for each in parameters if each.name == "cluster" and each.name in reads]
    return Offer(words, summary(command.help or ""), options, "".join(named))


def _option(parameter: Any, offered: Any) -> Option:
    is_argument = parameter.param_type_name == "argument"
    names = offered.names if offered is not None else ""
    is_flag = bool(getattr(parameter, "is_flag", False))
    return Option(
        name=parameter.name if is_argument else max(parameter.opts, key=len),
        help=summary(parameter.help or ""),
        metavar=parameter.metavar or "",
        choices=tuple(_choices(parameter)),
        names=names if isinstance(names, str) else "",
        is_flag=is_flag,
        negative=next(iter(parameter.secondary_opts), "") if is_flag else "",
        is_repeated=bool(parameter.multiple) if not is_argument else False,
        is_argument=is_argument,
        is_required=bool(parameter.required),
        default="" if parameter.default in (None, False, ()) or callable(parameter.default) else str(parameter.default),
    )


def _choices(parameter: Any) -> Iterator[str]:
    kind = parameter._runtime_param.kind  # the only place where Typer keeps an enumeration
    yield from map(str, list(kind) if isinstance(kind, enum.EnumType) else get_args(kind))
