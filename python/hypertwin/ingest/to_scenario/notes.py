"""Notes of an import in words: assumptions of a scenario, its description, the summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from hypertwin.ingest import outside
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Assumption, Inventory, Vm
from hypertwin.naming import counted

MOST_DESCRIPTION = 9_000
"""Maximum characters of the notes in a scenario's description, which can have 10,000."""
NAMES_IN_DESCRIPTION = 8
"""Maximum number of names in one line of the description."""
AFFIXED = "host matched only by the beginning or end of its name: check that the export adds an affix to names"
"""Note that `summary` shows as a warning."""
WARNINGS = ("not modelled", "drive model", "check with `", "left out with its guests", "threads share cores")
"""Parts of notes that `summary` shows as warnings."""
MAX_NAMES = 4
"""Maximum number of names in one assumption."""
MAX_BRIEF = 3
"""Maximum number of gaps in a brief summary."""

MOST_UNUSED = 12
"""Maximum number of tabs, and columns, in the line about unused data."""


def note_load(notes: ImportNotes, vms: Sequence[Vm], on_pools: int) -> None:
    """Note assumptions about the load of all VMs, of which `on_pools` have a known storage pool."""
    if not vms:
        return
    notes.assumed("assumed bursts of 20 million cycles (8 ms at 2.5 GHz): means do not show their length")
    if on_pools < len(vms):
        of = f" of {len(vms) - on_pools} VMs" if on_pools else ""
        notes.assumed(f"I/O{of} has no latency: the storage behind the datastores is unknown")
    if on_pools and not any(vm.demand is not None and vm.demand.iops for vm in vms):
        notes.assumed("I/O demand of VMs on storage pools is unknown: they do no I/O; set workloads.NAME.ios")
    measured = Counter(outside.name(vm.demand.over) for vm in vms if vm.demand is not None and vm.demand.over)
    for over, count in measured.most_common(3):
        notes.assumed(f"demand of {count} VMs: {over}")


def assumptions(notes: ImportNotes, inventory: Inventory, most_names: int = MAX_NAMES) -> list[Assumption]:
    """Return all notes, each with at most `most_names` names."""
    totals = {"host": len(inventory.hosts), "VM": len(inventory.vms)}
    return [
        Assumption(_subject(note.kind, names, totals.get(note.kind), most_names if note.is_named else 0), note.text)
        for note, names in notes.names.items()
    ]


def description(notes: ImportNotes, inventory: Inventory, hosts: int, vms: int) -> str:
    """Return the scenario's description: its source, the notes and the gaps, cut at `MOST_DESCRIPTION`."""
    source = outside.name(inventory.source)
    lines = [f"Imported from {source} ({inventory.kind}): {counted(hosts, 'host')}, {counted(vms, 'VM')}."]
    lines += ["Assumed, changed or left out:"]
    noted = [*inventory.assumptions, *assumptions(notes, inventory, NAMES_IN_DESCRIPTION)]
    lines += [f"- {_line(each.subject)}: {_line(each.text)}" for each in noted]
    if inventory.gaps:
        lines += ["Missing in the source:"]
        lines += [f"- {_line(gap.what)}: needed for {_line(gap.costs)}" for gap in inventory.gaps]
    text = ""
    for position, line in enumerate(lines):
        if len(text) + len(line) > MOST_DESCRIPTION:
            return f"{text}and {len(lines) - position} more lines, which `hypertwin import` prints\n"
        text += f"{line}\n"
    return text


def summary(
    inventory: Inventory, scenario: Mapping[str, Any], assumptions: Sequence[Assumption], *, brief: bool = False
) -> list[str]:
    """Return the lines for the user about imported, assumed and missing data. Warnings come first.

    With `brief`, the first gaps and the number of assumptions.
    """
    vms, hosts = scenario["vms"].values(), scenario["hosts"].values()
    vcpus = sum(vm["vcpus"] for vm in vms)
    cores = sum(host.get("count", 1) * host["sockets"] * host["cores_per_socket"] for host in hosts)
    count = sum(host.get("count", 1) for host in hosts)
    rules = f", {counted(len(scenario['rules']), 'rule')}" if "rules" in scenario else ""
    names = {host["cluster"] for host in hosts if "cluster" in host}
    clusters = f"{len(names)} clusters, " if len(names) > 1 else ""
    guesses = sum("host_is_guess" in vm for vm in vms)
    where = "inside their clusters" if names else "on all hosts"
    found = f"{clusters}{counted(count, 'host')} with {counted(cores, 'core')}"
    placed = f"{len(vms)} of {counted(len(inventory.vms), 'VM')} with {counted(vcpus, 'vCPU')}{rules}"
    first = f"{outside.name(inventory.source)} ({inventory.kind}): {found}, {placed}"
    assumed = [f"assumed: {_line(each.subject)}: {_line(each.text)}" for each in assumptions if not _warns(each)]
    missing = [f"missing: {_line(gap.what)}, needed for {_line(gap.costs)}" for gap in inventory.gaps]
    unused = [f"not used: {_unused(inventory.unused)}"] if inventory.unused else []
    lines = [first, *assumed, *missing, *unused]
    if brief:
        left = f"{counted(len(assumed), 'assumption')}, {len(missing)} missing in the source"
        more = [f"More: --explain  ({left})"] if len(assumed) + len(unused) or len(missing) > MAX_BRIEF else []
        lines = [first, *missing[:MAX_BRIEF], *more]
    warnings = [f"warning: {_line(each.subject)}: {_line(each.text)}" for each in assumptions if _warns(each)]
    if guesses:
        of_all = f"{guesses} of {counted(len(vms), 'VM')} {'has' if guesses == 1 else 'have'}"
        text = f"warning: {of_all} no host in the export: placed automatically {where}"
        warnings.insert(0, text)
    return [*warnings, *lines]


def _warns(assumption: Assumption) -> bool:
    """True if a brief summary also shows it: a possible wrong match, what is left out, or what a command shows."""
    return assumption.text == AFFIXED or any(part in assumption.text for part in WARNINGS)


def _unused(unused: Sequence[str]) -> str:
    """Return lines about unused data. Tabs and sections come first, then columns, with one or two lines of each."""
    whole = [_line(outside.name(each)) for each in unused if "/" not in each]
    parts = [_line(outside.name(each)) for each in unused if "/" in each]
    return "; ".join(_some(each) for each in (whole, parts) if each)


def _some(listed: Sequence[str]) -> str:
    shown = ", ".join(listed[:MOST_UNUSED])
    return f"{shown} and {len(listed) - MOST_UNUSED} more" if len(listed) > MOST_UNUSED else shown


def too_many(source: str, what: str, count: int, most: int) -> NoReturn:
    """Raise the `SourceError` for an inventory with more of something than a scenario takes."""
    outside.Source(source).too_large(f"{count} {what}", f"at most {most} {what}", "import one cluster at a time")


def _line(text: str) -> str:
    return " ".join(text.split())


def _subject(kind: str, names: Sequence[str], total: int | None, most_names: int) -> str:
    """Return the subject in words: `VM db`, `all 800 VMs`, `3 hosts (a, b, c)`, `60 VMs (a, b, ... and 10 more)`."""
    if kind == "all":
        return "all"
    names = [outside.name(name) or "(without a name)" for name in names]
    count = len(names)
    if count == 1 and most_names:
        return f"{kind} {names[0]}"
    several = counted(count, kind)
    if count == total:
        return f"all {several}"
    if not most_names:
        return several
    listed = ", ".join(names[:most_names])
    more = f" and {count - most_names} more" if count > most_names else ""
    return f"{several} ({listed}{more})"
