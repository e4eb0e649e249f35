"""Output of `hypertwin lab profile`, `lab cpu`, `lab disk`, `lab vm` and `lab erasure-coding`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

# ---- the machine


class Spread(TypedDict):
    """A figure over several samples."""

    median: float
    most: float
    least: float
    spread_pct: float
    samples: int


class Processor(TypedDict):
    """Model and nominal clock."""

    model: str
    clock_hz: float | None
    clock_source: str
    virtual: bool


class Kernel(TypedDict):
    """Kernel, and its scheduler settings."""

    release: str
    hz: int
    hz_source: str
    base_slice_ns: int
    base_slice_source: str
    autogroup: bool


class Cpu(TypedDict):
    """A logical CPU and its location."""

    cpu: int
    core: int
    socket: int
    node: int


class Cache(TypedDict):
    """A cache of the first CPU."""

    level: int
    type: str
    size_bytes: int
    cpus: list[int]


class MachineTopology(TypedDict):
    """CPUs, caches and memory."""

    cpus: list[Cpu]
    usable: list[int]
    caches: list[Cache]
    nodes: list[dict[str, Any]]


class Spin(TypedDict):
    """Speed of the spin kernel."""

    units_per_s: float
    spread_pct: float
    together_over_alone: float
    lost_pct: float
    alone: dict[str, Any]
    together: list[dict[str, Any]]


Smt = TypedDict("Smt", {"cpus": list[int], "yield": float, "spread_pct": float})
"""Combined throughput of two hyper-threads of a core, relative to one alone."""


class Timers(TypedDict):
    """Lateness of wake-ups from sleep."""

    mean_ns: float
    p50_ns: float
    p95_ns: float
    p99_ns: float
    typical_ns: float
    samples: int


class Bandwidth(TypedDict):
    """Memory bandwidth of a node, or of all nodes together if the node is None."""

    node: int | None
    threads: int
    cpus: list[int]
    array_bytes: int
    copy_bytes_per_s: Spread
    scale_bytes_per_s: Spread
    add_bytes_per_s: Spread
    triad_bytes_per_s: Spread


class DiskRow(TypedDict):
    """A disk under one kind of load."""

    kind: str
    block_bytes: int
    depth: int
    iops: float
    iops_spread_pct: float
    latency_ms_mean: float
    latency_ms_p99: float


class Disk(TypedDict):
    """Disk, or the reason why it was `skipped`."""

    folder: NotRequired[str]
    rows: NotRequired[list[DiskRow]]
    skipped: NotRequired[str]


class ProfileNoise(TypedDict):
    """Other activity of the computer."""

    steal_pct: float
    load: float
    spin_spread_pct: float
    lost_pct: float


class Profile(TypedDict):
    """Computer that the lab runs on."""

    version: str
    measured_at: str
    processor: Processor
    topology: MachineTopology
    kernel: Kernel
    spin: Spin
    smt: Smt | None
    timers: Timers
    context_switch_ns: Spread
    bandwidth: list[Bandwidth]
    erasure_coding: ProfiledCoding
    disk: Disk
    noise: ProfileNoise


# ---- contention

Figures = Mapping[str, float]
"""`throughput_per_s`, `response_ms_mean`, `response_ms_p95`, `wait_pct` and `run_pct` of a group of threads."""

Errors = Mapping[str, float]
"""`throughput_pct`, `response_mean_pct`, `response_p95_pct` and `wait_points`."""


class Group(TypedDict):
    """A group of threads, predicted and measured. `spread` is half the range over the runs, in the figure's unit.

    It is empty for a single run.
    """

    group: str
    predicted: Figures
    measured: Figures
    spread: Figures
    errors: Errors


class Experiment(TypedDict):
    """One experiment, over the runs that count."""

    experiment: str
    description: str
    rows: list[Group]
    errors: Errors
    runs: int
    runs_counted: int
    flagged: bool
    steal_pct: float
    foreign_pct: float
    prediction_sha256: NotRequired[str]
    prediction_unchanged: NotRequired[bool]
    predicted_at: NotRequired[str]
    measured_from: NotRequired[str]


class Skipped(TypedDict):
    """An experiment that this computer cannot do, or that some runs lack."""

    experiment: str
    reason: str


class Machine(TypedDict):
    """Computer, for a summary."""

    processor: Processor
    kernel: Kernel


class Contention(TypedDict):
    """Results of `lab cpu`. Medians over experiments, with their promised limits."""

    version: str
    machine: Machine
    control_groups: str
    seconds: float
    repeat: int
    experiments: list[Experiment]
    skipped: list[Skipped]
    medians: Mapping[str, float | None]
    promised: Errors
    out: str


# ---- the disk


class DiskFigures(TypedDict):
    """Result of a load. Mixed loads have separate reads and writes, others the 99th percentile, as in fio."""

    iops: float
    latency_ms_mean: float
    latency_ms_p99: NotRequired[float]
    read_latency_ms_mean: NotRequired[float]
    write_latency_ms_mean: NotRequired[float]


class DiskPoint(TypedDict):
    """A load, as measured (median of the runs) and in the twin after the fit. `spread_pct` is half the range.

    It is null for a single run.
    """

    load: str
    read_pct: int
    random: bool
    block_bytes: int
    depth: int
    synchronous: bool
    measured: DiskFigures
    spread_pct: float | None
    twin: DiskFigures
    error_pct: float


class DiskParameter(TypedDict):
    """A parameter of the device, with its 95 % interval in `unit` if the points bound it."""

    parameter: str
    value: str
    interval: list[float] | None
    unit: str
    told_by: str


class DiskPrediction(TypedDict):
    """Prediction, as recorded before its load was measured."""

    predicted_at: str
    scenario_sha256: str
    load: str
    figures: DiskFigures


class DiskCompared(DiskPrediction):
    """Prediction with the later measurement. `runs` are I/Os per second, and their median counts."""

    sha256: str
    unchanged: bool
    measured_from: str
    measured: DiskFigures
    runs: list[float]
    spread_pct: float | None
    error_pct: float
    latency_error_pct: float


class DiskLab(TypedDict):
    """Results of `lab disk`."""

    version: str
    measured_at: str
    processor: Processor
    kernel: Kernel
    fio: str
    folder: str
    file_bytes: int
    seconds: float
    repeat: int
    points: list[DiskPoint]
    parameters: list[DiskParameter]
    prediction: DiskCompared
    steal_pct: float
    promised_pct: float
    notes: list[str]
    out: str


# ---- guests


class GuestView(TypedDict):
    """Figures of a guest as it sees them."""

    cpu_pct: float
    run_queue: float
    steal_pct: float
    throughput_per_s: float
    response_ms: float
    transactions: int
    load1: float


class HostView(TypedDict):
    """Figures of a guest as the host sees them."""

    run_pct: float
    wait_pct: float
    burst_ms: float
    vcpus: list[dict[str, float]]


class TwinView(TypedDict):
    """Twin's prediction of both."""

    cpu_pct: float
    run_queue: float
    steal_pct: float
    run_pct: float
    wait_pct: float
    throughput_per_s: float
    response_ms: float


