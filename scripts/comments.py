"""Comments of Rust at the width of the code, which rustfmt cannot see to: `scripts/comments.py [--check] [FILE ...]`.

A paragraph or an item of a list with a line that is too wide is filled again, from that line on. Blocks of code, tables
and headings stay as they are; a table that is too wide wants to be a list.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 120
COMMENT = re.compile(r"( *//[/!]?)(?: (.*))?$")
ITEM = re.compile(r" *(?:[-*]|\d+\.) +")
LIKE_AN_ITEM = re.compile(r" (?=(?:[-*+>|]|#+|\d+[.)]) )")
"""Where no line may begin: its first word would be the mark of an item."""
APART = re.compile(r"\s*(?:\||#+ |\[[^]]+\]: |$)")
"""Lines that stand for themselves: of tables, headings, targets of links, empty ones."""


def main() -> int:
    """Fill what is too wide, or with `--check` name it; 1 when something too wide is left."""
    checks = sys.argv[1:2] == ["--check"]
    given = [Path(name) for name in sys.argv[1 + checks :]]
    files = given or list(sources(ROOT))
    if not checks:
        for path in files:
            text = path.read_text(encoding="utf-8")
            if (new := filled(text)) != text:
                path.write_text(new, encoding="utf-8")
    wide = [line for path in files for line in too_wide(path)]
    print("\n".join(wide) if wide else "", end="\n" if wide else "")
    return 1 if wide else 0


def sources(root: Path) -> Iterator[Path]:
    """The Rust files that git knows or would add."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "*.rs"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    yield from (root / name for name in sorted(set(listed.splitlines())) if (root / name).is_file())


def too_wide(path: Path) -> Iterator[str]:
    """Lines of comments beyond the width."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if len(line) > WIDTH and COMMENT.match(line):
            yield f"{path}:{number}: a comment of {len(line)} columns; at most {WIDTH}: run scripts/comments.py"


def filled(text: str) -> str:
    """A source with its comments filled."""
    lines, kept, code = text.split("\n"), list[str](), False
    while lines:
        found = COMMENT.match(lines[0])
        words = (found[2] or "") if found else ""
        code = bool(found) and code != words.lstrip().startswith("```")
        if not found or code or len(lines[0]) <= WIDTH or APART.match(words):
            kept.append(lines.pop(0))
            continue
        size = len(list(paragraph(found[1], words, lines)))
        kept += fill(found[1], [line[len(found[1]) :] for line in lines[:size]], ITEM.match(words))
        del lines[:size]
    return "\n".join(kept)


def paragraph(marker: str, words: str, lines: Sequence[str]) -> Iterator[str]:
    """The first line and those that go on with it: of the same marker and indentation, no item, no code."""
    item = ITEM.match(words)
    indent = len(item[0]) if item else len(words) - len(words.lstrip())
    for number, line in enumerate(lines):
        found = COMMENT.match(line)
        more = (found[2] or "") if found else ""
        same = len(more) - len(more.lstrip()) == indent or (item and not more.startswith(" "))
        apart = APART.match(more) or ITEM.match(more) or more.lstrip().startswith("```")
        if number and (not found or found[1] != marker or apart or not same):
            return
        yield line


def fill(marker: str, lines: Sequence[str], item: re.Match[str] | None) -> list[str]:
    """The words of some lines in as few as they fit in."""
    first = re.match(r" *", lines[0])
    indent = marker + (first[0] if first else " ")
    after = f"{marker} {' ' * len(item[0])}" if item else indent
    words = LIKE_AN_ITEM.sub("\0", " ".join(line.strip() for line in lines))
    filled = textwrap.wrap(
        words, WIDTH, initial_indent=indent, subsequent_indent=after, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in filled]


if __name__ == "__main__":
    sys.exit(main())
