"""Check that what the documents point at exists, and that every source file is in the table of its room.

Documents point at linked files and at tests, and some are generated. READMEs of studies with recorded figures
have their comparison. A room is a folder of sources; its table is in its module documentation: `lib.rs`, `mod.rs` or
`__init__.py`.
"""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from generate_docs import pages

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TEST = re.compile(r"`((?:crates|tests|bench)/[\w./-]+\.(?:py|rs))(?:::([\w:]+))?`")
ROOM_DOCS = ("lib.rs", "mod.rs", "__init__.py")
NAMED = re.compile(r"`([\w/]+?)(?:\.rs|\.py|/)?`")
OWN_FOLDERS = {".venv", "target", "out", ".git", "node_modules", ".pytest_cache", ".hypothesis"}


def main() -> int:
    """Print every dead reference; 1 when there is one."""
    pointers = [*dead_links(ROOT), *missing_tests(ROOT), *stale_pages()]
    broken = [*pointers, *unwritten_comparisons(ROOT), *unlisted_files(ROOT)]
    for line in broken:
        print(line)
    return 1 if broken else 0


def documents(root: Path) -> list[Path]:
    """Every Markdown file of the project."""
    return sorted(path for path in root.rglob("*.md") if not OWN_FOLDERS & set(path.relative_to(root).parts))


def dead_links(root: Path) -> Iterator[str]:
    """Relative links whose file does not exist."""
    for document in documents(root):
        for target in LINK.findall(document.read_text(encoding="utf-8")):
            path = target.partition("#")[0]
            local = path and "://" not in target and not target.startswith("mailto:")
            if local and not (document.parent / path).exists():
                yield f"{document.relative_to(root)}: dead link {target}"


def missing_tests(root: Path) -> Iterator[str]:
    """Tests named in documents as `path` or `path::name` that do not exist."""
    for document in documents(root):
        for path, name in TEST.findall(document.read_text(encoding="utf-8")):
            if not (root / path).is_file():
                yield f"{document.relative_to(root)}: there is no file {path}"
            elif name and not re.search(rf"\b(?:def|fn|mod|class) {name.split('::')[-1]}\b", text(root / path)):
                yield f"{document.relative_to(root)}: there is no test {name} in {path}"


def unwritten_comparisons(root: Path) -> Iterator[str]:
    """Studies with recorded figures whose README has no comparison yet."""
    with (root / "studies" / "record.csv").open(encoding="utf-8", newline="") as file:
        recorded = {row["study"] for row in csv.DictReader(file)}
    readmes = (root / "studies").glob("*/README.md")
    unwritten = {path.parent.name for path in readmes if re.search(r"Nothing\s+yet", text(path))} & recorded
    for study in sorted(unwritten):
        yield f'studies/{study}/README.md: its figures are recorded; replace "Nothing yet" by the comparison'


def stale_pages() -> Iterator[str]:
    """Generated pages that are not what their source says now."""
    for path, content in pages().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            yield f"{path.relative_to(ROOT)}: not up to date; run `make docs`"


def unlisted_files(root: Path) -> Iterator[str]:
    """Source files and folders that the documentation of their room does not name in backticks."""
    sources = [*(root / "crates").glob("*/src"), root / "python" / "hypertwin"]
    docs = sorted(path for source in sources for name in ROOM_DOCS for path in source.rglob(name))
    for doc in docs:
        named = set(NAMED.findall(_module_doc(doc)))
        for path in sorted(doc.parent.iterdir()):
            is_source = path.suffix in {".rs", ".py"} and path.name not in ROOM_DOCS
            is_room = path.is_dir() and any((path / name).exists() for name in ROOM_DOCS)
            if (is_source or is_room) and path.stem not in named:
                yield f"{doc.relative_to(root)}: the table of the room lacks `{path.name}{'/' if is_room else ''}`"


def _module_doc(path: Path) -> str:
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(text(path))) or ""
    return "\n".join(line for line in text(path).splitlines() if line.startswith("//!"))


@cache
def text(path: Path) -> str:
    """A file's text, read once."""
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
