"""Reader of small YAML files with fixed keys, such as prices and benchmark plans. It reports all problems together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from hypertwin import naming
from hypertwin.errors import Mistake, ScenarioError, short
from hypertwin.files import yaml_file

Content = TypeVar("Content")


@dataclass
class Fields:
    """Checks of values, which collect problems instead of stopping at the first one."""

    mistakes: list[Mistake]

    def mapping(self, value: object, path: str, form: str) -> Mapping[str, Any]:
        """Return a mapping, or an empty one for no value or a wrong one. `form` is an example."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.wrong("wrong-type", path, shown(value), "a mapping", form)
            return {}
        return value

    def known(self, entry: Mapping[str, Any], keys: Sequence[str], prefix: str) -> None:
        """Check that an entry has only these keys."""
        for key in entry:
            if key not in keys:
                hint = naming.hint(key, keys, "remove it")
                self.wrong("unknown-key", f"{prefix}{key}", short(key), ", ".join(keys), hint)

    def number(self, value: object, low: float, high: float, path: str) -> float | None:
        """Return a number within limits, or None for no value or a wrong one."""
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong("wrong-type", path, shown(value), f"a number, {low:g} to {high:g}", "write a number")
        elif not abs(value) < float("inf"):
            self.wrong("not-finite", path, shown(value), f"a number, {low:g} to {high:g}", "write a finite number")
        elif not low <= value <= high:
            hint = "choose a value in that range"
            self.wrong("out-of-range", path, shown(value), f"a number, {low:g} to {high:g}", hint)
        else:
            return float(value)
        return None

    def quantity(self, value: object, path: str, of: Callable[[str], float], allowed: str) -> float | None:
        """Return a quantity that `of` reads, or None for a wrong one."""
        try:
            return float(of(value if isinstance(value, str) else shown(value)))
        except ValueError as error:
            self.wrong("bad-quantity", path, shown(value), allowed, str(error))
            return None

    def wrong(self, code: str, path: str, value: str, allowed: str, hint: str) -> None:
        """Add a problem, unless it is there already."""
        found = Mistake(code, path, value if value.strip() else "(empty)", allowed, hint)
        if found not in self.mistakes:
            self.mistakes.append(found)


def read(path: str | Path, parse: Callable[[object, list[Mistake]], Content], allowed: str, hint: str) -> Content:
    """Return the content of a file; `-` is stdin. `parse` adds problems to its list.

    `allowed` and `hint` are for an empty file. Raises ScenarioError with every problem and its line.
    """
    return loads(yaml_file.read_text(Path(path)), yaml_file.name_of(path), parse, allowed, hint)


def loads(text: str, file: str, parse: Callable[[object, list[Mistake]], Content], allowed: str, hint: str) -> Content:
    """Return the content of a text. `file` is the name in messages. Otherwise like `read`."""
    try:
        document = yaml_file.parse(text, file)
    except ScenarioError as error:
        empty = [replace(each, allowed=allowed, hint=hint) for each in error.mistakes if each.code == "empty-file"]
        raise ScenarioError.of(empty or error.mistakes) from None
    mistakes = list(document.mistakes)
    found = parse(document.root.data(), mistakes)
    if mistakes:
        located = (each if each.line else replace(each, line=document.root.line_at(each.path)) for each in mistakes)
        in_order = sorted(located, key=lambda each: each.line or 0)
        raise ScenarioError.of(replace(each, file=file) for each in in_order)
    return found


def shown(value: object) -> str:
    """Return a value as it can be shown."""
    return short(getattr(value, "text", None) or ("null" if value is None else str(value)))
