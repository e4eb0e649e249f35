"""`hypertwin vnuma`: virtual NUMA topology of VMs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin.cli import mistakes, options, output
from hypertwin.files import writing
from hypertwin.plan import size
from hypertwin.scenario import virtual_numa
from hypertwin.show import registry, topology_svg

EXAMPLES = (
    "hypertwin vnuma --hypervisor esxi-8.0 --sockets 2 --cores 12 --vcpus 24",
    "hypertwin vnuma --hypervisor linux-6.12 --sockets 2 --cores 16 --vcpus 16 \\",
    "    --cells 8,8 --nodes 0,1 --svg layout.svg",
)


def command(
    *,
    asked: virtual_numa.Asked,
    form: options.Form = None,
    out: options.Out = None,
    drawing: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE.svg", help="Write a drawing of the layout as well.")
    ] = None,
    report: options.Report = None,
) -> None:
    """Show the virtual NUMA nodes of a VM, their host nodes, and problems."""
    output.check(registry.LAYOUT, form, out, report, drawing)
    writing.check_ending(drawing, (".svg",), "a drawing is SVG")
    with mistakes.as_typed():
        document = size.advised_layout(asked)
    output.write_file(drawing, lambda: topology_svg.svg(document))
    output.show(registry.LAYOUT, document, form, out, report)
