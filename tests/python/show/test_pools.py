"""Distributed storage in reports: tables, sentences, flat rows, objectives, and charts of failures."""

from __future__ import annotations

import io
import json
import re

import polars
import pytest
from rich.console import Console
from tests.conftest import ROOT

import hypertwin
from hypertwin import scenario
from hypertwin.errors import ScenarioError
from hypertwin.metrics import catalogue, frame
from hypertwin.plan import objective
from hypertwin.show import files, pools, room, simulation

EXAMPLE = ROOT / "scenarios" / "disk-failure.yaml"

INCIDENT = {
    "time_s": 20.0,
    "what": "node-2/disk-1",
    "fails": True,
    "degraded_pct": 8.333,
    "suspended_pct": 0.0,
    "stands_still": False,
    "lost_gib": 0.0,
    "whole_after_s": 41.0,
}


@pytest.fixture(scope="module")
def result():
    return hypertwin.simulate(EXAMPLE, replications=1).to_dict()


@pytest.fixture(scope="module")
def lossy():
    losing = [{"at": "3 s", "fails": ["node-1", "node-2", "node-3"]}]
    return hypertwin.simulate(EXAMPLE, replications=1, duration=4, overrides={"failures": losing}).to_dict()


def shown(renderable, width=160):
    console = Console(width=width, file=io.StringIO(), color_system="standard", force_terminal=True)
    console.print(renderable)
    return console.file.getvalue()


def plain(renderable, width=160):
    return re.sub(r"\x1b\[[0-9;]*m", "", shown(renderable, width))


def test_the_table_has_what_the_report_has(result):
    (point,) = result["points"]
    pool = point["pools"]["pool"]
    lines = pools.lines(result)
    (cells,) = lines.rows
    row = dict(zip(lines.heads, cells, strict=True))
    assert (row["pool"], row["redundancy"]) == ("pool", "replicas-3:2")
    assert row["written ×"] == f"{pool['amplification']:.2f}"
    assert row["recovered after s"] == f"{pool['time_to_whole_s']:.1f}"
    assert row["lost GiB"] == "0"
    text = plain(simulation.table(result))
    assert "Distributed storage" in text
    assert "replicas-3:2" in text


def test_reads_and_writes_of_a_pool_have_rates_and_latencies(result):
    (point,) = result["points"]
    pool = point["pools"]["pool"]
    for way, rate in (("read", "read_mb_per_s"), ("write", "write_mb_per_s")):
        ios, latency = pool[way], pool[way]["latency_ms"]
        machines = sum(vm[way]["iops"] for vm in point["vms"].values())
        assert ios["iops"] == pytest.approx(machines, rel=0.01)
        size = sum(vm[way]["mb_per_s"] for vm in point["vms"].values()) / machines
        assert pool[rate] == pytest.approx(ios["iops"] * size, rel=0.01)
        assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"]
        assert latency["mean"] < max(vm[way]["latency_ms"]["mean"] for vm in point["vms"].values())


def test_a_deep_scrub_that_falls_behind_is_told(result):
    told = {"scrub_mb_per_s": 12.34, "scrub_due_mb_per_s": 400.0, "scrub_keeps_up": False}
    (point,) = result["points"]
    quiet = point["pools"]["pool"] | {"incidents": [], "rebuilt_gib": 0.0}
    (cells,) = pools.lines({**result, "points": [{**point, "pools": {"pool": quiet | told}}]}).rows
    assert dict(zip(pools.lines(result).heads, cells, strict=True))["scrub MB/s"] == "12.3"

    def sentences(keeps_up):
        pool = quiet | told | {"scrub_keeps_up": keeps_up}
        return [each.text for each in pools.sentences({**result, "points": [{**point, "pools": {"pool": pool}}]})]

    assert sentences(False) == ["Deep scrub falls behind: it reads 12.3 of 400 MB/s needed to finish in its interval."]
    assert sentences(True) == []


def test_the_room_of_pools_is_told_with_its_rule(result):
    lines = room.lines(result)
    (cells,) = lines.rows
    row = dict(zip(lines.heads, cells, strict=True))
    assert (row["pool"], row["redundancy"], row["overhead ×"]) == ("pool", "replicas-3:2", "3")
    assert row["without a host"] == "recovered"
    assert row["stored GiB"] == "20"  # ten machines with one disk of 2 GiB
    assert row["raw GiB"] == f"{5 * 4 * 4e12 / 2**30:,.0f}"
    assert row["usable GiB"] == f"{4 * 4 * 4e12 / 3 / 2**30:,.0f}"  # four of five hosts
    text = plain(simulation.table(result))
    assert "Pool capacity" in text
    assert "minus the space to rebuild a lost host's data" in text


