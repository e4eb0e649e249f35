"""Questions that a case of a study can ask the planner instead of one report of its scenario.

A published number of VMs, or a durability, is not a figure of one run's report. The report of such a case is the JSON
of the command, so rows and their paths stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypertwin.errors import short
from hypertwin.plan import density, durability
from hypertwin.runs.simulation import Progress
from hypertwin.scenario import load, virtual_numa
from hypertwin.studies.published import StudyError


@dataclass(frozen=True)
class Question:
    """Question of a case instead of a report of its scenario: a key of QUESTIONS, and its arguments."""

    name: str
    arguments: Mapping[str, Any]
    scenario: Path
    changes: Mapping[str, Any]
    """Changes of the scenario in this case."""

    def answer(self, progress: Progress | None) -> Mapping[str, Any]:
        """Return the JSON document of the command of this name."""
        return QUESTIONS[self.name].answer(self, progress)


def _density(asked: Question, progress: Progress | None) -> Mapping[str, Any]:
    """Return the document of `hypertwin density --format json` for the case's scenario."""

    def done(_counts: str, done: int, total: int) -> None:
        if progress:
            progress(done, total)

    return density.density(
        asked.scenario,
        overrides=asked.changes,
        progress=done,
        **{"failures": 0, **asked.arguments},  # publications count what runs, not what a failure leaves
    ).to_dict()


def _durability(asked: Question, _progress: Progress | None) -> Mapping[str, Any]:
    """Return the document of `hypertwin durability --format json`, with the schemes by name."""
    arguments = asked.arguments
    found = durability.assess(
        map(str, arguments["schemes"]),
        annual_failure_rate=durability.failure_rate(str(arguments["annual_failure_rate"])),
        repair_s=durability.repair_time(str(arguments["repair"])).seconds,
    )
    return {"schemes": {entry["scheme"]: entry for entry in found}}


def _vnuma(asked: Question, _progress: Progress | None) -> Mapping[str, Any]:
    """Return the document of `hypertwin vnuma --format json` for one VM of the scenario, with the guest node count."""
    layouts = virtual_numa.layouts(load(asked.scenario, asked.changes))
    vm = str(asked.arguments["vm"])
    if vm not in layouts:
        raise StudyError(f"{asked.scenario}: there is no VM {short(vm)!r}; VMs: {short(', '.join(layouts), 200)}")
    return {**layouts[vm], "virtual_nodes": len(layouts[vm]["vpds"])}


@dataclass(frozen=True)
class QuestionKind:
    """A kind of question: its required arguments, and the function that answers it."""

    arguments: tuple[str, ...]
    answer: Callable[[Question, Progress | None], Mapping[str, Any]]


QUESTIONS: Mapping[str, QuestionKind] = {
    "density": QuestionKind(("vm", "slo", "minimum", "maximum"), _density),
    "durability": QuestionKind(("schemes", "annual_failure_rate", "repair"), _durability),
    "vnuma": QuestionKind(("vm",), _vnuma),
}
"""Questions of cases by key, which is the name of a command. Paths refer to the JSON document of that command."""


def question(where: str, name: str, arguments: Any, scenario: Path, changes: Mapping[str, Any]) -> Question:
    """Return the question of a case. `where` is its name in errors.

    Raises StudyError for missing or unknown arguments.
    """
    needed = QUESTIONS[name].arguments
    given = list(arguments) if isinstance(arguments, Mapping) else [repr(arguments)]
    if sorted(map(str, given)) != sorted(needed):
        raise StudyError(f"{where}: {name} has {', '.join(map(str, given))}; needed: {', '.join(needed)}")
    return Question(name, arguments, scenario, changes)
