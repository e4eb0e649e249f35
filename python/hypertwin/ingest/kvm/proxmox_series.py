"""The CPU used by a guest or node of Proxmox VE over weeks, from saved responses to `rrddata`.

A row is the mean of one step: `time` is its end, `cpu` the share of `maxcpu` CPUs, absent while the guest was off.
Steps of a month are 12 h up to version 8 and 30 min from version 9 (`rrd_def_vm` in pmxcfs/status.c). Shorter peaks are
not visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hypertwin.ingest import cpu_series, json_fields, outside
from hypertwin.ingest.cpu_series import MAX_CPUS, Series

SOURCE = "rrddata"
_FIELDS = tuple(
    re.compile(rb'"%s"\s{0,9}:\s{0,9}"?(-?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?)[",}\s]' % key)
    for key in (b"time", b"cpu", b"maxcpu")
)


def of_text(data: bytes, source: str | Path) -> Series | None:
    """Return the series in the JSON text of a response.

    The text is searched for the used fields, which takes a quarter of the time of parsing. Unless every row has all of
    them, the text is parsed. A text in the wrong form raises SourceError.
    """
    ends, shares = (pattern.findall(data) for pattern in _FIELDS[:2])
    rows = len(ends)
    cpus = _cpus(data, rows)
    # a row has a field once, so as many fields as rows are one in each
    if not rows or not rows == len(shares) == len(cpus) == data.count(b"{", data.find(b"[")):
        answer = outside.parsed(data, source)
        return series(answer.get("data") if isinstance(answer, dict) else answer)
    return _series(zip(map(float, ends), map(float, shares), map(float, cpus), strict=True))


def series(answer: Any) -> Series | None:
    """Return the series in a response, or None without two steps in which the guest was on.

    A series is returned as it is. It takes a fiftieth of the memory of its response.
    """
    if isinstance(answer, Series):
        return answer
    fields = ("time", "cpu", "maxcpu")
    rows = ([json_fields.number(row.get(key)) for key in fields] for row in json_fields.objects(answer))
    return _series((end, share, cpus) for end, share, cpus in rows if end is not None)


def peak_of_text(data: bytes, source: str | Path) -> float | None:
    """Return the most CPUs used, from the JSON text of a response with `cf=MAX`, or None if unknown.

    A text in the wrong form raises SourceError.
    """
    shares, rows = _FIELDS[1].findall(data), data.count(b"{", data.find(b"["))
    cpus = _cpus(data, rows)
    if not rows or not rows == len(shares) == len(cpus):
        return peak(of_text(data, source))
    found = max(float(share) * float(of) for share, of in zip(shares, cpus, strict=True))
    return found if 0 <= found <= MAX_CPUS else peak(of_text(data, source))


def _cpus(data: bytes, rows: int) -> Sequence[bytes]:
    """Return `maxcpu` of each row of a text. Rows that all have the same number are counted, which takes less time."""
    first = _FIELDS[2].search(data)
    return [first[1]] * rows if first is not None and data.count(first[0]) == rows else _FIELDS[2].findall(data)


def peak(answer: Any) -> float | None:
    """Return the most CPUs used, from a response with `cf=MAX`, or None if unknown. A number is returned as it is."""
    if isinstance(answer, float):
        return answer
    found = series(answer)
    return None if found is None else max(found.used)


def _series(rows: Iterable[tuple[float, float | None, float | None]]) -> Series | None:
    """Return the series of rows of time, share and CPUs."""
    used = ((end, None if share is None or cpus is None else share * cpus) for end, share, cpus in rows)
    return cpu_series.of_rows(used, SOURCE)
