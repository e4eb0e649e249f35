"""Commands that a browser asks for: what is offered, what a scenario can reach, imports, and live simulations."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import TINY
from tests.python.ingest.kvm import test_proxmox
from tests.python.ingest.vmware import rvtools_files
from tests.python.serve.served import Served, served

import hypertwin
from hypertwin import scenario
from hypertwin.cli import offered
from hypertwin.errors import FileError
from hypertwin.serve import files, imports, launch, runs
from hypertwin.serve.refusal import RefusedError
from hypertwin.serve.workers import Workers

FIO = "[job]\nrw=randread\nbs=8k\niodepth=4\nioengine=libaio\ndirect=1\n"
LONG = TINY.replace("duration: 4 s", "duration: 80000 s").replace("sample_interval: 1 s", "sample_interval: 1000 s")
BUSY = LONG.replace("population: 8", "population: 4000").replace("{mean: 4 ms}", "{mean: 1 us}")


def naming(name: str) -> str:
    """A scenario with a fio job file."""
    return TINY.replace("  oltp:\n    arrivals", f"  disk: {{fio: {json.dumps(name)}}}\n  oltp:\n    arrivals")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("served")
    (made / "tiny.yaml").write_text(TINY)
    (made / "jobs").mkdir()
    (made / "jobs" / "typing.py").write_text(FIO)
    (made / "typing.py").write_text(FIO)  # no Python: a process that imports it fails
    (made.parent / "outside.fio").write_text(FIO)
    (made / "link.fio").symlink_to("../outside.fio")
    (made / ".aws").mkdir()
    (made / ".aws" / "credentials").write_text(FIO)
    (made / "aws.fio").symlink_to(".aws/credentials")
    return made


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(folder, state=tmp_path_factory.mktemp("state")) as found:
        found.enter()
        yield found


def start(server: Served, command: str = "simulate", status: int = 201, **more: Any) -> dict[str, Any]:
    answer = server.send("POST", "/api/runs", {"command": command, "file": "tiny.yaml", "keep": True, **more})
    assert answer.status == status, answer.body
    found: dict[str, Any] = answer.json
    return found


def test_a_run_has_a_page_a_result_and_the_hash_of_its_input(server: Served, folder: Path) -> None:
    run = server.run(start(server, options={"--set": ["vms.db.load=2"], "--sweep": ["vms.web.load=1,2"]})["id"])
    assert run["status"] == "done", run
    assert run["exit_code"] == 0
    assert run["inputs"] == {"tiny.yaml": hashlib.sha256(TINY.encode()).hexdigest()}
    result = server.send("GET", f"/runs/{run['id']}/result").json
    assert [point["set"] for point in result["points"]] == [
        {"vms.db.load": 2, "vms.web.load": 1},
        {"vms.db.load": 2, "vms.web.load": 2},
    ]
    page = server.send("GET", f"/runs/{run['id']}/page")
    assert page.status == 200
    policy = page.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in policy
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy, "a page loads nothing"
    saved = server.send("GET", f"/runs/{run['id']}/page?download")
    assert saved.headers["content-disposition"] == f'attachment; filename="hypertwin-{run["id"]}.html"'
    assert [each.name for each in folder.glob("*.html")] == [], "nothing is written into the folder"


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("capacity", {"--failures": 0, "--vm": "1x2GiB"}),
        ("diagnose", {"--what-if": False}),
        ("density", {"--vm": "web", "--slo": ["guest_cpu_pct<90"], "--max": "3"}),
        ("plan survive", {}),
        ("plan place", {"--vm": ["2*1x1GiB"], "--failures": 0}),
        ("plan move", {"--to": "proxmox", "--reuse-hosts": True}),
    ],
)
def test_every_question_has_a_page(server: Served, command: str, options: dict[str, Any]) -> None:
    run = server.run(start(server, command, options=options)["id"])
    assert run["status"] == "done", run
    assert server.send("GET", f"/runs/{run['id']}/page").body.startswith(b"<!doctype html>")
    assert server.send("GET", f"/runs/{run['id']}/result").json


def test_an_answer_is_shown_although_its_exit_code_is_one(server: Served) -> None:
    run = server.run(start(server, "plan evacuate", options={"host": "esx1"})["id"])
    assert (run["status"], run["exit_code"]) == ("done", 1)


def test_a_command_that_fails_shows_its_error(server: Served) -> None:
    run = server.run(start(server, options={"--set": ["vms.none.load=2"]})["id"])
    assert (run["status"], run["exit_code"], run["has_page"]) == ("failed", 2, False)
    assert run["said"].startswith("error: --set vms.none.load=2")


NOT_OFFERED = {
    "a cache": {"--cache": "/tmp/x"},
    "workers": {"--on": "dask://evil:1"},
    "an output": {"--out": "/tmp/x"},
    "an output, short": {"-o": "/tmp/x"},
    "a page": {"--report": "/tmp/x.html"},
    "a file to read": {"--calibration": "/etc/passwd"},
    "confirmation": {"--yes": True},
    "end of options": {"--": "x"},
    "no option": {"": "x"},
    "a part of an option": {"--se": "x"},
    "a list for one value": {"--duration": ["1", "2"]},
    "too many values": {"--set": ["vms.db.load=1"] * 101},
    "a line end": {"--set": ["vms.db.load=1\nx"]},
    "NUL": {"--set": ["vms.db.load=1\0"]},
    "a mapping": {"--set": {"a": "b"}},
    "text for a flag": {"--until-full": "--out=x"},
}


@pytest.mark.parametrize("case", NOT_OFFERED)
def test_options_that_are_not_offered_are_refused(case: str, server: Served) -> None:
    before = len(server.send("GET", "/api/runs").json)
    start(server, status=422, options=NOT_OFFERED[case])
    assert len(server.send("GET", "/api/runs").json) == before


@pytest.mark.parametrize("command", ["lab cpu", "benchmark run", "import", "serve", "rerun", "--help", "", "plan"])
def test_commands_that_are_not_offered_are_refused(command: str, server: Served) -> None:
    start(server, command, status=422)


def test_a_value_never_becomes_an_option(server: Served, folder: Path) -> None:
    run = server.run(start(server, "plan evacuate", options={"host": "--report=evil.html"})["id"])
    assert run["command"][run["command"].index("--") + 1 :] == ["tiny.yaml", "--report=evil.html"]
    assert (run["status"], run["exit_code"]) == ("failed", 2)
    run = server.run(start(server, options={"--duration": "--cache=/tmp/x"})["id"])
    assert "--duration=--cache=/tmp/x" in run["command"]
    assert run["exit_code"] == 2


def test_no_offered_option_names_a_file() -> None:
    names = {option.name for offer in offered.offers().values() for option in offer.options}
    assert {"--set", "--sweep", "--slo", "--rolling", "host"} <= names
    assert not names & {
        "--cache",
        "--on",
        "--out",
        "--report",
        "--calibration",
        "--limits",
        "--format",
        "--cluster-file",
    }
    assert offered.offers()["diagnose"].words("a.yaml", {})[:2] == ["diagnose", "--cluster=a.yaml"]


OUTSIDE = (
    "../outside.fio",
    "/etc/passwd",
    "link.fio",
    "jobs/../../outside.fio",
    "/proc/self/environ#x",
    ".aws/credentials",
    "aws.fio",
)


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_scenario_names_no_file_outside_the_folder(name: str, server: Served) -> None:
    text = naming(name)
    checked = server.send("POST", "/api/check", {"text": text}).json
    assert [each["code"] for each in checked["mistakes"]] == ["file-outside"]
    assert checked["mistakes"][0]["path"] == "workloads.disk.fio"
    answer = server.send("POST", "/api/simulate", {"text": text, "duration": 1})
    assert (answer.status, answer.json["code"]) == (422, "file-outside")
    answer = server.send("POST", "/api/simulate", {"text": TINY, "set": {"workloads.oltp.fio": name}})
    assert answer.status == 422
    assert "file-outside" in answer.body.decode()
    for more in (
        {"text": text},
        {"options": {"--set": [f"workloads.oltp.fio={name}"]}},
        {"options": {"--set": ["a.b=1", f"workloads.oltp.fio={name}"]}},
        {"options": {"--set": [f"workloads.*.fio={name}"]}},
    ):
        run = server.run(start(server, **more)["id"])
        assert run["exit_code"] == 2
        assert "[file-outside]" in run["said"] or "file-not-found" in run["said"] or "no such file" in run["said"]
        assert "randread" not in run["said"]
        assert "root:" not in run["said"]


def test_a_scenario_names_a_file_of_the_folder(server: Served) -> None:
    text = naming("jobs/typing.py")
    assert server.send("POST", "/api/check", {"text": text}).json["mistakes"] == []
    run = server.run(start(server, text=text)["id"])
    assert run["status"] == "done", run
    assert sorted(run["inputs"]) == ["jobs/typing.py", "tiny.yaml"]
    run = server.run(start(server, text=naming("typing.py"))["id"])
    assert run["status"] == "done", "no file of the folder becomes a module of the run"


def test_a_copy_of_a_job_stays_in_the_folder_of_the_run(folder: Path) -> None:
    names = ("jobs/typing.py", f"../{folder.name}/typing.py", str(folder / "typing.py"))
    found = [files.Folder(folder).jobs("tiny.yaml", naming(name), []) for name in names]
    assert found == [{"jobs/typing.py": FIO.encode()}, {}, {}]


def test_outside_a_server_scenarios_name_any_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(scenario.WITHIN, raising=False)
    text = naming(str(folder.parent / "outside.fio"))
    assert scenario.loads(text).data["workloads"]["disk"]["read_pct"] == 100
    monkeypatch.setenv(scenario.WITHIN, str(folder))
    with pytest.raises(FileError, match="file-outside"):
        scenario.loads(text)


def test_a_check_has_every_problem_with_its_line(server: Served) -> None:
    text = TINY.replace("vcpus: 2", "vcpus: two").replace("cores_per_socket: 2", "cores: 2")
    checked = server.send("POST", "/api/check", {"text": text, "name": "tiny.yaml"}).json
    assert {(each["path"], each["code"]) for each in checked["mistakes"]} >= {
        ("vms.db.vcpus", "wrong-type"),
        ("hosts.esx1.cores", "unknown-key"),
    }
    assert all(each["line"] for each in checked["mistakes"] if each["path"])
    assert checked["canonical"] is None
    good = server.send("GET", "/api/scenario/tiny.yaml").json
    assert good["text"] == TINY
    assert good["canonical"]["vms"]["db"]["shares"] == "normal"


def test_a_live_simulation_has_the_bytes_of_the_core(server: Served) -> None:
    asked = {"file": "tiny.yaml", "set": {"vms.db.load": 1.5}, "replications": 1, "duration": 2}
    answer = server.send("POST", "/api/simulate", asked)
    assert answer.status == 200, answer.body
    made = hypertwin.simulate(TINY, overrides={"vms.db.load": 1.5}, replications=1, duration=2, cache="off")
    assert answer.json["document"]["points"] == json.loads(made.to_json())["points"]
    core = hypertwin._core.aggregate(  # type: ignore[attr-defined]
        [_replication(scenario.load(TINY, {"vms.db.load": 1.5, "run.replications": 1, "run.duration": "2 s"}))]
    )
    assert answer.json["sha256"] == hashlib.sha256(core.encode()).hexdigest()


def _replication(given: scenario.Scenario) -> Any:
    core = hypertwin._core  # type: ignore[attr-defined]
    islands = core.Islands(given.json)
    runs = islands.run(list(range(len(islands.keys()))), core.replication_seed(7, 0))
    return islands.merge(runs)


def test_live_simulations_are_bounded(server: Served) -> None:
    answer = server.send("POST", "/api/simulate", {"text": BUSY})
    assert (answer.status, answer.json["code"]) == (422, "too-long")
    for wrong in ({"text": 5}, {}, {"text": TINY, "set": [1]}, {"text": TINY, "replications": "x"}, {"file": ["a"]}):
        assert server.send("POST", "/api/simulate", wrong).status == 422, wrong


@pytest.mark.parametrize(
    ("path", "body", "allowed"),
    [
        ("/api/simulate", {"file": "tiny.yaml"}, "file, text, set, replications, duration, warmup, seed"),
        ("/api/runs", {"command": "simulate", "file": "tiny.yaml"}, "command, file, options, text, tab, keep"),
        ("/api/check", {"text": TINY}, "text, name"),
        ("/api/compare", {"a": "x", "b": "y"}, "a, b, tab, keep"),
    ],
)
def test_an_unknown_key_is_refused_with_those_that_are_allowed(
    path: str, body: dict[str, Any], allowed: str, server: Served
) -> None:
    answer = server.send("POST", path, {**body, "sets": {"vms.db.load": 2}})
    assert (answer.status, answer.json) == (422, {"error": f"unknown key 'sets'; allowed: {allowed}"})


def test_a_live_simulation_that_is_given_up_ends(server: Served) -> None:
    workers = _children(server)
    with pytest.raises(TimeoutError):
        server.send("POST", "/api/simulate", {"text": LONG, "duration": 20_000, "replications": 1}, timeout=1)
    ends = time.monotonic() + 5
    while _busy(server) and time.monotonic() < ends:
        time.sleep(0.1)
    assert not _busy(server), "its process goes on"
    assert server.send("POST", "/api/check", {"text": TINY}).status == 200
    assert len(_children(server)) <= len(workers) + 1


def _children(server: Served) -> list[int]:
    listed = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    return [int(each) for each in listed]


def _busy(server: Served) -> list[int]:
    """Children that use the CPU."""

    def ticks(pid: int) -> int:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0
        return int(fields[11]) + int(fields[12])

    before = {pid: ticks(pid) for pid in _children(server)}
    time.sleep(0.3)
    return [pid for pid, then in before.items() if ticks(pid) > then + 5]


def test_bodies_must_be_json(server: Served) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert server.send("POST", "/api/check", b"text=x", headers=form).status == 415
    assert server.send("POST", "/api/check", b'{"text": 1}', headers={"Content-Type": "text/plain"}).status == 415
    for body in (b"", b"[]", b"{", b"[" * 100_000, b'{"text": 1}'):
        status = server.send("POST", "/api/check", body, headers={"Content-Type": "application/json"}).status
        assert status in (400, 422), body[:20]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/api/scenario/new.yaml", {"text": "\ud800", "opened": None}),
        ("POST", "/api/runs", {"command": "simulate", "file": "tiny.yaml", "text": "\ud800"}),
        ("POST", "/api/check", {"name": "\ud800", "text": "x"}),
        ("POST", "/api/simulate", {"file": "tiny.yaml", "set": {"vms.\ud800.load": "\ud800"}}),
    ],
)
def test_text_that_is_not_unicode_is_refused(method: str, path: str, body: dict[str, Any], server: Served) -> None:
    answer = server.send(method, path, body)
    assert (answer.status, answer.json["code"]) == (422, "not-utf-8")


def test_exports_are_imported_under_a_new_name(server: Served, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "rvtools.xlsx"
    rvtools_files.write_xlsx(rvtools_files.export(hosts=2, vms=4, disks=4), file)
    answer = server.send("POST", "/api/import/rvtools.xlsx?to=estate.yaml", file.read_bytes())
    assert answer.status == 201, answer.body
    assert any("2 hosts" in note for note in answer.json["notes"])
    assert len(scenario.load(folder / "estate.yaml").data["vms"]) == 4
    again = server.send("POST", "/api/import/rvtools.xlsx?to=estate.yaml", file.read_bytes())
    assert again.status == 409
    dump = json.dumps(test_proxmox.dump()).encode()
    assert server.send("POST", "/api/import/pve.json", dump).json["name"] == "pve.yaml"
    (folder / "dump.json").write_bytes(dump)
    listed = {each["name"]: each["kind"] for each in server.send("GET", "/api/folder").json["files"]}
    assert listed["dump.json"] == "Proxmox VE API dump"
    assert server.send("POST", "/api/import/x?from=dump.json&to=of-dump.yaml").status == 201
    for made in ("estate.yaml", "pve.yaml", "of-dump.yaml", "dump.json"):
        (folder / made).unlink()


def test_an_upload_keeps_the_date_in_its_name(server: Served, folder: Path, tmp_path: Path) -> None:
    name = "RVTools_export_all_2026-06-01_08.00.00"
    file = tmp_path / "rvtools.xlsx"
    rvtools_files.write_xlsx(rvtools_files.export(hosts=2, vms=4, disks=4), file)
    answer = server.send("POST", f"/api/import/{name}.xlsx?to=dated.yaml", file.read_bytes())
    assert answer.status == 201, answer.body
    made = scenario.load(folder / "dated.yaml")
    (folder / "dated.yaml").unlink()
    assert made.name == name.replace(".", "-")
    assert {host["measured"]["at"] for host in made.data["hosts"].values()} == {"2026-06-01T08:00:00"}


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("RVTools_export_all_2026-06-01_08.00.00.xlsx", "RVTools_export_all_2026-06-01_08.00.00.xlsx"),
        ("../../etc/passwd", "passwd"),
        ("C:\\exports\\Größe (1).csv", "Größe (1).csv"),
        ("--out=x.yaml", "out_x.yaml"),
        ("a\r\nX: y\x00\u202e.xlsx", "a__X_ y__.xlsx"),
        (".xlsx", "xlsx"),
        ("..", "upload"),
        ("", "upload"),
        ("x" * 300 + "_2026-06-01.xlsx", "x" * 39 + "_2026-06-01.xlsx"),
        ("𠀀" * 300 + ".𠀀𠀀", "𠀀" * 50 + ".𠀀𠀀"),
    ],
)
def test_the_file_of_an_upload_has_a_plain_name(name: str, file: str, tmp_path: Path) -> None:
    assert imports.file_name(name) == file
    (tmp_path / file).write_bytes(b"x")
    assert [each.name for each in tmp_path.iterdir()] == [file]


def _bomb() -> bytes:
    """A workbook of a megabyte that unpacks to a gigabyte."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("xl/workbook.xml", "w", force_zip64=True) as part:
            for _ in range(1024):
                part.write(b" " * 2**20)
    return made.getvalue()


