"""How commands become part of the command line: imported when they are called; what they read is marked, so that
no output replaces it, pages say what they were made from, and a re-run reads nothing else.
"""

from __future__ import annotations

import functools
import inspect
import re
import time
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

import typer

from hypertwin import scenario, writing
from hypertwin.arguments import Option
from hypertwin.cli import catalogue, help, provenance, streams
from hypertwin.errors import Argument, Mistake, ScenarioError

OUTPUTS = frozenset({"out", "report", "drawing"})
"""Names of the parameters that say what a command writes."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _named(value: Any, _arguments: Mapping[str, Any]) -> Iterable[str | Path]:
    """The value is the name of the file."""
    return () if value is None else (value,)


@dataclass(frozen=True)
class Input:
    """Marks a parameter of a command, in its `Annotated`, that names what the command reads."""

    files: Callable[[Any, Mapping[str, Any]], Iterable[str | Path]] = _named
    """The files that a value names, given the values of all parameters; None stands for no value."""


def offered(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What a shell offers for a value: those of the names that begin with what was typed of it."""

    def beginning(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return beginning


class App(typer.Typer):
    """A group of commands, none of which can write over what it reads."""

    def __init__(self, purpose: str | None = None, cls: type[help.Group] = help.Group) -> None:
        """A group without commands; `purpose` is its help text."""
        super().__init__(
            help=purpose,
            cls=cls,
            context_settings=help.SETTINGS,
            add_completion=False,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
        )

    def command(
        self, name: str | None = None, *, examples: Sequence[str] = (), **options: Any
    ) -> Callable[[_Command], _Command]:
        """As in Typer, with command lines for the end of its help."""
        epilog = help.examples_text(examples)
        register = super().command(name, cls=help.Command, epilog=epilog, **options)
        return lambda command: register(_protected(command))


class Commands(UserDict[str, Any]):
    """Commands by name, given the module of each, which is imported when its command is called or listed in a help."""

    def __getitem__(self, name: str) -> Any:
        """The command for Typer."""
        return typer.main.get_command(app(name, super().__getitem__(name)))


def app(name: str, module: str) -> App:
    """What a module has for a name on the command line: its group, `app`, or its only command, `command`."""
    found = import_module(module)
    if hasattr(found, "app"):
        return cast(App, found.app)
    single = App()
    single.command(name, examples=found.EXAMPLES)(found.command)
    return single


def parameters(command: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    """The parameters of a command by name; in place of an object of options each of its fields."""
    for each in inspect.signature(command, eval_str=True).parameters.values():
        options: Any = each.annotation
        if hasattr(options, "__dataclass_fields__"):
            yield from map(_of_field, filter(_is_said, parameters(options)))
        else:
            yield each.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _is_said(field: inspect.Parameter) -> bool:
    """Whether the command line has a field of an object of options: those with a mark."""
    return get_origin(field.annotation) is Annotated


def _of_field(field: inspect.Parameter) -> inspect.Parameter:
    """A field of an object of options as Typer takes it."""
    kind, *marks = get_args(field.annotation)
    mark = next((mark for mark in marks if isinstance(mark, Option)), None)
    if mark is None:
        return field
    said = typer.Option(
        *([mark.flag] if mark.flag else []),
        metavar=mark.metavar,
        help=mark.help,
        min=mark.least,
        max=mark.most,
        autocompletion=offered(mark.offered) if mark.offered else None,
    )
    several = any(get_origin(each) is Sequence for each in get_args(kind))
    return field.replace(annotation=Annotated[list[str] | None if several else kind, said])


def _gathered(command: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a command, with its objects of options made from the values of their fields."""
    found: dict[str, Any] = {}
    for name, each in inspect.signature(command, eval_str=True).parameters.items():
        options: Any = each.annotation
        is_options = hasattr(options, "__dataclass_fields__")
        if is_options:
            found[name] = options(**_gathered(options, given))
        elif name in given:  # what only functions take is not
            found[name] = given[name]
    return found


def inputs(command: Callable[..., Any]) -> dict[str, Input]:
    """The parameters of a command that are marked as `Input`, by name."""
    annotations = {
        each.name: each.annotation for each in parameters(command) if get_origin(each.annotation) is Annotated
    }
    return {
        name: mark
        for name, annotation in annotations.items()
        for mark in get_args(annotation)
        if isinstance(mark, Input)
    }


EVERYWHERE = [
    inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, typer.Option(f"--{name}", f"-{name[0]}", help=text)],
    )
    for name, text in (("quiet", catalogue.OPTIONS["-q, --quiet"]), ("verbose", catalogue.OPTIONS["-v, --verbose"]))
]
"""Options of every command."""


_TYPED: ContextVar[Mapping[str, Any]] = ContextVar("_TYPED", default=MappingProxyType({}))
"""The values of the options of the command that runs, by name."""


def typed() -> Mapping[str, Any]:
    """The values of the options of the command that runs, by name: what a mistake in one of them is told with."""
    return _TYPED.get()


def _protected(command: _Command) -> _Command:
    marked = inputs(command)
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def protected(*, quiet: bool, verbose: bool, **arguments: Any) -> Any:
        @functools.cache  # scenarios are read to find them
        def named() -> Sequence[str | Path]:
            return [file for name, mark in marked.items() for file in mark.files(arguments[name], arguments) if file]

        provenance.confine(named, [value for name, value in arguments.items() if name in OUTPUTS])
        read: Iterable[str | Path] = ()
        if arguments.get("report") is not None:
            from hypertwin.report import page  # pages are for some runs only

            page.date_now()  # refuses a bad one before anything runs
            read = named()  # now: the files may be others when the command ends
        with (
            streams.saying(quiet=quiet, verbose=verbose),
            writing.protecting(lambda: map(_with_stdin, named())),
            provenance.under_way(read),
            _told(named, arguments),
            options_named(),
        ):
            _TYPED.set(arguments)
            return command(**_gathered(command, arguments))

    protected.__signature__ = signature.replace(parameters=[*parameters(command), *EVERYWHERE])  # type: ignore[attr-defined]
    return cast(_Command, protected)


def _with_stdin(file: str | Path) -> str | Path:
    """A file that is read, where it is; what comes through `<` is a file too."""
    return "/dev/stdin" if str(file) == scenario.STDIN else file


_OPTIONS = {"overrides": "--set", "minimum": "--min", "maximum": "--max"}
"""Options that are called otherwise than the argument of the function."""
_QUOTED = re.compile("`([a-z]+(?:_[a-z]+)*)`")
"""An argument in a text."""


@contextmanager
def options_named() -> Iterator[None]:
    """Mistakes in the block name options where they name arguments of functions."""
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError.of(map(_with_option, error.mistakes)) from None


def _with_option(mistake: Mistake) -> Mistake:
    file, path = mistake.file, "NAME" if mistake.path == "names" and not mistake.file else mistake.path
    if isinstance(file, Argument):
        file = file.replace(file.name, _option(file.name), 1)
    elif not file and path.isidentifier() and path != "NAME":
        file, path = _option(path), ""
    elif path != "NAME" and not file.startswith("--"):
        return mistake
    allowed, hint = (_QUOTED.sub(lambda found: _option(found[1]), text) for text in (mistake.allowed, mistake.hint))
    return replace(mistake, file=file, path=path, allowed=allowed, hint=hint)


def _option(name: str) -> str:
    return _OPTIONS.get(name, f"--{name.replace('_', '-')}")


@contextmanager
def _told(files: Callable[[], Iterable[str | Path]], arguments: Mapping[str, Any]) -> Iterator[None]:
    """Say, if -v was given, what a command reads and how long it takes."""
    if not streams.is_verbose():
        yield
        return
    for file in files():
        path = Path(file)
        try:
            size = f", {path.stat().st_size:,} bytes" if path.is_file() else ""
        except OSError:  # a name that no file can have: whoever opens it says so
            continue
        streams.detail(f"reading {path.absolute() if path.exists() else path}{size}")
    if "store" in arguments:
        from hypertwin.execution import store  # commands that simulate have it loaded

        streams.detail(f"results are kept in {store.place(arguments['store']) or 'no store'}")
    began, began_cpu = time.monotonic(), time.process_time()
    yield
    streams.detail(f"done in {time.monotonic() - began:.2f} s, {time.process_time() - began_cpu:.2f} s of CPU")
