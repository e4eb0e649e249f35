"""Facts that rules need beside a VM: names of all VMs, datastores, placement rules, hosts of source and target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from hypertwin.language import Host, Inventory, Vm
from hypertwin.plan.moving import names
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
    rules_known: bool = False
    """True if the source tells all placement rules. RVTools has only their names."""
    affinity_known: bool = False
    """True if the source tells CPU affinity. RVTools does not."""
    drs: Mapping[str, bool] = field(default_factory=dict)
    """True for clusters with DRS, false for those without, by name. Unknown clusters are missing."""
    hosts: Mapping[str, Host] = field(default_factory=lambda: _NO_HOSTS)
    """Hosts of the source, by name."""
    target_hosts: Sequence[Host] = ()
    """Hosts of the target."""

    @classmethod
    def of(
        cls,
        target: Target,
        inventory: Inventory,
        *,
        drs: Mapping[str, bool] = MappingProxyType({}),
        target_hosts: Sequence[Host] = (),
        rules_known: bool = False,
        affinity_known: bool = False,
    ) -> Context:
        """Return the context of all VMs of an inventory."""
        hosts = (rule.vms for rule in inventory.rules if rule.kind in ("run-on", "not-on"))
        return cls(
            target=target,
            called={vm.name: vm.called for vm in inventory.vms},
            datastores={store.label or store.name: store.kind for store in inventory.datastores},
            bound=frozenset(vm for vms in hosts for vm in vms),
            rules_known=rules_known,
            affinity_known=affinity_known,
            drs=drs,
            hosts=inventory.host,
            target_hosts=target_hosts,
        )

    @cached_property
    def _by_new_name(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name, called in self.called.items():
            found[names.on(self.target, called).casefold()].append(name)
        return found

    def same_name(self, vm: Vm) -> list[str]:
        """Return the other VMs that get the same name on the target, in any case of letters."""
        new = names.on(self.target, vm.called).casefold()
        return [self.called[name] for name in self._by_new_name.get(new, ()) if name != vm.name] if new else []
