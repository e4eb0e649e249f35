"""Output of `hypertwin plan move`: rules and settings of each VM, waves with times, and speed afterwards."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from hypertwin.documents.cost import Line
from hypertwin.documents.refresh import ClusterPlan, TwinState

Target = Literal["proxmox", "kvm", "openshift", "hyperv", "ahv"]
Verdict = Literal["blocked", "not-known", "changes", "ready"]
"""Verdicts on a VM, worst first.

In order: a rule blocks the move, facts that can block it are unknown, the VM changes, only notes.
"""


Power = Literal["on", "off", "template"]


class Range(TypedDict):
    """Expected figure and its limits."""

    low: float
    value: float
    high: float


Address = Literal["mac", "ip"]

Kept = Literal["yes", "option", "by-hand", "no", "not-known"]
"""Ways to keep an address: by itself, with an option of the tool, by hand in the guest, not, or not known."""


class Keeping(TypedDict):
    """Fate of an address of some VMs."""

    address: Address
    kept: Kept
    vms: int
    text: str
    source: str
    unchecked: str
    """Parts that no public source confirms, or an empty text."""


class Step(TypedDict):
    """Step of the way back from a wave."""

    mode: str
    """Mode of the waves that it is for, or an empty text for all."""
    text: str
    source: str
    unchecked: str
    """Parts that no public source confirms, or an empty text."""


class Work(TypedDict):
    """Work of people for the VMs of an effort class."""

    effort: str
    vms: int
    check_days: float
    """Person-days of checks after the move, by the published time per VM."""


class Effort(TypedDict):
    """Work of people. Only checks after the move have a published time, the same for every class."""

    check_minutes: float
    """Published minutes per VM."""
    engineers: int
    hours_per_day: float
    classes: list[Work]
    working_days: float
    """Working days of all checks with that many engineers."""
    source: str


class Side(TypedDict):
    """Hosts of a side that need licences."""

    hosts: int
    processors: int
    cores: int


class OverlapCost(TypedDict):
    """Cost of the source during the overlap, by the file of prices."""

    currency: str | None
    lines: list[Line]
    """Yearly costs of the present hosts."""
    unpriced: list[str]
    per_year: float | None
    amount: Range | None
    """Cost during the overlap, or None without prices or days."""


class Overlap(TypedDict):
    """Time in which both sides run."""

    days: Range | None
    """Days from the first wave to the end of acceptance, or None if a wave fits no window."""
    acceptance_days: list[int]
    """Shortest and longest time of acceptance."""
    source: Side
    target: Side | None
    """None for unknown hosts, and for the present ones."""
    cost: OverlapCost | None
    """None without a file of prices."""


class Finding(TypedDict):
    """A rule that applies to a VM, or whose facts are unknown."""

    rule: str
    severity: Literal["blocks", "changes", "note"]
    known: bool
    """False if the source does not tell."""
    text: str
    """Consequence, or where the unknown fact can be found."""
    before: str
    """Action before the move."""
    source: str


class Nic(TypedDict):
    """Network adapter of a VM in the source."""

    network: str | None
    vlan: int | None
    """VLAN of the network, 0 for none, or None if unknown."""


class MovedVm(TypedDict):
    """A VM and its move."""

    name: str
    label: str
    host: str
    power: Power
    """State in the source. VMs that are off, and templates, have no downtime, and no part in the simulation."""
    verdict: Verdict
    effort: str
    findings: list[Finding]
    becomes: dict[str, Any]
    """Settings on the target, as the tool makes them."""
    best: dict[str, Any]
    """Settings that are better than those."""
    networks: list[Nic]
    """Adapters in their order, or nothing if the source does not tell."""
    datastores: list[str]
    """Datastores of the disks."""
    mac: Kept
    ip: Kept
    """Addresses after the move."""
    volume_gib: float
    size_known: bool
    """False if the provisioned size counts, because the used one is unknown."""
    wave: int | None
    """Number of the wave, or None for a blocked VM."""
    downtime_s: Range | None
    """Downtime of a VM that runs and moves, otherwise None."""


class Wave(TypedDict):
    """VMs that move together."""

    number: int
    kind: str
    mode: str
    vms: list[str]
    volume_gib: float
    window_s: Range
    """Time in the window until the last VM has booted."""
    before_s: Range
    """Time of copying before the window, 0 for a cold wave."""
    fits: bool
    limited_by: list[str]
    """Limits of the copy, the most important first."""
    division_s: float | None
    """Volume over the stated bandwidth, which is no estimate."""
    begin: str | None
    """Date and time, ISO 8601, or None without dates."""
    latest_end: str | None
    networks: list[str]
    """Networks with VMs on both sides after the wave."""
    notes: list[str]


class Downtimes(TypedDict):
    """VMs with a longest downtime, by a tag."""

    tag: str
    max_s: float
    vms: int
    warm: list[str]
    """VMs that move warm."""
    too_long: list[str]
    """VMs that neither a cold nor a warm move keeps within it, at the slow end of their downtime."""


class Cause(TypedDict):
    """Part of the change of VMs on the target. The parts are in order, and each has all before it."""

    name: str
    """Mechanism, or several that cannot be simulated one by one."""
    ratio: float | None
    """Factor on the median response time (p99). All factors multiply to the whole. None without response times."""
    vms: int
    """VMs with a noticed change of which this part is the largest."""


Metric = Literal["response_ms_p99", "ready_pct", "io_latency_ms", "throughput_per_s"]


class Change(TypedDict):
    """Figure of a VM before and after the move, without a failure."""

    before: float | None
    after: float | None
    steps: list[float | None]
    """Figure after each of `causes`, or of the target alone if no change was noticed."""
    noticed: bool
    """True if the figure changes by more than a tenth and its sampling error, and ready time also is 1% or more."""
    cause: str | None
    """Name of the largest part of a noticed change."""


class VmChange(TypedDict):
    """A VM before and after the move."""

    name: str
    figures: dict[Metric, Change]
    """Simulated figures. A VM without I/O to simulated storage has no latency, an idle one no response time."""


class RollingStep(TypedDict):
    """State before a host is reinstalled."""

    host: str
    moves: list[str]
    """VMs that move to the target before."""
    moved: int
    """VMs on the target by then."""
    staying: int
    source_peak_pct: float | None
    """Highest load of the remaining source hosts in per cent of the limit, or None if they cannot take their VMs."""
    source_after_failure_pct: float | None
    """Highest load after any planned failure of a source host, in per cent of the limit after a failure."""
    target_peak_pct: float | None
    target_after_failure_pct: float | None


class Rolling(TypedDict):
    """Reuse of the present hosts of a cluster, one after another."""

    cluster: str
    feasible: bool
    loans: int
    """Hosts on loan that the steps need. Clusters follow one another, so they share these hosts."""
    reason: str | None
    steps: list[RollingStep]
    kept: list[str]
    """Hosts that are not reinstalled."""
    holding: list[str]
    """VMs that a rule blocks, which stay on these hosts."""
    final_peak_pct: float | None
    """Highest load of the reinstalled hosts with all other VMs, without hosts on loan, in per cent of the limit."""
    final_after_failure_pct: float | None


class Arrival(TypedDict):
    """The target cluster with all VMs."""

    hosts: int
    feasible: bool
    reason: str | None
    cluster: ClusterPlan | None
    dropped: list[str]
    """Options that the target does not have."""
    before: TwinState | None
    after: TwinState | None
    failure: TwinState | None
    failed: list[str]
    causes: list[Cause]
    """Parts of the change, in order, or nothing if no figure of a VM changes noticeably."""
    vms: list[VmChange]
    """VMs that do work in the simulation."""
    rolling: list[Rolling]
    """Steps of --reuse-hosts for each cluster in turn, or nothing for other hosts."""


class Asked(TypedDict):
    """Request."""

    to: Target
    title: str
    target: str | None
    reuse_hosts: bool
    failures: int
    window: list[str]
    network: str | None
    target_writes: str | None
    start: str | None
    prices: str | None


class Move(TypedDict):
    """Plan of a move to another platform."""

    version: str
    scenario: str
    asked: Asked
    tool: str
    """Tool whose published rates the times have."""
    family: str
    """Hypervisor as which the target is simulated, or an empty string without a performance verdict."""
    counts: dict[str, int]
    """Number of VMs by verdict."""
    power: dict[str, int]
    """Number of VMs by state in the source."""
    rules: dict[str, int]
    """Number of VMs by rule that applies."""
    gaps: list[str]
    """Rules whose facts the source has for no VM, with the place of the facts. They decide no verdict."""
    vms: list[MovedVm]
    arrival: Arrival | None
    waves: list[Wave]
    downtimes: list[Downtimes]
    """Longest downtimes of the request, with the VMs that keep to them."""
    volume_gib: float
    copy_s: Range
    """Sum over waves, of copies and windows."""
    end: str | None
    """Expected end, ISO 8601."""
    latest_end: str | None
    addresses: list[Keeping]
    """Reasons why VMs keep or lose their addresses."""
    rollback: list[Step]
    """Way back from each wave, in order."""
    effort: Effort
    overlap: Overlap
    texts: dict[str, str]
    """Texts by file name: of each wave for the tool that moves, and the way back. Placeholders are capital letters."""
    halving: list[str]
    """Advice that halves the time of the whole copy, if it is followed in full, or nothing without such advice."""
    planner_rule_s: float
    """Time by the rule of Red Hat's migration planner, to compare with."""
    notes: list[str]
