"""A vCenter Server through pyVmomi: govmomi's simulator, built by scripts/build_vcsim."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.conftest import needs
from tests.estate import make, vcenter
from tests.estate.agreement import agrees, imported
from tests.vcsim.server import BINARY, PASSWORD, USER, Server, disk, host, rule, served, snapshot, vm

import hypertwin
from hypertwin.errors import HypertwinError, SourceError, UnreachableError
from hypertwin.ingest import formats, sources
from hypertwin.ingest.inventory import Cluster, Inventory, Rule, Snapshots, VirtualDisk
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.vmware import vcenter_source, vsphere
from hypertwin.members import SourceCluster

NOW = datetime.now(UTC).replace(microsecond=0)
SAMPLES = 3

OVERCOMMITTED = """
name: overcommitted
run: {duration: 3 s, warmup: 500 ms, seed: 3, replications: 1}
hosts:
  esx0: {sockets: 1, cores_per_socket: 2, clock: 2.5 GHz, memory_per_node: 64 GiB, hypervisor: esxi-8.0}
vms:
  db: {vcpus: 4, memory: 8 GiB, workload: oltp}
  web: {count: 2, vcpus: 2, memory: 2 GiB, workload: oltp}
workloads:
  oltp: {arrivals: {closed: {population: 30, think: {mean: 20 ms}}}, cpu: {mean: 4 ms}, delay: {mean: 2 ms}}
