"""Functions for the commands of the command line: the part of the public API that uses several modules.

`simulate`, `density`, `calibrate` and the plans are in their own modules. Arguments are the options of the command of
the same name. The path of an argument's problem is the argument's name.

No function has the name of a module: `vnuma` and `virtual_numa.py`, `compare` and `comparison/`. A function would
hide the module.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec

from hypertwin import _core, scenario
from hypertwin.arguments import asks, asks_alone, checked
from hypertwin.documents import capacity as capacities
from hypertwin.documents import compare as comparisons
from hypertwin.documents import diagnosis as diagnoses
from hypertwin.documents import plan as plans
from hypertwin.documents import telemetry as tables
from hypertwin.documents import validation
from hypertwin.documents.presets import Preset
from hypertwin.errors import fail
from hypertwin.extras import needs
from hypertwin.plan import durability as schemes
from hypertwin.plan import failover
from hypertwin.plan import repair as recovery
from hypertwin.plan import size as sizing
from hypertwin.plan.capacity import options as capacity_options
from hypertwin.results.answers import Answer, Document
from hypertwin.results.simulation import Result
from hypertwin.runs import simulation
from hypertwin.scenario import Given, Scenario, virtual_numa
from hypertwin.scenario import example as examples_of
from hypertwin.scenario import pool_presets as pools

if TYPE_CHECKING:
    import polars

    from hypertwin.records.capacity import CapacityFields
    from hypertwin.records.compare import ComparisonFields
    from hypertwin.records.diagnosis import DocumentFields as DiagnosisFields
    from hypertwin.records.plan import AdvisedLayoutFields, DurabilityDocumentFields, SizingFields
    from hypertwin.records.telemetry import TelemetryFields
    from hypertwin.runs.simulation import LabelledProgress, Progress
else:  # attributes for type checkers only
    CapacityFields = ComparisonFields = DiagnosisFields = AdvisedLayoutFields = object
    DurabilityDocumentFields = SizingFields = TelemetryFields = object

P = ParamSpec("P")


def _explained(ask: Callable[P, Result]) -> Callable[P, Result]:
    """Return a function that simulates, extended by causes of poor performance in its result."""

    @wraps(ask)
    def asked(*args: P.args, **kwargs: P.kwargs) -> Result:
        result = ask(*args, **kwargs)
        if result.answer["tone"] in ("good", "note"):
            return result
        from hypertwin.diagnosis import simulated

        return simulated.explain(result)

    return asked


simulate = _explained(simulation.simulate)


@dataclass(frozen=True, repr=False)
class Capacity(Document[capacities.Capacity], CapacityFields):
    """Capacity of clusters, with the fields `clusters`, `total`, `datastores`, `pools` and `reclaimable`."""

    VIEWS: ClassVar[str] = "CAPACITY"


@dataclass(frozen=True, repr=False)
class Sizing(Document[plans.Sizing], SizingFields):
    """Best topology of a VM, with the fields `advice`, `candidates`, `notes`, and `snippets` (text to paste)."""

    VIEWS: ClassVar[str] = "SIZING"

    def _headline(self) -> str:
        return self.document["advice"]["text"]


@dataclass(frozen=True, repr=False)
class Layout(Document[plans.AdvisedLayout], AdvisedLayoutFields):
    """Virtual NUMA topology of a VM, with the fields `vpds`, `ppds`, `homes`, `warnings` and `advice`."""

    VIEWS: ClassVar[str] = "LAYOUT"

    def svg(self) -> str:
        """Return a drawing of the layout on its host, as SVG text."""
        from hypertwin.show import topology_svg

        return topology_svg.svg(self.document)


@dataclass(frozen=True, repr=False)
class Durability(Document[plans.DurabilityDocument], DurabilityDocumentFields):
    """Cost and data loss of redundant storage, with the fields `schemes`, `repair`, and `twin` for a scenario."""

    VIEWS: ClassVar[str] = "DURABILITY"

    def _beside(self) -> Mapping[str, Any]:
        return {"curves": schemes.curves(self.document)}


@dataclass(frozen=True, repr=False)
class Diagnosis(Document[diagnoses.Document], DiagnosisFields):
    """Problems of a cluster.

    The fields are `findings` (worst first), `not_checked` (rules), `read` (sources), `clusters` and `notes`.
    """

    VIEWS: ClassVar[str] = "DIAGNOSIS"


@dataclass(frozen=True, repr=False)
class Comparison(Document[comparisons.Comparison], ComparisonFields):
    """Comparison of two results, with the fields `changes` (by size), `settings`, `verdicts` and `missing`."""

    VIEWS: ClassVar[str] = "COMPARISON"


@dataclass(frozen=True, repr=False)
class Validation(Document[list[validation.Row]]):
    """Published figures and figures of the twin, with one entry of `rows` for each figure."""

    VIEWS: ClassVar[str] = "VALIDATION"

    @property
    def holds(self) -> bool:
        """True if no figure has left its tolerance since the last accepted evidence."""
        return all(row["pass"] for row in self.document if row["promised"])

    def to_frame(self) -> polars.DataFrame:
        """Return one row per figure. Raises MissingExtraError without polars."""
        needs("telemetry", "a data frame")
        import polars

        rows = [{key: value for key, value in row.items() if key != "parameters"} for row in self.document]
        return polars.DataFrame(rows, infer_schema_length=None)

    def _fields(self) -> Mapping[str, Any]:
        return {"rows": self.document}


@dataclass(frozen=True, repr=False)
class Telemetry(Document[tables.Telemetry], TelemetryFields):
    """Measurements of any format as one table. The fields are `lines`, `ready`, `sources` and `frame` (the table
    itself).
    """

    VIEWS: ClassVar[str] = "TELEMETRY"

    frame: polars.DataFrame = field(kw_only=True, compare=False)
    """Table of samples with the columns `time` (UTC, the end of the interval, or null without a clock), `entity`,
    `metric`, `value` and `unit`.
    """


@asks(capacity_options.Asked)
def capacity(scenario: Given, asked: capacity_options.Asked) -> Capacity:
    """Return the capacity of clusters, now and after host failures, and VMs remaining. Nothing is simulated.

    `failures` is the number of host failures to tolerate. `cpu` and `memory` are the limits after the failures.
    `limits` is a file that overrides these options and other limits for single clusters.

    Raises ScenarioError.
    """
    return Capacity(failover.capacity(scenario, asked), inputs=_files(scenario, asked.limits))


@asks_alone(sizing.Asked)
def size(asked: sizing.Asked) -> Sizing:
    """Return the best number of vCPUs, sockets and NUMA nodes of a VM, and the necessary change.

    `host` is `2x12` (sockets x cores), `2x12x2@2.5GHz` (with threads per core and clock) or `SCENARIO.yaml:HOST`.
    `hypervisor`, `node_memory` and `nodes_per_socket` belong to the first two forms. `vcpus` is the requested number.
    Without `vcpus`, the number follows from the peak `demand` (`10` cores, `25GHz`), which is then 80% of the vCPUs.

    Raises ScenarioError.
    """
    advice = asked.advice()
    texts = advice.snippets(asked.name, bind=asked.bind)
    return Sizing({**advice.to_dict(), "snippets": texts}, {"layout": advice.advised.layout})


@asks_alone(virtual_numa.Asked)
def vnuma(asked: virtual_numa.Asked) -> Layout:
    """Return the NUMA nodes of a guest, their placement on an empty host, and problems.

    Raises ScenarioError.
    """
    return Layout(sizing.advised_layout(asked))


@asks_alone(schemes.Asked)
def durability(asked: schemes.Asked) -> Durability:
    """Return the cost of replicas and erasure codes, and their probability of data loss within a year.

    Without a scenario, each `scheme` is assessed with a repair time. The repair time is `repair` (`6.5d`), or
    `detection` plus the time to rebuild a disk of size `disk` at the bandwidth `rebuild`. With a scenario, the twin
    simulates the failure of a disk of the pool `storage`. This gives the repair time and the data in the pool.

    Raises ScenarioError, and RunError when a run fails.
    """
    return Durability(recovery.answer(asked), inputs=_files(asked.scenario))


@checked
def validate(
    studies: str | Path | Sequence[str | Path] = (),
    *,
    jobs: int | None = None,
    cache: str | Path | None = None,
    on: str | None = None,
    progress: LabelledProgress | None = None,
) -> Validation:
    """Return published figures compared with the twin, one row per figure of `studies` (default: all studies).

    A study is a name (`monster-vm`), or a folder with a study.yaml. `jobs`, `cache` and `on` are those of `simulate`.
    `progress` gets the name of the study, the runs finished and all runs.

    Raises StudyError for an unknown study or inconsistent files, and ScenarioError.
    """
    from hypertwin.runs.runner import running
    from hypertwin.show import comparison
    from hypertwin.studies import judge
    from hypertwin.studies.study import chosen

    asked = [studies] if isinstance(studies, str | Path) else studies
    compared = chosen([str(each) for each in asked])
    rows: list[validation.Row] = []
    with running(jobs=jobs, cache=cache, on=on):
        for study in compared:
            rows += judge.validate([study], progress=_labelled(progress, study.name))
    named = [comparison.Study(study.name, study.title, study.source) for study in compared]
    return Validation(rows, {"studies": named})


@checked
def diagnose(
    sources: str | Path | Sequence[str | Path] = (),
    *,
    cluster: Given | None = None,
    what_if: bool = True,
    charts: bool = True,
    jobs: int | None = None,
    cache: str | Path | None = None,
    on: str | None = None,
    progress: LabelledProgress | None = None,
) -> Diagnosis:
    """Return the problems of a cluster with evidence, and tested fixes.

    `sources` are files or addresses of telemetry, of any format that `telemetry` reads. `cluster` is the scenario with
    its configuration. If `what_if` is true, fixes are simulated on it. `charts` adds the series of the page. `jobs`,
    `cache` and `on` are those of `simulate`.

    Raises SourceError or ScenarioError for unreadable input, and MissingExtraError without polars.
    """
    from hypertwin import diagnosis

    asked = [sources] if isinstance(sources, str | Path) else list(sources)
    if not asked and cluster is None:
        hint = "give files of telemetry, the cluster, or both"
        fail("missing-key", "sources", "(nothing)", "telemetry, or a cluster", hint)
    found = diagnosis.diagnose(
        asked,
        cluster=cluster,
        charts=charts,
        simulate=what_if,
        jobs=jobs,
        cache=cache,
        on=on,
        progress=progress,
    )
    document: diagnoses.Document = {"version": _core.version(), **found.document}
    return Diagnosis(document, {"series": [finding.charts for finding in found.findings]}, _files(cluster, *asked))


@checked
def telemetry(
    sources: str | Path | Sequence[str | Path], *, progress: Callable[[str, int], None] | None = None
) -> Telemetry:
    """Return measurements of any known format as one table of time, entity, metric, value and unit.

    The measurements are files or addresses.

    `progress` gets a source and its number of rows so far. Raises SourceError for unreadable input, and
    MissingExtraError without polars.
    """
    needs("telemetry", "telemetry")
    import polars

    from hypertwin.ingest import formats, telemetry_table
    from hypertwin.ingest.overview import overview

    asked = [sources] if isinstance(sources, str | Path) else sources
    readings = [formats.read(str(source)) for source in asked]
    with tempfile.TemporaryDirectory(prefix="hypertwin-") as folder:
        gathered = Path(folder, "table.parquet")
        rows = telemetry_table.gather(readings, gathered, progress)
        found = overview(gathered, readings, rows)
        frame = polars.read_parquet(gathered, glob=False, memory_map=False)
    return Telemetry(found, frame=frame)


@checked
def import_cluster(
    sources: str | Path | Sequence[str | Path],
    *,
    telemetry: str | Path | Sequence[str | Path] = (),
    only_cluster: str | Sequence[str] = (),
) -> Scenario:
    """Return a scenario from an inventory.

    Supported systems: RVTools, vCenter, libvirt, Proxmox VE, oVirt, OpenStack, Nutanix, Hyper-V, lscpu.

    `sources` are files, folders or addresses (`vcenter://USER@HOST`) of one kind. `telemetry` are measurements that
    replace the usage in the source. `only_cluster` names the clusters to import. The scenario's `notes` list
    assumptions. `write` saves the scenario.

    Raises SourceError for unreadable input, and MissingExtraError for telemetry without polars.
    """
    from hypertwin.ingest import sources as inventories
    from hypertwin.ingest import to_scenario

    inventory = inventories.read([str(each) for each in _listed(sources)])
    if measured := [str(each) for each in _listed(telemetry)]:
        needs("telemetry", "telemetry")
        from hypertwin.ingest import demand, formats

        inventory = demand.with_measured(inventory, (formats.read(each) for each in measured))
    only = [str(each) for each in _listed(only_cluster)]
    made, assumptions = to_scenario.to_scenario(inventory, only)
    said = tuple(to_scenario.summary(inventory, made, assumptions))
    return replace(scenario.loads(to_scenario.to_yaml(made)), notes=said)


@checked
def compare(a: Answer[Any] | str | Path, b: Answer[Any] | str | Path) -> Comparison:
    """Return the different settings of two results of one kind, and the figures that changed by more than chance.

    Each result is an answer of this session, or a file: JSON output of a command, or a page. Raises SourceError for a
    file
    that is not a result, and for results of different kinds.
    """
    from hypertwin import comparison
    from hypertwin.comparison import reading

    sides = [
        reading.of_bytes(each.to_json().encode(), Path(name)) if isinstance(each, Answer) else reading.read(Path(each))
        for name, each in (("a", a), ("b", b))
    ]
    found = comparison.compare_results(*sides, version=_core.version())
    return Comparison(found, inputs=_files(*(each for each in (a, b) if not isinstance(each, Answer))))


@checked
def presets(*names: str) -> list[Preset]:
    """Return the presets of pools (`preset: ceph-3x-nvme`). By default all presets are returned.

    Raises ScenarioError for an unknown name.
    """
    return pools.presets(*names)


def examples() -> dict[str, str]:
    """Return the name and description of each example scenario of the package."""
    return {name: examples_of.find(name).description for name in examples_of.names()}


@checked
def example(name: str) -> Scenario:
    """Return an example scenario, loaded. Raises UnknownExampleError, which lists all examples."""
    return scenario.load(examples_of.find(name).scenario)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the scenario file."""
    found: dict[str, Any] = json.loads(_core.schema_json())
    return found


def _listed(given: str | Path | Sequence[str | Path]) -> Sequence[str | Path]:
    return [given] if isinstance(given, str | Path) else given


def _files(*given: object) -> tuple[Path, ...]:
    """Return the files among the arguments."""
    paths = (each.path if isinstance(each, Scenario) else each for each in given)
    return tuple(Path(each) for each in paths if isinstance(each, str | Path) and "\n" not in str(each))


def _labelled(progress: LabelledProgress | None, label: str) -> Progress | None:
    return None if progress is None else lambda done, total: progress(label, done, total)
