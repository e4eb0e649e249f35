"""A Proxmox VE cluster, from saved responses of its API: output of `pvesh get PATH --output-format json`.

Fields: pve.proxmox.com/pve-docs/api-viewer; meaning: PVE/QemuServer.pm (`vmstatus`: `cpu` is the share of `maxcpu` CPUs
used by QEMU's process, `balloon` its present memory, `memhost` its consumed memory; the schema of a VM's
configuration), PVE/ProcFSTools.pm (`cpuinfo`: `cores` are those of all sockets, `mhz` is the current clock of the first
CPU; `cpu` is the busy share of logical CPUs), PVE/LXC/Config.pm and PVE/HA/Rules. Containers (LXC) become VMs.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypertwin.ingest import cpu_series, json_fields, outside
from hypertwin.ingest.cpu_series import Series
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import (
    Cluster,
    Datastore,
    Demand,
    Host,
    Inventory,
    Rule,
    Snapshots,
    VirtualDisk,
    Vm,
    figures,
    iso,
)
from hypertwin.ingest.json_fields import Fields
from hypertwin.ingest.kvm import linux_host, proxmox_ceph, proxmox_series, proxmox_source
from hypertwin.ingest.kvm.linux_host import Numbering
from hypertwin.ingest.outside import Gap, Source
from hypertwin.naming import counted

RESOURCES = "cluster/resources"
SERIES = "rrddata"
PEAKS = "rrddata-max"
"""Name of the same with `cf=MAX`: maxima of a minute, in each step."""
LONG_STEP_S = 3_600
"""Seconds of a step above which means hide working hours."""
MOST_BYTES = 16 * 2**20
"""Maximum size of one file. All files of a cluster of 1,000 VMs have 3 MB."""
MOST_FILES = 20_000
MOST_ALL_BYTES = 64 * 2**20
MAX_SERIES_BYTES = 2**30
"""Maximum size of the history files of nodes. A month of a VM has up to 0.7 MB, of which little is used."""
DEFAULT_MEMORY_SHARES = 1000
"""Default `shares` of a VM of any size, by which the balloon divides memory."""
SHARED_CORES_FROM_PCT = 65
"""CPU usage of a node from which the time of threads is noticeably more than their work, as the twin simulates it."""
MOST_NODES = 1_000
MOST_GUESTS = 20_000
MOST_STORES = 10_000
MOST_UNUSED = 100
UNKNOWN_VERSION = "Proxmox VE of unknown version"
"""Hypervisor of a node that does not report one. It is Linux in any case."""
HINT = "save it with the loop in docs/guides/import.md"
_CONTROLLERS = {"virtio-scsi-pci": "virtio-scsi", "virtio-scsi-single": "virtio-scsi", "pvscsi": "pvscsi"}
_CACHES, _AIO = ("none", "writethrough", "writeback", "unsafe", "directsync"), ("native", "threads", "io_uring")
"""Values of `cache` and `aio` (qemu-server, PVE/QemuServer/Drive.pm). `iothread` needs an own controller."""
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_HOST_DEVICE = re.compile("(hostpci|usb|serial|parallel)[0-9]{1,2}")
"""Keys of devices of the host, which prevent live migration (qemu-server, PVE/QemuServer.pm,
`check_local_resources`)."""
ZFS = "the cache of ZFS (ARC) counts as hypervisor memory, but shrinks if memory is short: check with `arc_summary`"
_BUSES = re.compile("(ide|sata|scsi|virtio|rootfs|mp)([0-9]{0,3})")
_READ = re.compile(
    r"cluster/(resources|status|ha/(rules|groups|resources))|"
    r"nodes/[^/]+/(status|(qemu|lxc)/[0-9]+/(config|snapshot|status/current|rrddata(-max)?)|rrddata(-max)?)|"
    + proxmox_ceph.READ
)
"""Responses that the reader uses."""

Answers = Mapping[str, Any]
"""Responses by API path, without leading and trailing slashes."""


def recognises(head: bytes) -> bool:
    """True if the text begins like a JSON object of responses by path."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return bool(re.match(rb'\{\s*"/?(api2/json/)?(cluster|nodes|version|storage|pools|access)[/"]', text))


def files(folder: Path) -> Iterable[Path]:
    """Return the responses in a folder that contains /cluster/resources."""
    return _json_files(folder) if (folder / f"{RESOURCES}.json").is_file() else ()


def read(sources: Sequence[str]) -> Inventory:
    """Return the cluster with responses in a folder (`nodes/pve1/status.json`), or by path in one JSON object.

    Raises SourceError.
    """
    if len(sources) > 1:
        Source(sources[1]).refuse(f"{len(sources)} sources", "one folder or file", "a cluster is one dump")
    path = Path(sources[0])
    answers = _of_folder(path) if path.is_dir() else _of_file(path)
    return inventory(answers, outside.name(path.name) or str(path))


def _of_file(path: Path) -> dict[str, Any]:
    value = outside.json_value(path, MOST_BYTES)
    if not isinstance(value, dict):
        Source(path, HINT).refuse("JSON that is no object", "answers by path of the API")
    return {_key(key): _unwrapped(answer) for key, answer in value.items()}


def _of_folder(folder: Path) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    left = {False: MOST_ALL_BYTES, True: MAX_SERIES_BYTES}
    paths = sorted(itertools.islice(_json_files(folder), MOST_FILES + 1))
    if len(paths) > MOST_FILES:
        Source(folder).too_many(MOST_FILES, "files", hint="import one dump at a time")
    for path in paths:
        size = path.stat().st_size
        is_series = path.stem in (SERIES, PEAKS)
        left[is_series] -= size
        if left[is_series] < 0:
            most = MAX_SERIES_BYTES if is_series else MOST_ALL_BYTES
            Source(folder).too_many(most, "bytes", hint="import one dump at a time")
        if size:  # pvesh wrote nothing: no such path in this version, or no permission
            key = _key(path.relative_to(folder).with_suffix("").as_posix())
            data = outside.read_bytes(path, MOST_BYTES)
            if is_series:
                read = proxmox_series.of_text if path.stem == SERIES else proxmox_series.peak_of_text
                answers[key] = read(data, path)
            else:
                answers[key] = _unwrapped(outside.parsed(data, path))
    return answers


def _json_files(folder: Path) -> Iterator[Path]:
    """Yield files below a folder. Links are not followed."""
    for where, _, names in os.walk(folder):
        for name in names:
            path = Path(where) / name
            if name.endswith(".json") and path.is_file() and not path.is_symlink():
                yield path


def _key(path: str) -> str:
    return path.strip("/").removeprefix("api2/json/")


def _unwrapped(answer: Any) -> Any:
    """Return the response itself. Over HTTP it is wrapped in `{"data": ...}`."""
    return answer["data"] if isinstance(answer, dict) and "data" in answer and len(answer) <= 2 else answer


def by_type(answers: Answers, source: str) -> dict[str, list[Fields]]:
    """Return the entries of /cluster/resources by type. Raises SourceError for too many."""
    found: dict[str, list[Fields]] = {}
    for each in json_fields.objects(answers.get(RESOURCES)):
        found.setdefault(json_fields.text(each.get("type")), []).append(each)
    for kind, most in (("node", MOST_NODES), ("qemu", MOST_GUESTS), ("lxc", MOST_GUESTS), ("storage", MOST_STORES)):
        if len(found.get(kind, ())) > most:
            Source(source, HINT, RESOURCES).too_large(f"{len(found[kind])} of type {kind}", f"at most {most}")
    return found


def inventory(answers: Answers, source: str, gaps: Iterable[Gap] = ()) -> Inventory:
    """Return the inventory in these responses, with the gaps of their collection. Raises SourceError."""
    notes = ImportNotes(Source(source, HINT), gaps)
    by_kind = by_type(answers, source)
    cluster = next(
        (
            json_fields.name(each)
            for each in json_fields.objects(answers.get("cluster/status"))
            if each.get("type") == "cluster"
        ),
        None,
    )
    hosts: dict[str, Host] = {}
    for each in by_kind.get("node", ()):
        host = _host(each, answers, cluster, notes)
        if host is not None:
            hosts[host.name] = host
    if not hosts:
        allowed = "a node that is online, with its size (needs Sys.Audit on /nodes)"
        Source(source, HINT, RESOURCES).lacks(f"{sum(map(len, by_kind.values()))} resources, no such node", allowed)
    versions = {
        json_fields.name(each, "node"): json_fields.whole(each.get("cgroup-mode")) for each in by_kind.get("node", ())
    }
    both = (*by_kind.get("qemu", ()), *by_kind.get("lxc", ()))
    listed = [each for each in both if json_fields.whole(each.get("vmid"))]
    guests = [
        each
        for each in listed
        if json_fields.name(each, "node") in hosts and ("maxmem" in each or f"{_path(each)}/config" in answers)
    ]
    if len(guests) < len(listed):
        text = "left out: their node is left out, or their size is unknown"
        notes.assumed(text, counted(len(listed) - len(guests), "guest"))
    names = _unique_names(guests)
    stores = _stores(by_kind.get("storage", ()), notes)
    managed = _managed(answers)
    unmanaged = [managed is not None and not _is_in(each, managed) for each in guests]
    vms = [
        replace(
            _vm(each, answers, hosts, versions, names, stores, notes), restart_priority="disabled" if alone else None
        )
        for each, alone in zip(guests, unmanaged, strict=True)
    ]
    if containers := sum(each.get("type") == "lxc" for each in guests):
        text = "containers (LXC) are simulated as VMs: a shared kernel and page cache are not modelled"
        notes.assumed(text, counted(containers, "container"))
    rules = [*_rules(answers, names), *_groups(answers, names)]
    if not any(f"cluster/ha/{each}" in answers for each in ("rules", "groups")):
        notes.missing("/cluster/ha/rules or groups", "placement rules")
    ha = _restarted(managed, guests, notes)
    ceph, together = proxmox_ceph.read(answers, notes.source, vms), _together(guests, answers, hosts)
    return Inventory(
        source,
        "proxmox",
        list(hosts.values()),
        vms,
        list(stores.values()),
        rules,
        [*notes.gaps, *ceph.notes.gaps],
        [*notes.assumptions(), *ceph.notes.assumptions()],
        [Cluster(cluster or "", ha=ha, restarts_by="proxmox", **together)] if cluster or together else [],
        _unused(answers),
        ceph.pools,
    )


def _together(guests: Sequence[Fields], answers: Answers, hosts: Mapping[str, Host]) -> dict[str, Any]:
    """Return the CPU of running guests at the same times, or an empty dict unless known for all."""
    running = [each for each in guests if each.get("status") == "running"]
    placed = [(_series(each, answers), hosts[json_fields.name(each, "node")]) for each in running]
    known = [(series, linux_host.clock_mhz(host.clock_hz)) for series, host in placed if series is not None]
    return cpu_series.together(known) if known and len(known) == len(running) else {}


def _series(resource: Fields, answers: Answers) -> Series | None:
    return proxmox_series.series(answers.get(f"{_path(resource)}/{SERIES}"))


def _peak(path: str, answers: Answers) -> float | None:
    """Return the most CPUs that a guest or node used in a minute of a month, or None if unknown."""
    return proxmox_series.peak(answers.get(f"{path}/{PEAKS}"))


def _path(guest: Fields) -> str:
    """Return the path of the responses of a guest."""
    kind = "lxc" if guest.get("type") == "lxc" else "qemu"
    return f"nodes/{guest.get('node')}/{kind}/{json_fields.whole(guest.get('vmid')) or 0}"


def _restarted(managed: frozenset[str] | None, guests: Sequence[Fields], notes: ImportNotes) -> bool | None:
    """True if HA restarts VMs of a failed node, i.e. those that are HA resources."""
    if managed is None:
        notes.missing("/cluster/ha/resources", "VMs that HA restarts after a node failure")
        return None
    running = [each for each in guests if each.get("status") == "running"]
    without = sum(1 for each in running if not _is_in(each, managed))
    if without and without < len(running):
        text = f"{without} of {len(running)} running VMs are no HA resources, so they are not restarted"
        notes.assumed(text)
    return without < len(running)


def _managed(answers: Answers) -> frozenset[str] | None:
    """Return HA resources, as `vm:100` or `100`, or None without the response."""
    if not isinstance(listed := answers.get("cluster/ha/resources"), list):
        return None
    managed = (each for each in json_fields.objects(listed) if each.get("state") not in ("disabled", "ignored"))
    return frozenset(json_fields.text(each.get("sid")) for each in managed)


def _is_in(guest: Fields, managed: Container[str]) -> bool:
    kind = "ct" if guest.get("type") == "lxc" else "vm"
    return f"{kind}:{guest.get('vmid')}" in managed or f"{guest.get('vmid')}" in managed


def _unused(answers: Answers) -> list[str]:
    """Return unused responses, by path with NODE and VMID instead of names and numbers."""
    paths = (path for path in answers if not _READ.fullmatch(path))
    found = (re.sub("/[0-9]+(?=/|$)", "/VMID", re.sub("^nodes/[^/]+", "nodes/NODE", path)) for path in paths)
    return [outside.name(path) for path in dict.fromkeys(found)][:MOST_UNUSED]


def _host(resource: Fields, answers: Answers, cluster: str | None, notes: ImportNotes) -> Host | None:
    """Return a node, or None if its size is unknown, for example while it is offline."""
    name = json_fields.name(resource, "node")
    if resource.get("status") == "offline":  # its last figures stay in the list for 5 min
        notes.host(name or "a node", "left out with its guests: it is offline")
        return None
    status = json_fields.below(answers, f"nodes/{resource.get('node')}/status")
    info, memory_told = json_fields.below(status, "cpuinfo"), json_fields.below(status, "memory")
    cpus = json_fields.whole(info.get("cpus")) or json_fields.whole(resource.get("maxcpu"))
    memory = json_fields.whole(memory_told.get("total")) or json_fields.whole(resource.get("maxmem"))
    if not name or not cpus or not memory:
        notes.host(name or "a node", "left out with its guests: its size is unknown (needs Sys.Audit on it)")
        return None
    if cpus > linux_host.MOST_CPUS:
        notes.source.at(f"nodes/{name}").too_large(f"{cpus} CPUs", f"at most {linux_host.MOST_CPUS}")
    sockets, cores, threads = _topology(info, cpus, name, notes)
    clock = linux_host.clock_in_name(json_fields.text(info.get("model")))
    mhz = json_fields.number(info.get("mhz"))
    if clock is None and mhz is not None and 100 <= mhz <= 20_000:
        clock = mhz * 1e6
        notes.host(name, f"assumed a nominal clock of {mhz:.0f} MHz: the current clock of its first CPU")
    if clock is None:
        notes.missing("nodes/NODE/status/cpuinfo/mhz", "exact MHz of limits and demand (clock is assumed)")
    used = json_fields.whole(memory_told.get("used"))
    used = json_fields.whole(resource.get("mem")) if used is None else used
    busy = json_fields.number(status.get("cpu")) if "cpu" in status else json_fields.number(resource.get("cpu"))
    usage = _usage(proxmox_series.series(answers.get(f"nodes/{resource.get('node')}/{SERIES}")), busy, cpus, threads)
    if "cpu_p95_pct" in usage and (peak := _peak(f"nodes/{resource.get('node')}", answers)) is not None:
        most = linux_host.usage_pct(peak / cpus, threads)
        usage["cpu_peak_pct"] = None if most is None else max(most, usage["cpu_p95_pct"] or 0.0)
    if usage["cpu_usage_pct"] is None:
        notes.missing("cpu of nodes", "CPU usage of hosts")
    elif threads > 1:
        notes.host(name, linux_host.BUSY_THREADS)
        if (usage.get("cpu_p95_pct") or usage["cpu_usage_pct"]) > SHARED_CORES_FROM_PCT:
            text = (
                f"busy above {SHARED_CORES_FROM_PCT}%: its threads share cores, so demand of its VMs can be overstated"
            )
            notes.host(name, text)
    return Host(
        name,
        sockets,
        cores,
        threads,
        memory,
        clock_hz=clock,
        hypervisor=_hypervisor(status) or UNKNOWN_VERSION,
        cluster=cluster,
        cpu_model=outside.name(json_fields.text(info.get("model"))) or None,
        **usage,
        memory_usage_pct=100 * used / memory if used is not None and used <= memory else None,
        in_maintenance=resource.get("hastate") == "maintenance",
    )


def _usage(series: Series | None, busy: float | None, cpus: int, threads: int) -> dict[str, Any]:
    """Return the CPU usage of a node over a month, otherwise of the present moment."""
    shares = [] if series is None else [linux_host.usage_pct(used / cpus, threads) for used in series.used]
    valid = [share for share in shares if share is not None]
    if series is None or not valid:
        return {"cpu_usage_pct": linux_host.usage_pct(busy, threads)}
    mean, p95, _ = figures(valid)
    return {"cpu_usage_pct": mean, "cpu_p95_pct": p95, **series.span}


def _topology(info: Fields, cpus: int, name: str, notes: ImportNotes) -> tuple[int, int, int]:
    """Return sockets, cores per socket and threads per core of a node."""
    sockets, cores = json_fields.whole(info.get("sockets")), json_fields.whole(info.get("cores"))
    if not sockets or not cores or cores > cpus or sockets > cores:
        notes.missing("nodes/NODE/status/cpuinfo", "sockets and cores of hosts")
        threads = 2 if cpus % 2 == 0 else 1
        notes.host(name, f"assumed one socket of {cpus // threads} cores for {cpus} logical CPUs")
        return 1, cpus // threads, threads
    per_socket, threads = -(-cores // sockets), max(round(cpus / cores), 1)
    if sockets * per_socket * threads != cpus:
        notes.host(name, f"assumed {sockets} x {per_socket} cores of {threads} threads for {cpus} logical CPUs")
    return sockets, per_socket, threads


def _hypervisor(status: Fields) -> str | None:
    """Return kernel and version of Proxmox VE: `Linux 6.8.12-4-pve (pve-manager/8.2.4)`."""
    release = json_fields.text(json_fields.below(status, "current-kernel").get("release"))
    told = f"Linux {release}" if release else " ".join(json_fields.text(status.get("kversion")).split()[:2])
    version = "/".join(json_fields.text(status.get("pveversion")).split("/")[:2])
    return outside.name(f"{told} ({version})" if told and version else told or version) or None


def _unique_names(guests: Iterable[Fields]) -> dict[int, str]:
    """Return the names of VMs by number. The number is added to names that are not unique in the cluster."""
    listed = {
        number: json_fields.name(each) or f"vm-{number}"
        for each in guests
        if (number := json_fields.whole(each.get("vmid")))
    }
    counts = Counter(listed.values())
    return {
        number: name if counts[name] == 1 else outside.told_apart(name, str(number)) for number, name in listed.items()
    }


def _vm(
    resource: Fields,
    answers: Answers,
    hosts: Mapping[str, Host],
    versions: Mapping[str, int | None],
    names: Mapping[int, str],
    stores: Mapping[str, Datastore],
    notes: ImportNotes,
) -> Vm:
    """Return a VM from its configuration, or from the list of resources without one."""
    number = json_fields.whole(resource.get("vmid")) or 0
    name, node = names[number], json_fields.name(resource, "node")
    is_container = resource.get("type") == "lxc"
    config = answers.get(f"{_path(resource)}/config")
    if not isinstance(config, dict):
        notes.missing(
            f"nodes/NODE/{'lxc' if is_container else 'qemu'}/VMID/config",
            "topology, limits, weights, affinity and disks of VMs",
        )
        config = {}
    of_vm = {} if is_container else config
    host = hosts[node]
    # a container with `cpulimit` and without `cores` has a `maxcpu` of that
    seen = max(math.ceil(json_fields.number(resource.get("maxcpu")) or 1), 1)
    cores, sockets = json_fields.whole(config.get("cores")), json_fields.whole(of_vm.get("sockets")) or 1
    cores = cores or (seen if is_container else 1)  # a container without `cores` may use all CPUs of its node
    most = cores * sockets if config else seen
    vcpus = min(json_fields.whole(of_vm.get("vcpus")) or most, most)
    if not 1 <= most <= linux_host.MOST_CPUS:
        notes.source.at(f"{name}/cores").too_large(most, f"1 to {linux_host.MOST_CPUS} vCPUs")
    memory = _memory(config, resource)
    if not memory:
        notes.source.at(f"{name}/memory").refuse(json_fields.text(config.get("memory")) or "none", "a number of MiB")
    least, weight_of_memory = json_fields.whole(of_vm.get("balloon")), json_fields.whole(of_vm.get("shares"))
    balloons = least is not None and 0 < least * 2**20 < memory and weight_of_memory != 0
    huge = json_fields.text(of_vm.get("hugepages")) in ("any", "2", "1024")
    if balloons and not huge:
        notes.vm(name, "ballooning is on: its minimum memory and the host's threshold are not imported")

    limit = json_fields.number(config.get("cpulimit"))
    clock_mhz = linux_host.clock_mhz(host.clock_hz)
    version = versions.get(node) if versions.get(node) in linux_host.DEFAULT_WEIGHTS else None
    weight = json_fields.whole(config.get("cpuunits"))
    if weight is not None and version is None:
        notes.vm(name, linux_host.weights(None, (weight,)))
    if weight is not None and version != 1:
        weight = min(max(weight, 1), 10_000)
    cpu = json_fields.number(resource.get("cpu"))
    running = resource.get("status") == "running"
    demand = None
    series = _series(resource, answers) if running else None
    if series is not None:
        demand = series.demand(clock_mhz)
        if (peak := _peak(_path(resource), answers)) is not None:
            demand = replace(demand, cpu_peak_mhz=max(peak * clock_mhz, demand.cpu_p95_mhz or 0.0))
        if series.step_s > LONG_STEP_S:
            notes.vm(name, f"demand is from {series.counter}: shorter peaks are not in it")
    elif running and cpu is not None and 0 <= cpu <= 1_000:
        used = cpu * (json_fields.number(resource.get("maxcpu")) or vcpus)
        demand = Demand(used * clock_mhz, None, "cpu of /cluster/resources, about 10 s")
        notes.missing("nodes/NODE/qemu/VMID/rrddata", "demand over a month (that of about 10 s is used)")
    elif running:
        notes.missing("cpu in /cluster/resources", "measured demand")
    disks = tuple(_disks(config, node, stores, notes))
    return Vm(
        name,
        vcpus,
        memory,
        host=node,
        cluster=host.cluster,
        powered_on=running,
        is_template=json_fields.flag(resource.get("template")) or json_fields.flag(config.get("template")),
        cores_per_socket=cores if config and not is_container and vcpus % cores == 0 else None,
        shares=linux_host.shares(weight, version) if config else None,
        limit_mhz=limit * clock_mhz if limit and limit > 0 and limit < vcpus else None,
        cpu_hot_add="cpu" in json_fields.text(of_vm.get("hotplug")).split(",") if of_vm else None,
        affinity=_affinity(of_vm, host, name, notes),
        numa=_numa(of_vm, sockets, cores, vcpus, name, notes),
        disks=disks,
        guest_os=outside.name(json_fields.text(config.get("ostype"))) or None,
        demand=demand,
        live_migration=not (is_container or any(_is_host_device(key, value) for key, value in config.items())),
        memory_consumed_bytes=_occupied(resource, notes) if running else None,
        memory_shares=(weight_of_memory or DEFAULT_MEMORY_SHARES) if balloons else None,
        huge_pages=huge,
        balloon=True if balloons and not huge else None,
        ballooned_bytes=_ballooned(answers, resource) if running else None,
        storage_provisioned_bytes=sum(disk.capacity_bytes for disk in disks) or None,
        snapshots=_snapshots(answers.get(f"{_path(resource)}/snapshot")),
        source=proxmox_source.of_vm(of_vm),
    )


def _is_host_device(key: str, value: Any) -> bool:
    """True for a device of the host. USB over SPICE and serial sockets move with the VM."""
    return _HOST_DEVICE.fullmatch(key) is not None and not json_fields.text(value).startswith(("spice", "socket"))


def _occupied(resource: Fields, notes: ImportNotes) -> int | None:
    """Return consumed host memory of a VM: `memhost` of Proxmox VE 9. `mem` is partly the guest's view."""
    own = "mem" if resource.get("type") == "lxc" else "memhost"  # a container's memory is the node's
    if (occupied := json_fields.whole(resource.get(own))) is not None:
        return occupied
    notes.missing("memhost in /cluster/resources, of Proxmox VE 9", "consumed memory of VMs")
    return None


def _ballooned(answers: Answers, resource: Fields) -> int | None:
    """Return the memory in the balloon, or None without the current status of the VM."""
    if resource.get("type") == "lxc":
        return None
    status = json_fields.below(answers, f"{_path(resource)}/status/current")
    most, now = json_fields.whole(status.get("maxmem")), json_fields.whole(status.get("balloon"))
    return most - now if most is not None and now is not None and 0 < now <= most else None


def _snapshots(answer: Any) -> Snapshots | None:
    """Return snapshots: all entries except `current`, which is the VM itself."""
    if not isinstance(answer, list):
        return None
    listed = [each for each in json_fields.objects(answer) if each.get("name") != "current"]
    times = [time for each in listed if (time := json_fields.whole(each.get("snaptime"))) and time < 2**32]
    return Snapshots(len(listed), oldest=iso(min(times)) if times else None)


def _memory(config: Fields, resource: Fields) -> int | None:
    """Return the configured memory: MiB, as a number or as `current=4096`."""
    told = re.fullmatch(r"(?:current=)?([0-9]{1,9})(?:,.*)?", json_fields.text(config.get("memory")))
    if told:
        return int(told[1]) * 2**20
    return 512 * 2**20 if config and "memory" not in config else json_fields.whole(resource.get("maxmem"))


def _affinity(config: Fields, host: Host, name: str, notes: ImportNotes) -> str | None:
    """Return the CPUs of `affinity`, renumbered for a scenario."""
    text = json_fields.text(config.get("affinity"))
    if not text:
        return None
    cpus = linux_host.cpu_list(text)
    if cpus is None:
        notes.source.at(f"{name}/affinity").refuse(text, "a list such as 0,5,8-11")
    notes.host(host.name, linux_host.USUAL)
    return Numbering.usual(host.sockets, host.cores_per_socket, host.threads_per_core).affinity(cpus)


def _numa(config: Fields, sockets: int, cores: int, vcpus: int, name: str, notes: ImportNotes) -> dict[str, object]:
    """Return the guest's NUMA nodes: those of `numa0`, `numa1` .... Without them, `numa` gives one per virtual socket.

    `hostnodes` only binds memory, while vCPUs run wherever `affinity` allows. Such nodes do not count as bound.
    """
    if not json_fields.flag(config.get("numa")):
        return {}
    listed = [
        _options(json_fields.text(config[key]))
        for key in sorted(config, key=_number_of)
        if re.fullmatch("numa[0-9]{1,2}", key)
    ]
    cells = []
    for options in listed:
        cpus = linux_host.cpu_list(options.get("cpus", "").replace(";", ","))
        if cpus is None:
            notes.source.at(f"{name}/numa").refuse(options.get("cpus", "none"), "vCPUs such as 0-3;8")
        cells.append(sum(1 for cpu in cpus if cpu < vcpus))
    if any("hostnodes" in options for options in listed):
        notes.vm(name, "its memory is bound to host nodes, its vCPUs are not: assumed not bound")
    if not listed:
        cells = [min(cores, vcpus - start) for start in range(0, min(sockets * cores, vcpus), cores)]
    cells = [cell for cell in cells if cell > 0]
    if len(cells) < 2 or sum(cells) != vcpus:
        return {}
    return {"cells": cells}


def _disks(config: Fields, node: str, stores: Mapping[str, Datastore], notes: ImportNotes) -> Iterator[VirtualDisk]:
    """Yield virtual disks, without CD-ROMs, EFI variables, TPM state and unattached volumes."""
    for key in sorted(config, key=_number_of):
        bus = _BUSES.fullmatch(key)
        text = json_fields.text(config[key])
        if bus is None or not text:
            continue
        options = _options(text)
        volume = options.get("file", "")
        if options.get("media") == "cdrom" or volume == "none":
            continue
        size = re.fullmatch(r"([0-9]{1,12})(?:\.[0-9]+)?([KMGT]?)", options.get("size", ""))
        if size is None:
            notes.missing("size of disks", "capacity of disks that are passed through")
        scsi = json_fields.text(config.get("scsihw")) if bus[1] == "scsi" else ""
        kind = "virtio-blk" if bus[1] == "virtio" else _CONTROLLERS.get(scsi)
        own = bus[1] == "virtio" or scsi == "virtio-scsi-single"
        store, separator, _ = volume.partition(":")
        capacity = int(size[1]) * _UNITS[size[2]] if size else 0
        number = (int(bus[2] or 0) if own else 0) if kind else None
        named = outside.name(store) if separator and not volume.startswith("/") else None
        where = local if (local := f"{named} ({node})") in stores else named
        io_thread = own and json_fields.flag(options.get("iothread")) if kind else None
        cache, aio = options.get("cache"), options.get("aio")
        yield VirtualDisk(
            min(capacity, 2**60),
            kind,
            number,
            where,
            io_thread,
            cache if cache in _CACHES else None,
            aio if aio in _AIO else None,
        )


def _options(text: str) -> dict[str, str]:
    """Return a property string: `local:vm-1-disk-0,size=32G`. A part without a key is `file`."""
    parts = (part.partition("=") for part in text[:4096].split(","))
    return {key if separator else "file": value if separator else key for key, separator, value in parts}


def _stores(resources: Iterable[Fields], notes: ImportNotes) -> dict[str, Datastore]:
    """Return the storages for disks of VMs and containers: a shared one once, a local one for each node."""
    stores: dict[str, Datastore] = {}
    for each in resources:
        content = json_fields.text(each.get("content"))
        if content and not {"images", "rootdir"} & set(content.split(",")):
            continue
        node, name = json_fields.name(each, "node"), json_fields.name(each, "storage")
        key = name if json_fields.flag(each.get("shared")) else outside.told_apart(name, node)
        if key in stores:
            stores[key] = replace(stores[key], hosts=(*stores[key].hosts, node))
            continue
        if each.get("plugintype") == "zfspool":
            notes.host(node, ZFS)
        size, used = json_fields.whole(each.get("maxdisk")), json_fields.whole(each.get("disk"))
        free = size - used if size is not None and used is not None and used <= size else None
        stores[key] = Datastore(
            key, outside.name(json_fields.text(each.get("plugintype"))), size or None, free, (node,)
        )
    return stores


def _rules(answers: Answers, names: Mapping[int, str]) -> Iterator[Rule]:
    """Yield HA rules, of Proxmox VE 9."""
    for each in json_fields.objects(answers.get("cluster/ha/rules")):
        if json_fields.flag(each.get("disable")):
            continue
        name, vms = json_fields.name(each, "rule"), _members(json_fields.text(each.get("resources")), names)
        if each.get("type") == "resource-affinity" and len(vms) > 1:
            kind = "keep-apart" if each.get("affinity") == "negative" else "keep-together"
            yield Rule(name, kind, vms, mandatory=True)
        elif each.get("type") == "node-affinity" and vms:
            yield Rule(name, "run-on", vms, _nodes(each, "strict"), json_fields.flag(each.get("strict")))


def _groups(answers: Answers, names: Mapping[int, str]) -> Iterator[Rule]:
    """Yield HA groups, before Proxmox VE 9: VMs name the group that they belong to."""
    members: dict[str, list[str]] = {}
    for each in json_fields.objects(answers.get("cluster/ha/resources")):
        members.setdefault(json_fields.text(each.get("group")), []).extend(
            _members(json_fields.text(each.get("sid")), names)
        )
    for each in json_fields.objects(answers.get("cluster/ha/groups")):
        vms = members.get(json_fields.text(each.get("group")), [])
        if vms:
            restricted = json_fields.flag(each.get("restricted"))
            yield Rule(json_fields.name(each, "group"), "run-on", tuple(vms), _nodes(each, "restricted"), restricted)


def _members(text: str, names: Mapping[int, str]) -> tuple[str, ...]:
    """Return the names of the VMs in `vm:100,ct:101`."""
    numbers = (
        json_fields.whole(part.strip().removeprefix("vm:").removeprefix("ct:")) for part in text[:100_000].split(",")
    )
    return tuple(names[number] for number in numbers if number is not None and number in names)


def _nodes(rule: Fields, binding: str) -> tuple[str, ...]:
    """Return the nodes in `pve1:2,pve2`: all if the rule is binding, otherwise those of the highest priority."""
    parts = (part.strip().partition(":") for part in json_fields.text(rule.get("nodes"))[:100_000].split(","))
    ranked = [(json_fields.whole(priority) or 0, outside.name(node)) for node, _, priority in parts]
    top = max((rank for rank, _ in ranked), default=0)
    return tuple(node for rank, node in ranked if node and (rank == top or json_fields.flag(rule.get(binding))))


def _number_of(key: str) -> tuple[str, int]:
    """Return a sort key that puts `scsi2` before `scsi10`."""
    match = re.fullmatch(r"(\D*)([0-9]{1,9})", key)
    return (match[1], int(match[2])) if match else (key, -1)
