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
    """Limits of a metric by severity; severities without a limit are absent."""

    info: float
    warning: float
    critical: float


class Band(Limits):
    """The limits of a metric."""

    direction: Literal["above", "below"]
    """The bad side of a limit."""
    own: list[Severity]
    """Severities whose limit is hypertwin's own choice; the others are published."""


class Beyond(TypedDict):
    """Times when a metric was beyond its band."""

    share_pct: float
    """Share of the samples."""
    first: str | None
    """Times in UTC of the first, last and worst such sample; None if the source has no clock."""
    last: str | None
    worst: str | None


class Figure(TypedDict):
    """One figure behind a finding."""

    metric: str
    what: str
    """The object and its figure."""
    value: float
    unit: str
    band: Band | None
    band_source: Literal["published", "own"] | None
    """The origin of the limit that the value is judged by."""
    entity: str | None
    """Path in the telemetry; None for configuration."""
    samples: int | None
    beyond: Beyond | None


class Reference(TypedDict):
    """A public document behind a rule."""

    title: str
    address: str


class Cause(TypedDict):
    """The finding that explains another finding."""

    code: str
    entity: str


class Tried(TypedDict):
    """A simulated change."""

    change: str
    set: dict[str, Any]
    """Values by path of the cluster file, as for `hypertwin simulate --set`."""
    after: Mapping[str, float]


class WhatIf(TypedDict):
    """The twin's result for the best change."""

    change: str
    set: dict[str, Any]
    """Values by path of the cluster file, as for `hypertwin simulate --set`."""
    text: str
    machine: str | None
    """The VM of these figures."""
    helps: bool | None
    """True if the change helps; None if the figures do not decide."""
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
    """The figure that shows it, in a few words."""
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
    """Number of findings: for a cluster, all findings in it; for a host, findings about it and its VMs and devices."""


class ClusterRow(Row):
    """A cluster, or all hosts outside the cluster file."""

    key: str | None
    """Name in the cluster file; null for hosts and VMs outside it."""
    datacenter: str | None
    vms_by_guess: int
    """VMs on an unknown host."""
    hosts: list[Row]
    """Rows of its hosts, without VMs on unknown hosts; vCPUs per core and configured memory are null if such VMs exist.
    """


class NearLimit(TypedDict):
    """The VM, host or disk that is nearest to a limit."""

    what: str
    """The figure, in words."""
    name: str
    value: float
    unit: str
    limit: float
    """Limit above or below which it becomes a finding."""
    of_limit_pct: float


class Findings(TypedDict):
    """The whole diagnosis."""

    cluster: str | None
    hosts: int
    machines: int
    """VMs."""
    rules: int
    """Number of rules."""
    clusters: list[ClusterRow]
    findings: list[Finding]
    """Worst first."""
    limits: list[NearLimit]
    """The measurements nearest to each limit, the nearest first."""
    not_checked: list[NotChecked]
    read: list[Read]
    notes: list[str]
    measured: bool
    """True if telemetry or the cluster file has measurements."""
    simulated_s: float | None
    """Simulated seconds that the rules judged if there are no measurements; else None."""
    not_simulated: str
    """Reason for no simulation if there are no measurements, and advice."""


class Document(Findings):
    """The document with the version of the program."""

    version: str


class Series(TypedDict):
    """Chart data of a finding: one figure over time."""

    what: str
    unit: str
    x: list[str | int]
    """Times as ISO 8601 in UTC; numbers of samples if the source has no clock."""
    mean: list[float]
    most: list[float]
    band: Band | None
    value: float
