"""The compiled core for pages that simulate: a WebAssembly module, `core.wasm` beside this file.

`scripts/browser_core.py` builds the module from `crates/browser`. It is not committed, but the wheel has it.

A module of another build is refused, so page and package give the same report with the same SHA-256. The module lacks
the JSON Schema validator: a page checks that values agree, but not their ranges. Each page has a copy, so the module
is optimised for size (profile `browser`).
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from hypertwin import language
from hypertwin.errors import HypertwinError

FILE = "core.wasm"

_BUILD_IT = "run `make page` in a checkout, with rustup, or install a wheel of a release"


class NoBrowserCoreError(HypertwinError):
    """Raised if the package has no core for pages, or that of another build. The message has the remedy."""

    code = "no-browser-core"


@cache
def module() -> bytes:
    """Return the WebAssembly module. Raises NoBrowserCoreError."""
    file = resources.files("hypertwin.show").joinpath(FILE)
    try:
        found = file.read_bytes()
    except FileNotFoundError:
        message = f"live pages need the core for browsers, and {file} does not exist"
        raise NoBrowserCoreError(f"{message}: {_BUILD_IT}") from None
    # the text that the module's function `build` returns is among its constants
    if language.build().encode() not in found:
        message = f"{file} is not of this build of hypertwin, {language.build()}, so its results can differ"
        raise NoBrowserCoreError(f"{message}: {_BUILD_IT}")
    return found
