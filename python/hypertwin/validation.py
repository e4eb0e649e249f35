"""Published figures against the twin: find studies, run their cases, judge every figure.

A study is a folder with

- `scenario.yaml`: the system, with one set of parameters for all of its cases, and what these were calibrated on;
- `study.yaml`: title, source, the cases (name -> paths to set), and the sweep to chart; a case with the key `scenario`
  is of another file of the folder, which shares every parameter that the systems have in common; one with the key
  `density` asks how many machines meet an objective, and one with the key `durability` what schemes of redundant
  storage cost and promise, without a scenario: see QUESTIONS;
- `published.csv`: one row per published figure, with the columns

  | column | meaning |
  |---|---|
  | case | a case of study.yaml |
  | metric | name of the figure for people; `NAME, outcome 1` is one of several outcomes of repeated runs |
  | twin | where the twin's figure is: a path into the point (`vms.db.guest_cpu_pct`), `a + b`, or `a / b`, where a path may name another case (`solo-24-1x: vms.db.response_ms.mean`); after `outcomes`, `likely` is the most likely outcome and `nearest` the one nearest to the figure |
  | published | what the source says: a number, or a word such as `flat` |
  | unit | `%`, `ms`, ...; the figure's own unit |
  | origin | `published`, or `derived` from published figures by a calculation that the note explains |
  | kind | `calibrated` when the figure was used to set a parameter, else `predicted` |
  | accept | how close is close enough: `±3` in the figure's unit, `±30 %` of the published figure, `<= 1.10` or `>= 5` |
  | unreachable | reason why physics cannot give this figure; the row is shown and explained, but not judged |
  | note | anything else worth saying |

- `README.md`: what was measured, by whom, and what the comparison shows.
"""  # noqa: E501

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hypertwin.errors import HypertwinError
from hypertwin.plan import density, durability
from hypertwin.run import Point, Progress, run_points
from hypertwin.scenario import load

SMALLEST_DENOMINATOR = 0.1
"""A ratio's denominator counts as at least this (percent, milliseconds): a ratio to almost nothing says nothing."""

ACCEPT = re.compile(r"(?P<sign>±|<=|>=)\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<relative>%?)")


class StudyError(HypertwinError):
    """A study is not there, or its files do not fit together."""

    code = "study-invalid"


class UnknownStudyError(StudyError):
    """No study has this name."""

    code = "study-unknown"


@dataclass(frozen=True)
class Row:
    """One published figure and how the twin's is found and judged."""

    case: str
    metric: str
    twin: str
    published: str
    unit: str
    origin: str
    kind: str
    sign: str
    tolerance: float
    relative: bool
    unreachable: str
    note: str


@dataclass(frozen=True)
class Question:
    """What a case asks instead of one report of its scenario: a key of QUESTIONS, and its arguments."""

    name: str
    arguments: Mapping[str, Any]


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
        return self.folder / self.scenarios.get(case, "scenario.yaml")

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


def studies_folder() -> Path:
    """The studies of the source tree, which a development install (`make`) runs from; a wheel has none."""
    return Path(__file__).resolve().parents[2] / "studies"


def names(folder: Path | None = None) -> list[str]:
    """Names of all studies."""
    return sorted(path.parent.name for path in (folder or studies_folder()).glob("*/study.yaml"))


def find(name: str, folder: Path | None = None) -> Study:
    """Read one study; raises UnknownStudyError with the list of studies, or StudyError when its files are wrong."""
    folder = folder or studies_folder()
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
            case: _question(f"{folder / 'study.yaml'}: case {case}", name, changes.pop(name))
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
            rows=tuple(_rows(folder / "published.csv")),
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


