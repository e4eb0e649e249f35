"""Output of `hypertwin density`, `durability` and `size`."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from hypertwin.documents.failover import Failover
from hypertwin.documents.measured import Bottleneck
from hypertwin.documents.simulation import Limit
from hypertwin.documents.space import Space
from hypertwin.documents.vnuma import HostTopology, Layout, LayoutWarning


class Figure(TypedDict):
    """A mean over replications with the half-width of its 95 % interval, or None if not measured."""

    mean: float | None
    ci95: float | None
    low: NotRequired[float]
    """Ends of the 80% interval with the twin's own error, for figures that have such an error."""
    high: NotRequired[float]


class Objective(TypedDict):
    """A service-level objective: `metric sign limit`, the limit in `unit`."""

    text: str
    metric: str
    sign: str
    limit: float
    unit: str


class DensityPoint(TypedDict):
    """Results for one count of VMs, or None for missing results of a count that could not be simulated."""

    count: int
    meets: bool
    """True if the means meet all objectives."""
    sure: bool
    """True if whole intervals meet all objectives."""
    at_worst: bool
    """True if the means, and their worse ends with the twin's own error, meet all objectives."""
    metrics: dict[str, Figure]
    throughput_per_s: float | None
    ready_pct: float | None
    ready_sum_pct: float | None
    host_usage_pct: float | None
    host_memory_pct: float | None
    bottleneck: Bottleneck | None
    limit: Limit | None
    """Bottleneck of the VMs."""
    replications: int
    duration_s: float | None
    """Simulated time measured, per replication."""
    steady: bool | None
    unsettled: str | None
    """Reason why the runs are not steady, so that the count meets no objective, or None if they are, or if unknown."""
    reason: str | None
    """Reason for no simulation of the count."""
    lacks: str | None
    """Short resource, such as `memory of esx-1` or `room of ceph`, if that is the reason."""


class DensityAnswer(TypedDict):
    """Largest count that meets the objectives, and the reason for the limit."""

    count: int
    """Largest count that meets the objectives. As in the other three counts, 0 is any number below `min`."""
    sure_count: int
    low_count: int
    """Largest count that meets the objectives at the worse ends of the twin's own error."""
    high_count: int
    """Largest count that meets the objectives at the better ends of the twin's own error."""
    at_max: bool
    limiting: str | None
    limited_by: str | None
    one_more: dict[str, Figure]
    """Change of each metric per additional VM."""
    monotone: bool
    exceptions: list[int]
    text: str
    notes: list[str]


class Density(TypedDict):
    """Number of VMs of a group that meet objectives, and every tried count."""

    version: str
    scenario: str
    seed: int
    duration_s: float
    calibration: str | None
    vm: str
    slo: list[Objective]
    min: int
    max: int
    memory_overcommit: float
    """Configured memory allowed on a host, relative to its memory."""
    failures: int
    """Host failures to tolerate, by demand and the limits of `hypertwin capacity`."""
    failover: dict[str, Failover]
    """Verdict on host failures at the answer, by cluster."""
    answer: DensityAnswer
    points: list[DensityPoint]
    set: dict[str, Any]


class Overhead(TypedDict):
    """Cost of a redundancy scheme. Disk reads and writes for a small overwrite or a degraded read."""

    raw_per_usable: float
    capacity_efficiency: float
    failures_tolerated: int
    overwrite_reads: int
    overwrite_writes: int
    degraded_reads: int
    rebuild_reads_per_byte: float


class Loss(TypedDict):
    """Probability of data loss by one model, within a year."""

    annual_loss: float
    """Probability for one group."""
    nines: int
    pool_annual_loss: float
    expected_bytes_lost_per_year: float
    beyond_model: bool
    """True if the nines exceed the validity of a model of independent disk failures: other causes dominate."""


