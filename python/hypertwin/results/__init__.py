"""Results of the public API: documents with their tables, pages and files.

| file | contents |
|---|---|
| `answers.py` | the answer class, and the methods that all answers share |
| `simulation.py` | the result of a simulation: figures by name, data frames, its page |
| `remarks.py` | notes of a simulation from its scenario |
"""
