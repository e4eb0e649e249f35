"""The cache of results: what it saves, and what becomes of a run when it is broken."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import pytest

import hypertwin
from hypertwin import _core
from hypertwin.runs import cache as caches
from hypertwin.runs.cache import Cache

SWEEP = {"vms.db.load": [0.5 + number / 20 for number in range(10)]}
"""Ten points of two replications each."""


@pytest.fixture
def runs(watch_runs):
    """(scenario, island, seed) of all that is simulated in this process."""
    seen: list[tuple[str, int, int]] = []
    watch_runs(lambda text, islands, seed: seen.extend((text, island, seed) for island in islands))
    return seen


def simulated(given: Path | str, folder: object, **arguments: object) -> str:
    arguments = {"sweep": SWEEP, **arguments}
    return json.dumps(hypertwin.simulate(given, cache=folder, **arguments).to_dict())


def rows(folder: Path, query: str = "SELECT key, build, used, value FROM results") -> list[tuple]:
    connection = sqlite3.connect(folder / caches.FILE)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def change(folder: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(folder / caches.FILE)
    with connection:
        connection.execute(statement, values)
    connection.close()


def test_what_is_kept_is_not_simulated_again_and_gives_the_same_bytes(tiny, tmp_path, runs, capfd):
    folder = tmp_path / "made" / "when needed"
    without = simulated(tiny, "off")
    assert not folder.exists()
    runs.clear()
    first = simulated(tiny, folder)
    assert len(runs) == 20
    runs.clear()
    again = simulated(tiny, folder, jobs=1)
    assert (runs, first, again) == ([], without, without)
    assert capfd.readouterr().err == ""


def test_a_point_that_was_reported_is_not_even_cut_into_islands(tiny, tmp_path, monkeypatch):
    first = simulated(tiny, tmp_path)
    counts: list[tuple[int, int]] = []
    monkeypatch.setattr(_core, "Islands", lambda _: pytest.fail("cut"))
    monkeypatch.setattr(_core, "aggregate", lambda _: pytest.fail("reported again"))
    again = simulated(tiny, tmp_path, progress=lambda done, total: counts.append((done, total)))
    assert (again, counts) == (first, [(20, 20)])


def test_a_point_that_is_new_is_run_beside_those_that_were_reported(tiny, tmp_path, runs):
    simulated(tiny, tmp_path)
    runs.clear()
    counts: list[tuple[int, int]] = []
    sweep = {"vms.db.load": [7, *SWEEP["vms.db.load"], 8]}
    more = simulated(tiny, tmp_path, sweep=sweep, progress=lambda done, total: counts.append((done, total)))
    assert len(runs) == 4
    assert counts == [(20 + done, 24) for done in range(5)]
    assert more == simulated(tiny, "off", sweep=sweep)


def test_more_replications_add_to_those_that_are_kept(tiny, tmp_path, runs):
    simulated(tiny, tmp_path, sweep={}, replications=3)
    assert len(runs) == 3
    runs.clear()
    ten = simulated(tiny, tmp_path, sweep={}, replications=10)
    assert len(runs) == 7
    assert ten == simulated(tiny, "off", sweep={}, replications=10)


ESTATE = """
name: estate
run: {duration: 4 s, warmup: 1 s, sample_interval: 1 s, seed: 7, replications: 2}
hosts:
  esx: {count: 5, sockets: 1, cores_per_socket: 2, clock: 2.5 GHz, memory_per_node: 64 GiB, hypervisor: esxi-8.0}
  odd: {sockets: 1, cores_per_socket: 4, clock: 2.5 GHz, memory_per_node: 64 GiB, hypervisor: esxi-8.0}
vms:
  web: {count: 5, vcpus: 1, memory: 2 GiB, workload: oltp, host: esx}
  db: {vcpus: 2, memory: 4 GiB, workload: oltp, host: odd}
workloads:
  oltp: {arrivals: {closed: {population: 8, think: {mean: 40 ms}}}, cpu: {mean: 4 ms}, delay: {mean: 5 ms}}
