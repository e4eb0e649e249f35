"""All texts of a move by file name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hypertwin.documents.move import MovedVm, Target, Wave
from hypertwin.members import Rule
from hypertwin.plan.moving.handover import kvm, openshift, proxmox, proxmox_rules

TOOLS: Mapping[Target, tuple[str, Callable[[Wave, Sequence[MovedVm]], str]]] = {
    "openshift": ("yaml", openshift.text),
    "kvm": ("sh", kvm.text),
    "proxmox": ("sh", proxmox.text),
}
"""Ending of files and text of a wave. Other targets have no text, because their tools are used in a browser."""


def texts(target: Target, waves: Sequence[Wave], vms: Sequence[MovedVm], rules: Sequence[Rule]) -> dict[str, str]:
    """Return the texts by file name, or nothing for a target whose tool takes no text."""
    if target not in TOOLS:
        return {}
    ending, text = TOOLS[target]
    by_name = {vm["name"]: vm for vm in vms}
    found = {f"wave-{wave['number']}.{ending}": text(wave, [by_name[name] for name in wave["vms"]]) for wave in waves}
    if target == "proxmox":
        moving = {name: by_name[name] for wave in waves for name in wave["vms"]}
        found |= proxmox_rules.texts(rules, moving)
    return found
