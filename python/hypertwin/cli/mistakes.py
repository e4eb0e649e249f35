"""Errors in function arguments, with the names of the options typed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from hypertwin.errors import Argument, Mistake, ScenarioError
from hypertwin.scenario import virtual_numa

_QUOTED = re.compile("`([a-z]+(?:_[a-z]+)*)`")
"""An argument name in a text."""


@dataclass(frozen=True)
class Typed:
    """Typed options of the current command, by parameter name."""

    values: Mapping[str, Any] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)

    def flag(self, name: str) -> str:
        """Return the option for an argument of a function, as typed."""
        return self.flags.get(name, f"--{name.replace('_', '-')}")

    def knows(self, name: str) -> bool:
        """True if the command has an argument of this name. Other names are keys of files."""
        return name in self.values or name in self.flags

    def has_option(self, name: str) -> bool:
        """True if an argument of a function has an option."""
        return name in self.values and self.flag(name).startswith("--")


_TYPED: ContextVar[Typed] = ContextVar("_TYPED", default=Typed())  # noqa: B039 - frozen


@contextmanager
def of_options(typed: Typed) -> Iterator[None]:
    """Rename function arguments to options in problems raised in the block."""
    _TYPED.set(typed)
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError.of(_with_option(each, typed) for each in error.mistakes) from None


@contextmanager
def as_typed() -> Iterator[None]:
    """Show argument errors in the block with the options as typed."""
    try:
        yield
    except ScenarioError as error:
        typed = _TYPED.get()
        raise ScenarioError.of(
            of_option(each) if typed.has_option(each.path) and not each.file else each for each in error.mistakes
        ) from None


def of_option(mistake: Mistake, value: object = None) -> Mistake:
    """Return the problem with the option `--NAME VALUE` instead of an argument, also in its texts.

    The default value is the typed value.
    """
    typed = _TYPED.get()
    flag, value = typed.flag(mistake.path), typed.values.get(mistake.path) if value is None else value
    return replace(
        mistake,
        path="",
        file=flag if value in (None, True) else f"{flag} {_written(value)}",
        allowed=_with_options(mistake.allowed),
        hint=_with_options(mistake.hint),
    )


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return "x".join(str(part) for part in value.values())
    if isinstance(value, float):
        return f"{value:g}"
    return ",".join(str(part) for part in value) if isinstance(value, list) else str(value)


def _with_options(text: str) -> str:
    """Return `text` with the paths of the scenario replaced by options."""
    typed = _TYPED.get()
    for name, path in virtual_numa.PATHS.items():
        text = text.replace(path, typed.flag(name))
        # a name of one word may be an ordinary word
        text = re.sub(rf"\b{name}\b", typed.flag(name), text) if "_" in name else text
    return text


def _with_option(mistake: Mistake, typed: Typed) -> Mistake:
    file, path = mistake.file, mistake.path
    if isinstance(file, Argument):
        file = file.replace(file.name, typed.flag(file.name), 1)
    elif not file and path.isidentifier() and typed.knows(path):
        flag = typed.flag(path)
        file, path = (flag, "") if flag.startswith("--") else ("", flag)
    elif not file.startswith("--"):
        return mistake
    allowed, hint = (_QUOTED.sub(lambda found: typed.flag(found[1]), text) for text in (mistake.allowed, mistake.hint))
    return replace(mistake, file=file, path=path, allowed=allowed, hint=hint)
