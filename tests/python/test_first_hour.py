"""The first hour: answers first and short, every wrong turn with a signpost, old names told their new ones."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT, Cli
from tests.python.show.test_page import data

import hypertwin
from hypertwin import naming
from hypertwin.cli import catalogue, names, signposts, symptoms
from hypertwin.cli.main import run
from hypertwin.errors import HypertwinError
from hypertwin.show import terminal, view

MAX_WORDS, MAX_CELL = 250, 6

S = str(ROOT / "scenarios")
VIEWS = {
    "capacity": "capacity",
    "plan": "placement",
    "diagnose": "diagnosis",
    "density": "density",
    "compare": "compared",
}

BRIEF = {
    "capacity": f"capacity {S}/clusters.yaml",
    "capacity-one": f"capacity {S}/monster-vms.yaml",
    "survive": f"plan survive {S}/monster-vms.yaml",
    "balance": f"plan balance {S}/monster-vms.yaml",
    "evacuate": f"plan evacuate {S}/monster-vms.yaml esx-3",
    "place": f"plan place {S}/monster-vms.yaml --vm 2*4x32GiB --failures 0",
    "place-none": f"plan place {S}/monster-vms.yaml --vm 4*8x32GiB",
    "infeasible": f"plan balance {S}/clusters.yaml --cluster general",
    "diagnose": f"diagnose --cluster {S}/small-esxi.yaml --no-what-if",
    "density": f"density {S}/small-esxi.yaml --vm web --slo response_ms.p95<20 --max 6 --duration 2 --replications 2",
    "compare": "compare a.json b.json",
}
"""Commands on examples, by name."""

SIMULATED = [
    f"simulate {S}/{name}.yaml --duration 2 --warmup 0.5" for name in ("small-esxi", "proxmox-ceph", "memory-short")
]
SIMULATED += [f"simulate {S}/{name}.yaml --duration 1 --warmup 0.5" for name in ("clusters", "failover", "san-paths")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two results of one scenario, its page, and a file of each other kind."""
    made = tmp_path_factory.mktemp("first-hour")
    for name, change in (("a", {}), ("b", {"hosts.esx.cores_per_socket": 2})):
        result = hypertwin.simulate(f"{S}/small-esxi.yaml", overrides=change, duration=2, warmup=0.5)
        (made / f"{name}.json").write_text(result.to_json())
    result.report(made / "page.html")
    (made / "mine.yaml").write_text(Path(f"{S}/small-esxi.yaml").read_text())
    (made / "export.xlsx").write_bytes((ROOT / "tests/data/rvtools/rvtools_example1.xlsx").read_bytes())
    return made


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    "line", [*BRIEF.values(), *SIMULATED], ids=[*BRIEF, *(each.split("/")[-1] for each in SIMULATED)]
)
def test_an_answer_is_short_and_all_of_it_is_reachable(line: str, cli: Cli, folder: Path) -> None:
    arguments = [str(folder / each) if each in ("a.json", "b.json") else each for each in shlex.split(line)]
    brief = cli(*arguments)
    assert brief.returncode in (0, 1)
    lines = [each for each in brief.stdout.splitlines() if each.strip()]
    assert len(brief.stdout.split()) <= MAX_WORDS
    assert lines[-1].startswith("More: ") and "--explain" in lines[-1]
    assert re.match(r"[^─]*[.:]", lines[0]), "the first line is the answer"
    said = words(brief.stdout)
    for sentence in re.split(r"(?<=[.:]) ", words(brief.stderr.removeprefix("warning: "))):
        assert len(sentence.split()) < 3 or sentence not in said, "a sentence on both streams"
    whole = words(cli(*arguments, "--explain").stdout)
    assert lines[0].strip() in whole or words(lines[0]) in whole
    if arguments[0] == "simulate":
        return
    cli(*arguments, "--report", folder / "it.html")
    page = data((folder / "it.html").read_text())["view"]
    for note in (*page.get("notes", ()), *page["assumptions"]):
        assert words(note) in whole
    for note in page.get("notes", ())[: terminal.MAX_NOTES - len(terminal.warnings(page))]:
        assert words(note) in said


