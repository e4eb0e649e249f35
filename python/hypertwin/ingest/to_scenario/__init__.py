"""From an inventory to a scenario: every host and every VM that is on, with names, sizes and load that fit a scenario.

| file | what it makes |
|---|---|
| `hosts.py` | hosts, and which of them a scenario can have |
| `hypervisor.py` | the hypervisor that stands for a host's own |
| `vms.py` | VMs: which, on what host, their size, entitlement and virtual NUMA |
| `load.py` | workloads: what measured demand becomes |
| `rules.py` | placement rules |
| `notes.py` | what was assumed, changed and left out; the description and the summary |
| `names.py` | keys from names |
| `yaml_text.py` | the scenario as text: quantities, quotes, layout |
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from hypertwin.ingest.inventory import Assumption, Inventory
from hypertwin.ingest.to_scenario import hosts, names, rules, vms
from hypertwin.ingest.to_scenario.notes import Notes, summary
from hypertwin.ingest.to_scenario.yaml_text import to_yaml

__all__ = ["RUN", "summary", "to_scenario", "to_yaml"]

RUN = {"duration": "60 s", "warmup": "10 s", "sample_interval": "20 s", "replications": 2}
"""Enough to see a whole cluster in about a minute; `--duration` and `--replications` ask for more."""

MOST_NAMES = 50
"""Names that one assumption lists."""


def to_scenario(inventory: Inventory) -> tuple[dict[str, Any], list[Assumption]]:
    """The scenario as a mapping in the order of the schema, and everything in it that the source does not say.

    Raises SourceError where there is no host to put anything on, or more of something than scenarios take.
    """
    notes = Notes(inventory)
    by_name = hosts.convert(inventory, notes)
    kept = vms.kept(inventory, by_name, notes)
    keyed = list(zip(names.keys([vm.name for vm in kept], "vm"), kept, strict=True))
    vm_entries, workloads = vms.convert(keyed, by_name, notes)
    rule_entries = rules.convert(inventory.rules, keyed, by_name, notes)
    notes.load(kept)
    scenario: dict[str, Any] = {
        "name": names.slug(PurePath(inventory.source.rstrip("/").rpartition("/")[2]).stem)
        or inventory.kind
        or "imported",
        "description": notes.description(len(by_name), len(vm_entries)),
        "run": dict(RUN),
        "hosts": {host.key: host.entry() for host in by_name.values()},
        "vms": vm_entries,
        "workloads": workloads,
    }
    if rule_entries:
        scenario["rules"] = rule_entries
    return scenario, [*inventory.assumptions, *notes.assumptions(MOST_NAMES)]
