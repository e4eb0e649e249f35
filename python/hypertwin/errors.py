"""What can go wrong, as exceptions with a stable code and an exit code.

A scenario with mistakes raises one `ScenarioError` that lists all of them. When all are of one kind its `code` is that
kind's, so that a caller can tell what it can handle. `CODES` says what every code means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

MOST_LISTED = 100
"""Mistakes that a message lists."""

MAX_ALLOWED = 120
"""Letters of what is allowed; a longer list is left to the hint, or to `hypertwin schema`."""

MOST_SHOWN = 2_000
"""Letters of each part of a mistake that a message shows."""


class HypertwinError(Exception):
    """Anything that hypertwin reports to its user."""

    code: str = "error"
    """Stable name of what is wrong, a key of `CODES`."""

    @property
    def exit_code(self) -> int:
        """What the command line exits with: 1 when it failed at work, 2 for bad usage or input."""
        return CODES[self.code].exit_code


class Argument(str):
    """An argument of a public function, and what of it is meant, where a mistake else has its file."""

    name: str

    def __new__(cls, name: str, value: str = "") -> Argument:
        """As one text; the name beside it."""
        made = super().__new__(cls, f"{name} {value}".strip())
        made.name = name
        return made


@dataclass(frozen=True)
class Mistake:
    """One mistake in a scenario, in an override of it, or in something of another system's."""

    code: str
    """Stable name of the kind of mistake, such as `unknown-key`."""
    path: str
    """Where in the scenario: keys joined by dots (`vms.db.vcpus`); empty for the file as a whole."""
    value: str
    """The value as written, shortened when long; `(missing)` where there is none."""
    allowed: str
    """What would be accepted."""
    hint: str
    """What to do about it."""
    file: str = ""
    """The scenario file, or the `Argument` that it is in: `overrides vms.db.vcpus=0`."""
    line: int | None = None
    """Line in the file, from 1; None for an override or where no line is known."""

    @property
    def location(self) -> str:
        """`file:line`, as editors understand it."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        """What is wrong, and below it where, what is allowed, and what to do; a line that says nothing is left out."""
        typed = not self.file or isinstance(self.file, Argument) or self.file.startswith("--")
        lines = [f"{self._headline(typed)} [{self.code}]"]
        lines += [] if typed else [f"  --> {self.location}"]
        lines += [f"  allowed: {self.allowed}"] if 0 < len(self.allowed) <= MAX_ALLOWED else []
        lines += [f"  help: {short(self.hint, MOST_SHOWN)}"] if self.hint else []
        return printable("\n".join(lines))

    def _headline(self, typed: bool) -> str:
        """What is wrong, after the option or argument that was typed."""
        value, path = short(self.value, MOST_SHOWN), short(self.path, MOST_SHOWN)
        prefix = f"{self.file}: " if typed and self.file else ""
        outer, _, key = path.rpartition(".")
        if self.code in ("unknown-key", "missing-key") and key:
            return f"{prefix}{self.code.replace('-', ' ')} `{key}`{f' in {outer}' if outer else ''}"
        if prefix and not path and self.file.split(" ", 1)[-1] == self.value and self.code in CODES:
            meaning = CODES[self.code].meaning
            return f"{prefix}{meaning[:1].lower()}{meaning[1:].removesuffix('.')}"
        return f"{prefix}{path}: {value}" if path else f"{prefix}{value}"


class ScenarioError(HypertwinError):
    """A scenario, or an override of it, has mistakes; `mistakes` lists every one."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        """Keep the mistakes in the order given; there must be at least one."""
        self.mistakes: tuple[Mistake, ...] = tuple(mistakes)
        codes = {mistake.code for mistake in self.mistakes}
        self.code = codes.pop() if len(codes) == 1 else "scenario"
        super().__init__(self.mistakes)

    @staticmethod
    def of(mistakes: Iterable[Mistake]) -> ScenarioError:
        """The exception for these mistakes: of their family's class if they are all of one kind."""
        found = ScenarioError(mistakes)
        family = CODES[found.code].family
        return found if family is ScenarioError else family(found.mistakes)

    def __str__(self) -> str:
        """Every mistake, with a count in front when there are several; of very many the first."""
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
    """A file cannot be read at all."""


class YamlError(ScenarioError):
    """The text is not the YAML that a scenario is made of."""


class OverrideError(ScenarioError):
    """An override or sweep is not PATH=VALUE."""


class SourceError(ScenarioError):
    """Something of another system's (an export, a log, an answer) has mistakes."""


class RunError(HypertwinError):
    """A valid scenario could not be simulated. The message names the point and the seed that reproduce it."""

    code = "run-failed"


