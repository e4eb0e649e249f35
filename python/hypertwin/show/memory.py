"""View of hosts that are short of memory, and of their VMs: tables, and limits of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypertwin.documents.simulation import Point
from hypertwin.metrics.words import number
from hypertwin.show.entities import Entity, Kind, Text, memory_state, plain

STATES = ("high", "clear", "soft", "hard", "low")
"""States of the memory of a host, best first."""


def _gib(key: str) -> Text:
    """Return an amount under `memory`, or an empty string if the amount is 0."""
    return lambda entity: number((entity.figure(f"memory.{key}_bytes") or 0) / 2**30 or None)


def _mb_per_s(key: str) -> Text:
    """Return a rate under `memory`, or an empty string if the rate is 0."""
    return lambda entity: number((entity.figure(f"memory.{key}_bytes_per_s") or 0) / 1e6 or None)


def _short(entities: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """Return the hosts that were short of memory, or VMs with reclaimed memory."""

    def is_short(memory: Mapping[str, Any]) -> bool:
        taken = ("ballooned_bytes", "compressed_bytes", "swapped_bytes", "swap_wait_pct")
        return memory.get("state", STATES[0]) != STATES[0] or any(memory.get(key) for key in taken)

    return {name: each for name, each in entities.items() if is_short(each.get("memory") or {})}


def _reclaimed(entity: Entity) -> tuple[float, ...]:
    figures = (entity.figure(f"memory.{key}") or 0 for key in ("swap_wait_pct", "swapped_bytes", "ballooned_bytes"))
    return tuple(figures)


def _worst_host(entity: Entity) -> tuple[float, ...]:
    reached = memory_state(entity)
    return (STATES.index(reached) if reached in STATES else 0, *_reclaimed(entity))


_AMOUNTS: Mapping[str, Text] = {
    "ballooned GiB": _gib("ballooned"),
    "compressed GiB": _gib("compressed"),
    "swapped GiB": _gib("swapped"),
    "shared GiB": _gib("shared"),
    "swap-in MB/s": _mb_per_s("swap_in"),
    "swap-out MB/s": _mb_per_s("swap_out"),
}

OF_HOSTS = Kind(
    "Memory of hosts",
    lambda point: _short(point["hosts"]),
    {"host": lambda entity: entity.name, "state": memory_state},
    {
        "overcommit %": plain("memory.overcommit_pct"),
        "free GiB": _gib("free"),
        "minimum GiB": _gib("min_free"),
        **_AMOUNTS,
    },
    _worst_host,
    "the worst state first",
    ("shared GiB", "minimum GiB", "swap-out MB/s"),
)
OF_VMS = Kind(
    "Memory of VMs",
    lambda point: _short(point["vms"]),
    {"VM": lambda entity: entity.name, "host": lambda entity: str(entity.metrics.get("host", ""))},
    {
        "granted GiB": _gib("granted"),
        "active GiB": _gib("active"),
        "target GiB": _gib("target"),
        "consumed GiB": _gib("consumed"),
        **_AMOUNTS,
        "swap wait %": plain("memory.swap_wait_pct"),
    },
    _reclaimed,
    "those that wait most for swapped memory first",
    ("shared GiB", "swap-out MB/s", "granted GiB", "swap-in MB/s", "target GiB"),
    ("shared GiB", "swap-out MB/s", "granted GiB", "swap-in MB/s", "target GiB"),
)


def is_short(points: Sequence[Point]) -> bool:
    """True if any host was short of memory."""
    return any(_short(point["hosts"]) for point in points)


def notes(points: Sequence[Point]) -> list[str]:
    """Return the explanations of the tables, and limits of the model."""
    if not is_short(points):
        return []
    ballooned = any(
        host.get("memory", {}).get("ballooned_bytes") for point in points for host in point["hosts"].values()
    )
    said = (
        "Memory state: the worst that a host reached. Amounts are means over time. Swap wait is per vCPU (esxtop's"
        " %SWPWT is a sum)."
    )
    if not ballooned:
        return [said]
    return [
        said,
        "Pages that a guest swaps under its balloon go to the swap device of its host. ESXi's progressive idle memory"
        " tax is not published: the twin uses a flat tax.",
    ]