"""


def test_where_one_host_changes_only_it_is_simulated_again(tmp_path, runs):
    simulated(ESTATE, tmp_path / "kept", sweep={})
    islands = len(_core.Islands(hypertwin.load(ESTATE).json).keys())
    assert len(runs) == 2 * islands == 12
    runs.clear()
    changed = {"overrides": {"hosts.odd.cores_per_socket": 1}, "sweep": {}}
    after = simulated(ESTATE, tmp_path / "kept", **changed)
    assert len(runs) == 2
    assert after == simulated(ESTATE, "off", **changed)


def test_undivided_on_threads_and_from_the_store_a_run_gives_the_same_bytes(tmp_path, runs):
    scenario = hypertwin.load(ESTATE)
    undivided = [_core.run(scenario.json, _core.replication_seed(7, k)) for k in range(2)]
    whole = json.dumps({**json.loads(_core.aggregate(undivided)), "set": {}})
    for arguments in ({"jobs": 1}, {"jobs": 2}, {"jobs": 7}, {"jobs": 2, "cache": tmp_path / "kept"}):
        runs.clear()
        (point,) = hypertwin.simulate(scenario, **arguments).points
        assert len(runs) == 12
        assert of_the_core(point) == whole
    runs.clear()
    (point,) = hypertwin.simulate(scenario, cache=tmp_path / "kept").points
    assert (of_the_core(point), runs) == (whole, [])


def of_the_core(point):
    """A point as text, without what Python adds."""
    return json.dumps({key: value for key, value in point.items() if key != "model_error"})


KILLED = """
import os, signal, sys, time
from hypertwin.runs import simulation
def progress(done, total):
    if done == 0.9 * total:
        time.sleep(3 * {interval})  # what is done is kept soon, and not when the command ends
        os.kill(os.getpid(), signal.SIGKILL)
