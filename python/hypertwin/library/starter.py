"""A scenario to begin with: it runs, and its comments teach the main keys.

A line that begins with `#` and no space is a key that is switched off: with its sign removed the scenario is valid too.
"""

from __future__ import annotations

import enum
import re

from hypertwin import language, yaml_file


class Storage(enum.StrEnum):
    """What the virtual disks are on."""

    none = "none"
    """Nothing that is simulated: I/O is a delay of the workload."""
    array = "array"
    pool = "pool"


MOST_HOSTS = 100
"""A simulation of so many takes seconds; vSphere's largest cluster has 96."""

NEWEST = {"esxi": "esxi", "kvm": "linux"}
"""Names for the newest hypervisor of a family."""


def hypervisor(name: str) -> str | None:
    """The hypervisor that is meant by its name or by one of NEWEST; None if there is none that VMs run on."""
    known = {name: each for name, each in language.hypervisors().items() if each.family in NEWEST.values()}
    if name in NEWEST:
        return [each.name for each in known.values() if each.family == NEWEST[name]][-1]
    return name if name in known else None


def scenario_name(stem: str) -> str:
    """A name for the scenario in a file of this name, as YAML, with what scenarios' names cannot have left out."""
    name = re.sub(r"^[^A-Za-z0-9]+", "", re.sub(r"[^A-Za-z0-9_.-]+", "-", stem))[:64] or "cluster"
    return name if isinstance(yaml_file.scalar(name), str) else f'"{name}"'


def text(hypervisor: str, hosts: int, storage: Storage, name: str, file: str) -> str:
    """The scenario. `hypervisor` is a name as scenarios write it, `file` the file that its comments name."""
    is_esxi = language.hypervisors()[hypervisor].family == "esxi"
    system = "ESXi" if is_esxi else "KVM"
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
            reservation=_RESERVATION if is_esxi else "",
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
        redundancy += "; or ec-3+2, three parts of data and two of parity"
    return _POOL.format(
        kind=_KINDS["ESXi" if is_esxi else "KVM"],
        redundancy=redundancy,
        domain=_DOMAINS["disk" if hosts == 1 else "host"],
        stored=2 * hosts,
        first=first,
    )


_HEAD = """\
# {hosts} {system} host{plural} with databases and web servers, to begin with. Change it, and see what the change does:
#   hypertwin simulate {file} --report report.html
#   hypertwin simulate {file} --sweep vms.db.load=1,2,4
#   hypertwin density {file} --vm web --slo 'hosts.*.usage_pct<80'
# `hypertwin schema` has every key. A line that begins with # and no space is a key to switch on: remove the sign.
name: {name}
description: Databases and web servers on {system}.
run:
  duration: auto # measured until the run has settled; or so long: 60 s
  warmup: auto # simulated first, not measured
  #sample_interval: 1 s # resolution of charts over time
  replications: 3 # independent runs, from which the ± of every figure comes
  #seed: 7 # other random times
"""

_RESTARTS = {True: "fdm", False: "proxmox"}
"""Who restarts VMs of a failed host, by whether it runs ESXi."""

_CLUSTERS = """\
clusters:
  default: {{ ha: {{ policy: {policy} }} }} # who restarts the VMs of a failed host; without it they stand still
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
    shares: high # beside others, when there is not enough CPU{reservation}
    #host: {first} # bound to one host
    workload: oltp{disks}
  web:
    count: {webs}
    vcpus: 2
    memory: 8 GiB
    #limit: 4 GHz # CPU that one VM never exceeds
    #load_steps: [{{ at: 0 s, factor: 0.5 }}, {{ at: 15 s, factor: 1 }}] # half the load at first
    workload: pages{disks}
"""

_RESERVATION = "\n    #reservation: 2 GHz # CPU that it is sure to get"

_DISKS = "\n    {}\n    vdisks: 2 # virtual disks"

_DELAY = {
    "simulated": "{ mean: 2 ms } # locks",
    "not simulated": "{ mean: 8 ms } # locks and I/O: storage is not simulated here",
}

_WORKLOADS = """\
workloads: # what runs in the VMs
  oltp: # sessions that wait for the answer, then think
    arrivals: {{ closed: {{ population: 20, think: {{ mean: 100 ms }} }} }} # in each VM, at load 1
    cpu: {{ mean: 6 ms }} # of one transaction; random times are exponential unless `cv` says other
    delay: {delay}
    ios: 4
    block: 8 KiB
    read_pct: 70
    working_set: 20 GiB # of one virtual disk
  pages: # requests that come whatever happens to earlier ones
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
    disks: {{ kind: sas-ssd, count: {disks} }} # or a model, not a kind: device: PM1643 (hypertwin devices)
"""

_POOL = """\
storage: # the hosts' own disks, pooled
  pool:
    kind: {kind}
    nodes: host # the group of hosts that has the disks
    redundancy: {redundancy}
    failure_domain: {domain}
    devices: {{ kind: nvme, per_node: 4, capacity: 2 TB }} # or a model, not a kind: device: P4510 (hypertwin devices)
    stored: {stored} TB # data that it holds, without copies
    rebuild: {{ delay: 5 s, node_bandwidth: 500 MB/s }}
#failures: [{{ at: 10 s, fails: [{first}/disk-1] }}] # a disk dies: `hypertwin simulate` says what that does
"""

_KINDS = {
    "ESXi": "vsan # or ceph, mirrored-mesh, chunk-store; or a product as it is set up: hypertwin presets",
    "KVM": "ceph # or vsan, mirrored-mesh, chunk-store; or a product as it is set up: hypertwin presets",
}
_COPIES = {2: "replicas-2 # two copies", 3: "replicas-3:2 # three copies; writes wait below two"}
_DOMAINS = {
    "host": "host # no two copies on one host",
    "disk": "disk # no two copies on one disk; there is only one host",
}
