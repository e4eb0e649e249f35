"""Placement rules of an inventory, with the VMs and hosts that the scenario has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hypertwin.ingest import outside
from hypertwin.ingest.inventory import Rule, Vm
from hypertwin.ingest.to_scenario.hosts import ScenarioHost
from hypertwin.ingest.to_scenario.notes import Notes
from hypertwin.ingest.to_scenario.yaml_text import Quoted
from hypertwin.language import limits

ABOUT_VMS = ("keep-together", "keep-apart")
ABOUT_HOSTS = ("run-on", "not-on")


def convert(
    rules: Iterable[Rule], vms: Iterable[tuple[str, Vm]], hosts: Mapping[str, ScenarioHost], notes: Notes
) -> list[dict[str, Any]]:
    """The scenario's `rules`; `vms` are its VMs with their keys, `hosts` its hosts by name."""
    keys: dict[str, list[str]] = {}
    for key, vm in vms:
        keys.setdefault(vm.name, []).append(key)
    most = limits()
    made: list[dict[str, Any]] = []
    for rule in rules:
        about_hosts = rule.kind in ABOUT_HOSTS
        ruled = tuple(dict.fromkeys(key for name in rule.vms for key in keys.get(name, ())))
        on = tuple(dict.fromkeys(hosts[name].key for name in rule.hosts if name in hosts))
        if not about_hosts and rule.kind not in ABOUT_VMS:
            notes.rule(rule.name, "left out: of an unknown kind")
        elif not ruled or (about_hosts and not on) or (not about_hosts and len(ruled) < 2):
            notes.rule(rule.name, "left out: fewer machines or hosts in the scenario than it is about")
        elif len(made) == most.rules:
            notes.rule(rule.name, f"left out: more than {most.rules}", named=False)
        else:
            entry: dict[str, Any] = {"name": Quoted(outside.name(rule.name) or "(without a name)")}
            entry |= {"kind": rule.kind, "vms": ruled[: most.rule_names]}
            if about_hosts:
                entry["hosts"] = on
            if rule.mandatory:
                entry["mandatory"] = True
            made.append(entry)
    return made
