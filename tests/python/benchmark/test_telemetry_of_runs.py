"""Telemetry of hosts beside a run: means of its window, by the names of hosts and VMs."""

from __future__ import annotations

import polars as pl
import pytest
from tests.python.ingest.test_prometheus import serving, vmware

from hypertwin.benchmark import telemetry


def frame(*rows: tuple[str, str, float]) -> pl.DataFrame:
    """Return a table of telemetry."""
    return pl.DataFrame(rows, schema=["entity", "metric", "value"], orient="row")


def test_means_are_over_samples_of_all_parts():
    found = telemetry.means(
        [
            frame(("host/esx1/vm/db", "ready_sum_pct", 20), ("host/esx1", "utilization_pct", 60)),
            frame(("host/esx1/vm/db", "ready_sum_pct", 40), ("host/esx2", "utilization_pct", 10)),
        ]
    )
    assert telemetry.vm(found, "db", 4) == {"ready_pct": 7.5}
    assert telemetry.vm(found, "other", 4) == {}
    view = telemetry.host(found, "esx1")
    assert view is not None
    assert (view["kind"], view["busy_pct"], view["steal_pct"]) == ("host", 60, None)
    assert telemetry.host(found, "db") is None


def test_a_server_is_asked_for_the_window_of_the_run():
    asked: list[dict[str, str]] = []

    def answer(path: str, parameters: dict[str, str]) -> object:
        asked.append(parameters)
        return vmware([[1_767_225_615, "12"], [1_767_225_625, "24"]])(path, parameters)

    with serving(answer) as stub:
        found, reason = telemetry.read(f"prometheus://127.0.0.1:{stub.server_port}", 1_767_225_600, 1_767_225_660)
    assert reason == ""
    assert telemetry.vm(found, "db", 2) == {"ready_pct": 9}
    ranges = [each for each in asked if "start" in each]
    assert min(float(each["start"]) for each in ranges) >= 1_767_225_600 - 60
    assert max(float(each["end"]) for each in ranges) <= 1_767_225_660 + 60


@pytest.mark.parametrize("server", ["prometheus://127.0.0.1:1", "prometheus://127.0.0.1:1?match=x"])
def test_a_server_that_does_not_answer_is_a_note_and_no_failure(server: str):
    found, reason = telemetry.read(server, 1_767_225_600, 1_767_225_660)
    assert found == {}
    assert reason
    assert "\n" not in reason
