"""Findings of a diagnosis: in which order and groups they are shown, their words, for a terminal and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from hypertwin.documents.diagnosis import SEVERITIES, Beyond, Document, Figure, Finding, Findings, Row, Series
from hypertwin.documents.telemetry import Gap, Read
from hypertwin.errors import printable
from hypertwin.report.page import Listing, Page
from hypertwin.report.table import Cells, Fitted
from hypertwin.report.words import count, some

STYLES = {"critical": "bold red", "warning": "bold yellow", "info": "bold blue"}
MOST_ALIKE = 3
"""Stories of one code that are told in full, the worst; of more, their names."""
NOUNS = {
    **{"vm": "machine", "host": "host", "device": "device", "guest": "guest", "cluster": "cluster"},
    "datastore": "datastore",
}
COLUMNS = ("", "VMs", "vCPU/core", "CPU %", "memory", "configured %", "used %", "critical", "warning", "info")
DROPPED_FIRST = ("vCPU/core", "info", "memory", "configured %")
"""Columns that are dropped in a narrow terminal, in this order."""
MOST_ROWS = 40
"""Hosts that a terminal shows a row of, those with findings first; the page has all."""


@dataclass(frozen=True)
class Group:
    """All findings of one code that stand at one place: as first causes, or as what follows from those of one code."""

    code: str
    findings: tuple[Finding, ...]
    """Worst first."""
    follows: tuple[Group, ...] = ()

    @property
    def worst(self) -> Finding:
        """The worst finding."""
        return self.findings[0]

    @property
    def count(self) -> str:
        """How many and of what: `41 machines`."""
        kinds = {finding["kind"] for finding in self.findings}
        noun = NOUNS.get(kinds.pop(), "entity") if len(kinds) == 1 else "finding"
        return f"{len(self.findings)} {noun}{'s' * (len(self.findings) != 1)}"

    @property
    def text(self) -> str:
        """Whom it is about and the worst figure: `41 machines, worst batch-15: ready 37 % ...`."""
        whose = f"{self.count}, worst {self.worst['name']}" if len(self.findings) > 1 else self.worst["name"]
        return f"{whose}: {self.worst['figure']}"


def by_code(findings: Iterable[Finding]) -> tuple[Group, ...]:
    """Findings as groups of one code each, the worst group first."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding["code"], []).append(finding)
    return tuple(Group(code, tuple(each)) for code, each in found.items())


def _severity(group: Group) -> int:
    return SEVERITIES.index(group.worst["severity"])


def groups(found: Findings) -> tuple[Group, ...]:
    """All findings in as many lines as there are codes: first causes by code, and under each what follows, by code."""
    told = stories(found)
    place = {id(finding): number for number, finding in enumerate(found["findings"])}
    heads = by_code(sorted((story[0] for story in told), key=lambda finding: place[id(finding)]))
    follows: dict[str, list[Finding]] = {}
    for story in told:
        follows.setdefault(story[0]["code"], []).extend(story[1:])
    whole = [
        Group(head.code, head.findings, by_code(sorted(follows[head.code], key=lambda finding: place[id(finding)])))
        for head in heads
    ]
    return tuple(sorted(whole, key=lambda group: min(map(_severity, (group, *group.follows)))))


def stories(found: Findings) -> list[list[Finding]]:
    """Findings by their first cause, which stands first in each list; the worst story first."""
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
    """How much was found, in a sentence; first of all, whether anything was measured."""
    return _basis(found) + _found(found)


def _basis(found: Findings) -> str:
    """What stands in place of measurements, if there are none."""
    if found["measured"]:
        return ""
    if found["simulated_s"] is not None:
        return f"Nothing was measured, so the twin ran the scenario for {found['simulated_s']:g} s. "
    return f"Nothing was measured, and the twin was not judged: {found['not_simulated']}. "


def _found(found: Findings) -> str:
    counts = dict.fromkeys(SEVERITIES, 0)
    for finding in found["findings"]:
        counts[finding["severity"]] += 1
    looked = ", ".join(
        f"{count} {word}{'s' * (count != 1)}"
        for count, word in ((found["hosts"], "host"), (found["machines"], "machine"))
    )
    if not found["findings"]:
        missing = {each["code"] for each in found["not_checked"]}
        if 2 * len(missing) > found["rules"]:
            judged = count(found["rules"] - len(missing), "rule")
            return f"Only {judged} of {found['rules']} could judge, and found nothing; {_missing(found)} ({looked})."
        return f"Nothing found by {_checked(found)} ({looked})."
    told = ", ".join(f"{count} {severity}" for severity, count in counts.items() if count)
    several = len(found["findings"]) != 1
    grouped = len(stories(found))
    causes = f" with {grouped} cause{'s' if grouped != 1 else ''}" if grouped != len(found["findings"]) else ""
    return f"{len(found['findings'])} finding{'s' if several else ''}{causes}: {told} ({looked})."