def test_points_with_the_same_room_share_its_lines(result):
    (point,) = result["points"]
    points = [{**point, "set": {"vms.app.load": load}} for load in (1, 2)]
    assert len(room.lines({**result, "points": points}).rows) == 1
    space = point["space"]["pool"]
    degraded = [{**each, "heals": False} for each in space["policies"]]
    other = {**space, "lost_host": {**space["lost_host"], "heals": False}, "policies": degraded}
    points[1] = {**points[1], "space": {"pool": other}}
    lines = room.lines({**result, "points": points})
    assert [row[:2] for row in lines.rows] == [["1", "pool"], ["2", "pool"]]
    assert [row[lines.heads.index("without a host")] for row in lines.rows] == ["recovered", "stays degraded"]
    said = room.notes_of({**result, "points": points})
    assert [note.rpartition(" (")[2] for note in said] == ["load 1).", "load 2)."]
    assert not room.notes_of({**result, "points": points[:1]})[0].endswith(").")


def test_a_rebuild_is_told_in_a_sentence(result):
    (point,) = result["points"]
    pool = point["pools"]["pool"]
    said = [each.text for each in pools.sentences(result)]
    told = f"Rebuild: {pools.gibibytes(pool['rebuilt_gib'])} at {pool['rebuild_mb_per_s']:.0f} MB/s. Recovered at most"
    assert any(text.startswith(f"{told} {pool['time_to_whole_s']:.1f} s after a failure") for text in said)
    short = {**pool, "due_gib": 50.0, "rebuilt_gib": 5.0, "time_to_whole_s": 8100.0, "rebuild_mb_per_s": 12.5}
    assert pools.rebuild_text(short) == (
        "Rebuild: 5 of 55.0 GiB at 12.5 MB/s. At that rate recovered at most 2.25 h after a failure."
    )
    assert pools.rebuild_text({**short, "time_to_whole_s": None}).endswith(" at 12.5 MB/s.")
    still = {**pool, "rebuilt_gib": 0.0, "incidents": []}
    assert not pools.sentences({**result, "points": [{**point, "pools": {"pool": still}}]})


def test_the_pool_keeps_what_policies_in_use_say():
    sets = {"vms.other": {"vcpus": 2, "memory": "8 GiB", "storage": "vsan", "policy": "raid-5", "workload": "oltp"}}
    scene = hypertwin.simulate(
        ROOT / "scenarios" / "vsan-sql.yaml", overrides=sets, replications=1, duration=0.2, warmup=0.1
    )
    found = scene.to_dict()
    (pool,) = (point["pools"]["vsan"] for point in found["points"])
    assert [(each["policy"], each["redundancy"]) for each in pool["policies"]] == [
        *(("(pool)", "replicas-2"), ("raid-5", "ec-2+1")),
    ]
    assert json.loads(files.to_json(found))["points"][0]["pools"]["vsan"]["policies"] == pool["policies"]
    assert pools.kept(pool) == "replicas-2, ec-2+1"
    assert pools.kept({**pool, "policies": pool["policies"][1:]}) == "ec-2+1"


def test_a_scenario_without_pools_has_no_section(tiny):
    found = hypertwin.simulate(tiny).to_dict()
    assert not pools.has_pools(found)
    assert "Distributed storage" not in plain(simulation.table(found))


def test_failures_are_told_in_words_with_the_figures_of_the_report(result):
    (point,) = result["points"]
    first, second, third = point["pools"]["pool"]["incidents"]
    said = [each.text for each in pools.sentences(result)]
    assert said[0].startswith("4 s: node-2/disk-1 fails; 15.0 % of placement groups degraded; recovered after ")
    assert first["degraded_pct"] == 15.0
    assert f"{first['whole_after_s']:.3g} s" in said[0]
    assert said[1].startswith("14 s: node-4 fails;")
    assert f"writes to {second['suspended_pct']:.1f} % of the data wait" in said[1]
    assert said[2].startswith("18 s: node-4 returns;")
    assert first["time_s"] + first["whole_after_s"] == pytest.approx(third["time_s"] + third["whole_after_s"], abs=1e-9)
    assert not any(each.loss for each in pools.sentences(result))


