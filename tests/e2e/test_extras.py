"""The base install: every command that needs no extra runs without the packages of extras; the others say which."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import TINY
from tests.e2e.test_validate import EXACT, HEADER, STUDY
from tests.python.ingest.kvm import test_proxmox
from tests.python.ingest.vmware import rvtools_files

from hypertwin.errors import CODES, MissingExtraError
from hypertwin.extras import PACKAGES
from hypertwin.runs import simulation

BLOCKED = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted({name for names in PACKAGES.values() for name in names})}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""
"""Python that has only what the base install has."""

FREE = (
    "--version",
    "--help",
    "schema",
    "examples",
    "init",
    "simulate tiny.yaml",
    "simulate tiny.yaml --format json --report page.html",
    "simulate tiny.yaml --out result.csv",
    "simulate tiny.yaml --format esxtop --out .",
    "validate mine",
    "vnuma --hypervisor esxi-6.5 --sockets 2 --cores 20 --vcpus 24 --svg drawing.svg",
    "size --host 2x12 --vcpus 23 --memory 96GiB",
    "density tiny.yaml --vm web --slo guest_cpu_pct<90 --max 3 --report page.html",
    "durability --scheme 17+3 --report page.html",
    "diagnose --cluster tiny.yaml --report page.html",
    "import rvtools.xlsx -o made.yaml",
    "import pve.json -o made.yaml",
    "compare result.json result.json",
    "lab --help",
)
"""Commands that need no extra."""

NEED = (
    ("telemetry", "telemetry measured.csv"),
    ("telemetry", "telemetry measured.csv -o new.parquet"),
    ("telemetry", "diagnose measured.csv"),
    ("telemetry", "diagnose measured.csv --report new.html"),
    ("telemetry", "diagnose prometheus://localhost:1 -o new.txt"),
    ("telemetry", "import rvtools.xlsx --telemetry measured.csv -o new.yaml"),
    ("telemetry", "simulate tiny.yaml --out new.parquet"),
    ("vmware", "import vcenter://u@localhost -o new.yaml"),
    ("libvirt", "import qemu:///system -o new.yaml"),
    ("dask", "simulate tiny.yaml --on dask://localhost:8786 --out new.json"),
    ("serve", "serve --port 0 --state new"),
    ("plan", "plan survive tiny.yaml --report new.html"),
    ("calibrate", "calibrate tiny.yaml points.csv --free vms.web.load --out new.yaml --report new.html"),
)
"""Extras, and commands that need them."""


def without_extras(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = f"{BLOCKED}\nfrom hypertwin.cli.main import main; main()"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def folder(tmp_path: Path, tiny: Path) -> Path:
    rvtools_files.write_xlsx(rvtools_files.export(hosts=2, vms=4, disks=4), tmp_path / "rvtools.xlsx")
    (tmp_path / "pve.json").write_text(json.dumps(test_proxmox.dump()))
    (tmp_path / "mine").mkdir()
    for name, text in {"scenario.yaml": TINY, "study.yaml": STUDY, "published.csv": f"{HEADER}{EXACT}\n"}.items():
        (tmp_path / "mine" / name).write_text(text)
    (tmp_path / "measured.csv").write_text('"(PDH-CSV 4.0) (UTC)(0)"\n')
    (tmp_path / "points.csv").write_text("vms.web.load,vms.web.guest_cpu_pct\n0.5,20\n0.6,24\n")
    return tmp_path


@pytest.mark.parametrize("line", FREE)
def test_the_base_install_runs(folder, line):
    if "result.json" in line:
        assert without_extras(folder, "simulate", "tiny.yaml", "--out", "result.json").returncode == 0
    ended = without_extras(folder, *line.split())
    assert ended.returncode == 0, ended.stderr
    if "page.html" in line:
        assert (folder / "page.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(("extra", "line"), NEED)
def test_a_missing_extra_is_one_error_and_nothing_is_done(folder, extra, line):
    ended = without_extras(folder, *line.split())
    assert ended.returncode == 2
    assert ended.stdout == ""
    first, hint = ended.stderr.splitlines()
    assert first.startswith("error: ") and f"needs the extra {extra}" in first and first.endswith("[missing-extra]")
    assert hint.startswith("  help: ") and hint.endswith(f"pip install 'hypertwin[{extra}]'")
    assert not list(folder.glob("new*"))


def test_python_callers_are_told_too(monkeypatch, tiny):
    result = simulation.simulate(tiny)
    assert result.to_frame().height
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"a data frame .*\(polars\)[^$]*pip install 'hypertwin\[telemetry\]'"):
        result.to_frame()
    assert CODES[MissingExtraError.code].exit_code == 2
