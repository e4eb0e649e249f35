"""List of commands in the order of the help, and the help of `hypertwin` itself.

This module imports no command and no Typer, so that `hypertwin --help` is fast.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Simulate": {
        "init": "Write a commented scenario to edit",
        "examples": "List, print or write the scenarios that come with hypertwin",
        "simulate": "Simulate a cluster under one or more loads",
        "compare": "Compare two results, and separate changes from chance",
        "rerun": "Run the command of a page again",
        "serve": "Plan in the browser: edit scenarios, simulate, plan and compare",
    },
    "Plan": {
        "capacity": "Show capacity, failover headroom and VMs remaining",
        "plan": "Plan VM placement and new hosts: failover, balance, maintenance, refresh",
        "density": "Find how many VMs meet service-level objectives",
        "size": "Size a VM: vCPUs, sockets and NUMA nodes, with the change to paste",
        "vnuma": "Show the virtual NUMA nodes of a VM, and their host nodes",
        "durability": "Compare cost and data-loss risk of replicas and erasure codes",
    },
    "Real systems": {
        "import": "Import a cluster from RVTools, vCenter, Proxmox VE, KVM and others",
        "diagnose": "Find problems in a cluster and test fixes",
        "telemetry": "Convert measurements of esxtop, vCenter, Prometheus and others into one table",
        "calibrate": "Fit a scenario to measurements",
    },
    "Check the twin": {
        "validate": "Compare the twin with every published figure",
        "benchmark": "Predict a benchmark of your VMs, run it, and compare",
        "lab": "Predict and measure this computer",
    },
    "Reference and setting up": {
        "devices": "List drives for `device:` in a scenario",
        "presets": "List storage pools for `preset:` in a scenario: Ceph, vSAN and others",
        "schema": "Print the JSON Schema of the scenario file",
        "migrate": "Rename old keys in scenarios and results",
        "cache": "List, prune or locate the result cache",
        "completion": "Print a shell completion script",
    },
}
"""Commands and their purposes, by section."""

SUMMARIES: Mapping[str, str] = {name: text for section in SECTIONS.values() for name, text in section.items()}
"""Purpose of each command, by name."""

_ODD_MODULES = {"import": "import_"}

COMMANDS: Mapping[str, str] = {name: f"hypertwin.cli.{_ODD_MODULES.get(name, name)}" for name in SUMMARIES}
"""Module of each command."""

PURPOSE = "A performance twin and capacity planner for virtualised clusters, for ESXi and KVM."

OPTIONS: Mapping[str, str] = {
    "--explain": "Print every table, note and assumption.",
    "-q, --quiet": "No notes and no progress on stderr; warnings and errors stay.",
    "-v, --verbose": "Print what is read, from where, and how long it takes.",
    "--version": "Print the version and exit.",
    "-h, --help": "Show this message and exit.",
}
"""Options of `hypertwin` itself. All except the version are also options of every command."""

EXAMPLES = (
    "hypertwin init --hypervisor kvm --hosts 3 --storage pool",
    "hypertwin simulate scenario.yaml --report report.html",
)

COMPLETE = "_HYPERTWIN_COMPLETE"
"""Environment variable of shell completion requests."""

WIDEST = 100
"""Maximum number of columns of a help text. Longer lines would be hard to read."""


def width() -> int:
    """Return the number of columns of a help text on this terminal."""
    try:
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size().columns
    except (OSError, ValueError):
        columns = 80
    return max(min(columns, WIDEST), 40)


def help_text(columns: int) -> str:
    """Return the text of `hypertwin --help`."""
    lines = ["Usage: hypertwin [OPTIONS] COMMAND [ARGUMENTS]...", "", *textwrap.wrap(PURPOSE, columns)]
    for title, section in {**SECTIONS, "Options": OPTIONS}.items():
        lines += ["", f"{title}:", *_rows(section, columns)]
    lines += ["", "Examples:", *(f"  {example}" for example in EXAMPLES)]
    lines += ["", *textwrap.wrap("`hypertwin COMMAND --help` has the options and examples of a command.", columns)]
    lines += textwrap.wrap("`hypertwin help symptoms` finds the command for a symptom or question.", columns)
    return "".join(f"{line}\n" for line in lines)


def _rows(section: Mapping[str, str], columns: int) -> Iterator[str]:
    beside = max(map(len, (*SUMMARIES, *OPTIONS))) + 4
    for name, text in section.items():
        first, *more = textwrap.wrap(text, columns - beside)
        yield f"  {name:{beside - 2}}{first}"
        yield from (f"{'':{beside}}{line}" for line in more)
