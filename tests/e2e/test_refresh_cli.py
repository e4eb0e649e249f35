"""`hypertwin plan refresh`: from an export to the page that a decision is made by, as a user runs it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import openpyxl
import pytest
import yaml

TYPES = ("--host-type", "r760.yaml", "--host-type", "r7725.yaml")


@pytest.fixture
def here(cli, tmp_path: Path) -> Path:
    """The files of the example."""
    cli("examples", "old-hosts", "-o", ".", exits=0)
    return tmp_path


def test_two_commands_lead_from_an_export_to_the_page(cli, here):
    (here / "cluster.yaml").unlink()
    cli("import", "export.xlsx", "-o", "cluster.yaml", exits=0)
    said = ("--growth", "20%", "--prices", "prices.yaml", "--duration", "2", "--warmup", "1", "--replications", "1")
    cli("plan", "refresh", "cluster.yaml", *TYPES, *said, "--report", "hosts.html", "-o", "hosts.xlsx", exits=0)
    page = (here / "hosts.html").read_text(encoding="utf-8")
    assert "6 r760 replace 12 hosts" in page
    assert "Response p99 is" in page
    sheets = openpyxl.load_workbook(here / "hosts.xlsx").sheetnames
    assert {"Candidates", "Simulated figures", "Costs by line", "Rules of costs", "Published figures", "Energy"} <= {
        *sheets
    }


def test_each_form_has_the_same_numbers(cli, here):
    line = ("plan", "refresh", "cluster.yaml", *TYPES, "--prices", "prices.yaml", "--twin", "off")
    found = json.loads(cli(*line, "--format", "json").stdout)
    rows = list(csv.DictReader(io.StringIO(cli(*line, "--format", "csv").stdout)))
    assert [row["name"] for row in rows] == ["present", "r760", "r7725"]
    for row, each in zip(rows, [found["present"], *found["candidates"]], strict=True):
        assert int(row["hosts"]) == each["hosts"]
        assert float(row["total"]) == pytest.approx(each["costs"]["total"])
    table = cli(*line).stdout
    assert table.startswith(found["candidates"][0]["verdict"])
    assert found["best"] == "r760"


def test_the_scenario_of_the_best_candidate_runs_and_survives(cli, here):
    cli("plan", "refresh", "cluster.yaml", *TYPES[:2], "--twin", "off", "--best", "plan.yaml", exits=0)
    made = yaml.safe_load((here / "plan.yaml").read_text())
    assert set(made["hosts"]) == {"r760"}
    assert made["hosts"]["r760"]["work_per_cycle"] > 1
    ran = cli(
        "simulate", "plan.yaml", "--duration", "1", "--warmup", "0", "--replications", "1", "--format", "json", exits=0
    )
    assert len(json.loads(ran.stdout)["points"][0]["vms"]) == 200
    cli("plan", "survive", "plan.yaml", exits=0)


def test_without_prices_the_answer_says_so_and_a_condition_fails(cli, here):
    line = ("plan", "refresh", "cluster.yaml", *TYPES[:2], "--twin", "off")
    done = cli(*line)
    assert "costs are unknown" in done.stdout
    cli(*line, "--fail-on", "unpriced", exits=1)
    cli(*line, "--fail-on", "unproven", exits=0)


@pytest.mark.parametrize("line", [("refresh", "--host-type", "r760.yaml"), ("move", "--to", "proxmox")])
def test_a_file_without_vms_is_named_with_its_key(cli, here, line):
    empty = yaml.safe_load((here / "cluster.yaml").read_text()) | {"vms": {}, "rules": []}
    (here / "empty.yaml").write_text(yaml.safe_dump(empty))
    done = cli("plan", line[0], "empty.yaml", *line[1:], "--twin", "off", exits=2)
    assert done.stderr.startswith("error: vms: no VM [out-of-range]\n  --> empty.yaml\n")


def test_no_candidate_is_exit_code_one_with_the_reason(cli, here):
    small = yaml.safe_load((here / "r760.yaml").read_text())
    small["host"]["memory_per_node"] = "8 GiB"
    (here / "small.yaml").write_text(yaml.safe_dump(small | {"name": "small"}))
    done = cli(
        "plan", "refresh", "cluster.yaml", "--host-type", "small.yaml", "--twin", "off", "--best", "plan.yaml", exits=1
    )
    assert "No candidate is possible" in done.stdout
    assert "more than any of these hosts" in done.stdout
    assert not (here / "plan.yaml").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ((), "--host-type: nothing given"),
        (("--host-type", "missing.yaml"), "missing.yaml"),
        (("--host-type", "prices.yaml"), "host"),
        (("--host-type", "r760.yaml", "--host-type", "r760.yaml"), "names that differ"),
        (("--host-type", "r760.yaml", "--growth", "much"), "20%"),
        (("--host-type", "r760.yaml", "--keep", "nobody"), "nobody"),
        (("--host-type", "r760.yaml", "--prices", "r760.yaml"), "r760.yaml"),
        (("--host-type", "r760.yaml", "--stored", "many"), "40TiB"),
        (("--host-type", "r760.yaml", "--years", "0"), "years"),
        (("--host-type", "r760.yaml", "--set", "hosts.esx-01.cpu_model=Quantum 9000"), "Quantum 9000"),
        (("--host-type", "r760.yaml", "-o", "r760.yaml"), "r760.yaml"),
    ],
)
def test_a_bad_request_is_one_clear_error_and_writes_nothing(cli, here, line, said):
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    done = cli("plan", "refresh", "cluster.yaml", "--twin", "off", *line, exits=2)
    assert said in done.stderr
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before
