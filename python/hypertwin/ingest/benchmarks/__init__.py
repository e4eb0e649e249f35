"""Readers of the reports of load generators, and of job files of fio.

| file | input |
|---|---|
| `fio.py` | job files of fio, as workloads of a scenario |
| `fio_output.py` | output of fio |
| `io_points.py` | loads and results of both, as points of a storage curve |
| `hcibench.py` | summaries and result folders of HCIBench |
| `sysbench.py` | output of sysbench |
"""
