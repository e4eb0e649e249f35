"""Output of pgbench, HammerDB and Vdbench, and an archive of CBT, in the forms of their versions."""

from __future__ import annotations

import json
from pathlib import Path

PGBENCH_17 = """\
pgbench (17.2 (Debian 17.2-1))
starting vacuum...end.
progress: 5.0 s, 812.4 tps, lat 9.840 ms stddev 3.112, 0 failed
progress: 10.0 s, 799.8 tps, lat 10.002 ms stddev 3.300, 0 failed
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 20
query mode: simple
number of clients: 8
number of threads: 4
maximum number of tries: 1
duration: 10 s
number of transactions actually processed: 8061
number of failed transactions: 0 (0.000%)
latency average = 9.921 ms
latency stddev = 3.207 ms
initial connection time = 21.344 ms
tps = 806.371 (without initial connection time)
statement latencies in milliseconds and failures:
         0.002           0  \\set aid random(1, 100000 * :scale)
         3.101           0  UPDATE pgbench_accounts SET abalance = 1 WHERE aid = 1;
"""
PGBENCH_12 = """\
transaction type: multiple scripts
scaling factor: 1
query mode: prepared
number of clients: 16
number of threads: 2
duration: 30 s
number of transactions actually processed: 30030
latency average = 15.984 ms
tps = 1000.960000 (including connections establishing)
tps = 1001.200000 (excluding connections establishing)
SQL script 1: <builtin: simple update>
 - weight: 1 (targets 50.0% of total)
 - 15001 transactions (50.0% of total, tps = 500.100000)
 - latency average = 20.500 ms
"""
PGBENCH_PACED = PGBENCH_12.replace("tps = 1000", "rate limit schedule lag: avg 1.2 (max 60.1) ms\ntps = 1000")

HAMMERDB = """\
HammerDB CLI v4.12
Vuser 1:RUNNING
Vuser 1:Beginning rampup time of 2 minutes
Vuser 2:Processing 10000000 transactions with output suppressed...
Vuser 1:Timing test period of 5 in minutes
Vuser 1:5 ...,
Vuser 1:4 Active Virtual Users configured
Vuser 1:TEST RESULT : System achieved 12000 NOPM from 27610 PostgreSQL TPM
Vuser 1:FINISHED SUCCESS
"""
PROFILE = """\
>>>>> VIRTUAL USER 2 : ELAPSED TIME : 420001ms
>>>>> PROC: NEWORD
CALLS: 9	MIN: 1.000ms	AVG: 900.000ms	MAX: 3.000ms	TOTAL: 8100.000ms
P99: 3.000ms	P95: 3.000ms	P50: 2.000ms	SD: 0.500	RATIO: 50.000%
>>>>> SUMMARY OF 4 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 420003ms
>>>>> PROC: NEWORD
CALLS: 100	MIN: 1.500ms	AVG: 8.000ms	MAX: 120.000ms	TOTAL: 800.000ms
P99: 40.000ms	P95: 20.000ms	P50: 6.000ms	SD: 49.663	RATIO: 48.963%
>>>>> PROC: PAYMENT
CALLS: 100	MIN: 0.500ms	AVG: 4.000ms	MAX: 80.000ms	TOTAL: 400.000ms
P99: 30.000ms	P95: 10.000ms	P50: 3.000ms	SD: 20.1	RATIO: 20.000%
>>>>> PROC: DELIVERY
CALLS: 10	MIN: 2.000ms	AVG: 20.000ms	MAX: 90.000ms	TOTAL: 200.000ms
P99: 80.000ms	P95: 60.000ms	P50: 15.000ms	SD: 20.1	RATIO: 10.000%
>>>>> PROC: SLEV
CALLS: 10	MIN: 1.000ms	AVG: 3.000ms	MAX: 9.000ms	TOTAL: 30.000ms
P99: 8.000ms	P95: 6.000ms	P50: 2.000ms	SD: 2.1	RATIO: 1.000%
>>>>> PROC: OSTAT
CALLS: 10	MIN: 0.500ms	AVG: 2.000ms	MAX: 5.000ms	TOTAL: 20.000ms
P99: 4.000ms	P95: 3.000ms	P50: 1.500ms	SD: 1.1	RATIO: 1.000%
"""
HAMMERDB_3 = """\
Hammerdb Log @ Fri Jul 05 09:55:26 BST 2019
Vuser 1:2 Active Virtual Users configured
Vuser 1:TEST RESULT : System achieved 90000 Oracle TPM at 30000 NOPM
"""

FLAT_COLUMNS = (
    "tod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp resp_max read_max "
    "write_max resp_std read_std write_std xfersize threads rdpct rhpct whpct seekpct lunsize version compratio "
    "dedupratio queue_depth cpu_used cpu_user cpu_kernel cpu_wait cpu_idle"
)


