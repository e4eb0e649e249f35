"""Results as tables for a terminal, as pages, and as files.

A report is a view of a result in its JSON form, the document that `--format json` prints. It holds no physics and runs
nothing: what a view needs is in the document, or is given beside it. `registry` says which views each kind of result
has; a module's `table(document)` is for a terminal and its `page(document)` an HTML file.

| file | what it is for |
|---|---|
| `words`, `ready`, `points` | numbers and sentences; ready time; what tells the points of a simulation apart |
| `metrics`, `metric_path` | the catalogue of all figures; paths such as `groups.web.response_ms.p99` to one of them |
| `files` | JSON, CSV and Parquet |
| `table`, `console` | what all tables of a terminal share; rich's console, safe |
| `page` | writes a page; `page.js` and `page.css` in every page are built from `web/` |
| `entities` | clusters, groups, VMs, hosts and stations of a simulation as rows |
| `measured` | what was measured of hosts, beside the twin |
| `simulation`, `simulation_page` | points of a simulation: tables, page |
| `movement`, `memory`, `supposed` | VMs that were down or moved; reclaimed memory; defaults that both stand on |
| `pools`, `room` | the distributed storage of points: table, and failures in words; how much fits |
| `stations` | what limits the I/O of points, in words |
| `topology`, `topology_svg` | NUMA layouts: words and terminal; drawing |
| `comparison` | published figures against the twin |
| `density`, `durability`, `sizing`, `capacity`, `placement` | answers of `hypertwin.plan` |
| `compared` | two results of one kind |
| `calibration` | fitted parameters and their errors |
| `diagnosis` | findings: groups, words and terminal; page |
| `lab`, `measured_disk`, `guests`, `coding` | measured by the lab: contention, machine; disk; guests; erasure coding |
| `telemetry` | what a table of telemetry holds |
| `store`, `devices`, `presets` | what is kept of earlier simulations; drives and pools by name |
| `conditions` | what `--fail-on` names |
| `registry` | each kind of result and its views |

Imports go up this table only where a view is part of another: kit below, views above, registry on top.
"""
