"""Calibration files: written by `hypertwin calibrate --out`, read by `hypertwin simulate --calibration`.

The format is YAML. `set` has the values, and `calibrated_on` is a statement for reports. Values of the scenario that
the data do not determine are not in `set`. Other keys are for human readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from hypertwin import naming
from hypertwin.calibration.measurements import at
from hypertwin.errors import Argument, ScenarioError, fail
from hypertwin.files import yaml_file
from hypertwin.scenario import Scenario, load

KEYS = ("scenario", "hypertwin", "seed", "calibrated_on", "set", "intervals", "notes")
"""Keys of a calibration file."""

UNBOUNDED = "unbounded"
"""Text for the interval of a parameter that the data do not bound."""


def render(found: Mapping[str, Any]) -> str:
    """Return the file text for a document from `Calibration.to_dict`.

    The same calibration gives the same text.
    """
    settings, intervals = {}, {}
    for each in found["parameters"]:
        unit = each["unit"]
        if each["written"]:
            settings[each["path"]] = each["text"] if unit else float(each["text"])
        ends = [f"{end:.6g} {unit}" if unit else float(f"{end:.6g}") for end in each["interval"] or ()]
        intervals[each["path"]] = ends or UNBOUNDED
    content = {
        "scenario": found["scenario"],
        "hypertwin": found["version"],
        "seed": found["seed"],
        "calibrated_on": found["calibrated_on"],
        "set": settings,
        "intervals": intervals,
        "notes": list(found["notes"]),
    }
    head = "# Fitted by `hypertwin calibrate`; use it with --calibration. Intervals: 95 % confidence.\n"
    return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)


def read(path: str | Path) -> dict[str, Any]:
    """Return the values of a calibration file by path, with `calibrated_on`. Raises ScenarioError."""
    name = str(path)
    document = yaml_file.parse(yaml_file.read_text(Path(path)), name)
    if document.mistakes:
        raise ScenarioError.of(document.mistakes)
    data = document.root.data()
    if not isinstance(data, dict) or not isinstance(data.get("set"), dict):
        hint = "hypertwin calibrate SCENARIO MEASUREMENTS.csv --free PATH --out FILE writes one"
        fail("missing-key", "set", "(missing)", "a mapping of paths to values", hint, name)
    for key in data:
        if key not in KEYS:
            hint = naming.hint(str(key), KEYS, "remove it")
            fail("unknown-key", str(key), "a key", ", ".join(KEYS), hint, name)
    text = data.get("calibrated_on")
    if not isinstance(text, str) or not text:
        fail("missing-key", "calibrated_on", "(missing)", "what it was calibrated on", "describe it in words", name)
    return {**{str(key): value for key, value in data["set"].items()}, "calibrated_on": text}


def apply(scenario: Scenario | str | Path, path: str | Path | None) -> Scenario | str | Path:
    """Return the scenario with the values of a calibration file, or unchanged without a file. Raises ScenarioError."""
    if path is None:
        return scenario
    changes = read(path)
    try:
        return load(load(scenario), changes)
    except ScenarioError as error:
        if not any(isinstance(each.file, Argument) for each in error.mistakes):
            raise
        raise at(error, str(path)) from None
