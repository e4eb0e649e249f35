"""Find words and habits that this project does not write: in Markdown, Python, comments of Rust, and texts of pages.

docs/words.yml has the words, and exceptions.

Usage: check_words.py [--write] [FILE...]; without a file, all that git tracks.

A word of `swap` is an error. Habits are counted for each file in docs/words_counts.yml: a count that rises is an error,
and `--write` lowers those that fell.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
RULES = "docs/words.yml"
COUNTS = "docs/words_counts.yml"
MAX_ALLOWED = 20
"""Entries of the list of what is allowed."""
MAX_WORDS = 25
"""Words of a sentence."""

READ = {".md", ".py", ".rs", ".ts", ".tsx", ".yaml"}
LEFT_OUT = (
    *("tests/", "studies/", "bench/", "CHANGELOG.md", "scripts/check_words.py", RULES, COUNTS),
    *("docs/api.md", "docs/errors.md", "docs/evidence.md", "docs/findings.md", "docs/metrics.md", "docs/presets.md"),
    "docs/licences.md",
    *("docs/scenario.md", "docs/symptoms.md", "python/hypertwin/members.py", "python/hypertwin/parts.py"),
    "python/hypertwin/documents/measured.py",
    *("web/src/model/view.ts", "web/src/model/page.ts", "web/src/model/simulation/document.ts"),
    *("crates/cluster/tests/", "crates/engine/tests/", "crates/kernel/tests/", "crates/models/tests/"),
)
"""Folders and files whose words are not the project's, or are made from others that are read."""
COMPUTERS = {"lab", "runs", "lab_cpu", "lab_disk", "lab_vm", "lab_profile", "lab-vm", "guests", "coding", "store"}
"""Files and folders in which a machine is the computer that runs hypertwin, and no VM."""

_FENCED = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_RUST = re.compile(r"^\s*//[/!](.*)$|\"((?:[^\"\\\\]|\\\\.)*)\"", re.MULTILINE)
_SCRIPT = re.compile(r"/\*\*(.*?)\*/|\"((?:[^\"\\\\\n]|\\\\.)*)\"|`([^`]*)`", re.DOTALL)
_COMMENT = re.compile(r"#(.*)$|description: (.*)$", re.MULTILINE)
_IDENTIFIER = re.compile(r"[a-z_][\w.:/*-]*")
_BREAK = re.compile(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) |\n#+ |\n?\||(?<=[.!?])\s+(?=[A-Z`\"(\[*])")


class Text(NamedTuple):
    """A text that people read, the line where it begins, and its part: `prose`, `docstring`, `help` or `string`."""

    line: int
    text: str
    part: str


class Hit(NamedTuple):
    """A word that is not used, and the ones to use."""

    line: int
    text: str
    say: str


HABITS: Mapping[str, tuple[str, re.Pattern[str]]] = {
    "may in help": ("help", re.compile(r"\bmay\b")),
    "starts with Say, Tell, Let, Give, Have or Take": (
        "docstring help",
        re.compile(r"\A\s*(?:Say|Tell|Let|Give|Have|Take)\b"),
    ),
    "docstring starts with What, Whether, Those or That": (
        "docstring",
        re.compile(r"\A\s*(?:What|Whether|Those|That)\b"),
    ),
    "title starts with What or How": ("prose", re.compile(r"^#+ (?:What|How)\b", re.MULTILINE)),
    "space before %": ("prose docstring help string", re.compile(r"\d %")),
}
"""Habits by the parts of files in which they count. Long sentences and constants are counted by code."""
LONG, MOST = f"sentence of over {MAX_WORDS} words", "constant MOST_"


@dataclass(frozen=True)
class Rules:
    """docs/words.yml."""

    swap: Mapping[re.Pattern[str], str]
    allow: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, root: Path) -> Rules:
        """The rules of a tree."""
        data = yaml.safe_load((root / RULES).read_text("utf-8"))
        return cls(
            {re.compile(key, re.IGNORECASE): say for key, say in data["swap"].items()},
            frozenset((each["file"], each["text"].lower()) for each in data.get("allow") or ()),
        )


def texts(path: Path) -> Iterator[Text]:
    """All texts of a file that people read."""
    content = path.read_text("utf-8")
    if path.suffix == ".md":
        yield Text(1, _FENCED.sub(lambda found: "\n" * found[0].count("\n"), content), "prose")
    elif path.suffix == ".py":
        yield from _python(ast.parse(content))
    else:
        pattern = _RUST if path.suffix == ".rs" else _COMMENT if path.suffix == ".yaml" else _SCRIPT
        for found in pattern.finditer(content):
            text = next(filter(None, found.groups()), "")
            yield Text(content.count("\n", 0, found.start()) + 1, text, "prose" if found[1] else "string")


