"""Saved answers of exporters: the language of the queries, gauges and counters, times, systems, and broken files."""

from __future__ import annotations

import gzip
import math
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.python.ingest import hostile

from hypertwin.ingest import formats, prometheus_series, prometheus_text, promql, telemetry_table
from hypertwin.ingest.prometheus_queries import EXPORTERS

START = 1_767_225_600


def node(seconds: float, busy: float = 0.25, name: str = "kvm1", guest: bool = False, clock: bool = True) -> str:
    """What node_exporter of a system with four CPUs answers after so many seconds."""
    lines = [
        "# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.",
        "# TYPE node_cpu_seconds_total counter",
    ]
    for cpu in range(4):
        lines.append(f'node_cpu_seconds_total{{cpu="{cpu}",mode="idle"}} {1000 + seconds * (1 - busy):.6f}')
        lines.append(f'node_cpu_seconds_total{{cpu="{cpu}",mode="user"}} {500 + seconds * busy:.6f}')
        lines.append(f'node_cpu_seconds_total{{cpu="{cpu}",mode="steal"}} {7 if guest else 0}')
    lines += [
        'node_disk_reads_completed_total{device="sda"} ' + f"{100 * seconds:g}",
        'node_disk_reads_completed_total{device="loop0"} ' + f"{900 * seconds:g}",
        'node_disk_read_time_seconds_total{device="sda"} ' + f"{0.2 * seconds:g}",
        "# TYPE node_load1 gauge",
        "node_load1 3.5",
        "node_memory_MemTotal_bytes 8.589934592e+09",
        "node_memory_MemAvailable_bytes 2.147483648e+09",
        'node_schedstat_waiting_seconds_total{cpu="0"} NaN',
        f'node_uname_info{{nodename="{name}",release="6.8.0"}} 1',
        *([f"node_time_seconds {START + seconds:.3f}"] if clock else []),
        'go_info{version="go1.22"} 1',
    ]
    return "\n".join(lines) + "\n"


def libvirt(seconds: float, scale: float = 1) -> str:
    """A machine of two vCPUs that run half of the time and wait a tenth of it."""
    domain = 'domain="db \\"a\\"/b"'
    lines = [
        "# HELP libvirt_domain_info_virtual_cpus Number of virtual CPUs.",
        f"libvirt_domain_info_virtual_cpus{{{domain}}} 2",
    ]
    for vcpu in (0, 1):
        lines.append(f'libvirt_domain_vcpu_time_seconds_total{{{domain},vcpu="{vcpu}"}} {seconds * 0.5 * scale:.6f}')
        lines.append(f'libvirt_domain_vcpu_delay_seconds_total{{{domain},vcpu="{vcpu}"}} {seconds * 0.1 * scale:.6f}')
    return "\n".join([*lines, f"libvirt_domain_info_maximum_memory_bytes{{{domain}}} 4294967296", ""])


VMWARE = """\
# HELP vmware_vm_num_cpu VMWare Number of processors in the virtual machine
# TYPE vmware_vm_num_cpu gauge
vmware_vm_num_cpu{cluster_name="c",dc_name="d",host_name="esx1",vm_name="db"} 4
vmware_vm_cpu_ready_summation{cluster_name="c",dc_name="d",host_name="esx1",vm_name="db"} 1600
vmware_vm_cpu_usagemhz_average{cluster_name="c",dc_name="d",host_name="esx1",vm_name="db"} -1
vmware_host_num_cpu{cluster_name="c",dc_name="d",host_name="esx1"} 20
vmware_host_cpu_usage{cluster_name="c",dc_name="d",host_name="esx1"} 12000
vmware_host_cpu_max{cluster_name="c",dc_name="d",host_name="esx1"} 48000
"""


def rows(path: Path) -> tuple[dict[tuple[str, str], list[float]], pl.DataFrame, object]:
    reading = formats.read(str(path))
    table = pl.concat(list(reading.frames)).with_columns(
        pl.col("entity").cast(pl.String), pl.col("metric").cast(pl.String)
    )
    found: dict[tuple[str, str], list[float]] = {}
    for entity, metric, value in table.select("entity", "metric", "value").iter_rows():
        found.setdefault((entity, metric), []).append(value)
    return found, table, reading


