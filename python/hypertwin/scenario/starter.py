"""Commented starter scenario that can be simulated and explains the main keys.

A line that begins with `#` and no space is a disabled key. Without the `#`, the scenario is valid too.
"""

from __future__ import annotations

import enum
import re

from hypertwin import language
from hypertwin.files import yaml_file


class Storage(enum.StrEnum):
    """Storage of the virtual disks."""

    none = "none"
    """No simulated storage: I/O is a delay of the workload."""
    array = "array"
    pool = "pool"


MOST_HOSTS = 100
"""Maximum number of hosts of a starter, which simulates in seconds. The largest cluster of vSphere has 96 hosts."""


def newest() -> dict[str, str]:
    """Return the newest hypervisor of each family, by its product in lower case."""
    return {each.product.lower(): each.name for each in language.hypervisors().values() if each.virtualises}


def hypervisor(name: str) -> str | None:
    """Return the hypervisor of this name, or the newest of a product; None if no hypervisor for VMs has the name."""
    known = {each.name: each.name for each in language.hypervisors().values() if each.virtualises}
    return (known | newest()).get(name)


def scenario_name(stem: str) -> str:
    """Return the scenario name for a file name, as YAML, without characters that scenario names cannot have."""
    name = re.sub(r"^[^A-Za-z0-9]+", "", re.sub(r"[^A-Za-z0-9_.-]+", "-", stem))[:64] or "cluster"
    return name if isinstance(yaml_file.scalar(name), str) else f'"{name}"'


def text(hypervisor: str, hosts: int, storage: Storage, name: str, file: str) -> str:
    """Return the scenario. `hypervisor` is a name as in scenarios. The comments name `file`."""
    facts = language.hypervisors()[hypervisor]
    is_esxi, system = facts.family == "esxi", facts.product
    first = _names("host", hosts).partition(" ")[0]
    disks = {"none": "", "array": _DISKS.format("array: san"), "pool": _DISKS.format("storage: pool")}[storage]
    parts = [
        _HEAD.format(name=name, file=file, hosts=hosts, plural="" if hosts == 1 else "s", system=system),
        _CLUSTERS.format(policy=_RESTARTS[is_esxi]) if hosts > 1 else "",
        _HOSTS.format(hosts=hosts, names=_names("host", hosts), hypervisor=hypervisor),
        _PORTS[storage],
        _VMS.format(
            dbs=hosts,
            names=_names("db", hosts),
            webs=3 * hosts,
            first=first,
            disks=disks,
            reservation=_RESERVATION if facts.reservations else "",
            shares="" if is_esxi else _SHARES,
        ),
        _WORKLOADS.format(delay=_DELAY["simulated" if disks else "not simulated"]),
    ]
    if storage is Storage.array:
        parts.append(_ARRAY.format(ports=max(4, hosts), disks=8 + 4 * hosts))
    if storage is Storage.pool:
        parts.append(_pool(is_esxi, hosts, first))
    return "".join(parts)


def _names(group: str, count: int) -> str:
    return group if count == 1 else f"{group}-1 to {group}-{count}"


def _pool(is_esxi: bool, hosts: int, first: str) -> str:
    redundancy = _COPIES[3 if hosts >= 3 and not is_esxi else 2]
    if hosts >= 5:
        redundancy += "; or ec-3+2, three data and two parity fragments"
    return _POOL.format(
        kind=_KINDS["ESXi" if is_esxi else "KVM"],
        redundancy=redundancy,
        domain=_DOMAINS["disk" if hosts == 1 else "host"],
        stored=hosts,
        delay=_DELAYS["ESXi" if is_esxi else "KVM"],
        first=first,
    )


_HEAD = """\
# {hosts} {system} host{plural} with databases and web servers: a starter scenario. Change it and see the effect:
#   hypertwin simulate {file} --report report.html
#   hypertwin simulate {file} --sweep vms.db.load=1,2,4
#   hypertwin density {file} --vm web --slo 'hosts.*.usage_pct<80'
# `hypertwin schema` lists every key. A line with # and no space after it is a disabled key: remove the #.
name: {name}
description: Databases and web servers on {system}.
run:
  duration: auto # measured until the run settles; or a time such as 60 s
  warmup: auto # simulated first, not measured
  #sample_interval: 1 s # resolution of charts over time
  replications: 3 # independent runs, for the ± of every figure
  #seed: 7 # other random numbers
"""

_RESTARTS = {True: "fdm", False: "proxmox"}
"""HA type of hosts, by True for ESXi."""

