"""Placement rules of an inventory, limited to VMs and hosts of the scenario."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from hypertwin.files.yaml_writing import Quoted
from hypertwin.ingest import outside
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Rule
from hypertwin.ingest.to_scenario.matching import Directory
from hypertwin.ingest.to_scenario.placement import Placed
from hypertwin.language import limits

ABOUT_VMS = ("keep-together", "keep-apart")
ABOUT_HOSTS = ("run-on", "not-on")


def convert(
    rules: Iterable[Rule], placed: Iterable[Placed], directory: Directory, kept: Container[str], notes: ImportNotes
) -> list[dict[str, Any]]:
    """Return the scenario's `rules`, for the VMs in `placed` and the hosts with keys in `kept`.

    A rule about VMs of several clusters becomes one rule per cluster.
    """
    keys: dict[str, list[tuple[str, str]]] = {}
    for each in placed:
        if each.host is not None:
            keys.setdefault(each.vm.name, []).append((each.host.cluster, each.key))
    most = limits()
    made: list[dict[str, Any]] = []
    for rule in rules:
        if rule.kind not in (*ABOUT_VMS, *ABOUT_HOSTS):
            notes.rule(rule.name, "left out: unknown kind")
            continue
        ruled = list(dict.fromkeys(found for name in rule.vms for found in keys.get(name, ())))
        clusters = list(dict.fromkeys(cluster for cluster, _ in ruled))
        found = [directory.find(name, cluster)[0] for cluster in clusters for name in rule.hosts]
        on = list(dict.fromkeys((host.cluster, host.key) for host in found if host is not None and host.key in kept))
        parts = [
            _part(rule, *([key for where, key in of if where == cluster] for of in (ruled, on))) for cluster in clusters
        ]
        whole = [part for part in parts if part is not None]
        if not whole:
            notes.rule(rule.name, "left out: too few of its VMs or hosts are in the scenario")
        elif len(made) + len(whole) > most.rules:
            notes.rule(rule.name, f"left out: more than {most.rules}", named=False)
        else:
            if len(clusters) > 1:
                notes.rule(rule.name, "it has VMs of several clusters: applied within each")
            made += whole
    return made


def _part(rule: Rule, vms: Sequence[str], hosts: Sequence[str]) -> dict[str, Any] | None:
    """Return the rule for these VMs and hosts of one cluster, or None if too few remain."""
    about_hosts = rule.kind in ABOUT_HOSTS
    if not vms or (about_hosts and not hosts) or (not about_hosts and len(vms) < 2):
        return None
    most = limits().rule_names
    entry: dict[str, Any] = {"name": Quoted(outside.name(rule.name) or "(without a name)")}
    entry |= {"kind": rule.kind, "vms": tuple(vms[:most])}
    if about_hosts:
        entry["hosts"] = tuple(hosts[:most])
    if rule.mandatory:
        entry["mandatory"] = True
    return entry
