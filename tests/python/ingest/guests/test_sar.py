"""sar, sadf and iostat: the forms and versions of sysstat, clocks and dates, and hostile ones."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import needs, refused
from tests.reading import read, series, survives, times

from hypertwin.errors import SourceError

HEADER = "Linux 6.1.0 (db1) \t{date} \t_x86_64_\t(4 CPU)\n"
DAY = (
    HEADER.format(date="2026-11-21")
    + """
23:50:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
23:55:01        all     50.00      5.00     10.00      2.00      3.00     30.00
23:55:01          0     99.00      0.00      1.00      0.00      0.00      0.00
00:00:01        all     40.00      0.00     10.00      0.00      0.00     50.00
Average:        all     45.00      2.50     10.00      1.00      1.50     40.00

23:50:01     proc/s   cswch/s
23:55:01       1.00   5000.50

23:50:01     pswpin/s pswpout/s
23:55:01         2.00      3.00

23:50:01          tps      rtps      wtps      dtps   bread/s   bwrtn/s   bdscd/s
23:55:01        10.00      4.00      6.00      0.00      8.00     16.00      0.00

23:50:01    kbmemfree   kbavail kbmemused  %memused kbbuffers  kbcached  kbcommit   %commit
23:55:01      1000000   3000000   1500000     37.50    500000   1000000    583132      2.36

23:50:01    kbswpfree kbswpused  %swpused  kbswpcad   %swpcad
23:55:01         1000      2000     66.67         0      0.00

23:50:01      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked
23:55:01            6       141      2.07      0.81      1.12         0
23:58:00       LINUX RESTART\t(8 CPU)

23:50:01          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
23:55:01          sda    100.00     10.00     20.00      0.00      1.00      0.50      7.50     40.00
23:55:01          sdb      0.00      0.00      0.00      0.00      0.00      0.00      0.00      0.00

23:50:01        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil
23:55:01         eth0     10.00     10.00      1.50      2.50      0.00      0.00      0.00      0.00

23:50:01         INTR    intr/s
23:55:01          sum   1949.00

