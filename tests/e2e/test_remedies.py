"""For each planted cause the twin proposes a change that improves what it should: the direction, not the size."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from tests.e2e.planted import HEALTHY, PLANTED, Planted, laid_over

from hypertwin import diagnosis
from hypertwin.ingest.vmware import esxtop_export
from hypertwin.metrics.catalogue import MORE_IS_BETTER
from hypertwin.runs import simulation


class Remedy(NamedTuple):
    """What must be proposed, and what must improve by it."""

    change: str
    """How the change begins."""
    figure: str
    by: float = 1.1
    """At least as many times better."""


REMEDIES = {
    "overcommitted": Remedy("add a host like esx-1", "ready_pct", 2),
    "wide-among-others": Remedy("move wide to esx-2", "costop_pct", 2),
    "hidden-saturation": Remedy("move site-", "host_usage_pct"),
    "limited": Remedy("remove the limit of capped", "response_ms_p95", 10),
    "remote-memory": Remedy("spread cache over 2 NUMA nodes", "numa_local_pct"),
    "oversized": Remedy("give spare 4 vCPUs", "response_ms_p95", 1 / 1.1),
    "undersized": Remedy("give small 8 vCPUs", "response_ms_p95", 2),
    "odd-wide": Remedy("give odd 10 vCPUs", "node_spread_vcpus", 2),
    "hot-add": Remedy("turn CPU hot-add of growing off", "numa_local_pct", 1.5),
    "storage-queue": Remedy("set queues of 64 commands per LUN on esx-1", "io_latency_ms_mean"),
    "monsters": Remedy("move monster-1 to esx-2", "host_usage_pct", 1.5),
    "hyperconverged": Remedy("put mesh on 2 more dedicated hosts", "host_usage_pct"),
}
SHORT = {"run": {"duration": "20 s", "warmup": "2 s", "sample_interval": "2 s", "replications": 1}}


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_the_remedy_of_a_planted_cause_helps_on_the_twin(planted: Planted, tmp_path):
    scenario = tmp_path / "cluster.yaml"
    scenario.write_text(json.dumps(laid_over(laid_over(HEALTHY, planted.change), SHORT)))
    recorded = esxtop_export.write(simulation.samples(scenario), tmp_path / "recorded")
    found = diagnosis.diagnose([str(file) for file in recorded], cluster=scenario)
    (finding,) = [each for each in found.findings if (each.code, each.subject.name) == (planted.code, planted.on)]
    remedy = REMEDIES[planted.name]
    told: Any = finding.what_if
    assert told, finding.no_what_if
    assert told["change"].startswith(remedy.change)
    assert told["helps"] is True
    before, after = told["before"][remedy.figure], told["after"][remedy.figure]
    better = (after, before) if remedy.figure in MORE_IS_BETTER else (before, after)
    assert better[0] >= remedy.by * better[1]
    assert f"{told['change']}: " in told["text"]
    # whatever else is found has a what-if, or the reason why there is none
    assert all((each.what_if is None) != (each.no_what_if is None) for each in found.findings)
    assert all(1 <= len(each.what_if["tried"]) <= 3 for each in found.findings if each.what_if)


def test_every_planted_cause_has_its_remedy():
    assert set(REMEDIES) == {planted.name for planted in PLANTED}
