"""`hypertwin size`: the topology of one VM."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from hypertwin.cli import mistakes, options, output, streams
from hypertwin.documents.plan import Sizing
from hypertwin.plan import size
from hypertwin.show import registry

Snippet = enum.StrEnum("Snippet", ["vmx", "powercli", "govc", "libvirt", "qm", "qemu"])
"""Snippet to print."""


EXAMPLES = (
    "hypertwin size --host 2x12 --vcpus 24 --memory 96GiB",
    "hypertwin size --host scenario.yaml:host --demand 9GHz --memory 64GiB --snippet govc",
)


def command(
    *,
    asked: size.Asked,
    snippet: Annotated[
        Snippet | None, typer.Option(help="Print only the change for this tool, to pipe into a shell or a file.")
    ] = None,
    form: options.Form = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Size a VM: vCPUs, sockets and NUMA nodes, with the change to paste."""
    if snippet is not None and (form or report) is not None:
        raise output.UsageError("--snippet prints lines to paste: leave it out, or --format and --report")
    output.check(registry.SIZING, form, out, report)
    with mistakes.as_typed():
        advice = asked.advice(snippet)
        texts = advice.snippets(asked.name, bind=asked.bind, only=snippet)
    if snippet is not None:
        if asked.hypervisor is None:
            streams.note(f"topology by the rules of {advice.host.hypervisor}")
        if (file := output.file_of(out)) is None:
            streams.write(texts[snippet])
        output.write_file(file, lambda: texts[snippet])
        return
    result: Sizing = {**advice.to_dict(), "snippets": texts}
    output.show(registry.SIZING, result, form, out, report, layout=advice.advised.layout)
