"""`hypertwin durability`: what it prints, the page it writes, and what it says of a mistake."""

from __future__ import annotations

import json
import re

import pytest

from hypertwin.plan import durability


def test_json_has_what_it_holds_for_and_every_usual_scheme(cli):
    done = cli("durability", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert set(found) == {"version", "annual_failure_rate", "repair", "groups", "usable_bytes", "schemes"}
    assert (found["annual_failure_rate"], found["repair"]["seconds"]) == (0.00405, 561_600)
    assert [entry["scheme"] for entry in found["schemes"]] == list(durability.USUAL_SCHEMES)
    losses = {entry["scheme"]: entry["backblaze"]["annual_loss"] for entry in found["schemes"]}
    assert f"{losses['ec-17+3']:.3e}" == "7.354e-12"


def test_the_table_has_cost_and_loss_of_each_scheme(cli):
    done = cli("durability", "--scheme", "17+3", "--scheme", "3:2")
    assert done.returncode == 0
    code = next(line for line in done.stdout.splitlines() if "ec-17+3" in line)
    assert re.split(r"\s{2,}", code.strip())[:7] == ["ec-17+3", "118 GB", "3", "4 + 4", "17", "7.354e-12", "11"]
    copies = next(line for line in done.stdout.splitlines() if "replicas-3:2" in line)
    assert re.split(r"\s{2,}", copies.strip())[:5] == ["replicas-3:2", "300 GB", "2", "0 + 3", "1"]


def test_a_pool_shows_its_own_loss_and_raw_size(cli):
    pool = ("--groups", 1024, "--usable", "100TB", "--disk", "10TB", "--rebuild", "50MB/s", "--detection", "0")
    done = cli("durability", "--scheme", "3", *pool)
    assert done.returncode == 0
    assert "groups 1,024, usable 100 TB" in done.stdout
    assert "repair 2.315 d, in parallel" in done.stdout
    assert "300 TB" in done.stdout
    found = json.loads(cli("durability", "--scheme", "3", *pool, "--format", "json").stdout)
    (entry,) = found["schemes"]
    assert entry["markov"]["pool_annual_loss"] == pytest.approx(1024 * entry["markov"]["annual_loss"], rel=1e-6)
    assert f"{entry['markov']['pool_annual_loss']:.3e}" in done.stdout


def test_the_page_has_both_charts_and_the_table(cli, tmp_path):
    done = cli("durability", "--scheme", "17+3", "--scheme", "2", "--report", "page.html", "--format", "json")
    assert done.returncode == 0
    assert done.stderr == "wrote page.html\n"
    page = (tmp_path / "page.html").read_text()
    figures = json.loads(re.search(r'<script id="figures" type="application/json">(.*?)</script>', page, re.S)[1])
    assert len(figures) == 2
    assert all([trace["name"] for trace in figure[0]["data"]] for figure in list(figures.values())[1:])
    assert "7.354e-12" in page
    assert "src=" not in page.replace("img-src", "").split("<body>")[1]


@pytest.mark.parametrize(
    ("option", "arguments"),
    [
        ("--scheme", ("--scheme", "3+99")),
        ("--scheme", ("--scheme", "raid-5")),
        ("--afr", ("--afr", "0.4")),
        ("--afr", ("--afr", "2000%")),
        ("--repair", ("--repair", "6.5")),
        ("--repair", ("--repair", "400d")),
        ("--repair", ("--repair", "1d", "--disk", "1TB")),
        ("--rebuild", ("--disk", "10TB")),
        ("--disk", ("--disk", "10", "--rebuild", "50MB/s")),
        ("--groups", ("--groups", "0")),
        ("--usable", ("--usable", "100")),
    ],
)
def test_a_mistake_names_its_option(cli, option, arguments):
    done = cli("durability", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {option}")
    assert "allowed:" in done.stderr
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_page_that_cannot_be_written_is_said_first(cli):
    done = cli("durability", "--report", "missing/page.html")
    assert done.returncode == 2
    assert "missing" in done.stderr
