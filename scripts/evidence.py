"""`make evidence`: run every study, and write docs/evidence.md: each published figure, the twin's, and what limits.

The page has the build hash of the core that gave it, a hash of each study's files, and what became of each figure since
the evidence was last accepted (`hypertwin.studies.record`). `--record` accepts it: it also writes studies/record.csv
and studies/model_error.csv, the errors behind the intervals of every run (`hypertwin.model_error.evidence`).
`--check` runs nothing: it exits 1 when the page has a regression that is not in studies/accepted.yaml, or a recorded
figure is gone, and prints a line beginning with `note:` when core or studies are others now; with `--strict` that is an
error, as a release needs.
"""

from __future__ import annotations

import hashlib
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hypertwin import _core, library
from hypertwin.cli import progress
from hypertwin.documents.validation import Row
from hypertwin.files import writing
from hypertwin.model_error import evidence as errors_of_evidence
from hypertwin.model_error import kinds
from hypertwin.model_error.coverage import Coverage, coverage
from hypertwin.model_error.interval import MIN_KIND_SOURCES, MIN_SOURCES, factors
from hypertwin.show import comparison
from hypertwin.studies import judge, record
from hypertwin.studies.record import Drift
from hypertwin.studies.study import Study, chosen

PAGE = Path(__file__).resolve().parents[1] / "docs" / "evidence.md"
CORE = re.compile(r"^Core `([^`]+)`", re.MULTILINE)
STUDY = re.compile(r"^\| \[([^\]]+)\]\([^)]*\) .* `([0-9a-f]{12})` \|$", re.MULTILINE)
_CELL = r"((?:\\\||[^|])*)"
REGRESSION = re.compile(rf"^\| {record.REGRESSION} \| {_CELL} \| {_CELL} \| {_CELL} \|", re.MULTILINE)
HEADS = ("case", "figure", "published", "twin", "error", "class", "")
DRIFT_HEADS = ("change", "study", "case", "figure", "then", "now")
COVERAGE_HEADS = ("area", "kind", "figures", "sources", "covered", "covered of all figures", "80% interval")
OPTIONS: tuple[list[str], ...] = ([], ["--record"], ["--check"], ["--strict"])


def main() -> int:
    """Write the page, or check it; 1 when a figure regressed, or `--strict` finds the page stale."""
    if sys.argv[1:] not in OPTIONS:
        print("usage: evidence.py [--record | --check | --strict]", file=sys.stderr)
        return 2
    studies = chosen(())
    if sys.argv[1:] in (["--check"], ["--strict"]):
        return check(studies, strict=sys.argv[1:] == ["--strict"])
    rows = run(studies)
    folder = library.studies()
    changes = record.drift(rows, record.recorded(folder), record.held(folder))
    for change in changes:
        print(f"{change.what}: {' '.join(change.key)}: {' -> '.join(filter(None, (change.then, change.now)))}")
    if sys.argv[1:]:
        writing.write_atomically(folder / record.RECORD, record.text(rows))
        found = errors_of_evidence.text(errors(rows, studies))
        writing.write_atomically(folder / errors_of_evidence.FILE, found)
        changes = record.drift(rows, record.recorded(folder), record.held(folder))
    writing.write_atomically(PAGE, page(rows, studies, _core.build(), changes))
    print(comparison.verdicts(rows))
    return 1 if any(change.what == record.REGRESSION for change in changes) else 0


