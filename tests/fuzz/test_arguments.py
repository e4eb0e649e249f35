"""Random command lines end with exit code 0, 1 or 2 and a short message, whatever is in them."""

from __future__ import annotations

import contextlib
import io
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SOAK, TINY
from tests.fuzz import samples

from hypertwin.cli import main, root
from hypertwin.runs import effort

LISTS = 500 * SOAK
LEFT_OUT = ("lab", "validate", "cache prune", "serve")
"""What measures the machine, takes minutes, removes, or goes on until it is ended."""
ANSWERED_NO = ("plan", "capacity", "diagnose", "density")
"""Commands of which exit code 1 may be an answer."""
SCENARIO = TINY.replace("duration: 4 s, warmup: 1 s", "duration: 100 ms, warmup: 0 s")
TEXTS = (
    *("", "-", "--", "0", "-1", "1", "2", "3:2", "17+3", "1e308", "nan", "inf", "9" * 400, "0.1", "100 ms", "off"),
    *("vms.db.load=2", "vms.db.load=1,2", "vms.*.vcpus=1", "a.b=", "=", "x=[", "run.seed=1..9", "vms.db=null", "..."),
    *("web", "db", "esx1", "default", "esxi-8.0", "kvm", "pool", "table", "json", "csv", "2x12", "4x16GiB", "96GiB"),
    *("p99<10", "hosts.*.usage_pct<80", "guest_cpu_pct<90", "80%", "x" * 5000, "\x1b[31m", "\udcff", "a\0b", "é" * 99),
    *("workloads.oltp.cpu.mean", "dask://", "%s%n", "../..", "~", "$HOME", "[red]", "1.5%", "7 d", "10 s", "none"),
)
FILES = ("s.yaml", "s.json", "page.html", "limits.yaml", "points.csv", "vmstat.txt", "broken", "folder", "loop", "none")
NAMED = ("out.json", "out.csv", "out.html", "s.yaml", "folder", "loop", "none/x.json", "a\0b", "\x1b.csv", "-")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(effort, "BUDGET", 1e6)
    monkeypatch.setenv("HYPERTWIN_CACHE", "off")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    (tmp_path / "s.json").write_bytes(samples.of("results")[0])
    (tmp_path / "page.html").write_bytes(samples.of("pages")[0].replace(TINY.encode(), SCENARIO.encode()))
    (tmp_path / "limits.yaml").write_text("clusters:\n  default: {failures: 0}\n")
    (tmp_path / "points.csv").write_bytes(samples.of("measurements")[0])
    (tmp_path / "vmstat.txt").write_bytes(samples.of("vmstat")[0])
    (tmp_path / "broken").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in group.commands:
        here, found = (*path, name), group.commands[name]
        if " ".join(here) in LEFT_OUT:
            continue
        if hasattr(found, "commands"):
            yield from _commands(found, here)
        else:
            yield here, found


def _line(path: tuple[str, ...], command: Any, draw: random.Random) -> list[str]:
    line = list(path)
    for each in command.params:
        is_option = each.param_type_name == "option"
        if is_option and (not each.opts or each.name in ("on", "help") or draw.random() > 0.2):
            continue
        if is_option:
            line.append(draw.choice(each.opts))
            if getattr(each, "is_flag", False):
                continue
        count = draw.choice((0, 1, 2)) if each.nargs == -1 else 1
        line.extend(_value(each, draw) for _ in range(count))
    if draw.random() < 0.1:
        line.insert(draw.randrange(len(path), len(line) + 1), draw.choice(TEXTS))
    return line


def _value(parameter: Any, draw: random.Random) -> str:
    chance = draw.random()
    choices = [str(each) for each in getattr(getattr(parameter, "type", None), "choices", ())]
    if choices and chance < 0.8:
        return draw.choice(choices)
    if parameter.name in ("out", "report", "svg", "drawing"):
        return draw.choice(NAMED)
    if chance < 0.5 and parameter.param_type_name == "argument":
        return "s.yaml"
    return draw.choice(FILES if chance < 0.75 else TEXTS)


def test_random_command_lines_end_with_an_exit_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)
    commands = list(_commands(root.group()))
    codes = {0: 0, 1: 0, 2: 0}
    for number in range(LISTS):
        path, command = commands[number % len(commands)]
        line = _line(path, command, draw)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SCENARIO.encode())))
        out, err = io.StringIO(), io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main.run(line)
        except Exception as error:
            pytest.fail(f"{line!r}: {type(error).__name__}: {error}")
        said = err.getvalue()
        assert code in codes, line
        assert ("error: " in said) is (code != 0) or (code == 1 and path[0] in ANSWERED_NO), (line, said)
        assert len(said) < 50_000, (line, len(said))
        assert not {"\x1b", "\x00", "\udcff"} & set(out.getvalue() + err.getvalue()), line
        codes[code] += 1
        (folder / "s.yaml").write_text(SCENARIO)
    assert codes[0] > LISTS / 20, codes
