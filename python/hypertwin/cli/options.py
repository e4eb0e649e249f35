"""Options that several commands have, and values as the public API takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer

from hypertwin.cli.commands import Input
from hypertwin.cli.output import Format
from hypertwin.errors import ScenarioError
from hypertwin.extras import needs


def scenario_files(path: str | Path | None, arguments: Mapping[str, Any]) -> Iterator[str | Path]:
    """The scenario file, and the fio job files that it, --set and --sweep name."""
    if path is None:
        return
    from hypertwin import scenario  # not every command with options has scenarios

    yield path
    try:
        sets = scenario.parse_sets(arguments.get("sets") or [])
        sweeps = scenario.parse_sweeps(arguments.get("sweeps") or [])
    except ScenarioError:  # refused before anything runs
        return
    swept = [(place, value) for place, values in sweeps.items() for value in values]
    yield from scenario.named_files(path, [*sets.items(), *swept])


def inventory_files(named: list[str], _arguments: Mapping[str, Any]) -> Iterator[Path]:
    """The files of sources of an inventory."""
    from hypertwin.ingest import sources  # as long to import as all else together

    for source in named:
        yield from sources.files(source)


def telemetry_files(named: list[str] | None, _arguments: Mapping[str, Any]) -> Iterator[Path]:
    """The files of sources of telemetry."""
    if not named:
        return
    needs("telemetry", "telemetry")
    from hypertwin.ingest import formats  # as long to import as all else together

    for source in named:
        yield from formats.files(source)


ScenarioFile = Annotated[
    str, Input(scenario_files), typer.Argument(metavar="SCENARIO.yaml", help="The scenario file; - for stdin.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Replace a value, e.g. vms.db.vcpus=36; null removes a key, * stands for any name (vms.*.host=null).",
    ),
]
Calibration = Annotated[
    Path | None,
    Input(),
    typer.Option(
        "--calibration",
        metavar="FILE.yaml",
        help="Use parameters that `hypertwin calibrate` fitted; --set wins.",
    ),
]
Duration = Annotated[
    str | None, typer.Option(metavar="S", help="Measured seconds per run, or `auto`: until it has settled.")
]
Warmup = Annotated[
    str | None,
    typer.Option(metavar="S", help="Seconds discarded before measuring, or `auto`: until it has settled."),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Seed of the random streams.")]
Replications = Annotated[int | None, typer.Option(metavar="N", min=1, help="Independent runs per point.")]
Jobs = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=1024, help="Runs at a time (default: all cores); never changes the result."),
]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="DIR|off",
        help="Where results are kept, to be used again (default: `hypertwin store path`); never changes the result.",
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        metavar="dask://HOST:PORT",
        help="Simulate on the workers of this Dask scheduler instead of here; never changes the result.",
    ),
]


@dataclass(frozen=True)
class Where:
    """Where runs take place and results are kept; never changes the result."""

    jobs: Jobs = None
    store: Store = None
    on: On = None

    def arguments(self) -> Where.Arguments:
        """As functions take them."""
        return {"jobs": self.jobs, "store": self.store, "on": self.on}

    class Arguments(TypedDict):
        """See `arguments`."""

        jobs: int | None
        store: str | None
        on: str | None


@dataclass(frozen=True)
class Runs:
    """How a scenario is changed, and how long and how often each point runs."""

    sets: Sets = None
    duration: Duration = None
    warmup: Warmup = None
    seed: Seed = None
    replications: Replications = None

    def arguments(self) -> Runs.Arguments:
        """As functions take them. Raises ScenarioError for a text that sets nothing."""
        from hypertwin import scenario  # not every command with options has scenarios

        return {
            "overrides": scenario.parse_sets(self.sets or []),
            "duration": with_unit(self.duration),
            "warmup": with_unit(self.warmup),
            "seed": self.seed,
            "replications": self.replications,
        }

    class Arguments(TypedDict):
        """See `arguments`."""

        overrides: dict[str, Any]
        duration: str | None
        warmup: str | None
        seed: int | None
        replications: int | None


RUNS, WHERE = Runs(), Where()
"""Those of a command line that says nothing of them."""

Form = Annotated[
    Format | None,
    typer.Option("--format", help="Form of the result (default: by the ending of --out, else table)."),
]
FormAlone = Annotated[Format | None, typer.Option("--format", help="Form of the result (default: table).")]
"""The same where `--out` is for something else than the result."""
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write the result here; - for stdout (default)."),
]
Report = Annotated[Path | None, typer.Option(metavar="FILE.html", help="Write a page with charts as well.")]


def with_unit(value: str | None) -> str | None:
    """A bare number means seconds; anything else is for the scenario's own check, which explains what is allowed."""
    if value is None:
        return None
    try:
        float(value)
    except ValueError:
        return value
    return f"{value} s"
