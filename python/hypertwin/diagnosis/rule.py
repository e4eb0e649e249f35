"""Rules of diagnosis: a code, bands with their public reference, required data, and a function that finds problems.

Every rule judges sustained values, never one peak. More than 5% of the samples, and at least two, reach `Stat.high`.
20% of the samples reach `Stat.often`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.evidence import When
from hypertwin.diagnosis.subjects import Subject
from hypertwin.documents import diagnosis as findings
from hypertwin.documents.diagnosis import SEVERITIES, Severity
from hypertwin.metrics import bands

OWN = frozenset(SEVERITIES)
"""All severities, for a band without a published limit."""


@dataclass(frozen=True)
class Band:
    """Limits of a metric, with the severity beyond each limit."""

    metric: str
    """Key of `ingest.telemetry.METRICS`, or a word for the comparison."""
    unit: str
    what: str
    """Name of the compared figure, such as `ready per vCPU`."""
    info: float | None = None
    warning: float | None = None
    critical: float | None = None
    below: bool = False
    """True if small values are bad."""
    own: frozenset[Severity] = frozenset()
    """Severities whose limit is hypertwin's own choice. A reference of the rule publishes the other limits."""

    @staticmethod
    def of(metric: str, name: str, **changes: Any) -> Band:
        """Return the band of simulated points, for the telemetry metric `name` of the same quantity."""
        known = bands.band(metric)
        limits = known.info, known.warning, known.critical
        return replace(Band(name, known.unit, known.what, *limits, own=frozenset(known.own)), **changes)

    def limits(self) -> list[tuple[Severity, float]]:
        """Return (severity, limit) of each limit, worst first."""
        found = zip(SEVERITIES, (self.critical, self.warning, self.info), strict=True)
        return [(severity, limit) for severity, limit in found if limit is not None]

    @property
    def first(self) -> float:
        """Limit at which a finding starts."""
        return self.limits()[-1][1]

    def severity(self, value: float) -> Severity | None:
        """Return the severity of a value, or None within bounds. A value equal to its limit is within bounds."""
        for severity, limit in self.limits():
            if value < limit if self.below else value > limit:
                return severity
        return None

    def source(self, value: float) -> Literal["published", "own"]:
        """Return the origin of the worst limit that a value exceeds: `published` or `own`."""
        return "own" if (self.severity(value) or self.limits()[-1][0]) in self.own else "published"

    def excess(self, value: float) -> float:
        """Return the ratio of a value to the limit where a finding starts. A higher ratio is worse."""
        limit = self.first
        return (limit + 1e-9) / (max(value, 0.0) + 1e-9) if self.below else value / (limit or 1.0)

    def measure(
        self, what: str, value: float, entity: str | None = None, *, samples: int | None = None, divisor: float = 1
    ) -> Measure:
        """Return a figure of this band's metric, judged by the band."""
        return Measure(self.metric, what, value, self.unit, self, entity, divisor, samples)

    def to_dict(self) -> findings.Band:
        """Return the band as JSON has it."""
        limits: findings.Limits = {}
        for severity, limit in reversed(self.limits()):
            limits[severity] = limit
        own = [severity for severity, _ in reversed(self.limits()) if severity in self.own]
        return {"direction": "below" if self.below else "above", **limits, "own": own}


@dataclass(frozen=True)
class Measure:
    """Figure behind a finding."""

    metric: str
    what: str
    """Object and figure in words: `db: ready per vCPU, exceeded in 5% of samples`."""
    value: float
    unit: str
    band: Band | None = None
    entity: str | None = None
    """Path in the telemetry, used with `divisor` for the chart, or None for configuration."""
    divisor: float = 1
    samples: int | None = None
    added: float = 0.0
    """Offset added to the telemetry's figure after the division."""
    when: When | None = None

    @property
    def is_of_samples(self) -> bool:
        """True if its band applies to single samples of the telemetry."""
        return self.band is not None and self.metric == self.band.metric and not self.added

    def to_dict(self) -> findings.Figure:
        """Return the figure as JSON has it."""
        return {
            "metric": self.metric,
            "what": self.what,
            "value": self.value,
            "unit": self.unit,
            "band": self.band.to_dict() if self.band else None,
            "band_source": self.band.source(self.value) if self.band else None,
            "entity": self.entity,
            "samples": self.samples,
            "beyond": self.when.to_dict() if self.when else None,
        }


