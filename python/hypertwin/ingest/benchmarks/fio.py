"""Conversion of fio job files to workloads: `workloads.NAME.fio: job.fio` in a scenario.

One job of the file becomes one workload. `iodepth` x `numjobs` I/Os are outstanding in all files of the job together,
issued by `numjobs` workers. `hypertwin.scenario.vdisks` spreads them over the virtual disks of the VM. `fsync`,
`fdatasync` and `sync` make writes synchronous. `rate_iops` caps reads and writes separately, so a mix at the cap has
equal numbers of both. Format and meaning: fio's documentation, https://fio.readthedocs.io/en/latest/fio_doc.html.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from hypertwin.errors import fail, short
from hypertwin.files import yaml_file

MOST_CHARACTERS = 65_536
"""Maximum length of a job file."""
CPU_PER_IO = "2 us"
"""Default CPU time of fio itself per I/O, if the scenario gives none [a default of this project]."""

ACCESS = {
    "read": (100, 0),
    "write": (0, 0),
    "rw": (50, 0),
    "readwrite": (50, 0),
    "randread": (100, 100),
    "randwrite": (0, 100),
    "randrw": (50, 100),
}
"""Percentages of reads and of random positions, by value of `rw`."""
ASYNCHRONOUS = ("libaio", "io_uring", "posixaio", "windowsaio", "solarisaio", "rbd")
SYNCHRONOUS = ("sync", "psync", "vsync", "pvsync", "pvsync2")
WITHOUT_EFFECT = frozenset(
    (
        *("allow_file_create", "allow_mounted_write", "allrandrepeat", "bwavgtime", "clat_percentiles", "cpus_allowed"),
        *(
            "cpus_allowed_policy",
            "create_on_open",
            "create_serialize",
            "description",
            "directory",
            "disable_clat",
            "disk_util",
        ),
        *("disable_lat", "disable_slat", "end_fsync", "eta", "exitall", "fallocate", "filename", "filename_format"),
        *("filesize", "group_reporting", "gtod_reduce", "invalidate", "io_size", "iopsavgtime", "lat_percentiles"),
        *("log_avg_msec", "log_hist_msec", "loops", "name", "new_group", "norandommap", "number_ios", "offset"),
        *("offset_increment", "output-format", "overwrite", "per_job_logs", "percentile_list", "ramp_time"),
        *("random_generator", "randrepeat", "randseed", "refill_buffers", "runtime", "scramble_buffers"),
        *("slat_percentiles", "startdelay", "stonewall", "thread", "time_based", "unlink", "wait_for"),
        *("write_bw_log", "write_hist_log", "write_iops_log", "write_lat_log", "zero_buffers"),
        *("clientname", "clustername", "pool", "rbdname"),  # the volume of rbd
    )
)
"""Keys about the location, duration and reports of fio, which do not change a steady state."""

_SIZE = re.compile(r"([0-9]{1,15})(?:([kmgt])(?:i?b)?|b)?\Z", re.IGNORECASE)
_POWER = {"k": 10, "m": 20, "g": 30, "t": 40}


def workload(reference: str, folder: Path) -> dict[str, Any]:
    """Return the workload of a job in a file, as a scenario writes it.

    `reference` is the file, relative to `folder` or absolute, followed by `#JOB` if the file has several jobs.
    Raises ScenarioError, which names file, section and key.
    """
    name, _, wanted = reference.partition("#")
    path = folder / name
    text = yaml_file.read_text(path)
    if len(text) > MOST_CHARACTERS:
        _refuse(path, "", f"{len(text)} characters", f"at most {MOST_CHARACTERS}", "keep one job, without the others")
    parser = configparser.RawConfigParser(
        allow_no_value=True,
        delimiters="=",
        comment_prefixes=("#", ";"),
        default_section="",
        empty_lines_in_values=False,
    )
    try:
        # to fio an indented line is a line of its own, not a continuation
        parser.read_string("\n".join(line.strip() for line in text.split("\n")), "the job file")
    except configparser.Error as error:
        said = short(" ".join(str(error).split()), 160)
        _refuse(path, "", said, "sections such as [global] and [job] with lines KEY=VALUE", "write each once")
    jobs = [section for section in parser.sections() if section != "global"]
    if not jobs or (wanted and wanted not in jobs) or (not wanted and len(jobs) > 1):
        value = f"#{wanted}" if wanted else f"{len(jobs)} jobs"
        named = ", ".join(short(job, 40) for job in jobs[:12]) or "none"
        _refuse(path, "", value, f"one job of the file: {named}", f"name it: fio: {name}#{jobs[0] if jobs else 'JOB'}")
    job = wanted or jobs[0]
    keys = dict.fromkeys(parser.options("global") if parser.has_section("global") else ())
    keys.update(dict.fromkeys(parser.options(job)))
    sections = {key: job if parser.has_option(job, key) else "global" for key in keys}
    return of_options(path, {key: (section, parser.get(section, key) or "") for key, section in sections.items()})


def of_options(path: Path, options: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Return the workload of a job from its keys, each with its section and text. `path` is for messages.

    Raises ScenarioError, which names file, section and key.
    """
    return _Job(path, options).workload()


