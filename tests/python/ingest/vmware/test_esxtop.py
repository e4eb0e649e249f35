"""esxtop batch files become the table: values, forms of names, and what files should not be and are."""

from __future__ import annotations

import datetime
import gc
import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bench import telemetry as generator
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import refused
from tests.python.ingest.vmware import esxtop_files as files

from hypertwin.errors import SourceError
from hypertwin.ingest import formats, outside, parquet_table, telemetry, telemetry_table
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.vmware import esxtop, esxtop_counters
from hypertwin.ingest.vmware.esxtop_counters import MBIT_BYTES, MIB

START = files.START


def table_of(reading: Reading) -> pl.DataFrame:
    """All parts; with each, what must hold of every table."""
    parts = list(reading.frames)
    for part in parts:
        assert dict(part.schema) == dict(telemetry_table.SCHEMA)
    table = pl.concat(parts)
    assert table["value"].is_finite().all()
    assert table["value"].min() >= 0  # type: ignore[operator]
    assert table.null_count().sum_horizontal().item() == 0
    for metric, unit in table.select("metric", "unit").unique().iter_rows():
        assert telemetry.METRICS[metric].unit == unit
    return table


class Read:
    """A file, read."""

    def __init__(self, folder: Path, content: str | bytes, name: str = "esx1.csv") -> None:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.reading = formats.read(str(path))
        self.table = table_of(self.reading)

    def values(self, entity: str, metric: str) -> list[float]:
        """Of one entity and metric, in order."""
        where = (pl.col("entity").cast(pl.String) == entity) & (pl.col("metric").cast(pl.String) == metric)
        return self.table.filter(where)["value"].to_list()

    @property
    def entities(self) -> set[str]:
        return set(self.table["entity"].cast(pl.String))

    @property
    def times(self) -> list[datetime.datetime]:
        return sorted(set(self.table["time"]))

    @property
    def gaps(self) -> set[str]:
        return {gap.what for gap in self.reading.gaps}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    return lambda content, name="esx1.csv": Read(tmp_path, content, name)


DB = files.machine("db", 1234)
HOST = files.same({f"Physical Cpu({cpu})\\% Util Time": 60 for cpu in range(4)}) | files.same(
    {
        "Physical Cpu(_Total)\\% Processor Time": 41,
        "Physical Cpu(_Total)\\% Util Time": 60,
        "Physical Cpu(_Total)\\% Core Util Time": 75,
        "Memory\\Machine MBytes": 1024,
        "Memory\\Free MBytes": 100,
        "Memory\\Memctl Current MBytes": 7,
        "Memory\\Swap Used MBytes": 3,
        "Memory\\Swap MBytes Read/sec": 1,
        "Memory\\Swap MBytes Write/sec": 2,
        "Memory\\Total Compressed MBytes": 4,
        "Memory\\Kernel State": 2,
        "Memory\\Memory Overcommit (1 Minute Avg)": 0.35,
        "Memory\\Memory Overcommit (5 Minute Avg)": 0.2,
        "Physical Cpu Load\\Cpu Load (1 Minute Avg)": 0.44,
        "Physical Cpu Load\\Cpu Load (15 Minute Avg)": 0.1,
    }
)


# values


def test_a_machine(read: Any) -> None:
    got = read(files.text(HOST | DB))
    assert got.reading.kind == "esxtop"
    assert got.reading.source == "esx1.csv"
    assert got.reading.notes == []
    assert got.times == [START, START + datetime.timedelta(seconds=5)]
    vm = "host/esx1/vm/db"
    expected = {
        "used_sum_pct": 96, "run_sum_pct": 100, "system_pct": 2, "ready_sum_pct": 8, "overlap_sum_pct": 0.5,
        "costop_sum_pct": 0, "limited_sum_pct": 0, "swap_wait_sum_pct": 0, "wait_sum_pct": 92, "idle_sum_pct": 80,
        "cpu_latency_pct": 3,
    }  # fmt: skip
    for metric, value in expected.items():
        assert got.values(vm, metric) == [value] * 2, metric
    assert got.values(vm, "vcpus") == [2]
    for vcpu in "01":
        for metric, value in (("used", 48), ("run", 50), ("ready", 4), ("costop", 0), ("limited", 0)):
            assert got.values(f"{vm}/vcpu/{vcpu}", f"{metric}_sum_pct") == [value] * 2
        assert got.values(f"{vm}/vcpu/{vcpu}", "wait_sum_pct") == []
    assert got.values("host/esx1", "interval_s") == [5, 5]


