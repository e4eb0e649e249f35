"""Malformed scenarios: each gives one clear error, and exit 2. The cases are tables in tests/malformed."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from hypertwin import scenario
from hypertwin.errors import MAX_ALLOWED, ScenarioError
from hypertwin.files import yaml_file

TABLES = Path(__file__).parents[2] / "malformed"
GOOD = TABLES / "good.yaml"


class Raw(str):
    """YAML text that stands for itself."""


def _table(name: str) -> Any:
    return yaml.safe_load((TABLES / f"{name}.yaml").read_text())


def _good() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(GOOD.read_text())
    return data


def _put(data: Any, path: str, raw: str) -> None:
    *parents, last = path.split(".")
    for key in parents:
        data = data[key]
    data[last] = Raw(raw)


def _take(data: Any, path: str) -> Any:
    *parents, last = path.split(".")
    for key in parents:
        data = data[key]
    return data.pop(last)


def _emit(data: dict[str, Any], indent: str = "") -> str:
    lines = []
    for key, value in data.items():
        if isinstance(value, dict) and value:
            lines.append(f"{indent}{key}:\n{_emit(value, indent + '  ')}")
        else:
            lines.append(f"{indent}{key}: {value if isinstance(value, Raw) else json.dumps(value)}\n")
    return "".join(lines)


def _values() -> list[Any]:
    cases = []
    for path, rows in _table("values").items():
        for raw, code, *other in rows:
            paths = other[0] if other else path
            expected = [(code, each) for each in ([paths] if isinstance(paths, str) else paths)]
            cases.append(pytest.param(path, raw, expected, id=f"{path}={raw[:30]}"))
    return cases


def _refused(text: str | bytes, tmp_path: Path) -> ScenarioError:
    file = tmp_path / "scenario.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ScenarioError) as caught:
        scenario.load(file)
    _is_clear(caught.value, str(file))
    return caught.value


def _is_clear(error: ScenarioError, location: str) -> None:
    text = str(error)
    assert error.exit_code == 2
    assert "Traceback" not in text
    assert len(text) < 20_000
    for mistake in error.mistakes:
        assert mistake.location.startswith(location)
        assert all(part.strip() for part in (mistake.code, mistake.value, mistake.allowed, mistake.hint))
        key = mistake.code in ("unknown-key", "missing-key")  # which are named, with what they are in
        told = [mistake.code, mistake.hint, *([] if key else [mistake.value])]
        told += [mistake.allowed] if len(mistake.allowed) <= MAX_ALLOWED else []
        assert all(part.split("\n")[0][:40] in text for part in told)
        assert mistake.path in text or all(part in text for part in mistake.path.rpartition(".")[::2])
        assert str(mistake).count("\n") <= 3
        assert len(mistake.value) < 200


def _found(error: ScenarioError) -> list[tuple[str, str]]:
    return sorted((mistake.code, mistake.path) for mistake in error.mistakes)


def test_the_good_scenario_is_good() -> None:
    assert scenario.load(GOOD).name == "good"
    assert scenario.loads(_emit(_good())).json == scenario.load(GOOD).json


@pytest.mark.parametrize(("path", "name", "offered"), _table("keys")["products"])
def test_the_name_of_a_product_is_known(path: str, name: str, offered: str, tmp_path: Path) -> None:
    data = _good()
    _put(data, path, json.dumps(name))
    error = _refused(_emit(data), tmp_path)
    assert _found(error) == [("unknown-value", path)]
    assert offered in error.mistakes[0].hint


def test_there_are_many_cases() -> None:
    keys = _table("keys")
    count = len(_values()) + sum(len(rows) for rows in keys.values()) + len(_table("texts")) + len(_table("options"))
    assert count >= 300


@pytest.mark.parametrize(("path", "raw", "expected"), _values())
def test_value(path: str, raw: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    data = _good()
    _put(data, path, raw)
    text = _emit(data)
    error = _refused(text, tmp_path)
    assert _found(error) == sorted(expected)
    for mistake in error.mistakes:
        assert mistake.line is not None
        last = [key for key in mistake.path.split(".") if not key.isdigit()][-1]
        line = text.splitlines()[mistake.line - 1]
        # the line of the value itself, or of what lacks it, or of the flow text that holds it
        assert last in line or mistake.code == "missing-key" or raw in line


@pytest.mark.parametrize(("path", "new", "hint"), _table("keys")["renamed"])
def test_misspelt_key(path: str, new: str, hint: str, tmp_path: Path) -> None:
    data = _good()
    parent = path.rpartition(".")[0]
    renamed = f"{parent}.{new}" if parent else new
    _put(data, renamed, json.dumps(_take(data, path)))
    error = _refused(_emit(data), tmp_path)
    # with a whole section gone, what refers to it is not blamed a second time
    assert _found(error) == [("unknown-key", renamed)]
    assert f"did you mean {hint}?" in error.mistakes[0].hint


@pytest.mark.parametrize("path", [row[0] for row in _table("keys")["removed"]])
def test_missing_key(path: str, tmp_path: Path) -> None:
    data = _good()
    _take(data, path)
    error = _refused(_emit(data), tmp_path)
    assert _found(error) == [("missing-key", path)]


@pytest.mark.parametrize(("path", "raw", "code", "hint"), _table("keys")["added"])
def test_added_key(path: str, raw: str, code: str | list[str], hint: str, tmp_path: Path) -> None:
    data = _good()
    _put(data, path, raw)
    error = _refused(_emit(data), tmp_path)
    assert {mistake.code for mistake in error.mistakes} == ({code} if isinstance(code, str) else set(code))
    assert all(hint in mistake.hint for mistake in error.mistakes)


def _content(case: dict[str, Any]) -> bytes:
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    if "parts" in case:
        return "".join(piece * times for piece, times in case["parts"]).encode()
    content: str = case["text"]
    return content.encode()


@pytest.mark.parametrize("case", _table("texts"), ids=lambda case: case["name"])
def test_text(case: dict[str, Any], tmp_path: Path) -> None:
    error = _refused(_content(case), tmp_path)
    assert _found(error)[0] == (case["code"], case.get("path", error.mistakes[0].path))
    assert len(error.mistakes) == 1
    if "line" in case:
        assert error.mistakes[0].line == case["line"]
    assert case.get("hint", "") in error.mistakes[0].hint


def _command(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    from hypertwin.cli import main

    monkeypatch.setattr(sys, "argv", ["hypertwin", *arguments])
    with pytest.raises(SystemExit) as caught:
        main.main()
    output = capsys.readouterr()
    assert not output.out
    code = caught.value.code
    assert isinstance(code, int)
    return code, output.err


@pytest.mark.parametrize("case", _table("options"), ids=lambda case: " ".join(case["args"]) or "nothing")
def test_option(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = _command(["simulate", str(GOOD), *case["args"]], monkeypatch, capsys)
    assert code == 2
    assert "Traceback" not in text
    for expected, path in [(case["code"], case.get("path", "")), *case.get("also", [])]:
        assert f"[{expected}]" in text
        assert path in text
    assert text.count("  help: ") == 1 + len(case.get("also", []))
    if case["args"][0] in {"--set", "--sweep"} and "also" not in case and case["code"] != "unordered-steps":
        assert "--s" in text.split("[")[0] + text


@pytest.mark.parametrize("case", _table("texts")[::6], ids=lambda case: case["name"])
def test_command_line(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_bytes(_content(case))
    code, text = _command(["simulate", str(file)], monkeypatch, capsys)
    assert code == 2
    assert text.startswith("error: ")
    assert f"[{case['code']}]" in text
    assert str(file) in text


@pytest.mark.parametrize(
    "content", [b"name: [", b"\x00\x01", b"[" * 100_000, GOOD.read_bytes().replace(b"vcpus: 4", b"vcpus: 48")]
)
def test_process(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_bytes(content)
    code = "import sys; from hypertwin.cli.main import main; sys.argv[0] = 'hypertwin'; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "simulate", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert not done.stdout
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "near.yaml").write_text("x: 1")
    (tmp_path / "large.yaml").write_bytes(b" " * (yaml_file.MAX_BYTES + 1))
    for path, code in [
        (tmp_path / "missing.yaml", "file-not-found"),
        (tmp_path, "not-a-file"),
        (tmp_path / "near.yaml" / "below", "unreadable-file"),
        (tmp_path / ("x" * 300), "unreadable-file"),
        (Path("a\0b"), "unreadable-file"),
        (Path("/dev/zero"), "not-a-file"),
        (tmp_path / "large.yaml", "file-too-large"),
    ]:
        with pytest.raises(ScenarioError) as caught:
            scenario.load(path)
        assert [mistake.code for mistake in caught.value.mistakes] == [code]
    with pytest.raises(ScenarioError, match=r"near\.yaml"):
        scenario.load(tmp_path / "missing.yaml")


def test_every_mistake_is_listed_in_order_of_line(tmp_path: Path) -> None:
    data = _good()
    changes = {
        "run.duration": ("60", "bad-unit"),
        "hosts.esx.hypervisor": ("esxi-6.1", "unknown-value"),
        "hosts.kvm.clock": ("3 GB", "bad-unit"),
        "vms.db.workload": ("oltpp", "unknown-reference"),
        "vms.web.vcpus": ("769", "out-of-range"),
        "workloads.pages.cpu.mean": ("-1 s", "out-of-range"),
    }
    for path, (raw, _) in changes.items():
        _put(data, path, raw)
    data["vms"]["db"]["vcpu"] = 3
    error = _refused(_emit(data), tmp_path)
    assert type(error) is ScenarioError
    found = {(mistake.path, mistake.code) for mistake in error.mistakes}
    assert found == {(path, code) for path, (_, code) in changes.items()} | {("vms.db.vcpu", "unknown-key")}
    lines = [mistake.line or 0 for mistake in error.mistakes]
    assert lines == sorted(lines)
    assert str(error).startswith("7 errors\n")


def test_duplicate_keys_are_listed_with_the_rest(tmp_path: Path) -> None:
    text = GOOD.read_text().replace("    vcpus: 4\n", "    vcpus: 4\n    vcpus: 5\n    memory: 7\n")
    error = _refused(text, tmp_path)
    assert sorted(mistake.code for mistake in error.mistakes) == ["bad-unit", "duplicate-key", "duplicate-key"]


def test_mutations_do_not_touch_the_good_scenario() -> None:
    data = _good()
    before = copy.deepcopy(data)
    _put(copy.deepcopy(data), "vms.db.vcpus", "0")
    assert data == before
