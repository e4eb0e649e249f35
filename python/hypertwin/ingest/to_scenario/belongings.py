"""Objects of clusters without a running VM: powered-off VMs, templates, datastores."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from hypertwin.files.yaml_writing import Quoted
from hypertwin.ingest import outside
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Datastore, Vm
from hypertwin.ingest.to_scenario import names, source, vms
from hypertwin.ingest.to_scenario.clusters import DEFAULT, Clusters
from hypertwin.ingest.to_scenario.matching import Directory
from hypertwin.ingest.to_scenario.measured import MOST_BYTES, snapshot_count, storage_of
from hypertwin.ingest.to_scenario.placement import Placed
from hypertwin.ingest.to_scenario.yaml_text import memory_size, plausible_hz
from hypertwin.language import limits

MOST_OFF = 100_000
MOST_DATASTORES = 10_000
MOST_KIND = 64
"""Maximum characters of a datastore's kind."""


def powered_off(
    placed: Sequence[Placed], known: Container[str], hosts: Container[str], notes: ImportNotes
) -> dict[str, Any]:
    """Return the scenario's `powered_off`, from powered-off VMs and templates.

    `known` has the scenario's clusters, `hosts` its hosts.
    """
    most = limits()
    entries: dict[str, Any] = {}
    for key, each in zip(names.keys([each.vm.name for each in placed], "vm"), placed, strict=True):
        vm = each.vm
        notes.vm(vm.name, f"{'templates' if vm.is_template else 'not powered on'}: not simulated", named=False)
        if len(entries) == MOST_OFF or not (
            0 <= vm.vcpus <= most.vcpus_per_vm and 0 <= vm.memory_bytes <= most.memory_bytes
        ):
            notes.vm(vm.name, "powered off, and left out: no plausible size, or too many", named=False)
            continue
        label = outside.name(vm.name)
        entry: dict[str, Any] = {"label": Quoted(label)} if label and label != key else {}
        if each.cluster is not None and each.cluster != DEFAULT and each.cluster in known:
            entry["cluster"] = each.cluster
        if each.host is not None and each.host.key in hosts:
            entry["host"] = each.host.key
        if vm.is_template:
            entry["template"] = True
        entries[key] = entry | _size(vm, notes) | _facts(vm)
    return entries


def _size(vm: Vm, notes: ImportNotes) -> dict[str, Any]:
    cores = vm.cores_per_socket
    sockets = (
        {"cores_per_socket": cores} if cores is not None and 0 < cores <= vm.vcpus and vm.vcpus % cores == 0 else {}
    )
    reserved = min(vm.memory_reservation_bytes or 0, vm.memory_bytes)
    return {
        "vcpus": vm.vcpus,
        **sockets,
        "memory": memory_size(vm.memory_bytes),
        **({"memory_reservation": memory_size(reserved)} if reserved > 0 else {}),
        **({"cpu_hot_add": True} if vm.cpu_hot_add else {}),
        **vms.entitlement(vm, plausible_hz(vm.reservation_mhz), notes),
        **storage_of(vm),
    }


def _facts(vm: Vm) -> dict[str, Any]:
    """Return the facts that a move reads."""
    facts = source.of_vm(vm.source)
    return {**snapshot_count(vm), **source.guest_os(vm.guest_os), **({"source": facts} if facts else {})}


def datastores(
    listed: Iterable[Datastore],
    directory: Directory,
    clusters: Clusters,
    known: AbstractSet[str],
    is_part: bool,
    notes: ImportNotes,
) -> dict[str, Any]:
    """Return the scenario's `datastores`.

    If it `is_part` of the inventory, only those of its clusters `known` are included.
    """
    kept: list[tuple[Datastore, list[str]]] = []
    for store in sorted(
        set(listed), key=lambda store: (store.name, store.kind, store.capacity_bytes or 0, store.hosts)
    ):
        found = [directory.find(host, None)[0] for host in store.hosts]
        users = {host.cluster for host in found if host is not None}
        users |= {key for name in store.clusters if (key := clusters.called(name, None)) is not None}
        if is_part and not users & known:
            continue
        if store.capacity_bytes is None or not 0 < store.capacity_bytes <= MOST_BYTES:
            notes.of("datastore", store.name, "left out: no plausible capacity")
        elif len(kept) == MOST_DATASTORES:
            notes.of("datastore", store.name, f"left out: more than {MOST_DATASTORES}")
        else:
            kept.append((store, sorted(users & known)))
    keys = names.keys([store.name for store, _ in kept], "datastore")
    return {key: _entry(key, store, users) for key, (store, users) in zip(keys, kept, strict=True)}


def _entry(key: str, store: Datastore, users: Sequence[str]) -> dict[str, Any]:
    label, kind = outside.name(store.name), outside.name(store.kind)
    entry: dict[str, Any] = {"label": Quoted(label)} if label and label != key else {}
    if users:
        entry["clusters"] = tuple(users)
    if store.hosts:
        entry["hosts"] = len(store.hosts)
    if kind:
        entry["kind"] = Quoted(kind[:MOST_KIND])
    free = store.free_bytes
    if free is not None and store.capacity_bytes is not None and free > store.capacity_bytes:
        free = None  # a quota, or storage that is shared: no part of what it has
    for option, size in (
        ("capacity", store.capacity_bytes),
        ("free", free),
        ("provisioned", store.provisioned_bytes),
    ):
        most = store.capacity_bytes or 0 if option == "free" else MOST_BYTES
        if size is not None and 0 <= size <= most:
            entry[option] = memory_size(size)
    return entry
