"""Process for short requests: reads requests from stdin and writes answers to stdout, each after its size."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hypertwin import scenario
from hypertwin.errors import HypertwinError, Mistake, ScenarioError

if TYPE_CHECKING:
    from hypertwin.results.simulation import Result

MAX_EVENTS = 2e8
"""Maximum events of a live simulation, as estimated: minutes of one core. Longer ones are runs."""
SIZE = 8
"""Bytes of the size before each message."""


def check(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the problems and readings of a text, and the scenario in canonical form if it has no problems."""
    try:
        found = scenario.loads(request["text"], file=request["name"])
    except ScenarioError as error:
        return {"mistakes": _told(error.mistakes), "readings": [], "canonical": None}
    return {"mistakes": [], "readings": list(found.readings), "canonical": json.loads(found.json)}


def simulate(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a simulation, and the hash of the core's text of its first point."""
    result = _simulated(request)
    return {"document": result.to_dict(), "sha256": result.sha256s[0]}


def page(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of the live page of a simulation, which the server simulates."""
    return dict(_simulated(request).live_page())


def _simulated(request: Mapping[str, Any]) -> Result:
    from hypertwin import questions

    return questions.simulate(
        scenario.loads(request["text"], file=request["name"]),
        overrides=request.get("set") or None,
        replications=request.get("replications"),
        duration=request.get("duration"),
        warmup=request.get("warmup"),
        seed=request.get("seed"),
        most_events=MAX_EVENTS,
    )


REQUESTS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "check": check,
    "simulate": simulate,
    "page": page,
}


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer, or the error of the request."""
    try:
        return REQUESTS[request["request"]](request)
    except ScenarioError as error:
        return {"error": str(error), "code": error.code, "mistakes": _told(error.mistakes)}
    except HypertwinError as error:
        return {"error": str(error), "code": error.code}
    except MemoryError:
        return {"error": "this needs more memory than a request can have: start it as a run", "code": "too-large"}


def _told(mistakes: tuple[Mistake, ...]) -> list[dict[str, Any]]:
    return [{**asdict(each), "file": str(each.file), "message": str(each)} for each in mistakes]


def main() -> None:
    """Answer requests until stdin ends."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # a warning must not become part of an answer
    while size := int.from_bytes(requests.read(SIZE)):
        text = json.dumps(answer(json.loads(requests.read(size)))).encode()
        answers.write(len(text).to_bytes(SIZE) + text)
        answers.flush()


if __name__ == "__main__":
    main()
