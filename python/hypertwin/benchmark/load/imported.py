"""Load of a campaign that ran elsewhere: its results are read, and nothing can run.

A step has the threads or the rate of each VM, or the I/Os of each VM. `depth` is the number of I/Os outstanding, per
disk if the step has `disks`. `size` is that of the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hypertwin import _core
from hypertwin.benchmark.load.generator import Figures, Load, OutputError, number, transactional
from hypertwin.errors import fail
from hypertwin.files.yaml_fields import Fields

if TYPE_CHECKING:
    from hypertwin.benchmark.step import Step
    from hypertwin.benchmark.target import Target
    from hypertwin.ingest.benchmarks.io_points import IoPoint
    from hypertwin.scenario import Scenario

PERCENTAGES = ("read_pct", "random_pct", "sync_pct")
SIZES = ("block", "size")
UNITS = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


class Imported(Load):
    """Load generator whose results were imported."""

    kind: ClassVar[str] = "imported"
    step_keys: ClassVar[tuple[str, ...]] = ("threads", "rate", "depth", "disks", "jobs", *SIZES, *PERCENTAGES)
    factors: ClassVar[tuple[str, ...]] = ("threads", "depth", "disks")  # depth is that of all jobs, on each disk
    keys: ClassVar[tuple[str, ...]] = ("tool",)

    def __init__(self, entry: Mapping[str, Any], fields: Fields, path: str) -> None:
        """Read the name of the generator."""
        super().__init__(entry, fields, path)
        self.tool = str(entry.get("tool", ""))[:64]

    @property
    def title(self) -> str:
        """Name of the generator, for people."""
        return f"{self.tool}, imported"

    def check_step(self, key: str, value: object, fields: Fields, path: str) -> None:
        """Check the value of a key of a step."""
        if key in SIZES:
            fields.quantity(value, path, _core.size_bytes, "a size, such as 4 KiB")
        elif key in PERCENTAGES:
            fields.number(value, 0, 100, path)
        elif key == "rate":
            fields.number(value, 1e-6, 1e9, path)
        else:
            super().check_step(key, value, fields, path)

    def programs(self) -> Sequence[str]:
        """Return no programs."""
        return ()

    def prepare(self, target: Target) -> str:
        """Return an empty text, because there are no data."""
        return ""

    def run(self, step: Step, target: Target, seconds: float) -> str:
        """Return shell text that fails, because there is nothing to run."""
        return "exit 1\n"

    def cleanup(self, target: Target) -> str:
        """Return an empty text, because there are no data."""
        return ""

    def figures(self, output: Path) -> Figures:
        """Raise OutputError: the figures are read once, by the import."""
        raise OutputError("the results of an imported campaign are in its run.json")

    def settings(self, step: Step, scenario: Scenario, group: str) -> dict[str, Any]:
        """Return the number of VMs, and the load of each. Raises ScenarioError."""
        if "depth" not in step.values:
            return transactional(step, scenario, group)
        from hypertwin.calibration import io_points
        from hypertwin.ingest.benchmarks.io_points import IoPoint

        values = step.values
        io = {"outstanding": values["depth"], "workers": values.get("jobs")}
        io |= {"rate": f"{values['rate']} /s"} if "rate" in values else {}
        workload = {"arrivals": {"io": io}, **{key: values[key] for key in PERCENTAGES if key in values}}
        workload |= {
            name: f"{_core.size_bytes(str(values[key]))} B"
            for key, name in (("block", "block"), ("size", "working_set"))
            if key in values
        }
        disks = values.get("disks")
        point = IoPoint(step.name, Path("plan"), workload, {}, step.vms, None if disks is None else int(disks))
        return io_points.settings(point, scenario, group, "steps")


def values_of(point: IoPoint) -> dict[str, int | float | str]:
    """Return the load of a point as values of a step. Raises ScenarioError for a mix of block sizes."""
    workload = point.workload
    if workload.get("block_mix"):
        allowed, hint = "one block size", "`hypertwin calibrate` takes it as a measured point"
        fail("unlike-benchmark", point.name, "a mix of block sizes", allowed, hint, str(point.file))
    io = workload["arrivals"]["io"]
    found: dict[str, int | float | str] = {"depth": io["outstanding"]}
    if point.disks is not None:
        found["disks"] = point.disks
    if (io.get("workers") or 1) > 1:
        found["jobs"] = io["workers"]
    if io.get("rate"):
        found["rate"] = plain(float(io["rate"].split()[0]))
    found["block"] = size(workload["block"])
    found |= {key: plain(float(workload[key])) for key in PERCENTAGES if key in workload}
    if "working_set" in workload:
        found["size"] = size(workload["working_set"])
    return found


def plain(value: float) -> int | float:
    """Return a whole number as such."""
    return int(value) if value == int(value) else value


def size(text: str) -> str:
    """Return a size in bytes in the largest unit that divides it: `4 KiB` of `4096 B`."""
    found = int(_core.size_bytes(text))
    unit, factor = next(((unit, factor) for unit, factor in UNITS if found % factor == 0), ("B", 1))
    return f"{number(found / factor)} {unit}"
