"""Output of `hypertwin benchmark`: checks of targets, the prediction of a campaign, and its comparison with runs."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from hypertwin.documents.simulation import LimitKind


class Finding(TypedDict):
    """Result of a check of a target or host."""

    severity: Literal["error", "warning", "note"]
    target: str
    text: str
    fix: str


class Answering(TypedDict):
    """A target or host that answered."""

    name: str
    hostname: str
    kernel: str
    cpus: int
    free_gib: float | None
    busy_pct: float
    """Use of its CPUs before the campaign."""
    steal_pct: float
    offset_ms: float
    """Its clock minus the clock of this computer."""
    versions: dict[str, str]


class Check(TypedDict):
    """Output of `hypertwin benchmark check`."""

    version: str
    name: str
    machines: list[Answering]
    findings: list[Finding]
    ok: bool
    """True if nothing prevents the campaign."""


class PredictedFigure(TypedDict):
    """Predicted figure of the VMs of a step together, or of a mean VM for percentages."""

    value: float
    unit: str
    ci95: float | None
    """Half-width of the 95% interval from chance, or None for percentiles."""
    low: float | None
    """Lower end of the 80% interval of the twin's own error, or None without one."""
    high: float | None


class PredictedLimit(TypedDict):
    """Limit of the VMs at a step."""

    kind: LimitKind
    text: str


class PredictedStep(TypedDict):
    """Prediction of a step."""

    name: str
    title: str
    set: dict[str, Any]
    """Settings of the scenario, by path."""
    figures: dict[str, PredictedFigure]
    """Figures by flat key of a group, such as `response_ms_p99`."""
    limit: PredictedLimit
    steady: str


class Prediction(TypedDict):
    """Prediction of a campaign, as its folder keeps it."""

    version: str
    name: str
    group: str
    time: str
    """Time of the prediction, in UTC."""
    plan_sha256: str
    scenario_sha256: str
    """Hash of the scenario with its calibration."""
    calibrated_on: str | None
    measured_before: list[str]
    """Steps that were measured before the prediction: the calibration step, or all of an imported campaign."""
    steps: list[PredictedStep]


class View(TypedDict):
    """Use of a target or host during a run."""

    name: str
    kind: Literal["guest", "host"]
    busy_pct: float | None
    steal_pct: float | None
    throttled_pct: float | None
    """Share of periods in which the CPU quota was used up."""
    cpu_pressure_pct: float | None
    io_pressure_pct: float | None
    disk_util_pct: float | None
    load_1min: float | None


class Run(TypedDict):
    """A measured run of a step."""

    repeat: int
    started: str
    skew_ms: float | None
    """Difference between the first and the last start, or None for one VM or an imported run."""
    figures: dict[str, float]
    vms: dict[str, dict[str, float]]
    """Figures of each VM."""
    views: list[View]
    disturbed: list[str]
    """Reasons why the run counts as disturbed."""
    notes: list[str]


class Compared(TypedDict):
    """Measured figure of a step beside the predicted one."""

    metric: str
    kind: Literal["throughput", "latency", "tail", "duration", "usage"] | None
    title: str
    unit: str
    measured: float
    least: float
    """Least measured value of all repeats."""
    most: float
    spread_pct: float | None
    """Difference between the largest and the smallest value, in per cent of the mean, or None for one repeat."""
    predicted: float | None
    ci95: float | None
    low: float | None
    high: float | None
    error_pct: float | None
    """Predicted minus measured, in per cent of the measured value."""
    promise: str
    """Largest difference that counts as right, or an empty text for a figure without a promise."""
    within: bool | None
    """True if the difference is within the promise, or None without a promise or if repeats differ too much."""
    in_interval: bool | None
    """True if the measured value is in the interval of the twin's own error, or None without one."""


class Class(TypedDict):
    """Limit of a step as measured and as predicted."""

    measured: LimitKind
    evidence: str
    """Measured figures that show the limit."""
    predicted: LimitKind | None
    predicted_text: str
    right: bool | None


class Step(TypedDict):
    """A step with its runs."""

    name: str
    title: str
    vms: int
    values: dict[str, Any]
    set: dict[str, Any]
    calibration: bool
    """True if the step was measured before the prediction. It proves nothing."""
    runs: list[Run]
    figures: list[Compared]
    limit: Class


class Score(TypedDict):
    """Number of predicted figures within their promise, of steps that were not measured before."""

    figure: str
    right: int
    of: int
    median_error_pct: float | None
    """Median of absolute errors, or None without figures."""
    bias_pct: float | None
    """Median of signed errors: positive if the twin predicts more."""


class Proposal(TypedDict):
    """Value of a parameter that fits all steps."""

    path: str
    used: str
    fitted: str
    interval: str
    differs: bool
    """True if the used value is outside the interval."""
    identified: bool


class Benchmark(TypedDict):
    """Output of `hypertwin benchmark run` and `report`."""

    version: str
    name: str
    group: str
    load: str
    targets: list[str]
    predicted_at: str | None
    prediction_sha256: str | None
    first_run: str | None
    """Start of the first measured run."""
    blind: bool
    """True if the prediction was made before each run that is compared."""
    calibrated_on: str | None
    steps: list[Step]
    missing: list[str]
    """Runs that have not been measured."""
    scores: list[Score]
    knee_measured: str | None
    """First step whose rate is not met, or at which more requests give less than half of the throughput expected.

    None without such a step.
    """
    knee_predicted: str | None
    proposals: list[Proposal]
    notes: list[str]
