"""`hypertwin store` and `--store`, as a user runs them."""

from __future__ import annotations

import json
import shutil

import pytest

from hypertwin import _core
from hypertwin.execution import store as stores


def test_list_path_and_gc(cli, tiny, tmp_path):
    folder = tmp_path / "kept"
    first = cli("simulate", tiny, "--format", "json", "--store", "kept")
    again = cli("simulate", tiny, "--format", "json", "--store", "kept")
    assert first.stdout == again.stdout == cli("simulate", tiny, "--format", "json").stdout
    assert (first.stderr, again.stderr) == ("", "")
    listed = json.loads(cli("store", "list", "--store", "kept", "--format", "json").stdout)
    (build,) = listed["builds"]
    assert (listed["folder"], build["build"], build["used"]) == (str(folder), _core.build(), True)
    assert build["results"] == 2 + 1  # runs, and their report
    assert build["bytes"] < listed["file_bytes"] < listed["largest_bytes"]
    table = cli("store", "list", "--store", "kept").stdout
    assert str(folder) in table and f"{_core.build()} (this one)" in table
    assert cli("store", "path", "--store", "kept").stdout == f"{folder}\n"
    collected = cli("store", "gc", "--store", "kept", "--size", "0 B")
    assert (collected.returncode, collected.stdout) == (0, "")
    assert collected.stderr.startswith("freed ")
    assert json.loads(cli("store", "list", "--store", "kept", "--format", "json").stdout)["builds"] == []


def test_a_store_that_is_off_or_not_there_is_no_error(cli, tmp_path):
    assert cli("store", "path").stdout == "off\n"  # by the environment of the tests
    assert "off" in cli("store", "list").stdout
    assert cli("store", "gc").stderr == "freed 0.0 MiB\n"
    assert json.loads(cli("store", "list", "--store", "none", "--format", "json").stdout)["builds"] == []
    assert cli("store", "list", "--store", "none").stdout == f"{tmp_path / 'none'}: nothing is kept yet\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["list", "gc"])
def test_a_store_that_cannot_be_used_is_one_error(cli, tmp_path, command):
    (tmp_path / stores.FILE).mkdir()
    done = cli("store", command, "--store", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: cannot use {tmp_path / stores.FILE}: ")
    assert "hint: " in done.stderr


def test_a_size_that_is_none_is_an_error(cli):
    done = cli("store", "gc", "--size", "much")
    assert done.returncode == 2
    assert "--size: much [bad-quantity]" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("density", "tiny.yaml", "--vm", "web", "--slo", "response_ms.mean<60", "--max", "3"),
        ("diagnose", "--cluster", "tiny.yaml"),
        ("simulate", "tiny.yaml", "--warmup", "auto"),
    ],
)
def test_commands_give_the_same_bytes_from_the_store(cli, tiny, arguments):
    without, first, again = (cli(*arguments, "--format", "json", "--store", where) for where in ("off", "kept", "kept"))
    assert without.returncode == 0, without.stderr
    assert without.stdout == first.stdout == again.stdout
    assert without.stderr == first.stderr == again.stderr


def test_a_page_from_outside_does_not_say_where_results_are_kept(cli, tiny, tmp_path):
    assert cli("simulate", tiny, "--store", "kept", "--report", "page.html").returncode == 0
    shutil.rmtree(tmp_path / "kept")
    again = cli("rerun", "page.html")
    assert again.returncode == 0, again.stderr
    assert not (tmp_path / "kept").exists()
    own = cli("rerun", "page.html", "--store", "mine")
    assert own.stdout == again.stdout
    assert (tmp_path / "mine" / stores.FILE).exists()


def test_a_store_means_nothing_where_nothing_is_simulated(cli):
    done = cli("durability", "--store", "kept")
    assert done.returncode == 2
    assert "--store kept: kept [one-of]\n  allowed: nothing without a scenario" in done.stderr
