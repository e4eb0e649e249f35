"""Options of `hypertwin benchmark`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from hypertwin.arguments import Option, named
from hypertwin.runs.options import Runs
from hypertwin.runs.simulation import LabelledProgress


@dataclass(frozen=True, kw_only=True)
class Predict(Runs):
    """Options of a prediction."""

    out: str | Path
    """Folder of the campaign."""
    calibration: Annotated[
        str | Path | None,
        Option("Parameters from `hypertwin calibrate`, instead of a calibration step.", "FILE.yaml", files=named),
    ] = None
    progress: LabelledProgress | None = None
    """Function called with a label, the number of completed steps, and the number of all steps."""


@dataclass(frozen=True, kw_only=True)
class Execute(Runs):
    """Options of the execution of a campaign."""

    install: Annotated[bool, Option("Install missing programs on targets, with their package manager.")] = False
    keep: Annotated[bool, Option("Keep the data on targets for another campaign or for inspection.")] = False
    until: Annotated[
        Literal["predicted"] | None,
        Option("Stop after this part, for example to publish the prediction before it is measured."),
    ] = None
    clean: Annotated[bool, Option("Measure nothing; only remove what the campaign made on targets.")] = False
    progress: LabelledProgress | None = None
    """Function called with a label, the number of completed steps, and the number of all steps."""


@dataclass(frozen=True, kw_only=True)
class Import(Runs):
    """Options of an import of results."""

    results: str | Path | Sequence[str | Path] = field(kw_only=False)
    """Output of load generators: one or several files, or folders with one file of each VM."""
    group: Annotated[str, Option("VM group of the scenario that had the load.", "GROUP", offered="groups")]
    vms: Annotated[
        int | None,
        Option("VMs that shared the load of each result (default: as the results say, or 1).", "N", least=1, most=256),
    ] = None
    free: Annotated[
        str | Sequence[str],
        Option("Fit this parameter to the first step, with optional bounds. Repeatable.", "PATH[=LOW..HIGH]"),
    ] = ()
    out: str | Path | None = None
    """Folder of the campaign to make, or None to keep none."""
    progress: LabelledProgress | None = None
    """Function called with a label, the number of completed steps, and the number of all steps."""
