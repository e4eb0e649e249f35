"""A simulated cluster as esxtop would have recorded it: what is written is what was simulated, read back."""

from __future__ import annotations

import csv
from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hypertwin.ingest import formats, telemetry
from hypertwin.ingest.vmware import esxtop, esxtop_export
from hypertwin.ingest.vmware.esxtop_counters import BY_NAME
from hypertwin.runs import simulation

PRINTED = 0.005001
"""What printing with two digits takes or adds at most."""
MIB = 2**20

CLUSTER = {
    "name": "recorded",
    "run": {"duration": "9 s", "warmup": "1 s", "sample_interval": "3 s"},
    "hosts": {
        "esx": {
            "sockets": 2,
            "cores_per_socket": 2,
            "clock": "2.6 GHz",
            "memory_per_node": "32 GiB",
            "hypervisor": "esxi-7.0",
            "adapters": {"ports": 2, "lun_depth": 4},
        },
        "node": {
            "count": 2,
            "sockets": 1,
            "cores_per_socket": 4,
            "threads_per_core": 1,
            "clock": "2.6 GHz",
            "memory_per_node": "64 GiB",
            "hypervisor": "esxi-7.0",
        },
    },
    "vms": {
        "db": {"vcpus": 6, "memory": "40 GiB", "workload": "oltp", "array": "san", "vdisks": 9, "host": "esx"},
        "web": {"count": 3, "vcpus": 2, "memory": "4 GiB", "workload": "oltp", "limit": "2 GHz", "host": "esx"},
        "hci": {"count": 2, "vcpus": 2, "memory": "4 GiB", "workload": "oltp", "storage": "pool", "controllers": 2},
    },
    "workloads": {
        "oltp": {
            "arrivals": {"closed": {"population": 12, "think": {"mean": "5 ms"}}},
            "cpu": {"mean": "5 ms"},
            "ios": 4,
            "read_pct": 70,
        }
    },
    "arrays": {"san": {"front_end_ports": 2, "disks": {"kind": "sas-ssd", "count": 8}}},
    "storage": {
        "pool": {
            "kind": "mirrored-mesh",
            "nodes": "node",
            "deployment": "hci",
            "redundancy": "replicas-2",
            "devices": {"kind": "nvme", "per_node": 2, "capacity": "800 GB"},
        }
    },
}


@pytest.fixture(scope="module")
def samples() -> list[dict[str, Any]]:
    return list(simulation.samples(CLUSTER))


@pytest.fixture(scope="module")
def recorded(samples, tmp_path_factory) -> dict[str, Path]:
    files = esxtop_export.write(iter(samples), tmp_path_factory.mktemp("recorded"))
    return {file.stem: file for file in files}


Series = dict[tuple[str, str], list[float]]


def _read(path: Path) -> Series:
    """Values in the order of time, by entity and metric."""
    series: Series = defaultdict(list)
    reading = esxtop.read(path)
    times = set()
    for frame in reading.frames:
        for time, entity, metric, value, _ in frame.sort("time").iter_rows():
            times.add(time)
            series[entity, metric].append(value)
    assert sorted(times) == [esxtop_export.START + timedelta(seconds=second) for second in (3, 6, 9)]
    assert reading.notes == []
    assert not any(gap.what.startswith(("Group Cpu", "Vcpu", "Physical Cpu", "Group Memory")) for gap in reading.gaps)
    return series


def test_every_host_has_a_file(recorded, samples):
    assert list(recorded) == ["esx", "node-1", "node-2"]
    assert len(samples) == 3


