"""JSON documents that commands print with `--format json`, as types. Each module that makes documents has one file.

They separate computation from display: `runs`, `plan`, `calibration`, `lab`, `diagnosis` and `studies` make them, and
`show` reads them. Makers use parts of `show`, which must not import its makers. So these types are below both. Names
end in their unit as in docs/metrics.md (`_s` seconds, `_ms` milliseconds, `_pct` per cent, `_gib` GiB, `_bytes`,
`_hz`); other names are numbers, or contain their unit. The types hold no code.

| file | documents of |
|---|---|
| `simulation` | `hypertwin simulate` |
| `measured` | hosts, clusters, VMs, stations and pools in it, generated from the tables of the engine |
| `validation` | `hypertwin validate` |
| `placement` | `hypertwin plan` |
| `plan` | `hypertwin density`, `durability`, `size` |
| `refresh` | `hypertwin plan refresh` |
| `move` | `hypertwin plan move` |
| `capacity` | `hypertwin capacity` |
| `calibration` | `hypertwin calibrate` |
| `diagnosis` | `hypertwin diagnose`, and the series of its charts |
| `telemetry` | `hypertwin telemetry` |
| `vnuma` | `hypertwin vnuma` |
| `compare` | `hypertwin compare` |
| `benchmark` | `hypertwin benchmark` |
| `lab` | `hypertwin lab profile`, `cpu`, `vm` and `erasure-coding` |
| `cache` | `hypertwin cache list` |
| `devices` | `hypertwin devices` |
| `presets` | `hypertwin presets` |
| `failover` | the verdict on host failures, part of several documents |
| `cost` | costs over years, part of `hypertwin plan refresh` |
| `space` | the capacity of a pool, part of several documents |
| `page` | the data of a page |
"""