def flat_row(interval: str, rate: float, resp: float, **more: object) -> str:
    """Return a row of a flat file of 8 KiB, with 70% reads and 16 threads."""
    cells = dict.fromkeys(FLAT_COLUMNS.split(), "n/a")
    cells |= {"tod": "10:00:05.021", "timestamp": "05/04/2026-10:00:05-UTC", "Run": "rd1", "Interval": interval}
    cells |= {"reqrate": "999988", "rate": f"{rate}", "MB/sec": f"{rate * 8192 / 2**20:.4f}", "bytes/io": "8192"}
    cells |= {"read%": "70.1", "resp": f"{resp}", "read_resp": "1.500", "write_resp": "3.000", "xfersize": "8192"}
    cells |= {"threads": "16", "rdpct": "70", "seekpct": "100", "queue_depth": f"{rate * resp / 1000:.1f}"}
    return " ".join(str(cell) for cell in {**cells, **more}.values())


FLAT = f"""\
<title>Vdbench flatfile.html</title><pre>
* Vdbench flat file
*   tod: time of day
{FLAT_COLUMNS}
{flat_row("1", 900.0, 1.9)}
{flat_row("2", 1100.0, 2.0)}
{flat_row("avg_2-2", 1024.0, 1.95)}
{flat_row("avg_2-9", 2048.0, 15.6, reqrate="2000", Run="rd2")}
"""
PRINTED = """\
Vdbench distribution: vdbench50407 Tue June 05  9:49:29 MDT 2018
09:00:01.002 <b>Starting RD=SD_format; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: threads=2 iorate=max</b>

May 04, 2026    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%
                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys
09:00:02.181     avg_2-1        0.0     0.00       0   0.00    0.000    0.000    0.000     0.00     0.00    0.000    0.0   NaN   NaN
09:00:03.001 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=60; For loops: threads=2 xfersize=4k

May 04, 2026    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%
                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys
09:00:08.145           1      370.0     1.45    4096  80.49    5.205    6.316    0.624   177.83    24.34    7.754    1.9  18.0   4.4
09:01:03.061    avg_2-12      380.0     1.48    4096  80.00    5.000    6.000    1.000   142.46   128.65    5.233    2.0  12.8   3.6
09:01:04.259 Vdbench execution completed successfully.
"""  # noqa: E501


CBT_CONFIG = """\
cluster:
  benchmark: librbdfio
  iodepth: 32
  iteration: 0
  mode: randwrite
  op_size: 4096
"""


def fio_report(client: str, iops: float = 100, mean_ms: float = 4, **options: str) -> str:
    """Return the JSON of fio of one process of CBT, with 4 KiB random writes."""
    given = {"ioengine": "rbd", "clientname": "admin", "pool": "cbt", "rbdname": client, "invalidate": "0"}
    given |= {"rw": "randwrite", "runtime": "60", "numjobs": "1", "direct": "1", "bs": "4096B", "iodepth": "32"}
    write = {"iops": iops, "bw_bytes": iops * 4096, "runtime": 60000, "lat_ns": {"mean": mean_ms * 1e6}}
    write["clat_ns"] = {"mean": mean_ms * 9e5, "percentile": {"99.000000": 2e7}}
    job = {"jobname": f"cbt-{client}", "groupid": 0, "error": 0, "elapsed": 61, "write": write}
    document = {"fio version": "fio-3.36", "timestamp": 1777885200, "global options": {**given, **options}}
    return json.dumps({**document, "jobs": [{**job, "job options": {"name": f"cbt-{client}"}}]}, indent=2) + "\n"


def write_archive(folder: Path, clients: int = 2, volumes: int = 2, **options: str) -> Path:
    """Write an archive of CBT with one test, and return its folder. Volume V of client C does 100 x C + V IOPS."""
    test = folder / "results" / "00000000" / "id-1f2e3d4c"
    test.mkdir(parents=True)
    (test / "benchmark_config.yaml").write_text(CBT_CONFIG)
    for client in range(1, clients + 1):
        for volume in range(volumes):
            report = fio_report(f"client{client}", 100 * client + volume, mean_ms=2 * client, **options)
            (test / f"output.{volume}.client{client}").write_text(f"fio: starting\n{report}\nRun status group 0\n")
            (test / f"json_output.{volume}.client{client}").write_text(report)
            (test / f"output.{volume}_bw.1.log.client{client}").write_text("500, 1, 0, 0\n")
    return folder


RESULT_FIO = """\
Datastore     = vsanDatastore
=============================
JOB_NAME\t= job0
VMs\t\t= 8
IOPS\t\t= 123456.78 IO/S
THROUGHPUT\t= 482.00 MB/s
R_LATENCY\t= 1.2345 ms
W_LATENCY\t= 2.3456 ms
95%tile_R_LAT\t= 3.4567 ms
95%tile_W_LAT\t= 4.5678 ms
=============================
Resource Usage:
CPU USAGE\t= 51.23%
RAM USAGE\t= 30.10%
vSAN PCPU USAGE\t= 12.50%
"""
"""HCIBench with fio."""
