"""A campaign on three network namespaces with sshd, databases and a CPU quota: it measures, and leaves nothing.

`make rig` runs the campaigns of docs/guides/benchmark.md on the same rig, alone, and prints how good they were.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.conftest import lacks, only_where
from tests.rig.rig import PROGRAMS, Rig, trouble

pytestmark = pytest.mark.slow

PLANS = Path(__file__).parent / "plans"


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """Three of the rig's VMs."""
    only_where(os.environ.get("RIG"), "campaigns on the rig run by `RIG=1 pytest -m slow tests/rig`, alone")
    reason = trouble()
    if any(program in reason for program in PROGRAMS) or "PostgreSQL" in reason:
        lacks(reason)
    only_where(not reason, f"no rig here: {reason}")
    with Path(tempfile.gettempdir(), "htrig.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # its names are the same for all workers
        with tempfile.TemporaryDirectory(prefix="htrig-") as place:  # folders of pytest are closed to PostgreSQL's user
            Path(place).chmod(0o755)
            with Rig(Path(place, "rig")) as made:
                yield made


@pytest.fixture
def plan(rig: Rig, tmp_path: Path) -> Iterator[Path]:
    """Short plans on this rig. Nothing is left on its VMs afterwards: files, processes, databases."""
    for kind in ("sysbench", "pgbench", "fio"):
        text = (PLANS / f"{kind}.yaml").read_text().replace("/tmp/hypertwin-rig", str(rig.folder))
        made = yaml.safe_load(text)
        made |= {"repeats": 1, "warmup": "1 s", "duration": "3 s", "pause": "0 s"}
        made["steps"] = {"vms": [1, 3], **{key: value[:1] for key, value in made["steps"].items() if key != "vms"}}
        del made["calibrate"]["figures"]  # one step has too few of them
        made["calibrate"]["step"] = {key: value[0] for key, value in made["steps"].items()}
        (tmp_path / f"{kind}.yaml").write_text(yaml.safe_dump(made))
    for name in ("scenario", "scenario-fio"):
        (tmp_path / f"{name}.yaml").write_text((PLANS / f"{name}.yaml").read_text())
    before = state(rig)
    yield tmp_path
    assert state(rig) == before


def state(rig: Rig) -> dict[str, object]:
    """Return files, programs and databases of all VMs."""
    found: dict[str, object] = {}
    for each in rig.machines:
        ask = (
            f"ls -A {each.folder}/work; mariadb --no-defaults -N -S {each.folder}/mysql.sock -e 'SHOW DATABASES';"
            "psql -X -q -A -t -h 127.0.0.1 -U postgres -d postgres -c 'SELECT datname FROM pg_database ORDER BY 1'"
        )
        words = ["ssh", "-F", str(rig.folder / "ssh_config"), f"root@{each.address}", ask]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        programs = sorted(program(pid) for pid in rig.pids(each))
        found[each.name] = (
            done.stdout,
            [name for name in programs if name in ("sysbench", "pgbench", "fio", "timeout")],
        )
    return found


def program(pid: int) -> str:
    """Return the name of a process, or an empty text if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


@pytest.mark.parametrize("kind", ["sysbench", "pgbench", "fio"])
def test_a_campaign_of_each_load_is_predicted_and_measured(cli, plan: Path, kind: str, record_property):
    cli("benchmark", "run", f"{kind}.yaml", "-o", kind, exits=0)
    found = json.loads((plan / kind / "results.json").read_text())
    assert found["blind"]
    assert [step["calibration"] for step in found["steps"]] == [True, False]
    calibration, other = found["steps"]
    assert all(each["predicted"] is not None for each in other["figures"])
    key = "iops" if kind == "fio" else "throughput_per_s"
    assert all(run["figures"][key] > 0 for step in found["steps"] for run in step["runs"])
    assert set(other["runs"][0]["vms"]) == {"vm1", "vm2", "vm3"}
    skew = other["runs"][0]["skew_ms"]
    assert skew is not None
    assert {view["kind"] for view in calibration["runs"][0]["views"]} == {"guest", "host"}
    assert any(view["throttled_pct"] is not None for view in calibration["runs"][0]["views"])
    for each in other["figures"]:
        if each["error_pct"] is not None:
            record_property(f"{kind}, {each['metric']}", f"{each['error_pct']:+.0f} %")
    record_property(f"{kind}, skew of starts", f"{skew:.0f} ms")


def test_a_killed_campaign_goes_on_and_leaves_nothing(cli, plan: Path):
    words = [sys.executable, "-m", "hypertwin", "-q", "benchmark", "run", "sysbench.yaml", "-o", "run"]
    process = subprocess.Popen(words, cwd=plan, start_new_session=True)
    first = plan / "run/steps/vms-1-threads-1/repeat-1/run.json"
    second = plan / "run/steps/vms-3-threads-1/repeat-1"
    until = time.monotonic() + 90
    while not second.exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = first.stat().st_mtime_ns
    cli("benchmark", "resume", "run", exits=0)
    assert first.stat().st_mtime_ns == kept


def test_a_changed_host_key_is_never_accepted(cli, rig: Rig, plan: Path):
    known = rig.folder / "known_hosts"
    text = known.read_text()
    lines = text.splitlines()
    lines[1] = f"{lines[1].split()[0]} {lines[0].split(maxsplit=1)[1]}"
    known.write_text("\n".join(lines) + "\n")
    try:
        done = cli("benchmark", "check", "sysbench.yaml", exits=1)
        assert "no connection to 10.77.0.2" in done.stdout.replace("\n", " ")
    finally:
        known.write_text(text)
