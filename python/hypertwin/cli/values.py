"""Parsing of parameter values.

Typer parses values with Pydantic, which is slow to import and has unclear messages. This module supports the types of
these commands: text, numbers with bounds, paths, choices, lists of these, and results of a `parser`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

from hypertwin import naming
from hypertwin.errors import short
from hypertwin.files import writing


def read_plainly(parameters: Iterable[Any]) -> None:
    """Use this module to parse the values of these Typer parameters."""
    for parameter in parameters:
        described = parameter.type_descriptor
        kind = described.annotation
        element = get_args(kind)[0] if get_origin(kind) is list else kind
        vars(parameter)["_runtime_param"] = Reader(element, described.parameter_info)


@dataclass(frozen=True)
class Reader:
    """Parser of the values of one parameter, called a runtime in Typer."""

    kind: Any
    info: Any

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the parsed value, or each parsed value of a list. Raises BadParameter."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        try:
            return [self._one(each) for each in value] if several else self._one(value)
        except typer.BadParameter as error:
            error.ctx, error.param = error.ctx or ctx, error.param or param
            raise

    def _one(self, value: Any) -> Any:
        if self.info.parser is not None:
            return self.info.parser(value)
        if not isinstance(value, str):  # a default has its type already
            return value
        if self.kind is Path:
            return writing.Folder(value) if value.endswith("/") else Path(value)
        if isinstance(self.kind, type) and issubclass(self.kind, enum.Enum):
            return self._choice(value)
        if self.kind in _NUMBERS:
            return self._number(value)
        return value

    def _choice(self, value: str) -> Any:
        choices = {str(each.value): each for each in self.kind}
        if value in choices:
            return choices[value]
        meant = naming.hint(value.lower(), choices, "")
        raise typer.BadParameter(f"{short(value)!r} is not one of {', '.join(choices)}{'; ' * bool(meant)}{meant}")

    def _number(self, value: str) -> Any:
        read, noun = _NUMBERS[self.kind]
        least, most = self.info.min, self.info.max
        bounds = f" from {least:,} to {most:,}" if least is not None and most is not None else ""
        bounds = bounds or (f" of at least {least:,}" if least is not None else "")
        bounds = bounds or (f" of at most {most:,}" if most is not None else "")
        try:
            number = read(value)
        except ValueError:
            number = None
        # what is no number at all (nan) is within no bounds; without bounds the command says what it wants
        fits = number is not None and (least is None or number >= least) and (most is None or number <= most)
        if not fits:
            raise typer.BadParameter(f"{short(value)!r} is not {noun}{bounds}")
        return number


_NUMBERS: dict[Any, tuple[Callable[[str], Any], str]] = {int: (int, "a whole number"), float: (float, "a number")}
