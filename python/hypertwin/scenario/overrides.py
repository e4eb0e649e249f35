"""Changes of a scenario by path: overrides (`vms.db.vcpus=36`), sweeps (`vms.db.load=1,2,3`), and their text forms."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypertwin.errors import Argument, ScenarioError, YamlError, fail, short
from hypertwin.files import yaml_file
from hypertwin.files.yaml_file import MAX_DEPTH, HugeNumber, Node

MAX_SWEEP_VALUES = 10_000
"""Maximum number of values of one sweep, and of points of all sweeps together."""

_RANGE = re.compile(r"(-?[0-9]{1,15})\.\.(-?[0-9]{1,15})\Z")
_LIKE_RANGE = re.compile(r"[-+]?[0-9.]+\.\.")


class Setting(str):
    """Path of a function argument with another name, for messages. Example: `run.duration` is shown as `duration`."""

    @property
    def argument(self) -> str:
        """Last key of the path."""
        return self.rpartition(".")[2]


def together(fixed: Mapping[str, object], settings: Mapping[str, object]) -> dict[str, object]:
    """Return overrides and settings together. The settings' key takes priority, because it names the argument."""
    return {**{path: value for path, value in fixed.items() if path not in settings}, **settings}


def sweeps_by_path(
    sweep: Mapping[str, Iterable[Any]] | Sequence[str] | None, fixed: Mapping[str, object]
) -> dict[str, list[Any]]:
    """Return the values of a sweep by path, checked against the fixed settings. Raises ScenarioError."""
    if not isinstance(sweep, Mapping):
        sweep = parse_sweeps([sweep] if isinstance(sweep, str) else sweep or ())
    found = {str(path): list(values) for path, values in sweep.items()}
    for path, values in found.items():
        location = Argument("sweep", short(f"{path}={','.join(map(as_typed, values[:10]))}"))
        written = [repr(value) for value in values]
        if not values:
            fail("bad-override", path, "no value", "at least one value", f"for example {path}=1,2,3", location)
        if len(set(written)) < len(written):
            twice = next(value for value, text in zip(values, written, strict=True) if written.count(text) > 1)
            fail("duplicate-key", path, as_typed(twice), "each value once", "give it once", location)
        if path in fixed:
            hint = "omit one of the two"
            fail("duplicate-key", path, as_typed(fixed[path]), "a path that is either set or swept", hint, location)
    return found


def parse_sets(items: Iterable[str]) -> dict[str, Any]:
    """Return values by path from texts such as `vms.db.vcpus=36` or `run.duration=10 min`.

    A value is a YAML scalar, or a list or mapping in brackets (`{mean: 5 ms}`). Raises ScenarioError.
    """
    return _parse("overrides", items, _set_value)


def parse_sweeps(items: Iterable[str]) -> dict[str, list[Any]]:
    """Return lists of values by path from texts such as `vms.db.load=1,2,3` or `vms.db.memory=8GiB,16GiB`.

    `A..B` is every integer from A to B. A value with a comma needs quotes. Raises ScenarioError.
    """
    sweeps = _parse("sweep", items, _sweep_values)
    points = math.prod(len(values) for values in sweeps.values())
    if points > MAX_SWEEP_VALUES:
        location = Argument("sweep", " ".join(f"{path}=..." for path in sweeps))
        allowed = f"at most {MAX_SWEEP_VALUES} points"
        fail("too-large", "", f"{points} points", allowed, "sweep fewer values", location)
    return sweeps