def test_ready_of_a_machine_is_that_of_its_vcpus_and_not_of_helper_worlds(read: Any) -> None:
    helper = next(name for name in DB if name.endswith(":vmx)\\% Ready"))
    shown = {"Group Cpu(1234:db)\\% Ready": ["23.00", "24.00"], helper: ["15.00", "16.00"]}
    got = read(files.text(DB | shown))
    assert got.values("host/esx1/vm/db", "ready_sum_pct") == [8, 8]
    assert got.values("host/esx1/vm/db", "group_ready_sum_pct") == [23, 24]
    # without vCPU worlds, or where these have no ready, the group's is all there is
    for left_out in ("Vcpu(", "Vcpu("), ("Vcpu(", "% Ready"):
        less = {name: values for name, values in (DB | shown).items() if not all(part in name for part in left_out)}
        got = read(files.text(less))
        assert got.values("host/esx1/vm/db", "ready_sum_pct") == [23, 24]
        assert got.values("host/esx1/vm/db", "group_ready_sum_pct") == []


def test_run_ready_costop_and_wait_of_a_machine_add_up(read: Any) -> None:
    got = read(files.text(DB))
    parts = [got.values("host/esx1/vm/db", f"{part}_sum_pct")[0] for part in ("run", "ready", "costop", "wait")]
    assert sum(parts) == pytest.approx(100 * 2)


def test_a_host(read: Any) -> None:
    got = read(files.text(HOST))
    expected = {
        "utilization_pct": 60, "core_utilization_pct": 75, "memory_bytes": 1024 * MIB, "memory_free_bytes": 100 * MIB,
        "memory_used_bytes": 924 * MIB,
        "ballooned_bytes": 7 * MIB, "swapped_bytes": 3 * MIB, "swap_in_bytes_per_s": MIB,
        "swap_out_bytes_per_s": 2 * MIB, "compressed_bytes": 4 * MIB, "memory_state": 2, "memory_overcommit_pct": 35,
        "cpu_load_1min": 0.44,
    }  # fmt: skip
    for metric, value in expected.items():
        assert got.values("host/esx1", metric) == [value] * 2, metric
    assert got.values("host/esx1/pcpu/3", "utilization_pct") == [60, 60]


@pytest.mark.parametrize(("two_threads", "cores", "usage"), [(True, 2, 82), (False, 4, 41)])
def test_usage_is_over_cores(read: Any, two_threads: bool, cores: int, usage: float) -> None:
    more = {f"Physical Cpu({cpu})\\% Core Util Time": 75 for cpu in range(4)} if two_threads else {}
    got = read(files.text(HOST | files.same(more)))
    assert got.values("host/esx1", "threads") == [4]
    assert got.values("host/esx1", "cores") == [cores]
    assert got.values("host/esx1", "usage_pct") == [usage] * 2


def test_memory_of_a_machine(read: Any) -> None:
    counters = {
        "Memory Size MBytes": 64, "Memory Consumed Size MBytes": 60, "Touched MBytes": 6, "Memctl MBytes": 5,
        "Swapped MBytes": 4, "Swap Read MBytes/sec": 3, "Swap Written MBytes/sec": 2, "Numa % Local": 77,
        "Numa Local MBytes": 49, "Numa Remote MBytes": 15, "Numa Rebalance Count Delta": 1,
        "Compressed Memory MBytes": 8,
    }  # fmt: skip
    memory = {f"Group Memory(1234:db)\\{counter}": value for counter, value in counters.items()}
    got = read(files.text(DB | files.same(memory | {"Group Memory(7:hostd.2098765)\\Memory Size MBytes": 1})))
    expected = {
        "memory_bytes": 64 * MIB, "memory_used_bytes": 60 * MIB, "memory_active_bytes": 6 * MIB,
        "ballooned_bytes": 5 * MIB, "swapped_bytes": 4 * MIB, "swap_in_bytes_per_s": 3 * MIB,
        "swap_out_bytes_per_s": 2 * MIB, "numa_local_pct": 77, "numa_local_bytes": 49 * MIB,
        "numa_remote_bytes": 15 * MIB, "numa_migrations": 1, "compressed_bytes": 8 * MIB,
    }  # fmt: skip
    for metric, value in expected.items():
        assert got.values("host/esx1/vm/db", metric) == [value] * 2, metric
    assert not any("hostd" in entity for entity in got.entities)


