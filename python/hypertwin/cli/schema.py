"""`hypertwin schema`: the JSON Schema of the scenario file."""

from __future__ import annotations

import json

from hypertwin import _core
from hypertwin.cli import output
from hypertwin.report import files


def command() -> None:
    """Print the JSON Schema of the scenario file."""
    output.write(files.to_json(json.loads(_core.schema_json())))
