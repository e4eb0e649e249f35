"""What comes with the package as files: examples, studies and presets.

`presets/` has the pools that scenarios may name (`hypertwin.presets`). In a checkout, `library/examples` and
`library/studies` are links to `scenarios/` and `studies/` of its root.

| file | what it holds |
|---|---|
| `example.py` | the examples: scenarios with the files that they name |
| `starter.py` | a commented scenario to begin with |
"""

from pathlib import Path

_FOLDER = Path(__file__).resolve().parent


def examples() -> Path:
    """The folder of the examples."""
    return (_FOLDER / "examples").resolve()


def studies() -> Path:
    """The folder of the studies, one folder each."""
    return (_FOLDER / "studies").resolve()
