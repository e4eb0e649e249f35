"""The checker finds what is wrong: a sound plan passes, and each way to spoil it does not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.python.plan.placement import cases, checker

HOSTS = {f"h{number}": cases.host() for number in range(4)}
VMS = {
    "a": cases.vm("h0", 80),
    "b": cases.vm("h0", 8),
    "c": cases.vm("h1", 40),
    "d": cases.vm("h2", 40),
    "off": cases.vm("h0", 1, restart_priority="disabled"),
    "pinned": cases.vm("h3", 1, affinity="0-1"),
}
RULES = [
    {"name": "apart", "kind": "keep-apart", "vms": ["c", "d"], "mandatory": True},
    {"name": "wish", "kind": "run-on", "vms": ["c"], "hosts": ["h1", "h2"], "mandatory": False},
]


def certificate(failed: list[str], placed: dict[str, str], **more: Any) -> dict[str, Any]:
    """A certificate of these."""
    return {
        "failed": failed,
        "placed": placed,
        "cannot_restart": [],
        "not_restarted": [],
        "proven": True,
        "peak_host": None,
        "peak_pct": 0.0,
        "violated_should_rules": [],
        **more,
    }


def move(vm: str, origin: str | None, to: str, step: int = 1) -> dict[str, Any]:
    """A move."""
    return {"vm": vm, "from": origin, "to": to, "step": step, "seconds": 1.0, "temporary": False, "why": "balance"}


def sound() -> dict[str, Any]:
    """A plan that is as it should be: one VM moves, and every host may fail but the one with the largest VM."""
    down = [{"vm": "off", "short_of": "restart disabled"}]
    return {
        "command": "balance",
        "feasible": True,
        "moves": [move("b", "h0", "h1")],
        "certificate": {
            "h0": certificate(["h0"], {"a": "h3"}, not_restarted=down),
            "h1": certificate(["h1"], {"b": "h2", "c": "h3"}, violated_should_rules=["wish"]),
            "h2": certificate(["h2"], {"d": "h3"}),
            "h3": certificate(["h3"], {}, not_restarted=[{"vm": "pinned", "short_of": "it can be on its host only"}]),
        },
    }


def world() -> checker.World:
    return checker.World.of(cases.made(HOSTS, VMS, rules=RULES))


def test_a_sound_plan_passes():
    assert checker.complaints(world(), sound()) == []


SPOILT: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a move from elsewhere": (lambda plan: plan["moves"][0].update({"from": "h2"}), "is on h0, not on h2"),
    "a move to where it cannot be": (
        lambda plan: plan["moves"].append(move("pinned", "h3", "h2")),
        "pinned cannot be on h2",
    ),
    "a host too full while VMs arrive": (
        lambda plan: plan["moves"].extend([move("c", "h1", "h0", 2), move("a", "h0", "h3", 2)]),
        "step 2: h0 has",
    ),
    "a host above its limit": (lambda plan: plan["moves"].append(move("c", "h1", "h0", 2)), "h0: "),
    "a rule broken": (lambda plan: plan["moves"].append(move("d", "h2", "h1", 2)), "rule apart"),
    "a VM forgotten": (lambda plan: plan["certificate"]["h1"]["placed"].pop("b"), "speaks of ['c']"),
    "a VM that stays down forgotten": (
        lambda plan: plan["certificate"]["h0"]["not_restarted"].clear(),
        "lets [] be down",
    ),
    "a restart onto a failed host": (
        lambda plan: plan["certificate"]["h1"]["placed"].update(b="h1"),
        "h1 has failed",
    ),
    "a restart without room": (lambda plan: plan["certificate"]["h0"]["placed"].update(a="h1"), "memory"),
    "a restart against a rule": (lambda plan: plan["certificate"]["h1"]["placed"].update(c="h2"), "breaks rule apart"),
    "a wish not named": (lambda plan: plan["certificate"]["h1"]["violated_should_rules"].clear(), "wishes ['wish']"),
    "feasible with a VM over": (
        lambda plan: plan["certificate"]["h2"].update(placed={}, cannot_restart=[{"vm": "d", "short_of": "room"}]),
        "feasible, with VMs that find no host",
    ),
}


@pytest.mark.parametrize("how", SPOILT)
def test_each_way_to_spoil_it_is_found(how: str):
    spoil, says = SPOILT[how]
    plan = copy.deepcopy(sound())
    spoil(plan)
    assert any(says in complaint for complaint in checker.complaints(world(), plan)), checker.complaints(world(), plan)


def test_exhaustive_search_by_hand():
    small = cases.made(
        {"h0": cases.host(), "h1": cases.host(), "h2": cases.host()},
        {
            "a": cases.vm("h0", 50),
            "b": cases.vm("h0", 50),
            "c": cases.vm("h0", 50, restart_priority="high"),
            "r": cases.vm("h1", 60),
        },
    )
    there = checker.World.of(small)
    # 30 and 90 GiB are free: one of 50, and that of high priority
    assert checker.most_restarted(there, there.at, ["h0"]) == (0, 1, 0, 0, 0, 0)
    assert checker.most_restarted(there, there.at, ["h1"]) == (0, 0, 1, 0, 0, 0)
