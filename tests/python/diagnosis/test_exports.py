"""Diagnoses of generated RVTools exports, imported as anybody would."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.python.ingest.vmware import rvtools_estate, rvtools_files

import hypertwin
from hypertwin import scenario
from hypertwin.diagnosis import Diagnosis, diagnose
from hypertwin.ingest import to_scenario
from hypertwin.ingest.vmware import rvtools

PLACE = {
    *("unbalanced-monsters", "odd-wide-vm", "hot-add-wide-vm", "wider-than-node-badly-split", "remote-numa-memory"),
    *("more-vcpus-than-cores", "hidden-host-saturation"),
}
"""Findings about where a VM is."""


def imported(folder: Path, tabs: rvtools_files.Tabs) -> scenario.Scenario:
    inventory = rvtools.read([rvtools_files.write_xlsx(tabs, folder / "export.xlsx")])
    made, _ = to_scenario.to_scenario(inventory)
    return scenario.loads(to_scenario.to_yaml(made))


def look(folder: Path, tabs: rvtools_files.Tabs) -> Diagnosis:
    return diagnose(cluster=imported(folder, tabs), simulate=False)


def told(found: Diagnosis, *codes: str) -> dict[str, list[str]]:
    """Names by code."""
    names: dict[str, list[str]] = {}
    for finding in found.findings:
        if finding.code in codes:
            names.setdefault(finding.code, []).append(finding.subject.name)
    return names


SETTINGS = ("ha-off", "admission-control-off", "hyper-threading-off", "power-policy", "evc-behind", "mixed-cpu-models")


def test_what_is_wrong_in_an_estate_is_found_of_the_cluster_that_has_it(tmp_path: Path) -> None:
    found = look(tmp_path, rvtools_estate.estate())
    assert told(found, *SETTINGS, "cluster-without-failover-capacity", "host-cpu-saturated") == {
        "ha-off": ["Edge"],
        "admission-control-off": ["Edge"],
        "hyper-threading-off": ["General"],
        "power-policy": ["General"],
        "evc-behind": ["General"],
        "cluster-without-failover-capacity": ["Databases"],
        "host-cpu-saturated": ["esx-general-01.rome.example.com"],
    }
    (lost,) = [each for each in found.findings if each.code == "cluster-without-failover-capacity"]
    assert 115 < lost.evidence[0].value < 122
    assert lost.advice.startswith("Add one host of 511 GiB like esx-databases-")
    assert [row["name"] for row in found.document["clusters"]] == ["Databases", "Edge", "General", "Management"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_capacity_and_diagnosis_agree_on_a_lost_host(tmp_path: Path, seed: int) -> None:
    tabs = rvtools_estate.estate([rvtools_estate.DATABASES, rvtools_estate.EDGE], seed=seed)
    found = look(tmp_path, tabs)
    lost = [each.subject.name for each in found.findings if each.code == "cluster-without-failover-capacity"]
    clusters = hypertwin.capacity(imported(tmp_path, tabs))["clusters"]
    verdicts = {each["label"] or name: each["failover"]["survives"] for name, each in clusters.items()}
    assert lost == [name for name, survives in verdicts.items() if survives is False and name != "Edge"]
    assert "Databases" in lost


def test_a_host_that_lacks_memory_is_told_before_its_machines(tmp_path: Path) -> None:
    found = look(tmp_path, rvtools_estate.estate([rvtools_estate.CROWDED]))
    hosts = told(found, "host-memory-overcommitted-reclaiming")["host-memory-overcommitted-reclaiming"]
    assert hosts == ["esx-crowded-01.milan.example.com", "esx-crowded-02.milan.example.com"]
    assert not [each for each in found.findings if each.code == "memory-reclaim"]
    named = [each for each in found.findings if each.code == "host-memory-overcommitted-reclaiming"]
    assert all(re.search(r"VMs \([0-9]+\): ", each.text) for each in named)


@pytest.mark.parametrize(
    "change",
    [{"host_names": "upper"}, {"host_names": "short"}, {"host_names": "mixed"}, {"without": ("vCPU",)}],
    ids=["upper", "short", "mixed", "no vCPU tab"],
)
def test_spelling_and_missing_tabs_change_no_finding_of_clusters(tmp_path: Path, change: Mapping[str, Any]) -> None:
    codes = (*SETTINGS, "cluster-without-failover-capacity", "host-cpu-saturated", "host-memory-full", "old-snapshot")
    whole = told(look(tmp_path, rvtools_estate.estate()), *codes)
    found = told(look(tmp_path, rvtools_estate.estate(**change)), *codes)
    assert found == whole


def test_places_that_were_guessed_have_no_findings(tmp_path: Path) -> None:
    wide = rvtools_estate.ClusterShape(
        **{**vars(rvtools_estate.DATABASES), "name": "Wide", "vcpus": (9, 12, 24), "memory_of_n1_pct": 95}
    )
    known = look(tmp_path, rvtools_estate.estate([wide]))
    assert told(known, *PLACE)
    found = look(tmp_path, rvtools_estate.estate([wide], unmatched=0.9))
    (row,) = found.document["clusters"]
    assert row["vms_by_guess"] > 15
    judged = {name for names in told(found, *PLACE).values() for name in names}
    assert len(judged) <= row["vms"] - row["vms_by_guess"]
    assert {host["memory_configured_pct"] for host in row["hosts"]} == {None}
    lost = look(tmp_path, rvtools_estate.estate([wide], unmatched=1.0))
    assert not told(lost, *PLACE)


def test_an_export_of_34_hosts_and_800_machines(tmp_path: Path) -> None:
    found = look(tmp_path, rvtools_estate.in_full())
    assert (found.document["hosts"], found.document["machines"]) == (34, 800)
    assert told(found, *SETTINGS)["evc-behind"] == ["General"]
    assert sum(len(row["hosts"]) for row in found.document["clusters"]) == 34
