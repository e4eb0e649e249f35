"""Targets of a move."""

from __future__ import annotations

from typing import Literal

Target = Literal["proxmox", "kvm", "openshift", "hyperv", "ahv"]
TITLES: dict[Target, str] = {
    "proxmox": "Proxmox VE",
    "kvm": "KVM with libvirt",
    "openshift": "OpenShift Virtualization",
    "hyperv": "Hyper-V",
    "ahv": "Nutanix AHV",
}
