"""`make demo`: the monster-VM study, from scenario to report.

Sweeps VM size and load, compares every published figure with the twin, and writes out/demo/report.html.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hypertwin.cli import output, progress
from hypertwin.files import writing
from hypertwin.runs import simulation as run
from hypertwin.scenario import virtual_numa
from hypertwin.show import comparison, files, registry, simulation
from hypertwin.show.simulation_page import Mark
from hypertwin.studies import judge
from hypertwin.studies.study import find

FOLDER = Path("out/demo")


def main() -> int:
    """Run the study named on the command line, or monster-vm; 1 when a promised figure is missed."""
    study = find(sys.argv[1] if len(sys.argv) > 1 else "monster-vm")
    FOLDER.mkdir(parents=True, exist_ok=True)
    sweep = run.points_of(study.scenario, study.sweep, {}, study.sweep_settings)
    with progress.step(f"{study.name}: sweeping {len(sweep)} points") as update:
        result = run.run_points(sweep, progress=update).to_dict()
    output.print_table(simulation.table(result))
    with progress.step(f"{study.name}: {len(study.cases)} cases, {len(study.rows)} figures") as update:
        rows = judge.validate([study], progress=update)
    output.print_table(registry.VALIDATION.table(rows))
    writing.write_atomically(FOLDER / "result.json", files.to_json(result))
    writing.write_atomically(FOLDER / "validation.json", files.to_json(rows))
    output.write_page(
        registry.SIMULATION,
        result,
        FOLDER / "report.html",
        study=comparison.Study(study.name, study.title, study.source),
        validation=rows,
        published=[Mark(changes, path, value) for changes, path, value in study.published_points()],
        layouts=virtual_numa.layouts(sweep[0].scenario),
    )
    return 0 if judge.holds(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
