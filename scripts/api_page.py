"""The reference of the Python API, docs/api.md, made from the docstrings of what `hypertwin` exports."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

import hypertwin
from hypertwin.arguments import fields_of
from hypertwin.plan.placement.options import Moving
from hypertwin.results.answers import Answer, Plot
from hypertwin.runs.options import Runs

HEAD = """\
# The Python API

*Generated from docstrings by `make docs`. Change those, not this page.*

Everything that the command line answers is a function. A scenario goes in as the name of a file, YAML text, a mapping
or a loaded `Scenario` (`Given` below); an answer comes out, which has the same ways to look at it whatever was asked.

```python
import hypertwin

result = hypertwin.simulate("scenario.yaml", replications=3)
result  # a few lines; in a notebook a table
result.vms["db"].response_ms.p99  # any figure by name, in the unit that its name ends in: milliseconds
result.frames["vms"]  # a polars data frame for each kind of thing
result.report("report.html")  # the page that `hypertwin simulate --report` writes
result.plot()  # the same page inside a notebook
result.to_json()  # what `--format json` prints

sweep = hypertwin.simulate("scenario.yaml", sweep={"vms.db.load": [1, 2, 4]})
[point.vms["db"].ready_pct for point in sweep.points]
```

Scenarios can be built step by step. Errors appear all at once, each with its path, as for a file:

```python
from hypertwin.parts import HostGroup, VmGroup, Workload

scenario = hypertwin.Scenario.from_dict({"name": "pair", "hosts": {"esx": HostGroup(...)}, "vms": {}, "workloads": {}})
scenario = scenario.with_(vms={"web": VmGroup(count=4, vcpus=2, memory="8 GiB", workload="oltp")})
scenario = scenario.with_overrides({"vms.web.load": 2})
scenario.write("pair.yaml")
```

