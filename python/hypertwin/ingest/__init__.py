"""Readers of other systems. Inventories are converted to scenarios, and measurements to one table.

| file | purpose |
|---|---|
| `inventory.py` | common form of inventories: hosts, VMs, datastores, storage pools, rules |
| `import_notes.py` | assumptions and gaps of an import |
| `sources.py` | choice of the reader of an inventory |
| `to_scenario/` | from an inventory to a scenario |
| `telemetry.py`, `telemetry_table.py` | the common table of measurements; as frames and files |
| `formats.py` | choice of the reader of telemetry |
| `appliances.py` | storage appliances by their names |
| `storage_paths.py` | path policies of LUNs |
| `secrets.py` | passwords and keys in notes |
| `demand.py` | telemetry of an inventory's hosts, VMs and clusters |
| `apportion.py` | share of each VM in the measured use of its host |
| `figures.py` | sums of simultaneous samples, percentiles, sums over many VMs |
| `lengths.py` | time that each sample stands for |
| `overview.py`, `aggregates.py` | a table of telemetry in a few figures; its figures and series by entity and metric |
| `parquet_table.py`, `csv_table.py` | that table, read from a Parquet or CSV file |
| `prometheus.py`, `prometheus_queries.py` | telemetry from a Prometheus server, and its queries |
| `prometheus_text.py`, `promql.py` | telemetry from saved responses of exporters; the same queries, evaluated |
| `prometheus_series.py` | shared by both readers: entity and metric of a series |
| `page.py` | pages that hypertwin wrote |
| `vmware/`, `kvm/`, `nutanix/`, `hyperv/`, `guests/`, `benchmarks/` | readers by system |
| `outside.py` | bounded reading, safe numbers and names, refusals |
| `text_log.py`, `json_stream.py` | shared by readers of text logs; JSON larger than memory |
| `cpu_series.py` | CPU of a VM or host over weeks, as means of equal steps |
| `export_files.py` | shared by readers of exports in several files |
| `json_fields.py`, `field_table.py` | shared by readers of API responses: values in any form; tables of fields |
| `address.py` | addresses and passwords |
| `http_json.py` | a JSON API over HTTPS: bounded responses, missing ones noted |
| `tls.py` | encrypted connections, and the certificates that they trust |

Readers in a folder import only files of this folder and of their own.
"""
