"""Draw sentences that people read, for a fresh reader to judge: of help, outputs, guides and docstrings, ten of each.

Usage: draw_sentences.py [SEED]; without a seed the hash of the last commit.
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EACH = 10
OUTPUTS = (
    "capacity scenarios/clusters.yaml --explain",
    "plan survive scenarios/monster-vms.yaml --explain",
    "plan evacuate scenarios/monster-vms.yaml esx-3 --explain",
    "diagnose --cluster scenarios/memory-short.yaml --explain",
    "simulate scenarios/failover.yaml --duration 100 --explain",
    "durability scenarios/proxmox-ceph.yaml --explain",
)


def sentences(text: str) -> Iterator[str]:
    """Sentences of at least four words."""
    for each in re.split(r"(?<=[.:!?])\s+(?=[A-Z])", " ".join(text.split())):
        if len(re.findall(r"[A-Za-z]{2,}", each)) >= 4 and "──" not in each:
            yield each.strip()


def _hypertwin(line: str) -> str:
    command = [sys.executable, "-c", "from hypertwin.cli.main import main; main()", *line.split()]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def helps() -> Iterator[str]:
    """Of every command's help."""
    from hypertwin.cli import root

    for name, command in root.group().commands.items():
        for words, each in (
            (name, command),
            *((f"{name} {k}", v) for k, v in getattr(command, "commands", {}).items()),
        ):
            yield from (f"[{words}] {text}" for text in sentences(each.help or ""))
            for parameter in (own for own in each.params if own.name not in ("explain", "quiet", "verbose")):
                yield from (f"[{words}] {text}" for text in sentences(getattr(parameter, "help", "") or ""))


def outputs() -> Iterator[str]:
    """Of what commands print on examples, lines without columns."""
    for line in OUTPUTS:
        for text in _hypertwin(line).splitlines():
            if "  " not in text.strip():
                yield from (f"[{line.split()[0]}] {each}" for each in sentences(text))


def guides() -> Iterator[str]:
    """Of the prose of Markdown, without tables and blocks of code."""
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        if file.name in ("api.md", "evidence.md"):
            continue
        text = re.sub(r"^(```|~~~).*?^\1", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for paragraph in re.split(r"\n\s*\n|\n(?=[-*|#])", text):
            if not paragraph.lstrip().startswith(("|", "#", "!", "<")):
                yield from (f"[{file.name}] {each}" for each in sentences(paragraph))


def docstrings() -> Iterator[str]:
    """Of public modules, classes and functions of the package."""
    for file in sorted((ROOT / "python" / "hypertwin").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield from (f"[{file.name}] {each}" for each in sentences(text.split("\n\n|")[0]))


if __name__ == "__main__":
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    chosen = random.Random(sys.argv[1] if sys.argv[1:] else head.stdout.strip())  # to be repeated
    for kind in (helps, outputs, guides, docstrings):
        for number, text in enumerate(chosen.sample(sorted(set(kind())), EACH), 1):
            print(f"{kind.__name__} {number}: {text}")
