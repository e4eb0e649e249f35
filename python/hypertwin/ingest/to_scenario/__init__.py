"""Conversion of an inventory to a scenario: all hosts and powered-on VMs, with valid names, sizes and load.

| file | result |
|---|---|
| `clusters.py` | clusters and their settings |
| `hosts.py` | valid hosts of a scenario |
| `hypervisor.py` | the nearest modelled hypervisor |
| `matching.py` | matching of host names between tables |
| `placement.py` | the host of each VM, by name or by guess |
| `vms.py` | VMs with size, entitlement and virtual NUMA |
| `division.py`, `contention.py` | load of VMs that reproduces the measured load of hosts |
| `memory.py` | touched memory of VMs that reproduces the measured memory of hosts |
| `load.py` | workloads that create this load |
| `measured.py` | measurements of the source, unchanged |
| `source.py` | facts for a move, within limits |
| `belongings.py` | powered-off VMs, templates, datastores |
| `pools.py` | storage pools, and the disks of VMs on them |
| `rules.py` | placement rules |
| `notes.py` | assumptions, changes and omissions; the description and the summary |
| `names.py` | keys from names |
| `yaml_text.py` | the scenario as text: quantities, quotes, layout |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from hypertwin.files.yaml_writing import to_yaml
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Assumption, Inventory
from hypertwin.ingest.outside import Source
from hypertwin.ingest.to_scenario import belongings, hosts, names, placement, pools, rules, vms
from hypertwin.ingest.to_scenario.clusters import Clusters
from hypertwin.ingest.to_scenario.matching import Directory
from hypertwin.ingest.to_scenario.notes import assumptions, description, note_load, summary, too_many
from hypertwin.language import limits

__all__ = ["RUN", "summary", "to_scenario", "to_yaml"]

RUN = {"replications": 2}
"""Run settings: runs end when they have settled. `--replications` can increase the replications."""


def to_scenario(inventory: Inventory, only: Sequence[str] = ()) -> tuple[dict[str, Any], list[Assumption]]:
    """Return the scenario as a mapping in the order of the schema, and all assumptions.

    `only` selects clusters by name or key.

    Raises SourceError if there is no usable host, no such cluster, or more of something than scenarios allow.
    """
    notes = ImportNotes(Source(inventory.source))
    clusters = Clusters(inventory)
    wanted = clusters.named(only, inventory.source) if only else None
    usable = hosts.convert(inventory, clusters, notes)
    storage = pools.Pools(inventory.pools, usable, notes)
    directory = Directory(usable, (vm.host for vm in inventory.vms if vm.host))
    order = sorted(inventory.vms, key=lambda vm: (vm.name, vm.host or "", vm.cluster or "", vm.vcpus, vm.memory_bytes))
    running, off = vms.split(placement.named(order, directory, clusters, notes))
    kept = hosts.in_use(usable, {each.host.key for each in running if each.host is not None}, notes)
    if not kept:
        hosts.refuse_none(inventory, notes)
    on = vms.on_hosts(running, kept, clusters, {host.name for host in inventory.hosts}, notes)
    if wanted is not None:
        kept = [host for host in kept if host.cluster in wanted]
        on, off = ([each for each in of if each.cluster in wanted] for of in (on, off))
    if len(kept) > limits().host_groups:
        too_many(inventory.source, "hosts", len(kept), limits().host_groups)
    vms.within_limits(on, inventory)
    on = [replace(each, key=key) for key, each in zip(names.keys([each.vm.name for each in on], "vm"), on, strict=True)]
    storage_entries = storage.entries(kept)
    host_entries, vm_entries, workloads = vms.convert(on, kept, storage.of_vm, notes)
    storage.make_room(host_entries, vm_entries)
    known = {host.cluster for host in kept}
    sections = {
        "clusters": clusters.entries(
            inventory.clusters, hosts.by_cluster(kept), {each.cluster for each in on}, wanted, notes
        ),
        "hosts": host_entries,
        "storage": storage_entries,
        "vms": vm_entries,
        "workloads": workloads,
        "powered_off": belongings.powered_off(off, known, host_entries, notes),
        "datastores": belongings.datastores(
            inventory.datastores, directory, clusters, known, wanted is not None, notes
        ),
        "rules": rules.convert(inventory.rules, on, directory, host_entries, notes),
    }
    note_load(notes, [each.vm for each in on], sum("storage" in entry for entry in vm_entries.values()))
    scenario: dict[str, Any] = {
        "name": names.slug(_name(inventory.source)) or inventory.kind or "imported",
        "description": description(notes, inventory, len(host_entries), len(vm_entries)),
        "run": dict(RUN),
        **{name: section for name, section in sections.items() if section or name in ("hosts", "vms", "workloads")},
    }
    return scenario, [*inventory.assumptions, *assumptions(notes, inventory)]


def _name(source: str) -> str:
    """Return the name of a file without its ending, or of the host or last part of the path of an address."""
    last = source.rstrip("/").rpartition("/")[2]
    return last.rpartition("@")[2].partition("?")[0].partition(":")[0] if "://" in source else PurePath(last).stem