@pytest.mark.parametrize("name", BRIEF)
def test_no_cell_of_a_brief_table_is_a_sentence(name: str, cli: Cli, folder: Path) -> None:
    line = BRIEF[name]
    arguments = [str(folder / each) if each in ("a.json", "b.json") else each for each in shlex.split(line)]
    document = json.loads(cli(*arguments, "--format", "json").stdout)
    made = importlib.import_module(f"hypertwin.show.{VIEWS[arguments[0]]}").view(document)
    tables = {each["id"]: each for each in view.tables_of(made)}
    shown = made.get("brief", list(tables))[: terminal.MAX_TABLES]
    cells = [
        view.shown(row.get(column["key"]))
        for table in (tables[each] for each in shown if each in tables)
        for column in table["columns"]
        if not column.get("secondary")
        for row in table["rows"]
    ]
    assert [cell for cell in cells if len(cell.split()) > MAX_CELL] == []


# ---- old names


@pytest.mark.parametrize("old", naming.COMMANDS)
def test_an_old_command_is_told_its_new_name(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cache", old] if old == "gc" else [old]) == 2
    assert f"it is called {naming.COMMANDS[old]} now" in capsys.readouterr().err


OF_OPTIONS = {
    "--ratio": ["capacity", f"{S}/small-esxi.yaml"],
    "--licence-minimum": ["capacity", f"{S}/small-esxi.yaml"],
    "--everything": ["plan", "place", f"{S}/small-esxi.yaml"],
    "--store": ["simulate", f"{S}/small-esxi.yaml"],
}


@pytest.mark.parametrize("old", naming.OPTIONS)
def test_an_old_option_is_told_its_new_name(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*OF_OPTIONS[old], old, "1"]) == 2
    assert naming.OPTIONS[old] in capsys.readouterr().err


