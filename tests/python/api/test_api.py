"""The public functions: all that the command line answers, found where a reader looks, and hiding nothing."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import warnings

import pytest
import yaml
from tests.conftest import ROOT, TINY, refused
from tests.python.api import typed_program
from tests.python.api.small_study import write_study
from tests.python.ingest.kvm.test_lscpu import NUMACTL, XEON, flat

import hypertwin
from hypertwin.cli import catalogue, main

sys.path.insert(0, str(ROOT / "scripts"))
import notebook

FUNCTIONS = {
    "examples": {"example", "examples"},
    "simulate": {"simulate"},
    "diagnose": {"diagnose"},
    "validate": {"validate"},
    "capacity": {"capacity"},
    "plan": {"plan_survive", "plan_balance", "plan_evacuate", "plan_place"},
    "density": {"density"},
    "size": {"size"},
    "vnuma": {"vnuma"},
    "durability": {"durability"},
    "devices": {"devices"},
    "presets": {"presets"},
    "calibrate": {"calibrate"},
    "compare": {"compare"},
    "import": {"import_cluster"},
    "telemetry": {"telemetry"},
    "schema": {"schema"},
    "benchmark": {"predict_benchmark", "check_benchmark", "run_benchmark", "import_benchmark", "report_benchmark"},
}
"""The functions of each command."""

NO_ANSWERS = {"init", "migrate", "cache", "rerun", "serve", "lab", "completion"}
"""Commands that write files of their own, keep house, serve, measure the machine, or are for a shell."""


@pytest.fixture
def command(capsys):
    """What a command prints on stdout, run in this process."""

    def run(*arguments: object) -> str:
        assert main.run([*map(str, arguments)]) in {0, 1}  # 1: there is no plan
        return capsys.readouterr().out

    return run


@pytest.fixture
def study(tmp_path):
    """A study of the tiny scenario with two figures, of which one is missed."""
    return write_study(tmp_path)


def test_every_command_that_answers_is_a_function():
    assert FUNCTIONS.keys() | NO_ANSWERS == catalogue.COMMANDS.keys()
    for name in set.union(*FUNCTIONS.values()):
        assert name in hypertwin.__all__
        assert callable(getattr(hypertwin, name))
        assert (getattr(hypertwin, name).__doc__ or "").strip()


def test_no_name_hides_a_module():
    modules = {each.name for each in pkgutil.iter_modules(hypertwin.__path__)}
    for name in hypertwin.__all__:
        assert getattr(hypertwin, name) is not None
    assert modules & set(hypertwin.__all__) == set()
    for name in modules:
        module = importlib.import_module(f"hypertwin.{name}")
        assert getattr(hypertwin, name) is module


def test_a_name_that_there_is_not_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        hypertwin.simulat  # noqa: B018


def test_a_typed_program_runs_as_mypy_reads_it(tmp_path):
    found = typed_program.main(tmp_path)
    assert found["hosts"] == 2
    assert found["mistakes"] == 1
    assert found["points"] == 1
    assert found["p99"] > 4
    assert found["bytes"] > 150_000


def test_the_notebook_shows_what_its_cells_give():
    path = ROOT / "docs" / "notebooks" / "first-steps.ipynb"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = notebook.text(notebook.ran(path))
    assert path.read_text(encoding="utf-8") == shown, "run `make docs`, and look at what changed"


NUMA = {"hypervisor": "esxi-6.5", "sockets": 2, "cores": 12, "vcpus": 24}


@pytest.mark.parametrize(
    ("asked", "arguments"),
    [
        (hypertwin.simulate, "simulate FILE"),
        (lambda file: hypertwin.simulate(file, sweep={"vms.db.load": [1, 2]}), "simulate FILE --sweep vms.db.load=1,2"),
        (lambda file: hypertwin.capacity(file, vcpu_ratio=4), "capacity FILE --vcpu-ratio 4"),
        (
            lambda file: hypertwin.diagnose(cluster=file, what_if=False),
            "diagnose --cluster FILE --no-what-if",
        ),
        (hypertwin.plan_survive, "plan survive FILE"),
        (
            lambda file: hypertwin.density(file, vm="web", slo="run_pct<99", maximum=2),
            "density FILE --vm web --slo run_pct<99 --max 2",
        ),
        (
            lambda _: hypertwin.size("2x12", memory="96GiB", vcpus=24, name="db"),
            "size --host 2x12 --memory 96GiB --vcpus 24 --name db",
        ),
        (
            lambda _: hypertwin.vnuma(**NUMA),
            "vnuma --hypervisor esxi-6.5 --sockets 2 --cores 12 --vcpus 24",
        ),
        (lambda _: hypertwin.durability(scheme="3:2", afr="2%"), "durability --scheme 3:2 --afr 2%"),
    ],
)
def test_a_function_answers_byte_for_byte_as_its_command(tiny, command, asked, arguments):
    printed = command(*(tiny if each == "FILE" else each for each in arguments.split()), "--format", "json")
    assert asked(tiny).to_json() == printed


def test_durability_of_a_scenario_and_its_refusals(tmp_path):
    disks = hypertwin.example("disk-failure")
    answer = hypertwin.durability(disks, storage="pool", overrides={"run.duration": "3 s"}, replications=1)
    assert answer.twin.pool == "pool"
    with refused("one-of", match="scheme"):
        hypertwin.durability(disks, scheme="3:2")
    with refused("one-of", match="storage"):
        hypertwin.durability(storage="pool")
    with refused("bad-quantity", match="afr"):
        hypertwin.durability(afr="many")


def test_two_answers_of_a_session_are_compared(tiny):
    one = hypertwin.simulate(tiny, overrides={"vms.db.load": 0.2})
    other = hypertwin.simulate(tiny)
    found = hypertwin.compare(one, other)
    assert [(each.what, each.a) for each in found.settings] == [("vms.db.load", "0.2")]
    grown = {(each.name, each.figure): each.change for each in found.changes}
    assert grown["db", "throughput_per_s"] > 0
    assert (found.a.file, found.b.file) == ("a", "b")
    with pytest.raises(hypertwin.SourceError):
        hypertwin.compare(one, hypertwin.capacity(tiny))


def test_an_inventory_becomes_a_scenario_that_says_what_was_assumed(tmp_path):
    (tmp_path / "lscpu.json").write_text(flat(XEON))
    (tmp_path / "numactl.txt").write_text(NUMACTL)
    found = hypertwin.import_cluster([tmp_path / "lscpu.json", tmp_path / "numactl.txt"])
    (host,) = found.inventory.hosts
    assert host.cores == 24
    assert any("assumed" in note for note in found.notes)
    again = hypertwin.load(found.write(tmp_path / "cluster.yaml"))
    assert again.json == found.json
    with pytest.raises(hypertwin.SourceError):
        hypertwin.import_cluster(tmp_path / "lscpu.json", only_cluster="nowhere")


def test_telemetry_is_a_frame_and_its_figures():
    found = hypertwin.telemetry(ROOT / "tests" / "data" / "bitbrains" / "bitbrains_vm.csv")
    assert found.frame.columns == ["time", "entity", "metric", "value", "unit"]
    assert found.frame.height == found.rows > 0
    with pytest.raises(hypertwin.HypertwinError) as caught:
        found.report("telemetry.html")
    assert caught.value.code == "no-page"


def test_a_study_of_ones_own_is_validated(study):
    found = hypertwin.validate(study)
    assert [(row.metric, row["pass"]) for row in found.rows] == [("vCPUs", True), ("cores", False)]
    assert found.holds, "nothing is recorded of it"
    (study.parent / "record.csv").write_text("study,case,figure,error_pct,within\nown,one,cores,1.0,yes\n")
    assert not hypertwin.validate(study).holds
    assert found.to_frame()["published"].to_list() == [2, 400]
    assert "1 of 2 figures within tolerance" in repr(found)


def test_scenarios_are_taken_in_every_form(tiny):
    from_file = hypertwin.load(tiny)
    data = yaml.safe_load(TINY)
    for given in (data, TINY, from_file, str(tiny), json.dumps(data, indent=1)):
        assert hypertwin.load(given).json == from_file.json
    assert hypertwin.Scenario.from_dict(data).json == hypertwin.Scenario.from_yaml(TINY).json == from_file.json
    assert hypertwin.capacity(data).to_dict() == hypertwin.capacity(tiny).to_dict()
