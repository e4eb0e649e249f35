"""Parts of shell texts: quoted words, and tables that the user fills in."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

HEAD = "#!/bin/sh\n"
STRICT = "set -eu\n"


def word(text: object) -> str:
    """Return a text as one word of a shell, whatever it contains."""
    return shlex.quote(str(text))


def _pattern(text: str) -> str:
    """Return a text as a pattern that matches only itself, in quotes also if it is a keyword such as `esac`."""
    quoted = word(text)
    return quoted if quoted.startswith("'") else f"'{quoted}'"


def words(*texts: object) -> str:
    """Return texts as words of a shell."""
    return " ".join(map(word, texts))


def table(function: str, about: str, rows: Mapping[str, str]) -> str:
    """Return a function that prints the value of its argument, and fails for others. `about` explains the values."""
    lines = [f"{function}() {{ # {about}\n", '  case "$1" in\n']
    lines += [f"    {_pattern(name)}) echo {word(value)} ;;\n" for name, value in rows.items()]
    missing = f"    *) printf '%s\\n' \"{function}: nothing for $1\" >&2; return 1 ;;\n"
    return "".join([*lines, missing, "  esac\n", "}\n"])


def numbered(names: Mapping[str, object] | tuple[str, ...], placeholder: str) -> dict[str, str]:
    """Return a numbered placeholder for each name."""
    return {name: f"{placeholder}-{number}" for number, name in enumerate(names, 1)}