def test_storage(read: Any) -> None:
    device = {
        "Device Q Depth": 64, "Active Commands": 60, "Queued Commands": 9, "% Used": 93, "Commands/sec": 1000,
        "Reads/sec": 700, "Writes/sec": 300, "MBytes Read/sec": 5, "MBytes Written/sec": 2,
        "Average Driver MilliSec/Command": 11, "Average Kernel MilliSec/Command": 4,
        "Average Guest MilliSec/Command": 15, "Average Queue MilliSec/Command": 3, "Average Guest MilliSec/Read": 14,
        "Average Guest MilliSec/Write": 16, "Aborts/sec": 1,
    }  # fmt: skip
    more = {
        "Physical Disk Adapter(vmhba2)\\Commands/sec": 5000,
        "Physical Disk(vmhba2)\\Adapter Q Depth": 4096,
        "Physical Disk(vmhba2:C0:T0:L1)\\Adapter Q Depth": 4096,
        "Physical Disk NFS Volume(nfs one)\\Average Guest MilliSec/Read": 90.91,
        "Virtual Disk(db)\\Commands/sec": 420,
        "Virtual Disk(db:scsi0:1)\\Average MilliSec/Write": 8.5,
        "VSAN(Owner)\\Avg Read Latency in ms": 0.75,
    }
    columns = {f"Physical Disk SCSI Device(naa.6000)\\{counter}": value for counter, value in device.items()} | more
    got = read(files.text(DB | files.same(columns)))
    expected = {
        "queue_depth": 64, "active_commands": 60, "queued_commands": 9, "queue_used_pct": 93, "iops": 1000,
        "read_iops": 700, "write_iops": 300, "read_bytes_per_s": 5 * MIB, "write_bytes_per_s": 2 * MIB,
        "device_latency_ms": 11, "kernel_latency_ms": 4, "latency_ms": 15, "queue_latency_ms": 3,
        "read_latency_ms": 14, "write_latency_ms": 16, "aborts_per_s": 1,
    }  # fmt: skip
    for metric, value in expected.items():
        assert got.values("host/esx1/device/naa.6000", metric) == [value] * 2, metric
    assert got.values("host/esx1/adapter/vmhba2", "iops") == [5000] * 2
    assert got.values("host/esx1/adapter/vmhba2", "queue_depth") == [4096] * 2
    assert got.values("host/esx1/device/nfs one", "read_latency_ms") == [90.91] * 2
    assert got.values("host/esx1/vm/db", "iops") == [420] * 2
    assert got.values("host/esx1/vm/db/disk/scsi0:1", "write_latency_ms") == [8.5] * 2
    assert got.values("host/esx1/pool/vSAN Owner", "read_latency_ms") == [0.75] * 2


def test_ports_of_a_machine_are_summed(read: Any) -> None:
    ports = {
        "Network Port(vSwitch6:134217730:36139:db)\\MBits Received/sec": 8,
        "Network Port(vSwitch6:134217731:36139:db.eth1)\\MBits Received/sec": 16,
        "Network Port(vSwitch6:134217732:36140:other)\\MBits Received/sec": 99,
        "Network Port(vSwitch0:33554434:vmnic3)\\MBits Transmitted/sec": 80,
        "Network Port(vSwitch6:134217729:Management)\\MBits Received/sec": 99,
    }
    got = read(files.text(DB | files.same(ports)))
    assert got.values("host/esx1/vm/db", "network_rx_bytes_per_s") == [24 * MBIT_BYTES] * 2
    assert got.values("host/esx1/adapter/vmnic3", "network_tx_bytes_per_s") == [80 * MBIT_BYTES] * 2
    assert sum("network" in metric for metric in got.table["metric"].cast(pl.String)) == 4


def test_services_are_kept_and_other_processes_are_not(read: Any) -> None:
    groups = ["1:system", "2:idle", "3:vsand.2100345", "4:vsand.2100999", "5:hostd.2098765", "6:helper", "0:host"]
    columns = {f"Group Cpu({group})\\% Used": 30 for group in groups}
    got = read(files.text(DB | files.same(columns)))
    processes = {entity for entity in got.entities if "/process/" in entity}
    assert processes == {f"host/esx1/process/{name}" for name in ("system", "vsand", "helper")}
    assert got.values("host/esx1/process/vsand", "used_sum_pct") == [60] * 2
    assert not any(word in entity for entity in got.entities for word in ("hostd", "idle", "vm/host"))


