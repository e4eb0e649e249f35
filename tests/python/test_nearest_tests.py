"""`make check` finds what changed, which tests are near to it, and how many of these its budget has room for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import comments
import nearest_rust
import nearest_tests
import tests_map
from nearest_tests import Change

SOURCE = '''
"""A module."""
LIMIT = 3
OTHER: int = 4

def one():
    """Say one."""
    return LIMIT

class Pair:
    size = 2

    def two(self):
        return self.size

    def three(self):
        return 3
'''


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("return 3", "return 4", {"Pair.three"}),
        ("Say one.", "Say 1.", set()),
        ("LIMIT = 3", "LIMIT = 5", {"one"}),
        ("int = 4", "int = 5", {""}),
        ("def three", "def four", {"Pair.three", "Pair.four"}),
        ('"""A module."""', "import json", set()),
    ],
)
def test_functions_that_differ_are_found_by_what_they_do(before, after, names):
    assert nearest_tests.changed_functions(Change("a.py", SOURCE, SOURCE.replace(before, after))) == names


def test_a_new_file_has_all_its_functions_changed():
    assert nearest_tests.changed_functions(Change("a.py", None, "def one(): ...\n")) == {"one"}


def known(**cpu_s: float) -> tests_map.Map:
    runs = {
        "python/hypertwin/scenario/space.py": {"all": 0b111, "rare": 0b100},
        "docs/a.md": {"": 0b010},
    }
    return tests_map.Map(tuple(f"tests/test_{name}.py::test" for name in cpu_s), tuple(cpu_s.values()), runs)


def test_tests_of_rare_functions_are_nearest_and_the_budget_bounds_them():
    changes = [Change("python/hypertwin/scenario/space.py", "", "def all(): ...\ndef rare(): ...")]
    near = nearest_tests.nearness(known(a=1.0, b=2.0, c=1.0), changes)
    tests = [f"tests/test_{name}.py::test" for name in "cab"]
    assert nearest_tests.chosen(known(a=1.0, b=2.0, c=1.0), near, 60) == tests
    assert nearest_tests.chosen(known(a=1.0, b=2.0, c=1.0), near, 2.5) == tests[:2]
    assert list(nearest_tests.left_out(near, tests[:2])) == [
        "nearest tests: 2",
        "left to `make test`: 1 tests that are near, of 1 files:",
        "     1 tests/test_b.py",
    ]


def test_a_file_that_is_read_a_new_test_and_a_new_file_beside_known_ones_have_their_tests():
    map_ = known(a=1.0, b=2.0, c=1.0)
    assert nearest_tests.nearness(map_, [Change("docs/a.md", "", "x")]).keys() == {"tests/test_b.py::test"}
    assert nearest_tests.nearness(map_, [Change("docs/b.md", None, "x")]).keys() == {"tests/test_b.py::test"}
    new = Change("tests/test_d.py", None, "def test_new(): ...\ndef helps(): ...")
    assert nearest_tests.nearness(map_, [new]).keys() == {"tests/test_d.py::test_new"}


def test_notes_become_a_map_that_is_written_the_same_each_time(tmp_path):
    notes = [
        "t.py::a[1]\t<cpu>\t0.4\n",
        "t.py::a[2]\t<cpu>\t0.4\n",
        "t.py::a[1]\tp.py\tone\n",
        "t.py::b[1]\t<cpu>\t2.0\n",
        "t.py::b[2]\t<cpu>\t3.0\n",
        "t.py::b[2]\tp.py\ttwo\n",
        "t.py::b[1]\t<fixture>\tt.py::shared\n",
        "t.py::shared\tdata.csv\t\n",
        "t.py::b[1]\tforeign.py\tx\n",
    ]
    found = tests_map.reduced(notes, {"p.py", "data.csv"})
    assert found.tests == ("t.py::a", "t.py::b[1]", "t.py::b[2]")
    assert found.cpu_s == (0.8, 2.0, 3.0)
    assert found.runs == {"p.py": {"one": 0b001, "two": 0b100}, "data.csv": {"": 0b010}}
    for name in "ab":
        tests_map.save(found, tmp_path / name)
    assert tests_map.load(tmp_path / "a") == found
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_a_test_and_its_processes_run_is_noted(tmp_path):
    paths = os.pathsep.join([str(ROOT / "scripts"), *sys.path])
    environment = {**os.environ, "HYPERTWIN_CALLS": str(tmp_path / "notes"), "PYTHONPATH": paths}
    test = "tests/e2e/test_devices.py::test_csv_has_a_column_for_each_key"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "calls_plugin", test]
    assert subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0
    noted = (tmp_path / "notes").read_text().splitlines()
    assert f"{test}\tpython/hypertwin/cli/devices.py\tcommand" in noted
    assert f"{test}\t<fixture>\ttests::commands" in noted


def test_rust_is_linted_and_tested_by_crate_module_and_name():
    near = {"crates/engine/tests/ceph.rs": 0.5}
    paths = ["crates/engine/src/storage/pool/mod.rs", "crates/engine/tests/life.rs"]
    options = ["--quiet", "--profile", "checked", "--package", "hypertwin-engine"]
    assert list(nearest_rust.commands(paths, lambda _: near)) == [
        ["cargo", "clippy", *options, "--lib", "--", "-D", "warnings"],
        ["cargo", "test", *options, "--lib", "--", "storage::pool"],
        ["cargo", "test", *options, "--test", "engine", "--", "life::", "pool::"],
    ]
    assert [command[1] for command in nearest_rust.commands(["crates/python/src/lib.rs"], lambda _: {})] == ["clippy"]


def test_no_line_of_a_comment_begins_with_a_minus_sign():
    text = f"/// longest {'words ' * 18}- x of them\n"
    assert comments.filled(text) == f"/// longest {' '.join(['words'] * 17)}\n/// words - x of them\n"


def test_comments_of_rust_are_filled_and_the_rest_is_left_alone():
    words = " ".join(["words"] * 24)
    text = f"/// {words} of a paragraph\n/// goes on.\n///\n/// - {words}\n/// ```\n/// {words}\n/// ```\nlet a = 1;\n"
    assert comments.filled(text).split("\n") == [
        f"/// {' '.join(['words'] * 19)}",
        f"/// {' '.join(['words'] * 5)} of a paragraph goes on.",
        "///",
        f"/// - {' '.join(['words'] * 19)}",
        f"///   {' '.join(['words'] * 5)}",
        "/// ```",
        f"/// {words}",
        "/// ```",
        "let a = 1;",
        "",
    ]
