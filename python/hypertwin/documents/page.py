"""What a page is made from."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class MadeFile(TypedDict):
    """A file that the command read; `text` is None where it is too large or not text."""

    name: str
    sha256: str
    text: str | None


class Made(TypedDict):
    """How a page was made: all that it takes to make it again."""

    version: str
    date: str
    """In UTC, as in RFC 3339, to the second."""
    command: list[str]
    """Arguments after `hypertwin`; empty where no command line made the page."""
    files: list[MadeFile]
    """What the command read. The first is the scenario, if there is one."""
    seed: int | None
    calibrated: list[str]
    """What the figures were calibrated on, a sentence for each source."""


class PageDocument(TypedDict):
    """The data of a page."""

    page: Literal[1]
    """Version of this form."""
    kind: str
    """Which kind of result `document` is."""
    title: str
    document: Any
    """What `--format json` prints for this kind."""
    beside: dict[str, Any]
    """What only the page of a simulation shows: drawings, published figures beside a sweep."""
    view: NotRequired[Any]
    """What the page shows: `View` of `view.ts`. Without it the script makes that of the document of a simulation."""
    notes: list[str]
    """Sentences that a terminal shows under the table of a simulation."""
    made: Made
