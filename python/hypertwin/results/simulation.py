"""Result of a simulation, with figures by name, tables, data frames and a page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from hypertwin.arguments import checked
from hypertwin.documents import simulation as documents
from hypertwin.documents.page import MadeFile, PageDocument
from hypertwin.judgement import answer as judgement
from hypertwin.metrics import frame
from hypertwin.metrics.packed import Reports
from hypertwin.results import remarks
from hypertwin.results.answers import Answer, Record, Records, unknown
from hypertwin.scenario import Scenario

if TYPE_CHECKING:
    import polars
    from rich.console import RenderableType

    from hypertwin.records import simulation as records
    from hypertwin.records.simulation import PointFields
    from hypertwin.show.page import Page
else:  # attributes for type checkers only
    PointFields = object

FEW_POINTS = 4
"""Maximum number of points that a `repr` or a notebook shows."""


class Frames(Mapping[str, "polars.DataFrame"]):
    """Mapping of data frames by kind of entity in a result, created on access. See `hypertwin.metrics.frame`."""

    def __init__(self, document: documents.Simulation) -> None:
        """Wrap the JSON form of a result."""
        self._document = document

    def __getitem__(self, kind: str) -> polars.DataFrame:
        """Return the frame of a kind. Raises KeyError, or MissingExtraError without polars."""
        known = list(self)
        if kind not in known:
            raise KeyError(unknown(kind, dict.fromkeys(known)))
        return frame.of_kind(self._document, kind)

    def __iter__(self) -> Iterator[str]:
        """Return the available kinds: `hosts`, `vms`, `groups`, ..., `timeline`."""
        return iter(frame.kinds(self._document))

    def __len__(self) -> int:
        """Return the number of kinds."""
        return len(frame.kinds(self._document))

    def __repr__(self) -> str:
        """Return the text with the kinds."""
        return f"<frames of {', '.join(self)}>"


@dataclass(frozen=True, repr=False)
class Result(Answer[documents.Simulation], PointFields):
    """Result of a simulation.

    For a result with one point, its sections are attributes: `result.vms["db"].response_ms.p99`, `result.hosts`,
    `result.groups`, `result.clusters`, `result.storage`, `result.pools`, `result.steady`. For a sweep, each point has
    these attributes: `result.points[2].vms["db"].ready_pct`. docs/metrics.md explains every figure. Names end in their
    unit, and percentages of a VM are per vCPU.
    """

    VIEWS: ClassVar[str] = "SIMULATION"

    version: str
    """Version of hypertwin that created the result."""
    scenario: str
    """Name of the scenario."""
    seed: int
    """Seed of the first replication of each point."""
    reports: Sequence[documents.Point]
    """Reports of the points in order, as typed dicts. They are decoded on access. Do not change the reports."""
    first_scenario: Scenario = field(compare=False)
    """Scenario of the first point as simulated, with set and swept values."""

    @property
    def answer(self) -> records.Answer:
        """Answer with the groups that suffer, the swept value from which they do, and the reason.

        The keys are `tone`, `text`, and `more` for related remarks.
        """
        return cast("records.Answer", Record(self._judged[0]))

    @property
    def points(self) -> Sequence[records.Point]:
        """Points in order. The key `set` has the settings of a point, and the other keys the measured figures."""
        return cast("Sequence[records.Point]", Records(self.reports))

    @property
    def sha256s(self) -> list[str]:
        """SHA-256 of the core's report of each point, as live pages show it."""
        return self.reports.sha256s if isinstance(self.reports, Reports) else []

    causes: Sequence[documents.Cause] = ()
    """Findings of the rules of `hypertwin diagnose` at the point that the answer describes."""

    @cached_property
    def _judged(self) -> tuple[documents.Answer, list[documents.Break]]:
        groups = self.first_scenario.data.get("vms", {}).items()
        workloads = {name: vm["workload"] for name, vm in groups if "workload" in vm}
        return judgement.answer(self.reports, self.causes, workloads)

    @property
    def document(self) -> documents.Simulation:
        """Document as in `to_dict`, but with lazily decoded points, for results with thousands of points."""
        answer, breaks = self._judged
        return {
            "version": self.version,
            "scenario": self.scenario,
            "seed": self.seed,
            "answer": answer,
            "causes": list(self.causes),
            "breaks": breaks,
            "points": self.reports,
        }

    def to_dict(self) -> documents.Simulation:
        """Return {"version", "scenario", "seed", "answer", "causes", "breaks", "points"}, ready for `json.dumps`."""
        return {**self.document, "points": list(self.reports)}

    def to_json(self) -> str:
        """Return the document as JSON text, byte for byte as `hypertwin simulate --format json` prints it."""
        from hypertwin.show import files

        return "".join(files.json_parts(self.document))

    def to_frame(self) -> polars.DataFrame:
        """Return one row per point and entity with flat columns such as `response_ms_p99` (`hypertwin.metrics.frame`).

        Raises MissingExtraError without polars.
        """
        return frame.to_frame(self.document)

    @property
    def frames(self) -> Mapping[str, polars.DataFrame]:
        """Data frames by kind: `hosts`, `vms`, `groups`, `clusters`, `storage`, `pools`, `space`, `timeline`.

        Each data frame has one row per point and name, with a column for each set path and only the metrics of that
        kind.
        `timeline` has one row per point, name and sample (`time_s`). Raises MissingExtraError without polars.
        """
        return Frames(self.document)

    def _fields(self) -> Mapping[str, Any]:
        first = self.reports[0]
        return {**first} if len(self.reports) == 1 else {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return a section of the only point. Raises AttributeError, also for a sweep."""
            if not name.startswith("_") and len(self.reports) != 1 and name in self.reports[0]:
                said = f"there are {len(self.reports)} points, each with its own: result.points[0].{name}"
                raise AttributeError(said, name=name, obj=self)
            return super().__getattr__(name)

    def __getitem__(self, key: str) -> Any:
        """Return the value under a key of the document, such as `points`. Raises KeyError."""
        return Record(self.document)[key]

    def _whole(self) -> documents.Simulation:
        return self.document

    def _table(self) -> RenderableType:
        from hypertwin.show import simulation

        return simulation.table(self._first())

    @checked
    def report(self, path: str | Path, *, live: bool = False) -> Path:
        """Write the page that `hypertwin simulate --report` writes, and return its path.

        A live page simulates other values in the browser. A page without a command cannot be rerun. The page has the
        scenario of its first point.

        Raises OutputError or WriteError if the page cannot be written, and NoBrowserCoreError if the package has no
        core for live pages.
        """
        return self._write(Path(path), lambda: self._page(live=live))

    def _page(self, *, brief: bool = False, live: bool = False) -> Page:
        from hypertwin.show import simulation_page

        if brief:
            return simulation_page.page(self._first())
        document, first = self.document, self.first_scenario
        said = remarks.remarks(document["points"], first)
        return simulation_page.page(document, assumptions=said, live=first if live else None, **remarks.of_page(first))

    def live_page(self) -> PageDocument:
        """Return the data of a page that simulates, without its core."""
        from hypertwin.show.page import made_of

        return self._page(live=True).data(made_of(self._whole(), self.version, files=self._made_from()))

    def _first(self) -> documents.Simulation:
        """Return the first points, for a quick display."""
        few = self.reports[:FEW_POINTS]
        if len(self.reports) <= FEW_POINTS:
            return {**self.document, "points": few}
        said = f"{len(self.reports)} points: `answer` says who suffers."
        answer: documents.Answer = {"tone": "note", "text": said, "more": []}
        head = {"version": self.version, "scenario": self.scenario, "seed": self.seed}
        return {**head, "answer": answer, "causes": [], "breaks": [], "points": few}  # type: ignore[typeddict-item]

    def _made_from(self) -> Sequence[MadeFile]:
        path, text = self.first_scenario.path, self.first_scenario.to_yaml()
        name = f"{self.scenario}.yaml" if path is None else path.as_posix()
        return [{"name": name, "sha256": hashlib.sha256(text.encode()).hexdigest(), "text": text}]

    def _inputs(self) -> Sequence[Path]:
        return () if self.first_scenario.path is None else (self.first_scenario.path,)
