"""Studies, which compare the twin with published figures: their location and their files.

A study is a folder of the project or of a user, with

- `scenario.yaml`: the system, with one set of parameters for all of its cases, and the data of their calibration;
- `study.yaml`: title, source, cases, free parameters, area, and the sweep to chart. A case maps paths to values, and a
  free parameter maps a path to the figure of the source that set it. The kind `data-sheet` marks calibrated rows that
  repeat data sheets. `spread` is the spread of the source's own figures. A case with the key `scenario` uses another
  file of the folder, which shares every common parameter. A case with a key of QUESTIONS asks the planner. `density`
  is the number of VMs that meet an objective, `durability` the cost and durability of redundant storage, and `vnuma`
  the nodes of a guest;
- `published.csv`: the published figures, see `published`;
- `README.md`: the measured system, its authors, and the result of the comparison.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypertwin import library
from hypertwin.errors import ScenarioError, short
from hypertwin.files import yaml_file
from hypertwin.studies.expression import terms
from hypertwin.studies.published import Row, StudyError, rows
from hypertwin.studies.questions import QUESTIONS, Question, question

FILE = "study.yaml"
"""File that makes a folder a study."""

KEYS = ("title", "source", "cases", "parameters", "area", "kind", "spread", "charts", "slow")
"""Keys of that file. The first three are required."""

AREAS: Mapping[str, str] = {
    "cpu": "schedulers, threads of cores, limits and shares",
    "memory": "NUMA, bandwidth, and what a host takes back",
    "movement": "migrations and evacuations",
    "path": "virtual controllers, adapters and arrays",
    "drives": "single drives",
    "pools": "distributed storage and what runs on it",
}
"""Subjects of studies. Rows of percentiles belong to the area TAILS in any study."""

TAILS = "tails"

PERCENTILE = re.compile(r"\.p\d+\b")
"""A percentile in the path of a row."""

DATA_SHEET = "data-sheet"
"""Kind of a study whose calibrated rows repeat data sheets, and of these rows."""


class UnknownStudyError(StudyError):
    """Raised if no study has this name."""

    code = "study-unknown"


@dataclass(frozen=True)
class Study:
    """Published measurement, with cases to simulate and figures to compare."""

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
    """Questions of cases, instead of one report of the scenario."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Free parameters by path in the scenario, each with the figure of the source that determined its value."""
    slow: bool = False
    """True if the runs of the study are too long for the tests of the project. `make evidence` runs these studies."""
    area: str = ""
    """A key of AREAS, or an empty string if a user's study has none."""
    kind: str = ""
    spread: str = ""
    """Spread of figures of the source in repetitions. A tolerance above 25 % needs a spread."""

    @property
    def scenario(self) -> Path:
        """The scenario file of the first case."""
        return self.scenario_of(next(iter(self.cases)))

    def scenario_of(self, case: str) -> Path:
        """Return the scenario file of a case."""
        return _file(self.folder, self.scenarios, case)

    def area_of(self, row: Row) -> str:
        """Return the subject of a row: TAILS, or otherwise the area of the study."""
        return TAILS if PERCENTILE.search(row.twin) else self.area

    def kind_of(self, row: Row) -> str:
        """Return the kind of a row: prediction, calibrated, or data sheet."""
        return self.kind if self.kind and row.kind == "calibrated" else row.kind

    def published_points(self) -> list[tuple[Mapping[str, Any], str, float]]:
        """Return (settings, path, published value) of rows that compare one figure of a case, as points for a chart."""
        return [
            (self.cases[row.case], row.twin, float(row.published))
            for row in self.rows
            if not row.accept.is_bound
            and row.case not in self.questions
            and row.origin == "published"
            and not any(operator in row.twin for operator in (":", " + ", " / "))
        ]


def names(folder: Path | None = None) -> list[str]:
    """Return the names of all studies."""
    return sorted(path.parent.name for path in (folder or library.studies()).glob(f"*/{FILE}"))


def files(named: Sequence[str] = ()) -> Iterator[Path]:
    """Yield files of all studies and of the named folders, without other files there, such as reports and drawings."""
    for folder in (*map(library.studies().joinpath, names()), *(Path(each) for one in named for each in _within(one))):
        with contextlib.suppress(OSError, ValueError):  # no folder, which `chosen` refuses
            yield from (file for file in folder.iterdir() if file.suffix in (".yaml", ".csv", ".md"))


def chosen(named: Sequence[str]) -> list[Study]:
    """Return the studies of these names or folders, each once. Every study of the project without names.

    A folder that is no study itself stands for all studies in it. Raises StudyError if there are none, or two with one
    name.
    """
    found: dict[str, Study] = {}
    for name in (each for one in named or names() for each in _within(one)):
        study = find(name)
        other = found.setdefault(study.name, study)
        if not other.folder.samefile(study.folder):
            raise StudyError(f"two studies are called {study.name}: {other.folder} and {study.folder}; rename a folder")
    if not found:
        raise StudyError(f"there are no studies in {library.studies()}; name a folder that has {FILE}")
    return list(found.values())


