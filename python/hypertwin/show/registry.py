"""Views of every kind of result as a table for a terminal, as a page, and as CSV.

Commands call it for their output (`hypertwin.cli.output.show`). A new kind of result needs a type in
`hypertwin.documents`, a module with these functions, and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hypertwin.documents import benchmark as benchmarked
    from hypertwin.documents import calibration as fitted
    from hypertwin.documents import diagnosis as found
    from hypertwin.documents import lab as measured
    from hypertwin.documents import plan as planned
    from hypertwin.documents.cache import Cache
    from hypertwin.documents.capacity import Capacity
    from hypertwin.documents.compare import Comparison
    from hypertwin.documents.devices import Devices
    from hypertwin.documents.move import Move
    from hypertwin.documents.page import Made
    from hypertwin.documents.placement import Plan
    from hypertwin.documents.presets import Presets
    from hypertwin.documents.refresh import Refresh
    from hypertwin.documents.simulation import Simulation
    from hypertwin.documents.telemetry import Telemetry
    from hypertwin.documents.validation import Row

D = TypeVar("D")


class Page(Protocol):
    """Result as a page (`hypertwin.show.page.Page`)."""

    def html(self, made: Made) -> str:
        """Return the whole file, including its origin."""


@dataclass(frozen=True)
class Views(Generic[D]):
    """Views of one kind of result.

    Each function takes the document of `--format json`, and further data of its view by name.
    """

    table: Callable[..., RenderableType]
    """Function that returns the tables with names in `only`.

    With `brief`, it returns only the most important content.
    """
    page: Callable[..., Page] | None = None
    """Page function, or None for a kind of result without a page."""
    csv: Callable[[D], str] | None = None
    xlsx: Callable[..., bytes] | None = None


def _function(name: str) -> Callable[..., Any]:
    """Return a function of a module of this folder.

    The module is imported on call, because a command has one kind of result.
    """
    module, _, function = name.partition(".")

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(f"hypertwin.show.{module}"), function)(*args, **kwargs)

    return call


def _of(view: str, csv: str | None = None, *, page: str | None = None, drawn: str | None = None) -> Views[Any]:
    """Return the views of a kind of result, from the names of the functions that create them.

    `csv` is the key of the CSV lines, or the name of a function. `page` is the kind of its pages. `drawn` is the name
    of a function that draws the first part of terminal output.
    """
    viewed = _function(view)

    def table(document: Any, only: Collection[str] = (), *, brief: bool = False, **shown: Any) -> RenderableType:
        from rich.console import Group

        from hypertwin.show import terminal

        made = viewed(document, **shown)
        more = ["--explain", *(["--report FILE.html"] if page else [])]
        rendered = (
            terminal.brief(made, more=more) if brief and not only and made["cards"] else terminal.rendered(made, only)
        )
        return Group(_function(drawn)(document), rendered) if drawn else rendered

    def xlsx(document: Any, **shown: Any) -> bytes:
        from hypertwin.show import xlsx

        return xlsx.of_view(viewed(document, **shown))

    def whole(document: Any, **shown: Any) -> Page:
        from hypertwin.show import page as pages

        return pages.Page.of_view(page or "", document, viewed(document, **shown))

    return Views(table, whole if page else None, None if csv is None else _csv(csv), xlsx)


def _csv(name: str) -> Callable[[Any], str]:
    """Return the CSV of a document by a function, or with a line for each record of the list under a key."""
    if "." in name:
        return _function(name)
    return lambda document: str(_function("files.records_csv")(document[name]))


SIMULATION: Views[Simulation] = Views(
    *map(_function, ("simulation.table", "simulation_page.page", "files.to_csv", "xlsx.of_simulation"))
)
VALIDATION: Views[Sequence[Row]] = _of("comparison.view", "files.records_csv", page="validation")
DENSITY: Views[planned.Density] = _of("density.view", "points", page="density")
CAPACITY: Views[Capacity] = _of("capacity.view", "capacity.csv", page="capacity")
PLACEMENT: Views[Plan] = _of("placement.view", "placement.csv", page="placement")
REFRESH: Views[Refresh] = _of("refresh.view", "refresh.csv", page="refresh")
MOVE: Views[Move] = _of("move.view", "move.csv", page="move")
DURABILITY: Views[planned.DurabilityDocument] = _of("durability.view", "schemes", page="durability")
SIZING: Views[planned.Sizing] = _of("sizing.view", "candidates", page="size")
LAYOUT: Views[planned.AdvisedLayout] = _of("sizing.layout_view", "clients", page="vnuma", drawn="topology.terminal")
BENCHMARK: Views[benchmarked.Benchmark] = _of("benchmark.view", "benchmark.csv_of", page="benchmark")
BENCHMARK_CHECK: Views[benchmarked.Check] = _of("benchmark.check_view", "findings")
CALIBRATION: Views[fitted.Calibration] = _of("calibration.view", "parameters", page="calibration")
DIAGNOSIS: Views[found.Document] = _of("diagnosis.view", "findings", page="diagnosis")
TELEMETRY: Views[Telemetry] = _of("telemetry.view", "lines")
CONTENTION: Views[measured.Contention] = _of("lab.view", "lab.csv", page="contention")
DISK: Views[measured.DiskLab] = _of("measured_disk.view", "points")
GUESTS: Views[measured.Guests] = _of("guests.view", "guests", page="guests")
PROFILE: Views[measured.Profile] = _of("lab.profile_view")
CODING: Views[measured.Coding] = _of("coding.view", "rows")
CACHE: Views[Cache] = _of("cache.view", "builds")
PRESETS: Views[Presets] = _of("presets.view", "presets")
DEVICES: Views[Devices] = _of("devices.view", "devices")
COMPARISON: Views[Comparison] = _of("compared.view", "changes", page="comparison")