def test_machines_and_hosts_read_back_are_what_was_simulated(recorded, samples):
    for place, name in enumerate(recorded):
        series, hosts = _read(recorded[name]), [sample["hosts"][place] for sample in samples]
        host = telemetry.entity("host", name)

        def same(entity: str, metric: str, expected: list[float], tolerance: float = PRINTED) -> None:
            assert series[entity, metric] == pytest.approx(expected, rel=0, abs=tolerance), (entity, metric)  # noqa: B023

        threads = len(hosts[0]["cpu_utilization_pct"])
        assert (series[host, "cores"], series[host, "threads"]) == ([hosts[0]["cores"]], [threads])
        same(host, "usage_pct", [each["usage_pct"] for each in hosts], PRINTED * threads / hosts[0]["cores"])
        same(host, "utilization_pct", [each["utilization_pct"] for each in hosts])
        assert ((host, "core_utilization_pct") in series) == (threads > hosts[0]["cores"])
        same(host, "memory_bytes", [each["memory_mb"] * MIB for each in hosts], PRINTED * MIB)
        for index, vm in enumerate(hosts[0]["vms"]):
            machine = f"{host}/{telemetry.entity('vm', vm['name'])}"
            vms = [each["vms"][index] for each in hosts]
            assert series[machine, "vcpus"] == [vm["vcpus"]]
            for metric, key in (
                ("run_sum_pct", "run_pct"),
                ("group_ready_sum_pct", "ready_pct"),
                ("costop_sum_pct", "costop_pct"),
            ):
                same(machine, metric, [sum(each["worlds"][key]) for each in vms])
            ready = [sum(each["worlds"]["ready_pct"][: vm["vcpus"]]) for each in vms]
            same(machine, "ready_sum_pct", ready, PRINTED * vm["vcpus"])
            same(machine, "limited_sum_pct", [sum(each["worlds"]["limited_pct"]) for each in vms])
            same(machine, "used_sum_pct", [sum(each["worlds"]["used_pct"]) + each["system_pct"] for each in vms])
            same(machine, "system_pct", [each["system_pct"] for each in vms])
            waits = [sum(each["worlds"]["wait_pct"][: vm["vcpus"]]) for each in vms]
            same(machine, "wait_sum_pct", waits, PRINTED * vm["vcpus"])
            same(machine, "numa_local_pct", [each["numa_local_pct"] for each in vms])
            for vcpu in range(vm["vcpus"]):
                for metric, key in (("run_sum_pct", "run_pct"), ("ready_sum_pct", "ready_pct")):
                    same(f"{machine}/vcpu/{vcpu}", metric, [each["worlds"][key][vcpu] for each in vms])
            for number, disk in enumerate(vm["disks"]):
                unit = number // CLUSTER["vms"][vm["name"].split("-")[0]].get("controllers", 1)  # type: ignore[index]
                unit += unit >= 7  # the controller's own number
                entity = f"{machine}/disk/scsi{disk['controller']}:{unit}"
                disks = [each["disks"][number] for each in vms]
                same(entity, "read_iops", [each["iops"][0] for each in disks])
                same(entity, "write_latency_ms", [each["latency_ms"][1] or 0 for each in disks])
                same(entity, "read_bytes_per_s", [each["mb_per_s"][0] * MIB for each in disks], PRINTED * MIB)
        for kind, key in (("device", "devices"), ("adapter", "adapters")):
            for index, device in enumerate(hosts[0][key]):
                entity = f"{host}/{telemetry.entity(kind, device['name'])}"
                devices = [each[key][index] for each in hosts]
                same(entity, "queue_depth", [each["queue_depth"] for each in devices])
                same(entity, "active_commands", [each["active"] for each in devices])
                same(entity, "queued_commands", [each["queued"] for each in devices])
                same(entity, "device_latency_ms", [each["device_ms"] for each in devices])
                same(entity, "kernel_latency_ms", [each["kernel_ms"] for each in devices])
                same(entity, "latency_ms", [each["device_ms"] + each["kernel_ms"] for each in devices])
        for index, service in enumerate(hosts[0]["services"]):
            entity = f"{host}/{telemetry.entity('process', 'storage-' + service['pool'])}"
            same(entity, "used_sum_pct", [sum(each["services"][index]["worlds"]["used_pct"]) for each in hosts])


@pytest.mark.parametrize(("place", "name"), [(0, "esx"), (1, "node-1")])
def test_every_thread_has_its_own_columns(recorded, samples, place, name):
    header, first = list(csv.reader(recorded[name].read_text().splitlines()))[:2]
    cells = {each.partition(f"{name}\\")[2]: float(cell) for each, cell in zip(header[1:], first[1:], strict=True)}
    host = samples[0]["hosts"][place]
    for metric, key in (("% Util Time", "cpu_utilization_pct"), ("% Core Util Time", "cpu_core_utilization_pct")):
        found = [cells.get(f"Physical Cpu({number})\\{metric}") for number in range(len(host[key]))]
        has_it = "Core" not in metric or len(host["cpu_utilization_pct"]) > host["cores"]
        assert found == (pytest.approx(host[key], abs=PRINTED) if has_it else [None] * len(host[key]))


def test_a_vcpu_runs_waits_or_is_held_back_all_the_time(recorded):
    seen = 0
    for path in recorded.values():
        with path.open(newline="") as file:
            header, *rows = csv.reader(file)
        for row in rows:
            sums: dict[str, float] = defaultdict(float)
            for name, value in zip(header, row, strict=True):
                vcpu, _, counter = name.rpartition("\\")
                if "\\Vcpu(" in name and counter in ("% Run", "% Ready", "% CoStop", "% Wait"):
                    sums[vcpu] += float(value)
            assert all(total == pytest.approx(100, abs=4 * PRINTED) for total in sums.values())
            seen += len(sums)
    assert seen == 3 * (6 + 3 * 2 + 2 * 2)


