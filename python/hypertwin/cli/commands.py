"""Registration of commands in the command line.

A command is imported when it is called. Its inputs are marked: no output overwrites them, pages record them, and a
re-run reads nothing else.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import time
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

import typer
from typer.models import ArgumentInfo, OptionInfo

from hypertwin import scenario
from hypertwin.arguments import Option, fields_of, marked, named
from hypertwin.cli import catalogue, help, mistakes, names, provenance, streams
from hypertwin.errors import HypertwinError
from hypertwin.files import writing

OUTPUTS = frozenset({"out", "named", "report", "drawing", "best"})
"""Names of parameters for outputs."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Input:
    """Annotation (in `Annotated`) that marks an input parameter of a command."""

    files: Callable[[Any, Mapping[str, Any]], Iterable[str | Path]] = named
    """Function that returns the files named by a value, given the values of all parameters, or None without files."""


class App(typer.Typer):
    """Group of commands, none of which can overwrite its inputs."""

    def __init__(self, purpose: str | None = None, cls: type[help.Group] = help.Group) -> None:
        """Create a group without commands. `purpose` is its help text."""
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
        """Register a command as in Typer, with example command lines at the end of its help."""
        epilog = help.examples_text(examples)
        register = super().command(name, cls=help.Command, epilog=epilog, **options)
        return lambda command: register(_protected(command))


class Commands(UserDict[str, Any]):
    """Commands by name. The module of a command is imported when it is called or listed in a help."""

    def __getitem__(self, name: str) -> Any:
        """Return the command as a Typer object."""
        return typer.main.get_command(app(name, super().__getitem__(name)))


def app(name: str, module: str) -> App:
    """Return the command line entry of a module: its group, `app`, or its only command, `command`."""
    found = import_module(module)
    if hasattr(found, "app"):
        return cast(App, found.app)
    single = App()
    single.command(name, examples=found.EXAMPLES)(found.command)
    return single


def parameters(command: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a command by name. An options object expands to each of its marked fields."""
    for each in inspect.signature(command, eval_str=True).parameters.values():
        if hasattr(each.annotation, "__dataclass_fields__"):
            yield from itertools.starmap(_of_field, marked(each.annotation))
        else:
            yield each.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _of_field(field: Field[Any], kind: Any, mark: Option) -> inspect.Parameter:
    """Return a field of an options object as a Typer parameter."""
    kinds = {kind, *get_args(kind)}
    if any(get_origin(each) is Sequence for each in kinds):
        kind = list[str] | None
    elif str in kinds:
        kind = str | None if NoneType in kinds else str
    said: dict[str, Any] = {
        "metavar": mark.metavar,
        "help": mark.help,
    }
    if mark.reads is not None:
        kind, said["parser"] = Any, functools.partial(_read, mark.reads)
    if mark.is_argument:
        typed: Any = typer.Argument(**said)
    else:
        flag = mark.flag or (
            f"--{field.name.replace('_', '-')}" if kind is bool else None
        )  # without its --no- otherwise
        typed = typer.Option(*filter(None, [flag]), min=mark.least, max=mark.most, **said)
    marks: list[Any] = [typed]
    if mark.files is not None:
        marks.append(Input(mark.files))
    if mark.offered is not None:
        marks.append(names.Offered(mark.offered))
    default = inspect.Parameter.empty if field.default is MISSING else None if field.default == () else field.default
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, *marks]
    )


def _read(reads: Callable[[str], Any], text: str) -> Any:
    try:
        return reads(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _gathered(command: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a command, with options objects built from the values of their fields."""
    found: dict[str, Any] = {}
    for name, each in inspect.signature(command, eval_str=True).parameters.items():
        options: Any = each.annotation
        if hasattr(options, "__dataclass_fields__"):
            names = (field.name for field, _ in fields_of(options))
            found[name] = options(**{each: given[each] for each in names if given.get(each) is not None})
        else:
            found[name] = given[name]
    return found


def inputs(command: Callable[..., Any]) -> dict[str, Input]:
    """Return the parameters of a command that are marked as `Input`, by name."""
    return {name: mark for name, mark in _marks(command) if isinstance(mark, Input)}


def _flags(command: Callable[..., Any]) -> dict[str, str]:
    """Return the option names that differ from the parameter name, by parameter."""
    found: dict[str, str] = {}
    for name, mark in _marks(command):
        if isinstance(mark, ArgumentInfo):
            found[name] = (mark.metavar or name).strip("[].")
        elif isinstance(mark, OptionInfo):
            declared = (str(each) for each in (mark.default, *(mark.param_decls or ())))  # the first is in its place
            found |= ((name, each) for each in declared if each.startswith("--") and "/" not in each)
    return found


def offers(command: Callable[..., Any]) -> dict[str, names.Offered]:
    """Return the parameters of a command that are marked as `names.Offered`, by name."""
    return {name: mark for name, mark in _marks(command) if isinstance(mark, names.Offered)}


def _marks(command: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    for each in parameters(command):
        if get_origin(each.annotation) is Annotated:
            for mark in get_args(each.annotation):
                yield each.name, mark


EVERYWHERE = [
    inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, typer.Option(*flags, help=catalogue.OPTIONS[", ".join(reversed(flags))])],
    )
    for name, flags in (
        ("explain", ["--explain"]),
        ("quiet", ["--quiet", "-q"]),
        ("verbose", ["--verbose", "-v"]),
    )
]
"""Options of every command."""


