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


class Control(TypedDict):
    """Setting that a reader can change, of every entry of a section."""

    key: list[str]
    """Keys below the entry of the section."""
    name: str
    text: str
    """Definition of the key."""
    form: Literal["integer", "number", "quantity", "choice"]
    unit: str
    """Unit in which the page writes a quantity, otherwise an empty string."""
    low: float
    """Lowest allowed value, in the unit."""
    high: float
    """Highest allowed value, in the unit."""
    step: float
    span: float
    """Slider range, as a multiple of the original value."""
    reach: float
    """Minimum upper end of the slider."""
    default: Any
    """Value of an entry without the key, or None."""
    values: list[Any]
    """Values of a choice."""


class Live(TypedDict):
    """Data with which a page simulates the scenario with other values."""

    build: str
    """Version and source hash of the core in the page."""
    scenario: dict[str, Any]
    """Scenario of the first point in canonical form, with all times."""
    points: list[list[tuple[list[str], Any]]]
    """Values by path that turn that scenario into the scenario of each point. None removes a key."""
    intervals: dict[str, Any]
    """The twin's own error by area and kind, as the core takes it."""
    controls: dict[Literal["vms", "hosts", "storage"], list[Control]]
    hosts: list[str]
    """Hosts that can fail."""
    own_policy: str
    """Name that stands for the data of a pool without a policy."""
    file: str
    """Scenario file of the command."""
    options: list[str]
    """Options of the command that a run with other values needs as well."""


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
    live: NotRequired[Live]
    """Data to simulate in the page. The core is a separate element of the page."""
