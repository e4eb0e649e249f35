"""Which hypervisor of a scenario stands for the one that a host runs."""

from __future__ import annotations

import re
from collections.abc import Mapping

ESXI = {
    **{(5, 0): "esxi-5.0", (5, 1): "esxi-5.1", (5, 5): "esxi-5.5", (6, 0): "esxi-6.0", (6, 5): "esxi-6.5"},
    **{(6, 7): "esxi-6.7", (7, 0): "esxi-7.0", (8, 0): "esxi-8.0", (9, 0): "esxi-9.0"},
}
"""First release of each scheduler that scenarios know; 7.0.2 (`esxi-7.0u2`) is told apart below."""
LINUX = {(6, 6): "linux-6.6", (6, 12): "linux-6.12"}

_VERSION = re.compile(r"(?<![0-9.])([0-9]{1,3})\.([0-9]{1,3})(?:\.([0-9]{1,3}))?")


def nearest_hypervisor(text: str) -> tuple[str, bool]:
    """The scenario's name for a hypervisor as its system calls it, and whether it is that one."""
    version = _VERSION.search(text)
    numbers = (int(version[1]), int(version[2]), int(version[3] or 0)) if version else None
    lower = text.lower()
    if "esx" in lower and numbers is not None:
        if (7, 0, 2) <= numbers < (8,):
            return "esxi-7.0u2", True
        return _at_most(ESXI, numbers)
    if "linux" in lower and numbers is not None:
        return _at_most(LINUX, numbers)
    if any(word in lower for word in ("linux", "qemu", "kvm", "pve", "proxmox", "libvirt", "test")):
        return "linux-6.12", False
    return "esxi-8.0", False


def _at_most(known: Mapping[tuple[int, int], str], numbers: tuple[int, int, int]) -> tuple[str, bool]:
    """The newest of `known` that is not newer, else the oldest; exact if major and minor are the same."""
    older = [version for version in known if version <= numbers[:2]]
    nearest = max(older, default=min(known))
    return known[nearest], nearest == numbers[:2]