BAD_UPLOADS = {
    "a zip bomb": (_bomb, "a.xlsx"),
    "nothing": (lambda: b"", "a.xlsx"),
    "no export": (lambda: b"hello", "a.csv"),
    "addresses of systems": (lambda: b"qemu+ssh://evil.example/system?command=/tmp/x\n", "a.txt"),
    "addresses in groups": (lambda: b"[prod]\nqemu:///system\n", "a.txt"),
    "a cut workbook": (lambda: _bomb()[:1_000], "a.xlsx"),
}


@pytest.mark.parametrize("case", BAD_UPLOADS)
def test_hostile_uploads_are_refused(case: str, server: Served, folder: Path) -> None:
    make, name = BAD_UPLOADS[case]
    before = sorted(each.name for each in folder.iterdir())
    began = time.monotonic()
    answer = server.send("POST", f"/api/import/{name}?to=new.yaml", make())
    assert answer.status == 422, answer.body
    assert time.monotonic() - began < 30
    assert "/upload-" not in answer.json["error"], "no path of the server"
    assert ("lists addresses of systems" in answer.json["error"]) is case.startswith("addresses")
    assert sorted(each.name for each in folder.iterdir()) == before


@pytest.mark.parametrize("name", ["../new.yaml", "new.txt", ".new.yaml", "a/b.yaml", "new.yaml%0d%0aX:%20y", ""])
def test_imports_get_only_plain_names(name: str, server: Served, folder: Path) -> None:
    dump = json.dumps(test_proxmox.dump()).encode()
    assert server.send("POST", f"/api/import/pve.json?to={name}", dump).status == 422
    assert not (folder.parent / "new.yaml").exists()


