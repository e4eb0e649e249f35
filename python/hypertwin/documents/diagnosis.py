"""What `hypertwin diagnose` prints."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from hypertwin.documents.telemetry import Source


class Band(TypedDict):
    """From which value on how bad; `own` are the severities whose limit no public source gives."""

    direction: str
    """`above` or `below`: where the bad values are."""
    info: NotRequired[float]
    warning: NotRequired[float]
    critical: NotRequired[float]
    own: list[str]


class Beyond(TypedDict):
    """When a metric was beyond its band, times in UTC; None without a clock."""

    share_pct: float
    """Of the samples."""
    first: str | None
    last: str | None
    worst: str | None


class Measure(TypedDict):
    """A figure that a finding rests on, in `unit`."""

    metric: str
    what: str
    value: float
    unit: str
    band: Band | None
    band_source: str | None
    entity: str | None
    samples: int | None
    beyond: Beyond | None


class Reference(TypedDict):
    """A public document that a rule is from."""

    title: str
    address: str


class Cause(TypedDict):
    """The finding that explains another."""

    code: str
    entity: str


class WhatIf(TypedDict):
    """What the twin says of a change."""

    text: str
    set: NotRequired[dict[str, Any]]


class Finding(TypedDict):
    """Something that is wrong, or will be."""

    code: str
    severity: str
    """`critical`, `warning` or `info`."""
    entity: str
    kind: str
    name: str
    host: str | None
    title: str
    figure: str
    text: str
    evidence: list[Measure]
    source: str
    sources: list[Reference]
    advice: str
    cause: Cause | None
    what_if: WhatIf | None
    no_what_if: str | None


class NotChecked(TypedDict):
    """A rule that could not judge, and what it needs."""

    code: str
    needs: str


class Diagnosis(TypedDict):
    """What was found, the worst first; the command adds `version`."""

    version: NotRequired[str]
    cluster: str | None
    hosts: int
    machines: int
    findings: list[Finding]
    not_checked: list[NotChecked]
    read: list[Source]
    notes: list[str]


class Series(TypedDict):
    """Samples of a figure over time, for a chart; not part of the document that is printed."""

    what: str
    unit: str
    x: list[Any]
    """Times in UTC, or numbers of samples without a clock."""
    mean: list[float]
    most: list[float]
    band: Band | None
    value: float
