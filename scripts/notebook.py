"""Run the code cells of a notebook in one namespace, without Jupyter, and keep what they show.

`notebook.py FILE...` writes the outputs into the files; a test compares them.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

LARGEST = 20_000
"""Letters of HTML in an output beyond which only its text is kept: pages with charts."""


def ran(path: Path) -> dict[str, Any]:
    """The notebook with the outputs of its cells, run in an empty folder."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell["execution_count"] = count
                cell["outputs"] = _outputs("".join(cell["source"]), names, count)
    return notebook


def text(notebook: dict[str, Any]) -> str:
    """The file of a notebook, as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run a cell: what it prints, and what its last line is."""
    body = ast.parse(source).body
    last = body[-1] if body and isinstance(body[-1], ast.Expr) else None
    body = body[:-1] if last else body
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
        shown = None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if shown is not None:
        data = {"text/plain": _lines(repr(shown))}
        html = shown._repr_html_() if hasattr(shown, "_repr_html_") else ""
        if 0 < len(html) <= LARGEST:
            data["text/html"] = _lines(html)
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(text(ran(Path(name).resolve())), encoding="utf-8")
