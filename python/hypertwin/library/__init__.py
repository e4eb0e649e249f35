"""Files of the package: examples, studies, presets and published figures.

`presets/` has the pools that scenarios can name (`hypertwin.scenario.pool_presets`), `licences.yaml` the rules of
licences (`hypertwin.cost.rules`), and `published/` figures of CPUs and servers (`hypertwin.published`). `moving/` has
the rules and rates of moves to other hypervisors (`hypertwin.plan.moving`). In a checkout, `library/examples` and
`library/studies` are links to `scenarios/` and `studies/` of its root. Rooms above read these files.
"""

from pathlib import Path

_FOLDER = Path(__file__).resolve().parent


def examples() -> Path:
    """Return the folder of the examples."""
    return (_FOLDER / "examples").resolve()


def studies() -> Path:
    """Return the folder of the studies, one folder each."""
    return (_FOLDER / "studies").resolve()


def published() -> Path:
    """Return the folder of published figures of CPUs and servers."""
    return _FOLDER / "published"
