"""Ready time in words: summed, per vCPU, and with its interval, because its unit is often misread.

Tools show the sum over a VM's vCPUs (esxtop's %RDY), or milliseconds per interval (vCenter's `cpu.ready.summation`).
Limits are per vCPU. `milliseconds = percentage / 100 x interval` (VMware KB 2002181).
"""

from __future__ import annotations

from collections.abc import Mapping

from hypertwin.metrics.frame import numeric
from hypertwin.metrics.words import RESOLVED_PCT, half_width

BELOW = f"<{RESOLVED_PCT:g}"
"""Table text for values below the resolution."""

VCENTER_INTERVAL_S = 20.0
"""Interval of real-time charts of vCenter in seconds. Charts of days and weeks have longer intervals."""


def ready(summed_pct: float, vcpus: float | None, interval_s: float | None, what: str = "ready") -> str:
    """Return the ready or co-stop time in words.

    Example: `ready 28 % summed over 4 vCPUs = 7 % per vCPU (1,400 ms per vCPU of each 20 s)`.
    """
    if vcpus is None:
        said = f"{what} {percent(summed_pct)} summed over its vCPUs, whose number is not known"
        return f"{said}{f' ({_milliseconds(summed_pct, interval_s)})' if interval_s else ''}"
    each = summed_pct / vcpus
    vcpus_text = f"{vcpus:.0f} vCPU{'s' if vcpus != 1 else ''}"
    interval = _milliseconds(each, interval_s, " per vCPU") if interval_s else "interval not known"
    return f"{what} {percent(summed_pct)} summed over {vcpus_text} = {percent(each)} per vCPU ({interval})"


def of_one(share_pct: float, interval_s: float | None) -> str:
    """Return the ready time of a single vCPU in words: `12 % (2,400 ms of each 20 s)`."""
    return f"{percent(share_pct)} ({_milliseconds(share_pct, interval_s) if interval_s else 'interval not known'})"


def note(duration_s: float | None) -> str:
    """Return the note below a table with both forms. Shares refer to `duration_s` measured seconds."""
    measured = f" Both are in % of the {duration_s:g} s measured." if duration_s is not None else ""
    example = _milliseconds(10, VCENTER_INTERVAL_S, " per vCPU")
    return (
        f"Ready is per vCPU. Ready sum is over a VM's vCPUs, as in esxtop.{measured} In vCenter, 10% per vCPU is "
        f"{example}. "
        f"Ready and co-stop below {RESOLVED_PCT:g}% are below the model's resolution: timers of idle guests and the "
        "hypervisor's own work are not modelled, and cause as much."
    )


def resolved(share_pct: float | None, ci95: float | None) -> str:
    """Return a percentage of ready or co-stop for a table.

    The model cannot distinguish a percentage below RESOLVED_PCT from zero.
    """
    return BELOW if share_pct is not None and share_pct < RESOLVED_PCT else half_width(share_pct, ci95)


def resolved_sum(share_pct: float | None, sum_pct: float | None) -> str:
    """Return the sum of a per-vCPU share over the vCPUs of a VM, with the corresponding resolution."""
    if share_pct and sum_pct and share_pct < RESOLVED_PCT:
        return f"<{RESOLVED_PCT * sum_pct / share_pct:.3g}"
    return resolved(sum_pct, None)


def summed(group: Mapping[str, object], key: str) -> float | None:
    """Return a per-vCPU percentage of a VM or group, summed over the vCPUs of one VM as in esxtop."""
    value, vcpus = numeric(group, key), numeric(group, "vcpus")
    return None if value is None or vcpus is None else float(value * vcpus / (numeric(group, "count") or 1))


def percent(value: float) -> str:
    """Return a readable percentage with one decimal below 10, except for zero."""
    text = f"{value:,.1f}" if abs(value) < 9.95 else f"{value:,.0f}"
    return f"{text.removesuffix('.0')} %"


def _milliseconds(share_pct: float, interval_s: float, whose: str = "") -> str:
    return f"{share_pct / 100 * interval_s * 1000:,.0f} ms{whose} of each {interval_s:g} s"
