"""Errors of the user's own system, from `hypertwin calibrate`, at the end of `calibrated_on` of a scenario.

The text is `model error: pools latency 1.12 0.95, cpu usage 1.03`. A number is a measured figure over the twin's, of
percentages with 5 points added to both. Held-out values count as they are. Fitted values count as a fit to the other
rows predicts them, because a fit always hits its own values. Reports and later runs of the scenario use the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import cast

from hypertwin.errors import fail
from hypertwin.model_error.kinds import AREAS, KINDS, Area, Kind

MARK = "model error: "
MAX_NUMBERS = 20
"""Maximum number of errors of an area and a kind, evenly chosen. More would hardly narrow an interval."""

Own = Mapping[tuple[Area, Kind], Sequence[float]]
"""Errors by area and kind."""

_ENTRY = re.compile(rf"({'|'.join(AREAS)}) ({'|'.join(KINDS)})((?: [0-9.]+)+)")


def text(own: Own) -> str:
    """Return the errors as text, or an empty text without any."""
    entries = [
        f"{area} {kind} {' '.join(map(_number, _few(errors)))}" for (area, kind), errors in own.items() if errors
    ]
    return f"{MARK}{', '.join(entries)}" if entries else ""


def _few(errors: Sequence[float]) -> Sequence[float]:
    count = len(errors)
    few = min(count, MAX_NUMBERS)
    return [errors[index * count // few] for index in range(few)]


def _number(error: float) -> str:
    return f"{math.exp(error):.4f}".rstrip("0").rstrip(".")


def without(calibrated_on: str) -> str:
    """Return the text of a calibration without its errors."""
    return calibrated_on.partition(MARK)[0].rstrip("; ")


def parse(calibrated_on: str | None, file: str = "") -> Own:
    """Return the errors in the text of a calibration. Raises ScenarioError, which names the file of the scenario."""
    _, mark, listed = (calibrated_on or "").partition(MARK)
    found: dict[tuple[Area, Kind], list[float]] = {}
    for entry in listed.split(", ") if mark else ():
        match = _ENTRY.fullmatch(entry.strip())
        numbers = [_positive(number) for number in match[3].split()] if match else []
        if match is None or None in numbers:
            allowed = f"AREA KIND NUMBER..., such as pools latency 1.12 0.95; areas: {', '.join(AREAS)}"
            hint = f"run `hypertwin calibrate` again, or remove the text from {MARK.strip()!r} on"
            fail("bad-calibration", "calibrated_on", entry[:60] or "nothing", allowed, hint, file)
        own = found.setdefault((cast(Area, match[1]), cast(Kind, match[2])), [])
        own += [math.log(number) for number in numbers if number]
    return found


def _positive(number: str) -> float | None:
    try:
        return float(number) or None
    except ValueError:
        return None
