"""Scenarios at random, in the shape of what people have and quick to simulate.

`scenario(seed)` draws hosts of every hypervisor, one to three groups of VMs, and what their disks are on: nothing that
is simulated, an array, disks inside the hosts, or a pool. Each part has dice of its own, so that the others stay what
they are when one of them learns something new. Most scenarios are loaded below what there is, the rest near it or
beyond; `load` says how much by arithmetic that knows nothing of the simulation.

`python -m tests.random_scenarios COUNT [FIRST]` simulates some until they have settled, and four times as long, and
prints what came of it (`tests/settling.py`).
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import hypertwin
from hypertwin import _core, language
from hypertwin.language import Inventory

Data = dict[str, Any]

BELOW = 0.88
"""Load up to which a scenario is below capacity: between what `scenario` asks of those that are and of the others."""
POOLS = {
    family: [own, own, own, "mirrored-mesh", "chunk-store"] for family, own in (("esxi", "vsan"), ("linux", "ceph"))
}
"""Pools that hosts of a family are found with, as often as they are drawn."""
HARD_DISKS = {"hdd-7.2k": 75.0, "hdd-10k": 125.0, "hdd-15k": 175.0}
"""Random I/Os of one drive in a second, about."""
STREAM = 120e6
"""Bytes of one hard disk in a second, about."""
FLASH = {"sata-ssd": (50e3, 10e3, 300e6), "sas-ssd": (100e3, 25e3, 500e6), "nvme": (200e3, 40e3, 1e9)}
"""Reads, writes and bytes of one drive in a second, about."""
MOST_CORES = 24
"""Cores of all hosts together."""
BURSTS_PER_S = 8_000
"""CPU bursts of all cores together in a second, about."""
EVENTS_PER_S = 150_000
"""Events of open workloads in a simulated second, about: less load where that would be more."""


def scenario(seed: int) -> Data:
    """The scenario of a seed, as a file has it; it leaves open how long it is simulated."""
    dice = _dice(seed, "scenario")
    hypervisor = _hypervisor(dice)
    storage = dice.choice(["none"] * 3 + ["array"] * 2 + ["local"] + ["pool"] * 4)
    data: Data = {
        "name": f"random-{seed}",
        "run": {"seed": seed + 1},
        "hosts": _hosts(_dice(seed, "hosts"), hypervisor, storage),
        "vms": {},
        "workloads": {},
    }
    if storage in ("array", "local"):
        data["arrays"] = _arrays(_dice(seed, "storage"), storage, data["hosts"]["h"]["count"])
    if storage == "pool":
        data["storage"] = {"pool": _pool(_dice(seed, "pool"), data["hosts"]["h"])}
    for name in "abc"[: dice.randint(1, 3)]:
        _add_group(_dice(seed, name), data, name)
    _set_load(data, dice.uniform(0.2, 0.85) if dice.random() < 0.82 else dice.uniform(0.9, 1.3))
    return data


def kind(data: Data) -> str:
    """Hypervisor, storage and arrivals in words."""
    host = next(iter(data["hosts"].values()))
    words = [host["hypervisor"], "ht" if host["threads_per_core"] == 2 else "no-ht"]
    for array in list(data.get("arrays", {}).values())[:1]:
        words += [array.get("protocol", "fc"), array["disks"]["kind"], "cache" if _cache_bytes(array) else "no-cache"]
    for pool in data.get("storage", {}).values():
        words += [pool["kind"], pool["devices"]["kind"], pool["redundancy"]]
    arrivals = sorted({next(iter(work["arrivals"])) for work in data["workloads"].values()})
    return " ".join([*words, "+".join(arrivals)])


def _dice(seed: int, part: str) -> random.Random:
    return random.Random(f"{seed} {part}")


# ---- hosts


def _hypervisor(dice: random.Random) -> str:
    """Any, of the two families alike often."""
    family = dice.choice(["esxi", "linux"])
    return dice.choice([name for name, each in language.hypervisors().items() if each.family == family])


def _hosts(dice: random.Random, hypervisor: str, storage: str) -> Data:
    """One to three hosts, sometimes of two kinds."""
    count = dice.choice([1, 1, 2, 2, 3]) if storage != "pool" else dice.choice([1, 2, 2, 3, 3, 3])
    cores = dice.choice([each for each in (4, 6, 8, 12, 16) if each * count <= MOST_CORES])
    sockets = dice.choice([1, 2])
    host: Data = {
        "count": count,
        "sockets": sockets,
        "cores_per_socket": cores // sockets,
        "threads_per_core": dice.choice([1, 2]),
        "clock": dice.choice(["1.8 GHz", "2.1 GHz", "2.6 GHz", "3.1 GHz", "3.6 GHz"]),
        "memory_per_node": "512 GiB",
        "hypervisor": hypervisor,
        "adapters": {"ports": dice.choice([2, 4]), "bandwidth": dice.choice(["800 MB/s", "1600 MB/s"])},
        "network": {"ports": 2, "bandwidth": dice.choice(["1.18 GB/s", "2.95 GB/s"])},
    }
    if dice.random() < 0.2:
        host["turbo"] = f"{float(host['clock'].split()[0]) * 1.2:.2f} GHz"
    if dice.random() < 0.2:
        host["smt_yield"] = dice.choice([1.1, 1.4])
    if dice.random() < 0.3:
        host["power_policy"] = dice.choice(["high-performance", "balanced", "low-power"])
    if dice.random() < 0.3:
        host["scheduler"] = _scheduler(dice, hypervisor)
    if count == 1 or storage in ("pool", "local") or dice.random() < 0.8:
        return {"h": host}
    return {"h": {**host, "count": count - 1}, "old": {**host, "count": 1, "clock": "1.6 GHz"}}


def _scheduler(dice: random.Random, hypervisor: str) -> Data:
    """An option of the hypervisor's scheduler that somebody has changed."""
    each = language.hypervisors()[hypervisor]
    options: list[Data] = [{"core_scheduling": "linux"}, {"base_slice": "10 ms"}, {"tick": "1 ms"}, {"tick": "10 ms"}]
    if each.family == "esxi":
        options = [{"quantum": "20 ms"}]
        options += [{"core_scheduling": "sca-v1"}] if each.version >= (5, 5, 0) else []
        options += [{"core_scheduling": "sca-v2"}] if each.version >= (6, 7, 0) else []
    return dice.choice(options)