def test_two_scrapes_of_a_host_with_machines(tmp_path):
    for number, seconds in enumerate((0, 30)):
        (tmp_path / f"{number}.prom").write_text(node(seconds) + libvirt(seconds))
    found, table, reading = rows(tmp_path)
    vm = 'host/kvm1/vm/db "a"%2Fb'
    expected = {
        ("host/kvm1", "threads"): [4, 4],
        ("host/kvm1", "utilization_pct"): [25],
        ("host/kvm1", "load_1min"): [3.5, 3.5],
        ("host/kvm1", "memory_used_bytes"): [6 * 2**30] * 2,
        ("host/kvm1/disk/sda", "read_iops"): [100],
        ("host/kvm1/disk/sda", "read_latency_ms"): [2],
        (vm, "vcpus"): [2, 2],
        (vm, "run_sum_pct"): [100],
        (vm, "ready_sum_pct"): [20],
        (vm, "interval_s"): [30],
        (f"{vm}/vcpu/1", "ready_sum_pct"): [10],
    }
    for key, values in expected.items():
        assert found[key] == pytest.approx(values), key
    assert not [entity for entity, _ in found if "loop" in entity]
    times = table.filter(pl.col("metric") == "utilization_pct")["time"].dt.epoch("s").to_list()
    assert times == [START + 30]
    assert not reading.notes
    assert "ballooning" in {gap.costs for gap in reading.gaps}


def test_one_scrape_has_gauges_and_says_so(tmp_path):
    (tmp_path / "kvm7.prom").write_text(node(0, clock=False).replace("node_uname_info", "node_other_info"))
    found, table, reading = rows(tmp_path / "kvm7.prom")
    assert found["host/kvm7", "load_1min"] == [3.5]
    assert ("host/kvm7", "utilization_pct") not in found
    assert table["time"].null_count() == len(table)
    assert reading.notes == ["counters need two scrapes of the same instance: only gauges are read"]
    assert telemetry_table.write(formats.read(str(tmp_path / "kvm7.prom")).frames, tmp_path / "t.parquet") > 0


@pytest.mark.parametrize("how", ["in the file", "in names", "in timestamps", "nowhere", "packed"])
def test_when_a_scrape_was_taken(tmp_path, how):
    first, second = (node(seconds, clock=how in ("in the file", "packed")) for seconds in (0, 10))
    path = tmp_path / "kvm1"
    if how == "in names":
        path.mkdir()
        (path / f"kvm1-{START}.prom").write_text(first)
        (path / f"kvm1-{START + 10}000.prom").write_text(second)
    elif how == "packed":
        path = tmp_path / "kvm1.prom.gz"
        path.write_bytes(gzip.compress((first + second).encode()))
    elif how == "in timestamps":
        stamped = [re.sub(r"(?m)^(node_.*)$", rf"\1 {START + at}000", text) for at, text in ((0, first), (10, second))]
        path.write_text("".join(stamped))
    else:
        path.write_text(first + second)
    found, _, reading = rows(path)
    if how == "nowhere":
        assert ("host/kvm1", "utilization_pct") not in found
        assert reading.notes == ["counters need two scrapes of the same instance, with times: only gauges are read"]
    else:
        assert found["host/kvm1", "utilization_pct"] == pytest.approx([25])
    assert len(found["host/kvm1", "load_1min"]) == 2


def test_several_instances_and_guests(tmp_path):
    texts = []
    for seconds in (0, 15):
        for name, guest in (("kvm1", False), ("db1", True)):
            texts.append(
                re.sub(
                    r"(?m)^(node_\w+)(?:\{(.*)\})?( )",
                    rf'\1{{\2,instance="{name}:9100"}}\3',
                    node(seconds, 0.5, name, guest),
                )
            )
    (tmp_path / "federate.txt").write_text("\n".join(texts))
    found, _, reading = rows(tmp_path / "federate.txt")
    assert found["host/kvm1", "utilization_pct"] == pytest.approx([50])
    assert found["guest/db1", "guest_cpu_pct"] == pytest.approx([50])
    assert found["guest/db1", "vcpus"] == [4, 4]
    assert reading.notes == ["assumed to be guests, from firmware or steal: 1 of 2 systems"]


