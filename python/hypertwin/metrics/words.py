"""Conversion of numbers and lists to readable text, for all tables, charts and pages."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

REST_OF_REBUILD = "the rate so far and the disk with most to rebuild"
"""Basis of the rest of a rebuild that a run does not finish: whichever of the two takes longer."""

SMALLEST, LARGEST = 1e-4, 1e9
"""Absolute values below the first number and from the second number on are written as powers of ten."""

RESOLVED_PCT = 0.5
"""Percentage of ready and co-stop time above which the model distinguishes them from zero.

Two effects keep vCPUs waiting at any load and are not modelled. Timers of idle guests (64 wake-ups per second of up to
46 us) are 0.3 %. The other effect is hypervisor worlds that serve no VM. Healthy VMs of real hosts show 0.2 to 0.5 %
(docs/models/wake-up.md).
"""


def number(value: float | None, digits: int | None = None) -> str:
    """Return a readable number, with decimals by its size, or an empty string for None.

    Examples: 0.0012, 0.36, 3.61, 36.4, 364, 36,413.

    Numbers from SMALLEST to LARGEST have three significant digits, two below 1, and all digits before the point.
    `digits` overrides the decimals, for counts and for comparisons within a column.
    """
    if value is None:
        return ""
    if digits is None and value and not SMALLEST <= abs(value) < LARGEST:
        return f"{value:.3g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    return f"{value:,.{_decimals(value) if digits is None else digits}f}"


def half_width(value: float | None, ci95: float | None) -> str:
    """Return a mean with the half-width of its confidence interval, if any, with the same decimals.

    A half-width that would round to 0 has one more decimal, and is 0 if that is not enough: 36.4 ±0.02.
    """
    if value is None or ci95 is None:
        return number(value)
    decimals = _decimals(value)
    shown = (f"{ci95:,.{each}f}" for each in (decimals, decimals + 1))
    return f"{number(value)} ±{next((text for text in shown if text.strip('0.')), '0')}"


def _decimals(value: float) -> int:
    size = abs(value)
    if size >= 99.95 or math.isclose(value, round(value), rel_tol=1e-7):
        return 0
    return 1 if size >= 9.995 else 2 if size >= 0.995 else 1 - math.floor(math.log10(size))


def resource(name: str) -> str:
    """Return the name of a resource of hosts in readable form: `reserved_cpu` is `reserved CPU`."""
    return re.sub(r"\bcpu\b", "CPU", name.replace("_", " "))


def amount(value: float, unit: str) -> str:
    """Return a value with its unit. Bytes are shown in a suitable unit."""
    if unit in ("B", "B/s"):
        for name, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if abs(value) >= size:
                return f"{value / size:.3g} {name}{unit[1:]}"
    unit = "" if unit == "ratio" else unit
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    number = f"{value:,.{digits}f}"
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number}{f' {unit}' if unit else ''}"


def count(of: int, noun: str) -> str:
    """Return a number with its noun: `1 VM`, `2 VMs`."""
    return f"{of:,} {noun}{'' if of == 1 else 's'}"


def tried(count: int, least: int) -> str:
    """Return the result of a search from the count `least`, where 0 means that not even `least` is one."""
    return str(count) if count or least <= 1 else f"fewer than {least}"


def tried_range(low: int, high: int, least: int, most: int) -> str:
    """Return both ends of the result of a search over the counts from `least` to `most`."""
    last = f"{high} or more" if high >= most else tried(high, least)
    return last if low == high else f"{tried(low, least)} to {last}"


def some(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, and the number of others."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def cannot_restart(within_limits: Iterable[bool]) -> str:
    """Return what to say of VMs without a host after a failure. `within_limits`: true if a VM exceeds only limits."""
    return f"cannot restart{' within limits' if all(within_limits) else ''}"


def calibration_note(calibration: str | None) -> str:
    """Return the data that the figures were calibrated on, in one sentence."""
    return (
        f"Calibrated on: {calibration}"
        if calibration
        else "Not calibrated: every figure is predicted from the scenario's parameters (see hypertwin calibrate)."
    )


def in_order(name: str) -> list[tuple[int, str]]:
    """Return a natural sort key for names: `esx-2` before `esx-10`."""
    return [(int(part), "") if index % 2 else (0, part) for index, part in enumerate(re.split(r"([0-9]{1,15})", name))]


def guess(guessed: int, of: int) -> str:
    """Return a sentence for VMs whose hosts are guesses."""
    return f"The host of {guessed:,} of {count(of, 'VM')} is a guess."
