"""The project's own checks find what they are for."""

from __future__ import annotations

import sys

import pytest
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import check_architecture
import check_docs
import generate_docs


def package(name: str, *dependencies: str, kind: str | None = None) -> dict:
    return {"name": name, "dependencies": [{"name": used, "kind": kind} for used in dependencies]}


@pytest.mark.parametrize(
    ("crate", "said"),
    [
        (package("hypertwin-kernel", "hypertwin-models"), "crate kernel uses models"),
        (package("hypertwin-models", "hypertwin-kernel"), "crate models uses kernel"),
        (package("hypertwin-python", "hypertwin-models"), "crate python uses models"),
        (package("hypertwin-surprise"), "unknown"),
        (package("hypertwin-engine", "hypertwin-kernel", "serde"), None),
        (package("hypertwin-models", "hypertwin-engine", kind="dev"), None),
    ],
)
def test_an_edge_between_crates_must_be_allowed(crate, said):
    found = list(check_architecture.wrong_crates({"packages": [crate]}))
    assert (said in found[0]) if said else not found


@pytest.mark.parametrize(
    ("file", "source", "said"),
    [
        ("report/page.py", "from hypertwin.run import simulate", "report imports run"),
        ("report/page.py", "def late():\n    from hypertwin import _core", "report imports _core"),
        ("run.py", "import hypertwin.cli.main", "run imports cli"),
        ("run.py", "from . import scenario", "(relative import)"),
        ("surprise.py", "", "unknown module"),
        ("cli/main.py", "from hypertwin import validation, run\nimport json", None),
    ],
)
def test_an_import_must_be_allowed(tmp_path, file, source, said):
    path = tmp_path / "hypertwin" / file
    path.parent.mkdir(parents=True)
    path.write_text(source)
    found = list(check_architecture.wrong_imports(tmp_path / "hypertwin"))
    assert (said in found[0]) if said else not found


def test_the_project_keeps_its_own_rules():
    assert check_architecture.main() == 0


def test_dead_links_and_missing_tests_are_found(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("def test_one(): ...\n")
    (tmp_path / "a.md").write_text(
        "[ok](tests/test_a.py) [web](https://example.org) [dead](b.md)\n"
        "`tests/test_a.py::test_one` `tests/test_a.py::test_two` `tests/test_b.py`\n"
    )
    assert list(check_docs.dead_links(tmp_path)) == ["a.md: dead link b.md"]
    assert list(check_docs.missing_tests(tmp_path)) == [
        "a.md: there is no test test_two in tests/test_a.py",
        "a.md: there is no file tests/test_b.py",
    ]


def test_generated_pages_are_up_to_date():
    for path, content in generate_docs.pages().items():
        assert path.read_text() == content, f"{path} is stale: run `make docs`"
