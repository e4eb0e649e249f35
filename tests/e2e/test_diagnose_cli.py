"""`hypertwin diagnose` as a user runs it: words, JSON, page, mistakes."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.estate import make, rvtools
from tests.python.show.test_page import data

from hypertwin.ingest import telemetry, telemetry_table
from hypertwin.show import diagnosis, view

HOSTILE = ("<script>alert(1)</script>", "=cmd|' /C calc'!A0", '"><img src=x onerror=alert(1)>', "naïve 机器", "a/b%2F")
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Machines with hostile names on a saturated host, and one that is calm."""
    rows: list[tuple[object, str, str, float]] = []
    for place in range(30):
        time = START + datetime.timedelta(seconds=20 * place)
        host = telemetry.entity("host", "esx<b>1</b>")
        rows += [(time, host, "usage_pct", 100.0), (time, host, "cores", 16.0)]
        for number, name in enumerate(HOSTILE):
            vm = f"{host}/{telemetry.entity('vm', name)}"
            rows += [
                (time, vm, "vcpus", 4.0),
                (time, vm, "interval_s", 20.0),
                (time, vm, "run_sum_pct", 200.0),
                (time, vm, "ready_sum_pct", 14.0 * (number + 1)),
            ]
    path = tmp_path / "table.parquet"
    telemetry_table.write([telemetry_table.frame(rows)], path)
    return path


def test_json_has_its_shape(cli: Cli, table: Path) -> None:
    done = cli("diagnose", table, "--format", "json", exits=0)
    found: dict[str, Any] = json.loads(done.stdout)
    assert set(found) == {
        *("version", "cluster", "hosts", "machines", "findings", "not_checked", "read", "notes"),
        *("rules", "limits", "clusters", "measured", "simulated_s", "not_simulated"),
    }
    finding = found["findings"][0]
    assert set(finding) == {
        *(
            "code",
            "severity",
            "entity",
            "kind",
            "name",
            "host",
            "cluster",
            "title",
            "figure",
            "text",
            "evidence",
            "source",
        ),
        *("sources", "advice", "cause", "what_if", "no_what_if"),
    }
    assert set(finding["evidence"][0]) == {
        *("metric", "what", "value", "unit", "band", "band_source", "entity", "samples", "beyond"),
    }
    assert {each["code"] for each in found["findings"]} == {
        *("cpu-ready", "hidden-host-saturation", "host-cpu-saturated"),
    }
    worst_first = [("critical", "warning", "info").index(each["severity"]) for each in found["findings"]]
    assert worst_first == sorted(worst_first)
    assert {each["name"] for each in found["findings"] if each["code"] == "cpu-ready"} == set(HOSTILE)
    assert found["read"] == [{"source": "table.parquet", "kind": "table", "rows": 660, "gaps": [], "notes": []}]


def test_words_tell_cause_and_consequence(cli: Cli, table: Path) -> None:
    done = cli("diagnose", table, "--explain", exits=0)
    first = done.stdout.splitlines()[0]
    assert first.startswith("7 findings with 1 cause: ")
    assert "is saturated and its guests do not show it" in done.stdout
    assert "(usage 100 %, its largest guest 68 %)" in done.stdout.splitlines()[1]
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert any(row.startswith("critical host-cpu-saturated esx<b>1</b> CPU 100 % used") for row in rows)
    assert any(row.startswith("▸ critical follows: cpu-ready, 5 VMs, worst a/b%2F: ready 70 % summed") for row in rows)
    assert "summed over 4 vCPUs = 18 % per vCPU (3,500 ms per vCPU of each 20 s)" in done.stdout
    assert "Not checked" in done.stdout


