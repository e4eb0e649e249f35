"""Options of `hypertwin benchmark`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from hypertwin.arguments import Option
from hypertwin.execution.options import Runs
from hypertwin.run import LabelledProgress


@dataclass(frozen=True, kw_only=True)
class Predict(Runs):
    """Options of a prediction."""

    out: str | Path
    """Folder of the campaign."""
    calibration: Annotated[
        str | Path | None, Option("Parameters from `hypertwin calibrate`, instead of a calibration step.", "FILE.yaml")
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
