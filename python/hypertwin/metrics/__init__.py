"""Figures of a result: their names, definitions, bands, paths and words, and a result as rows.

Plans, diagnoses and tables use the same definitions. This room shows nothing.

| file | contents |
|---|---|
| `catalogue.py`, `other_tools.py` | the definition of every figure; names of figures in other tools |
| `metric_path.py` | paths such as `groups.web.response_ms.p99` to a figure |
| `bands.py` | values from which a figure needs attention or causes harm |
| `words.py`, `ready.py` | numbers and sentences; ready time in words |
| `packed.py` | reports of points, decoded on access |
| `frame.py` | a result as a flat table |
| `points.py` | common settings and differences of points |
"""
