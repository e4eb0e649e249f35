"""Metrics of counters in an esxtop batch file: the table that its reader and its writer share.

A column of `esxtop -b` is named as in Windows' Performance Monitor: `\\\\host\\Object(instance)\\counter`. Only columns
in `COUNTERS` become rows; the reader skips all other columns without parsing their values.

VMware publishes the meaning of the columns on screen (%RDY, DAVG) but no list of the names in batch files. Names and
meanings are from public files, and from programs that read them:

- VMware, "Interpreting esxtop Statistics" (communities.vmware.com DOC-9279, DOC-11812, Broadcom KB 382249): meaning;
- vPivot, "Processor Utilization Calculations" (vpivot.com, 2010): names of the PCPU and CORE rows in batch files;
- github.com/akshaykalia-chd/esxtopdrillv2 `c_map.csv`, written at VMware support: Vcpu, Group Memory with its NUMA and
  balloon counters, disks, ports;
- github.com/iceiilin/elk `esxtop_parser`: Group Cpu, Group Memory and Network Port of ESXi 6;
- github.com/rach-sharp/esxtopd: Group Memory, Virtual Disk and forms of Network Port of ESXi 6.5;
- github.com/gsliu/VisualEsxtopOnline `origincsvfile.csv`: Physical Cpu and Memory of ESXi 5.5, a real file;
- "Plot Esxtop Data With gnuplot" (virtuallyhyper.com, 2013): head of a real file of ESXi 5, NFS volumes, and virtual
  disks of VMs with brackets in their names;
- github.com/mu853/esxtop2report: VSAN; github.com/cesirx/vSphere-esxtop-parser: names of vCPU worlds in 6.5.

No public file shows `Memctl MBytes`, `Numa Local MBytes`, `Numa Remote MBytes`, compressed memory, the counters of Numa
Node and VSAN's `Reads/sec`. Their names here are modelled on their neighbours (`Memctl Max MBytes`, `Numa % Local`). A
file with other names has a gap. If versions differ, the first name is the newest, which the writer uses. Case is
ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20
"""Bytes per MByte in esxtop."""
MBIT_BYTES = 1e6 / 8
"""Bytes per MBit in esxtop, for networks."""
TIME_COLUMN = "(PDH-CSV 4.0) (UTC)(0)"
"""Name of the first column. Its values are `MM/DD/YYYY HH:MM:SS` in UTC."""
TIME_FORMAT = "%m/%d/%Y %H:%M:%S"
TOTAL = "_Total"
"""Instance of Physical Cpu with the mean over all logical CPUs."""

# Objects whose columns the reader treats in a special way
PHYSICAL_CPU = "Physical Cpu"
CPU_LOAD = "Physical Cpu Load"
GROUP_CPU = "Group Cpu"
VCPU = "Vcpu"
GROUP_MEMORY = "Group Memory"
MEMORY = "Memory"
NUMA_NODE = "Numa Node"
DEVICE = "Physical Disk SCSI Device"
NFS_VOLUME = "Physical Disk NFS Volume"
ADAPTER = "Physical Disk Adapter"
PHYSICAL_DISK = "Physical Disk"
VIRTUAL_DISK = "Virtual Disk"
NETWORK_PORT = "Network Port"
VSAN = "VSAN"


@dataclass(frozen=True)
class Counter:
    """Counter of an esxtop object: `\\\\host\\Group Cpu(1234:db)\\% Ready`."""

    object: str
    """`Group Cpu`, `Vcpu`, `Physical Disk SCSI Device` ..."""
    names: tuple[str, ...]
    """Names by version, the newest first: `% Ready`."""
    metric: str
    """Key of `telemetry.METRICS`."""
    scale: float = 1.0
    """Factor from the counter's unit to the metric's."""

    @property
    def name(self) -> str:
        """The newest name, which the writer uses."""
        return self.names[0]


def _counters(object_: str, rows: str, scale: float = 1.0) -> list[Counter]:
    listed = [line.split(" = ") for line in rows.strip().splitlines()]
    return [Counter(object_, tuple(names.strip().split(" | ")), metric.strip(), scale) for names, metric in listed]


_DISK = """
    Commands/sec = iops
    Reads/sec = read_iops
    Writes/sec = write_iops
