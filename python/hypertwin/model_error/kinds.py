"""Areas and kinds of figures, and the scale on which their errors are measured.

An error is the logarithm of the real figure over the twin's. The core has the kind of each figure, and the points that
are added to percentages before their ratio is taken (`crates/engine/src/model_error/kinds.rs`). A ready time of 0.2%
instead of 0.1% is then no error of a factor of two.
"""

from __future__ import annotations

import math
from typing import Literal, cast, get_args

from hypertwin import _core

Area = Literal["cpu", "drives", "memory", "movement", "path", "pools"]
"""Subject of a figure, as in the evidence."""

Kind = Literal["throughput", "latency", "tail", "duration", "usage"]
"""Kind of a figure.

`throughput` is work, I/Os or bytes per second. `latency` is a mean or a median. `tail` is a higher percentile.
`duration` is the time of a move. `usage` is CPU time: a percentage, CPUs or MHz.
"""

AREAS: tuple[Area, ...] = get_args(Area)
KINDS: tuple[Kind, ...] = get_args(Kind)


def kind_of(path: str, area: str = "") -> Kind | None:
    """Return the kind of the figure at a path of a report, or None for a figure without model error.

    The path can have the nested or the flat form: `response_ms.p99` or `response_ms_p99`. Figures without model error
    are counts, sizes and settings.
    """
    return cast("Kind | None", _core.kind_of(path, area))


def is_share(path: str) -> bool:
    """True if a figure is a percentage of CPU time."""
    return _core.is_share(path)


def error(real: float, twin: float, *, share: bool) -> float | None:
    """Return the error of a figure of the twin on the scale of its kind, or None if a figure is zero or negative."""
    ratio = _core.error_ratio(real, twin, share)
    return None if ratio is None else math.log(ratio)


def slower(kind: Kind, error_of_figure: float) -> float:
    """Return an error with the sign of slowness: positive if reality is slower or busier than the twin.

    An error of a throughput changes its sign, so that the errors of several kinds can be pooled. The function is its
    own inverse.
    """
    return -error_of_figure if kind == "throughput" else error_of_figure
