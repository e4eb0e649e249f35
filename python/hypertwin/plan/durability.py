"""Durability and cost of redundant storage schemes, side by side.

The formulas are in the core (`crates/models/src/storage/durability.rs`). This module parses arguments and queries the
core for several schemes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any

from hypertwin import _core
from hypertwin.arguments import Option
from hypertwin.documents import plan as documents
from hypertwin.errors import Mistake, ScenarioError, fail
from hypertwin.runs.options import Runs
from hypertwin.runs.simulation import Progress
from hypertwin.scenario import Given

USUAL_SCHEMES = (
    *("replicas-2", "replicas-3:2"),
    *("ec-3+1", "ec-3+2", "ec-4+2", "ec-5+2", "ec-7+2", "ec-8+3", "ec-17+3"),
)
"""Names of the most common schemes of distributed storage."""

ANNUAL_FAILURE_RATE = "0.405%"
REPAIR = "6.5d"
"""Repair time that Backblaze published for its own storage in 2018, together with the failure rate."""

DETECTION = "15min"
"""Time until a rebuild begins if a rebuild bandwidth is given. The value is plausible, but not published."""

MOST_NINES = 12
"""Maximum number of nines that the models support.

Beyond it, software, people, sites and correlated failures dominate.
"""

HOUR_S, DAY_S = 3_600, 86_400
CURVE_STEPS = range(28)
"""Repair times of a curve, eight steps per decade from one hour: one hour to about 100 days."""

_PERCENT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?)\s*%\s*")


@dataclass(frozen=True, kw_only=True)
class Asked(Runs):
    """Options of durability. Options of runs are only allowed with a scenario."""

    scenario: Given | None = field(default=None, kw_only=False)
    """Scenario whose simulation gives the repair time of its pool."""
    storage: Annotated[
        str | None, Option("Pool of the scenario; not needed if it has only one.", "POOL", offered="pools")
    ] = None
    policy: Annotated[str | None, Option("Storage policy whose data to assess, if VMs name policies.", "NAME")] = None
    scheme: Annotated[
        str | Sequence[str] | None,
        Option("17+3 or ec-17+3, 3, 3:2 or replicas-3:2; repeatable (default: common schemes).", "S"),
    ] = None
    afr: Annotated[str, Option("Annual failure rate of a disk, e.g. 1.5%.", "P%")] = ANNUAL_FAILURE_RATE
    repair: Annotated[str | None, Option(f"Repair time of a lost part (default: {REPAIR}).", "T")] = None
    disk: Annotated[str | None, Option("Instead of --repair: data on a disk.", "SIZE")] = None
    rebuild: Annotated[str | None, Option("Instead of --repair: rebuild bandwidth, e.g. 50MB/s.", "B")] = None
    detection: Annotated[
        str | None, Option(f"Time until the rebuild begins (default: {DETECTION}, or the scenario's).", "T")
    ] = None
    serial_repair: Annotated[bool, Option("Markov: a group rebuilds one lost part at a time.")] = False
    groups: Annotated[int | None, Option("Arrays or placement groups in the pool (default: 1).", "N")] = None
    usable: Annotated[str | None, Option("The user's data in the pool, e.g. 100TiB.", "SIZE")] = None
    progress: Progress | None = None
    """Function called with the number of completed runs, and the number of all runs."""


@dataclass(frozen=True)
class Repair:
    """Time to restore a lost copy or fragment."""

    seconds: float
    text: str
    """Source of the repair time, in words."""


def failure_rate(text: str) -> float:
    """Return the annual failure rate as a fraction, from text such as `0.405%`. Raises ScenarioError."""
    found = _PERCENT.fullmatch(text)
    if not found:
        hint = "write the failures of a hundred disks in a year, for example 1.5%"
        fail("bad-quantity", "afr", text, "a percentage, such as 0.405%", hint)
    # decimal, so that 0.405 % is 0.00405 and not the next floating-point number
    return float(Decimal(found[1]) / 100)


def repair_time(
    repair: str | None = None,
    *,
    disk: str | None = None,
    rebuild: str | None = None,
    detection: str | None = None,
) -> Repair:
    """Return the given repair time (`6.5d`), or detection plus the rebuild of a disk of this size at this bandwidth.

    The default is REPAIR. Raises ScenarioError. The path of a problem is the name of the argument.
    """
    parts = {"disk": disk, "rebuild": rebuild, "detection": detection}
    given = {name: value for name, value in parts.items() if value is not None}
    if not given:
        text = REPAIR if repair is None else repair
        return Repair(_seconds("repair", text), text)
    if repair is not None:
        hint = f"leave out --repair, or {' and '.join(f'--{name}' for name in given)}"
        fail("one-of", "repair", repair, "a repair time, or a disk and its rebuild bandwidth", hint)
    for name, example in (("disk", "10TB"), ("rebuild", "50MB/s")):
        if name not in given:
            hint = f"add it, for example --{name} {example}"
            fail("missing-key", name, "(missing)", "a disk and its rebuild bandwidth, both", hint)
    size = _quantity("disk", given["disk"], _core.size_bytes, "a size, such as 10TB")
    bandwidth = _quantity("rebuild", given["rebuild"], _core.bandwidth_bytes_per_s, "a bandwidth, such as 50MB/s")
    waited = given.get("detection", DETECTION)
    seconds = _seconds("detection", waited) + size / bandwidth
    longest = 365 * DAY_S
    if not 1 <= seconds <= longest:
        value = f"{given['rebuild']} rebuilds {given['disk']} in {seconds / DAY_S:.4g} d"
        fail("out-of-range", "rebuild", value, "a repair of 1 s to 365 d", "check the units of disk and bandwidth")
    return Repair(seconds, f"{waited} to detect, then {given['disk']} at {given['rebuild']}")


def detection_time(text: str) -> float:
    """Return the time from a failure to the start of its rebuild in seconds, from text such as `15min`.

    Raises ScenarioError.
    """
    return _seconds("detection", text)


def usable_bytes(text: str | None) -> int | None:
    """Return the bytes of a pool such as `100TiB`, or None for None. Raises ScenarioError."""
    if text is None:
        return None
    return int(_quantity("usable", text, _core.size_bytes, "a size, such as 100TiB"))


def assess(
    schemes: Iterable[str] = USUAL_SCHEMES,
    *,
    annual_failure_rate: float,
    repair_s: float,
    groups: int = 1,
    usable_bytes: int | None = None,
    serial_repair: bool = False,
) -> list[documents.Scheme]:
    """Return the cost and durability of each scheme, without repetitions, in the order given.

    `annual_failure_rate` is failures per disk and year as a fraction, `repair_s` the seconds until a lost copy or
    fragment is restored, `groups` the independent groups (placement groups, arrays) of the pool, `usable_bytes` the
    user's data in it. `serial_repair`: a group rebuilds one lost fragment after the other.

    Each entry has `scheme`, `width`, `overhead`, `backblaze` and `markov` (each with `annual_loss` of a group, its
    `nines`, whether these are `beyond_model`, `pool_annual_loss` and `expected_bytes_lost_per_year`), `mttdl_years`,
    `approximate_mttdl_years` and `first_year_loss`.

    Raises ScenarioError. The path of a problem is the name of the option.
    """
    for path, value, low in (("groups", groups, 1), ("usable", usable_bytes, 0)):
        if value is not None and not low <= value < 2**64:
            fail("out-of-range", path, str(value), f"{low} to 2^64 - 1", "count what the pool has")
    found: dict[str, documents.Scheme] = {}
    for scheme in schemes:
        try:
            text = _core.durability(scheme, annual_failure_rate, repair_s, serial_repair, groups, usable_bytes)
        except _core.ScenarioMistakes as error:
            mistakes = [Mistake(**entry) for entry in json.loads(error.args[0])]
            options = {"annual_failure_rate": "afr"}
            raise ScenarioError.of(replace(each, path=options.get(each.path, each.path)) for each in mistakes) from None
        entry: documents.Scheme = json.loads(text)
        for model in (entry["backblaze"], entry["markov"]):
            model["beyond_model"] = model["nines"] > MOST_NINES
        found.setdefault(entry["scheme"], entry)
    return list(found.values())


def compare(
    schemes: Iterable[str],
    *,
    annual_failure_rate: float,
    repair: Repair,
    groups: int = 1,
    usable_bytes: int | None = None,
    serial_repair: bool = False,
) -> documents.Durability:
    """Return the document of `hypertwin durability --format json`: `schemes` from `assess`, and their basis."""
    found = assess(
        schemes,
        annual_failure_rate=annual_failure_rate,
        repair_s=repair.seconds,
        groups=groups,
        usable_bytes=usable_bytes,
        serial_repair=serial_repair,
    )
    return {
        "annual_failure_rate": annual_failure_rate,
        "repair": {"seconds": repair.seconds, "source": repair.text, "serial": serial_repair},
        "groups": groups,
        "usable_bytes": usable_bytes,
        "schemes": found,
    }


def curves(result: documents.Durability, repairs_s: Sequence[float] | None = None) -> dict[str, list[documents.LossAt]]:
    """Return the annual loss of the pool by both models over `repairs_s`, for each scheme of a comparison.

    By default, these are the usual repair times, and those up to the repair time of the result.
    """
    lines: dict[str, list[documents.LossAt]] = {}
    own = 8 * math.log10(result["repair"]["seconds"] / HOUR_S)
    steps = range(min(CURVE_STEPS[0], math.floor(own)), max(CURVE_STEPS[-1], math.ceil(own)) + 1)
    for repair_s in repairs_s or [HOUR_S * 10 ** (step / 8) for step in steps]:
        for entry in assess(
            (entry["scheme"] for entry in result["schemes"]),
            annual_failure_rate=result["annual_failure_rate"],
            repair_s=repair_s,
            groups=result["groups"],
            serial_repair=result["repair"]["serial"],
        ):
            lines.setdefault(entry["scheme"], []).append(
                {
                    "repair_s": repair_s,
                    "backblaze": entry["backblaze"]["pool_annual_loss"],
                    "markov": entry["markov"]["pool_annual_loss"],
                }
            )
    return lines


def _seconds(path: str, text: str) -> float:
    return _quantity(path, text, _core.duration_s, "a duration, such as 6.5d or 15min", zero=path == "detection")


def _quantity(path: str, text: str, read: Any, allowed: str, *, zero: bool = False) -> float:
    try:
        value: float = read(text)
    except ValueError as error:
        fail("bad-quantity", path, text, allowed, f"it {error}")
    if not (value or zero) or not math.isfinite(value):
        fail("out-of-range", path, text, f"{allowed}, more than 0", "give what the storage really has")
    return value