# ---- storage


def _arrays(dice: random.Random, storage: str, hosts: int) -> Data:
    """One for all hosts, or disks inside each of them."""
    if storage == "array":
        return {"san": _array(dice)}
    disks = {"kind": dice.choice([*HARD_DISKS, *FLASH]), "count": dice.choice([1, 2, 4, 8])}
    inside = {"protocol": "local", "raid": dice.choice(["raid-0", "raid-1", *["raid-5"] * (disks["count"] > 2)])}
    return {f"inside-{number}": {**inside, "disks": dict(disks)} for number in range(1, hosts + 1)}


def _array(dice: random.Random) -> Data:
    array: Data = {
        "front_end_ports": dice.choice([2, 4]),
        "protocol": dice.choice(["fc", "fc", "iscsi", "nvme-fc", "nvme-tcp", "nvme-rdma"]),
        "raid": dice.choice(["raid-0", "raid-1", "raid-5", "raid-6"]),
        "disks": {"kind": dice.choice([*HARD_DISKS, *FLASH]), "count": dice.choice([6, 12, 24])},
        "cache": {"size": dice.choice(["0 B", "4 GiB", "32 GiB"])},
    }
    if _cache_bytes(array):
        array["cache"].update({"write_pending": dice.choice(["32 MiB", "256 MiB"]), "write_back": dice.random() < 0.8})
    if dice.random() < 0.3:
        array["paths"] = {"per_lun": 2, "policy": dice.choice(["fixed", "round-robin", "queue-length"])}
    return array


def _cache_bytes(array: Data) -> int:
    return int(_core.size_bytes(array.get("cache", {}).get("size", "0 B")))