def _checked(found: Findings) -> str:
    """How many rules could judge, and what most of the others lack: `4 of 22 rules; 18 could not be checked: ...`."""
    missing = {each["code"] for each in found["not_checked"]}
    if not missing:
        return f"any of {found['rules']} rules"
    return f"{found['rules'] - len(missing)} of {found['rules']} rules; {_missing(found)}"


def _missing(found: Findings) -> str:
    """How many rules could not judge, and what they lack."""
    needs = list(dict.fromkeys(each["needs"] for each in found["not_checked"]))
    codes = {each["code"] for each in found["not_checked"]}
    return f"{len(codes)} could not be checked: they need {some(needs, 3)}"


def facts(found: Findings) -> list[tuple[str, str]]:
    """What was looked at, as (name, value)."""
    read = found["read"]
    values = sum(each["rows"] for each in read)
    sources = some([f"{each['source']} ({each['kind']})" for each in read], 3)
    return [
        ("telemetry", sources if read else "none"),
        ("values", f"{values:,}" if read else ""),
        ("cluster file", str(found["cluster"] or "none")),
        ("hosts", str(found["hosts"])),
        ("machines", str(found["machines"])),
    ]


def rule(finding: Finding) -> str:
    """The sources of a finding's rule, without their addresses."""
    return "; ".join(source["title"] for source in finding["sources"])


def not_checked(found: Findings) -> list[str]:
    """What could not be checked, a line for each thing that is missing."""
    codes: dict[str, list[str]] = {}
    for each in found["not_checked"]:
        codes.setdefault(each["needs"], []).append(each["code"])
    return [f"{', '.join(names)}: needs {needs}" for needs, names in codes.items()]


def remarks(found: Findings) -> list[str]:
    """Notes and gaps of what was read, and of the diagnosis."""
    lines = list(found["notes"])
    for each in found["read"]:
        lines += [f"{each['source']}: {note}" for note in each["notes"]]
    return lines + _lacking(found["read"])


def _lacking(read: Sequence[Read]) -> list[str]:
    """What files lack: a line for each family of counters, such as an object of esxtop's, and files that lack it."""
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
    """A figure in words: value, band, share of the samples and when."""
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


def amount(value: float, unit: str) -> str:
    """A value with its unit, bytes in the unit that fits."""
    if unit in ("B", "B/s"):
        for name, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if value >= size:
                return f"{value / size:.3g} {name}{unit[1:]}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    number = f"{value:,.{digits}f}"
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number}{f' {unit}' if unit else ''}"


def page(found: Document, *, series: Sequence[Sequence[Series]]) -> Page:
    """The page; `series` are those of the charts of each finding."""
    findings = found["findings"]
    places = {id(finding): place for place, finding in enumerate(findings)}
    cells = [[each["severity"], each["code"], each["name"], each["figure"], each["advice"]] for each in findings]
    return Page(
        kind="diagnosis",
        title=f"Diagnosis of {found['cluster']}" if found["cluster"] else "Diagnosis",
        document=found,
        beside={
            "summary": summary(found),
            "stories": [[places[id(finding)] for finding in story] for story in stories(found)],
            "evidence": [[evidence(figure) for figure in finding["evidence"]] for finding in findings],
            "series": series,
            "not_checked": not_checked(found),
        },
        notes=remarks(found),
        tables=[Listing(summary(found), ("severity", "finding", "of", "figure", "what to do"), cells)],
    )


def table(found: Findings) -> RenderableType:
    """The diagnosis for a terminal: all codes at a glance, then stories, worst first, then what was not checked."""
    parts: list[RenderableType] = [Text(summary(found), style="bold"), Text("")]
    if len(found["findings"]) > 1:
        parts += [*_at_a_glance(groups(found)), Text("")]
    parts += _clusters(found)
    shown: dict[str, int] = {}
    left_out: dict[str, list[str]] = {}
    for story in stories(found):
        code = story[0]["code"]
        shown[code] = shown.get(code, 0) + 1
        if shown[code] > MOST_ALIKE:
            left_out.setdefault(code, []).append(story[0]["name"])
            continue
        parts += _story(story)
    for code, names in left_out.items():
        parts += [_line(f"{code}, {len(names)} more: {some(names, 20)}", "bold"), Text("")]
    for title, lines in (("Not checked", not_checked(found)), ("Notes", remarks(found))):
        if lines:
            parts += [
                Text(title, style="bold"),
                *(Padding(_line(line, "dim"), (0, 0, 0, 2)) for line in lines),
                Text(""),
            ]
    return Lines(*parts[:-1])


