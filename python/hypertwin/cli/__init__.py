"""Command line with one file per command, without logic. Each command makes one call of the public API.

`main.py` is the entry point. It answers `--help` and `--version` from `catalogue.py`, which lists the commands by
section. It passes all else to `root.py`, which runs Typer and turns outcomes into exit codes. `help.py` and
`values.py` extend Typer. `tab.py` completes lines, `names.py` names of a scenario. `signposts.py` finds the command
for a file, `symptoms.py` the command for a question. Commands share `commands.py`, `options.py`, `mistakes.py`,
`output.py`, `streams.py`, `progress.py` and `provenance.py`. `offered.py` lists the options that `serve.py` offers.
The commands: `benchmark.py`, `calibrate.py`, `capacity.py`, `compare.py`, `completion.py`, `density.py`,
`devices.py`, `diagnose.py`, `durability.py`, `examples.py`, `import_.py`, `init.py`, `lab.py`, `lab_cpu.py`,
`lab_disk.py`, `lab_profile.py`, `lab_vm.py`, `migrate.py`, `plan.py`, `presets.py`, `rerun.py`, `schema.py`,
`serve.py`, `simulate.py`, `size.py`, `cache.py`, `telemetry.py`, `validate.py`, `vnuma.py`.
"""
