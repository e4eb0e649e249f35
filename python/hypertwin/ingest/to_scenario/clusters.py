"""Clusters of an inventory: their list, their keys in the scenario, and their settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from hypertwin.files.yaml_writing import Quoted
from hypertwin.ingest import outside
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Cluster, Host, Inventory
from hypertwin.ingest.to_scenario import names, source
from hypertwin.ingest.to_scenario.measured import of_cluster
from hypertwin.ingest.to_scenario.names import short
from hypertwin.language import assumed_admission, called, hypervisors

DEFAULT = "default"
"""Cluster of hosts without one in any source. Scenarios need no entry for it."""
MOST_NAME = 100
"""Maximum characters of the name of a CPU generation."""

_Id = tuple[str, str]
"""Name and datacenter in lower case. Equal names in two datacenters are two clusters."""


class Clusters:
    """Clusters of an inventory by their keys in the scenario."""

    def __init__(self, inventory: Inventory) -> None:
        """Collect every cluster that has a host, and every standalone host."""
        self._standalone = inventory.standalone_hosts
        self._said = _said_by_vms(inventory)
        of_hosts = {self._id(host): self._title(host) for host in inventory.hosts}
        titles = {ident: of_hosts[ident] for ident in sorted(ident for ident in of_hosts if ident is not None)}
        counts = Counter(name.casefold() for name, _ in titles.values())
        alone = {host.name for host in inventory.hosts if self.stands_alone(host)}
        written = [
            f"{datacenter} {name}"
            if datacenter and counts[name.casefold()] > 1
            else short(name)
            if name in alone
            else name
            for name, datacenter in titles.values()
        ]
        taken = {DEFAULT} if None in of_hosts else set()
        self._keys: dict[_Id, str] = {}
        for ident, key in zip(titles, names.keys(written, "cluster"), strict=True):
            self._keys[ident] = names.free(key, taken)
            taken.add(self._keys[ident])
        self._titles = {self._keys[ident]: title for ident, title in titles.items()}

    @property
    def are_known(self) -> bool:
        """True if any host is in a cluster."""
        return bool(self._keys)

    def of_host(self, host: Host) -> str:
        """Return the key of its cluster."""
        ident = self._id(host)
        return DEFAULT if ident is None else self._keys[ident]

    def called(self, name: str | None, datacenter: str | None) -> str | None:
        """Return the key of the cluster with this name.

        The result is None without a match, or if several match without a datacenter.
        """
        if not name:
            return None
        exact = self._keys.get((name.casefold(), (datacenter or "").casefold()))
        if exact is not None:
            return exact
        alike = [key for (each, _), key in self._keys.items() if each == name.casefold()]
        return alike[0] if len(alike) == 1 else None

    def has(self, name: str) -> bool:
        """True if hosts are in a cluster of this name, or if no clusters are known."""
        return not self._keys or any(each == name.casefold() for each, _ in self._keys)

    def named(self, wanted: Iterable[str], source: str) -> set[str]:
        """Return the keys of clusters selected by key or name, in any case.

        Refuses a text that does not match exactly one cluster.
        """
        found = set()
        every = {**self._titles} or {DEFAULT: (DEFAULT, "")}
        for name in wanted:
            fits = called(name, {key: title for key, (title, _) in every.items()})
            if len(fits) != 1:
                listed = ", ".join(
                    key if key == title else f"{key} ({title}{f', {datacenter}' if datacenter else ''})"
                    for key, (title, datacenter) in every.items()
                )
                value = f"{outside.name(name)}: {'no cluster' if not fits else 'several clusters'} of this name"
                hint = "name it as in the list" if not fits else f"name one of {', '.join(fits)}"
                outside.Source(source).at("--only-cluster").refuse(value, f"one of: {listed}", hint, "no-such-cluster")
            found.add(fits[0])
        return found

    def entries(
        self,
        facts: Sequence[Cluster],
        used: Mapping[str, Sequence[str]],
        with_vms: Container[str | None],
        only: Container[str] | None,
        notes: ImportNotes,
    ) -> dict[str, dict[str, Any]]:
        """Return the scenario's `clusters` entries, without empty ones.

        `used` has the hypervisor of each host, by cluster.
        """
        of_key: dict[str, Cluster] = {}
        for fact in facts:
            key = self.called(fact.name, fact.datacenter) if fact.name else DEFAULT
            if key is not None:
                of_key.setdefault(key, fact)
            elif only is not None:
                continue
            elif not any(name.casefold() == fact.name.casefold() for name, _ in self._titles.values()):
                notes.cluster(fact.name, "left out: it has no hosts")
            else:
                notes.cluster(fact.name, "its settings are left out: several clusters have this name")
        entries = {}
        for key in sorted(used):
            name, datacenter = self._titles.get(key, (DEFAULT, ""))
            if key not in with_vms:
                notes.cluster(name, "no powered-on VMs")
            said = of_key.get(key)
            if len(used[key]) > 1:
                _note_restarts(name, key, said, used[key], notes)
            entry = _entry(key, name, datacenter, said, _drs(said, used[key]))
            if entry:
                entries[key] = entry
        return entries

    def _id(self, host: Host) -> _Id | None:
        name, datacenter = self._title(host)
        return (name.casefold(), datacenter.casefold()) if name else None

    def _title(self, host: Host) -> tuple[str, str]:
        name = host.cluster or self._said.get(host.name.casefold()) or (host.name if self._standalone else "")
        return name, host.datacenter or ""

    def stands_alone(self, host: Host) -> bool:
        """True if the host is in no cluster although the source knows clusters."""
        return self._standalone and not host.cluster and host.name.casefold() not in self._said


def _said_by_vms(inventory: Inventory) -> dict[str, str]:
    """Return the cluster of hosts whose cluster is named only by their VMs, by the host's name in lower case."""
    silent = {host.name.casefold() for host in inventory.hosts if not host.cluster}
    said: dict[str, set[str]] = {}
    for vm in inventory.vms:
        if vm.cluster and vm.host and vm.host.casefold() in silent:
            said.setdefault(vm.host.casefold(), set()).add(vm.cluster)
    return {host: found.pop() for host, found in said.items() if len(found) == 1}


