"""`hypertwin init`: a commented scenario, or a commented file of prices, to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from hypertwin import language, naming
from hypertwin.cli import output, streams
from hypertwin.cli.names import Offered
from hypertwin.cost import template
from hypertwin.files import writing
from hypertwin.scenario import starter


def _hypervisors() -> list[str]:
    return [*starter.newest(), *filter(starter.hypervisor, language.hypervisors())]


def _hypervisor(name: str) -> str:
    found = starter.hypervisor(name)
    if found is None:
        known = _hypervisors()
        meant = naming.hint(name, known, "Linux with KVM, whatever manages it, is kvm")
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(known)}; {meant}")
    return found


EXAMPLES = (
    "hypertwin init --hypervisor kvm --hosts 3 --storage pool",
    "hypertwin init --prices prices.yaml",
)


OF_SCENARIOS = ("hypervisor", "hosts", "storage")
"""Options of scenarios, which a file of prices does not have."""


def command(
    context: typer.Context,
    named: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="The file to write; - prints it.  [default: scenario.yaml or prices.yaml]"
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="File to write, like FILE.")] = None,
    hypervisor: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            parser=_hypervisor,
            help=f"{' or '.join(starter.newest())}, or a version such as esxi-7.0.",
        ),
        Offered(_hypervisors),
    ] = "esxi",
    hosts: Annotated[int, typer.Option(metavar="N", min=1, max=starter.MOST_HOSTS, help="Hosts.")] = 3,
    storage: Annotated[
        starter.Storage,
        typer.Option(help="none: I/O is a delay; array: a storage array; pool: the hosts' own disks, pooled."),
    ] = starter.Storage.none,
    prices: Annotated[
        bool, typer.Option("--prices", help="Write a file of prices instead, with the rules of licences as comments.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a commented scenario to edit, which runs as it is, or a commented file of prices."""
    if named is not None and out is not None:
        raise output.UsageError("FILE and --out name the file twice: leave one out")
    out = named or out or Path("prices.yaml" if prices else "scenario.yaml")
    prints = str(out) == "-"
    if prices:
        given = [f"--{name}" for name in OF_SCENARIOS if _is_typed(context, name)]
        if given:
            raise output.UsageError(f"--prices writes no scenario: leave out {' and '.join(given)}")
        text = template.text(_in_comment("prices.yaml" if prints else str(out)))
        note = "; write your prices into it"
    else:
        name, file = ("cluster", "cluster.yaml") if prints else (out.stem, str(out))
        text = starter.text(hypervisor, hosts, storage, starter.scenario_name(name), _in_comment(file))
        note = f"; hypertwin simulate {shlex.quote(str(out))} simulates it"
    if prints:
        streams.write(text)
        return
    writing.check_writable(out)
    if not force:
        writing.check_new(out)
    output.write_file(out, lambda: text, note)


def _is_typed(context: typer.Context, name: str) -> bool:
    """Return true if the command line has the option, also with its default value."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _in_comment(file: str) -> str:
    """Return the file name as a word of a command in a comment, or FILE if the name has line breaks."""
    return shlex.quote(file) if file.isprintable() else "FILE"
