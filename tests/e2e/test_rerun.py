"""A page says how it was made, and that is enough to make it again; a page from outside reaches nothing else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tests.python.show.test_page import data

from hypertwin import _core
from hypertwin.cli import provenance

CAPACITY = ("capacity", "tiny.yaml", "--limits", "limits.yaml", "--report", "page.html")
DENSITY = ("density", "tiny.yaml", "--vm", "web", "--slo", "guest_cpu_pct<90", "--max", "3", "--report", "page.html")


@pytest.fixture(autouse=True)
def same_date(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


def forged(path: Path, command: list[str], files: dict[str, str]) -> Path:
    """A page from outside with this command and these files."""
    listed = [
        {"name": name, "sha256": hashlib.sha256(text.encode(errors="replace")).hexdigest(), "text": text}
        for name, text in files.items()
    ]
    made = {"version": _core.version(), "date": "", "command": command, "files": listed, "seed": 1, "calibrated": []}
    text = json.dumps({"page": 1, "made": made}).replace("<", "\\u003c")
    path.write_text(f'<!doctype html><script id="page" type="application/json">{text}</script>')
    return path


def test_a_page_says_which_command_made_it_from_what(cli, tiny, tmp_path):
    cli(*DENSITY, exits=0)
    said = data((tmp_path / "page.html").read_text())["made"]
    assert said["command"] == list(DENSITY)
    assert said["date"] == "2023-11-14T22:13:20Z"
    assert said["seed"] == 7
    (file,) = said["files"]
    assert (file["name"], file["text"]) == ("tiny.yaml", tiny.read_text())
    assert file["sha256"] == hashlib.sha256(tiny.read_bytes()).hexdigest()


def test_a_page_of_capacity_is_made_again_with_its_limits(cli, tiny, tmp_path):
    (tmp_path / "limits.yaml").write_text("clusters:\n  default: {failures: 0, cpu: 75%}\n")
    cli(*CAPACITY, exits=0)
    page = (tmp_path / "page.html").read_bytes()
    for name in ("tiny.yaml", "limits.yaml"):
        (tmp_path / name).unlink()
    done = cli("rerun", "page.html", "--report", "again.html", exits=0)
    assert "Limits: 75% of CPU" in done.stdout
    assert (tmp_path / "again.html").read_bytes() == page


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            {"points": [{"calibration": "b"}, {"calibration": "a"}, {"calibration": None}, {"calibration": "b"}]},
            ["a", "b"],
        ),
        ({"calibration": "fitted"}, ["fitted"]),
        ({"calibrated_on": "measured.csv"}, ["measured.csv"]),
        ({"calibration": {"cycles": 1}, "points": [3]}, []),
        ([{"study": "a row"}], []),
    ],
)
def test_a_page_says_what_its_figures_were_calibrated_on(document, said):
    assert provenance.made(document)["calibrated"] == said


@pytest.mark.parametrize("epoch", ["yesterday", "9" * 30, "1.5"])
def test_a_date_that_is_none_is_refused_before_anything_runs(cli, tiny, tmp_path, monkeypatch, epoch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    ended = cli("simulate", "tiny.yaml", "--out", "result.json", "--report", "page.html", exits=2)
    assert "SOURCE_DATE_EPOCH" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.yaml"]


def test_large_and_binary_files_have_only_their_hash(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "LARGEST_TEXT", 100)
    monkeypatch.setattr(provenance, "MOST_TEXT", 150)
    for name, text in (("a", b"x" * 100), ("b", b"x" * 101), ("c", b"\xff\xfe"), ("d", b"y" * 50), ("e", b"z")):
        (tmp_path / name).write_bytes(text)
    named = [*(tmp_path / name for name in "abcde"), tmp_path, tmp_path / "none", tmp_path / "a"]
    listed = list(provenance.read(named))
    assert [Path(file["name"]).name for file in listed] == list("abcde")
    assert [file["text"] is None for file in listed] == [False, True, True, False, True]
    assert listed[1]["sha256"] == hashlib.sha256(b"x" * 101).hexdigest()


@pytest.mark.parametrize(
    "line",
    [
        DENSITY,
        ("simulate", "tiny.yaml", "--sweep", "vms.web.load=1,2", "--seed", "5", "--report", "page.html"),
        ("simulate", "tiny.yaml", "--format", "json", "--out=result.json", "--report=page.html"),
        ("simulate", "{here}/tiny.yaml", "--format", "csv", "--report", "page.html"),
        ("simulate", "../{name}/jobs.yaml", "--set", "run.duration=2 s", "--report", "page.html"),
        ("simulate", "tiny.yaml", "--calibration={here}/fitted.yaml", "--report", "page.html"),
    ],
)
def test_a_page_is_made_again_from_itself_alone(cli, tiny, tmp_path, tmp_path_factory, line):
    (tmp_path / "fitted.yaml").write_text("calibrated_on: here\nset: {vms.web.load: 0.5}\n")
    (tmp_path / "part").mkdir()
    (tmp_path / "part/job.fio").write_text("[one]\nrw=randread\nbs=4k\ndirect=1\niodepth=4\nsize=1g\n")
    (tmp_path / "jobs.yaml").write_text(tiny.read_text() + "  scan: {fio: 'part/job.fio#one'}\n")
    line = tuple(part.format(here=tmp_path, name=tmp_path.name) for part in line)
    first = cli(*line, exits=0)
    page = (tmp_path / "page.html").read_bytes()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "received.html").write_bytes(page)
    for file in ("tiny.yaml", "jobs.yaml", "fitted.yaml", "part/job.fio", "page.html"):
        (tmp_path / file).unlink()
    again = cli("rerun", elsewhere / "received.html", "--report", elsewhere / "again.html", exits=0)
    assert (elsewhere / "again.html").read_bytes() == page
    if "--out=result.json" in line:
        result = (tmp_path / "result.json").read_text()
        assert again.stdout == result
        (tmp_path / "result.json").unlink()
    else:
        assert again.stdout == first.stdout
    assert not list(tmp_path.glob("*.*"))


@pytest.mark.parametrize(
    ("command", "files", "said"),
    [
        (["simulate", "/etc/hostname"], {}, "which the page does not hold"),
        (["simulate", "../../../../../etc/hostname"], {}, "which the page does not hold"),
        (["simulate", "a.yaml", "--calibration", "/etc/hostname"], {"a.yaml": "x"}, "which the page does not hold"),
        (
            ["simulate", "a.yaml", "--set", "workloads.w.fio=/etc/passwd"],
            {"a.yaml": "workloads: {w: {}}"},
            "which the page does not hold",
        ),
        (["simulate", "/etc/host\0name"], {}, "which the page does not hold"),
        (["lab", "profile", "--out", "x.json"], {}, "[page-not-repeatable]"),
        (["rerun", "page.html"], {}, "[page-not-repeatable]"),
        (["import", "a.xlsx", "-o", "x.yaml"], {}, "[page-not-repeatable]"),
        ([], {}, "[page-not-repeatable]"),
        (["simulate", "a.yaml"], {"../" * 30 + "a.yaml": "x"}, "[page-not-repeatable]"),
        (["simulate", "a.yaml"], {"a\0.yaml": "x"}, "[page-not-repeatable]"),
        (["simulate", "a.yaml"], {"a.yaml": "\ud800"}, "[page-not-repeatable]"),
        (["simulate", "a.yaml"], {"": "x"}, "[page-not-repeatable]"),
        (["simulate", "a.yaml"], {"a.yaml": "x", "a.yaml/b": "x"}, "[page-not-repeatable]"),
    ],
)
def test_the_command_of_a_page_reaches_nothing_else(cli, tmp_path, command, files, said):
    ended = cli("rerun", forged(tmp_path / "evil.html", command, files), exits=2)
    assert said in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["evil.html"]


@pytest.mark.parametrize("option", ["--out={}", "--report={}", "--out {}", "--report {}"])
def test_the_outputs_of_a_page_are_not_written(cli, tiny, tmp_path, option):
    target = tmp_path / "target.html"
    command = ["simulate", "tiny.yaml", *option.format(target).split()]
    cli("rerun", forged(tmp_path / "evil.html", command, {"tiny.yaml": tiny.read_text()}), exits=0)
    assert not target.exists()


def test_a_page_that_simulates_is_run_again_without_a_page(cli, tiny, tmp_path):
    forged(
        tmp_path / "page.html",
        ["simulate", "tiny.yaml", "--report=page.html", "--live"],
        {"tiny.yaml": tiny.read_text()},
    )
    assert cli("rerun", "page.html", exits=0).stdout == cli("simulate", "tiny.yaml", exits=0).stdout


def test_a_changed_page_is_refused(cli, tiny, tmp_path):
    page = forged(tmp_path / "page.html", ["simulate", "tiny.yaml"], {"tiny.yaml": tiny.read_text()})
    page.write_text(page.read_text().replace("duration: 4 s", "duration: 8 s"))
    ended = cli("rerun", page, exits=2)
    assert "the page was changed" in ended.stderr


@pytest.mark.parametrize("made", [None, [], {}, {"version": 1}, {"version": "1", "date": "", "files": [{}]}])
def test_a_page_that_does_not_say_how_it_was_made_is_refused(cli, tmp_path, made):
    data = json.dumps({"page": 1, "made": made})
    (tmp_path / "page.html").write_text(f'<script id="page" type="application/json">{data}</script>')
    ended = cli("rerun", "page.html", exits=2)
    assert "[bad-source]" in ended.stderr


def test_a_page_of_another_version_is_run_with_a_word(cli, tiny, tmp_path):
    page = forged(tmp_path / "page.html", ["simulate", "tiny.yaml"], {"tiny.yaml": tiny.read_text()})
    page.write_text(page.read_text().replace(f'"version": "{_core.version()}"', '"version": "0.0.1"'))
    ended = cli("rerun", page, exits=0)
    assert "made by hypertwin 0.0.1" in ended.stderr
