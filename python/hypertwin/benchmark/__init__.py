"""Benchmark campaigns on the user's own VMs: predicted first, then measured, then compared.

| file | contents |
|---|---|
| `target.py`, `step.py` | VM that runs a load, and load of one measurement |
| `plan.py` | the plan of a campaign, from YAML |
| `inventory.py` | targets of an inventory of Ansible |
| `load/` | load generators: sysbench, pgbench, fio, any command |
| `shell.py` | shell text on a target, by ssh or here |
| `scripts.py` | the shell text itself |
| `counters.py` | counters of Linux between two snapshots |
| `telemetry.py` | measurements of hosts by a server |
| `checks.py` | checks of targets before a campaign |
| `esxi.py` | measurements of ESXi hosts by esxtop |
| `folder.py` | folder of a campaign, with its state |
| `imported.py` | folder of a campaign that ran elsewhere, from its results |
| `campaign.py` | execution |
| `measured.py` | figures of a run |
| `limits.py` | limit of a step, as counters show it |
| `prediction.py` | prediction of all steps |
| `fitted.py` | calibration by the steps |
| `judged.py` | comparison and score |
| `exports.py` | the campaign as a table and as a study |
| `options.py` | options |
| `answer.py` | the entry points, and the document |
"""
