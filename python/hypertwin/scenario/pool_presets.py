"""Presets of pools (`preset: ceph-3x-nvme`), one file each in `library/presets`."""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path
from typing import cast

from hypertwin.documents.presets import Preset
from hypertwin.errors import fail, short
from hypertwin.files import yaml_file

FOLDER = Path(__file__).resolve().parents[1] / "library" / "presets"


def names() -> list[str]:
    """Return the names of all presets."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def presets(*chosen: str) -> list[Preset]:
    """Return all presets, or the named ones in that order. Raises ScenarioError for an unknown name."""
    return [find(name) for name in chosen or names()]


@cache
def find(name: str, path: str = "names") -> Preset:
    """Return one preset. `path` is the place of its name. Raises ScenarioError for an unknown name."""
    known = names()
    if name not in known:
        of_product = [each for each in known if name.lower() in each] if name else []
        near = of_product or difflib.get_close_matches(name.lower(), known, n=1)
        hint = f"did you mean {' or '.join(near)}?" if near else "hypertwin presets lists them"
        fail("unknown-value", path, short(name), ", ".join(known), hint)
    return cast("Preset", {"name": name, **yaml_file.parse(text(name), f"{name}.yaml").root.data()})


def text(name: str) -> str:
    """Return the file of a preset, with comments on its assumptions."""
    return (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


_INTRODUCTION = """\
# Presets of pools

*Generated from `python/hypertwin/library/presets`. Change those, not this page.*

`preset` selects the settings of a product:

```yaml
storage:
  pool:
    preset: ceph-3x-nvme
    nodes: node # a key of hosts, which no preset has
    devices: { device: PM9A3, per_node: 8 } # overrides single keys of the preset
```

`null` removes a key of a preset: `policies: { raid-5: null }`.

hypertwin replaces a preset by its keys before it checks the scenario. `--set storage.pool.preset=vsan-esa` selects
another preset, and `--sweep storage.pool.preset=ceph-3x-nvme,ceph-ec42-nvme` compares several. `hypertwin presets`
lists them, and `hypertwin presets NAME` shows one with its assumptions.
"""


def to_markdown() -> str:
    """Return the text of docs/presets.md, the page about all presets."""
    parts = [_INTRODUCTION]
    for each in presets():
        sources = "; ".join(each["sources"])
        parts.append(
            f"## `{each['name']}`\n\n{each['description']}\n\n*Differences from the product*: {each['differs']}\n\n"
            f"*Sources* ({each['date']}): {sources}.\n\n*How to check for changes*: {each['refresh']}\n\n"
            f"```yaml\n{_pool(each['name'])}```\n"
        )
    return "\n".join(parts)


def _pool(name: str) -> str:
    """Return the lines of a preset's file with its keys and their comments."""
    return text(name).partition("\npool:\n")[2].replace("\n  ", "\n").removeprefix("  ")