simulation.simulate({tiny!r}, sweep={sweep!r}, cache={folder!r}, jobs=1, progress=progress)
"""


def test_a_sweep_that_was_killed_goes_on_where_it_was(tiny, tmp_path, runs):
    script = KILLED.format(tiny=str(tiny), sweep=SWEEP, folder=str(tmp_path / "kept"), interval=caches.COMMIT_S)
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    again = simulated(tiny, tmp_path / "kept")
    assert len(runs) <= 0.15 * 20
    assert again == simulated(tiny, "off")


def test_two_processes_use_a_store_at_once(tiny, tmp_path):
    command = [sys.executable, "-c", "from hypertwin.cli.main import main; main()", "simulate", str(tiny)]
    command += ["--format", "json", "--cache", str(tmp_path / "kept"), "--sweep"]
    command += ["vms.db.load=" + ",".join(map(str, SWEEP["vms.db.load"]))]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    (one, said), (other, also_said) = (each.communicate() for each in both)
    assert json.loads(one) == json.loads(simulated(tiny, "off"))
    assert (other, said, also_said) == (one, "", "")
    assert len(rows(tmp_path / "kept")) == 20 + 10  # islands, and reports of points


def test_damaged_results_are_simulated_again_and_replaced(tiny, tmp_path, runs, capfd):
    without = simulated(tiny, tmp_path)
    everything = rows(tmp_path)
    reports = [row for row in everything if (caches.unpack(row[0], row[3]) or b"").startswith(b"{")]
    kept = [row for row in everything if row not in reports]
    assert (len(kept), len(reports)) == (20, 10)
    damages = [
        lambda value: b"",
        lambda value: value[:-1],
        lambda value: value[:20] + bytes([value[20] ^ 1]) + value[21:],
        lambda value: bytes(len(value)),
        lambda value: kept[0][3],  # that of another key
        lambda value: "text",
        lambda value: 7,
    ]
    damaged = [*zip(kept[1:], damages, strict=False), *zip(reports, [*damages, *damages], strict=False)]
    for (key, _, _, value), damage in damaged:
        change(tmp_path, "UPDATE results SET value = ? WHERE key = ?", damage(value), key)
    # whole, but what the core did not write; another build would not, either
    change(
        tmp_path, "UPDATE results SET value = ? WHERE key = ?", caches.pack(kept[0][0], b"no replication"), kept[0][0]
    )
    runs.clear()
    assert simulated(tiny, tmp_path) == without
    assert len(runs) == len(damages) + 1
    assert capfd.readouterr().err.count("damaged results") == 1
    values = "SELECT key, value FROM results ORDER BY key"
    assert rows(tmp_path, values) == sorted((key, value) for key, _, _, value in everything)


def test_a_result_that_swells_when_unpacked_is_not_believed(monkeypatch):
    key, packed = b"key", caches.pack(b"key", bytes(100_000))
    assert caches.unpack(key, packed) == bytes(100_000)
    monkeypatch.setattr(caches, "LARGEST_RESULT", 1_000)
    assert caches.unpack(key, packed) is None
    assert caches.unpack(key, caches.pack(key, bytes(1_000))) == bytes(1_000)


def test_no_packed_bytes_from_outside_break_unpacking():
    chance = random.Random(3)
    packed = caches.pack(b"key", b"result " * 50)
    for _ in range(300):
        broken = bytearray(packed)
        for _ in range(chance.randrange(1, 4)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        assert caches.unpack(b"key", bytes(broken)) in (None, b"result " * 50)
    # a checksum that fits says nothing about what is behind it
    for _ in range(300):
        behind = chance.randbytes(chance.randrange(40))
        assert caches.unpack(b"key", caches._checksum(b"key", behind) + behind) is None


def of_another_program(folder: Path) -> None:
    change(folder, "CREATE TABLE results (something TEXT)")


def of_a_later_version(folder: Path) -> None:
    caches.connect(folder).close()
    change(folder, "PRAGMA user_version = 2")


def with_a_trigger(folder: Path) -> None:
    caches.connect(folder).close()
    change(folder, "CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM results; END")


def no_database(folder: Path) -> None:
    (folder / caches.FILE).write_bytes(b"no database " * 1000)


def cut_off(folder: Path) -> None:
    cache = Cache(folder)
    for number in range(100):
        cache.put(bytes([number]) * 32, random.Random(number).randbytes(2_000))
    cache.close()
    os.truncate(folder / caches.FILE, 60_000)


def a_folder(folder: Path) -> None:
    (folder / caches.FILE).mkdir()


FOREIGN = [of_another_program, of_a_later_version, with_a_trigger]


@pytest.mark.parametrize("broken", [*FOREIGN, no_database, cut_off, a_folder])
def test_a_store_that_cannot_be_used_costs_no_result_and_is_said_once(tiny, tmp_path, capfd, broken):
    folder = tmp_path / "kept"
    folder.mkdir()
    broken(folder)
    assert simulated(tiny, folder) == simulated(tiny, "off")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"note: the result cache in {folder} cannot be ")
    with pytest.raises(caches.CacheError, match=caches.FILE):
        caches.contents(folder)
    if broken in (no_database, cut_off):
        assert caches.collect(folder) > 0
        assert caches.contents(folder)["builds"] == []
    else:  # what may be another's is left alone
        with pytest.raises(caches.CacheError):
            caches.collect(folder)
        assert (folder / caches.FILE).exists()


def test_where_no_folder_can_be_made_nothing_is_kept(tiny, tmp_path, capfd):
    (tmp_path / "file").write_text("")
    assert simulated(tiny, tmp_path / "file" / "kept") == simulated(tiny, "off")
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_a_full_disk_costs_no_result(tiny, tmp_path, monkeypatch, capfd):
    connect = caches.connect

    def of_few_pages(folder):
        connection = connect(folder)
        connection.execute("PRAGMA max_page_count = 10").fetchall()
        return connection

    monkeypatch.setattr(caches, "connect", of_few_pages)
    assert simulated(tiny, tmp_path) == simulated(tiny, "off")
    (line,) = capfd.readouterr().err.splitlines()
    assert "cannot be written (database or disk is full)" in line


def test_a_store_that_another_process_does_not_let_go_costs_no_result(tiny, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(caches, "PATIENCE_S", 0.01)
    without = simulated(tiny, tmp_path)
    with caches.transaction(held := caches.connect(tmp_path)):
        assert simulated(tiny, tmp_path) == without  # reads go on
        assert capfd.readouterr().err == ""
        assert simulated(tiny, tmp_path, seed=8) == simulated(tiny, "off", seed=8)
    held.close()
    (line,) = capfd.readouterr().err.splitlines()
    assert "cannot be written (database is locked)" in line


def test_what_another_process_writes_at_the_moment_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(caches, "PATIENCE_S", 0.01)
    monkeypatch.setattr(caches, "COMMIT_S", 0.01)
    complaints: list[str] = []
    cache = Cache(tmp_path, say=complaints.append)
    with caches.transaction(held := caches.connect(tmp_path)):
        cache.put(b"k" * 32, b"result")
        time.sleep(0.2)
        assert cache.get(b"k" * 32) == b"result"
    held.close()
    cache.close()
    assert (complaints, len(rows(tmp_path))) == ([], 1)


def test_another_build_uses_none_of_the_results(tiny, tmp_path, runs, monkeypatch):
    simulated(tiny, tmp_path)
    runs.clear()

    def keys(watched):
        return [key[::-1] for key in watched.islands.keys()]  # noqa: SIM118

    monkeypatch.setattr(_core.Islands, "keys", keys, raising=False)
    monkeypatch.setattr(_core, "build", lambda: "another")
    simulated(tiny, tmp_path, jobs=1)
    assert len(runs) == 20


def filled(folder: Path, *, largest: int = caches.LARGEST) -> Cache:
    """Ten results of 10,000 bytes, of which one in two is another build's; the first was used last."""
    connection = caches.connect(folder)
    with caches.transaction(connection):
        for number in range(10):
            key, build = bytes([number]) * 32, _core.build() if number % 2 else "0.0.9+other"
            value = caches.pack(key, random.Random(number).randbytes(10_000))
            connection.execute("INSERT INTO results VALUES (?, ?, ?, ?)", (key, build, 1_000_000 - number, value))
    connection.close()
    return Cache(folder, largest=largest)


