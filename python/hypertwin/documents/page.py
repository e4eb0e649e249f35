"""The data of a page."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class MadeFile(TypedDict):
    """A file that the command read; `text` is None where it is too large or not text."""

    name: str
    sha256: str
    text: str | None


class Made(TypedDict):
    """How a page was made, with everything to reproduce it."""

    version: str
    date: str
    """In UTC, as in RFC 3339, to the second."""
    command: list[str]
    """Arguments after `hypertwin`; empty where no command line made the page."""
    files: list[MadeFile]
    """Input files of the command. The first is the scenario, if any."""
    seed: int | None
    calibrated: list[str]
    """The calibration of the figures, one sentence per source."""


class PageDocument(TypedDict):
    """The data of a page."""

    page: Literal[1]
    """Version of this form."""
    kind: str
    """Which kind of result `document` is."""
    title: str
    document: Any
    """The output of `--format json` for this kind."""
    beside: dict[str, Any]
    """What only the page of a simulation shows: drawings, published figures beside a sweep."""
    view: NotRequired[Any]
    """What the page shows: `View` of `view.ts`. Without it the script makes that of the document of a simulation."""
    notes: list[str]
    """Sentences that a terminal shows under the table of a simulation."""
    made: Made
