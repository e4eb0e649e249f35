"""A real Prometheus server: one that scrapes a real node exporter, and one whose series are known exactly.

The libvirt and vmware exporters need a hypervisor, so what they would have said is back-filled (promtool), in their own
names and units.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import polars as pl
import pytest
from tests.conftest import Cli, needs

from hypertwin.errors import SourceError
from hypertwin.ingest import formats, telemetry
from hypertwin.ingest.demand import with_measured
from hypertwin.ingest.inventory import Host, Inventory, Vm

pytestmark = pytest.mark.slow

PROGRAMS = Path(sys.prefix) / "guest"
PROMETHEUS, PROMTOOL, NODE = (PROGRAMS / name for name in ("prometheus", "promtool", "prometheus-node-exporter"))
START = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
MINUTES = 10


def backfill() -> str:
    """Ten minutes of two libvirt hosts and one vCenter in OpenMetrics; every rate and gauge is constant.

    kvm1: `db` has 4 vCPUs that wait 3.5 % each, so 14 % in all, and run 50 %. kvm2 has an old exporter that counts
    nanoseconds. vCenter: `db` ready 2,800 ms of each 20 s, which is 14 % summed over 4 vCPUs.
    """
    families: dict[str, tuple[str, list[str]]] = {}

    def series(kind: str, name: str, labels: str, value: float) -> None:
        """A gauge of this value, or a counter that grows by it each second."""
        family = families.setdefault(name.removesuffix("_total") if kind == "counter" else name, (kind, []))
        step = 15 if "libvirt" in name else 60
        for second in range(0, MINUTES * 60 + 1, step):
            at = value * (1000 + second) if kind == "counter" else value
            family[1].append(f"{name}{{{labels}}} {at!r} {START + second}")

    for host, scale in (("kvm1", 1.0), ("kvm2", 1e9)):
        labels = f'instance="{host}:9177",job="libvirt",domain="db"'
        series("gauge", "libvirt_domain_info_virtual_cpus", labels, 4.0)
        series("counter", "libvirt_domain_info_cpu_time_seconds_total", labels, 2.25)
        for vcpu in range(4):
            one = f'{labels},vcpu="{vcpu}"'
            series("counter", "libvirt_domain_vcpu_time_seconds_total", one, 0.5 * scale)
            series("counter", "libvirt_domain_vcpu_delay_seconds_total", one, 0.035 * scale)
        disk = f'{labels},target_device="vda"'
        series("counter", "libvirt_domain_block_stats_read_requests_total", disk, 120.0)
        series("counter", "libvirt_domain_block_stats_read_time_seconds_total", disk, 0.24)
    machine = 'job="vmware",dc_name="dc",cluster_name="c1",host_name="esx1.example",vm_name="=cmd|\'/c calc\'!A1 <b>"'
    for name, value in (
        *(("num_cpu", 4.0), ("cpu_ready_summation", 2800.0), ("cpu_costop_summation", 200.0)),
        *(("cpu_usagemhz_average", 5200.0), ("mem_vmmemctl_average", 1024.0), ("memory_max", 8192.0)),
    ):
        series("gauge", f"vmware_vm_{name}", machine, value)
    host = 'job="vmware",dc_name="dc",cluster_name="c1",host_name="esx1.example"'
    for name, value in (("num_cpu", 24.0), ("cpu_max", 60_000.0), ("cpu_usage", 45_000.0)):
        series("gauge", f"vmware_host_{name}", host, value)
    return "".join(
        f"# TYPE {name} {kind}\n" + "".join(f"{line}\n" for line in lines) for name, (kind, lines) in families.items()
    ) + ("# EOF\n")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def running(*command: object, ready: str) -> Iterator[None]:
    """A program, from when it answers on an address until the block ends."""
    process = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                if httpx.get(ready, trust_env=False).status_code == 200:
                    break
            except httpx.TransportError:
                assert process.poll() is None, f"{command[0]} ended"
            assert time.monotonic() < deadline, f"{command[0]} does not answer"
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with back-filled series that scrapes a node exporter each second; its host and port."""
    needs(PROMETHEUS, PROMTOOL, NODE)
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "series").write_text(backfill())
    filled = [PROMTOOL, "tsdb", "create-blocks-from", "openmetrics", folder / "series", folder / "data"]
    subprocess.run(filled, check=True, capture_output=True)
    port, exporter = free_port(), free_port()
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        f"scrape_configs: [{{job_name: node, static_configs: [{{targets: ['127.0.0.1:{exporter}']}}]}}]\n"
    )
    settings = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    settings += [f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.retention.time=100y"]
    node = running(NODE, f"--web.listen-address=127.0.0.1:{exporter}", ready=f"http://127.0.0.1:{exporter}/metrics")
    with node, running(PROMETHEUS, *settings, ready=f"http://127.0.0.1:{port}/-/ready"):
        yield f"127.0.0.1:{port}"


def means(frames: list[pl.DataFrame]) -> dict[tuple[str, str], float]:
    """Mean by entity and metric, of values that must all be the same."""
    found = (
        pl.concat(frames).group_by("entity", "metric").agg(pl.col("value").mean(), pl.col("value").std().alias("sd"))
    )
    assert (found["sd"].fill_null(0) <= 1e-6 * found["value"].abs() + 1e-9).all()
    return {(entity, metric): value for entity, metric, value, _ in found.iter_rows()}


def test_series_that_are_known_come_back_in_the_table_s_units(server: str) -> None:
    reading = formats.read(f"prometheus://{server}/?start={START + 300}&end=2026-01-01T00:10Z")
    found = means(list(reading.frames))
    vm = telemetry.entity("host", "esx1.example", "vm", "=cmd|'/c calc'!A1 <b>")
    expected = {
        **{(vm, "ready_sum_pct"): 14, (vm, "interval_s"): 20, (vm, "costop_sum_pct"): 1, (vm, "vcpus"): 4},
        **{(vm, "used_mhz"): 5200, (vm, "ballooned_bytes"): 2**20, (vm, "memory_bytes"): 8 * 2**30},
        **{("host/esx1.example", "clock_mhz"): 2500, ("host/esx1.example", "cores"): 24},
        ("host/esx1.example", "usage_pct"): 75,
    }
    for host in ("kvm1", "kvm2"):
        domain = f"host/{host}/vm/db"
        expected |= {(domain, "vcpus"): 4, (domain, "cpu_cores"): 2.25, (domain, "run_sum_pct"): 200}
        expected |= {(domain, "ready_sum_pct"): 14, (domain, "interval_s"): 38}
        expected |= {(f"{domain}/vcpu/{vcpu}", "ready_sum_pct"): 3.5 for vcpu in range(4)}
        expected |= {(f"{domain}/vcpu/{vcpu}", "run_sum_pct"): 50 for vcpu in range(4)}
        expected |= {(f"{domain}/disk/vda", "read_iops"): 120, (f"{domain}/disk/vda", "read_latency_ms"): 2}
    assert found == pytest.approx(expected, rel=1e-6)
    assert "1 libvirt exporters count vCPU time in nanoseconds: read as such" in reading.notes
    assert "libvirt exporter: a point each 15 s, rates over 38 s" in reading.notes
    lacking = {gap.what for gap in reading.gaps}
    assert {"vmware_vm_cpu_maxlimited_summation", "libvirt_domain_memory_stats_rss_bytes"} <= lacking
    assert not any(name.startswith("node_") for name in lacking)  # there is no node exporter, so it lacks nothing


def test_a_long_window_is_read_in_stretches(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = (
        f'prometheus://{server}?start={START + 60}&end={START + 600}&step=15s&match=domain="db",instance=~"kvm1.*"'
    )
    whole = pl.concat(formats.read(address).frames)
    monkeypatch.setattr("hypertwin.ingest.prometheus.CHUNK_POINTS", 7)
    parts = pl.concat(formats.read(address).frames)
    order = ["entity", "metric", "time"]
    assert (
        parts.cast(dict.fromkeys(order[:2], pl.String))
        .sort(order)
        .equals(whole.cast(dict.fromkeys(order[:2], pl.String)).sort(order))
    )
    ready = whole.filter(pl.col("metric") == "ready_sum_pct", pl.col("entity") == "host/kvm1/vm/db")
    assert ready["time"].dt.epoch("s").to_list() == list(range(START + 60, START + 601, 15))


def test_demand_of_machines(server: str) -> None:
    reading = formats.read(f"prometheus://{server}?start={START + 300}&end={START + 600}")
    hosts = [Host(name, 2, 12, 2, 1 << 38, clock_hz=2e9) for name in ("kvm1", "kvm2")]
    vms = [Vm(name, 4, 1 << 33) for name in ("=cmd|'/c calc'!A1 <b>", "db")]
    sheet, db = (vm.demand for vm in with_measured(Inventory("x", "x", hosts, vms), [reading]).vms)
    assert sheet is not None
    assert db is not None
    assert sheet.cpu_mhz == pytest.approx(5200)
    assert db.cpu_mhz == pytest.approx(2000 * (2.0 + 0.14))  # of vCPUs alone, without QEMU's other threads
    assert db.iops == pytest.approx(120)


def test_a_scraped_node_exporter(server: str, cli: Cli) -> None:
    _until_scraped(server, times=10)
    begin = time.time() - 5
    done = cli("telemetry", f"prometheus://{server}?start={begin}&step=1s", "--format", "json", exits=0)
    found = json.loads(done.stdout)
    metrics = {line["metric"]: line for line in found["lines"]}
    system = {
        "user_pct",
        "system_pct",
        "iowait_pct",
        "run_queue",
        "load_1min",
        "memory_bytes",
        "context_switches_per_s",
    }
    assert system <= metrics.keys()
    assert metrics.keys() & {"guest_cpu_pct", "utilization_pct"}
    assert found["sources"][0]["kind"] == "prometheus"
    assert all(line["max"] <= 100.5 for line in metrics.values() if line["metric"] in ("user_pct", "system_pct"))
    assert metrics["memory_bytes"]["mean"] == pytest.approx(_memory_bytes())
    assert metrics["run_queue"]["samples"] >= 2
    assert begin - 1 <= datetime.fromisoformat(found["first"]).timestamp() <= time.time()
    assert "node_exporter: a point each 1 s, rates over" in done.stderr


def _until_scraped(server: str, times: int) -> None:
    """Waits until the exporter has been scraped so often."""
    ask = f"http://{server}/api/v1/query?" + urllib.parse.urlencode({"query": "count_over_time(node_load1[1m])"})
    for _ in range(100):
        with urllib.request.urlopen(ask, timeout=10) as answer:
            found = json.load(answer)["data"]["result"]
        if found and float(found[0]["value"][1]) >= times:
            return
        time.sleep(0.5)
    pytest.fail(f"not scraped {times} times in 50 s")


def _memory_bytes() -> int:
    with Path("/proc/meminfo").open(encoding="ascii") as lines:
        return 1024 * int(next(line for line in lines if line.startswith("MemTotal:")).split()[1])


def test_where_there_is_nothing_it_says_what_would_be_understood(server: str) -> None:
    with pytest.raises(SourceError, match="source-lacks") as caught:
        formats.read(f"prometheus://{server}?start=2025-01-01&hours=1&end=2025-01-01T02:00Z")
    assert "libvirt_domain_info_virtual_cpus" in caught.value.mistakes[0].allowed


def test_a_matcher_that_is_none_is_the_server_s_own_error(server: str) -> None:
    with pytest.raises(SourceError, match="parse error"):
        formats.read(f"prometheus://{server}?match=a==b")
