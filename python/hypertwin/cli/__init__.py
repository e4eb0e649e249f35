"""The command line: one file per command, no logic. Each turns arguments into one call of the public API.

`main.py` collects the commands and turns outcomes into exit codes; `commands.py`, `options.py`, `output.py`,
`console.py`, `streams.py` and `provenance.py` are what they share. The commands: `calibrate.py`, `capacity.py`,
`compare.py`, `density.py`, `devices.py`, `diagnose.py`, `durability.py`, `examples.py`, `import_.py`, `init.py`,
`lab.py`, `lab_cpu.py`, `lab_disk.py`, `lab_profile.py`, `lab_vm.py`, `plan.py`, `presets.py`, `rerun.py`, `schema.py`,
`simulate.py`, `size.py`, `store.py`, `telemetry.py`, `validate.py`, `vnuma.py`.
"""
