"""Service-level objectives: parsing of `response_ms.p99<200`, and a check of reports against it.

An objective is METRIC, one of `<`, `<=`, `>`, `>=`, and a number, with or without a unit. METRIC is a figure of the
group in question (`response_ms.p99`), or a path into the report. Examples of paths: `hosts.esx-1.usage_pct`,
`groups.web.ready_pct`, `vms.db-3.costop_pct`, `storage.san-disks.utilization_pct`, `pools.vsan.write_mb_per_s`. A name
can contain `*`: then the worst match counts. The prefix `per_vm.` divides a sum over a group's VMs by their number.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypertwin.errors import Argument, fail
from hypertwin.metrics import metric_path
from hypertwin.metrics.catalogue import CATALOGUE
from hypertwin.metrics.metric_path import MetricPath
from hypertwin.model_error.carried import At
from hypertwin.scenario import Scenario

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

SUMS = frozenset(metric.key for metric in CATALOGUE if metric.summed)
"""Group figures that are sums over VMs. Other figures are means or distributions."""

PER_VM = "per_vm."

_FORM = re.compile(r"([^<>=\s]+)\s*(<=|>=|<|>)\s*([^<>=]+)")
_EXAMPLE = "METRIC<NUMBER with <, <=, > or >=, such as response_ms.p99<200 or 'hosts.*.usage_pct<=80%'"


@dataclass(frozen=True)
class Objective:
    """Service-level objective, with its limit in the metric's own unit."""

    text: str
    """Original text of the objective."""
    metric: str
    """Metric as written, without spaces."""
    path: MetricPath
    """Path of the figure in a report."""
    sign: str
    """Comparison operator: one of OPERATORS."""
    limit: float
    unit: str
    """Unit of the limit and of the metric, or an empty string for plain numbers."""
    per_vm: bool = False

    @property
    def name(self) -> str:
        """Name of the figure in a result: the metric, marked if it is the lowest of several values."""
        return f"least {self.metric}" if "*" in self.path.entity and not self.upper else self.metric

    @property
    def upper(self) -> bool:
        """True if smaller is better."""
        return self.sign in ("<", "<=")

    def ends(self, errors: At, report: Mapping[str, Any], value: float, name: str | None = None) -> tuple[float, float]:
        """Return the worse and the better end of a value, with the twin's own error.

        Both are the value itself for a figure without model error. An objective for groups can have the name of a VM.
        """
        section = "vms" if self.path.section == "groups" and name in report.get("vms", {}) else self.path.section
        ends = errors.ends(report, section, self.path.entity if name is None else name, self.path.key, value)
        low, high = ends or (value, value)
        return (high, low) if self.upper else (low, high)

    def meets(self, value: float) -> bool:
        """True if a value is on the right side of the limit."""
        return OPERATORS[self.sign](value, self.limit)

    def read(self, report: Mapping[str, Any]) -> float | None:
        """Return the figure in the report of a point, the worst one if several match, or None if not measured.

        Raises ScenarioError if the report has no such entity or no such figure.
        """
        known = self.path.known(report)
        values: list[float] = [
            flat[self.path.key] / (flat["count"] if self.per_vm else 1)
            for flat in known
            if isinstance(flat[self.path.key], int | float)
        ]
        if len(values) < len(known):
            return None
        return max(values) if self.upper else min(values)


def parse(texts: str | Sequence[str], scenario: Scenario, group: str) -> tuple[Objective, ...]:
    """Return the objectives in texts, for a VM group of a scenario. Raises ScenarioError.

    Names of metrics, hosts and groups are checked here, before any simulation. Stations of the I/O path and single VMs
    are known only from a report (`Objective.read`).
    """
    listed = [texts] if isinstance(texts, str) else list(texts)
    if not listed:
        fail("bad-objective", "slo", "nothing", _EXAMPLE, "say what must hold")
    return tuple(_parse(text, scenario, group) for text in listed)


def _parse(text: str, scenario: Scenario, group: str) -> Objective:
    form = _FORM.fullmatch(text.strip())
    if form is None:
        fail(
            "bad-objective", "", text.strip() or "nothing", _EXAMPLE, "quote it, or the shell takes < and >", _of(text)
        )
    metric, sign, limit = form.groups()
    per_vm = metric.startswith(PER_VM)
    path = metric_path.parse(metric.removeprefix(PER_VM), scenario, _of(text), group)
    if per_vm and (path.section != "groups" or not path.metric.summed):
        allowed = f"per_vm. before a sum over a group's VMs: {', '.join(sorted(SUMS))}"
        hint = f"leave per_vm. out: {metric.removeprefix(PER_VM)} is not a sum over VMs"
        fail("unknown-metric", "", metric, allowed, hint, _of(text))
    return Objective(
        text=text.strip(),
        metric=metric,
        path=path,
        sign=sign,
        limit=metric_path.number(limit.strip(), path.metric, _of(text), "bad-objective", _EXAMPLE),
        unit=path.metric.unit,
        per_vm=per_vm,
    )


def _of(text: str) -> str:
    return Argument("slo", repr(text))
