"""`hypertwin calibrate`: fit a scenario's parameters to measured points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hypertwin.calibration import calibrate
from hypertwin.calibration import file as calibration_file
from hypertwin.cli import options, output, progress
from hypertwin.cli.commands import Input
from hypertwin.extras import needs
from hypertwin.ingest import outside
from hypertwin.show import registry


def _files(named: str | Sequence[str] | None, _arguments: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the files of measured points, including files in folders."""
    for each in [named] if isinstance(named, str) else _measured(named):
        path = Path(each)
        if outside.is_folder(path):
            needs("telemetry", "reading results of benchmarks")
            from hypertwin.ingest.benchmarks import io_points

            yield from io_points.files(path)
        else:
            yield path


def _measured(more: Sequence[str] | None) -> list[str]:
    """Return the arguments that are files or folders. The others are parameters."""
    return [each for each in more or () if _exists(each)]


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except OSError:  # too long for a name
        return False


EXAMPLES = (
    "hypertwin calibrate small-esxi.yaml small-esxi-measured.csv --free workloads.oltp.cpu.mean",
    "hypertwin calibrate san-fio.yaml fio.json --free hosts.kvm.adapters.latency=5us..100us -o fitted.yaml",
)


def command(
    path: options.ScenarioFile,
    measured: Annotated[
        str,
        Input(_files),
        typer.Argument(
            metavar="MEASUREMENTS",
            help="A CSV file of settings and metrics, or results of fio, HCIBench, Vdbench or CBT.",
        ),
    ],
    more: Annotated[
        list[str] | None,
        Input(_files),
        typer.Argument(metavar="MORE", help="More results of benchmarks, and more parameters after --free."),
    ] = None,
    *,
    asked: calibrate.Asked,
    form: options.FormAlone = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE.yaml", help="Write the calibration to this file, for use with --calibration."
        ),
    ] = None,
    report: options.Report = None,
) -> None:
    """Fit parameters of a scenario to measurements, with confidence intervals."""
    output.check(registry.CALIBRATION, form, None, report, out)
    paths = [each for each in more or () if each not in _measured(more)]
    asked = replace(asked, measured=[measured, *_measured(more)], free=[*asked.free, *paths])
    with progress.labelled_bar() as update:
        found = calibrate.calibrate(path, **vars(replace(asked, progress=update)))
    result = found.to_dict()
    output.write_file(out, lambda: calibration_file.render(result))
    output.show(registry.CALIBRATION, result, form, report=report)
