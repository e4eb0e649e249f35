"""The target in the view of a move: figures before and after with their causes, and steps of reused hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hypertwin.documents.move import Arrival, Change, Metric, Rolling, VmChange
from hypertwin.documents.refresh import TwinState, Worst
from hypertwin.metrics.words import count, number, some
from hypertwin.show import view as v

MAX_CHARTED = 15
"""Number of VMs in the chart of the largest changes."""

FIGURES: Mapping[Metric, tuple[str, str]] = {
    "response_ms_p99": ("response p99", "ms"),
    "ready_pct": ("ready", "%"),
    "io_latency_ms": ("I/O latency", "ms"),
    "throughput_per_s": ("throughput", "/s"),
}
"""Names and units of the figures of a VM."""


def sections(arrival: Arrival | None, labels: Mapping[str, str]) -> list[v.Section]:
    """Return the sections about the target. `labels` has the names of VMs in the source."""
    if arrival is None:
        return []
    figures = [_target(arrival), _causes(arrival), v.charts(list(_largest(arrival, labels))), _changes(arrival, labels)]
    charts = [chart for at, each in enumerate(arrival["rolling"]) for chart in _peaks(each, at)]
    steps = [v.charts(charts), _steps(arrival)]
    return [
        *v.section("target", "Speed on the target", *figures),
        *v.section("rolling", "Hosts one after another", *steps, text=_ROLLING),
    ]


def speed(arrival: Arrival) -> list[str]:
    """Return the speed on the target, and what changes it, in sentences."""
    if arrival["after"] is None:
        return []
    found = [_speed(arrival["after"], arrival["failure"])]
    parts = sorted((each for each in arrival["causes"] if each["vms"]), key=lambda each: -each["vms"])
    if parts:
        many = sum(each["vms"] for each in parts)
        said = "; ".join(f"{each['vms']:,} mainly by {each['name']}" for each in parts)
        found.append(f"{count(many, 'VM')} of {len(arrival['vms']):,} change by more than 10%: {said}.")
    return found


def _speed(after: TwinState, failed: TwinState | None) -> str:
    response, ready = after["response"], after["ready_pct"]
    parts = []
    if response is not None:
        parts.append(f"Response p99 is {number(100 * response['median'])}% of now (median of VMs)")
    if ready is not None:
        then = failed["ready_pct"] if failed is not None else None
        end = f", {number(then['mean'])}% after a failure" if then is not None else ""
        parts.append(f"ready at most {number(ready['mean'])}%{end}")
    return f"{'; '.join(parts)}." if parts else ""


def _target(arrival: Arrival) -> Sequence[v.Block]:
    if arrival["after"] is None:
        return []
    states = [
        ("now", arrival["before"]),
        ("on the target", arrival["after"]),
        (f"{some(arrival['failed'], 2)} failed", arrival["failure"]),
    ]
    rows: list[v.Cells] = []
    for name, state in states:
        if state is not None:
            costop = (v.figures("costop", "co-stop", "%"), worst(state["costop_pct"]))
            rows.append([(v.words("state", "state"), name), ready(state), costop, *response(state)])
    return v.listing("target", "Simulated figures before and after", rows)


def _causes(arrival: Arrival) -> Sequence[v.Block]:
    columns = [
        v.words("name", "cause"),
        v.figures("ratio", "median response p99", "× without it", text="All factors multiply to the whole change."),
        v.figures("vms", "VMs", text="VMs with a change of more than 10% of which this is the largest part."),
    ]
    rows: list[v.Row] = [
        {"name": each["name"], "ratio": each["ratio"], "vms": each["vms"]} for each in arrival["causes"]
    ]
    return v.table("causes", "Causes of the change, in this order", columns, rows)


def _change_of(vm: VmChange) -> tuple[Metric, Change] | None:
    """Return the first noticed figure of a VM, or None without any."""
    return next(((each, vm["figures"][each]) for each in FIGURES if vm["figures"].get(each, _NONE)["noticed"]), None)


def _ratio(change: Change | None) -> float | None:
    """Return a figure after the move as a multiple of that before, or None if either is unknown or 0."""
    if change is None or not change["before"] or not change["after"]:
        return None
    return change["after"] / change["before"]


def _size(vm: VmChange) -> float:
    """Return the size of the change of a VM, for sorting."""
    noticed = _change_of(vm)
    ratio = None if noticed is None else _ratio(noticed[1])
    return (-1.0 if noticed is None else 0.0) if ratio is None else max(ratio, 1 / ratio)


def _largest(arrival: Arrival, labels: Mapping[str, str]) -> Iterator[v.Chart]:
    """Yield a chart of the VMs whose figures change most, for the figure with the most changes."""
    noticed = {
        metric: [vm for vm in arrival["vms"] if vm["figures"].get(metric, _NONE)["noticed"]] for metric in FIGURES
    }
    metric = max(FIGURES, key=lambda each: len(noticed[each]))
    vms = sorted(noticed[metric], key=lambda vm: (-_size(vm), vm["name"]))[:MAX_CHARTED]
    if not vms:
        return
    name, unit = FIGURES[metric]
    changes = [vm["figures"][metric] for vm in vms]
    first, last = changes[0]["before"] or 0.0, changes[0]["after"] or 0.0
    called = labels.get(vms[0]["name"], vms[0]["name"])
    yield {
        "type": "bars",
        "id": "largest",
        "title": f"Largest changes of {name}",
        "alternative": f"{called}: from {number(first)} to {number(last)} {unit}.",
        "categories": [labels.get(vm["name"], vm["name"]) for vm in vms],
        "value": v.axis(name, unit, begin=0),
        "series": [
            {"name": "now", "values": [each["before"] for each in changes], "colour": v.MEASURED},
            {"name": "on the target", "values": [each["after"] for each in changes], "colour": v.TWIN},
        ],
        "horizontal": True,
    }


def _changes(arrival: Arrival, labels: Mapping[str, str]) -> Sequence[v.Block]:
    columns = [v.words("name", "VM"), v.words("cause", "main cause")]
    for metric, (name, unit) in FIGURES.items():
        columns += [
            v.figures(f"{metric}_before", f"{name} now", unit),
            v.figures(metric, f"{name} on the target", unit),
        ]
    columns.insert(4, v.figures("ratio", "response p99", "× now"))
    columns.append(v.words("others", "causes of other changes", secondary=True))
    rows: list[v.Row] = []
    for vm in sorted(arrival["vms"], key=lambda vm: (-_size(vm), vm["name"])):
        noticed = _change_of(vm)
        row: dict[str, v.Cell] = {
            "name": labels.get(vm["name"], vm["name"]),
            "cause": None if noticed is None else noticed[1]["cause"],
            "ratio": _ratio(vm["figures"].get("response_ms_p99")),
        }
        others = []
        for metric, (name, _) in FIGURES.items():
            change = vm["figures"].get(metric, _NONE)
            if change["noticed"] and noticed is not None and metric != noticed[0]:
                others.append(f"{name}: {change['cause']}")
            row |= {f"{metric}_before": change["before"], metric: change["after"]}
        rows.append({**row, "others": "; ".join(others)})
    return v.table("changes", "VMs before and after", columns, rows, filters=("cause",))


_NONE: Change = {"before": None, "after": None, "steps": [], "noticed": False, "cause": None}


_ROLLING = (
    "Each host is emptied, reinstalled and filled again. Before each of these steps, both sides are within limits "
    "after any planned failure."
)


def _peaks(rolling: Rolling, number: int) -> Iterator[v.Chart]:
    steps = rolling["steps"]
    if len(steps) < 2:
        return
    yield {
        "type": "lines",
        "id": f"peaks-{number}",
        "title": f"VMs of {rolling['cluster']} before each reinstallation",
        "alternative": f"From {steps[0]['moved']} VMs at the first host to {steps[-1]['moved']} at the last.",
        "x": v.axis("host", begin=1),
        "y": v.axis("VMs", begin=0),
        "places": [float(at) for at in range(1, len(steps) + 1)],
        "series": [
            {"name": "on the target", "values": [float(each["moved"]) for each in steps], "colour": v.TWIN},
            {"name": "on the source", "values": [float(each["staying"]) for each in steps], "colour": v.MEASURED},
        ],
    }


def _steps(arrival: Arrival) -> Sequence[v.Block]:
    all_steps = [(rolling["cluster"], each) for rolling in arrival["rolling"] for each in rolling["steps"]]
    rows: list[v.Cells] = [
        [
            (v.figures("step", "step"), at),
            (v.words("cluster", "cluster", secondary=True), cluster),
            (v.words("host", "reinstalled host"), each["host"]),
            (v.figures("moves", "VMs that move before"), len(each["moves"])),
            (v.figures("moved", "VMs on the target"), each["moved"]),
            (v.figures("staying", "VMs on the source"), each["staying"]),
            (v.figures("source", "peak load, source", "% of limit"), each["source_peak_pct"]),
            (v.figures("source_after", "after a failure, source", "% of limit"), each["source_after_failure_pct"]),
            (v.figures("target", "peak load, target", "% of limit"), each["target_peak_pct"]),
            (v.figures("target_after", "after a failure, target", "% of limit"), each["target_after_failure_pct"]),
        ]
        for at, (cluster, each) in enumerate(all_steps, 1)
    ]
    return v.listing("rolling", "Steps", rows, ascending="step")


def reuse(arrival: Arrival | None, labels: Mapping[str, str]) -> list[str]:
    """Return which hosts can be reinstalled one after another, in sentences."""
    plans = [] if arrival is None else arrival["rolling"]
    where = {each["cluster"]: f" of {each['cluster']}" if len(plans) > 1 else "" for each in plans}
    found = []
    for each in plans:
        if not each["feasible"]:
            of = where[each["cluster"]]
            found.append(f"The hosts{of} cannot be reinstalled one after another: {each['reason']}.")
    possible = [each for each in plans if each["feasible"] and each["steps"]]
    if possible:
        names = some([each["cluster"] for each in possible], 4)
        of = f" of {names}" if len(plans) > 1 else ""
        loans = max(each["loans"] for each in possible)
        lent = f"with {count(loans, 'host')} on loan" if loans else "without a host on loan"
        found.append(
            f"The hosts{of} can be reinstalled one after another {lent}; each step survives a planned failure."
        )
    for each in plans:
        if each["kept"]:
            held = some([labels.get(name, name) for name in each["holding"]], 4)
            hosts = some(each["kept"], 4)
            of = where[each["cluster"]]
            many = count(len(each["kept"]), "host")
            found.append(f"{many}{of} must stay as they are, for VMs that a rule blocks: {hosts}, for {held}.")
    return found


def worst(found: Worst | None, limit: float | None = None) -> v.Cell:
    """Return the figure of the worst VM as a cell, marked from a limit on."""
    if found is None:
        return None
    is_bad = limit is not None and found["mean"] >= limit
    return v.figure(
        found["mean"], "bad" if is_bad else "plain", half_width=found["ci95"], ends=(found["low"], found["high"])
    )


def ready(state: TwinState, limit: float | None = None) -> tuple[v.Column, v.Cell]:
    """Return the ready time of the worst VM with its column, marked from a limit on."""
    text = "Worst VM. In brackets: with the twin's own error."
    return v.figures("ready", "ready", "%", text=text), worst(state["ready_pct"], limit)


def response(state: TwinState, *, of_slower: str = "", secondary: bool = False) -> v.Cells:
    """Return response times, also against now, with their columns. `secondary` is about the name of the slowest VM."""
    found = state["response"]
    slowest = f"{found['slowest']} (× {number(found['slowest_ratio'])})" if found else ""
    return [
        (v.figures("response", "response p99", "ms", text="VM with the longest one."), worst(state["response_ms_p99"])),
        (v.figures("median", "median VM", "× now"), found["median"] if found else None),
        (v.figures("p90", "90% of VMs at most", "× now"), found["p90"] if found else None),
        (v.figures("slower", "slower VMs", text=of_slower), found["slower"] if found else None),
        (v.words("slowest", "slowest VM", secondary=secondary), slowest),
    ]
