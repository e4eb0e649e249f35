"""Series of Prometheus as rows of telemetry: entity and metric of each series.

Both readers use it, the one for servers and the one for scraped text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from hypertwin.ingest import outside, telemetry
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.prometheus_queries import LIBVIRT, Exporter, Query
from hypertwin.ingest.telemetry import METRICS
from hypertwin.ingest.telemetry_table import SCHEMA

_VIRTUAL = re.compile(
    r"qemu|kvm|vmware|virtualbox|bochs|xen|virtual machine|openstack|ovirt|rhev|google|amazon ec2|nutanix"
)
"""Vendor and product in a guest's firmware, in lower case."""

Labels = Mapping[str, str]
Series = tuple[Labels, list[float], list[float]]
"""Labels, times in seconds since 1970, and values."""
Look = Callable[[str], list[Series]]
"""Returns the series of an expression."""
STOLEN = 'max by (instance) (node_cpu_seconds_total{$m mode="steal"}) > 0'
VCPU_TIME = "libvirt_domain_vcpu_time_seconds_total"
TOO_FAST = f"max by (instance) (rate({VCPU_TIME}{{$m}}[$r])) > 100"
"""Query for instances that count vCPU nanoseconds under the name of seconds: a vCPU runs for at most a second per
second.

inovex/prometheus-libvirt-exporter did this until its pull request 20.
"""


@dataclass
class Systems:
    """Systems behind the instances of node exporters."""

    names: dict[str, str] = field(default_factory=dict)
    """System's own name, by the host in `instance`."""
    guests: set[str] = field(default_factory=set)

    def name(self, instance: str) -> str:
        """Return the name of the system with this instance."""
        host = host_of(instance)
        return self.names.get(host, host)

    def notes(self) -> list[str]:
        """Return the note on systems assumed to be guests, if there are any."""
        text = f"assumed to be guests, from firmware or steal: {len(self.guests)} of {len(self.names)} systems"
        return [text] if self.guests else []


def gaps(exporters: Iterable[Exporter], present: Container[str]) -> list[Gap]:
    """Return the gaps for series that these exporters lack."""
    queries = (query for exporter in exporters for query in exporter.queries)
    absent = {query.series: query.costs for query in queries if query.series not in present}
    return [Gap(name, costs) for name, costs in absent.items()]


def systems(look: Look) -> Systems:
    """Return the names of systems, and which of them are guests: by their firmware, or because they have steal time."""
    found = Systems()
    names: dict[str, set[str]] = {}
    for labels, _, _ in look("max by (instance, nodename) (node_uname_info{$m})"):
        if name := outside.name(labels.get("nodename", "")):
            names.setdefault(name, set()).add(host_of(labels.get("instance", "")))
    found.names = {hosts.pop(): name for name, hosts in names.items() if len(hosts) == 1}
    firmware = "max by (instance, system_vendor, product_name) (node_dmi_info{$m})"
    for labels, _, _ in look(firmware):
        if _VIRTUAL.search(f"{labels.get('system_vendor', '')} {labels.get('product_name', '')}".lower()):
            found.guests.add(host_of(labels.get("instance", "")))
    found.guests |= {host_of(labels.get("instance", "")) for labels, _, _ in look(STOLEN)}
    hypervisors = f"count by (instance) ({LIBVIRT.probe}{{$m}})"
    found.guests -= {host_of(labels.get("instance", "")) for labels, _, _ in look(hypervisors)}
    return found


def parts(
    query: Query, found: list[Series], interval_s: float, systems: Systems, nanoseconds: set[str]
) -> Iterator[pl.DataFrame]:
    """Yield a response as parts of the table. Ready time has its interval. An unknown time is NaN."""
    rows: dict[str, tuple[list[str], list[float], list[float]]] = {}
    for labels, times, values in found:
        path = entity(query, labels, systems)
        if path is None:
            continue
        metric = metric_of(query.metric, path)
        entities, all_times, all_values = rows.setdefault(metric, ([], [], []))
        scale = 1e-9 if query.in_vcpu_seconds and labels.get("instance", "") in nanoseconds else 1.0
        entities.extend([path] * len(times))
        all_times.extend(times)
        all_values.extend(value * scale for value in values)
    for metric, (entities, all_times, all_values) in rows.items():
        frame = pl.DataFrame(
            {"time": all_times, "entity": entities, "value": all_values},
            schema={"time": pl.Float64, "entity": pl.String, "value": pl.Float64},
        ).with_columns(
            (pl.col("time").fill_nan(None) * 1e6)
            .round()
            .cast(pl.Int64)
            .cast(pl.Datetime("us"))
            .dt.replace_time_zone("UTC"),
            pl.lit(metric).alias("metric"),
            pl.lit(METRICS[metric].unit).alias("unit"),
        )
        yield frame.select(*SCHEMA)
        if metric == "ready_sum_pct" and query.of == "vm":
            yield frame.select(
                *("time", "entity", pl.lit("interval_s").alias("metric")),
                *(pl.lit(query.over_s or interval_s).alias("value"), pl.lit("s").alias("unit")),
            )


def entity(query: Query, labels: Labels, systems: Systems) -> str | None:
    """Return the entity of a series, or None if its labels do not show it."""
    instance = labels.get("instance", "")
    if query.of in ("system", "disk"):
        name = outside.name(systems.name(instance))
        kind = "guest" if host_of(instance) in systems.guests else "host"
        parts = [kind, name, *(("disk", outside.name(labels.get("device", ""))) if query.of == "disk" else ())]
    elif query.of in ("vm", "vcpu", "vdisk"):
        host = outside.name(labels["host_name"] if "host_name" in labels else systems.name(instance))
        vm = outside.name(labels.get("domain") or labels.get("vm_name", ""))
        parts = ["vm", vm] if host in ("", "n/a") else ["host", host, "vm", vm]
        label = {"vcpu": "vcpu", "vdisk": "target_device"}.get(query.of)
        if label is not None:
            parts += ["vcpu" if query.of == "vcpu" else "disk", outside.name(labels.get(label, ""))]
    else:
        parts = ["host", outside.name(labels.get("host_name", ""))]
    return telemetry.entity(*parts) if all(parts) else None


def metric_of(name: str, path: str) -> str:
    """Return the metric's name, which for some metrics differs between hosts and guests."""
    in_guest = path.startswith("guest/")
    if name == "cpus":
        return "vcpus" if in_guest else "threads"
    if name == "busy_pct":
        return "guest_cpu_pct" if in_guest else "utilization_pct"
    return name


def host_of(instance: str) -> str:
    """Return the host in `host:9100` or `[::1]:9100`."""
    host, separator, port = instance.rpartition(":")
    return host.strip("[]") if separator and port.isdigit() else instance
