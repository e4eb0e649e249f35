"""Published figures of CPUs and servers: throughput and power of a host by the name of its CPU.

The figures are public results of SPEC benchmarks, in `library/published`. The package knows no scenario.

| file | contents |
|---|---|
| `names.py` | names and generations of CPUs, from the strings of any source |
| `table.py` | rows of the files, by CPU |
| `throughput.py` | SPECrate2017_int_base of a host, and the ratio of two hosts per core |
| `power.py` | watts of a server by load, and energy |
"""
