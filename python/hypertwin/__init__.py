"""hypertwin: a performance twin and capacity planner for virtualised clusters.

>>> import hypertwin
>>> result = hypertwin.simulate("scenario.yaml", sweep={"vms.db.vcpus": [12, 24]}, replications=3)  # doctest: +SKIP
>>> result.to_frame()  # doctest: +SKIP

| file | what it holds |
|---|---|
| `scenario.py`, `yaml_file.py`, `language.py` | loading and overriding; YAML with lines; what a scenario means |
| `yaml_writing.py` | scenarios as YAML text |
| `run.py`, `reports.py`, `frame.py` | sweeps and replications; the reports of points; a result as one table |
| `effort.py` | how much work a run is, before it begins |
| `vnuma.py`, `space.py` | virtual NUMA; the room of pools |
| `drives.py`, `presets.py` | drives and pools by name |
| `execution/` | who runs simulations, and where results are kept |
| `errors.py`, `extras.py` | what can go wrong, by code; what only an extra brings |
| `reading.py`, `writing.py` | files that keep nobody waiting; files that appear whole or not at all |
| `ingest/` | other systems' inventories and telemetry, read |
| `plan/`, `calibration/`, `studies/`, `diagnose/`, `lab/` | one question each, asked of the twin |
| `compare/` | two results of one command, figure by figure |
| `library/` | examples, studies and presets, which come with the package |
| `documents/` | the JSON documents that commands print, as types |
| `report/`, `cli/` | results as tables, files and pages; the command line |
| `docs.py` | the reference of the scenario file |
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypertwin.calibration.calibrate import Calibration, calibrate
    from hypertwin.drives import devices
    from hypertwin.errors import HypertwinError, ScenarioError
    from hypertwin.plan.capacity import capacity
    from hypertwin.plan.density import Density, density
    from hypertwin.plan.placement.planning import Planned, plan_balance, plan_evacuate, plan_place, plan_survive
    from hypertwin.run import Result, simulate
    from hypertwin.scenario import Scenario, load
else:
    _HOMES = {
        "Calibration": "calibration.calibrate",
        "calibrate": "calibration.calibrate",
        "capacity": "plan.capacity",
        "HypertwinError": "errors",
        "ScenarioError": "errors",
        "Density": "plan.density",
        "density": "plan.density",
        "Planned": "plan.placement.planning",
        "plan_balance": "plan.placement.planning",
        "plan_evacuate": "plan.placement.planning",
        "plan_place": "plan.placement.planning",
        "plan_survive": "plan.placement.planning",
        "devices": "drives",
        "Result": "run",
        "simulate": "run",
        "Scenario": "scenario",
        "load": "scenario",
    }

    def __getattr__(name: str) -> object:
        """What the package offers, imported when it is first used: a command that needs none of it starts faster."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "Calibration",
    "Density",
    "HypertwinError",
    "Planned",
    "Result",
    "Scenario",
    "ScenarioError",
    "calibrate",
    "capacity",
    "density",
    "devices",
    "load",
    "plan_balance",
    "plan_evacuate",
    "plan_place",
    "plan_survive",
    "simulate",
]
