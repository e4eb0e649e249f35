"""A study that takes milliseconds."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import TINY

STUDY = """
title: Two figures
source: nobody
cases:
  one: {run.duration: 1 s}
"""
FIGURES = """\
case,metric,twin,published,unit,origin,kind,accept
one,vCPUs,vms.db.vcpus,2,vCPUs,published,predicted,±0
one,cores,hosts.esx1.usage_pct,400,%,published,predicted,±1
"""


def write_study(folder: Path) -> Path:
    """A study of the tiny scenario in `own`, with one figure that is met and one that is missed."""
    made = folder / "own"
    made.mkdir()
    for name, content in (("study.yaml", STUDY), ("scenario.yaml", TINY), ("published.csv", FIGURES)):
        (made / name).write_text(content)
    return made
