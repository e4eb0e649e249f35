"""Capacity of pools of distributed storage: a table, and the rules behind it in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hypertwin.documents.simulation import Simulation
from hypertwin.documents.space import OWN, PolicySpace, Space
from hypertwin.metrics.points import setting_at, short_path, varying_paths, where
from hypertwin.metrics.words import number, some
from hypertwin.show import view
from hypertwin.show.table import Cells
from hypertwin.show.view import Row, Tabled, figures, words

TITLE = "Pool capacity"

HEADS = (
    *("raw GiB", "overhead ×", "usable GiB", "stored GiB", "free GiB"),
    *("used %", "without a host %", "usable then GiB"),
)
"""Heads of the columns after the pool, its redundancy, and its state without a host."""

DROPPED_FIRST = ("usable then GiB", "overhead ×", "raw GiB", "used %")
"""Columns to drop in a narrow terminal, in this order."""

WITHOUT = "without a host"


def lines(result: Simulation) -> Cells:
    """Return a line for each point, pool and policy, or for each pool and policy if points do not differ."""
    points = result["points"]
    first = points[0].get("space", {}) if points else {}
    if all(point.get("space", {}) == first for point in points):
        return table(first)
    paths = varying_paths(points)
    rows = [
        row for point in points for row in _rows(point.get("space", {}), [setting_at(point, path) for path in paths])
    ]
    return _cells([short_path(path, paths) for path in paths], rows)


def table(spaces: Mapping[str, Space]) -> Cells:
    """Return a line for each pool and policy."""
    return _cells([], list(_rows(spaces)))


def blocks(spaces: Mapping[str, Space]) -> list[Tabled]:
    """Return the table as a part of a view."""
    columns = [
        words("pool", "pool"),
        words("policy", "policy"),
        words("redundancy", "redundancy"),
        words("without", WITHOUT),
        figures("raw", "raw", "GiB", secondary=True),
        figures("overhead", "overhead", "×", secondary=True),
        figures("usable", "usable", "GiB", text="With a host lost."),
        figures("stored", "stored", "GiB"),
        figures("free", "free", "GiB"),
        figures("used", "used", "%"),
        figures("lost", "without a host", "%"),
        figures("usable_then", "usable then", "GiB", secondary=True),
    ]
    rows: list[Row] = []
    for name, space in spaces.items():
        lost = space["lost_host"]
        for index, policy in enumerate(space["policies"]):
            own: Row = {"raw": space["raw_gib"], "used": space["used_pct"]} if not index else {}
            then: Row = {"lost": lost["used_pct"], "usable_then": lost["room_gib"]}
            rows.append(
                {
                    "pool": name,
                    "policy": policy["name"],
                    "redundancy": policy["redundancy"],
                    "without": after_a_host(space, policy),
                    "overhead": policy["overhead"],
                    "usable": policy["room_gib"],
                    "stored": policy["stored_gib"],
                    "free": policy["free_gib"],
                    **own,
                    **(then if lost["survives"] and not index else {}),
                }
            )
    return view.table("pools", TITLE, columns, rows)


def _cells(swept: Sequence[str], rows: list[list[str]]) -> Cells:
    """Return the table, without the policy column if no pool has policies."""
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
                after_a_host(space, policy),
                "" if index else number(space["raw_gib"]),
                *(number(policy[key]) for key in ("overhead", "room_gib", "stored_gib", "free_gib")),
                *(["", "", ""] if index else whole),
            ]


def after_a_host(space: Space, policy: PolicySpace) -> str:
    """Return the state of a policy's data after a host failure, in one or two words."""
    if not policy["survives"]:
        return "data may be lost"
    if not policy["heals"] or _lacks_space(space):
        return "stays degraded"
    return "too full" if space["lost_host"]["used_pct"] > space["full_pct"] else "recovered"


def notes_of(result: Simulation) -> list[str]:
    """Return notes on the pools of all points. Equal notes are not repeated."""
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
    """Return the capacity rules of these pools, and the effect of a lost host."""
    return [f"{name}: {rule(space)} {fate(space)}" for name, space in spaces.items()]


def rule(space: Space) -> str:
    """Return the capacity rule of a pool."""
    full = f"{number(space['full_pct'])} %"
    known = {
        "ceph": f"usable up to {full} of its devices (nearfull)",
        "vsan": f"usable up to {full} of its devices (assumed operations reserve: {100 - space['full_pct']:g} %)",
    }
    told = known.get(space["kind"], f"usable up to {full} of its devices (no rule of the product is known)")
    healing = [policy for policy in _used(space) if policy["heals"]]
    if not healing:
        return told + "."
    return told + f", minus the space to rebuild a lost host's data{_of(healing, _used(space))}."


def fate(space: Space) -> str:
    """Return a sentence with the effect of a permanent host failure on data of a pool, for the worst policy."""
    used = _used(space)
    losing = [policy for policy in used if not policy["survives"]]
    if losing:
        return f"If a host fails for good, data{_of(losing, used)} can be lost."
    staying = [policy for policy in used if not policy["heals"]]
    if staying:
        what = "it stays" if len(staying) == len(used) else f"data of {_names(staying)} stay"
        others = "" if len(staying) == len(used) else f" Other data {_recovery(space, 'recover', 'stay')}."
        return f"If a host fails for good, {what} degraded: too few hosts remain for every replica or fragment.{others}"
    return f"If a host fails for good, it {_recovery(space, 'recovers', 'stays')}."


def _recovery(space: Space, recovers: str, stays: str) -> str:
    """Return the fate of data for which enough hosts remain."""
    used_pct = space["lost_host"]["used_pct"]
    at = f"with devices {number(used_pct)} % full"
    if _lacks_space(space):
        return f"{stays} degraded: recovery stops {at}"
    return f"{recovers} {at}" + (": too full" if used_pct > space["full_pct"] else "")


def _lacks_space(space: Space) -> bool:
    """True if recovery after a host failure stops on full devices, although enough hosts remain."""
    lost, limit_pct = space["lost_host"], space.get("recovery_pct", 100.0)  # results of 0.5 and before lack it
    has_hosts = any(policy["heals"] for policy in _used(space))
    return has_hosts and not lost["heals"] and lost["used_pct"] > limit_pct - 1e-6


def _used(space: Space) -> list[PolicySpace]:
    """Return the policies with data in a pool, or the policy of the pool if nothing is stored."""
    return [policy for policy in space["policies"] if policy["stored_gib"]] or space["policies"][:1]


def _of(some_of: Sequence[PolicySpace], used: Sequence[PolicySpace]) -> str:
    return "" if len(some_of) == len(used) else f" of {_names(some_of)}"


def _names(policies: Sequence[PolicySpace]) -> str:
    """Return the policies by name. The policy of the pool is named by its redundancy."""
    return some([policy["redundancy"] if policy["name"] == OWN else policy["name"] for policy in policies])
