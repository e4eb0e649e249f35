"""Space: datastores that fill up, and old snapshots."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.rule import OWN, Band, Finding, Measure, Need, Reference, rule
from hypertwin.diagnosis.rules.shared import VCENTER_ALARMS
from hypertwin.diagnosis.subjects import Subject
from hypertwin.diagnosis.words import size
from hypertwin.ingest import telemetry
from hypertwin.metrics import ready
from hypertwin.metrics.words import count

FREE = Band("free_bytes", "%", "free space of a datastore", warning=20, critical=10, below=True, own=OWN)
PROVISIONED = Band("provisioned_bytes", "%", "provisioned space of a datastore, of its capacity", info=100, own=OWN)
AGE = Band("snapshot_age", "days", "age of the oldest snapshot of a VM", info=3, warning=30, own=frozenset({"warning"}))
CHAIN = Band("snapshot_count", "", "snapshots of a VM", info=3)

SNAPSHOTS = Reference(
    "Broadcom KB 318825, best practices for VMware snapshots: 2 to 3 in a chain, none for more than 72 hours",
    "https://knowledge.broadcom.com/external/article/318825",
)


@rule(
    "datastore-nearly-full",
    title="A datastore is nearly full or overcommitted",
    says=(
        "VMs stop if their thin disk or snapshot cannot grow. vCenter warns from 75% used and alerts from 85%; "
        "here it is 80% and 90%. Info if only the provisioned space exceeds the capacity."
    ),
    bands=(FREE, PROVISIONED),
    references=(VCENTER_ALARMS,),
    needs=(
        Need(
            "free or provisioned space of datastores (vDatastore)",
            fact=lambda case: (
                bool(case.scenario)
                and any(
                    each.free_bytes is not None or each.provisioned_bytes is not None
                    for each in (case.scenario.inventory.datastores if case.scenario else ())
                )
            ),
        ),
    ),
)
def datastore_nearly_full(case: Case) -> Iterator[Finding]:
    """Find datastores with little free space, and overcommitted ones."""
    labels = {cluster.key: cluster.name for cluster in case.known_clusters}
    for store in case.scenario.inventory.datastores if case.scenario else ():
        if not store.capacity_bytes:
            continue
        name = store.label or store.name
        free = None if store.free_bytes is None else 100 * store.free_bytes / store.capacity_bytes
        grown = None if store.provisioned_bytes is None else 100 * store.provisioned_bytes / store.capacity_bytes
        severity = None if free is None else FREE.severity(free)
        more = grown is not None and PROVISIONED.severity(grown) is not None
        if severity is None and not more:
            continue
        cluster = labels.get(store.clusters[0]) if len(store.clusters) == 1 else None
        left = f"{size(store.free_bytes or 0)} of {size(store.capacity_bytes)} free ({ready.percent(free or 0)})"
        could = f"{size(store.provisioned_bytes or 0)} provisioned, {ready.percent(grown or 0)} of its capacity"
        used_by = f" It serves {count(len(store.clusters), 'cluster')}." if store.clusters else ""
        measures = []
        if free is not None:
            measures.append(FREE.measure(f"free space of {name}", round(free, 3)))
        if more:
            measures.append(PROVISIONED.measure(f"provisioned on {name}", round(grown or 0, 3)))
        yield datastore_nearly_full.about(
            Subject("datastore", name, telemetry.entity("datastore", store.name), None, cluster),
            severity=severity or "info",
            title=f"{name} is nearly full: {left}" if severity else f"{name} is overcommitted: {could}",
            figure=left if severity else could,
            text=(
                f"{name} ({store.kind or 'datastore'}): {'; '.join([left] * (free is not None) + [could] * more)}."
                f"{used_by} When it is full, VMs stop if their disk or snapshot must grow."
            ),
            advice=(
                "Remove old snapshots and powered-off VMs, move disks away, or enlarge it."
                if severity
                else "Set an alarm on its free space."
            ),
            evidence=measures if severity else measures[::-1],
        )


@rule(
    "old-snapshot",
    title="A VM has old or many snapshots",
    says=(
        "A snapshot grows with every written block, slows disks down, and takes long to remove. Judged by its age at "
        "the export, or by the length of the chain."
    ),
    bands=(AGE, CHAIN),
    references=(SNAPSHOTS,),
    needs=(
        Need(
            "snapshots of VMs (vSnapshot)",
            fact=lambda case: any(
                vm.facts and (vm.facts.measured.oldest_snapshot or vm.facts.measured.snapshot_count is not None)
                for vm in case.vms
            ),
        ),
    ),
)
def old_snapshot(case: Case) -> Iterator[Finding]:
    """Find VMs with old or many snapshots."""
    dates = [vm.facts.measured.at for vm in case.vms if vm.facts]
    dates += [host.facts.measured.at for host in case.hosts if host.facts]
    newest = max(filter(None, dates), default=None)
    for vm in case.vms:
        measured = vm.facts.measured if vm.facts else None
        if measured is None:
            continue
        age = _days(measured.oldest_snapshot, measured.at or newest)
        judged = [
            (band, value, what)
            for band, value, what in (
                (AGE, age, f"age of the oldest snapshot of {vm.name}"),
                (CHAIN, measured.snapshot_count, f"snapshots of {vm.name}"),
            )
            if value is not None and band.severity(value)
        ]
        if not judged:
            continue
        many = count(measured.snapshot_count, "snapshot") if measured.snapshot_count else "a snapshot"
        old = f"{age:.0f} days old" if age is not None else "of unknown age"
        oldest = f", the oldest {old}" if (measured.snapshot_count or 1) > 1 else f" {old}"
        space = f" of {size(measured.snapshots_bytes)}" if measured.snapshots_bytes is not None else ""
        evidence = [band.measure(what, round(value, 1)) for band, value, what in judged]
        if measured.snapshots_bytes is not None:
            what = f"space used by snapshots of {vm.name}"
            evidence.append(Measure("snapshots_bytes", what, measured.snapshots_bytes, "B"))
        yield old_snapshot.about(
            vm.subject,
            severity="warning" if any(band.severity(value) == "warning" for band, value, _ in judged) else "info",
            title=f"{vm.name} runs on {many}{oldest}",
            figure=f"{many}{space}{oldest}",
            text=(
                f"{vm.name} has {many}{space}{oldest}. Each written block makes it larger, and reads search several "
                "files. Removing a long chain late stuns the VM for long."
            ),
            advice="Delete the snapshots (consolidate the disks) at a quiet time.",
            caution="Snapshots are no backup. Check if backup software left them behind.",
            evidence=evidence,
        )


def _days(first: str | None, last: str | None) -> float | None:
    """Return days from one date to another, or None if one is unknown or not a date. Without a zone they are UTC."""
    try:
        found = [datetime.datetime.fromisoformat(each or "") for each in (first, last)]
    except ValueError:
        return None
    begin, end = (each if each.tzinfo else each.replace(tzinfo=datetime.UTC) for each in found)
    return (end - begin).total_seconds() / 86_400


RULES = (datastore_nearly_full, old_snapshot)
