"""`make docs`: write what is generated from code: pages under docs/, and types of scenarios, members and pages."""

from __future__ import annotations

from pathlib import Path

import api_page
import completions
import member_types
import notebook
import record_types
import scenario_page
import scenario_types
import typescript
from hypertwin import errors
from hypertwin.cli import symptoms
from hypertwin.cost import rules
from hypertwin.diagnosis import guide
from hypertwin.metrics import catalogue
from hypertwin.scenario import pool_presets

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def pages() -> dict[Path, str]:
    """Every generated file and what it must contain."""
    return {
        DOCS / "api.md": api_page.to_markdown(),
        DOCS / "errors.md": errors.to_markdown(),
        DOCS / "licences.md": rules.to_markdown(),
        DOCS / "metrics.md": catalogue.to_markdown(),
        DOCS / "presets.md": pool_presets.to_markdown(),
        DOCS / "scenario.md": scenario_page.to_markdown(),
        DOCS / "findings.md": guide.to_markdown(),
        DOCS / "symptoms.md": symptoms.to_markdown(),
        ROOT / "python" / "hypertwin" / "parts.py": scenario_types.module(),
        completions.PATH: completions.text(),
        **member_types.modules(),
        **record_types.modules(),
        **typescript.modules(),
    }


if __name__ == "__main__":
    for path, content in pages().items():
        path.write_text(content, encoding="utf-8")
    for path in sorted(DOCS.glob("notebooks/*.ipynb")):  # tests/python/api compares what they show
        path.write_text(notebook.text(notebook.ran(path)), encoding="utf-8")
