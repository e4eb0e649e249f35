"""What a command reads may be no file, endless, deep, of wrong types, or full of what a terminal obeys."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import TINY

from hypertwin.cli import main
from hypertwin.errors import HypertwinError, Mistake, ScenarioError, printable, printable_json
from hypertwin.files import reading
from hypertwin.runs import effort
from hypertwin.runs import simulation as run

SHORT = TINY.replace("duration: 4 s, warmup: 1 s", "duration: 1 s, warmup: 0 s")
ESCAPES = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
Call = Callable[..., tuple[int, str, str]]


class _Stream(io.StringIO):
    terminal = False

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run a command line in this process, in a folder with a scenario: exit code, stdout, and all else it says."""
    (tmp_path / "s.yaml").write_text(SHORT)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        out, err = _Stream(), _Stream()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main.run(arguments)
        return code, out.getvalue(), err.getvalue()

    return run


# what is no file

READERS: dict[str, tuple[str, ...]] = {
    "scenario": ("simulate", "FILE"),
    "calibration": ("simulate", "s.yaml", "--calibration", "FILE"),
    "limits": ("capacity", "s.yaml", "--limits", "FILE"),
    "measured points": ("calibrate", "s.yaml", "FILE", "--free", "workloads.oltp.cpu.mean"),
    "machine": ("lab", "cpu", "--machine", "FILE"),
    "experiments": ("lab", "cpu", "--experiments", "FILE"),
    "result": ("compare", "FILE", "FILE"),
    "page": ("rerun", "FILE"),
    "plan": ("plan", "balance", "FILE"),
    "telemetry": ("telemetry", "FILE"),
    "diagnosed telemetry": ("diagnose", "FILE"),
    "inventory": ("import", "FILE"),
}


def _nothing(folder: Path) -> Iterator[str]:
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    yield from ("fifo", "folder", "loop", "/dev/zero", "/dev/full", "/dev/null", "/proc/self/mem", "none", "a\0b")


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused_at_once(
    reader: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PATIENCE_S", 0.05)
    for name in _nothing(tmp_path):
        code, out, said = call(*(name if each == "FILE" else each for each in READERS[reader]))
        assert (code, out) == (2, ""), (name, said)
        assert said.startswith("error: ") and len(said) < 2000, said
        assert not ESCAPES.search(said)


def test_a_pipe_that_ends_is_a_scenario(tmp_path: Path, call: Call) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, SHORT.encode())
    os.close(theirs)
    code, out, said = call("simulate", f"/dev/fd/{ours}")
    os.close(ours)
    assert code == 0 and "tiny: 2 replications" in out, said


def test_a_pipe_that_goes_on_for_ever_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PATIENCE_S", 0.05)
    ours, theirs = os.pipe()
    os.write(theirs, b"x")
    with pytest.raises(OSError, match="does not end"):
        reading.first_bytes(Path(f"/dev/fd/{ours}"), 10)
    os.close(ours)
    os.close(theirs)


# a machine.json

MACHINE: dict[str, Any] = {
    "processor": {"model": "x", "clock_hz": None, "virtual": True},
    "topology": {"cpus": [{"cpu": n, "core": n, "socket": 0, "node": 0} for n in range(2)], "usable": [0, 1]},
    "kernel": {"release": "6", "hz": 250, "base_slice_ns": 3_000_000},
    "spin": {"units_per_s": 1e9},
    "smt": None,
    "timers": {"typical_ns": 60_000},
    "context_switch_ns": {"median": 1500},
}
"""As `lab profile` writes it where nobody knows the clock, as far as it is read."""


def test_a_machine_without_a_known_clock_has_a_twin(tmp_path: Path) -> None:
    from hypertwin import scenario
    from hypertwin.lab import cpu, profile

    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    machine = profile.read(tmp_path / "machine.json")
    assert machine == MACHINE
    scenario.loads(cpu.scenario_of(cpu.read()[0], machine))


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _leaves(each, (*path, key))


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copied = value.copy()
    copied[path[0]] = _with(value[path[0]], path[1:], new)
    return copied