def numbers(folder: Path) -> set[int]:
    return {key[0] for key, *_ in rows(folder)}


def test_gc_removes_other_builds_and_then_what_was_not_used_for_longest(tmp_path):
    filled(tmp_path)
    before = (tmp_path / caches.FILE).stat().st_size
    freed = caches.collect(tmp_path)
    assert numbers(tmp_path) == {1, 3, 5, 7, 9}
    assert freed > 40_000
    assert (tmp_path / caches.FILE).stat().st_size == before - freed
    caches.collect(tmp_path, 50_000)
    assert numbers(tmp_path) == {1, 3}
    caches.collect(tmp_path, 0)
    assert numbers(tmp_path) == set()


def test_a_store_that_grows_too_large_shrinks_by_itself(tmp_path):
    cache = filled(tmp_path, largest=110_000)
    cache.put(b"n" * 32, b"new")
    cache.close()
    assert numbers(tmp_path) == {*range(10), ord("n")} - {8, 6}


def test_a_use_keeps_a_result_from_being_removed(tmp_path):
    cache = filled(tmp_path)
    assert cache.get(bytes([9]) * 32) is not None
    cache.close()
    caches.collect(tmp_path, 50_000)
    assert numbers(tmp_path) == {9, 1}


def test_a_result_that_is_too_large_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(caches, "LARGEST_RESULT", 1_000)
    cache = Cache(tmp_path)
    cache.put(b"a" * 32, bytes(1_001))
    cache.put(b"b" * 32, bytes(1_000))
    cache.close()
    assert [key for key, *_ in rows(tmp_path)] == [b"b" * 32]


def test_no_more_waits_than_has_room(tmp_path, monkeypatch):
    monkeypatch.setattr(caches, "MOST_PENDING", 1_000)
    cache = Cache(tmp_path)
    for number in (0, 0, 0, 1, 2, 3):
        cache.put(bytes([number]) * 32, bytes(400))
    cache.close()
    assert len(rows(tmp_path)) == 2


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "HOME/.cache/hypertwin"),
        ("linux", {"XDG_CACHE_HOME": "/var/caches"}, "/var/caches/hypertwin"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "HOME/.cache/hypertwin"),  # the specification says to ignore it
        ("darwin", {}, "HOME/Library/Caches/hypertwin"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/hypertwin"),
        ("win32", {}, "HOME/AppData/Local/hypertwin"),
        ("linux", {caches.VARIABLE: "~/mine"}, "HOME/mine"),
        ("linux", {caches.VARIABLE: "off"}, None),
        ("linux", {caches.VARIABLE: ""}, "HOME/.cache/hypertwin"),
    ],
)
def test_where_the_store_is(tmp_path, monkeypatch, platform, environment, expected):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", caches.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path), **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert caches.place() == (expected and Path(expected.replace("HOME", str(tmp_path))))
    assert caches.place("off") is None
    assert caches.place("here") == Path.cwd() / "here"


def test_a_user_without_a_home_has_no_store_but_one_that_is_named(monkeypatch):
    def homeless(*_: object) -> NoReturn:
        raise RuntimeError("Could not determine home directory.")

    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", caches.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setattr(Path, "expanduser", homeless)
    assert caches.place() is None
    assert caches.place("~/here") == Path.cwd() / "~" / "here"
