from typing import final

__all__ = [
    "LabFailed",
    "Replication",
    "RunFailed",
    "SampledRun",
    "ScenarioMistakes",
    "aggregate",
    "bandwidth_bytes_per_s",
    "durability",
    "duration_s",
    "frequency_hz",
    "half_width_95",
    "lab_bandwidth",
    "lab_context_switch",
    "lab_experiment",
    "lab_spin",
    "lab_timers",
    "replication_seed",
    "run",
    "schema_json",
    "size_bytes",
    "transient_s",
    "validate",
    "version",
    "vnuma",
]

class ScenarioMistakes(ValueError):  # noqa: N818
    """A scenario breaks its schema; `args[0]` is a JSON list of {code, path, value, allowed, hint}."""

class RunFailed(RuntimeError):  # noqa: N818
    """A valid scenario could not be simulated; `args[0]` says why."""

class LabFailed(RuntimeError):  # noqa: N818
    """The machine could not be measured; `args[0]` says why."""

@final
class Replication:
    """The measurements of one run, opaque: `aggregate` turns several into a report."""

@final
class SampledRun:
    """A run that goes on from sample to sample of the timeline: an iterator of JSON texts, one for each interval."""

    def __new__(cls, scenario_json: str, seed: int) -> SampledRun: ...
    def __iter__(self) -> SampledRun: ...
    def __next__(self) -> str: ...

def version() -> str: ...
def schema_json() -> str: ...
def validate(json: str) -> str: ...
def frequency_hz(text: str) -> int: ...
def duration_s(text: str) -> float: ...
def size_bytes(text: str) -> int: ...
def bandwidth_bytes_per_s(text: str) -> float: ...
def durability(
    scheme: str,
    annual_failure_rate: float,
    repair_s: float,
    serial_repair: bool,
    groups: int,
    usable_bytes: int | None,
) -> str: ...
def vnuma(scenario_json: str) -> str: ...
def replication_seed(seed: int, replication: int) -> int: ...
def run(scenario_json: str, seed: int) -> Replication: ...
def transient_s(replication: Replication) -> float | None: ...
def half_width_95(values: list[float]) -> float | None: ...
def aggregate(replications: list[Replication]) -> str: ...
def lab_spin(cpus: list[int], samples: int) -> str: ...
def lab_bandwidth(cpus: list[int], array_bytes: int, repetitions: int) -> str: ...
def lab_timers(cpu: int, sleep_ns: int, samples: int) -> str: ...
def lab_context_switch(cpu: int, rounds: int, repetitions: int) -> str: ...
def lab_experiment(experiment_json: str) -> str: ...
