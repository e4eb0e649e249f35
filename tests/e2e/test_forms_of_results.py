"""The form of a result: by `--format` or the ending of `--out`, and never one that the name of the file denies."""

from __future__ import annotations

import pytest


@pytest.fixture
def vms(cli, tmp_path):
    """The example that the planner mends, as a file."""
    assert cli("examples", "monster-vms", "-o", "mv.yaml").returncode == 0
    return tmp_path / "mv.yaml"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("capacity", "mv.yaml", "-o", "x.xlsx"), "allowed: .txt .md .json .csv; or say --format"),
        (("capacity", "mv.yaml", "-o", "x.parquet"), "no form of this result has names in .parquet"),
        (("simulate", "mv.yaml", "-o", "x.html"), "a page with charts is --report"),
        (("simulate", "mv.yaml", "-o", "x.json", "--format", "csv"), "x.json is to be csv by --format"),
        (("plan", "balance", "mv.yaml", "-o", "x.json"), "a scenario is YAML"),
        (("telemetry", "mv.yaml", "-o", "x.json"), "allowed: .parquet .csv"),
    ],
)
def test_a_name_that_denies_what_would_be_in_the_file_is_refused(cli, vms, tmp_path, arguments, said):
    outcome = cli(*arguments)
    assert outcome.returncode == 2
    assert said in outcome.stderr
    assert not [each for each in tmp_path.iterdir() if each.name.startswith("x.")]


def test_a_drawing_is_svg(cli):
    outcome = cli(
        *["vnuma", "--hypervisor", "esxi-8.0", "--sockets", "2", "--cores", "12", "--vcpus", "24", "--svg", "x.png"]
    )
    assert outcome.returncode != 0
    assert "write x.svg" in outcome.stderr


@pytest.mark.parametrize(("name", "begins"), [("x.txt", "monster-vms"), ("x", "monster-vms"), ("x.csv", "cluster,")])
def test_the_ending_says_the_form(cli, vms, tmp_path, name, begins):
    assert cli("capacity", vms, "-o", name).returncode == 0
    assert (tmp_path / name).read_text().lstrip().startswith(begins)


def test_format_of_what_is_not_printed_is_refused(cli, vms):
    outcome = cli("plan", "balance", vms, "-o", "-", "--format", "json")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert "in place of the plan" in outcome.stderr
    size = ("size", "--host", "2x12", "--vcpus", "24", "--memory", "96GiB", "--snippet", "vmx")
    outcome = cli(*size, "--format", "json")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert "lines to paste" in outcome.stderr


def test_lines_to_paste_go_to_a_file(cli, tmp_path):
    size = ("size", "--host", "2x12", "--vcpus", "24", "--memory", "96GiB", "--snippet", "vmx")
    assert cli(*size, "-o", "lines").stdout == ""
    assert (tmp_path / "lines").read_text() == cli(*size).stdout != ""


def test_fail_on_slo_needs_an_objective(cli, vms):
    outcome = cli("plan", "balance", vms, "--fail-on", "slo")
    assert outcome.returncode == 2
    assert "--fail-on slo is of the objectives of --slo" in outcome.stderr


def test_a_plan_that_does_not_exist_is_told_on_stderr(cli, vms):
    outcome = cli("plan", "survive", vms, "-q")
    assert outcome.returncode == 1
    assert outcome.stderr == "warning: 1 of 6 failures is not survived: esx-2\n"
