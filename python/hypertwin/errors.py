"""Errors as exceptions with a stable code and an exit code.

A scenario with errors raises one `ScenarioError` that lists all of them. If all are of one kind, its `code` is the code
of that kind, so a caller can handle it. `CODES` explains every code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

MOST_LISTED = 100
"""Maximum number of errors in a message."""

MAX_ALLOWED = 120
"""Maximum characters of the allowed values in a message. The hint or `hypertwin schema` replaces a longer list."""

MOST_SHOWN = 2_000
"""Maximum characters of each part of an error in a message."""


class HypertwinError(Exception):
    """Base class of all errors that hypertwin reports."""

    code: str = "error"
    """Stable name of the error, a key of `CODES`."""

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 1 for a failed run, 2 for bad usage or input."""
        return CODES[self.code].exit_code


class Argument(str):
    """Argument of a public function with its value, which replaces the file as location of an error."""

    name: str

    def __new__(cls, name: str, value: str = "") -> Argument:
        """Create the text, with the name as an attribute."""
        made = super().__new__(cls, f"{name} {value}".strip())
        made.name = name
        return made


@dataclass(frozen=True)
class Mistake:
    """Error in a scenario, in an override of a scenario, or in input from another system."""

    code: str
    """Stable name of the kind of mistake, such as `unknown-key`."""
    path: str
    """Path in the scenario, with keys joined by dots (`vms.db.vcpus`), or an empty string for the file as a whole."""
    value: str
    """Value as written, shortened if long, or `(missing)` if there is no value."""
    allowed: str
    """Description of the allowed values."""
    hint: str
    """Advice on how to correct the error."""
    file: str = ""
    """Scenario file, or the `Argument` with the error: `overrides vms.db.vcpus=0`."""
    line: int | None = None
    """Line number in the file, starting from 1, or None for an override or an unknown line."""

    @property
    def location(self) -> str:
        """Location as `file:line`, in the form that editors understand."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        """Return the error, then its place, allowed values and advice. Empty lines are left out."""
        typed = not self.file or isinstance(self.file, Argument) or self.file.startswith("--")
        lines = [f"{self._headline(typed)} [{self.code}]"]
        lines += [] if typed else [f"  --> {self.location}"]
        lines += [f"  allowed: {self.allowed}"] if 0 < len(self.allowed) <= MAX_ALLOWED else []
        lines += [f"  help: {short(self.hint, MOST_SHOWN)}"] if self.hint else []
        return printable("\n".join(lines))

    def _headline(self, typed: bool) -> str:
        """Return the error, after the option or argument as typed."""
        value, path = short(self.value, MOST_SHOWN), short(self.path, MOST_SHOWN)
        prefix = f"{self.file}: " if typed and self.file else ""
        outer, _, key = path.rpartition(".")
        if self.code in ("unknown-key", "missing-key") and key:
            return f"{prefix}{self.code.replace('-', ' ')} `{key}`{f' in {outer}' if outer else ''}"
        if path.isupper():  # an argument of a command, which has no name of its own
            return f"unknown name `{value}`" if self.code.startswith("unknown-") else value
        if prefix and not path and self.file.split(" ", 1)[-1] == self.value and self.code in CODES:
            if self.code == "one-of":
                return f"{prefix}only one of these can be given"
            meaning = CODES[self.code].meaning.removesuffix(".")
            lowered = meaning if meaning[1:2].isupper() else f"{meaning[:1].lower()}{meaning[1:]}"  # NUMA stays
            return f"{prefix}{lowered}"
        return f"{prefix}{path}: {value}" if path else f"{prefix}{value}"


class ScenarioError(HypertwinError):
    """Raised if a scenario or an override of a scenario has errors. `mistakes` lists all errors."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        """Keep the errors in the given order. At least one is required."""
        self.mistakes: tuple[Mistake, ...] = tuple(mistakes)
        codes = {mistake.code for mistake in self.mistakes}
        self.code = codes.pop() if len(codes) == 1 else "scenario"
        super().__init__(self.mistakes)

    @staticmethod
    def of(mistakes: Iterable[Mistake]) -> ScenarioError:
        """Return the exception for these errors. If all errors are of one kind, the exception is of the class of that
        kind.
        """
        found = ScenarioError(mistakes)
        family = CODES[found.code].family
        return found if family is ScenarioError else family(found.mistakes)

    def __str__(self) -> str:
        """Return the text of every error, preceded by the number of errors. A long list is cut."""
        if len(self.mistakes) == 1:
            return str(self.mistakes[0])
        listed = [str(mistake) for mistake in self.mistakes[:MOST_LISTED]]
        left = len(self.mistakes) - len(listed)
        return "\n".join(
            (
                f"{len(self.mistakes)} errors",
                *listed,
                *([f"... and {left} more: correct these first"] if left else ()),
            )
        )


class FileError(ScenarioError):
    """Raised if a file cannot be read at all."""


class YamlError(ScenarioError):
    """Raised if a text is not valid YAML, or uses YAML features that scenarios do not support."""


class OverrideError(ScenarioError):
    """Raised if an override or a sweep does not have the form PATH=VALUE."""


class SourceError(ScenarioError):
    """Raised if input from another system (an export, a log, an answer) has errors."""


class RunError(HypertwinError):
    """Raised if a valid scenario could not be simulated.

    The message has the point and the seed to reproduce the error.
    """

    code = "run-failed"


class UnreachableError(HypertwinError):
    """Raised if a system does not answer, or rejects the request. The message never contains a password."""

    code = "unreachable"


class MissingExtraError(HypertwinError):
    """Raised if a function needs packages that the base install does not contain."""

    code = "missing-extra"


def fail(
    code: str, path: str, value: object, allowed: str, hint: str, file: str | object = "", line: int | None = None
) -> NoReturn:
    """Raise the ScenarioError of one error. See `Mistake` for the arguments."""
    where = file if isinstance(file, Argument) else str(file)
    raise ScenarioError.of([Mistake(code, path, str(value), allowed, hint, where, line)]) from None


def short(text: str, most: int = 80) -> str:
    """Return the first `most` characters of a text, with an ellipsis if the text is longer."""
    return text if len(text) <= most else f"{text[:most]}..."


_UNPRINTABLE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\uffff"
    "\U000e0000-\U000e0fff]"
)
"""Characters that control a terminal, or that UTF-8 cannot encode, except line ends."""


def printable(text: str) -> str:
    """Return `text` with terminal control characters as escapes such as `\\x1b`. Line ends are not changed."""
    return text if text.isprintable() else _UNPRINTABLE.sub(_escape, text)


def printable_json(text: str) -> str:
    """Return the equivalent JSON without such characters."""
    return text if text.isascii() and "\x7f" not in text else _UNPRINTABLE.sub(_escape_in_json, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape_in_json(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


@dataclass(frozen=True)
class Code:
    """Meaning of an error code."""

    meaning: str
    exit_code: int
    family: type[ScenarioError] = ScenarioError
    """Exception class of the code. Several codes can share a class."""


_MISTAKES: Mapping[type[ScenarioError], Mapping[str, str]] = {
    FileError: {
        "file-not-found": "The file does not exist.",
        "not-a-file": "The path is a directory or another object without text.",
        "unreadable-file": "The operating system denies reading the file.",
        "file-too-large": "The file is larger than any scenario should be.",
        "file-outside": "A scenario names a file outside the folder that `hypertwin serve` shows, or a hidden one.",
        "not-utf-8": "The file is not UTF-8 text.",
        "control-character": "The file has a control character, such as NUL.",
        "empty-file": "The file is empty.",
    },
    YamlError: {
        "not-yaml": "Not YAML.",
        "several-documents": "More than one YAML document in the file.",
        "too-deep": "Nested deeper than any scenario.",
        "too-many-values": "More values than any scenario has, with aliases expanded.",
        "bad-alias": "An alias without its anchor, or within it.",
        "yaml-tag": "A YAML tag, which could create any type.",
        "merge-key": "A YAML merge key (`<<`).",
        "bad-key": "A key that is a list or a mapping.",
        "duplicate-key": "A key that appears twice.",
    },
    OverrideError: {
        "bad-override": "An override or sweep that is not PATH=VALUE.",
    },
    ScenarioError: {
        "bad-calibration": "Errors in `calibrated_on` that are not AREA KIND NUMBER.",
        "unknown-path": "An override of a path that the scenario does not have.",
        "unknown-key": "An unknown key, often misspelt.",
        "missing-key": "A required key is missing.",
        "wrong-type": "A value of the wrong type.",
        "bad-unit": "A quantity with a wrong unit or without one.",
        "bad-quantity": "Not a quantity.",
        "out-of-range": "A value outside the allowed range.",
        "not-finite": "Infinity, or not a number.",
        "unknown-value": "A value outside the allowed list.",
        "bad-name": "A name with forbidden characters.",
        "duplicate-name": "Two hosts or VMs with the same name.",
        "one-of": "None, or several, of keys that exclude each other: exactly one is required.",
        "guessed-host": "Commands for moves of VMs on a guessed host.",
        "unknown-reference": "An unknown workload, host or array.",
        "vm-wider-than-host": "A VM with more vCPUs than its ESXi host has logical CPUs.",
        "more-vcpus-than-cores": "VM has more vCPUs than its host has cores.",
        "bad-host": "No valid description of a host.",
        "memory-exceeds-host": "A VM with more memory than its host.",
        "no-host-fits": "A VM that fits no host.",
        "two-systems": "Two VMs on a host without hypervisor.",
        "no-host-left": "A VM in a cluster that has no host for it.",
        "no-hosts": "A scenario without hosts.",
        "no-nodes": "A pool without nodes.",
        "cluster-without-hosts": "A cluster without hosts.",
        "host-outside-cluster": "A VM whose host is in another cluster.",
        "rule-crosses-clusters": "A placement rule across clusters, which can never be met.",
        "touched-over-memory": "A VM with more touched memory than memory.",
        "own-over-memory": "More hypervisor memory than the host has.",
        "free-over-capacity": "A datastore with more free space than capacity.",
        "bad-time": "No ISO 8601 date or time.",
        "bad-affinity": "Not a list of logical CPUs.",
        "affinity-outside-host": "Logical CPUs that the host does not have.",
        "odd-topology": "Virtual sockets of different sizes.",
        "uneven-division": "NUMA nodes of a socket, or caches of a node, with different numbers of cores.",
        "cells-not-vcpus": "NUMA cells of a guest that do not add up to its vCPUs.",
        "nodes-not-cells": "More or fewer nodes than cells to bind to them.",
        "node-outside-host": "A NUMA node that the host does not have.",
        "active-over-memory": "A VM with more active memory than memory.",
        "reservation-over-memory": "A VM with a memory reservation above its memory.",
        "huge-pages-limited": "A VM with huge pages and a memory limit below its memory.",
        "huge-pages-ballooned": "A VM with huge pages and a balloon.",
        "limit-below-reservation": "A limit below the reservation.",
        "over-reserved": "CPU reservations exceed the host.",
        "memory-over-reserved": "Memory reservations or huge pages exceed the host.",
        "turbo-below-clock": "A turbo clock below the nominal clock.",
        "wrong-hypervisor": "An option of another hypervisor or version, or a reservation on Linux, which has none.",
        "costart-above-costop": "Co-stopped vCPUs would start above the lead at which they stop.",
        "zero-cycle": "A closed workload without any time in its cycle.",
        "no-session": "A load so low that a closed population has no session.",
        "zero-rate": "Open arrivals that never come.",
        "not-parallel": "A parallel workload with a key of sequential ones.",
        "bad-fio": "A fio job file that cannot be read as a workload.",
        "unlike-benchmark": "A scenario that cannot reproduce the benchmark.",
        "not-io": "A key that io workloads do not have, because their transactions are single I/Os.",
        "kind-and-device": "A disk with both a kind and a model.",
        "wrong-drive": "A figure of a hard disk for flash, or of flash for a hard disk.",
        "too-many-paths": "More optimised paths than paths.",
        "too-few-disks": "Fewer disks than the RAID level needs.",
        "not-local": "Paths, ports or a cache for disks inside a host, or such disks used by several hosts.",
        "no-array": "Virtual disks or an io workload of a VM without an array.",
        "too-many-vdisks": "More virtual disks than the controllers take.",
        "depth-over-maximum": "More requests outstanding on a virtual disk than its controller allows.",
        "not-pvscsi": "Ring pages of a controller that is not PVSCSI.",
        "wrong-controller": "Queues, threads or a cache that the kind of virtual controller does not have.",
        "mix-over-100": "I/O sizes whose shares exceed 100% in total.",
        "unordered-steps": "Load steps out of order.",
        "bad-redundancy": "Neither replicas nor an erasure code.",
        "too-few-domains": "More replicas or fragments than a pool has failure domains.",
        "pool-over-capacity": "More data, with replicas and parity, than the devices of a pool hold.",
        "no-compute-layer": "A two-layer deployment in which every host is a node of the pool.",
        "wrong-layer": "A VM on a host that the deployment of its storage excludes.",
        "no-live-migration": "A migration of a VM that cannot migrate while it runs.",
        "two-storages": "A VM with both an array and a pool.",
        "two-kinds-of-threads": "A service with threads of a node and threads of each device.",
        "too-many-metadata-servers": "More metadata servers than nodes.",
        "fragment-over-chunk": "A fragment larger than the chunk that holds it.",
        "wrong-kind": "A key, or a value of one, that this kind of pool does not have.",
        "no-pool": "A storage policy of a VM without a pool.",
        "two-policies": "Both one policy for all virtual disks of a VM, and policies of each.",
        "too-many-policies": "More policies than the VM has virtual disks.",
        "not-copying": "A key that does not apply to workloads that copy between storages.",
        "one-end": "A copy with one end, by a VM without its own storage.",
        "unknown-component": "A failure of an unknown component.",
        "returns-before-failing": "A return before or at the failure.",
        "never-returns": "A component that never returns, but would return empty.",
        "ends-before-beginning": "Maintenance that ends before it begins.",
        "longest-below-shortest": "A longest time that is below the shortest one, or without one.",
        "joins-twice": "A node or disk that joins its pool twice.",
        "hosts-of-rule": "A host rule without hosts, or hosts in a rule for VMs only.",
        "bad-objective": "A service-level objective that is not METRIC, a sign and a number.",
        "unknown-metric": "An unknown metric.",
        "unknown-column": "A column of measured points that is neither a scenario path nor a report figure.",
        "too-few-values": "Fewer measured values than parameters to fit.",
        "not-measurable": "A figure for which the twin has no value at a measured point.",
        "no-repair": "A pool whose simulation gives no repair time.",
        "not-json": "Text for the core that is not JSON.",
        "unreadable": "A scenario that the schema allows but the core cannot read: a bug in hypertwin.",
        "too-large": "A scenario too large to simulate.",
        "excluded-target": "A target that the plan of a benchmark excludes.",
        "password-in-plan": "A password in the plan of a benchmark.",
        "bad-pattern": "Not a regular expression with one group.",
        "imported-campaign": "An imported campaign has nothing to run.",
        "not-a-campaign": "The folder has no campaign of a benchmark, or a damaged one.",
        "mixed-currencies": "Prices in more than one currency.",
        "more-mistakes": "More errors exist than are listed.",
        "scenario": "Errors of several kinds.",
        "output-is-input": "An output names a file that the command reads.",
        "same-output": "Two outputs name one file.",
    },
    SourceError: {
        "bad-source": "The input is broken, cut off, or in another format.",
        "unknown-source": "No reader recognises the input.",
        "other-command": "A file that another command reads.",
        "no-such-cluster": "The inventory has no cluster of this name, or several.",
        "source-too-large": "The input is larger than any real one.",
        "source-lacks": "The input lacks required data, such as any host.",
        "no-result": "The file is neither a result of a command nor a page with one.",
        "different-points": "The compared simulations have no point in common.",
        "different-kinds": "The compared results are from different commands.",
        "page-not-repeatable": "A page lacks the input of its command, or its command cannot run again.",
        "bad-address": "The address of a system is invalid, or contains a password.",
    },
}
_REFUSED: Mapping[str, str] = {
    "usage": "Options that contradict each other, or that miss another option.",
    "too-long": "A run needs more events than allowed; the message shows the estimate.",
    "missing-extra": "The command needs packages that the base install lacks; the message shows how to install them.",
    "no-page": "A result has no page.",
    "no-browser-core": "The package has no core for pages that simulate; the message shows how to get one.",
    "output-unwritable": "An output cannot be written; checked before anything runs.",
    "output-exists": "An output file exists, and --force was not given.",
    "export-failed": "Samples do not fit esxtop's format, or a file of it cannot be written.",
    "study-unknown": "No study has this name.",
    "example-unknown": "No example has this name.",
    "evidence-damaged": "The errors of published figures cannot be read.",
    "study-invalid": "The files of a study are inconsistent.",
    "bad-machine": "The file is no profile written by `hypertwin lab profile`.",
    "not-a-kernel": "The named file is no readable kernel.",
    "bad-date": "The environment variable SOURCE_DATE_EPOCH, the date of pages, is no valid date.",
    "page-reaches-out": "The command of a page would read or write files outside the page.",
    "not-isal": "The named file cannot be loaded, or is not ISA-L.",
    "not-served": "`hypertwin serve` cannot start: the port, address, token, folder or state folder cannot be used.",
}
_FAILED: Mapping[str, str] = {
    "error": "Another error.",
    "run-failed": "A valid scenario could not be simulated.",
    "output-failed": "An output could not be written after the run, for example because the disk is full.",
    "result-lost": "The result could not be written to stdout.",
    "cache-unusable": "The result cache cannot be read or written.",
    "target-failed": "A target of a benchmark does not answer, or a command failed there.",
    "benchmark-failed": "A benchmark cannot start or go on. Complete runs are kept.",
    "campaign-in-use": "Another process runs the campaign.",
    "prediction-changed": "The prediction is not the one that was made before the first run.",
    "unreachable": "A system does not answer, or rejects the request.",
    "cluster-failed": "The compute cluster lacks workers, or they have another build of hypertwin.",
    "machine-unknown": "The system does not show data that the lab needs.",
    "no-permission": "The system denies a right that a measurement needs.",
    "control-group": "A control group could not be made or set.",
    "guest-part-missing": "A program or file for the guest is missing on this computer, or unreadable.",
    "guest-failed": "A guest did not start, or stopped answering.",
    "lab": "An experiment could not be made.",
    "lab-disk": "The disk could not be measured, or no device fitted to it.",
    "fio-missing": "fio is not installed on this computer.",
    "fio-failed": "fio could not run the measurement, for example because its folder is not on a disk.",
    "lab-profile": "The computer could not be measured.",
    "isal-missing": "ISA-L is not installed on this computer.",
    "coding-wrong": "The erasure-coding library did not restore lost data.",
    "too-little-memory": "The stripes to measure do not fit into the free memory.",
}

CODES: Mapping[str, Code] = {
    **{code: Code(meaning, 2, family) for family, codes in _MISTAKES.items() for code, meaning in codes.items()},
    **{code: Code(meaning, 2) for code, meaning in _REFUSED.items()},
    **{code: Code(meaning, 1) for code, meaning in _FAILED.items()},
}
"""All codes that hypertwin reports, with their meaning."""


def to_markdown() -> str:
    """Return the page docs/errors.md."""
    lines = [
        "# Errors",
        "",
        "Error codes appear in brackets in messages, and as `code` of exceptions. Exit code 2 is bad usage or input,",
        "found before anything runs; 1 is a failed run. A `ScenarioError` lists errors, and has their common code, or",
        "`scenario` if they differ. Generated from `hypertwin/errors.py` by `make docs`.",
        "",
        "| code | exit code | exception | meaning |",
        "|---|---|---|---|",
    ]
    for code, entry in CODES.items():
        family = entry.family.__name__ if entry.exit_code == 2 and code not in _REFUSED else "HypertwinError"
        lines.append(f"| `{code}` | {entry.exit_code} | `{family}` | {entry.meaning} |")
    return "\n".join(lines) + "\n"
