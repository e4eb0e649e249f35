"""Causes planted in a simulated cluster are found in what its hosts record, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.planted import HEALTHY, PLANTED, Planted, laid_over

from hypertwin import diagnosis
from hypertwin.diagnosis.rule import Finding
from hypertwin.ingest.vmware import esxtop_export
from hypertwin.runs import simulation

BY_CONFIGURATION = {"odd-wide-vm", "hot-add-wide-vm"}
"""Findings that no telemetry shows."""

ALSO_TRUE = {"cluster-without-failover-capacity"}
"""Of two hosts that are more than half used together, neither may fail: so it is with most of what is planted."""

NOT_IN_ESXTOP = {
    *("ha-off", "admission-control-off", "hyper-threading-off", "power-policy"),
    *("mixed-cpu-models", "evc-behind", "datastore-nearly-full", "old-snapshot"),
}
"""Rules that need what only an inventory says."""


def _record(cluster: Mapping[str, Any], folder: Path) -> tuple[Path, list[str]]:
    scenario = folder / "cluster.yaml"
    scenario.write_text(json.dumps(cluster))
    return scenario, [str(file) for file in esxtop_export.write(simulation.samples(scenario), folder / "recorded")]


def _codes(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings}


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_cause_is_found_and_nothing_else(planted: Planted, tmp_path):
    scenario, recorded = _record(laid_over(HEALTHY, planted.change), tmp_path)
    found = diagnosis.diagnose(recorded, cluster=scenario, simulate=False)
    assert (planted.code, planted.on) in {(finding.code, finding.subject.name) for finding in found.findings}
    expected = {planted.code, *planted.follows}
    assert _codes(found.findings) - ALSO_TRUE == expected
    assert {each["code"] for each in found.document["not_checked"]} == NOT_IN_ESXTOP
    alone = diagnosis.diagnose(recorded, cluster=None, simulate=False)
    assert _codes(alone.findings) == expected - BY_CONFIGURATION


def test_nothing_is_found_in_a_healthy_cluster(tmp_path):
    scenario, recorded = _record(laid_over(HEALTHY, {}), tmp_path)
    for cluster in (scenario, None):
        assert not diagnosis.diagnose(recorded, cluster=cluster, simulate=False).findings


def test_every_cause_is_planted_once():
    assert len(PLANTED) >= 10
    assert len({planted.code for planted in PLANTED}) == len(PLANTED)


def test_on_the_command_line(cli, tmp_path):
    limited = next(planted for planted in PLANTED if planted.code == "cpu-limit")
    scenario = tmp_path / "cluster.yaml"
    scenario.write_text(json.dumps(laid_over(HEALTHY, limited.change)))
    written = cli("simulate", scenario, "--format", "esxtop", "--out", "recorded")
    assert (written.returncode, written.stdout) == (0, "")
    assert written.stderr == "wrote recorded/esx-1.csv\nwrote recorded/esx-2.csv\n"
    found = cli("diagnose", "recorded/esx-1.csv", "recorded/esx-2.csv", "--format", "json", exits=0)
    findings = json.loads(found.stdout)["findings"]
    assert [(finding["code"], finding["name"]) for finding in findings] == [("cpu-limit", "capped")]
