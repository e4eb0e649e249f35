"""Storage: full queues, and where latency arises."""

from __future__ import annotations

from collections.abc import Iterator

from hypertwin.diagnose.cpu import OFTEN
from hypertwin.diagnose.rule import (
    ESXTOP_STATISTICS,
    ESXTOP_THRESHOLDS,
    Band,
    Finding,
    Measure,
    Need,
    Rule,
    Source,
    Subject,
)
from hypertwin.diagnose.subjects import Case
from hypertwin.ingest import telemetry

QUEUED = Band("queued_commands", "commands", "commands that wait for a place in the queue (QUED)", warning=1)
KERNEL = Band("kernel_latency_ms", "ms", "time in the hypervisor (KAVG)", warning=2)
DEVICE = Band("device_latency_ms", "ms", "time in device and fabric (DAVG)", warning=25)
TOTAL = Band("latency_ms", "ms", "time of an I/O as its user sees it (GAVG, await)", warning=25)

FEWEST_IOPS = 1
"""Below this the latency of a device says nothing: a few housekeeping commands."""

STORAGE_KB = Source(
    'VMware KB 1008205, "Using esxtop to identify storage performance issues"',
    "https://knowledge.broadcom.com/external/article?legacyId=1008205",
)


def _subject(path: str) -> tuple[Subject, str | None]:
    names = telemetry.names(path)
    kind = path.split("/")[-2]
    inside = names.get("vm") or names.get("guest")
    name = f"{inside} {names[kind]}" if inside else names[kind]
    return Subject("device", name, path), names.get("host")


def _queue(case: Case, rule: Rule) -> Iterator[Finding]:
    for kind in ("device", "adapter", "disk"):
        for path in case.evidence.entities(kind):
            queued = case.evidence.stat(path, QUEUED.metric)
            if not queued or QUEUED.severity(queued.often) is None:
                continue
            subject, host = _subject(path)
            on, at = (f" {word} {host}" if host else "" for word in ("of", "on"))
            depth, active = case.evidence.stat(path, "queue_depth"), case.evidence.stat(path, "active_commands")
            of_depth = f" The queue takes {depth.median:.0f}" if depth else ""
            of_depth += (
                f", and {active.mean:.1f} are with the device on average." if depth and active else "." if depth else ""
            )
            kernel = case.evidence.stat(path, KERNEL.metric)
            costs = (
                f" That costs {kernel.mean:.1f} ms of each I/O on average (KAVG)."
                if kernel and kernel.mean >= 0.05
                else ""
            )
            what = f"commands in line for {subject.name}, {OFTEN}"
            yield Finding(
                code=rule.code,
                severity="warning",
                subject=subject,
                host=host,
                title=f"The queue of {subject.name}{on} is full: {queued.often:.0f} commands wait",
                figure=f"{queued.often:.0f} commands wait{at}",
                text=(
                    f"{subject.name}{on} gets more I/O than its queue takes: {queued.often:.0f} commands wait in the "
                    f"hypervisor ({OFTEN}; {queued.mean:.1f} on average).{of_depth}{costs} Every machine with a disk "
                    "there waits."
                ),
                advice=(
                    "Spread the disks over more devices (LUNs) and virtual controllers; a deeper queue helps only "
                    "where the array answers quickly (look at DAVG)."
                ),
                evidence=[Measure(QUEUED.metric, what, queued.often, "commands", QUEUED, path, 1, queued.count)],
            )


def _latency(case: Case, rule: Rule) -> Iterator[Finding]:
    for kind in ("device", "adapter", "disk"):
        for path in case.evidence.entities(kind):
            iops = case.evidence.stat(path, "iops")
            if iops and iops.mean < FEWEST_IOPS:
                continue
            parts = [
                (band, stat)
                for band in (DEVICE, KERNEL)
                if (stat := case.evidence.stat(path, band.metric)) and band.severity(stat.often)
            ]
            known = any(case.evidence.stat(path, band.metric) for band in (DEVICE, KERNEL))
            total = None if known else case.evidence.stat(path, TOTAL.metric)
            if total and TOTAL.severity(total.often):
                parts = [(TOTAL, total)]
            if not parts:
                continue
            subject, host = _subject(path)
            on, at = (f" {word} {host}" if host else "" for word in ("of", "on"))
            where = {
                DEVICE.metric: (
                    "in the device, the array or the way to it",
                    "Look at the array and the fabric: cache, disks, ports, other hosts.",
                ),
                KERNEL.metric: (
                    "in the hypervisor itself",
                    "Look at queues (DSNRO, device and adapter queue depth), and at host CPU.",
                ),
                TOTAL.metric: (
                    "somewhere under the guest",
                    "Look at the host (DAVG, KAVG) to see whether device or hypervisor is slow.",
                ),
            }
            told = "; ".join(
                f"{stat.often:.1f} ms {where[band.metric][0]} ({OFTEN}; {stat.mean:.1f} ms on average)"
                for band, stat in parts
            )
            seen = f", at {iops.mean:,.0f} I/Os a second" if iops else ""
            yield Finding(
                code=rule.code,
                severity="warning",
                subject=subject,
                host=host,
                title=f"{subject.name}{on} is slow: {milliseconds(parts[0][1].often)} {where[parts[0][0].metric][0]}",
                figure=f"{milliseconds(parts[0][1].often)} {where[parts[0][0].metric][0]}{at}",
                text=f"An I/O on {subject.name}{on} spends {told}{seen}. Whatever waits for it is that much slower.",
                advice=" ".join(where[band.metric][1] for band, _ in parts),
                evidence=[
                    Measure(
                        band.metric,
                        f"{band.what} of {subject.name}, {OFTEN}",
                        stat.often,
                        "ms",
                        band,
                        path,
                        1,
                        stat.count,
                    )
                    for band, stat in parts
                ],
            )


def milliseconds(value: float) -> str:
    """Milliseconds, with a digit where it matters."""
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


_DISKS = ("device", "adapter", "disk")

RULES = (
    Rule(
        code="storage-queue-full",
        title="A storage queue is full",
        says="Commands wait in the hypervisor for a place in the queue of a device or an adapter, again and again.",
        bands=(QUEUED,),
        sources=(ESXTOP_THRESHOLDS, STORAGE_KB),
        needs=(Need("commands in line at devices (QUED)", tuple((kind, QUEUED.metric) for kind in _DISKS)),),
        find=_queue,
    ),
    Rule(
        code="storage-latency",
        title="Storage is slow",
        says=(
            "I/Os take long in the device (DAVG) or in the hypervisor (KAVG); where only the sum is known, as in a "
            "guest, it cannot be said in which. Devices with less than one I/O a second are not judged."
        ),
        bands=(DEVICE, KERNEL, TOTAL),
        sources=(ESXTOP_THRESHOLDS, STORAGE_KB, ESXTOP_STATISTICS),
        needs=(
            Need(
                "latency of devices or disks (DAVG, KAVG, await)",
                tuple((kind, band.metric) for kind in _DISKS for band in (DEVICE, KERNEL, TOTAL)),
            ),
        ),
        find=_latency,
    ),
)
