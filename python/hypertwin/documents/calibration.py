"""Output of `hypertwin calibrate`."""

from __future__ import annotations

from typing import Any, TypedDict


class Parameter(TypedDict):
    """Fitted parameter with values in `unit`. `interval` has 95 % confidence, if the data bound the parameter.

    A `kept` parameter has its start value, because the data do not determine it. Calibration files set `written` ones.
    """

    path: str
    unit: str
    start: float
    value: float
    text: str
    interval: list[float] | None
    identified: bool
    low: float
    high: float
    at_bound: bool
    kept: bool
    written: bool


class MetricErrors(TypedDict):
    """Mean absolute error of one metric, in per cent of the measured values, or None without values."""

    metric: str
    unit: str
    values: int
    before_pct: float | None
    fitted_pct: float | None
    left_out_pct: float | None
    held_out_pct: float | None


class Value(TypedDict):
    """Measured value and value of the twin, in `unit`. Errors are in per cent."""

    row: int
    name: str
    set: dict[str, Any]
    metric: str
    unit: str
    measured: float
    measured_error: float | None
    twin: float
    twin_error: float | None
    error: float
    error_pct: float
    before: float | None
    before_error_pct: float | None
    left_out: float | None
    left_out_error_pct: float | None
    held_out: bool


class Narrowed(TypedDict):
    """80% interval of the twin's own error, before and after the user's measured points, as factors in words."""

    area: str
    kind: str
    points: int
    before: str
    after: str


class Inseparable(TypedDict):
    """Parameters that the data cannot separate."""

    parameters: list[str]
    text: str


class Correlated(TypedDict):
    """Parameters that the data can hardly separate."""

    parameters: list[str]
    correlation: float


class Calibration(TypedDict):
    """Fitted parameters of a scenario, and their errors against the measurements."""

    version: str
    scenario: str
    seed: int
    duration_s: float
    replications: int
    measurements: str
    calibrated_on: str
    parameters: list[Parameter]
    inseparable: list[Inseparable]
    correlated: list[Correlated]
    metrics: list[MetricErrors]
    points: list[Value]
    model_error: list[Narrowed]
    errors_known: bool
    errors_explain: bool | None
    residual_scale: float
    degrees_of_freedom: int
    converged: bool
    evaluations: int
    runs: int
    notes: list[str]
    set: dict[str, Any]