23:50:01   FILESYSTEM  MBfsfree  MBfsused   %fsused
23:55:01     /dev/sda       100       100     50.00
"""
)
CPU_12H = """
11:55:01 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle
12:05:01 AM     all     10.00      0.00      5.00      0.00      0.00     85.00
"""
SADF = """\
# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
db1;300;2026-11-21 20:15:32 UTC;-1;53.54;0.00;45.96;0.50;0.00;0.00
db1;-1;2026-11-21 20:16:00 UTC;LINUX-RESTART\t(2 CPU)
# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util
db1;300;2026-11-21 20:15:32 UTC;vda;1761.00;1844.00;1579484.00;5384.00;901.03;20.46;11.61;58.40
# hostname;interval;timestamp;INTR;CPU*
db1;300;2026-11-21 20:15:32 UTC;sum;1;2;3
"""
SAMPLE = {
    "timestamp": {"date": "2026-11-21", "time": "20:15:32", "utc": 1, "interval": 5},
    "cpu-load": [
        {"cpu": "all", "usr": 50.0, "nice": 0.0, "sys": 10.0, "iowait": 2.0, "steal": 3.0, "soft": 1.0, "idle": 34.0},
        {"cpu": "0", "usr": 100.0, "idle": 0.0},
    ],
    "process-and-context-switch": {"proc": 20.0, "cswch": 2109.0},
    "swap-pages": {"pswpin": 1.0, "pswpout": 2.0},
    "io": {"tps": 10.0, "io-reads": {"rtps": 4.0, "bread": 8.0}, "io-writes": {"wtps": 6.0, "bwrtn": 16.0}},
    "memory": {"memfree": 1000, "memused": 3000, "memused-percent": 75.0, "buffers": 500, "cached": 1000, "swpused": 7},
    "queue": {"runq-sz": 6},
    "disk": [{"disk-device": "vda", "tps": 5.0, "rd_sec": 2.0, "rkB": 1.0, "wkB": 3.0, "await": 9, "util-percent": 8}],
    "network": {"net-dev": [{"iface": "eth0", "rxkB": 1.0, "txkB": 2.0}]},
}
HOST = {"nodename": "db1", "number-of-cpus": 2, "statistics": [SAMPLE, SAMPLE], "restarts": []}
JSON = json.dumps({"sysstat": {"hosts": [HOST]}}, indent=1)


def test_sections_of_a_day(tmp_path):
    reading, table = read(tmp_path / "sar.txt", DAY)
    of_guest = {
        "interval_s": [300, 300],
        "vcpus": [4],
        "user_pct": [55, 40],
        "system_pct": [10, 10],
        "iowait_pct": [2, 0],
        "steal_pct": [3, 0],
        "guest_cpu_pct": [68, 50],
        "context_switches_per_s": [5000.5],
        "swap_in_bytes_per_s": [2 * 4096],
        "swap_out_bytes_per_s": [3 * 4096],
        "iops": [10],
        "read_iops": [4],
        "write_iops": [6],
        "read_bytes_per_s": [4096],
        "write_bytes_per_s": [8192],
        "memory_free_bytes": [1_000_000 * 1024],
        "memory_used_bytes": [1_500_000 * 1024],
        "swapped_bytes": [2000 * 1024],
        "run_queue": [6],
    }
    assert {metric: series(table, "guest/db1", metric) for metric in of_guest} == of_guest
    of_disk = {"iops": [100], "read_bytes_per_s": [10240], "write_bytes_per_s": [20480], "disk_busy_pct": [40]}
    assert {metric: series(table, "guest/db1/disk/sda", metric) for metric in of_disk} == of_disk
    assert series(table, "guest/db1/disk/sda", "latency_ms") == [7.5]
    assert series(table, "guest/db1/disk/sdb", "latency_ms") == []  # a disk without I/O has no time of an I/O
    assert series(table, "guest/db1/interface/eth0", "network_tx_bytes_per_s") == [2560]
    assert not reading.gaps
    assert "times have no zone: assumed UTC" in reading.notes


def test_each_section_passes_midnight_for_itself(tmp_path):
    _, table = read(tmp_path / "sar", DAY)
    assert times(table, "guest/db1", "guest_cpu_pct") == ["2026-11-21 23:55:01", "2026-11-22 00:00:01"]
    assert times(table, "guest/db1", "run_queue") == ["2026-11-21 23:55:01"]


def test_a_clock_of_twelve_hours(tmp_path):
    _, table = read(tmp_path / "sar", HEADER.format(date="11/21/2026") + CPU_12H)
    assert times(table, "guest/db1", "guest_cpu_pct") == ["2026-11-22 00:05:01"]
    assert series(table, "guest/db1", "interval_s") == [600]


@pytest.mark.parametrize(
    ("date", "read_as", "is_noted"),
    [
        ("11/21/2026", "2026-11-21", False),
        ("11/21/26", "2026-11-21", False),
        ("21/11/26", "2026-11-21", False),
        ("21.11.2026", "2026-11-21", False),
        ("21-11-26", "2026-11-21", False),
        ("2026-11-21", "2026-11-21", False),
        ("2026/11/21", "2026-11-21", False),
        ("03/04/2026", "2026-03-04", True),
        ("04/04/2026", "2026-04-04", False),
    ],
)
def test_dates(date, read_as, is_noted, tmp_path):
    reading, table = read(tmp_path / "sar", HEADER.format(date=date) + CPU_12H.replace("12:05:01 AM", "11:59:01 PM"))
    assert times(table, "guest/db1", "guest_cpu_pct") == [f"{read_as} 23:59:01"]
    assert any("month/day/year" in note for note in reading.notes) == is_noted


@pytest.mark.parametrize("date", ["99/99/99", "yesterday", "0001-01-01", "9999-12-31"])
def test_without_a_date_there_are_no_times(date, tmp_path):
    reading, table = read(tmp_path / "sar", HEADER.format(date=date) + CPU_12H)
    assert times(table, "guest/db1", "guest_cpu_pct") == [None]
    assert any("no date" in note for note in reading.notes)


def test_decimal_commas_and_averages_in_other_languages(tmp_path):
    text = HEADER.format(date="21.11.2026") + CPU_12H.replace(" PM", "   ").replace(" AM", "   ").replace(".", ",")
    reading, table = read(
        tmp_path / "sar", text + "Durchschn.:     all     45,00      2,50     10,00      1,00  1,50  40,00\n"
    )
    assert series(table, "guest/db1", "guest_cpu_pct") == [15]
    assert "numbers have a decimal comma" in reading.notes


def test_older_columns(tmp_path):
    text = (
        HEADER.format(date="08/30/2011")
        + """
