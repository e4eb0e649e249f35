"""Readers of measurements from inside a system, guest or not.

| file | input |
|---|---|
| `vmstat.py` | vmstat of Linux |
| `sar.py` | sar and sadf of sysstat |
| `iostat.py` | iostat of sysstat |
| `pbuttons.py` | pButtons and SystemPerformance reports of InterSystems |
"""
