"""`make evidence`: run every study, and write docs/evidence.md: each published figure, the twin's, and what limits.

The page has the build hash of the core that gave it and a hash of each study's files. With `--check`, a line beginning
with `note:` when core or studies are others now; with `--strict` that is an error, as a release needs.
"""

from __future__ import annotations

import hashlib
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hypertwin import _core, writing
from hypertwin.cli import progress
from hypertwin.documents.validation import Row
from hypertwin.report import comparison
from hypertwin.studies import judge
from hypertwin.studies.study import Study, chosen

PAGE = Path(__file__).resolve().parents[1] / "docs" / "evidence.md"
CORE = re.compile(r"^Core `([^`]+)`", re.MULTILINE)
STUDY = re.compile(r"^\| \[([^\]]+)\]\([^)]*\) .* `([0-9a-f]{12})` \|$", re.MULTILINE)
HEADS = ("case", "figure", "kind", "published", "twin", "error", "class", "")


def main() -> int:
    """Write the page, or check it; 1 when a study expects something else, or `--strict` finds it stale."""
    if sys.argv[1:] not in ([], ["--check"], ["--strict"]):
        print("usage: evidence.py [--check | --strict]", file=sys.stderr)
        return 2
    studies = chosen(())
    if sys.argv[1:]:
        text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
        strict = sys.argv[1] == "--strict"
        found = list(stale(text, _core.build(), hashes(studies)))
        for line in found:
            print(f"{'' if strict else 'note: '}docs/evidence.md is stale: {line}; run `make evidence`")
        return 1 if found and strict else 0
    rows = run(studies)
    writing.write_atomically(PAGE, page(rows, studies, _core.build()))
    wrong = [row for row in rows if row["pass"] not in (None, row["promised"])]
    for row in wrong:
        print(f"{row['study']}: {comparison.explanation(row)}")
    print(comparison.verdicts(rows))
    return 1 if wrong else 0


def run(studies: Sequence[Study]) -> list[Row]:
    """Judge every study, and say what processor time each took: what the store has takes none."""
    rows: list[Row] = []
    for study in studies:
        start = time.process_time()
        with progress.step(f"{study.name}: {len(study.cases)} cases, {len(study.rows)} figures") as update:
            rows += judge.validate([study], progress=update)
        print(f"{study.name}: {time.process_time() - start:.1f} s of CPU", file=sys.stderr)
    return rows


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


def page(rows: Sequence[Row], studies: Sequence[Study], core: str) -> str:
    """The page: sums by source, then the figures of each."""
    *each, everything = comparison.sums(rows)
    hashed = hashes(studies)
    links = {study.name: f"[{study.name}](../studies/{study.name})" for study in studies}
    lines = [
        "# The evidence",
        "",
        "<!-- written by `make evidence`; change the studies, not this page -->",
        f"Core `{core}`. Every published figure of every study, and what the twin says. None is left out: one that is",
        "not judged, for the reason below its table, counts like the others. A class is what limits the case and which",
        "way the figure goes ([how](../python/hypertwin/studies/classes.py)), right where the twin shows what the",
        "source says. Calibrated figures set a free parameter; a source should have at least four figures for each.",
        "",
        f"{comparison.verdicts(rows)}.",
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


def _section(study: Study, rows: Sequence[Row]) -> list[str]:
    told = [row for row in rows if row["pass"] is not True or row["reason"]]
    free = [f"- `{path}`: {_cell(source)}" for path, source in study.parameters.items()]
    return [
        "",
        f"## {study.title}",
        "",
        f"Source: {study.source}. Free parameters: {'none.' if not free else ''}".rstrip(),
        "",
        *([*free, ""] if free else []),
        *_table(HEADS, [[*_cells(row)] for row in rows]),
        *(["", *(f"- {_cell(comparison.explanation(row))}" for row in told)] if told else []),
    ]


def _cells(row: Row) -> Iterator[str]:
    yield from (row["case"], row["metric"], row["kind"], row["published_text"])
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
