"""RVTools exports of a whole estate: clusters of different hosts, with what was measured in all tabs.

What the tabs say fits together: the demand of a host's VMs is its usage, their memory is what a cluster is given, and a
host whose VMs do not fit into its memory balloons and swaps.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.python.ingest.vmware.rvtools_files import HEADERS, Tabs

Row = dict[str, Any]


@dataclass(frozen=True)
class ClusterShape:
    """A cluster of equal hosts."""

    name: str
    datacenter: str
    hosts: int
    vms: int
    cpu_model: str
    sockets: int
    cores_per_socket: int
    speed_mhz: int
    memory_mib: int
    """Of a host."""
    memory_of_n1_pct: float
    """Memory configured for VMs that are on, in percent of all hosts but one; at one host of that host."""
    cpu_pct: float
    """Usage of its hosts; each has up to a fifth more or less."""
    saturated: int = 0
    """Hosts that are at 100 %, because their VMs want that much."""
    ht_active: bool = True
    power_policy: str = "static"
    current_evc: str = ""
    max_evc: str = "intel-cascadelake"
    ha: bool = True
    admission_control: bool = True
    failover_level: int = 1
    version: str = "VMware ESXi 8.0.3 build-24022510"
    vcpus: Sequence[int] = (2, 4, 4, 8)
    """Sizes of VMs, one after the other."""


MANAGEMENT = ClusterShape(
    *("Management", "Rome", 3, 18, "Intel(R) Xeon(R) Silver 4114 CPU @ 2.20GHz", 2, 10, 2_194, 261_797, 60, 18),
    max_evc="intel-broadwell",
)
GENERAL = ClusterShape(
    *("General", "Rome", 6, 96, "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", 2, 20, 2_095, 785_911, 70, 40),
    saturated=1,
    ht_active=False,
    power_policy="dynamic",
    current_evc="intel-haswell",
)
DATABASES = ClusterShape(
    *("Databases", "Milan", 4, 24, "Intel(R) Xeon(R) Gold 6244 CPU @ 3.60GHz", 2, 8, 3_591, 523_765, 117, 30),
    vcpus=(4, 8, 12, 16),
)
EDGE = ClusterShape(
    *("Edge", "Milan", 2, 12, "AMD EPYC 7302P 16-Core Processor", 1, 16, 2_994, 130_924, 75, 25),
    max_evc="amd-rome",
    ha=False,
    admission_control=False,
    failover_level=0,
    version="VMware ESXi 7.0.3 build-21930508",
    vcpus=(1, 2, 2, 4),
)
CROWDED = ClusterShape(
    *("Crowded", "Milan", 2, 20, "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", 2, 20, 2_095, 130_924, 230, 30),
    vcpus=(2, 4),
)
"""115 % of each host's memory configured: both hosts balloon and swap."""
CLUSTERS = (MANAGEMENT, GENERAL, DATABASES, EDGE)
"""Three clusters with room and one, Databases, without N+1; a saturated host in General."""


def estate(
    clusters: Sequence[ClusterShape] = CLUSTERS,
    *,
    seed: int = 1,
    host_names: str = "same",
    unmatched: float = 0.0,
    without: Collection[str] = (),
    at: str = "2026/06/01 08:00:00",
    load: float = 1.0,
) -> Tabs:
    """The tabs of an export made at `at`, in which VMs want `load` times what their cluster's hosts are used.

    `host_names`: how vInfo and the tabs of VMs spell what vHost calls `esx-general-01.rome.example.com`: `same`,
    `short` (no domain), `upper`, or `mixed` (each VM one of these). `unmatched`: part of the VMs whose host no row of
    vHost has, another in each tab. `without`: tabs that are left out. Exports of one seed have the same hosts and VMs.
    """
    made = _Estate(random.Random(seed), random.Random(f"{seed} {at}"), host_names, unmatched, load)
    for cluster in clusters:
        made.add(cluster)
    made.finish(at)
    return {tab: rows for tab, rows in made.tabs.items() if tab not in without}


def in_full(seed: int = 1) -> Tabs:
    """An estate of 34 hosts and 800 VMs that are on."""
    sizes = {"Management": (4, 80), "General": (20, 520), "Databases": (6, 60), "Edge": (4, 140)}
    grown = [
        ClusterShape(**{**vars(shape), "hosts": sizes[shape.name][0], "vms": sizes[shape.name][1]})
        for shape in CLUSTERS
    ]
    return estate(grown, seed=seed)


