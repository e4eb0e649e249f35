"""Writes RVTools exports of any size after the tabs and columns of published ones, with what real ones have in them:
machines that are off, templates, storage appliances, lost machines, odd names.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell

_VM = ("VM", "Powerstate", "Template", "SRM Placeholder")
_OS = ("OS according to the configuration file", "OS according to the VMware Tools")
_SDK = ("VI SDK Server", "VI SDK UUID")
_TAIL = ("Annotation", "Datacenter", "Cluster", "Host", "Folder", *_OS, "VM ID", "VM UUID", *_SDK)
_PLACE = ("Host", "Datacenter", "Cluster")
HEADERS: Mapping[str, Sequence[str]] = {
    "vInfo": (
        *(*_VM, "Config status", "DNS Name", "Connection state", "Guest state", "Heartbeat", "Consolidation Needed"),
        *("PowerOn", "Suspended To Memory", "Suspend time", "Suspend Interval", "Creation date", "Change Version"),
        *("CPUs", "Overall Cpu Readiness", "Memory", "Active Memory", "NICs", "Disks", "Total disk capacity MiB"),
        *("Fixed Passthru HotPlug", "min Required EVC Mode Key", "Latency Sensitivity", "Op Notification Timeout"),
        *("EnableUUID", "CBT", "Primary IP Address", "Network #1", "Network #2", "Num Monitors", "Video Ram KiB"),
        *("Resource pool", "Folder ID", "Folder", "vApp", "DAS protection", "FT State", "FT Role", "FT Latency"),
        *("Provisioned MiB", "In Use MiB", "Unshared MiB", "HA Restart Priority", "HA Isolation Response"),
        *("HA VM Monitoring", "Cluster rule(s)", "Cluster rule name(s)", "Boot Required", "Boot delay"),
        *("EFI Secure boot", "Firmware", "Application", "HW version", "HW upgrade status", "Path"),
        *("Annotation", "Datacenter", "Cluster", "Host", *_OS, "VM ID"),
        *("SMBIOS UUID", "VM UUID", "VI SDK Server type", "VI SDK API Version", *_SDK),
    ),
    "vCPU": (
        *(*_VM, "CPUs", "Sockets", "Cores p/s", "Max", "Overall", "Level", "Shares", "Reservation", "Entitlement"),
        *("DRS Entitlement", "Limit", "Hot Add", "Hot Remove", "Numa Hotadd Exposed", *_TAIL),
    ),
    "vMemory": (
        *(*_VM, "Size MiB", "Memory Reservation Locked To Max", "Overhead", "Max", "Consumed", "Consumed Overhead"),
        *("Private", "Shared", "Swapped", "Ballooned", "Active", "Entitlement", "DRS Entitlement", "Level", "Shares"),
        *("Reservation", "Limit", "Hot Add", *_TAIL),
    ),
    "vDisk": (
        *(*_VM, "Disk", "Disk Key", "Disk UUID", "Disk Path", "Capacity MiB", "Raw", "Disk Mode", "Sharing mode"),
        *("Thin", "Eagerly Scrub", "Split", "Write Through", "Level", "Shares", "Reservation", "Limit", "Controller"),
        *("Label", "SCSI Unit #", "Unit #", "Shared Bus", "Raw LUN ID", "Raw Comp. Mode", *_TAIL),
    ),
    "vHost": (
        *(*_PLACE, "Config status", "Compliance Check State", "in Maintenance Mode", "in Quarantine Mode"),
        *("vSAN Fault Domain Name", "CPU Model", "Speed", "HT Available", "HT Active", "# CPU", "Cores per CPU"),
        *("# Cores", "CPU usage %", "# Memory", "Memory Tiering Type", "Memory usage %", "Console", "# NICs", "# HBAs"),
        *("# VMs total", "# VMs", "VMs per Core", "# vCPUs", "vCPUs per Core", "vRAM", "VM Used memory"),
        *("VM Memory Swapped", "VM Memory Ballooned", "VMotion support", "Storage VMotion support", "Current EVC"),
        *("Max EVC", "Assigned License(s)", "ATS Heartbeat", "ATS Locking", "Current CPU power man. policy"),
        *("Supported CPU power man.", "Host Power Policy", "ESX Version", "Boot time", "NTPD running", "Time Zone"),
        *("Vendor", "Model", "Serial number", "BIOS Version", "Object ID", "UUID", *_SDK),
    ),
    "vPartition": (*_VM, "Disk Key", "Disk", "Capacity MiB", "Consumed MiB", "Free MiB", "Free %", *_TAIL),
    "vSnapshot": (
        *("VM", "Powerstate", "Name", "Description", "Date / time", "Filename", "Size MiB (vmsn)"),
        *("Size MiB (total)", "Quiesced", "State", *_TAIL),
    ),
    "vNetwork": (
        *(*_VM, "NIC label", "Adapter", "Network", "Switch", "Connected", "Starts Connected", "Mac Address", "Type"),
        *("IPv4 Address", "IPv6 Address", "Direct Path IO", *_TAIL),
    ),
    "vUSB": (
        *(*_VM, "Device Node", "Device type", "Connected", "Family", "Speed", "EHCI enabled", "Auto connect"),
        *("Bus number", "Unit number", *_TAIL),
    ),
    "vCD": (*_VM, "Device Node", "Connected", "Starts Connected", "Device Type", *_TAIL),
    "vPort": (*_PLACE, "Port Group", "Switch", "VLAN", "Promiscuous Mode", "Mac Changes", "Forged Transmits", *_SDK),
    "dvPort": ("Port", "Switch", "Type", "# Ports", "VLAN", "Speed", "Full Duplex", "Blocked", *_SDK),
    "vTools": (*_VM, "VM Version", "Tools", "Tools Version", "Required Version", "Upgradeable", *_TAIL),
    "vSource": (
        *("Name", "OS type", "API type", "API version", "Version", "Patch level", "Build", "Fullname"),
        *("Product name", "Product version", "Product line", "Vendor", *_SDK),
    ),
    "vRP": (
        *("Resource Pool name", "Resource Pool path", "Status", "# VMs total", "# VMs", "# vCPUs", "CPU limit"),
        *("CPU reservation", "CPU level", "CPU shares", "Mem Configured", "Mem limit", *_SDK),
    ),
    "vCluster": (
        *("Name", "Config status", "OverallStatus", "NumHosts", "numEffectiveHosts", "TotalCpu", "NumCpuCores"),
        *("NumCpuThreads", "Effective Cpu", "TotalMemory", "Effective Memory", "Num VMotions", "HA enabled"),
        *("Failover Level", "AdmissionControlEnabled", "Host monitoring", "HB Datastore Candidate Policy"),
        *("Isolation Response", "Restart Priority", "Cluster Settings", "Max Failures", "Max Failure Window"),
        *("Failure Interval", "Min Up Time", "VM Monitoring", "DRS enabled", "DRS default VM behavior"),
        *("DRS vmotion rate", "DPM enabled", "DPM default behavior", "DPM Host Power Action Rate", "Object ID", *_SDK),
    ),
    "vDatastore": (
        *("Name", "Config status", "Address", "Accessible", "Type", "# VMs total", "# VMs", "Capacity MiB"),
        *("Provisioned MiB", "In Use MiB", "Free MiB", "Free %", "SIOC enabled", "SIOC Threshold", "# Hosts", "Hosts"),
        *("Cluster name", "Cluster capacity MiB", "Cluster free space MiB", "Block size", "Version", "URL"),
        *("Object ID", *_SDK),
    ),
    "vMultiPath": (
        *(*_PLACE, "Datastore", "Disk", "Display name", "Policy", "Oper. State"),
        *(f"Path {number}{state}" for number in range(1, 9) for state in ("", " state")),
        *("vStorage", "Queue depth", "Vendor", "Model", "Revision", "Level", "Serial #", "UUID", "Object ID", *_SDK),
    ),
    "vNIC": (*_PLACE, "Network Device", "Driver", "Speed", "Duplex", "MAC", "Switch", *_SDK),
    "vLicense": ("Name", "Key", "Labels", "Cost Unit", "Total", "Used", "Expiration Date", "Features", *_SDK),
    "vHealth": ("Name", "Message", "Message type", *_SDK),
    "vMetaData": ("RVTools major version", "RVTools version", "xlsx creation datetime", "Server"),
}
ODD_NAMES = (
    *("=cmd|' /C calc'!A0", "+1+2", "@SUM(A1)", "<script>alert(1)</script>", "<b>bold</b> & Co", "база данных 1"),
    *(
        "数据库",
        "name with  two blanks",
        "no",
        "12:30",
        "1e3",
        "null",
        "-",
        "..",
        "/vm/with/slashes",
        "%2fescaped",
        "db",
    ),
    *("db", "db-1", "DB", "ü" * 80, "a" * 80, '"quoted"', "it's", "{{7*7}}", "\u202eright to left", "👻", "4711"),
)
"""Names that machines can have, some of which other programs would run, show or read as something else."""

Tabs = dict[str, list[dict[str, Any]]]


def export(hosts: int = 34, vms: int = 800, disks: int = 2_000, seed: int = 1) -> Tabs:
    """The tabs of an export, as rows by column; `vms` are on, and an eighth as many are not."""
    draw = random.Random(seed)
    made: Tabs = {tab: [] for tab in HEADERS}
    tail = {"VI SDK Server": "vc1.example.com", "Datacenter": "DC 1"}
    sizes = []
    for number in range(hosts):
        old = number % 3 == 0
        cores = 12 if old else 20
        sizes.append(cores)
        made["vHost"].append(
            {
                **{"Host": f"esx{number + 1:02}.example.com", **tail, "Cluster": "old" if old else "new"},
                **{"in Maintenance Mode": "False", "HT Active": "True", "# CPU": 2, "Cores per CPU": cores},
                **{"# Cores": 2 * cores, "CPU usage %": draw.randrange(5, 60), "# Memory": 524_174, "# VMs": 24},
                **{"Speed": 2_497 if old else 2_095, "Boot time": "2025/03/01 12:00:00"},
                "CPU Model": f"Intel(R) Xeon(R) CPU {'E5-2680 v3 @ 2.50' if old else 'Gold 6230 @ 2.10'}GHz",
                "ESX Version": f"VMware ESXi {'6.7.0 build-17700523' if old else '7.0.3 build-21930508'}",
            }
        )
    for number in range(vms + vms // 8):
        host = draw.randrange(hosts)
        clock = made["vHost"][host]["Speed"]
        name = (
            ODD_NAMES[number] if number < len(ODD_NAMES) else f"srv-{number:04} ({draw.choice(['app', 'db', 'web'])})"
        )
        vcpus = draw.choices((1, 2, 4, 6, 8, 12, 16, 24), (15, 30, 25, 5, 12, 6, 4, 3))[0]
        on = number < vms
        if on and len(ODD_NAMES) <= number < len(ODD_NAMES) + hosts:  # one appliance on each host
            host = number - len(ODD_NAMES)
            name, vcpus = f"NTNX-17SM{host:04}-A-CVM", 8
        memory = vcpus * draw.choice((2, 4, 8)) * 1_024
        common = {
            **{"VM": name, "Powerstate": "poweredOn" if on else "poweredOff", **tail, "VM ID": f"vm-{number}"},
            **{"Template": "True" if not on and number % 7 == 0 else "False", "SRM Placeholder": "False"},
            **{"Host": made["vHost"][host]["Host"], "Cluster": made["vHost"][host]["Cluster"]},
            "VM UUID": f"500b85c1-ef0d-37fb-6897-{number:012x}",
            "Annotation": "line one\nline two, with a comma; and a semicolon" if number % 50 == 0 else None,
        }
        busy = draw.betavariate(0.7, 9)
        shares = {"Level": "normal", "Shares": vcpus * 1_000}
        if number % 40 == 3:
            shares = draw.choice(({"Level": "high", "Shares": vcpus * 2_000}, {"Level": "custom", "Shares": 3_000}))
        made["vInfo"].append(
            {
                **common,
                **{"CPUs": vcpus, "Memory": memory, "Connection state": "connected", "Disks": 1},
                "VI SDK Server type": "VMware vCenter Server 7.0.3 build-24322018",
                "OS according to the configuration file": "Red Hat Enterprise Linux 8 (64-bit)",
            }
        )
        made["vCPU"].append(
            {
                **common,
                **{"CPUs": vcpus, "Sockets": vcpus // draw.choice([c for c in (1, 2, 4) if vcpus % c == 0])},
                **{"Max": vcpus * clock, "Overall": round(busy * vcpus * clock) if on else 0, **shares},
                **{"Reservation": 500 if number % 60 == 5 else 0, "Limit": vcpus * 1_500 if number % 90 == 7 else -1},
                **{"Hot Add": "True" if number % 25 == 9 else "False"},
            }
        )
        made["vCPU"][-1]["Cores p/s"] = vcpus // made["vCPU"][-1]["Sockets"]
        made["vMemory"].append({**common, "Size MiB": memory, "Limit": -1, "Reservation": 0})
    for number in range(disks):
        of = made["vInfo"][number % len(made["vInfo"])]
        made["vDisk"].append(
            {
                **{column: of.get(column) for column in ("VM", "Powerstate", "Template", "Host", "VM UUID", "VM ID")},
                **{"Disk": f"Hard disk {number // len(made['vInfo']) + 1}", "Capacity MiB": 40_960},
                **{"Controller": draw.choice(("VMware paravirtual SCSI", "LSI Logic SAS", "IDE 0"))},
                **{"Label": "SCSI controller 0", "Disk Path": f"[ds {number % 9}] vm/vm.vmdk"},
            }
        )
    for number in range(9):
        hosts_of = ", ".join(row["Host"] for row in made["vHost"])
        size = {"Capacity MiB": 20_971_520, "Free MiB": 1_000_000, "Hosts": hosts_of}
        made["vDatastore"].append({"Name": f"ds {number}", "Type": "VMFS", **size})
    made["vRP"].append({"Resource Pool name": "Resources", "CPU limit": -1, "CPU level": "normal"})
    return made


def write_xlsx(
    tabs: Tabs,
    path: Path,
    prefix: str = "",
    rename: Callable[[str, str], str] = lambda _tab, column: column,
    headers: Mapping[str, Sequence[str]] = HEADERS,
) -> Path:
    """The tabs as a workbook, in which every text is a text, whatever it begins with; columns may be renamed."""
    book = Workbook(write_only=True)
    for tab, rows in tabs.items():
        sheet = book.create_sheet(prefix + tab)
        sheet.append([rename(tab, column) for column in headers[tab]])
        for row in rows:
            sheet.append([_cell(sheet, row.get(column)) for column in headers[tab]])
    book.save(path)
    return path


def _cell(sheet: Any, value: Any) -> Any:
    if not (isinstance(value, str) and value.startswith("=")):
        return value
    cell = WriteOnlyCell(sheet, value)
    cell.data_type = "s"
    return cell


def write_csv(tabs: Tabs, folder: Path, separator: str = ",") -> Path:
    """The tabs as the folder that `ExportAll2csv` fills."""
    folder.mkdir(exist_ok=True)
    for tab, rows in tabs.items():
        with (folder / f"RVTools_tab{tab}.csv").open("w", newline="", encoding="utf-8-sig") as file:
            writer = csv.DictWriter(file, HEADERS[tab], delimiter=separator, restval="")
            writer.writeheader()
            writer.writerows(rows)
    return folder