class UnreachableError(HypertwinError):
    """A system does not answer, or refuses. The message never has a password."""

    code = "unreachable"


class MissingExtraError(HypertwinError):
    """Something needs packages that the base install does not have."""

    code = "missing-extra"


def fail(
    code: str, path: str, value: object, allowed: str, hint: str, file: str | object = "", line: int | None = None
) -> NoReturn:
    """Raise the ScenarioError of one mistake; see `Mistake` for the arguments."""
    where = file if isinstance(file, Argument) else str(file)
    raise ScenarioError.of([Mistake(code, path, str(value), allowed, hint, where, line)]) from None


def short(text: str, most: int = 80) -> str:
    """At most `most` characters, with an ellipsis where some are left out."""
    return text if len(text) <= most else f"{text[:most]}..."


_UNPRINTABLE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\uffff"
    "\U000e0000-\U000e0fff]"
)
"""What a terminal would obey rather than show, or a UTF-8 file cannot take; a line end is neither."""


def printable(text: str) -> str:
    """`text` for people: `\\x1b` and the like where it has what a terminal obeys rather than shows. Line ends stay."""
    return text if text.isprintable() else _UNPRINTABLE.sub(_escape, text)


def printable_json(text: str) -> str:
    """JSON of the same meaning without such characters."""
    return text if text.isascii() and "\x7f" not in text else _UNPRINTABLE.sub(_escape_in_json, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape_in_json(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


@dataclass(frozen=True)
class Code:
    """What a code stands for."""

    meaning: str
    exit_code: int
    family: type[ScenarioError] = ScenarioError
    """The class of an exception whose mistakes all have this code; that of other codes is the one that has the code."""


_MISTAKES: Mapping[type[ScenarioError], Mapping[str, str]] = {
    FileError: {
        "file-not-found": "There is no such file.",
        "not-a-file": "It is a directory or another thing that holds no text.",
        "unreadable-file": "The operating system refuses to read it.",
        "file-too-large": "It is larger than any scenario should be.",
        "not-utf-8": "It is not text in UTF-8.",
        "control-character": "It has a control character, such as NUL.",
        "empty-file": "There is nothing in it.",
    },
    YamlError: {
        "not-yaml": "Not YAML.",
        "several-documents": "More than one YAML document in the file.",
        "too-deep": "Nested deeper than any scenario.",
        "too-many-values": "More values than any scenario has, aliases written out.",
        "bad-alias": "An alias without its anchor, or within it.",
        "yaml-tag": "A YAML tag, which could ask for any type.",
        "merge-key": "A YAML merge key (`<<`).",
        "bad-key": "A key that is a list or a mapping.",
        "duplicate-key": "A key that is there twice.",
    },
    OverrideError: {
        "bad-override": "An override or sweep that is not PATH=VALUE.",
    },
    ScenarioError: {
        "unknown-path": "An override of a place that the scenario does not have.",
        "unknown-key": "A key that does not exist, often a misspelt one.",
        "missing-key": "A key that must be there and is not.",
        "wrong-type": "A value of another type.",
        "bad-unit": "A quantity with a wrong unit or without one.",
        "bad-quantity": "Not a quantity.",
        "out-of-range": "Less or more than is allowed.",
        "not-finite": "Infinity, or not a number.",
        "unknown-value": "None of the values to choose from.",
        "bad-name": "A name with characters that are not allowed.",
        "duplicate-name": "Two hosts or VMs of one name.",
        "one-of": "None, or several, of keys of which there must be exactly one.",
        "guessed-host": "Commands for moves of VMs whose host is a guess.",
        "unknown-reference": "A workload, host or array that is not in the scenario.",
        "vm-wider-than-host": "A VM with more vCPUs than its ESXi host has logical CPUs.",
        "more-vcpus-than-cores": "A VM to be sized with more vCPUs than its host has physical cores.",
        "bad-host": "Not the description of a host.",
        "memory-exceeds-host": "A VM with more memory than its host.",
        "no-host-fits": "A VM that no host fits as a whole.",
        "two-systems": "Two machines on a host without hypervisor.",
        "no-host-left": "A VM in a cluster that has no host for it.",
        "no-hosts": "A scenario in which no host is left.",
        "no-nodes": "A pool whose nodes were taken away.",
        "cluster-without-hosts": "A cluster that no host is in.",
        "host-outside-cluster": "A VM whose host is in another cluster.",
        "rule-crosses-clusters": "A placement rule that clusters keep from being kept.",
        "touched-over-memory": "A VM that has touched more memory than it has.",
        "own-over-memory": "A hypervisor that occupies more memory than its host has.",
        "free-over-capacity": "A datastore with more free space than capacity.",
        "bad-time": "Not a date or time as ISO 8601 writes it.",
        "bad-affinity": "Not a list of logical CPUs.",
        "affinity-outside-host": "Logical CPUs that the host does not have.",
        "odd-topology": "Virtual sockets of different sizes.",
        "uneven-division": "NUMA nodes of a socket, or caches of a node, with different numbers of cores.",
        "cells-not-vcpus": "Cells of a guest that do not hold exactly its vCPUs.",
        "nodes-not-cells": "More or fewer nodes than cells to bind to them.",
        "node-outside-host": "A NUMA node that the host does not have.",
        "active-over-memory": "A VM with more active memory than it has.",
        "reservation-over-memory": "A VM that reserves more memory than it has.",
        "huge-pages-limited": "A VM with huge pages and a memory limit below its memory.",
        "huge-pages-ballooned": "A VM with huge pages and a balloon.",
        "limit-below-reservation": "A limit under the reservation.",
        "over-reserved": "A host with more CPU reserved than it has.",
        "turbo-below-clock": "A turbo clock under the nominal clock.",
        "wrong-hypervisor": "An option of another hypervisor or version, or a reservation where there is none (Linux).",
        "costart-above-costop": "Co-stopped vCPUs would start above the lead at which they stop.",
        "zero-cycle": "A closed workload without any time in its cycle.",
        "zero-rate": "Open arrivals that never come.",
        "not-parallel": "A parallel workload with something that only sequential ones have.",
        "bad-fio": "A fio job file that cannot be read as a workload.",
        "unlike-benchmark": "A scenario that cannot do what a benchmark did.",
        "not-io": "Something that an io workload, whose transactions are single I/Os, does not have.",
        "kind-and-device": "A disk that is of a kind and of a model.",
        "wrong-drive": "A figure of a hard disk for flash, or of flash for a hard disk.",
        "too-many-paths": "More optimised paths than paths.",
        "not-local": "Paths, ports or a cache of disks inside a host, or disks inside a host used from several.",
        "no-array": "Virtual disks or an io workload of a VM without an array.",
        "too-many-vdisks": "More virtual disks than the controllers take.",
        "depth-over-maximum": "More requests outstanding on a virtual disk than its controller allows.",
        "not-pvscsi": "Ring pages of a controller that is not PVSCSI.",
        "wrong-controller": "Queues, threads or a cache that the kind of virtual controller does not have.",
        "mix-over-100": "Sizes of I/Os whose shares are more than 100 % in all.",
        "unordered-steps": "Load steps out of order.",
        "bad-redundancy": "Neither copies nor an erasure code.",
        "too-few-domains": "More copies or fragments than a pool has failure domains.",
        "pool-over-capacity": "More data, with copies and parity, than a pool's devices hold.",
        "no-compute-layer": "A two-layer deployment in which every host is a node of the pool.",
        "wrong-layer": "A VM on a host where the deployment of its storage has none.",
        "two-storages": "A VM with both an array and a pool.",
        "two-kinds-of-threads": "A service with threads of a node and threads of each device.",
        "too-many-metadata-servers": "More metadata servers than nodes.",
        "fragment-over-chunk": "A fragment larger than the chunk that holds it.",
        "wrong-kind": "A key that this kind of pool does not have.",
        "no-pool": "A storage policy of a VM without a pool.",
        "two-policies": "Both one policy for all virtual disks of a VM, and policies of each.",
        "too-many-policies": "More policies than the VM has virtual disks.",
        "not-copying": "Something that a workload does not do that copies from one storage to another.",
        "one-end": "A copy with one end, by a VM without storage of its own.",
        "unknown-component": "Something fails that is not in the scenario.",
        "returns-before-failing": "A return that is not after the failure.",
        "never-returns": "Something that would come back empty, and never comes back.",
        "ends-before-beginning": "Maintenance that ends before it begins.",
        "joins-twice": "A node or disk that joins its pool twice.",
        "hosts-of-rule": "A rule about hosts without any, or hosts in one that is about none.",
        "bad-objective": "A service-level objective that is not METRIC, a sign and a number.",
        "unknown-metric": "A figure that reports do not have.",
        "unknown-column": "A column of measured points that is no place in the scenario and no figure of a report.",
        "too-few-values": "Fewer measured values than parameters to fit.",
        "not-measurable": "A figure for which the twin has no value at a measured point.",
        "no-repair": "A pool from whose simulation no repair time follows.",
        "not-json": "Text for the core that is not JSON.",
        "unreadable": "A scenario that the schema allows and the core cannot read: a fault of hypertwin.",
        "too-large": "A scenario too large to simulate.",
        "more-mistakes": "There are more mistakes than are listed.",
        "scenario": "Mistakes of several kinds.",
        "output-is-input": "An output names a file that the command reads.",
        "same-output": "Two outputs name one file.",
    },
    SourceError: {
        "bad-source": "It is not what it should be: broken, cut off, or of another form than it says.",
        "unknown-source": "No reader recognises it.",
        "other-command": "A file that another command reads.",
        "no-such-cluster": "The inventory has no cluster of this name, or several.",
        "source-too-large": "It has more of something than any real one.",
        "source-lacks": "It lacks what cannot be assumed, such as any host.",
        "no-result": "It is no result of a command, and no page that holds one.",
        "different-points": "Two simulations to be compared have no point in common.",
        "different-kinds": "Two results of different commands are to be compared.",
        "page-not-repeatable": "A page does not hold what its command needs, or that is none to run again.",
        "bad-address": "The address of a system is not one, or has a password in it.",
    },
}
_REFUSED: Mapping[str, str] = {
    "usage": "Options that contradict each other, or that lack something.",
    "too-long": "A run would take more events than it may; the message says how that was reckoned.",
    "missing-extra": "It needs packages that the base install does not have; the message says how to install them.",
    "no-page": "A result has no page.",
    "output-unwritable": "An output cannot be written; found before anything runs.",
    "output-exists": "A file to be written exists, and --force was not given.",
    "export-failed": "Samples do not fit esxtop's format, or a file of it cannot be written.",
    "study-unknown": "No study has this name.",
    "example-unknown": "No example has this name.",
    "study-invalid": "The files of a study do not fit together.",
    "bad-machine": "A file that is no machine.json.",
    "not-a-kernel": "The file that was named is not a kernel that can be read.",
    "bad-date": "The environment variable SOURCE_DATE_EPOCH, the date of pages, is none.",
    "page-reaches-out": "The command of a page would read or write more than the page holds.",
    "not-isal": "The file that was named cannot be loaded, or is not ISA-L.",
}
_FAILED: Mapping[str, str] = {
    "error": "Something else.",
    "run-failed": "A valid scenario could not be simulated.",
    "output-failed": "An output could not be written after the run, for example because the disk is full.",
    "result-lost": "The result could not be written to stdout.",
    "cache-unusable": "The cache of results cannot be read or written.",
    "unreachable": "A system does not answer, or refuses.",
    "cluster-failed": "A cluster that simulations were given to lacks workers, or they have another hypertwin.",
    "machine-unknown": "The system does not tell what the lab needs to know.",
    "no-permission": "The system refuses something that a measurement needs.",
    "control-group": "A control group could not be made or set.",
    "guest-part-missing": "A program or file that a guest is made of is not on this machine, or cannot be read.",
    "guest-failed": "A guest did not start, or stopped answering.",
    "lab": "An experiment could not be made.",
    "lab-disk": "The disk could not be measured, or no device fitted to it.",
    "fio-missing": "fio is not on this machine.",
    "fio-failed": "fio could not do what was measured, for example because its folder is not on a disk.",
    "lab-profile": "The machine could not be measured.",
    "isal-missing": "ISA-L is not on this machine.",
    "coding-wrong": "The erasure-coding library did not give back what was lost.",
    "too-little-memory": "The stripes to measure do not fit into the free memory.",
}

CODES: Mapping[str, Code] = {
    **{code: Code(meaning, 2, family) for family, codes in _MISTAKES.items() for code, meaning in codes.items()},
    **{code: Code(meaning, 2) for code, meaning in _REFUSED.items()},
    **{code: Code(meaning, 1) for code, meaning in _FAILED.items()},
}
"""Every code that hypertwin reports."""


def to_markdown() -> str:
    """The page docs/errors.md."""
    lines = [
        "# Errors",
        "",
        "What a message names in brackets, and `code` of an exception. Exit code 2 is bad usage or input, found before",
        "anything runs; 1 is a run that failed. A `ScenarioError` lists mistakes, and has the code of all of them, or",
        "`scenario` when they differ. Generated from `hypertwin/errors.py` by `make docs`.",
        "",
        "| code | exit code | exception | meaning |",
        "|---|---|---|---|",
    ]
    for code, entry in CODES.items():
        family = entry.family.__name__ if entry.exit_code == 2 and code not in _REFUSED else "HypertwinError"
        lines.append(f"| `{code}` | {entry.exit_code} | `{family}` | {entry.meaning} |")
    return "\n".join(lines) + "\n"
