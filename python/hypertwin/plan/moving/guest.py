"""Guest operating systems of VMs, by vSphere's identifier or by name.

The types are those of the importer of Proxmox VE (`ESXiPlugin.pm` of pve-storage at 0c56bad8). `guestOS` of a VM's
configuration decides the type. An identifier that the importer does not know counts as Linux.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from hypertwin.language import Vm

Family = Literal["windows", "linux", "other"]
LINUX = "l26"
TYPES = frozenset(
    ["other", "wxp", "w2k", "w2k3", "w2k8", "wvista", "win7", "win8", "win10", "win11", "l24", "l26", "solaris"]
)
"""Types of Proxmox VE, which its import has as names of guests."""

_WINDOWS_IDS = {
    "w2k": "win2000AdvServ win2000Pro win2000Serv",
    "wxp": "winNT winXPPro winXPPro-64",
    "w2k3": (
        "winNetBusiness winNetEnterprise winNetEnterprise-64 winNetDatacenter winNetDatacenter-64 winNetStandard "
        "winNetStandard-64 winNetWeb"
    ),
    "wvista": "winVista winVista-64",
    "w2k8": "longhorn winLonghorn winLonghorn-64 windows7Server-64",
    "win7": "windows7 windows7-64",
    "win8": "windows8 windows8-64 windows8Server-64",
    "win10": "windows9 windows9-64 windows9srv windows9srv-64 windows9Server-64 windows2019srv-64",
    "win11": "windows11-64 windows12-64 windows2019srvNext-64 windows2022srvNext-64",
    "other": "dos win31 win95 win98",
}
"""Identifiers by type that the importer treats as Windows, also those of type `other`."""
_OTHER_IDS = {
    "solaris": "solaris8 solaris9 solaris10 solaris10-64 solaris11-64",
    "other": (
        "freeBSD freeBSD-64 freeBSD11 freeBSD11-64 freeBSD12 freeBSD12-64 freeBSD13 freeBSD13-64 freeBSD14 "
        "freeBSD14-64 os2 netware5 netware6 other other-64 openserver5 openserver6 unixware7 eComStation eComStation2 "
        "vmkernel vmkernel5 vmkernel6 vmkernel65 vmkernel7 vmkernel8"
    ),
}
_WINDOWS = {each: kind for kind, listed in _WINDOWS_IDS.items() for each in listed.split()}
_OTHER = {each: kind for kind, listed in _OTHER_IDS.items() for each in listed.split()}
IDS = {**_WINDOWS, **_OTHER}
"""Type by identifier in a VM's configuration file, for identifiers that the importer knows."""
_BY_API_ID = {each.lower(): each for each in IDS}

_NAMES: tuple[tuple[str, str, Family], ...] = (
    (r"windows server (?:2022|2025)", "win11", "windows"),
    (r"windows server (?:2016|2019)", "win10", "windows"),
    (r"windows server 2012", "win8", "windows"),
    (r"windows server 2008", "w2k8", "windows"),
    (r"windows server 2003|windows small business server 2003", "w2k3", "windows"),
    (r"windows (?:server )?2000", "w2k", "windows"),
    (r"windows 1[12]", "win11", "windows"),
    (r"windows 10", "win10", "windows"),
    (r"windows 8", "win8", "windows"),
    (r"windows 7", "win7", "windows"),
    (r"windows vista", "wvista", "windows"),
    (r"windows (?:xp|nt)", "wxp", "windows"),
    (r"windows (?:3\.1|95|98)|ms-dos", "other", "windows"),
    (r"solaris", "solaris", "other"),
    (r"freebsd(?! (?:1[5-9]|[2-9][0-9]))", "other", "other"),
    (r"netware [56]|unixware 7|openserver [56]|ecomstation|os/2|vmware esx|(?:mac ?os|os x)", "other", "other"),
    (r"\Aother(?: \((?:32|64)-bit\))?\Z", "other", "other"),
    (r"windows", "win11", "windows"),
)
_LINUX_NAMES = re.compile(
    r"linux|red hat|rhel|centos|ubuntu|debian|suse|sles|fedora|photon|coreos|asianux|oracle|rocky|alma|amazon|"
    r"mandr|turbo|android|flatcar|^l2[46]$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Guest:
    """Guest operating system of a VM."""

    ostype: str
    """Type in Proxmox VE."""
    family: Family
    name: str
    """Name or identifier in the source."""


def guest(vm: Vm) -> Guest | None:
    """Return the guest operating system of a VM, or None if the source does not name it."""
    configured = vm.source.guest_id
    if configured:
        return by_name(configured) if " " in configured else by_id(configured)
    return by_name(vm.guest_os) if vm.guest_os and vm.guest_os.strip() else None


def by_id(identifier: str) -> Guest:
    """Return the guest of an identifier, as a configuration file has it (`windows9srv-64`) or as the API does."""
    plain = _configured(identifier)
    if plain in _WINDOWS:
        return Guest(_WINDOWS[plain], "windows", identifier)
    if plain in _OTHER:
        return Guest(_OTHER[plain], "other", identifier)
    if plain.startswith("darwin"):
        return Guest("other", "other", identifier)
    return Guest(LINUX, "linux", identifier)


def _configured(identifier: str) -> str:
    """Return an identifier of the API (`windows9Server64Guest`, `rhel8_64Guest`) as a configuration file has it."""
    if not identifier.endswith(("Guest", "Guest64")):
        return identifier
    plain = identifier.replace("Guest64", "64Guest").removesuffix("Guest")
    plain = re.sub(r"_?64\Z", "-64", plain)
    return _BY_API_ID.get(plain.lower(), plain)


def by_name(name: str) -> Guest:
    """Return the guest of a name such as `Microsoft Windows Server 2019 (64-bit)`. An unknown name counts as Linux."""
    plain = name.strip().casefold()
    if plain in TYPES:
        return Guest(
            plain, "windows" if plain.startswith("w") else "linux" if plain in ("l24", LINUX) else "other", name
        )
    for pattern, ostype, family in _NAMES:
        if re.search(pattern, plain):
            return Guest(ostype, family, name)
    return Guest(LINUX, "linux", name)


def is_recognised(found: Guest) -> bool:
    """True if the name or identifier is one of a known system, not only Linux by default."""
    return found.ostype != LINUX or _LINUX_NAMES.search(found.name) is not None
