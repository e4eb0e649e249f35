"""Rich's console, on which no text from outside moves the cursor, changes colours or hides anything."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from hypertwin.errors import printable


class SafeConsole(Console):
    """Shows characters that a terminal would obey as `\\x1b` and the like; what rich itself adds is none of them."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich's, of printable texts."""
        for segment in super().render(renderable, options):
            shown = segment.text if segment.control else printable(segment.text)
            yield segment if shown is segment.text else Segment(shown, segment.style)
