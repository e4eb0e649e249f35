"""Ceph of a Proxmox VE cluster, from saved responses of its API: pools, OSDs with their devices, CRUSH rules.

Fields: PVE/API2/Ceph/OSD.pm is the tree of `ceph osd df`, with `total_space` in bytes and `crush_weight` in TiB.
PVE/API2/Ceph/Pool.pm: `size` of an erasure-coded pool is K + M, and `bytes_used` includes copies.
PVE/API2/Cluster/Ceph.pm has status, flags and `ceph osd metadata`. PVE/API2/Ceph.pm has the CRUSH map as text.
PVE/Storage/RBDPlugin.pm: `pool` is by default `rbd`, and `monhost` means another cluster. pg_autoscaler/module.py of
Ceph: `raw_used_rate` is the number of raw bytes of a stored byte.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypertwin.ingest import json_fields, outside
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import PoolDevice, PoolPolicy, StoragePool, Vm
from hypertwin.ingest.json_fields import Fields
from hypertwin.ingest.outside import Source
from hypertwin.naming import counted

READ = r"storage|cluster/ceph/(status|flags|metadata)|nodes/[^/]+/ceph/(status|osd|pool|crush)"
"""Responses that this reader uses, as a regular expression."""
MAX_OSDS = 10_000
MAX_BUCKETS = 100_000
"""Maximum number of CRUSH buckets and OSDs in a tree, in which an OSD can be several times."""
MAX_POOLS = 1_000
MAX_MAP = 4 * 2**20
"""Maximum characters of a CRUSH map that are read."""
HINT = "save it with the loop in docs/guides/import.md"
LEAST_CAPACITY = 2**30
MAX_CAPACITY = 2**50
MAX_REPLICAS = 8
MAX_LINE = 256
MAX_CLASSES = 32
_KINDS = {"nvme": "nvme", "ssd": "sata-ssd", "hdd": "hdd-7.2k"}
"""Generic drive of a device class."""
_FLAGS = (
    "noout",
    "nodown",
    "noup",
    "noin",
    "nobackfill",
    "norebalance",
    "norecover",
    "pause",
    "noscrub",
    "nodeep-scrub",
)
"""Flags that an administrator sets. Others are always on."""
_RULE = re.compile(r"rule (\S+) \{")
_CLASS = re.compile(r"step take \S+ class (\S+)")
_DOMAIN = re.compile(r"step choose\w* .*\btype (\S+)")
_DOMAINS = {"osd": "disk", "host": "host"}

Answers = Mapping[str, Any]


@dataclass
class Found:
    """Pools of a cluster, with notes on them."""

    notes: ImportNotes
    pools: list[StoragePool] = field(default_factory=list)


@dataclass(frozen=True)
class _Osd:
    """An OSD that holds data."""

    number: int
    host: str
    device_class: str
    capacity_bytes: int
    is_up: bool
    version: int | None
    has_log_device: bool


@dataclass(frozen=True)
class _Pool:
    """A pool of Ceph."""

    name: str
    redundancy: str
    raw_per_byte: float
    """Raw bytes of a stored byte."""
    raw_bytes: int | None
    """Used bytes with copies."""
    groups: int
    rule: str
    is_rbd: bool


@dataclass(frozen=True)
class _Rule:
    """A CRUSH rule."""

    device_class: str | None
    domain: str


@dataclass(frozen=True)
class _Storage:
    """A storage of Proxmox VE on a pool of Ceph."""

    name: str
    pool: str
    has_krbd: bool


def read(answers: Answers, source: Source, vms: Sequence[Vm]) -> Found:
    """Return the pools of a cluster, one for each set of device classes. Raises SourceError.

    `vms` decide which pools matter most.
    """
    found = Found(ImportNotes(source))
    storages, external = _storages(answers)
    for name in external:
        found.notes.assumed("on a Ceph cluster outside these nodes: not imported", f"storage {name}")
    osds, pools = _osds(answers, source, found), _pools(answers, source, found)
    if not osds or not pools:
        if storages:
            paths = " and ".join(f"nodes/NODE/ceph/{part}" for part, of in (("osd", osds), ("pool", pools)) if not of)
            found.notes.missing(paths, "Ceph: latency of I/O, capacity, durability")
        return found
    _health(answers, osds, found)
    storages = _with_pools(storages, pools, found)
    rules = _rules(answers)
    metadata = json_fields.below(answers, "cluster/ceph/metadata")
    drives = {json_fields.whole(each.get("id")): each for each in json_fields.objects(metadata.get("osd"))}
    sizes = Counter[str]()
    for osd in osds:
        sizes[osd.device_class] += osd.capacity_bytes
    classes = sorted(sizes)
    if len(classes) > MAX_CLASSES:
        value, allowed = f"{len(classes)} device classes", f"at most {MAX_CLASSES}"
        source.at("nodes/NODE/ceph/osd").too_large(value, allowed)
    if len(classes) > 1 and not rules:
        found.notes.missing("nodes/NODE/ceph/crush", "device classes of Ceph pools (assumed: all pools use all)")
    used = _bytes_of_vms(storages, vms)
    largest = max(pools, key=lambda pool: (pool.is_rbd, pool.raw_bytes or 0, pool.name))
    shown = [pool for pool in pools if pool.name in used] or [largest]
    of_pool = {pool.name: _classes(pool, rules, classes) for pool in pools}
    parts = _parts([of_pool[pool.name] & sizes.keys() for pool in shown])
    homes = {pool.name: _home(of_pool[pool.name], parts, sizes) for pool in pools}
    for part in parts:
        here = sorted(
            (pool for pool in shown if homes[pool.name] == part),
            key=lambda pool: (-used.get(pool.name, 0), pool.name),
        )
        others = [pool for pool in pools if pool not in shown and homes[pool.name] == part]
        there = [osd for osd in osds if osd.device_class in part]
        if there:
            found.pools.append(_storage_pool(here, others, there, rules, storages, drives, found))
    if found.pools:
        found.notes.assumed(
            "network of OSDs unknown: assumed two ports of 10 Gb Ethernet; set hosts.NAME.network", "Ceph"
        )
    return found


def _storage_pool(
    pools: Sequence[_Pool],
    others: Sequence[_Pool],
    osds: Sequence[_Osd],
    rules: Mapping[str, _Rule],
    storages: Sequence[_Storage],
    drives: Mapping[int | None, Fields],
    found: Found,
) -> StoragePool:
    """Return the storage pool of these OSDs: `pools` by importance, and `others` that only use space."""
    main = pools[0]
    every = [*pools, *others]
    if any(pool.raw_bytes is None for pool in every):
        found.notes.missing("bytes_used in nodes/NODE/ceph/pool", "stored data of Ceph pools")
    policies = {pool.redundancy: pool for pool in reversed(pools)}
    sizes = [(pool.raw_bytes or 0) / policies.get(pool.redundancy, main).raw_per_byte for pool in every]
    if len(policies) > 1:
        text = "pools of several redundancies share its OSDs: stored data is divided among them by working sets of VMs"
        found.notes.assumed(text, f"Ceph pool {main.name}")
    domains = {rules[pool.rule].domain for pool in pools if pool.rule in rules}
    domain = _DOMAINS.get(next(iter(domains)), "host") if len(domains) == 1 else "host"
    if domains - {domain if domain == "host" else "osd"}:
        listed = ", ".join(sorted(outside.name(each) for each in domains))
        found.notes.assumed(f"failure domain {listed}: imported as host", f"Ceph pool {main.name}")
    mine = [storage for storage in storages if storage.pool in {pool.name for pool in pools}]
    versions = Counter(osd.version for osd in osds if osd.version is not None)
    return StoragePool(
        name=main.name,
        kind="ceph",
        policies=tuple(
            PoolPolicy(
                pool.name,
                pool.redundancy,
                tuple(
                    storage.name
                    for storage in mine
                    if any(each.name == storage.pool and each.redundancy == pool.redundancy for each in pools)
                ),
            )
            for pool in pools
            if policies[pool.redundancy] is pool
        ),
        devices=tuple(_devices(osds, drives, found)),
        stored_bytes=round(sum(sizes)) if all(pool.raw_bytes is not None for pool in every) else None,
        failure_domain=domain,
        release=versions.most_common(1)[0][0] if versions else None,
        client="krbd" if mine and all(storage.has_krbd for storage in mine) else None,
        placement_groups=sum(pool.groups for pool in pools) or None if len(policies) == 1 else None,
        has_log_devices=sum(osd.has_log_device for osd in osds) * 2 > len(osds),
    )


def _of_nodes(answers: Answers, part: str) -> Iterator[Any]:
    """Yield responses of `nodes/NODE/ceph/PART`, which all nodes answer for the whole cluster."""
    for path in sorted(answers):
        if re.fullmatch(f"nodes/[^/]+/ceph/{part}", path):
            yield answers[path]


def _storages(answers: Answers) -> tuple[list[_Storage], list[str]]:
    """Return the storages on Ceph, and the names of those on another cluster.

    Without /storage, the pool of a storage is unknown: an empty name.
    """
    if isinstance(answers.get("storage"), list):
        listed = [each for each in json_fields.objects(answers["storage"]) if each.get("type") == "rbd"]
        own = [
            _Storage(
                json_fields.name(each, "storage"),
                json_fields.name(each, "data-pool") or json_fields.name(each, "pool") or "rbd",
                json_fields.flag(each.get("krbd")),
            )
            for each in listed
            if not each.get("monhost")
        ]
        return own, sorted({json_fields.name(each, "storage") for each in listed if each.get("monhost")})
    resources = json_fields.objects(answers.get("cluster/resources"))
    names = {json_fields.name(each, "storage") for each in resources if each.get("plugintype") == "rbd"}
    return [_Storage(name, "", has_krbd=False) for name in sorted(names)], []


def _with_pools(storages: Sequence[_Storage], pools: Sequence[_Pool], found: Found) -> list[_Storage]:
    """Return the storages with existing pools. Without /storage, a pool has the storage's name, or is the only one."""
    names = {pool.name for pool in pools}
    blocks = [pool.name for pool in pools if pool.is_rbd]
    matched = []
    for storage in storages:
        pool = storage.pool or (storage.name if storage.name in names else "")
        if not pool and len(blocks) == 1:
            pool = blocks[0]
        if not storage.pool:
            text = f"its Ceph pool is assumed to be {pool}: /storage names it" if pool else "its Ceph pool is unknown"
            found.notes.assumed(text, f"storage {storage.name}")
        elif pool not in names:
            found.notes.assumed(f"its Ceph pool {pool} is not in the list of pools", f"storage {storage.name}")
        if pool in names:
            matched.append(_Storage(storage.name, pool, storage.has_krbd))
    return matched