def _parse(argument: str, items: Iterable[str], value_of: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for item in items:
        location = Argument(argument, short(item))
        path, equals, text = item.partition("=")
        path, text = path.strip(), text.strip()
        form = "PATH=VALUE" if argument == "overrides" else "PATH=A,B,C"
        if not equals or not path:
            hint = f"for example vms.db.vcpus={'8' if argument == 'overrides' else '4,8,16'}"
            fail("bad-override", "", short(item) or "nothing", f"{form}, a path into the scenario", hint, location)
        if not text:
            fail("bad-override", path, "nothing after =", form, f"give a value: {path}=...", location)
        if path in values:
            hint = "give it once; a sweep takes several values with commas"
            fail("duplicate-key", path, short(text), "each path once", hint, location)
        if path != utf8(path):
            fail("not-utf-8", utf8(short(path)), short(text), "a path in UTF-8", "write it in UTF-8", location)
        if path.count(".") >= MAX_DEPTH:
            hint = "for example vms.db.vcpus"
            fail("unknown-path", short(path), short(text), f"at most {MAX_DEPTH} keys joined by dots", hint, location)
        values[path] = value_of(path, text, location)
    return values


def _set_value(path: str, text: str, location: str) -> Any:
    if text[0] not in "{[\"'":
        return yaml_file.scalar(text)
    return _yaml(path, text, location).data()


def _sweep_values(path: str, text: str, location: str) -> list[Any]:
    values: list[Any] = []
    allowed = "values with commas between them, or a range of whole numbers"
    hint = f"for example {path}=1,2,4 or {path}=1..4"
    try:
        nodes: list[Node] = _yaml(path, f"[{text}]", location).value
    except YamlError:
        fail("bad-override", path, short(text), allowed, hint, location)
    for node in nodes:
        bounds = _RANGE.match(node.value) if isinstance(node.value, str) else None
        if bounds is None and isinstance(node.value, str) and _LIKE_RANGE.match(node.value):
            fail("bad-override", path, short(node.value), allowed, hint, location)
        if bounds is None:
            values.append(node.data())
        else:
            first, last = int(bounds[1]), int(bounds[2])
            if abs(last - first) >= MAX_SWEEP_VALUES:
                allowed = f"at most {MAX_SWEEP_VALUES} values"
                fail("too-large", path, short(text), allowed, "sweep fewer values", location)
            step = 1 if last >= first else -1
            values.extend(range(first, last + step, step))
    if not values:
        fail("bad-override", path, short(text), "at least one value", hint, location)
    return values


def _yaml(path: str, text: str, location: str) -> Node:
    try:
        document = yaml_file.parse(text, location)
    except ScenarioError as error:
        raise ScenarioError.of(replace(mistake, path=path, line=None) for mistake in error.mistakes) from None
    if document.mistakes:
        raise ScenarioError.of(
            replace(mistake, path=f"{path}.{mistake.path}", line=None) for mistake in document.mistakes
        )
    return document.root


def by_path(overrides: Mapping[str, object] | Sequence[str] | None) -> dict[str, object]:
    """Return overrides as a mapping of values by path (see `load`)."""
    if isinstance(overrides, Mapping):
        return {path if isinstance(path, str) else str(path): value for path, value in overrides.items()}
    return parse_sets([overrides] if isinstance(overrides, str) else overrides or ())


def location_of(path: str, value: object, swept: Collection[str] = ()) -> Argument:
    """Return the origin of an override."""
    if isinstance(path, Setting):
        return Argument(path.argument, as_typed(value))
    return Argument("sweep" if path in swept else "overrides", short(f"{path}={as_typed(value)}"))


def as_typed(value: object) -> str:
    """Return a value in the form of the command line."""
    if isinstance(value, str | HugeNumber):
        return short(value.text if isinstance(value, HugeNumber) else value)
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, dict | list):
        return short(_flow(value))
    try:
        return short(str(value))
    except ValueError:  # an int of more digits than Python writes
        return "a huge integer"


def _flow(value: dict[str, Any] | list[Any]) -> str:
    """Return a mapping or list in brackets, as YAML on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(as_typed, value))}]"
    return f"{{{', '.join(f'{key}: {as_typed(each)}' for key, each in value.items())}}}"


def utf8(text: str) -> str:
    """Return a text with escapes instead of characters that UTF-8 does not have."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
