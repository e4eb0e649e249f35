"""View of a move: readiness of VMs, waves on a time line, the target before and after, and texts for tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice

from hypertwin.documents.move import Move, MovedVm, Range, Wave
from hypertwin.metrics.words import count, number, some
from hypertwin.show import move_beside as beside
from hypertwin.show import move_target
from hypertwin.show import view as v

VERDICTS: dict[str, tuple[str, v.Tone]] = {
    "blocked": ("blocked", "bad"),
    "not-known": ("not known", "warn"),
    "changes": ("changes", "note"),
    "ready": ("ready", "good"),
}
"""Words and tones of verdicts, worst first."""

POWER = {"on": "running", "off": "powered off", "template": "template"}
"""Words of states in the source."""

SEVERITIES: dict[str, v.Tone] = {"blocks": "bad", "changes": "note", "note": "plain"}

MAX_ROWS = 20_000
"""Number of findings above which the list of findings is only in `--format json`."""


def answer(found: Move) -> v.Answer:
    """Return the answer: readiness, the target, time and speed."""
    counts, total = found["counts"], len(found["vms"])
    blocked, unknown = counts.get("blocked", 0), counts.get("not-known", 0)
    ready = total - blocked - unknown
    lead = "" if found["family"] else f"No word on performance: {found['asked']['title']} has no model here. "
    parts = [f"{ready:,} of {count(total, 'VM')}{_not_running(found)} can move to {found['asked']['title']}"]
    if blocked:
        parts.append(f"{blocked:,} blocked")
    if unknown:
        parts.append(f"{unknown:,} not known from this source")
    gaps = found["gaps"]
    if gaps:
        parts[0] += f", apart from {count(len(gaps), 'rule')} that this source cannot answer"
    late = _not_dated(found)
    text = f"{late}{lead}{', '.join(parts)}."
    arrival = found["arrival"]
    if arrival is not None and not arrival["feasible"]:
        text += f" The target cannot take them: {arrival['reason']}."
    more = []
    sized = sum(vm["volume_gib"] > 0 for vm in found["vms"])
    if found["waves"] and sized < total / 2:
        waves = count(len(found["waves"]), "wave")
        more.append(f"{waves}. Their time is not known: the source has the disks of {sized:,} of {count(total, 'VM')}.")
    elif found["waves"]:
        time = _hours(found["copy_s"])
        until = f", until {_day(found['latest_end'])} at the latest" if found["latest_end"] else ""
        more.append(f"{count(len(found['waves']), 'wave')}, {number(found['volume_gib'])} GiB, {time}{until}.")
    more += _downtimes(found)
    if arrival is not None:
        more += move_target.speed(arrival)
    if arrival is not None and arrival["feasible"] and found["family"]:
        more.append(f"The target is simulated as {found['family']}.")
    more += move_target.reuse(arrival, labels(found))
    if sized >= total / 2:
        more.append(beside.sentence(found))
    if found["halving"]:
        more.append(f"To halve the time of the copy: {' '.join(found['halving'])}")
    bad = blocked or late or (arrival is not None and not arrival["feasible"])
    return {
        "tone": "bad" if bad else "warn" if unknown or gaps else "good",
        "text": text,
        "more": [each for each in more if each],
    }


def _not_dated(found: Move) -> str:
    """Return which waves fit no window, with the reason of the first, or an empty text if all fit."""
    waves = [wave for wave in found["waves"] if found["asked"]["start"] and wave["begin"] is None]
    if not waves:
        return ""
    reason = waves[0]["notes"][-1]  # of the calendar: `Does not fit: needs ...`
    more = [str(wave["number"]) for wave in waves[1:]]
    others = f" Nor {'does wave' if len(more) == 1 else 'do waves'} {some(more)}." if more else ""
    return f"Wave {waves[0]['number']} {reason[0].lower()}{reason[1:]}{others} The move has no end date. "


def _not_running(found: Move) -> str:
    """Return the numbers of powered-off VMs and of templates in brackets, or an empty text without any."""
    off, templates = found["power"].get("off", 0), found["power"].get("template", 0)
    parts = [*([f"{off:,} powered off"] if off else []), *([count(templates, "template")] if templates else [])]
    return f" ({', '.join(parts)})" if parts else ""


def labels(found: Move) -> dict[str, str]:
    """Return the names of VMs in the source, by name in the scenario."""
    return {vm["name"]: vm["label"] for vm in found["vms"]}


def failure(found: Move) -> str:
    """Return the reason why a move is not possible as planned, or an empty text if it is."""
    arrival = found["arrival"]
    if arrival is not None and not arrival["feasible"]:
        return f"the target cannot take the VMs: {arrival['reason']}"
    return ""


def _downtimes(found: Move) -> list[str]:
    """Return which longest downtimes are kept, in sentences."""
    said, called = [], labels(found)
    for each in found["downtimes"]:
        minutes = f"{number(each['max_s'] / 60)} min"
        parts = [f"{count(each['vms'], 'VM')} with {each['tag']} can be off for {minutes}"]
        if each["warm"]:
            parts.append(f"{len(each['warm']):,} move warm")
        if each["too_long"]:
            names = some([called.get(name, name) for name in each["too_long"]], 4)
            parts.append(f"{len(each['too_long']):,} can be off longer: {names}")
        said.append(f"{'; '.join(parts)}.")
    return said


def view(found: Move) -> v.View:
    """Return the view of a move."""
    arrival = found["arrival"]
    written: list[v.Block] = [{"type": "text", "name": name, "text": text} for name, text in found["texts"].items()]
    return {
        "title": f"{found['scenario']} to {found['asked']['title']}",
        "answer": answer(found),
        "promises": [],
        "confidence": list(_confidence(found)),
        "cards": list(_cards(found)),
        "sections": [
            *v.section("readiness", "Readiness", v.charts(list(_charts(found))), _rules(found)),
            *v.section(
                "gaps",
                "Not in this source",
                v.items(found["gaps"]),
                text="Facts that decide these rules, and where they are.",
            ),
            *v.section("waves", "Waves", v.charts(list(_timeline(found))), _waves(found)),
            *v.section("addresses", "Addresses", beside.addresses(found), text=beside.ADDRESSES),
            *v.section("rollback", "Way back", beside.rollback(found), closed=True),
            *v.section("overlap", "Both sides at once", beside.sides(found), beside.costs(found), text=beside.BOTH),
            *v.section("work", "Work of people", beside.work(found), text=beside.WORK),
            *move_target.sections(arrival, labels(found)),
            *v.section("vms", "VMs", _vms(found)),
            *v.section("texts", "Texts for tools", written, text=_TEXTS, closed=True, detail=True),
            *v.section("findings", "Findings", _findings(found), closed=True, detail=True),
            *v.section("settings", "Settings on the target", _settings(found), closed=True, detail=True),
        ],
        "notes": [
            *found["notes"],
            *(
                [f"Dropped, because the target does not have it: {some(arrival['dropped'])}."]
                if arrival and arrival["dropped"]
                else []
            ),
        ],
        "assumptions": [f"Times are those of: {found['tool']}.", beside.checks(found)],
        "brief": ["rules", "waves"],
    }


def _confidence(found: Move) -> Iterator[v.Badge]:
    unsized = sum(not vm["size_known"] for vm in found["vms"])
    if unsized:
        yield v.badge(f"Used storage unknown: {count(unsized, 'VM')}", "warn")
    late = [str(wave["number"]) for wave in found["waves"] if not wave["fits"]]
    if late:
        yield v.badge(f"Waves that can exceed their window: {some(late)}", "warn")
    off = [each["tag"] for each in found["downtimes"] if each["too_long"]]
    if off:
        yield v.badge(f"Downtime can be too long: {some(off)}", "warn")
    if found["arrival"] is None:
        yield v.badge("The target cluster is not checked", "note")


def _cards(found: Move) -> Iterator[v.Card]:
    for verdict, (words, tone) in VERDICTS.items():
        many = found["counts"].get(verdict, 0)
        if many:
            yield v.card(words.capitalize(), f"{many:,}", "VMs", tone if tone != "note" else "plain")
    if found["waves"]:
        yield v.card("Waves", f"{len(found['waves'])}", _hours(found["copy_s"]))


def _charts(found: Move) -> Iterator[v.Chart]:
    efforts = [effort for effort, _ in Counter(vm["effort"] for vm in found["vms"]).most_common()]
    if len(found["vms"]) < 2:
        return
    series: list[v.Series] = [
        {
            "name": words,
            "values": [
                float(sum(vm["verdict"] == verdict and vm["effort"] == effort for vm in found["vms"]))
                for effort in efforts
            ],
            "colour": at,
        }
        for at, (verdict, (words, _)) in enumerate(VERDICTS.items())
        if found["counts"].get(verdict)
    ]
    said = ", ".join(f"{VERDICTS[name][0]} {many}" for name, many in found["counts"].items())
    yield {
        "type": "bars",
        "id": "effort",
        "title": "VMs by effort and verdict",
        "alternative": f"VMs: {said}.",
        "categories": efforts,
        "value": v.axis("VMs", begin=0),
        "series": series,
        "stacked": True,
        "horizontal": True,
    }


def _timeline(found: Move) -> Iterator[v.Chart]:
    """Yield the waves in hours from the first one: the copy before the window, and the time in the window."""
    if not found["waves"]:
        return
    rows: list[v.RangeRow] = []
    first = _time(found["waves"][0]["begin"])
    at = 0.0
    for wave in found["waves"]:
        begin = _time(wave["begin"])
        start = at if begin is None or first is None else (begin - first).total_seconds() / 3600
        window = wave["window_s"]
        rows.append(
            {
                "name": f"{wave['number']} {wave['kind']}",
                "low": start,
                "middle": start + window["value"] / 3600,
                "high": start + window["high"] / 3600,
                "marks": [],
            }
        )
        at = start + window["high"] / 3600
    yield {
        "type": "ranges",
        "id": "timeline",
        "title": "Waves from the first one",
        "text": "From the begin of a wave to the slow end of its time. The mark in between is the expected end.",
        "alternative": f"{count(len(rows), 'wave')} in {number(at)} h.",
        "value": v.axis("time", "h", begin=0),
        "rows": rows,
        "legend": {"range": "begin to latest end", "marks": []},
    }


def _rules(found: Move) -> Sequence[v.Block]:
    about: dict[str, tuple[str, str, str]] = {}
    unknown: Counter[str] = Counter()
    for vm in found["vms"]:
        for each in vm["findings"]:
            about.setdefault(each["rule"], (each["severity"], each["text"].rpartition(": ")[2], each["before"]))
            unknown[each["rule"]] += not each["known"]
    order = list(SEVERITIES)
    rows: list[v.Cells] = [
        [
            (v.words("rule", "rule"), rule),
            (v.badges("severity", "severity"), v.badge(severity, SEVERITIES[severity])),
            (v.figures("vms", "VMs"), found["rules"].get(rule, 0)),
            (v.figures("unknown", "not known", "VMs"), unknown[rule] or None),
            (v.words("text", "consequence"), text),
            (v.words("before", "what to do"), before),
        ]
        for rule, (severity, text, before) in sorted(about.items(), key=lambda each: (order.index(each[1][0]), each[0]))
    ]
    return v.listing("rules", "Rules that apply", rows)


def _waves(found: Move) -> Sequence[v.Block]:
    rows = [_wave(wave) for wave in found["waves"]]
    return v.listing("waves", "Waves", rows, ascending="number")


def _wave(wave: Wave) -> v.Cells:
    window, division = wave["window_s"], wave["division_s"]
    return [
        (v.figures("number", "wave"), wave["number"]),
        (v.words("kind", "kind"), wave["kind"]),
        (v.words("mode", "mode"), wave["mode"]),
        (v.figures("vms", "VMs"), len(wave["vms"])),
        (v.figures("volume", "data", "GiB"), wave["volume_gib"]),
        (
            v.figures("window", "time in the window", "h"),
            v.figure(window["value"] / 3600, ends=(window["low"] / 3600, window["high"] / 3600)),
        ),
        (
            v.figures(
                "division", "data / bandwidth", "h", text="Volume over the stated bandwidth, which is no estimate."
            ),
            None if division is None else division / 3600,
        ),
        (v.words("limit", "limited by"), some(wave["limited_by"], 2)),
        (v.words("begin", "begin"), _day(wave["begin"])),
        (v.words("end", "latest end"), _day(wave["latest_end"])),
        (v.badges("fits", "fits"), v.badge("yes", "good") if wave["fits"] else v.badge("can exceed", "warn")),
        (
            v.words("networks", "networks on both sides", text="After the wave. They need one broadcast domain."),
            some(wave["networks"], 2),
        ),
        (v.words("first", "VMs", secondary=True), some(wave["vms"], 3)),
    ]


def _vms(found: Move) -> Sequence[v.Block]:
    rows = [_vm(vm) for vm in found["vms"]]
    return v.listing("vms", "VMs", rows, filters=("verdict", "power", "wave"))


def _vm(vm: MovedVm) -> v.Cells:
    words, tone = VERDICTS[vm["verdict"]]
    off = vm["downtime_s"]
    known = [each["rule"] for each in vm["findings"] if each["known"] and each["severity"] != "note"]
    return [
        (v.words("name", "VM"), vm["label"]),
        (v.badges("verdict", "verdict"), v.badge(words, tone)),
        (v.words("power", "state"), POWER[vm["power"]]),
        (v.words("effort", "effort"), vm["effort"]),
        (v.words("target", "name on the target"), str(vm["becomes"].get("name", ""))),
        (v.figures("wave", "wave"), vm["wave"]),
        (v.figures("volume", "data", "GiB"), vm["volume_gib"]),
        (
            v.figures("downtime", "downtime", "min"),
            None if off is None else v.figure(off["value"] / 60, ends=(off["low"] / 60, off["high"] / 60)),
        ),
        (v.badges("mac", "MAC", secondary=True), v.badge(*beside.KEPT[vm["mac"]])),
        (v.badges("ip", "IP", secondary=True), v.badge(*beside.KEPT[vm["ip"]])),
        (v.words("host", "host", secondary=True), vm["host"]),
        (v.words("findings", "rules"), some(known, 3)),
    ]


_TEXTS = "Replace the placeholders in capital letters, and read each line before you run it."


def _findings(found: Move) -> Sequence[v.Block]:
    rows: Iterator[v.Cells] = (
        [
            (v.words("name", "VM"), vm["label"]),
            (v.words("rule", "rule"), each["rule"]),
            (v.badges("severity", "severity"), v.badge(each["severity"], SEVERITIES[each["severity"]])),
            (v.badges("known", "known"), v.badge("yes") if each["known"] else v.badge("not known", "warn")),
            (v.words("text", "consequence"), each["text"]),
            (v.words("before", "what to do"), each["before"]),
            (v.words("source", "source"), each["source"]),
        ]
        for vm in found["vms"]
        for each in vm["findings"]
    )
    return v.listing("findings", "Findings", list(islice(rows, MAX_ROWS)), filters=("severity",))


def _settings(found: Move) -> Sequence[v.Block]:
    rows: Iterator[v.Cells] = (
        [
            (v.words("name", "VM"), vm["label"]),
            (v.words("key", "setting"), key),
            (v.words("value", "as the tool makes it"), str(vm["becomes"].get(key, ""))),
            (v.words("best", "better"), str(vm["best"].get(key, ""))),
        ]
        for vm in found["vms"]
        for key in dict.fromkeys([*vm["becomes"], *vm["best"]])
    )
    return v.listing("settings", "Settings on the target", list(islice(rows, MAX_ROWS)))


def csv(found: Move) -> str:
    """Return one line per VM."""
    from hypertwin.show import files

    return files.records_csv(
        {
            "name": vm["name"],
            "label": vm["label"],
            "power": vm["power"],
            "verdict": vm["verdict"],
            "effort": vm["effort"],
            "target_name": vm["becomes"].get("name", ""),
            "wave": vm["wave"],
            "mac": vm["mac"],
            "ip": vm["ip"],
            "volume_gib": vm["volume_gib"],
            "downtime_s": None if vm["downtime_s"] is None else vm["downtime_s"]["value"],
            "rules": "; ".join(each["rule"] for each in vm["findings"] if each["known"]),
            "not_known": "; ".join(each["rule"] for each in vm["findings"] if not each["known"]),
        }
        for vm in found["vms"]
    )


def _hours(of: Range) -> str:
    return f"{number(of['value'] / 3600)} h ({number(of['low'] / 3600)} – {number(of['high'] / 3600)})"


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _day(text: str | None) -> str:
    found = _time(text)
    return "" if found is None else found.strftime("%Y-%m-%d %H:%M")
