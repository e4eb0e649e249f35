"""fio, on a file that it makes in the work folder, or on a named device that is empty.

The file is written once before any run, so that no run reads unwritten blocks. All I/O is direct. Source:
https://fio.readthedocs.io/en/latest/fio_doc.html.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hypertwin import _core
from hypertwin.benchmark.load.generator import Figures, Load, flags, number
from hypertwin.files.yaml_fields import Fields, shown

if TYPE_CHECKING:
    from hypertwin.benchmark.step import Step
    from hypertwin.benchmark.target import Target
    from hypertwin.scenario import Scenario

FILE = "fio.file"
NAME = "benchmark"
OPTION_OF = {
    "depth": "iodepth",
    "jobs": "numjobs",
    "block": "bs",
    "read_pct": "rwmixread",
    "rate": "rate_iops",
    "rw": "rw",
}
"""fio's option for each key of a step."""
_DEVICE = re.compile(r"/dev/[A-Za-z0-9_./:-]{1,200}")
_BLOCK = re.compile(r"[0-9]{1,9}(?:[kKmM](?:i?[bB])?)?")
_RW = ("read", "write", "rw", "readwrite", "randread", "randwrite", "randrw")


class Fio(Load):
    """fio."""

    kind: ClassVar[str] = "fio"
    step_keys: ClassVar[tuple[str, ...]] = tuple(OPTION_OF)
    keys: ClassVar[tuple[str, ...]] = ("size", "device")
    own: ClassVar[tuple[str, ...]] = (
        *("name", "filename", "directory", "size", "direct", "runtime", "time_based", "ramp_time"),
        *("output", "output-format", "rate_iops_min", "exec_prerun", "exec_postrun", "ioengine_so_path", "trigger"),
        # these make fio use other files, devices or computers
        *("filename_format", "opendir", "read_iolog", "allow_mounted_write", "client", "server"),
        *("remote-config", "trigger-file", "trigger-remote"),
    )
    percentile: ClassVar[str] = "io_latency_ms_p99"
    fitted: ClassVar[tuple[str, ...]] = ("iops", "guest_cpu_pct", "run_pct")
    packages: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "fio": {"apt-get": "fio", "dnf": "fio", "zypper": "fio"},
        "blkid": {"apt-get": "util-linux", "dnf": "util-linux", "zypper": "util-linux"},
    }

    def __init__(self, entry: Mapping[str, Any], fields: Fields, path: str) -> None:
        """Read size or device, and options."""
        super().__init__(entry, fields, path)
        self.options.setdefault("ioengine", "libaio")
        self.device = entry.get("device")
        if self.device is not None and not _DEVICE.fullmatch(str(self.device)):
            fields.wrong("wrong-type", f"{path}.device", shown(self.device), "a device, such as /dev/sdb", "/dev/sdb")
        self.size = self._size(entry.get("size", "1 GiB"), fields, f"{path}.size")

    @staticmethod
    def _size(value: object, fields: Fields, path: str) -> int:
        found = fields.quantity(value, path, _core.size_bytes, "a size, such as 10 GiB")
        if found is not None and found < 2**20:
            fields.wrong("out-of-range", path, shown(value), "at least 1 MiB", "size: 10 GiB")
        return 2**30 if found is None else max(int(found), 2**20)

    def check_step(self, key: str, value: object, fields: Fields, path: str) -> None:
        """Check the value of a key of a step."""
        if key == "block":
            if not _BLOCK.fullmatch(str(value)):
                fields.wrong("bad-quantity", path, shown(value), "a size as fio writes it, such as 8k", "block: 8k")
        elif key == "rw":
            if value not in _RW:
                fields.wrong("unknown-value", path, shown(value), ", ".join(_RW), "rw: randrw")
        elif key == "read_pct":
            fields.number(value, 0, 100, path)
        else:
            super().check_step(key, value, fields, path)

    def programs(self) -> Sequence[str]:
        """Return fio, and blkid for a device."""
        return ("fio", "blkid", "lsblk") if self.device else ("fio",)

    def space_bytes(self) -> int:
        """Return the size of the file."""
        return 0 if self.device else self.size

    def prepare(self, target: Target) -> str:
        """Return shell text that writes the file, or refuses a device with data on it and writes its first part."""
        fill = {"name": "fill", "rw": "write", "bs": "1m", "iodepth": "8", "ioengine": "libaio", "end_fsync": "1"}
        return f"{self._empty}fio --output-format=terse {flags(fill)} --refill_buffers {self._place} >/dev/null\n"

    def run(self, step: Step, target: Target, seconds: float) -> str:
        """Return shell text of a run, which prints JSON."""
        options = {"rw": "randrw", "bs": "4k", **self.of(target)}
        options |= {OPTION_OF[key]: str(value) for key, value in step.values.items()}
        mine = {"name": NAME, "runtime": number(seconds), "output-format": "json"}
        words = f"{flags(mine)} --time_based --group_reporting --norandommap --randrepeat=0"
        return f"{self._empty}exec fio {words} {flags(options)} {self._place}\n"

    def cleanup(self, target: Target) -> str:
        """Return shell text that removes the file. Data on a device stay."""
        return f"rm -f {FILE}\n"

    def figures(self, output: Path) -> Figures:
        """Return IOPS and latencies."""
        from hypertwin.ingest.benchmarks import io_points

        points, notes = io_points.read([output])
        return Figures(dict(points[0].figures), notes=tuple(notes))

    def settings(self, step: Step, scenario: Scenario, group: str) -> dict[str, Any]:
        """Return the load of a step as keys of the workload of the group."""
        from hypertwin.calibration.io_points import settings
        from hypertwin.ingest.benchmarks import fio
        from hypertwin.ingest.benchmarks.io_points import IoPoint

        options = {"rw": "randrw", "bs": "4k", **self.options}
        options |= {OPTION_OF[key]: str(value) for key, value in step.values.items()}
        options |= {"direct": "1", "size": str(self.size)}
        place = Path("plan")
        workload = fio.of_options(place, {key: ("load.options", value) for key, value in options.items()})
        del workload["cpu"]
        return settings(IoPoint(step.name, place, workload, {}, vms=step.vms), scenario, group, "steps")

    def seen(self, figures: Mapping[str, float], step: Step, scenario: Scenario, group: str) -> dict[str, float]:
        """Return latencies until the process of fio runs again: those of the twin end with the interrupt.

        fio keeps its I/Os outstanding. By Little's law they take the number outstanding over IOPS, less the CPU time of
        fio itself. Percentiles get the same time as the mean, which is too little if the process waits irregularly.
        """
        from hypertwin.scenario import vdisks

        vm = scenario.data["vms"][group]
        workload = scenario.data["workloads"][vm["workload"]]
        io, iops, mean = workload["arrivals"].get("io"), figures.get("iops", 0), figures.get("io_latency_ms_mean")
        if io is None or io.get("rate") or not iops or mean is None:
            return dict(figures)
        outstanding = step.vms * int(io["outstanding"]) * vdisks.of_group(vm)
        own = 1000 * _core.duration_s(workload["cpu"]["mean"])
        waits = max(0.0, 1000 * outstanding / iops - own - mean)
        return {key: value + waits if "latency_ms" in key else value for key, value in figures.items()}

    @property
    def _empty(self) -> str:
        """Return shell text that refuses a device in use. Each run checks it, because days can be between two runs.

        Only exit code 2 of blkid says that it found nothing: with 8 it found signatures of several kinds.
        """
        if not self.device:
            return ""
        device = shlex.quote(self.device)
        return (
            f'[ -b {device} ] || {{ echo "{self.device} is no block device" >&2; exit 3; }}\n'
            f"code=0; blkid -p {device} >/dev/null 2>&1 || code=$?\n"
            f'if [ "$code" -ne 2 ] || [ ! -w {device} ] || [ "$(lsblk -n -o NAME {device} | wc -l)" -ne 1 ]'
            f' || [ -n "$(lsblk -n -o MOUNTPOINT {device})" ]\n'
            f'then echo "{self.device} has partitions, a file system or other data" >&2; exit 3; fi\n'
        )

    @property
    def _place(self) -> str:
        return f"--filename={shlex.quote(self.device or FILE)} --size={self.size} --direct=1"
