"""Reader of JSON that is larger than memory or has other text around it: one value at a time, of limited length."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from hypertwin.ingest import outside

CHUNK_BYTES = 2**18
MOST_VALUE = 2**23
"""Maximum text length of one value: a fio result of seventy jobs with all bins, or a sample of a thousand disks."""
_SPACE = re.compile(r"[ \t\r\n]*")


class JsonStream:
    """Text with JSON values."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        """Read from `stream`. `path` is for messages."""
        self.path = path
        self.was_cut = False
        """True if the text ended within a value."""
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._json = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._ended = False

    def skip_to(self, marker: str) -> str | None:
        """Skip to the marker and return the first part of the skipped text, or None without a marker."""
        before = ""
        while (found := self._text.find(marker, self._at)) < 0:
            end = max(self._at, len(self._text) - len(marker) + 1)
            before += self._text[self._at : min(end, self._at + outside.HEAD_BYTES - len(before))]
            self._at = end
            if not self._more(CHUNK_BYTES):
                return None
        before += self._text[self._at : min(found, self._at + outside.HEAD_BYTES - len(before))]
        self._at = found
        return before

    def value(self, opening: str = "") -> Any:
        """Return the value that begins here, or None if the text ends within it.

        The value is parsed as if `opening` preceded it.
        """
        self._text, self._at = opening + self._text[self._at :], 0
        while True:
            self._skip_space()
            try:
                found, self._at = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._is_cut(error):
                    return None
            except (RecursionError, ValueError) as error:
                self._refuse("deep nesting" if isinstance(error, RecursionError) else str(error))
            else:
                return found

    def items(self) -> Iterator[Any]:
        """Yield the values of the array that begins here."""
        if self.skip_to("[") is None:
            return
        self._at += 1
        while self._next() not in ("", "]"):
            try:
                found, self._at = self._json.raw_decode(self._text, self._at)
            except (RecursionError, ValueError):
                found = self.value()
                if self.was_cut:
                    return
            yield found
            if self._next() == ",":
                self._at += 1

    def _skip_space(self) -> None:
        self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]

    def _next(self) -> str:
        """Return the next character that is not a space. Empty at the end."""
        self._skip_space()
        while self._at >= len(self._text) and self._more(CHUNK_BYTES):
            self._skip_space()
        return self._text[self._at : self._at + 1]

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """Read on after an error at the end of the buffer. Return true if the text really ends there."""
        at_end = error.pos + 100 > len(self._text) or error.msg.startswith("Unterminated")
        if not at_end:
            self._refuse(str(error))
        if len(self._text) - self._at > MOST_VALUE:
            hint = "with fio: group_reporting, and json instead of json+"
            outside.Source(self.path).too_large("a longer value", f"JSON values of {MOST_VALUE} characters", hint)
        if not self._more(max(CHUNK_BYTES, len(self._text))):
            self.was_cut = True
        return self.was_cut

    def _refuse(self, said: str) -> None:
        outside.Source(self.path).refuse(said, "JSON as the tool writes it", "use the complete, unedited file")

    def _more(self, size: int) -> bool:
        """Read more text. Return false at the end of the text."""
        if self._ended:
            return False
        data = self._stream.read(size)
        self._ended = not data
        self._text, self._at = self._text[self._at :] + self._decode(data, self._ended), 0
        return not self._ended
