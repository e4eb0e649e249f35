"""Cached results of earlier simulations."""

from __future__ import annotations

from hypertwin.documents.cache import Cache
from hypertwin.show import view as v


def view(found: Cache) -> v.View:
    """Return the view of a cache: a row for each build of hypertwin."""
    if found["folder"] is None:
        return v.tabular("Cache", answer="the cache is off")
    if not found["builds"]:
        return v.tabular("Cache", answer=f"{found['folder']}: no results yet")
    rows: list[v.Cells] = [
        [
            (v.words("build", "build"), f"{each['build']} (this one)" if each["used"] else each["build"]),
            (v.words("last_used", "last used"), each["last_used"]),
            (v.words("first_used", "not used since", secondary=True), each["first_used"]),
            (v.figures("results", "results"), each["results"]),
            (v.figures("mib", "size", "MiB"), each["bytes"] / 2**20),
        ]
        for each in found["builds"]
    ]
    file, largest = (f"{found[key] / 2**20:,.1f}" for key in ("file_bytes", "largest_bytes"))
    answer = f"{found['folder']}: {file} MiB, at most {largest} for results"
    return v.tabular("Cache", v.listing("builds", "", rows), answer=answer)
