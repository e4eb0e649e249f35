"""Names that other programs would run or read as something else, from each kind of file to each kind of output."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from unittest import mock

import pytest
from tests.conftest import Cli, only_where
from tests.python.ingest.kvm import test_proxmox
from tests.python.ingest.vmware import esxtop_files, rvtools_files, test_get_stat

from hypertwin import scenario
from hypertwin.errors import HypertwinError
from hypertwin.ingest import outside
from hypertwin.show import files

NAMES = (
    *("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><script>alert(1)</script>"),
    *('<a href="javascript:alert(1)">x</a>', "<svg/onload=alert(1)>", "&lt;script&gt;alert(1)", "javascript:alert(1)"),
    *("=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1", "=1+1", "\x1b[31mred", "\u202eright to left", "a\u2066b"),
    *("[/red][bold]", "[link=http://x]x[/link]", "{{7*7}}", "${jndi:x}", "%s%n", "../../etc/passwd", "n" * 10_000),
    *('"', "'", "null", "~", "1e3", "a: b", "- a", "#", "&a *a", "db\x00", "tab\there", "line\nbreak", "\ud7ff\u200b"),
)
"""Of machines; each is kept as data, without what cannot be shown, and runs nowhere."""
SECRET = "planted-tr0ub4dor"
ESCAPES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def workbook(folder: Path) -> Path:
    """RVTools: a host and machines of these names, busy enough to be seen."""
    tabs = rvtools_files.export(1, len(NAMES), 0)
    tabs["vHost"][0]["Host"] = HOST
    for tab in ("vInfo", "vCPU", "vMemory"):
        tabs[tab] = [{**row, "Host": HOST, "VM": excel(name)} for row, name in zip(tabs[tab], NAMES, strict=False)]
    return rvtools_files.write_xlsx(tabs, folder / "RVTools <b>.xlsx")


def excel(name: str) -> str:
    """What Excel would take: it has no control characters."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", "", name)


HOST = "<i>esx1</i>"


def proxmox(folder: Path) -> Path:
    """Proxmox VE: the nodes of its own test with these machines."""
    dump = test_proxmox.dump()
    machine = {"type": "qemu", "node": "pve1", "status": "running", "maxmem": 2**30, "maxcpu": 1, "cpu": 0.1}
    dump["/cluster/resources"] += [{**machine, "vmid": 1000 + n, "name": name} for n, name in enumerate(NAMES)]
    path = folder / "dump.json"
    path.write_text(json.dumps(dump))
    return path


def esxtop(folder: Path) -> Path:
    """esxtop -b: these machines with much ready time, as far as a header can have their names."""
    columns: dict[str, list[str]] = {}
    for number, name in enumerate(NAMES):
        columns |= esxtop_files.machine(name.replace("\\", "/").replace("\n", " ").replace('"', "'"), 100 + number)
    busy = {
        key: ["150"] * 2 if key.startswith("Group Cpu") and key.endswith("% Ready") else v for key, v in columns.items()
    }
    path = folder / "esx1.csv"
    path.write_text(esxtop_files.text(busy))
    return path


def get_stat(folder: Path) -> Path:
    """PowerCLI: the same."""
    header, *_ = test_get_stat.SELECTED.partition("\n")
    path = folder / "stats.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*header.split(";"), "EntityId"])
        for number, name in enumerate(NAMES):
            for metric, value in (("cpu.ready.summation", 9000), ("cpu.usagemhz.average", 900)):
                for second in (0, 20, 40):
                    stamp = f"2026-03-26 13:00:{second:02}"
                    writer.writerow([name, stamp, metric, value, 20, f"VirtualMachine-vm-{number}"])
    return path


def run(cli: Cli, *arguments: object) -> str:
    """What a command prints, on stdout and stderr; with a password and a token about that nobody asked for."""
    with mock.patch.dict(os.environ, {"HYPERTWIN_PASSWORD": SECRET, "HYPERTWIN_TOKEN": SECRET}):
        done = cli(*arguments)
    assert done.returncode == 0, done.stderr
    said = str(done.stdout + done.stderr)
    assert not ESCAPES.search(said), ESCAPES.search(said)
    assert SECRET not in said
    return said


@pytest.mark.parametrize("source", [pytest.param(workbook, marks=pytest.mark.slow), proxmox])
def test_an_inventory_to_a_cluster_to_a_report(source, cli: Cli, tmp_path: Path) -> None:
    cluster, page = tmp_path / "cluster.yaml", tmp_path / "page.html"
    run(cli, "import", source(tmp_path), "-o", cluster)
    vms = scenario.load(cluster).data["vms"]
    assert {vm.get("label", key) for key, vm in vms.items()} >= {outside.name(excel(name)) for name in NAMES} - {
        "",
        "db",
    }
    assert not any(ESCAPES.search(key + str(vm.get("label"))) for key, vm in vms.items())
    options = ("--duration", "50 ms", "--warmup", "0", "--replications", "1")
    if source is workbook:
        run(cli, "simulate", cluster, *options, "--format", "csv", "--out", tmp_path / "result.csv", "--report", page)
        cells_are_inert((tmp_path / "result.csv").read_text())
    else:
        run(cli, "simulate", cluster, *options, "--report", page)
    run(cli, "diagnose", "--cluster", cluster, "--no-what-if", "--report", tmp_path / "diagnosis.html")
    page_is_inert(page, with_chromium=source is workbook)
    page_is_inert(tmp_path / "diagnosis.html", with_chromium=False)
    nothing_has_the_secret(tmp_path)