def check(studies: Sequence[Study], *, strict: bool) -> int:
    """Report errors of the page and the record, without a run."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    old = list(stale(text, _core.build(), hashes(studies)))
    for line in old:
        print(f"{'' if strict else 'note: '}docs/evidence.md is stale: {line}; run `make evidence`")
    wrong = list(unaccepted(text, studies, library.studies()))
    for line in wrong:
        print(line)
    return 1 if wrong or (old and strict) else 0


def unaccepted(text: str, studies: Sequence[Study], folder: Path) -> Iterator[str]:
    """Regressions and missing figures without an entry in accepted.yaml; and entries without a loss."""
    accepted, before = record.accepted(folder), record.recorded(folder)
    for cells in REGRESSION.findall(text):
        if (key := tuple(cell.replace("\\|", "|") for cell in cells)) not in accepted:
            yield f"docs/evidence.md: regression: {' '.join(key)}; mend it, or accept it in studies/{record.ACCEPTED}"
    there = {(study.name, row.case, row.metric) for study in studies for row in study.rows}
    for gone in sorted(record.held(folder) - there):
        yield f"studies/{record.RECORD}: {' '.join(gone)} is in no study; accept its loss in studies/{record.ACCEPTED}"
    for key in sorted(key for key in accepted if key not in before or not before[key].within):
        yield f"studies/{record.ACCEPTED}: {' '.join(key)} was not within its tolerance in {record.RECORD}; take it out"


def run(studies: Sequence[Study]) -> list[Row]:
    """Judge every study, and say what processor time each took: what the cache has takes none."""
    rows: list[Row] = []
    for study in studies:
        start = time.process_time()
        with progress.step(f"{study.name}: {len(study.cases)} cases, {len(study.rows)} figures") as update:
            rows += judge.validate([study], progress=update)
        print(f"{study.name}: {time.process_time() - start:.1f} s of CPU", file=sys.stderr)
    return rows


def errors(rows: Sequence[Row], studies: Sequence[Study]) -> list[errors_of_evidence.Row]:
    """Return the errors of settled, two-sided predictions. Ratios and figures without model error have none."""
    known = {(study.name, row.case, row.metric): (study.area, row) for study in studies for row in study.rows}
    found = []
    for judged in rows:
        name, row = known[record.key_of(judged)]
        area = next((area for area in kinds.AREAS if area == name), None)
        kind = None if row.is_ratio or area is None else kinds.kind_of(row.twin, area)
        if area is None or kind is None or comparison.group(judged) != "predicted" or not comparison.counts(judged):
            continue
        # inside a range both errors are 0, and the published figure is its nearer side
        real = judged["twin"] if judged["range"] and not judged["error"] else judged["published"]
        error = kinds.error(real, judged["twin"], share=kinds.is_share(row.twin))
        if error is not None:
            found.append(errors_of_evidence.Row(judged["study"], area, kind, error))
    return found


def hashes(studies: Sequence[Study]) -> dict[str, str]:
    """A hash of what decides the figures of each study: its scenarios, cases and published figures."""
    return {study.name: _hash(study.folder) for study in studies}


def _hash(folder: Path) -> str:
    total = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.suffix in (".yaml", ".csv"):
            text = file.read_text(encoding="utf-8").replace("\r\n", "\n")  # line ends differ between checkouts
            total.update(f"{file.name}\0{text}\0".encode())
    return total.hexdigest()[:12]


def stale(text: str, core: str, now: Mapping[str, str]) -> Iterator[str]:
    """Why a page is not of this core and these studies."""
    written = CORE.search(text)
    if written is None:
        yield "there is none" if not text else "it names no core"
        return
    if written[1] != core:
        yield f"it is of core {written[1]}, and this is {core}"
    then = dict(STUDY.findall(text))
    changed = sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
    if changed:
        yield f"changed since: {', '.join(changed)}"


def page(rows: Sequence[Row], studies: Sequence[Study], core: str, changes: Sequence[Drift]) -> str:
    """The page: what predictions come to, what changed, sums by source, then the figures of each."""
    *each, everything = comparison.sums(rows)
    hashed = hashes(studies)
    links = {study.name: f"[{study.name}](../studies/{study.name})" for study in studies}
    lines = [
        "# The evidence",
        "",
        "<!-- written by `make evidence`; change the studies, not this page -->",
        f"Core `{core}`. Every published figure of every study, and what the twin says.",
        "",
        f"{comparison.verdicts(rows)}.",
        "",
        "## Predictions",
        "",
        "Counted are figures that no parameter was set by, with a lower and an upper side, that follow from no other",
        "row. The error of a range is the distance from its nearer side. A figure that is not judged, or whose run had",
        "not settled, counts as missed. A class is what limits the case and which way the figure goes",
        "([how](../python/hypertwin/studies/classes.py)). It is right where the twin shows what the source says. Tails",
        "are the percentiles of all sources.",
        "",
        *_table(comparison.HEADLINE_HEADS, [comparison.headline_cells(one) for one in comparison.headline(rows)]),
        "",
        *_model_error(errors(rows, studies)),
        *_drift(changes),
        "",
        "## By source",
        "",
        "Calibrated figures set a free parameter. A source should have at least four figures for each.",
        "",
        *_table(
            (*comparison.SUM_HEADS, "files"),
            [
                *([links[one.name], *comparison.sum_cells(one)[1:], f"`{hashed[one.name]}`"] for one in each),
                [*comparison.sum_cells(everything), ""],
            ],
        ),
    ]
    for study in studies:
        lines += _section(study, [row for row in rows if row["study"] == study.name])
    return "\n".join(lines) + "\n"


def _model_error(found: Sequence[errors_of_evidence.Row]) -> Iterator[str]:
    """Coverage of the intervals that results carry, by leaving out sources."""
    yield from (
        "## Model error",
        "",
        "Every simulated figure has an 80% interval for the error of the twin itself",
        "([how](../python/hypertwin/model_error/interval.py)). The intervals come from the settled predictions above.",
        "Each source has the same weight. Ratios of two cases are left out: the errors that both cases share cancel.",
        "Counts, sizes and settings have no model error.",
        "",
        f"A kind with fewer than {MIN_KIND_SOURCES} sources uses all kinds of its area. An area with fewer than",
        f"{MIN_SOURCES} uses all areas, and its coverage says little about the area itself. The table leaves out each",
        "source in turn. Covered is the share of figures within the interval of the other sources, as the mean of all",
        "sources.",
        "The last column is the real figure over the twin's, at the median interval. Where a line has all kinds,",
        "throughputs are turned over. A factor above 1 is then always slower or busier.",
        "",
    )
    lines = [_coverage_cells(one) for one in coverage(found)]
    yield from (*(_table(COVERAGE_HEADS, lines) if lines else ["Too few sources."]), "")


def _coverage_cells(one: Coverage) -> list[str]:
    parts = (f"{one.covered_pct:.0f} %", f"{one.rows_covered_pct:.0f} %", factors(one.low, one.high))
    return [one.area, one.kind or "all", str(one.rows), str(one.sources), *parts]


def _drift(changes: Sequence[Drift]) -> Iterator[str]:
    """What became of figures since the evidence was accepted."""
    counts = Counter(change.what for change in changes)
    found = ", ".join(f"{count} {what}" for what, count in counts.items()) or "nothing"
    yield from (
        "## Since the evidence was last accepted",
        "",
        f"Changed against the [record](../studies/record.csv): {found}.",
    )
    if changes:
        yield from (
            "",
            *_table(DRIFT_HEADS, [[change.what, *change.key, change.then, change.now] for change in changes]),
        )


def _section(study: Study, rows: Sequence[Row]) -> list[str]:
    told = [row for row in rows if row["pass"] is not True or row["reason"]]
    free = [f"- `{path}`: {_cell(source)}" for path, source in study.parameters.items()]
    tables = [
        ["", f"{title}:", "", *_table(HEADS, [[*_cells(row)] for row in own])]
        for title, own in comparison.grouped(rows)
    ]
    return [
        "",
        f"## {study.title}",
        "",
        f"Source: {study.source}. Free parameters: {'none.' if not free else ''}".rstrip(),
        *(["", *free] if free else []),
        *(line for table in tables for line in table),
        *(["", *(f"- {_cell(comparison.explanation(row))}" for row in told)] if told else []),
    ]


def _cells(row: Row) -> Iterator[str]:
    yield from (row["case"], row["metric"], row["published_text"])
    yield comparison.twin_text(row)
    yield f"{row['error_pct']:+.1f} %"
    yield comparison.class_text(row)
    yield comparison.verdict(row)[0]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(map(_cell, line))} |" for line in lines]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    sys.exit(main())