# names


@pytest.mark.parametrize("world", ["vmx-vcpu-{}", "vmx-vcpu-{}:db", "vcpu-{}:db", "vmm{}:db"])
def test_worlds_of_vcpus_by_version(read: Any, world: str) -> None:
    got = read(files.text(files.machine("db", 7, vcpus=12, world=world)))
    assert got.values("host/esx1/vm/db", "vcpus") == [12]
    assert got.values("host/esx1/vm/db/vcpu/11", "run_sum_pct") == [50, 50]


@pytest.mark.parametrize(
    "name",
    [
        "SQL02 (df09cdf2-1e74-45fb-9ccc-90d1c402fc6b)", "a:b", "web/1", "100%", "=cmd|' /C calc'!A0",
        "<script>x</script>", "a, b", "базa", "hostd.2098765", "system", "10:11:vmx-vcpu-0", "x)", "(", "scsi0:0",
        "\u202eevil", "😀",
    ],
)  # fmt: skip
def test_names_of_machines(read: Any, name: str) -> None:
    disk = {f"Virtual Disk({name}:scsi1:0)\\Reads/sec": 9, f"Network Port(sw:1:2:{name})\\MBits Received/sec": 8}
    got = read(files.text(files.machine(name, 7) | files.machine("db", 8) | files.same(disk)))
    entity = f"host/esx1/{telemetry.entity('vm', outside.name(name))}"
    assert got.values(entity, "vcpus") == [2]
    assert got.values(entity, "ready_sum_pct") == [8, 8]
    assert got.values(f"{entity}/vcpu/1", "ready_sum_pct") == [4, 4]
    assert got.values(f"{entity}/disk/scsi1:0", "read_iops") == [9, 9]
    assert got.values(entity, "network_rx_bytes_per_s") == [8 * MBIT_BYTES] * 2


def test_two_machines_of_one_name(read: Any) -> None:
    disk = files.same({"Virtual Disk(db:scsi0:0)\\Reads/sec": 9})
    got = read(files.text(files.machine("db", 7) | files.machine("db", 8, vcpus=4) | disk))
    assert got.values("host/esx1/vm/db/disk/scsi0:0", "read_iops") == [9, 9]
    assert got.values("host/esx1/vm/db (7)", "vcpus") == [2]
    assert got.values("host/esx1/vm/db (8)", "vcpus") == [4]
    assert any("the same name" in note for note in got.reading.notes)


def test_long_names_that_are_told_apart_are_no_longer_than_names_may_be(read: Any, tmp_path: Path) -> None:
    name = "n/" * 200
    got = read(files.text(files.machine(name, 7) | files.machine(name, 8)))
    machines = {telemetry.names(entity)["vm"] for entity in got.entities if "/vm/" in entity}
    assert machines == {f"{name[: outside.MOST_NAME - 4]} ({group})" for group in (7, 8)}
    telemetry_table.write([got.table], tmp_path / "table.parquet")
    assert sum(frame.height for frame in parquet_table.read(tmp_path / "table.parquet").frames) == got.table.height


def test_machines_without_worlds(read: Any) -> None:
    groups = {"1:system": 5, "2:idle": 900, "9:hostd.2098765": 3, "12:db": 8, "13:web.20481": 7, "14:app": 6}
    columns = {f"Group Cpu({group})\\% Ready": value for group, value in groups.items()}
    got = read(files.text(files.same(columns | {"Virtual Disk(web.20481:scsi0:0)\\Reads/sec": 1})))
    machines = {telemetry.names(entity)["vm"] for entity in got.entities if "/vm/" in entity}
    assert machines == {"db", "web.20481", "app"}
    assert got.values("host/esx1/vm/db", "vcpus") == []
    assert "Vcpu\\% Run" in got.gaps
    assert any("worlds" in note for note in got.reading.notes)


