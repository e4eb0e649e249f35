"""Fields of answers of Proxmox VE, by path with `*` for names: as published, and as its source has them.

`PUBLISHED` has the `returns` of the API viewer (github.com/proxmox/pve-docs, api-viewer/apidata.js of commit a8736b6,
pve-docs 9.1.3). Nested fields have the path to them, `[n]` is a number.

`LOOSE` has what the viewer leaves open, or does not list, as the code returns it:

| path | source |
|---|---|
| `cluster/resources`, `nodes/*/status` | pve-manager 9.2.11: PVE/API2/Cluster.pm, PVE/API2Tools.pm, PVE/API2/Nodes.pm |
| `cpuinfo` | pve-common 9.2.1: src/PVE/ProcFSTools.pm, `read_cpuinfo` |
| `status/current` | `vmstatus` of qemu-server 9.2.6 (src/PVE/QemuServer.pm) and pve-container 6.1.10 (src/PVE/LXC.pm) |
| `snapshot` | qemu-server 9.2.6: src/PVE/API2/Qemu.pm, `snapshot_list` |
| `rrddata` | pve-cluster 9.1.6: src/pmxcfs/status.c, `rrd_def_node_pve9_0`, `rrd_def_vm_pve9_0`; src/PVE/RRD.pm |
| `cluster/ha` | pve-ha-manager 5.2.0: src/PVE/API2/HA/Resources.pm and Rules.pm, src/PVE/HA/Groups.pm |
| `storage` | pve-storage 9.1.7: src/PVE/API2/Storage/Config.pm, src/PVE/Storage/RBDPlugin.pm and DirPlugin.pm |
| `ceph` | pve-manager 9.2.11: PVE/API2/Ceph/OSD.pm and Pool.pm, PVE/API2/Cluster/Ceph.pm, PVE/Ceph/Tools.pm |
"""

from __future__ import annotations

import re
from collections.abc import Mapping

PUBLISHED: Mapping[str, str] = {
    "cluster/resources": """
        cgroup-mode content cpu disk diskread diskwrite hastate id level lock maxcpu maxdisk maxmem mem memhost
        name netin netout network network-type node plugintype pool protocol sdn shared status storage tags
        template type uptime vmid zone-type
    """,
    "cluster/status": """
        id ip level local name nodeid nodes online quorate type version
    """,
    "nodes/*/status": """
        boot-info boot-info.mode boot-info.secureboot cpu cpuinfo cpuinfo.cores cpuinfo.cpus cpuinfo.model
        cpuinfo.sockets current-kernel current-kernel.machine current-kernel.release current-kernel.sysname
        current-kernel.version loadavg memory memory.available memory.free memory.total memory.used pveversion
        rootfs rootfs.avail rootfs.free rootfs.total rootfs.used
    """,
    "nodes/*/qemu/*/config": """
        acpi affinity agent allow-ksm amd-sev arch args audio0 autostart balloon bios boot bootdisk cdrom
        cicustom cipassword citype ciupgrade ciuser cores cpu cpulimit cpuunits description digest efidisk0
        freeze hookscript hostpci[n] hotplug hugepages ide[n] intel-tdx ipconfig[n] ivshmem keephugepages
        keyboard kvm localtime lock machine memory meta migrate_downtime migrate_speed name nameserver net[n]
        numa numa[n] onboot ostype parallel[n] parent protection reboot rng0 running-nets-host-mtu runningcpu
        runningmachine sata[n] scsi[n] scsihw searchdomain serial[n] shares smbios1 smp snaptime sockets
        spice_enhancements sshkeys startdate startup tablet tags tdf template tpmstate0 unused[n] usb[n] vcpus
        vga virtio[n] virtiofs[n] vmgenid vmstate vmstatestorage watchdog
    """,
    "nodes/*/lxc/*/config": """
        arch cmode console cores cpulimit cpuunits debug description dev[n] digest entrypoint env features
        hookscript hostname lock lxc memory mp[n] nameserver net[n] onboot ostype protection rootfs searchdomain
        startup swap tags template timezone tty unprivileged unused[n]
    """,
    "nodes/*/qemu/*/status/current": """
        agent clipboard cpu cpus diskread diskwrite ha lock maxdisk maxmem mem memhost name netin netout pid
        pressurecpufull pressurecpusome pressureiofull pressureiosome pressurememoryfull pressurememorysome
        qmpstatus running-machine running-qemu serial spice status tags template uptime vmid
    """,
    "nodes/*/lxc/*/status/current": """
        cpu cpus disk diskread diskwrite ha lock maxdisk maxmem maxswap mem name netin netout pressurecpusome
        pressureiofull pressureiosome pressurememoryfull pressurememorysome status tags template uptime vmid
    """,
    "nodes/*/qemu/*/snapshot": """
        description name parent snaptime vmstate
    """,
    "nodes/*/lxc/*/snapshot": """
        description name parent snaptime
    """,
    "nodes/*/ceph/pool": """
        application_metadata autoscale_status bytes_used crush_rule crush_rule_name min_size percent_used
        pg_autoscale_mode pg_num pg_num_final pg_num_min pool pool_name size target_size target_size_ratio type
    """,
    "cluster/ceph/flags": """
        description name value
    """,
}

