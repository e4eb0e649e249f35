"""An evaluator of PromQL over scrapes without a server, limited to the needs of `prometheus_queries`.

Selectors with matchers, `rate` over two scrapes, `max`, `sum` and `count` `by` labels, arithmetic and comparisons. As
in Prometheus, two vectors are matched by all their labels, and a comparison keeps the elements that satisfy it. Regular
expressions come only from this package's own queries, never from a file. Language:
prometheus.io/docs/prometheus/latest/ querying/.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

Key = tuple[tuple[str, str], ...]
"""Labels and values, in order."""
Vector = dict[Key, float]
Now = Callable[[str], Mapping[Key, float]]
"""Series of a name in the scrape."""
Grew = Callable[[str], Mapping[Key, float]]
"""Growth per second of counters with a name since the previous scrape."""
Node = tuple[Any, ...]

_TOKEN = re.compile(r'\s*(>=|=~|!~|[-+*/>(){}\[\],=]|"[^"]*"|[a-zA-Z_][a-zA-Z0-9_]*|[0-9]+(?:\.[0-9]+)?)')
_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_COMPARED = {">": operator.gt, ">=": operator.ge}
_COLLECTED: Mapping[str, Callable[[list[float]], float]] = {"max": max, "sum": math.fsum, "count": len}


def evaluated(expression: str, now: Now, grew: Grew) -> Vector:
    """Return the value of an expression for each set of labels. Non-finite values are left out."""
    found = _value(_parsed(expression), now, grew)
    assert isinstance(found, dict), "every query asks for series"
    return {key: value for key, value in found.items() if math.isfinite(value)}


def names(expression: str) -> frozenset[str]:
    """Return the series that an expression needs."""
    return frozenset(_named(_parsed(expression)))


def _named(node: Node) -> Iterator[str]:
    if node[0] in ("series", "rate"):
        yield node[1]
    for part in node[1:]:
        if isinstance(part, tuple) and part and isinstance(part[0], str):
            yield from _named(part)


@lru_cache(maxsize=512)
def _parsed(expression: str) -> Node:
    text = expression.replace("$m", "").replace("$r", "r")
    tokens = _TOKEN.findall(text)
    assert "".join(tokens) == "".join(text.split()) or '"' in text, expression
    node, end = _compared(tokens, 0)
    assert end == len(tokens), expression
    return node


def _compared(tokens: list[str], at: int) -> tuple[Node, int]:
    return _operations(tokens, at, (">", ">="), lambda tokens, at: _operations(tokens, at, ("+", "-"), _product))


def _product(tokens: list[str], at: int) -> tuple[Node, int]:
    return _operations(tokens, at, ("*", "/"), _factor)


def _operations(
    tokens: list[str], at: int, operators: tuple[str, ...], inner: Callable[[list[str], int], tuple[Node, int]]
) -> tuple[Node, int]:
    left, at = inner(tokens, at)
    while at < len(tokens) and tokens[at] in operators:
        sign = tokens[at]
        right, at = inner(tokens, at + 1)
        left = ("operation", sign, left, right)
    return left, at


def _factor(tokens: list[str], at: int) -> tuple[Node, int]:
    token = tokens[at]
    if token == "(":
        node, at = _compared(tokens, at + 1)
        return node, at + 1
    if token[0].isdigit():
        return ("number", float(token)), at + 1
    if token in _COLLECTED:  # max by (a, b) (...)
        end = tokens.index(")", at)
        labels = tuple(each for each in tokens[at + 3 : end] if each != ",")
        node, at = _compared(tokens, end + 2)
        return ("collect", token, labels, node), at + 1
    if token == "rate":  # rate(name{...}[r])
        series, at = _factor(tokens, at + 2)
        return ("rate", *series[1:]), at + 4
    matchers: list[tuple[str, str, re.Pattern[str]]] = []
    at += 1
    if at < len(tokens) and tokens[at] == "{":
        at += 1
        while tokens[at] != "}":
            label, sign, value = tokens[at : at + 3]
            matchers.append((label, sign, re.compile(value[1:-1] if "~" in sign else re.escape(value[1:-1]))))
            at += 4 if tokens[at + 3] == "," else 3
        at += 1
    return ("series", token, tuple(matchers)), at


def _value(node: Node, now: Now, grew: Grew) -> Vector | float:
    kind = node[0]
    if kind == "number":
        return float(node[1])
    if kind in ("series", "rate"):
        found = (now if kind == "series" else grew)(node[1])
        return {key: value for key, value in found.items() if not node[2] or _matches(dict(key), node[2])}
    if kind == "collect":
        inner = _value(node[3], now, grew)
        assert isinstance(inner, dict)
        groups: dict[Key, list[float]] = {}
        for key, value in inner.items():
            labels = dict(key)
            by = tuple((label, labels[label]) for label in sorted(node[2]) if labels.get(label))
            groups.setdefault(by, []).append(value)
        return {key: float(_COLLECTED[node[1]](values)) for key, values in groups.items()}
    return _operation(node[1], _value(node[2], now, grew), _value(node[3], now, grew))


def _matches(labels: Mapping[str, str], matchers: tuple[tuple[str, str, re.Pattern[str]], ...]) -> bool:
    return all(
        (pattern.fullmatch(labels.get(label, "")) is not None) is (sign != "!~") for label, sign, pattern in matchers
    )


def _operation(sign: str, left: Vector | float, right: Vector | float) -> Vector | float:
    if sign in _COMPARED:
        assert isinstance(left, dict)
        assert isinstance(right, float)
        return {key: value for key, value in left.items() if _COMPARED[sign](value, right)}
    if isinstance(left, dict) and isinstance(right, dict):
        return {key: _calculated(sign, value, right[key]) for key, value in left.items() if key in right}
    if isinstance(left, dict):
        assert isinstance(right, float)
        return {key: _calculated(sign, value, right) for key, value in left.items()}
    if isinstance(right, dict):
        return {key: _calculated(sign, left, value) for key, value in right.items()}
    return _calculated(sign, left, right)


def _calculated(sign: str, left: float, right: float) -> float:
    if sign == "/":
        return left / right if right else math.nan
    return float(_ARITHMETIC[sign](left, right))
