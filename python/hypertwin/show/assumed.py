"""Assumed defaults that affect figures of a result, each with the key that replaces it.

A default has a note if a shown figure depends on it. The note disappears when the key is set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from hypertwin import language
from hypertwin.documents.simulation import Point
from hypertwin.metrics.words import some
from hypertwin.scenario import drives
from hypertwin.show.movement import migrations

HARD_DISKS = frozenset({"hdd-15k", "hdd-10k", "hdd-7.2k"})
"""Kinds of disk for which power-loss protection has no meaning."""

PUBLISHED_COSTS: Mapping[str, Collection[str]] = {
    "esxi-5.0": {"pvscsi", "lsi-sas"},
    "esxi-5.1": {"pvscsi"},
    "linux": {"virtio-blk", "passthrough"},
    "esxi": {"passthrough"},
    "none": {"passthrough"},
}
"""Controllers whose CPU per I/O follows from published figures, by version or family: docs/models/io-path.md."""

SYNCHRONOUS = frozenset({"writethrough", "directsync"})
"""Values of `disk_cache` that make every write synchronous."""

CACHED = frozenset({"writeback", "writethrough", "unsafe"})
"""Values of `disk_cache` with a cache."""

OF_THE_HOST = frozenset({"iscsi", "nvme-tcp", "nvme-rdma"})
"""Protocols that cost CPU on hosts. With Fibre Channel, the adapter does the work."""

DEFAULTS_OF_PATHS = {
    "timeout": ("5 s", "an I/O to {} whose path fails is sent again after 5 s"),
    "non_optimised_latency": ("200 us", "a path to {} that is not optimised takes 200 us longer"),
}
"""Defaults of paths that are assumptions, in canonical form, each with a sentence."""

DEVICE_KEYS = {"arrays.": "arrays.NAME.disks.device", "storage.": "storage.NAME.devices.device"}
"""Key that names a model, by the section of the scenario."""


def notes(points: Iterable[Point], scenario: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each assumption. `scenario` is the canonical form, which omits keys with default values."""
    moved, restarted, paged, squeezed = set[str](), set[str](), set[str](), set[str]()
    with_io = dict[str, str]()
    for point in points:
        moved |= {move["vm"] for move in migrations(point)}
        restarted |= {str(point["hosts"][outage["host"]]["cluster"]) for outage in point.get("outages", [])}
        for name, vm in point["vms"].items():
            memory = vm.get("memory")
            if memory and (memory["swapped_bytes"] or memory["compressed_bytes"]):
                paged.add(name)
            if memory and memory["compressed_bytes"]:
                squeezed.add(name)
            if vm.get("io_latency_ms"):
                with_io[name] = str(vm.get("host"))
    return [
        *_sentences(scenario, moved, restarted, paged, squeezed),
        *_of_disks(scenario, _groups(scenario, with_io)),
        *_of_controllers(scenario, with_io),
        *_of_caches(scenario, _groups(scenario, with_io)),
        *_of_protocols(scenario, _groups(scenario, with_io)),
        *_of_paths(scenario, _groups(scenario, with_io)),
    ]


def _sentences(
    scenario: Mapping[str, Any], moved: set[str], restarted: set[str], paged: set[str], squeezed: set[str]
) -> Iterator[str]:
    if found := _workloads(scenario, moved, "dirty_rate"):
        yield (
            f"Assumed: {some(found)} write{_s(found)} to 50 MB of memory per second of CPU time. Migrations depend on"
            " it (workloads.NAME.dirty_rate)."
        )
    if found := _workloads(scenario, paged, "page_rate"):
        yield (
            f"Assumed: {some(found)} use{_s(found)} 20,000 pages of memory per second of CPU time. Swap wait depends on"
            " it (workloads.NAME.page_rate)."
        )
    if found := [
        name for name in _groups(scenario, squeezed) if "memory_compressible_pct" not in scenario["vms"][name]
    ]:
        yield (
            f"Assumed: half of the pages of {some(found)} compress to half their size. Swapped memory depends on it"
            " (vms.NAME.memory_compressible_pct)."
        )
    clusters = scenario.get("clusters") or {}
    if found := sorted(name for name in restarted if "boot" not in (clusters.get(name, {}).get("ha") or {})):
        yield f"Assumed: the boot time of VMs of {some(found)}. Outages depend on it (clusters.NAME.ha.boot)."


