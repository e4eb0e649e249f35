"""pButtons and SystemPerformance reports: sections of Linux and Windows in a hostile document."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import refused
from tests.reading import read, series, survives, times

HEAD = """\
<html><head><title>TRAKDB</title></head><body>
<a id="Topofpage"></a>
<table><tr><td><a href=#mgstat>mgstat</a></td><td><a href=#vmstat>vmstat</a></td></tr></table>
Profile run "24hours_5sec" started by user "irisusr" at 00:00:00 on Apr 05 2026.
<b><font size="4"><div id=Configuration></div>Configuration</font></b><br><pre>
TRAKDB on machine db1.example.org
Product Version String: IRIS for UNIX (Red Hat Enterprise Linux for x86-64) 2022.1
</pre>
<div id="irisstat -c_1"></div>irisstat -c<br><pre>
04/05/26 00:00:05  1  1      0 1 1 1 1 1 1 1 1 1 1 1 1 1 1
<script>alert("never run")</script>
</pre><p align="right"><font size="3"><a href="#Topofpage">Back to top</a></font></p><hr size="4" noshade>
"""
MGSTAT = """\
<div id=mgstat></div>mgstat</font></b><br><!-- beg_mgstat --><pre>
MGSTAT v1.34 (c) InterSystems, numberofcpus=24:2
Date,       Time    ,  Glorefs, RemGrefs, GRratio,  PhyRds, Rdratio, Gloupds,  PhyWrs,   WDQsz, Jrnwrts
04/05/26, 00:00:05,   308117,        0,       0,       50,       0,       0,       7,       0,      9
04/05/26, 00:00:10,   203172,      103, 1972.54,       60,     .15,       0,       8,       0,     10
04/05/26, 00:00:15,
<!-- end_mgstat -->
</pre>
"""
VMSTAT = """\
<p><font><div id=vmstat></div>vmstat</font></b><br><!-- beg_vmstat --><pre>{title} r  b   swpd   free   buff  cache   \
si   so    bi    bo   in   cs us sy id wa st
04/05/26 00:00:05  0  0      0 100000      0      0    0    0     0     0    0    0  1  0 99  0  0
04/05/26 00:00:10  3  0      0 200000      0      0    0    0     8     4    0  500  61  9 20  6  4
<!-- end_vmstat -->
"""
AIX = """\
<div id=vmstat></div>vmstat</font></b><br><!-- beg_vmstat --><pre>  r  b   avm   fre  re  pi  po  fr   sr  cy  in   sy \
cs us sy id wa hr mi se
  1  1 7738408 10669   0   0   0  19   19   0 571 88893 1817 13  1 84  2 00:01:11
<!-- end_vmstat -->
"""
IOSTAT = """\
<div id=iostat></div>iostat</font></b><br><pre>
Linux 4.18.0 (somewhere) \t04/05/2026 \t_x86_64_\t(4 CPU)

04/05/2026 12:00:05 AM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          20.85    0.31    1.58    2.27    0.00   74.99

Device            r/s     w/s     rkB/s     wkB/s r_await w_await aqu-sz  %util
sda              0.56   19.78     12.97   1035.70    0.30    0.10   0.00   0.20

04/05/2026 12:00:10 AM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          20.85    0.31    1.58    2.27    0.00   74.99

Device            r/s     w/s     rkB/s     wkB/s r_await w_await aqu-sz  %util
sda              1.00    3.00     12.00     20.00    4.00    8.00   0.00   7.50
"""
SAR = """\
<div id=sar-u></div>sar-u<br><!-- beg_sar_u --><pre>
Linux 4.18.0 (somewhere) \t04/05/2026 \t_x86_64_\t(4 CPU)

12:00:05 AM     CPU     %user     %nice   %system   %iowait    %steal     %idle
12:00:10 AM     all     80.00      0.00     10.00      0.00      0.00     10.00
Average:        all     80.00      0.00     10.00      0.00      0.00     10.00
<!-- end_sar_u --></pre>
<div id=sar-d></div>sar-d<br><pre>
Linux 4.18.0 (somewhere) \t04/05/2026 \t_x86_64_\t(4 CPU)