def _pool(dice: random.Random, host: Data) -> Data:
    """A pool of a kind that such hosts are found with, as redundant as they are many."""
    each, nodes = language.hypervisors()[host["hypervisor"]], host["count"]
    has_vsan = nodes > 1 and each.version >= (5, 5, 0)
    kinds = [name for name in POOLS[each.family] if name != "vsan" or has_vsan]
    pool_kind, per_node = dice.choice(kinds), dice.choice([2, 3, 4, 6])
    pool: Data = {
        "kind": pool_kind,
        "nodes": "h",
        "failure_domain": "host" if nodes > 1 else "disk",
        "devices": {"kind": dice.choice([*FLASH, "hdd-7.2k", "hdd-10k"]), "per_node": per_node, "capacity": "4 TB"},
    }
    domains = nodes if nodes > 1 else per_node
    is_esa = pool_kind == "vsan" and each.version >= (8, 0, 0) and dice.random() < 0.6
    schemes = ["replicas-2"] + ["replicas-3"] * (domains >= 3)
    if pool_kind != "vsan" or is_esa:
        schemes += ["ec-2+1"] * (domains >= 3) + ["ec-4+2"] * (domains >= 6)
    pool["redundancy"] = dice.choice(schemes)
    if pool_kind == "vsan":
        pool.update(_vsan(dice, pool["devices"], is_esa))
    elif pool_kind == "ceph":
        pool.update(_ceph(dice, pool["devices"]))
    elif dice.random() < 0.4:
        pool["flash"] = {"kind": "nvme", "journal": dice.choice(["0 B", "64 MiB"]), "read_cache": "2 GiB"}
    if pool_kind == "mirrored-mesh":
        pool["write_path"] = dice.choice(["chain", "primary", "client"])
    return pool


def _vsan(dice: random.Random, devices: Data, is_esa: bool) -> Data:
    """The express architecture is on flash alone; the original one has a cache device before all others."""
    if is_esa:
        devices["kind"] = "nvme"
        return {"vsan": {"architecture": "esa"}}
    return {
        "vsan": {"architecture": "osa"},
        "flash": {"kind": dice.choice(["sas-ssd", "nvme"]), "per_node": 1, "capacity": "400 GB"},
    }


def _ceph(dice: random.Random, devices: Data) -> Data:
    found: Data = {"ceph": {"release": dice.choice(["nautilus", "pacific", "quincy", "reef", "squid", "tentacle"])}}
    found["ceph"]["client"] = dice.choice(["librbd", "krbd"])
    if devices["kind"] in HARD_DISKS and dice.random() < 0.5:
        found["flash"] = {"kind": "nvme", "per_node": 1, "capacity": "800 GB"}
    return found


# ---- VMs and what runs in them


def _add_group(dice: random.Random, data: Data, name: str) -> None:
    """A group of VMs with a workload of its own, at a load that `_set_load` has the last word on."""
    hosts = data["hosts"]
    threads = hosts["h"]["sockets"] * hosts["h"]["cores_per_socket"] * hosts["h"]["threads_per_core"]
    vm: Data = {
        "count": dice.choice([1, 1, 2, 3, 4]),
        "vcpus": dice.choice([each for each in (1, 1, 2, 2, 4, 8) if each <= threads]),
        "memory": dice.choice(["2 GiB", "8 GiB"]),
        "workload": name,
    }
    _add_claims(dice, vm, hosts["h"])
    has_disks = ("arrays" in data or "storage" in data) and dice.random() < 0.85
    ways = ["open"] * 6 + ["closed"] * 2 + (["io"] * 2 if has_disks else ["parallel"])
    way = dice.choice(ways)
    if has_disks:
        vm.update(_disks(dice, data, name, way))
    data["vms"][name] = vm
    data["workloads"][name] = {
        "open": lambda: _transactions(dice, vm, hosts, has_disks) | {"arrivals": _open(dice)},
        "closed": lambda: _transactions(dice, vm, hosts, has_disks) | {"arrivals": _closed(dice)},
        "parallel": lambda: _parallel(dice, vm, hosts),
        "io": lambda: _generator(dice, _drive(data, vm) in HARD_DISKS) | _blocks(dice),
    }[way]()
    _fit(dice, vm, data["workloads"][name])


