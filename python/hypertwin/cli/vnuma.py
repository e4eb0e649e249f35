"""`hypertwin vnuma`: the virtual NUMA of one machine on one host."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hypertwin import language, vnuma, writing
from hypertwin.cli import options, output
from hypertwin.cli.commands import offered, typed
from hypertwin.errors import Mistake, ScenarioError
from hypertwin.plan import size
from hypertwin.report import registry, topology_svg


def _sized_on(text: str) -> dict[str, int]:
    sockets, _, cores = text.lower().partition("x")
    if not (sockets.isdecimal() and cores.isdecimal()):
        raise typer.BadParameter(f"{text!r} is not SOCKETSxCORES, for example 2x20")
    return {"sockets": int(sockets), "cores_per_socket": int(cores)}


def _counts(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise typer.BadParameter(f"{text!r} is not a list of numbers, for example 8,8")
    return [int(part) for part in parts]


def of_option(mistake: Mistake, value: object = None) -> Mistake:
    """The mistake as one of the option `--NAME VALUE` of an argument, in its texts too; by default as it was typed."""
    name, value = mistake.path, typed().get(mistake.path) if value is None else value
    return replace(
        mistake,
        path="",
        file=_option(name) if value in (None, True) else f"{_option(name)} {_written(value)}",
        allowed=_with_options(mistake.allowed),
        hint=_with_options(mistake.hint),
    )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return "x".join(str(part) for part in value.values())
    if isinstance(value, float):
        return f"{value:g}"
    return ",".join(str(part) for part in value) if isinstance(value, list) else str(value)


def _with_options(text: str) -> str:
    """`text` with options in place of the scenario's paths."""
    for name, path in vnuma.PATHS.items():
        text = text.replace(path, _option(name))
        # a name of one word may be an ordinary word
        text = re.sub(rf"\b{name}\b", _option(name), text) if "_" in name else text
    return text


EXAMPLES = (
    "hypertwin vnuma --hypervisor esxi-8.0 --sockets 2 --cores 12 --vcpus 24",
    "hypertwin vnuma --hypervisor linux-6.12 --sockets 2 --cores 16 --vcpus 16 \\",
    "    --cells 8,8 --nodes 0,1 --svg layout.svg",
)


def command(
    hypervisor: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Hypervisor and version, e.g. esxi-6.5.",
            autocompletion=offered(language.hypervisors),
        ),
    ],
    sockets: Annotated[int, typer.Option(metavar="N", help="Sockets of the host.")],
    cores: Annotated[int, typer.Option(metavar="N", help="Physical cores of one socket.")],
    vcpus: Annotated[int, typer.Option(metavar="N", help="vCPUs of the machine.")],
    cores_per_socket: Annotated[
        int | None, typer.Option(metavar="N", help="Cores of one virtual socket (default: 1).")
    ] = None,
    nodes_per_socket: Annotated[
        int, typer.Option(metavar="N", help="NUMA nodes of one socket: AMD NPS, Intel sub-NUMA clustering.")
    ] = 1,
    threads: Annotated[int, typer.Option(metavar="N", help="Hardware threads of one core.")] = 2,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory of the machine (default: 4 GiB per vCPU).")
    ] = None,
    node_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory of one NUMA node (default: 128 GiB, or 10 GiB per core if more)."),
    ] = None,
    cpu_hot_add: Annotated[bool, typer.Option("--cpu-hot-add", help="ESXi: CPU hot-add is enabled.")] = False,
    prefer_ht: Annotated[
        bool, typer.Option("--prefer-ht", help="ESXi numa.vcpu.preferHT: hardware threads count as room.")
    ] = False,
    follow_cores_per_socket: Annotated[
        bool,
        typer.Option(
            "--follow-cores-per-socket", help="ESXi numa.vcpu.followcorespersocket: one virtual node per socket."
        ),
    ] = False,
    vcpu_min: Annotated[
        int | None, typer.Option(metavar="N", help="ESXi numa.vcpu.min: vCPUs from which nodes show (default: 9).")
    ] = None,
    max_per_virtual_node: Annotated[
        int | None, typer.Option(metavar="N", help="ESXi numa.vcpu.maxPerVirtualNode: most vCPUs of a virtual node.")
    ] = None,
    cores_per_node: Annotated[
        int | None, typer.Option(metavar="N", help="ESXi 8.0 coresPerNumaNode: vCPUs of one virtual node.")
    ] = None,
    expose_on_cpu_hot_add: Annotated[
        bool,
        typer.Option("--expose-on-cpu-hot-add", help="ESXi 8.0 exposeVnumaOnCpuHotadd: nodes show with hot-add too."),
    ] = False,
    sized_on: Annotated[
        Any,
        typer.Option(
            parser=_sized_on, metavar="SOCKETSxCORES", help="ESXi before 8.0: the host of the first power-on."
        ),
    ] = None,
    cells: Annotated[
        Any,
        typer.Option(parser=_counts, metavar="N,N,...", help="Linux: vCPUs of each libvirt cell."),
    ] = None,
    nodes: Annotated[
        Any,
        typer.Option(parser=_counts, metavar="N,N,...", help="Linux: the host's node, from 0, of each cell."),
    ] = None,
    form: options.Form = None,
    out: options.Out = None,
    drawing: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE.svg", help="Write a drawing of the layout as well.")
    ] = None,
    report: options.Report = None,
) -> None:
    """Show the NUMA nodes that a guest sees, where they are placed, and what is wrong with that."""
    own = {*typed()} - {"form", "out", "drawing", "report"}
    arguments = {name: value for name, value in typed().items() if name in own}
    arguments |= {"cells": cells or (), "nodes": nodes or ()}
    output.check(registry.LAYOUT, form, out, report, drawing)
    writing.check_ending(drawing, (".svg",), "a drawing is SVG")
    try:
        document = size.advised_layout(**arguments)
    except ScenarioError as error:
        raise ScenarioError.of(of_option(mistake) for mistake in error.mistakes) from None
    output.write_file(drawing, lambda: topology_svg.svg(document))
    output.show(registry.LAYOUT, document, form, out, report)
