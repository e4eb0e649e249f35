"""Data with which a page simulates by itself: the scenario, and the settings that its reader can change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from hypertwin import language
from hypertwin.documents.page import Control, Live
from hypertwin.documents.simulation import Point
from hypertwin.documents.space import OWN
from hypertwin.model_error import carried
from hypertwin.scenario import Scenario, load

MAX_HOSTS = 500
"""Maximum number of hosts among which a reader can choose one that fails."""

GIB = 2**30

_UNREAD = ("powered_off", "datastores")
_SECTIONS: tuple[Literal["vms", "hosts", "storage"], ...] = ("vms", "hosts", "storage")


def live(first: Scenario, points: Sequence[Point], options: Sequence[str] = ()) -> Live:
    """Return the data with which the page of these points simulates.

    `first` is the scenario of the first point as simulated. `options` are those of the command that changed the
    scenario, except `--set` and `--sweep`, whose values are in the points.
    """
    scenarios = [load(first, point["set"]) if index else first for index, point in enumerate(points)]
    base = _simulated(first)
    return Live(
        build=language.build(),
        scenario=base,
        points=[
            list(_differences(base, _timed(_simulated(scenario), point)))
            for scenario, point in zip(scenarios, points, strict=True)
        ],
        intervals=json.loads(carried.table_of(base.get("calibrated_on"))),
        controls={section: list(_controls(section, first)) for section in _SECTIONS if base.get(section)},
        hosts=[host.name for host in first.inventory.hosts][:MAX_HOSTS],
        own_policy=OWN,
        file="scenario.yaml" if first.path is None else first.path.as_posix(),
        options=list(options),
    )


def _simulated(scenario: Scenario) -> dict[str, Any]:
    """Return what a run reads of a scenario. Facts of the source system and measurements stay out of the page."""
    data: dict[str, Any] = json.loads(scenario.json)
    data = {key: value for key, value in data.items() if key not in _UNREAD}
    for section in ("hosts", "vms", "clusters"):
        for entry in data.get(section, {}).values():
            for key in ("source", "measured"):
                entry.pop(key, None)
    return data


def _timed(data: dict[str, Any], point: Point) -> dict[str, Any]:
    """Return a scenario with the times of its run."""
    seconds = {"warmup": point["warmup_s"], "duration": point["duration_s"]}
    times = {key: f"{round(each * 1e9)} ns" for key, each in seconds.items()}
    return {**data, "run": {**data["run"], **times, "replications": point["replications"]}}


def _differences(base: Any, other: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[list[str], Any]]:
    """Yield the values by path that turn a mapping into another."""
    if isinstance(base, Mapping) and isinstance(other, Mapping):
        for key in [*base, *(key for key in other if key not in base)]:
            yield from _differences(base.get(key), other.get(key), (*path, key))
    elif base != other:
        yield list(path), other


def _controls(section: str, scenario: Scenario) -> Iterator[Control]:
    """Yield the settings of the entries of a section."""
    threads = max((host.threads for host in scenario.inventory.hosts), default=1)
    memory = max((host.memory_bytes for host in scenario.inventory.hosts), default=0) / GIB
    match section:
        case "vms":
            yield _control("vms.NAME.load", "Load", step=0.05, span=4, reach=4)
            yield _control("vms.NAME.count", "Number of VMs", span=3, reach=8)
            yield _control("vms.NAME.vcpus", "vCPUs", span=1, reach=threads)
            yield _control("vms.NAME.memory", "Memory", unit="GiB", span=2, reach=memory)
            yield _control("vms.NAME.shares", "CPU shares")
        case "hosts":
            yield _control("hosts.NAME.count", "Number of hosts", span=2, reach=4)
            yield _control("hosts.NAME.hypervisor", "Hypervisor")
            yield _control("hosts.NAME.cores_per_socket", "Cores per socket", span=3, reach=8)
            yield _control("hosts.NAME.threads_per_core", "Threads per core", span=1, reach=2)
            # without a reference clock, work is measured at this clock
            if any("reference_clock" in work for work in scenario.data["workloads"].values()):
                yield _control("hosts.NAME.clock", "Nominal clock", unit="GHz", step=0.1, span=2, reach=4)
            yield _control("hosts.NAME.memory_per_node", "Memory per NUMA node", unit="GiB", span=3, reach=64)
        case "storage":
            yield _control("storage.NAME.redundancy", "Redundancy", values=_redundancies(scenario))
            yield _control("storage.NAME.deployment", "Deployment")
            yield _control("storage.NAME.devices.per_node", "Devices per node", span=3, reach=8)


def _redundancies(scenario: Scenario) -> list[str]:
    """Return the redundancies in use, and usual ones."""
    used = [pool.redundancy.scheme for pool in scenario.inventory.pools]
    pools = scenario.data.get("storage", {}).values()
    is_osa = all(pool["kind"] == "vsan" and pool.get("vsan", {}).get("architecture") != "esa" for pool in pools)
    usual = ["raid-1", "raid-5", "raid-6"] if is_osa else ["replicas-2", "replicas-3", "ec-2+1", "ec-4+2"]
    return list(dict.fromkeys([*used, *usual]))


def _control(
    path: str,
    name: str,
    *,
    unit: str = "",
    step: float = 1,
    span: float = 0,
    reach: float = 0,
    values: Sequence[Any] = (),
) -> Control:
    """Return a control with definition and range from the schema."""
    node = language.schema_node(path)
    assert node is not None, path
    choices = list(values or node.get("enum") or node.get("x-values") or ())
    ends = [node.get(key) for key in (("x-minimum", "x-maximum") if unit else ("minimum", "maximum"))]
    low, high = (0.0 if end is None else language.in_unit(str(end), unit) if unit else float(end) for end in ends)
    return Control(
        key=path.split(".")[2:],
        name=name,
        text=str(node.get("description", "")),
        form="choice" if choices else "quantity" if unit else "integer" if node["type"] == "integer" else "number",
        unit=unit,
        low=low,
        high=high,
        step=step,
        span=span,
        reach=reach,
        default=node.get("default"),
        values=choices,
    )
