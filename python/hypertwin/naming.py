"""Names typed by users: search for similar names, and replacement of old names by current ones.

No command accepts an old name. Errors show the new one, and `hypertwin migrate` rewrites files.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

KEYS: Mapping[str, str] = {
    "memory_own": "hypervisor_memory",
    "ratio": "vcpu_ratio",
    "licence_minimum": "license_min_cores",
}
"""Renamed keys of scenarios and of files of limits: current name by old name."""

_FAILOVER = {"tolerates": "host_failures_tolerated"}

RESULT_KEYS: Mapping[str, Mapping[str, str]] = {
    "capacity": {
        "binding": "limited_by",
        "cpu_usage_degraded_pct": "cpu_usage_after_failure_pct",
        "idle_at_moment": "idle_in_sample",
        "lacks": "short_of",
        "largest_restartable": "largest_restartable_vm",
        "licence_minimum": "license_min_cores",
        "may_power_on": "can_power_on",
        "memory_active_degraded_pct": "memory_active_after_failure_pct",
        "memory_configured_degraded_pct": "memory_configured_after_failure_pct",
        "memory_consumed_degraded_pct": "memory_consumed_after_failure_pct",
        "memory_own_gib": "hypervisor_memory_gib",
        "moment": "sample",
        "proven": "sustained",
        "ratio": "vcpu_ratio",
        "vcpu_per_core_corrected_degraded": "vcpu_per_core_corrected_after_failure",
        "vcpu_per_core_degraded": "vcpu_per_core_after_failure",
        "vms_left": "vms_remaining",
        "will_perform": "meets_demand",
        **_FAILOVER,
    },
    "placement": {
        "binding": "binding_constraints",
        "broken_wishes": "violated_should_rules",
        "dropped": "conflict",
        "dropped_proven": "conflict_proven",
        "fullest_host": "peak_host",
        "fullest_pct": "peak_pct",
        "helps": "works",
        "lacks": "short_of",
        "parking": "temporary",
        "remedies": "fixes",
        "stays_down": "not_restarted",
        "unplaced": "cannot_restart",
        **_FAILOVER,
    },
    "durability": {"overhead.survives": "failures_tolerated"},
}
"""Renamed keys of results, by kind of result. `OUTER.KEY` is renamed only under the key `OUTER`."""

OPTIONS: Mapping[str, str] = {
    "--everything": "--repack",
    "--licence-minimum": "--license-min-cores",
    "--ratio": "--vcpu-ratio",
    "--store": "--cache",
}
"""Renamed options. Arguments of functions have the same names. `--explain VM` is now `--why VM`."""

VALUES: Mapping[str, str] = {"fullest": "min-peak", "monsters-apart": "separate-large-vms"}
"""Renamed values of options, and renamed rules."""

COMMANDS: Mapping[str, str] = {"store": "cache", "gc": "prune"}
"""Renamed commands."""

ARGUMENTS: Mapping[str, str] = {
    **{
        old.removeprefix("--").replace("-", "_"): new.removeprefix("--").replace("-", "_")
        for old, new in OPTIONS.items()
    },
    "explain": "why",
    "set": "overrides",
}
"""Renamed arguments of functions. `set` is the name on the command line."""

FUNCTIONS: Mapping[str, str] = {
    "compare_results": "compare",
    "diagnose_files": "diagnose",
    "pool_presets": "presets",
    "virtual_numa": "vnuma",
}
"""Renamed functions of the package."""

RENAMED: Mapping[str, str] = {**KEYS, **OPTIONS, **VALUES, **COMMANDS, **ARGUMENTS, **FUNCTIONS}

_OF_RESULTS: Mapping[str, frozenset[str]] = {
    old.rpartition(".")[2]: frozenset(keys[old] for keys in RESULT_KEYS.values() if old in keys)
    for old in dict.fromkeys(old for keys in RESULT_KEYS.values() for old in keys)
}


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name for a typed one: the current name if the typed name is old, otherwise the most similar
    name.
    """
    known = list(known)
    if (today := _today(name, known)) is not None:
        return today
    found = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
    return found[0] if found else None


def hint(name: str, known: Iterable[str], otherwise: str, *, start: str = "") -> str:
    """Return advice on an unknown name. `start` is the text before the suggested name."""
    near = nearest(name, known)
    if near is None:
        return otherwise
    return f"it is called {start}{near} now" if near == _today(name, [near]) else f"did you mean {start}{near}?"


def _today(name: str, known: Sequence[str]) -> str | None:
    """Return the current name of an old one, or None if the current name is unknown."""
    names = {RENAMED[name]} if name in RENAMED else _OF_RESULTS.get(name, frozenset())
    return next((each for each in known if each in names), None)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 host`, `2 hosts`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
