"""`hypertwin size`: the topology that one virtual machine should have."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from hypertwin import language
from hypertwin.cli import options, output, streams
from hypertwin.cli.commands import Input, offered, typed
from hypertwin.cli.vnuma import of_option
from hypertwin.documents.plan import Sizing
from hypertwin.errors import ScenarioError
from hypertwin.plan import size, snippets
from hypertwin.report import registry


class Snippet(enum.StrEnum):
    """Whose text to print."""

    vmx = "vmx"
    powercli = "powercli"
    govc = "govc"
    libvirt = "libvirt"
    qm = "qm"
    qemu = "qemu"


EXAMPLES = (
    "hypertwin size --host 2x12 --vcpus 24 --memory 96GiB",
    "hypertwin size --host scenario.yaml:host --demand 9GHz --memory 64GiB --snippet govc",
)


def command(
    host: Annotated[
        str,
        Input(lambda host, _: [host.rpartition(":")[0]]),
        typer.Option(metavar="HOST", help="2x12, 2x12x2@2.5GHz (sockets x cores x threads), or SCENARIO.yaml:HOST."),
    ],
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory of the machine, e.g. 96GiB.")],
    vcpus: Annotated[int | None, typer.Option(metavar="N", help="vCPUs that are asked for.")] = None,
    demand: Annotated[
        str | None,
        typer.Option(metavar="D", help="CPU that it needs at its peak, in cores or GHz: sized so that this is 80 %."),
    ] = None,
    node_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory of one NUMA node (default: 128 GiB, or 10 GiB per core if more)."),
    ] = None,
    nodes_per_socket: Annotated[
        int | None,
        typer.Option(metavar="N", help="NUMA nodes of one socket: AMD NPS, Intel sub-NUMA clustering (default: 1)."),
    ] = None,
    hypervisor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Hypervisor and version (default: esxi-8.0, or linux-6.12 for a --snippet of KVM).",
            autocompletion=offered(language.hypervisors),
        ),
    ] = None,
    reserved_cores: Annotated[
        int, typer.Option(metavar="N", help="Cores that are not for machines, e.g. of hyperconverged storage.")
    ] = 0,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the machine in the text to paste; for qm its number.")
    ] = snippets.PLACEHOLDER,
    bind: Annotated[
        bool, typer.Option("--bind", help="libvirt, qm, qemu: bind each virtual node to its host node.")
    ] = False,
    snippet: Annotated[
        Snippet | None, typer.Option(help="Print only the change for this tool, to pipe into a shell or a file.")
    ] = None,
    form: options.Form = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Advise on the vCPUs, sockets and NUMA nodes of one machine, and print the change to make."""
    if snippet is not None and (form or report) is not None:
        raise output.UsageError("--snippet prints lines to paste: leave it out, or --format and --report")
    output.check(registry.SIZING, form, out, report)
    try:
        found = size.find_host(
            host,
            hypervisor=hypervisor,
            node_memory=node_memory,
            nodes_per_socket=nodes_per_socket,
            snippet=snippet,
        )
        advice = size.advise(found, memory=memory, vcpus=vcpus, demand=demand, reserved_cores=reserved_cores)
        texts = advice.snippets(name, bind=bind, only=snippet)
    except ScenarioError as error:
        raise ScenarioError.of(
            of_option(mistake) if mistake.path in typed() else mistake for mistake in error.mistakes
        ) from None
    if snippet is not None:
        if hypervisor is None:
            streams.note(f"topology by the rules of {found.hypervisor}")
        if (file := output.file_of(out)) is None:
            streams.write(texts[snippet])
        output.write_file(file, lambda: texts[snippet])
        return
    result: Sizing = {**advice.to_dict(), "snippets": texts}
    output.show(registry.SIZING, result, form, out, report, layout=advice.advised.layout)
