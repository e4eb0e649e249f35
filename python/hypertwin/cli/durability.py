"""`hypertwin durability`: what redundant storage costs, and how likely it loses data."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from hypertwin import _core
from hypertwin.cli import options, output, progress
from hypertwin.cli.commands import Input, typed
from hypertwin.cli.vnuma import of_option
from hypertwin.documents.plan import DurabilityDocument
from hypertwin.errors import ScenarioError
from hypertwin.plan import durability as plan
from hypertwin.plan import repair as twin
from hypertwin.report import registry

EXAMPLES = (
    "hypertwin durability --scheme 3:2 --scheme 17+3",
    "hypertwin durability disk-failure.yaml --afr 1.5% --report durability.html",
)


def command(
    path: Annotated[
        str | None,
        Input(options.scenario_files),
        typer.Argument(metavar="[SCENARIO.yaml]", help="Its pool's repair time is the twin's; - for stdin."),
    ] = None,
    storage: Annotated[
        str | None, typer.Option(metavar="POOL", help="With a scenario: the pool; may be left out where there is one.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME", help="With a pool whose VMs have policies: whose data are meant.")
    ] = None,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            metavar="S", help="17+3 or ec-17+3, 3, 3:2 or replicas-3:2; may be repeated (default: usual ones)."
        ),
    ] = None,
    afr: Annotated[
        str, typer.Option(metavar="P%", help="Annual failure rate of a disk, e.g. 1.5%.")
    ] = plan.ANNUAL_FAILURE_RATE,
    repair: Annotated[
        str | None,
        typer.Option(metavar="T", help=f"Time until a lost part is there again (default: {plan.REPAIR})."),
    ] = None,
    disk: Annotated[str | None, typer.Option(metavar="SIZE", help="In place of --repair: what a disk holds.")] = None,
    rebuild: Annotated[
        str | None, typer.Option(metavar="B", help="In place of --repair: bandwidth of its rebuild, e.g. 50MB/s.")
    ] = None,
    detection: Annotated[
        str | None,
        typer.Option(
            metavar="T", help=f"Time until the rebuild begins (default: {plan.DETECTION}, or the scenario's)."
        ),
    ] = None,
    serial_repair: Annotated[
        bool, typer.Option("--serial-repair", help="Markov: a group rebuilds one lost part after the other.")
    ] = False,
    groups: Annotated[
        int | None, typer.Option(metavar="N", help="Arrays or placement groups in the pool (default: 1).")
    ] = None,
    usable: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The user's data in the pool, e.g. 100TiB.")
    ] = None,
    runs: options.Runs = options.RUNS,
    where: options.Where = options.WHERE,
    form: options.Form = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Compare copies and erasure codes: overhead, annual loss probability and mean time to data loss."""
    of_scenario = {
        **{"scheme": scheme, "repair": repair, "disk": disk, "rebuild": rebuild, "groups": groups, "usable": usable}
    }
    of_twin = {"storage": storage, "policy": policy, **vars(runs), **vars(where)}
    _check_options(path, of_scenario if path is not None else of_twin)
    output.check(registry.DURABILITY, form, out, report)
    try:
        rate = plan.failure_rate(afr)
        if path is None:
            result = plan.compare(
                scheme or plan.USUAL_SCHEMES,
                annual_failure_rate=rate,
                repair=plan.repair_time(repair, disk=disk, rebuild=rebuild, detection=detection),
                groups=1 if groups is None else groups,
                usable_bytes=plan.usable_bytes(usable),
                serial_repair=serial_repair,
            )
        else:
            with progress.bar("simulating a failed disk") as update:
                measured = twin.measure(
                    path,
                    storage=storage,
                    policy=policy,
                    detection=detection,
                    **runs.arguments(),
                    **where.arguments(),
                    progress=update,
                )
            result = twin.assess(measured, annual_failure_rate=rate, serial_repair=serial_repair)
    except ScenarioError as error:
        names = {"annual_failure_rate": "afr", "usable_bytes": "usable"}
        renamed = [replace(mistake, path=names.get(mistake.path, mistake.path)) for mistake in error.mistakes]
        raise ScenarioError.of(
            of_option(mistake) if mistake.path in typed() else mistake for mistake in renamed
        ) from None
    document: DurabilityDocument = {"version": _core.version(), **result}
    curves = plan.curves(result) if report is not None else {}
    output.show(registry.DURABILITY, document, form, out, report, curves=curves)


def _check_options(path: str | None, without: dict[str, Any]) -> None:
    """Refuse options that a scenario leaves nothing to say for, or that mean nothing without one."""
    for name, value in without.items():
        if value is not None:
            option = "--set" if name == "sets" else f"--{name}"
            if path is None:
                raise output.UsageError(
                    f"{option} is for a scenario: give one, hypertwin durability SCENARIO.yaml {option} ..."
                )
            hint = ": choose it with --set storage.POOL.redundancy=..." if name == "scheme" else ""
            raise output.UsageError(f"leave out {option}: with a scenario, the scenario and its twin say it{hint}")
