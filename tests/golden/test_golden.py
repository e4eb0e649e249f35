"""Golden runs: small scenarios whose results are known in advance.

Each `NAME.yaml` derives its figures by hand in its head, and states them in lines `# expect: PATH = VALUE` or
`# expect: PATH = VALUE ± TOLERANCE`. Beside it `NAME.json` holds everything that the run reports, to nine digits, which
must match exactly. `make bless` rewrites the JSON files for review; it does not touch what was derived by hand.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from hypertwin import simulate

HERE = Path(__file__).parent
CASES = sorted(HERE.glob("*.yaml"))
EXPECT = re.compile(r"^# expect: ([\w.-]+) = (-?[\d.]+)(?: ± ([\d.]+))?$")
ROUNDING = 1e-6
"""Relative difference allowed to a figure derived by hand: work is rounded up to whole nanoseconds."""


def _run(case: Path) -> dict[str, Any]:
    """The report of the only point, less the timeline, and less the model error, which changes with the evidence."""
    (point,) = simulate(case, jobs=1).points
    return {key: value for key, value in point.items() if key not in ("timeline", "model_error")}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in sorted(value.items())}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _at(report: dict[str, Any], path: str) -> float:
    value: Any = report
    for key in path.split("."):
        value = value[key]
    return float(value)


def _expected(case: Path) -> list[tuple[str, float, float]]:
    """(path, value, tolerance) of every line that a case derives."""
    lines = [line for line in case.read_text().splitlines() if line.startswith("# expect")]
    found = [EXPECT.match(line) for line in lines]
    assert all(found), f"{case.name}: an unreadable line among {lines}"
    return [
        (match[1], float(match[2]), float(match[3]) if match[3] else ROUNDING * abs(float(match[2])))
        for match in found
        if match
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_what_was_derived_by_hand(case: Path) -> None:
    expected = _expected(case)
    assert len(expected) >= 5
    report = _run(case)
    wrong = {
        path: (value, _at(report, path)) for path, value, within in expected if abs(_at(report, path) - value) > within
    }
    assert not wrong, f"{case.name}: (derived, simulated) {wrong}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_the_snapshot_matches(case: Path) -> None:
    snapshot = case.with_suffix(".json")
    report = _rounded(_run(case))
    if os.environ.get("HYPERTWIN_BLESS"):
        snapshot.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    assert json.loads(snapshot.read_text()) == report, "see the diff after `make bless`"


def test_no_snapshot_is_left_over() -> None:
    assert {path.stem for path in HERE.glob("*.json")} == {case.stem for case in CASES}