def _osds(answers: Answers, source: Source, found: Found) -> list[_Osd]:
    """Return the OSDs that hold data, by number. Those that are out, or without a host or size, hold none."""
    nodes = next((leaves for answer in _of_nodes(answers, "osd") if (leaves := _leaves(answer, source))), {})
    osds = []
    for number, (host, fields) in sorted(nodes.items()):
        weight = json_fields.number(fields.get("crush_weight"))
        if not json_fields.flag(fields.get("in", 1)) or weight == 0:
            found.notes.of("OSD", f"osd.{number}", "out: left out")
            continue
        capacity = json_fields.whole(fields.get("total_space")) or 0
        if not LEAST_CAPACITY <= capacity <= MAX_CAPACITY and weight is not None and 0 < weight < 1024:
            capacity = round(weight * 2**40)
        if not host or not LEAST_CAPACITY <= capacity <= MAX_CAPACITY:
            found.notes.of("OSD", f"osd.{number}", "left out: no host, or no plausible size")
            continue
        version = re.match(r"([0-9]{1,2})\.", json_fields.text(fields.get("ceph_version_short")))
        osds.append(
            _Osd(
                number,
                host,
                json_fields.name(fields, "device_class")[:64],
                capacity,
                fields.get("status", "up") == "up",
                int(version[1]) if version else None,
                any(json_fields.text(fields.get(key)) for key in ("dbdev", "waldev")),
            )
        )
    return osds


