"""The pools for scenarios."""

from __future__ import annotations

from hypertwin.documents.presets import Presets
from hypertwin.show import view as v

NOTE = "In a scenario: storage: { NAME: { preset: ceph-3x-nvme, nodes: HOSTS } }; other keys of the pool override it."


def view(found: Presets) -> v.View:
    """Return a view with a row for each preset, and the use of presets in a scenario."""
    columns = [v.words("name", "preset"), v.words("description", "description")]
    rows: list[v.Row] = [{"name": each["name"], "description": each["description"]} for each in found["presets"]]
    return v.tabular("Presets", v.table("presets", "", columns, rows), assumptions=[NOTE])
