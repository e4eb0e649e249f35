"""Texts of each wave for the tools that move: Forklift plans, virt-v2v command lines, settings for Proxmox VE.

Names of the user's systems are placeholders in capital letters. Names of VMs are quoted for a shell, or are YAML.
Sources: the Plan of Forklift v1beta1 (kubev2v/forklift, docs), virt-v2v(1), and qm(1) of Proxmox VE.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from hypertwin.documents.move import MovedVm, Target, Wave
from hypertwin.yaml_writing import to_yaml

NAMESPACE = "openshift-mtv"

FILES: Mapping[Target, str] = {"openshift": "yaml", "kvm": "sh", "proxmox": "sh"}
"""Ending of the files of a target. Other targets have no text."""

SETTABLE = ("scsihw", "cpu", "numa", "sockets", "cores", "balloon", "cpuunits", "cpulimit")
"""Settings that `qm set` changes after the import, in order. Disks and firmware keep what the importer made."""


def texts(target: Target, waves: Sequence[Wave], vms: Sequence[MovedVm]) -> dict[str, str]:
    """Return the text of each wave by file name, or nothing for a target whose tool takes no text."""
    if target not in FILES:
        return {}
    by_name = {vm["name"]: vm for vm in vms}
    found = {}
    for wave in waves:
        members = [by_name[name] for name in wave["vms"]]
        text = _PLANS[target](wave, members)
        if text:
            found[f"wave-{wave['number']}.{FILES[target]}"] = text
    return found


def _forklift(wave: Wave, vms: Sequence[MovedVm]) -> str:
    """Return a Forklift plan. Providers and maps are the user's."""
    here = {"namespace": NAMESPACE}
    plan: dict[str, Any] = {
        "apiVersion": "forklift.konveyor.io/v1beta1",
        "kind": "Plan",
        "metadata": {"name": f"wave-{wave['number']}", **here},
        "spec": {
            "warm": wave["mode"] == "warm",
            "provider": {"source": {"name": "SOURCE-PROVIDER", **here}, "destination": {"name": "host", **here}},
            "map": {"network": {"name": "NETWORK-MAP", **here}, "storage": {"name": "STORAGE-MAP", **here}},
            "targetNamespace": "TARGET-NAMESPACE",
            "vms": [_forklift_vm(vm) for vm in vms],
        },
    }
    return to_yaml(plan)


def _forklift_vm(vm: MovedVm) -> dict[str, str]:
    name = str(vm["becomes"].get("name") or "")
    return {"name": vm["label"], **({"targetName": name} if name and name != vm["label"] else {})}


def _virt_v2v(wave: Wave, vms: Sequence[MovedVm]) -> str:
    """Return virt-v2v command lines. The guests must be off. Names that begin with a hyphen would be options."""
    head = f"#!/bin/sh\n# wave {wave['number']}: set vCenter, data center, host and pool first\nset -eu\n"
    start = "virt-v2v -ic 'vpx://USER@VCENTER/DATACENTER/HOST?no_verify=1' -ip PASSWORD-FILE -o libvirt -os POOL"
    return head + "".join(f"{start} {shlex.quote(vm['label'])}\n" for vm in vms if not vm["label"].startswith("-"))


def _qm(wave: Wave, vms: Sequence[MovedVm]) -> str:
    """Return the settings that are better than those of the importer, or an empty text without any."""
    lines = []
    for vm in vms:
        best = {key: vm["best"][key] for key in SETTABLE if key in vm["best"]}
        if str(vm["becomes"].get("ostype", "")).startswith("w"):  # Windows does not start from it without its driver
            best.pop("scsihw", None)
        if best:
            name = shlex.quote(str(vm["becomes"].get("name") or vm["label"]))
            options = " ".join(f"--{key} {shlex.quote(str(value))}" for key, value in best.items())
            lines.append(f'qm set "$(vmid {name})" {options}\n')
    if not lines:
        return ""
    head = f"#!/bin/sh\n# wave {wave['number']}: after the import, on the node of the VMs\nset -eu\n"
    find = "vmid() { qm list | awk -v name=\"$1\" '$2 == name { print $1 }'; }\n"
    return head + find + "".join(lines)


_PLANS = {"openshift": _forklift, "kvm": _virt_v2v, "proxmox": _qm}
