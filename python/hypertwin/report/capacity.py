"""How full clusters are and what still fits: tables for a terminal, CSV, a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.capacity import Capacity, Cluster, Figures, ReclaimableVm, Restartable, Total, VmsLeft
from hypertwin.errors import printable
from hypertwin.report import files
from hypertwin.report import room as pool_room
from hypertwin.report.page import Listing, Page
from hypertwin.report.table import Cells, Fitted
from hypertwin.report.words import count, guess, number, some

WORDS = {
    "cpu": "CPU",
    "memory": "memory",
    "memory_consumed": "consumed memory",
    "ratio": "vCPUs per core",
    "pool": "pool",
}
"""What binds, in words."""

LACKS = {"cpu": "CPU", "memory": "memory", "memory_consumed": "memory", "ratio": "vCPUs per core"}
"""What exceeds its limit after a failure, in words."""

MOST_VMS = 20
"""VMs in a table of a terminal."""

WORDY = (
    *("VM", "cluster", "state", "binds", "judged by", "restarted by", "admission", "may power on", "will perform"),
    *("pool", "policy", "redundancy", pool_room.WITHOUT),
)
"""Columns of words, which come first in a table."""

FIRST_OUT = (
    *("sockets", "active %", "memory GiB", "provisioned %", "by consumed", "storage GiB", "spare hosts now", "oldest"),
    *("usable then GiB", "overhead ×", "raw GiB"),
    *("slot", "unreserved CPU %", "unreserved memory %", "tolerates", "restarts from s", "slots free"),
    *("by ratio", "used %", "vCPUs", "by CPU", "by memory", "by pool", "largest restart", "consumed %", "hosts"),
)
"""Columns that a narrow terminal goes without, the first of these first."""

FAILOVER = "After a failure: what may be powered on, and what will perform"

TOLERATES = (
    "Tolerates counts CPU and memory that are reserved, or slots: what a lost host does to storage is under Room of"
    " distributed storage."
)
"""Said where there are pools, which hosts that may fail are part of."""

STORED = "Storage that VMs take, in GiB"

STYLES = {True: "bold", False: "bold red", None: "bold yellow"}
"""Of a verdict: survived, not survived, not known."""

TOTAL = "all"
UNKNOWN = "-"

_FLAT = (
    *("hosts", "sockets", "cores", "vms", "appliances", "vcpus", "vcpu_per_core", "vcpu_per_core_degraded"),
    *("vcpu_per_core_corrected", "vcpu_per_core_corrected_degraded", "cpu_ghz", "cpu_demand_ghz", "cpu_usage_pct"),
    *("cpu_usage_degraded_pct", "memory_gib", "memory_own_gib", "memory_configured_gib", "memory_configured_pct"),
    *("memory_configured_degraded_pct", "memory_consumed_gib", "memory_consumed_pct", "memory_consumed_degraded_pct"),
    *("memory_active_gib", "memory_active_pct", "memory_active_degraded_pct", "licence_cores"),
)
_LEFT = ("cpu", "memory", "memory_consumed", "ratio", "pool", "binding", "count")
_STORAGE = (
    *("datastores", "shared", "unknown", "capacity_gib", "used_gib", "used_pct", "free_gib", "provisioned_gib"),
    *("provisioned_pct", "vms_provisioned_gib", "vms_used_gib", "vms_in_guest_gib", "swap_gib"),
)
_HA = (
    *("policy", "admission", "slots", "free_slots", "unreserved_cpu_pct", "unreserved_memory_pct", "tolerates"),
    *("may_power_on", "will_perform"),
)
_UNSAID = ("provisioned", "used", "in_guest")


def rows(found: Capacity) -> list[tuple[str, Figures]]:
    """Each cluster by name, then all together if there are several."""
    return list(_with_all(found))


def _with_all(found: Capacity) -> list[tuple[str, Cluster | Total]]:
    listed: list[tuple[str, Cluster | Total]] = list(_clusters(found))
    return [*listed, (TOTAL, found["total"])] if len(listed) > 1 else listed


def _clusters(found: Capacity) -> list[tuple[str, Cluster]]:
    """Clusters by the name that they have in their own system."""
    return [(each["label"] or name, each) for name, each in found["clusters"].items()]


def use(found: Capacity) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what clusters have and use: now, and after an arrow without their largest hosts."""
    heads = [
        "cluster",
        "hosts",
        "sockets",
        "cores",
        "VMs",
        "vCPUs",
        "vCPUs per core",
        "corrected per core",
        "CPU used %",
    ]
    heads += ["memory GiB", "configured %", "consumed %", "active %"]
    cells = [
        [
            name,
            *(number(each[key], 0) for key in ("hosts", "sockets", "cores", "vms", "vcpus")),
            _arrow(each["vcpu_per_core"], each["vcpu_per_core_degraded"], 2),
            _corrected(each),
            _arrow(each["cpu_usage_pct"], each["cpu_usage_degraded_pct"], 1),
            number(each["memory_gib"], 0),
            _arrow(each["memory_configured_pct"], each["memory_configured_degraded_pct"], 1),
            _arrow(each["memory_consumed_pct"], each["memory_consumed_degraded_pct"], 1),
            _arrow(each["memory_active_pct"], each["memory_active_degraded_pct"], 1),
        ]
        for name, each in rows(found)
    ]
    return heads, cells