@dataclass(frozen=True)
class Reference:
    """Public document behind a rule."""

    title: str
    address: str = ""
    """URL, or an empty string without a lasting one."""

    def __str__(self) -> str:
        """Return the title and address in one line."""
        return f"{self.title}, {self.address}" if self.address else self.title


@dataclass
class Finding:
    """Present or expected problem."""

    code: str
    severity: Severity
    subject: Subject
    title: str
    figure: str
    """Main figure in a few words. A line about many findings of a kind shows the worst of these figures."""
    text: str
    """Description of the problem, the objects that the problem affects, and its figures."""
    advice: str
    evidence: list[Measure]
    references: tuple[Reference, ...]
    caution: str = ""
    """Check to do before following the advice or any other fix."""
    what_if: findings.WhatIf | None = None
    no_what_if: str | None = None
    """Reason for no what-if although there is a cluster file."""
    cause: tuple[str, str] | None = None
    """(code, entity) of the finding that explains the finding."""
    charts: list[findings.Series] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str]:
        """Unique key among all findings."""
        return self.code, self.subject.path

    @property
    def excess(self) -> float:
        """Excess of the first figure of the finding over its band, or 0 without a figure."""
        first = self.evidence[0] if self.evidence else None
        return first.band.excess(first.value) if first and first.band else 0.0

    def to_dict(self) -> findings.Finding:
        """Return the finding as JSON has it."""
        return {
            "code": self.code,
            "severity": self.severity,
            "entity": self.subject.path,
            "kind": self.subject.kind,
            "name": self.subject.name,
            "host": self.subject.host,
            "cluster": self.subject.cluster,
            "title": self.title,
            "figure": self.figure,
            "text": self.text,
            "evidence": [measure.to_dict() for measure in self.evidence],
            "source": "; ".join(map(str, self.references)),
            "sources": [{"title": each.title, "address": each.address} for each in self.references],
            "advice": " ".join(filter(None, (self.advice, self.caution))),
            "cause": {"code": self.cause[0], "entity": self.cause[1]} if self.cause else None,
            "what_if": self.what_if,
            "no_what_if": self.no_what_if,
        }


CONFIGURATION = ("configuration", "")
"""An alternative of a need: the configuration from `--cluster`."""


@dataclass(frozen=True)
class Need:
    """Data that a rule needs: any of some metrics, the configuration, or a fact of the configuration."""

    words: str
    """Name of the data in the terms of the tools: `ready of VMs (%RDY, cpu.ready)`."""
    any_of: tuple[tuple[str, str], ...] = (CONFIGURATION,)
    """Tuples of kind of entity and metric, one of which is enough. `CONFIGURATION` is one of them."""
    fact: Callable[[Case], bool] | None = None
    """Function that returns true if a case has the data, for other kinds of needs."""
    series: bool = False
    """True if a single sample is not enough."""

    def met(self, case: Case) -> bool:
        """True if a case has the data."""
        if self.fact is not None:
            return self.fact(case)
        if CONFIGURATION in self.any_of and case.scenario is not None:
            return True
        return any(case.evidence.has(kind, metric, series=self.series) for kind, metric in self.any_of)


@dataclass(frozen=True)
class Rule:
    """Rule of diagnosis."""

    code: str
    """Stable name of its findings."""
    title: str
    says: str
    """Meaning of a finding, in a few sentences."""
    bands: tuple[Band, ...]
    references: tuple[Reference, ...]
    needs: tuple[Need, ...]
    find: Callable[[Case], Iterable[Finding]]

    def lacks(self, case: Case) -> Iterator[str]:
        """Return the needs that the case does not meet."""
        return (need.words for need in self.needs if not need.met(case))

    def about(
        self,
        subject: Subject,
        *,
        severity: Severity,
        title: str,
        figure: str,
        text: str,
        advice: str,
        evidence: Iterable[Measure],
        caution: str = "",
    ) -> Finding:
        """Return a finding of this rule."""
        return Finding(
            self.code, severity, subject, title, figure, text, advice, list(evidence), self.references, caution
        )


def rule(
    code: str,
    *,
    title: str,
    says: str,
    bands: tuple[Band, ...] = (),
    references: tuple[Reference, ...],
    needs: tuple[Need, ...],
) -> Callable[[Callable[[Case], Iterable[Finding]]], Rule]:
    """Turn a function that yields findings into a rule.

    The name of the function then refers to the rule: `cpu_ready.about(...)` in its body creates a finding.
    """
    return lambda find: Rule(code, title, says, bands, references, needs, find)