def _of_disks(scenario: Mapping[str, Any], groups: Iterable[str]) -> Iterator[str]:
    """Yield assumptions about the disks of groups with I/O."""
    kinds: dict[str, str] = {}
    unprotected, unknown, flushing = set[str](), set[str](), set[str]()
    for group in groups:
        vm = scenario["vms"][group]
        for place, name, disks in _disks(scenario, vm):
            device = disks.get("device")
            kind, protected, is_known = _flush(scenario, disks)
            if device is None:
                kinds[f"{place}.{name}.{kind}"] = f"{name} ({kind})"
            if kind in HARD_DISKS or not _is_flushed(scenario, vm):
                continue
            if protected is None:
                unprotected.add(device or name)
            elif device and not protected:
                flushing.add(device)
                if not is_known:
                    unknown.add(device)
    if kinds:
        keys = {key for section, key in DEVICE_KEYS.items() if any(each.startswith(section) for each in kinds)}
        yield (
            f"Assumed: generic drives for {some(sorted(kinds.values()))}. Models differ: name yours"
            f" ({', '.join(sorted(keys))}; hypertwin devices lists models)."
        )
    if unprotected:
        yield (
            f"Assumed: {some(sorted(unprotected))} {'has' if len(unprotected) == 1 else 'have'} power-loss protection,"
            " so a flush costs nothing. Without it a synchronous write takes 0.6 to 12 ms"
            " (devices.NAME.power_loss_protection)."
        )
    if flushing:
        yield f"Synchronous writes wait for flushes of {some(sorted(flushing))}, without power-loss protection."
    if unknown:
        yield (
            f"Assumed: a flush of {some(sorted(unknown))} takes as long as on other drives without power-loss"
            " protection, because no figure is published (devices.NAME.flush)."
        )


def _of_controllers(scenario: Mapping[str, Any], with_io: Mapping[str, str]) -> Iterator[str]:
    """Yield assumptions about the CPU cost of I/Os, for VMs and their hosts."""
    found = set[str]()
    for vm, host in with_io.items():
        for group in _entries(scenario["vms"], [vm]):
            for hosts in _entries(scenario["hosts"], [host]):
                hypervisor = str(scenario["hosts"][hosts]["hypervisor"])
                family = hypervisor.partition("-")[0]
                kind = scenario["vms"][group].get("controller", language.hypervisors()[hypervisor].controllers[0])
                if kind not in PUBLISHED_COSTS.get(hypervisor, PUBLISHED_COSTS.get(family, ())):
                    found.add(f"{hypervisor} ({kind})")
    if found:
        yield (
            f"Assumed: the CPU cost of an I/O on {some(sorted(found))}, from published figures of pvscsi on ESXi 5.0"
            " and 5.1, and of virtio-blk (vms.NAME.controller)."
        )


def _of_caches(scenario: Mapping[str, Any], groups: Iterable[str]) -> Iterator[str]:
    """Yield the limits of the model of page caches of hosts and pool clients."""
    if found := [name for name in groups if scenario["vms"][name].get("disk_cache", "none") in CACHED]:
        yield (
            f"Not modelled: cache hits that relieve the disks of {some(found)}. The cache only costs CPU"
            " (vms.NAME.disk_cache)."
        )