def _clusters(found: Findings) -> list[RenderableType]:
    """A row for each cluster and its hosts, where there is a cluster file or more than one host."""
    clusters = found["clusters"]
    if sum(len(cluster["hosts"]) for cluster in clusters) < 2 and not any(cluster["key"] for cluster in clusters):
        return []
    rows: list[list[str]] = []
    clusters_at: set[int] = set()
    shown = 0
    hidden = 0
    for cluster in clusters:
        guesses = f" ({cluster['vms_by_guess']} of unknown host)" if cluster["vms_by_guess"] else ""
        clusters_at.add(len(rows))
        rows.append(_cells(cluster, f"{cluster['name']}{guesses}"))
        worst = sorted(cluster["hosts"], key=lambda host: [-host["findings"][severity] for severity in SEVERITIES])
        told = [host["name"] for host in worst[: max(MOST_ROWS - shown, 0)]]
        rows += [_cells(host, f"  {host['name']}") for host in cluster["hosts"] if host["name"] in told]
        shown, hidden = shown + len(told), hidden + len(worst) - len(told)
    when = sorted({row["measured"] for cluster in clusters for row in cluster["hosts"] if row["measured"]})
    notes = [f"CPU and memory used: {some(when, 3)}."] if when else []
    notes += [f"{hidden} more hosts are on the page and in the JSON."] if hidden else []
    made = Fitted(
        "",
        Cells(COLUMNS, rows, swept=0, words=1),
        DROPPED_FIRST,
        lambda row, _head, _text: "bold" if row in clusters_at else "",
    )
    return [made, *(_line(note, "dim") for note in notes), Text("")]


def _cells(row: Row, name: str) -> list[str]:
    def figure(value: float | None) -> str:
        return "" if value is None else f"{value:.0f}"

    return [
        printable(name),
        str(row["vms"]),
        "" if row["vcpu_per_core"] is None else f"{row['vcpu_per_core']:.1f}",
        figure(row["cpu_pct"]),
        "" if row["memory_bytes"] is None else amount(row["memory_bytes"], "B"),
        figure(row["memory_configured_pct"]),
        figure(row["memory_pct"]),
        *(str(row["findings"][severity] or "") for severity in SEVERITIES),
    ]


def _at_a_glance(found: Sequence[Group], indent: int = 2) -> Iterator[RenderableType]:
    for group in found:
        yield Padding(_group(group, "→ " * (indent > 2)), (0, 0, 0, indent))
        yield from _at_a_glance(group.follows, indent + 2)


def _group(group: Group, sign: str) -> Text:
    severity = group.worst["severity"]
    line = Text.assemble(sign, (f"{severity} ", STYLES[severity]), (group.code, "bold"), ": ")
    return line.append(printable(group.text))


def _story(story: Sequence[Finding]) -> Iterator[RenderableType]:
    first, *others = story
    head = Text.assemble((f"{first['severity'].upper()} ", STYLES[first["severity"]]), (f"{first['code']}  ", "dim"))
    head.append(printable(first["title"]), style="bold")
    yield head
    yield Padding(_line(first["text"]), (0, 0, 0, 2))
    for measure in first["evidence"]:
        yield Padding(_line(f"· {evidence(measure)}", "dim"), (0, 0, 0, 2))
    yield Padding(Text.assemble(("Do: ", "bold"), printable(first["advice"])), (0, 0, 0, 2))
    if first["what_if"]:
        yield Padding(Text.assemble(("Twin: ", "bold green"), printable(first["what_if"]["text"])), (0, 0, 0, 2))
    elif first["no_what_if"]:
        yield Padding(Text.assemble(("Twin: ", "bold"), printable(f"none ({first['no_what_if']})")), (0, 0, 0, 2))
    yield Padding(_line(f"Rule: {rule(first)}", "dim"), (0, 0, 0, 2))
    for group in by_code(others):
        line = _group(group, "→ ")
        twin = group.worst["what_if"]
        if twin:
            line.append(f"  [twin: {printable(twin['text'])}]")
        yield Padding(line, (0, 0, 0, 4))
    yield Text("")


def _line(line: str, style_: str = "") -> Text:
    return Text(printable(line), style=style_)
