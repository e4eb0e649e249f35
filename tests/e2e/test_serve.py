"""`hypertwin serve` when it is killed, and when tabs are closed: nothing finished is lost, nothing goes on unseen."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import TINY
from tests.python.serve.served import Served, served
from tests.python.serve.test_runs import LONG, start

from hypertwin.serve import runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    (made / "tiny.yaml").write_text(TINY)
    (made / "long.yaml").write_text(LONG)
    return made


def until(holds: Callable[[], Any], seconds: float = 20) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, "it does not happen"
        time.sleep(0.05)


def running(server: Served) -> list[dict[str, Any]]:
    return [each for each in server.send("GET", "/api/runs").json if each["status"] == "running"]


def with_state(state: Path) -> list[int]:
    """Processes whose folder is in the state folder."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdecimal() and (each / "cwd").readlink().is_relative_to(state):
                found.append(int(each.name))
        except OSError:
            continue
    return found


def test_a_killed_server_loses_no_finished_run_and_leaves_no_process(folder: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with served(folder, "--runs", 1, state=state) as server:
        server.enter()
        done = server.run(start(server)["id"])
        page = server.send("GET", f"/runs/{done['id']}/page").body
        cut, waiting = start(server, file="long.yaml"), start(server)
        until(lambda: running(server))
        until(lambda: with_state(state))
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        until(lambda: not with_state(state), 5)
    with served(folder, state=state) as server:
        server.enter()
        found = {each["id"]: each for each in server.send("GET", "/api/runs").json}
        assert {name: each["status"] for name, each in found.items()} == {
            done["id"]: "done",
            cut["id"]: "interrupted",
            waiting["id"]: "interrupted",
        }
        assert server.send("GET", f"/runs/{done['id']}/page").body == page
        assert server.send("DELETE", f"/api/runs/{cut['id']}").status == 204


def test_a_process_that_outlived_its_server_is_ended(folder: Path, tmp_path: Path) -> None:
    orphan = subprocess.Popen(["sleep", "60"], start_new_session=True)
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        for number, process, ticks in ((1, orphan, runs._started(orphan.pid)), (2, other, "1")):
            record = tmp_path / "state" / "runs" / f"20260101-000000-0000000{number}"
            record.mkdir(parents=True)
            run = runs.Run(record.name, ["simulate"], "tiny.yaml", {}, 0.0, "running", pid=process.pid)
            run.pid_started = ticks
            (record / "run.json").write_text(json.dumps(vars(run)))
        (tmp_path / "state" / "runs" / "junk").mkdir()
        with served(folder, state=tmp_path / "state") as server:
            server.enter()
            assert [each["status"] for each in server.send("GET", "/api/runs").json] == ["interrupted"] * 2
            assert orphan.wait(5) == -signal.SIGKILL
            assert other.poll() is None, "another process of this number"
    finally:
        for process in (orphan, other):
            process.kill()
            process.wait()


def test_a_stopped_server_ends_its_runs(folder: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with served(folder, state=state) as server:
        server.enter()
        cut = start(server, file="long.yaml")
        until(lambda: with_state(state))
    assert not with_state(state)
    assert json.loads((state / "runs" / cut["id"] / "run.json").read_text())["status"] == "interrupted"


def test_a_closed_tab_cancels_what_it_started(folder: Path, tmp_path: Path) -> None:
    with served(folder, "--runs", 4, state=tmp_path / "state") as server:
        server.enter()
        with contextlib.ExitStack() as tabs, server.tab("two") as second:
            assert tabs.enter_context(server.tab("one")).readline()
            assert second.readline()
            own = start(server, file="long.yaml", keep=False, tab="one")
            kept = start(server, file="long.yaml", keep=False, tab="one")
            assert server.send("PATCH", f"/api/runs/{kept['id']}", {"keep": True}).json["is_kept"]
            until(lambda: len(running(server)) == 2)
            other = start(server, file="long.yaml", keep=False, tab="two")
            tabs.close()
            time.sleep(1)
            with server.tab("one") as again:  # a reload: the first connection ends, another one begins
                assert again.readline()
                time.sleep(runs.GRACE_S + 1)
                assert len(running(server)) == 3
            assert server.run(own["id"], seconds=runs.GRACE_S + 10)["status"] == "cancelled"
            assert {each["id"] for each in running(server)} == {kept["id"], other["id"]}