DISK = "20 s: node-2/disk-1"
COPY = "8.3 % of placement groups degraded"
METADATA = "pool/metadata-1, pool/metadata-2"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, f"{DISK} fails; {COPY}; recovered after 41 s."),
        (
            {"whole_after_s": None},
            f"{DISK} fails; 8.3 % of placement groups degraded; not recovered by the end.",
        ),
        ({"lost_gib": 3.14}, f"{DISK} fails; 3.1 GiB are lost; {COPY}; recovered after 41 s."),
        (
            {"lost_gib": 0.25, "degraded_pct": 0.01},
            f"{DISK} fails; 256 MiB are lost; less than 0.1 % of placement groups degraded; recovered after 41 s.",
        ),
        (
            {"suspended_pct": 4.0, "degraded_pct": 99.97, "whole_after_s": 123.4},
            f"{DISK} fails; more than 99.9 % of placement groups degraded; writes to 4.0 % of the data wait; "
            "recovered after 123 s.",
        ),
        (
            {"fails": False, "degraded_pct": 0.0, "whole_after_s": 0.0},
            f"{DISK} returns; all data are whole.",
        ),
        (
            {"what": METADATA, "degraded_pct": 0.0, "suspended_pct": 100.0, "stands_still": True},
            f"20 s: {METADATA} fail; all I/O waits for the metadata servers.",
        ),
    ],
)
def test_an_incident_is_one_sentence(changes, text):
    assert pools.incident_text({**INCIDENT, **changes}) == text


def test_loss_is_bold_in_the_terminal(lossy):
    lost = lossy["points"][0]["pools"]["pool"]["lost_gib"]
    assert lost > 0
    text = shown(simulation.table(lossy))
    assert re.search(rf"\x1b\[1;31m *{lost:.1f}", text)
    assert re.search(r"\x1b\[1;31m3 s: node-1, node-2, node-3 fail; .* lost", text)


def test_a_narrow_terminal_goes_without_some_columns(result):
    wide, narrow = (plain(pools.table(result), width).splitlines() for width in (160, 80))
    assert any("device" in line for line in wide)
    assert not any("device" in line for line in narrow if line.startswith("  "))
    assert any("lost" in line for line in narrow)
    assert not any("…" in line for line in narrow)


def test_many_points_and_incidents_are_cut_short_and_said(result):
    (point,) = result["points"]
    pool = point["pools"]["pool"]
    many = {**pool, "incidents": pool["incidents"] * 10}
    points = [{**point, "set": {"vms.app.count": count}, "pools": {"pool": many}} for count in range(8)]
    said = [each.text for each in pools.sentences({**result, "points": points})]
    assert said[0].startswith("count 0: 4 s: ")
    assert said[20] == "count 0: 10 more failures and returns are in the JSON form."
    assert said[-1] == "2 more points have failures in the JSON form."


def test_pools_are_rows_of_csv_and_parquet(result):
    rows = [row for row in frame.rows(result) if row["kind"] == "pool"]
    pool = result["points"][0]["pools"]["pool"]
    assert [row["name"] for row in rows] == ["pool"]
    assert rows[0]["redundancy"] == "replicas-3:2"
    assert rows[0]["amplification"] == pool["amplification"]
    assert "incidents" not in rows[0]
    read = polars.read_csv(io.StringIO(files.to_csv(result))).filter(polars.col("kind") == "pool")
    assert read["time_to_whole_s"].to_list() == pytest.approx([pool["time_to_whole_s"]])
    written = polars.read_parquet(io.BytesIO(files.to_parquet(result))).filter(polars.col("kind") == "pool")
    assert written["lost_gib"].to_list() == [0.0]


