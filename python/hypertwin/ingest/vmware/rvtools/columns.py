"""Tabs and columns of RVTools that are used, by their names in each version.

Names match in any case, and without blanks, signs and units. A tab's name in front is ignored (exports from the command
line have `vInfoVMName` for `VM`). 3.x has `Capacity MB`, 4.x `Capacity MiB`, other producers of these tabs `Capacity
GB`. The header gives the unit of a size; the default is MiB.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hypertwin.ingest.outside import Gap

PATHS = 8
"""Number of paths of a LUN that have a column in vMultiPath."""
_PLACE: Mapping[str, tuple[str, ...]] = {
    "host": ("host",),
    "cluster": ("cluster",),
    "datacenter": ("datacenter",),
    "vcenter": ("visdkserver", "visdkuuid"),
}
_VM: Mapping[str, tuple[str, ...]] = {"name": ("vm", "vmname"), "uuid": ("vmuuid", "instanceuuid", "uuid"), **_PLACE}

TABS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "vHost": {
        **{column: called for column, called in _PLACE.items() if column != "host"},
        "name": ("host", "name"),
        "maintenance": ("inmaintenancemode",),
        "model": ("cpumodel",),
        "speed": ("speed", "cpumhz"),
        "ht_available": ("htavailable",),
        "ht": ("htactive",),
        "sockets": ("numcpu",),
        "cores_per_socket": ("corespercpu",),
        "cores": ("numcores", "numcpucores"),
        "usage": ("cpuusagepct", "overallcpuusage", "cpuusage"),
        "memory": ("nummemory", "memorysize", "memory"),
        "memory_usage": ("memoryusagepct", "overallmemoryusage", "memoryusage"),
        "swapped": ("vmmemoryswapped", "memoryswapped", "swapped"),
        "ballooned": ("vmmemoryballooned", "memoryballooned", "ballooned"),
        "evc": ("currentevc", "currentevcmode", "currentevcmodekey"),
        "evc_most": ("maxevc", "maxevcmode", "maxevcmodekey"),
        "policy": ("hostpowerpolicy", "powerpolicy"),
        "policy_name": ("currentcpupowermanpolicy", "currentcpupowermanagementpolicy", "cpupowermanagementpolicy"),
        "policy_support": ("supportedcpupowerman", "supportedcpupowermanagement"),
        "version": ("esxversion", "fullname"),
    },
    "vInfo": {
        **_VM,
        "power": ("powerstate",),
        "template": ("template",),
        "srm_placeholder": ("srmplaceholder",),
        "connection": ("connectionstate",),
        "cpus": ("cpus",),
        "memory": ("memory",),
        "active": ("activememory",),
        "readiness": ("overallcpureadiness",),
        "provisioned": ("provisioned",),
        "in_use": ("inuse",),
        "os_tools": ("osaccordingtothevmwaretools", "ostools"),
        "os": ("osaccordingtotheconfigurationfile", "os"),
        "restart_priority": ("harestartpriority", "restartpriority", "dasrestartpriority"),
        "version": ("visdkservertype",),
        "annotation": ("annotation", "notes"),
        "dns": ("dnsname",),
        "ip": ("primaryipaddress",),
        "consolidation": ("consolidationneeded",),
        "disk_uuid": ("enableuuid",),
        "cbt": ("cbt", "changetracking"),
        "ft_state": ("ftstate",),
        "firmware": ("firmware",),
        "secure_boot": ("efisecureboot",),
        "hw_version": ("hwversion",),
        "folder": ("folder",),
        "tags": ("tags", "tag", "application", "applicationname", "app"),
    },
    "vCPU": {
        **_VM,
        "cpus": ("cpus",),
        "cores_per_socket": ("coresps", "corespersocket"),
        "overall": ("overall", "overallcpuusage"),
        "level": ("level",),
        "shares": ("shares",),
        "reservation": ("reservation",),
        "limit": ("limit",),
        "hot_add": ("hotadd",),
    },
    "vMemory": {
        **_VM,
        "size": ("size",),
        "consumed": ("consumed",),
        "active": ("active",),
        "swapped": ("swapped",),
        "ballooned": ("ballooned", "balloon"),
        "level": ("level",),
        "shares": ("shares",),
        "reservation": ("reservation",),
        "locked": ("memoryreservationlockedtomax", "reservationlockedtomax"),
        "limit": ("limit",),
        "hot_add": ("hotadd",),
    },
    "vDisk": {
        **_VM,
        "capacity": ("capacity",),
        "controller": ("controller",),
        "label": ("label",),
        "path": ("path", "diskpath"),  # where both exist, `Disk Path` has mount points of the guest
        "disk": ("disk",),
        "unit": ("unitnum",),
        "mode": ("diskmode",),
        "sharing": ("sharingmode",),
        "bus": ("sharedbus",),
        "raw": ("raw",),
        "raw_mode": ("rawcompmode", "rawcommode"),
        "thin": ("thin",),
    },
    "vNetwork": {
        **_VM,
        "adapter": ("adapter",),
        "network": ("network",),
        "switch": ("switch",),
        "connected": ("connected",),
    },
    "vPort": {"port_group": ("portgroup",), "switch": ("switch",), "vlan": ("vlan",)},
    "dvPort": {"port": ("port",), "switch": ("switch",), "vlan": ("vlan",)},
    "vTools": {**_VM, "tools": ("tools", "toolsstatus")},
    "vUSB": _VM,
    "vCD": {**_VM, "connected": ("connected",)},
    "vPartition": {**_VM, "disk": ("disk",), "capacity": ("capacity",), "consumed": ("consumed",), "free": ("free",)},
    "vSnapshot": {
        **_VM,
        "snapshot": ("name",),
        "description": ("description",),
        "taken": ("datetime", "date", "created"),
        "size": ("sizetotal", "size"),
    },
    "vDatastore": {
        "name": ("name",),
        "type": ("type",),
        "capacity": ("capacity",),
        "provisioned": ("provisioned",),
        "free": ("free", "freespace"),
        "hosts": ("hosts",),
        "cluster": ("clustername", "cluster"),
        "url": ("url",),
        "vcenter": _PLACE["vcenter"],
    },
    "vMultiPath": {
        **_PLACE,
        "disk": ("disk",),
        "policy": ("policy",),
        **{f"path{number}": (f"path{number}",) for number in range(1, PATHS + 1)},
    },
    "vCluster": {
        "name": ("name", "cluster"),
        "datacenter": ("datacenter",),
        "ha": ("haenabled", "dasenabled"),
        "admission_control": ("admissioncontrolenabled", "admissioncontrol"),
        "failures": ("failoverlevel",),
        "restart_priority": ("restartpriority",),
        "drs": ("drsenabled",),
        "drs_behaviour": ("drsdefaultvmbehavior", "drsdefaultvmbehaviour"),
        "drs_rate": ("drsvmotionrate",),
        "dpm": ("dpmenabled",),
        "evc": ("evc", "evcmode", "currentevc", "currentevcmode", "vmwareevc"),
        "vcenter": _PLACE["vcenter"],
    },
    "vRP": {"name": ("resourcepoolname", "name"), "limit": ("cpulimit",), "level": ("cpulevel",)},
    "vSource": {"version": ("fullname", "version")},
    "vMetaData": {"made": ("xlsxcreationdatetime", "creationdatetime", "exportdatetime")},
}
"""Columns that are used, by tab, with their names from `column_name`. The first existing name counts."""

COSTS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "vHost": {
        "cluster": ("Cluster", "clusters"),
        "speed": ("Speed", "clocks (from the name of the CPU model, or assumed)"),
        "ht": ("HT Active", "hyper-threading (assumed on)"),
        "version": ("ESX Version", "the hypervisor's version, with its scheduler and virtual NUMA"),
        "maintenance": ("in Maintenance Mode", "hosts in maintenance mode"),
        "usage": ("CPU usage %", "saturated hosts"),
        "memory_usage": ("Memory usage %", "hosts short of memory"),
    },
    "vInfo": {"host": ("Host", "the host of each VM")},
    "vCPU": {
        "overall": ("Overall", "measured demand"),
        "cores_per_socket": ("Cores p/s", "virtual sockets and virtual NUMA"),
        "shares": ("Shares", "shares"),
        "reservation": ("Reservation", "reservations"),
        "limit": ("Limit", "limits"),
        "hot_add": ("Hot Add", "hot-add on VMs larger than a NUMA node"),
    },
    "vMemory": {"consumed": ("Consumed", "consumed memory of VMs"), "active": ("Active", "memory in use")},
    "vDisk": {"controller": ("Controller", "virtual storage controllers")},
    "vPartition": {},
    "vDatastore": {},
    "vCluster": {},
}
"""Columns by tab: the name in RVTools, and the results that need it."""
TAB_COSTS = {
    "vCPU": "measured demand, virtual sockets, shares, reservations, limits and hot-add",
    "vMemory": "consumed and used memory of VMs, and more memory sizes",
    "vDisk": "virtual disks and their controllers",
    "vPartition": "storage used by guests",
    "vDatastore": "space of datastores",
    "vCluster": "HA and admission control",
}
NEVER = (
    Gap("DRS rules (RVTools has only their names)", "placement rules"),
    Gap("advanced options numa.* and CPU affinity", "virtual NUMA set by hand, pinned VMs"),
    Gap("I/O operations per second", "storage load"),
)
"""Data that no RVTools export has."""

UNITS = {
    **{"tib": 2**40, "tb": 2**40, "gib": 2**30, "gb": 2**30, "mib": 2**20, "mb": 2**20, "kib": 2**10, "kb": 2**10},
    **{"bytes": 1, "byte": 1},
}
"""Bytes by unit. VMware's MB are MiB."""
_UNIT = re.compile(
    r"(?i:(?<![a-z0-9])(?:in )?(tib|tb|gib|gb|mib|mb|kib|kb|bytes?)(?![a-z0-9]))"
    r"|(?<=[a-z])(TiB|TB|GiB|GB|MiB|MB|KiB|KB)(?![a-z])"
)


def column_name(cell: object, tab: str) -> tuple[str, int | None]:
    """Return a column's name in the form of `TABS`, and the bytes of the unit in it."""
    text = str(cell if cell is not None else "")[:200]
    found = _UNIT.search(text)
    unit = UNITS[(found[1] or found[2]).lower()] if found else None
    if found:
        text = text[: found.start()] + text[found.end() :]
    name = re.sub(r"[^a-z0-9]", "", text.lower().replace("#", "num").replace("%", "pct"))
    return (name.removeprefix(tab.lower()) or name if tab else name), unit


def tab_name(name: str) -> str | None:
    """Return the tab of a sheet or file of this name, `vInfo`, `tabvInfo` or `RVTools_tabvInfo`, or None if unused."""
    plain = plain_tab_name(name).lower()
    return next((tab for tab in TABS if tab.lower() == plain), None)


def plain_tab_name(name: str) -> str:
    """Return the name in RVTools of the tab of a sheet or file."""
    return re.sub(r"^(?:rvtools)?[_ -]*(?:tab)?", "", name.strip(), flags=re.IGNORECASE)
