"""Origin of every number in the document of a refresh."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import translate
from functools import cache
from typing import Any

from hypertwin.documents import refresh as documents

_TWIN = "Simulated: each host with its VMs, seeds and replications as in the scenario."
_PLAN = "Calculated: the fewest hosts with a placement of all VMs within the limits, before and after each failure."
_SUM = "Calculated from the hosts of the candidate."

CALCULATED: tuple[documents.Source, ...] = (
    {"keys": ["asked.*"], "kind": "input", "text": "Options of the command."},
    {
        "keys": ["demand.*"],
        "kind": "measured",
        "text": "Measurements in the scenario; demand.text says which, and how many VMs they cover.",
    },
    {
        "keys": ["speeds.*.specrate*", "speeds.*.per_core*", "speeds.*.work_per_cycle"],
        "kind": "published",
        "text": "SPECrate2017_int_base as published; speeds.*.text and speeds.*.source name results and dates.",
    },
    {"keys": ["speeds.*.cores", "speeds.*.clock_mhz"], "kind": "input", "text": "The scenario, and host type files."},
    {
        "keys": ["*.hosts*", "*.new_hosts.*", "*.clusters.*.hosts*", "*.clusters.*.added.*", "*.clusters.*.bound"],
        "kind": "calculated",
        "text": _PLAN,
    },
    {"keys": ["*.cores", "*.sockets", "*.rack_units"], "kind": "calculated", "text": _SUM},
    {
        "keys": ["*.clusters.*.vms", "*.clusters.*.grown_vms", "*.clusters.*vcpu*", "*.clusters.*.largest_vm*"],
        "kind": "input",
        "text": "VMs of the scenario, with those that the growth adds.",
    },
    {
        "keys": ["*.clusters.*_pct", "*.clusters.*_gib"],
        "kind": "calculated",
        "text": "Calculated: demand of VMs over the capacity of hosts, and data of VMs over the room of pools.",
    },
    {"keys": ["*.numa.*"], "kind": "calculated", "text": "Sizes of VMs against a NUMA node of the host."},
    {"keys": ["*.twin.*"], "kind": "twin", "text": _TWIN},
    {
        "keys": ["*.energy.*"],
        "kind": "published",
        "text": "SPECpower results or measured watts at the mean load; energy.text and energy.source name them.",
    },
    {
        "keys": ["*.costs.lines.*", "*.costs.alternatives.*"],
        "kind": "rule",
        "text": "Quantity by rule times the price in the file of prices; each line has rule and source.",
    },
    {
        "keys": ["*.costs.*"],
        "kind": "calculated",
        "text": "Sums of the lines, over years and discounted as the notes say.",
    },
    {
        "keys": ["sensitivity.*"],
        "kind": "calculated",
        "text": "Calculated: the value of one input at which two candidates cost the same, with all others unchanged.",
    },
)
"""Origin of each number by its path. The first entry that matches counts."""


def sources(document: documents.Refresh) -> list[documents.Source]:
    """Return the origins of the numbers of a document. Those without a number are left out."""
    used = {number: None for path in numbers(document) if (number := match(path)) is not None}
    return [CALCULATED[number] for number in sorted(used)]


def match(path: str) -> int | None:
    """Return the place in `CALCULATED` of the origin of the number at a path, or None if it has none."""
    return next(
        (n for n, each in enumerate(CALCULATED) if any(_pattern(key).match(path) for key in each["keys"])), None
    )


@cache
def _pattern(key: str) -> re.Pattern[str]:
    return re.compile(translate(key))


def numbers(value: Any, path: str = "") -> Iterator[str]:
    """Yield the path of each number of a document, with keys and positions joined by dots."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield path
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from numbers(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from numbers(inner, f"{path}.{number}")