def room(found: Capacity) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what clusters have left."""
    limits = {"cpu": "by CPU", "memory": "by memory", "memory_consumed": "by consumed", "ratio": "by ratio"}
    if any(each["vms_left"] and each["vms_left"]["pool"] is not None for _, each in rows(found)):
        limits["pool"] = "by pool"
    heads = ["cluster", "binds", "VMs left", *limits.values(), "largest restart"]
    heads += ["storage GiB", "used %", "provisioned %", "licence cores"]
    cells = []
    largest = [each["largest_restartable"] for _, each in _clusters(found)]
    for (name, each), restart in zip(rows(found), [*largest, None], strict=False):
        left, stored = each["vms_left"], each["storage"]
        cells.append(
            [
                name,
                WORDS[left["binding"]] if left and left["binding"] else UNKNOWN,
                _left(left, "count"),
                *(_left(left, key) for key in limits),
                _restart(restart),
                *(
                    _known(stored[key] if stored else None, digits)  # type: ignore[literal-required]
                    for key, digits in (("capacity_gib", 0), ("used_pct", 1), ("provisioned_pct", 1))
                ),
                number(each["licence_cores"], 0),
            ]
        )
    return heads, cells


def failover(found: Capacity) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what happens after a failure: what may be powered on, and what will perform."""
    heads = ["cluster", "restarted by", "admission", "may power on", "will perform"]
    heads += ["slot", "slots free", "tolerates", "unreserved CPU %", "unreserved memory %", "restarts from s"]
    cells = []
    for name, each in _clusters(found):
        ha = each["ha"]
        slot, times = ha["slot"], ha["restart_s"]
        lacks = "" if not ha["lacks"] else f": {some([LACKS[part] for part in ha['lacks']])}"
        performs = UNKNOWN if ha["will_perform"] is None else f"{_yes(ha['will_perform'])}{lacks}"
        row = [name, ha["policy"] or UNKNOWN, ha["admission"] or UNKNOWN, _yes(ha["may_power_on"]), performs]
        row += ["" if slot is None else f"{number(slot['cpu_mhz'], 0)} MHz, {number(slot['memory_mib'], 0)} MiB"]
        row += [_known(ha["free_slots"], 0), _known(ha["tolerates"], 0)]
        row += [number(ha[key], 1) for key in ("unreserved_cpu_pct", "unreserved_memory_pct")]
        cells.append([*row, UNKNOWN if times is None else number(times["detection"])])
    return heads, cells


def verdicts(found: Capacity) -> list[tuple[str, bool | None]]:
    """What becomes of each cluster when a host fails, and whether it survives; the worst first."""
    told = [(failover["text"], failover["survives"]) for _, each in _clusters(found) if (failover := each["failover"])]
    rank = {False: 0, None: 1, True: 2}
    return sorted(told, key=lambda each: rank[each[1]])


def guesses(found: Capacity) -> list[str]:
    """Clusters whose VMs are on hosts by guess: what a reader must know before any answer about hosts."""
    return [
        f"{name}: {guess(each['guessed'], each['vms'])} What restarts depends on it. Sums and VMs left do not."
        for name, each in _clusters(found)
        if each["guessed"]
    ]


