"""`hypertwin benchmark`: predict a campaign on the user's VMs, run it, and compare."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hypertwin.benchmark import answer
from hypertwin.benchmark.options import Execute, Import, Predict
from hypertwin.cli import options, output, progress, streams
from hypertwin.cli.commands import App, Input
from hypertwin.ingest import outside
from hypertwin.show import conditions, registry

app = App("Predict a benchmark of your VMs, run it, and compare.")

MAX_FILES = 10_000
"""Maximum number of files of a folder that no output may replace."""
PlanFile = Annotated[
    Path,
    Input(),
    typer.Argument(metavar="PLAN.yaml", help="Plan of a campaign; docs/guides/benchmark.md explains its keys."),
]
Campaign = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of a campaign.")]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the campaign to make.")]


def _files(named: Sequence[Path] | None, _arguments: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the files of results, including files in folders."""
    for path in named or ():
        if outside.is_folder(path):
            yield from itertools.islice((each for each in path.rglob("*") if each.is_file()), MAX_FILES)
        else:
            yield path


FailOn = enum.StrEnum("FailOn", ["off", "late"])
"""Conditions that fail a campaign."""


Failing = Annotated[
    list[FailOn] | None,
    typer.Option(
        "--fail-on",
        metavar="CONDITION",
        help="Exit with 1 if: a predicted figure or limit is wrong (off); a run is older than the prediction (late). "
        "Repeatable.",
    ),
]


@app.command(examples=["hypertwin benchmark predict plan.yaml -o run/"])
def predict(path: PlanFile, *, asked: Predict, out: Out, form: options.FormAlone = None) -> None:
    """Make the folder of a campaign, and predict every step. No target is needed."""
    output.check(registry.BENCHMARK, form)
    with progress.labelled_bar() as update:
        found = answer.predict_benchmark(path, **{**vars(asked), "out": out, "progress": update})
    streams.note(f"made {out}")
    output.show(registry.BENCHMARK, found.to_dict(), form)


@app.command(examples=["hypertwin benchmark check plan.yaml", "hypertwin benchmark check run/"])
def check(
    path: Annotated[
        Path, Input(), typer.Argument(metavar="PLAN.yaml|FOLDER", help="A plan, or the folder of a campaign.")
    ],
    form: options.FormAlone = None,
) -> None:
    """Check targets and hosts: identity, programs, space, clocks, and other load. Exit with 1 if one is not ready."""
    output.check(registry.BENCHMARK_CHECK, form)
    found = answer.check_benchmark(path).to_dict()
    output.show(registry.BENCHMARK_CHECK, found, form)
    if not found["ok"]:
        raise typer.Exit(1)


@app.command(
    examples=[
        "hypertwin benchmark run plan.yaml -o run/ --report run.html",
        "hypertwin benchmark run plan.yaml -o run/ --dry-run",
    ]
)
def run(
    path: PlanFile,
    *,
    asked: Execute,
    out: Out,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print every command, and run none.")] = False,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Predict, run all steps on the targets, compare, and remove everything that was made there."""
    if dry_run:
        streams.write(answer.dry_run(path))
        return
    output.check(registry.BENCHMARK, form, None, report)
    settings = {key: value for key, value in vars(asked).items() if key in Predict.__dataclass_fields__}
    with progress.labelled_bar() as update:
        answer.predict_benchmark(path, **{**settings, "out": out, "progress": update})
    _run(out, asked, fail_on, form, report)


@app.command(examples=["hypertwin benchmark resume run/", "hypertwin benchmark resume run/ --clean"])
def resume(
    folder: Campaign,
    *,
    asked: Execute,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Go on with a campaign that was predicted or interrupted. Complete runs are not repeated."""
    output.check(registry.BENCHMARK, form, None, report)
    _run(folder, asked, fail_on, form, report)


@app.command(
    "import",
    examples=[
        "hypertwin benchmark import scenario.yaml results/ --group db -o campaign/ --report campaign.html",
        "hypertwin benchmark import san-fio.yaml fio.json --group db --free hosts.kvm.adapters.latency=5us..100us",
    ],
)
def import_command(
    path: options.ScenarioFile,
    results: Annotated[
        list[Path],
        Input(_files),
        typer.Argument(
            metavar="RESULT...",
            help="Output of sysbench, pgbench, HammerDB, fio, HCIBench, Vdbench or CBT: files, or folders with one "
            "file of each VM that ran at the same time.",
        ),
    ],
    *,
    asked: Import,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the campaign to make (default: none is kept)."),
    ] = None,
    fail_on: Failing = None,
    form: options.FormAlone = None,
    report: options.Report = None,
) -> None:
    """Predict and judge a campaign that ran elsewhere, from its results."""
    output.check(registry.BENCHMARK, form, None, report)
    with progress.labelled_bar() as update:
        found = answer.import_benchmark(path, **{**vars(asked), "results": results, "out": out, "progress": update})
    if out is not None:
        streams.note(f"made {out}")
    _show(found, fail_on, form, report)


@app.command(
    "report",
    examples=["hypertwin benchmark report run/ --report run.html", "hypertwin benchmark report run/ --fail-on off"],
)
def report_command(
    folder: Campaign,
    fail_on: Failing = None,
    form: options.Form = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Compare the runs of a campaign with its prediction."""
    output.check(registry.BENCHMARK, form, out, report)
    _show(answer.report_benchmark(folder), fail_on, form, report, out)


def _run(
    folder: Path, asked: Execute, fail_on: list[FailOn] | None, form: output.Format | None, report: Path | None
) -> None:
    try:
        with progress.labelled_bar() as update:
            found = answer.run_benchmark(folder, **{**vars(asked), "progress": update})
    except KeyboardInterrupt:
        streams.warn(
            f"all loads are ended; `hypertwin benchmark resume {folder}` goes on, with --clean it only removes"
        )
        raise
    _show(found, fail_on, form, report)


def _show(
    found: answer.Benchmark,
    fail_on: list[FailOn] | None,
    form: output.Format | None,
    report: Path | None,
    out: Path | None = None,
) -> None:
    document = found.to_dict()
    output.show(registry.BENCHMARK, document, form, out, report)
    output.fail_on(conditions.BENCHMARK, fail_on or (), document)
