"""Scenarios from Python: loading, overrides, sweeps, lines, and the reference page."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import ROOT, refused

from hypertwin import _core, errors, scenario, simulate
from hypertwin.cli import commands
from hypertwin.errors import Mistake, OverrideError, ScenarioError
from hypertwin.files import yaml_file
from hypertwin.scenario.overrides import parse_sets, parse_sweeps

GOOD = ROOT / "tests" / "malformed" / "good.yaml"


@pytest.mark.parametrize("file", sorted((ROOT / "scenarios").glob("*.yaml")), ids=lambda file: file.stem)
def test_examples_have_no_mistakes(file: Path) -> None:
    assert scenario.load(file).name == file.stem


def test_a_scenario_cannot_be_changed() -> None:
    loaded = scenario.load(GOOD)
    assert loaded.path == GOOD
    assert loaded.data["vms"]["db"]["vcpus"] == 4
    assert loaded.data["vms"]["db"]["load_steps"][1]["at"] == "40 s"
    with pytest.raises(TypeError):
        loaded.data["vms"]["db"]["vcpus"] = 8  # type: ignore[index]
    with pytest.raises(AttributeError):
        loaded.name = "other"  # type: ignore[misc]


def test_the_canonical_form_loads_to_itself() -> None:
    text = scenario.load(GOOD).json
    assert scenario.loads(text).json == text
    assert scenario.loads(json.dumps(json.loads(text), indent=1)).json == text


def test_overrides_of_every_form_agree() -> None:
    by_mapping = scenario.load(GOOD, {"vms.db.vcpus": 8, "vms.web.guest.time_slice": "3 ms"})
    by_text = scenario.load(GOOD, ["vms.db.vcpus=8", "vms.web.guest.time_slice=3 ms"])
    step_by_step = (
        scenario.load(GOOD).with_overrides({"vms.db.vcpus": 8}).with_overrides(["vms.web.guest={time_slice: 3 ms}"])
    )
    assert by_mapping.json == by_text.json == step_by_step.json
    assert by_mapping.data["vms"]["db"]["vcpus"] == 8
    assert by_mapping.data["vms"]["web"]["guest"]["time_slice"] == "3 ms"
    assert scenario.load(GOOD).data["vms"]["db"]["vcpus"] == 4


def test_a_later_override_replaces_an_earlier_one() -> None:
    loaded = scenario.load(GOOD, {"vms.db.vcpus": 8}).with_overrides({"vms.db.vcpus": 12})
    assert loaded.data["vms"]["db"]["vcpus"] == 12
    assert scenario.load(loaded, {"vms.db.vcpus": 2}).data["vms"]["db"]["vcpus"] == 2
    assert scenario.load(loaded) is loaded


def test_overrides_reach_lists_and_whole_groups() -> None:
    loaded = scenario.load(
        GOOD,
        {
            "vms.db.load_steps.1.factor": 2,
            "vms.batch": {"vcpus": 1, "memory": "1 GiB", "workload": "pages"},
            "workloads.pages.arrivals": {"open": {"rate": "5 /s"}},
        },
    )
    assert loaded.data["vms"]["db"]["load_steps"][1]["factor"] == 2
    assert loaded.data["vms"]["batch"]["vcpus"] == 1
    assert loaded.data["workloads"]["pages"]["arrivals"]["open"]["rate"] == "5 /s"


def test_a_mistake_in_an_override_names_the_override() -> None:
    with refused("vm-wider-than-host") as caught:
        scenario.load(GOOD, {"vms.db.vcpus": 48})
    (mistake,) = caught.value.mistakes
    assert mistake.file == "overrides vms.db.vcpus=48"
    assert mistake.line is None
    assert mistake.path == "vms.db.vcpus"
    assert "16 logical CPUs" in mistake.allowed
    assert str(caught.value).startswith("overrides vms.db.vcpus=48: vms.db.vcpus: 48 [vm-wider-than-host]\n  allowed: ")


def test_overrides_change_neither_the_scenario_nor_what_was_given() -> None:
    loaded = scenario.load(GOOD)
    step = {"at": "50 s", "factor": 3}
    changes: dict[str, Any] = {
        "vms.db.load_steps.1": step,
        "vms.db.load_steps.1.factor": 2,
        "vms.*.memory": "16 GiB",
        "workloads.pages.arrivals.open.rate": "5 /s",
        "vms.db.shares": None,
    }
    changed = loaded.with_overrides(changes)
    assert changed.data["vms"]["db"]["load_steps"][1]["factor"] == 2
    assert step == {"at": "50 s", "factor": 3}
    again = loaded.with_overrides({"run.seed": 5})
    assert again.json == scenario.load(GOOD, {"run.seed": 5}).json
    assert loaded.with_overrides(changes).json == changed.json == scenario.load(GOOD, changes).json


def test_an_override_hides_what_json_cannot_express() -> None:
    assert scenario.load(GOOD, {"vms.db.load_steps": [float("nan")], "vms.db.load_steps.0": {"at": "0 s", "factor": 1}})
    with refused("wrong-type") as caught:
        scenario.load(GOOD, {"vms.db.load_steps": [float("nan")], "vms.db.load_steps.0": "soon"})
    assert "soon" in caught.value.mistakes[0].value


def test_a_mistake_in_a_value_of_a_sweep_names_the_sweep() -> None:
    with refused("vm-wider-than-host") as caught:
        simulate(GOOD, overrides={"vms.db.load": 1}, sweep={"vms.db.vcpus": [4, 48]})
    assert caught.value.mistakes[0].file == "sweep vms.db.vcpus=48"
    with refused("out-of-range") as caught:
        simulate(GOOD, overrides={"vms.db.load": -1}, sweep={"vms.db.vcpus": [4, 8]})
    assert caught.value.mistakes[0].file == "overrides vms.db.load=-1"


def test_a_fio_job_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = scenario.load(ROOT / "scenarios" / "san-fio.yaml")
    expected = [scenario.load(loaded.path, {"run.seed": seed}).json for seed in (1, 2)]  # type: ignore[arg-type]
    monkeypatch.setattr(scenario.fio, "workload", lambda *_: pytest.fail("read again"))
    assert [loaded.with_overrides({"run.seed": seed}).json for seed in (1, 2)] == expected


@pytest.mark.parametrize("name", ["small-esxi", "san-fio"])
def test_a_command_reads_its_scenario_once_to_find_its_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parsed: list[str] = []
    parse = yaml_file.parse

    def counted(text: str, file: str) -> yaml_file.Document:
        parsed.append(file)
        return parse(text, file)

    monkeypatch.setattr(yaml_file, "parse", counted)
    file, out, page = ROOT / "scenarios" / f"{name}.yaml", tmp_path / "result.json", tmp_path / "page.html"
    out.write_text("before")
    arguments = [file, "--duration", "1", "--replications", "1", "--out", out, "--report", page]
    command = typer.main.get_command(commands.app("simulate", "hypertwin.cli.simulate"))
    command([*map(str, arguments)], standalone_mode=False)
    capsys.readouterr()
    assert len(parsed) == {"small-esxi": 1, "san-fio": 2}[name]


@pytest.mark.parametrize(
    "value",
    [object(), b"x", {1, 2}, float("nan"), 10**5000, "\udcff", [[[1]]], {"a": {"b": 1}}],
    ids=["object", "bytes", "set", "nan", "huge", "surrogate", "lists", "mappings"],
)
def test_odd_python_values_are_mistakes(value: Any) -> None:
    for path in ("vms.db.vcpus", "name", "vms.db.memory"):
        with pytest.raises(ScenarioError) as caught:
            scenario.load(GOOD, {path: value})
        assert [mistake.path for mistake in caught.value.mistakes] == [path]
        str(caught.value).encode()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("36", 36),
        ("-1", -1),
        ("0x10", 16),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("null", None),
        ("no", "no"),
        ("12:30", "12:30"),
        ("2.5 GHz", "2.5 GHz"),
        ("'36'", "36"),
        ('"a=b"', "a=b"),
        ("a=b", "a=b"),
        ("*x", "*x"),
        ("{mean: 5 ms, cv: 1}", {"mean": "5 ms", "cv": 1}),
        ("[1, two]", [1, "two"]),
    ],
)
def test_values_of_set(text: str, value: object) -> None:
    parsed = parse_sets([f"a.b={text}"])["a.b"]
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1", [1]),
        ("1,2,3", [1, 2, 3]),
        ("512B,1KiB", ["512B", "1KiB"]),
        ("8 GiB, 16 GiB", ["8 GiB", "16 GiB"]),
        ("1..6", [1, 2, 3, 4, 5, 6]),
        ("3..1", [3, 2, 1]),
        ("0,2..4,8", [0, 2, 3, 4, 8]),
        ("-1..1", [-1, 0, 1]),
        ("'0-3,8',0-7", ["0-3,8", "0-7"]),
        ("{mean: 5 ms},{mean: 6 ms}", [{"mean": "5 ms"}, {"mean": "6 ms"}]),
        ("esxi-6.0,esxi-7.0", ["esxi-6.0", "esxi-7.0"]),
        ("esx-1,null", ["esx-1", None]),
        ("0.5,1,1.5", [0.5, 1, 1.5]),
    ],
)
def test_values_of_sweep(text: str, values: list[object]) -> None:
    assert parse_sweeps([f"vms.db.x={text}"]) == {"vms.db.x": values}


def _hosts(overrides: list[str]) -> dict[str, str]:
    """Host of each VM of the good scenario, changed."""
    return {vm.name: vm.host for vm in scenario.load(GOOD, overrides).inventory.vms}


def test_null_removes_a_key() -> None:
    assert scenario.load(GOOD).data["vms"]["db"]["limit"] == "8 GHz"
    changed = scenario.load(GOOD, ["vms.db.limit=null", "vms.web=null", "vms.db.ring_pages=null", "description=null"])
    assert "limit" not in changed.data["vms"]["db"]
    assert set(changed.data["vms"]) == {"db", "generator", "file"}
    assert "description" not in changed.data
    assert "limit" in changed.with_overrides({"vms.db.limit": "9 GHz"}).data["vms"]["db"]


def test_a_star_stands_for_the_names_that_are_there() -> None:
    changed = scenario.load(GOOD, ["vms.*.load=2", "vms.*e*.vcpus=1", "vms.db.load_steps.*.factor=3"]).data["vms"]
    assert {name: (vm["load"], vm["vcpus"]) for name, vm in changed.items()} == {
        "db": (2, 4),
        "file": (2, 1),
        "generator": (2, 1),
        "web": (2, 1),
    }
    assert [step["factor"] for step in changed["db"]["load_steps"]] == [3, 3]
    # one that comes later wins, and one with a star can be swept
    later = scenario.load(GOOD, {"vms.*.load": 2, "vms.db.load": 5})
    assert [later.data["vms"][name]["load"] for name in ("db", "web")] == [5, 2]
    two = scenario.load(GOOD, ["vms.db=null", "vms.file=null", "rules=null", "events=null"])
    swept = simulate(two, sweep={"vms.*.host": ["esx-2", None]}, duration=0.1, warmup=0, replications=1)
    hosts = [{name: vm["host"] for name, vm in point["vms"].items()} for point in swept.points]
    assert hosts == [{"generator": "esx-2", "web": "esx-2"}, {"generator": "esx-1", "web": "esx-2"}]


def test_a_host_is_taken_away_and_another_added() -> None:
    cluster = [f"hosts.{name}.cluster=prod" for name in ("esx", "kvm")]
    assert _hosts(cluster)["web"] == "kvm"
    assert _hosts([*cluster, "hosts.kvm.count=0"]) == {
        "db-1": "esx-1",
        "db-2": "esx-2",
        "generator": "esx-1",
        "web": "esx-2",
        "file": "node-1",
    }
    more = [*cluster, "hosts.kvm.count=2"]
    assert {_hosts(more)[name] for name in ("web", "generator")} == {"kvm-1", "kvm-2"}
    freed = _hosts(
        [*more, "vms.*.cluster=prod", "vms.*.host=null", "vms.db=null", "vms.file=null", "rules=null", "events=null"]
    )
    assert freed == {"generator": "esx-1", "web": "esx-2"}


def test_sweeps_keep_the_order_of_the_command_line() -> None:
    assert list(parse_sweeps(["b=1,2", "a=3"])) == ["b", "a"]


def test_exceptions_have_the_code_of_their_mistakes() -> None:
    mistake = Mistake("unknown-key", "a.b", "1", "c", "did you mean c?", "f.yaml", 3)
    one = ScenarioError.of([mistake, mistake])
    assert (type(one), one.code, one.exit_code) == (ScenarioError, "unknown-key", 2)
    several = ScenarioError.of([mistake, dataclasses.replace(mistake, code="not-yaml")])
    assert (type(several), several.code, several.exit_code) == (ScenarioError, "scenario", 2)
    assert type(ScenarioError.of([dataclasses.replace(mistake, code="not-yaml")])) is errors.YamlError
    assert str(mistake) == "unknown key `b` in a [unknown-key]\n  --> f.yaml:3\n  allowed: c\n  help: did you mean c?"


def test_every_code_of_the_tables_is_documented() -> None:
    tables = {
        name: yaml.safe_load((GOOD.parent / f"{name}.yaml").read_text()) for name in ("values", "texts", "options")
    }
    used = {row[1] for rows in tables["values"].values() for row in rows}
    used |= {case["code"] for name in ("texts", "options") for case in tables[name]}
    assert len(used) > 35
    assert used - set(errors.CODES) == set()


def test_control_characters_do_not_reach_the_terminal() -> None:
    mistake = Mistake("bad-name", "vms.\x1b[31m", "\x1b]0;x\x07", "a name", "rename", "f\x9b.yaml", 3)
    assert all(char == "\n" or char.isprintable() for char in str(mistake))


def test_the_schema_is_json_schema() -> None:
    schema = json.loads(_core.schema_json())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(schema["required"]) == {"name", "hosts"}


def test_line_numbers_through_aliases_and_flow_text() -> None:
    text = "a: &x\n  b: 1\nc: *x\nd: {e: [1,\n  2]}\n'f.g':\n  h: 1\n"
    root = yaml_file.parse(text, "t").root
    lines = {path: root.line_at(path) for path in ("a", "a.b", "c", "c.b", "d.e", "d.e.1", "f.g.h", "a.zz", "zz")}
    assert lines == {"a": 1, "a.b": 2, "c": 3, "c.b": 2, "d.e": 4, "d.e.1": 5, "f.g.h": 7, "a.zz": 1, "zz": 1}
    assert root.data() == {"a": {"b": 1}, "c": {"b": 1}, "d": {"e": [1, 2]}, "f.g": {"h": 1}}


@given(st.one_of(st.text(), st.text(alphabet="{}[]:,-&*!|>'\"%@`#?\n\t ab1.~<")))
def test_any_text_is_a_scenario_or_a_clear_error(text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario.loads(text)
    assert all(mistake.value and mistake.allowed and mistake.hint for mistake in caught.value.mistakes)
    str(caught.value).encode()


@given(st.lists(st.tuples(st.integers(0, 1500), st.sampled_from([*"{}[]:,-&*!|>'\"%@`#?\n\t ab1.~<\0é"])), max_size=6))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_edit_of_a_scenario_is_one_or_a_clear_error(edits: list[tuple[int, str]]) -> None:
    text = GOOD.read_text()
    for position, piece in edits:
        text = text[:position] + piece + text[position + 1 :]
    try:
        assert scenario.loads(text).json
    except ScenarioError as error:
        str(error).encode()


@given(st.text(max_size=30), st.sampled_from([parse_sets, parse_sweeps]))
def test_any_option_is_parsed_or_a_clear_error(text: str, parse: Any) -> None:
    try:
        parsed = parse([f"vms.db.vcpus={text}"])
        scenario.load(GOOD, {"vms.db.vcpus": parsed["vms.db.vcpus"]})
    except ScenarioError as error:
        str(error).encode()


@pytest.mark.parametrize("text", ["1,,2", "0.5..1.5", "1..x", "[1", ","])
def test_a_sweep_that_is_no_list_shows_one(text: str) -> None:
    with pytest.raises(OverrideError) as caught:
        parse_sweeps([f"vms.db.vcpus={text}"])
    (mistake,) = caught.value.mistakes
    assert (mistake.code, mistake.value) == ("bad-override", text)
    assert mistake.hint == "for example vms.db.vcpus=1,2,4 or vms.db.vcpus=1..4"


def raised() -> Iterator[tuple[str, str]]:
    """Every code that the sources raise, with its file."""
    for file in sorted((ROOT / "python" / "hypertwin").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="fail" | "Mistake"), args=[ast.Constant(value=str(code)), *_]):
                    yield code, file.name
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if "refuse" in name:
                    given = [*node.args[3:], *(each.value for each in node.keywords if each.arg == "code")]
                    texts = (str(each.value) for each in given if isinstance(each, ast.Constant))
                    yield from ((text, file.name) for text in texts if re.fullmatch("[a-z-]+", text))
                case ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant(value=str(code))):
                    yield code, file.name
                case ast.AnnAssign(target=ast.Name(id="code"), value=ast.Constant(value=str(code))):
                    yield code, file.name
    for file in sorted((ROOT / "crates" / "cluster" / "src").rglob("*.rs")):
        text = file.read_text().partition("mod tests {")[0]
        for found in re.finditer(r"Issue::new\(\s*(?:&?\[[^\]]*\]|[^,\"\[]+),\s*\"([^\"]+)\"", text):
            yield found[1], file.name


def test_every_code_that_is_raised_is_documented_and_the_other_way_round() -> None:
    found = {code: file for code, file in raised() if isinstance(code, str)}
    assert len(found) > 80
    assert {code: file for code, file in found.items() if code not in errors.CODES} == {}
    sources = [*(ROOT / "python").rglob("*.py"), *(ROOT / "crates" / "cluster" / "src").rglob("*.rs")]
    text = "".join(file.read_text() for file in sources if file.name != "errors.py")
    unused = [code for code in errors.CODES if code not in found and f'"{code}"' not in text]
    assert unused == []
    assert "\n| `unknown-key` | 2 | `ScenarioError` |" in errors.to_markdown()
