"""View of a diagnosis: problems with figures and rules, worst first, and rules that were not checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from hypertwin.documents.diagnosis import SEVERITIES, Beyond, Figure, Finding, Findings, Severity
from hypertwin.documents.diagnosis import Row as Size
from hypertwin.documents.diagnosis import Series as Charted
from hypertwin.documents.telemetry import Gap, Read
from hypertwin.metrics.words import amount, count, number, some
from hypertwin.show import view as v

TONES: dict[Severity, v.Tone] = {"critical": "bad", "warning": "warn", "info": "note"}
NOUNS = {
    "vm": "VM",
    "host": "host",
    "device": "device",
    "guest": "guest",
    "cluster": "cluster",
    "datastore": "datastore",
}
MAX_ALIKE = 3
"""Maximum number of findings of one code that are shown in full. Others are folded."""
MAX_ANSWERED = 4
"""Maximum number of codes in the answer."""


class Group(NamedTuple):
    """Findings of one code, worst first. Root causes include their consequences."""

    code: str
    findings: Sequence[Finding]
    follows: Sequence[Group] = ()

    @property
    def worst(self) -> Finding:
        """Worst finding of the group."""
        return self.findings[0]

    @property
    def whom(self) -> str:
        """Number and kind of affected objects: `41 VMs`."""
        kinds = {finding["kind"] for finding in self.findings}
        return count(len(self.findings), NOUNS.get(kinds.pop(), "object") if len(kinds) == 1 else "finding")

    @property
    def text(self) -> str:
        """Affected objects with the worst figure: `41 VMs, worst batch-15: ready 37 % ...`."""
        whose = f"{self.whom}, worst {self.worst['name']}" if len(self.findings) > 1 else self.worst["name"]
        return f"{whose}: {self.worst['figure']}"

    @property
    def rank(self) -> int:
        """Rank of the worst severity, including that of consequences, from 0 for critical."""
        return min(SEVERITIES.index(one.worst["severity"]) for one in (self, *self.follows))

    @property
    def badge(self) -> v.Badge:
        """Badge of the worst finding, without consequences."""
        return _badge(self.worst["severity"])

    @property
    def answer(self) -> str:
        """Severity and text of the worst finding, with the consequences that are worse: `critical: db waits ...`."""
        told = f"{self.code}, {self.text}" if len(self.findings) > 1 else _titled(self.worst)
        severity = SEVERITIES[self.rank]
        worse = [each.code for each in self.follows if each.worst["severity"] == severity]
        more = f"; {severity}: {some(worse)} follows from it" if severity != self.worst["severity"] else ""
        return f"{self.worst['severity']}: {told}{more}"


class Evidence(NamedTuple):
    """Finding with its chart data."""

    finding: Finding
    series: Sequence[Charted]


def by_code(findings: Iterable[Finding]) -> list[Group]:
    """Return findings as groups of one code each, worst group first."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding["code"], []).append(finding)
    return [Group(code, each) for code, each in found.items()]


def groups(found: Findings) -> list[Group]:
    """Return all findings by code, as root causes with their consequences, worst first."""
    place = {id(finding): number for number, finding in enumerate(found["findings"])}
    follows: dict[str, list[Finding]] = {}
    whole = stories(found)
    for first, *others in whole:
        follows.setdefault(first["code"], []).extend(others)
    heads = by_code(sorted((story[0] for story in whole), key=lambda finding: place[id(finding)]))
    made = [
        Group(head.code, head.findings, by_code(sorted(follows[head.code], key=lambda finding: place[id(finding)])))
        for head in heads
    ]
    return sorted(made, key=lambda each: each.rank)


def stories(found: Findings) -> list[list[Finding]]:
    """Return findings by root cause, worst list first. The root cause is the first element of a list."""
    findings = found["findings"]
    by_key = {(finding["code"], finding["entity"]): finding for finding in findings}
    told: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        root = finding
        while root["cause"] is not None:
            root = by_key[root["cause"]["code"], root["cause"]["entity"]]
        told.setdefault((root["code"], root["entity"]), []).append(finding)
    ordered = [
        sorted(story, key=lambda finding: (finding["code"], finding["entity"]) != root) for root, story in told.items()
    ]
    return sorted(ordered, key=lambda story: min(SEVERITIES.index(finding["severity"]) for finding in story))


def summary(found: Findings) -> str:
    """Return the number of findings in a sentence, after the basis if there are no measurements."""
    return _basis(found) + _found(found)


