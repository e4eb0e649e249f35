"""The command line: one file per command, no logic. Each turns arguments into one call of the public API."""
