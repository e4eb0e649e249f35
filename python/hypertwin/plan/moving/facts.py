"""Where an administrator finds a fact that the source lacks: the column of RVTools, or a command.

The commands are those of PowerCLI, with `VM` for the name of the VM.
"""

from __future__ import annotations

from collections.abc import Mapping

WHERE: Mapping[str, str] = {
    "guest_os": "RVTools vInfo, OS according to the configuration file",
    "firmware": "RVTools vInfo, Firmware",
    "secure_boot": "RVTools vInfo, EFI Secure boot",
    "tpm": "PowerCLI: Get-VTpm -VM VM",
    "hardware_version": "RVTools vInfo, HW version",
    "tools": "RVTools vTools, Tools",
    "host_name": "RVTools vInfo, DNS Name",
    "has_ip": "RVTools vInfo, Primary IP Address",
    "hot_add_memory": "RVTools vMemory, Hot Add",
    "numa_affinity": "PowerCLI: (Get-VM VM).ExtensionData.Config.MemoryAffinity",
    "cpu_affinity": "PowerCLI: (Get-VM VM).ExtensionData.Config.CpuAffinity",
    "changed_block_tracking": "RVTools vInfo, CBT",
    "consolidation_needed": "RVTools vInfo, Consolidation Needed",
    "fault_tolerance": "RVTools vInfo, FT State",
    "disk_uuid": "RVTools vInfo, EnableUUID",
    "cds_connected": "RVTools vCD, Connected",
    "usb_devices": "RVTools vUSB",
    "passthrough_devices": "PowerCLI: Get-PassthroughDevice -VM VM",
    "secret_in_notes": "RVTools vInfo, Annotation",
    "snapshots": "RVTools vSnapshot",
    "disks": "RVTools vDisk",
    "disks.capacity": "RVTools vDisk, Capacity MiB",
    "disks.controller": "RVTools vDisk, Controller",
    "disks.mode": "RVTools vDisk, Disk Mode",
    "disks.raw": "RVTools vDisk, Raw and Raw Comp. Mode",
    "disks.shared": "RVTools vDisk, Shared Bus and Sharing mode",
    "disks.thin": "RVTools vDisk, Thin",
    "disks.path": "RVTools vDisk, Path",
    "datastores": "RVTools vDatastore, Type",
    "networks": "RVTools vNetwork",
    "networks.adapter": "RVTools vNetwork, Adapter",
    "networks.vlan": "RVTools dvPort and vPort, VLAN",
    "partitions": "RVTools vPartition, Free MiB",
    "rules": "PowerCLI: Get-DrsVMHostRule -Cluster CLUSTER",
    "drs": "RVTools vCluster, DRS enabled",
    "dpm": "RVTools vCluster, DPM enabled",
    "target": "the hosts of the target: --target FILE",
}
"""Place of each fact, by its name."""
