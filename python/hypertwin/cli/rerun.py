"""`hypertwin rerun`: run the command of a page again, with the files in the page."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from hypertwin import _core, library, scenario
from hypertwin.cli import options, output, provenance, streams
from hypertwin.cli.commands import Input
from hypertwin.documents.page import Made
from hypertwin.errors import short
from hypertwin.files import writing
from hypertwin.ingest import outside, page
from hypertwin.runs.options import Where
from hypertwin.runs.runner import running

AGAIN = ("simulate", "validate", "capacity", "density", "durability", "calibrate", "size", "vnuma", "compare")
"""Commands whose result depends only on their arguments and files."""

OWN = ("--report", "--out", "-o", "--svg", "--jobs", "--cache", "--on")
"""Options for outputs and for the place of a run. A re-run has its own."""

OF_PAGE = "--live"
"""Option that a command takes only with a page."""

DEEPEST = 16
"""Maximum number of folder levels above its own in file names of a page."""


EXAMPLES = (
    "hypertwin rerun report.html",
    "hypertwin rerun report.html --report again.html",
)


def command(
    context: typer.Context,
    made_by: Annotated[Path, Input(), typer.Argument(metavar="PAGE.html", help="A page that --report wrote.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORM", help="table, json, csv or another format of the command (default: as before)."
        ),
    ] = None,
    out: options.Out = None,
    report: options.Report = None,
    *,
    where: Where,
) -> object:
    """Run the command of a page again: same version, same figures."""
    file = output.file_of(out)
    writing.check_writable(file, page=report)
    made = page.made(made_by)
    _check(made_by, made)
    if made["version"] != _core.version():
        streams.warn(f"made by hypertwin {made['version']}, run again by {_core.version()}: figures may differ")
    arguments = [*_without_outputs(made["command"]), *(["--format", form] if form else [])]
    if report is not None:
        report = report.absolute()
        arguments += ["--report", str(report)]
    else:
        arguments = [each for each in arguments if each != OF_PAGE]
    if file is not None:
        file = file.absolute()
        arguments += ["--out", str(file)]
    past = provenance.Invocation(made["command"], made["files"])
    with tempfile.TemporaryDirectory(prefix="hypertwin-") as temporary:
        folder = Path(temporary).resolve()
        here, moved = _unpacked(made_by, made, folder)
        bounds = provenance.Bounds(
            [folder, library.studies().resolve()], [each for each in (report, file) if each is not None]
        )
        with running(**where.where), contextlib.chdir(here), provenance.again(past, bounds):
            return context.find_root().command.main([_at(each, moved) for each in arguments], standalone_mode=False)


def _check(source: Path, made: Made) -> None:
    """Refuse a command that cannot be run from this page."""
    if not made["command"]:
        _refuse(source, "made.command", "made in Python", "a page of a command", "run the program that made it again")
    if made["command"][0] not in AGAIN:
        name = made["command"][0]
        allowed = f"a result of {', '.join(AGAIN)}"
        _refuse(source, "made.command", name, allowed, "others read or measure what a page does not hold")
    for file in made["files"]:
        if file["text"] is None:
            value = f"only the hash of {short(file['name'])}"
            _refuse(source, "made.files", value, "the text of each file", "run the command itself, where the file is")


def _without_outputs(command: list[str]) -> list[str]:
    """Return the arguments without options that a re-run sets itself."""
    kept: list[str] = []
    arguments = iter(command)
    for argument in arguments:
        if argument in OWN:
            next(arguments, None)
        elif not argument.startswith(tuple(f"{option}=" for option in OWN)):
            kept.append(argument)
    return kept


def _unpacked(source: Path, made: Made, folder: Path) -> tuple[Path, dict[str, str]]:
    """Write the page's files under `folder`. Returns the folder to run the command in, and new names of files with
    absolute names."""
    names = {file["name"]: Path(os.path.normpath(file["name"])) for file in made["files"]}
    above = max((path.parts.count("..") for path in names.values()), default=0)
    here = folder.joinpath("files", *("_" * above))
    moved: dict[str, str] = {}
    if above > DEEPEST:
        value = f"a file {above} folders above the command"
        _refuse(source, "made.files", value, f"at most {DEEPEST}", "run the command itself")
    here.mkdir(parents=True)
    for file in made["files"]:
        path = names[file["name"]]
        place = Path(os.path.normpath(here / path))
        if path.is_absolute():
            place = folder.joinpath("absolute", *path.parts[1:])
        if path.is_absolute() or file["name"] == scenario.STDIN:
            moved[file["name"]] = str(place)
        try:
            text = (file["text"] or "").encode("utf-8")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text)
        except (OSError, ValueError) as error:
            _refuse(source, "made.files", file["name"], "names and texts of files", str(error))
        if hashlib.sha256(text).hexdigest() != file["sha256"]:
            _refuse(source, "made.files", file["name"], "the text that was read", "the page was changed: copy it again")
    return here, moved


def _at(argument: str, moved: dict[str, str]) -> str:
    """Return the argument with the new name of its file, if the file has moved."""
    option, equals, value = argument.partition("=")
    return moved.get(argument) or (f"{option}={moved[value]}" if equals and value in moved else argument)


def _refuse(source: Path, where: str, value: str, allowed: str, hint: str) -> NoReturn:
    outside.Source(source).at(where).refuse(value, allowed, hint, "page-not-repeatable")