def test_a_machine_of_wrong_types_is_refused(tmp_path: Path) -> None:
    from hypertwin.lab import profile

    file = tmp_path / "machine.json"
    for path in _leaves(MACHINE):
        for new in ([], {"a": 1}, "text" if path[-1:] not in (("model",), ("release",)) else 5, -1, 1e300, [[[]]] * 9):
            file.write_text(json.dumps(_with(MACHINE, path, new)))
            with pytest.raises(profile.BadMachineError) as caught:
                profile.read(file)
            assert len(str(caught.value)) < 500
    for path in (path for path in _leaves(MACHINE) if path and isinstance(path[-1], str)):
        lacks = json.loads(json.dumps(MACHINE))
        reduce(lambda here, key: here[key], path[:-1], lacks).pop(path[-1])
        file.write_text(json.dumps(lacks))
        with pytest.raises(profile.BadMachineError):
            profile.read(file)
    for text in ("[" * 200_000, "{", "\xff", '{"a": 1' + "0" * 5000 + "}", "NaN", " " * (profile.MOST_FILE_BYTES + 1)):
        file.write_bytes(text.encode("latin-1"))
        with pytest.raises(profile.BadMachineError):
            profile.read(file)


# messages


def test_a_message_is_short_whatever_there_is_to_say(tmp_path: Path, call: Call) -> None:
    (tmp_path / "twice.yaml").write_text("name: x\nvms:\n" + "  a: {}\n" * 100_000)
    (tmp_path / "unknown.yaml").write_text(SHORT + "".join(f"k{n}: 1\n" for n in range(5_000)))
    longest = 60_000
    dots = ".".join(["a"] * longest)
    for arguments in (
        ("simulate", "twice.yaml"),
        ("simulate", "s.yaml", "--calibration", "twice.yaml"),
        ("simulate", "unknown.yaml"),
        ("simulate", "s.yaml", "--set", f"{dots}=1"),
        ("simulate", "s.yaml", "--set", f"vms.*.{dots}=1"),
        ("simulate", "s.yaml", "--sweep", f"vms.db.{dots}=1,2"),
        ("simulate", "s.yaml", "--set", "vms.db.load=" + "[" * longest),
        ("simulate", "s.yaml", "--set", "vms.db.workload=" + "w" * longest),
        ("simulate", "s.yaml", "--format", "x" * longest),
        ("simulate", "s.yaml", "--" + "x" * longest),
    ):
        code, _, said = call(*arguments)
        assert code == 2 and len(said) < 40_000, len(said)
    many = ScenarioError.of([Mistake("unknown-key", "p" * 9999, "v" * 9999, "a" * 9999, "h" * 9999)] * 1000)
    assert "900 more" in str(many) and len(str(many)) < 1_000_000


@pytest.mark.parametrize("option", ["--set", "--sweep"])
@pytest.mark.parametrize("text", ["vms.db.\udcff=2", "vms.db.load=\udcff", "vms.db.workload=[\udcff]"])
def test_what_is_no_utf_8_is_told(option: str, text: str, call: Call) -> None:
    code, _, said = call("simulate", "s.yaml", option, text)
    assert code == 2 and "not-utf-8" in said and "UTF-8" in said


def test_a_link_to_itself_is_no_output(tmp_path: Path, call: Call) -> None:
    for name in ("loop", "loop.html"):
        (tmp_path / name).symlink_to(name)
    for arguments in (("--out", "loop"), ("--report", "loop.html")):
        code, _, said = call("simulate", "s.yaml", *arguments)
        assert code == 2 and "Too many levels of symbolic links" in said


# what a terminal obeys

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u2066"