def _basis(found: Findings) -> str:
    """Return the basis, if there are no measurements."""
    if found["measured"]:
        return ""
    if found["simulated_s"] is not None:
        return f"Nothing was measured: simulated the scenario for {found['simulated_s']:g} s. "
    return f"Nothing was measured or simulated: {found['not_simulated']}. "


def _found(found: Findings) -> str:
    counts = dict.fromkeys(SEVERITIES, 0)
    for finding in found["findings"]:
        counts[finding["severity"]] += 1
    looked = f"{count(found['hosts'], 'host')}, {count(found['machines'], 'VM')}"
    if not found["findings"]:
        missing = len({each["code"] for each in found["not_checked"]})
        only = "in only" if 2 * missing > found["rules"] else "in"
        more = f" The other {missing} need more data." if missing else ""
        return f"No problems {only} {count(found['rules'] - missing, 'check')} ({looked}).{more}"
    told = ", ".join(f"{count} {severity}" for severity, count in counts.items() if count)
    grouped = len(stories(found))
    causes = f" with {count(grouped, 'cause')}" if grouped != len(found["findings"]) else ""
    return f"{count(len(found['findings']), 'finding')}{causes}: {told} ({looked})."


def not_checked(found: Findings) -> list[str]:
    """Return the rules that were not checked, by missing data."""
    codes: dict[str, list[str]] = {}
    for each in found["not_checked"]:
        codes.setdefault(each["needs"], []).append(each["code"])
    return [f"{', '.join(names)}: needs {needs}" for needs, names in codes.items()]


def remarks(found: Findings) -> list[str]:
    """Return notes on the sources and on the diagnosis, with missing data."""
    lines = list(found["notes"])
    for each in found["read"]:
        lines += [f"{each['source']}: {note}" for note in each["notes"]]
    return lines + _lacking(found["read"])


def _lacking(read: Sequence[Read]) -> list[str]:
    """Return a line for each family of missing counters (such as an object of esxtop) with the files that lack the
    counters.
    """
    files: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for each in read:
        families: dict[str, list[Gap]] = {}
        for gap in each["gaps"]:
            family, _, name = gap["what"].rpartition("\\")
            families.setdefault(family or name, []).append(gap)
        for family, gaps in families.items():
            names = tuple(gap["what"].rpartition("\\")[2] for gap in gaps)
            costs = tuple(dict.fromkeys(gap["costs"] for gap in gaps))
            files.setdefault((family, names, costs), []).append(each["source"])
    return [
        f"{some(sources, 3)} lack{'s' * (len(sources) == 1)} {family}"
        f"{f' ({some(names, 6)})' if names != (family,) else ''}: {'; '.join(costs)}"
        for (family, names, costs), sources in files.items()
    ]


def evidence(measure: Figure) -> str:
    """Return the value, the band, the fraction of samples and the time of a figure, in words."""
    unit = f" {measure['unit']}" if measure["unit"] else ""
    text = f"{measure['what']}: {amount(measure['value'], measure['unit'])}"
    band = measure["band"]
    if band:
        limits = ", ".join(
            f"{severity} {band['direction']} {amount(band[severity], measure['unit'])}"
            for severity in reversed(SEVERITIES)
            if severity in band
        )
        text += f" ({limits})" if limits else unit
    beyond = measure["beyond"]
    if beyond:
        text += f"; beyond in {_share(beyond)}"
    return text


def _share(beyond: Beyond) -> str:
    share = f"{beyond['share_pct']:.3g} % of the samples"
    if not (beyond["first"] and beyond["last"] and beyond["worst"]):
        return share
    day = beyond["first"][:10]
    until, worst = (time.removeprefix(f"{day} ") for time in (beyond["last"], beyond["worst"]))
    return f"{share}, {beyond['first']} to {until}, worst at {worst} UTC"