def validate(
    studies: Sequence[Study], *, jobs: int | None = None, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """Run every case of the studies and judge every figure: one dictionary per row, in the form of the JSON contract.

    All cases of all studies run side by side, and then each question. `error` is in the figure's unit and `error_pct`
    relative to the published one; of a row that accepts a range (`<= 1.10`), `range` is true, `published` is the bound
    and both are 0 inside it. `pass` is None where physics cannot give the figure. `likelihood_pct` is there where the
    twin's figure is one of the outcomes of its replications: how many of them agree on it.
    """
    asked = [(study, case) for study in studies for case in study.cases if case in study.questions]
    cases = [(study, case) for study in studies for case in study.cases if case not in study.questions]
    points = [Point(study.cases[case], load(study.scenario_of(case), study.cases[case])) for study, case in cases]
    result = run_points(points, jobs=jobs, progress=progress) if points else None
    reports = {
        (study.name, case): report for (study, case), report in zip(cases, result.points if result else (), strict=True)
    }
    reports |= {
        (study.name, case): QUESTIONS[study.questions[case].name].answer(study, case, jobs, progress)
        for study, case in asked
    }
    return [
        judge(study.name, row, {case: reports[study.name, case] for case in study.cases})
        for study in studies
        for row in study.rows
    ]


def _density(study: Study, case: str, jobs: int | None, progress: Progress | None) -> dict[str, Any]:
    """What `hypertwin density --format json` says of the case's scenario."""

    def done(_counts: str, done: int, total: int) -> None:
        if progress:
            progress(done, total)

    return density.density(
        study.scenario_of(case),
        overrides=study.cases[case],
        jobs=jobs,
        progress=done,
        **study.questions[case].arguments,
    ).to_dict()


def _durability(study: Study, case: str, _jobs: int | None, _progress: Progress | None) -> dict[str, Any]:
    """What `hypertwin durability --format json` says, with the schemes by name."""
    arguments = study.questions[case].arguments
    found = durability.assess(
        map(str, arguments["schemes"]),
        annual_failure_rate=durability.failure_rate(str(arguments["annual_failure_rate"])),
        repair_s=durability.repair_time(str(arguments["repair"])).seconds,
    )
    return {"schemes": {entry["scheme"]: entry for entry in found}}


@dataclass(frozen=True)
class QuestionKind:
    """A kind of question: the arguments that it needs, all of them, and what answers it."""

    arguments: tuple[str, ...]
    answer: Callable[[Study, str, int | None, Progress | None], dict[str, Any]]


QUESTIONS: Mapping[str, QuestionKind] = {
    "density": QuestionKind(("vm", "slo", "minimum", "maximum"), _density),
    "durability": QuestionKind(("schemes", "annual_failure_rate", "repair"), _durability),
}
"""What a case may ask by a key of this name; paths lead into the JSON that the command of this name prints."""


def _question(where: str, name: str, arguments: Any) -> Question:
    needed = QUESTIONS[name].arguments
    given = list(arguments) if isinstance(arguments, Mapping) else [repr(arguments)]
    if sorted(map(str, given)) != sorted(needed):
        raise StudyError(f"{where}: {name} has {', '.join(map(str, given))}; needed: {', '.join(needed)}")
    return Question(name, arguments)


def judge(study: str, row: Row, reports: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Compare one published figure with the twin's."""
    twin = evaluate(row, reports)
    bound = row.sign != "±"
    published = row.tolerance if bound else float(row.published)
    tolerance = 0.0 if bound else (abs(published) * row.tolerance / 100 if row.relative else row.tolerance)
    error = twin - published
    if (row.sign == "<=" and error <= 0) or (row.sign == ">=" and error >= 0):
        error = 0.0
    relative = abs(published) or 1.0
    passed = abs(error) <= tolerance + 1e-9 * relative
    likelihood_pct = likelihood(row, reports)
    return {
        "study": study,
        "case": row.case,
        "metric": row.metric,
        "published": published,
        "twin": twin,
        "unit": row.unit,
        "error": error,
        "error_pct": error / relative * 100,
        "kind": row.kind,
        "tolerance": tolerance,
        "tolerance_pct": tolerance / relative * 100,
        "pass": None if row.unreachable else passed,
        "range": bound,
        **({} if likelihood_pct is None else {"likelihood_pct": likelihood_pct}),
        "published_text": (row.published if bound else f"{published:,.10g} {row.unit}")
        + (" (derived)" if row.origin == "derived" else ""),
        "tolerance_text": _tolerance_text(row),
        "note": row.unreachable or row.note,
    }


def evaluate(row: Row, reports: Mapping[str, Mapping[str, Any]]) -> float:
    """The twin's figure for a row, from the reports of the study's cases."""
    numerator, _, denominator = row.twin.partition(" / ")
    value = _sum(numerator, row, reports)
    return value / max(_sum(denominator, row, reports), SMALLEST_DENOMINATOR) if denominator else value


def likelihood(row: Row, reports: Mapping[str, Mapping[str, Any]]) -> float | None:
    """Per cent of the replications that agree on the outcome that the twin's figure is of, if it is of one."""
    steps = (step for case, path in terms(row) for step in _along(case, path, row, reports))
    return next(
        (step["likelihood_pct"] for step in steps if isinstance(step, Mapping) and "likelihood_pct" in step), None
    )


def _nearest(outcomes: Sequence[Mapping[str, float]], row: Row) -> Mapping[str, float]:
    published = float(row.published)
    return min(outcomes, key=lambda outcome: abs(outcome["throughput_units_per_s"] - published))


OUTCOMES: Mapping[str, Callable[[Sequence[Mapping[str, float]], Row], Mapping[str, float]]] = {
    "likely": lambda outcomes, _: outcomes[0],
    "nearest": _nearest,
}
"""How a path goes on from a list of outcomes: the most likely one, or the one nearest to the published figure."""


def terms(row: Row) -> list[tuple[str, str]]:
    """The (case, path) pairs of a row's `twin`."""
    return [_term(text, row) for side in row.twin.split(" / ") for text in side.split(" + ")]


def _sum(expression: str, row: Row, reports: Mapping[str, Mapping[str, Any]]) -> float:
    total = 0.0
    for text in expression.split(" + "):
        case, path = _term(text, row)
        *_, value = _along(case, path, row, reports)
        if not isinstance(value, int | float):
            raise StudyError(f"{row.case} {row.metric}: {path!r} is {value!r}, not a number")
        total += value
    return total


def _along(case: str, path: str, row: Row, reports: Mapping[str, Mapping[str, Any]]) -> Iterator[Any]:
    """What the steps of a path into the report of a case lead to, the value last."""
    value: Any = reports[case]
    for key in path.split("."):
        if isinstance(value, list) and value and key in OUTCOMES:
            value = OUTCOMES[key](value, row)
        elif isinstance(value, Mapping) and key in value:
            value = value[key]
        else:
            raise StudyError(f"{row.case} {row.metric}: the twin reports no {path!r} in case {case!r}")
        yield value


def _term(text: str, row: Row) -> tuple[str, str]:
    case, separator, path = text.partition(":")
    return (case.strip(), path.strip()) if separator else (row.case, text.strip())


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return [_row(record, f"{path}: line {number}") for number, record in enumerate(csv.DictReader(file), start=2)]


def _row(record: Mapping[str, str | None], where: str) -> Row:
    cell = {name: (value or "").strip() for name, value in record.items() if name}
    accept = ACCEPT.fullmatch(cell["accept"])
    if accept is None:
        raise StudyError(f"{where}: accept is {cell['accept']!r}; allowed: ±3, ±30 %, <= 1.10, >= 5")
    if cell["kind"] not in ("calibrated", "predicted"):
        raise StudyError(f"{where}: kind is {cell['kind']!r}; allowed: calibrated, predicted")
    if cell["origin"] not in ("published", "derived"):
        raise StudyError(f"{where}: origin is {cell['origin']!r}; allowed: published, derived")
    if accept["sign"] == "±":
        try:
            float(cell["published"])
        except ValueError as error:
            raise StudyError(f"{where}: published is {cell['published']!r}; ± needs a number") from error
    return Row(
        case=cell["case"],
        metric=cell["metric"],
        twin=cell["twin"],
        published=cell["published"],
        unit=cell["unit"],
        origin=cell["origin"],
        kind=cell["kind"],
        sign=accept["sign"],
        tolerance=float(accept["number"]),
        relative=bool(accept["relative"]),
        unreachable=cell.get("unreachable", ""),
        note=cell.get("note", ""),
    )


def _tolerance_text(row: Row) -> str:
    if row.sign != "±":
        return f"{'≤' if row.sign == '<=' else '≥'} {row.tolerance:g}"
    return f"± {row.tolerance:g} {'%' if row.relative else 'points' if row.unit == '%' else row.unit}"
