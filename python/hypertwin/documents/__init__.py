"""The JSON documents that commands print with `--format json`, as types; one file for each module that makes some.

They separate computation from display: `run`, `plan`, `calibration`, `lab`, `diagnose` and `studies` make them, and
`hypertwin.report` reads them. They are below both, because makers use parts of `report`, which must not import its
makers. Names end in their unit as in docs/metrics.md (`_s` seconds, `_ms` milliseconds, `_pct` per cent,
`_gib` GiB, `_bytes`, `_hz`); what has no such ending is a number or says its unit. The types hold no code.

| file | documents of |
|---|---|
| `simulation` | `hypertwin simulate` |
| `validation` | `hypertwin validate` |
| `placement` | `hypertwin plan` |
| `plan` | `hypertwin density`, `durability`, `size` |
| `capacity` | `hypertwin capacity` |
| `calibration` | `hypertwin calibrate` |
| `diagnosis` | `hypertwin diagnose`, and the series of its charts |
| `telemetry` | `hypertwin telemetry` |
| `vnuma` | `hypertwin vnuma` |
| `compare` | `hypertwin compare` |
| `lab` | `hypertwin lab profile`, `cpu`, `vm` and `erasure-coding` |
| `cache` | `hypertwin cache list` |
| `devices` | `hypertwin devices` |
| `presets` | `hypertwin presets` |
| `failover` | none: the verdict on host failures, in several |
| `space` | none: the room of a pool, in several |
| `page` | none: what a page is made from |
"""