def without_place(found: Capacity) -> list[str]:
    """VMs that cannot restart after a failure, of clusters without a verdict (it needs the extra `plan`)."""
    told = []
    for name, each in _clusters(found):
        if each["failover"] is not None:
            continue
        refused, restart = each["ha"]["not_powered_on"], each["largest_restartable"]
        if refused:
            told.append(f"{name}: after a failure no host has unreserved what power-on needs of {_vms(refused)}.")
        if restart is not None and restart["not_restarted"]:
            gone = f"when {some(restart['failed'])} {'fail' if len(restart['failed']) > 1 else 'fails'}"
            told.append(f"{name}: {gone}, no host has memory for {_vms(restart['not_restarted'])}.")
    return told


def _vms(names: Sequence[str]) -> str:
    return f"{count(len(names), 'VM')}: {some(names)}"


def _yes(said: bool) -> str:
    return "yes" if said else "no"


def stored(found: Capacity) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what VMs take of storage, in GiB; no cells where none says it."""
    heads = ["cluster", "may grow to", "occupied", "in guests", "swap files"]
    cells, is_known = [], False
    for name, each in rows(found):
        of = each["storage"]
        sizes = [of["vms_provisioned_gib"], of["vms_used_gib"], of["vms_in_guest_gib"]] if of else [None] * 3
        is_known = is_known or any(size is not None for size in sizes)
        cells.append([name, *(_known(size, 0) for size in (*sizes, of["swap_gib"] if of else None))])
    return heads, cells if is_known else []


def reclaimable(found: Capacity) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what running VMs do not need: a line for what is proven, one for what was unused then."""
    heads = ["cluster", "judged by", "VMs", "idle", "vCPUs unused", "GiB unused", "hosts freed", "spare hosts now"]
    cells = []
    for name, each in _with_all(found):
        unused = each["reclaimable"]
        for by, part, idle in (
            ("demand over time", unused["proven"], unused["idle"]),
            ("one moment or a mean", unused["moment"], unused["idle_at_moment"]),
        ):
            if part is not None:
                row = [name, by, *(number(value, 0) for value in (part["vms"], idle["vms"], part["vcpus"]))]
                row += [_known(part["memory_gib"], 0), _known(part["hosts_freed"], 0), _known(unused["hosts_spare"], 0)]
                cells.append(row)
    return heads, cells


def leftovers(found: Capacity) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what does not run: VMs that are off, templates, snapshots, and the storage that they take."""
    heads = ["cluster", "off", "their GiB", "templates", "their GiB", "snapshots", "of VMs", "their GiB", "oldest"]
    cells = []
    for name, each in _with_all(found):
        off, templates, snapshots = (
            each["reclaimable"]["off"],
            each["reclaimable"]["templates"],
            each["reclaimable"]["snapshots"],
        )
        row = [name]
        for group in (off, templates):
            row += [number(group["vms"], 0), _known(group["storage_gib"], 0)]
        row += [number(snapshots["count"], 0), number(snapshots["vms"], 0), _known(snapshots["gib"], 0)]
        cells.append([*row, (snapshots["oldest"] or UNKNOWN)[:10]])
    return heads, cells


def reclaimable_vms(found: Capacity, most: int | None = None) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the VMs of which something could be taken back."""
    heads = ["VM", "cluster", "state", "vCPUs", "needs", "GiB", "needs GiB", "storage GiB", "snapshots", "oldest"]
    cells = [
        [
            each["name"],
            each["cluster"] or UNKNOWN,
            each["state"] + ("" if each["proven"] else " then"),
            number(each["vcpus"], 0),
            _known(each["vcpus_needed"], 0),
            number(each["memory_gib"]),
            "" if each["memory_needed_gib"] is None else number(each["memory_needed_gib"]),
            "" if each["storage_gib"] is None else number(each["storage_gib"]),
            str(each["snapshots"] or ""),
            (each["oldest_snapshot"] or "")[:10],
        ]
        for each in found["reclaimable"][:most]
    ]
    return heads, cells


