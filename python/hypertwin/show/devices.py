"""Drives for scenarios."""

from __future__ import annotations

from hypertwin.documents.devices import Device, Devices
from hypertwin.show import view as v

FEW = 3
"""Maximum number of drives with sources listed below the table."""

NOTES = (
    "Reads and writes: thousands of random 4 KiB I/Os per second. Writes are sustained rates of a full drive, unless"
    " the source says otherwise. Latencies are at depth 1. PLP: power-loss protection, which makes a flush free."
    " DWPD: drive writes per day.",
    "Empty cells are not in the data sheet: the twin uses the figures of the kind of drive, with PLP.",
)

COLUMNS = (
    v.words("name", "drive"),
    v.words("plp", "PLP"),
    v.figures("random_read_iops", "reads", "k/s"),
    v.figures("random_write_iops", "writes", "k/s"),
    v.figures("read_latency_us", "read", "µs"),
    v.figures("write_latency_us", "write", "µs"),
    v.figures("seek_read_ms", "seek", "ms", secondary=True),
    v.figures("flush_us", "flush", "µs", secondary=True),
    v.figures("sequential_read_mb_per_s", "read", "MB/s", secondary=True),
    v.figures("sequential_write_mb_per_s", "write", "MB/s", secondary=True),
    v.figures("capacity_gb", "capacity", "TB", secondary=True),
    v.figures("dwpd", "DWPD", secondary=True),
    v.figures("rpm", "rpm", secondary=True),
)

THOUSANDS = frozenset({"random_read_iops", "random_write_iops", "capacity_gb"})
"""Figures that are shown in thousands."""


def view(found: Devices) -> v.View:
    """Return a view with a table for each kind of drive. For a few drives, sources and use in a scenario are added."""
    devices = found["devices"]
    if not devices:
        unknown = "no drive of this kind in the table: describe yours under devices in the scenario"
        return v.tabular("Drives", answer=unknown)
    said = [f"{each['name']}: {each['source']}" for each in devices if each["source"] and len(devices) <= FEW]
    usage = f"In a scenario: disks: {{ device: {devices[0]['name']}, count: 8 }}."
    more = "" if said else " Name a drive to see its source. --format json and csv have all sources."
    kinds = dict.fromkeys(each["kind"] for each in devices)
    tables = [v.table(kind, kind, COLUMNS, [_row(each) for each in devices if each["kind"] == kind]) for kind in kinds]
    return v.tabular("Drives", *tables, v.items(said), assumptions=[*NOTES, usage + more])


def _row(device: Device) -> v.Row:
    fields = dict(device)
    protected = device["power_loss_protection"]
    row = {each["key"]: fields.get(each["key"]) for each in COLUMNS}
    row |= {key: value / 1000 for key in THOUSANDS if isinstance(value := row[key], int | float)}
    return {**row, "plp": "" if protected is None else "yes" if protected else "no"}  # type: ignore[dict-item]
