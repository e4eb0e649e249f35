"""What a rule of diagnosis is: a code, bands with their public source, what it needs, and a function that looks.

Every rule judges sustained values, never one peak: `Stat.high` is what more than 5 % of the samples, and at least
two of them, reach; `Stat.often` what a fifth of them do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypertwin.diagnose.subjects import Case

SEVERITIES = ("critical", "warning", "info")
"""Worst first. Info: beyond what is called healthy. Warning: look at it. Critical: what the source calls trouble."""


@dataclass(frozen=True)
class Band:
    """From which value on a metric is how bad."""

    metric: str
    """Key of `ingest.telemetry.METRICS`, or a word for what is compared."""
    unit: str
    what: str
    """What is compared, in words: `ready per vCPU`."""
    info: float | None = None
    warning: float | None = None
    critical: float | None = None
    below: bool = False
    """Whether small values are the bad ones."""
    own: frozenset[str] = frozenset()
    """Severities whose limit is hypertwin's own choice; the others are published by a source of the rule."""

    def limits(self) -> list[tuple[str, float]]:
        """(severity, limit), worst first."""
        found = (("critical", self.critical), ("warning", self.warning), ("info", self.info))
        return [(severity, limit) for severity, limit in found if limit is not None]

    @property
    def first(self) -> float:
        """The limit at which a finding begins."""
        return self.limits()[-1][1]

    def severity(self, value: float) -> str | None:
        """How bad a value is; None for one within bounds. A value at its limit is within."""
        for severity, limit in self.limits():
            if value < limit if self.below else value > limit:
                return severity
        return None

    def source(self, value: float) -> str:
        """`published` or `own`: where the limit is from that a value is judged by, the worst one that it is beyond."""
        return "own" if (self.severity(value) or self.limits()[-1][0]) in self.own else "published"

    def excess(self, value: float) -> float:
        """How far a value is beyond where a finding begins, as a ratio: more is worse."""
        limit = self.first
        return (limit + 1e-9) / (max(value, 0.0) + 1e-9) if self.below else value / limit

    def to_dict(self) -> dict[str, Any]:
        """The band as JSON has it."""
        limits = dict(reversed(self.limits()))
        own = [severity for severity in limits if severity in self.own]
        return {"direction": "below" if self.below else "above", **limits, "own": own}


OWN = frozenset(SEVERITIES)
"""Of a band none of whose limits is published."""

CONFIGURATION = ("configuration", "")
"""Stands among the alternatives of a need for the configuration that `--cluster` gives."""


@dataclass(frozen=True)
class Need:
    """Something without which a rule cannot judge: any of some metrics, or the configuration."""

    words: str
    """What is needed as people know it: `%RDY of machines (cpu.ready)`."""
    any_of: tuple[tuple[str, str], ...] = ()
    """(kind of entity, metric), one of which is enough; `CONFIGURATION` is one; none means nothing else will do."""


@dataclass(frozen=True)
class When:
    """When a metric was beyond its band."""

    share_pct: float
    """Of the samples."""
    first: str | None
    """Times in UTC of the first and the last such sample, and of the worst; None where the source has no clock."""
    last: str | None
    worst: str | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class Measure:
    """One figure that a finding rests on."""

    metric: str
    what: str
    """Whose, and which figure of it: `db: ready per vCPU, exceeded in 5 % of samples`."""
    value: float
    unit: str
    band: Band | None = None
    entity: str | None = None
    """Where in the telemetry it is from, with `divisor`: for the chart. None for configuration."""
    divisor: float = 1.0
    samples: int | None = None
    added: float = 0.0
    """What is added to the telemetry's figure, divided."""
    when: When | None = None

    def to_dict(self) -> dict[str, Any]:
        """The figure as JSON has it."""
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
class Subject:
    """Whom a finding is about."""

    kind: str
    """`host`, `vm`, `guest`, `device` or `cluster`."""
    name: str
    """As its own system calls it."""
    path: str
    """Entity in the telemetry, or the same form made of names where there is no telemetry of it."""


