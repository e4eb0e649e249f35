"""Options of `hypertwin plan move`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from hypertwin.arguments import Option, named
from hypertwin.plan.capacity.options import Counting
from hypertwin.runs.options import Runs
from hypertwin.runs.simulation import LabelledProgress

MAX_DAYS = 3650
"""Maximum number of days for which source VMs are kept."""


@dataclass(frozen=True, kw_only=True)
class Move(Counting, Runs):
    """Options of `plan move`."""

    to: Annotated[Literal["proxmox", "kvm", "openshift", "hyperv", "ahv"] | None, Option("Target of the move.")] = None
    target: Annotated[
        str | Path | None,
        Option("Hosts and storage of the target: a scenario, whose VMs do not count.", "TARGET.yaml", files=named),
    ] = None
    reuse_hosts: Annotated[bool, Option("The present hosts, reinstalled, are the target.")] = False
    failures: Annotated[int, Option("Host failures to tolerate on the target.", "N", least=0, most=8)] = 1
    cpu: Annotated[str, Option("CPU limit of a host, also after a failure.", "P%")] = "80%"
    memory: Annotated[str, Option("Memory limit of a host, also after a failure.", "P%")] = "90%"
    memory_demand: Annotated[Literal["configured", "consumed"], Option("Memory of a VM to count.")] = "configured"
    twin: Annotated[
        Literal["failure", "normal", "off"],
        Option("Simulate before and after: also after the worst failure, without a failure, or not."),
    ] = "failure"
    network: Annotated[str | None, Option("Bandwidth of the network between source and target.", "RATE")] = None
    target_writes: Annotated[str | None, Option("Rate that the target's storage can write.", "RATE")] = None
    source_reads: Annotated[
        str | None, Option("Rate that each datastore of the source can read for all hosts.", "RATE")
    ] = None
    window: Annotated[
        str | Sequence[str] | None,
        Option("Maintenance window (default: 20:00-06:00); repeatable.", "[DAYS] FROM-TO"),
    ] = None
    start: Annotated[str | None, Option("First day of the move (default: no dates).", "DATE")] = None
    freeze: Annotated[str | Sequence[str] | None, Option("Days without a move; repeatable.", "DATE[..DATE]")] = None
    together: Annotated[
        str | Sequence[str] | None, Option("VMs with the same tag move in one wave, e.g. 'app-*'; repeatable.", "TAG")
    ] = None
    downtime: Annotated[
        str | Sequence[str] | None,
        Option("Longest downtime of VMs with a tag, e.g. 'gold=15min'; repeatable.", "TAG=TIME"),
    ] = None
    pilot: Annotated[int, Option("VMs of the pilot wave at most; 0 for none.", "N", least=0, most=1000)] = 10
    prices: Annotated[
        str | Path | None,
        Option("Prices of the present hosts, for the overlap: hypertwin init --prices.", "PRICES.yaml", files=named),
    ] = None
    acceptance: Annotated[
        int | None,
        Option(
            "Days to keep source VMs after the last wave (default: 14 to 28).",
            "DAYS",
            least=0,
            most=MAX_DAYS,
        ),
    ] = None
    progress: LabelledProgress | None = None
    """Function called with a label, the number of completed steps, and the number of all steps."""
