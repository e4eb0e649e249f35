"""Options of runs, for every function that simulates and its command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from hypertwin.arguments import Option
from hypertwin.scenario.overrides import Setting


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Options of the result cache."""

    cache: Annotated[
        str | Path | None,
        Option(
            "Cache results in this folder. `hypertwin cache path` prints the default. The result stays the same.",
            "DIR|off",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Elsewhere(Stored):
    """Options of the result cache and of the workers, for runs without threads."""

    on: Annotated[
        str | None,
        Option(
            "Simulate on the workers of this Dask scheduler. The result stays the same.",
            "dask://HOST:PORT",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Where(Elsewhere):
    """Options of threads, workers and the result cache, which never change the result."""

    jobs: Annotated[
        int | None,
        Option("Parallel runs (default: all cores). The result stays the same.", "N", least=1, most=1024),
    ] = None

    @property
    def where(self) -> dict[str, Any]:
        """Arguments for `hypertwin.runs.runner.running`."""
        return {"jobs": self.jobs, "cache": self.cache, "on": self.on}


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Options that change a scenario."""

    overrides: Annotated[
        Mapping[str, Any] | Sequence[str] | None,
        Option(
            "Replace a value, e.g. vms.db.vcpus=36; null removes a key, * matches any name (vms.*.host=null).",
            "PATH=VALUE",
            flag="--set",
            offered="paths",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Runs(Where, Changes):
    """Options that change a scenario, set times and replications of each point, and choose workers."""

    duration: Annotated[
        float | str | None, Option("Measured seconds per run, or `auto`: until the run has settled.", "S")
    ] = None
    warmup: Annotated[
        float | str | None, Option("Seconds discarded before measuring, or `auto`: until the run has settled.", "S")
    ] = None
    seed: Annotated[int | None, Option("Seed of the random streams.", "N")] = None
    replications: Annotated[int | None, Option("Independent runs of each set of parameters.", "N", least=1)] = None

    @property
    def settings(self) -> dict[str, Any]:
        """Values that replace those of the scenario's `run`, by path."""
        said = {
            "run.seed": self.seed,
            "run.replications": self.replications,
            "run.duration": _time(self.duration),
            "run.warmup": _time(self.warmup),
        }
        return {Setting(path): value for path, value in said.items() if value is not None}


AS_WRITTEN = Runs()
"""Options without any change: the scenario as written, on this computer."""


def _time(value: float | str | None) -> str | None:
    """Return the value with seconds as the unit of a bare number.

    All other forms are left to the check of the scenario.
    """
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return value
    return None if value is None else f"{value} s"