12:00:05 AM       DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     svctm     %util
12:00:10 AM    dev8-0      5.00      4.00      8.00     16.00      0.01      2.00      1.00      3.00
</pre>
"""
FREE = """\
<div id=free></div>free<br><pre>
Date,     Time,      Memtotal,     used,     free,   shared,buf/cache,available,swap_total,swap_used,swap_free
04/05/26, 00:00:05, 16000, 1000, 14000, 50, 1000, 14000, 100, 7, 93
</pre>
"""
TAIL = "<div id=loadaverage></div>loadaverage<br><pre>\n1 2 3\n</pre></body></html>\n"
LINUX = HEAD + MGSTAT + VMSTAT.format(title="  date time") + IOSTAT + FREE + TAIL
PERFMON = (
    '<html><head></head>\nProfile run "test" started by user "u" at 00:00:00 on May 29 2026.\n'
    "<div id=perfmon></div>perfmon<br><pre>\n"
    + ",".join(
        f'"{cell}"'
        for cell in (
            "(PDH-CSV 4.0) (Eastern Standard Time)(300)",
            r"\\WINDB\Memory\Available MBytes",
            r"\\WINDB\PhysicalDisk(0 C:)\Disk Reads/sec",
            r"\\WINDB\PhysicalDisk(0 C:)\Avg. Disk sec/Read",
            r"\\WINDB\PhysicalDisk(0 C:)\Avg. Disk sec/Write",
            r"\\WINDB\PhysicalDisk(0 C:)\Avg. Disk sec/Transfer",
            r"\\WINDB\PhysicalDisk(_Total)\Disk Reads/sec",
            r"\\WINDB\Processor(0)\% Processor Time",
            r"\\WINDB\Processor(_Total)\% Processor Time",
            r"\\WINDB\System\Processor Queue Length",
            r"\\WINDB\Unknown, with comma\x",
        )
    )
    + '\n"05/29/2026 06:30:15.123"," "," "," "," "," "," "," "," ","0"," "\n'
    + '"05/29/2026 06:30:45.123","1100","6","0.0125","0.0250","0.0150","14","90","60.5","3","9"\n'
    + "<!-- end_win_perfmon -->\n"
)
GUEST = "guest/db1.example.org"


def test_sections_of_linux(tmp_path):
    reading, table = read(tmp_path / "report.html", LINUX)
    expected = {
        "glorefs_per_s": [308117, 203172],
        "database_reads_per_s": [50, 60],
        "database_writes_per_s": [7, 8],
        "journal_writes_per_s": [9, 10],
        "vcpus": [24],
        "run_queue": [3],
        "guest_cpu_pct": [74],
        "steal_pct": [4],
        "memory_bytes": [16000 * 2**20],
        "memory_used_bytes": [1000 * 2**20],
        "memory_free_bytes": [200000 * 1024],  # of vmstat, which comes first
        "swapped_bytes": [0],
    }
    assert {metric: series(table, GUEST, metric) for metric in expected} == expected
    assert series(table, f"{GUEST}/disk/sda", "latency_ms") == [7]
    for metric in ("run_queue", "glorefs_per_s"):
        assert times(table, GUEST, metric)[-1] == "2026-04-05 00:00:10"
    assert times(table, f"{GUEST}/disk/sda", "iops") == ["2026-04-05 00:00:10"]
    assert not reading.gaps
    assert reading.kind == "pbuttons"


@pytest.mark.parametrize("title", ["", "  date time", "04/05/26 00:00:00 ", "  fre date"])
def test_what_stands_before_the_columns_of_vmstat(title, tmp_path):
    text = HEAD + VMSTAT.format(title=title) + TAIL
    if not title:
        text = text.replace("\n04/05/26 00:00:05 ", "\n").replace("\n04/05/26 00:00:10 ", "\n")
    _, table = read(tmp_path / "report.html", text)
    assert series(table, GUEST, "run_queue") == [3]
    assert times(table, GUEST, "run_queue") == ["2026-04-05 00:00:10" if title else None]


def test_dates_are_read_so_that_they_are_of_the_run(tmp_path):
    other = LINUX.replace("04/05/26", "05/04/26").replace("04/05/2026", "05/04/2026")
    _, table = read(tmp_path / "report.html", other)
    assert times(table, GUEST, "run_queue") == ["2026-04-05 00:00:10"]
    assert times(table, f"{GUEST}/disk/sda", "iops") == ["2026-04-05 00:00:10"]


def test_what_two_sections_tell_is_told_once(tmp_path):
    _, both = read(tmp_path / "both.html", LINUX.replace("</body>", SAR))
    assert series(both, GUEST, "guest_cpu_pct") == [74]
    assert series(both, f"{GUEST}/disk/dev8-0", "latency_ms") == []
    _, alone = read(tmp_path / "alone.html", HEAD + SAR)
    assert series(alone, GUEST, "guest_cpu_pct") == [90]
    assert series(alone, f"{GUEST}/disk/dev8-0", "latency_ms") == [2]
    assert times(alone, GUEST, "guest_cpu_pct") == ["2026-04-05 00:00:10"]


def test_counters_of_windows(tmp_path):
    reading, table = read(tmp_path / "report.html", PERFMON)
    assert series(table, "guest/WINDB", "guest_cpu_pct") == [60.5]
    assert series(table, "guest/WINDB", "run_queue") == [0, 3]
    assert series(table, "guest/WINDB", "memory_free_bytes") == [1100 * 2**20]
    assert series(table, "guest/WINDB", "read_iops") == [14]
    assert series(table, "guest/WINDB/disk/0 C:", "read_iops") == [6]
    assert series(table, "guest/WINDB/disk/0 C:", "read_latency_ms") == [12.5]
    assert series(table, "guest/WINDB/disk/0 C:", "write_latency_ms") == [25]
    assert series(table, "guest/WINDB/disk/0 C:", "latency_ms") == [15]
    assert times(table, "guest/WINDB", "guest_cpu_pct") == ["2026-05-29 11:30:45"]  # the header has the zone
    assert "mgstat" in [gap.what for gap in reading.gaps]
    processed = PERFMON.replace('"(PDH-CSV 4.0) (Eastern Standard Time)(300)"', "Date,Time").replace("\\\\WINDB", "")
    processed = processed.replace('"05/29/2026 06:30:', '05/29/2026,"06:30:')
    noted, table = read(tmp_path / "report.html", processed)
    assert series(table, "guest/report.html", "guest_cpu_pct") == [60.5]
    assert times(table, "guest/report.html", "guest_cpu_pct") == ["2026-05-29 06:30:45"]
    assert any("no zone" in note for note in noted.notes)


def test_counters_in_another_language_are_a_gap(tmp_path):
    text = HEAD + MGSTAT + PERFMON.partition("<div")[2].join(["<div", ""])
    text = text.replace("Processor", "Prozessor").replace("Disk", "Datentraeger").replace("Memory", "Speicher")
    reading, table = read(tmp_path / "report.html", text)
    assert "perfmon counters in English" in [gap.what for gap in reading.gaps]
    assert series(table, GUEST, "glorefs_per_s") == [308117, 203172]


def test_aix_is_a_gap_and_the_rest_is_read(tmp_path):
    reading, table = read(tmp_path / "report.html", HEAD + AIX + MGSTAT + TAIL)
    assert "vmstat of Linux" in [gap.what for gap in reading.gaps]
    assert series(table, GUEST, "glorefs_per_s") == [308117, 203172]


def test_a_report_of_nothing(tmp_path):
    with refused("source-lacks", match="no measurements"):
        read(tmp_path / "report.html", HEAD + TAIL)


def test_sections_without_end_or_names_with_markup(tmp_path):
    text = HEAD + MGSTAT.partition("<!-- end")[0] + IOSTAT.replace("sda ", "<b>=cmd|x ")
    _, table = read(tmp_path / "report.html", text)
    assert series(table, GUEST, "glorefs_per_s") == [308117, 203172]
    assert series(table, f"{GUEST}/disk/<b>=cmd|x", "iops") == [4]
    assert not any("script" in str(entity) for entity in table["entity"].unique())


def test_bounds(tmp_path):
    wide = ",".join(['"(PDH-CSV 4.0) (UTC)(0)"', *[r'"\Memory\Available MBytes"'] * 20_001])
    with refused("source-too-large", match="counters"):
        read(tmp_path / "report.html", HEAD + "<div id=perfmon></div><pre>\n" + wide + "\n")
    marks = "<div id=mgstat></div>" * 20_000
    reading, table = read(tmp_path / "report.html", HEAD + marks + "\n" + MGSTAT + "x" * 2**21 + "\n" + TAIL)
    assert len(series(table, GUEST, "glorefs_per_s")) == 2
    assert reading.gaps


WHOLE = (LINUX, HEAD + SAR + AIX, PERFMON)
PIECES = [
    *(LINUX + SAR + PERFMON + AIX).splitlines(),
    "<pre>",
    "</pre>",
    "<div id=vmstat>",
    '"',
    '"""a',
    ",,,,",
    "\x00",
]


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_any_lines_are_read_or_refused(tmp_path, lines):
    survives(tmp_path / "drawn", (HEAD + "\n".join(lines)).encode())
