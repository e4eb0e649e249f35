"""hypertwin: a performance twin and capacity planner for virtualised clusters.

>>> import hypertwin
>>> result = hypertwin.simulate("scenario.yaml", sweep={"vms.db.vcpus": [12, 24]}, replications=3)  # doctest: +SKIP
>>> result.to_frame()  # doctest: +SKIP
"""

from hypertwin.calibration.calibrate import Calibration, calibrate
from hypertwin.errors import HypertwinError, ScenarioError
from hypertwin.plan.density import Density, density
from hypertwin.run import Result, simulate
from hypertwin.scenario import Scenario, load

__all__ = [
    "Calibration",
    "Density",
    "HypertwinError",
    "Result",
    "Scenario",
    "ScenarioError",
    "calibrate",
    "density",
    "load",
    "simulate",
]