10:00:01          CPU      %usr     %nice      %sys   %iowait    %steal      %irq     %soft    %guest     %idle
10:10:01          all     20.00      1.00      5.00      2.00      1.00      1.00      3.00      7.00     60.00

10:00:01          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
10:10:01       dev8-0      5.00      4.00      8.00     16.00      0.01      2.00      1.00      3.00

10:00:01    kbmemfree kbmemused  %memused kbbuffers  kbcached  kbcommit   %commit
10:10:01      1000000   3000000     75.00    500000   1000000    583132      2.36

10:00:01        IFACE   rxpck/s   txpck/s   rxbyt/s   txbyt/s   rxcmp/s   txcmp/s  rxmcst/s
10:10:01         eth0     10.00     10.00    100.00    200.00      0.00      0.00      0.00
"""
    )
    reading, table = read(tmp_path / "sar", text)
    assert series(table, "guest/db1", "user_pct") == [28]
    assert series(table, "guest/db1", "system_pct") == [9]
    assert series(table, "guest/db1/disk/dev8-0", "write_bytes_per_s") == [4096]
    assert series(table, "guest/db1", "memory_used_bytes") == [1_500_000 * 1024]  # without buffers and cache
    assert series(table, "guest/db1/interface/eth0", "network_rx_bytes_per_s") == [100]
    assert [gap.what for gap in reading.gaps] == ["sar -q", "sar -W"]


def test_sadf_with_semicolons(tmp_path):
    reading, table = read(tmp_path / "sadf.csv", SADF)
    assert series(table, "guest/db1", "guest_cpu_pct") == [99.5]
    assert series(table, "guest/db1", "interval_s") == [300]
    assert times(table, "guest/db1/disk/vda", "latency_ms") == ["2026-11-21 20:15:32"]
    assert not reading.notes
    _, epoch = read(tmp_path / "sadf.csv", SADF.replace("2026-11-21 20:15:32 UTC", "1795292132"))
    assert times(epoch, "guest/db1", "guest_cpu_pct") == ["2026-11-21 20:15:32"]
    local, _ = read(tmp_path / "sadf.csv", SADF.replace(" UTC", ""))
    assert any("zone" in note for note in local.notes)


def test_sadf_with_all_devices_in_one_line_is_refused(tmp_path):
    with refused("bad-source", match="without -h"):
        read(tmp_path / "sadf.csv", "# hostname;interval;timestamp;CPU;%user;%idle;DEV;tps[...]\ndb1;1;1;-1;1;1;1;1\n")


def test_sadf_as_json(tmp_path):
    reading, table = read(tmp_path / "sadf.json", JSON)
    expected = {
        "interval_s": 5,
        "user_pct": 50,
        "system_pct": 11,
        "guest_cpu_pct": 64,
        "context_switches_per_s": 2109,
        "swap_in_bytes_per_s": 4096,
        "iops": 10,
        "write_bytes_per_s": 8192,
        "memory_used_bytes": 1500 * 1024,
        "swapped_bytes": 7 * 1024,
        "run_queue": 6,
    }
    assert {metric: series(table, "guest/db1", metric) for metric in expected} == {
        metric: [value] * 2 for metric, value in expected.items()
    }
    assert series(table, "guest/db1", "vcpus") == [2]
    assert series(table, "guest/db1/disk/vda", "read_bytes_per_s") == [1024, 1024]
    assert series(table, "guest/db1/disk/vda", "latency_ms") == [9, 9]
    assert times(table, "guest/db1/interface/eth0", "network_rx_bytes_per_s") == ["2026-11-21 20:15:32"] * 2
    assert not reading.gaps and not reading.notes[1:]


def test_json_that_is_cut_off_or_nested_or_large(tmp_path):
    reading, table = read(tmp_path / "cut.json", JSON[:-600])
    assert len(series(table, "guest/db1", "run_queue")) == 1
    assert any("ends within" in note for note in reading.notes)
    start = JSON[: JSON.index("[", JSON.index('"statistics"')) + 1]
    for middle in ('{"a":' * 100_000, "[" * 100_000, '{"a": bad}', "9" * 5000 + ",", '{"a": "\x01"}'):
        with refused("bad-source"):
            read(tmp_path / "nested.json", start + middle + " " * 200)
    with refused("source-too-large"):
        read(tmp_path / "large.json", start + '"' + "x" * 2**25)


def test_more_of_everything_than_any_machine_has(tmp_path):
    row = "10:10:01  {name} 5.00 4.00 8.00 0 1 1 2.00 3.00\n"
    devices = "".join(row.format(name=f"sd{at}") for at in range(20_100))
    head = HEADER.format(date="2026-11-21") + "10:00:01 DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util\n"
    with refused("source-too-large", match="more entities"):
        read(tmp_path / "sar", head + devices)
    sections = "".join(f"10:00:01 a{at} b\n" for at in range(1_100))
    with refused("source-too-large", match="more sections"):
        read(tmp_path / "sar", head + sections)
    wraps = "".join(f"{hour}:10:01  sda 5.00 4.00 8.00 0 1 1 2.00 3.00\n" for hour in (23, "00", 23, "00"))
    _, table = read(tmp_path / "sar", head.replace("2026-11-21", "2150-12-30") + wraps)
    assert table["time"].null_count() == 5  # there is no date beyond 2150


def test_other_systems_and_empty_ones(tmp_path):
    for text in ("AIX db1 3 7 00F1 11/21/26\n00:00:01 %usr\n00:05:01 5\n", "Linux 6.1 (db1) 11/21/26\n"):
        with pytest.raises(SourceError):
            read(tmp_path / "sar", text)
    with refused("source-lacks"):
        read(tmp_path / "sar", HEADER.format(date="2026-11-21") + "10:00:01 INTR intr/s\n10:10:01 sum 5\n")


def test_names_are_data(tmp_path):
    text = DAY.replace("(db1)", "(<script>=cmd|x/%)").replace("sda ", "=1+1 ")
    _, table = read(tmp_path / "sar", text)
    assert series(table, "guest/<script>=cmd|x%2F%25/disk/=1+1", "iops") == [100]


IOSTAT = """\
Linux 6.1.0 (db1) \t11/21/2026 \t_x86_64_\t(4 CPU)