def _add_claims(dice: random.Random, vm: Data, host: Data) -> None:
    """What it may have of CPU beside others, at most and at least."""
    if dice.random() < 0.2:
        vm["shares"] = dice.choice(["low", "high", 3000])
    if dice.random() < 0.15:
        ghz = dice.uniform(0.3, 0.9) * vm["vcpus"] * float(host["clock"].split()[0])
        vm["limit"] = f"{ghz:.2f} GHz"
    if dice.random() < 0.1 and language.hypervisors()[host["hypervisor"]].reservations:
        vm["reservation"] = "300 MHz"
    if dice.random() < 0.2:
        vm["guest"] = {"time_slice": dice.choice(["2 ms", "20 ms"])}


def _disks(dice: random.Random, data: Data, name: str, way: str) -> Data:
    """Virtual disks, and who serves them."""
    disks: Data = {"vdisks": dice.choice([1, 1, 2]) if way == "io" else dice.choice([1, 2, 4])}
    if "storage" in data:
        disks["storage"] = "pool"
    elif "san" in data["arrays"]:
        disks["array"] = "san"
    else:
        hosts = language.member_names("h", data["hosts"]["h"]["count"])
        number = "abc".index(name) % len(hosts)
        disks.update({"array": f"inside-{number + 1}", "host": hosts[number]})
    if data["hosts"]["h"]["hypervisor"].startswith("linux"):
        disks["controller"] = dice.choice(["virtio-scsi", "virtio-blk", "vhost-scsi"])
        if disks["controller"] == "vhost-scsi":
            disks["io_threads"] = dice.choice([1, 2])
        else:
            disks["io_threads"] = dice.choice([0, 1, 1, 2])
            disks["disk_cache"] = dice.choice(["none", "none", "writeback"])
            disks["aio"] = dice.choice(["native", "io_uring", "threads"])
    else:
        disks["controller"] = dice.choice(["pvscsi", "pvscsi", "lsi-sas", "nvme"])
    return disks


def _blocks(dice: random.Random) -> Data:
    """What I/Os are like."""
    blocks: Data = {
        "block": dice.choice(["4 KiB", "8 KiB", "16 KiB", "64 KiB"]),
        "read_pct": dice.choice([0, 30, 50, 70, 100]),
        "random_pct": dice.choice([100, 100, 50, 0]),
        "working_set": dice.choice(["1 GiB", "5 GiB", "20 GiB"]),
    }
    if dice.random() < 0.15:
        blocks["block_mix"] = [{"block": "128 KiB", "share_pct": 10}]
    if dice.random() < 0.2:
        blocks["sync_pct"] = dice.choice([20, 100])
    return blocks


def _transactions(dice: random.Random, vm: Data, hosts: Data, has_disks: bool) -> Data:
    """Bursts of CPU with I/Os and delays between them."""
    bursts = dice.choice([1, 1, 1, 2, 5])
    work: Data = {"cpu": {"mean": f"{bursts * _burst_ms(dice, hosts):g} ms", "cv": dice.choice([0, 0.5, 1, 1, 2])}}
    if bursts > 1:
        work["bursts"] = bursts
    if dice.random() < 0.2:
        work["transaction_cv"] = dice.choice([0.5, 1.5])
    if dice.random() < 0.5:
        work["delay"] = {"mean": f"{dice.choice([1, 5, 20])} ms", "cv": dice.choice([0, 1, 2])}
    if has_disks or dice.random() < 0.3:
        work["ios"] = dice.choice([0.5, 1, 2, 4]) * bursts
    return work | _blocks(dice) if has_disks else work


def _burst_ms(dice: random.Random, hosts: Data) -> float:
    cores = sum(host["count"] * host["sockets"] * host["cores_per_socket"] for host in hosts.values())
    return dice.choice([each for each in (1.0, 2.0, 5.0, 10.0, 20.0) if each >= 1e3 * cores / BURSTS_PER_S])


def _open(dice: random.Random) -> Data:
    return {"open": {"rate": "1 /s", "cv": dice.choice([0, 0.5, 1, 1, 1, 2])}}


def _closed(dice: random.Random) -> Data:
    think = dice.choice([0.0, 0.05, 0.5, 0.5, 2.0])
    return {"closed": {"population": 1, "think": {"mean": f"{think} s", "cv": dice.choice([0, 1, 1])}}}


