"""Who runs simulations, and where their results are kept.

| file | |
|---|---|
| `task.py` | a task, its outcome, and what can run tasks: the interface that every engine has |
"""