@dataclass(frozen=True)
class Source:
    """A public document that a rule is from."""

    title: str
    address: str = ""
    """Where it can be read; empty where it has no lasting address."""

    def __str__(self) -> str:
        """Title and address in one line."""
        return f"{self.title}, {self.address}" if self.address else self.title


@dataclass
class Finding:
    """Something that is wrong, or will be."""

    code: str
    severity: str
    subject: Subject
    title: str
    figure: str
    """The figure that says it, in a few words: what a line about many such findings tells of the worst."""
    text: str
    """What is wrong, whom it hurts, and by which figures."""
    advice: str
    evidence: list[Measure] = field(default_factory=list)
    host: str | None = None
    """Name of the host that it is on or about; for what-ifs and for causes."""
    sources: tuple[Source, ...] = ()
    what_if: Mapping[str, Any] | None = None
    no_what_if: str | None = None
    """Why there is none, where a cluster file was given."""
    cause: tuple[str, str] | None = None
    """(code, entity) of the finding that explains this one."""
    charts: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from every other finding."""
        return self.code, self.subject.path

    @property
    def excess(self) -> float:
        """How far its first figure is beyond its band; 0 without one."""
        first = self.evidence[0] if self.evidence else None
        return first.band.excess(first.value) if first and first.band else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON has it."""
        return {
            "code": self.code,
            "severity": self.severity,
            "entity": self.subject.path,
            "kind": self.subject.kind,
            "name": self.subject.name,
            "host": self.host,
            "title": self.title,
            "figure": self.figure,
            "text": self.text,
            "evidence": [measure.to_dict() for measure in self.evidence],
            "source": "; ".join(map(str, self.sources)),
            "sources": [asdict(source) for source in self.sources],
            "advice": self.advice,
            "cause": {"code": self.cause[0], "entity": self.cause[1]} if self.cause else None,
            "what_if": dict(self.what_if) if self.what_if else None,
            "no_what_if": self.no_what_if,
        }


@dataclass(frozen=True)
class Rule:
    """A rule of diagnosis."""

    code: str
    """Stable name of its findings."""
    title: str
    says: str
    """What a finding means, in a sentence or two."""
    bands: tuple[Band, ...]
    sources: tuple[Source, ...]
    needs: tuple[Need, ...]
    find: Callable[[Case, Rule], Iterable[Finding]]

    def lacks(self, case: Case) -> Iterator[str]:
        """What it needs and the case does not have."""
        for need in self.needs:
            by_configuration = not need.any_of or CONFIGURATION in need.any_of
            measured = any(case.evidence.has(kind, metric) for kind, metric in need.any_of)
            if not measured and not (by_configuration and case.scenario is not None):
                yield need.words


# Documents that several rules are from.
LARGE_DATABASES = Source(
    '"Virtualizing large databases - VMware CPU capacity planning" (InterSystems community, 2017)',
    "https://community.intersystems.com/post/virtualizing-large-databases-vmware-cpu-capacity-planning",
)
ESXTOP_THRESHOLDS = Source("Duncan Epping, esxtop thresholds (Yellow Bricks)", "https://www.yellow-bricks.com/esxtop/")
ESXTOP_STATISTICS = Source(
    'Broadcom KB 382249, "Using ESXTop and Interpreting ESXTop Statistics"',
    "https://knowledge.broadcom.com/external/article/382249/using-esxtop-and-interpreting-esxtop-sta.html",
)
METRICS_IN_VMWARE = Source(
    '"Common Performance Metrics and Issues in VMware vSphere Hosts and VMs" (Leaseweb, 2023)',
    "https://blog.leaseweb.com/2023/01/10/performance-metrics-in-vmware/",
)
RIGHTSIZING = Source(
    '"Virtual Machine vCPU and vNUMA Rightsizing - Rules of Thumb" (VMware VROOM! blog, 2017)',
    "https://blogs.vmware.com/performance/2017/03/virtual-machine-vcpu-and-vnuma-rightsizing-rules-of-thumb.html",
)
READY_CONVERSION = Source(
    'VMware KB 2002181, "Converting between CPU summation and CPU % ready values"',
    "https://kb.vmware.com/s/article/2002181",
)
