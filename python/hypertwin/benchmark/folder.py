"""Folder of a campaign: plan, scenario, prediction, raw output and state.

| file | contents |
|---|---|
| `plan.yaml`, `scenario.yaml` | the plan as it was given, and the whole scenario |
| `state.json` | identifier, targets that have data, and the time of the first measurement |
| `calibration.yaml` | parameters that the calibration step has set |
| `prediction.json` | the prediction with its time; `prediction.sha256` has its hash |
| `steps/NAME/repeat-N/` | `run.json`, and raw output in a folder for each target and host |
| `steps.parquet`, `results.json` | figures of all runs, and the comparison |
| `study/` | the campaign as a study, for `hypertwin validate` |

A run counts once its `run.json` exists, which is written last. A run without it is repeated.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from hypertwin.benchmark import plan as plans
from hypertwin.benchmark.plan import Plan
from hypertwin.benchmark.step import Step
from hypertwin.documents.benchmark import Run
from hypertwin.errors import HypertwinError, fail
from hypertwin.files import reading, writing
from hypertwin.scenario import Scenario, load

PLAN, SCENARIO, STATE = "plan.yaml", "scenario.yaml", "state.json"
PREDICTION, HASH, CALIBRATION = "prediction.json", "prediction.sha256", "calibration.yaml"
RUN, RESULTS, TABLE, STUDY = "run.json", "results.json", "steps.parquet", "study"
MAX_JSON = 64 * 2**20

_ID = re.compile(r"[0-9a-f]{12}")


class FolderInUseError(HypertwinError):
    """Raised if another process runs the campaign."""

    code = "campaign-in-use"


class ChangedError(HypertwinError):
    """Raised if the prediction is not the one that was made before the first measurement."""

    code = "prediction-changed"


@dataclass(frozen=True)
class Folder:
    """Folder of a campaign."""

    path: Path

    @staticmethod
    def create(path: Path, plan: Plan, scenario: Scenario, base: Path) -> Folder:
        """Make a new folder with plan and scenario. Files that the plan names are relative to `base`.

        Raises OutputExistsError if there is anything in the folder.
        """
        folder = Folder(path)
        if (path / STATE).exists():
            raise writing.OutputExistsError(f"{path} has a campaign; name another folder, or resume it")
        if path.is_dir() and any(path.iterdir()):
            raise writing.OutputExistsError(f"{path} is not empty; name a new folder")
        writing.make(path)
        folder.write(SCENARIO, scenario.to_yaml())
        folder.write_json(
            STATE, {"id": secrets.token_hex(6), "base": str(base.resolve()), "prepared": [], "first": None}
        )
        folder.write(PLAN, plan.text)
        return folder

    @staticmethod
    def open(path: Path) -> Folder:
        """Return the folder of a campaign. Raises ScenarioError if it is none."""
        lacks = next((name for name in (PLAN, STATE) if not (path / name).is_file()), None)
        if lacks is not None:
            hint = "`hypertwin benchmark predict PLAN.yaml -o FOLDER` makes one"
            fail("not-a-campaign", "", f"no {lacks} in it", "the folder of a campaign", hint, str(path))
        return Folder(path)

    def plan(self) -> Plan:
        """Return the plan. Its scenario is the one in the folder."""
        text = (self.path / PLAN).read_text(encoding="utf-8")
        base = Path(str(self.state["base"]))
        return replace(plans.loads(text, str(self.path / PLAN), base), scenario=self.path / SCENARIO)

    def scenario(self) -> Scenario:
        """Return the scenario, with the calibration if there is one."""
        from hypertwin.calibration import file as calibration_file

        file = self.path / CALIBRATION
        return load(self.path / SCENARIO, calibration_file.read(file) if file.is_file() else {})

    @property
    def state(self) -> dict[str, Any]:
        """State of the campaign. Raises ScenarioError if it is damaged."""
        found = self.json(STATE)
        if not isinstance(found, dict) or not _ID.fullmatch(str(found.get("id"))):
            hint = "start a new campaign in another folder"
            fail("not-a-campaign", "", "a damaged state", "the state of a campaign", hint, str(self.path / STATE))
        return found

    def change(self, **values: Any) -> None:
        """Change the state."""
        self.write_json(STATE, {**self.state, **values})

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from running the campaign. Raises FolderInUseError."""
        with (self.path / ".lock").open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise FolderInUseError(f"another process runs the campaign in {self.path}") from None
            yield

    # ---- runs

    def run_folder(self, step: Step, repeat: int) -> Path:
        """Return the folder of a run."""
        return self.path / "steps" / step.name / f"repeat-{repeat + 1}"

    def is_done(self, step: Step, repeat: int) -> bool:
        """True if a run is complete."""
        return (self.run_folder(step, repeat) / RUN).is_file()

    def clear(self, step: Step, repeat: int) -> Path:
        """Remove what is left of an incomplete run, and return its folder, made anew."""
        folder = self.run_folder(step, repeat)
        shutil.rmtree(folder, ignore_errors=True)
        writing.make(folder)
        return folder

    def keep(self, step: Step, repeat: int, run: Run) -> None:
        """Write the figures of a run, which is complete now."""
        self.write_json(str((self.run_folder(step, repeat) / RUN).relative_to(self.path)), run)

    def runs(self, step: Step, repeats: int) -> list[Run]:
        """Return the completed runs of a step."""
        found: list[Run] = []
        for repeat in range(repeats):
            if self.is_done(step, repeat):
                run = self.json(str(self.run_folder(step, repeat).relative_to(self.path) / RUN))
                if isinstance(run, dict):
                    found.append(cast("Run", run))
        return found

    # ---- prediction

    def predicted(self) -> dict[str, Any] | None:
        """Return the prediction, or None without one. Raises ChangedError if it is not the one that was written."""
        file, told = self.path / PREDICTION, self.path / HASH
        if not file.is_file():
            return None
        content = file.read_bytes()
        written = told.read_text(encoding="ascii", errors="replace").split() if told.is_file() else []
        if not written or hashlib.sha256(content).hexdigest() != written[0]:
            raise ChangedError(
                f"{file} is not the prediction that was made: its hash differs from {told.name}\n"
                "  help: restore it, or start a new campaign"
            )
        found: dict[str, Any] = json.loads(content)
        return found

    def write_prediction(self, document: dict[str, Any]) -> None:
        """Write the prediction with its hash."""
        text = _json(document)
        self.write(HASH, f"{hashlib.sha256(text.encode()).hexdigest()}  {PREDICTION}\n")
        self.write(PREDICTION, text)

    # ---- files

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file, wholly or not at all."""
        writing.write_atomically(self.path / name, content)

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON file, wholly or not at all."""
        self.write(name, _json(value))

    def json(self, name: str) -> Any:
        """Return the content of a JSON file, or None if it is missing. Raises ScenarioError if it is damaged."""
        path = self.path / name
        if not path.is_file():
            return None
        try:
            return json.loads(reading.first_bytes(path, MAX_JSON))
        except ValueError as error:
            fail("not-json", "", str(error), "a file of a campaign", "start a new campaign", str(path))


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def now() -> str:
    """Return the time, in UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
