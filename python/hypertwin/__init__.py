"""hypertwin: a performance twin and capacity planner for virtualised clusters.

>>> import hypertwin
>>> result = hypertwin.simulate("scenario.yaml", sweep={"vms.db.vcpus": [12, 24]}, replications=3)  # doctest: +SKIP
>>> result.points[0].vms["db"].response_ms.p99  # doctest: +SKIP

docs/api.md has every function.

| file | contents |
|---|---|
| `scenario.py`, `yaml_file.py`, `language.py` | loading and overriding; YAML with lines; meaning of a scenario |
| `yaml_writing.py`, `yaml_fields.py` | scenarios as YAML text; small YAML files with fixed keys |
| `parts.py` | the sections of a scenario as types |
| `questions.py` | the commands of the command line, as functions |
| `run.py`, `reports.py` | sweeps and replications; the reports of points |
| `effort.py` | estimated work of a run |
| `settle.py` | duration of a run with `auto` times |
| `arguments.py` | arguments of functions, checked against their annotations |
| `answers.py` | results of functions: document, table, page |
| `bands.py`, `judgement/` | bands of figures, and the meaning of a whole result |
| `model_error/` | intervals with the twin's own error |
| `result.py`, `frame.py`, `remarks.py` | measured figures of a simulation, as tables, and its notes |
| `virtual_numa.py`, `space.py` | virtual NUMA; capacity of pools |
| `drives.py`, `pool_presets.py` | drives and pools by name |
| `execution/` | engines of simulations, and the result cache |
| `naming.py`, `migrate.py` | names typed by users, old and new; old names in files |
| `errors.py`, `extras.py` | errors by code; packages of extras |
| `reading.py`, `writing.py` | reads without blocking; atomic writes |
| `apportion.py` | share of each VM in the measured use of its host |
| `ingest/` | readers of other systems' inventories and telemetry |
| `plan/`, `calibration/`, `studies/`, `diagnosis/`, `lab/` | one kind of question to the twin each |
| `benchmark/` | benchmark campaigns on the user's VMs |
| `cost/` | rules of licences, the user's prices, costs over years |
| `comparison/` | two results of one command, figure by figure |
| `published/` | published throughput and power of hosts, by CPU model |
| `library/` | examples, studies, presets and published figures, which come with the package |
| `documents/`, `records/` | the JSON documents that commands print, as types |
| `report/`, `cli/`, `__main__.py` | results as tables, files and pages; the command line |
| `serve/` | the server for browsers |
| `docs.py` | the reference of the scenario file |
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypertwin.answers import Answer, Record
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
    from hypertwin.drives import devices
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
    from hypertwin.result import Result
    from hypertwin.scenario import Scenario, load
else:
    _NAMES = {
        "answers": "Answer Record",
        "benchmark.answer": (
            "Benchmark Ready check_benchmark import_benchmark predict_benchmark report_benchmark run_benchmark"
        ),
        "calibration.calibrate": "Calibration calibrate",
        "drives": "devices",
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
        "result": "Result",
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
