"""`hypertwin import`: a scenario from an export, an address or saved responses of another system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin import scenario
from hypertwin.cli import options, progress, streams
from hypertwin.cli.commands import Input
from hypertwin.extras import needs
from hypertwin.files import writing
from hypertwin.ingest import address

EXAMPLES = (
    "hypertwin import RVTools_export_all.xlsx -o cluster.yaml",
    "hypertwin import vcenter://reader@vcenter.example.com -o cluster.yaml",
    "hypertwin import 'proxmox://auditor@pve!twin@pve1' -o cluster.yaml",
)


def command(
    source: Annotated[
        list[str],
        Input(options.inventory_files),
        typer.Argument(
            metavar="SOURCE...",
            help="An export, a folder of saved responses, or an address: RVTools, vCenter, libvirt, virsh, Proxmox VE, "
            "oVirt, OpenStack, Nutanix, Hyper-V, lscpu. Several of one kind make one scenario.",
        ),
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE.yaml", help="Write the scenario here; - writes it to stdout.")
    ],
    telemetry: Annotated[
        list[str] | None,
        Input(options.telemetry_files),
        typer.Option(metavar="FILE", help="Use these measurements of hosts and VMs, not those of the source."),
    ] = None,
    only_cluster: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Import only this cluster; repeatable."),
    ] = None,
) -> None:
    """Import a cluster from RVTools, vCenter, Proxmox VE, KVM and others, and list assumptions."""
    if telemetry:
        needs("telemetry", "--telemetry")
    from hypertwin.ingest import sources, to_scenario  # as long to import as all else together

    target = None if out == "-" else Path(out)
    writing.check_writable(target)
    with progress.working(f"reading {address.shown(source[0])}"):
        inventory = sources.read(source)
    if telemetry:
        from hypertwin.ingest import demand, formats

        with progress.working(f"reading {address.shown(telemetry[0])}"):
            inventory = demand.with_measured(inventory, (formats.read(each) for each in telemetry))
    with progress.working("making the scenario"):
        made, assumptions = to_scenario.to_scenario(inventory, only_cluster or ())
        text = to_scenario.to_yaml(made)
        scenario.loads(text, file=out)
    if target is not None:
        writing.write_atomically(target, text)
    streams.note(*to_scenario.summary(inventory, made, assumptions, brief=not streams.is_explained()))
    if target is None:
        streams.write(text)
    else:
        streams.note(f"wrote {target}")