def test_the_page_is_inert(cli: Cli, table: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = cli("diagnose", table, "--report", page, "--out", tmp_path / "words.txt")
    assert (done.returncode, done.stdout) == (0, "")
    text = page.read_text()
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "<b>1</b>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    page = data(text)
    findings = page["document"]["findings"]
    assert len(findings) == 7
    assert {finding["name"] for finding in findings} >= set(HOSTILE)
    blocks = list(view.blocks_of(page["view"]))
    assert any(block["type"] == "charts" for block in blocks)
    assert "not-checked" in [section["id"] for section in page["view"]["sections"]]
    assert "Content-Security-Policy" in text
    assert (tmp_path / "words.txt").read_text().startswith("7 findings")


def test_a_cluster_alone_is_looked_at(cli: Cli, tiny: Path) -> None:
    done = cli("diagnose", "--cluster", tiny, exits=0)
    assert re.match(
        r"Nothing was measured: simulated the scenario for 4 s\. No problems in 20 checks \(1 host, 3 VMs\)\. "
        r"The other 10 need more data\. ",
        " ".join(done.stdout.split()),
    )
    done = cli("diagnose", "--cluster", tiny, "--no-what-if")
    assert " ".join(done.stdout.split()).startswith(
        "Nothing was measured or simulated: simulations are switched off. "
        "Record a run: `hypertwin simulate FILE --format esxtop -o DIR`, then `hypertwin diagnose DIR/*.csv`. "
        "No problems in only 6 checks (1 host, 3 VMs). The other 24 need more data. "
    )
    done = cli("diagnose", "--cluster", tiny, "--no-what-if", "--explain")
    assert "Not checked" in done.stdout
    assert "\ncpu-ready: needs ready of VMs (" in done.stdout
    wide = tiny.with_name("wide.yaml")
    wide.write_text(tiny.read_text().replace("db: {vcpus: 2", "db: {vcpus: 4"))
    found = json.loads(cli("diagnose", "--cluster", wide, "--format", "json").stdout)
    (finding,) = found["findings"]
    assert finding["code"] == "more-vcpus-than-cores"
    assert finding["what_if"]["set"]["vms.db.vcpus"] == 2


OVERLOADED = """
name: overloaded
hosts:
  esx: {sockets: 2, cores_per_socket: 8, clock: 2.6 GHz, memory_per_node: 128 GiB, hypervisor: HYPERVISOR, label: "A/1"}
vms:
  db: {count: 4, vcpus: 8, memory: 16 GiB, workload: batch}
  web: {vcpus: 8, memory: 8 GiB, workload: batch, label: "Web (old)"}
run: {duration: 10 s}
workloads:
  batch: {arrivals: {closed: {population: 8}}, cpu: {mean: 20 ms}}
"""


@pytest.mark.parametrize("hypervisor", ["esxi-8.0", "linux-6.12"])
def test_a_cluster_that_was_not_measured_is_judged_on_the_twin(cli: Cli, tmp_path: Path, hypervisor: str) -> None:
    file = tmp_path / "overloaded.yaml"
    file.write_text(OVERLOADED.replace("HYPERVISOR", hypervisor))
    found = json.loads(cli("diagnose", "--cluster", file, "--format", "json").stdout)
    assert (found["measured"], found["simulated_s"], found["read"], found["notes"]) == (False, 10, [], [])
    by_code = {each["code"]: each for each in reversed(found["findings"])}
    assert by_code["host-cpu-saturated"]["name"] == "A/1"
    assert by_code["host-cpu-saturated"]["figure"] == "CPU 100 % used"
    assert by_code["cpu-ready"]["severity"] == "critical"
    assert ("co-stop" in by_code) is (hypervisor == "esxi-8.0")
    names = {each["name"] for each in found["findings"] if each["kind"] == "vm"}
    assert names >= {"db-1", "Web (old)"}
    point = json.loads(cli("simulate", file, "--format", "json").stdout)["points"][0]
    assert point["hosts"]["esx"]["usage_pct"] == pytest.approx(100, abs=1)
    text = cli("diagnose", "--cluster", file, "--explain").stdout
    assert text.startswith("Nothing was measured: simulated the scenario for 10 s. ")
    assert "CPU and memory used: the twin." in text
    file.write_text(
        file.read_text().replace("workload: batch, label", "workload: batch, measured: {cpu_mhz: 9}, label")
    )
    assert json.loads(cli("diagnose", "--cluster", file, "--format", "json").stdout)["measured"]


def test_what_an_import_assumed_is_not_judged(cli: Cli, tmp_path: Path) -> None:
    silent = make(1, measured_hosts=False, measured_vms=False)
    rvtools.write(silent, tmp_path / "RVTools_export_all.xlsx")
    cli("import", "RVTools_export_all.xlsx", "-o", "cluster.yaml", exits=0)
    found = json.loads(cli("diagnose", "--cluster", "cluster.yaml", "--format", "json").stdout)
    assert (found["measured"], found["simulated_s"]) == (False, None)
    assert not [each for each in found["findings"] if each["code"] == "oversized-vm"]
    first = " ".join(cli("diagnose", "--cluster", "cluster.yaml").stdout.split())
    assert first.startswith(
        "Nothing was measured or simulated: the import assumed the load of VMs. Import it with --telemetry. "
    )


def test_what_files_lack_is_a_line_for_each_family() -> None:
    def lacking(source: str, *names: str) -> dict[str, Any]:
        return {"source": source, "notes": [], "gaps": [{"what": name, "costs": f"no {name[-1]}"} for name in names]}

    disks = (r"Disk Device\A", r"Disk Device\B")
    read = [lacking("1.csv", *disks, "vmstat -t"), *(lacking(f"{n}.csv", *disks) for n in range(2, 7))]
    assert diagnosis.remarks({"notes": ["said"], "read": read}) == [
        "said",
        "1.csv, 2.csv, 3.csv and 3 more lack Disk Device (A, B): no A; no B",
        "1.csv lacks vmstat -t: no t",
    ]


@pytest.mark.parametrize(
    ("content", "code"),
    [("not,telemetry\n1,2\n", "unknown-source"), (None, "file-not-found")],
)
def test_mistakes_are_one_clear_message(cli: Cli, tmp_path: Path, content: str | None, code: str) -> None:
    path = tmp_path / "x.csv"
    if content is not None:
        path.write_text(content)
    done = cli("diagnose", path, "--report", tmp_path / "page.html", exits=2)
    assert f"[{code}]" in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_nothing_to_look_at_is_a_usage_error(cli: Cli) -> None:
    done = cli("diagnose", exits=2)
    assert "--cluster" in done.stderr


def test_a_simulated_cluster_is_diagnosed_from_esxtop_files(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    cli("simulate", tiny, "--format", "esxtop", "--out", tmp_path / "esxtop", "--set", "vms.db.count=3", exits=0)
    found = json.loads(cli("diagnose", *sorted((tmp_path / "esxtop").iterdir()), "--format", "json").stdout)
    assert found["read"][0]["kind"] == "esxtop"
    assert {each["name"] for each in found["findings"] if each["code"] == "cpu-ready"} >= {"db-1", "db-2", "db-3"}
