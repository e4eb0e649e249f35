"""Which findings are one story: the cause and what follows from it, instead of six alarms."""

from __future__ import annotations

from collections.abc import Sequence

from hypertwin.diagnose.rule import Finding

KERNEL = "kernel_latency_ms"

CAUSES: tuple[tuple[str, str, str], ...] = (
    ("cpu-ready", "cpu-limit", "machine"),
    ("cpu-ready", "more-vcpus-than-cores", "machine"),
    ("cpu-ready", "unbalanced-monsters", "host"),
    ("cpu-ready", "hci-overhead", "host"),
    ("cpu-ready", "hidden-host-saturation", "host"),
    ("co-stop", "cpu-limit", "machine"),
    ("co-stop", "more-vcpus-than-cores", "machine"),
    ("co-stop", "unbalanced-monsters", "host"),
    ("co-stop", "hci-overhead", "host"),
    ("co-stop", "hidden-host-saturation", "host"),
    ("co-stop", "cpu-ready", "machine"),
    ("hidden-host-saturation", "unbalanced-monsters", "host"),
    ("hidden-host-saturation", "hci-overhead", "host"),
    ("swap-wait", "memory-reclaim", "machine"),
    ("remote-numa-memory", "hot-add-wide-vm", "machine"),
    ("remote-numa-memory", "wider-than-node-badly-split", "machine"),
    ("remote-numa-memory", "odd-wide-vm", "machine"),
    ("wider-than-node-badly-split", "odd-wide-vm", "machine"),
    ("storage-latency", "storage-queue-full", "machine"),
    ("storage-latency", "storage-queue-full", "adapter"),
)
"""(code, what explains it, where: of the same machine or device, on the same host, or of an adapter behind which a
device's queue is); the first that is there."""


def link(findings: Sequence[Finding]) -> None:
    """Set `cause` of each finding that another one explains."""
    by_place: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        by_place.setdefault((finding.code, "machine", finding.subject.path), finding)
        if finding.host and finding.subject.kind == "host":
            by_place.setdefault((finding.code, "host", finding.host), finding)
        if finding.host and "/device/" in finding.subject.path:
            by_place.setdefault((finding.code, "adapter", finding.host), finding)
    for finding in findings:
        for code, cause, where in CAUSES:
            if code != finding.code:
                continue
            place = finding.subject.path if where == "machine" else finding.host
            if where == "adapter" and ("/adapter/" not in finding.subject.path or finding.evidence[0].metric != KERNEL):
                continue
            found = by_place.get((cause, where, place)) if place else None
            if found is not None and found is not finding:
                finding.cause = found.key
                break
