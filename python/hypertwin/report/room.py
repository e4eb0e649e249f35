"""How much room pools of distributed storage have: a table, and the rules behind it in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hypertwin.documents.simulation import Point, Simulation
from hypertwin.documents.space import PolicySpace, Space
from hypertwin.report.points import setting, short_path, varying_paths, where
from hypertwin.report.table import Cells
from hypertwin.report.words import number, some

TITLE = "Room of distributed storage"

HEADS = (
    *("raw GiB", "overhead ×", "usable GiB", "stored GiB", "free GiB"),
    *("used %", "without a host %", "usable then GiB"),
)
"""Heads of the columns after the pool, what it keeps, and what becomes of it without a host."""

DROPPED_FIRST = ("usable then GiB", "overhead ×", "raw GiB", "used %")
"""Columns that are dropped in a narrow terminal, in this order."""

WITHOUT = "without a host"

OWN = "(pool)"
"""The policy of VMs that name none."""


def lines(result: Simulation) -> Cells:
    """A line for each point, pool and policy; one for each pool and policy where no point differs in them."""
    points = result["points"]
    first = points[0].get("space", {}) if points else {}
    if all(point.get("space", {}) == first for point in points):
        return table(first)
    paths = varying_paths(points)
    rows = [row for point in points for row in _rows(point.get("space", {}), _settings(point, paths))]
    return _cells([short_path(path, paths) for path in paths], rows)


def table(spaces: Mapping[str, Space]) -> Cells:
    """A line for each pool and policy."""
    return _cells([], list(_rows(spaces)))


def _settings(point: Point, paths: Sequence[str]) -> list[str]:
    return [setting(point["set"].get(path, "")) for path in paths]


def _cells(swept: Sequence[str], rows: list[list[str]]) -> Cells:
    """The table, without the column of policies where no pool has one."""
    words, policy = ["pool", "policy", "redundancy", WITHOUT], len(swept) + 1
    if all(row[policy] == OWN for row in rows):
        del words[1]
        rows = [row[:policy] + row[policy + 1 :] for row in rows]
    return Cells([*swept, *words, *HEADS], rows, swept=len(swept), words=len(words))


def _rows(spaces: Mapping[str, Space], before: Sequence[str] = ()) -> Iterator[list[str]]:
    for name, space in spaces.items():
        lost = space["lost_host"]
        for index, policy in enumerate(space["policies"]):
            whole = [
                number(space["used_pct"]),
                number(lost["used_pct"]) if lost["survives"] else "",
                number(lost["room_gib"]) if lost["survives"] else "",
            ]
            yield [
                *before,
                "" if index else name,
                policy["name"],
                policy["redundancy"],
                "" if index else after_a_host(space),
                "" if index else number(space["raw_gib"]),
                number(policy["overhead"]),
                *_of_policy(policy),
                *(["", "", ""] if index else whole),
            ]


def _of_policy(policy: PolicySpace) -> list[str]:
    return [number(policy["room_gib"]), number(policy["stored_gib"]), number(policy["free_gib"])]


def after_a_host(space: Space) -> str:
    """What becomes of a pool without a host, in a word or two."""
    lost = space["lost_host"]
    if not lost["survives"]:
        return "data may be lost"
    if not lost["heals"]:
        return "stays degraded"
    return "too full" if lost["used_pct"] > space["full_pct"] else "whole again"


def notes_of(result: Simulation) -> list[str]:
    """The same of the points of a result: once where they say the same."""
    points = result["points"]
    paths = varying_paths(points)
    told: dict[str, list[str]] = {}
    for point in points:
        for note in notes(point.get("space", {})):
            told.setdefault(note, []).append(where(point, paths))
    if all(len(places) == len(points) for places in told.values()):
        return list(told)
    return [f"{note[:-1]} ({some(places)})." for note, places in told.items()]


def notes(spaces: Mapping[str, Space]) -> list[str]:
    """The rules by which the room of these pools is counted, and what a lost host does to them."""
    return [f"{name}: {rule(space)} {fate(space)}" for name, space in spaces.items()]


def rule(space: Space) -> str:
    """By what rule a pool's room is counted."""
    full = f"{number(space['full_pct'])} %"
    known = {
        "ceph": f"usable to {full} of its devices (nearfull)",
        "vsan": f"usable to {full} of its devices (the rest is the operations reserve: a supposition)",
    }
    told = known.get(space["kind"], "usable to the last byte of its devices (no rule of its product is known)")
    return told + (", with room to make a lost host's data anew." if space["lost_host"]["heals"] else ".")


def fate(space: Space) -> str:
    """What a host that is lost for good does to a pool, in a sentence."""
    lost = space["lost_host"]
    if not lost["survives"]:
        return "Without a host data may be lost."
    if not lost["heals"]:
        return "Without a host it stays degraded: there are no hosts left for every copy or fragment."
    then = f"Without a host it is whole again with devices {number(lost['used_pct'])} % full"
    return f"{then}: too full." if lost["used_pct"] > space["full_pct"] else f"{then}."
