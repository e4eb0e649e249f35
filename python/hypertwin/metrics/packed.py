"""Reports of the points of a simulation, decoded on access.

A sweep can have 10,000 points. A decoded report takes several times the memory of its JSON, and compression saves two
thirds of the JSON.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast, overload

from hypertwin import _core
from hypertwin.documents import simulation as documents
from hypertwin.documents.space import OWN, Space
from hypertwin.model_error.carried import Carrier

KEPT = 12 << 20
"""Maximum characters of JSON whose reports stay decoded, starting with the first point. Most results are decoded only
once.
"""


NOTHING_SET = '"set":{}'
"""Placeholder for `set` in the core's JSON, at its start, because the core does not know the settings."""


NO_POLICY = '"policy":null'
"""Placeholder for the data of a pool without a policy in the core's JSON. `space` has the actual name."""


class Packed:
    """Report as JSON, compressed if the JSON is long."""

    __slots__ = ("_data", "letters", "sha256")

    def __init__(self, text: str, points: int) -> None:
        """Keep the core's JSON of replications, for one of these points."""
        self.sha256 = hashlib.sha256(text.encode()).hexdigest()
        text = text.replace(NO_POLICY, f'"policy":{json.dumps(OWN)}')
        self.letters = len(text)
        self._data = text if self.letters * points <= KEPT else zlib.compress(text.encode(), 1)

    @property
    def text(self) -> str:
        """JSON text of the report."""
        return self._data if isinstance(self._data, str) else zlib.decompress(self._data).decode()


class Reports(Sequence[documents.Point]):
    """Sequence of the reports of points. Do not change a report. Most reports are decoded again on each access."""

    def __init__(
        self,
        changes: Sequence[Mapping[str, Any]],
        packed: Sequence[Packed],
        spaces: Sequence[Mapping[str, Space]],
        found: Sequence[documents.Found | None],
        errors: Sequence[Carrier],
    ) -> None:
        """Store the settings, report, pool capacity, found times and model error of each point."""
        self.changes, self._packed, self._spaces, self._found, self._errors = changes, packed, spaces, found, errors
        letters, self._kept = 0, dict[int, documents.Point | None]()
        for index, each in enumerate(packed):
            letters += each.letters
            if letters > KEPT and index:
                break
            self._kept[index] = None

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self._packed)

    @overload
    def __getitem__(self, index: int) -> documents.Point: ...
    @overload
    def __getitem__(self, index: slice) -> Reports: ...
    def __getitem__(self, index: int | slice) -> documents.Point | Reports:
        """Return the report of a point, or a sequence of still encoded reports for a slice."""
        if isinstance(index, slice):
            return Reports(
                self.changes[index],
                self._packed[index],
                self._spaces[index],
                self._found[index],
                self._errors[index],
            )
        place = range(len(self))[index]
        point = self._kept.get(place)
        if point is None:
            text = self._packed[place].text
            report = json.loads(text)
            added = self._added(place)  # in the place of `set`, as in the text
            added["model_error"] = json.loads(self._errors[place].at(text).document)
            point = cast(documents.Point, {**added, **report, **added})
            if place in self._kept:
                self._kept[place] = point
        return point

    @property
    def sha256s(self) -> list[str]:
        """SHA-256 of the core's report of each point."""
        return [packed.sha256 for packed in self._packed]

    def indented(self, index: int, depth: int) -> str:
        """Return the report of a point as JSON at a depth of a document. See `hypertwin.show.files.to_json`."""
        text = self._packed[index].text
        added = json.dumps(self._added(index), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        error = self._errors[index].at(text).document
        return _core.indented(text.replace(NOTHING_SET, f'{added[1:-1]},"model_error":{error}', 1), depth)

    def _added(self, index: int) -> dict[str, Any]:
        """Return the fields of a point that the core does not know, except its model error."""
        space, found = self._spaces[index], self._found[index]
        added: dict[str, Any] = {"set": dict(self.changes[index])}
        if space:
            added["space"] = dict(space)
        if found:
            added["found"] = dict(found)
        return added

    def __iter__(self) -> Iterator[documents.Point]:
        """Iterate over the reports."""
        return (self[index] for index in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """True if another sequence has equal reports."""
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the number of reports, because a full list can be too long to read."""
        return f"<{len(self)} points>"


def settings(points: Sequence[documents.Point]) -> Sequence[Mapping[str, Any]]:
    """Return the settings of each point, without decoding reports."""
    return points.changes if isinstance(points, Reports) else [point["set"] for point in points]
