"""The campaigns of docs/guides/benchmark.md on the rig. `make rig` runs all.

With `--until predicted` after the folder, the calibration steps are measured, the predictions are written, and the rig
stays, so that they can be published first. Without it, the campaigns go on.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.rig.rig import Rig, trouble

PLANS = Path(__file__).parent / "plans"
KINDS = ("sysbench", "pgbench", "fio")
PLACE = Path("/tmp/hypertwin-rig")


def main(folder: Path, until: list[str]) -> int:
    """Run every campaign. Return 1 if one could not be run."""
    if reason := trouble():
        print(f"no rig here: {reason}")
        return 1
    rig, code = Rig(PLACE), 0
    if not PLACE.exists():
        rig.up()
    for kind in KINDS:
        place = folder / kind
        words = ["resume", str(place)] if place.exists() else ["run", str(PLANS / f"{kind}.yaml"), "-o", str(place)]
        page = [] if until else ["--report", str(folder / f"{kind}.html")]
        command = [sys.executable, "-m", "hypertwin", "benchmark", *words, *until, *page]
        folder.mkdir(parents=True, exist_ok=True)
        code = max(code, subprocess.run(command, check=False).returncode)
    if not until:
        rig.down()
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
