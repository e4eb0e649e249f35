"""What becomes of a run when stdout, stderr or the process itself is taken away: one line, and the right exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import TINY

SHORT = TINY.replace("duration: 4 s, warmup: 1 s", "duration: 1 s, warmup: 0 s")
COMMAND = [sys.executable, "-c", "from hypertwin.cli.main import main; main()"]
SHELLS: dict[str, tuple[str, int, str]] = {
    "stdout closed": ("simulate s.yaml >&-", 1, "error: cannot write the result to stdout"),
    "stdout full": ("simulate s.yaml >/dev/full", 1, "error: cannot write the result to stdout: No space left"),
    "help on a full disk": ("simulate --help >/dev/full", 1, "error: cannot write the result to stdout: No space left"),
    "nobody reads": ("simulate s.yaml | true; exit ${PIPESTATUS[0]}", 0, ""),
    "nobody reads the help": ("simulate --help | true; exit ${PIPESTATUS[0]}", 0, ""),
    "stderr closed": ("simulate none.yaml 2>&-", 2, ""),
    "stderr full": ("simulate none.yaml 2>/dev/full", 2, ""),
    "stderr closed, done": ("simulate s.yaml --report page.html 2>&- >/dev/null", 0, ""),
    "everything closed": ("simulate s.yaml --format json --out result.json <&- >&- 2>&-", 0, ""),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SHORT)
    (tmp_path / "ht").write_text(f'#!/bin/sh\nexec {sys.executable} -c "{COMMAND[2]}" "$@"\n')
    (tmp_path / "ht").chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("case", SHELLS)
def test_a_stream_that_is_gone_costs_a_line_and_never_the_exit_code(case: str, folder: Path) -> None:
    shell, code, said = SHELLS[case]
    ended = subprocess.run(
        ["bash", "-c", f"./ht {shell}"], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == code, ended.stderr
    assert ended.stderr.count("\n") == (1 if said else 0), ended.stderr
    assert said in ended.stderr
    if "--out" in shell:
        assert (folder / "result.json").read_text().endswith("}\n")


def test_bytes_do_not_depend_on_the_locale(folder: Path) -> None:
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PYTHON"))}
    plain["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    settings: tuple[dict[str, str], ...] = (
        {"LC_ALL": "C.UTF-8"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )
    printed = [
        subprocess.run([*COMMAND, "simulate", "s.yaml"], cwd=folder, env=plain | each, capture_output=True, check=True)
        for each in settings
    ]
    assert "──" in printed[0].stdout.decode("utf-8")
    assert {each.stdout for each in printed} == {printed[0].stdout}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_no_temporary_file(number: signal.Signals, folder: Path) -> None:
    """The file is being written when the signal comes: its content waits."""
    waits = (
        "import signal, sys, time\nfrom hypertwin.show import files\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # which nohup has ignored
        "def parts(result):\n    yield 'half'\n    print('writing', file=sys.stderr, flush=True)\n    time.sleep(60)\n"
        "files.csv_parts = parts\nfrom hypertwin.cli.main import main\nmain()\n"
    )
    command = [sys.executable, "-c", waits, "simulate", "s.yaml", "--out", "result.csv"]
    before = set(folder.iterdir())
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "writing\n"
        assert len(set(folder.iterdir()) - before) == 1
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said.splitlines()[-1] == ("error: interrupted" if number == signal.SIGINT else "error: terminated")
    assert set(folder.iterdir()) == before