def _ha(fact: Cluster) -> dict[str, Any]:
    """Return the known HA settings. A policy is only included if HA is enabled."""
    failures = fact.failures if fact.failures is not None and 0 <= fact.failures <= 64 else None
    pct = fact.admission_pct if fact.admission_pct is not None and 0 <= fact.admission_pct <= 100 else None
    ha = {
        **{"enabled": fact.ha, "admission": fact.admission_control, "failures": failures},
        **{"policy": fact.restarts_by if fact.ha else None},
        **{"admission_policy": fact.admission_policy, "admission_pct": pct},
    }
    return {option: value for option, value in ha.items() if value is not None}


def _drs(fact: Cluster | None, used: Sequence[str]) -> dict[str, Any] | None:
    """Return DRS settings if DRS is on, by the rules of its hosts' version."""
    if fact is None or not fact.drs:
        return None
    threshold = fact.drs_threshold if fact.drs_threshold is not None and 1 <= fact.drs_threshold <= 5 else 3
    is_new = min(hypervisors()[name].version for name in used) >= (7, 0, 0)
    return {"policy": "drs-7" if is_new else "drs-6", "threshold": threshold}


def _note_restarts(name: str, key: str, fact: Cluster | None, used: Sequence[str], notes: ImportNotes) -> None:
    """Add a note if a simulation does not restart VMs of a failed host, or assumes the HA type."""
    how = f"--set clusters.{key}.ha.policy=fdm|proxmox|masakari"
    if fact is None or fact.ha is None:
        notes.cluster(name, f"HA is unknown: VMs of a failed host are not restarted ({how})")
    elif not fact.ha:
        notes.cluster(name, f"HA is off: VMs of a failed host wait until it returns ({how})")
    elif fact.restarts_by is None:
        notes.cluster(name, f"its HA type is not modelled: VMs of a failed host are not restarted ({how})")
    elif fact.restarts_by == "fdm" and fact.admission_control and fact.admission_policy is None:
        notes.cluster(name, f"admission control policy is unknown: assumed {assumed_admission(used)}")


def _entry(key: str, name: str, datacenter: str, fact: Cluster | None, drs: dict[str, Any] | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"label": Quoted(outside.name(name))} if outside.name(name) not in (key, "") else {}
    place = outside.name(datacenter or (fact.datacenter if fact is not None else None) or "")
    if place:
        entry["datacenter"] = Quoted(place)
    if fact is None:
        return entry
    ha = _ha(fact)
    if ha:
        entry["ha"] = ha
    if drs is not None:
        entry["drs"] = drs
    if outside.name(fact.evc or ""):
        entry["evc"] = Quoted(outside.name(fact.evc or "")[:MOST_NAME])
    sections = {"measured": of_cluster(fact), "source": source.of_cluster(fact.source)}
    return entry | {name: section for name, section in sections.items() if section}
