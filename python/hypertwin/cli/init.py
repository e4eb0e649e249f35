"""`hypertwin init`: a commented scenario to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from hypertwin import language, naming, writing
from hypertwin.cli import output, streams
from hypertwin.cli.names import Offered
from hypertwin.library import starter


def _hypervisors() -> list[str]:
    return [*starter.NEWEST, *filter(starter.hypervisor, language.hypervisors())]


def _hypervisor(name: str) -> str:
    found = starter.hypervisor(name)
    if found is None:
        known = _hypervisors()
        meant = naming.hint(name, known, "Linux with KVM, whatever manages it, is kvm")
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(known)}; {meant}")
    return found


EXAMPLES = (
    "hypertwin init --hypervisor kvm --hosts 3 --storage pool",
    "hypertwin init lab.yaml --hypervisor esxi-7.0",
)


def command(
    named: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="The scenario to write; - prints it.  [default: scenario.yaml]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Scenario file to write, like FILE.")
    ] = None,
    hypervisor: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            parser=_hypervisor,
            help="esxi or kvm, or a version such as esxi-7.0.",
        ),
        Offered(_hypervisors),
    ] = "esxi",
    hosts: Annotated[int, typer.Option(metavar="N", min=1, max=starter.MOST_HOSTS, help="Hosts.")] = 3,
    storage: Annotated[
        starter.Storage,
        typer.Option(help="none: I/O is a delay; array: a storage array; pool: the hosts' own disks, pooled."),
    ] = starter.Storage.none,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a commented scenario to edit. It runs as it is."""
    if named is not None and out is not None:
        raise output.UsageError("FILE and --out name the scenario twice: leave one out")
    out = named or out or Path("scenario.yaml")
    prints = str(out) == "-"
    name, file = ("cluster", "cluster.yaml") if prints else (out.stem, str(out))
    text = starter.text(hypervisor, hosts, storage, starter.scenario_name(name), _in_comment(file))
    if prints:
        streams.write(text)
        return
    writing.check_writable(out)
    if not force:
        writing.check_new(out)
    output.write_file(out, lambda: text, f"; hypertwin simulate {shlex.quote(str(out))} simulates it")


def _in_comment(file: str) -> str:
    """Return the file name as a word of a command in a comment, or FILE if the name has line breaks."""
    return shlex.quote(file) if file.isprintable() else "FILE"
