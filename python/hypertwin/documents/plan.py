"""Output of `hypertwin density`, `durability` and `size`."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from hypertwin.documents.failover import Failover
from hypertwin.documents.simulation import Bottleneck, Limit
from hypertwin.documents.space import Space
from hypertwin.documents.vnuma import HostTopology, Layout, LayoutWarning


class Figure(TypedDict):
    """A mean over replications with the half-width of its 95 % interval; None where nothing was measured."""

    mean: float | None
    ci95: float | None


class Objective(TypedDict):
    """A service-level objective: `metric sign limit`, the limit in `unit`."""

    text: str
    metric: str
    sign: str
    limit: float
    unit: str


class DensityPoint(TypedDict):
    """Results for one count of VMs; None for missing results of a count that could not be simulated."""

    count: int
    meets: bool
    """True if the means meet all objectives."""
    sure: bool
    """True if the whole intervals do."""
    metrics: dict[str, Figure]
    throughput_per_s: float | None
    ready_pct: float | None
    ready_sum_pct: float | None
    host_usage_pct: float | None
    host_memory_pct: float | None
    bottleneck: Bottleneck | None
    limit: Limit | None
    """The bottleneck of the VMs."""
    replications: int
    duration_s: float | None
    """Simulated time measured, per replication."""
    steady: bool | None
    unsettled: str | None
    """Why the runs are not steady, so that the count meets no objective; None where they are, or that is not known."""
    reason: str | None
    """Why the count was not or could not be simulated."""
    lacks: str | None
    """The short resource, such as `memory of esx-1` or `room of ceph`, if that is the reason."""


class DensityAnswer(TypedDict):
    """The largest count that meets the objectives, and the reason for the limit."""

    count: int
    sure_count: int
    at_max: bool
    limiting: str | None
    limited_by: str | None
    one_more: dict[str, Figure]
    """The change of each metric by one more VM."""
    monotone: bool
    exceptions: list[int]
    text: str
    notes: list[str]


class Density(TypedDict):
    """The number of VMs of a group that meet objectives, and every tried count."""

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
    """The verdict on them with the count that is the answer, by cluster."""
    answer: DensityAnswer
    points: list[DensityPoint]
    set: dict[str, Any]


class Overhead(TypedDict):
    """Cost of a redundancy scheme; reads and writes are of disks, for a small overwrite or a degraded read."""

    raw_per_usable: float
    capacity_efficiency: float
    failures_tolerated: int
    overwrite_reads: int
    overwrite_writes: int
    degraded_reads: int
    rebuild_reads_per_byte: float


class Loss(TypedDict):
    """How likely data are lost, by one model; probabilities within a year."""

    annual_loss: float
    """Of one group."""
    nines: int
    pool_annual_loss: float
    expected_bytes_lost_per_year: float
    beyond_model: bool
    """More nines than a model of independent disk failures can vouch for: other causes decide."""


class Scheme(TypedDict):
    """Cost and durability of one scheme; mean times to data loss in years."""

    scheme: str
    width: int
    overhead: Overhead
    backblaze: Loss
    markov: Loss
    mttdl_years: float
    approximate_mttdl_years: float
    first_year_loss: float


class Repair(TypedDict):
    """How long a lost copy or fragment is away, and where that figure is from."""

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
    """The twin's figures for the rebuild of all data of a host of a pool."""

    failed: str
    rebuilt_gib: float
    due_gib: float
    rebuild_mb_per_s: float
    rebuild_s: float
    """From the start of the rebuild to its end; where the runs ended before, the rest at the rate so far."""
    is_measured: bool
    detection_s: float
    """From the failure to the start of the rebuild."""
    detection: str


class FailedDisk(TypedDict):
    """The twin's figures for the repair of one disk of a pool."""

    scenario: str
    pool: str
    policy: str | None
    """Whose data `schemes` is of, where VMs name policies; `(pool)` is of those without one."""
    policies: list[str]
    """Those that VMs name, `(pool)` if some name none; empty where no VM does."""
    redundancy: str
    placement_groups: int
    stored_gib: float
    stored_guessed: bool
    """True if that is the working sets of the VMs, since the scenario does not say what the pool holds."""
    failed: str
    rebuilt_gib: float
    due_gib: float
    rebuild_mb_per_s: float
    rebuild_s: float
    is_measured: bool
    clients: list[BesideRebuild]
    space: Space
    host: FailedHost | None
    """The rebuild of a whole host; None where others cannot make its data anew, or the runs saw nothing of it."""
    detection_s: float
    detection: str
    replications: int
    duration_s: float
    warmup_s: float
    seed: int


class Durability(TypedDict):
    """Schemes side by side, and what the figures hold for."""

    annual_failure_rate: float
    """Failures per disk and year, as a fraction."""
    repair: Repair
    groups: int
    usable_bytes: int | None
    schemes: list[Scheme]
    twin: NotRequired[FailedDisk]


class DurabilityDocument(Durability):
    """The same with the version of the program."""

    version: str


class LossAt(TypedDict):
    """A pool's probability of loss within a year at one repair time, by both models."""

    repair_s: float
    backblaze: float
    markov: float


class SizedHost(HostTopology):
    """The host that a VM is sized for."""

    name: str
    hypervisor: str


class Asked(TypedDict):
    """The request."""

    vcpus: int | None
    demand_cores: float | None
    memory_bytes: int


class TopologyAdvice(TypedDict):
    """The topology to choose."""

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
    """A topology, and what speaks against it."""

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
    """The topology of one VM: advice first, then the alternatives."""

    host: SizedHost
    asked: Asked
    advice: TopologyAdvice
    candidates: list[Candidate]
    notes: list[str]
    snippets: NotRequired[dict[str, str]]
    """The change as text to paste, by target; the command adds it."""
