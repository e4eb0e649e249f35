"""Comparison of two results of one kind, figure by figure, as `hypertwin compare` prints it.

| file | purpose |
|---|---|
| `kinds.py` | the kinds of results, recognised by their shape, and the compared parts of each |
| `reading.py` | a result from a JSON document or from a page |
| `figures.py` | all figures of a result, each with its location and its interval |
| `migrate.py` | files of earlier versions, with current names |
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from hypertwin.comparison import figures, reading
from hypertwin.comparison.figures import Figure, Place
from hypertwin.comparison.reading import Result
from hypertwin.documents.compare import Change, Comparison, Missing, Setting, Side, Verdict
from hypertwin.ingest import outside
from hypertwin.show.page import rounded

POINTS_THAT_MATTER = 5.0
"""Minimum base of percentage changes: a change from 0.01 to 0.02 % does not count as doubling."""

MOST_DIFF_LINES = 400
"""Maximum number of lines of the difference between scenarios."""


def compare(a: str | Path, b: str | Path, *, version: str) -> Comparison:
    """Compare two results of one kind: JSON documents that commands wrote, or pages.

    Raises SourceError for a file that is not a result, and for results of different kinds.
    """
    return compare_results(reading.read(Path(a)), reading.read(Path(b)), version=version)


def compare_results(one: Result, other: Result, *, version: str) -> Comparison:
    """Compare two loaded results. Raises SourceError."""
    a, b = one.file, other.file
    if one.kind is not other.kind:
        outside.Source(b).refuse(
            f"a result of {other.kind.command}",
            f"a result of {one.kind.command}, as {a} is",
            "compare results of one command",
            "different-kinds",
        )
    swept = list(dict.fromkeys((*figures.swept(one), *figures.swept(other))))
    first, second = figures.collect(one, swept), figures.collect(other, swept)
    if one.kind.name == "simulation" and not first.points & second.points:
        outside.Source(b).at("points").refuse(
            _listed(second.points),
            f"a point of {a}: {_listed(first.points)}",
            "compare results that have a point in common, by what is set and swept",
            "different-points",
        )
    in_pages = bool(one.made or other.made)
    shared = first.numbers.keys() & second.numbers.keys()
    changes = [
        _change(place, first.numbers[place], second.numbers[place]) for place in first.numbers if place in shared
    ]
    moved = sorted((change for change in changes if not _alike(change, in_pages)), key=_weight)
    return {
        "version": version,
        "kind": one.kind.name,
        "a": _side(one),
        "b": _side(other),
        "settings": list(_settings(first.settings, second.settings)),
        "scenario_diff": _scenario_diff(one, other),
        "changes": moved,
        "verdicts": list(_verdicts(first.words, second.words)),
        "missing": [*_missing(first.numbers, second.numbers, "a"), *_missing(second.numbers, first.numbers, "b")],
        "same": len(changes) - len(moved),
    }


def _listed(points: Iterable[str]) -> str:
    listed = sorted(points)
    return "; ".join(listed[:4]) + (f" and {len(listed) - 4} more" if len(listed) > 4 else "")


def _alike(change: Change, in_pages: bool) -> bool:
    """True if a figure is equal. A page holds only its first digits."""
    a, b = change["a"], change["b"]
    return a == b or (in_pages and rounded(a) == rounded(b))


def _side(result: Result) -> Side:
    made = result.made
    command = made.get("command")
    words = command if isinstance(command, list) and all(isinstance(word, str) for word in command) else []
    return {
        "file": result.file,
        "version": _text(made.get("version")) or _text(result.fields.get("version")),
        "date": _text(made.get("date")),
        "command": " ".join(words) or None,
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _change(place: Place, a: Figure, b: Figure) -> Change:
    change = b.value - a.value
    known = a.ci95 is not None and b.ci95 is not None
    return {
        "at": place.at,
        "of": place.of,
        "name": place.name,
        "figure": place.figure,
        "unit": a.unit or b.unit,
        "a": a.value,
        "b": b.value,
        "a_ci95": a.ci95,
        "b_ci95": b.ci95,
        "change": change,
        "change_pct": 100 * change / abs(a.value) if a.value else None,
        "beyond": abs(change) > (a.ci95 or 0.0) + (b.ci95 or 0.0) if known else None,
    }


def _weight(change: Change) -> tuple[int, float]:
    """Return the sort key of changes: first those beyond their intervals, then without intervals, then within."""
    least = POINTS_THAT_MATTER if change["unit"] == "%" else 0.0
    size = max(abs(change["a"]), abs(change["b"]), least)
    rank = {True: 0, None: 1, False: 2}[change["beyond"]]
    return rank, -abs(change["change"]) / size


def _settings(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Setting]:
    for what in dict.fromkeys((*a, *b)):
        if a.get(what) != b.get(what):
            yield {"what": what, "a": a.get(what), "b": b.get(what)}


def _verdicts(a: Mapping[Place, str], b: Mapping[Place, str]) -> Iterator[Verdict]:
    for place, word in a.items():
        if place in b and b[place] != word:
            yield {"at": place.at, "of": place.of, "name": place.name, "figure": place.figure, "a": word, "b": b[place]}


def _missing(these: Mapping[Place, Figure], others: Mapping[Place, Figure], side: str) -> Iterator[Missing]:
    """Yield the items that only one side has: a missing entity once, otherwise each missing figure."""
    known = {(place.at, place.of, place.name) for place in others}
    for thing in dict.fromkeys((place.at, place.of, place.name) for place in these):
        if thing not in known:
            at, of, name = thing
            yield {"at": at, "of": of, "name": name, "figure": "", "only_in": side}
    for place in these:
        if place not in others and (place.at, place.of, place.name) in known:
            yield {"at": place.at, "of": place.of, "name": place.name, "figure": place.figure, "only_in": side}


def _scenario_diff(one: Result, other: Result) -> str | None:
    """Return the differing lines between the scenarios in two pages."""
    texts = [result.scenario for result in (one, other)]
    if texts[0] is None or texts[1] is None:
        return None
    lines: Sequence[Sequence[str]] = [text.splitlines() for text in texts if text is not None]
    if max(map(len, lines)) > MOST_DIFF_LINES * 10:  # the time to find differences grows with the square
        return None
    found = list(difflib.unified_diff(lines[0], lines[1], "A", "B", lineterm="", n=2))
    more = [f"... {len(found) - MOST_DIFF_LINES} more lines"] if len(found) > MOST_DIFF_LINES else []
    return "".join(f"{line}\n" for line in (*found[:MOST_DIFF_LINES], *more))