_CLUSTERS = """\
clusters:
  default: {{ ha: {{ policy: {policy} }} }} # HA type; without it, VMs of a failed host stay down
"""

_HOSTS = """\
hosts: # groups of identical hosts
  host:
    count: {hosts} # {names}
    sockets: 2 # each is a NUMA node
    cores_per_socket: 8
    threads_per_core: 2 # 1 with hyper-threading off
    clock: 2.6 GHz
    #turbo: 3.1 GHz # with all cores busy
    memory_per_node: 128 GiB
    hypervisor: {hypervisor}
"""

_PORTS = {
    "none": "",
    "array": "    adapters: { ports: 2, bandwidth: 1600 MB/s } # two ports of 16 Gb Fibre Channel\n",
    "pool": "    network: { ports: 2, bandwidth: 2.95 GB/s } # for storage: two ports of 25 Gb Ethernet\n",
}

_VMS = """\
vms: # groups of identical VMs, spread over the hosts
  db:
    count: {dbs} # {names}
    vcpus: 4
    memory: 32 GiB
    shares: high # priority under CPU contention{reservation}
    #host: {first} # on this host only
    workload: oltp{disks}
  web:
    count: {webs}
    vcpus: 2
    memory: 8 GiB
    {shares}#limit: 4 GHz # most CPU for one VM
    #load_steps: [{{ at: 0 s, factor: 0.5 }}, {{ at: 15 s, factor: 1 }}] # half the load at first
    workload: pages{disks}
"""

_RESERVATION = "\n    #reservation: 2 GHz # guaranteed CPU"

_SHARES = "#shares: 1000 # for the VM, as with libvirt and Proxmox; the default is 1000 per vCPU\n    "

_DISKS = "\n    {}\n    vdisks: 2 # virtual disks"

_DELAY = {
    "simulated": "{ mean: 2 ms } # locks",
    "not simulated": "{ mean: 8 ms } # locks and I/O: storage is not simulated here",
}

_WORKLOADS = """\
workloads: # what runs in the VMs
  oltp: # sessions that wait for the response, then think
    arrivals: {{ closed: {{ population: 20, think: {{ mean: 100 ms }} }} }} # in each VM, at load 1
    cpu: {{ mean: 6 ms }} # per transaction; random times are exponential unless `cv` is set
    delay: {delay}
    ios: 4
    block: 8 KiB
    read_pct: 70
    working_set: 20 GiB # per virtual disk
  pages: # requests that arrive independently of earlier ones
    arrivals: {{ open: {{ rate: 50 /s }} }}
    cpu: {{ mean: 8 ms, cv: 1.5 }}
    delay: {{ mean: 2 ms }}
    ios: 0.5
    read_pct: 90
    working_set: 2 GiB
    unit: pages
"""

_ARRAY = """\
arrays:
  san:
    front_end_ports: {ports}
    port_bandwidth: 1600 MB/s
    cache: {{ size: 64 GiB }}
    raid: raid-5
    disks: {{ kind: sas-ssd, count: {disks} }} # or by model: device: PM1643 (hypertwin devices)
"""

_POOL = """\
storage: # the hosts' own disks, pooled
  pool:
    kind: {kind}
    nodes: host # group of hosts with the disks
    redundancy: {redundancy}
    failure_domain: {domain}
    devices: {{ kind: nvme, per_node: 4, capacity: 2 TB }} # or by model: device: P4510 (hypertwin devices)
    stored: {stored} TB # data in the pool, without replicas
    rebuild: {{ delay: {delay}
#failures: [{{ at: 10 s, fails: [{first}/disk-1] }}] # a disk fails: `hypertwin simulate` shows the effect
"""

_DELAYS = {
    "ESXi": "60 min, node_bandwidth: 500 MB/s } # vSAN waits so long for a lost host (object repair timer)",
    "KVM": "600 s, node_bandwidth: 500 MB/s } # Ceph waits so long for a lost disk (mon_osd_down_out_interval)",
}
"""Delays until a rebuild begins, with their settings. They are defaults of VMware vSAN and Ceph."""

_KINDS = {
    "ESXi": "vsan # or ceph, mirrored-mesh, chunk-store; or a product preset: hypertwin presets",
    "KVM": "ceph # or vsan, mirrored-mesh, chunk-store; or a product preset: hypertwin presets",
}
_COPIES = {2: "replicas-2 # two replicas", 3: "replicas-3:2 # three replicas; writes stop below two"}
_DOMAINS = {
    "host": "host # no two replicas on one host",
    "disk": "disk # no two replicas on one disk; there is only one host",
}