def test_vcpus_of_a_machine_without_worlds(read: Any) -> None:
    # Run, Ready, CoStop, Idle and VmWait of a vCPU are all of its time
    columns = {name: values for name, values in files.machine("db", 7, vcpus=6).items() if "Vcpu(" not in name}
    got = read(files.text(HOST | columns))
    assert got.values("host/esx1/vm/db", "vcpus") == [6]
    assert got.values("host/esx1/vm/db", "idle_sum_pct") == [240, 240]
    assert any("VmWait" in note for note in got.reading.notes)
    # what the group's worlds wait has the helpers in it
    assert got.values("host/esx1/vm/db", "wait_sum_pct") == []


@pytest.mark.parametrize(
    ("host", "shown"), [("esx1.example.com", "esx1.example.com"), ("localhost", "a b"), ("", "a b")]
)
def test_names_of_hosts(read: Any, host: str, shown: str) -> None:
    got = read(files.text(DB, host=host), "a b.csv")
    assert f"host/{shown}/vm/db" in got.entities
    assert bool(got.reading.notes) == (host != shown)


def test_a_vcpu_that_is_there_twice_counts_once(read: Any) -> None:
    name = next(name for name in DB if name.endswith("vmx-vcpu-1)\\% Ready"))
    header, *rows = files.lines(DB)
    got = read("\n".join([f'{header},"\\\\esx1\\{name}"', *(f'{row},"4"' for row in rows)]) + "\n")
    assert got.values("host/esx1/vm/db", "ready_sum_pct") == [8, 8]
    assert any("more than once" in note for note in got.reading.notes)


def test_two_hosts_in_a_file(read: Any) -> None:
    one, two = files.lines(DB), files.lines(DB, host="esx2")
    got = read("\n".join(f"{a},{b.partition(',')[2]}" for a, b in zip(one, two, strict=True)) + "\n")
    assert {"host/esx1/vm/db", "host/esx2/vm/db"} <= got.entities
    assert got.values("host/esx2", "interval_s") == [5, 5]


def test_columns_that_are_there_twice(read: Any) -> None:
    one = files.lines(files.same({"Group Cpu(1:db)\\% Ready": 1, "Virtual Disk(db:scsi0:0)\\Reads/sec": 3}))
    twice = [f'{line},"{2 if number else "esx1"}"' for number, line in enumerate(one)]
    twice[0] = f'{one[0]},"\\\\esx1\\Group Cpu(1:db)\\% Ready"'
    got = read("\n".join(twice) + "\n")
    assert got.values("host/esx1/vm/db", "ready_sum_pct") == [1, 1]
    assert any("more than once" in note for note in got.reading.notes)


@pytest.mark.parametrize("old", ["% costop", "% CoStop", "% Co-Stop"])
def test_names_of_counters_by_version(read: Any, old: str) -> None:
    columns = {name.replace("% CoStop", old): values for name, values in DB.items()}
    assert read(files.text(columns)).values("host/esx1/vm/db", "costop_sum_pct") == [0, 0]


def test_the_table_of_counters_names_metrics_once() -> None:
    assert len(esxtop_counters.BY_NAME) == sum(len(counter.names) for counter in esxtop_counters.COUNTERS)
    for counter in esxtop_counters.COUNTERS:
        assert counter.metric in telemetry.METRICS


# gaps


def test_what_is_missing_is_named(read: Any) -> None:
    got = read(files.text(DB))
    assert {"Group Memory\\Numa % Local", "Physical Disk SCSI Device\\Queued Commands"} <= got.gaps
    assert "Group Cpu\\% Ready" not in got.gaps
    without = {name: values for name, values in DB.items() if "% Ready" not in name}
    assert "Group Cpu\\% Ready" in read(files.text(without)).gaps


def test_nothing_of_a_file_that_was_read_stays_in_memory(read: Any) -> None:
    read(files.text(DB))
    gc.collect()
    assert not [thing for thing in gc.get_objects() if isinstance(thing, esxtop._Table)]


def test_one_sample_has_no_interval(read: Any) -> None:
    got = read("\n".join(files.lines(DB)[:2]) + "\n")
    assert got.values("host/esx1", "interval_s") == []
    assert any("second sample" in gap for gap in got.gaps)


# times


def test_intervals_and_pauses(read: Any) -> None:
    stamps = [f"03/26/2026 22:42:{second:02}" for second in (0, 5, 10, 16)] + ["03/26/2026 23:42:16"]
    got = read(files.text(files.machine("db", 1, samples=5), stamps))
    assert got.values("host/esx1", "interval_s") == [5, 5, 5, 6, 5]
    assert got.reading.notes == ["the recording was interrupted 1 times"]