@pytest.mark.parametrize("old", naming.KEYS)
def test_an_old_key_is_told_its_new_name_by_line(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path(f"{S}/clusters.yaml").read_text()
    if old == "memory_own":
        file = tmp_path / "old.yaml"
        file.write_text(text.replace("    sockets:", "    memory_own: 1 GiB\n    sockets:", 1))
        arguments = ["capacity", str(file)]
    else:
        file = tmp_path / "limits.yaml"
        file.write_text(f"clusters:\n  database:\n    {old}: 4\n")
        arguments = ["capacity", f"{S}/clusters.yaml", "--limits", str(file)]
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert f"it is called {naming.KEYS[old]} now" in said
    assert re.search(rf"{re.escape(str(file))}:\d+", said)


@pytest.mark.parametrize("old", naming.FUNCTIONS)
def test_an_old_function_is_told_its_new_name(old: str) -> None:
    if old in ("virtual_numa", "pool_presets"):  # modules have these names
        assert not callable(getattr(importlib.import_module("hypertwin"), old, None))
    else:
        with pytest.raises(AttributeError, match=f"it is called {naming.FUNCTIONS[old]} now"):
            getattr(hypertwin, old)


def test_names_offered_are_the_package_s() -> None:
    public = [name for name in dir(hypertwin) if not name.startswith("_")]
    assert sorted(public) == sorted(hypertwin.__all__)


@pytest.mark.parametrize(("kind", "keys"), naming.RESULT_KEYS.items())
def test_migrate_renames_the_keys_of_results(kind: str, keys: dict[str, str], tmp_path: Path) -> None:
    name = {"placement": "placement-survive"}.get(kind, kind)
    today = (ROOT / f"tests/data/documents/{name}.json").read_text()
    back = {new: old.rpartition(".")[2] for old, new in keys.items()}
    old = re.sub(r'"(\w+)":', lambda found: f'"{back.get(found[1], found[1])}":', today)
    assert old != today
    file = tmp_path / "old.json"
    file.write_text(old)
    assert run(["migrate", "--check", str(file)]) == 1
    assert file.read_text() == old
    assert run(["migrate", str(file)]) == 0
    assert json.loads(file.read_text()) == json.loads(today)
    assert run(["migrate", "--check", str(file)]) == 0


def test_migrate_keeps_comments_order_and_names_of_things(tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text(
        "name: x # memory_own stays in a comment\nhosts:\n  memory_own: # a host of this name\n    memory_own: 1 GiB\n"
    )
    assert run(["migrate", str(file)]) == 0
    assert file.read_text() == (
        "name: x # memory_own stays in a comment\nhosts:\n  memory_own: # a host of this name\n"
        "    hypervisor_memory: 1 GiB\n"
    )


@pytest.mark.parametrize("text", ["a: &a [*a]", "{" * 5000, "a: [" + "x," * 300_000 + "]", "\0", "[1, 2"])
def test_migrate_refuses_hostile_files_and_writes_nothing(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hostile.yaml"
    file.write_text(text)
    assert run(["migrate", str(file)]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert file.read_text() == text


# ---- wrong turns


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("diagnose mine.yaml", "hypertwin diagnose --cluster mine.yaml"),
        ("simulate page.html", "hypertwin rerun page.html"),
        ("capacity page.html", "hypertwin rerun page.html"),
        ("compare mine.yaml mine.yaml", "hypertwin simulate mine.yaml -o A.json"),
        ("import mine.yaml -o x.yaml", "it is imported already"),
        ("import page.html -o x.yaml", "a page of hypertwin"),
        ("capacity export.xlsx", "hypertwin import export.xlsx -o cluster.yaml"),
        ("diagnose export.xlsx", "hypertwin import export.xlsx -o cluster.yaml"),
        ("plan survive a.json", "hypertwin compare a.json OTHER.json"),
        ("rerun mine.yaml", "hypertwin simulate mine.yaml"),
        ("import proxmox://pve1 -o x.yaml", "proxmox://USER@REALM!TOKENID@HOST"),
        ("import pve://pve1 -o x.yaml", "write proxmox://USER@REALM!TOKENID@HOST"),
        ("import nutanix://pc/x -o x.yaml", "nutanix://USER@HOST"),
        ("import prism://pc -o x.yaml", "write nutanix://USER@HOST"),
        ("density mine.yaml --vm web --slo p99<100", "did you mean response_ms.p99?"),
        ("simulate mine.yaml --set vms.web.count 3", "write --set vms.web.count=3"),
        ("plan place clusters.yaml --vm 4x16GiB", "choose one with --cluster (database, edge, general)"),
    ],
)
def test_a_wrong_turn_has_a_signpost(
    line: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    Path("clusters.yaml").write_text(Path(f"{S}/clusters.yaml").read_text())
    assert run(shlex.split(line)) == 2
    ended = capsys.readouterr()
    assert ended.out == ""
    assert said in words(ended.err)
    assert "is the file whole" not in ended.err
    assert not Path("x.yaml").exists()


def test_an_error_in_a_file_of_a_study_is_the_file_s_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "cpu-limit-example"
    shutil.copytree(ROOT / "studies/cpu-limit-example", study)
    scenario = study / "scenario.yaml"
    scenario.write_text(scenario.read_text() + "colour: red\n")
    assert run(["validate", str(study)]) == 2
    said = words(capsys.readouterr().err)
    assert "colour" in said and "does not read" not in said


def test_every_kind_of_file_names_a_command_that_there_is(folder: Path) -> None:
    for kind in signposts.KINDS:
        assert kind.commands <= catalogue.COMMANDS.keys()
        named = re.findall(r"hypertwin (\w+)", kind.how)
        assert named and set(named) <= catalogue.COMMANDS.keys()
    kinds = {name: signposts.kind_of(folder / name) for name in ("mine.yaml", "page.html", "a.json", "export.xlsx")}
    assert [each.name for each in kinds.values() if each] == [
        *("a scenario", "a page of hypertwin", "a result of hypertwin", "an .xlsx or .zip export")
    ]
    assert signposts.kind_of(folder) is None and signposts.kind_of(folder / "nowhere") is None


def test_plan_takes_each_cluster_in_turn(cli: Cli) -> None:
    done = cli("plan", "survive", f"{S}/clusters.yaml")
    assert done.returncode == 1 and done.stderr == ""
    firsts = [
        line.split(" ", 1)[0] for line in done.stdout.splitlines() if re.match(r"(database|edge|general) (c|s|h)", line)
    ]
    assert firsts == ["database", "edge", "general"]
    of_host = cli("plan", "evacuate", f"{S}/clusters.yaml", "general-1", "--format", "json")
    assert json.loads(of_host.stdout)["cluster"] == "general"


@pytest.mark.parametrize(
    ("path", "written", "read"),
    [
        ("hosts.esx.hypervisor", "proxmox-8", "linux-6.6"),
        ("hosts.esx.hypervisor", "esxi-8", "esxi-8.0"),
        ("hosts.esx.clock", "2.5 ghz", "2.5 GHz"),
        ("vms.db.vcpus", "'4'", 4),
        ("workloads.pages.cpu", "6 ms", {"mean": "6 ms"}),
        ("run.duration", "60 secs", "60 s"),
    ],
)
def test_a_value_with_one_reading_is_taken_and_told(path: str, written: str, read: Any, cli: Cli) -> None:
    section, name, *key = path.split(".")
    text = Path(f"{S}/small-esxi.yaml").read_text()
    changed = {path: written.strip("'")} | ({"vms.db.reservation": None} if read == "linux-6.6" else {})
    loaded = hypertwin.load(f"{S}/small-esxi.yaml", changed)
    value: Any = loaded.data[section][name]
    value = value[key[0]] if key else value
    assert all(value[each] == read[each] for each in read) if isinstance(read, dict) else value == read
    assert any(each.startswith(f"{path}: read ") for each in loaded.readings)
    assert text == Path(f"{S}/small-esxi.yaml").read_text()


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("hosts.esx.memory_per_node", "64 g"),
        ("hosts.esx.clock", "2.5"),
        ("vms.db.vcpus", "4.5"),
        ("run.duration", "5 m"),
    ],
)
def test_a_value_with_several_readings_is_refused(path: str, written: str) -> None:
    with pytest.raises(HypertwinError):
        hypertwin.load(f"{S}/small-esxi.yaml", {path: written})


def test_readings_are_shown_when_asked_for(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "pve.yaml"
    file.write_text(Path(f"{S}/small-esxi.yaml").read_text().replace("hypervisor: esxi-7.0", "hypervisor: esxi-8"))
    assert "esxi-8" in file.read_text()
    quiet, told = cli("capacity", file), cli("capacity", file, "--explain")
    assert "read esxi-8 as esxi-8.0" not in quiet.stderr
    assert "read esxi-8 as esxi-8.0" in told.stderr


# ---- symptoms and names that a shell offers


def test_symptoms_are_told_with_commands_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "symptoms"]) == 0
    said = capsys.readouterr().out
    for section, each in symptoms.SYMPTOMS.items():
        assert f"{section}:" in said
        for symptom, command in each.items():
            assert words(symptom) in words(said) and command in said


