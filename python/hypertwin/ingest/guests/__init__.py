"""Readers of what is measured inside a system, guest or not.

| file | what it reads |
|---|---|
| `vmstat.py` | vmstat of Linux |
| `sar.py` | sar and sadf of sysstat |
| `iostat.py` | iostat of sysstat |
| `pbuttons.py` | pButtons and SystemPerformance reports of InterSystems |
"""
