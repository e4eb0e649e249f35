"""The project's own checks find what they are for."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import check_architecture
import check_docs
import check_page
import generate_docs
import import_graph


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


def _written(folder, files):
    for name, source in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return folder


def test_rust_imports_are_followed_to_where_a_name_is_defined(tmp_path):
    source = _written(
        tmp_path,
        {
            "lib.rs": "mod a;\nmod room;\npub use room::{Part, deep::Deep as D};\npub struct Own;\n",
            "a.rs": "use crate::{Part, room::{self, deep}};\n// use crate::Own;\n#[cfg(test)]\nuse crate::Own;\n",
            "room/mod.rs": "mod deep;\nmod part;\npub use part::Part;\nfn f() { deep::f(); }\n",
            "room/part.rs": "use std::fmt;\npub struct Part(crate::Own);\n",
            "room/deep.rs": "use super::super::a::Thing;\nuse super::Part;\n",
        },
    )
    assert import_graph.rust(source) == {
        "lib.rs": set(),
        "a.rs": {"room/part.rs", "room/mod.rs", "room/deep.rs"},
        "room/mod.rs": {"room/deep.rs"},
        "room/part.rs": {"lib.rs"},
        "room/deep.rs": {"a.rs", "room/part.rs"},
    }


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"show/view.py": "def late():\n    from hypertwin import runs"}, "hypertwin.show.view -> hypertwin.runs"),
        ({"plan/new.py": "from .. import calibration"}, "hypertwin.plan.new -> hypertwin.calibration"),
        ({"show/table.py": "import hypertwin.show.page"}, "hypertwin.show.table -> hypertwin.show.page"),
        ({"surprise.py": ""}, "- hypertwin.surprise"),
        (
            {"ingest/a.py": "from . import b", "ingest/b.py": "from . import a"},
            "in hypertwin.ingest",
        ),
        ({"cli/new.py": "from hypertwin import runs, simulate\nimport json"}, None),
    ],
)
def test_an_import_must_follow_the_contracts(tmp_path, files, said):
    text = (ROOT / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(text)
    for contract in tomllib.loads(text)["tool"]["importlinter"]["contracts"]:
        for container in contract.get("containers", []):
            names = [name.strip() for layer in contract["layers"] for name in layer.split("|")]
            _written(tmp_path / container.replace(".", "/"), {f"{name}/__init__.py": "" for name in names})
    for name in files:
        shutil.rmtree(tmp_path / "hypertwin" / name.removesuffix(".py"), ignore_errors=True)
    _written(tmp_path / "hypertwin", {"__init__.py": "import hypertwin.cli", **files})
    lint = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    done = subprocess.run(lint, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 1 and said in done.stdout) if said else done.returncode == 0, done.stdout


def test_the_map_shows_the_rooms_of_the_contract():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    rows = re.findall(r'\bp\d+\["(.+?)"\]', (ROOT / "docs" / "ARCHITECTURE.md").read_text())
    assert [row.split(" · ") for row in rows] == [layer.split(" | ") for layer in contract["layers"]]


def test_the_package_imports_no_public_name_of_itself(tmp_path):
    source = "from hypertwin import _core, simulate\ndef late():\n    import hypertwin.scenario\n"
    package = _written(tmp_path / "hypertwin", {"__init__.py": "from hypertwin.questions import size", "a.py": source})
    assert list(check_architecture.public_names(package)) == [
        "a.py imports hypertwin.simulate: name the module that defines it"
    ]


def test_circles_between_files_and_between_folders_are_found(tmp_path):
    files = {
        "lib.rs": "mod a;\nmod b;\nmod c;\n",
        "a/mod.rs": "pub mod one;\n",
        "a/one.rs": "use crate::b::two::Two;\n",
        "b/mod.rs": "pub mod two;\npub mod three;\n",
        "b/two.rs": "use crate::c::C;\npub struct Two;\n",
        "b/three.rs": "use crate::a::one;\n",
        "c.rs": "pub struct C;\n",
    }
    source = _written(tmp_path, files)
    found = set(check_architecture.circles(source, import_graph.rust(source)))
    assert found == {f"{source}: a circle of folders: a, b"}
    (source / "b" / "two.rs").write_text("use crate::a::one::One;\npub struct Two;\n")
    assert f"{source}: a circle of files: a/one.rs, b/two.rs" in check_architecture.circles(
        source, import_graph.rust(source)
    )


def test_circles_of_types_in_the_page_are_found(tmp_path):
    files = {
        "model/kinds.ts": 'import type { PageDocument } from "./page";\nimport { SIMULATION } from "./simulation";\n',
        "model/simulation.ts": 'import type { Kind } from "./kinds";\nimport { Chart } from "../charts/lines";\n',
        "model/simulation/point.ts": 'export { number } from "../numbers";\nconst late = import("./point2");\n',
        "model/simulation/point2.ts": 'import "../../style.css";\nimport { useMemo } from "preact/hooks";\n',
        "model/numbers.ts": "",
        "model/numbers.test.ts": 'import { number } from "./simulation/point";\n',
        "charts/lines.tsx": "",
    }
    graph = import_graph.typescript(_written(tmp_path, files))
    assert graph["model/simulation/point.ts"] == {"model/numbers.ts", "model/simulation/point2.ts"}
    assert "model/numbers.test.ts" not in graph
    assert list(check_architecture.circles(Path("src"), graph)) == [
        "src: a circle of files: model/kinds.ts, model/simulation.ts"
    ]
    inside = import_graph.folders(graph)[""]
    assert list(check_architecture.wrong_floors("web/src", inside)) == [
        "web/src/model uses charts, which does not lie below it"
    ]


def test_a_room_is_built_from_the_ground_up():
    allowed = {"simulation.rs": {"cpu", "clock.rs"}, "cpu": {"clock.rs"}, "clock.rs": {"ids.rs"}}
    assert list(check_architecture.wrong_floors("crates/engine/src", allowed)) == []
    wrong = {"cpu": {"guest", "simulation.rs"}, "new.rs": {"ids.rs"}}
    assert list(check_architecture.wrong_floors("crates/engine/src", wrong)) == [
        "crates/engine/src/cpu uses guest, which does not lie below it",
        "crates/engine/src/cpu uses simulation.rs, which does not lie below it",
        "crates/engine/src/new.rs: unknown; say in scripts/check_architecture.py on which floor it is",
    ]


def test_packages_of_extras_are_not_imported_by_the_base_install(tmp_path):
    files = {
        "cli/one.py": "from p.ingest import read\ndef late():\n    import polars",
        "ingest/read.py": "from typing import *\nif TYPE_CHECKING:\n    import numpy\nelse:\n    import httpx",
        "ingest/table.py": "import polars",
        "plan/two.py": "import scipy.stats",
    }
    for name, source in files.items():
        path = tmp_path / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    assert sorted(check_architecture.heavy_imports(tmp_path / "p")) == [
        "ingest/read.py imports httpx as it is loaded, for the base install",
        "plan/two.py imports scipy as it is loaded, for the base install",
    ]


@pytest.mark.parametrize(
    ("file", "source", "said"),
    [
        ("engine/src/plan.rs", "fn f() {\n    a == PoolKind::Ceph\n}", "crates/engine/src/plan.rs:2: names a PoolKind"),
        ("models/src/memory.rs", "use hypertwin_cluster::Family::{self, Esxi};", "names a Family"),
        ("cluster/src/spec/pool.rs", "use super::pool_kind::PoolKind as Kind;", "names a PoolKind"),
        ("models/src/hypervisor/mod.rs", "Family::Esxi => 1, PoolKind::Vsan => 2", "names a PoolKind"),
        ("models/src/hypervisor/mod.rs", "Family::Esxi => &esxi::Esxi,", None),
        ("models/src/storage/product/mod.rs", "PoolKind::Ceph => &ceph::CEPH,", None),
        ("cluster/src/check/disks.rs", "family.map(Family::facts)", None),
        ("engine/src/plan.rs", "#[cfg(test)]\nmod tests { const A: Family = Family::Linux; }", None),
        ("engine/tests/pool.rs", "PoolKind::Ceph", None),
    ],
)
def test_a_product_is_asked_and_not_named(tmp_path, file, source, said):
    path = tmp_path / "crates" / file
    path.parent.mkdir(parents=True)
    path.write_text(source)
    found = list(check_architecture.named_kinds(tmp_path))
    assert (said in found[0]) if said else not found


def test_long_functions_are_found(tmp_path):
    lines = "    x = 1\n"
    (tmp_path / "a.py").write_text(f"def ok():\n{99 * lines}\ndef long():\n{100 * lines}")
    assert list(check_architecture.long_functions(tmp_path)) == ["a.py:102: long has 101 lines"]


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


def test_a_recorded_study_without_a_comparison_in_its_readme_is_found(tmp_path):
    _written(
        tmp_path / "studies",
        {
            "record.csv": "study,case\nwritten,a\nforgotten,a\nforgotten,b\n",
            "written/README.md": "Reads are within 10%.",
            "forgotten/README.md": "Nothing\nyet: figures were written before any run.",
            "not-recorded/README.md": "Nothing yet.",
        },
    )
    assert list(check_docs.unwritten_comparisons(tmp_path)) == [
        'studies/forgotten/README.md: its figures are recorded; replace "Nothing yet" by the comparison'
    ]


def test_a_file_that_is_not_in_the_table_of_its_room_is_found(tmp_path):
    package, crate = tmp_path / "python" / "hypertwin", tmp_path / "crates" / "engine" / "src"
    _written(
        package,
        {"__init__.py": '"""Files: `run.py`, `cli/`."""', "run.py": "", "cli/__init__.py": "", "cli/new.py": ""},
    )
    _written(
        crate, {"lib.rs": "//! `one.rs`: first.\n", "one.rs": "", "two/mod.rs": "//! `three`\n", "two/three.rs": ""}
    )
    assert list(check_docs.unlisted_files(tmp_path)) == [
        "crates/engine/src/lib.rs: the table of the room lacks `two/`",
        "python/hypertwin/cli/__init__.py: the table of the room lacks `new.py`",
    ]


def test_generated_pages_are_up_to_date():
    for path, content in generate_docs.pages().items():
        assert path.read_text() == content, f"{path} is stale: run `make docs`"


def test_tests_are_skipped_by_the_rule_of_conftest_alone():
    word = re.compile(r"\bpytest\.(?:skip|importorskip|mark\.skip)")
    found = {path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py") if word.search(path.read_text())}
    assert found == {Path("tests/conftest.py")}


def test_a_stale_page_is_found_without_node(tmp_path, monkeypatch, capsys):
    web, built = tmp_path / "web", tmp_path / "built"
    shutil.copytree(ROOT / "web", web, ignore=shutil.ignore_patterns("node_modules"))
    for name in check_page.FILES:
        (built / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(check_page.BUILT / name, built / name)
    monkeypatch.setattr(check_page, "WEB", web)
    monkeypatch.setattr(check_page, "BUILT", built)
    monkeypatch.setattr(check_page, "lacks", lambda: "there is no Node")
    assert check_page.main() == 0
    assert capsys.readouterr().out.startswith("note: ")
    (web / "src" / "new.test.ts").write_text("")
    assert check_page.main() == 0
    (web / "src" / "new.ts").write_text("")
    assert check_page.main() == 1
    assert "make page" in capsys.readouterr().out