COMMANDS = [each for section in symptoms.SYMPTOMS.values() for each in section.values()]


@pytest.mark.parametrize("line", [each for each in dict.fromkeys(COMMANDS) if "://" not in each])  # no password
def test_the_command_of_a_symptom_is_one(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # in which there is none of its files
    code = run(shlex.split(line)[1:])
    said = capsys.readouterr().err
    assert code in (0, 1) or "[file-not-found]" in said or "no such file" in said.lower(), said
    assert not re.search("no such option|unexpected|missing (option|argument)|invalid value", said)


def test_a_shell_offers_names_of_the_scenario(tmp_path: Path) -> None:
    data_of = names._scenario([f"{S}/failover.yaml"])
    assert list(names.KINDS["groups"](data_of, "")) == ["db", "web"]
    assert "web-12" in list(names.KINDS["vms"](data_of, ""))
    assert list(names.KINDS["hosts"](data_of, "")) == [f"esx-{number}" for number in range(1, 5)]
    paths = list(names.KINDS["paths"](data_of, "vms."))
    assert paths == ["vms.db.", "vms.web."]
    assert "vms.web.memory=" in list(names.KINDS["paths"](data_of, "vms.web.mem"))
    assert list(names.KINDS["clusters"](names._scenario([f"{S}/clusters.yaml"]), "")) == ["general", "database", "edge"]
    hostile = tmp_path / "x.yaml"
    for text in ("a: &a [*a]", "[" * 100_000, "\0", "- 1"):
        hostile.write_text(text)
        assert list(names.KINDS["groups"](names._scenario([str(hostile)]), "")) == []
