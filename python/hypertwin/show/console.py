"""A rich console on which text from outside cannot move the cursor, change colours or hide anything."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from hypertwin.errors import printable


class SafeConsole(Console):
    """Rich console that shows terminal control characters as escapes such as `\\x1b`, except those that rich itself
    adds.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as rich does, but with printable texts."""
        for segment in super().render(renderable, options):
            shown = segment.text if segment.control else printable(segment.text)
            yield segment if shown is segment.text else Segment(shown, segment.style)
