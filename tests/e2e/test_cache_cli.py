"""`hypertwin cache` and `--cache`, as a user runs them."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from hypertwin import _core
from hypertwin.runs import cache as caches


def test_list_path_and_gc(cli, tiny, tmp_path):
    folder = tmp_path / "kept"
    first = cli("simulate", tiny, "--format", "json", "--cache", "kept")
    again = cli("simulate", tiny, "--format", "json", "--cache", "kept")
    assert first.stdout == again.stdout == cli("simulate", tiny, "--format", "json").stdout
    assert (first.stderr, again.stderr) == ("", "")
    listed = json.loads(cli("cache", "list", "--cache", "kept", "--format", "json").stdout)
    (build,) = listed["builds"]
    assert (listed["folder"], build["build"], build["used"]) == (str(folder), _core.build(), True)
    assert build["results"] == 2 + 1  # runs, and their report
    assert build["bytes"] < listed["file_bytes"] < listed["largest_bytes"]
    table = cli("cache", "list", "--cache", "kept").stdout
    assert str(folder) in table and f"{_core.build()} (this one)" in table
    assert cli("cache", "path", "--cache", "kept").stdout == f"{folder}\n"
    collected = cli("cache", "prune", "--cache", "kept", "--size", "0 B")
    assert (collected.returncode, collected.stdout) == (0, "")
    assert collected.stderr.startswith("freed ")
    assert json.loads(cli("cache", "list", "--cache", "kept", "--format", "json").stdout)["builds"] == []


def test_a_store_that_is_off_or_not_there_is_no_error(cli, tmp_path):
    assert cli("cache", "path").stdout == "off\n"  # by the environment of the tests
    assert "off" in cli("cache", "list").stdout
    assert cli("cache", "prune").stderr == "freed 0.0 MiB\n"
    assert json.loads(cli("cache", "list", "--cache", "none", "--format", "json").stdout)["builds"] == []
    assert cli("cache", "list", "--cache", "none").stdout == f"{tmp_path / 'none'}: no results yet\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["list", "prune"])
def test_a_store_that_cannot_be_used_is_one_error(cli, tmp_path, command):
    (tmp_path / caches.FILE).mkdir()
    done = cli("cache", command, "--cache", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: cannot use {tmp_path / caches.FILE}: ")
    assert "help: " in done.stderr


def test_a_size_that_is_none_is_an_error(cli):
    done = cli("cache", "prune", "--size", "much", exits=2)
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
    without, first, again = (cli(*arguments, "--format", "json", "--cache", where) for where in ("off", "kept", "kept"))
    assert without.returncode == 0, without.stderr
    assert without.stdout == first.stdout == again.stdout
    assert without.stderr == first.stderr == again.stderr


def test_a_page_from_outside_does_not_say_where_results_are_kept(cli, tiny, tmp_path):
    cli("simulate", tiny, "--cache", "kept", "--report", "page.html", exits=0)
    shutil.rmtree(tmp_path / "kept")
    again = cli("rerun", "page.html", exits=0)
    assert not (tmp_path / "kept").exists()
    own = cli("rerun", "page.html", "--cache", "mine")
    assert own.stdout == again.stdout
    assert (tmp_path / "mine" / caches.FILE).exists()


def test_a_store_means_nothing_where_nothing_is_simulated(cli):
    done = cli("durability", "--cache", "kept", exits=2)
    assert re.search(r"--cache kept: .* \[one-of\]\n  allowed: nothing without a scenario\n", done.stderr)
