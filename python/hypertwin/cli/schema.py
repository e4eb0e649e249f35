"""`hypertwin schema`: the JSON Schema of the scenario file."""

from __future__ import annotations

import json

from hypertwin import _core
from hypertwin.cli import streams
from hypertwin.show import files

EXAMPLES = ("hypertwin schema > scenario.schema.json",)


def command() -> None:
    """Print the JSON Schema of the scenario file."""
    streams.write(files.to_json(json.loads(_core.schema_json())))
