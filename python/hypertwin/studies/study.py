"""Studies, which compare the twin with published figures: where they are and what their files say.

A study is a folder with

- `scenario.yaml`: the system, with one set of parameters for all of its cases, and what these were calibrated on;
- `study.yaml`: title, source, the cases (name -> paths to set), and the sweep to chart; a case with the key `scenario`
  is of another file of the folder, which shares every parameter that the systems have in common; one with the key
  `density` asks how many machines meet an objective, and one with the key `durability` what schemes of redundant
  storage cost and promise, without a scenario: see QUESTIONS;
- `published.csv`: the published figures, see `published`;
- `README.md`: what was measured, by whom, and what the comparison shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hypertwin import library
from hypertwin.studies.expression import terms
from hypertwin.studies.published import Row, StudyError, rows
from hypertwin.studies.questions import QUESTIONS, Question, question


class UnknownStudyError(StudyError):
    """No study has this name."""

    code = "study-unknown"


@dataclass(frozen=True)
class Study:
    """A published measurement: cases to simulate and figures to compare."""

    name: str
    folder: Path
    title: str
    source: str
    cases: Mapping[str, Mapping[str, Any]]
    rows: tuple[Row, ...]
    sweep: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    sweep_settings: Mapping[str, Any] = field(default_factory=dict)
    scenarios: Mapping[str, str] = field(default_factory=dict)
    questions: Mapping[str, Question] = field(default_factory=dict)
    """What is asked of a case instead of one report of its scenario."""

    @property
    def scenario(self) -> Path:
        """The scenario file of the first case."""
        return self.scenario_of(next(iter(self.cases)))

    def scenario_of(self, case: str) -> Path:
        """The scenario file of a case."""
        return _file(self.folder, self.scenarios, case)

    def published_points(self) -> list[tuple[Mapping[str, Any], str, float]]:
        """(what was set, path, published value) of the rows that compare one figure of one case: points for a chart."""
        return [
            (self.cases[row.case], row.twin, float(row.published))
            for row in self.rows
            if row.sign == "±"
            and row.case not in self.questions
            and row.origin == "published"
            and not any(operator in row.twin for operator in (":", " + ", " / "))
        ]


def names(folder: Path | None = None) -> list[str]:
    """Names of all studies."""
    return sorted(path.parent.name for path in (folder or library.studies()).glob("*/study.yaml"))


def files(folder: Path | None = None) -> Iterator[Path]:
    """The files of all studies; what else is in their folders is not theirs: reports, drawings."""
    folder = folder or library.studies()
    for name in names(folder):
        for ending in ("yaml", "csv", "md"):
            yield from (folder / name).glob(f"*.{ending}")


def find(name: str, folder: Path | None = None) -> Study:
    """Read one study; raises UnknownStudyError with the list of studies, or StudyError when its files are wrong."""
    folder = folder or library.studies()
    if name not in names(folder):
        raise UnknownStudyError(f"there is no study {name!r}; studies: {', '.join(names(folder)) or 'none here'}")
    return read(folder / name)


def read(folder: Path) -> Study:
    """Read the study in a folder."""
    try:
        text = yaml.safe_load((folder / "study.yaml").read_text(encoding="utf-8"))
        cases = {case: dict(changes) for case, changes in text["cases"].items()}
        scenarios = {case: changes.pop("scenario") for case, changes in cases.items() if "scenario" in changes}
        questions = {
            case: question(
                f"{folder / 'study.yaml'}: case {case}",
                name,
                changes.pop(name),
                _file(folder, scenarios, case),
                changes,
            )
            for case, changes in cases.items()
            for name in QUESTIONS
            if name in changes
        }
        study = Study(
            name=folder.name,
            folder=folder,
            title=text["title"],
            source=text["source"],
            cases=cases,
            rows=tuple(rows(folder / "published.csv")),
            sweep=text.get("charts", {}).get("sweep", {}),
            sweep_settings=text.get("charts", {}).get("settings", {}),
            scenarios=scenarios,
            questions=questions,
        )
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise StudyError(f"the study in {folder} cannot be read: {type(error).__name__} {error}") from error
    for row in study.rows:
        for case, _ in terms(row):
            if case not in study.cases:
                raise StudyError(f"{folder / 'published.csv'}: {row.metric}: there is no case {case!r} in study.yaml")
    return study


def _file(folder: Path, scenarios: Mapping[str, str], case: str) -> Path:
    return folder / scenarios.get(case, "scenario.yaml")