{first}avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          20.85    0.31    1.58    2.27    0.00   74.99

{header}
sda             {values}

{second}avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          20.85    0.31    1.58    2.27    0.00   74.99

{header}
sda             {values}
"""
MEGABYTES = "Device: rrqm/s wrqm/s r/s w/s rMB/s wMB/s avgrq-sz avgqu-sz await svctm %util"
NEW = "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz aqu-sz %util"
OLD = "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util"


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        (("11/21/2026 10:00:00 PM\n", "11/21/2026 10:00:05 PM\n"), "2026-11-21 22:00:05"),
        (("2026-11-21T22:00:00+0100\n", "2026-11-21T22:00:05+0100\n"), "2026-11-21 21:00:05"),
        # sysstat 7 has the time of day alone; the day is in its first line, and ends at midnight
        (("Time: 20:44:30\n", "Time: 20:44:35\n"), "2026-11-21 20:44:35"),
        (("Time: 11:59:58 PM\n", "Time: 12:00:03 AM\n"), "2026-11-22 00:00:03"),
        (("Time: 25:44:30\n", "Time: never\n"), None),
        (("", ""), None),
    ],
)
def test_iostat(stamps, expected, tmp_path):
    values = "1 10 0 0 4.00 10 3 20 0 0 8.00 7 0.05 12.5"
    text = IOSTAT.format(first=stamps[0], second=stamps[1], header=NEW, values=values)
    reading, table = read(tmp_path / "iostat", text)
    disk = "guest/db1/disk/sda"
    assert series(table, disk, "iops") == [4]
    assert series(table, disk, "latency_ms") == [7]
    assert series(table, disk, "read_latency_ms") == [4]
    assert series(table, disk, "disk_busy_pct") == [12.5]
    assert times(table, disk, "iops") == [expected]
    assert ("iostat -t" in [gap.what for gap in reading.gaps]) == (expected is None)


@pytest.mark.parametrize(
    ("requests", "latencies"),
    [("0.5 10 0 0 4.00 10 0.25 20", [5.0]), ("0 10 0 0 4.00 10 0.25 20", [7.0]), ("0 0 0 0 0.00 0 0 0", [])],
)
def test_a_disk_without_requests_has_no_latency(requests, latencies, tmp_path):
    values = f"{requests} 0 0 7.00 7 0.05 12.5"
    text = IOSTAT.format(first="", second="", header=NEW, values=values)
    _, table = read(tmp_path / "iostat", text)
    assert series(table, "guest/db1/disk/sda", "latency_ms") == latencies


def test_iostat_of_older_versions(tmp_path):
    text = IOSTAT.format(first="", second="", header=OLD, values="0.09 1.49 3 1 16 8 25.97 0.00 2.50 0.38 6,00")
    reading, table = read(tmp_path / "iostat", text)
    assert series(table, "guest/db1/disk/sda", "read_bytes_per_s") == [8192]
    assert series(table, "guest/db1/disk/sda", "latency_ms") == [2.5]
    assert series(table, "guest/db1/disk/sda", "disk_busy_pct") == [6]
    assert "numbers have a decimal comma" in reading.notes


def test_iostat_of_sysstat_7_in_a_file_of_two_runs(tmp_path):
    values = "0.09 1.49 3 1 16 8 25.97 0.00 2.50 0.38 6.00"
    one = IOSTAT.format(first="Time: 23:00:00\n", second="Time: 23:00:05\n", header=OLD, values=values)
    two = one.replace("11/21/2026", "11/24/2026").replace("23:00", "08:00")
    reading, table = read(tmp_path / "iostat", one + two)
    assert times(table, "guest/db1/disk/sda", "iops") == ["2026-11-21 23:00:05", "2026-11-24 08:00:05"]
    assert reading.gaps == []
    assert "times have no zone: assumed UTC" in reading.notes
    nowhere = one.replace("11/21/2026", "99/99/2026")
    reading, table = read(tmp_path / "iostat", nowhere)
    assert times(table, "guest/db1/disk/sda", "iops") == [None]
    assert [gap.what for gap in reading.gaps] == ["iostat -t"]


def test_units_of_iostat(tmp_path):
    text = IOSTAT.format(first="", second="", header=MEGABYTES, values="0 0 3 1 1.5 0.25 25.97 0.00 2.50 0.38 6.00")
    _, table = read(tmp_path / "iostat", text)
    assert series(table, "guest/db1/disk/sda", "read_bytes_per_s") == [1.5 * 2**20]
    assert series(table, "guest/db1/disk/sda", "write_bytes_per_s") == [2**18]


@pytest.mark.slow
def test_the_real_thing(tmp_path):
    needs("sar", "sadf", "iostat")
    environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}

    def run(*command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    record = str(tmp_path / "sa")
    text = run("sar", "-A", "-o", record, "1", "2")
    results = []
    options = ("--", "-u", "-q", "-r", "-S", "-W", "-w", "-b", "-d")
    printed = (
        text,
        run("sar", "-A", "-f", record),
        run("sadf", "-d", record, *options),
        run("sadf", "-j", record, "--", "-A"),
    )
    for at, content in enumerate(printed):
        reading, table = read(tmp_path / f"sar{at}", content)
        assert not reading.gaps, at
        assert not any("cannot be read" in note for note in reading.notes), at
        guest = str(table["entity"][0])
        results.append(
            {
                metric: (series(table, guest, metric), times(table, guest, metric))
                for metric in ("guest_cpu_pct", "run_queue", "context_switches_per_s", "iops", "memory_free_bytes")
            }
        )
    assert len(results[0]["guest_cpu_pct"][0]) == 2
    for metric, (values, when) in results[0].items():
        for other in results[1:]:
            # the first sample of a file is what others are counted from
            assert other[metric][0][-1] == pytest.approx(values[-1], abs=0.02), metric
            assert other[metric][1][-1] == when[-1]
    _, table = read(tmp_path / "iostat", run("iostat", "-xt", "1", "2"))
    assert len(table) > 0


IOSTAT_NEW = IOSTAT.format(first="11/21/26 10:00:00\n", second="", header=NEW, values="1 10 0 0 4 1 3 2 0 0 8 7 0 1")
WHOLE = (DAY, HEADER.format(date="11/21/2026") + CPU_12H, SADF, JSON, IOSTAT_NEW)
TOKENS = [*DAY.split(), "PM", "AM", "12:00:00", "1e308", "-1", "nan", "٣", "\x00", "LINUX", "COM", "Device", "[...]"]


@given(st.lists(st.lists(st.sampled_from(TOKENS), max_size=12), max_size=12))
def test_any_rows_are_read_or_refused(tmp_path, rows):
    text = HEADER.format(date="11/21/2026") + CPU_12H + "\n".join(" ".join(row) for row in rows)
    survives(tmp_path / "drawn", text.encode())
