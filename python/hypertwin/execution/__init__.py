"""Engines of simulations, and the result cache.

| file | contents |
|---|---|
| `task.py` | a task, its outcome, and the interface of all engines |
| `threads.py` | the engine of this computer |
| `dask.py` | the engine of a cluster: the workers of a Dask scheduler |
| `cache.py` | the result cache of this computer |
| `options.py` | options of all simulations: changes of a scenario, duration and place of runs |
| `runner.py` | replications as tasks for an engine, and `running`: the runner of a code block |
"""