def _parallel(dice: random.Random, vm: Data, hosts: Data) -> Data:
    """A computation that takes all it can have."""
    return {
        "arrivals": {"parallel": {"parts": dice.choice(["node", "vcpu"])}},
        "cpu": {"mean": f"{vm['vcpus'] * dice.choice([5, 20, 50])} ms", "cv": dice.choice([0, 0.5, 1])},
        "bursts": dice.choice([1, 2]),
    }


def _generator(dice: random.Random, slow: bool) -> Data:
    """What keeps I/Os outstanding: few on flash, where each is short, unless its rate is limited."""
    is_limited = dice.random() < 0.5
    io: Data = {"outstanding": dice.choice([1, 4, 16]) if slow or is_limited else 1}
    if is_limited:
        io["rate"] = f"{dice.choice([20, 50, 100] if slow else [200, 500, 1000])} /s"
    return {"arrivals": {"io": io}, "cpu": {"mean": f"{dice.choice([5, 20])} us"}}


def _fit(dice: random.Random, vm: Data, work: Data) -> None:
    """Has a VM's transactions need a part of its vCPUs."""
    vcpus, cpu_s = dice.uniform(0.2, 1.0) * vm["vcpus"], _mean_s(work["cpu"])
    arrivals = work["arrivals"]
    if "open" in arrivals:
        arrivals["open"]["rate"] = f"{vcpus / cpu_s:.4g} /s"
    if "closed" in arrivals:
        cycle_s = cpu_s + _mean_s(arrivals["closed"]["think"]) + _mean_s(work.get("delay"))
        arrivals["closed"]["population"] = min(max(1, round(vcpus / cpu_s * cycle_s)), 300)


def _set_load(data: Data, wanted: float) -> None:
    """Has open workloads arrive so often that the scenario's load is what is wanted."""
    found = hypertwin.load(data).inventory
    least, most = 1e-4, 1e2
    for _ in range(20):
        middle = (least * most) ** 0.5
        for vm in data["vms"].values():
            if "open" in data["workloads"][vm["workload"]]["arrivals"]:
                vm["load"] = float(f"{middle:.3g}")
        is_less = _load(data, found) < wanted and _events_per_s(data) < EVENTS_PER_S
        least, most = (middle, most) if is_less else (least, middle)


def _events_per_s(data: Data) -> float:
    """Events of open workloads, as `hypertwin.runs.effort` reckons them."""
    per_s = 0.0
    for vm in data["vms"].values():
        work = data["workloads"][vm["workload"]]
        if "open" in work["arrivals"]:
            events = 1 + 3 * work.get("bursts", 1) + 6 * work.get("ios", 0)
            per_s += events * vm["count"] * _transactions_per_s(data, vm, work)
    return per_s


# ---- how much that is, by simple arithmetic

RAID_WRITES = {"raid-0": (1, 1, 0), "raid-1": (2, 2, 0), "raid-5": (4, 1, 1), "raid-6": (6, 1, 2)}
"""Disk operations of a random write, and of one in sequence, without parity; disks of a stripe with parity."""
FLASH_ANSWER_S = 3e-4
"""Time in which flash answers through all that is before it, about."""
PATH_S, LEG_S = 25e-6, 30e-6
"""CPU of a host for an I/O: controller and driver; a service of a pool, for each device that works on it."""
CEPH_READ_S, CEPH_WRITE_S = 60e-6, 200e-6
"""The latter for each copy."""
OLD_CEPH = {"nautilus": 2.3, "pacific": 1.25}
QUOTA = 0.8
"""Work that run time of a quota brings on hosts with hyper-threading: 0.625 beside a busy sibling, else 1."""
SHARES = {"low": 500, "normal": 1000, "high": 2000}


@dataclass(frozen=True)
class Wish:
    """What a VM asks for: CPU in cores of its host."""

    host: str
    is_open: bool
    """Whether its transactions come whatever happens to earlier ones."""
    cores: float
    most: float
    """What it can have: vCPUs, or its limit."""
    weight: float
    """Its shares."""
    path_cores: float
    """CPU of its host for its I/Os."""
    service_cores: float
    """CPU of all nodes of the pool for its I/Os."""
    store: str
    """The array or pool that has its disks, if one has."""
    drives: float
    """Drives there that its I/Os keep busy."""