@pytest.mark.parametrize(
    ("first", "stamp", "expected"),
    [
        ("(PDH-CSV 4.0) (UTC)(0)", "03/26/2026 22:42:00", START),
        ("(PDH-CSV 4.0) (SE Asia Standard Time)(-420)", "03/27/2026 05:42:00", START),
        ("(PDH-CSV 4.0) (Pacific Daylight Time)(420)", "03/26/2026 15:42:00.000", START),
        ("(PDH-CSV 4.0)", "3/26/2026 22:42", START),
    ],
)
def test_times(read: Any, first: str, stamp: str, expected: datetime.datetime) -> None:
    got = read(files.text(DB, [stamp, stamp], first=first))
    assert got.times == [expected]
    assert got.values("host/esx1", "interval_s") == []


def saved(seconds: list[float]) -> list[str]:
    """Times as a spreadsheet saves them: `3/26/2026 22:42`."""
    return [(START + datetime.timedelta(seconds=second)).strftime("%m/%d/%Y %H:%M") for second in seconds]


def test_times_without_seconds_are_spread_by_how_many_share_a_minute(read: Any) -> None:
    # as in the published file of that kind: 7 samples in the first minute, then 11, 10 or 11 in each
    seconds = [22.0 + 5.5 * index for index in range(160)]
    got = read(files.text(files.machine("db", 1, samples=160), saved(seconds)))
    intervals = got.values("host/esx1", "interval_s")
    assert len(intervals) == 160
    assert intervals == pytest.approx([5.5] * 160, abs=0.05)
    off = [(time - START).total_seconds() - second for time, second in zip(got.times, seconds, strict=True)]
    assert max(map(abs, off)) < 5.5
    assert got.reading.notes == [
        "times have no seconds (saved by a spreadsheet?): by how many share a minute, samples are 5.5 s apart"
    ]


def test_a_pause_between_times_without_seconds(read: Any) -> None:
    seconds = [10.0 * index for index in range(40)] + [7200 + 10.0 * index for index in range(40)]
    got = read(files.text(files.machine("db", 1, samples=80), saved(seconds)))
    assert got.values("host/esx1", "interval_s") == pytest.approx([10] * 80, abs=0.05)
    assert "the recording was interrupted 1 times" in got.reading.notes
    assert (got.times[40] - START).total_seconds() == pytest.approx(7200, abs=10)


def test_minutes_that_hold_a_sample_each_are_intervals(read: Any) -> None:
    got = read(files.text(files.machine("db", 1, samples=4), saved([0, 300, 600, 900])))
    assert got.values("host/esx1", "interval_s") == [300] * 4
    assert got.reading.notes == []


@pytest.mark.parametrize("seconds", [[0, 5, 10, 15], [50, 55, 60, 65]])
def test_too_few_minutes_do_not_tell_the_interval(read: Any, seconds: list[float]) -> None:
    got = read(files.text(files.machine("db", 1, samples=4), saved(seconds)))
    assert got.values("host/esx1", "interval_s") == []
    assert got.values("host/esx1/vm/db", "ready_sum_pct") == [8] * 4
    assert any("too few minutes" in note for note in got.reading.notes)


def test_a_time_of_no_measurement_is_none(read: Any) -> None:
    stamps = ["03/26/2026 22:42:00", "03/26/9026 22:42:05", "03/26/1926 22:42:05"]
    got = read(files.text(files.machine("db", 1, samples=3), stamps))
    assert got.times == [START]
    assert any("2 rows without a time" in note for note in got.reading.notes)


# what files are not supposed to be


def plain(read: Any) -> pl.DataFrame:
    return read(files.text(HOST | DB)).table  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace('"', ""),
        lambda text: text.replace(f',"{files.BLANKS_AND_DASH}"', "").replace(',""', ""),
        lambda text: text.replace(f',"{files.BLANKS_AND_DASH}"', "").replace(',""', ","),
        lambda text: text.replace("\n", "\n" * 40),
        lambda text: text + "\0" * 5000,
        lambda text: text.replace('","', '" ,"'),
        lambda text: text.rstrip("\n"),
    ],
    ids=["mark", "crlf", "unquoted", "no-blank", "comma", "blank-lines", "nuls", "spaces", "no-newline"],
)  # fmt: skip
def test_forms_that_say_the_same(read: Any, change: Any) -> None:
    assert read(change(files.text(HOST | DB))).table.equals(plain(read))


