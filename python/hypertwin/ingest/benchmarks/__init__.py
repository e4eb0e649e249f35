"""Readers of load generators' reports, and of fio's job files.

| file | what it reads |
|---|---|
| `fio.py` | job files of fio, as workloads of a scenario |
| `fio_output.py` | what fio prints |
| `io_points.py` | of both: loads and what came of them, as points of a storage's curve |
| `hcibench.py` | summaries and result folders of HCIBench |
| `sysbench.py` | what sysbench prints |
"""
