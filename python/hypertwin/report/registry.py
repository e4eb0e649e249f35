"""Every kind of result and how it is shown: as a table for a terminal, as a page, as CSV.

The commands of `hypertwin.cli` show their results by it. A new kind of result is a module with these functions and an
entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.console import RenderableType

from hypertwin.report import (
    calibration,
    coding,
    comparison,
    density,
    diagnosis,
    diagnosis_page,
    durability,
    files,
    guests,
    lab,
    simulation,
    simulation_page,
    sizing,
    telemetry,
)
from hypertwin.report.page import Page


@dataclass(frozen=True)
class Views:
    """How one kind of result is shown. Each function takes the document that `--format json` prints."""

    table: Callable[..., RenderableType]
    """For a terminal; that of a simulation takes the terminal's width, too."""
    page: Callable[..., Page] | None = None
    """None for a kind of result that has no page; some take what only the page shows, besides."""
    csv: Callable[..., str] | None = None


VIEWS: Mapping[str, Views] = {
    "simulate": Views(simulation.table, simulation_page.page, files.to_csv),
    "validate": Views(comparison.table, comparison.page),
    "density": Views(density.table, density.page),
    "durability": Views(durability.table, durability.page),
    "size": Views(sizing.table),
    "calibrate": Views(calibration.table, calibration.page),
    "diagnose": Views(diagnosis.table, diagnosis_page.page),
    "telemetry": Views(telemetry.table),
    "lab cpu": Views(lab.table, lab.page),
    "lab vm": Views(guests.table, guests.page),
    "lab profile": Views(lab.profile_table),
    "lab erasure-coding": Views(coding.table),
}
"""By the command that makes the result."""
