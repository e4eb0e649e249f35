"""Readers of Microsoft Hyper-V.

| file | what it reads |
|---|---|
| `cmdlets.py` | hosts and VMs, from the output of `Get-VMHost`, `Get-VM` and others |
| `powershell.py` | objects that PowerShell exported as CSV or JSON |
"""
