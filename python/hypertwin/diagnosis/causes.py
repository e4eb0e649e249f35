"""Links of findings to their causes, so that one finding with its cause replaces six alarms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hypertwin.diagnosis.rule import Finding
from hypertwin.documents.diagnosis import SEVERITIES

KERNEL, DEVICE, LIMITED = "kernel_latency_ms", "device_latency_ms", "limited_sum_pct"

CAUSES: tuple[tuple[str, str, str], ...] = (
    ("cpu-ready", "cpu-limit", "same"),
    ("cpu-ready", "more-vcpus-than-cores", "same"),
    ("cpu-ready", "unbalanced-monsters", "host"),
    ("cpu-ready", "hci-overhead", "host"),
    ("cpu-ready", "hidden-host-saturation", "host"),
    ("cpu-ready", "host-cpu-saturated", "host"),
    ("co-stop", "cpu-limit", "same"),
    ("co-stop", "more-vcpus-than-cores", "same"),
    ("co-stop", "unbalanced-monsters", "host"),
    ("co-stop", "hci-overhead", "host"),
    ("co-stop", "hidden-host-saturation", "host"),
    ("co-stop", "host-cpu-saturated", "host"),
    ("co-stop", "cpu-ready", "same"),
    ("hidden-host-saturation", "unbalanced-monsters", "host"),
    ("hidden-host-saturation", "hci-overhead", "host"),
    ("host-cpu-saturated", "unbalanced-monsters", "host"),
    ("host-cpu-saturated", "hci-overhead", "host"),
    ("host-cpu-saturated", "hidden-host-saturation", "host"),
    ("swap-wait", "memory-limit", "worst"),
    ("swap-wait", "memory-reclaim", "same"),
    ("swap-wait", "host-memory-overcommitted-reclaiming", "host"),
    ("host-memory-full", "host-memory-overcommitted-reclaiming", "host"),
    ("host-memory-full", "memory-reclaim", "host"),
    ("admission-control-off", "ha-off", "same"),
    ("remote-numa-memory", "hot-add-wide-vm", "same"),
    ("remote-numa-memory", "wider-than-node-badly-split", "same"),
    ("remote-numa-memory", "odd-wide-vm", "same"),
    ("wider-than-node-badly-split", "odd-wide-vm", "same"),
    ("storage-queue-full", "storage-latency", "same"),
    ("storage-latency", "storage-queue-full", "same"),
    ("storage-latency", "storage-queue-full", "adapter"),
)
"""Tuples of a code, the code that explains it, and their relation. The first match is the cause.

The relation is the `same` VM or device, its `host`, or the `worst` VM of a host. An `adapter` has a device of the same
host with a full queue.
"""

ONLY_IF: Mapping[tuple[str, str], Callable[[Finding, Finding], bool]] = {
    # limited time is not ready time: a limit explains ready only where limited time is unknown
    ("cpu-ready", "cpu-limit"): lambda _, limit: limit.evidence[0].metric != LIMITED,
    ("co-stop", "cpu-ready"): lambda costop, ready: _rank(ready) <= _rank(costop),
    # commands pile up in front of a slow device; the queue of a fast one is itself the delay
    ("storage-queue-full", "storage-latency"): lambda _, slow: slow.evidence[0].metric == DEVICE,
    ("storage-latency", "storage-queue-full"): lambda slow, _: slow.evidence[0].metric != DEVICE,
}
"""Conditions of a finding and its cause."""


EXPLAINED = frozenset({code for code, _, _ in CAUSES} | {cause for _, cause, _ in CAUSES}) - {
    *("ha-off", "admission-control-off")
} | {"undersized-vm"}
"""Codes of findings about the run itself that a simulated point can have, except possible events."""


def link(findings: Sequence[Finding]) -> None:
    """Set `cause` of each finding that another one explains."""
    by_place: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        subject = finding.subject
        by_place.setdefault((finding.code, "same", subject.path), finding)
        if subject.host and subject.kind == "host":
            by_place.setdefault((finding.code, "host", subject.host), finding)
        if subject.host and "/device/" in subject.path:
            by_place.setdefault((finding.code, "adapter", subject.host), finding)
    for finding in findings:
        subject = finding.subject
        for code, cause, where in CAUSES:
            if code != finding.code:
                continue
            place = subject.path if where == "same" else subject.host
            if where == "worst":
                place = finding.evidence[0].entity
            if where == "adapter" and ("/adapter/" not in subject.path or finding.evidence[0].metric != KERNEL):
                continue
            found = by_place.get((cause, "same" if where == "worst" else where, place)) if place else None
            holds = ONLY_IF.get((code, cause))
            if found is not None and found is not finding and (holds is None or holds(finding, found)):
                finding.cause = found.key
                break


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)
