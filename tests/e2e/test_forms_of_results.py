"""The form of a result: by `--format` or the ending of `--out`, and never one that the name of the file denies."""

from __future__ import annotations

import pytest


@pytest.fixture
def vms(cli, tmp_path):
    """The example that the planner mends, as a file."""
    cli("examples", "monster-vms", "-o", "mv.yaml", exits=0)
    return tmp_path / "mv.yaml"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("capacity", "mv.yaml", "-o", "x.ods"), "allowed: .txt .md .json .csv .xlsx"),
        (("capacity", "mv.yaml", "-o", "x.parquet"), "no form of this result has names in .parquet"),
        (("simulate", "mv.yaml", "-o", "x.html"), "a page with charts is --report"),
        (("simulate", "mv.yaml", "-o", "x.json", "--format", "csv"), "x.json is to be csv by --format"),
        (("plan", "balance", "mv.yaml", "-o", "x.json"), "a scenario is YAML"),
        (("telemetry", "mv.yaml", "-o", "x.json"), "allowed: .parquet .csv"),
        (("telemetry", "mv.yaml", "-o", "x.xlsx"), "allowed: .parquet .csv\n"),
    ],
)
def test_a_name_that_denies_what_would_be_in_the_file_is_refused(cli, vms, tmp_path, arguments, said):
    outcome = cli(*arguments, exits=2)
    assert said in outcome.stderr
    assert not [each for each in tmp_path.iterdir() if each.name.startswith("x.")]


def test_a_drawing_is_svg(cli):
    outcome = cli(
        *["vnuma", "--hypervisor", "esxi-8.0", "--sockets", "2", "--cores", "12", "--vcpus", "24", "--svg", "x.png"]
    )
    assert outcome.returncode != 0
    assert "write x.svg" in outcome.stderr


@pytest.mark.parametrize(
    ("name", "begins"), [("x.txt", "prod survives"), ("x", "prod survives"), ("x.csv", "cluster,")]
)
def test_the_ending_says_the_form(cli, vms, tmp_path, name, begins):
    cli("capacity", vms, "-o", name, exits=0)
    assert (tmp_path / name).read_text().lstrip().startswith(begins)


def test_format_of_what_is_not_printed_is_refused(cli, vms):
    outcome = cli("plan", "balance", vms, "-o", "-", "--format", "json", exits=2)
    assert "prints the scenario instead of the plan" in outcome.stderr
    size = ("size", "--host", "2x12", "--vcpus", "24", "--memory", "96GiB", "--snippet", "vmx")
    outcome = cli(*size, "--format", "json", exits=2)
    assert "lines to paste" in outcome.stderr


def test_lines_to_paste_go_to_a_file(cli, tmp_path):
    size = ("size", "--host", "2x12", "--vcpus", "24", "--memory", "96GiB", "--snippet", "vmx")
    assert cli(*size, "-o", "lines").stdout == ""
    assert (tmp_path / "lines").read_text() == cli(*size).stdout != ""


def test_fail_on_slo_needs_an_objective(cli, vms):
    outcome = cli("plan", "balance", vms, "--fail-on", "slo", exits=2)
    assert "--fail-on slo needs an objective: add --slo" in outcome.stderr


def test_a_plan_that_does_not_exist_is_told_on_stderr(cli, vms):
    outcome = cli("plan", "survive", vms, "-q")
    assert (outcome.returncode, outcome.stderr) == (1, "")  # stdout begins with it
    assert outcome.stdout.startswith("prod survives 5 of 6 host failures. If esx-2 fails, ")
    outcome = cli("plan", "survive", vms, "-q", "--format", "json", exits=1)
    assert outcome.stderr == "warning: 1 of 6 failures is not survived: esx-2\n"


def test_a_name_with_a_slash_at_its_end_is_a_folder(cli, vms, tmp_path):
    cli("examples", "small-esxi", "-o", "new/", exits=0)
    assert {each.name for each in (tmp_path / "new").iterdir()} == {"small-esxi.yaml", "small-esxi-measured.csv"}
    assert cli("examples", "small-esxi", "-o", "mv.yaml/").stderr.startswith("error: cannot make mv.yaml: ")
    outcome = cli("capacity", vms, "-o", "nope/")
    assert "that names a folder" in outcome.stderr
    assert not (tmp_path / "nope").exists()


def test_a_page_is_run_again_into_a_file(cli, vms, tmp_path):
    cli("capacity", vms, "--report", "page.html", "-o", "first.csv", exits=0)
    cli("rerun", "page.html", "--format", "csv", "-o", "again.csv", exits=0)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "first.csv").read_bytes()


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        (
            "--failures",
            "100",
            "--failures 100: a value outside the allowed range [out-of-range]\n"
            "  allowed: an integer, 0 to 64\n  help: choose",
        ),
        ("--vcpu-ratio", "0", "--vcpu-ratio 0: a value outside the allowed range [out-of-range]"),
        ("--cpu", "0.8", "help: write 80%"),
        ("--cpu", "70", "help: write 70%"),
        ("--vm", "4x16", "help: add the unit: 4x16GiB"),
    ],
)
def test_limits_are_told_what_would_be_one(cli, vms, option, value, said):
    assert said in cli("capacity", vms, option, value).stderr


def test_a_file_that_is_nearly_there_is_named(cli, vms):
    assert "did you mean mv.yaml?" in cli("simulate", "mv").stderr
    assert "did you mean mv.yaml?" in cli("capacity", "mv.yml").stderr
