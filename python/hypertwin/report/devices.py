"""Drives that scenarios may name: a table for a terminal, and CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.devices import Device, Devices
from hypertwin.report import files
from hypertwin.report.table import Cells, Fitted
from hypertwin.report.words import number

FEW = 3
"""Drives whose sources are told below the table."""

NOTES = (
    "Reads and writes: thousands of random 4 KiB a second, writes as sustained with all of the drive written unless the"
    " source says other. Latencies: one at a time. PLP: power-loss protection, with which a flush has nothing to do."
    " DWPD: whole drives that may be written a day.",
    "What is empty the data sheet does not say: it is as for drives of the kind, and PLP as yes.",
)


def _thousands(value: float | None) -> str:
    return number(None if value is None else value / 1000)


def _protected(device: Device) -> str:
    found = device["power_loss_protection"]
    return "" if found is None else "yes" if found else "no"


def _revolutions(device: Device) -> str:
    return "" if device["rpm"] is None else f"{device['rpm'] / 1000:g}k"


FIGURES: Mapping[str, Callable[[Device], str]] = {
    "TB": lambda device: number(None if device["capacity_gb"] is None else device["capacity_gb"] / 1000),
    "rpm": _revolutions,
    "seek ms": lambda device: number(device["seek_read_ms"]),
    "reads k/s": lambda device: _thousands(device["random_read_iops"]),
    "writes k/s": lambda device: _thousands(device["random_write_iops"]),
    "read MB/s": lambda device: number(device["sequential_read_mb_per_s"]),
    "write MB/s": lambda device: number(device["sequential_write_mb_per_s"]),
    "read µs": lambda device: number(device["read_latency_us"]),
    "write µs": lambda device: number(device["write_latency_us"]),
    "PLP": _protected,
    "flush µs": lambda device: number(device["flush_us"]),
    "DWPD": lambda device: number(device["dwpd"]),
}

DROPPED_FIRST = ("rpm", "DWPD", "TB", "read MB/s", "write MB/s", "seek ms", "kind", "flush µs")
"""Columns that are dropped in a narrow terminal, in this order."""


def table(found: Devices) -> RenderableType:
    """A row for each drive; of a few their sources, and how a scenario names one."""
    devices = found["devices"]
    if not devices:
        return Text("no drive of this kind is known by name; describe one under devices in the scenario")
    rows = [[each["name"], each["kind"], *(text(each) for text in FIGURES.values())] for each in devices]
    shown = Fitted("", Cells(("drive", "kind", *FIGURES), rows, swept=0, words=2), DROPPED_FIRST)
    told = [Text(f"{each['name']}: {each['source']}") for each in devices if each["source"] and len(devices) <= FEW]
    notes = [
        *NOTES,
        f"In a scenario: disks: {{ device: {devices[0]['name']}, count: 8 }}."
        + ("" if told else " Name a drive to see its source; --format json and csv have all."),
    ]
    return Group(shown, *told, *(Text(note, style="dim") for note in notes))


def csv(found: Devices) -> str:
    """A line for each drive, with all that is known of it."""
    heads = list(Device.__annotations__)
    return files.csv_text([heads, *([dict(each)[head] for head in heads] for each in found["devices"])])