def notes(found: Capacity) -> list[str]:
    """What a reader must know besides the figures: which demand, limits, and what holds for single clusters."""
    said: dict[str, list[str]] = {}
    for name, each in _clusters(found):
        stands = [("CPU", each["demand"]["cpu"]), ("Consumed memory", each["demand"]["memory_consumed"])]
        stands += [("Active memory", each["demand"]["memory_active"])]
        for note in (*(f"{what}: {basis['text']}." for what, basis in stands if basis is not None), *each["notes"]):
            said.setdefault(note, []).append(name)
    several = len(found["clusters"]) > 1
    told = [
        f"{some(names)}: {note}" if several and len(names) < len(found["clusters"]) else note
        for note, names in said.items()
    ]
    tolerates = [TOLERATES] if found["pools"] else []
    return [*_limits(found), *told, *found["total"]["notes"], *tolerates, *pool_room.notes(found["pools"])]


def _pools(found: Capacity) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the table of pools."""
    cells = pool_room.table(found["pools"])
    return list(cells.heads), [list(row) for row in cells.rows]


def reclaimable_notes(found: Capacity) -> list[str]:
    """What a reader must know of what could be taken back."""
    return [
        found["total"]["reclaimable"]["basis"],
        "A VM needs what its demand takes with 20 % kept free; it is idle when its CPU stays below 5 % of its vCPUs."
        " Hosts are those that a cluster can do without, within its limits and with its spare hosts. Active memory"
        " leaves out caches that a guest seldom reads: ask the owner of a database before its memory is taken away.",
    ]


def table(found: Capacity) -> RenderableType:
    """What `hypertwin capacity --format json` prints, as tables with notes."""
    title = f"{found['scenario']}: what clusters have and use, now → without their largest hosts"
    shown = [(title, use(found)), ("What still fits without them", room(found)), (FAILOVER, failover(found))]
    if stored(found)[1]:
        shown.append((STORED, stored(found)))
    if found["pools"]:
        shown.append((pool_room.TITLE, _pools(found)))
    first = [Text(line, style="bold red") for line in guesses(found)]
    first += [Text(printable(line), style=STYLES[survives]) for line, survives in verdicts(found)]
    first += [Text(line, style="bold red") for line in without_place(found)]
    return Group(*first, *_tables(shown), *(Text(note, style="dim") for note in notes(found)))


def reclaimable_table(found: Capacity) -> RenderableType:
    """The same document's `reclaimable`: clusters, and the VMs that have the most to take back."""
    more = len(found["reclaimable"]) - MOST_VMS
    notes = reclaimable_notes(found)
    if more > 0:
        notes.append(f"{more} more VMs: --format csv has all.")
    shown = [
        (f"{found['scenario']}: what VMs that are on do not use", reclaimable(found)),
        ("What does not run, and the storage that it takes", leftovers(found)),
        ("VMs, those with the most memory to take back first", reclaimable_vms(found, MOST_VMS)),
    ]
    return Group(*_tables(shown), *(Text(note, style="dim") for note in notes))


def reclaimable_csv(found: Capacity) -> str:
    """A line for each VM of which something could be taken back."""
    rows = found["reclaimable"]
    heads = list(ReclaimableVm.__annotations__)
    return files.csv_text([heads, *([dict(row)[head] for head in heads] for row in rows)])


def page(found: Capacity) -> Page:
    """The page: clusters as bars and tables, datastores, and every VM of which something could be taken back."""
    guessed = sum(each["guessed"] for each in found["clusters"].values())
    return Page(
        kind="capacity",
        title=f"Capacity of {found['scenario']}",
        document=found,
        beside={"guess": guess(guessed, found["total"]["vms"]) if guessed else ""},
        notes=[
            *guesses(found),
            *(line for line, _ in verdicts(found)),
            *without_place(found),
            *notes(found),
            reclaimable_notes(found)[-1],
        ],
        tables=[
            Listing("What clusters have and use, now → without their largest hosts", *use(found)),
            Listing("What still fits without them", *room(found)),
            Listing(FAILOVER, *failover(found)),
            *([Listing(STORED, *stored(found))] if stored(found)[1] else []),
            *([Listing(pool_room.TITLE, *_pools(found))] if found["pools"] else []),
            Listing("What VMs that are on do not use", *reclaimable(found)),
            Listing("What does not run, and the storage that it takes", *leftovers(found)),
        ],
    )