class GuestErrors(TypedDict):
    """Errors of the twin."""

    throughput_pct: float
    response_pct: float
    cpu_points: float
    run_points: float
    wait_points: float


class GuestSample(TypedDict):
    """Sample of a guest at one time since the start of the measurement."""

    time_s: float
    cpu_pct: float
    run_pct: float
    wait_pct: float


class Guest(TypedDict):
    """A guest from all three views."""

    name: str
    guest: GuestView
    host: HostView
    twin: TwinView
    error: GuestErrors
    differ: bool
    story: str
    series: list[GuestSample]


class GuestHost(TypedDict):
    """Host of the guests."""

    cpu: str
    logical_cpus: int
    cpus: str
    kernel: str
    hz: int
    base_slice_ms: float


class Measurement(TypedDict):
    """Time of the measurement, and its disturbances."""

    started_at: str
    seconds: float
    steal_pct: float
    foreign_pct: float
    load1: float
    disturbed: bool


class Guests(TypedDict):
    """Results of `lab vm`."""

    version: str
    accelerator: str
    accelerator_note: str
    host: GuestHost
    plan: dict[str, Any]
    calibration: dict[str, Any]
    prediction: dict[str, str]
    measurement: Measurement
    guests: list[Guest]
    errors: GuestErrors


# ---- erasure coding


class CodingMachine(TypedDict):
    """The CPU core of the measurement."""

    cpu: str
    logical_cpu: int
    virtual: bool
    clock_hz: float
    clock_source: str
    l2_bytes: int
    llc_bytes: int


class Library(TypedDict):
    """Erasure coding library."""

    file: str
    isal_version: str
    instruction_set: str
    call_ns: float


class Rate(TypedDict):
    """GB/s of user data over the repetitions."""

    median: float
    min: float
    max: float


class CodingRow(TypedDict):
    """One operation of one scheme. Checksums have no scheme."""

    scheme: str | None
    data: int | None
    parity: int | None
    operation: str
    lost: int
    working_set: str
    working_set_bytes: int
    piece_bytes: int
    gb_per_s: Rate
    cycles_per_byte: float


class Fit(TypedDict):
    """Cycles per byte as a linear function of the number of outputs."""

    operation: str
    working_set: str
    cycles_per_byte: float
    cycles_per_byte_and_output: float
    cycles_per_byte_and_extra_stream: float
    points: int
    mean_error_pct: float
    worst_error_pct: float


class Coding(TypedDict):
    """CPU cost of erasure coding on a core."""

    version: str
    machine: CodingMachine
    library: Library
    date: str
    fragment_bytes: int
    seconds: float
    repetitions: int
    losses_rebuilt: dict[str, int]
    rows: list[CodingRow]
    fits: list[Fit]
    scenario: dict[str, str]
    """Scenario line of each scheme, to paste."""


class ProfiledCoding(TypedDict):
    """Erasure coding in a profile, or the reason why it was `skipped`."""

    rows: NotRequired[list[CodingRow]]
    skipped: NotRequired[str]