def _protected(command: _Command) -> _Command:
    read_by = inputs(command)
    flags = _flags(command)
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def protected(*, explain: bool, quiet: bool, verbose: bool, **arguments: Any) -> Any:
        @functools.cache  # scenarios are read to find them
        def files() -> Sequence[str | Path]:
            return [file for name, mark in read_by.items() for file in mark.files(arguments[name], arguments) if file]

        provenance.confine(files, [value for name, value in arguments.items() if name in OUTPUTS])
        read: Iterable[str | Path] = ()
        if arguments.get("report") is not None:
            from hypertwin.show import page  # pages are for some runs only

            page.date_now()  # refuses a bad one before anything runs
            read = files()  # now: the files may be others when the command ends
        if explain:
            for file in files():
                streams.note(*_readings(file))
        with (
            streams.saying(quiet=quiet, verbose=verbose, explain=explain),
            writing.protecting(lambda: map(_with_stdin, files())),
            provenance.under_way(read),
            _told(files, arguments),
            mistakes.of_options(mistakes.Typed(arguments, flags)),
        ):
            return command(**_gathered(command, arguments))

    protected.__signature__ = signature.replace(parameters=[*parameters(command), *EVERYWHERE])  # type: ignore[attr-defined]
    return cast(_Command, protected)


def _readings(file: str | Path) -> Iterable[str]:
    """Return the values of a scenario that are written unusually but unambiguously."""
    if str(file) == scenario.STDIN:
        return ()
    try:
        return [f"{file}: {each}" for each in scenario.load(file).readings]
    except HypertwinError:  # no scenario, or a wrong one: its reader says so
        return ()


def _with_stdin(file: str | Path) -> str | Path:
    """Return the file, with stdin as `/dev/stdin`, so that redirected input (`<`) counts as a file."""
    return "/dev/stdin" if str(file) == scenario.STDIN else file


@contextmanager
def _told(files: Callable[[], Iterable[str | Path]], arguments: Mapping[str, Any]) -> Iterator[None]:
    """Print the files and time of a command, with -v."""
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
    if "cache" in arguments:
        from hypertwin.runs import cache  # commands that simulate have it loaded

        streams.detail(f"results are kept in {cache.place(arguments['cache']) or 'no cache'}")
    began, began_cpu = time.monotonic(), time.process_time()
    yield
    streams.detail(f"done in {time.monotonic() - began:.2f} s, {time.process_time() - began_cpu:.2f} s of CPU")
