"""The measured demand of VMs, from telemetry: mean CPU demand in MHz and I/O operations per second.

For each VM the best counter that it has is used. In this order: `demand_mhz`; `used_mhz`; the time that its vCPUs used
(or ran), were ready and were co-stopped, times the host's clock; on Linux the cores that its threads used, with the
time that they waited; how busy the guest believed itself to be, times its vCPUs and the clock. Ready and co-stop time
counts as demand: without contention it is nothing, with contention the result is an upper estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from hypertwin.ingest import telemetry
from hypertwin.ingest.inventory import Assumption, Demand, Host, Inventory, Vm
from hypertwin.ingest.telemetry import Reading

OF_THE_CPU = (
    *("demand_mhz", "used_mhz", "used_sum_pct", "run_sum_pct", "ready_sum_pct", "costop_sum_pct", "cpu_cores"),
    *("guest_cpu_pct", "vcpus", "clock_mhz"),
)
OF_THE_DISKS = ("iops", "read_iops", "write_iops")
_READ = (*OF_THE_CPU, *OF_THE_DISKS)


@dataclass(frozen=True)
class _Mean:
    total: float = 0.0
    samples: int = 0
    seconds: float = 0.0
    """From the first sample to the last; 0 where the source has no clock."""

    def __add__(self, other: _Mean) -> _Mean:
        return _Mean(self.total + other.total, self.samples + other.samples, self.seconds + other.seconds)

    @property
    def value(self) -> float:
        return self.total / self.samples


def measured_demand(
    readings: Iterable[Reading], hosts: Sequence[Host] = (), vms: Sequence[Vm] = ()
) -> dict[str, Demand]:
    """Demand by name of VM, without those that have no counter for it. Uses the readings up.

    `hosts` and `vms` give clock and vCPUs where the telemetry has none. Memory grows with entities, not with samples.
    Raises SourceError as the readings do.
    """
    means = _means(readings)
    wholes: dict[tuple[str, str], dict[str, _Mean]] = {}
    parts: dict[tuple[str, str], dict[tuple[str, str], _Mean]] = {}
    homes: dict[str, str] = {}
    clocks = {host.name: host.clock_hz / 1e6 for host in hosts if host.clock_hz}
    for (path, metric), mean in means.items():
        named = telemetry.names(path)
        seen_from = "vm" if "vm" in named else "guest"
        name = named.get(seen_from)
        kind = path.split("/")[-2]
        if name is None:
            if metric == "clock_mhz" and kind == "host":
                clocks[named["host"]] = mean.value
            continue
        if "host" in named:
            homes[name] = named["host"]
        if kind in ("vm", "guest"):
            whole = wholes.setdefault((seen_from, name), {})
            whole[metric] = whole.get(metric, _Mean()) + mean
        elif kind in ("vcpu", "disk"):
            of_part = parts.setdefault((seen_from, name), {})
            key = (metric, f"{kind}/{named[kind]}")
            of_part[key] = of_part.get(key, _Mean()) + mean
    known = {vm.name: vm for vm in vms}
    found = {}
    for name in sorted({name for _, name in (*wholes, *parts)}):
        figures = {
            metric: mean
            for key in (("guest", name), ("vm", name))  # the host's figure wins over the guest's own
            for metric, mean in _with_parts(wholes.get(key, {}), parts.get(key, {})).items()
        }
        vm = known.get(name)
        clock = clocks.get(homes.get(name) or (vm.host if vm is not None and vm.host else ""), _usual(clocks))
        vcpus = figures["vcpus"].value if "vcpus" in figures else vm.vcpus if vm is not None else None
        demand = _demand(figures, clock, vcpus)
        if demand is not None:
            found[name] = demand
    return found


def _means(readings: Iterable[Reading]) -> dict[tuple[str, str], _Mean]:
    """The mean of each entity's metrics, of those that demand is computed from."""
    sums: dict[tuple[str, str], tuple[float, int, float, float]] = {}
    for reading in readings:
        for frame in reading.frames:
            part = (
                frame.lazy()
                .with_columns(pl.col("entity", "metric").cast(pl.String))
                .filter(pl.col("metric").is_in(_READ))
                .group_by("entity", "metric")
                .agg(
                    pl.col("value").sum().alias("total"),
                    pl.len().alias("samples"),
                    (pl.col("time").min().dt.epoch("us") / 1e6).alias("first"),
                    (pl.col("time").max().dt.epoch("us") / 1e6).alias("last"),
                )
                .collect()
            )
            for entity, metric, total, samples, first, last in part.iter_rows():
                begin, end = (first, last) if first is not None else (float("inf"), float("-inf"))
                before = sums.get((entity, metric), (0.0, 0, float("inf"), float("-inf")))
                sums[entity, metric] = (
                    *(before[0] + total, before[1] + samples),
                    *(min(before[2], begin), max(before[3], end)),
                )
    return {
        key: _Mean(total, samples, max(0.0, last - first) if samples and first <= last else 0.0)
        for key, (total, samples, first, last) in sums.items()
    }