def test_notes_of_an_import_are_read_to_their_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """
import sys, time
for text in ("first\\n", "second\\n", "x" * 300_000):
    print(text, end="", file=sys.stderr, flush=True)
    time.sleep(0.1)
open("made.yaml", "w").close()
"""
    asked: list[Any] = []
    monkeypatch.setattr(launch, "command", lambda *given: asked.extend(given) or [sys.executable, "-c", script])
    notes = asyncio.run(asyncio.wait_for(imports._run(tmp_path / "a.csv", "a.csv", tmp_path), 20))
    assert asked[-1] == imports.MEMORY
    assert notes[:2] == ["first", "second"]
    assert len("\n".join(notes)) == imports._MAX_SAID


def test_two_runs_are_compared(server: Served) -> None:
    one, two = (server.run(start(server, options={"--set": [f"vms.db.load={load}"]})["id"]) for load in (1, 3))
    answer = server.send("POST", "/api/compare", {"a": one["id"], "b": two["id"], "keep": True})
    assert answer.status == 201, answer.body
    run = server.run(answer.json["id"])
    assert run["status"] == "done", run
    assert b"hypertwin" in server.send("GET", f"/runs/{run['id']}/page").body
    capacity = server.run(start(server, "capacity")["id"])
    other = server.send("POST", "/api/compare", {"a": one["id"], "b": capacity["id"], "keep": True})
    assert server.run(other.json["id"])["status"] == "failed"
    assert server.send("POST", "/api/compare", {"a": one["id"], "b": "x"}).status == 404


