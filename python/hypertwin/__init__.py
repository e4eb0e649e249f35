"""hypertwin: a performance twin and capacity planner for virtualised clusters.

>>> import hypertwin
>>> result = hypertwin.simulate("scenario.yaml", sweep={"vms.db.vcpus": [12, 24]}, replications=3)  # doctest: +SKIP
>>> result.to_frame()  # doctest: +SKIP
"""

from hypertwin.errors import HypertwinError, ScenarioError
from hypertwin.plan.density import Density, density
from hypertwin.run import Result, simulate
from hypertwin.scenario import Scenario, load

__all__ = ["Density", "HypertwinError", "Result", "Scenario", "ScenarioError", "density", "load", "simulate"]
