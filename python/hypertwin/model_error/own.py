"""Errors of the user's own system, from `hypertwin calibrate`, at the end of `calibrated_on` of a scenario.

The text is `model error: pools latency 1.12 0.95, cpu usage 1.03`. A number is a measured figure over the twin's, of
percentages with 5 points added to both. Held-out values count as they are. Fitted values count as a fit to the other
rows predicts them, because a fit always hits its own values. Reports and later runs of the scenario use the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from hypertwin.errors import fail
from hypertwin.model_error.kinds import AREAS, KINDS, Area, Kind

MARK = "model error: "
MAX_NUMBERS = 100
"""Maximum number of errors of an area and a kind. More would hardly narrow an interval."""

Own = Mapping[tuple[Area, Kind], Sequence[float]]
"""Errors by area and kind."""

_ENTRY = re.compile(rf"({'|'.join(AREAS)}) ({'|'.join(KINDS)})((?: [0-9.]+)+)")


def text(errors: Iterable[tuple[Area, Kind, float]]) -> str:
    """Return the errors as text, or an empty text without any."""
    found: dict[tuple[Area, Kind], list[float]] = {}
    for area, kind, error in errors:
        found.setdefault((area, kind), []).append(error)
    entries = [
        f"{area} {kind} {' '.join(f'{math.exp(error):.4g}' for error in own[:MAX_NUMBERS])}"
        for (area, kind), own in found.items()
    ]
    return f"{MARK}{', '.join(entries)}" if entries else ""


def without(calibrated_on: str) -> str:
    """Return the text of a calibration without its errors."""
    return calibrated_on.partition(MARK)[0].rstrip("; ")


def parse(calibrated_on: str | None) -> Own:
    """Return the errors in the text of a calibration. Raises ScenarioError."""
    _, mark, listed = (calibrated_on or "").partition(MARK)
    found: dict[tuple[Area, Kind], list[float]] = {}
    for entry in listed.split(", ") if mark else ():
        match = _ENTRY.fullmatch(entry.strip())
        numbers = [_positive(number) for number in match[3].split()] if match else []
        if match is None or None in numbers:
            allowed = f"AREA KIND NUMBER..., such as pools latency 1.12 0.95; areas: {', '.join(AREAS)}"
            hint = f"run `hypertwin calibrate` again, or remove the text from {MARK.strip()!r} on"
            fail("bad-calibration", "calibrated_on", entry[:60] or "nothing", allowed, hint)
        own = found.setdefault((cast(Area, match[1]), cast(Kind, match[2])), [])
        own += [math.log(number) for number in numbers if number]
    return found


def _positive(number: str) -> float | None:
    try:
        return float(number) or None
    except ValueError:
        return None
