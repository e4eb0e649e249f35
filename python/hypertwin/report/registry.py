"""Every kind of result and how it is shown: as a table for a terminal, as a page, as CSV.

Commands end by it (`hypertwin.cli.output.show`). A new kind of result is a type in `hypertwin.documents`, a module with
these functions, and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from rich.console import RenderableType

from hypertwin.documents import calibration as fitted
from hypertwin.documents import diagnosis as found
from hypertwin.documents import lab as measured
from hypertwin.documents import plan as planned
from hypertwin.documents.capacity import Capacity
from hypertwin.documents.compare import Comparison
from hypertwin.documents.devices import Devices
from hypertwin.documents.page import Made
from hypertwin.documents.placement import Plan
from hypertwin.documents.presets import Presets
from hypertwin.documents.simulation import Simulation
from hypertwin.documents.store import Store
from hypertwin.documents.telemetry import Telemetry
from hypertwin.documents.validation import Row
from hypertwin.report import (
    calibration,
    capacity,
    coding,
    compared,
    comparison,
    density,
    devices,
    diagnosis,
    durability,
    files,
    guests,
    lab,
    measured_disk,
    placement,
    presets,
    simulation,
    simulation_page,
    sizing,
    store,
    telemetry,
)

D = TypeVar("D")


class Page(Protocol):
    """A result as a page: `hypertwin.report.page.Page`."""

    def html(self, made: Made) -> str:
        """The whole file, which says how it was made."""


@dataclass(frozen=True)
class Views(Generic[D]):
    """How one kind of result is shown. Each function takes the document that `--format json` prints."""

    table: Callable[[D], RenderableType]
    page: Callable[..., Page] | None = None
    """Takes by name what only the page shows; None for a kind of result that has no page."""
    csv: Callable[[D], str] | None = None


def _lines(key: str) -> Callable[[Any], str]:
    """CSV of a document: a line for each record of the list under a key."""
    return lambda document: files.records_csv(document[key])


SIMULATION: Views[Simulation] = Views(simulation.table, simulation_page.page, files.to_csv)
VALIDATION: Views[Sequence[Row]] = Views(comparison.table, comparison.page, files.records_csv)
DENSITY: Views[planned.Density] = Views(density.table, density.page, _lines("points"))
CAPACITY: Views[Capacity] = Views(capacity.table, capacity.page, capacity.csv)
PLACEMENT: Views[Plan] = Views(placement.table, placement.page, placement.csv)
DURABILITY: Views[planned.DurabilityDocument] = Views(durability.table, durability.page, _lines("schemes"))
SIZING: Views[planned.Sizing] = Views(sizing.table, sizing.page, _lines("candidates"))
LAYOUT: Views[planned.AdvisedLayout] = Views(sizing.layout_table, sizing.layout_page, _lines("clients"))
CALIBRATION: Views[fitted.Calibration] = Views(calibration.table, calibration.page, _lines("parameters"))
DIAGNOSIS: Views[found.Document] = Views(diagnosis.table, diagnosis.page, _lines("findings"))
TELEMETRY: Views[Telemetry] = Views(telemetry.table, csv=_lines("lines"))
CONTENTION: Views[measured.Contention] = Views(lab.table, lab.page, lab.csv)
DISK: Views[measured.DiskLab] = Views(measured_disk.table, csv=_lines("points"))
GUESTS: Views[measured.Guests] = Views(guests.table, guests.page, _lines("guests"))
PROFILE: Views[measured.Profile] = Views(lab.profile_table)
CODING: Views[measured.Coding] = Views(coding.table, csv=_lines("rows"))
STORE: Views[Store] = Views(store.table, csv=_lines("builds"))
PRESETS: Views[Presets] = Views(presets.table, csv=_lines("presets"))
DEVICES: Views[Devices] = Views(devices.table, csv=devices.csv)
COMPARISON: Views[Comparison] = Views(compared.table, compared.page, _lines("changes"))
