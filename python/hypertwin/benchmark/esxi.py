"""Measurements of an ESXi host during a run by esxtop in batch mode, as views and figures.

One command runs on the host at the start of the run. Nothing else runs there, and nothing is written. Without another
command in the plan it is esxtop with all counters, every 2 s. VMs are found by their names on the host.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from hypertwin.benchmark import telemetry
from hypertwin.benchmark.target import Target
from hypertwin.documents.benchmark import View
from hypertwin.errors import HypertwinError, printable, short

KIND = "esxi"
FILE = "esxtop.csv"
"""Raw output in the folder of a run."""
INTERVAL_S = 2
"""Least interval of esxtop."""


def command(host: Target, seconds: float) -> str:
    """Return shell text of the one command on a host, for a run of some seconds."""
    usual = f"esxtop -b -a -d {INTERVAL_S} -n {max(2, math.ceil(seconds / INTERVAL_S))}"
    return f"{host.command or usual}\n"


def read(
    path: Path, host: Target, targets: Mapping[str, str], vcpus: int
) -> tuple[View | None, dict[str, dict[str, float]], str]:
    """Return the view of a host, the figures of its targets, and the reason if there are none.

    `targets` has the name of the VM of each target on this host.
    """
    from hypertwin.ingest.vmware import esxtop

    try:
        found = telemetry.means(esxtop.read(path).frames)
    except HypertwinError as error:
        return None, {}, printable(short(str(error).splitlines()[0], 200))
    own = next((path[1] for path in found if len(path) == 2 and path[0] == "host"), "")
    view = telemetry.host(found, own)
    if view is not None:
        view["name"] = host.name
    figures = {name: telemetry.vm(found, vm, vcpus) for name, vm in targets.items()}
    absent = [vm for name, vm in targets.items() if not figures[name]]
    return view, figures, f"no VM {', '.join(absent)}: name it with `vm` in the plan" if absent else ""