def _python(tree: ast.Module) -> Iterator[Text]:
    """Docstrings, help of options, and other strings that are no identifiers."""
    parts = dict[int, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            parts[id(node.value)] = "docstring"
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = node.args if called in ("Option", "Argument") else []
            given = [*given, *(each.value for each in node.keywords if each.arg == "help")]
            parts |= {id(each): "help" for each in given}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not _IDENTIFIER.fullmatch(node.value):
            yield Text(node.lineno, node.value, parts.get(id(node), "string"))


def hits(path: Path, rules: Rules) -> Iterator[Hit]:
    """Words of a file that are not used, in the order of the file."""
    found = []
    for line, text, _ in texts(path):
        plain = _CODE.sub(lambda each: " " * len(each[0]), text)
        for pattern, say in rules.swap.items():
            found += [
                Hit(line + plain.count("\n", 0, each.start()), " ".join(each[0].split()), say)
                for each in pattern.finditer(plain)
                if not ("machine" in each[0].lower() and _is_of_computers(path))
            ]
    return iter(sorted(found))


def _is_of_computers(path: Path) -> bool:
    return any(part in COMPUTERS for part in (path.stem, *(each.name for each in path.parents)))


def habits(path: Path) -> Counter[str]:
    """Number of each habit in a file."""
    found = Counter[str]()
    for _, text, part in texts(path):
        plain = _CODE.sub("Code", text)  # which can begin a sentence
        for habit, (parts, pattern) in HABITS.items():
            if part in parts.split():
                found[habit] += len(pattern.findall(plain))
        if part != "string":
            found[LONG] += sum(len(sentence.split()) > MAX_WORDS for sentence in sentences(plain))
    if path.suffix == ".py":
        found[MOST] += len(set(re.findall(r"^_?MOST_\w+", path.read_text("utf-8"), re.MULTILINE)))
    return +found


def sentences(text: str) -> list[str]:
    """Sentences of a text in Markdown; items of lists and cells of tables are sentences too."""
    return _BREAK.split("\n" + _LINK.sub(r"\1", text))


def files(root: Path) -> list[str]:
    """Files of a tree that are read."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    read = (name for name in listed.split("\0") if Path(name).suffix in READ and not name.startswith(LEFT_OUT))
    return [name for name in read if not name.endswith(".test.ts")]


def words(root: Path, names: Sequence[str], *, whole: bool) -> Iterator[str]:
    """Errors of words; of the `whole` tree entries of `allow` without use, too."""
    rules = Rules.of(root)
    used = set()
    for name in names:
        for line, text, say in hits(root / name, rules):
            if (name, text.lower()) in rules.allow:
                used.add((name, text.lower()))
            else:
                yield f"{name}:{line}: {text!r}: write {say}"
    for name, text in sorted(rules.allow - used) if whole else ():
        yield f"{RULES}: {name} no longer has {text!r}: remove its entry under allow"
    if len(rules.allow) > MAX_ALLOWED:
        yield f"{RULES}: {len(rules.allow)} entries under allow, the limit is {MAX_ALLOWED}"


def risen(root: Path, names: Sequence[str], *, whole: bool, write: bool) -> Iterator[str]:
    """Habits that a file has more often than counted; `write` lowers the counts, or begins them."""
    path = root / COUNTS
    counted = yaml.safe_load(path.read_text("utf-8")) if path.is_file() else None
    before: dict[str, dict[str, int]] = counted or {}
    after = {} if whole else {name: kept for name, kept in before.items() if name not in names}
    for name in names:
        now = habits(root / name)
        known = before.get(name, {}) if counted is not None else now
        for habit, number in now.items():
            if number > known.get(habit, 0):
                yield f"{name}: {habit}: {number}, was {known.get(habit, 0)}"
        if kept := {habit: low for habit in now if (low := min(now[habit], known.get(habit, 0)))}:
            after[name] = dict(sorted(kept.items()))
    if write:
        head = (
            "# Habits of each file that may only become fewer: `scripts/check_words.py --write` lowers these numbers.\n"
        )
        path.write_text(head + yaml.safe_dump(dict(sorted(after.items())), width=200), "utf-8")


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Print every error; 1 if there is one."""
    given = [each for each in arguments if each != "--write"]
    names = [name for name in given or files(root) if (root / name).is_file() and not (root / name).is_symlink()]
    errors = [*words(root, names, whole=not given), *risen(root, names, whole=not given, write="--write" in arguments)]
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
