"""What is shown of each kind of result, on documents that the commands printed."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from tests.e2e.results import PAGES, document

from hypertwin.plan import durability as schemes
from hypertwin.plan.capacity import verdict
from hypertwin.plan.density import FAILOVER
from hypertwin.show import (
    calibration,
    capacity,
    compared,
    comparison,
    density,
    diagnosis,
    durability,
    guests,
    lab,
    placement,
    sizing,
)
from hypertwin.show import view as v
from hypertwin.show.page import Page


def blocks(shown: v.View, kind: str) -> list[Any]:
    return [block for block in v.blocks_of(shown) if block["type"] == kind]


def charts(shown: v.View) -> dict[str, Any]:
    return {chart["id"]: chart for block in blocks(shown, "charts") for chart in block["charts"]}


def table(shown: v.View, name: str) -> Any:
    return next(each for each in v.tables_of(shown) if each["id"] == name)


def rows(shown: v.View, name: str, *keys: str) -> list[Any]:
    return [tuple(v.plain(row.get(key)) for key in keys) for row in table(shown, name)["rows"]]


def texts(shown: v.View) -> list[str]:
    listed = [item["text"] for block in blocks(shown, "list") for item in block["items"]]
    return listed + [text for block in blocks(shown, "prose") for text in block["paragraphs"]]


@pytest.fixture(params=PAGES)
def shown(request) -> v.View:
    view = PAGES[request.param]().view
    assert view is not None
    return view


def test_it_begins_with_an_answer_and_says_how_sure_it_is(shown):
    assert shown["title"] and shown["answer"]["text"] and shown["confidence"]
    assert "None" not in shown["answer"]["text"] and "nan" not in shown["answer"]["text"]


def test_names_are_unique_in_charts_tables_sections_and_cards(shown):
    drawn = [chart["id"] for block in blocks(shown, "charts") for chart in block["charts"]]
    tables = [each["id"] for each in v.tables_of(shown)]
    sections, cards = [each["id"] for each in shown["sections"]], [each["name"] for each in shown["cards"]]
    assert all(len(set(names)) == len(names) for names in (drawn, tables, sections, cards))


def test_charts_have_words_and_a_value_for_each_place(shown):
    for chart in charts(shown).values():
        assert chart["alternative"].endswith(".") and "None" not in chart["alternative"]
        places = chart.get("places", chart.get("categories"))
        for series in chart.get("series", ()):
            assert len(series["values"]) == len(places)


def test_tables_have_a_name_for_each_column_and_sort_and_filter_by_what_they_have(shown):
    for each in v.tables_of(shown):
        keys = [column["key"] for column in each["columns"]]
        assert all(column["name"] for column in each["columns"]) and len(set(keys)) == len(keys)
        assert {*each.get("filters", ()), *([each["sorted"]["column"]] if "sorted" in each else [])} <= set(keys)
        heads = [v.head(column) for column in each["columns"]]
        assert len(set(heads)) == len(heads), heads


def test_what_stands_on_guesses_says_so_first_and_is_neither_good_nor_met():
    found = document("placement-survive") | {"feasible": True}
    failover = {"survives": True, "reason": None, "text": "prod survives."}
    found["failover"] = failover | {"failures": {name: {"survives": True} for name in found["certificate"]}}
    found["certificate"] = {name: each | {"unplaced": []} for name, each in found["certificate"].items()}
    assert placement.view(found | {"guessed": 0})["answer"]["tone"] == "good"
    unsure = placement.view(
        found | {"guessed": 3, "vms": 9, "failover": found["failover"] | {"survives": None, "reason": "hosts-guessed"}}
    )
    assert unsure["answer"]["text"].startswith("The host of 3 of 9 VMs is a guess. ")
    assert unsure["answer"]["tone"] == "warn"
    assert not any(each["met"] for each in unsure["promises"])


def judged(found: Any) -> v.View:
    """The view of a capacity after its verdicts were made again."""
    for name, each in found["clusters"].items():
        each["verdict"] = verdict.of_cluster(name, each)
    return capacity.view(found)


def only(name: str, **changed: Any) -> Any:
    found = document("capacity")
    found["clusters"] = {name: found["clusters"][name] | changed}
    return found


def test_capacity_has_one_verdict_for_each_cluster():
    view = judged(document("capacity"))
    assert view["answer"]["tone"] == "bad"
    assert view["answer"]["text"].startswith(
        "2 of 3 clusters cannot tolerate a host failure within their limits: database, general."
    )
    assert view["answer"]["more"][0].endswith("db-1 lacks 29.8 GHz of CPU and 139.2 GiB of memory on database-2.")
    assert [each["met"] for each in view["promises"]] == [False, None, False]
    exceeds = {row["cluster"]: v.tone_of(row["memory"]) for row in table(view, "use")["rows"]}
    assert exceeds == {"database": "bad", "edge": "plain", "general": "bad", "total": "plain"}
    survives = {"survives": True, "reason": None, "text": "general survives all 6 host failures."}
    fine = only("general", memory_configured_after_failure_pct=89, failover=survives)
    fine["clusters"]["general"]["vms_remaining"]["count"] = 1
    good = judged(fine)
    assert (good["answer"]["tone"], good["promises"][0]["met"]) == ("good", True)
    assert good["answer"]["text"] == "general survives all 6 host failures. 1 VM of average size can be added."
    nobody = {
        "survives": None,
        "reason": "ha-not-known",
        "text": "Whether general survives a host failure is not known.",
    }
    for unknown in (only("edge"), only("general", memory_configured_after_failure_pct=89, failover=nobody)):
        view = judged(unknown)
        assert (view["answer"]["tone"], view["promises"][0]["met"]) == ("warn", None)


def test_capacity_tells_power_on_from_demand_and_nothing_from_zero():
    view = capacity.view(document("capacity"))
    assert rows(view, "failover", "cluster", "power_on", "perform") == [
        ("database", "yes", "no: CPU and consumed memory"),
        ("edge", "no", "no"),
        ("general", "yes", "yes"),
    ]
    assert rows(view, "room", "cluster", "count", "cpu", "binds")[1] == ("edge", None, None, None)
    use = {row["cluster"]: row["cpu"] for row in table(view, "use")["rows"]}
    assert use["edge"]["text"] == "22 → -"
    assert {"tone": "note", "text": "unknown"} in [row["source"] for row in table(view, "basis")["rows"]]


def test_capacity_draws_the_worst_first_with_the_limit_that_all_share():
    found = document("capacity")
    drawn = charts(capacity.view(found))["memory"]
    assert drawn["categories"] == ["database", "general", "edge"]
    assert [each["values"][2] for each in drawn["series"]][1] is None
    assert [each["value"] for each in drawn["limits"]] == [90]
    found["clusters"]["edge"]["limits"]["memory_pct"] = 80
    assert charts(capacity.view(found))["memory"]["limits"] == []


def test_capacity_shows_storage_where_any_is_known_and_samples_apart_from_what_is_sustained():
    found = document("capacity") | {"datastores": [], "pools": {}}
    assert [each["id"] for each in v.tables_of(capacity.view(found)) if each["id"] in ("stored", "stores")] == [
        "stored"
    ]
    for each in (found["total"], *found["clusters"].values()):
        each["storage"] = None
    assert "storage" not in [each["id"] for each in capacity.view(found)["sections"]]
    unused = found["clusters"]["database"]["reclaimable"]
    unused["sample"], unused["sustained"] = unused["sustained"], None
    tones = [v.tone_of(row["by"]) for row in table(capacity.view(found), "unused")["rows"]]
    assert tones == ["note", "good", "good"]


def plan(name: str = "placement", **changed: Any) -> v.View:
    return placement.view(document(name) | changed)


def test_plans_answer_with_moves_and_proof_and_compare_hosts_with_their_limits():
    view = plan()
    text = "Move 3 VMs (4 moves) in 3 steps, about 4 min. Optimal."
    assert (view["answer"]["tone"], view["answer"]["text"]) == ("good", text)
    cards = {each["name"]: each["value"] for each in view["cards"]}
    assert (cards["Moves"], cards["Peak load"], cards["Failures survived"]) == ("4", "98 → 72%", "4 of 4")
    assert [each["met"] for each in view["promises"]] == [True, True, True]
    unproven = plan(proven=False, bound=2, gap_pct=50)
    assert unproven["confidence"][0] == v.badge("Not proven optimal: the optimality gap is at most 50%.", "warn")
    drawn = charts(view)["hosts-cpu"]
    assert (drawn["categories"][0], drawn["limits"][0]["value"]) == ("esx-1", 80)
    hosts = document("placement")["hosts"]
    hosts[0]["limit_pct"]["cpu"] = 40
    differ = plan(hosts=hosts)
    assert charts(differ)["hosts-cpu"]["limits"][0]["value"] == 100
    assert v.tone_of(table(differ, "hosts")["rows"][0]["peak"]) == "bad"
    assert (differ["promises"][0]["met"], differ["promises"][0]["note"]) == (False, "esx-1")


def test_plans_mark_temporary_moves_ways_back_and_moves_that_never_end():
    assert [v.plain(row["kind"]) for row in table(plan(), "moves")["rows"]] == [None, "temporary", None, None]
    rolling = plan("placement-evacuate")
    assert rows(rolling, "steps", "kind", "empty") == [
        *((None, None), (None, "esx-3"), ("back", "esx-3"), (None, None), (None, "esx-4"), ("back", "esx-4")),
    ]
    moves = [each | {"from": None, "seconds": None} for each in document("placement")["moves"]]
    assert {row["seconds"] for row in table(plan(moves=moves), "moves")["rows"]} == {None}
    moves[2]["from"] = "esx-1"
    never = table(plan(moves=moves), "moves")["rows"]
    assert [v.plain(row["seconds"]) for row in never] == [None, None, "never ends", None]


def test_plans_name_what_cannot_restart_and_what_would_help_by_the_names_of_their_system():
    found = document("placement-survive")
    failures = {name: {"survives": not each["cannot_restart"]} for name, each in found["certificate"].items()}
    failover = {"survives": False, "reason": "no-host", "text": "prod survives 3 of 4.", "failures": failures}
    found["failover"] = failover
    view = placement.view(found | {"labels": {"dwh-2": "SAP BW Prod (old)"}})
    assert (view["answer"]["tone"], view["answer"]["text"]) == ("bad", "prod survives 3 of 4.")
    assert [each for each in texts(view) if each.endswith("(checked)")][1] == "one more host like esx-1 (checked)"
    grid = charts(view)["grid"]
    assert grid["x"]["categories"] == ["cannot restart", "esx-1", "esx-2", "esx-3", "esx-4"]
    assert (grid["rows"][0]["name"], grid["rows"][0]["values"][0], grid["rows"][0]["values"][3]) == ("esx-3", 1, None)
    assert grid["marks"]["points"][0]["text"] == "SAP BW Prod (old) is short of 59.2 GiB of memory on esx-4"
    assert rows(view, "nowhere", "vm", "failed", "kind")[0] == ("SAP BW Prod (old)", "esx-3", "cannot restart")
    placed = sum(len(each["placed"]) for each in found["certificate"].values())
    assert len(table(view, "restarts")["rows"]) == placed
    assert not any(row["vm"] == "dwh-2" for row in table(view, "restarts")["rows"])


def test_plans_say_that_nothing_moves_that_there_is_none_and_what_the_twin_says():
    still = plan(moves=[], steps=[], commands={}, explained=[])
    assert still["answer"]["text"].startswith("No moves needed.")
    assert "moves" not in [section["id"] for section in still["sections"]]
    none = plan("placement-infeasible")
    assert none["answer"]["tone"] == "bad"
    assert none["answer"]["text"].startswith("Infeasible: memory is short, rule db-apart")
    assert none["answer"]["text"].endswith("A plan exists without rule db-apart, new-3.")
    headings = {block["heading"] for block in blocks(none, "group")}
    assert "Fewest rules and VMs without which a plan exists" in headings
    assert "Not enough: without rule erp-apart" in texts(none)
    ranges = charts(plan())["objective-0"]["rows"]
    assert [each["name"] for each in ranges][:3] == ["before", "after", "without esx-2"]
    assert [each["value"] for each in ranges[0]["marks"]] == [5]
    assert "Met on average, but intervals reach beyond limits: without esx-2." in [
        each["text"] for each in plan()["confidence"]
    ]
    verified = deepcopy(document("placement")["verified"])
    verified["failures"]["esx-1"] |= {"meets": False, "sure": False, "at_worst": False}
    missed = plan(verified=verified)
    assert missed["answer"]["tone"] == "warn"
    assert missed["promises"][-1] == {"text": "Objectives, simulated", "met": False, "note": "without esx-1"}


def test_a_large_plan_keeps_its_restarts_behind_a_line():
    view = PAGES["plan of 64 hosts"]().view
    assert len(table(view, "restarts")["rows"]) == 64 * 31
    closed = {block["heading"] for block in blocks(view, "group") if block.get("closed")}
    assert {"Where every VM restarts", "Steps"} <= closed


def validated(*changed: dict[str, Any]) -> v.View:
    made = document("validation")
    return comparison.view([{**made[0], **change} for change in changed] if changed else made)


def test_validation_names_what_failed_first_then_known_misses_and_judges_nothing_without_a_promise():
    miss = {"pass": False, "error": 5.0, "tolerance": 1.0, "error_pct": 50.0, "reason": "it is old"}
    view = validated({**miss, "case": "known", "promised": False}, {**miss, "case": "lost", "promised": True}, {})
    assert view["answer"]["tone"] == "bad"
    assert [each.split(",")[0] for each in view["answer"]["more"]] == ["lost", "known"]
    assert view["answer"]["more"][0].endswith(": it is old")
    assert rows(view, "figures", "verdict")[:2] == [("regressed",), ("known miss",)]
    fine = validated({"promised": False, "pass": True}, {"promised": False, "pass": True})
    assert (fine["answer"]["tone"], fine["promises"][0]["met"]) == ("good", None)
    wrong = validated({"class": "memory", "expected_class": "host-cpu", "class_right": False})
    assert table(wrong, "figures")["rows"][0]["class"] == v.badge("memory, not host-cpu", "bad")


def test_validation_draws_numbers_with_tolerance_calibrated_ones_hollow_and_sources_together():
    view = validated()
    points = [p for c in charts(view).values() if c["type"] == "scatter" for m in c["marks"] for p in m["points"]]
    assert len(points) == sum(not row["range"] for row in document("validation"))
    assert any(point["hollow"] for point in points)
    several = PAGES["validation of two sources"]().view
    assert charts(several)["scatter-all"]["diagonal"] == {"within_pct": (10, 25)}
    assert [each["name"] for each in charts(several)["errors"]["rows"]] == ["monster-vm", "other"]
    assert table(several, "sums")["rows"][-1]["name"] == "all"


def test_density_says_what_is_met_how_sure_and_what_runs_out():
    found = document("density")
    view = density.view(found)
    assert all(each["met"] for each in view["promises"])
    assert any(row["note"].startswith("the answer") for row in table(view, "counts")["rows"])
    answer = found["answer"]
    unsure = density.view(found | {"answer": answer | {"sure_count": 0}})
    assert unsure["answer"]["tone"] == "warn"
    assert "with 95 % confidence none" in unsure["confidence"][0]["text"]
    none = density.view(found | {"answer": answer | {"count": 0, "sure_count": 0}})
    assert (none["answer"]["tone"], {each["met"] for each in none["promises"]}) == ("bad", {False})
    lacking = {"meets": False, "reason": "too little", "lacks": "memory of esx-1", "count": 99}
    full = found["points"][-1] | lacking
    short = density.view(
        found | {"points": [found["points"][0], full], "answer": answer | {"limited_by": full["lacks"]}}
    )
    assert short["cards"][3]["name"] == "Runs out first"
    assert rows(short, "counts", "verdict")[-1] == ("no memory",)
    for lacks, said in ((FAILOVER, "no failover"), ("room of ceph", "no room"), (None, "impossible")):
        lost = density.view(found | {"points": [*found["points"], full | {"lacks": lacks}]})
        assert rows(lost, "counts", "verdict")[-1] == (said,)


def test_density_names_the_limits_of_a_failover():
    limits = {"cpu_pct": 80.0, "memory_pct": 90.0, "failures": 1.0}
    view = density.view(document("density") | {"failover": {"c": {"limits": limits}}})
    assert "After a host failure, VMs restart within limits: 80% of CPU and 90% of memory." in view["assumptions"]


def test_what_the_model_error_can_break_is_neither_met_nor_green():
    found = document("density")
    assert density.view(found)["answer"]["tone"] == "good"
    at = next(point for point in found["points"] if point["count"] == found["answer"]["count"])
    at["at_worst"] = False
    at["metrics"]["response_ms.p95"] |= {"low": 30.0, "high": 60.0}
    found["answer"] |= {"low_count": 4, "high_count": 12}
    view = density.view(found)
    assert (view["answer"]["tone"], [each["met"] for each in view["promises"]]) == ("warn", ["not surely", True])
    assert any(": met, not surely (" in note for note in Page.of_view("density", found, view).notes)
    assert dict(rows(view, "counts", "count", "verdict"))[at["count"]] == "met, not surely"
    assert any("4 to 12" in each["text"] and each["tone"] == "warn" for each in view["confidence"])
    (band,) = charts(view)["objective-response-ms-p95"]["series"]
    assert (30.0 in band["lows"], 60.0 in band["highs"]) == (True, True)
    verified = deepcopy(document("placement")["verified"])
    for state in (verified["before"], verified["after"], *verified["failures"].values()):
        state |= {"meets": True, "sure": True, "at_worst": True, "steady": True}
    assert plan(verified=verified)["promises"][-1]["met"] is True
    verified["failures"]["esx-1"] |= {"at_worst": False}
    view = plan(verified=verified)
    assert (view["answer"]["tone"], view["promises"][-1]["met"]) == ("warn", "not surely")
    badges = dict(rows(view, "verified", "state", "verdict"))
    assert (badges["without esx-1"], badges["after"]) == ("met, not surely", "met")
    assert any("reaches beyond limits: without esx-1" in each["text"] for each in view["confidence"])


def test_durability_names_the_cheapest_and_promises_no_more_than_a_model_can():
    found = document("durability")
    view = durability.view(found, schemes.curves(found))
    assert view["answer"]["text"].startswith(
        "For 6 nines a year ec-17+3 needs the least capacity: 118 GB raw per 100 GB"
    )
    assert (
        charts(view)["repair"]["moments"][0]["text"] == f"repair time {durability.duration(found['repair']['seconds'])}"
    )
    assert len(charts(view)["repair"]["places"]) > 10
    sure = deepcopy(found)
    for loss in (sure["schemes"][0]["markov"], sure["schemes"][0]["backblaze"]):
        loss |= {"beyond_model": True, "annual_loss": 1e-20, "nines": 20, "pool_annual_loss": 1e-18}
    row = table(durability.view(sure), "schemes")["rows"][0]
    assert [v.shown(row[key]) for key in ("markov", "markov_nines", "mttdl")] == ["<1e-13", ">12", "beyond"]


def test_calibration_says_what_the_data_do_not_tell_and_draws_curves_by_depth():
    found = document("calibration")
    view = calibration.view(found)
    unsure = found["parameters"][0] | {"identified": False, "interval": None, "at_bound": False}
    lost = calibration.view(found | {"parameters": [unsure, *found["parameters"][1:]]})
    assert (lost["answer"]["tone"], lost["promises"][1]["met"]) == ("warn", False)
    assert table(lost, "fitted")["rows"][0]["state"] == v.badge("not identified", "bad")
    fits = [each for name, each in charts(view).items() if name.startswith("fit-")]
    assert len(fits) == len(found["metrics"])
    point = found["points"][0]

    def measured(row: int, depth: int, metric: str, value: float) -> Any:
        path = {"workloads.w.io.outstanding": depth}
        about = {"row": row, "name": f"read, {depth} outstanding", "metric": metric, "set": path}
        return point | about | {"measured": value, "twin": value}

    values = [(1, 4), (2, 1)]
    curve = [measured(row, depth, "vms.db.iops", 1000.0 * depth) for row, depth in values]
    curve += [measured(row, depth, "vms.db.io_latency_ms.mean", 1.0 * depth) for row, depth in values]
    drawn = charts(calibration.view(found | {"points": curve}))["io-curve"]
    assert [[each["x"] for each in mark["points"]] for mark in drawn["marks"]] == [[1000, 4000]] * 2
    assert "io-curve" not in charts(calibration.view(found | {"points": curve[:1] + curve[2:3]}))


def test_contention_holds_medians_against_what_is_promised_and_marks_what_was_disturbed():
    found = document("contention")
    view = lab.view(found)
    met = [found["medians"][each.error] <= found["promised"][each.error] for each in lab.FIGURES]
    assert [each["met"] for each in view["promises"]] == met
    assert view["answer"]["tone"] == "bad" if not all(met) else "good"
    flagged = [each | {"flagged": True} for each in found["experiments"]]
    disturbed = lab.view(found | {"experiments": flagged})
    assert {row["state"]["text"] for row in table(disturbed, "experiments")["rows"]} == {"disturbed"}
    assert all(point["hollow"] for point in charts(disturbed)["wait-pct"]["marks"][0]["points"])
    assert lab.view(found | {"experiments": []})["answer"]["text"] == "No experiment was made."


def test_guests_are_drawn_beside_the_twin_and_four_of_them_over_time():
    found = document("guests")
    many = guests.view(
        found | {"guests": [each | {"name": f"g{at}"} for at in range(6) for each in found["guests"][:1]]}
    )
    assert len([name for name in charts(many) if name.startswith("time-")]) == guests.MAX_DRAWN
    shares = charts(guests.view(found))["shares"]
    assert len(shares["categories"]) == 2 * len(found["guests"])


def test_diagnosis_tells_causes_with_what_follows_and_keeps_hundreds_behind_lines():
    found, series = document("diagnosis"), document("diagnosis-series")
    view = diagnosis.view(found, series)
    assert view["answer"]["tone"] == "bad"
    causes = [row["cause"] for row in table(view, "glance")["rows"]]
    assert "hidden-host-saturation" in causes
    follows = [each["heading"] for each in blocks(view, "group") if each["heading"].startswith("follows: ")]
    assert follows
    addresses = [item["address"] for block in blocks(view, "list") for item in block["items"] if "address" in item]
    assert addresses and all(each.startswith("https://") for each in addresses)
    one = next(each for each in found["findings"] if each["code"] == "cpu-limit")
    many = [one | {"name": f"vm-{at}", "entity": f"vm/{at}", "title": f"vm-{at} is limited"} for at in range(300)]
    section = next(each for each in diagnosis.view(found | {"findings": many})["sections"] if each["id"] == "cpu-limit")
    assert [each["closed"] for each in section["blocks"]] == [False, True, True, True]
    assert section["blocks"][3]["heading"].startswith("297 more: vm-3, ")
    quiet = diagnosis.view(found | {"findings": []})
    assert quiet["answer"]["tone"] == "warn"
    assert [each["id"] for each in quiet["sections"]] == ["limits", "clusters", "not-checked"]


def test_diagnosis_draws_figures_over_time_with_their_limits_and_rows_of_clusters():
    found = document("diagnosis")
    ready: Any = {"what": "ready, per vCPU", "unit": "%", "x": ["2026-01-01 10:00:00Z", "2026-01-01 10:05:00Z"]}
    ready |= {"mean": [1, 8], "most": [2, 9], "value": 9.0}
    ready["band"] = {"direction": "above", "warning": 5, "critical": 100, "own": []}
    (drawn,) = charts(
        diagnosis.view(found | {"findings": [found["findings"][0] | {"cause": None}]}, [[ready]])
    ).values()
    assert (drawn["places"], drawn["x"]) == ([0, 5], {"name": "since 2026-01-01 10:00 UTC", "unit": "min"})
    assert [each["name"] for each in drawn["limits"]] == ["warning"]
    assert [each["values"] for each in drawn["series"]] == [[1, 8], [2, 9]]
    view = diagnosis.view(found)
    assert rows(view, "clusters", "cluster", "vms", "used") == [("default", 13, None)]
    assert rows(view, "hosts", "name", "memory") == [("esx-1", 256), ("esx-2", 256)]
    notes = table(view, "clusters")["notes"]
    assert "default: the host of 2 VMs is unknown. They count in the cluster only." in notes
    alone = found["clusters"][0] | {"key": None, "hosts": found["clusters"][0]["hosts"][:1]}
    assert "clusters" not in [each["id"] for each in diagnosis.view(found | {"clusters": [alone]})["sections"]]


def test_sizes_and_layouts_show_the_drawing_what_to_paste_and_what_is_wrong():
    found = document("size")
    view = sizing.view(found | {"snippets": {"qm": "qm set 105\n", "vmx": "numvcpus"}})
    assert [each["name"] for each in blocks(view, "text")] == ["vm.qm.sh", "vm.vmx"]
    layout = document("vnuma")
    assert blocks(sizing.layout_view(layout), "drawing")[0]["svg"].startswith("<svg")
    wrong = sizing.layout_view(layout | {"warnings": [{"code": "imbalance", "text": "one is full"}], "collapsed": True})
    assert (wrong["answer"]["tone"], [each["met"] for each in wrong["promises"]]) == ("warn", [False, False])
    assert "imbalance: one is full" in wrong["answer"]["more"]
    assert layout["homes"] == layout["settled_homes"] == [0, 1]
    assert "is local." in wrong["answer"]["text"]
    moved = sizing.layout_view(layout | {"settled_homes": [0, 0], "collapsed": True})["answer"]
    assert "100% of its memory is local at power-on." in moved["text"]
    assert moved["more"][0] == "When the rebalancer has moved vCPUs, 50% of the memory is local until pages follow."


def test_comparisons_begin_with_changes_beyond_their_intervals_and_show_what_is_missing():
    change = {"at": "", "of": "group", "name": "db", "figure": "ready_pct", "unit": "%", "a": 1.0, "b": 2.0}
    change |= {"a_ci95": 0.1, "b_ci95": 0.1, "change": 1.0, "change_pct": 100.0, "beyond": True}
    side = {"file": "/x/a.json", "version": "1", "date": None, "command": None}
    found: Any = {"version": "1", "kind": "simulation", "a": side, "b": side, "settings": [], "scenario_diff": None}
    found |= {"changes": [], "verdicts": [], "missing": [], "same": 7}
    same = compared.view(found)
    assert (same["answer"]["tone"], same["answer"]["text"]) == ("good", "All 7 figures are the same.")
    within = change | {"beyond": False, "figure": "run_pct"}
    assert compared.view(found | {"changes": [within]})["answer"]["more"] == []
    missing = [{"at": "", "of": "VM", "name": "web-3", "figure": "", "only_in": "b"}]
    settings = [{"what": "vms.web.count", "a": None, "b": "8"}]
    view = compared.view(found | {"changes": [change, within], "missing": missing, "settings": settings})
    assert view["answer"]["tone"] == "warn"
    assert view["answer"]["more"] == []
    assert view["answer"]["text"] == "In B db is ready longer (1 → 2%)."
    assert rows(view, "settings", "a", "b") == [("as in the scenario", "8")]
    assert rows(view, "missing", "only_in", "name") == [("B", "web-3")]
    assert [each["key"] for each in table(view, "changes")["columns"]][:3] == ["of", "name", "figure"]