def test_vmware_exporter(tmp_path):
    (tmp_path / "v.prom").write_text(VMWARE)
    found, _, _ = rows(tmp_path / "v.prom")
    assert found["host/esx1/vm/db", "ready_sum_pct"] == [8]
    assert found["host/esx1/vm/db", "interval_s"] == [20]
    assert found["host/esx1", "usage_pct"] == [25]
    assert found["host/esx1", "clock_mhz"] == [2400]
    assert ("host/esx1/vm/db", "used_mhz") not in found, "-1 is no value"


def test_a_restart_gives_no_rate_and_nanoseconds_are_found_out(tmp_path):
    (tmp_path / "kvm1.prom").write_text("".join(node(s) + libvirt(s, 1e9) for s in (100, 110)) + node(5) + libvirt(5))
    found, _, _ = rows(tmp_path / "kvm1.prom")
    assert found['host/kvm1/vm/db "a"%2Fb', "run_sum_pct"] == pytest.approx([100])
    assert len(found["host/kvm1", "load_1min"]) == 3


def test_a_reboot_between_scrapes_is_not_utilization(tmp_path):
    """Idle and user time fall, and steal time of 0 stays. After the reboot, time goes on."""
    shift = 1060
    after = [node(seconds).replace(f"{START + seconds:.3f}", f"{START + shift + seconds:.3f}") for seconds in (0, 60)]
    (tmp_path / "kvm1.prom").write_text("".join([node(940), node(1000), *after]))
    found, _, reading = rows(tmp_path / "kvm1.prom")
    assert found["host/kvm1", "utilization_pct"] == pytest.approx([25, 25])
    assert reading.notes == ["1 restart between scrapes: no rates from these times"]


def test_a_long_time_after_a_reboot_hides_in_no_counter(tmp_path):
    """All counters are above those of the scrape before, but the system booted in between."""
    boots = [f"node_boot_time_seconds {START + at}\n" for at in (-10, 12, 12)]
    text = "".join(node(seconds) + boot for seconds, boot in zip((0, 3600, 3660), boots, strict=True))
    (tmp_path / "kvm1.prom").write_text(text.replace(f"{START + 12}", f"{START + 1200}"))
    found, _, _ = rows(tmp_path / "kvm1.prom")
    assert found["host/kvm1", "utilization_pct"] == pytest.approx([25])


def test_a_vm_of_which_one_vcpu_restarted_has_no_rate(tmp_path):
    text = [node(seconds) + libvirt(seconds) for seconds in (100, 160)]
    text[1] = text[1].replace('vcpu="1"} 80.000000', 'vcpu="1"} 3.000000')
    (tmp_path / "kvm1.prom").write_text("".join(text))
    found, _, _ = rows(tmp_path / "kvm1.prom")
    vm = 'host/kvm1/vm/db "a"%2Fb'
    assert (vm, "run_sum_pct") not in found
    assert found[vm, "ready_sum_pct"] == pytest.approx([20])


def test_telemetry_and_diagnose_on_the_command_line(tmp_path, cli):
    folder = tmp_path / "kvm1"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.prom").write_text(node(30 * number) + libvirt(30 * number))
    done = cli("telemetry", "kvm1", "--format", "json", exits=0)
    assert "ready_sum_pct" in done.stdout
    done = cli("diagnose", "kvm1")
    assert done.returncode in (0, 1), done.stderr
    assert "db" in done.stdout


def read_all(folder: Path, text: str) -> None:
    """Read the whole of one scrape."""
    folder.mkdir(exist_ok=True)
    (folder / "a.prom").write_text(text)
    list(formats.read(str(folder / "a.prom")).frames)


HOSTILE = hostile.Importer(
    wrong=[
        ("# HELP go_info a\n# TYPE go_info gauge\ngo_info 1\n", "no known series"),
        ("# HELP node_load1 a\nnode_load1 NaN\n", "no known series"),
        ("# HELP node_load1 a\nnode_load1\n", "no known series"),
        ("node_cpu 1\n", "no reader recognises"),
    ],
    limits={(prometheus_text, limit): 0 for limit in ("MOST_SAMPLES", "MOST_ENTITIES", "MOST_INSTANCES")},
    good=lambda: [node(0) + libvirt(0)],
    read=read_all,
    has_values=False,
)