def below_capacity(data: Data) -> bool:
    """Whether what is offered is below what there is."""
    return load(data) < BELOW


def load(data: Data) -> float:
    """Offered work over what can be had for it, where that is most; 0 where all wait for their own answers.

    Work is CPU over what hosts have, CPU of a VM over what it gets beside others, and I/Os over what drives do. Closed
    and parallel workloads and generators are never beyond, but take CPU by their shares.
    """
    return _load(data, hypertwin.load(data).inventory)


def _load(data: Data, found: Inventory) -> float:
    wishes = [_wish(data, found, vm.group, vm.host) for vm in found.vms]
    return max([0.0, *_cpu_loads(found, wishes), *_drive_loads(data, wishes)])


def _cpu_loads(found: Inventory, wishes: Sequence[Wish]) -> Iterator[float]:
    for name, host in found.host.items():
        here = [wish for wish in wishes if wish.host == name]
        opened = [wish for wish in here if wish.is_open]
        io_cores = _io_cores(found, name, [wish for wish in wishes if wish.is_open])
        yield (sum(wish.cores for wish in opened) + io_cores) / host.cores
        # those who wait for I/O leave some
        cores = max(host.cores - _io_cores(found, name, wishes), 0.3 * host.cores)
        for wish in opened:
            yield wish.cores / _entitled(wish, [other for other in here if other is not wish], cores)


def _io_cores(found: Inventory, host: str, wishes: Sequence[Wish]) -> float:
    """CPU of a host for the I/Os of some VMs: of its own, and of all as a node of their pool."""
    path = sum(wish.path_cores for wish in wishes if wish.host == host)
    return path + sum(wish.service_cores for wish in wishes) / len(found.hosts)


def _entitled(one: Wish, others: Sequence[Wish], cores: float) -> float:
    """What a VM gets if it wants all it can have: its share, and of that of others what they do not want."""
    weight = one.weight + sum(other.weight for other in others)
    for other in sorted(others, key=lambda other: other.cores / other.weight):
        cores -= min(other.cores, cores * other.weight / weight)
        weight -= other.weight
    return min(cores, one.most)


def _drive_loads(data: Data, wishes: Sequence[Wish]) -> Iterator[float]:
    busy: dict[str, float] = defaultdict(float)
    for wish in wishes:
        if wish.is_open and wish.store:
            busy[wish.store] += wish.drives
    for store, drives in busy.items():
        if store == "pool":
            yield drives / (data["storage"]["pool"]["devices"]["per_node"] * data["hosts"]["h"]["count"])
        else:
            yield drives / data["arrays"][store]["disks"]["count"]


def _wish(data: Data, found: Inventory, group: str, host_name: str) -> Wish:
    vm, host = data["vms"][group], found.host[host_name]
    work = data["workloads"][vm["workload"]]
    most = _most_cores(vm, host)
    cpu_s, store = _mean_s(work["cpu"]), vm.get("array") or vm.get("storage") or ""
    rate = _transactions_per_s(data, vm, work)
    is_open = "open" in work["arrivals"]
    ios_per_s = rate * (1.0 if "io" in work["arrivals"] else work.get("ios", 0.0))
    return Wish(
        host=host_name,
        is_open=is_open,
        cores=rate * cpu_s if is_open else min(rate * cpu_s, most),
        most=most,
        weight=SHARES[shares] * vm["vcpus"] if (shares := vm.get("shares", "normal")) in SHARES else shares,
        path_cores=ios_per_s * PATH_S,
        service_cores=ios_per_s * _service_s(data["storage"]["pool"], work) if store == "pool" else 0.0,
        store=store,
        drives=ios_per_s * _drive_s(data, store, work) if store else 0.0,
    )


def _most_cores(vm: Data, host: language.Host) -> float:
    if "limit" not in vm:
        return float(vm["vcpus"])
    speed = QUOTA if host.family == "linux" and host.threads_per_core == 2 else 1.0
    return min(float(vm["vcpus"]), speed * _core.frequency_hz(vm["limit"]) / host.clock_hz)


