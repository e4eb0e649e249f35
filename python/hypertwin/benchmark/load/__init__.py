"""Load generators: shell text that prepares, runs and cleans up, and the reader of the output.

| file | contents |
|---|---|
| `generator.py` | base class of generators, and the figures that they return |
| `sysbench.py` | sysbench, with a database or without |
| `pgbench.py` | pgbench |
| `fio.py` | fio, on a file that it makes, or on an empty device |
| `command.py` | any command whose output patterns read |
| `imported.py` | results of a campaign that ran elsewhere |

All shell text runs with `sh` in the work folder of the target. Values from the plan are quoted.
"""

from __future__ import annotations

from collections.abc import Mapping

from hypertwin.benchmark.load.command import Command
from hypertwin.benchmark.load.fio import Fio
from hypertwin.benchmark.load.generator import Figures, Load
from hypertwin.benchmark.load.imported import Imported
from hypertwin.benchmark.load.pgbench import Pgbench
from hypertwin.benchmark.load.sysbench import Sysbench

KINDS: Mapping[str, type[Load]] = {each.kind: each for each in (Sysbench, Pgbench, Fio, Command, Imported)}
"""Generators by `load.kind`."""

__all__ = ["KINDS", "Figures", "Load"]