def test_every_figure_of_a_pool_and_its_timeline_is_in_the_catalogue(result):
    (point,) = result["points"]
    of = {scope: {each.key for each in catalogue.CATALOGUE if scope in each.scopes} for scope in ("pool", "timeline")}
    # no VM names a policy, and it is neither Ceph nor vSAN
    of_others = {"service_cpus", "acknowledged_from", "buffer_pct", "overwritten_pct", "destage_mb_per_s"}
    of_others |= {"scrub_mb_per_s", "scrub_due_mb_per_s", "scrub_keeps_up"}
    assert {*frame.flatten(point["pools"]["pool"]), "incidents", "policies"} | of_others == of["pool"]
    assert set(point["timeline"]["pools"]["pool"]) | {"buffer_pct"} == of["timeline"]
    assert "## Pools of distributed storage" in catalogue.to_markdown()
    assert set(point["pools"]["pool"]["incidents"][0]) == set(INCIDENT)
    incidents = next(each.definition for each in catalogue.CATALOGUE if each.key == "incidents")
    assert all(f"`{key}`" in incidents for key in INCIDENT)


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("pools.pool.write_mb_per_s>1MB/s", "write_mb_per_s"),
        ("pools.*.degraded_pct<=1%", "degraded_pct"),
        ("pools.pool.time_to_whole_s<1min", "time_to_whole_s"),
        ("storage.pool-devices.utilization_pct<80%", None),
    ],
)
def test_an_objective_reads_pools_and_their_stations(result, text, figure):
    (point,) = result["points"]
    (found,) = objective.parse(text, scenario.load(EXAMPLE), "app")
    value = found.read(point)
    assert value == (point["pools"]["pool"][figure] if figure else point["storage"]["pool-devices"]["utilization_pct"])
    assert found.meets(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pools.pol.degraded_pct<1", "did you mean pools.pool?"),
        ("pools.pool.degraded<1", "did you mean degraded_pct?"),
        ("pools.pool.redundancy<1", "unknown-metric"),
        ("pools.pool.write_mb_per_s>1ms", "bad-unit"),
    ],
)
def test_a_misspelt_pool_is_found_before_anything_runs(text, said):
    with pytest.raises(ScenarioError, match=re.escape(said)):
        objective.parse(text, scenario.load(EXAMPLE), "app")


@pytest.mark.parametrize("name", ["hyperconverged", "disk-failure"])
def test_the_examples_run_and_their_clients_get_what_they_ask_for(name):
    found = hypertwin.simulate(ROOT / "scenarios" / f"{name}.yaml", replications=1).to_dict()
    (point,) = found["points"]
    (pool,) = point["pools"].values()
    (group,) = point["groups"].values()
    assert pool["lost_gib"] == 0
    assert pool["read_mb_per_s"] + pool["write_mb_per_s"] == pytest.approx(group["io_mb_per_s"], rel=0.02)


def test_hyperconverged_is_ahead_with_few_machines_and_behind_with_many():
    sweep = {"storage.mesh.deployment": ["hci", "two-layer"], "vms.db.count": [8, 24]}
    path = ROOT / "scenarios" / "hyperconverged.yaml"
    points = hypertwin.simulate(path, replications=1, duration=2, warmup=1, sweep=sweep).to_dict()["points"]
    few, many, few_apart, many_apart = (point["groups"]["db"]["throughput_per_s"] for point in points)
    assert few > 1.01 * few_apart  # no layer between
    assert many_apart > many  # machines and services do not share CPUs


def test_a_rebuild_cut_short_is_reckoned_at_the_rate_since_it_began():
    def lost_disk(duration):
        overrides = {"failures": [{"at": "3 s", "fails": ["node-2/disk-1"]}], "storage.pool.rebuild.delay": "6 s"}
        found = hypertwin.simulate(EXAMPLE, replications=1, duration=duration, overrides=overrides)
        return found.points[0]["pools"]["pool"]

    early, short, whole = (lost_disk(duration) for duration in (6, 16, 60))
    assert early["degraded_pct"] == 15
    assert (early["due_gib"], early["rebuilt_gib"], early["time_to_whole_s"]) == (0, 0, None)
    assert short["rebuilt_gib"] + short["due_gib"] == pytest.approx(3.0)
    left_s = short["due_gib"] * 2**30 / 1e6 / short["rebuild_mb_per_s"]
    assert short["time_to_whole_s"] == pytest.approx(2 + 16 - 3 + left_s)
    assert short["rebuild_mb_per_s"] == pytest.approx(short["rebuilt_gib"] * 2**30 / 1e6 / (2 + 16 - 9), rel=0.001)
    assert short["time_to_whole_s"] == pytest.approx(whole["time_to_whole_s"], rel=0.35)
    assert whole["incidents"][0]["whole_after_s"] == whole["time_to_whole_s"]
