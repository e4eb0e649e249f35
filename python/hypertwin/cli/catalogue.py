"""The commands that there are, in the order of the help, and the help of `hypertwin` itself.

Nothing here imports a command, or Typer: `hypertwin --help` answers at once.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Simulate": {
        "init": "Write a commented scenario to change to what you have",
        "examples": "List, print or write the scenarios that come with hypertwin",
        "simulate": "Say what a cluster will do under a load, or under several",
        "compare": "Say what changed between two results, and by more than chance",
        "rerun": "Run the command of a page again",
    },
    "Plan": {
        "capacity": "Say how full clusters are, with a host less too, and what still fits",
        "plan": "Say where VMs go: to survive a failure, to balance, to empty a host, new ones",
        "density": "Find how many VMs meet service-level objectives",
        "size": "Advise on vCPUs, sockets and NUMA nodes of a VM, with the text to paste",
        "vnuma": "Draw the NUMA nodes that a guest sees, and where they are",
        "durability": "Compare what copies and erasure codes cost, and how likely they lose data",
    },
    "Real systems": {
        "import": "Make a scenario of an RVTools export, vCenter, KVM, Proxmox VE and others",
        "diagnose": "Say what is wrong with a cluster, and what would cure it",
        "telemetry": "Bring measurements of esxtop, vCenter, Prometheus and others into one table",
        "calibrate": "Fit a scenario to what was measured",
    },
    "Check the twin": {
        "validate": "Compare the twin with every published figure",
        "lab": "Measure this machine, and what the twin predicted of it",
    },
    "Reference and setting up": {
        "devices": "List the drives that a scenario may name",
        "presets": "List the pools that a scenario may name: Ceph, vSAN and others",
        "schema": "Print the JSON Schema of the scenario file",
        "migrate": "Rename the keys of older files to those of today",
        "cache": "List results that are kept to be used again, and make room",
        "completion": "Print what makes a shell complete commands and options",
    },
}
"""Each command with what it is for, by section."""

SUMMARIES: Mapping[str, str] = {name: text for section in SECTIONS.values() for name, text in section.items()}
"""What each command is for."""

_ODD_MODULES = {"import": "import_"}

COMMANDS: Mapping[str, str] = {name: f"hypertwin.cli.{_ODD_MODULES.get(name, name)}" for name in SUMMARIES}
"""The module of each command."""

PURPOSE = "A performance twin and capacity planner for virtualised clusters, for ESXi and KVM."

OPTIONS: Mapping[str, str] = {
    "--explain": "Print every table, note and assumption.",
    "-q, --quiet": "No notes and no progress on stderr; warnings and errors stay.",
    "-v, --verbose": "Print what is read, from where, and how long it takes.",
    "--version": "Print the version and exit.",
    "-h, --help": "Show this message and exit.",
}
"""Options of `hypertwin` itself; all but the version are options of every command, too."""

EXAMPLES = (
    "hypertwin init --hypervisor kvm --hosts 3 --storage pool",
    "hypertwin simulate scenario.yaml --report report.html",
)

COMPLETE = "_HYPERTWIN_COMPLETE"
"""The environment variable by which a shell asks for completions."""

WIDEST = 100
"""Columns of a help text; in a wider terminal lines would be hard to read."""


def width() -> int:
    """Columns of a help text on this terminal."""
    try:
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size().columns
    except (OSError, ValueError):
        columns = 80
    return max(min(columns, WIDEST), 40)


def help_text(columns: int) -> str:
    """What `hypertwin --help` prints."""
    lines = ["Usage: hypertwin [OPTIONS] COMMAND [ARGUMENTS]...", "", *textwrap.wrap(PURPOSE, columns)]
    for title, section in {**SECTIONS, "Options": OPTIONS}.items():
        lines += ["", f"{title}:", *_rows(section, columns)]
    lines += ["", "Examples:", *(f"  {example}" for example in EXAMPLES)]
    lines += ["", *textwrap.wrap("`hypertwin COMMAND --help` has the options and examples of a command.", columns)]
    return "".join(f"{line}\n" for line in lines)


def _rows(section: Mapping[str, str], columns: int) -> Iterator[str]:
    beside = max(map(len, (*SUMMARIES, *OPTIONS))) + 4
    for name, text in section.items():
        first, *more = textwrap.wrap(text, columns - beside)
        yield f"  {name:{beside - 2}}{first}"
        yield from (f"{'':{beside}}{line}" for line in more)
