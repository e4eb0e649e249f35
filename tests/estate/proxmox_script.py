"""The collection script of docs/guides/import.md, run on a node that is a folder of answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "import.md"


def collect(answers: Mapping[str, Any], folder: Path) -> Path:
    """The dump that the script makes of these answers, by path."""
    for path, answer in answers.items():
        file = folder / "answers" / f"{path.strip('/')}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(answer))
        if guest := re.fullmatch(r"/nodes/([^/]+)/(qemu|lxc)/([0-9]+)/config", path):
            kind = {"qemu": "qemu-server", "lxc": "lxc"}[guest[2]]
            where = folder / "pve" / "nodes" / guest[1] / kind
            where.mkdir(parents=True, exist_ok=True)
            (where / f"{guest[3]}.conf").touch()
    for each in answers["/cluster/resources"]:
        if each["type"] == "node":
            (folder / "pve" / "nodes" / each["node"]).mkdir(parents=True, exist_ok=True)
    pvesh = folder / "bin" / "pvesh"  # fails without an answer, as the real one does
    pvesh.parent.mkdir()
    pvesh.write_text(f'#!/bin/sh\nexec cat "{folder}/answers$2.json"\n')
    pvesh.chmod(0o755)
    loop = GUIDE.read_text().partition("get() {")[2].partition("```")[0]
    script = f"get() {{{loop}".replace("/etc/pve", str(folder / "pve"))
    environment = {**os.environ, "PATH": f"{pvesh.parent}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", script], cwd=folder, env=environment, capture_output=True, check=False, timeout=60)
    return folder / "dump"