def test_gzip(read: Any) -> None:
    packed = gzip.compress(files.text(HOST | DB).encode())
    assert read(packed, "esx1.csv.gz").table.equals(plain(read))
    for cut in (len(packed) // 2, len(packed) - 3):
        with refused("bad-source"):
            read(packed[:cut], "cut.csv.gz")
    broken = bytearray(packed)
    broken[60:80] = bytes(20)
    with pytest.raises(SourceError):
        read(bytes(broken), "broken.csv.gz")


@pytest.mark.parametrize(
    "value", ["", "-1", "-1.00", "n/a", "nan", "inf", "-inf", "1e999", "1_0", "0x10", " ", "٣", "\xff"]
)
def test_values_that_are_none(read: Any, value: str) -> None:
    columns = DB | {"Group Cpu(1234:db)\\% Ready": [value, "8.00"]}
    content = files.text(columns).encode("latin-1" if value == "\xff" else "utf-8")
    got = read(content)
    assert got.values("host/esx1/vm/db", "group_ready_sum_pct") == [8]
    assert got.values("host/esx1/vm/db", "run_sum_pct") == [100, 100]


def test_a_machine_that_lacks_a_vcpus_value_has_no_sum(read: Any) -> None:
    name = next(name for name in DB if name.endswith("vmx-vcpu-1)\\% Idle"))
    got = read(files.text(DB | {name: ["", "40.00"]}))
    assert got.values("host/esx1/vm/db", "idle_sum_pct") == [80]


def test_broken_rows_are_left_out(read: Any) -> None:
    lines = files.lines(files.machine("db", 1, samples=8))
    lines[2] += ',"1","2"'
    lines[3] = '"stray'
    lines[4] = lines[4].replace("50.00", '50"00', 1)
    lines[5] = "\0\0"
    lines[6] = lines[0]
    lines[7] = lines[7].replace("03/26/2026", "26/03/2026")
    got = read("\n".join(lines) + "\n")
    assert len(got.times) == 3
    assert got.reading.notes == [
        "2 rows have more or fewer values than there are columns and were left out",
        "2 rows without a time (a second header, damage) were left out",
    ]


def test_a_last_row_that_is_being_written(read: Any) -> None:
    whole = files.text(files.machine("db", 1, samples=3))
    last = whole.rstrip("\n").rfind("\n") + 1
    for cut in range(last + 1, len(whole) - 1, 7):
        got = read(whole[:cut])
        values = got.values("host/esx1/vm/db", "ready_sum_pct")
        assert values in ([8, 8], [8, 8, 8]), whole[last:cut]
        if len(values) == 2:
            assert any("still being written" in note for note in got.reading.notes)


SMALL = b'"(PDH-CSV 4.0) (UTC)(0)","\\\\esx1\\Group Cpu(1:db)\\% Ready"\n'


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (SMALL, "source-lacks", "no value"),
        (SMALL + b'"03/26/2026 22:42:00","-1"\n', "source-lacks", "no value"),
        (SMALL + b'"x","1"\n', "source-lacks", "MM/DD/YYYY"),
        (SMALL + b'"26.03.2026 22:42:00","1,5"\n', "source-lacks", "no value"),
        (SMALL.replace(b"Group Cpu(1:db)\\% Ready", b"Gruppen-CPU(1:db)\\% Bereit"), "bad-source", "English"),
        (SMALL.replace(b"Group Cpu(1:db)", b"Processor(_Total)"), "bad-source", "Windows"),
        (SMALL.replace(b"1:db", b"1:hostd.2098765"), "bad-source", "processes"),
        (SMALL.decode().encode("utf-16"), "bad-source", "iconv"),
        (SMALL.decode().encode("utf-16-be"), "unknown-source", ""),
        (b'"(PDH-CSV 4.0) (UTC)(0)"\n', "bad-source", "no column"),
        (b'"(PDH-CSV 5.0)","x"\n', "bad-source", "first line"),
        (b'"(PDH-CSV 4.0) (UTC)(0)","' + b"x" * 200_000 + b'"\n', "bad-source", "field"),
        (b"(PDH-CSV 4.0)" + b"," * 300_000, "source-too-large", "columns"),
        (b"(PDH-CSV 4.0)" + b"," * (outside.MOST_LINE_BYTES + 9), "source-too-large", "longer"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_refused(tmp_path: Path, content: bytes, code: str, words: str) -> None:
    with refused(code) as raised:
        Read(tmp_path, content)
    assert words in str(raised.value)
    assert "esx1.csv" in str(raised.value)


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "MOST_LINE_BYTES", 1000)
    monkeypatch.setattr(esxtop, "BLOCK_BYTES", 100)
    with refused("source-too-large", match="longer line"):
        Read(tmp_path, SMALL + b"1," * 2000)


@pytest.mark.parametrize("stamps", [[], saved([0, 5])])
@pytest.mark.parametrize(("block", "part"), [(1, 1), (400, 50), (2**20, 2**10)])
def test_the_size_of_parts_changes_nothing(
    read: Any, monkeypatch: pytest.MonkeyPatch, block: int, part: int, stamps: list[str]
) -> None:
    columns = HOST | DB | {"Group Cpu(1234:db)\\% Ready": ["3.00", "4.00"]}
    order = ["entity", "metric", "time", "value"]
    whole = read(files.text(columns, stamps))
    monkeypatch.setattr(esxtop, "BLOCK_BYTES", block)
    monkeypatch.setattr(esxtop, "PART_VALUES", part)
    pieces = read(files.text(columns, stamps))
    text = [pl.col(name).cast(pl.String) for name in ("entity", "metric")]
    assert pieces.table.with_columns(text).sort(order).equals(whole.table.with_columns(text).sort(order))
    assert pieces.reading.notes == whole.reading.notes


@given(edits=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 40), st.binary(max_size=12)), max_size=6))
def test_random_edits_are_read_or_refused(tmp_path: Path, edits: list[tuple[int, int, bytes]]) -> None:
    content = files.text(HOST | DB).encode()
    for place, length, replacement in edits:
        content = content[:place] + replacement + content[place + length :]
    (tmp_path / "f.csv").write_bytes(content)
    try:
        table_of(esxtop.read(tmp_path / "f.csv"))
    except SourceError as error:
        assert "f.csv" in str(error)


