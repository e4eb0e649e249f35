"""`hypertwin lab vm`: real guests that share host CPUs, measured in the guest, on the host and by the twin."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from hypertwin.cli import options, output, progress
from hypertwin.cli.commands import Input
from hypertwin.cli.mistakes import of_option
from hypertwin.errors import ScenarioError
from hypertwin.files import writing
from hypertwin.lab import vm
from hypertwin.runs.options import Elsewhere
from hypertwin.runs.runner import running
from hypertwin.show import registry

DEFAULT = vm.Plan()

Accelerator = enum.StrEnum("Accelerator", ["auto", "kvm", "tcg"])
"""Accelerator of guests."""


EXAMPLES = ("hypertwin lab vm --guests 3 --cpus 0-1 --seconds 30",)


def command(
    guests_count: Annotated[
        int, typer.Option("--guests", metavar="N", min=1, max=32, help="Guests that share the host CPUs.")
    ] = DEFAULT.guests,
    vcpus: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="vCPUs of each guest.")] = DEFAULT.vcpus,
    seconds: Annotated[
        float,
        typer.Option(metavar="S", min=4, max=3600, help="Length of the measurement, without boot and calibration."),
    ] = DEFAULT.seconds,
    cpus: Annotated[
        str, typer.Option(metavar="LIST", help="Host CPUs that all vCPUs are pinned to, e.g. 0-1,4.")
    ] = DEFAULT.cpus,
    accel: Annotated[
        Accelerator, typer.Option(help="KVM, software emulation (tcg), or KVM if a guest boots with it (auto).")
    ] = Accelerator.auto,
    sessions: Annotated[
        int, typer.Option(metavar="N", min=1, max=64, help="Processes per vCPU that think and compute.")
    ] = DEFAULT.sessions,
    burst_ms: Annotated[
        float, typer.Option(metavar="MS", min=1, max=1000, help="Mean CPU burst, in host CPU time.")
    ] = DEFAULT.burst_ms,
    think_ms: Annotated[
        float, typer.Option(metavar="MS", min=5, max=10_000, help="Mean think time between bursts.")
    ] = DEFAULT.think_ms,
    kernel: Annotated[
        Path | None,
        Input(),
        typer.Option(metavar="FILE", help="Kernel of the guests (default: the tests' or the newest in /boot)."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for scenario, prediction and result.")
    ] = Path("out/lab-vm"),
    form: options.FormAlone = None,
    report: options.Report = None,
    *,
    where: Elsewhere,
) -> None:
    """Boot guests that overcommit host CPUs. Compare figures of guest and host with the twin's prediction."""
    writing.check_writable(page=report, made=out)
    plan = vm.Plan(
        guests=guests_count,
        vcpus=vcpus,
        seconds=seconds,
        cpus=cpus,
        accel=accel.value,
        sessions=sessions,
        burst_ms=burst_ms,
        think_ms=think_ms,
        kernel=kernel,
    )
    try:
        with running(**vars(where)), progress.labelled_bar() as update:
            result = vm.measure(plan, out, update)
    except ScenarioError as error:
        raise ScenarioError.of(map(of_option, error.mistakes)) from None
    output.show(registry.GUESTS, result, form, report=report)
