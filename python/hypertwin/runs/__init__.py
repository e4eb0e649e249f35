"""Runs of a scenario: its points and replications, the engines that simulate them, and the result cache.

| file | contents |
|---|---|
| `simulation.py` | every point and replication of a scenario, as one result |
| `settle.py` | duration and warm-up of a run with `auto` times |
| `effort.py` | estimated work of a run |
| `task.py` | a task, its outcome, and the interface of all engines |
| `threads.py` | the engine of this computer |
| `dask.py` | the engine of a cluster: the workers of a Dask scheduler |
| `cache.py` | the result cache of this computer |
| `options.py` | options of all simulations: changes of a scenario, duration and place of runs |
| `runner.py` | replications as tasks for an engine, and `running`: the runner of a code block |
"""
