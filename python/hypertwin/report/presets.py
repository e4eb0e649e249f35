"""The pools that scenarios may name, for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hypertwin.documents.presets import Presets

NOTE = "In a scenario: storage: { NAME: { preset: ceph-3x-nvme, nodes: HOSTS } }; keys beside it win."


def table(found: Presets) -> RenderableType:
    """A row for each preset, and how to use one."""
    shown = Table("preset", "what it is", box=None, pad_edge=False, header_style="dim")
    for each in found["presets"]:
        shown.add_row(each["name"], Text(each["description"]))
    return Group(shown, Text(NOTE, style="dim"))
