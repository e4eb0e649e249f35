"""`hypertwin lab vm` boots real guests, emulated so that it works anywhere, and leaves nothing behind."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest
from tests.conftest import needs
from tests.python.show.test_page import data

KERNEL = Path(sys.prefix) / "guest" / "vmlinuz"
CPU = str(min(os.sched_getaffinity(0)))
COMMAND = [sys.executable, "-c", "from hypertwin.cli.main import main; main()", "lab", "vm", "--cpus", CPU]
COMMAND += ["--accel", "tcg"]


@pytest.fixture
def parts() -> None:
    """What guests are made of."""
    needs("qemu-system-x86_64", "busybox", KERNEL)


@pytest.mark.slow
@pytest.mark.usefixtures("parts")
def test_overcommitted_guests_as_guest_host_and_twin_see_them(tmp_path):
    command = [*COMMAND, "--guests", "2", "--seconds", "8", "--format", "json", "--out", "o", "--report", "r.html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["accelerator"] == "tcg"
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == [
        "prediction.json",
        "result.json",
        "scenario.yaml",
    ]
    assert json.loads((tmp_path / "o" / "result.json").read_text()) == result

    # the prediction was there first, and is of the scenario beside it
    predicted = json.loads((tmp_path / "o" / "prediction.json").read_text())
    started = datetime.fromisoformat(result["measurement"]["started_at"])
    assert datetime.fromisoformat(predicted["written_at"]) < started
    for name in ("scenario.yaml", "prediction.json"):
        assert (tmp_path / "o" / name).stat().st_mtime < started.timestamp() + 0.01
    text = (tmp_path / "o" / "scenario.yaml").read_bytes()
    assert hashlib.sha256(text).hexdigest() == predicted["scenario_sha256"]
    assert {each["name"]: each["twin"] for each in result["guests"]} == predicted["guests"]

    assert [each["name"] for each in result["guests"]] == ["guest-1", "guest-2"]
    for each in result["guests"]:
        told, host = each["guest"], each["host"]
        assert told["transactions"] > 10
        assert len(each["series"]) >= 3
        assert 0 <= told["steal_pct"] <= 100
        assert told["run_queue"] > 0
        assert host["run_pct"] > 5
        # two guests that want 60 % each wait for one CPU; that CPU has no more than 100 %
        assert host["wait_pct"] > 10
        assert each["twin"]["wait_pct"] > 10
        assert told["cpu_pct"] > host["run_pct"]
        assert each["story"].startswith(each["name"])
        if not result["measurement"]["disturbed"]:
            assert abs(each["error"]["throughput_pct"]) < 60, each
            assert abs(each["error"]["wait_points"]) < 30, each
    assert sum(each["host"]["run_pct"] for each in result["guests"]) < 101
    page = data((tmp_path / "r.html").read_text())
    assert (page["kind"], page["title"]) == ("guests", "Guests that share host CPUs")
    assert page["made"]["command"][:2] == ["lab", "vm"]
    assert len(page["document"]["guests"]) == 2


def children(process: int) -> list[int]:
    """Processes whose parent is `process`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = path.read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if int(parent) == process:
            found.append(int(path.parent.name))
    return found


def command_line(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.slow
@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_guest_outlives_the_command(tmp_path, number):
    if number == signal.SIGKILL:
        needs("setpriv")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    running = subprocess.Popen(
        [*COMMAND, "--guests", "1"], cwd=tmp_path, env={**os.environ, "TMPDIR": str(scratch)}, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 60
    while not (guests := [each for each in children(running.pid) if "qemu-system" in command_line(each)]):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < until
        time.sleep(0.1)
    time.sleep(0.5)
    running.send_signal(number)
    _, stderr = running.communicate(timeout=60)
    assert running.returncode == (130 if number != signal.SIGKILL else -signal.SIGKILL), stderr
    while any("qemu-system" in command_line(each) for each in guests):
        assert time.monotonic() < until
        time.sleep(0.1)
    if number != signal.SIGKILL:  # which leaves nobody to clean up
        assert list(scratch.iterdir()) == []
        assert not (tmp_path / "out" / "lab-vm" / "result.json").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--cpus", "nine"], 2, ["--cpus nine", "bad-affinity", "allowed:", "help:"]),
        (["--cpus", CPU, "--vcpus", "2"], 2, ["--vcpus 2", "vm-wider-than-host"]),
        (["--guests", "0"], 2, ["--guests"]),
        (["--accel", "xen"], 2, ["--accel", "xen"]),
        (["--seconds", "1"], 2, ["--seconds"]),
        (["--seconds", "nan"], 2, ["--seconds"]),
        (["--think-ms", "nan"], 2, ["--think-ms"]),
        (["--report", "nowhere/r.html"], 2, ["nowhere/r.html"]),
    ],
)
def test_bad_options_are_one_clear_error(cli, arguments, code, words):
    done = cli("lab", "vm", *arguments)
    assert done.returncode == code, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert not done.stdout


def test_without_qemu_the_message_says_what_to_install(cli, tmp_path):
    done = cli("lab", "vm", "--cpus", CPU, env={**os.environ, "PATH": str(tmp_path)}, exits=1)
    assert "qemu-system-x86_64) is not installed" in done.stderr
    assert "apt install qemu-system-x86 busybox-static" in done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("parts")
def test_a_file_that_is_no_kernel_and_a_folder_that_cannot_be_made(cli, tmp_path):
    (tmp_path / "file").write_text("no kernel")
    done = cli("lab", "vm", "--cpus", CPU, "--kernel", "file", exits=2)
    assert "--kernel file: not a Linux kernel" in done.stderr
    done = cli("lab", "vm", "--cpus", CPU, "--out", "file", exits=2)
    assert "cannot write into file" in done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("parts")
def test_a_kernel_that_does_not_boot_ends_in_an_error_and_not_in_a_guest_left_behind(cli, tmp_path):
    (tmp_path / "kernel").write_bytes(b"\0" * 0x202 + b"HdrS" + b"\0" * 4096)
    done = cli("lab", "vm", "--cpus", CPU, "--accel", "tcg", "--guests", "1", "--kernel", "kernel", exits=1)
    assert "guest-1" in done.stderr