def _leaves(answer: Any, source: Source) -> dict[int, tuple[str, Fields]]:
    """Return the OSDs of a CRUSH tree with their hosts, by number."""
    found: dict[int, tuple[str, Fields]] = {}
    waiting: list[tuple[Fields, str]] = [(json_fields.below(answer, "root"), "")]
    seen = 0
    while waiting:
        node, host = waiting.pop()
        seen += 1
        if node.get("type") == "host":
            host = json_fields.name(node)
        number = json_fields.whole(node.get("id"))
        if node.get("type") == "osd" and number is not None:
            found.setdefault(number, (json_fields.name(node, "host") or host, node))
        waiting += [(child, host) for child in json_fields.objects(node.get("children"))]
        if len(found) > MAX_OSDS or seen + len(waiting) > MAX_BUCKETS:
            value = (
                f"more than {MAX_OSDS} OSDs" if len(found) > MAX_OSDS else f"more than {MAX_BUCKETS} buckets and OSDs"
            )
            source.at("nodes/NODE/ceph/osd").too_large(value, f"at most {MAX_OSDS} OSDs")
    return found


def _pools(answers: Answers, source: Source, found: Found) -> list[_Pool]:
    listed = next((pools for answer in _of_nodes(answers, "pool") if (pools := json_fields.objects(answer))), [])
    if len(listed) > MAX_POOLS:
        source.at("nodes/NODE/ceph/pool").too_large(f"{len(listed)} pools", f"at most {MAX_POOLS}")
    found_pools: dict[str, _Pool] = {}
    for each in listed:
        name = json_fields.name(each, "pool_name")
        said = _redundancy(each, name, found)
        if said is None or not name:
            found.notes.assumed("left out: no plausible size", f"Ceph pool {name or '(without a name)'}")
            continue
        groups = json_fields.whole(each.get("pg_num")) or 0
        applications = json_fields.below(each, "application_metadata")
        found_pools[name] = _Pool(
            name,
            *said,
            json_fields.whole(each.get("bytes_used")),
            groups if groups <= 2**16 else 0,
            json_fields.name(each, "crush_rule_name"),
            "rbd" in applications or (not applications and not name.startswith(".")),
        )
    return list(found_pools.values())