def test_progress_reaches_the_browser(server: Served) -> None:
    with server.tab("progress") as stream:
        run = start(server, text=LONG, options={"--duration": "600", "--replications": "8", "--seed": "99"})
        seen = []
        while True:
            line = stream.readline()
            if line.startswith(b"data: {"):
                told = json.loads(line[6:])
                if told["id"] == run["id"]:
                    seen.append(told)
                    if told["ended"]:
                        break
    assert [each["status"] for each in seen[:-1]].count("running") >= 2
    assert seen[-1]["status"] == "done", seen[-1]
    counts = [each["progress"]["done"] for each in seen if each["progress"]]
    assert counts
    assert counts == sorted(counts)
    assert max(each["progress"]["total"] for each in seen if each["progress"]) == 8


def test_a_run_has_a_stream_of_its_own(server: Served) -> None:
    other, run = start(server, text=LONG), start(server, text=LONG)
    with server.stream(f"/api/runs/{run['id']}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.readline() == b"event: runs\n"
        assert [each["id"] for each in json.loads(stream.readline()[6:])] == [run["id"]]
        for each in (other, run):
            server.send("POST", f"/api/runs/{each['id']}/cancel")
        told = {}
        while not told.get("ended"):
            line = stream.readline()
            if line.startswith(b"data: "):
                told = json.loads(line[6:])
                assert told["id"] == run["id"]
    assert told["status"] == "cancelled"
    assert server.send("GET", "/api/runs/none/events").status == 404


def test_live_simulations_use_the_result_cache(tmp_path: Path) -> None:
    folder, cache = tmp_path / "folder", tmp_path / "cache"
    folder.mkdir()
    (folder / "tiny.yaml").write_text(TINY)
    with served(folder, state=tmp_path / "state", HYPERTWIN_CACHE=str(cache)) as server:
        server.enter()
        one, two = (server.send("POST", "/api/simulate", {"file": "tiny.yaml"}).json for _ in range(2))
    assert one == two
    assert (cache / "hypertwin-results.sqlite").is_file()


def test_a_run_is_cancelled_and_deleted(server: Served) -> None:
    run = start(server, text=LONG)
    assert server.send("DELETE", f"/api/runs/{run['id']}").status == 202
    ended = server.run(run["id"])
    assert ended["status"] == "cancelled"
    assert server.send("DELETE", f"/api/runs/{run['id']}").status == 204
    assert server.send("GET", f"/api/runs/{run['id']}").status == 404


def test_the_queue_is_limited_and_goes_on(server: Served) -> None:
    long = [start(server, text=LONG)["id"] for _ in range(2)]
    waiting = [start(server)["id"] for _ in range(50)]
    assert server.send("POST", "/api/runs", {"command": "simulate", "file": "tiny.yaml", "keep": True}).status == 429
    running = [each for each in server.send("GET", "/api/runs").json if each["status"] == "running"]
    assert len(running) <= 2
    for each in waiting[1:]:
        assert server.send("POST", f"/api/runs/{each}/cancel").json["ended"], "at once, without a place"
    assert server.send("DELETE", f"/api/runs/{waiting[-1]}").status == 204
    for each in long:
        server.send("POST", f"/api/runs/{each}/cancel")
    assert server.run(waiting[0])["status"] == "done"
    assert {server.run(each)["status"] for each in (*waiting[1:-1], *long)} == {"cancelled"}


def test_without_space_for_the_inputs_a_run_leaves_nothing(tmp_path: Path) -> None:
    found = runs.Runs(tmp_path, runs.Limits())
    with pytest.raises(RefusedError, match="cannot write into the state folder") as refused:
        found.start(["simulate"], "a.yaml", {"a.yaml": b"", "x" * 300: b""})  # fails as a full disk does
    assert refused.value.status == 507
    assert found.all() == []
    assert list((tmp_path / "runs").iterdir()) == []
    asyncio.run(found.close())

    async def parts() -> AsyncIterator[bytes]:
        yield b"text"

    with pytest.raises(RefusedError, match="cannot store the upload"):
        asyncio.run(imports.receive(parts(), tmp_path / "none" / "upload.csv"))


def test_the_number_of_kept_runs_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_KEPT", 1)
    (tmp_path / "runs" / RECORD["id"]).mkdir(parents=True)
    (tmp_path / "runs" / RECORD["id"] / "run.json").write_text(json.dumps({**RECORD, "status": "done", "ended": 2.0}))
    found = runs.Runs(tmp_path, runs.Limits())
    with pytest.raises(RefusedError, match="1 runs are kept"):
        found.start(["simulate"], "a.yaml", {})
    found.delete(RECORD["id"])
    asyncio.run(found.close())


def test_a_run_whose_tab_never_opens_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "GRACE_S", 0.3)
    monkeypatch.setattr(launch, "command", lambda *_: ["sleep", "60"])

    async def ask() -> list[str]:
        found = runs.Runs(tmp_path, runs.Limits())
        own, kept = found.start([], "a.yaml", {}, tab="t"), found.start([], "a.yaml", {}, tab="t", is_kept=True)
        await asyncio.sleep(1.5)
        with pytest.raises(RefusedError, match="has not ended"):
            found.delete(kept.id)
        statuses = [own.status, kept.status]
        await found.close()
        return statuses

    assert asyncio.run(ask()) == ["cancelled", "running"]


