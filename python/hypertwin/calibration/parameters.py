"""Parameters to fit: parser of `--free PATH[=LOW..HIGH]` for a scenario.

The schema determines whether a path has a plain number or a quantity. A fitted quantity keeps its unit in the scenario.
Without bounds, a parameter can range from its present value divided by FACTOR to the value times FACTOR, as far as the
schema allows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from hypertwin import _core, language, naming
from hypertwin.errors import Argument, ScenarioError, fail
from hypertwin.scenario import Scenario

FACTOR = 5.0
"""Factor of the default bounds: the present value divided by the factor, and multiplied by the factor."""

DIGITS = 7
"""Number of significant digits of a fitted value, which is far more than any fit determines."""

_QUANTITY = re.compile(r"\s*([+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*(\S*)\s*\Z")
_FORM = "PATH or PATH=LOW..HIGH, such as workloads.web.cpu.mean=5ms..20ms"


@dataclass(frozen=True)
class Parameter:
    """Number in the scenario, with its bounds."""

    path: str
    unit: str
    """Unit of the numbers below, or an empty string for a plain number."""
    start: float
    """Start of the search: the value in the scenario, or the middle of the bounds if the value is outside."""
    low: float
    high: float

    def text(self, value: float) -> str:
        """Return a value in the form of a scenario: `54.2 ms`."""
        return f"{_plain(value)} {self.unit}".rstrip()

    def setting(self, value: float) -> str | float:
        """Return a value as an override: text with a unit, or a number."""
        return self.text(value) if self.unit else float(_plain(value))


def parse(items: Sequence[str], scenario: Scenario) -> tuple[Parameter, ...]:
    """Return the parameters of texts such as `vms.db.load` or `workloads.web.cpu.mean=5ms..20ms`. Raises ScenarioError.

    A text can list several, separated by commas. Integers (`vms.db.vcpus`) cannot be fitted, because a fit needs values
    in between.
    """
    if not items:
        fail("bad-override", "free", "nothing", _FORM, "name a parameter to fit")
    found: dict[str, Parameter] = {}
    for item in (part for each in items for part in each.split(",")):
        parameter = _parse(item, scenario)
        if parameter.path in found:
            fail("duplicate-key", parameter.path, item, "each path once", "give it once", Argument("free", item))
        found[parameter.path] = parameter
    return tuple(found.values())


def is_from(scenario: Scenario, parameter: Parameter) -> bool:
    """Return True if the scenario has the start value of the parameter."""
    try:
        value = _value_at(parameter.path, scenario, "")
    except ScenarioError:
        return False
    return _split(str(value)) == (parameter.start, parameter.unit)


def _parse(item: str, scenario: Scenario) -> Parameter:
    location = Argument("free", item)
    path, equals, bounds = (part.strip() for part in item.partition("="))
    if not path or (equals and not bounds):
        fail("bad-override", path, item or "nothing", _FORM, "leave =LOW..HIGH out for default bounds", location)
    value = _value_at(path, scenario, location)
    node = language.schema_node(path) or {}
    kind = str(node.get("x-quantity", ""))
    if node.get("type") == "integer":
        allowed = "a number that need not be whole"
        fail("wrong-type", path, str(value), allowed, f"compare a few values instead: `sweep` {path}=...", location)
    if isinstance(value, bool) or not (kind or isinstance(value, int | float)):
        fail("wrong-type", path, str(value), "a number, or a quantity with a unit", "free one of those", location)
    number, unit = _split(str(value))
    least, most = _allowed(node, kind, unit)
    if equals:
        low, high = _bounds(path, bounds, kind, unit, location)
        if low < least or high > most:
            _range(path, bounds, least, most, unit, location)
        if not low <= number <= high:
            number = math.sqrt(low * high) if low > 0 else (low + high) / 2
    elif number == 0:
        hint = f"say where to look: {path}=LOW..HIGH, or start elsewhere: `overrides` {path}=..."
        fail("out-of-range", path, str(value), "a present value other than 0, or bounds", hint, location)
    else:
        low, high = sorted((number / FACTOR, number * FACTOR))
        low, high = max(low, least), min(high, most)
    return Parameter(path, unit, number, low, high)


def _bounds(path: str, text: str, kind: str, unit: str, location: str) -> tuple[float, float]:
    ends = text.split("..")
    if len(ends) != 2:
        fail("bad-override", path, text, "LOW..HIGH", f"for example {path}=1{unit}..2{unit}", location)
    low, high = (_in_unit(path, end.strip(), kind, unit, location) for end in ends)
    if not low < high:
        fail("out-of-range", path, text, "LOW below HIGH", "turn them round", location)
    return low, high


def _in_unit(path: str, text: str, kind: str, unit: str, location: str) -> float:
    """Return a number or quantity in the unit of the parameter."""
    found = _QUANTITY.match(text)
    if found is None:
        allowed = f"a number{f' with a unit, such as 1 {unit}' if kind else ''}"
        fail("bad-quantity", path, text or "nothing", allowed, _FORM, location)
    number = float(found[1])
    if not kind:
        if found[2]:
            fail("bad-unit", path, text, "a number without a unit", f"write {found[1]}", location)
        return number
    if number == 0 and not found[2]:
        return 0.0
    try:
        return _BASES[kind](text) / _BASES[kind](f"1 {unit}")
    except ValueError as error:
        fail("bad-unit", path, text, f"a quantity such as 1 {unit}", str(error), location)


def _allowed(node: Mapping[str, Any], kind: str, unit: str) -> tuple[float, float]:
    if not kind:
        return float(node.get("minimum", -math.inf)), float(node.get("maximum", math.inf))
    one = _BASES[kind](f"1 {unit}")
    return _BASES[kind](node["x-minimum"]) / one, _BASES[kind](node["x-maximum"]) / one


def _value_at(path: str, scenario: Scenario, location: str) -> Any:
    here: Any = scenario.data
    for depth, key in enumerate(path.split(".")):
        if isinstance(here, Mapping) and key in here:
            here = here[key]
        elif isinstance(here, tuple) and key.isdecimal() and int(key) < len(here):
            here = here[int(key)]
        else:
            parent = ".".join(path.split(".")[:depth])
            named = not isinstance(here, Mapping) or depth > 1
            if named and here is not None and language.schema_node(path) is not None:
                hint = f"give it a value to start from: `overrides` {path}=..."
                fail("missing-key", path, "(missing)", "a place that has a value", hint, location)
            names = list(here) if isinstance(here, Mapping) else []
            start = f"{parent}." if parent else ""
            hint = naming.hint(key, names, "hypertwin schema and docs/scenario.md list the paths", start=start)
            listed = ", ".join(names[:12]) or "no keys there"
            fail("unknown-path", path, key or "nothing", f"in {parent or 'a scenario'}: {listed}", hint, location)
    return here


def _split(text: str) -> tuple[float, str]:
    found = _QUANTITY.match(text)
    return (float(found[1]), found[2]) if found else (math.nan, "")


def _plain(value: float) -> str:
    """Return a number without an exponent, to DIGITS significant digits."""
    text = format(Decimal(f"{value:.{DIGITS}g}"), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _per_second(text: str) -> float:
    number, unit = _split(text)
    seconds = {"/s": 1.0, "/min": 60.0, "/h": 3600.0}
    if unit not in seconds:
        raise ValueError(f"needs one of {', '.join(seconds)}")
    return number / seconds[unit]


_BASES: Mapping[str, Callable[[str], float]] = {
    "duration": _core.duration_s,
    "frequency": lambda text: float(_core.frequency_hz(text)),
    "bytes": lambda text: float(_core.size_bytes(text)),
    "bandwidth": _core.bandwidth_bytes_per_s,
    "rate": _per_second,
}
"""Conversion of a quantity to a number, for each kind."""


def _range(path: str, text: str, least: float, most: float, unit: str, location: str) -> NoReturn:
    allowed = f"{_plain(least)} to {_plain(most)} {unit}".rstrip()
    fail("out-of-range", path, text, allowed, "choose bounds in that range", location)