def csv(found: Capacity) -> str:
    """A line for each cluster and one for all, a column for each figure, and which of them are measured or assumed."""
    restart = ("vcpus", "memory_gib", "host")
    heads = ["cluster", *_FLAT, *(f"vms_left.{key}" for key in _LEFT), *(f"storage.{key}" for key in _STORAGE)]
    heads += [f"storage.vms_unknown.{key}" for key in _UNSAID]
    heads += [*(f"largest_restartable.{key}" for key in restart), "demand.cpu", "demand.memory_consumed"]
    heads += ["demand.memory_active", "measured", "assumed", *(f"ha.{key}" for key in _HA), "ha.lacks"]
    lines: list[list[object]] = [list(heads)]
    everything: list[tuple[str, Figures, Cluster | None]] = [
        *((name, each, each) for name, each in found["clusters"].items()),
        (TOTAL, found["total"], None),
    ]
    for name, each, cluster in everything:
        figures, left, storage = dict(each), dict(each["vms_left"] or {}), each["storage"]
        largest = dict(cluster["largest_restartable"] or {}) if cluster else {}
        ha = dict(cluster["ha"]) if cluster else {}
        demand = cluster["demand"] if cluster else None
        bases = (demand["cpu"], demand["memory_consumed"], demand["memory_active"]) if demand else (None, None, None)
        sources = cluster["sources"] if cluster else {}
        lines.append(
            [
                name,
                *(figures[key] for key in _FLAT),
                *(left.get(key) for key in _LEFT),
                *(dict(storage)[key] if storage else None for key in _STORAGE),
                *(dict(storage["vms_unknown"])[key] if storage else None for key in _UNSAID),
                *(largest.get(key) for key in restart),
                *(basis["text"] if basis else None for basis in bases),
                *(" ".join(key for key, source in sources.items() if source == of) for of in ("measured", "assumed")),
                *(ha.get(key) for key in _HA),
                " ".join(cluster["ha"]["lacks"]) if cluster else None,
            ]
        )
    return files.csv_text(lines)


def _limits(found: Capacity) -> Iterator[str]:
    """The limits, once where all clusters have the same."""
    told: dict[str, list[str]] = {}
    for name, each in found["clusters"].items():
        limits = each["limits"]
        ratio = "" if limits["ratio"] is None else f", {limits['ratio']:g} vCPUs per core"
        speed = "" if limits["speed"] == 1 else f", cores {limits['speed']:g} times as fast"
        text = (
            f"limits {limits['cpu_pct']:g} % of CPU, {limits['memory_pct']:g} % of memory{ratio}{speed}; without"
            f" {limits['failures']} of the largest hosts; demand {each['demand']['asked']}"
        )
        told.setdefault(text, []).append(each["label"] or name)
    for text, names in told.items():
        yield f"{', '.join(names)}: {text}." if len(told) > 1 else f"{text[0].upper()}{text[1:]}."


def _tables(shown: Sequence[tuple[str, tuple[list[str], list[list[str]]]]]) -> list[RenderableType]:
    return [
        Fitted(title, Cells(heads, cells, 0, sum(head in WORDY for head in heads)), FIRST_OUT)
        for title, (heads, cells) in shown
    ]


def _corrected(each: Figures) -> str:
    """vCPUs per core with faster cores counted as several; empty where they are not."""
    now = each["vcpu_per_core_corrected"]
    return "" if now is None else _arrow(now, each["vcpu_per_core_corrected_degraded"], 2)


def _arrow(now: float | None, degraded: float | None, digits: int) -> str:
    return UNKNOWN if now is None else f"{number(now, digits)} → {_known(degraded, digits)}"


def _known(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else number(value, digits)


def _restart(restart: Restartable | None) -> str:
    if restart is None:
        return UNKNOWN
    return f"{restart['vcpus']} x {number(restart['memory_gib'])} GiB" if restart["vcpus"] else "none"


def _left(left: VmsLeft | None, key: str) -> str:
    value = dict(left or {}).get(key)
    return f"{value:,}" if isinstance(value, int) else UNKNOWN
