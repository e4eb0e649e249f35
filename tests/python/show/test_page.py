"""The file of a page: what it may load, how its data are packed, what a reader without scripts sees."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.e2e import specimen

from hypertwin import serve
from hypertwin.show import page as pages

SCRIPT = re.compile(r'<script id="page" type="application/json"([^>]*)>(.*?)</script>', re.S)


def data(text: str) -> dict:
    attributes, content = SCRIPT.search(text).groups()
    packed = "deflate" in attributes
    return json.loads(zlib.decompress(base64.b64decode(content)) if packed else content)


class Elements(HTMLParser):
    """Start tags, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, text):
        if self.tags and self.tags[-1][0] in ("script", "style") and "type" not in self.tags[-1][1]:
            self.inside.append((self.tags[-1][0], text))


def test_only_its_own_script_and_style_may_run_and_nothing_is_loaded():
    found = Elements(specimen.page().html(specimen.MADE))
    policy = next(tag["content"] for _, tag in found.tags if "http-equiv" in tag)
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives.pop("default-src") == "'none'"
    assert "unsafe" not in policy and "http" not in policy
    for kind in ("script", "style"):
        text = "".join(text for tag, text in found.inside if tag == kind).strip("\n")
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert directives[f"{kind}-src"] == f"'sha256-{digest}'"
    linked = [tag[key] for _, tag in found.tags for key in ("src", "href") if key in tag]
    assert all(link.startswith("data:") for link in linked)
    assert not [tag for _, tag in found.tags if "style" in tag], "the policy forbids styles in attributes"


def test_the_data_are_the_document():
    page = specimen.page(vms=3)
    shown = data(page.html(specimen.MADE))
    assert shown["page"] == 1
    assert shown["kind"] == "view"
    assert shown["document"] == page.document
    assert shown["view"]["answer"] == page.view["answer"]
    assert shown["made"] == specimen.MADE


def test_long_data_are_packed_and_are_the_same():
    page = specimen.page(vms=300, samples=50)
    text = page.html(specimen.MADE)
    assert 'data-encoding="deflate"' in text
    assert data(text)["view"] == pages.rounded(page.view)
    assert len(text) < len(json.dumps(page.view))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1 / 3, 0.333333),
        (123456.789, 123457.0),
        (1e-12 / 3, 3.33333e-13),
        (7, 7),
        (True, True),
        (None, None),
        ("1/3", "1/3"),
    ],
)
def test_numbers_keep_six_digits(value, written):
    assert pages.rounded({"a": [value]}) == {"a": [written]}


def test_curves_keep_four_digits_and_axes_six():
    curve = [12345.6, None, *[1 / 3] * 40]
    times = [1000.5 + step for step in range(40)]
    assert pages.rounded({"ready": curve, "time_s": times, "few": curve[:3]}) == {
        "ready": [12350.0, None, *[0.3333] * 40],
        "time_s": times,
        "few": [12345.6, None, 0.333333],
    }


def test_800_vms_with_timelines_fit_in_two_megabytes():
    draw = random.Random(1)
    keys = ("guest_cpu_pct", "run_pct", "ready_pct", "costop_pct", "run_queue", "throughput_per_s", "response_ms_mean")
    vms = {f"vm-{number}": {key: [draw.gauss(30, 9) for _ in range(90)] for key in keys} for number in range(800)}
    assert len(pages.Page("view", "", {"timeline": vms}).html(specimen.MADE)) <= 2_000_000


def test_what_json_lacks_is_an_error():
    with pytest.raises(ValueError, match="JSON"):
        pages.Page("view", "t", {"figure": float("nan")}).html(specimen.MADE)


@pytest.mark.parametrize("size", [3, 300])
def test_hostile_names_stay_text(size):
    bad = specimen.HOSTILE
    shown = specimen.page(vms=size).view
    table = {"id": "bad", "caption": bad, "columns": [{"key": bad, "name": bad, "kind": "words"}], "rows": [{bad: bad}]}
    hostile = {"id": "bad", "heading": bad, "blocks": [{"type": "table", "table": table}]}
    sections = [*shown["sections"], hostile]
    text = pages.Page.of_view("view", {}, {**shown, "title": bad, "assumptions": [bad], "sections": sections}).html(
        specimen.MADE
    )
    tags = [tag for tag, _ in Elements(text).tags]
    assert tags.count("script") == 2
    assert "img" not in tags
    assert data(text)["title"] == bad


def test_without_scripts_the_figures_are_there():
    text = specimen.page(vms=2).html(specimen.MADE)
    shown = re.search(r"<noscript>(.*?)</noscript>", text, re.S)[1]
    for words in ("Small cluster", "0.1.0", "2026-01-02", '<th scope="col">VM</th>', "<td>app-2</td>", "per vCPU"):
        assert words in shown


def test_the_same_document_gives_the_same_bytes():
    assert specimen.page().html(specimen.MADE) == specimen.page().html(specimen.MADE)


def test_a_page_without_data_is_small():
    assert len(pages.Page("view", "", {}).html(specimen.MADE).encode()) <= 190_000


def test_pages_and_the_app_carry_the_licences_of_what_they_contain():
    page = pages.Page("view", "", {}).html(specimen.MADE)
    app = (Path(serve.__file__).parent / "app.js").read_text(encoding="utf-8")
    for text, packages in ((page, ("preact", "uplot")), (app, ("preact", "uplot", "yaml", "@codemirror/view"))):
        assert all(f"{name}: Copyright" in text for name in packages)
        assert "Permission is hereby granted, free of charge" in text
    assert "Permission to use, copy, modify, and/or distribute" in app


def test_the_date_is_that_of_the_source_where_it_is_set(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767323045")
    assert pages.made_now("1.2.3") == {
        "version": "1.2.3",
        "date": "2026-01-02T03:04:05Z",
        "command": [],
        "files": [],
        "seed": None,
        "calibrated": [],
    }
