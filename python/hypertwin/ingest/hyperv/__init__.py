"""Readers of Microsoft Hyper-V.

| file | input |
|---|---|
| `cmdlets.py` | hosts and VMs, from the output of `Get-VMHost`, `Get-VM` and others |
| `powershell.py` | objects that PowerShell exported as CSV or JSON |
"""
