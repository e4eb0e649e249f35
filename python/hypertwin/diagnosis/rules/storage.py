"""Storage: full queues, and the source of latency."""

from __future__ import annotations

from collections.abc import Iterator

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.rule import Band, Finding, Need, Reference, rule
from hypertwin.diagnosis.rules.shared import ESXTOP_STATISTICS, ESXTOP_THRESHOLDS
from hypertwin.diagnosis.subjects import Subject
from hypertwin.diagnosis.words import OFTEN, milliseconds

QUEUED = Band("queued_commands", "commands", "queued commands (QUED)", warning=1)
KERNEL = Band("kernel_latency_ms", "ms", "latency in the hypervisor (KAVG)", warning=2)
DEVICE = Band.of("io_latency_ms_mean", "device_latency_ms", what="latency of device and fabric (DAVG)")
TOTAL = Band.of("io_latency_ms_mean", "latency_ms", what="latency of an I/O as the guest sees it (GAVG, await)")

DISKS = ("device", "adapter", "disk", "datastore", "pool")
"""Kinds of entities with queues and latencies."""
FEWEST_IOPS = 1
"""I/O rate below which the latency of a device is meaningless: a few housekeeping commands."""
WHERE = {
    DEVICE.metric: (
        "in the device, the array or the way to it",
        "Check the array and the fabric: cache, disks, ports, other hosts.",
    ),
    KERNEL.metric: (
        "in the hypervisor itself",
        "Check queues (DSNRO, device and adapter queue depth) and host CPU.",
    ),
    TOTAL.metric: (
        "somewhere below the guest",
        "Check DAVG and KAVG on the host: they show if the device or the hypervisor is slow.",
    ),
}
"""Sources of latency, with the checks to do for each."""

STORAGE_KB = Reference(
    'VMware KB 1008205, "Using esxtop to identify storage performance issues"',
    "https://knowledge.broadcom.com/external/article?legacyId=1008205",
)


@rule(
    "storage-queue-full",
    title="A storage queue is full",
    says="Commands repeatedly wait in the hypervisor for a free slot in the queue of a device or an adapter.",
    bands=(QUEUED,),
    references=(ESXTOP_THRESHOLDS, STORAGE_KB),
    needs=(Need("queued commands at devices (QUED)", tuple((kind, QUEUED.metric) for kind in DISKS)),),
)
def storage_queue_full(case: Case) -> Iterator[Finding]:
    """Find devices, adapters and disks with a full queue."""
    for path in _disks(case):
        queued = case.evidence.stat(path, QUEUED.metric)
        if not queued or QUEUED.severity(queued.often) is None:
            continue
        subject = Subject.of_device(path)
        of, on = (f" {word} {subject.host}" if subject.host else "" for word in ("of", "on"))
        depth, active = case.evidence.stat(path, "queue_depth"), case.evidence.stat(path, "active_commands")
        takes = f" The queue holds {depth.median:.0f}" if depth else ""
        takes += f", and {active.mean:.1f} are with the device on average." if depth and active else "." * bool(depth)
        kernel = case.evidence.stat(path, KERNEL.metric)
        costs = (
            f" That costs {kernel.mean:.1f} ms of each I/O on average (KAVG)." if kernel and kernel.mean >= 0.05 else ""
        )
        what = f"queued commands of {subject.name}, {OFTEN}"
        yield storage_queue_full.about(
            subject,
            severity="warning",
            title=f"The queue of {subject.name}{of} is full: {queued.often:.0f} commands wait",
            figure=f"{queued.often:.0f} commands wait{on}",
            text=(
                f"{subject.name}{of} gets more I/O than its queue holds: {queued.often:.0f} commands wait in the "
                f"hypervisor ({OFTEN}; {queued.mean:.1f} on average).{takes}{costs} Every VM with a disk there waits."
            ),
            advice=(
                "Spread the disks over more devices (LUNs) and virtual controllers. A deeper queue helps only if the "
                "array answers quickly (check DAVG)."
            ),
            evidence=[QUEUED.measure(what, queued.often, path, samples=queued.count)],
        )


@rule(
    "storage-latency",
    title="Storage is slow",
    says=(
        "I/Os take long in the device (DAVG) or in the hypervisor (KAVG). A guest shows only the sum, so the cause "
        "remains unknown. Latencies of reads and of writes count as their mean, weighted by I/Os. Devices with less "
        "than one I/O per second are not judged."
    ),
    bands=(DEVICE, KERNEL, TOTAL),
    references=(ESXTOP_THRESHOLDS, STORAGE_KB, ESXTOP_STATISTICS),
    needs=(
        Need(
            "latency of devices or disks (DAVG, KAVG, await), or that of their reads and writes with I/Os per second",
            tuple((kind, band.metric) for kind in DISKS for band in (DEVICE, KERNEL, TOTAL)),
        ),
    ),
)
def storage_latency(case: Case) -> Iterator[Finding]:
    """Find devices, adapters and disks with long I/Os."""
    for path in _disks(case):
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
        subject = Subject.of_device(path)
        of, on = (f" {word} {subject.host}" if subject.host else "" for word in ("of", "on"))
        told = "; ".join(
            f"{stat.often:.1f} ms {WHERE[band.metric][0]} ({OFTEN}; {stat.mean:.1f} ms on average)"
            for band, stat in parts
        )
        seen = f", at {iops.mean:,.0f} I/Os a second" if iops else ""
        first = f"{milliseconds(parts[0][1].often)} {WHERE[parts[0][0].metric][0]}"
        yield storage_latency.about(
            subject,
            severity="warning",
            title=f"{subject.name}{of} is slow: {first}",
            figure=f"{first}{on}",
            text=f"An I/O on {subject.name}{of} spends {told}{seen}. Applications wait that long.",
            advice=" ".join(WHERE[band.metric][1] for band, _ in parts),
            evidence=[
                band.measure(f"{band.what} of {subject.name}, {OFTEN}", stat.often, path, samples=stat.count)
                for band, stat in parts
            ],
        )


def _disks(case: Case) -> list[str]:
    return [path for kind in DISKS for path in case.evidence.entities(kind)]


RULES = (storage_queue_full, storage_latency)
