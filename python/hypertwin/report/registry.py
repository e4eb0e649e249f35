"""Every kind of result and how it is shown: as a table for a terminal, as a page, as CSV.

Commands end by it (`hypertwin.cli.output.show`). A new kind of result is a type in `hypertwin.documents`, a module with
these functions, and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from rich.console import Group, RenderableType

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
    terminal,
    topology,
)
from hypertwin.report import page as pages
from hypertwin.report import xlsx as workbooks
from hypertwin.report.view import View

D = TypeVar("D")


class Page(Protocol):
    """A result as a page: `hypertwin.report.page.Page`."""

    def html(self, made: Made) -> str:
        """The whole file, which says how it was made."""


@dataclass(frozen=True)
class Views(Generic[D]):
    """How one kind of result is shown.

    Each function takes the document that `--format json` prints, and by name what else its view shows.
    """

    table: Callable[..., RenderableType]
    page: Callable[..., Page] | None = None
    """None for a kind of result that has no page."""
    csv: Callable[[D], str] | None = None
    xlsx: Callable[..., bytes] | None = None


def _of(
    view: Callable[..., View],
    csv: str | Callable[[D], str] | None = None,
    *,
    page: str | None = None,
    drawn: Callable[[D], RenderableType] | None = None,
) -> Views[D]:
    """What is made of the view of a kind of result.

    `csv` has the lines of one key, `page` is the name of its pages, and `drawn` a drawing that terminals begin with.
    """

    def table(document: D, only: Collection[str] = (), **shown: Any) -> RenderableType:
        rendered = terminal.rendered(view(document, **shown), only)
        return Group(drawn(document), rendered) if drawn else rendered

    def xlsx(document: D, **shown: Any) -> bytes:
        return workbooks.of_view(view(document, **shown))

    def whole(document: D, **shown: Any) -> Page:
        return pages.Page.of_view(page or "", document, view(document, **shown))

    return Views(table, whole if page else None, _lines(csv) if isinstance(csv, str) else csv, xlsx)


def _lines(key: str) -> Callable[[Any], str]:
    """CSV of a document: a line for each record of the list under a key."""
    return lambda document: files.records_csv(document[key])


SIMULATION: Views[Simulation] = Views(simulation.table, simulation_page.page, files.to_csv, workbooks.of_simulation)
VALIDATION: Views[Sequence[Row]] = _of(comparison.view, files.records_csv, page="validation")
DENSITY: Views[planned.Density] = _of(density.view, "points", page="density")
CAPACITY: Views[Capacity] = _of(capacity.view, capacity.csv, page="capacity")
PLACEMENT: Views[Plan] = _of(placement.view, placement.csv, page="placement")
DURABILITY: Views[planned.DurabilityDocument] = _of(durability.view, "schemes", page="durability")
SIZING: Views[planned.Sizing] = _of(sizing.view, "candidates", page="size")
LAYOUT: Views[planned.AdvisedLayout] = _of(sizing.layout_view, "clients", page="vnuma", drawn=topology.terminal)
CALIBRATION: Views[fitted.Calibration] = _of(calibration.view, "parameters", page="calibration")
DIAGNOSIS: Views[found.Document] = _of(diagnosis.view, "findings", page="diagnosis")
TELEMETRY: Views[Telemetry] = _of(telemetry.view, "lines")
CONTENTION: Views[measured.Contention] = _of(lab.view, lab.csv, page="contention")
DISK: Views[measured.DiskLab] = _of(measured_disk.view, "points")
GUESTS: Views[measured.Guests] = _of(guests.view, "guests", page="guests")
PROFILE: Views[measured.Profile] = _of(lab.profile_view)
CODING: Views[measured.Coding] = _of(coding.view, "rows")
STORE: Views[Store] = _of(store.view, "builds")
PRESETS: Views[Presets] = _of(presets.view, "presets")
DEVICES: Views[Devices] = _of(devices.view, "devices")
COMPARISON: Views[Comparison] = _of(compared.view, "changes", page="comparison")
