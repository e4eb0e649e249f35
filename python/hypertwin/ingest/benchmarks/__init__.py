"""Readers of the reports of load generators, and of job files of fio.

| file | input |
|---|---|
| `fio.py` | job files of fio, as workloads of a scenario |
| `fio_output.py` | output of fio |
| `vdbench.py` | output of Vdbench |
| `hcibench.py` | summaries and result folders of HCIBench |
| `cbt.py` | archives of CBT |
| `io_points.py` | loads and results of these, as points of a storage curve |
| `load_run.py` | load and figures of a run of the generators below |
| `sysbench.py` | output of sysbench |
| `pgbench.py` | output of pgbench |
| `hammerdb.py` | log of HammerDB |
| `load_runs.py` | runs of these generators in a file |
"""