def test_text_of_files_is_raw_nowhere(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = json.dumps(EVIL)
    text = SHORT.replace("name: tiny", f"name: tiny\ndescription: {evil}\ncalibrated_on: {evil}")
    text = text.replace("cpu: {mean: 4 ms}", f"cpu: {{mean: 4 ms}}\n    unit: {evil}")
    (tmp_path / "evil.yaml").write_text(text)
    printed = [call("simulate", "evil.yaml", "--format", form) for form in ("table", "json", "csv")]
    printed.append(call("simulate", "evil.yaml", "--report", "evil.html", "--out", "evil.csv"))
    monkeypatch.setattr(_Stream, "terminal", True)
    printed.append(call("diagnose", "--cluster", "evil.yaml", "--no-what-if"))
    for code, out, said in printed[:4]:
        assert code == 0, said
        assert not ESCAPES.search(out + said), out + said
    styled = re.compile("\x1b\\[[0-9;]*m|\x1b\\[\\?25[lh]|\x1b\\[1A|\x1b\\[2K|\r")  # what rich writes
    assert not ESCAPES.search(styled.sub("", "".join(printed[4][1:])))
    assert json.loads(printed[1][1])["points"][0]["calibration"] == EVIL  # JSON keeps what it means
    assert not ESCAPES.search((tmp_path / "evil.csv").read_text())
    assert not ESCAPES.search(re.sub("<script.*?</script>", "", (tmp_path / "evil.html").read_text(), flags=re.DOTALL))


def test_a_file_named_like_an_escape_is_named_printably(tmp_path: Path, call: Call) -> None:
    for arguments in (("simulate", f"{EVIL}.yaml"), ("simulate", "s.yaml", "--out", f"{EVIL}.json"), ("size", EVIL)):
        assert not ESCAPES.search("".join(call(*arguments)[1:]))


def test_printable_text_is_what_it_was() -> None:
    for text in ("", "plain", "Grüße, 東京", "a\u00a0b\u2009c", "two\nlines"):
        assert printable(text) is text or printable(text) == text
        assert json.loads(printable_json(json.dumps(text, ensure_ascii=False))) == text
    assert printable("\x1b\x9b\u202e\U000e0041\t\udcff") == "\\x1b\\x9b\\u202e\\U000e0041\\x09\\udcff"
    hostile = EVIL + "\U000e0041\x7f\udcff"
    written = printable_json(json.dumps(hostile, ensure_ascii=False))
    assert not ESCAPES.search(written) and json.loads(written) == hostile
    written.encode()


# work

ENDLESS = "workloads.oltp={arrivals: {closed: {population: 8}}, cpu: {mean: 1 ns}}"


def test_a_run_of_years_says_so_first(call: Call) -> None:
    code, out, said = call("simulate", "s.yaml", "--set", ENDLESS, "--duration", "30 d")
    assert (code, out) == (2, "")
    assert re.search(r"about \S+e\+1[67] events, \S+ years", said) and "--yes" in said and "vms.db" in said


def test_a_run_that_ends_by_itself_is_not_begun_if_its_first_pilot_takes_years(call: Call) -> None:
    many = ("--set", "vms.db.count=200", "--set", "vms.db.memory=1 MiB")
    code, out, said = call("simulate", "s.yaml", "--set", ENDLESS, "--duration", "auto", "--warmup", "auto", *many)
    assert (code, out) == (2, "")
    assert "allowed: 2e+10 events" in said and "vms.db" in said


def test_yes_runs_it_all_the_same(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "BUDGET", 1000.0)
    assert call("simulate", "s.yaml")[0] == 2
    code, _, said = call("simulate", "s.yaml", "--yes")
    assert (code, said) == (0, "")


def test_the_api_asks_too(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SHORT)
    with pytest.raises(effort.TooLongError) as caught:
        run.simulate(
            tmp_path / "s.yaml",
            overrides={
                "workloads.oltp": {"arrivals": {"closed": {"population": 8}}, "cpu": {"mean": "1 ns"}},
                "run.duration": "30 d",
                "run.sample_interval": "1 h",
            },
        )
    assert isinstance(caught.value, HypertwinError) and caught.value.exit_code == 2
    with pytest.raises(effort.TooLongError):
        run.samples(tmp_path / "s.yaml", most_events=1000)
    with pytest.raises(effort.TooLongError, match="100 points"):  # of which the last takes longest
        run.simulate(tmp_path / "s.yaml", sweep={"vms.db.count": list(range(1, 101))}, most_events=500_000)
    assert run.simulate(tmp_path / "s.yaml", replications=1, most_events=None).points


@pytest.mark.parametrize(
    ("change", "more"),
    [
        ({"run.duration": "10 s"}, (9, 11)),
        ({"run.replications": 20}, (9, 11)),
        ({"vms.db.load": 2, "vms.web.load": 1}, (1.7, 2.1)),
        ({"workloads.oltp.arrivals": {"open": {"rate": "100000 /s"}}}, (100, 1000)),
        ({"workloads.oltp.bursts": 10}, (4, 10)),
        ({"workloads.oltp.ios": 10}, (8, 20)),
        ({"workloads.oltp.arrivals.closed.think.mean": "0 s"}, (2, 6)),
        ({"vms.web.count": 20}, (3, 10)),
        ({"vms.db.load_steps": [{"at": "0.5 s", "factor": 10}]}, (1.5, 10)),
    ],
)
def test_more_work_is_reckoned_as_more(change: dict[str, Any], more: tuple[float, float]) -> None:
    from hypertwin import scenario

    base, changed = (effort.of(scenario.loads(SHORT, each)).events for each in ({}, change))
    assert more[0] <= changed / base <= more[1], changed / base


def test_no_example_and_no_study_takes_more_than_it_may() -> None:
    from tests.conftest import ROOT

    from hypertwin import scenario

    found = [*ROOT.glob("scenarios/*.yaml"), *ROOT.glob("studies/*/scenario.yaml")]
    assert len(found) > 10
    for path in found:
        assert effort.of(scenario.load(path)).events < effort.BUDGET / 4, path
