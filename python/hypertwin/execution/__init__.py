"""Engines of simulations, and the result cache.

| file | |
|---|---|
| `task.py` | a task, its outcome, and what can run tasks: the interface that every engine has |
| `threads.py` | the engine of this computer |
| `dask.py` | the engine of a cluster: the workers of a Dask scheduler |
| `cache.py` | the result cache of this computer |
| `options.py` | options of all that simulates: how a scenario is changed, how long and where it runs |
| `runner.py` | replications as tasks for an engine, and `running`: which runner a block of code has |
"""