def test_an_idle_process_that_was_ended_is_replaced(folder: Path) -> None:
    async def ask() -> list[dict[str, Any]]:
        found, answers = Workers(folder, 1, 4 << 30), []
        for _ in range(2):
            answers.append(await found.ask({"request": "check", "name": "tiny.yaml", "text": TINY}, 30))
            os.kill(found._idle[0].pid, signal.SIGKILL)
            await asyncio.sleep(0.2)
        await found.close()
        return answers

    one, other = asyncio.run(ask())
    assert one == other


def test_only_a_limited_number_of_requests_waits_for_a_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> list[Any]:
        found, release = Workers(folder, 1, 4 << 30, waiting=3), asyncio.Event()

        async def answer(*_: Any) -> dict[str, Any]:
            await release.wait()
            return {}

        monkeypatch.setattr(found, "_ask", answer)
        tasks = [asyncio.create_task(found.ask({}, 1)) for _ in range(5)]
        await asyncio.sleep(0.05)
        release.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(ask())
    assert answers[:3] == [{}, {}, {}]
    assert [each.status for each in answers[3:]] == [503, 503]


def test_time_of_a_run_is_limited(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    with served(tmp_path, "--hours", "0.001", state=tmp_path / "state") as server:
        server.enter()
        slow = server.run(start(server, text=LONG)["id"])
    assert slow["status"] == "failed"
    assert "time limit" in slow["said"]


@pytest.mark.parametrize(("memory", "ends"), [(1 << 30, False), (4 << 30, True)])
def test_memory_of_a_process_is_limited(memory: int, ends: bool) -> None:
    command = launch.command("timeit", ["-n1", "-r1", "bytearray(2 << 30)"], memory)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode == 0) is ends, done.stderr
    assert ("MemoryError" in done.stderr) is not ends


