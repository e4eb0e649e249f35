"""Commands by kind of file, to name the right command in an error about a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hypertwin.errors import HypertwinError, Mistake, ScenarioError

HEAD_BYTES = 1 << 16
"""Bytes of a file that are read to detect its kind."""

SCENARIO_COMMANDS = frozenset(
    {"simulate", "capacity", "plan", "density", "size", "vnuma", "durability", "calibrate", "migrate", "diagnose"}
)


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    name: str
    """Name in a sentence: `a scenario`."""
    recognises: Callable[[bytes], bool]
    """Function that returns true if the first bytes of a file match the kind."""
    commands: frozenset[str]
    """Names of the commands that read the kind of file."""
    how: str
    """Command line that reads `{file}`, with its purpose."""


def _text(pattern: str) -> Callable[[bytes], bool]:
    found = re.compile(pattern.encode(), re.MULTILINE | re.IGNORECASE)
    return lambda head: found.search(head) is not None


def _telemetry(*names: str) -> Callable[[bytes], bool]:
    """Return a function that is true for telemetry of these formats, or of any without names."""

    def recognises(head: bytes) -> bool:
        from hypertwin.ingest import formats  # as long to import as all else together

        found = next((each.name for each in formats.FORMATS if each.recognises(head)), None)
        return found in names if names else found is not None

    return recognises


TELEMETRY_COMMANDS = frozenset({"diagnose", "telemetry", "import"})


KINDS = (
    Kind(
        "a page of hypertwin",
        _text(r"<title>[^<]*· hypertwin</title>"),
        frozenset({"rerun", "compare"}),
        "hypertwin rerun {file}, or compare it with another page: hypertwin compare {file} OTHER.html",
    ),
    Kind(
        "a result of hypertwin",
        _text(r'\A\s*[\[{]\s*{?\s*"(version|hypertwin)"'),
        frozenset({"compare", "migrate"}),
        "hypertwin compare {file} OTHER.json",
    ),
    Kind(
        "an .xlsx or .zip export",
        lambda head: head.startswith(b"PK\x03\x04"),
        frozenset({"import"}),
        "hypertwin import {file} -o cluster.yaml",
    ),
    Kind(
        "a plan of a benchmark",
        lambda head: _text("^steps:")(head) and _text("^load:")(head),
        frozenset({"benchmark"}),
        "hypertwin benchmark run {file} -o run/",
    ),
    Kind(
        "a scenario",
        _text(r"^(hosts|vms|workloads|clusters):"),
        SCENARIO_COMMANDS,
        "hypertwin simulate {file}, hypertwin capacity {file}, or hypertwin diagnose --cluster {file}",
    ),
    Kind(
        "results of a storage benchmark",
        _telemetry("fio", "HCIBench results", "Vdbench"),
        TELEMETRY_COMMANDS | {"benchmark", "calibrate"},
        "hypertwin diagnose {file}",
    ),
    Kind(
        "output of a load generator",
        _telemetry("sysbench", "pgbench", "HammerDB"),
        TELEMETRY_COMMANDS | {"benchmark"},
        "hypertwin diagnose {file}",
    ),
    Kind("telemetry", _telemetry(), TELEMETRY_COMMANDS, "hypertwin diagnose {file}"),
)
"""Kinds of files, in the order in which they are tried."""

HINTS = {
    ("diagnose", "a scenario"): "hypertwin diagnose --cluster {file}",
    ("compare", "a scenario"): "write results first: hypertwin simulate {file} -o A.json",
    ("import", "a scenario"): "it is imported already: hypertwin capacity {file}",
}
"""Hints for one command and one kind of file, which replace the general hint."""

ADDRESSES = {
    "pve": "write proxmox://USER@REALM!TOKENID@HOST for a Proxmox VE cluster",
    "prism": "write nutanix://USER@HOST for the clusters of a Prism Central",
    "ahv": "write nutanix://USER@HOST for the clusters of a Prism Central",
    "esxi": "write vcenter://USER@HOST for a single ESXi host, too",
    "kvm": "write qemu+ssh://USER@HOST/system",
    "ssh": "write qemu+ssh://USER@HOST/system",
}
"""Hints for addresses with a scheme that no command reads."""


def redirected(error: HypertwinError, arguments: Sequence[str]) -> HypertwinError:
    """Return the error, or one that names the right command for a file of a command line."""
    if not isinstance(error, ScenarioError):
        return error
    command = next((word for word in arguments if not word.startswith("-")), "")
    first = error.mistakes[0]
    if first.code == "output-is-input":  # its file is an output
        return error
    scheme = first.file.partition("://")[0]
    if first.code == "unknown-source" and scheme in ADDRESSES:
        return ScenarioError.of(
            [Mistake(first.code, "", "an address that no reader knows", "", ADDRESSES[scheme], first.file)]
        )
    # a command also reads files that it was not given, such as the scenario of a study: there, the error is the content
    kind = kind_of(Path(first.file)) if first.file in arguments and not first.file.startswith("--") else None
    if kind is None or (command in kind.commands and first.code != "unknown-source"):
        return error
    how = HINTS.get((command, kind.name), kind.how).format(file=first.file)
    what = f"{kind.name}, which {command} does not read" if command else kind.name
    return ScenarioError.of([Mistake("other-command", "", what, "", how, first.file)])


def kind_of(path: Path) -> Kind | None:
    """Return the kind of a file, or None if it is unknown or unreadable."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return None
    return next((kind for kind in KINDS if kind.recognises(head)), None)