class Scheme(TypedDict):
    """Cost and durability of one scheme. Mean times to data loss in years."""

    scheme: str
    width: int
    overhead: Overhead
    backblaze: Loss
    markov: Loss
    mttdl_years: float
    approximate_mttdl_years: float
    first_year_loss: float


class Repair(TypedDict):
    """Time until a lost copy or fragment is restored, and the source of that time."""

    seconds: float
    source: str
    serial: bool


class BesideRebuild(TypedDict):
    """Storage performance of VMs of a group, without a failure and during the rebuild."""

    group: str
    iops: float
    iops_beside: float
    response_ms: float | None
    response_ms_beside: float | None
    response_ms_p99: float | None
    response_ms_p99_beside: float | None


class FailedHost(TypedDict):
    """Twin's figures for the rebuild of all data of a host of a pool."""

    failed: str
    rebuilt_gib: float
    due_gib: float
    rebuild_mb_per_s: float
    rebuild_s: float
    """Seconds from the start of the rebuild to its end. If the runs ended earlier, the rest is extrapolated."""
    is_measured: bool
    detection_s: float
    """Seconds from the failure to the start of the rebuild."""
    detection: str


class FailedDisk(FailedHost):
    """Twin's figures for the repair of one disk of a pool."""

    scenario: str
    pool: str
    policy: str | None
    """Policy of the data that `schemes` applies to, if VMs name policies. `(pool)` means data without a policy."""
    policies: list[str]
    """Policies named by VMs, and `(pool)` if some name none, or an empty list if no VM names one."""
    redundancy: str
    placement_groups: int
    """Groups that the twin simulates."""
    groups: int
    """Combinations of disks that hold the parts of some data: placement groups, or combinations that chunks are on."""
    stored_gib: float
    stored_guessed: bool
    """True if the stored data is the working sets of the VMs, because the scenario does not have the amount."""
    clients: list[BesideRebuild]
    space: Space
    host: FailedHost | None
    """Rebuild of a whole host, or None if the others cannot rebuild its data, or if no run saw a rebuild."""
    replications: int
    duration_s: float
    warmup_s: float
    seed: int


class Durability(TypedDict):
    """Schemes side by side, and the basis of the figures."""

    annual_failure_rate: float
    """Failures per disk and year, as a fraction."""
    repair: Repair
    groups: int
    usable_bytes: int | None
    schemes: list[Scheme]
    twin: NotRequired[FailedDisk]


class DurabilityDocument(Durability):
    """Document with the version of the program."""

    version: str


class LossAt(TypedDict):
    """A pool's probability of loss within a year at one repair time, by both models."""

    repair_s: float
    backblaze: float
    markov: float


class SizedHost(HostTopology):
    """Host of the VM to size."""

    name: str
    hypervisor: str


class Asked(TypedDict):
    """Request."""

    vcpus: int | None
    demand_cores: float | None
    memory_bytes: int


class TopologyAdvice(TypedDict):
    """Topology to choose."""

    sockets: int
    cores_per_socket: int
    vcpus: int
    vpds: list[int]
    fits_node: bool
    settings: dict[str, Any]
    text: str


class AdvisedLayout(Layout):
    """Output of `hypertwin vnuma`: a layout, and the better topology."""

    advice: TopologyAdvice


class Candidate(TypedDict):
    """A topology, and its disadvantages."""

    name: str
    vcpus: int
    sockets: int
    cores_per_socket: int
    settings: dict[str, Any]
    vpds: list[int]
    ppds: list[int]
    homes: list[int]
    fits_node: bool
    local_memory_pct: float
    bandwidth_nodes: int
    warnings: list[LayoutWarning]


class Sizing(TypedDict):
    """Topology of one VM: advice first, then alternatives."""

    host: SizedHost
    asked: Asked
    advice: TopologyAdvice
    candidates: list[Candidate]
    notes: list[str]
    snippets: NotRequired[dict[str, str]]
    """Change as text to paste, by target. The command adds it."""
