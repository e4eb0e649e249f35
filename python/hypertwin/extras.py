"""Packages that `pip install 'hypertwin[EXTRA]'` adds to the base install, and the error without them.

A module that only serves an extra imports its packages at the top, as usual. Other modules call `needs` before they
import such a module, inside a function.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType

from hypertwin.errors import MissingExtraError

PACKAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "telemetry": ("polars", "numpy", "httpx"),
        "vmware": ("pyVmomi",),
        "libvirt": ("libvirt",),
        "calibrate": ("numpy", "scipy"),
        "plan": ("numpy", "scipy"),
        "dask": ("distributed",),
        "serve": ("starlette", "uvicorn"),
    }
)
"""Modules of each extra, by import name. The packages are listed in pyproject.toml."""

BEFORE: Mapping[str, str] = MappingProxyType({"libvirt": "apt install libvirt-dev pkg-config gcc python3-dev; "})
"""Commands to run before pip for each extra, because libvirt-python is built against the system's libvirt."""


def needs(extra: str, purpose: str) -> None:
    """Raise MissingExtraError if the packages of an extra are missing.

    `purpose` is the subject of a sentence: `a data frame`, `--format parquet`.
    """
    missing = _missing(extra)
    if missing:
        raise MissingExtraError(
            f"{purpose} needs the extra {extra}, which is not installed ({', '.join(missing)}) [missing-extra]\n"
            f"  help: {BEFORE.get(extra, '')}pip install 'hypertwin[{extra}]'"
        )


def installed(extra: str) -> bool:
    """True if an extra is installed. For functions that have a reduced result without the extra."""
    return not _missing(extra)


def _missing(extra: str) -> list[str]:
    return [name for name in PACKAGES[extra] if not _installed(name)]


def _installed(name: str) -> bool:
    if name in sys.modules:
        return sys.modules[name] is not None
    try:
        return find_spec(name) is not None
    except ImportError:  # an import hook refuses it
        return False