def view(found: Findings, series: Sequence[Sequence[Charted]] = ()) -> v.View:
    """Return the view of a diagnosis. `series` has the chart data of each finding."""
    findings, grouped, unchecked = found["findings"], groups(found), not_checked(found)
    drawn = {id(finding): Evidence(finding, of) for finding, of in zip(findings, series, strict=False)}
    counts = {each: sum(finding["severity"] == each for finding in findings) for each in SEVERITIES}
    worst = next((TONES[each] for each in SEVERITIES if counts[each]), None)
    more = [each.answer for each in grouped[:MAX_ANSWERED]]
    if len(grouped) > MAX_ANSWERED:
        more.append(f"{len(grouped) - MAX_ANSWERED} more kinds of findings below.")
    lacking = len({each["code"] for each in found["not_checked"]})
    return {
        "title": f"Diagnosis of {found['cluster']}" if found["cluster"] else "Diagnosis",
        "answer": {"tone": worst or ("warn" if unchecked else "good"), "text": summary(found), "more": more},
        "promises": [],
        "confidence": _confidence(found, lacking),
        "cards": [
            *(v.card(each, str(many), tone=TONES[each] if many else "plain") for each, many in counts.items()),
            v.card("Checked", count(found["hosts"], "host"), count(found["machines"], "VM")),
            v.card("Not checked", count(lacking, "rule"), tone="warn" if lacking else "plain"),
        ],
        "sections": [
            *v.section("glance", "At a glance", _glance(grouped)),
            *_limits(found),
            *_clusters(found),
            *_told([[drawn.get(id(each), Evidence(each, ())) for each in story] for story in stories(found)]),
            *v.section("findings", "All findings", _all(findings) if len(findings) > MAX_ALIKE else [], detail=True),
            *v.section("not-checked", "Not checked", v.items(unchecked)),
        ],
        "notes": [f"{grouped[0].code}: {grouped[0].worst['advice']}"] if grouped else [],
        "brief": ["glance", "limits"],
        "assumptions": remarks(found),
    }


def _titled(finding: Finding) -> str:
    title, figure = finding["title"], finding["figure"]
    return title if figure in title else f"{title} ({figure})"


def _badge(severity: Severity) -> v.Badge:
    return v.badge(severity, TONES[severity])


def _confidence(found: Findings, lacking: int) -> list[v.Badge]:
    read = found["read"]
    said = [v.badge("Every rule could be checked.", "good")]
    if lacking:
        said = [v.badge(f"{lacking} of {found['rules']} rules need more data.", "warn")]
    if read:
        sources = some([f"{each['source']} ({each['kind']})" for each in read], 3)
        said.append(v.badge(f"{count(sum(each['rows'] for each in read), 'value')} of telemetry from {sources}."))
    elif any(each["measured"] for each in found["clusters"]):
        said.append(
            v.badge("No telemetry: checked the configuration and the measurements in the cluster file.", "warn")
        )
    else:
        said.append(v.badge("No telemetry: checked the configuration only.", "warn"))
    if not found["cluster"]:
        said.append(v.badge("No cluster file: configuration not checked, no fix simulated.", "note"))
    tried = sum(each["what_if"] is not None for each in found["findings"])
    return [*said, v.badge(f"Simulated the fixes of {count(tried, 'finding')}.")] if tried else said


def _glance(grouped: Sequence[Group]) -> Sequence[v.Block]:
    rows: list[v.Cells] = []
    with_causes = [each for head in grouped for each in ((head, ""), *((one, head.code) for one in head.follows))]
    for each, cause in with_causes:
        tried, several = each.worst["what_if"], len(each.findings) > 1
        rows.append(
            [
                (v.badges("severity", "severity"), each.badge),
                (v.words("code", "finding"), each.code),
                (v.words("of", "of"), each.whom if several else each.worst["name"]),
                (
                    v.words("worst", "worst", secondary=True),
                    f"{each.worst['name']}: {each.worst['figure']}" if several else each.worst["figure"],
                ),
                (v.words("cause", "follows from", secondary=True), cause),
                (
                    v.badges("helps", "fix", text="Whether the best change helps, simulated."),
                    _helps(tried["helps"]) if tried else None,
                ),
                (v.words("twin", "simulated fix", secondary=True), tried["text"] if tried else ""),
            ]
        )
    return v.listing("glance", "Findings by code, worst first, each with what follows from it", rows)


def _helps(helps: bool | None) -> v.Badge:
    return v.badge("unclear", "note") if helps is None else v.badge("helps", "good") if helps else v.badge("no", "warn")


