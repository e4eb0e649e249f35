"""Facts that rules need beside a VM: names of all VMs, datastores, placement rules, hosts of source and target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from hypertwin.language import UNKNOWN_CLUSTER, Host, Inventory, Vm
from hypertwin.members import SourceCluster
from hypertwin.plan.moving import names
from hypertwin.plan.moving.off import Off
from hypertwin.plan.moving.target import Target

_NO_HOSTS: Mapping[str, Host] = MappingProxyType({})


@dataclass(frozen=True)
class Context:
    """Facts beside a VM. Unknown facts are None or empty."""

    target: Target
    called: Mapping[str, str] = field(default_factory=dict)
    """Names of all VMs in the source, by name in the scenario."""
    datastores: Mapping[str, str | None] = field(default_factory=dict)
    """Kind of each datastore, by name in the source."""
    bound: frozenset[str] = frozenset()
    """VMs with a rule that binds them to hosts."""
    off: frozenset[str] = frozenset()
    """VMs that are powered off, and templates."""
    templates: frozenset[str] = frozenset()
    clusters: Mapping[str, SourceCluster] = field(default_factory=dict)
    """Facts of clusters, by name."""
    hosts: Mapping[str, Host] = field(default_factory=lambda: _NO_HOSTS)
    """Hosts of the source, by name."""
    target_hosts: Sequence[Host] = ()
    """Hosts of the target."""
    target_names: Sequence[str] = ()
    """Names that VMs on the target already have."""

    @classmethod
    def of(
        cls,
        target: Target,
        inventory: Inventory,
        *,
        off: Off | None = None,
        target_hosts: Sequence[Host] = (),
        target_names: Sequence[str] = (),
    ) -> Context:
        """Return the context of all VMs of an inventory. `target_names` has the names of VMs on the target."""
        off = off or Off.of(inventory.powered_off, (vm.name for vm in inventory.vms))
        hosts = (rule.vms for rule in inventory.rules if rule.kind in ("run-on", "not-on"))
        return cls(
            target=target,
            called={vm.name: vm.called for vm in (*inventory.vms, *off.vms)},
            datastores={store.label or store.name: store.kind for store in inventory.datastores},
            bound=frozenset(vm for vms in hosts for vm in vms),
            off=off.names,
            templates=off.templates,
            clusters={cluster.name: cluster.source for cluster in inventory.clusters},
            hosts=inventory.host,
            target_hosts=target_hosts,
            target_names=tuple(target_names),
        )

    def cluster(self, vm: Vm) -> SourceCluster:
        """Return the facts of the cluster of a VM."""
        return self.clusters.get(vm.cluster, UNKNOWN_CLUSTER)

    @cached_property
    def _by_new_name(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name, called in self.called.items():
            found[names.on(self.target, called).casefold()].append(name)
        return found

    @cached_property
    def _on_target(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name in self.target_names:
            found[name.casefold()].append(name)
        return found

    def same_name(self, vm: Vm) -> list[str]:
        """Return the other VMs with the same name on the target, in any case of letters, also those there already."""
        new = names.on(self.target, vm.called).casefold()
        if not new:
            return []
        moving = [self.called[name] for name in self._by_new_name.get(new, ()) if name != vm.name]
        return [*moving, *(f"{name} (on the target)" for name in self._on_target.get(new, ()))]