def _transactions_per_s(data: Data, vm: Data, work: Data) -> float:
    """Transactions of a VM that are offered, or that there are at most where it waits for its answers."""
    arrivals, cpu_s = work["arrivals"], _mean_s(work["cpu"])
    if "open" in arrivals:
        return float(_core.rate_per_s(arrivals["open"]["rate"]) * vm.get("load", 1.0))
    if "parallel" in arrivals:
        return float(vm["vcpus"]) / cpu_s
    if "closed" in arrivals:
        cycle_s = cpu_s + _mean_s(arrivals["closed"]["think"]) + _mean_s(work.get("delay"))
        return float(min(arrivals["closed"]["population"] / cycle_s, vm["vcpus"] / cpu_s))
    io = arrivals["io"]
    answer_s = 1 / HARD_DISKS.get(_drive(data, vm), 1 / FLASH_ANSWER_S)
    most = io["outstanding"] * vm["vdisks"] / answer_s
    return float(min(most, _core.rate_per_s(io["rate"]) if "rate" in io else most))


def _drive(data: Data, vm: Data) -> str:
    """The kind of the drives that a VM's disks are on."""
    drives = data["storage"]["pool"]["devices"] if "storage" in vm else data["arrays"][vm["array"]]["disks"]
    return str(drives["kind"])


def _service_s(pool: Data, work: Data) -> float:
    """CPU of a pool's services for one I/O."""
    reads, (of_read, of_write) = work["read_pct"] / 100, _legs(pool)
    if pool["kind"] == "ceph":
        factor = OLD_CEPH.get(pool["ceph"]["release"], 1.0)
        return float(factor * (reads * of_read * CEPH_READ_S + (1 - reads) * of_write * CEPH_WRITE_S))
    return float(LEG_S * (reads * of_read + (1 - reads) * of_write))


def _legs(pool: Data) -> tuple[int, int]:
    """Operations of devices for a read and for a write."""
    kept = language.redundancy(pool["redundancy"])
    if not kept.is_erasure_code:
        return 1, kept.width
    if pool["kind"] == "ceph":
        return kept.needed, kept.needed + kept.width
    return 1, 2 * (1 + kept.failures_tolerated)


def _drive_s(data: Data, store: str, work: Data) -> float:
    """Time of drives that one I/O takes."""
    reads, at_random = work["read_pct"] / 100, work["random_pct"] / 100
    if store == "pool":
        pool = data["storage"]["pool"]
        name, missed, (of_read, of_write) = pool["devices"]["kind"], 1.0, map(float, _legs(pool))
        if pool["kind"] == "ceph" and name in HARD_DISKS and "flash" not in pool:
            of_write *= 2  # the log
    else:
        array = data["arrays"][store]
        name, of_read, (scattered, in_sequence, parity) = array["disks"]["kind"], 1.0, RAID_WRITES[array["raid"]]
        in_sequence *= array["disks"]["count"] / (array["disks"]["count"] - parity)
        of_write = at_random * scattered + (1 - at_random) * in_sequence
        missed = 1 - at_random * min(1.0, _cache_bytes(array) / _working_sets(data, store))
    size = _core.size_bytes(work["block"])
    for more in work.get("block_mix", []):
        size += (_core.size_bytes(more["block"]) - size) * more["share_pct"] / 100
    if name in HARD_DISKS:
        seeks = at_random * (2 - at_random)  # one in sequence seeks after one at random
        read_s = write_s = seeks / HARD_DISKS[name] + size / STREAM
    else:
        rates = FLASH[name]
        read_s, write_s = (max(1 / rate, size / rates[2]) for rate in rates[:2])
    return float(reads * missed * of_read * read_s + (1 - reads) * of_write * write_s)


def _working_sets(data: Data, array: str) -> float:
    sizes = (
        vm.get("count", 1) * vm["vdisks"] * _core.size_bytes(data["workloads"][vm["workload"]]["working_set"])
        for vm in data["vms"].values()
        if vm.get("array") == array
    )
    return float(sum(sizes))


def _mean_s(service: Data | None) -> float:
    return float(_core.duration_s(service["mean"])) if service else 0.0


if __name__ == "__main__":
    from tests.settling import table

    table(*map(int, sys.argv[1:3]))
