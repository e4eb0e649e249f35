"""The data of a page."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class MadeFile(TypedDict):
    """A file that the command read. `text` is None if the file is too large or not text."""

    name: str
    sha256: str
    text: str | None


class Made(TypedDict):
    """Origin of a page, with everything needed to reproduce it."""

    version: str
    date: str
    """Creation time in UTC, in the form of RFC 3339, to the second."""
    command: list[str]
    """Arguments after `hypertwin`, or an empty list if no command line made the page."""
    files: list[MadeFile]
    """Input files of the command. The first is the scenario, if any."""
    seed: int | None
    calibrated: list[str]
    """Calibration of the figures, one sentence per source."""


class PageDocument(TypedDict):
    """Data of a page."""

    page: Literal[1]
    """Version of this format."""
    kind: str
    """Kind of result in `document`."""
    title: str
    document: Any
    """Output of `--format json` for this kind."""
    beside: dict[str, Any]
    """Content only for the page of a simulation: drawings, published figures next to a sweep."""
    view: NotRequired[Any]
    """Content of the page: `View` of `view.ts`. Without it, the script derives a view from the simulation document."""
    notes: list[str]
    """Sentences that a terminal shows under the table of a simulation."""
    made: Made
