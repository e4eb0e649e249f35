"""The core for pages gives the bytes of the native core: reports, intervals and answers, in Node."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT, browser_core, needs, only_where
from tests.crooked import crooked
from tests.random_scenarios import scenario as drawn

from hypertwin import _core
from hypertwin.judgement.answer import answer
from hypertwin.model_error.carried import Carrier, table_of
from hypertwin.scenario import Scenario, load

MODULE = ROOT / "python" / "hypertwin" / "show" / "core.wasm"

SHORT = {"run.duration": "1 s", "run.warmup": "500 ms"}

EXAMPLES = {path.stem: SHORT for path in sorted((ROOT / "scenarios").glob("*.yaml"))} | {
    "disk-failure": {"run.duration": "90 s", "run.warmup": "5 s"},
    "failover": {"run.duration": "150 s", "run.warmup": "5 s"},
    "memory-short": {"run.duration": "20 s", "run.warmup": "5 s"},
    "small-esxi": {"run.duration": "10 s", "run.warmup": "2 s"},
}
STUDIES = (
    *("hyperv-drain-18", "qemu-auto-converge", "vmotion-vmknics", "zswap-kernel-build", "swap-file-ssd"),
    *("ceph-hdd-failure", "fsync-fio", "esxi-vnuma", "side-channel-scheduler", "proxmox-esxi-nvmetcp"),
)
DRAWN = range(12)
CROOKED = {
    "crooked": {},
    "crooked-failure": {"failures": [{"at": "2 s", "fails": ["one"]}], "clusters": {"default": {"ha": {}}}},
    "crooked-maintenance": {"events": [{"at": "1 s", "maintenance": "many-1"}]},
}


def scenarios() -> dict[str, Scenario]:
    """Scenarios of all kinds: pools, arrays, failures, migrations, memory that runs short, several islands."""
    found = {name: load(ROOT / "scenarios" / f"{name}.yaml", sets) for name, sets in EXAMPLES.items()}
    for name in STUDIES:
        found[name] = load(ROOT / "studies" / name / "scenario.yaml", SHORT)
    for path in sorted((ROOT / "tests" / "golden").glob("*.yaml")):
        found[path.stem] = load(path, {"run.duration": "2 s", "run.warmup": "1 s"})
    for seed in DRAWN:
        found[f"drawn-{seed}"] = load(drawn(seed), SHORT)
    for name, sets in CROOKED.items():
        found[name] = load(crooked(measured=False, **sets), {"run.duration": "5 s", "run.warmup": "1 s"})
    return found


@pytest.fixture(scope="module")
def module() -> Path:
    browser_core()
    only_where(shutil.which("node"), "there is no Node")
    return MODULE


def in_node(module: Path, folder: Path, cases: Mapping[str, tuple[Scenario, int]]) -> dict[str, Any]:
    """What the module says of scenarios, each with a number of replications."""
    intervals = folder / "intervals.json"
    intervals.write_text(table_of(None))
    arguments: list[str | Path] = []
    for name, (case, replications) in cases.items():
        file = folder / f"{name}.json"
        file.write_text(case.json)
        arguments += [file, str(replications)]
    script = Path(__file__).with_name("browser_core.mjs")
    done = subprocess.run(
        ["node", script, module, intervals, *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(cases, map(json.loads, done.stdout.splitlines()), strict=True))


def native(case: Scenario, replications: int) -> str:
    seeds = [_core.replication_seed(int(case.run["seed"]), k) for k in range(replications)]
    return _core.aggregate([_core.run(case.json, seed) for seed in seeds])


def test_reports_of_all_kinds_have_the_same_bytes(module, tmp_path):
    cases = {name: (case, 1) for name, case in scenarios().items()}
    cases |= {f"{name}-twice": (cases[name][0], 2) for name in ("small-esxi", "failover", "drawn-1")}
    found = in_node(module, tmp_path, cases)
    assert len(found) > 30
    for name, (case, replications) in cases.items():
        text = native(case, replications)
        digest = hashlib.sha256(text.encode()).hexdigest()
        assert found[name]["digests"] == [digest, digest], name
        assert found[name]["plain"] == text, name
        assert found[name]["build"] == _core.build()
        check_error(name, case, text, found[name])
    assert max(one["islands"] for one in found.values()) > 3
    tones = {json.loads(one["answer"])["tone"] for one in found.values()}
    assert tones == {"good", "warn", "bad"}


def check_error(name: str, case: Scenario, text: str, found: Mapping[str, Any]) -> None:
    """Intervals and answer are those of a result of the package."""
    assert found["before"] == ""
    carrier = Carrier.of({**case.data, "calibrated_on": None})
    error = carrier.at(text).document
    assert found["report"] == text.replace('{"set":{}', f'{{"set":{{}},"model_error":{error}', 1), name
    point = {**json.loads(text), "model_error": json.loads(error)}
    assert json.loads(found["answer"]) == answer([point])[0], name


@pytest.mark.slow
def test_a_build_in_another_folder_has_the_same_bytes(module, tmp_path):
    """It compiles all crates again, which takes 100 seconds."""
    needs("cargo")
    listed = subprocess.run(
        ["git", "ls-files", "crates", "bench", "scripts", "Cargo.toml", "Cargo.lock", "pyproject.toml"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    for name in (name for name in listed if (ROOT / name).is_file()):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    built = tmp_path / MODULE.relative_to(ROOT)
    built.parent.mkdir(parents=True)
    environment = {key: value for key, value in os.environ.items() if key != "CARGO_TARGET_DIR"}
    made = [sys.executable, tmp_path / "scripts" / "browser_core.py"]
    subprocess.run(made, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert built.read_bytes() == module.read_bytes()
