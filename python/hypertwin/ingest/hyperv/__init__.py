"""Readers of Microsoft Hyper-V.

| file | what it reads |
|---|---|
| `cmdlets.py` | hosts and machines, from what `Get-VMHost`, `Get-VM` and their like give |
| `powershell.py` | objects that PowerShell exported as CSV or JSON |
"""
