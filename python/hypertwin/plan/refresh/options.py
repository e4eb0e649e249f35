"""Options of `hypertwin plan refresh`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from hypertwin.arguments import Option, named
from hypertwin.plan.capacity.options import Counting
from hypertwin.runs.options import Runs
from hypertwin.runs.simulation import LabelledProgress

MAX_YEARS = 15


@dataclass(frozen=True, kw_only=True)
class Refresh(Counting, Runs):
    """Options of `plan refresh`."""

    host_type: Annotated[
        str | Path | Sequence[str] | Sequence[Path] | None,
        Option("A host type to buy; repeatable.", "TYPE.yaml", files=named),
    ] = None
    keep: Annotated[
        str | Sequence[str] | None,
        Option("Keep these hosts and add new ones; repeatable.", "NAME", offered="hosts"),
    ] = None
    mix: Annotated[bool, Option("Also mix two host types in a cluster.")] = False
    merge: Annotated[bool, Option("Also merge all clusters into one.")] = False
    growth: Annotated[str, Option("Growth of demand to plan for: in total, or per year as 5%/year.", "P%[/year]")] = (
        "0%"
    )
    years: Annotated[int, Option("Years that the hosts are used.", "N", least=1, most=MAX_YEARS)] = 5
    prices: Annotated[
        str | Path | None,
        Option("Prices of hosts, licences and power: hypertwin init --prices.", "PRICES.yaml", files=named),
    ] = None
    failures: Annotated[int, Option("Host failures to tolerate.", "N", least=0, most=8)] = 1
    cpu: Annotated[str, Option("CPU limit of a host, also after a failure.", "P%")] = "80%"
    memory: Annotated[str, Option("Memory limit of a host, also after a failure.", "P%")] = "90%"
    memory_demand: Annotated[Literal["configured", "consumed"], Option("Memory of a VM to count.")] = "configured"
    stored: Annotated[
        str | None, Option("Data of all VMs (default: their used storage), for host types with disks.", "SIZE")
    ] = None
    twin: Annotated[
        Literal["failure", "normal", "off"],
        Option("Simulate each candidate: also after the worst failure, without a failure, or not."),
    ] = "failure"
    progress: LabelledProgress | None = None
    """Function called with a label, the number of completed steps, and the number of all steps."""