"""
_DISK_BYTES = """
    MBytes Read/sec = read_bytes_per_s
    MBytes Written/sec | MBytes Write/sec = write_bytes_per_s
"""
_GUEST_LATENCY = """
    Average Guest MilliSec/Command = latency_ms
    Average Guest MilliSec/Read = read_latency_ms
    Average Guest MilliSec/Write = write_latency_ms
"""
_LATENCY_PARTS = """
    Average Driver MilliSec/Command | Average Device MilliSec/Command = device_latency_ms
    Average Kernel MilliSec/Command = kernel_latency_ms
    Average Queue MilliSec/Command = queue_latency_ms
"""
_QUEUE = """
    Active Commands = active_commands
    Queued Commands = queued_commands
    Aborts/sec = aborts_per_s
"""

COUNTERS: tuple[Counter, ...] = (
    # `% Processor Time` is PCPU USED(%). When both threads of a core are busy, each is charged half, so the mean over
    # threads is half of the host's usage over cores: see `usage_scale`.
    *_counters(
        PHYSICAL_CPU,
        """
        % Processor Time = usage_pct
        % Util Time = utilization_pct
        % Core Util Time = core_utilization_pct
        """,
    ),
    Counter(CPU_LOAD, ("Cpu Load (1 Minute Avg)",), "cpu_load_1min"),
    # a VM: sums over its worlds. `% Ready` and `% Wait` of a group include its helper worlds, most of which wait all
    # the time, so a VM's are summed over its vCPUs; `% Idle` and `% VmWait` only count vCPUs, and show how many there
    # are where a file has no worlds
    *_counters(
        GROUP_CPU,
        """
        % Used = used_sum_pct
        % Run = run_sum_pct
        % System = system_pct
        % Ready = ready_sum_pct
        % Overlap = overlap_sum_pct
        % CoStop | % Co-Stop = costop_sum_pct
        % Max Limited = limited_sum_pct
        % Swap Wait = swap_wait_sum_pct
        % Idle = idle_sum_pct
        % VmWait = vm_wait_sum_pct
        % CPU Latency = cpu_latency_pct
        """,
    ),
    *_counters(
        VCPU,
        """
        % Used = used_sum_pct
        % Run = run_sum_pct
        % Ready = ready_sum_pct
        % CoStop | % Co-Stop = costop_sum_pct
        % Max Limited = limited_sum_pct
        % Wait = wait_sum_pct
        % Idle = idle_sum_pct
        """,
    ),
    *_counters(
        GROUP_MEMORY,
        """
        Memory Size MBytes = memory_bytes
        Memory Consumed Size MBytes | Consumed MBytes = memory_used_bytes
        Touched MBytes = memory_active_bytes
        Memctl MBytes | Memctl Current MBytes = ballooned_bytes
        Swapped MBytes | Swap Used MBytes | Swap Current MBytes = swapped_bytes
        Compressed Memory MBytes | Compressed MBytes = compressed_bytes
        Swap Read MBytes/sec | Swap MBytes Read/sec = swap_in_bytes_per_s
        Swap Written MBytes/sec | Swap MBytes Write/sec = swap_out_bytes_per_s
        Numa Local MBytes | Numa Local Memory MBytes = numa_local_bytes
        Numa Remote MBytes | Numa Remote Memory MBytes = numa_remote_bytes
        """,
        MIB,
    ),
    *_counters(
        GROUP_MEMORY,
        """
        Numa % Local = numa_local_pct
        Numa Rebalance Count Delta | Numa Migrations = numa_migrations
        """,
    ),
    *_counters(
        MEMORY,
        """
        Machine MBytes | Physical MBytes | Total MBytes = memory_bytes
        Free MBytes = memory_free_bytes
        Memctl Current MBytes | Memctl MBytes = ballooned_bytes
        Swap Used MBytes | Swap Current MBytes = swapped_bytes
        Total Compressed MBytes | Compressed MBytes = compressed_bytes
        Swap MBytes Read/sec | Swap Read MBytes/sec = swap_in_bytes_per_s
        Swap MBytes Write/sec | Swap Written MBytes/sec = swap_out_bytes_per_s
        """,
        MIB,
    ),
    Counter(MEMORY, ("Memory Overcommit (1 Minute Avg)",), "memory_overcommit_pct", 100.0),
    Counter(MEMORY, ("Kernel State",), "memory_state"),
    *_counters(
        NUMA_NODE,
        """
        Total MBytes | Node Total MBytes | MBytes Total = memory_bytes
        Free MBytes | Node Free MBytes | MBytes Free = memory_free_bytes
        """,
        MIB,
    ),
    *_counters(DEVICE, _DISK + _GUEST_LATENCY.strip("\n") + _LATENCY_PARTS + _QUEUE.strip("\n")),
    *_counters(DEVICE, "Device Q Depth | Queue Depth = queue_depth\n% Used = queue_used_pct"),
    *_counters(DEVICE, _DISK_BYTES, MIB),
    *_counters(NFS_VOLUME, _DISK + _GUEST_LATENCY.strip("\n") + "\nActive Commands = active_commands"),
    *_counters(NFS_VOLUME, _DISK_BYTES, MIB),
    *_counters(ADAPTER, _DISK + "Average Guest MilliSec/Command = latency_ms" + _LATENCY_PARTS + _QUEUE.strip("\n")),
    *_counters(ADAPTER, _DISK_BYTES, MIB),
    *_counters(ADAPTER, "Adapter Q Depth = queue_depth"),
    # an adapter's queue depth has kept the old name of its object: `Physical Disk(vmhba2)\\Adapter Q Depth`
    *_counters(PHYSICAL_DISK, "Adapter Q Depth = queue_depth"),
    *_counters(VIRTUAL_DISK, _DISK),
    *_counters(VIRTUAL_DISK, _DISK_BYTES, MIB),
    *_counters(
        VIRTUAL_DISK,
        """
        Average MilliSec/Read = read_latency_ms
        Average MilliSec/Write = write_latency_ms
        """,
    ),
    *_counters(
        NETWORK_PORT,
        """
        MBits Received/sec = network_rx_bytes_per_s
        MBits Transmitted/sec = network_tx_bytes_per_s
        """,
        MBIT_BYTES,
    ),
    *_counters(
        VSAN,
        """
        Reads/sec = read_iops
        Writes/sec = write_iops
        Avg Read Latency in ms = read_latency_ms
        Avg Write Latency in ms = write_latency_ms
        """,
    ),
)
"""Every counter that the reader uses. The writer writes those that the twin knows."""

BY_NAME = {(counter.object.lower(), name.lower()): counter for counter in COUNTERS for name in counter.names}
"""Counters by object and name in lower case, each under all of its names."""
BY_METRIC = {(counter.object, counter.metric): counter for counter in COUNTERS}
"""Counter to write for an object and a metric."""


def usage_scale(threads: int, cores: int) -> float:
    """Return factor from the mean of `% Processor Time` over logical CPUs to the host's usage over its cores.

    Source: vPivot (above): two busy threads of a core show 50 % each. The writer divides by the factor. A file does not
    give the number of cores. If it has `% Core Util Time`, cores have two threads, otherwise threads are cores.
    """
    return threads / cores


def column(host: str, counter: Counter, instance: str = "") -> str:
    """Return the name of a column: `\\\\esx1\\Group Cpu(1234:db)\\% Ready`."""
    object_ = f"{counter.object}({instance})" if instance else counter.object
    return f"\\\\{host}\\{object_}\\{counter.name}"


def group_instance(group_id: int, name: str) -> str:
    """Return the instance of Group Cpu and Group Memory: a VM or a system group."""
    return f"{group_id}:{name}"


def vcpu_instance(group_id: int, name: str, world_id: int, vcpu: int) -> str:
    """Return the instance of Vcpu for a VM's vCPU, as ESXi 6.5 and later name its world."""
    return f"{group_id}:{name}:{world_id}:vmx-vcpu-{vcpu}:{name}"


def disk_instance(vm: str, disk: str = "") -> str:
    """Return the instance of Virtual Disk: `db:scsi0:0`, or the VM itself for the sum over its disks."""
    return f"{vm}:{disk}" if disk else vm