def _within(name: str) -> list[str]:
    """Return the studies of a folder that is no study itself, or the unchanged name."""
    with contextlib.suppress(OSError, ValueError):  # no system has such a path
        if name not in names() and not (Path(name) / FILE).is_file() and (held := names(Path(name))):
            return [str(Path(name) / each) for each in held]
    return [name]


def find(name: str, folder: Path | None = None) -> Study:
    """Read the study of a name, or in a folder of that path.

    Raises UnknownStudyError with the list of studies, StudyError or ScenarioError if its files are wrong.
    """
    folder = folder or library.studies()
    if name in names(folder):
        return read(folder / name)
    try:
        is_study = (Path(name) / FILE).is_file()
    except (OSError, ValueError):  # no system has such a path
        is_study = False
    if is_study:
        return read(Path(name))
    known = ", ".join(names(folder)) or "none here"
    hint = f"a study is a folder with {FILE}"
    raise UnknownStudyError(f"there is no study {short(name)!r}; {hint}; studies of the project: {known}")


def read(folder: Path) -> Study:
    """Read the study in a folder. Raises StudyError, and ScenarioError if a file is not plain text or YAML."""
    file = folder / FILE
    document = yaml_file.parse(yaml_file.read_text(file), str(file))
    if document.mistakes:
        raise ScenarioError.of(document.mistakes)
    text = _keys(document.root.data(), KEYS, ("title", "source", "cases"), str(file))
    _one_of(text, "slow", (True,), str(file))
    _one_of(text, "area", AREAS, str(file))
    _one_of(text, "kind", (DATA_SHEET,), str(file))
    charts = _keys(text.get("charts", {}), ("sweep", "settings"), (), f"{file}: charts")
    cases = {case: dict(_mapping(changes, f"{file}: cases.{case}")) for case, changes in text["cases"].items()}
    scenarios = {case: str(changes.pop("scenario")) for case, changes in cases.items() if "scenario" in changes}
    questions = {
        case: question(f"{file}: case {case}", name, changes.pop(name), _file(folder, scenarios, case), changes)
        for case, changes in cases.items()
        for name in QUESTIONS
        if name in changes
    }
    study = Study(
        name=folder.resolve().name,
        folder=folder,
        title=str(text["title"]),
        source=str(text["source"]),
        cases=cases,
        rows=tuple(rows(folder / "published.csv")),
        sweep=charts.get("sweep", {}),
        sweep_settings=charts.get("settings", {}),
        scenarios=scenarios,
        questions=questions,
        parameters=_parameters(text.get("parameters", {}), f"{file}: parameters"),
        slow="slow" in text,
        area=text.get("area", ""),
        kind=text.get("kind", ""),
        spread=str(text.get("spread", "")),
    )
    for row in study.rows:
        for case in (*(case for case, _ in terms(row)), *([row.against] if row.against else [])):
            if case not in study.cases:
                raise StudyError(
                    f"{folder / 'published.csv'}: {row.metric}: there is no case {short(case)!r} in {FILE};"
                    f" cases: {short(', '.join(study.cases), 200)}"
                )
    return study


def _one_of(text: Mapping[str, Any], key: str, allowed: Iterable[Any], where: str) -> None:
    """Refuse an invalid value of an optional key."""
    if key in text and not any(repr(text[key]) == repr(value) for value in allowed):
        words = ", ".join(str(value).lower() for value in allowed)
        raise StudyError(f"{where}: {key} is {short(repr(text[key]))}; allowed: {words}, or leave it out")


def _keys(value: Any, allowed: Sequence[str], needed: Sequence[str], where: str) -> Mapping[str, Any]:
    """Return a mapping with all required keys, each with a value, and with allowed keys only."""
    mapping = _mapping(value, where)
    for key in needed:
        if not mapping.get(key):
            raise StudyError(f"{where}: {key} is missing or empty; needed: {', '.join(needed)}")
    for key in mapping:
        if key not in allowed:
            raise StudyError(f"{where}: there is no key {short(key)!r}; allowed: {', '.join(allowed)}")
    if "cases" in needed:
        _mapping(mapping["cases"], f"{where}: cases")
    return mapping


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise StudyError(f"{where}: is {short(repr(value))}; allowed: keys with values, such as `key: value`")
    return value


def _parameters(value: Any, where: str) -> Mapping[str, str]:
    for path, source in _mapping(value, where).items():
        if not (isinstance(source, str) and source.strip()):
            raise StudyError(
                f"{where}.{path}: is {short(repr(source))}; allowed: by which figure of the source it was set"
            )
    return dict(value)


def _file(folder: Path, scenarios: Mapping[str, str], case: str) -> Path:
    return folder / scenarios.get(case, "scenario.yaml")