def test_the_size_of_a_file_is_limited(tmp_path: Path) -> None:
    script = f"open({str(tmp_path / 'large')!r}, 'wb').truncate({launch.MAX_FILE + 1})"
    done = subprocess.run(
        launch.command("timeit", ["-n1", "-r1", script], 1 << 30),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    assert "File too large" in done.stderr


def test_a_process_without_its_server_does_not_start() -> None:
    words = launch.command("timeit", ["-n1", "-r1", "pass"], 4 << 30)
    words[words.index(str(os.getpid()))] = "1"
    assert subprocess.run(words, capture_output=True, check=False, timeout=60).returncode == 1


RECORD: dict[str, Any] = {
    "id": "20260101-000000-00000000",
    "command": ["simulate"],
    "file": "a.yaml",
    "inputs": {},
    "created": 1.0,
}
DAMAGED = {
    "text as a time": json.dumps({**RECORD, "created": "now", "status": "done"}),
    "no number": json.dumps({**RECORD, "created": float("nan"), "status": "done"}),
    "half a character": json.dumps({**RECORD, "said": "\ud800", "status": "done"}),
    "another status": json.dumps({**RECORD, "status": "well"}),
    "text as a process": json.dumps({**RECORD, "status": "running", "pid": "self", "pid_started": "1"}),
    "a key too many": json.dumps({**RECORD, "status": "done", "more": 1}),
    "another run": json.dumps({**RECORD, "id": "20260101-000000-00000001", "status": "done"}),
    "cut": json.dumps(RECORD)[:-9],
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("text", [*DAMAGED.values(), None], ids=[*DAMAGED, "a pipe"])
def test_a_damaged_record_hides_its_run_and_no_other(text: str | None, tmp_path: Path) -> None:
    for name, content in ((RECORD["id"], text), ("20260101-000000-00000009", None)):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        if name != RECORD["id"]:
            (folder / "run.json").write_text(json.dumps({**RECORD, "id": name, "status": "done", "ended": 2.0}))
        elif content is None:
            os.mkfifo(folder / "run.json")
        else:
            (folder / "run.json").write_text(content)
    found = runs.Runs(tmp_path, runs.Limits())
    assert [run.id for run in found.all()] == ["20260101-000000-00000009"]
    assert (tmp_path / "runs" / RECORD["id"]).exists(), "nothing is deleted"
    asyncio.run(found.close())
