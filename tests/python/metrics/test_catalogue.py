"""The catalogue of metrics: the engine's, each defined once, with their names in other tools."""

import pytest

from hypertwin.metrics.catalogue import CATALOGUE, MORE_IS_BETTER, MORE_IS_WORSE
from hypertwin.metrics.other_tools import OTHER_TOOLS, STORAGE_SOFTWARE

OF = {(scope, metric.key): metric for metric in CATALOGUE for scope in metric.scopes}


def test_a_metric_of_a_section_is_there_once_with_its_title_and_definition():
    assert len(OF) == sum(len(metric.scopes) for metric in CATALOGUE)
    for metric in CATALOGUE:
        assert metric.scopes, metric.key
        assert metric.name, metric.key
        assert metric.definition.endswith("."), metric.key


def test_names_in_other_tools_are_of_metrics_that_exist():
    assert {metric.key for metric in CATALOGUE if metric.storage_software} >= STORAGE_SOFTWARE.keys()
    for key in OTHER_TOOLS:
        section, _, name = key.rpartition(".")
        scopes = {section} if section else {"host", "cluster", "vm", "group"}
        assert any((scope, name) in OF for scope in scopes), key


def test_metrics_of_which_more_is_better_or_worse_exist_and_are_not_both():
    assert {metric.key for metric in CATALOGUE} >= MORE_IS_BETTER | MORE_IS_WORSE
    assert not MORE_IS_BETTER & MORE_IS_WORSE


@pytest.mark.parametrize(
    ("key", "scopes"),
    [
        ("usage_pct", ("host", "cluster")),
        ("ready_pct", ("host", "cluster", "vm", "group")),
        ("memory_swapped_bytes", ("host", "vm", "group")),
        ("usage_pct_ci95", ("host", "cluster")),
        ("response_ms_curve", ("group",)),
        ("host", ("vm",)),
        ("count", ("group",)),
        ("degraded_pct", ("pool", "timeline")),
    ],
)
def test_a_metric_of_several_entities_has_one_definition(key, scopes):
    assert {OF[scope, key].scopes for scope in scopes} == {scopes}


def test_a_metric_of_two_kinds_of_entities_may_be_two():
    assert OF["host", "utilization_pct"].linux
    assert not OF["storage", "utilization_pct"].linux
    assert OF["storage", "wait_ms"].esxtop
    assert OF["pool", "read_iops"].storage_software
    assert not OF["vm", "read_iops"].storage_software
    assert ("pool", "read_latency_ms_curve") not in OF


def test_parts_of_a_figure_have_its_title_before_their_own():
    named = {key: OF["group", key].name for key in ("response_ms_p99", "read_iops", "read_latency_ms_mean")}
    assert named == {
        "response_ms_p99": "Response time, p99",
        "read_iops": "Reads",
        "read_latency_ms_mean": "Reads, latency, mean",
    }
    assert OF["host", "usage_pct_ci95"].name == "Host usage, ±"
