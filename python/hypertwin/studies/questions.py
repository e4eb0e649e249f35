"""What a case of a study may ask of the planner instead of one report of its scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypertwin import virtual_numa
from hypertwin.errors import short
from hypertwin.plan import density, durability
from hypertwin.run import Progress
from hypertwin.scenario import load
from hypertwin.studies.published import StudyError


@dataclass(frozen=True)
class Question:
    """What a case asks instead of one report of its scenario: a key of QUESTIONS, and its arguments."""

    name: str
    arguments: Mapping[str, Any]
    scenario: Path
    changes: Mapping[str, Any]
    """What the case sets in the scenario."""

    def answer(self, progress: Progress | None) -> Mapping[str, Any]:
        """What the command of this name prints as JSON."""
        return QUESTIONS[self.name].answer(self, progress)


def _density(asked: Question, progress: Progress | None) -> Mapping[str, Any]:
    """What `hypertwin density --format json` says of the case's scenario."""

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
    """What `hypertwin durability --format json` says, with the schemes by name."""
    arguments = asked.arguments
    found = durability.assess(
        map(str, arguments["schemes"]),
        annual_failure_rate=durability.failure_rate(str(arguments["annual_failure_rate"])),
        repair_s=durability.repair_time(str(arguments["repair"])).seconds,
    )
    return {"schemes": {entry["scheme"]: entry for entry in found}}


def _vnuma(asked: Question, _progress: Progress | None) -> Mapping[str, Any]:
    """What `hypertwin vnuma --format json` says of one VM of the case's scenario, and how many nodes its guest sees."""
    layouts = virtual_numa.layouts(load(asked.scenario, asked.changes))
    vm = str(asked.arguments["vm"])
    if vm not in layouts:
        raise StudyError(f"{asked.scenario}: there is no VM {short(vm)!r}; VMs: {short(', '.join(layouts), 200)}")
    return {**layouts[vm], "virtual_nodes": len(layouts[vm]["vpds"])}


@dataclass(frozen=True)
class QuestionKind:
    """A kind of question: the arguments that it needs, all of them, and what answers it."""

    arguments: tuple[str, ...]
    answer: Callable[[Question, Progress | None], Mapping[str, Any]]


QUESTIONS: Mapping[str, QuestionKind] = {
    "density": QuestionKind(("vm", "slo", "minimum", "maximum"), _density),
    "durability": QuestionKind(("schemes", "annual_failure_rate", "repair"), _durability),
    "vnuma": QuestionKind(("vm",), _vnuma),
}
"""What a case may ask by a key of this name; paths lead into the JSON that the command of this name prints."""


def question(where: str, name: str, arguments: Any, scenario: Path, changes: Mapping[str, Any]) -> Question:
    """The question of a case, which `where` names. Raises StudyError unless it has all arguments and no other."""
    needed = QUESTIONS[name].arguments
    given = list(arguments) if isinstance(arguments, Mapping) else [repr(arguments)]
    if sorted(map(str, given)) != sorted(needed):
        raise StudyError(f"{where}: {name} has {', '.join(map(str, given))}; needed: {', '.join(needed)}")
    return Question(name, arguments, scenario, changes)
