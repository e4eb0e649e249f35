"""Find words that this project does not use in what people read of it: Markdown, docstrings and texts of Python,
comments of Rust that become documentation, texts of pages, files that come with hypertwin. The words: docs/words.yml.

Usage: check_words.py [FILE...]; without a file all that git tracks.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "docs" / "words.yml"
MAX_ALLOWED = 20
"""Entries of the list of what is allowed."""

READ = {".md", ".py", ".rs", ".ts", ".tsx", ".yaml"}
LEFT_OUT = (
    *("tests/", "studies/", "bench/", "CHANGELOG.md", "scripts/check_words.py", "docs/words.yml"),
    *("docs/api.md", "docs/errors.md", "docs/evidence.md", "docs/findings.md", "docs/metrics.md", "docs/presets.md"),
    *("docs/scenario.md", "python/hypertwin/parts.py", "web/src/model/view.ts", "web/src/model/page.ts"),
    *("crates/cluster/tests/", "crates/engine/tests/", "crates/kernel/tests/", "crates/models/tests/"),
)
"""Folders and files whose words are not the project's, or are made from others that are read."""
COMPUTERS = {"lab", "execution", "lab_cpu", "lab_disk", "lab_vm", "lab_profile", "lab-vm", "guests", "coding", "store"}
"""Files and folders in which a machine is the computer that runs hypertwin, and no VM."""

_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_RUST = re.compile(r"^\s*//[/!](.*)$|\"((?:[^\"\\\\]|\\\\.)*)\"", re.MULTILINE)
_SCRIPT = re.compile(r"/\*\*(.*?)\*/|\"((?:[^\"\\\\\n]|\\\\.)*)\"|`([^`]*)`", re.DOTALL)
_COMMENT = re.compile(r"#(.*)$|description: (.*)$", re.MULTILINE)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """What people read of a file, with the line where each text begins."""
    content = path.read_text("utf-8")
    if path.suffix == ".md":
        yield 1, _FENCED.sub(lambda found: "\n" * found[0].count("\n"), content)
    elif path.suffix == ".py":
        for node in ast.walk(ast.parse(content)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.lineno, node.value
    else:
        pattern = _RUST if path.suffix == ".rs" else _COMMENT if path.suffix == ".yaml" else _SCRIPT
        for found in pattern.finditer(content):
            yield content.count("\n", 0, found.start()) + 1, next(filter(None, found.groups()), "")


def found(path: Path, rules: dict[re.Pattern[str], str]) -> Iterator[tuple[int, str, str]]:
    """Words of a file that are not used: line, what is written, what to say."""
    for line, text in texts(path):
        plain = _CODE.sub(lambda each: " " * len(each[0]), text)
        for pattern, say in rules.items():
            for each in pattern.finditer(plain):
                if "machine" in each[0].lower() and _is_of_computers(path):
                    continue
                yield line + plain.count("\n", 0, each.start()), each[0], say


def _is_of_computers(path: Path) -> bool:
    return any(part in COMPUTERS for part in (path.stem, *(each.name for each in path.parents)))


def main() -> int:
    """Print every word that is not used and not allowed; 1 if there is one."""
    data = yaml.safe_load(RULES.read_text("utf-8"))
    rules = {re.compile(key, re.IGNORECASE): say for key, say in data["swap"].items()}
    allowed = {(each["file"], each["text"].lower()) for each in data.get("allow") or ()}
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = sys.argv[1:] or [
        name for name in listed.split("\0") if Path(name).suffix in READ and not name.startswith(LEFT_OUT)
    ]
    count = 0
    used = set()
    for name in names:
        path = ROOT / name
        if path.is_symlink() or not path.is_file():
            continue
        for line, text, say in sorted(found(path, rules)):
            if (name, text.lower()) in allowed:
                used.add((name, text.lower()))
                continue
            count += 1
            print(f"{name}:{line}: {text!r}: say {say}")
    for name, text in sorted(allowed - used) if not sys.argv[1:] else ():
        count += 1
        print(f"{RULES.relative_to(ROOT)}: {name} no longer has {text!r}: remove what allows it")
    if len(allowed) > MAX_ALLOWED:
        count += 1
        print(f"{RULES.relative_to(ROOT)}: {len(allowed)} are allowed, at most {MAX_ALLOWED} may be")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