def _redundancy(pool: Fields, name: str, found: Found) -> tuple[str, float] | None:
    """Return the redundancy of a pool as scenarios write it, and raw bytes of a stored byte; None if not plausible."""
    size, least = json_fields.whole(pool.get("size")), json_fields.whole(pool.get("min_size"))
    if not size:
        return None
    if pool.get("type", "replicated") != "erasure":
        if size > MAX_REPLICAS:
            return None
        return f"replicas-{size}:{min(max(least or 1, 1), size)}", float(size)
    rate = json_fields.number(json_fields.below(pool, "autoscale_status").get("raw_used_rate"))
    if rate is not None and rate > 1:
        data = round(size / rate)
    else:
        data = size - 1 if size <= 3 or least is None or least >= size else least - 1
        text = (
            f"K and M unknown: assumed {data}+{size - data} by its min_size; raw_used_rate of the autoscaler has them"
        )
        found.notes.assumed(text, f"Ceph pool {name}")
    parity = size - data
    return (f"ec-{data}+{parity}", size / data) if 1 <= data <= 64 and 1 <= parity <= 16 else None


def _rules(answers: Answers) -> dict[str, _Rule]:
    """Return the CRUSH rules in the map of the cluster, by name."""
    text = next((answer for answer in _of_nodes(answers, "crush") if isinstance(answer, str) and answer), "")[:MAX_MAP]
    rules: dict[str, _Rule] = {}
    name = None
    for line in text.splitlines():
        step = line[:MAX_LINE].strip()
        if begun := _RULE.fullmatch(step):
            name = outside.name(begun[1])
            rules[name] = _Rule(None, "host")
        elif step == "}":
            name = None
        elif name is not None and (taken := _CLASS.fullmatch(step)):
            rules[name] = replace(rules[name], device_class=outside.name(taken[1])[:64])
        elif name is not None and (chosen := _DOMAIN.fullmatch(step)):
            rules[name] = replace(rules[name], domain=outside.name(chosen[1]))
    return rules


def _classes(pool: _Pool, rules: Mapping[str, _Rule], classes: Sequence[str]) -> frozenset[str]:
    """Return the device classes of a pool: that of its rule, otherwise all."""
    rule = rules.get(pool.rule)
    return frozenset([rule.device_class] if rule is not None and rule.device_class else classes)


