"""`make docs`: write the pages under docs/ that are generated from code."""

from __future__ import annotations

from pathlib import Path

from hypertwin import docs, errors, presets
from hypertwin.diagnose import guide
from hypertwin.report import metrics

DOCS = Path(__file__).resolve().parents[1] / "docs"


def pages() -> dict[Path, str]:
    """Every generated page and what it must contain."""
    return {
        DOCS / "errors.md": errors.to_markdown(),
        DOCS / "metrics.md": metrics.to_markdown(),
        DOCS / "presets.md": presets.to_markdown(),
        DOCS / "scenario.md": docs.to_markdown(),
        DOCS / "findings.md": guide.to_markdown(),
    }


if __name__ == "__main__":
    for path, content in pages().items():
        path.write_text(content, encoding="utf-8")
