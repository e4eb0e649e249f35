"""Problems of a cluster from telemetry and configuration, as findings with evidence, reference and fix.

Problems of a VM's topology are the warnings of the core's virtual NUMA model, which rules only name as findings.
Restarts after a host failure are those of `plan/capacity`, and the best hosts those of `plan/placement`. Diagnosis
and planner therefore agree.

The package joins telemetry and cluster file into one case. Rules judge the case, and the twin tries fixes. This package
reads no format (`ingest` does) and draws no page (`show` does). It returns `documents.diagnosis`. A rule uses only
figures of the case, never findings of another rule: causes are linked afterwards. The same files give the same
findings. Each module imports from those above it:

| module | contents |
|---|---|
| `words` | shared words and units |
| `evidence` | telemetry, aggregated in bounded memory |
| `twin` | simulated time; a run instead of measurements |
| `subjects` | clusters, hosts, VMs, and how busy a VM is |
| `snapshot` | measurements of the cluster file, as telemetry of a single sample |
| `case` | telemetry and cluster file, joined |
| `rule` | rule, band and finding |
| `rules/` | the rules by subject (see its own documentation) |
| `causes` | links of findings to their causes |
| `moves` | VM moves off an overloaded host |
| `memory` | fixes for a host short of memory |
| `remedies` | candidate fixes for a finding |
| `what_if` | simulates them and chooses the one to report |
| `overview` | a row for each cluster and host |
| `nearest` | the VM, host or disk nearest to each limit |
| `simulated` | the rules on a simulated point: causes of poor performance |
| `guide` | docs/findings.md |
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hypertwin import scenario as scenarios
from hypertwin.diagnosis import causes, nearest, overview, twin, what_if
from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.evidence import Evidence
from hypertwin.diagnosis.rule import Finding
from hypertwin.diagnosis.rules import RULES
from hypertwin.documents import diagnosis as documents
from hypertwin.documents.diagnosis import SEVERITIES
from hypertwin.runs.runner import running
from hypertwin.scenario import Given

ALSO_READ = (
    "interval_s",
    "vcpus",
    "cores",
    "threads",
    "clock_mhz",
    "memory_bytes",
    "used_mhz",
    "demand_mhz",
    "cpu_cores",
    *("run_sum_pct", "used_sum_pct", "numa_local_bytes", "numa_remote_bytes", "core_utilization_pct", "iops"),
    *("queue_depth", "active_commands", "run_queue", "memory_state", "memory_overcommit_pct", "memory_free_bytes"),
    *("cpu_load_1min", "cpu_latency_pct", "memory_active_bytes"),
)
"""Metrics that rules use in addition to those of their bands."""

MOST_CHARTS = 60
"""Maximum number of findings with charts. Pages with more charts open slowly."""

INSIDE_ONLY = (
    "only guests were measured: they do not show ready, co-stop or the load of their host, and on ESXi steal is "
    "always 0"
)


@dataclass(frozen=True)
class Diagnosis:
    """Result of a diagnosis."""

    findings: tuple[Finding, ...]
    """Findings, worst first."""
    document: documents.Findings
    """Document of `hypertwin diagnose --format json`, without the version."""


def diagnose(
    sources: Sequence[str | Path] = (),
    *,
    cluster: Given | None = None,
    charts: bool = False,
    simulate: bool = True,
    jobs: int | None = None,
    cache: str | Path | None = None,
    on: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Diagnosis:
    """Find problems in a cluster and test fixes.

    `sources` are files or addresses of telemetry, in any format that `hypertwin telemetry` reads. `cluster` is a
    scenario with the configuration. What-ifs are simulated on it unless `simulate` is False. Without any measurement,
    rules judge a run of it on the twin, also unless `simulate` is False. With `charts` findings carry their series.
    `jobs`, `cache` and `on` are those of `hypertwin.simulate`. `progress` is called with a label, the work done and
    the total work.

    Raises SourceError or ScenarioError for unreadable input.
    """
    loaded = scenarios.load(cluster) if cluster is not None else None
    metrics = {band.metric for rule in RULES for band in rule.bands} | set(ALSO_READ)
    measured = bool(sources) or loaded is None or twin.is_measured(loaded)
    recorded = twin.Recorded()
    with twin.temporary() as folder:
        if loaded is not None and not measured:
            recorded = twin.record(loaded, folder, progress) if simulate else twin.Recorded(why_not=twin.SWITCHED_OFF)
        read = [str(source) for source in sources] or recorded.files
        with Evidence.of(read, metrics, progress) as evidence:
            if recorded.files:
                evidence.reads = ()  # the user does not have these files
            case = Case.of(evidence, loaded, simulated=bool(recorded.files))
            findings, not_checked = judge(case)
            if not recorded.files:  # the twin's clock is not real time
                _tell_when(evidence, findings)
            if charts:
                _draw(evidence, findings)
            near = nearest.limits(case)
    notes = [*case.notes]
    if case.guests and not case.vms:
        notes.append(INSIDE_ONLY)
    if simulate:
        with running(jobs=jobs, cache=cache, on=on):
            notes += what_if.add(case, findings, progress)
        _sort(findings)
    document: documents.Findings = {
        "cluster": loaded.name if loaded else None,
        "hosts": len(case.hosts),
        "machines": len(case.vms),
        "rules": len(RULES),
        "clusters": list(overview.rows(case, findings)),
        "findings": [finding.to_dict() for finding in findings],
        "limits": list(near),
        "not_checked": not_checked,
        "read": [each.to_dict() for each in evidence.reads],
        "notes": notes,
        "measured": measured,
        "simulated_s": recorded.seconds,
        "not_simulated": recorded.why_not,
    }
    return Diagnosis(tuple(findings), document)


def judge(case: Case, codes: Container[str] | None = None) -> tuple[list[Finding], list[documents.NotChecked]]:
    """Return findings of all rules or of `codes`, worst first, with links to their causes.

    The second result has the rules that could not judge.
    """
    findings: list[Finding] = []
    not_checked: list[documents.NotChecked] = []
    for rule in RULES:
        if codes is not None and rule.code not in codes:
            continue
        not_checked += [{"code": rule.code, "needs": needs} for needs in rule.lacks(case)]
        findings += rule.find(case)
    for finding in findings:
        finding.subject = case.in_its_cluster(finding.subject)
    _sort(findings)
    causes.link(findings)
    return findings, not_checked


def _sort(findings: list[Finding]) -> None:
    """Sort findings worst first. Among findings of equal severity, causes come before effects."""
    order = {rule.code: place for place, rule in enumerate(RULES)}
    findings.sort(
        key=lambda finding: (
            SEVERITIES.index(finding.severity),
            order[finding.code],
            -finding.excess,
            finding.subject.path,
            finding.title,
        )
    )


def _tell_when(evidence: Evidence, findings: Sequence[Finding]) -> None:
    """Add the share of samples beyond its band, and their times, to each figure."""
    asked = {
        (measure.entity, measure.metric, measure.band.first * measure.divisor, measure.band.below)
        for finding in findings
        for measure in finding.evidence
        if measure.entity is not None and measure.band is not None and measure.is_of_samples
    }
    found = evidence.beyond(sorted(asked))
    for finding in findings:
        finding.evidence = [
            replace(measure, when=found.get((measure.entity or "", measure.metric)))
            if measure.is_of_samples
            else measure
            for measure in finding.evidence
        ]


def _draw(evidence: Evidence, findings: Sequence[Finding]) -> None:
    """Add the series behind their figures to the first findings."""
    drawn = findings[:MOST_CHARTS]
    wanted = {
        (measure.entity, measure.metric)
        for finding in drawn
        for measure in finding.evidence
        if measure.entity is not None
    }
    series = evidence.series(wanted)
    for finding in drawn:
        for measure in finding.evidence:
            found = series.get((measure.entity or "", measure.metric))
            if found is None:
                continue
            finding.charts.append(
                {
                    "what": measure.what,
                    "unit": measure.unit,
                    "x": found.x,
                    "mean": [value / measure.divisor + measure.added for value in found.mean],
                    "most": [value / measure.divisor + measure.added for value in found.most],
                    "band": measure.band.to_dict() if measure.band else None,
                    "value": measure.value,
                }
            )
