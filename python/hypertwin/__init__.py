"""hypertwin: a performance twin and capacity planner for virtualised clusters.

>>> import hypertwin
>>> result = hypertwin.simulate("scenario.yaml", sweep={"vms.db.vcpus": [12, 24]}, replications=3)  # doctest: +SKIP
>>> result.points[0].vms["db"].response_ms.p99  # doctest: +SKIP

docs/api.md has every function.

| file | contents |
|---|---|
The rooms, from the command line down. Each uses only rooms below it (`[tool.importlinter]` in pyproject.toml).

| room | contents |
|---|---|
| `cli/`, `__main__.py` | the command line |
| `serve/` | the server for browsers |
| `questions.py` | the commands of the command line, as functions |
| `studies/`, `benchmark/` | published studies; benchmark campaigns on the user's VMs |
| `diagnosis/`, `lab/` | findings from telemetry or a simulation; measurements of this computer |
| `plan/`, `calibration/` | capacity, placement, sizing, purchases and moves; parameters fitted to measurements |
| `comparison/` | two results of one command, figure by figure; old names in files |
| `runs/` | sweeps and replications, their engines, and the result cache |
| `results/` | results of functions: document, table, page, notes |
| `show/` | results as tables, files and pages |
| `judgement/` | the meaning of a whole result |
| `metrics/` | figures of a result: names, paths, bands, words, rows |
| `scenario/` | loading and overriding; drives, presets, capacity of pools, virtual NUMA |
| `ingest/` | readers of other systems' inventories and telemetry |
| `model_error/` | intervals with the twin's own error |
| `published/`, `cost/` | published throughput and power of hosts; licences, prices, costs over years |
| `library/` | examples, studies, presets and published figures, which come with the package |
| `language.py` | meaning of a scenario, from the core |
| `files/` | reads without blocking; atomic writes; YAML |
| `arguments.py`, `extras.py` | arguments of functions, checked; packages of extras |
| `documents/`, `records/` | the JSON documents that commands print, as types |
| `members.py` | hosts, VMs and other members of a scenario as classes, as the core has them |
| `parts.py` | the sections of a scenario as types |
| `naming.py`, `errors.py` | names typed by users, old and new; errors by code |
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypertwin.benchmark.answer import (
        Benchmark,
        Ready,
        check_benchmark,
        import_benchmark,
        predict_benchmark,
        report_benchmark,
        run_benchmark,
    )
    from hypertwin.calibration.calibrate import Calibration, calibrate
    from hypertwin.errors import HypertwinError, RunError, ScenarioError, SourceError
    from hypertwin.plan.density import Density, density
    from hypertwin.plan.moving.answer import Moved, plan_move
    from hypertwin.plan.placement.planning import Planned, plan_balance, plan_evacuate, plan_place, plan_survive
    from hypertwin.plan.refresh.answer import Refreshed, plan_refresh
    from hypertwin.questions import (
        Capacity,
        Comparison,
        Diagnosis,
        Durability,
        Layout,
        Sizing,
        Telemetry,
        Validation,
        capacity,
        compare,
        diagnose,
        durability,
        example,
        examples,
        import_cluster,
        presets,
        schema,
        simulate,
        size,
        telemetry,
        validate,
        vnuma,
    )
    from hypertwin.results.answers import Answer, Record
    from hypertwin.results.simulation import Result
    from hypertwin.scenario import Scenario, load
    from hypertwin.scenario.drives import devices
else:
    _NAMES = {
        "results.answers": "Answer Record",
        "benchmark.answer": (
            "Benchmark Ready check_benchmark import_benchmark predict_benchmark report_benchmark run_benchmark"
        ),
        "calibration.calibrate": "Calibration calibrate",
        "scenario.drives": "devices",
        "errors": "HypertwinError RunError ScenarioError SourceError",
        "plan.density": "Density density",
        "plan.placement.planning": "Planned plan_balance plan_evacuate plan_place plan_survive",
        "plan.moving.answer": "Moved plan_move",
        "plan.refresh.answer": "Refreshed plan_refresh",
        "questions": (
            "Capacity Comparison Diagnosis Durability Layout Sizing Telemetry Validation capacity compare "
            "diagnose durability example examples import_cluster presets schema simulate size "
            "telemetry validate vnuma"
        ),
        "results.simulation": "Result",
        "scenario": "Scenario load",
    }
    _HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        """Return public names of the package, imported on first use, so that commands start faster."""
        if name not in _HOMES:
            from hypertwin.naming import hint  # not `from hypertwin`, which asks here again

            meant = hint(name, __all__, "")
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{'; ' * bool(meant)}{meant}", name=name)
        globals()[name] = found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted([*(name for name in globals() if name.startswith("__")), *__all__])


__all__ = [
    "Answer",
    "Benchmark",
    "Calibration",
    "Capacity",
    "Comparison",
    "Density",
    "Diagnosis",
    "Durability",
    "HypertwinError",
    "Layout",
    "Moved",
    "Planned",
    "Ready",
    "Record",
    "Refreshed",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Sizing",
    "SourceError",
    "Telemetry",
    "Validation",
    "calibrate",
    "capacity",
    "check_benchmark",
    "compare",
    "density",
    "devices",
    "diagnose",
    "durability",
    "example",
    "examples",
    "import_benchmark",
    "import_cluster",
    "load",
    "plan_balance",
    "plan_evacuate",
    "plan_move",
    "plan_place",
    "plan_refresh",
    "plan_survive",
    "predict_benchmark",
    "presets",
    "report_benchmark",
    "run_benchmark",
    "schema",
    "simulate",
    "size",
    "telemetry",
    "validate",
    "vnuma",
]