def test_every_column_is_a_known_counter_with_its_unit(recorded):
    header = next(csv.reader(recorded["esx"].read_text().splitlines()))
    assert header[0] == "(PDH-CSV 4.0) (UTC)(0)"
    for name in header[1:]:
        _, _, host, group, counter = name.split("\\")
        assert host == "esx"
        assert (group.partition("(")[0].lower(), counter.lower()) in BY_NAME
    assert len(set(header)) == len(header)


def test_the_same_run_gives_the_same_bytes(recorded, tmp_path):
    for again in esxtop_export.write(simulation.samples(CLUSTER), tmp_path):
        assert again.read_bytes() == recorded[again.stem].read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["esx.csv", "node-1.csv", "node-2.csv"]
    assert formats.read(str(tmp_path / "esx.csv")).kind == "esxtop"


def test_samples_are_those_of_the_report(samples):
    (point,) = simulation.simulate(CLUSTER, replications=1).points
    for place, name in enumerate(point["hosts"]):
        usage = [sample["hosts"][place]["usage_pct"] for sample in samples]
        assert point["timeline"]["hosts"][name]["usage_pct"] == usage


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "say where to write them with --out FOLDER"),
        (("--out", "folder", "--sweep", "vms.db.vcpus=1,2"), "one run"),
        (("--out", "folder", "--report", "page.html"), "one run"),
        (("--out", "folder", "--replications", "2"), "one run"),
        (("--out", "folder", "--set", "run.sample_interval=100 ms"), "whole seconds"),
        (("--out", "tiny.yaml"), "cannot write into tiny.yaml"),
    ],
)
def test_what_cannot_be_written_is_said(cli, tiny, arguments, says):
    done = cli("simulate", tiny, "--format", "esxtop", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in " ".join(done.stderr.split())
    assert sorted(path.name for path in tiny.parent.rglob("*.csv*")) == []


def test_a_vm_that_restarts_elsewhere_has_columns_on_both_hosts(tmp_path: Path) -> None:
    host = {"sockets": 1, "cores_per_socket": 4, "clock": "2.6 GHz", "memory_per_node": "32 GiB"}
    cluster = {
        "name": "failing",
        "run": {"duration": "60 s", "warmup": "5 s", "sample_interval": "5 s", "replications": 1},
        "clusters": {"default": {"ha": {"enabled": True, "policy": "fdm", "boot": "5 s"}}},
        "hosts": {"esx": {**host, "count": 2, "hypervisor": "esxi-7.0"}},
        "vms": {"db": {"vcpus": 2, "memory": "4 GiB", "workload": "web", "host": "esx-1"}},
        "workloads": {"web": {"arrivals": {"open": {"rate": "50 /s"}}, "cpu": {"mean": "5 ms"}}},
        "failures": [{"fails": ["esx-1"], "at": "20 s"}],
    }
    written = esxtop_export.write(simulation.samples(cluster), tmp_path / "out")
    used: list[list[str]] = []
    for path in written:
        with path.open(newline="") as file:
            head, *rows = csv.reader(file)
        assert {len(row) for row in rows} == {len(head)}
        (place,) = [place for place, name in enumerate(head) if name.endswith(":db)\\% Run") and "Group" in name]
        used.append([row[place] for row in rows])
    first, second = ([value not in ("", "0.00") for value in values] for values in used)
    # it ran on the first until that failed, and on the second from its restart on, never on both
    assert first[:3] == [True] * 3
    assert second[-3:] == [True] * 3
    assert not any(map(all, zip(first[4:], second[4:], strict=True)))
    assert {path.name for path in tmp_path.joinpath("out").iterdir()} == {"esx-1.csv", "esx-2.csv"}


@pytest.mark.parametrize(
    ("touched", "written"), [("4 GiB", True), ("14 GiB", True), ("15.8 GiB", False), ("20 GiB", False)]
)
def test_what_is_taken_back_is_not_said_to_be_nothing(tmp_path: Path, touched: str, written: bool) -> None:
    host = {"sockets": 1, "cores_per_socket": 4, "clock": "2.6 GHz", "memory_per_node": "32 GiB"}
    cluster = {
        "name": "short",
        "run": {"duration": "2 s", "warmup": "1 s", "sample_interval": "1 s", "replications": 1},
        "hosts": {"esx": {**host, "hypervisor": "esxi-7.0"}},
        "vms": {"db": {"count": 2, "vcpus": 1, "memory": "20 GiB", "memory_touched": touched, "workload": "web"}},
        "workloads": {"web": {"arrivals": {"open": {"rate": "50 /s"}}, "cpu": {"mean": "5 ms"}}},
    }
    (path,) = esxtop_export.write(simulation.samples(cluster), tmp_path / "out")
    head = path.read_text().partition("\n")[0]
    for counter in ("Memctl", "Swap Used MBytes", "% Swap Wait"):
        assert (counter in head) is written, counter
    assert "Memory Size MBytes" in head