def _with_parts(whole: Mapping[str, _Mean], parts: Mapping[tuple[str, str], _Mean]) -> dict[str, _Mean]:
    """The VM's own figures; where it has none, the sum of the means of its vCPUs or disks."""
    sums: dict[str, list[_Mean]] = {}
    for (metric, _), mean in parts.items():
        sums.setdefault(metric, []).append(mean)
    summed = {
        metric: _Mean(sum(mean.value for mean in means), 1, max(mean.seconds for mean in means))
        for metric, means in sums.items()
    }
    return {**summed, **whole}


def _usual(clocks: Mapping[str, float]) -> float | None:
    """The mean of the known clocks, for a VM whose host is not known."""
    return sum(clocks.values()) / len(clocks) if clocks else None


def _demand(figures: Mapping[str, _Mean], clock_mhz: float | None, vcpus: float | None) -> Demand | None:
    def value(metric: str) -> float:
        return figures[metric].value if metric in figures else 0.0

    waited_pct = value("ready_sum_pct") + value("costop_sum_pct")
    ways: dict[str, Callable[[float], float]] = {
        "used_sum_pct": lambda clock: (value("used_sum_pct") + waited_pct) / 100 * clock,
        "run_sum_pct": lambda clock: (value("run_sum_pct") + waited_pct) / 100 * clock,
        "cpu_cores": lambda clock: (value("cpu_cores") + waited_pct / 100) * clock,
    }
    if vcpus is not None:
        ways["guest_cpu_pct"] = lambda clock: value("guest_cpu_pct") / 100 * vcpus * clock
    direct = next((metric for metric in ("demand_mhz", "used_mhz") if metric in figures), None)
    counted = next((metric for metric in ways if metric in figures), None)
    if direct is not None:
        mhz, of = value(direct), direct
    elif counted is not None and clock_mhz is not None:
        waited = "".join(f" + {name}" for name in ("ready_sum_pct", "costop_sum_pct") if name in figures)
        mhz = ways[counted](clock_mhz)
        of = f"{counted}{waited if counted != 'guest_cpu_pct' else ''} at {clock_mhz:.0f} MHz"
    else:
        return None
    seconds = figures[direct or counted or ""].seconds
    reads_and_writes = [figures[metric].value for metric in ("read_iops", "write_iops") if metric in figures]
    iops = figures["iops"].value if "iops" in figures else sum(reads_and_writes) if reads_and_writes else None
    return Demand(
        max(mhz, 0.0), None if iops is None else max(iops, 0.0), f"{seconds:.0f} s of {of}" if seconds else of
    )


def with_demand(inventory: Inventory, measured: Mapping[str, Demand]) -> Inventory:
    """The inventory with measured demand, by name of VM, in place of what its source says."""
    on = [vm for vm in inventory.vms if vm.powered_on and not vm.is_template]
    found = sum(vm.name in measured for vm in on)
    assumptions = list(inventory.assumptions)
    if found < len(on):
        text = "not in the telemetry under this name: demand as the source says it, if it does"
        assumptions.append(Assumption(f"{len(on) - found} of {len(on)} machines", text))
    vms = tuple(replace(vm, demand=measured.get(vm.name, vm.demand)) for vm in inventory.vms)
    return replace(inventory, vms=vms, assumptions=assumptions)
