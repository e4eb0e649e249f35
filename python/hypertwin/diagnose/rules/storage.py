"""Storage: full queues, and where latency arises."""

from __future__ import annotations

from collections.abc import Iterator

from hypertwin.diagnose.case import Case
from hypertwin.diagnose.rule import Band, Finding, Need, Reference, rule
from hypertwin.diagnose.rules.shared import ESXTOP_STATISTICS, ESXTOP_THRESHOLDS
from hypertwin.diagnose.subjects import Subject
from hypertwin.diagnose.words import OFTEN, milliseconds

QUEUED = Band("queued_commands", "commands", "commands that wait for a place in the queue (QUED)", warning=1)
KERNEL = Band("kernel_latency_ms", "ms", "time in the hypervisor (KAVG)", warning=2)
DEVICE = Band("device_latency_ms", "ms", "time in device and fabric (DAVG)", warning=25)
TOTAL = Band("latency_ms", "ms", "time of an I/O as its user sees it (GAVG, await)", warning=25)

DISKS = ("device", "adapter", "disk")
"""Kinds of entities with queues and latencies."""
FEWEST_IOPS = 1
"""Below this the latency of a device says nothing: a few housekeeping commands."""
WHERE = {
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
"""Where a latency arises, and what to look at."""

STORAGE_KB = Reference(
    'VMware KB 1008205, "Using esxtop to identify storage performance issues"',
    "https://knowledge.broadcom.com/external/article?legacyId=1008205",
)


@rule(
    "storage-queue-full",
    title="A storage queue is full",
    says="Commands wait in the hypervisor for a place in the queue of a device or an adapter, again and again.",
    bands=(QUEUED,),
    references=(ESXTOP_THRESHOLDS, STORAGE_KB),
    needs=(Need("commands in line at devices (QUED)", tuple((kind, QUEUED.metric) for kind in DISKS)),),
)
def storage_queue_full(case: Case) -> Iterator[Finding]:
    """Devices, adapters and disks with a full queue."""
    for path in _disks(case):
        queued = case.evidence.stat(path, QUEUED.metric)
        if not queued or QUEUED.severity(queued.often) is None:
            continue
        subject = Subject.of_device(path)
        of, on = (f" {word} {subject.host}" if subject.host else "" for word in ("of", "on"))
        depth, active = case.evidence.stat(path, "queue_depth"), case.evidence.stat(path, "active_commands")
        takes = f" The queue takes {depth.median:.0f}" if depth else ""
        takes += f", and {active.mean:.1f} are with the device on average." if depth and active else "." * bool(depth)
        kernel = case.evidence.stat(path, KERNEL.metric)
        costs = (
            f" That costs {kernel.mean:.1f} ms of each I/O on average (KAVG)." if kernel and kernel.mean >= 0.05 else ""
        )
        what = f"commands in line for {subject.name}, {OFTEN}"
        yield storage_queue_full.about(
            subject,
            severity="warning",
            title=f"The queue of {subject.name}{of} is full: {queued.often:.0f} commands wait",
            figure=f"{queued.often:.0f} commands wait{on}",
            text=(
                f"{subject.name}{of} gets more I/O than its queue takes: {queued.often:.0f} commands wait in the "
                f"hypervisor ({OFTEN}; {queued.mean:.1f} on average).{takes}{costs} Every machine with a disk "
                "there waits."
            ),
            advice=(
                "Spread the disks over more devices (LUNs) and virtual controllers; a deeper queue helps only "
                "where the array answers quickly (look at DAVG)."
            ),
            evidence=[QUEUED.measure(what, queued.often, path, samples=queued.count)],
        )


@rule(
    "storage-latency",
    title="Storage is slow",
    says=(
        "I/Os take long in the device (DAVG) or in the hypervisor (KAVG); where only the sum is known, as in a "
        "guest, it cannot be said in which. Devices with less than one I/O a second are not judged."
    ),
    bands=(DEVICE, KERNEL, TOTAL),
    references=(ESXTOP_THRESHOLDS, STORAGE_KB, ESXTOP_STATISTICS),
    needs=(
        Need(
            "latency of devices or disks (DAVG, KAVG, await)",
            tuple((kind, band.metric) for kind in DISKS for band in (DEVICE, KERNEL, TOTAL)),
        ),
    ),
)
def storage_latency(case: Case) -> Iterator[Finding]:
    """Devices, adapters and disks with long I/Os."""
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
            text=f"An I/O on {subject.name}{of} spends {told}{seen}. Whatever waits for it is that much slower.",
            advice=" ".join(WHERE[band.metric][1] for band, _ in parts),
            evidence=[
                band.measure(f"{band.what} of {subject.name}, {OFTEN}", stat.often, path, samples=stat.count)
                for band, stat in parts
            ],
        )


def _disks(case: Case) -> list[str]:
    return [path for kind in DISKS for path in case.evidence.entities(kind)]


RULES = (storage_queue_full, storage_latency)