class _Job:
    """Options of one job, each with its section."""

    def __init__(self, path: Path, options: Mapping[str, tuple[str, str]]) -> None:
        self.path = path
        self.options = options
        self.used = set(WITHOUT_EFFECT)

    def workload(self) -> dict[str, Any]:
        read_pct, random_pct = self.value("rw", "readwrite", read=self.access, default=(100, 0))
        if 0 < read_pct < 100:
            mixed = self.value("rwmixwrite", read=self.integer(0, 100), default=100 - read_pct)
            read_pct = self.value("rwmixread", read=self.integer(0, 100), default=100 - mixed)
        else:
            self.used.update(("rwmixread", "rwmixwrite"))
        engine = self.value("ioengine", read=self.engine, default="psync")
        depth = self.value("iodepth", read=self.integer(1, 4096), default=1)
        workers = self.value("numjobs", read=self.integer(1, 1024), default=1)
        caps = self.value("rate_iops", read=self.caps, default=None)
        if not self.value("direct", read=self.flag, default=False):
            hint = "set direct=1: buffered I/O goes to the guest's page cache, which is not modelled"
            self.fail("direct", "direct=1", hint)
        outstanding = workers * (depth if engine in ASYNCHRONOUS else 1)
        if outstanding > 4096:
            self.fail("iodepth", "at most 4096 I/Os outstanding, iodepth x numjobs", "lower one of them")
        if caps and 0 < read_pct < 100:
            read_pct = round(100 * caps[0] / sum(caps), 6)
        made: dict[str, Any] = {
            "arrivals": {"io": {"outstanding": outstanding, "workers": workers}},
            "cpu": {"mean": CPU_PER_IO, "cv": 0},
            "read_pct": read_pct,
            "random_pct": self.value("percentage_random", read=self.integer(0, 100), default=random_pct),
            "block": f"{self.value('bs', 'blocksize', read=self.size, default=4096)} B",
        }
        if caps:
            rate = {100: caps[0], 0: caps[1]}.get(read_pct, sum(caps))
            made["arrivals"]["io"]["rate"] = f"{rate * workers} /s"
        sync_pct = self.sync_pct()
        if sync_pct and read_pct < 100:
            made["sync_pct"] = sync_pct
        split = self.value("bssplit", read=self.split, default=())
        if split:
            made["block_mix"] = [{"block": f"{size} B", "share_pct": share} for size, share in split]
        size = self.value("size", read=self.size, default=None)
        if size:
            made["working_set"] = f"{size} B"
        for key in self.options.keys() - self.used:
            known = "rw, bs, bssplit, iodepth, numjobs, size, rwmixread, percentage_random, rate_iops, "
            known += "fsync, fdatasync, sync, ioengine, direct"
            self.fail(key, f"keys that the model knows: {known}", "remove it, or describe the workload in the scenario")
        return made

    def sync_pct(self) -> float:
        """Return the percentage of writes that wait for stable media: one of `N` writes, or all."""
        for key in ("fsync", "fdatasync"):
            every: int = self.value(key, read=self.integer(0, 10**6), default=0)
            if every:
                self.used.update(("fsync", "fdatasync", "sync"))
                return round(100 / every, 6)
        return 100 if self.value("sync", read=self.synchronous, default=False) else 0

    def value(self, *names: str, read: Callable[[str, str], Any], default: Any) -> Any:
        """Return the value of a key, under the first spelling that the job has."""
        self.used.update(names)
        for name in names:
            if name in self.options:
                return read(name, self.options[name][1].strip())
        return default

    def fail(self, key: str, allowed: str, hint: str) -> NoReturn:
        section, written = self.options.get(key, ("global", "(missing)"))
        _refuse(self.path, f"{section}.{key}", written, allowed, hint)

    def access(self, key: str, text: str) -> tuple[int, int]:
        if text not in ACCESS:
            self.fail(key, f"one of {', '.join(ACCESS)}", "use one of these; trims are not modelled")
        return ACCESS[text]

    def engine(self, key: str, text: str) -> str:
        if text not in (*ASYNCHRONOUS, *SYNCHRONOUS):
            self.fail(key, f"one of {', '.join((*ASYNCHRONOUS, *SYNCHRONOUS))}", "use one of these")
        return text

    def integer(self, low: int, high: int) -> Callable[[str, str], int]:
        def read(key: str, text: str) -> int:
            if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
                self.fail(key, f"an integer from {low} to {high}", "write one number, for reads and writes together")
            return int(text)

        return read

    def caps(self, key: str, text: str) -> tuple[int, int]:
        """Return the maximum reads and writes per second."""
        each = self.integer(1, 10**9)
        reads, _, writes = text.partition(",")
        return each(key, reads), each(key, writes or reads)

    def synchronous(self, key: str, text: str) -> bool:
        known = {"0": False, "none": False, "1": True, "sync": True, "dsync": True}
        if text not in known:
            self.fail(key, f"one of {', '.join(known)}", "use one of these")
        return known[text]

    def flag(self, _key: str, text: str) -> bool:
        return text in ("1", "")

    def size(self, key: str, text: str) -> int:
        found = _SIZE.match(text)
        if found is None or int(found[1]) == 0:
            self.fail(
                key, "one size such as 8k or 6400m, in powers of 1,024", "write one size, no percentage and no range"
            )
        return int(found[1]) << _POWER.get((found[2] or "").lower(), 0)

    def split(self, key: str, text: str) -> list[tuple[int, int]]:
        parts = [part.split("/") for part in text.split(":")]
        if len(parts) > 100 or not all(len(part) == 2 for part in parts):
            self.fail(key, "at most 100 entries SIZE/PER CENT such as 4k/60:64k/40", "give every size its per cent")
        return [(self.size(key, size), self.integer(0, 100)(key, share)) for size, share in parts]


def _refuse(path: Path, key: str, value: str, allowed: str, hint: str) -> NoReturn:
    fail("bad-fio", key, short(value, 160) or "nothing", allowed, hint, str(path))