Units are in names (`_s`, `_ms`, `_pct`, `_bytes`, `_gib`, `_hz`, `_per_s`); [metrics](metrics.md) has every figure of a
simulation, [the scenario file](scenario.md) every key, `hypertwin.documents` the type of every document (`to_dict`).
Percentages of a VM are per vCPU. Whatever can be wrong is a `HypertwinError` with a stable `code`
([errors](errors.md)). What needs an extra says so, and how to install it. A [notebook](notebooks/first-steps.ipynb)
goes through it.
"""

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Scenarios": ("Scenario", "load", "example", "examples", "import_cluster", "presets", "devices", "schema"),
    "Questions": (
        *(
            "simulate",
            "density",
            "capacity",
            "plan_survive",
            "plan_balance",
            "plan_evacuate",
            "plan_place",
            "plan_refresh",
            "plan_move",
        ),
        *("size", "vnuma", "durability", "calibrate", "validate", "diagnose", "telemetry"),
        "compare",
        *("predict_benchmark", "check_benchmark", "run_benchmark", "import_benchmark", "report_benchmark"),
    ),
    "Answers": (
        *(
            "Answer",
            "Record",
            "Result",
            "Density",
            "Capacity",
            "Planned",
            "Refreshed",
            "Moved",
            "Sizing",
            "Layout",
            "Durability",
        ),
        *("Benchmark", "Ready", "Calibration", "Validation", "Diagnosis", "Telemetry", "Comparison"),
    ),
    "Errors": ("HypertwinError", "ScenarioError", "SourceError", "RunError"),
}
"""What is exported, in the order in which a reader needs it; all of it."""

SHARED = {"Options of plans": Moving, "Options of runs": Runs}
"""Options that several functions have."""

INTERNAL = {"VIEWS", "beside", "inputs"}
"""Fields of answers for internal use."""

WIDE = 110
"""Letters of a signature in one line."""


def to_markdown() -> str:
    """The whole page."""
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(hypertwin.__all__), set(listed) ^ set(hypertwin.__all__)
    parts = [HEAD]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, getattr(hypertwin, name)) for name in names]
        if title == "Questions":
            parts += [f"### {name}\n\n{_text(options)}\n\n{_options(options)}" for name, options in SHARED.items()]
        if title == "Answers":
            parts.append(_entry("Plot", Plot))
    return "\n".join(parts)


def _entry(name: str, thing: Any) -> str:
    """The part of the page about a function or a class."""
    heading = f"### `{name}`" if name.isidentifier() else f"### {name}"
    if not inspect.isclass(thing):
        options = f"\n{_options(thing.options)}" if hasattr(thing, "options") else ""
        return f"{heading}\n\n```python\n{signature(name, thing)}\n```\n\n{_text(thing)}\n{options}"
    members = "".join(f"- {line}\n" for line in _members(thing))
    return f"{heading}\n\n{_text(thing)}\n{chr(10) + members if members else ''}"


def signature(name: str, function: Any, wide: int = WIDE) -> str:
    """A function as it is called, one argument a line where one line is too short."""
    found = inspect.signature(function)
    words, starred = [], False
    for each in found.parameters.values():
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and not starred:
            words.append("*")
        starred = starred or each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        stars = "*" if each.kind is each.VAR_POSITIONAL else "**" if each.kind is each.VAR_KEYWORD else ""
        default = "" if each.default is each.empty else f" = {_default(each.default)}"
        words.append(f"{stars}{each.name}: {_annotation(each.annotation)}{default}")
    returned = f" -> {_annotation(found.return_annotation)}"
    line = f"{name}({', '.join(words)}){returned}"
    return line if len(line) <= wide else f"{name}(\n{''.join(f'    {word},{chr(10)}' for word in words)}){returned}"


def _options(options: type) -> str:
    """What each field of a class of options says, but for those that it shares with others."""
    shared = {name: each for name, each in SHARED.items() if issubclass(options, each) and options is not each}
    elsewhere = {home for each in shared.values() for home in each.__mro__}
    told = {home: _told(home) for home in options.__mro__ if home is not object and dataclasses.is_dataclass(home)}
    lines = [
        f"- `{field.name}`: {told[home][field.name][1]}\n"
        for field, home in fields_of(options)
        if home not in elsewhere and told[home][field.name][1]
    ]
    links = " and ".join(f"[{name.lower()}](#{name.lower().replace(' ', '-')})" for name in shared)
    return "".join([*lines, f"- {links}\n" if links else ""])


def _annotation(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    if text.startswith("Annotated["):
        kind = ast.parse(text, mode="eval").body
        assert isinstance(kind, ast.Subscript) and isinstance(kind.slice, ast.Tuple)
        text = ast.unparse(kind.slice.elts[0])
    return text.removeprefix("scenarios.").replace("documents.", "")


def _default(value: object) -> str:
    return "{}" if isinstance(value, Mapping) and not value else repr(value)


def _text(thing: Any) -> str:
    """A docstring; its examples as code."""
    text = inspect.getdoc(thing) or ""
    parts = [
        f"```python\n{part}\n```" if part.lstrip().startswith(">>>") else part
        for part in text.replace("  # doctest: +SKIP", "").split("\n\n")
    ]
    return "\n\n".join(parts)


def _members(thing: type) -> Iterator[str]:
    """Fields, properties and methods that a class has of its own, with what they say."""
    defaults = {each.name: each for each in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else {}
    yield from _documents(thing)
    told = _told(thing)
    for name, (kind, text) in told.items():
        if name.startswith("_") or name in INTERNAL:
            continue
        field = defaults.get(name)
        default = f" = {field.default!r}" if field and field.default is not dataclasses.MISSING else ""
        yield f"`{name}: {kind}{default}`{f': {text}' if text else ''}"
    for name, member in vars(thing).items():
        if name.startswith("_") or name in told:
            continue
        if isinstance(member, property) or hasattr(member, "attrname"):
            getter: Any = member.fget if isinstance(member, property) else member.func
            yield f"`{name}: {_annotation(inspect.signature(getter).return_annotation)}`: {_line(getter)}"
        elif isinstance(member, staticmethod) or inspect.isfunction(member):
            function: Any = member.__func__ if isinstance(member, staticmethod) else member
            if name != "to_dict" or not issubclass(thing, Answer):
                yield f"`{signature(name, function, wide=10_000)}`: {_line(function)}"


def _documents(thing: type) -> Iterator[str]:
    """What type the document of an answer is."""
    bases = thing.__orig_bases__ if issubclass(thing, Answer) else ()  # type: ignore[attr-defined]
    for base in bases:
        for each in get_args(base):
            if not isinstance(each, TypeVar):
                name = str(each) if get_args(each) else f"{each.__module__}.{each.__qualname__}"
                yield f"`to_dict() -> {name.replace('hypertwin.documents.', 'documents.')}`: its document."


def _told(thing: type) -> dict[str, tuple[str, str]]:
    """Annotation and docstring of each field in the source of a class."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    assert isinstance(node, ast.ClassDef)
    told: dict[str, tuple[str, str]] = {}
    for here, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(here, ast.AnnAssign) and isinstance(here.target, ast.Name):
            doc = after.value if isinstance(after, ast.Expr) else None
            text = doc.value if isinstance(doc, ast.Constant) and isinstance(doc.value, str) else ""
            kind, text = here.annotation, " ".join(text.split())
            match kind:
                case ast.Subscript(ast.Name("Annotated"), ast.Tuple([kind, ast.Call(args=[ast.Constant(said), *_])])):
                    text = str(said)  # an option of the command line, too, whose help says what it is
            told[here.target.id] = (_annotation(ast.unparse(kind)), text)
    return told


def _line(function: Any) -> str:
    """A docstring in one paragraph."""
    return " ".join((inspect.getdoc(function) or "").split())