@pytest.mark.parametrize("source", [pytest.param(esxtop, marks=pytest.mark.slow), get_stat])
def test_telemetry_to_a_table_and_a_diagnosis(source, cli: Cli, tmp_path: Path) -> None:
    file, page = source(tmp_path), tmp_path / "page.html"
    run(cli, "telemetry", file)
    run(cli, "telemetry", file, "--format", "csv", "-o", tmp_path / "table.csv")
    text = (tmp_path / "table.csv").read_text()
    cells_are_inert(text)
    assert not ESCAPES.search(text)
    run(cli, "diagnose", file, "--report", page)
    found = json.loads(run(cli, "diagnose", file, "--format", "json"))
    if source is esxtop:  # the other does not say how many vCPUs ready time is of
        named = {finding["name"] for finding in found["findings"]}
        assert named >= {"<script>alert(1)</script>", "=cmd|' /C calc'!A0", "[/red][bold]", "n" * 256}
    page_is_inert(page, with_chromium=source is esxtop)
    nothing_has_the_secret(tmp_path)


def test_cells_that_a_spreadsheet_would_run_are_made_inert() -> None:
    result = {
        **{"scenario": "-s", "version": "1", "seed": 1},
        "points": [
            {
                "set": {"vms.a.label": text, "vms.a.load": -0.5},
                "replications": 1,
                "steady": True,
                "verdict": {"steady": "steady", "reason": None},
                "vms": {"a": {"x": -1.0}},
            }
            for text in ("=1+1", "+1-1", "-1 or so", "@SUM(1)", "\tx", "\rx", "plain", "a=b", "-1e3")
        ],
    }
    rows = list(csv.DictReader(io.StringIO(files.to_csv(result))))
    assert [row["vms.a.label"] for row in rows] == [
        *("'=1+1", "'+1-1", "'-1 or so", "'@SUM(1)", "\\x09x", "\\x0dx", "plain", "a=b", "-1e3"),
    ]
    assert {(row["scenario"], row["vms.a.load"], row["x"]) for row in rows} == {("'-s", "-0.5", "-1.0")}


def test_a_label_that_was_written_by_hand_is_inert(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    text = tiny.read_text().replace("db: {", 'db: {label: "\\e[31m<script>alert(1)</script>[/red]", ')
    tiny.write_text(text)
    done = cli("diagnose", "--cluster", tiny, "--report", tmp_path / "page.html")
    assert not ESCAPES.search(done.stdout + done.stderr)
    if done.returncode == 0:
        page_is_inert(tmp_path / "page.html", with_chromium=False)


@pytest.mark.parametrize(
    "page",
    [
        "<img src=x onerror=0>",
        pytest.param("<script>document.body.innerHTML = '<' + 'img src=x onerror=0>'</script>", marks=pytest.mark.slow),
    ],
)
def test_elements_of_names_would_be_found(page: str, tmp_path: Path) -> None:
    only_where("innerHTML" not in page or shutil.which("chromium"), "missing: chromium")
    (tmp_path / "page.html").write_text(f"<html><body>How this page was made {page}</body></html>")
    with pytest.raises(AssertionError, match="onerror"):
        page_is_inert(tmp_path / "page.html")


def test_credentials_are_in_no_traceback() -> None:
    from hypertwin.ingest import formats

    for address in (f"prometheus://ann:{SECRET}@127.0.0.1:1", f"vcenter://ann:{SECRET}@127.0.0.1:1", f"x://{SECRET}"):
        with pytest.raises(HypertwinError) as caught:
            formats.read(address)
        assert SECRET not in f"{caught.value!r} {caught.value}"


def cells_are_inert(text: str) -> None:
    """No cell of a CSV file is a formula."""
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) > 1
    for cell in (cell for row in rows for cell in row):
        assert not cell.startswith(("=", "+", "@", "\t", "\r")), cell
        assert not cell.startswith("-") or outside.number(cell) is not None, cell


def nothing_has_the_secret(folder: Path) -> None:
    for path in folder.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


class _Elements(html.parser.HTMLParser):
    """The elements of a page that names would have made."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.script = False
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.script = tag == "script"
        runs = any(name.startswith("on") or (value or "").startswith("javascript:") for name, value in given.items())
        if runs or tag in ("img", "i") or given.get("src") == "x" or "onload" in given:
            self.found.append(f"<{tag} {given}>")

    def handle_data(self, data: str) -> None:
        if self.script and data.strip().startswith("alert"):
            self.found.append(f"<script>{data[:80]}")
        self.texts.append(data)


def page_is_inert(page: Path, with_chromium: bool = True) -> None:
    """Names make no element: in the file, and, where Chromium is, in the page after its scripts have run."""
    written = page.read_text("utf-8")
    assert not ESCAPES.search(re.sub("<script.*?</script>", "", written, flags=re.DOTALL))
    told = [written]
    if with_chromium and shutil.which("chromium"):
        command = [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=2000",
            "--dump-dom",
        ]
        done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, check=False, timeout=60)
        assert "How this page was made" in done.stdout, done.stderr[-2000:]
        told.append(done.stdout)
    for text in told:
        elements = _Elements()
        elements.feed(text)
        assert elements.found == []
