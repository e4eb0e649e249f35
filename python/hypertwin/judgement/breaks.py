"""Values along a sweep where each group suffers: above one, below one, at some, everywhere or nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hypertwin.documents.measured import Vm
from hypertwin.documents.simulation import Break, Point, Sign
from hypertwin.judgement.limits import limiting
from hypertwin.judgement.settings import Axes, changes_work, group_names, lines, setting, work
from hypertwin.judgement.signs import hurt, signs_of
from hypertwin.metrics.bands import band
from hypertwin.metrics.points import groups
from hypertwin.metrics.words import number, some

Pattern = Literal["from", "up to", "at", "everywhere", "nowhere"]


@dataclass(frozen=True)
class Place:
    """A group at a point of a line."""

    value: str
    """Value of the setting of the group along x."""
    point: Point
    vm: Vm
    signs: tuple[Sign, ...]
    """Signs that users notice in comparison with the best point of the group, followed by other signs."""

    @property
    def suffers(self) -> bool:
        """True if any sign is critical."""
        return hurt(self.signs)

    @property
    def badness(self) -> float:
        """Excess of the worst critical sign."""
        return max((sign["weight"] for sign in self.signs if sign["severity"] == "critical"), default=0.0)


@dataclass(frozen=True)
class Verdict:
    """Verdict on the places along a line where a group suffers."""

    line: str
    """Settings of the paths that do not lie along x, or an empty string without any."""
    group: str
    places: tuple[Place, ...]

    @property
    def bad(self) -> list[Place]:
        """The places where the group suffers."""
        return [place for place in self.places if place.suffers]

    @property
    def pattern(self) -> Pattern:
        """Pattern of the places where the group suffers."""
        bad = [place.suffers for place in self.places]
        if not any(bad):
            return "nowhere"
        if all(bad):
            return "everywhere"
        if all(bad[bad.index(True) :]):
            return "from"
        return "up to" if all(bad[: len(bad) - bad[::-1].index(True)]) else "at"

    @property
    def at(self) -> Place | None:
        """Most informative place where the group suffers: the first or last of a range, otherwise the worst."""
        if not self.bad:
            return None
        ends = {"from": self.bad[0], "up to": self.bad[-1]}
        return ends.get(self.pattern) or max(self.bad, key=lambda place: place.badness)

    @property
    def name(self) -> str:
        """The group, with its line if the sweep has several."""
        return f"{self.group} with {self.line}" if self.line else self.group

    @property
    def where(self) -> str:
        """Places where the group suffers, in words."""
        values = [place.value for place in self.bad]
        match self.pattern:
            case "from":
                return f"from {values[0]} on"
            case "up to":
                return f"up to {values[-1]}"
            case "at":
                return f"with {some(values, 3)}"
        return self.pattern

    @property
    def why(self) -> str:
        """Limit of the group where it suffers, as a sentence without a full stop. It is empty without a limit."""
        if self.at is None:
            return ""
        return limiting(self.at.point, self.group)

    def to_dict(self) -> Break:
        """Return the JSON form."""
        at = self.at
        return {
            "group": self.group,
            "line": self.line,
            "where": self.where,
            "suffers": bool(self.bad),
            "set": dict(at.point["set"]) if at else None,
            "signs": [sign["text"] for sign in at.signs] if at else [],
            "why": self.why,
        }


def verdicts(points: Sequence[Point], axes: Axes, workloads: Mapping[str, str]) -> list[Verdict]:
    """Return verdicts of all lines and groups. `workloads` has the workload of each group, if known.

    Groups that the sweep does not add come first, then groups are sorted by how soon they suffer.
    """
    found = [
        Verdict(line, group, places)
        for line, own in lines(points, axes).items()
        for group in group_names(points)
        if (places := _places(own, group, axes, is_alike=not changes_work(axes.x, group, workloads)))
    ]

    def rank(verdict: Verdict) -> tuple[int, float, float]:
        if not verdict.bad:
            return 2, 0.0, 0.0
        adds = any(path.startswith(f"vms.{verdict.group}.") for path in axes.paths)
        start = verdict.places.index(verdict.bad[0]) / len(verdict.places)
        return int(adds), start, -max(place.badness for place in verdict.bad)

    return sorted(found, key=rank)


def _places(points: Sequence[Point], group: str, axes: Axes, *, is_alike: bool) -> tuple[Place, ...]:
    """Return a group along a line, compared with its best value there, and its p99 if its work `is_alike`."""
    own = [
        (setting(axes.x, point["set"].get(axes.x), axes.paths) if axes.x else "", point, groups(point)[group])
        for point in points
        if group in groups(point)
    ]
    tails = [(p99, value) for value, _, vm in own if (p99 := vm["response_ms"]["p99"]) is not None]
    least = min(tails, key=lambda tail: tail[0], default=None) if is_alike else None
    best: tuple[float, str] | None = None
    places = []
    for value, point, vm in own:
        done = work(point, group, vm, axes.x)
        if done is not None and (best is None or done > best[0]):
            best = done, value
        places.append(Place(value, point, vm, (*_beside(vm, done, least, best), *signs_of(point, group))))
    return tuple(places)


def _beside(vm: Vm, done: float | None, least: tuple[float, str] | None, best: tuple[float, str] | None) -> list[Sign]:
    """Return the signs that users notice: against the smallest p99 along the line, and the most work per VM so far."""
    found: list[Sign] = []
    most, gone = band("departed_p99").first, band("lost_throughput_pct").first
    p99 = vm["response_ms"]["p99"]
    if p99 is not None and least is not None and p99 > most * least[0] > 0:
        times = p99 / least[0]
        text = f"p99 {number(p99)} ms, {number(times)} times the {number(least[0])} ms with {least[1]}"
        found.append(_sign("response_ms_p99", p99, times / most, text))
    if done is not None and best is not None and 100 * (best[0] - done) > gone * best[0]:
        lost = 100 * (1 - done / best[0])
        text = f"throughput for each VM and unit of load {number(lost)} % below that with {best[1]}"
        found.append(_sign("throughput_per_s", done, lost / gone, text))
    return found


def _sign(metric: str, value: float, weight: float, text: str) -> Sign:
    return {"metric": metric, "severity": "critical", "value": value, "weight": weight, "text": text}
