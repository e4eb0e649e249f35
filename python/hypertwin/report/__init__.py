"""Results as tables for a terminal, as pages, and as files.

A result is a document, the one that `--format json` prints; `view(document)` of its module here has all its
content as data (`view`): the answer, tables, charts, notes. Terminal, page, workbook and the tables of readers
without scripts are drawn from that, so that they say the same. Nothing here holds physics or runs anything. The page
of a simulation alone makes its view in the browser, where a sweep is looked through.

| file | what it is for |
|---|---|
| `words`, `ready`, `points` | numbers and sentences; ready time; what tells the points of a simulation apart |
| `metrics`, `metric_path` | the catalogue of all figures; paths such as `groups.web.response_ms.p99` to one of them |
| `view` | what there is to show, as types, with small functions that make its parts |
| `terminal`, `page`, `xlsx`, `files` | a view in a terminal, as a page, as a workbook; JSON, CSV and Parquet |
| `table`, `console` | what all tables of a terminal share; rich's console, safe |
| `entities` | clusters, groups, VMs, hosts and stations of a simulation as rows |
| `measured` | what was measured of hosts, beside the twin |
| `simulation`, `simulation_page` | points of a simulation: tables, page |
| `movement`, `memory`, `assumed` | VMs that were down or moved; reclaimed memory; defaults that both stand on |
| `pools`, `room` | the distributed storage of points: table, and failures in words; how much fits |
| `stations` | what limits the I/O of points, in words |
| `topology`, `topology_svg` | NUMA layouts: words and terminal; drawing |
| `comparison` | published figures against the twin |
| `density`, `durability`, `sizing`, `capacity`, `placement` | answers of `hypertwin.plan` |
| `compared` | two results of one kind |
| `calibration` | fitted parameters and their errors |
| `diagnosis` | findings, worst first, with what follows from them |
| `lab`, `measured_disk`, `guests`, `coding` | measured by the lab: contention, computer; disk; guests; erasure coding |
| `telemetry` | what a table of telemetry holds |
| `cache`, `devices`, `presets` | what is kept of earlier simulations; drives and pools by name |
| `conditions` | what `--fail-on` names |
| `registry` | each kind of result, its view and its CSV |

Imports go up this table only where a view is part of another: kit below, views above, registry on top.
"""
