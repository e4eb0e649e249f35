"""Capacity of clusters, headroom, and reclaimable capacity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from hypertwin.documents.capacity import Capacity, Cluster, Figures, Ha, Restartable, Size, Total
from hypertwin.metrics.words import count, guess, in_order, number, some
from hypertwin.show import files, room
from hypertwin.show import view as v

LIMITS = {
    "cpu": "CPU",
    "memory": "memory",
    "memory_consumed": "consumed memory",
    "vcpu_ratio": "vCPUs per core",
    "pool": "pool",
}
"""Limits of the number of VMs."""

NEARLY_FULL_PCT, FULL_PCT = 80, 90
"""Fill levels from which datastores are marked."""

KINDS = {"sample": "single sample"}
"""Names of kinds of demand that differ from their key."""

TOTAL = "total"
UNKNOWN = v.badge("unknown", "note")

TOLERATES = (
    "Failures tolerated counts reserved CPU and memory, or slots. Pool capacity shows what a lost host does to storage."
)

PAIRS = (
    ("vcpu_ratio", "vCPUs per core", "", "vcpu_per_core{}", "vCPUs of powered-on VMs over physical cores."),
    ("cpu", "CPU", "%", "cpu_usage{}_pct", "Demand of VMs over cores x nominal clock."),
    (
        "memory",
        "memory configured",
        "%",
        "memory_configured{}_pct",
        "Configured memory of powered-on VMs, of host memory.",
    ),
    ("memory_consumed", "memory consumed", "%", "memory_consumed{}_pct", "Consumed memory of VMs, of host memory."),
    ("active", "memory active", "%", "memory_active{}_pct", "Memory that VMs touched recently, of host memory."),
)
"""Figures now and after host failures, each with key, name, unit, keys in the document, and definition."""

Named = tuple[str, Cluster]
Summed = tuple[str, Cluster | Total]


def clusters(found: Capacity) -> list[Named]:
    """Return clusters by their display name."""
    return [(each["label"] or name, each) for name, each in found["clusters"].items()]


def view(found: Capacity) -> v.View:
    """Return the view of a capacity."""
    named = clusters(found)
    everything: list[Summed] = [*named, *([(TOTAL, found["total"])] if len(named) > 1 else [])]
    return {
        "title": f"Capacity of {found['scenario']}",
        "answer": _answer(found, named),
        "promises": [
            {
                "text": f"{f'{name}: ' if len(named) > 1 else ''}{_limited(each)} {_without(each)}",
                "met": each["verdict"]["met"],
                "note": ", ".join(LIMITS[over["figure"]] for over in each["verdict"]["exceeds"]),
            }
            for name, each in named
        ],
        "confidence": _confidence(named),
        "cards": _cards(found, named),
        "sections": [
            *v.section(
                "use",
                "Capacity now and after host failures",
                v.charts([chart for pair in PAIRS[:4] if (chart := _chart(named, pair))]),
                _use(everything),
                _corrected(named),
                text="Figures after failures leave out the hosts that are the worst to lose: for CPU, for memory, and"
                " for vCPUs per core.",
            ),
            *v.section(
                "room",
                "VMs remaining",
                v.listing("room", "VMs remaining after host failures", [_left(name, of) for name, of in everything]),
            ),
            *v.section(
                "failover",
                "Failover",
                v.listing("failover", "Failover by cluster", [_restarts(name, of["ha"]) for name, of in named]),
                text="HA can restart VMs by reservation and still miss their demand.",
            ),
            *_storage(found, everything),
            *_reclaimable(found, everything),
            *v.section("basis", "Basis of the figures", _basis(named), detail=True),
        ],
        "notes": _notes(found, named),
        "brief": ["use"],
        "assumptions": [*_assumptions(found), *([TOLERATES] if found["pools"] else []), *room.notes(found["pools"])],
    }


def _answer(found: Capacity, named: Sequence[Named]) -> v.Answer:
    """Return the verdicts, worst first, preceded by a warning if the verdicts depend on guesses."""
    rank: Mapping[bool | None, int] = {False: 0, None: 1, True: 2}
    sorted_by = sorted(named, key=lambda each: rank[each[1]["verdict"]["met"]])
    texts = [each["verdict"]["text"] for _, each in sorted_by]
    worst = sorted_by[0][1]["verdict"]["met"] if sorted_by else None
    tone: v.Tone = "bad" if worst is False else "warn" if worst is None else "good"
    guessed = sum(each["guessed"] for _, each in named)
    said = f"{guess(guessed, found['total']['vms'])} " if guessed else ""
    left = [(name, each["vms_remaining"]) for name, each in named]
    full = [name for name, each in left if each and each["count"] == 0]
    counted = [each for _, each in left if each and each["count"]]
    fits = sum(each["count"] or 0 for each in counted)
    sizes = {"average size" if each["average"] else _sized(each["vm"]) for each in counted if each["vm"]}
    of_size = f" of {sizes.pop()}" if len(sizes) == 1 else ""
    full_text = f"{v.listed(full)} cannot take another VM." if full else ""
    fits_text = f"{count(fits, 'VM')}{of_size} can be added." if fits else full_text
    if len(texts) < 2:
        text = " ".join([*texts, fits_text]).strip()
    else:
        bad = [name for name, each in named if each["verdict"]["met"] is False]
        unsure = [name for name, each in named if each["verdict"]["met"] is None and not _is_degraded(each)]
        degraded = [name for name, each in named if _is_degraded(each)]
        text = (
            f"{len(bad)} of {len(named)} clusters cannot tolerate a host failure within their limits: {some(bad)}."
            if bad
            else f"Failover is unknown for {some(unsure)}."
            if unsure
            else f"After a host failure, pools of {some(degraded)} stay degraded."
            if degraded
            else "Every cluster tolerates a host failure within its limits."
        )
        text = f"{text} {fits_text}".strip()
    each_in_short = [each["failover"]["text"] if each["failover"] else each["verdict"]["text"] for _, each in sorted_by]
    more = [*(each_in_short[:8] if len(texts) > 1 else []), *_lost(named)]
    return {"tone": "warn" if said and tone == "good" else tone, "text": said + text, "more": more}


def _is_degraded(cluster: Cluster) -> bool:
    """True if every host failure is tolerated, but a pool has no space to recover."""
    failover = cluster["failover"]
    return failover is not None and bool(failover["survives"]) and failover["reason"] == "no-space"


def _lost(named: Sequence[Named]) -> list[str]:
    """Return the VMs that cannot restart, for clusters without a verdict on host failures (which needs the extra
    `plan`).
    """
    told = []
    for name, each in named:
        refused, restart = each["ha"]["not_powered_on"], each["largest_restartable_vm"]
        if each["failover"] is None and refused:
            told.append(f"{name}: HA cannot power on {count(len(refused), 'VM')} after a failure: {some(refused)}.")
        if each["failover"] is None and restart is not None and restart["not_restarted"]:
            lost = restart["not_restarted"]
            told.append(
                f"{name}: if {' and '.join(restart['failed'])} {'fail' if len(restart['failed']) > 1 else 'fails'}, no"
                f" host has memory for {count(len(lost), 'VM')}: {some(lost)}."
            )
    return told


def _without(of: Cluster) -> str:
    failures = of["limits"]["failures"]
    return f"after {count(failures, 'host failure')}" if failures else "now"


def _limited(of: Cluster) -> str:
    limits = of["limits"]
    ratio = [] if limits["vcpu_ratio"] is None else [f"{number(limits['vcpu_ratio'])} vCPUs per core"]
    return v.listed([f"{v.percent(limits['cpu_pct'])} of CPU", f"{v.percent(limits['memory_pct'])} of memory", *ratio])


def _pair(of: Figures, key: str) -> tuple[float | None, float | None]:
    values = cast(Mapping[str, Any], of)
    return values[key.format("")], values[key.format("_after_failure")]


def _limit(of: Cluster, key: str) -> float | None:
    limits = of["limits"]
    if key == "vcpu_ratio":
        return None if limits["vcpu_ratio"] is None else limits["vcpu_ratio"] * limits["speed"]
    return None if key == "active" else limits["cpu_pct"] if key == "cpu" else limits["memory_pct"]


def _chart(named: Sequence[Named], pair: tuple[str, str, str, str, str]) -> v.BarChart | None:
    key, name, unit, figures_of, text = pair
    known = [(each, of, *_pair(of, figures_of)) for each, of in named if _pair(of, figures_of)[0] is not None]
    if not known:
        return None
    known.sort(key=lambda each: in_order(each[0]))
    known.sort(key=lambda each: -float((each[2] if each[3] is None else each[3]) or 0))
    limits = {_limit(of, key) for _, of, _, _ in known}
    limit = limits.pop() if len(limits) == 1 else None
    first = known[0]
    return {
        "type": "bars",
        "id": key,
        "title": name,
        "text": text,
        "alternative": f"{first[0]}: {v.arrow(first[2], first[3], unit)} after host failures.",
        "categories": [each[0] for each in known],
        "value": v.axis(name, unit, begin=0),
        "series": [
            {"name": "now", "values": [each[2] for each in known], "colour": 0},
            {"name": "after host failures", "values": [each[3] for each in known], "colour": 1},
        ],
        "horizontal": True,
        "limits": [] if limit is None else [{"name": f"limit {number(limit)}{unit}", "value": limit, "tone": "bad"}],
    }


def _use(everything: Sequence[Summed]) -> list[v.Block]:
    columns = [
        v.words("cluster", "cluster"),
        v.figures("hosts", "hosts"),
        v.figures("sockets", "sockets", secondary=True),
        v.figures("cores", "cores"),
        v.figures("vms", "VMs"),
        v.figures("vcpus", "vCPUs", secondary=True),
        *(
            v.figures(key, name, unit, text=f"{text} Now → after host failures.", secondary=key == "active")
            for key, name, unit, _, text in PAIRS
        ),
        v.badges("perform", "meets demand", text="Whether demand after host failures is within the limits."),
        v.figures("remaining", "VMs remaining", text="VMs that can be added, and what limits them."),
        v.figures("memory_gib", "memory", "GiB", secondary=True),
    ]
    rows = []
    for name, of in everything:
        exceeds = {each["figure"] for each in cast(Any, of).get("verdict", {}).get("exceeds", ())}
        row: dict[str, Any] = {"cluster": name, **{key: cast(Any, of)[key] for key in ("hosts", "sockets", "cores")}}
        row |= {"vms": of["vms"], "vcpus": of["vcpus"], "memory_gib": of["memory_gib"]}
        for key, _, _, figures_of, _ in PAIRS:
            row[key] = v.shift(*_pair(of, figures_of), "bad" if key in exceeds else "plain")
        ha = cast(Any, of).get("ha")
        row["perform"] = _demand(ha) if ha else None
        row["remaining"] = _remaining(of)
        rows.append(row)
    failures = {cast(Any, of)["limits"]["failures"] for _, of in everything if "limits" in of}
    when = f"after {count(failures.pop(), 'host failure')}" if len(failures) == 1 else "after host failures"
    return [*v.table("use", f"Capacity by cluster, now → {when}", columns, rows)]


def _remaining(of: Cluster | Total) -> v.Figure | None:
    """Return VMs remaining, with their limit."""
    left = of["vms_remaining"]
    if left is None or left["count"] is None:
        return None
    by = f" ({LIMITS[left['limited_by']]})" if left["limited_by"] else ""
    return v.figure(left["count"], "good" if left["count"] else "bad", text=f"{number(left['count'])}{by}")


def _corrected(named: Sequence[Named]) -> list[v.Block]:
    return [
        *v.items(
            f"{name}: a core counts as {number(of['limits']['speed'])}, so vCPUs per core are"
            f" {v.arrow(of['vcpu_per_core_corrected'], of['vcpu_per_core_corrected_after_failure'])}."
            for name, of in named
            if of["vcpu_per_core_corrected"] is not None
        )
    ]


def _sized(vm: Size | Restartable) -> str:
    return f"{number(vm['vcpus'])} x {number(vm['memory_gib'])} GiB"


def _left(cluster: str, of: Cluster | Total) -> v.Cells:
    left, stored, restart = of["vms_remaining"], of["storage"], cast(Any, of).get("largest_restartable_vm")
    by: Mapping[str, Any] = cast(Any, left) or {}
    vm = left["vm"] if left else None
    counted = f"{_sized(vm)}{' (mean)' if left and left['average'] else ''}" if vm else ""
    largest = "" if restart is None else _sized(restart) if restart["vcpus"] else "none"
    lost = restart and v.toned(len(restart["not_restarted"]), bool(restart["not_restarted"]))
    of_count = "VMs that can be added by all limits together, after host failures."
    of_restart = "The largest VM that fits on one host after a failure."
    of_lost = "VMs of the failed host that fit on no other host with all their memory."
    return [
        (v.words("cluster", "cluster"), cluster),
        (
            v.words("binds", "limited by", text="The limit that leaves the fewest."),
            LIMITS[left["limited_by"]] if left and left["limited_by"] else "",
        ),
        (
            v.figures("count", "VMs remaining", text=of_count),
            v.figure(left["count"], "good" if left["count"] else "bad") if left else None,
        ),
        (v.figures("cpu", "by CPU"), by.get("cpu")),
        (v.figures("memory", "by memory"), by.get("memory")),
        (v.figures("memory_consumed", "by consumed memory", secondary=True), by.get("memory_consumed")),
        (v.figures("vcpu_ratio", "by vCPUs per core", secondary=True), by.get("vcpu_ratio")),
        (v.figures("pool", "by pool", secondary=True), by.get("pool")),
        (v.words("vm", "VM counted", secondary=True), counted),
        (v.words("restart", "largest VM HA can restart", text=of_restart, secondary=True), largest),
        (v.figures("lost", "not restarted", "VMs", text=of_lost), lost),
        (v.figures("storage", "storage", "GiB", secondary=True), stored and stored["capacity_gib"]),
        (v.figures("used", "storage used", "%", secondary=True), stored and stored["used_pct"]),
        (v.figures("provisioned", "provisioned", "%", secondary=True), stored and stored["provisioned_pct"]),
        (v.figures("licences", "licence cores"), of["licence_cores"]),
    ]


def _restarts(cluster: str, ha: Ha) -> v.Cells:
    slot, times = ha["slot"], ha["restart_s"]
    sized = slot and f"{number(slot['cpu_mhz'])} MHz, {number(slot['memory_mib'])} MiB"
    first = times and _range(times["detection"], times["detection_longest"])
    by_reservation = "By reservations: admission control and unreserved capacity."
    by_demand = "Whether demand is within the limits of the remaining hosts."
    by_both = "By reservations and demand."
    return [
        (v.words("cluster", "cluster"), cluster),
        (v.words("policy", "HA type"), ha["policy"] or ""),
        (v.words("admission", "admission"), ha["admission"] or ""),
        (v.badges("power_on", "HA can power on", text=by_reservation), _yes(ha["can_power_on"])),
        (v.badges("perform", "meets demand", text=by_demand), _demand(ha)),
        (v.words("slot", "slot", secondary=True), sized),
        (v.figures("free", "slots free", secondary=True), v.toned(ha["free_slots"], (ha["free_slots"] or 0) < 0)),
        (
            v.figures("host_failures_tolerated", "failures tolerated", "hosts", text=by_both, secondary=True),
            ha["host_failures_tolerated"],
        ),
        (v.figures("cpu", "unreserved CPU", "%", secondary=True), ha["unreserved_cpu_pct"]),
        (v.figures("memory", "unreserved memory", "%", secondary=True), ha["unreserved_memory_pct"]),
        (v.words("detection", "first restart after (s)", secondary=True), first),
    ]


def _range(shortest: float, longest: float) -> str:
    return number(shortest) if shortest == longest else f"{number(shortest)} to {number(longest)}"


def _demand(ha: Ha) -> v.Badge:
    return _yes(ha["meets_demand"], [LIMITS[each] for each in ha["short_of"]])


def _yes(said: bool | None, lacks: Sequence[str] = ()) -> v.Badge:
    if said is None:
        return UNKNOWN
    return v.badge("yes", "good") if said else v.badge(f"no: {v.listed(lacks)}" if lacks else "no", "bad")


def _storage(found: Capacity, everything: Sequence[Summed]) -> list[v.Section]:
    stored = [(name, of["storage"]) for name, of in everything if of["storage"]]
    sizes = (
        v.figures("vms_provisioned_gib", "provisioned", "GiB", text="VMs that are powered on or off, and templates."),
        v.figures("vms_used_gib", "used", "GiB", text="Space of these on datastores."),
        v.figures("vms_in_guest_gib", "guest used", "GiB", text="As powered-on guests report."),
        v.figures("swap_gib", "swap files", "GiB", text="On ESXi: configured minus reserved memory of VMs."),
    )
    of_vms = [{"cluster": name, **cast(Any, of)} for name, of in stored]
    if not any(row[each["key"]] is not None for row in of_vms for each in sizes[:3]):
        of_vms = []
    known = sorted(
        (each for each in found["datastores"] if each["used_pct"] is not None), key=lambda each: in_order(each["name"])
    )
    known.sort(key=lambda each: -(each["used_pct"] or 0))
    bars: v.BarChart = {
        "type": "bars",
        "id": "datastores",
        "title": "Datastores by space used",
        "alternative": f"{known[0]['name']} is {v.percent(known[0]['used_pct'])} full." if known else "Nothing known.",
        "categories": [each["name"] for each in known],
        "value": v.axis("used", "%", begin=0),
        "series": [{"name": "used", "values": [each["used_pct"] for each in known], "colour": 0}],
        "horizontal": True,
        "limits": [{"name": f"{FULL_PCT}%", "value": FULL_PCT, "tone": "warn"}],
    }
    columns = [
        v.words("name", "datastore"),
        v.words("clusters", "clusters"),
        v.words("kind", "kind", secondary=True),
        v.figures("hosts", "hosts", secondary=True),
        v.figures("capacity_gib", "capacity", "GiB"),
        v.figures("used_pct", "used", "%"),
        v.figures("provisioned_pct", "provisioned", "%", text="Maximum size of the virtual disks."),
    ]
    rows = [
        {**cast(Any, each), "clusters": ", ".join(each["clusters"]), "used_pct": _full(each["used_pct"])}
        for each in found["datastores"]
    ]
    return v.section(
        "storage",
        "Storage",
        v.charts([bars] if known else []),
        v.table("stored", "Storage of VMs", [v.words("cluster", "cluster"), *sizes], of_vms),
        room.blocks(found["pools"]),
        v.table(
            "stores", "Datastores", columns, rows, descending="used_pct", filters=["clusters", "kind"], detail=True
        ),
        text="A shared datastore counts in full in each of its clusters and once in the total.",
    )


def _full(used: float | None) -> Any:
    tone: v.Tone = "plain" if used is None or used <= NEARLY_FULL_PCT else "warn" if used <= FULL_PCT else "bad"
    return v.figure(used, tone)


def _reclaimable(found: Capacity, everything: Sequence[Summed]) -> list[v.Section]:
    taken: list[v.Cells] = []
    off: list[v.Cells] = []
    of_idle = "VMs whose CPU stays below 5% of their vCPUs."
    of_freed = "Hosts that the cluster no longer needs, beside its spare hosts."
    for name, of in everything:
        each = of["reclaimable"]
        for by, tone, unused, idle in (
            ("demand over time", "good", each["sustained"], each["idle"]),
            ("single sample or mean", "note", each["sample"], each["idle_in_sample"]),
        ):
            if unused:
                taken.append(
                    [
                        (v.words("cluster", "cluster"), name),
                        (v.badges("by", "judged by"), v.badge(by, cast(v.Tone, tone))),
                        (v.figures("vms", "VMs", text="VMs with more than they need."), unused["vms"]),
                        (v.figures("idle", "idle", "VMs", text=of_idle), idle["vms"]),
                        (v.figures("vcpus", "unused", "vCPUs"), unused["vcpus"]),
                        (v.figures("memory", "unused", "GiB"), unused["memory_gib"]),
                        (v.figures("freed", "hosts freed", text=of_freed), unused["hosts_freed"]),
                        (v.figures("spare", "spare hosts now", secondary=True), each["hosts_spare"]),
                    ]
                )
        snapshots = each["snapshots"]
        off.append(
            [
                (v.words("cluster", "cluster"), name),
                (v.figures("off", "powered off", "VMs"), each["off"]["vms"]),
                (v.figures("off_gib", "powered off", "GiB"), each["off"]["storage_gib"]),
                (v.figures("templates", "templates"), each["templates"]["vms"]),
                (v.figures("templates_gib", "templates", "GiB"), each["templates"]["storage_gib"]),
                (v.figures("snapshots", "snapshots"), snapshots["count"]),
                (v.figures("snapshots_gib", "snapshots", "GiB"), snapshots["gib"]),
                (v.words("oldest", "oldest snapshot", secondary=True), (snapshots["oldest"] or "")[:10]),
            ]
        )
    return v.section(
        "reclaimable",
        "Reclaimable capacity",
        v.listing("unused", "Unused by powered-on VMs", taken),
        v.listing("off", "Powered-off VMs, templates and snapshots", off),
        _vms(found),
        text=f"{found['total']['reclaimable']['basis']} A VM needs its demand plus 20% headroom. Ask the owner of a"
        " database before you reclaim its memory: active memory leaves out caches that a guest seldom reads.",
        detail=True,
    )


def _vms(found: Capacity) -> list[v.Block]:
    columns = [
        v.words("name", "VM"),
        v.words("cluster", "cluster"),
        v.badges("state", "state"),
        v.badges(
            "sustained", "sustained", text="Whether demand was measured over time. A single sample proves nothing."
        ),
        v.figures("vcpus", "vCPUs"),
        v.figures("vcpus_needed", "needs", "vCPUs"),
        v.figures("memory_gib", "memory", "GiB"),
        v.figures("memory_needed_gib", "needs", "GiB"),
        v.figures("storage_gib", "storage", "GiB", secondary=True),
        v.figures("snapshots", "snapshots", secondary=True),
        v.words("oldest_snapshot", "oldest", secondary=True),
    ]
    rows = [
        {
            **cast(Any, each),
            "state": v.badge(each["state"]),
            "sustained": v.badge("yes", "good") if each["sustained"] else v.badge("no", "note"),
            "snapshots": each["snapshots"] or None,
            "oldest_snapshot": (each["oldest_snapshot"] or "")[:10],
        }
        for each in found["reclaimable"]
    ]
    caption = "VMs, the largest reclaimable memory first"
    return [*v.table("vms", caption, columns, rows, filters=["cluster", "state", "sustained"])]


def _basis(named: Sequence[Named]) -> list[v.Block]:
    tones: Mapping[str, v.Tone] = {"measured": "good", "configured": "plain", "assumed": "warn"}
    rows: list[v.Cells] = []
    for name, of in named:
        for figure_name, key, basis in (
            ("CPU", "cpu_usage_pct", of["demand"]["cpu"]),
            ("memory consumed", "memory_consumed_pct", of["demand"]["memory_consumed"]),
            ("memory active", "memory_active_pct", of["demand"]["memory_active"]),
        ):
            source = of["sources"].get(key)
            rows.append(
                [
                    (v.words("cluster", "cluster"), name),
                    (v.words("figure", "figure"), figure_name),
                    (
                        v.badges("source", "source", text="Measured, configured, or partly assumed."),
                        v.badge(source, tones[source]) if source else UNKNOWN,
                    ),
                    (v.words("kind", "demand"), KINDS.get(basis["kind"], basis["kind"]) if basis else ""),
                    (v.words("text", "basis"), basis["text"] if basis else ""),
                ]
            )
    return [*v.listing("basis", "Demand behind the figures", rows, filters=["figure"])]


def _confidence(named: Sequence[Named]) -> list[v.Badge]:
    kinds: dict[tuple[str, v.Tone], list[str]] = {}
    for name, of in named:
        basis, source = of["demand"]["cpu"], of["sources"].get("cpu_usage_pct")
        text = f"{'assumed: ' if source == 'assumed' else ''}{basis['text']}" if basis else "unknown"
        tone: v.Tone = "warn" if not basis else "note" if source == "assumed" or basis["kind"] == "sample" else "plain"
        kinds.setdefault((text, tone), []).append(name)
    several = len(kinds) > 1
    return [
        v.badge(f"CPU demand{f' of {some(names)}' if several else ''}: {text}.", tone)
        for (text, tone), names in kinds.items()
    ]


def _cards(found: Capacity, named: Sequence[Named]) -> list[v.Card]:
    total, several = found["total"], len(named) > 1
    left, stored = total["vms_remaining"], total["storage"]
    remaining = left["count"] if left else None
    only = named[0][1]["vms_remaining"] if len(named) == 1 else None
    cards = [
        v.card(
            "Hosts",
            number(total["hosts"]),
            count(total["cores"], "core") + (f", {len(named)} clusters" if several else ""),
        ),
        v.card("VMs", number(total["vms"]), count(total["vcpus"], "vCPU")),
        v.card("vCPUs per core", v.arrow(*_pair(total, "vcpu_per_core{}")), "now → after host failures"),
        v.card(
            "Memory configured",
            v.arrow(*_pair(total, "memory_configured{}_pct"), "%"),
            f"of {number(total['memory_gib'])} GiB",
        ),
        v.card(
            "VMs remaining",
            "unknown" if remaining is None else number(remaining),
            f"limited by {LIMITS[only['limited_by']]}" if only and only["limited_by"] else "",
            "bad" if remaining == 0 else "plain",
        ),
        v.card("Licence cores", number(total["licence_cores"])),
    ]
    if stored and stored["used_pct"] is not None:
        cards.insert(
            5,
            v.card(
                "Storage used", v.percent(stored["used_pct"]), f"of {number((stored['capacity_gib'] or 0) / 1024)} TiB"
            ),
        )
    return cards


def _notes(found: Capacity, named: Sequence[Named]) -> list[str]:
    """Return the limits, the basis of demand, and the first note of a cluster."""
    limits = {_limited(each) for _, each in named}
    bases: dict[str, list[str]] = {}
    for name, each in named:
        basis = each["demand"]["cpu"]
        kind = (
            "unknown"
            if basis is None
            else basis["text"]
            if len(named) == 1
            else KINDS.get(basis["kind"], basis["kind"])
        )
        bases.setdefault(kind, []).append(name)
    demand = ", ".join(f"{kind} ({some(names)})" if len(bases) > 1 else kind for kind, names in bases.items())
    first = next((f"{name}: {each['notes'][0]}" for name, each in named if each["notes"]), "")
    return [
        *([f"Limits: {limits.pop()}. CPU demand: {demand}."] if len(limits) == 1 else []),
        *([first] if first else []),
    ]


def _assumptions(found: Capacity) -> Iterable[str]:
    """Yield the limits, and notes on single clusters. Common notes are not repeated."""
    said: dict[str, list[str]] = {}
    for name, each in clusters(found):
        limits, demand = each["limits"], each["demand"]
        speed = "" if limits["speed"] == 1 else f", cores {number(limits['speed'])} times as fast"
        first = f"Limits: {_limited(each)}{speed} {_without(each)}. Demand: {demand['asked']}."
        bases = [("Consumed memory", demand["memory_consumed"]), ("Active memory", demand["memory_active"])]
        texts = [first, *(f"{what}: {basis['text']}." for what, basis in bases if basis), *each["notes"]]
        for text in texts:
            said.setdefault(text, []).append(name)
    for text, names in said.items():
        yield text if len(names) == len(found["clusters"]) else f"{some(names)}: {text}"
    yield from found["total"]["notes"]


def csv(found: Capacity) -> str:
    """Return a line for each cluster and one for all, a column for each figure."""
    everything: list[tuple[str, Any]] = [*clusters(found), (TOTAL, found["total"])]
    apart = {"failover", "verdict", "reclaimable", "sources", "notes", "limits", "demand", "label", "without"}
    lines = []
    for name, of in everything:
        demand, sources = of.get("demand", {}), of.get("sources", {})
        line = {"cluster": name, **{key: value for key, value in of.items() if key not in apart}}
        line |= {f"demand.{key}": basis["text"] if basis else None for key, basis in demand.items() if key != "asked"}
        for kind in ("measured", "assumed"):
            line[kind] = [key for key, source in sources.items() if source == kind] if sources else None
        lines.append(line)
    return files.records_csv(lines)


def reclaimable_csv(found: Capacity) -> str:
    """Return a line for each VM with reclaimable capacity."""
    return files.records_csv(cast(Iterable[Mapping[str, Any]], found["reclaimable"]))