def _all(findings: Sequence[Finding]) -> Sequence[v.Block]:
    rows: list[v.Cells] = [
        [
            (v.badges("severity", "severity"), _badge(each["severity"])),
            (v.words("code", "finding"), each["code"]),
            (v.words("name", "of"), each["name"]),
            (v.words("kind", "kind", secondary=True), NOUNS.get(each["kind"], each["kind"])),
            (v.words("cluster", "cluster", secondary=True), each["cluster"] or ""),
            (v.words("host", "host"), each["host"] or ""),
            (v.words("figure", "figure"), each["figure"]),
            (v.words("advice", "what to do", secondary=True), each["advice"]),
        ]
        for each in findings
    ]
    filters = ["severity", "code", "kind", "cluster", "host"]
    return v.listing("findings", "Every finding, worst first", rows, filters=filters)


def _limits(found: Findings) -> list[v.Section]:
    """Return the measurements nearest to each limit."""
    rows: list[v.Cells] = [
        [
            (v.words("what", "figure"), each["what"].partition(" (")[0].partition(",")[0]),
            (v.words("name", "nearest"), each["name"]),
            (v.figures("value", "value"), v.figure(each["value"], text=amount(each["value"], each["unit"]))),
            (v.figures("limit", "limit"), v.figure(each["limit"], text=amount(each["limit"], each["unit"]))),
            (v.figures("part", "of limit", "%"), v.toned(each["of_limit_pct"], each["of_limit_pct"] > 100)),
        ]
        for each in found["limits"]
    ]
    return v.section("limits", "Nearest to each limit", v.listing("limits", "Nearest to each limit", rows))


def _clusters(found: Findings) -> list[v.Section]:
    """Return a row for each cluster and host, if there is a cluster file or more than one host."""
    clusters = found["clusters"]
    hosts = [(cluster["name"], host) for cluster in clusters for host in cluster["hosts"]]
    if len(hosts) < 2 and not any(cluster["key"] for cluster in clusters):
        return []
    hosts.sort(key=lambda each: [-each[1]["findings"][severity] for severity in SEVERITIES])
    when = sorted({host["measured"] for _, host in hosts if host["measured"]})
    notes = [f"CPU and memory used: {some(when, 3)}." if when else "Usage was not measured."]
    notes += [
        f"{each['name']}: the host of {count(each['vms_by_guess'], 'VM')} is unknown. They count in the cluster only."
        for each in clusters
        if each["vms_by_guess"]
    ]
    cluster, host = v.words("cluster", "cluster"), v.words("name", "host")
    rows = [[(cluster, each["name"]), *_sizes(each)] for each in clusters]
    of_hosts = [[(cluster, name), (host, each["name"]), *_sizes(each)] for name, each in hosts]
    return v.section(
        "clusters",
        "Clusters and hosts",
        v.listing("clusters", "Clusters", rows, notes=notes),
        v.listing("hosts", "Hosts", of_hosts, filters=["cluster"]),
    )


def _sizes(row: Size) -> v.Cells:
    memory = None if row["memory_bytes"] is None else row["memory_bytes"] / 2**30
    of_configured = "Configured memory of VMs, of host memory."
    return [
        (v.figures("vms", "VMs"), row["vms"]),
        (v.figures("vcpu_per_core", "vCPU/core", secondary=True), row["vcpu_per_core"]),
        (v.figures("cpu", "CPU", "%", text="Measured CPU use, of the measured cores."), row["cpu_pct"]),
        (v.figures("memory", "memory", "GiB", secondary=True), memory),
        (v.figures("configured", "configured", "%", text=of_configured, secondary=True), row["memory_configured_pct"]),
        (v.figures("used", "used", "%", text="Measured memory use, of host memory."), row["memory_pct"]),
        *(
            (v.figures(each, each, secondary=each == "info"), v.figure(row["findings"][each] or None, TONES[each]))
            for each in SEVERITIES
        ),
    ]


def _told(whole: Sequence[Sequence[Evidence]]) -> list[v.Section]:
    """Return a section for each code of root causes. If there are many, only the worst are open."""
    codes: dict[str, list[Sequence[Evidence]]] = {}
    for story in whole:
        codes.setdefault(story[0].finding["code"], []).append(story)
    made: list[v.Section] = []
    for code, same in codes.items():
        group, rest = Group(code, [story[0].finding for story in same]), same[MAX_ALIKE:]
        worst = f"Worst: {group.worst['name']}, {group.worst['figure']}." if len(same) > 1 else ""
        others = f"{len(rest)} more: {some([story[0].finding['name'] for story in rest], 8)}"
        made += v.section(
            v.slug(code),
            group.worst["title"] if len(same) == 1 else f"{code}: {group.whom}",
            _inside(same[0]) if len(same) == 1 else [],
            *(_story(story, closed=place > 0) for place, story in enumerate(same[:MAX_ALIKE]) if len(same) > 1),
            v.group(others, *(_story(story, closed=True) for story in rest), closed=True),
            text=worst,
            badge=group.badge,
        )
    return made


