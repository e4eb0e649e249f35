"""Numbers and sentences for reading, as all tables, charts and pages write them."""

from __future__ import annotations

from collections.abc import Sequence


def number(value: float | None, digits: int = 1) -> str:
    """A number for reading; empty when there is none."""
    return "" if value is None else f"{value:,.{digits}f}"


def half_width(value: float | None, ci95: float | None, digits: int = 1) -> str:
    """A mean with the half-width of its confidence interval, where there is one."""
    return number(value, digits) + (f" ±{number(ci95, digits)}" if ci95 is not None and value is not None else "")


def some(names: Sequence[str], most: int = 5) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def calibration_note(calibration: str | None) -> str:
    """What the figures were calibrated on, in one sentence."""
    return (
        f"Calibrated on: {calibration}"
        if calibration
        else "Calibrated on: nothing; every figure is predicted from the scenario's parameters."
    )
