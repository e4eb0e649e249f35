"""What other systems say of a cluster, read: inventories become scenarios, measurements become one table.

| file | what it is for |
|---|---|
| `inventory.py` | what every inventory source gives: hosts, VMs, datastores, rules |
| `sources.py` | which reader reads which inventory |
| `to_scenario/` | from an inventory to a scenario |
| `telemetry.py`, `telemetry_table.py` | the one table that all measurements become; as frames and files |
| `formats.py` | which reader reads which telemetry |
| `appliances.py` | storage appliances by their names |
| `demand.py` | what telemetry says of an inventory's hosts, VMs and clusters |
| `figures.py` | counters added up at the same moments, percentiles, sums over many VMs |
| `overview.py`, `aggregates.py` | a table of telemetry in a few figures; its figures and series by entity and metric |
| `parquet_table.py` | that table, read from a Parquet file |
| `prometheus.py`, `prometheus_queries.py` | telemetry from a Prometheus server, and what it is asked |
| `prometheus_text.py`, `promql.py` | telemetry from saved answers of exporters; the same queries, evaluated |
| `prometheus_series.py` | what both readers share: whose a series is, and what it becomes |
| `page.py` | pages that hypertwin wrote |
| `vmware/`, `kvm/`, `nutanix/`, `hyperv/`, `guests/`, `benchmarks/` | readers, by what is measured |
| `outside.py` | bounded reading, safe numbers and names |
| `text_log.py`, `json_stream.py` | what readers of text logs share; JSON that does not fit into memory |
| `export_files.py`, `json_fields.py` | what readers of exports in several files share, and of answers of APIs |
| `address.py` | addresses and passwords |

Readers of a folder know only the files beside this one and those of their own folder.
"""