"""


pytestmark = pytest.mark.slow  # the simulator of vCenter


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    needs(BINARY)
    monkeypatch.setenv("HYPERTWIN_PASSWORD", PASSWORD)


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """A cluster at three loads, one for each sample."""
    path = tmp_path_factory.mktemp("twin") / "cluster.yaml"
    path.write_text(OVERCOMMITTED)
    return hypertwin.simulate(path, sweep={"vms.db.load": [0.2, 1, 3]}).points


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, points: list[dict[str, Any]]) -> Iterator[Server]:
    needs(BINARY)
    with served(tmp_path_factory.mktemp("vcsim"), {**ESTATE, **counters_of(points)}) as server:
        yield server


@pytest.fixture(scope="module")
def inventory(cluster: Server) -> Iterator[Inventory]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HYPERTWIN_PASSWORD", PASSWORD)
        yield sources.read([cluster.address()])


ESTATE: dict[str, Any] = {
    "Clusters": 1,
    "Standalone": 1,
    "HA": {"Enabled": True, "AdmissionControl": True, "Policy": "level", "Failures": 1, "EVC": "intel-ivybridge"},
    "Uncommitted": 2**40,
    "Hosts": [
        host("alone", Sockets=1, Nodes=0, Threads=1, NoDetails=True),
        host("esx0", Policy="static", EVC="intel-ivybridge"),
        host("esx1", Maintenance=True),
        host("esx2", State="disconnected"),
        host("esx3", State="notResponding", NoHardware=True),
    ],
    "VMs": [
        vm(
            "db%2f1",
            1,
            **{"VCPUs": 24, "CoresPerSocket": 12, "MemoryMB": 65536, "HotAdd": True, "Level": "high", "Shares": 48000},
            Reservation=5000,
            Limit=40000,
            Affinity=[1, 2, 3, 7, 9, 10],
            Extra={"numa.vcpu.preferHT": "TRUE", "numa.vcpu.maxPerVirtualNode": "12", "sched.cpu.x": "=cmd|' /C x'!A"},
            CoresPerNode=12,
            Disks=[disk("pvscsi", 0, 0, 100), disk("pvscsi", 1, 3, 20), disk("nvme", 0, 0, 7), disk("ide", 0, 1, 1)],
        ),
        vm("db", 1, Disks=[disk("lsi-sas", 0, 0, 10)], Ready=7, Ballooned=512, Swapped=64),
        vm("web-1", 1, VCPUs=2, Level="custom", Shares=1234, Demand=0),
        vm("web-2", 1, VCPUs=2, Ballooned=100, Snapshots=[snapshot("2026-03-01", 5), snapshot("2026-04-01", 7)]),
        vm("NTNX-1234-A-CVM", 2),
        vm("twin", 0),
        vm("twin", 1),
        vm("off", 1, Power="poweredOff", Ballooned=7),
        vm("golden", -1, Power="poweredOff", Template=True),
        vm("lost", 1, Connection="inaccessible", NoConfig=True),
        vm("<script>alert(1)</script>\u202e\n=cmd|' /C calc'!A0", 1),
    ],
    "Rules": [
        rule("apart", "keep-apart", ["web-1", "web-2"], Mandatory=True),
        rule("together", "keep-together", ["db", "web-1"]),
        rule("licensed", "run-on", ["db%2f1"], [1, 2], Mandatory=True),
        rule("never", "not-on", ["db"], [2]),
        rule("asleep", "keep-apart", ["db", "web-1"], Disabled=True),
    ],
}


def counters_of(points: list[dict[str, Any]], interval_s: int = 20) -> dict[str, Any]:
    """What vCenter would show of simulated points, one sample each: ms summed over vCPUs, hundredths of a per cent."""
    series: dict[str, dict[str, dict[str, list[int | None]]]] = {}
    for point in points:
        for name, figures in point["vms"].items():
            ms = figures["vcpus"] * interval_s * 10
            for metric in ("run", "ready", "costop", "wait", "used"):
                of_counter = series.setdefault(name, {}).setdefault(f"cpu.{metric}.summation", {"": [], "0": []})
                of_counter[""].append(round(figures[f"{metric}_pct"] * ms))
                of_counter["0"].append(round(figures[f"{metric}_pct"] * interval_s * 10))
            usage = series[name].setdefault("cpu.usagemhz.average", {"": []})
            usage[""].append(round(figures["used_mhz"]))
        usage = series.setdefault("esx0", {}).setdefault("cpu.usage.average", {"": []})
        usage[""].append(round(100 * point["hosts"]["esx0"]["usage_pct"]))
    disks = {"scsi0:0": [100, 0, None], "scsi1:3": [-1, -1, 5]}
    series["db%2f1"] = {
        "virtualDisk.numberReadAveraged.average": disks,
        "virtualDisk.numberWriteAveraged.average": {"scsi0:0": [50, 1, 2]},
        "virtualDisk.read.average": {"scsi0:0": [8, 0, 0]},
        "virtualDisk.totalReadLatency.average": {"scsi0:0": [3, 0, 0]},
        "mem.vmmemctl.average": {"": [2048, 0, 0]},
    }
    series["esx0"]["disk.kernelLatency.average"] = {"naa.600": [0, 1, 2]}
    series["esx0"]["disk.commandsAborted.summation"] = {"naa.600": [0, 40, 0]}
    ends = [NOW - timedelta(seconds=interval_s * (len(points) - 1 - i)) for i in range(len(points))]
    return {"Interval": interval_s, "Times": [f"{end:%Y-%m-%dT%H:%M:%SZ}" for end in ends], "Series": series}


def test_hosts(inventory: Inventory) -> None:
    hosts = {host.name: host for host in inventory.hosts}
    assert list(hosts) == ["alone", "esx0", "esx1", "esx2"]
    esx0 = hosts["esx0"]
    assert (esx0.sockets, esx0.cores_per_socket, esx0.threads_per_core, esx0.numa_nodes) == (2, 12, 2, 2)
    assert (esx0.memory_bytes, esx0.clock_hz, esx0.cpu_usage_pct) == (256 * 2**30, 2.5e9, 50.0)
    assert (esx0.hypervisor, esx0.cluster) == ("VMware ESXi 8.0.2 build-22380479", "DC0_C0")
    assert esx0.cpu_model == "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz"
    alone = hosts["alone"]  # of which only the summary is there
    assert (alone.sockets, alone.cores_per_socket, alone.threads_per_core) == (1, 12, 1)
    assert (alone.clock_hz, alone.numa_nodes, alone.hypervisor, alone.cluster) == (2.5e9, None, None, None)
    assert [name for name, host in hosts.items() if host.in_maintenance] == ["esx1", "esx2"]
    assert (esx0.memory_usage_pct, esx0.processors, esx0.hyper_threading_available) == (25.0, 2, True)
    assert (esx0.power_policy, hosts["esx1"].power_policy) == ("high-performance", "balanced")
    assert (esx0.evc, esx0.evc_most, hosts["esx1"].evc) == ("intel-ivybridge", "intel-haswell", None)
    assert (esx0.ballooned_bytes, esx0.swapped_bytes) == (612 * 2**20, 64 * 2**20)
    assert (hosts["esx1"].ballooned_bytes, hosts["esx2"].ballooned_bytes, hosts["esx2"].cpu_usage_pct) == (
        0,
        None,
        None,
    )
    assert {host.datacenter for host in hosts.values()} == {"DC0"}
    assert {host.counter for host in hosts.values()} == {"quickStats.overallCpuUsage"}
    assert {datetime.fromisoformat(host.at or "").tzinfo for host in hosts.values()} == {UTC}
    assert (alone.hyper_threading_available, alone.power_policy, alone.datacenter) == (None, None, "DC0")
    said = {assumption.subject: assumption.text for assumption in inventory.assumptions}
    assert "not connected" in said["esx2"]
    assert "left out" in said["esx3"]


def test_machines(inventory: Inventory) -> None:
    vms = {vm.name: vm for vm in inventory.vms}
    db = vms["db/1"]
    assert (db.vcpus, db.cores_per_socket, db.memory_bytes, db.host) == (24, 12, 64 * 2**30, "esx0")
    assert (db.shares, db.reservation_mhz, db.limit_mhz, db.cpu_hot_add) == ("high", 5000.0, 40000.0, True)
    assert (db.affinity, db.guest_os) == ("1-3,7,9-10", "Debian GNU/Linux 12")
    assert db.numa == {"prefer_ht": True, "max_per_virtual_node": 12, "cores_per_node": 12}
    assert db.disks == (
        VirtualDisk(100 * 2**30, "pvscsi", 0, "LocalDS_0"),
        VirtualDisk(20 * 2**30, "pvscsi", 1, "LocalDS_0"),
        VirtualDisk(7 * 2**30, "nvme", 0, "LocalDS_0"),
        VirtualDisk(2**30, None, None, "LocalDS_0"),
    )
    assert db.demand is not None and (db.demand.cpu_mhz, db.demand.iops) == (1000.0, None)
    web = vms["web-1"]
    assert (web.shares, web.reservation_mhz, web.limit_mhz, web.numa) == (1234, None, None, {})
    assert web.demand is not None and web.demand.cpu_mhz == 900.0
    assert vms["db"].disks[0].controller == "lsi-sas"
    assert vms["NTNX-1234-A-CVM"].storage_appliance and not db.storage_appliance
    assert (vms["db"].ready_pct, vms["db"].ballooned_bytes, vms["db"].swapped_bytes) == (7, 512 * 2**20, 64 * 2**20)
    assert (vms["db"].memory_consumed_bytes, vms["db"].memory_active_bytes) == (6_000 * 2**20, 2_000 * 2**20)
    assert (vms["db"].storage_used_bytes, vms["db"].storage_provisioned_bytes) == (10 * 2**30, 40 * 2**30)
    assert (vms["db"].cluster, vms["db"].datacenter, vms["db"].snapshots) == ("DC0_C0", "DC0", Snapshots(0))
    assert db.source is not None and db.source.disks is not None
    assert (db.source.tpm, db.source.passthrough_devices, db.source.firmware) == (False, 0, None)
    assert [(each.capacity_bytes, each.raw) for each in db.source.disks] == [
        (each.capacity_bytes, "none") for each in db.disks
    ]
    assert vms["web-2"].snapshots == Snapshots(2, 2 * 2**30 + (5 + 7) * 2**20, "2026-03-01T00:00:00+00:00")
    assert (db.demand.counter, db.demand.at) == ("quickStats.overallCpuDemand", inventory.hosts[0].at)
    assert (vms["off"].powered_on, vms["off"].demand, vms["off"].memory_consumed_bytes) == (False, None, None)
    assert (vms["golden"].is_template, vms["golden"].host) == (True, None)
    assert "lost" not in vms
    assert any(one.subject == "lost" and "inaccessible" in one.text for one in inventory.assumptions)
    assert sorted(name for name in vms if name.startswith("twin")) == ["twin (vm-1005)", "twin (vm-1006)"]
    assert "<script>alert(1)</script> =cmd|' /C calc'!A0" in vms
    assert len(vms) == 10


def test_port_groups_of_distributed_switches(cluster: Server) -> None:
    from pyVmomi import vim

    with vsphere.connected(cluster.address()) as session:
        found = vcenter_source.port_groups(session, vim).values()
    assert ("DC0_DVPG0", "DVS0") in {(each.name, each.switch) for each in found}


def test_rules_and_datastores(inventory: Inventory) -> None:
    assert list(inventory.rules) == [
        Rule("apart", "keep-apart", ("web-1", "web-2"), (), True),
        Rule("together", "keep-together", ("db", "web-1")),
        Rule("licensed", "run-on", ("db/1",), ("esx0", "esx1"), True),
        Rule("never", "not-on", ("db",), ("esx1",)),
    ]
    (store,) = inventory.datastores
    assert (store.name, len(store.hosts)) == ("LocalDS_0", 5)
    assert store.capacity_bytes and store.free_bytes
    assert store.provisioned_bytes == store.capacity_bytes - store.free_bytes + 2**40
    said: dict[str, Any] = {"admission_policy": "slots", "restarts_by": "fdm", "drs": True}
    said["source"] = SourceCluster(drs=True, all_rules=True)
    assert list(inventory.clusters) == [Cluster("DC0_C0", "DC0", True, True, 1, "intel-ivybridge", **said)]
    assert not inventory.gaps


@pytest.mark.parametrize(
    ("policy", "failures"), [("level", 2), ("auto percent", 2), ("percent", None), ("hosts", 2), ("", 2)]
)
def test_failures_that_ha_keeps_room_for(policy: str, failures: int | None, tmp_path: Path) -> None:
    far = vm("far", 0, Connection="disconnected")
    world = {
        "Hosts": [host("esx0"), host("esx1")],
        "Clusters": 2,
        "HA": {"Policy": policy, "Failures": 2},
        "VMs": [far],
    }
    with served(tmp_path, world) as server:
        inventory = sources.read([server.address()])
        one = sources.read([server.address("/DC0/DC0_C1")])
    assert [(each.name, each.ha, each.admission_control) for each in inventory.clusters] == [
        ("DC0_C0", False, False),
        ("DC0_C1", False, False),
    ]
    assert {each.failures for each in inventory.clusters} == {failures}
    (unreached,) = inventory.vms
    assert (unreached.powered_on, unreached.demand, unreached.memory_active_bytes) == (True, None, None)
    assert [each.name for each in one.clusters] == ["DC0_C1"]


def test_a_cluster_of_a_datacenter(cluster: Server) -> None:
    whole = ["alone", "esx0", "esx1", "esx2"]
    for path, hosts in (("/DC0", whole), ("/DC0/DC0_C0", whole[1:]), ("/DC0/host/DC0_C0", whole[1:])):
        assert [host.name for host in sources.read([cluster.address(path)]).hosts] == hosts
    with pytest.raises(SourceError, match="no such object"):
        sources.read([cluster.address("/DC7")])


def table(reading: Reading) -> pl.DataFrame:
    """All of a reading."""
    return pl.concat(list(reading.frames)).with_columns(pl.col("entity", "metric").cast(pl.String))


def values(frame: pl.DataFrame, entity: str, metric: str) -> list[float]:
    """The values of one metric in the order of time."""
    found = frame.filter((pl.col("entity") == entity) & (pl.col("metric") == metric))
    return found.sort("time")["value"].to_list()


def test_a_simulated_cluster_is_read_back(cluster: Server, points: list[dict[str, Any]]) -> None:
    frame = table(formats.read(cluster.address()))
    assert max(point["vms"]["db"]["ready_pct"] for point in points) > 1
    for name in ("db", "web-1", "web-2"):
        entity = f"host/esx0/vm/{name}"
        for metric in ("run", "ready", "costop", "wait", "used"):
            vcpus = points[0]["vms"][name]["vcpus"]
            simulated = [point["vms"][name][f"{metric}_pct"] for point in points]
            summed = [vcpus * value for value in simulated]
            assert values(frame, entity, f"{metric}_sum_pct") == pytest.approx(summed, abs=0.0051)
            assert values(frame, f"{entity}/vcpu/0", f"{metric}_sum_pct") == pytest.approx(simulated, abs=0.0051)
        mhz = [point["vms"][name]["used_mhz"] for point in points]
        assert values(frame, entity, "used_mhz") == pytest.approx(mhz, abs=0.51)
        assert values(frame, entity, "interval_s") == [20.0] * SAMPLES
    assert values(frame, "host/esx0/vm/web-1", "vcpus") == [2.0]
    usage = [point["hosts"]["esx0"]["usage_pct"] for point in points]
    assert values(frame, "host/esx0", "usage_pct") == pytest.approx(usage, abs=0.0051)
    assert values(frame, "host/esx0", "clock_mhz") == [2500.0]


def test_disks_devices_and_samples_that_are_missing(cluster: Server) -> None:
    reading = formats.read(cluster.address())
    frame = table(reading)
    disk = "host/esx0/vm/db%2F1/disk/scsi0:0"
    assert values(frame, disk, "read_iops") == [100.0, 0.0]
    assert values(frame, disk, "write_iops") == [50.0, 1.0, 2.0]
    assert values(frame, disk, "iops") == [150.0, 1.0]
    assert values(frame, disk, "read_bytes_per_s") == [8192.0, 0.0, 0.0]
    assert values(frame, disk, "read_latency_ms") == [3.0, 0.0, 0.0]
    assert values(frame, "host/esx0/vm/db%2F1/disk/scsi1:3", "read_iops") == [5.0]
    assert values(frame, "host/esx0/vm/db%2F1", "ballooned_bytes") == [2048 * 1024.0, 0.0, 0.0]
    assert values(frame, "host/esx0/device/naa.600", "kernel_latency_ms") == [0.0, 1.0, 2.0]
    assert values(frame, "host/esx0/device/naa.600", "aborts_per_s") == [0.0, 2.0, 0.0]
    assert frame["value"].is_finite().all()
    assert frame["time"].max() == NOW
    gaps = {gap.what: gap.costs for gap in reading.gaps}
    assert "no samples of hosts" in gaps["cpu.utilization.average"]
    assert "7 hosts and VMs" in gaps["samples"]
    assert not any("off" in path for path in frame["entity"].unique() if "/vm/" in path)


def test_ready_of_five_minutes_is_over_five_minutes(tmp_path: Path, points: list[dict[str, Any]]) -> None:
    with served(tmp_path, {**ESTATE, **counters_of(points, 300)}) as server:
        day = table(formats.read(server.address(query="hours=12")))
        live = list(formats.read(server.address()).frames)
    ready = [4 * point["vms"]["db"]["ready_pct"] for point in points]
    assert values(day, "host/esx0/vm/db", "ready_sum_pct") == pytest.approx(ready, abs=0.001)
    assert values(day, "host/esx0/vm/db", "interval_s") == [300.0] * SAMPLES
    assert live == []


def test_values_that_do_not_match_their_times_are_refused(tmp_path: Path, points: list[dict[str, Any]]) -> None:
    world = {**ESTATE, **counters_of(points), "Cut": True}
    with served(tmp_path, world) as server, pytest.raises(SourceError, match="2 values for 3 samples"):
        table(formats.read(server.address()))


def test_what_may_not_be_read_is_named_and_costs_no_more(tmp_path: Path, points: list[dict[str, Any]]) -> None:
    hidden = ["config.extraConfig", "hardware.cpuInfo", "config.hardware.device"]
    world = {**ESTATE, **counters_of(points), "Hidden": hidden, "Forbidden": ["web-1", "twin"], "APIVersion": "6.5"}
    with served(tmp_path, world) as server:
        inventory = sources.read([server.address()])
        reading = formats.read(server.address())
        frame = table(reading)
    assert inventory.hosts[1].cores_per_socket == 12
    assert inventory.hosts[1].clock_hz == 2.5e9
    assert all(not vm.numa and not vm.disks and vm.ready_pct is None for vm in inventory.vms)
    assert {gap.what.partition(".")[2] for gap in inventory.gaps} == set(hidden)
    assert values(frame, "host/esx0/vm/web-1", "ready_sum_pct") == []
    assert len(values(frame, "host/esx0/vm/web-2", "ready_sum_pct")) == SAMPLES
    assert {"QueryPerf (NoPermission)": "counters of 3 hosts and VMs"}.items() <= {
        gap.what: gap.costs for gap in reading.gaps
    }.items()


def test_the_session_ends_whatever_happens(cluster: Server) -> None:
    def others() -> int:
        with vsphere.connected(cluster.address()) as session:
            return len(session.content.sessionManager.sessionList)

    before = others()
    with pytest.raises(SourceError):
        sources.read([cluster.address("/nowhere")])
    frames = formats.read(cluster.address()).frames
    next(frames)
    assert others() == before + 1
    frames.close()  # type: ignore[attr-defined]
    assert others() == before


def test_the_password_is_in_no_message(
    cluster: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYPERTWIN_PASSWORD", "planted-secret")
    for read in (lambda address: sources.read([address]), lambda address: list(formats.read(address).frames)):
        for address, error in (
            (cluster.address(), "wrong user or password"),
            (cluster.address(trusted=False), "certificate"),
            (cluster.address().replace(str(cluster.port), "1"), "Connection refused"),
            (f"vcenter://{USER}:planted-secret@127.0.0.1", "leave it out"),
            ("vcenter://127.0.0.1", "name a user"),
            (cluster.address(query="interval=planted"), "interval"),
        ):
            with pytest.raises(HypertwinError, match=error) as caught:
                read(address)
            said += [str(caught.value), repr(caught.value), "".join(traceback.format_exception(caught.value))]
            assert isinstance(caught.value, UnreachableError | SourceError)
            assert "planted-secret" not in repr(caught.value.__context__)
    out, err = capfd.readouterr()
    assert "planted-secret" not in "".join(said) + out + err
    assert not list(tmp_path.iterdir())


def test_the_command_line_shows_and_writes_no_password(cluster: Server, tmp_path: Path) -> None:
    def run(address: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from hypertwin.cli.main import main; main()", "telemetry", address]
        environment = {**os.environ, "HYPERTWIN_PASSWORD": PASSWORD}
        return subprocess.run(
            [*command, "-o", "t.parquet"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    done = run(cluster.address())
    assert done.returncode == 0, done.stderr
    failed = run(cluster.address(trusted=False))
    assert (failed.returncode, "Traceback" in failed.stderr) == (1, False)
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    secret = PASSWORD.split()[0]
    assert written and secret.encode() not in written
    assert secret not in done.stdout + done.stderr + failed.stdout + failed.stderr


def test_a_certificate_may_be_taken_unseen(cluster: Server) -> None:
    reading = formats.read(cluster.address(query="insecure=1", trusted=False))
    assert sum(part.height for part in reading.frames) > 0
    assert any("certificate" in note for note in reading.notes)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("knobs", [{}, {"clusters": vcenter.CLUSTERS, "hosts": 8}, {"measured_vms": False}])
def test_an_import_is_the_truth(tmp_path: Path, knobs: dict[str, Any], seed: int) -> None:
    estate = make(seed, **{"clusters": vcenter.CLUSTERS[:1], **knobs})
    with served(tmp_path, vcenter.world(estate)) as server:
        agrees(imported(server.address()), estate)


def test_an_import_with_poor_rights_is_the_truth(tmp_path: Path) -> None:
    estate = make(3, clusters=vcenter.CLUSTERS[:1])
    with served(tmp_path, vcenter.world(estate, poor=True)) as server:
        agrees(imported(server.address()), estate)


def test_a_large_estate(tmp_path: Path) -> None:
    hosts = [host(f"esx{i}") for i in range(34)]
    vms = [vm(f"vm-{i}", i % 34, Disks=[disk("pvscsi", d, 0, 10) for d in range(3)]) for i in range(800)]
    with served(tmp_path, {"Hosts": hosts, "VMs": vms, "Clusters": 2}) as server:
        inventory = sources.read([server.address()])
    assert (len(inventory.hosts), len(inventory.vms)) == (34, 800)
    assert sum(len(vm.disks) for vm in inventory.vms) == 2400
    assert {host.cluster for host in inventory.hosts} == {"DC0_C0", "DC0_C1"}