LOOSE: Mapping[str, str] = {
    "cluster/resources": """
        host-arch
    """,
    "nodes/*/status": """
        uptime idle wait kversion ksm ksm.shared swap swap.free swap.total swap.used cpuinfo.user_hz
        cpuinfo.vendor cpuinfo.family cpuinfo.mhz cpuinfo.flags cpuinfo.hvm
    """,
    "nodes/*/qemu/*/status/current": """
        balloon balloon_min shares freemem disk netin netout ballooninfo nics blockstat proxmox-support
    """,
    "nodes/*/lxc/*/status/current": """
        swap netin netout pressurecpufull
    """,
    "nodes/*/qemu/*/snapshot": """
        digest running snapstate
    """,
    "nodes/*/lxc/*/snapshot": """
        digest running snapstate
    """,
    "nodes/*/ceph/pool": """
        application_metadata.* autoscale_status.*
    """,
    "nodes/*/rrddata": """
        time loadavg maxcpu cpu iowait memtotal memused swaptotal swapused roottotal rootused netin netout
        memavailable arcsize pressurecpusome pressureiosome pressureiofull pressurememorysome pressurememoryfull
    """,
    "nodes/*/qemu/*/rrddata": """
        time maxcpu cpu maxmem mem maxdisk disk netin netout diskread diskwrite memhost pressurecpusome
        pressurecpufull pressureiosome pressureiofull pressurememorysome pressurememoryfull
    """,
    "nodes/*/lxc/*/rrddata": """
        time maxcpu cpu maxmem mem maxdisk disk netin netout diskread diskwrite memhost pressurecpusome
        pressurecpufull pressureiosome pressureiofull pressurememorysome pressurememoryfull
    """,
    "cluster/ha/resources": """
        sid digest type state failback auto-rebalance group max_restart max_relocate comment errors
    """,
    "cluster/ha/rules": """
        rule type nodes resources strict affinity disable comment digest order errors
    """,
    "cluster/ha/groups": """
        group type nodes restricted nofailback comment digest
    """,
    "storage": """
        storage type content nodes disable digest shared path monhost pool data-pool namespace username
        authsupported krbd keyring bwlimit
    """,
    "nodes/*/ceph/osd": """
        flags root root.id root.name root.type root.status root.crush_weight root.reweight root.device_class
        root.pgs root.in root.total_space root.bytes_used root.percent_used root.commit_latency_ms
        root.apply_latency_ms root.osdtype root.blfsdev root.dbdev root.waldev root.ceph_version
        root.ceph_version_short root.children root.leaf root.host root.version
    """,
    "cluster/ceph/status": """
        fsid health health.status health.checks health.checks.* health.summary monmap mgrmap osdmap
        osdmap.num_osds pgmap quorum_names
    """,
    "cluster/ceph/metadata": """
        osd osd.id osd.hostname osd.devices osd.device_ids osd.device_paths osd.osd_objectstore osd.osd_data
        osd.front_addr osd.back_addr osd.ceph_version osd.ceph_version_short osd.ceph_release osd.mem_total_kb
        osd.mem_swap_kb node mon mgr mds
    """,
}


def template(path: str) -> str:
    """The path of an answer with `*` for the names of nodes and the numbers of guests."""
    bare = path.strip("/").partition("?")[0]
    return re.sub("(?<=/(?:qemu)/)[0-9]+|(?<=/(?:lxc)/)[0-9]+", "*", re.sub("^nodes/[^/]+", "nodes/*", bare))


def pattern(path: str) -> re.Pattern[str]:
    """An expression for the fields of the answers to a path, as `template` returns it."""
    names = f"{PUBLISHED.get(path, '')} {LOOSE.get(path, '')}".split()
    quoted = [re.escape(name).replace(r"\[n\]", "[0-9]{1,2}").replace(r"\*", "[^.]+") for name in names]
    return re.compile("|".join(quoted))
