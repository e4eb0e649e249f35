"""Output of `hypertwin devices`: drives for scenarios, with data sheet figures."""

from __future__ import annotations

from typing import TypedDict


class Device(TypedDict):
    """A drive; None for values missing in its data sheet, which then follow its kind."""

    name: str
    """Its name for `device` in a scenario."""
    kind: str
    capacity_gb: float | None
    random_read_iops: float | None
    """Of 4 KiB, with many outstanding."""
    random_write_iops: float | None
    """Of 4 KiB, that it sustains with all of its capacity written."""
    sequential_read_mb_per_s: float | None
    sequential_write_mb_per_s: float | None
    read_latency_us: float | None
    """Of 4 KiB, with nothing else outstanding."""
    write_latency_us: float | None
    """The same, acknowledged from its buffer."""
    depth: int | None
    """Operations that it takes at a time."""
    power_loss_protection: bool | None
    flush_us: float | None
    """One flush, whatever was written before it."""
    over_provisioning_pct: float | None
    write_cache_gb: float | None
    """Flash that takes writes faster until it is full."""
    write_cache_mb_per_s: float | None
    stall_written_gb: float | None
    """Mean amount written between two stalls of all I/O."""
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