# the language


def value(expression: str, series: dict[str, dict[str, float]], grew: dict[str, dict[str, float]] | None = None):
    """Labels are single letters: `a=1,b=2`."""

    def keyed(found: dict[str, float]) -> dict[promql.Key, float]:
        return {
            tuple(sorted(tuple(pair.split("=")) for pair in key.split(",") if pair)): each
            for key, each in found.items()
        }

    found = promql.evaluated(
        expression, lambda name: keyed(series.get(name, {})), lambda name: keyed((grew or {}).get(name, {}))
    )
    return {",".join("=".join(pair) for pair in key): each for key, each in found.items()}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("s{$m}", {"a=1,b=x": 2, "a=1,b=y": 3, "a=2": 10}),
        ('s{$m b="x"}', {"a=1,b=x": 2}),
        ('s{$m b=~"x|y"}', {"a=1,b=x": 2, "a=1,b=y": 3}),
        ('s{$m b!~"x.*"}', {"a=1,b=y": 3, "a=2": 10}),
        ('s{$m b!~"x", a="2"}', {"a=2": 10}),
        ("max by (a) (s)", {"a=1": 3, "a=2": 10}),
        ("sum by (a) (s)", {"a=1": 5, "a=2": 10}),
        ("count by (a) (s)", {"a=1": 2, "a=2": 1}),
        ("sum by (a, b) (s)", {"a=1,b=x": 2, "a=1,b=y": 3, "a=2": 10}),
        ("100 - max by (a) (s) * 2", {"a=1": 94, "a=2": 80}),
        ("(100 - max by (a) (s)) * 2", {"a=1": 194, "a=2": 180}),
        ("max by (a) (s) / sum by (a) (t)", {"a=1": 1.5}),
        ("s / 0", {}),
        ("s > 2", {"a=1,b=y": 3, "a=2": 10}),
        ("100 * max by (a) (s >= 3)", {"a=1": 300, "a=2": 1000}),
        ("rate(t{$m}[$r])", {"a=1": 7}),
        ("1000 * max by (a) (rate(t[$r])) / (max by (a) (rate(t[$r])) > 6)", {"a=1": 1000}),
        ("none", {}),
    ],
)
def test_expressions(expression, expected):
    series = {"s": {"a=1,b=x": 2.0, "a=1,b=y": 3.0, "a=2": 10.0}, "t": {"a=1": 2.0}}
    assert value(expression, series, {"t": {"a=1": 7.0}}) == pytest.approx(expected)


def test_every_query_can_be_evaluated_and_names_its_series():
    asked = [query for exporter in EXPORTERS for query in exporter.queries]
    for expression in [*(query.expression for query in asked), prometheus_series.STOLEN, prometheus_series.TOO_FAST]:
        assert promql.evaluated(expression, lambda _: {}, lambda _: {}) == {}
        assert promql.names(expression) == set(re.findall(r"\b(?:node|libvirt|vmware)_\w+", expression)), expression
    for query in asked:
        assert query.series in promql.names(query.expression)
    assert promql.evaluated("s", lambda _: {(): math.inf}, lambda _: {}) == {}


@given(
    lines=st.lists(
        st.text(max_size=40)
        | st.builds(
            "{}{{{}}} {} {}".format,
            st.sampled_from(
                ["node_load1", "libvirt_domain_info_virtual_cpus", "vmware_vm_num_cpu", "node_time_seconds"]
            ),
            st.sampled_from(
                ['instance="a"', 'domain="b"', "", '"', 'a="\\', 'a="1",a="2"', 'vm_name="x",host_name="y"']
            ),
            st.sampled_from(["1", "NaN", "+Inf", "1e308", "-0", "1_0", "٣"]),
            st.sampled_from(["", "1767225600000", "-5", "1e9", "99999999999999999999"]),
        ),
        max_size=20,
    )
)
def test_any_lines_are_taken_or_refused(tmp_path, lines):
    (tmp_path / "a.prom").write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape")
    for part in hostile.taken(lambda: [*prometheus_text.read(tmp_path / "a.prom").frames]) or ():
        assert part["value"].is_finite().all()
