"""Verdict on a cluster after host failures: compliance with the limits, and the exceeded limits.

The verdict is part of the cluster's document. Terminal, page and JSON only read it.
"""

from __future__ import annotations

from typing import Any, cast

from hypertwin.documents.capacity import Cluster, Exceeded, Verdict
from hypertwin.metrics.words import count, number

FIGURES = {
    "cpu": ("cpu_usage_after_failure_pct", "cpu_pct", "CPU"),
    "memory": ("memory_configured_after_failure_pct", "memory_pct", "configured memory"),
    "memory_consumed": ("memory_consumed_after_failure_pct", "memory_pct", "consumed memory"),
    "vcpu_ratio": ("vcpu_per_core_after_failure", "vcpu_ratio", "vCPUs per core"),
}
"""Keys of figures with a limit, with the key of the limit and the name of the figure."""


def of_cluster(name: str, found: Cluster) -> Verdict:
    """Return the verdict on a cluster, from its figures and its host failures."""
    values = cast("dict[str, Any]", found)
    limits = cast("dict[str, Any]", found["limits"]) | {"vcpu_ratio": None}
    if found["limits"]["vcpu_ratio"] is not None:
        limits["vcpu_ratio"] = found["limits"]["vcpu_ratio"] * found["limits"]["speed"]
    judged = [
        (key, values[figure], limits[limit])
        for key, (figure, limit, _) in FIGURES.items()
        if values[figure] is not None and limits[limit] is not None
    ]
    exceeds = [Exceeded(figure=key, value=value, limit=most) for key, value, most in judged if value > most + 1e-9]  # type: ignore[typeddict-item]
    failover = found["failover"]
    survives = failover["survives"] if failover else True
    stays_whole = not failover or failover["reason"] != "no-space"
    met = False if exceeds or survives is False else True if judged and survives and stays_whole else None
    return {"met": met, "text": _text(name, found, exceeds, judged=bool(judged)), "exceeds": exceeds}


def _text(name: str, found: Cluster, exceeds: list[Exceeded], *, judged: bool) -> str:
    failures = found["limits"]["failures"]
    when = f" after {count(failures, 'host failure')}" if failures else ""
    if not judged and not failures:
        return f"The use of {name} is unknown."
    if not judged:
        hosts = found["hosts"]
        return f"{name} has {'one host: no failover' if hosts == 1 else f'{hosts} hosts: none remains{when}'}."
    said = [found["failover"]["text"]] if found["failover"] else []
    if exceeds:
        over = ", ".join(
            f"{FIGURES[each['figure']][2]} {number(each['value'])}{'' if each['figure'] == 'vcpu_ratio' else '%'}"
            for each in exceeds
        )
        said.append(f"{name if not said else 'It'} exceeds its limits{when}: {over}.")
    return " ".join(said) or f"{name} stays within its limits{when}."