class _Estate:
    def __init__(
        self, draw: random.Random, measured: random.Random, host_names: str, unmatched: float, load: float
    ) -> None:
        self.tabs: Tabs = {tab: [] for tab in HEADERS}
        self.draw = draw
        """What stays from export to export."""
        self.measured = measured
        """What was measured in this one."""
        self.host_names = host_names
        self.unmatched = unmatched
        self.load = load
        self.sdk = {"VI SDK Server": "vc1.example.com", "VI SDK UUID": "0b5c9c7c-5a0f-4b8b-9d5e-1f0a2d3c4b5a"}
        self.vms = 0

    def add(self, cluster: ClusterShape) -> None:
        place = {"Datacenter": cluster.datacenter, "Cluster": cluster.name}
        domain = f"{cluster.datacenter.lower()}.example.com"
        hosts = [f"esx-{cluster.name.lower()}-{number + 1:02}.{domain}" for number in range(cluster.hosts)]
        residents: list[list[Row]] = [[] for _ in hosts]
        kept = max(cluster.hosts - 1, 1) * cluster.memory_mib * cluster.memory_of_n1_pct / 100
        sizes = [cluster.vcpus[number % len(cluster.vcpus)] for number in range(cluster.vms)]
        memory = _shared(round(kept / 1024), [vcpus * self.draw.choice((1, 2, 2, 3)) for vcpus in sizes])
        for vcpus, gib in sorted(zip(sizes, memory, strict=True), key=lambda size: -size[1]):
            emptiest = min(residents, key=lambda of: (sum(vm["memory"] for vm in of), len(of)))
            emptiest.append({"vcpus": vcpus, "memory": gib * 1024, "on": True})
        for number in range(cluster.vms // 8):  # off: one in three is a template
            residents[number % len(hosts)].append({"vcpus": 2, "memory": 4096, "on": False, "template": not number % 3})
        for number, (host, vms) in enumerate(zip(hosts, residents, strict=True)):
            self.host(cluster, host, place, vms, saturated=number < cluster.saturated)
        self.cluster(cluster, len(hosts))
        self.datastores(cluster, hosts)

    def host(self, cluster: ClusterShape, name: str, place: Row, vms: list[Row], *, saturated: bool) -> None:
        cores = cluster.sockets * cluster.cores_per_socket
        on = [vm for vm in vms if vm["on"]]
        usage = 1.0 if saturated else min(cluster.cpu_pct / 100 * self.measured.uniform(0.8, 1.2) * self.load, 1.0)
        limits = [vm["vcpus"] * cluster.speed_mhz for vm in on]
        weights = [limit * self.draw.uniform(0.2, 1.0) * self.measured.uniform(0.9, 1.1) for limit in limits]
        demands = _poured(usage * cores * cluster.speed_mhz, weights, limits)
        touched = [vm["memory"] * self.draw.uniform(0.55, 0.85) for vm in on]
        configured = sum(vm["memory"] for vm in on)
        room = 0.95 * cluster.memory_mib
        reclaims = configured > cluster.memory_mib
        if reclaims:  # guests touch nearly all they have, and the host takes back what it does not have
            touched = [0.97 * vm["memory"] for vm in on]
        given = min(room / sum(touched), 1.0) if on else 1.0
        for vm, demand, memory in zip(on, demands, touched, strict=True):
            short = memory * (1 - given)
            vm |= {"demand": round(demand), "consumed": round(memory * given), "active": round(memory * given * 0.4)}
            vm |= {"ballooned": round(short * 0.8), "swapped": round(short * 0.2)}
            vm |= {"ready": self.measured.randint(8, 20) if saturated else self.measured.choice((0, 0, 0, 1))}
        used = sum(vm["demand"] for vm in on)
        consumed = sum(vm["consumed"] for vm in on) + 0.02 * cluster.memory_mib
        self.tabs["vHost"].append(
            {
                **place,
                **self.sdk,
                **{
                    "Host": name,
                    "Config status": "green",
                    "in Maintenance Mode": "False",
                    "CPU Model": cluster.cpu_model,
                },
                **{"Speed": cluster.speed_mhz, "HT Available": "True", "HT Active": str(cluster.ht_active)},
                **{"# CPU": cluster.sockets, "Cores per CPU": cluster.cores_per_socket, "# Cores": cores},
                **{"CPU usage %": round(100 * used / (cores * cluster.speed_mhz)), "# Memory": cluster.memory_mib},
                **{"Memory usage %": round(100 * consumed / cluster.memory_mib), "Memory Tiering Type": "noTiering"},
                **{"# VMs total": len(vms), "# VMs": len(on), "# vCPUs": sum(vm["vcpus"] for vm in on)},
                **{"vRAM": configured, "VM Used memory": sum(vm["active"] for vm in on), "Console": 0},
                **{"VM Memory Swapped": sum(vm["swapped"] for vm in on)},
                **{"VM Memory Ballooned": sum(vm["ballooned"] for vm in on)},
                **{"Current EVC": cluster.current_evc, "Max EVC": cluster.max_evc, "ESX Version": cluster.version},
                **{"Host Power Policy": cluster.power_policy, "Supported CPU power man.": "ACPI C-states"},
                "Current CPU power man. policy": {"static": "High Performance", "dynamic": "Balanced"}.get(
                    cluster.power_policy, cluster.power_policy
                ),
                "Assigned License(s)": "vSphere 8 Enterprise Plus",
                **{"Vendor": "HPE", "Model": "ProLiant DL380 Gen10", "Object ID": f"host-{len(self.tabs['vHost'])}"},
            }
        )
        self.tabs["vNIC"].append({"Host": name, **place, "Network Device": "vmnic0", "Speed": 10_000, **self.sdk})
        for vm in vms:
            self.vm(cluster, name, place, vm)

    def vm(self, cluster: ClusterShape, host: str, place: Row, vm: Row) -> None:
        number, self.vms = self.vms, self.vms + 1
        on, vcpus, memory = vm["on"], vm["vcpus"], vm["memory"]
        stranger = self.draw.random() < self.unmatched
        common = {
            **{"VM": f"{cluster.name.lower()}-app-{number:04}", "Powerstate": "poweredOn" if on else "poweredOff"},
            **{"Template": str(vm.get("template", False)), "SRM Placeholder": "False", **place, **self.sdk},
            **{"VM ID": f"vm-{number + 1000}", "VM UUID": f"500b85c1-ef0d-37fb-6897-{number:012x}"},
            "OS according to the configuration file": "Red Hat Enterprise Linux 9 (64-bit)",
        }

        def of() -> Row:
            """The VM's columns in a tab."""
            return {**common, "Host": self.stranger() if stranger else self.spelt(host, number)}

        disk = 40_960 + 1_024 * (number % 100)
        self.tabs["vInfo"].append(
            {
                **of(),
                **{"Connection state": "connected", "CPUs": vcpus, "Memory": memory, "Disks": 1, "NICs": 1},
                **{"Overall Cpu Readiness": vm.get("ready"), "Active Memory": vm.get("active", 0)},
                **{"Total disk capacity MiB": disk, "Provisioned MiB": disk + memory, "In Use MiB": disk // 2},
                **{"Unshared MiB": disk // 2, "HA Restart Priority": "medium", "Latency Sensitivity": "normal"},
                **{"VI SDK Server type": "VMware vCenter Server 8.0.3 build-24322831"},
            }
        )
        self.tabs["vCPU"].append(
            {
                **of(),
                **{"CPUs": vcpus, "Sockets": vcpus, "Cores p/s": 1, "Max": vcpus * cluster.speed_mhz if on else 0},
                **{"Overall": vm.get("demand", 0), "Level": "normal", "Shares": vcpus * 1_000, "Reservation": 0},
                **{"Limit": -1, "Hot Add": "False"},
            }
        )
        self.tabs["vMemory"].append(
            {
                **of(),
                **{"Size MiB": memory, "Max": memory if on else 0, "Consumed": vm.get("consumed", 0)},
                **{"Swapped": vm.get("swapped", 0), "Ballooned": vm.get("ballooned", 0), "Active": vm.get("active", 0)},
                **{"Shares": 10 * memory, "Level": "normal", "Reservation": 0, "Limit": -1},
            }
        )
        store = f"{cluster.name.lower()}-{number % 2 + 1}"
        self.tabs["vDisk"].append(
            {
                **of(),
                **{"Disk": "Hard disk 1", "Capacity MiB": disk, "Thin": "True", "Label": "SCSI controller 0"},
                **{"Controller": "VMware paravirtual SCSI", "Disk Path": f"[{store}] vm/vm.vmdk"},
            }
        )
        if not on:
            return
        self.tabs["vPartition"].append(
            {**of(), "Disk": "/", "Capacity MiB": disk - 100, "Consumed MiB": disk // 3, "Free MiB": disk // 3}
        )
        for age in range(2 if number % 10 == 0 else 0):
            self.tabs["vSnapshot"].append(
                {
                    **{column: value for column, value in of().items() if column in HEADERS["vSnapshot"]},
                    **{"Name": f"before update {age + 1}", "Date / time": f"2026/0{5 - age}/20 10:30:00"},
                    **{"Size MiB (vmsn)": 1, "Size MiB (total)": 2_048 + age, "Quiesced": "True"},
                }
            )

    def cluster(self, cluster: ClusterShape, hosts: int) -> None:
        cores = hosts * cluster.sockets * cluster.cores_per_socket
        self.tabs["vCluster"].append(
            {
                **self.sdk,
                **{"Name": cluster.name, "Config status": "green", "NumHosts": hosts, "numEffectiveHosts": hosts},
                **{"TotalCpu": cores * cluster.speed_mhz, "NumCpuCores": cores, "NumCpuThreads": 2 * cores},
                **{"TotalMemory": hosts * cluster.memory_mib * 2**20, "HA enabled": str(cluster.ha)},
                **{"Failover Level": cluster.failover_level, "AdmissionControlEnabled": str(cluster.admission_control)},
                **{"DRS enabled": "True", "DRS default VM behavior": "fullyAutomated", "DRS vmotion rate": 3},
                **{"Restart Priority": "medium", "Object ID": f"domain-c{len(self.tabs['vCluster']) + 8}"},
            }
        )

    def datastores(self, cluster: ClusterShape, hosts: Sequence[str]) -> None:
        for number in (1, 2):
            capacity, free = 20_971_520, 5_242_880 // number
            self.tabs["vDatastore"].append(
                {
                    **self.sdk,
                    **{"Name": f"{cluster.name.lower()}-{number}", "Type": "VMFS", "Accessible": "True"},
                    **{"Capacity MiB": capacity, "Free MiB": free, "Free %": round(100 * free / capacity)},
                    **{"Provisioned MiB": round(1.4 * (capacity - free)), "In Use MiB": capacity - free},
                    **{"# Hosts": len(hosts), "Hosts": ", ".join(hosts)},
                    **{"Cluster name": f"storage {cluster.name}", "Cluster capacity MiB": 2 * capacity},
                }
            )

    def finish(self, at: str) -> None:
        """The tabs that are about the export as a whole."""
        made = datetime.strptime(at, "%Y/%m/%d %H:%M:%S")
        licence = {"Name": "vSphere 8 Enterprise Plus", "Cost Unit": "cpuPackage", "Total": 64, "Used": 29}
        self.tabs["vLicense"].append({**licence, "Expiration Date": f"{made + timedelta(365):%Y/%m/%d}", **self.sdk})
        self.tabs["vRP"].append({"Resource Pool name": "Resources", "CPU limit": -1, "CPU level": "normal", **self.sdk})
        source = {"Name": "VMware vCenter Server", "Version": "8.0.3", "API type": "VirtualCenter"}
        self.tabs["vSource"].append({**source, "Fullname": "VMware vCenter Server 8.0.3 build-24322831", **self.sdk})
        self.tabs["vHealth"].append({"Name": "iso.vmdk", "Message": "a message", "Message type": "Storage", **self.sdk})
        meta = {"RVTools major version": "4.7", "RVTools version": "4.7.1.4", "Server": "vc1.example.com"}
        self.tabs["vMetaData"].append({**meta, "xlsx creation datetime": at})

    def spelt(self, host: str, number: int) -> str:
        """A host's name as a tab of VMs has it."""
        how = ("same", "short", "upper")[number % 3] if self.host_names == "mixed" else self.host_names
        return {"same": host, "short": host.partition(".")[0], "upper": host.upper()}[how]

    def stranger(self) -> str:
        """A host that no row of vHost has, as an export has whose addresses were made up."""
        return f"10.{self.draw.randrange(256)}.{self.draw.randrange(256)}.{self.draw.randrange(1, 255)}"


def _shared(total: int, weights: Sequence[float]) -> list[int]:
    """`total` in whole parts of at least 1 by weight."""
    at = 0.0
    ends = []
    for weight in weights:
        at += weight
        ends.append(round((total - len(weights)) * at / sum(weights)))
    return [1 + end - begin for begin, end in zip([0, *ends], ends, strict=False)]


def _poured(total: float, weights: Sequence[float], limits: Sequence[float]) -> list[float]:
    """`total` by weight, none over its limit: what one cannot take goes to the others."""
    taken = [0.0] * len(weights)
    left = min(total, sum(limits))
    while left > 1e-6 * total:
        open_ones = [number for number, limit in enumerate(limits) if taken[number] < limit]
        of = sum(weights[number] for number in open_ones)
        poured = [(number, min(left * weights[number] / of, limits[number] - taken[number])) for number in open_ones]
        for number, amount in poured:
            taken[number] += amount
        left -= sum(amount for _, amount in poured)
        if not open_ones:
            break
    return taken
