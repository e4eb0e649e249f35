"""Selection of the scenario hypervisor for a host's hypervisor."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hypertwin.errors import short
from hypertwin.ingest import outside
from hypertwin.language import assumed_hypervisor, hypervisors

USUAL = "esxi"
"""Family of a host that does not report its hypervisor."""

_VERSION = r"(?<![0-9.])([0-9]{1,3})\.([0-9]{1,3})(?:\.([0-9]{1,3}))?"
_ANY_VERSION = re.compile(_VERSION)
_KERNEL = re.compile(rf"\bkernel\W{{1,3}}{_VERSION}")
_ESXI = re.compile(r"esx")
_LINUX = re.compile(r"linux|qemu|kvm|pve|proxmox|libvirt|test")


@dataclass(frozen=True)
class Product:
    """A product without its own name in scenarios."""

    name: str
    words: re.Pattern[str]
    """Pattern of the text that its hosts report, in lower case."""
    family: str
    is_modelled: bool
    """True if the family's model is the product's own scheduler, not just the nearest one."""


PRODUCTS = (
    Product("Nutanix AHV", re.compile(r"\bahv\b|acropolis|nutanix"), "linux", is_modelled=True),
    # like ESXi it has reserves, limits and weights for each VM
    Product("Microsoft Hyper-V", re.compile(r"hyper-?v\b|windows|azure"), "esxi", is_modelled=False),
    # like Linux it has weights and caps, and no reservations
    Product("Xen", re.compile(r"\bxen|xcp-ng|citrix|oracle vm"), "linux", is_modelled=False),
)


def nearest(text: str) -> tuple[str, str | None]:
    """Return the scenario's hypervisor for a host's own text, and a note if it is not an exact match."""
    said = outside.name(text)
    lower = said.lower()
    version = _KERNEL.search(lower) or _ANY_VERSION.search(lower)
    numbers = (int(version[1]), int(version[2]), int(version[3] or 0)) if version else None
    default = assumed_hypervisor(USUAL)
    if not said:
        return default, f"hypervisor unknown: assumed {default}"
    product = next((product for product in PRODUCTS if product.words.search(lower)), None)
    if _ESXI.search(lower):
        name, exact = _at_most("esxi", numbers) if numbers is not None else (assumed_hypervisor("esxi"), False)
    elif product is not None:
        name = assumed_hypervisor(product.family)
        if product.is_modelled:
            return name, f"{product.name} is KVM with an unknown kernel: assumed {name}"
        return name, f"{product.name} is not modelled: {name} is used instead"
    elif numbers is not None and ("linux" in lower or _KERNEL.search(lower)):
        name, exact = _at_most("linux", numbers)
    elif _LINUX.search(lower):
        name, exact = assumed_hypervisor("linux"), False
    elif "vmware" in lower or "vsphere" in lower:
        name, exact = assumed_hypervisor("esxi"), False
    else:
        return default, f"hypervisor {short(said, 60)} is unknown: {default} is used instead"
    return name, None if exact else f"hypervisor {short(said, 60)}: assumed {name}"


def _at_most(family: str, numbers: tuple[int, int, int]) -> tuple[str, bool]:
    """Return the newest version of a family that is not newer, otherwise the oldest.

    It is exact if major and minor version match.
    """
    known = {each.version: each.name for each in hypervisors().values() if each.family == family}
    nearest = max((version for version in known if version <= numbers), default=min(known))
    return known[nearest], nearest[:2] == numbers[:2]
