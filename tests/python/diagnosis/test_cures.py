"""The cure that is tried is the cure that is advised, and what makes no difference is told so."""

from __future__ import annotations

from typing import Any

import pytest
from tests.python.diagnosis.estate import PAIR

from hypertwin import scenario
from hypertwin.diagnosis import diagnose, what_if
from hypertwin.diagnosis.rule import Finding

CLUSTER = PAIR.replace("cores_per_socket: 8", "cores_per_socket: 6")


def found(change: dict[str, Any]) -> Finding:
    """The finding about a VM's shape; others are of the load on the twin."""
    shapes = ("wider-than-node-badly-split", "odd-wide-vm")
    (finding,) = [each for each in diagnose(cluster=scenario.loads(CLUSTER, change)).findings if each.code in shapes]
    return finding


@pytest.mark.parametrize(
    ("code", "change", "cure"),
    [
        (
            "wider-than-node-badly-split",
            {},
            "give db sockets of 4 cores, and lower its numa.vcpu.min to 8",
        ),
        (
            "wider-than-node-badly-split",
            {"hosts.esx1.hypervisor": "esxi-6.0", "vms.db.vcpus": 12, "vms.db.cores_per_socket": 12},
            "give db sockets of 6 cores",
        ),
        ("odd-wide-vm", {"vms.db.vcpus": 9}, "give db 10 vCPUs"),
    ],
)
def test_the_cure_that_helps_is_the_one_that_is_advised(code: str, change: dict[str, Any], cure: str) -> None:
    finding = found(change)
    assert (finding.code, finding.severity) == (code, "warning")
    told = finding.what_if
    assert told is not None
    assert (told["change"], told["helps"]) == (cure, True)
    assert finding.to_dict()["advice"] == f"{cure[0].upper()}{cure[1:]}."
    # nothing else is proposed beside it
    assert "Lower numa.vcpu.min" not in finding.text
    assert "Use one socket" not in finding.text


def test_what_makes_no_difference_is_info() -> None:
    split = {"vms.db.vcpus": 12, "vms.db.cores_per_socket": 2, "vms.db.numa.follow_cores_per_socket": True}
    finding = found(split)
    assert (finding.code, finding.severity) == ("wider-than-node-badly-split", "info")
    told = finding.what_if
    assert told is not None
    assert told["helps"] is None
    assert "(no significant difference)" in told["text"]
    assert finding.text.endswith("on the twin this change makes no difference: give db sockets of 6 cores.")
    # the worst come first all the same
    beside = diagnose(cluster=scenario.loads(CLUSTER, {**split, "clusters.default.ha.enabled": False})).findings
    assert [each.code for each in beside] == ["ha-off", "wider-than-node-badly-split"]
    # without what-ifs nobody knows
    (alone,) = diagnose(cluster=scenario.loads(CLUSTER, split), simulate=False).findings
    assert alone.severity == "warning"


@pytest.mark.parametrize(
    ("before", "after", "gain"),
    [(0.149, 0.0951, False), (0.149, 0.049, True), (9.63, 9.63, False), (9.63, 9.0, True), (40.4, 39.8, False)],
)
def test_figures_that_are_printed_alike_are_alike(before: float, after: float, gain: bool) -> None:
    assert (what_if._gain("ready_pct", {"ready_pct": before}, {"ready_pct": after}) > 0) is gain


def test_a_cut_keeps_only_what_it_needs() -> None:
    estate = {
        "clusters.default": {"label": "Production", "ha": {"enabled": True}},
        "datastores.ds": {"capacity": "1 TiB"},
        "powered_off.old": {"vcpus": 2, "memory": "4 GiB"},
        "hosts.esx1.measured": {"cpu_usage_pct": 40},
        "vms.db.cluster": "default",
        "vms.db.measured": {"cpu_mhz": 500},
    }
    loaded = scenario.loads(CLUSTER, estate)
    seen: list[Any] = []
    original = what_if.cut

    def cut(case: Any, hosts: Any) -> Any:
        seen.append(original(case, hosts))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(what_if, "cut", cut)
        diagnose(cluster=loaded)
    (data,) = seen
    assert not {"clusters", "datastores", "powered_off"} & set(data)
    assert (set(data["hosts"]), set(data["vms"])) == ({"esx1"}, {"db"})
    assert "measured" not in data["hosts"]["esx1"]
    assert "measured" not in data["vms"]["db"]
