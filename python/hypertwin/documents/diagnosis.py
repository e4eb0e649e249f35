"""The document of a diagnosis: output of `hypertwin diagnose --format json`, and source of its text and page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from hypertwin.documents.telemetry import Read

Severity = Literal["critical", "warning", "info"]

SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
"""Severities, worst first. Info: beyond the healthy range. Warning: check it. Critical: a reference calls it a problem.
"""


class Limits(TypedDict, total=False):
    """Limits of a metric by severity. Severities without a limit are absent."""

    info: float
    warning: float
    critical: float


class Band(Limits):
    """Limits of a metric."""

    direction: Literal["above", "below"]
    """Bad side of a limit."""
    own: list[Severity]
    """Severities whose limit is hypertwin's own choice. The others are published."""


class Beyond(TypedDict):
    """Times when a metric was beyond its band."""

    share_pct: float
    """Share of the samples."""
    first: str | None
    """Times in UTC of the first, last and worst such sample, or None if the source has no clock."""
    last: str | None
    worst: str | None


class Figure(TypedDict):
    """One figure behind a finding."""

    metric: str
    what: str
    """Object and figure, in words."""
    value: float
    unit: str
    band: Band | None
    band_source: Literal["published", "own"] | None
    """Origin of the limit that the value is judged by."""
    entity: str | None
    """Path in the telemetry, or None for configuration."""
    samples: int | None
    beyond: Beyond | None


class Reference(TypedDict):
    """A public document behind a rule."""

    title: str
    address: str


class Cause(TypedDict):
    """Finding that explains another finding."""

    code: str
    entity: str


class Tried(TypedDict):
    """A simulated change."""

    change: str
    set: dict[str, Any]
    """Values by path of the cluster file, as for `hypertwin simulate --set`."""
    after: Mapping[str, float]


class WhatIf(TypedDict):
    """Twin's result for the best change."""

    change: str
    set: dict[str, Any]
    """Values by path of the cluster file, as for `hypertwin simulate --set`."""
    text: str
    machine: str | None
    """The VM of these figures."""
    helps: bool | None
    """True if the change helps, or None if the figures do not decide."""
    before: Mapping[str, float]
    after: Mapping[str, float]
    tried: list[Tried]
    hosts: list[str]
    """Simulated hosts."""
    replications: int
    duration_s: float


class Finding(TypedDict):
    """A problem, present or expected."""

    code: str
    severity: Severity
    entity: str
    kind: str
    """`cluster`, `host`, `vm`, `guest`, `device` or `datastore`."""
    name: str
    host: str | None
    cluster: str | None
    """Cluster in the cluster file."""
    title: str
    figure: str
    """Main figure that shows the problem, in a few words."""
    text: str
    evidence: list[Figure]
    source: str
    """All references in one line."""
    sources: list[Reference]
    advice: str
    cause: Cause | None
    what_if: WhatIf | None
    no_what_if: str | None


class NotChecked(TypedDict):
    """A rule that could not judge, and the missing data."""

    code: str
    needs: str


class Row(TypedDict):
    """A cluster or a host: its size, load and findings. Unknown values are null."""

    name: str
    vms: int
    vcpus: int
    """vCPUs of its known VMs."""
    cores: int | None
    vcpu_per_core: float | None
    cpu_pct: float | None
    """Measured CPU use, in per cent of the cores of measured hosts."""
    memory_bytes: float | None
    memory_configured_pct: float | None
    """Configured memory of its VMs, in per cent of its memory."""
    memory_pct: float | None
    """Measured memory use, in per cent of the memory of measured hosts."""
    measured: str | None
    """Time of the measurement in words: `at the time of the export, 2026-03-01`, or `telemetry`."""
    findings: dict[Severity, int]
    """Number of findings. For a cluster, all findings in it count.

    For a host, findings about its VMs and devices count too.
    """


class ClusterRow(Row):
    """A cluster, or all hosts outside the cluster file."""

    key: str | None
    """Name in the cluster file, or null for hosts and VMs outside it."""
    datacenter: str | None
    vms_by_guess: int
    """VMs on an unknown host."""
    hosts: list[Row]
    """Rows of its hosts, without VMs on unknown hosts. vCPUs per core and configured memory are null if such VMs exist.
    """


class NearLimit(TypedDict):
    """The VM, host or disk that is nearest to a limit."""

    what: str
    """Figure, in words."""
    name: str
    value: float
    unit: str
    limit: float
    """Limit above or below which the figure becomes a finding."""
    of_limit_pct: float


class Findings(TypedDict):
    """Document of a diagnosis."""

    cluster: str | None
    hosts: int
    machines: int
    """VMs."""
    rules: int
    """Number of rules."""
    clusters: list[ClusterRow]
    findings: list[Finding]
    """Findings, worst first."""
    limits: list[NearLimit]
    """Measurements nearest to each limit, the nearest first."""
    not_checked: list[NotChecked]
    read: list[Read]
    notes: list[str]
    measured: bool
    """True if telemetry or the cluster file has measurements."""
    simulated_s: float | None
    """Simulated time in seconds that the rules judged if there are no measurements, otherwise None."""
    not_simulated: str
    """Reason for no simulation if there are no measurements, and advice."""


class Document(Findings):
    """Document with the version of the program."""

    version: str


class Series(TypedDict):
    """Chart data of a finding: one figure over time."""

    what: str
    unit: str
    x: list[str | int]
    """Times as ISO 8601 in UTC, or sample numbers if the source has no clock."""
    mean: list[float]
    most: list[float]
    band: Band | None
    value: float