def _of_protocols(scenario: Mapping[str, Any], groups: Iterable[str]) -> Iterator[str]:
    """Yield assumptions about protocols that cost CPU on hosts."""
    used = {name: scenario["arrays"][name].get("protocol") for name in _arrays(scenario, groups)}
    if found := sorted(f"{protocol} ({name})" for name, protocol in used.items() if protocol in OF_THE_HOST):
        yield f"Assumed: the CPU and latency of {some(found)} on the host (arrays.NAME.protocol)."


def _of_paths(scenario: Mapping[str, Any], groups: Iterable[str]) -> Iterator[str]:
    """Yield assumptions about paths to arrays, if ports fail."""
    if not any("/port-" in part for failure in scenario.get("failures", ()) for part in failure["fails"]):
        return
    arrays = _arrays(scenario, groups)
    for key, (default, sentence) in DEFAULTS_OF_PATHS.items():
        paths = {name: scenario["arrays"][name].get("paths", {}) for name in arrays}
        of = {name for name in arrays if key == "timeout" or "optimised" in paths[name]}
        if found := sorted(name for name in of if paths[name].get(key, default) == default):
            yield f"Assumed: {sentence.format(some(found))} (arrays.NAME.paths.{key})."


def _arrays(scenario: Mapping[str, Any], groups: Iterable[str]) -> list[str]:
    """Return the arrays that groups use."""
    return sorted({array for group in groups if (array := scenario["vms"][group].get("array"))})


def _disks(scenario: Mapping[str, Any], vm: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the kinds of disks of a VM, each with its section and entry in the scenario."""
    if array := vm.get("array"):
        yield "arrays", array, scenario["arrays"][array]["disks"]
    if name := vm.get("storage"):
        pool = scenario["storage"][name]
        for disks in (pool["devices"], *pool.get("more_devices", ()), *([pool["flash"]] if "flash" in pool else [])):
            yield "storage", name, disks


def _is_flushed(scenario: Mapping[str, Any], vm: Mapping[str, Any]) -> bool:
    """True if anything waits until disks have stored written data. False if an array keeps the data in its cache."""
    if not vm.get("storage"):
        array = scenario["arrays"][vm["array"]]
        has_cache = array.get("protocol") != "local" and not array["cache"]["size"].startswith("0 ")
        if has_cache and array["cache"]["write_back"]:
            return False
    elif scenario["storage"][vm["storage"]].get("flushes") == "always":
        return True
    cache = vm.get("disk_cache")
    asked = scenario["workloads"][vm["workload"]].get("sync_pct")
    return cache in SYNCHRONOUS or bool(asked and cache != "unsafe")


def _flush(scenario: Mapping[str, Any], disks: Mapping[str, Any]) -> tuple[str, bool | None, bool]:
    """Return the kind of disks, their power-loss protection (None: unknown), and whether their flush time is known."""
    device = disks.get("device")
    if device is None:
        return disks["kind"], None, False
    own = scenario.get("devices", {}).get(device)
    if own is not None:
        return own["kind"], own.get("power_loss_protection"), "flush" in own
    (found,) = drives.devices(device)
    return found["kind"], found["power_loss_protection"], found["flush_us"] is not None


def _workloads(scenario: Mapping[str, Any], vms: Iterable[str], key: str) -> list[str]:
    """Return the workloads of VMs that lack a key."""
    used = {str(scenario["vms"][group]["workload"]) for group in _groups(scenario, vms)}
    return sorted(name for name in used if key not in scenario["workloads"].get(name, {}))


def _groups(scenario: Mapping[str, Any], vms: Iterable[str]) -> list[str]:
    """Return the entries in `vms` of VMs."""
    return _entries(scenario["vms"], vms)


def _entries(section: Mapping[str, Any], members: Iterable[str]) -> list[str]:
    """Return the entries of VMs or hosts: `web-3` belongs to `web`, unless an entry `web-3` exists."""
    names = (name if name in section else name.rpartition("-")[0] for name in members)
    return sorted({name for name in names if name in section})


def _s(names: list[str]) -> str:
    return "s" if len(names) == 1 else ""