@given(tail=st.one_of(st.binary(max_size=400), st.text(alphabet='",\\\n\r 0123456789.:/-e(U\0', max_size=400)))
@pytest.mark.parametrize("start", [b'"(PDH-CSV 4.0) (UTC)(0)",', SMALL, SMALL + b'"03/26/2026 22:42:00","1"\n'])
def test_random_tails_are_read_or_refused(tmp_path: Path, start: bytes, tail: bytes | str) -> None:
    (tmp_path / "f.csv").write_bytes(start + (tail if isinstance(tail, bytes) else tail.encode()))
    try:
        table_of(esxtop.read(tmp_path / "f.csv"))
    except SourceError as error:
        assert "f.csv" in str(error)


# size


@pytest.mark.parametrize(("columns", "rows"), [(17_000, 3), (1_500, 40)])
def test_wide_and_long_files(tmp_path: Path, columns: int, rows: int) -> None:
    path = tmp_path / "esx1.csv"
    written = generator.write(path, columns, 0, rows)
    with path.open() as stream:
        assert stream.readline().count('","') == columns - 1
    table = table_of(formats.read(str(path)))
    assert table.filter(pl.col("metric").cast(pl.String) == "interval_s").height == written == rows
    assert table.height > columns * written / 8
    count = telemetry_table.write(formats.read(str(path)).frames, tmp_path / "table.parquet")
    again = pl.read_parquet(tmp_path / "table.parquet")
    assert count == again.height == table.height
    assert again["value"].equals(table["value"])


def test_every_counter_of_the_generator_is_placed_or_known(tmp_path: Path) -> None:
    generator.write(tmp_path / "esx1.csv", 3_000, 0)
    reading = formats.read(str(tmp_path / "esx1.csv"))
    table_of(reading)
    assert [gap.what for gap in reading.gaps] == ["a second sample, later than the first"]
    assert reading.notes == []


def test_the_bench_tells_of_each_shape() -> None:
    command = [sys.executable, generator.__file__, "--columns", "1000", "--bytes", "2e5"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    told = done.stdout.splitlines()[-1].replace(",", "").replace("|", " ").split()
    columns, rows, _, _, _, long_rows, *others = map(float, told)
    assert len(others) == 4
    assert columns == 1000
    assert long_rows > 100 * rows
