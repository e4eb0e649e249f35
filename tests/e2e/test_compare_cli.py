"""`hypertwin compare`: what two results of one command say, from JSON and from pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.python.show.test_page import data

from hypertwin import _core

SHORT = ("--duration", 2, "--warmup", 1, "--replications", 3)


@pytest.fixture
def results(cli: Cli, tiny: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A result as JSON, and another one as a page."""
    before, after = tmp_path / "before.json", tmp_path / "after.html"
    done = cli("simulate", tiny, *SHORT, "--format", "json")
    before.write_text(done.stdout)
    cli("simulate", tiny, *SHORT, "--set", "vms.db.load=3", "--report", after, exits=0)
    return before, after


def test_a_document_and_a_page_are_compared(cli, results, tmp_path):
    done = cli("compare", *results, "--format", "json", "--report", "page.html", says="wrote page.html\n")
    found = json.loads(done.stdout)
    assert found["kind"] == "simulation"
    assert found["settings"] == [{"what": "vms.db.load", "a": None, "b": "3"}]
    assert found["b"]["command"].startswith("simulate ")
    assert not found["missing"]
    first = found["changes"][0]
    assert first["beyond"]
    assert abs(first["change"]) > first["a_ci95"] + first["b_ci95"]
    busier = next(each for each in found["changes"] if (each["of"], each["figure"]) == ("group", "guest_cpu_pct"))
    assert busier["name"] == "db"
    assert busier["b"] > busier["a"]
    page = data((tmp_path / "page.html").read_text())
    assert (page["kind"], len(page["document"]["changes"])) == ("comparison", len(found["changes"]))


def test_the_table_begins_with_how_much_changed(cli, results):
    done = cli("compare", *results, says="")
    assert re.match(r"In B db does \d\.\d+ times more work \(", done.stdout)
    assert re.search(r"^\d+ of \d+ figures differ, \d+ beyond chance\.$", done.stdout, re.M)
    assert f"A: {results[0]}, hypertwin {_core.version()}" in cli("compare", *results, "--explain").stdout
    assert re.search(r"^ +vms\.db\.load +as in the scenario +3$", done.stdout, re.M)
    same = cli("compare", results[0], results[0], "--explain")
    assert "Nothing was set differently." in same.stdout
    assert re.search(r"All \d+ figures are the same\.", same.stdout)


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "no such file"), ("{", "no JSON"), ("{}", "no-result"), ("<html></html>", "a page without data")],
)
def test_what_is_no_result_is_one_error(cli, results, tmp_path, content, said):
    file = tmp_path / "x.json"
    if content is not None:
        file.write_text(content)
    done = cli("compare", results[0], file, "--report", "page.html", exits=2)
    assert said in done.stderr
    assert str(file) in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_results_of_different_commands_are_refused(cli, results, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(cli("durability", "--format", "json").stdout)
    done = cli("compare", results[0], other, exits=2)
    assert "a result of durability [different-kinds]" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("size", "--host", "2x12", "--memory", "96GiB", "--vcpus", 16), "size"),
        (("vnuma", "--hypervisor", "esxi-6.5", "--sockets", 2, "--cores", 12, "--vcpus", 16), "vnuma"),
    ],
)
def test_topologies_have_a_page_with_a_drawing(cli, tmp_path, arguments, kind):
    done = cli(*arguments, "--report", "page.html", "--format", "json", says="wrote page.html\n")
    page = data((tmp_path / "page.html").read_text())
    assert (page["kind"], list(page["document"])) == (kind, list(json.loads(done.stdout)))
    (drawing,) = page["view"]["sections"][0]["blocks"]
    assert drawing["svg"].startswith("<svg")
