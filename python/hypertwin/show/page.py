"""Writer of pages: one typed JSON document in one HTML file that needs no network and no second file.

The script next to this file, which `make page` builds from `web/`, renders the page. The page may load and run only
that script and its style (Content-Security-Policy, by their hashes). The same document gives the same bytes.

Numbers in a page have six digits, because 800 VMs with all digits and without compression would take 6 MB. `compare`
allows for the rounding.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from html import escape as escape_html
from importlib import resources
from itertools import pairwise
from typing import Any, NamedTuple

from hypertwin.documents.page import Live, Made, MadeFile, PageDocument
from hypertwin.errors import HypertwinError, printable, short
from hypertwin.show import browser_core
from hypertwin.show.view import Promise, Table, View, head, shown, tables_of

DIGITS = 6
"""Number of significant digits of numbers in a page."""

CURVE, CURVE_DIGITS = 30, 4
"""Length from which a list of numbers is only shown as a curve, and its number of digits, which halves the size."""

LONG = 100_000
"""Number of characters of JSON from which the JSON is compressed."""

MAX_ROWS = 200
"""Maximum number of rows of a table for readers without scripts."""

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16'"
    " rx='3' fill='%230b62a8'/%3E%3Cpath d='M4 12V6m4 6V3m4 9V8' stroke='white' stroke-width='2.4'/%3E%3C/svg%3E"
)


class DateError(HypertwinError):
    """Raised if SOURCE_DATE_EPOCH is not a date."""

    code = "bad-date"


class Listing(NamedTuple):
    """Table for readers without scripts, with heads and cells as in the terminal."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Page:
    """Result as a page."""

    kind: str
    title: str
    document: Any
    """Document that the command prints with `--format json`."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """Additional data for the page of a simulation."""
    notes: Sequence[str] = ()
    tables: Sequence[Listing] = ()
    """Tables for readers without scripts."""
    view: View | None = None
    """View of the result, or None for a simulation, whose page builds the view from the document."""
    live: Live | None = None
    """Data with which the page simulates, or None for a page without the core."""

    @staticmethod
    def of_view(kind: str, document: Any, view: View) -> Page:
        """Return the page of a view."""
        more = [promise for each in view["promises"] if (promise := _promise(each))]
        notes = [view["answer"]["text"], *view["answer"].get("more", ()), *more]
        notes += [*(each["text"] for each in view["confidence"]), *view.get("notes", ()), *view["assumptions"]]
        tables = [_listing(each) for each in tables_of(view)]
        return Page(kind, view["title"], document, notes=list(dict.fromkeys(notes)), tables=tables, view=view)

    def data(self, made: Made) -> PageDocument:
        """Return the data for the script."""
        document = PageDocument(
            page=1,
            kind=self.kind,
            title=self.title,
            document=rounded(self.document),
            beside=rounded(dict(self.beside)),
            notes=list(self.notes),
            made=made,
        )
        if self.view is not None:
            document["notes"] = []
            document["view"] = rounded(self.view)
        if self.live is not None:
            document["live"] = self.live
        return document

    def html(self, made: Made) -> str:
        """Return the whole file."""
        script, style = _asset("page.js"), _asset("page.css")
        allowed = policy(script, style, live=self.live is not None)
        return "\n".join(
            (
                '<!doctype html><html lang="en"><head><meta charset="utf-8">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                f'<meta http-equiv="Content-Security-Policy" content="{escape(allowed)}">',
                f"<title>{escape(self.title)} · hypertwin</title>",
                f'<link rel="icon" href="{escape(ICON)}">',
                f"<style>{style}</style>",
                '</head><body><div id="app"></div>',
                f"<noscript>{self._without_script(made)}</noscript>",
                _data(self.data(made)),
                f"<script>{script}</script>",  # first, so that the page is drawn before the core is read
                *([_core_element()] if self.live is not None else []),
                "</body></html>\n",
            )
        )

    def _without_script(self, made: Made) -> str:
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return (
            f"<h1>{escape(self.title)}</h1><p>hypertwin {escape(made['version'])}, {escape(made['date'])}."
            " Charts take JavaScript, which is off; these are the figures.</p>"
            + "".join(_table(listing) for listing in self.tables)
            + (f"<ul>{notes}</ul>" if notes else "")
        )


def _listing(table: Table) -> Listing:
    columns = table["columns"]
    rows = [[shown(row.get(each["key"])) for each in columns] for row in table["rows"][:MAX_ROWS]]
    many = len(table["rows"])
    more = f" (first {MAX_ROWS} of {many:,} rows)" if many > MAX_ROWS else ""
    return Listing(table["caption"] + more, [head(each) for each in columns], rows)


def _promise(promise: Promise) -> str:
    verdict = {True: "met", "not surely": "met, not surely", False: "not met", None: "not judged"}[promise["met"]]
    note = promise.get("note", "")
    return f"{promise['text']}: {verdict}{f' ({note})' if note else ''}."


def made_now(
    version: str,
    *,
    command: Sequence[str] = (),
    files: Sequence[MadeFile] = (),
    seed: int | None = None,
    calibrated: Sequence[str] = (),
) -> Made:
    """Return the origin of a page created now."""
    return Made(
        version=version,
        date=date_now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        command=list(command),
        files=list(files),
        seed=seed,
        calibrated=list(calibrated),
    )


def made_of(document: Any, version: str, *, command: Sequence[str] = (), files: Sequence[MadeFile] = ()) -> Made:
    """Return the origin of the page of a document made now, with or without a command and files."""
    fields: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
    sources = [fields.get("calibrated_on"), fields.get("calibration")]
    sources += [point.get("calibration") for point in fields.get("points", ()) if isinstance(point, Mapping)]
    calibrated = sorted({each for each in sources if isinstance(each, str)})
    return made_now(version, command=command, files=files, seed=fields.get("seed"), calibrated=calibrated)


def date_now() -> datetime:
    """Return the date of a page, from `SOURCE_DATE_EPOCH` if set (https://reproducible-builds.org/specs).

    Raises DateError.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError):
        raise DateError(
            f"SOURCE_DATE_EPOCH: {short(epoch)}; allowed: whole seconds since 1970\n  help: unset it for today's date"
        ) from None


