"""Clusters of a vCenter Server: their location, HA settings and placement rules.

Properties: vSphere Web Services API, `ClusterComputeResource`, `ClusterConfigInfoEx`, `ClusterDasConfigInfo`,
`ClusterDasVmConfigInfo`, `ClusterDrsConfigInfo`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from hypertwin.ingest import outside
from hypertwin.ingest.inventory import Cluster, Rule
from hypertwin.ingest.vmware import vsphere
from hypertwin.ingest.vmware.availability import threshold_of_rate
from hypertwin.ingest.vmware.vcenter_values import enum, get, switch, text, whole
from hypertwin.ingest.vmware.vsphere import Session
from hypertwin.members import SourceCluster

PATHS = ("name", "parent", "configurationEx", "summary")
PAGE = 10
"""Clusters per response, because rules and groups can be long."""

Found = tuple[str, dict[str, Any]]
"""ID and properties of an object."""


class Clusters:
    """Clusters of a session, by ID."""

    def __init__(self, session: Session, vim: Any) -> None:
        """Read the clusters, and the datacenters of clusters and hosts."""
        root = session.content.rootFolder
        self._vim = vim
        self._found = sorted(
            (vsphere.moid(one), values)
            for one, values in session.objects(vim.ClusterComputeResource, PATHS, root, PAGE)
        )
        self._datacenters = {
            vsphere.moid(one): vsphere.plain_name(values.get("name", ""))
            for one, values in session.objects(vim.Datacenter, ("name",), root)
        }
        self._parents: dict[str, str] = {}
        for kind in (vim.Folder, vim.ComputeResource) if self._datacenters else ():
            for one, values in session.objects(kind, ("parent",), root):
                self._parents[vsphere.moid(one)] = vsphere.moid(values.get("parent"))
        self.names = self._names()
        """Names of clusters. Repeated names get their datacenter, or else their ID, added."""

    def _names(self) -> dict[str, str]:
        plain = {moid: vsphere.plain_name(values.get("name", moid)) for moid, values in self._found}
        often = Counter(plain.values())
        placed = {
            moid: outside.told_apart(name, self.datacenter(moid) or moid) if often[name] > 1 else name
            for moid, name in plain.items()
        }
        return vsphere.distinct(placed.items())

    def datacenter(self, parent: str) -> str | None:
        """Return the datacenter of objects in this folder or cluster, or None if it is not visible."""
        for _ in range(100):  # no folder is nested as deeply
            if parent in self._datacenters:
                return self._datacenters[parent] or None
            parent = self._parents.get(parent, "")
        return None

    def facts(self, with_hosts: Collection[str], *, all_of_them: bool) -> list[Cluster]:
        """Return data about clusters: those with hosts, by ID, or all."""
        return [self._cluster(moid, values) for moid, values in self._found if all_of_them or moid in with_hosts]

    def _cluster(self, moid: str, values: Mapping[str, Any]) -> Cluster:
        settings = values.get("configurationEx")
        ha, drs = get(settings, "dasConfig"), get(settings, "drsConfig")
        rule, pct = self._admission(ha)
        balances = switch(get(drs, "enabled"))
        behaviour = enum(get(drs, "defaultVmBehavior"))
        return Cluster(
            self.names[moid],
            datacenter=self.datacenter(moid),
            ha=switch(get(ha, "enabled")),
            admission_control=switch(get(ha, "admissionControlEnabled")),
            failures=self._failures(ha),
            admission_policy=rule,
            admission_pct=pct,
            restarts_by="fdm",
            drs=balances and behaviour in ("", "fullyAutomated") if balances is not None else None,
            drs_threshold=threshold_of_rate(whole(get(drs, "vmotionRate"), 1, 5)),
            evc=text(get(values.get("summary"), "currentEVCModeKey")),
            source=SourceCluster(
                drs=balances,
                dpm=switch(get(get(settings, "dpmConfigInfo"), "enabled")),
                all_rules=True if settings is not None else None,
            ),
        )

    def _failures(self, ha: Any) -> int | None:
        """Return the host failures that HA reserves capacity for, or None if percentages are set manually."""
        policy, policies = get(ha, "admissionControlPolicy"), self._vim.cluster
        level = get(policy, "failoverLevel")
        if isinstance(policy, policies.FailoverHostAdmissionControlPolicy):
            level = level or len(get(policy, "failoverHosts") or ()) or 1
        elif isinstance(policy, policies.FailoverResourcesAdmissionControlPolicy):
            level = level if get(policy, "autoComputePercentages") is True else None
        elif policy is None:
            level = get(ha, "failoverLevel")
        return int(level) if isinstance(level, int) and not isinstance(level, bool) and 0 <= level <= 1_000 else None

    def _admission(self, ha: Any) -> tuple[str | None, float | None]:
        """Return admission control policy, and the percentage that it reserves, the smaller one of CPU and memory."""
        policy, policies = get(ha, "admissionControlPolicy"), self._vim.cluster
        if isinstance(policy, policies.FailoverLevelAdmissionControlPolicy):
            return "slots", None
        if isinstance(policy, policies.FailoverResourcesAdmissionControlPolicy):
            keys = ("cpuFailoverResourcesPercent", "memoryFailoverResourcesPercent")
            kept = [part for key in keys if (part := whole(get(policy, key), 0, 100)) is not None]
            return "percentage", float(min(kept)) if kept else None
        return None, None

    def restart_priorities(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return restart priorities: of VMs with their own, by ID, and of clusters, by name."""
        of_vms: dict[str, str] = {}
        of_clusters: dict[str, str] = {}
        for moid, values in self._found:
            settings = values.get("configurationEx")
            default = get(get(settings, "dasConfig"), "defaultVmSettings")
            of_clusters[self.names[moid]] = enum(get(default, "restartPriority"))
            for vm in get(settings, "dasVmConfig") or ():
                of_vms[vsphere.moid(get(vm, "key"))] = enum(get(get(vm, "dasSettings"), "restartPriority"))
        return of_vms, of_clusters

    def rules(self, with_hosts: Collection[str], hosts: Mapping[str, str], vms: Mapping[str, str]) -> Iterator[Rule]:
        """Yield enabled rules of clusters with hosts. `hosts` and `vms` have names by ID."""
        for moid, values in self._found:
            if moid in with_hosts:
                yield from self._rules(values, hosts, vms)

    def _rules(self, values: Mapping[str, Any], hosts: Mapping[str, str], vms: Mapping[str, str]) -> Iterator[Rule]:
        vim = self._vim
        settings = values.get("configurationEx")
        groups: dict[str, tuple[str, ...]] = {}
        for group in get(settings, "group") or ():
            if isinstance(group, vim.cluster.VmGroup):
                groups[group.name] = _named(group.vm, vms)
            elif isinstance(group, vim.cluster.HostGroup):
                groups[group.name] = _named(group.host, hosts)
        kinds = {vim.cluster.AffinityRuleSpec: "keep-together", vim.cluster.AntiAffinityRuleSpec: "keep-apart"}
        for rule in get(settings, "rule") or ():
            of: tuple[str, ...] = ()
            on: tuple[str, ...] = ()
            kind = kinds.get(type(rule))
            if kind is not None:
                of = _named(rule.vm, vms)
            elif isinstance(rule, vim.cluster.VmHostRuleInfo):
                kind = "run-on" if rule.affineHostGroupName else "not-on"
                of = groups.get(rule.vmGroupName, ())
                on = groups.get(rule.affineHostGroupName or rule.antiAffineHostGroupName, ())
            if kind is None or rule.enabled is False or not of or (kind in ("run-on", "not-on") and not on):
                continue
            yield Rule(outside.name(rule.name or ""), kind, of, on, rule.mandatory is True)


def _named(references: Sequence[Any] | None, names: Mapping[str, str]) -> tuple[str, ...]:
    found = (vsphere.moid(reference) for reference in references or ())
    return tuple(sorted(names[moid] for moid in found if moid in names))
