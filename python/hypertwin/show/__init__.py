"""Representation of results as tables for a terminal, as pages, and as files.

A result is a document, i.e. the output of `--format json`. `view(document)` of its module returns all content as data
(`view`): the answer, tables, charts, notes. Terminal, page, workbook and the tables for readers without scripts show
this view, so they agree. This package has no physics and runs nothing. Only the page of a simulation builds its view in
the browser, because users browse a sweep there.

A page holds document and view: the page shows the view, and `compare` reads the document.

| file | contents |
|---|---|
| `view` | the content of a result as types, with small functions that build its parts |
| `terminal`, `page`, `xlsx`, `files` | a view in a terminal, as a page, as a workbook; JSON, CSV and Parquet |
| `browser_core`, `live` | pages that simulate: their compiled core; their scenario and settings |
| `table`, `console` | shared parts of terminal tables; a safe rich console |
| `entities` | clusters, groups, VMs, hosts and stations of a simulation as rows |
| `measured` | measured figures of hosts, next to the twin's |
| `simulation`, `simulation_page` | points of a simulation: tables, page |
| `movement`, `memory`, `assumed` | VMs that were down or moved; reclaimed memory; assumed defaults |
| `pools`, `room` | distributed storage of points: table, and failures in words; capacity |
| `stations` | I/O limits of points, in words |
| `topology`, `topology_svg` | NUMA layouts: words and terminal; drawing |
| `comparison` | published figures, compared with the twin |
| `density`, `durability`, `sizing`, `capacity`, `placement`, `refresh`, `move` | answers of `hypertwin.plan` |
| `move_beside` | addresses, way back, overlap and work of a move |
| `move_target` | the target of a move: figures before and after, and steps of reused hosts |
| `compared` | two results of one kind |
| `calibration` | fitted parameters and their errors |
| `diagnosis` | findings, worst first, with their consequences |
| `benchmark` | benchmark campaigns |
| `lab`, `measured_disk`, `guests`, `coding` | lab results: contention, computer; disk; guests; erasure coding |
| `telemetry` | contents of a telemetry table |
| `cache`, `devices`, `presets` | cached results of simulations; drives and pools by name |
| `conditions` | conditions of `--fail-on` |
| `registry` | each kind of result, its view and its CSV |

Modules import modules that are lower in this order: registry, views, kit. Views import each other only if one is part
of another.
"""
