"""Commands and options that a browser can ask for, and the command lines that they become.

The command line has the only table of options (`hypertwin.cli.offered` reads it). A value becomes part of its option,
so that no value can become another option.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hypertwin.errors import printable, short
from hypertwin.serve.refusal import RefusedError

MAX_VALUES = 100
"""Maximum number of values of a repeatable option."""
MAX_LENGTH = 2_000
"""Maximum characters of a value."""


@dataclass(frozen=True)
class Option:
    """An option or argument of a command."""

    name: str
    """Option as typed, such as `--sweep`, or the name of an argument."""
    help: str
    metavar: str
    choices: tuple[str, ...] = ()
    names: str = ""
    """Kind of names in the scenario that the value can have: `vms`, `hosts`, `paths` and so on."""
    is_flag: bool = False
    negative: str = ""
    """Option that switches a flag off."""
    is_repeated: bool = False
    is_argument: bool = False
    is_required: bool = False
    default: str = ""


@dataclass(frozen=True)
class Offer:
    """A command."""

    command: str
    """Words of the command: `plan balance`."""
    help: str
    options: tuple[Option, ...]
    scenario: str = ""
    """Option that names the scenario, or an empty text if the scenario is an argument."""

    def words(self, file: str, given: Mapping[str, Any]) -> list[str]:
        """Return the command line for a scenario and values by option. Raises RefusedError."""
        known = {each.name: each for each in self.options}
        options: list[str] = []
        arguments: list[str] = []
        for name, value in given.items():
            option = known.get(name)
            if option is None:
                allowed = ", ".join(known) or "none"
                raise RefusedError(422, f"{self.command}: no option {short(printable(name))!r}; allowed: {allowed}")
            texts = [_text(option, each) for each in _values(option, value)]
            if option.is_argument:
                arguments += texts
            elif option.is_flag:
                options += [each for each in [name if value else option.negative] if each]
            else:
                options += [f"{name}={text}" for text in texts]
        missing = [each.name for each in self.options if each.is_required and not given.get(each.name)]
        if missing:
            raise RefusedError(422, f"{self.command}: {', '.join(missing)} is missing")
        named = [f"{self.scenario}={file}"] if self.scenario else []
        return [*self.command.split(), *named, *options, "--", *([] if named else [file]), *arguments]

    def changes(self, given: Mapping[str, Any]) -> list[str]:
        """Return the values of options that change the scenario, as typed."""
        return [str(each) for name in ("--set", "--sweep") for each in _listed(given.get(name, ()))]

    def to_dict(self) -> dict[str, Any]:
        """Return the offer for the front end."""
        return asdict(self)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _values(option: Option, value: Any) -> Sequence[Any]:
    if option.is_flag:
        if not isinstance(value, bool):
            raise RefusedError(422, f"{option.name}: {short(str(value))}; allowed: true or false")
        return ()
    values = _listed(value)
    most = MAX_VALUES if option.is_repeated else 1
    if len(values) > most:
        raise RefusedError(422, f"{option.name}: {len(values)} values; allowed: {most}")
    return values


def _text(option: Option, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise RefusedError(422, f"{option.name}: a {type(value).__name__}; allowed: text or a number")
    text = str(value)
    if not text or len(text) > MAX_LENGTH or not text.isprintable():
        raise RefusedError(422, f"{option.name}: allowed: 1 to {MAX_LENGTH} printable characters")
    if option.choices and text not in option.choices:
        raise RefusedError(422, f"{option.name}: {short(text)}; allowed: {', '.join(option.choices)}")
    return text