def _story(story: Sequence[Evidence], *, closed: bool) -> list[v.Block]:
    finding = story[0].finding
    return v.group(finding["title"], _inside(story), badge=_badge(finding["severity"]), closed=closed)


def _inside(story: Sequence[Evidence]) -> list[v.Block]:
    """Return a root cause in full, and its consequences folded."""
    first, *others = story
    follows: dict[str, list[Evidence]] = {}
    for each in others:
        follows.setdefault(each.finding["code"], []).append(each)
    made = _blocks(first)
    for code, of in follows.items():
        group = Group(code, [each.finding for each in of])
        inside = [_inside(of)] if len(of) == 1 else [_story([each], closed=True) for each in of]
        made += v.group(f"follows: {code}, {group.text}", *inside, badge=group.badge, closed=True)
    return made


def _blocks(told: Evidence) -> list[v.Block]:
    """Return all blocks of a finding: object, figures, advice, result of the twin, charts and sources."""
    finding = told.finding
    twin = [f"Simulated fix: {finding['what_if']['text']}"] if finding["what_if"] else []
    if not finding["what_if"] and finding["no_what_if"]:
        twin = [f"Not simulated: {finding['no_what_if']}"]
    sources: list[v.Item] = [
        {"text": f"Rule {finding['code']}: {each['title']}", "address": each["address"]} for each in finding["sources"]
    ]
    name = v.slug(f"{finding['code']}-{finding['entity']}")
    return [
        {"type": "prose", "paragraphs": [finding["text"], f"What to do: {finding['advice']}", *twin]},
        *v.items(evidence(each) for each in finding["evidence"]),
        *v.charts([_chart(each, f"{name}-{place}") for place, each in enumerate(told.series, 1)]),
        {"type": "list", "items": sources},
    ]


def _chart(series: Charted, name: str) -> v.LineChart:
    highest = max([0.0, *series["most"]])
    unit = amount(highest, series["unit"]).split(" ")[1] if series["unit"] in ("B", "B/s") else series["unit"]
    names = ("B", "KiB", "MiB", "GiB", "TiB")
    scale = 1024.0 ** names.index(unit.removesuffix("/s")) if series["unit"] in ("B", "B/s") else 1.0
    band = series["band"]
    limits: list[v.Limit] = [
        {"name": each, "value": band[each] / scale, "tone": TONES[each]} for each in SEVERITIES if band and each in band
    ]
    top = max(highest / scale * 1.12, min((each["value"] for each in limits), default=0.0) * 1.25) or 1.0
    mean, most = ([value / scale for value in values] for values in (series["mean"], series["most"]))
    lines: list[v.Series] = [{"name": "mean", "values": mean, "colour": 0}]
    if most != mean:
        lines.append({"name": "highest", "values": most, "colour": 0, "dash": "dotted"})
    bounds = ", ".join(f"{each['name']} {band and band['direction']} {number(each['value'])} {unit}" for each in limits)
    places, clock = _times(series["x"])
    what = series["what"].split(", ")[0]
    return {
        "type": "lines",
        "id": name,
        "title": what,
        "alternative": f"Up to {amount(highest, series['unit'])}{f'; {bounds}' if bounds else ''}.",
        "x": clock,
        "y": v.axis(what, unit, begin=0, end=top),
        "places": places,
        "series": lines,
        "limits": [each for each in limits if each["value"] <= top],
    }


def _times(x: Sequence[str | int]) -> tuple[list[float], v.Axis]:
    """Return times as hours or minutes since the first sample, or sample numbers if there is no clock."""
    try:
        clock = [datetime.fromisoformat(str(each)) for each in x if isinstance(each, str)]
        seconds = [(each - clock[0]).total_seconds() for each in clock]
    except (ValueError, TypeError):
        clock, seconds = [], []
    if not clock or len(clock) < len(x):
        return [float(place) for place in range(len(x))], v.axis("sample")
    unit, size = ("h", 3600) if seconds[-1] > 300 * 60 else ("min", 60)
    return [each / size for each in seconds], v.axis(f"since {clock[0]:%Y-%m-%d %H:%M} UTC", unit)
