"""Fast answers to shell completion, without Typer.

`completions.json` has the commands, options and values. `make docs` writes it from the commands. The shell scripts are
Typer's (`hypertwin completion`), as are the environment variables and the format of the answers.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import NamedTuple, TypedDict

from hypertwin.cli import catalogue, names

TABLE = "completions.json"


class Value(TypedDict, total=False):
    """Values of an option or argument. Without a key, the value is any text, which shells complete as a file name."""

    names: list[str]
    kind: names.Kind
    several: bool


class Flag(TypedDict):
    """An option."""

    help: str
    value: Value | None
    """Value of the option, or None if the option takes no value."""


class Command(TypedDict):
    """A command, or a group of commands."""

    commands: dict[str, str]
    """Names and summaries of its commands."""
    options: dict[str, Flag]
    arguments: list[Value]
    """Arguments in order."""
    is_repeated: bool
    """True if the last argument takes several words."""


class Item(NamedTuple):
    """Completion with its meaning. The meaning of a value is empty."""

    text: str
    help: str = ""


def answer(environment: Mapping[str, str], write: Callable[[str], None]) -> int:
    """Write the completions that a shell requests. Returns the exit code."""
    shell = environment[catalogue.COMPLETE].removeprefix("complete_")
    if shell == "bash":
        words = _split(environment.get("COMP_WORDS", ""))
        at = int(environment.get("COMP_CWORD") or 0)
        words, incomplete = words[1:at], "".join(words[at : at + 1])
    else:
        line = environment.get("_TYPER_COMPLETE_ARGS", "")
        words = _split(line)[1:]
        is_new = not environment.get("_TYPER_COMPLETE_WORD_TO_COMPLETE", "" if line.endswith(" ") else line)
        incomplete = words.pop() if words and not is_new else ""
    items = list(complete(words, incomplete))
    if shell == "fish" and environment.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return 0 if items else 1
    write(_FORMS.get(shell, _for_bash)(items))
    return 0


def complete(words: Sequence[str], incomplete: str) -> Iterator[Item]:
    """Yield the completions of the current word, given the words before it."""
    at = _position(words)
    value = at.value
    if incomplete == "=":
        incomplete = ""
    elif value is None and at.is_option(incomplete) and "=" in incomplete:
        name, _, incomplete = incomplete.partition("=")
        value = at.value_of(name)
    if value is not None:
        yield from map(Item, _values(value, words, incomplete))
    elif at.is_option(incomplete):
        flags = at.command["options"].items()
        offered = {name: flag for name, flag in flags if flag["value"] is not None or name not in words}
        yield from (Item(name, flag["help"]) for name, flag in offered.items() if name.startswith(incomplete))
    elif at.command["commands"]:
        yield from (Item(*each) for each in at.command["commands"].items() if each[0].startswith(incomplete))
    elif at.arguments:
        yield from map(Item, _values(at.arguments[0], words, incomplete))


@dataclass
class _Position:
    """State at the end of a command line."""

    command: Command
    arguments: list[Value]
    """Arguments that can follow."""
    value: Value | None = None
    """Value of the last option, if it is still missing."""
    has_options: bool = True
    """False after `--`."""

    def is_option(self, word: str) -> bool:
        """True if the word begins the name of an option."""
        return self.has_options and word.startswith("-")

    def value_of(self, name: str) -> Value | None:
        """Return the value of an option, or None if it takes none or is unknown."""
        flag = self.command["options"].get(name)
        return flag and flag["value"]


def _position(words: Sequence[str]) -> _Position:
    table: dict[str, Command] = json.loads((resources.files(__package__) / TABLE).read_text(encoding="utf-8"))
    path: list[str] = []
    at = _Position(table[""], [])
    for word in words:
        if at.value is not None:
            if word != "=":  # a word of its own to some shells
                at.value = None
        elif word == "--":
            at.has_options = False
        elif at.is_option(word):
            at.value = at.value_of(word)
        elif word in at.command["commands"]:
            path.append(word)
            command = table[" ".join(path)]
            at = _Position(command, [*command["arguments"]])
        elif len(at.arguments) > 1 or not at.command["is_repeated"]:
            at.arguments = at.arguments[1:]
    return at


def _values(value: Value, words: Sequence[str], incomplete: str) -> Iterator[str]:
    known = names.in_scenario(value["kind"], words, incomplete) if "kind" in value else value.get("names", ())
    before, comma, last = incomplete.rpartition(",") if value.get("several") else ("", "", incomplete)
    taken = before.split(",")
    return (f"{before}{comma}{name}" for name in known if name.startswith(last) and name not in taken)


def _split(line: str) -> list[str]:
    """Return the words of a command line. The last word can have an open quote."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(iter(lexer.get_token, None))
    except ValueError:
        words.append(lexer.token)
    return words


def _for_bash(items: Sequence[Item]) -> str:
    return "".join(f"{each.text}\n" for each in items)


def _for_zsh(items: Sequence[Item]) -> str:
    if not items:
        return "_files\n"
    rows = "\n".join(":".join(f'"{_escaped(text)}"' for text in each if text) for each in items)
    return f"_arguments '*: :(({rows}))'\n"


def _escaped(text: str) -> str:
    doubled = text.replace('"', '""').replace("'", "''")
    return re.sub(r"([$`])", r"\\\1", doubled).replace(":", r"\\:")


def _for_fish(items: Sequence[Item]) -> str:
    return "".join("\t".join(filter(None, each)) + "\n" for each in items)


def _for_powershell(items: Sequence[Item]) -> str:
    return "".join(f"{each.text}:::{each.help or ' '}\n" for each in items)


_FORMS: Mapping[str, Callable[[Sequence[Item]], str]] = {
    "zsh": _for_zsh,
    "fish": _for_fish,
    "powershell": _for_powershell,
    "pwsh": _for_powershell,
}
