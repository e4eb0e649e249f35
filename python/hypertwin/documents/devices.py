"""Output of `hypertwin devices`: drives for scenarios, with data sheet figures."""

from __future__ import annotations

from typing import TypedDict


class Device(TypedDict):
    """Drive of the table. A value missing in its data sheet is None, so that the default for its kind applies."""

    name: str
    """Name for `device` in a scenario."""
    kind: str
    capacity_gb: float | None
    random_read_iops: float | None
    """IOPS of random 4 KiB reads, with many outstanding."""
    random_write_iops: float | None
    """Sustained IOPS of random 4 KiB writes on a fully written drive."""
    sequential_read_mb_per_s: float | None
    sequential_write_mb_per_s: float | None
    read_latency_us: float | None
    """Latency of a 4 KiB read without other outstanding I/O."""
    write_latency_us: float | None
    """Latency of a 4 KiB write without other outstanding I/O, acknowledged from the buffer."""
    depth: int | None
    """Maximum number of concurrent operations."""
    power_loss_protection: bool | None
    flush_us: float | None
    """Duration of one flush, regardless of previous writes."""
    over_provisioning_pct: float | None
    write_cache_gb: float | None
    """Capacity of a flash cache that accepts writes faster until it is full."""
    write_cache_mb_per_s: float | None
    stall_written_gb: float | None
    """Mean data written between two stalls of all I/O."""
    stall_ms: float | None
    """Duration of a stall."""
    rpm: int | None
    seek_read_ms: float | None
    seek_write_ms: float | None
    dwpd: float | None
    """Drive writes per day under warranty."""
    source: str | None


class Devices(TypedDict):
    """Drives, hard disks first, by name within a kind."""

    version: str
    devices: list[Device]