def policy(script: str, style: str, *, live: bool = False) -> str:
    """Return the Content-Security-Policy of a page with this script and this style.

    A live page may also compile its core, and run it in workers that its script makes.
    """
    scripts = f"'{_hash(script)}'" + (" 'wasm-unsafe-eval'; worker-src blob:" if live else "")
    return (
        f"default-src 'none'; script-src {scripts}; style-src '{_hash(style)}'; img-src data: blob:;"
        " base-uri 'none'; form-action 'none'"
    )


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """Return a document with its numbers rounded to `digits` significant digits, those of curves to `CURVE_DIGITS`.

    An ascending list is an axis, such as time, and keeps its digits.
    """
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, Mapping):
        return {key: rounded(each, digits) for key, each in value.items()}
    if isinstance(value, list | tuple):
        of_each = CURVE_DIGITS if _is_curve(value) else digits
        return [rounded(each, of_each) for each in value]
    return value


def _is_curve(values: Sequence[Any]) -> bool:
    return (
        len(values) > CURVE
        and all(each is None or isinstance(each, int | float) for each in values)
        and (None in values or any(after < before for before, after in pairwise(values)))
    )


def _data(document: PageDocument) -> str:
    """Return the HTML element with the data for the script (`web/src/source.ts`)."""
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if len(text) < LONG:
        # "<" would let a name close the element it stands in
        text = text.replace("<", "\\u003c")
        return f'<script id="page" type="application/json">{text}</script>'
    packed = base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")
    return f'<script id="page" type="application/json" data-encoding="deflate">{packed}</script>'


@cache
def _core_element() -> str:
    """Return the HTML element with the core, for `web/src/live/packed.ts`.

    Its text has five letters for four bytes, an eighteenth less than base64. A comma stands for "<", which HTML reads.
    """
    packed = zlib.compress(browser_core.module(), 9)
    text = base64.b85encode(packed, pad=True).decode("ascii").replace("<", ",")
    return f'<script id="core" type="application/wasm" data-bytes="{len(packed)}">{text}</script>'


def escape(text: str) -> str:
    """Return a text as HTML, without terminal control characters."""
    return escape_html(printable(text))


def _table(listing: Listing) -> str:
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in listing.heads)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in listing.rows)
    return (
        f'<div class="scroll"><table><caption>{escape(listing.caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def excerpt(page: Page, *, rows: int, notes: int) -> str:
    """Return the first table of a page and its first notes as HTML without scripts, for notebooks."""
    shown, more = list(page.notes[:notes]), ""
    table = ""
    if page.tables:
        first = page.tables[0]
        kept = [place for place in range(len(first.heads)) if any(row[place] for row in first.rows)]
        cells = [[row[place] for place in kept] if first.heads else row for row in first.rows[:rows]]
        table = _table(Listing(first.caption, [first.heads[place] for place in kept], cells))
        left = len(first.rows) - rows
        more = f"<p>... {left} more row{'' if left == 1 else 's'}</p>" if left > 0 else ""
    listed = "".join(f"<li>{escape(note)}</li>" for note in shown)
    return f"<h4>{escape(page.title)}</h4>{table}{more}{f'<ul>{listed}</ul>' if listed else ''}"


@cache
def _asset(name: str) -> str:
    return resources.files("hypertwin.show").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
