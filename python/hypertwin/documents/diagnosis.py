"""The document of a diagnosis: what `hypertwin diagnose --format json` prints, and its text and its page show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from hypertwin.documents.telemetry import Read

Severity = Literal["critical", "warning", "info"]

SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
"""Worst first. Info: beyond what is called healthy. Warning: look at it. Critical: what a reference calls trouble."""


class Limits(TypedDict, total=False):
    """From which value on a metric is how bad; a severity without a limit is left out."""

    info: float
    warning: float
    critical: float


class Band(Limits):
    """The limits of a metric."""

    direction: Literal["above", "below"]
    """On which side of a limit values are bad."""
    own: list[Severity]
    """Severities whose limit is hypertwin's own choice; the others are published."""


class Beyond(TypedDict):
    """When a metric was beyond its band."""

    share_pct: float
    """Of the samples."""
    first: str | None
    """Times in UTC of the first and the last such sample, and of the worst; None where the source has no clock."""
    last: str | None
    worst: str | None


class Figure(TypedDict):
    """One figure that a finding rests on."""

    metric: str
    what: str
    """Whose, and which figure of it."""
    value: float
    unit: str
    band: Band | None
    band_source: Literal["published", "own"] | None
    """The origin of the limit that the value is judged by."""
    entity: str | None
    """Where in the telemetry it is from; None for configuration."""
    samples: int | None
    beyond: Beyond | None


class Reference(TypedDict):
    """A public document that a rule is from."""

    title: str
    address: str


class Cause(TypedDict):
    """The finding that explains another one."""

    code: str
    entity: str


class Tried(TypedDict):
    """A change that was simulated."""

    change: str
    set: dict[str, Any]
    """Values by path of the cluster file, as for `hypertwin simulate --set`."""
    after: Mapping[str, float]


class WhatIf(TypedDict):
    """What the twin says of the best change."""

    change: str
    set: dict[str, Any]
    """Values by path of the cluster file, as for `hypertwin simulate --set`."""
    text: str
    machine: str | None
    """The VM whose figures these are."""
    helps: bool | None
    """None where the figures do not say."""
    before: Mapping[str, float]
    after: Mapping[str, float]
    tried: list[Tried]
    hosts: list[str]
    """Hosts that were simulated."""
    replications: int
    duration_s: float


class Finding(TypedDict):
    """Something that is wrong, or will be."""

    code: str
    severity: Severity
    entity: str
    kind: str
    """`cluster`, `host`, `vm`, `guest`, `device` or `datastore`."""
    name: str
    host: str | None
    cluster: str | None
    """The cluster of the cluster file that it is in."""
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
    """A rule that could not judge, and what it lacks."""

    code: str
    needs: str


class Row(TypedDict):
    """A cluster or a host: how large and how full it is, and what was found of it. What is not known is null."""

    name: str
    vms: int
    vcpus: int
    """Of its VMs, as far as they are known."""
    cores: int | None
    vcpu_per_core: float | None
    cpu_pct: float | None
    """CPU used as measured, of the cores of its hosts that were measured."""
    memory_bytes: float | None
    memory_configured_pct: float | None
    """What its VMs are configured with, over its memory."""
    memory_pct: float | None
    """Memory used as measured, of that of its hosts that were measured."""
    measured: str | None
    """When, in words: `at the moment of the export, 2026-03-01`, or `telemetry`."""
    findings: dict[Severity, int]
    """Of a cluster, all findings in it; of a host, those about it and what is on it."""


class ClusterRow(Row):
    """A cluster, or all hosts that no cluster file has."""

    key: str | None
    """Its name in the cluster file; null for the hosts and VMs that it does not have."""
    datacenter: str | None
    vms_by_guess: int
    """VMs whose host is not known."""
    hosts: list[Row]
    """VMs whose host is not known are on none of them; their vCPUs per core and configured memory are null then."""


class NearLimit(TypedDict):
    """The VM, host or disk that is nearest to a limit."""

    what: str
    """The figure, in words."""
    name: str
    value: float
    unit: str
    limit: float
    """From which on it is a finding."""
    of_limit_pct: float


class Findings(TypedDict):
    """All of a diagnosis."""

    cluster: str | None
    hosts: int
    machines: int
    """VMs."""
    rules: int
    """Rules that there are."""
    clusters: list[ClusterRow]
    findings: list[Finding]
    """Worst first."""
    limits: list[NearLimit]
    """The nearest to each limit, the nearest first."""
    not_checked: list[NotChecked]
    read: list[Read]
    notes: list[str]
    measured: bool
    """Whether anything was measured, by telemetry or as the cluster file says."""
    simulated_s: float | None
    """Where nothing was: seconds of the scenario on the twin that the rules judged instead; None without."""
    not_simulated: str
    """Where neither was: why not, and what to do."""


class Document(Findings):
    """The same with the version of the program."""

    version: str


class Series(TypedDict):
    """What a chart of a finding shows: one figure over time."""

    what: str
    unit: str
    x: list[str | int]
    """Times as ISO 8601 in UTC, or numbers of samples where the source has no clock."""
    mean: list[float]
    most: list[float]
    band: Band | None
    value: float
