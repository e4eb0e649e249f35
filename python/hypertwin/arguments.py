"""Arguments of public functions, checked against their annotations. A wrong type raises ScenarioError.

A number for a text argument becomes its text, so that its parser can report the problem (`memory=96` lacks a unit). A
single text or file for a list argument becomes a list of one.
"""

from __future__ import annotations

import ast
import numbers
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from functools import cache, wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, get_args

from hypertwin import naming
from hypertwin.errors import Mistake, ScenarioError, short

P = ParamSpec("P")
R = TypeVar("R")
Options = TypeVar("Options")
Subject = TypeVar("Subject")

CLASSES: dict[str, type] = {}
"""Classes of the package that are allowed as arguments, by name. Each class registers itself."""


def named(names: str | Path | Sequence[str | Path] | None, _options: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return the files that the value of an option names: none, one or several."""
    if names is None:
        return ()
    return tuple(map(Path, [names] if isinstance(names, str | Path) else names))


@dataclass(frozen=True)
class Option:
    """Annotation (in `Annotated`) of a field of an options object that is also a command line option."""

    help: str
    metavar: str | None = None
    flag: str | None = None
    """Name of the option, or None if the name is the field name after two hyphens."""
    least: float | None = None
    most: float | None = None
    offered: Callable[[], Iterable[str]] | Literal["groups", "vms", "hosts", "clusters", "pools", "paths"] | None = None
    """Completions of the option value: a function that returns names, or the kind of names in the scenario."""
    reads: Callable[[str], Any] | None = None
    """Parser of the typed value. Raises ValueError, which lists allowed values."""
    files: Callable[[Any, Mapping[str, Any]], Iterable[str | Path]] | None = None
    """Function that returns the files named by a value, given the values of all options, or None without files."""
    is_argument: bool = False
    """True for a positional argument of the command line."""


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_file(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping)


@dataclass(frozen=True)
class Type:
    """Type in annotations, with its name."""

    words: str
    accepts: Callable[[Any], bool]


TYPES: Mapping[str, Type] = {
    "Given": Type(
        "a file, YAML text, a mapping or a Scenario",
        lambda value: _is_file(value) or isinstance(value, Mapping | CLASSES["Scenario"]),
    ),
    "Answer": Type("an answer", lambda value: isinstance(value, CLASSES["Answer"])),
    "Path": Type("the name of a file", _is_file),
    "str": Type("text", lambda value: isinstance(value, str)),
    "int": Type("a whole number", lambda value: isinstance(value, numbers.Integral) and not isinstance(value, bool)),
    "float": Type("a number", _is_number),
    "bool": Type("True or False", lambda value: isinstance(value, bool)),
    "Lists": Type(
        "a mapping of paths to lists of values",
        lambda value: isinstance(value, Mapping) and all(map(_is_list, value.values())),
    ),
    "Mapping": Type("a mapping", lambda value: isinstance(value, Mapping)),
    "Callable": Type("a function", callable),
    "None": Type("None", lambda value: value is None),
}
"""Annotations whose arguments are checked. Other annotations accept any value."""

ALIASES: Mapping[str, str] = {"Progress": "Callable", "LabelledProgress": "Callable"}


@dataclass(frozen=True)
class Kind:
    """Set of values that an annotation allows. An empty kind allows any value."""

    types: tuple[str, ...] = ()
    """Names of the allowed types: keys of TYPES."""
    choices: tuple[str, ...] = ()
    several: Kind | None = None
    """Kind of the elements if a list or a single element is allowed, otherwise None."""

    def __str__(self) -> str:
        """Return the allowed values in words."""
        named = [TYPES[name].words for name in TYPES if name in self.types and name != "None"]
        if "Path" in self.types and "str" in self.types:
            named.remove(TYPES["str"].words)
        several = [] if self.several is None else [str(self.several), "a list of these"]
        return ", ".join((*self.choices, *several, *named))

    def read(self, name: str, value: Any) -> Any:
        """Return the value in the form that functions take. Raises ValueError, whose argument is a Mistake."""
        if self == ANYTHING:
            return value
        if self.choices and isinstance(value, str):
            if value not in self.choices:
                raise ValueError(Mistake("unknown-value", name, value, str(self), _near(value, self.choices)))
            return str(value)
        if any(TYPES[each].accepts(value) for each in self.types):
            return int(value) if isinstance(value, numbers.Integral) and not isinstance(value, bool) else value
        if self.several is not None:
            try:
                if _is_list(value):
                    return tuple(self.several.read(name, each) for each in value)
                if value is not None:
                    return (self.several.read(name, value),)
            except ValueError as error:
                raise ValueError(replace(error.args[0], allowed=str(self))) from None
        if "str" in self.types and "Path" not in self.types and _is_number(value):
            return str(value)
        hint = "leave it out for the default" if "None" in self.types else "give one of these"
        if isinstance(value, str) and value.strip("+-").isdigit():
            hint = "write the number without quotes"
        raise ValueError(Mistake("wrong-type", name, _shown(value), str(self), hint))


ANYTHING = Kind()


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with a check of its arguments against its annotations. All problems are reported together."""

    @cache
    def asked() -> tuple[list[str], str, Mapping[str, Kind], bool]:
        parameters = signature(function).parameters
        kinds = {name: kind(each.annotation) for name, each in parameters.items() if each.annotation is not each.empty}
        by_position = [name for name, each in parameters.items() if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
        rest = next((name for name, each in parameters.items() if each.kind is Parameter.VAR_POSITIONAL), "")
        takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
        return by_position, rest, kinds, takes_any

    @wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> R:
        by_position, rest, kinds, takes_any = asked()
        names = [*by_position[: len(args)], *[rest] * (len(args) - len(by_position))]
        with _Reading() as reading:
            listed = [reading(name, value, kinds.get(name, ANYTHING)) for name, value in zip(names, args, strict=True)]
            known = given.keys() if takes_any else kinds.keys() - {rest}
            named = {
                name: reading(name, value, kinds.get(name, ANYTHING))
                if name in known
                else reading.unknown(name, value, function.__name__, list(kinds))
                for name, value in given.items()
            }
        return function(*listed, **named)

    return call


def fields_of(options: type) -> list[tuple[Field[Any], type]]:
    """Return the fields of a class of options, its own before those of its bases, each with its class."""
    own = {name: home for home in reversed(options.__mro__) for name in vars(home).get("__annotations__", ())}
    order = list(options.__mro__)
    listed = [(each, own[each.name]) for each in fields(options)]
    return sorted(listed, key=lambda each: order.index(each[1]))


@cache
def marked(options: type) -> list[tuple[Field[Any], Any, Option]]:
    """Return the marked fields of a class of options, in the order of `fields_of`, each with its type."""
    found = []
    for field, home in fields_of(options):
        if str(field.type).startswith("Annotated["):
            kind, mark = get_args(eval(str(field.type), vars(sys.modules[home.__module__])))
            found.append((field, kind, mark))
    return found


def asks(
    options: Callable[P, Options],
) -> Callable[[Callable[[Subject, Options], R]], Callable[Concatenate[Subject, P], R]]:
    """Turn a function of a subject and an options object into one with the options' fields as arguments.

    Arguments of a wrong type are refused, as in `checked`. The class of the options is the function's `options`.
    """
    return lambda function: _spread(function, options)


def asks_alone(options: Callable[P, Options]) -> Callable[[Callable[[Options], R]], Callable[P, R]]:
    """Turn a function whose subject is an option into a function of arguments, in the same way as `asks`."""
    return lambda function: _spread(function, options)


def _spread(function: Callable[..., R], options: Any) -> Callable[..., R]:
    own = signature(function)
    subject = list(own.parameters.values())[:-1]
    spread = [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY if each.kw_only else Parameter.POSITIONAL_OR_KEYWORD,
            default=Parameter.empty if each.default is MISSING else each.default,
            annotation=each.type,
        )
        for each, _ in fields_of(options)
    ]
    whole = own.replace(parameters=sorted([*subject, *spread], key=lambda each: each.kind))

    @wraps(function)
    def call(*args: Any, **given: Any) -> R:
        found = whole.bind(*args, **given).arguments
        before = [found.pop(each.name) for each in subject]
        return function(*before, options(**found))

    vars(call).update(__signature__=whole, options=options)
    return checked(call)


class _Reading:
    """Parser of arguments that raises all problems together at the end."""

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []

    def __enter__(self) -> _Reading:
        return self

    def __exit__(self, *_: object) -> None:
        if self.mistakes:
            raise ScenarioError.of(self.mistakes)

    def __call__(self, name: str, value: Any, wanted: Kind) -> Any:
        try:
            return wanted.read(name, value)
        except ValueError as error:
            self.mistakes.append(error.args[0])

    def unknown(self, name: str, value: Any, function: str, known: list[str]) -> Any:
        hint = _near(name, known)
        self.mistakes.append(Mistake("unknown-key", name, _shown(value), f"{function}: {', '.join(known)}", hint))


@cache
def kind(annotation: str) -> Kind:
    """Return the values that an annotation, given as text, allows."""
    return _of(ast.parse(annotation, mode="eval").body)


def _of(node: ast.expr) -> Kind:
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Annotated" and isinstance(node.slice, ast.Tuple):
        return _of(node.slice.elts[0])
    found = Kind()
    for each in _alternatives(node):
        inner = each.slice if isinstance(each, ast.Subscript) else None
        name = ast.unparse(each.value if isinstance(each, ast.Subscript) else each)
        name = ALIASES.get(name, name)
        if name == "Literal" and inner is not None:
            found = replace(found, choices=_choices(inner))
        elif name == "Sequence" and inner is not None:
            found = replace(found, several=_of(inner))
        elif name == "Mapping" and inner is not None and "Sequence" in ast.unparse(inner):
            found = replace(found, types=(*found.types, "Lists"))
        elif name in TYPES:
            found = replace(found, types=(*found.types, name))
        else:
            return ANYTHING
    single = () if found.several is None else found.several.types
    return replace(found, types=tuple(each for each in found.types if each not in single))


def _choices(node: ast.expr) -> tuple[str, ...]:
    found = ast.literal_eval(node)
    return found if isinstance(found, tuple) else (found,)


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from _alternatives(node.left)
        yield from _alternatives(node.right)
    else:
        yield node


def _near(name: str, known: Iterable[str]) -> str:
    return naming.hint(name, list(known), "choose one of these")


def _shown(value: object) -> str:
    """Return a value in a few words."""
    if value is None or isinstance(value, bool | numbers.Real):
        return short(str(value))
    if isinstance(value, str | bytes | list | tuple | dict):
        return short(repr(value[:100] if isinstance(value, str | bytes) else value))
    return f"a {type(value).__name__}"