def _parts(sets: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Return the sets, those with a common element joined."""
    parts: list[frozenset[str]] = []
    for each in filter(None, sets):
        common = [part for part in parts if part & each]
        parts = [part for part in parts if not part & each] + [each.union(*common)]
    return sorted(parts, key=sorted)


def _home(classes: frozenset[str], parts: Sequence[frozenset[str]], sizes: Mapping[str, int]) -> frozenset[str] | None:
    """Return the part with most of the capacity that a pool uses. `sizes` has the capacity of each class."""
    best = max(parts, key=lambda part: sum(sizes[each] for each in part & classes), default=None)
    return best if best is not None and best & classes else None


def _bytes_of_vms(storages: Sequence[_Storage], vms: Sequence[Vm]) -> dict[str, int]:
    """Return the bytes of virtual disks on each pool that a storage is on."""
    pools = {storage.name: storage.pool for storage in storages}
    used = dict.fromkeys(pools.values(), 0)
    for vm in vms:
        for disk in vm.disks:
            if disk.datastore in pools:
                used[pools[disk.datastore]] += disk.capacity_bytes
    return used


def _devices(osds: Sequence[_Osd], drives: Mapping[int | None, Fields], found: Found) -> Iterator[PoolDevice]:
    """Yield the devices of OSDs: model and kind from `ceph osd metadata`, otherwise the kind of their class."""
    silent: Counter[tuple[str, str]] = Counter()
    for osd in osds:
        metadata = drives.get(osd.number)
        named = _drives(metadata) if metadata is not None else {}
        is_nvme = bool(named) and all(name.startswith("nvme") for name in named) and osd.device_class != "hdd"
        kind = "nvme" if is_nvme else _KINDS.get(osd.device_class, "sata-ssd")
        fitting = [model for name, model in named.items() if name.startswith("nvme") == (kind == "nvme") and model]
        model = fitting[0] if len(fitting) == 1 else None
        if model is None:
            silent[osd.device_class or "unknown", kind] += 1
        yield PoolDevice(osd.host, kind, osd.capacity_bytes, model)
    for (device_class, kind), count in sorted(silent.items()):
        text = (
            f"drive model unknown: assumed a generic {kind} with power-loss protection for device class "
            f"{device_class}; /cluster/ceph/metadata has it, or set storage.NAME.devices.device"
        )
        found.notes.assumed(text, counted(count, "OSD"))


def _drives(metadata: Fields) -> dict[str, str]:
    """Return the models of the disks of an OSD by their names, from `sdb=VENDOR_MODEL_SERIAL,...`."""
    names = [name for name in json_fields.text(metadata.get("devices"))[:1024].split(",") if name]
    ids = (part.partition("=") for part in json_fields.text(metadata.get("device_ids"))[:4096].split(","))
    models = {name: outside.name(text.rpartition("_")[0].replace("_", " ")) for name, _, text in ids}
    return {name: models.get(name, "") for name in names}


def _health(answers: Answers, osds: Sequence[_Osd], found: Found) -> None:
    """Note what is not healthy: OSDs that are down, flags, warnings."""
    for osd in osds:
        if not osd.is_up:
            found.notes.of("OSD", f"osd.{osd.number}", "down: imported as up; simulate its failure with failures")
    listed = json_fields.objects(answers.get("cluster/ceph/flags"))
    flags = {json_fields.name(each) for each in listed if json_fields.flag(each.get("value"))}
    for answer in _of_nodes(answers, "osd"):
        flags |= set(json_fields.text(json_fields.below(answer).get("flags"))[:4096].split(","))
    if known := [flag for flag in _FLAGS if flag in flags]:
        text = f"{' and '.join(known)} set: imported as if not set"
        delay = " (storage.NAME.rebuild.delay of 30 d has the effect of noout)" if "noout" in known else ""
        found.notes.assumed(text + delay, "Ceph flags")
    for status in (answers.get("cluster/ceph/status"), *_of_nodes(answers, "status")):
        health = json_fields.below(status, "health")
        state = json_fields.name(health, "status")
        if state and state != "HEALTH_OK":
            checks = ", ".join(outside.name(each) for each in sorted(json_fields.below(health, "checks"))[:4])
            text = f"{state}{f' ({checks})' if checks else ''}: imported as healthy, with all placement groups complete"
            found.notes.assumed(text, "Ceph health")
        if state:
            return
