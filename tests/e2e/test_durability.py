"""`hypertwin durability`: what it prints, the page it writes, and what it says of a mistake."""

from __future__ import annotations

import json
import re

import pytest
from tests.conftest import ROOT
from tests.python.show.test_page import data

from hypertwin.plan import durability
from hypertwin.show.page import rounded


def test_json_has_what_it_holds_for_and_every_usual_scheme(cli):
    done = cli("durability", "--format", "json", says="")
    found = json.loads(done.stdout)
    assert set(found) == {"version", "annual_failure_rate", "repair", "groups", "usable_bytes", "schemes"}
    assert (found["annual_failure_rate"], found["repair"]["seconds"]) == (0.00405, 561_600)
    assert [entry["scheme"] for entry in found["schemes"]] == list(durability.USUAL_SCHEMES)
    losses = {entry["scheme"]: entry["backblaze"]["annual_loss"] for entry in found["schemes"]}
    assert f"{losses['ec-17+3']:.3e}" == "7.354e-12"


def test_the_table_has_cost_and_loss_of_each_scheme(cli):
    done = cli("durability", "--scheme", "17+3", "--scheme", "3:2", "--explain", exits=0)
    code = next(line for line in done.stdout.splitlines() if line.startswith("  ec-17+3"))
    assert re.split(r"\s{2,}", code.strip())[:5] == ["ec-17+3", "118", "3", "4 + 4", "17"]
    assert re.split(r"\s{2,}", code.strip())[-2:] == ["7.354e-12", "11"]
    copies = next(line for line in done.stdout.splitlines() if line.startswith("  replicas-3:2"))
    assert re.split(r"\s{2,}", copies.strip())[:5] == ["replicas-3:2", "300", "2", "0 + 3", "1"]


def test_more_nines_than_the_model_can_vouch_for_are_not_shown(cli):
    arguments = ("durability", "--scheme", "ec-17+3", "--scheme", "3", "--repair", "20s", "--groups", "9")
    done = cli(*arguments, "--explain")
    copies = next(line for line in done.stdout.splitlines() if line.startswith("  replicas-3"))
    assert re.split(r"\s{2,}", copies.strip())[5:] == ["<1e-13", ">12", "beyond", "<1e-13", ">12", "<1e-13", "<1e-13"]
    assert "Do not rely on more than 12 nines" in done.stdout
    for entry in json.loads(cli(*arguments, "--format", "json").stdout)["schemes"]:
        assert entry["markov"]["beyond_model"]
        assert 0 < entry["markov"]["annual_loss"] < 1e-13
        assert entry["markov"]["nines"] > 12
    assert "Do not rely on more than 12 nines" not in cli("durability", "--scheme", "ec-17+3", "--explain").stdout


def test_a_pool_of_which_nobody_said_what_it_holds_is_a_guess_and_said(cli):
    guessed = cli("durability", EXAMPLE, *SHORT)
    said = " ".join(guessed.stdout.split())
    assert "Assumed: pool stores the working sets of VMs, 20 GiB." in said
    assert "--set storage.pool.stored=20TiB" in said
    told = cli("durability", EXAMPLE, *SHORT, "--set", "storage.pool.stored=20TiB")
    assert (guessed.returncode, told.returncode) == (0, 0)
    assert "Assumed" not in told.stdout
    flags = [
        json.loads(cli("durability", EXAMPLE, *SHORT, *more, "--format", "json").stdout)["twin"]["stored_guessed"]
        for more in ((), ("--set", "storage.pool.stored=20TiB"))
    ]
    assert flags == [True, False]


def test_a_pool_shows_its_own_loss_and_raw_size(cli):
    pool = ("--groups", 1024, "--usable", "100TB", "--disk", "10TB", "--rebuild", "50MB/s", "--detection", "0")
    done = cli("durability", "--scheme", "3", *pool, "--explain", exits=0)
    assert "groups 1,024, usable data 100 TB" in done.stdout
    assert "repair time 2.315 d (in parallel)" in done.stdout
    assert "300 TB" in done.stdout
    found = json.loads(cli("durability", "--scheme", "3", *pool, "--format", "json").stdout)
    (entry,) = found["schemes"]
    assert entry["markov"]["pool_annual_loss"] == pytest.approx(1024 * entry["markov"]["annual_loss"], rel=1e-6)
    assert f"{entry['markov']['pool_annual_loss']:.3e}" in done.stdout


def test_the_page_has_the_curves_of_each_scheme_and_the_table(cli, tmp_path):
    done = cli("durability", "--scheme", "17+3", "--scheme", "2", "--report", "page.html", "--format", "json", exits=0)
    assert done.stderr == "wrote page.html\n"
    text = (tmp_path / "page.html").read_text()
    page = data(text)
    assert (page["kind"], page["document"]) == ("durability", rounded(json.loads(done.stdout)))
    repair = page["view"]["sections"][0]["blocks"][0]["charts"][1]
    assert [each["name"] for each in repair["series"]] == ["ec-17+3", "replicas-2"]
    assert len(repair["places"]) > 10
    assert all(each["values"][0] < each["values"][-1] for each in repair["series"])
    assert "7.354e-12" in text.split("<noscript>")[1].split("</noscript>")[0]


@pytest.mark.parametrize(
    ("option", "arguments"),
    [
        ("--scheme", ("--scheme", "3+99")),
        ("--scheme", ("--scheme", "raid-7")),
        ("--afr", ("--afr", "0.4")),
        ("--afr", ("--afr", "2000%")),
        ("--repair", ("--repair", "6.5")),
        ("--repair", ("--repair", "400d")),
        ("--repair", ("--repair", "1d", "--disk", "1TB")),
        ("--rebuild", ("--disk", "10TB")),
        ("--disk", ("--disk", "10", "--rebuild", "50MB/s")),
        ("--groups", ("--groups", "0")),
        ("--usable", ("--usable", "100")),
    ],
)
def test_a_mistake_names_its_option(cli, option, arguments):
    done = cli("durability", *arguments, exits=2)
    assert done.stderr.startswith(f"error: {option}")
    assert "  help: " in done.stderr


def test_a_page_that_cannot_be_written_is_said_first(cli):
    done = cli("durability", "--report", "missing/page.html", exits=2)
    assert "missing" in done.stderr


EXAMPLE = ROOT / "scenarios" / "disk-failure.yaml"
SHORT = ("--replications", 1, "--duration", "10")
POOL = "storage.pool"


def set_all(nodes, per_node=4, stored="20 GiB"):
    values = {"hosts.node.count": nodes, f"{POOL}.devices.per_node": per_node, f"{POOL}.stored": stored}
    return [text for path, value in values.items() for text in ("--set", f"{path}={value}")]


def test_of_several_kinds_of_disk_the_largest_fails(cli):
    more = "[{kind: hdd-7.2k, per_node: 2, capacity: 12 TB}, {kind: hdd-7.2k, per_node: 1, capacity: 1 TB}]"
    arguments = ("--set", f"{POOL}.more_devices={more}", "--set", f"{POOL}.stored=2 TiB", "--duration", 5)
    done = cli("durability", EXAMPLE, *arguments, "--replications", 1, "--format", "json", exits=0)
    twin = json.loads(done.stdout)["twin"]
    assert twin["failed"] == "node-1/disk-5"
    # data are spread by capacity: it has 12 of the 41 TB of each of 5 nodes
    held_gib = 3 * 2 * 1024 * 12 / (5 * 41)
    assert twin["rebuilt_gib"] + twin["due_gib"] == pytest.approx(held_gib, rel=0.02)


def test_the_repair_time_of_a_scenario_comes_from_the_twin(cli):
    arguments = ("durability", EXAMPLE, "--storage", "pool", "--afr", "1.5%", "--replications", 1, "--duration", "60")
    done = cli(*arguments, "--format", "json", says="")
    found = json.loads(done.stdout)
    twin = found["twin"]
    # 20 GiB in three copies on 20 disks
    assert (twin["failed"], twin["rebuilt_gib"], twin["due_gib"]) == ("node-1/disk-1", pytest.approx(3.0), 0)
    assert twin["is_measured"]
    assert twin["rebuild_s"] >= 3.0 * 2**30 / 1e6 / twin["rebuild_mb_per_s"] - 1e-6
    assert (twin["detection"], twin["detection_s"]) == ("5 s", 5)
    assert found["repair"]["seconds"] == pytest.approx(5 + twin["rebuild_s"])
    # 80 chunks on 640 combinations of three disks in different hosts
    assert (found["groups"], twin["placement_groups"], found["usable_bytes"]) == (75, 80, 20 * 2**30)
    (entry,) = found["schemes"]
    assert entry["scheme"] == "replicas-3:2"
    (alone,) = durability.assess(
        ["replicas-3:2"],
        annual_failure_rate=0.015,
        repair_s=found["repair"]["seconds"],
        groups=75,
        usable_bytes=20 * 2**30,
    )
    assert entry == alone
    said = " ".join(cli(*arguments, "--explain").stdout.split())
    assert "failure of node-1/disk-1: pool rebuilt 3.0 GiB in" in said
    assert "(1 run of 60 s)" in said
    assert "5 s until the rebuild begins" in said


def test_what_a_rebuild_costs_is_what_simulate_says_with_and_without_the_failure(cli):
    length = ("--replications", 1, "--duration", 3, "--set", "storage.pool.rebuild.node_bandwidth=100 GB/s")
    twin = json.loads(cli("durability", EXAMPLE, *length, "--format", "json").stdout)["twin"]
    (client,) = twin["clients"]
    failing = ("failures=[{at: 2 s, fails: [node-1/disk-1]}]", "storage.pool.rebuild.delay=0 s")
    for suffix, sets in (("", ("failures=[]",)), ("_beside", failing)):
        run = [part for each in sets for part in ("--set", each)]
        (point,) = json.loads(cli("simulate", EXAMPLE, *length, *run, "--format", "json").stdout)["points"]
        assert client[f"iops{suffix}"] == point["groups"]["app"]["iops"]
        assert client[f"response_ms_p99{suffix}"] == point["groups"]["app"]["response_ms"]["p99"]
        assert twin["space"] == point["space"]["pool"]
    assert client["response_ms_beside"] > client["response_ms"]


def test_of_a_pool_with_policies_one_is_assessed_and_the_others_are_named(cli):
    file = ROOT / "scenarios" / "vsan-sql.yaml"
    other = "vms.other={count: 2, vcpus: 2, memory: 8 GiB, storage: vsan, policy: raid-5, workload: oltp}"
    length = ("--duration", "200 ms", "--warmup", "100 ms", "--replications", 1)
    arguments = ("durability", file, "--set", other, *length)
    found = [json.loads(cli(*arguments, *of, "--format", "json").stdout) for of in ((), ("--policy", "raid-5"))]
    assert [each["schemes"][0]["scheme"] for each in found] == ["replicas-2", "ec-2+1"]
    assert [each["twin"]["policy"] for each in found] == ["(pool)", "raid-5"]
    assert sum(each["twin"]["stored_gib"] for each in found) == pytest.approx(12 * 1024)
    assert "Figures are for data without a policy (replicas-2). For raid-5 use --policy." in " ".join(
        cli(*arguments, "--explain").stdout.split()
    )
    done = cli(*arguments, "--policy", "gold", exits=2)
    assert "--policy" in done.stderr and "(pool), raid-5" in done.stderr


def test_a_lost_host_is_rebuilt_where_the_others_can_take_its_data(cli):
    length = ("--replications", 1, "--duration", 60, "--warmup", 2)
    arguments = ("durability", EXAMPLE, *length)
    twin = json.loads(cli(*arguments, "--format", "json").stdout)["twin"]
    host = twin["host"]
    assert (host["failed"], host["is_measured"], host["detection"]) == ("node-1", True, "5 s")
    assert host["rebuilt_gib"] == pytest.approx(20 * 3 / 5, rel=0.05)  # one of five hosts, 20 GiB in three copies
    assert host["rebuild_s"] > twin["rebuild_s"]
    said = " ".join(cli(*arguments, "--explain").stdout.split())
    assert "The repair time is that of one disk" in said
    assert ": 5 s until the rebuild begins, then 12.0 GiB at" in said.replace("12 GiB", "12.0 GiB")
    arguments = ("durability", EXAMPLE, *length, "--set", "hosts.node.count=3")
    assert json.loads(cli(*arguments, "--format", "json").stdout)["twin"]["host"] is None
    said = " ".join(cli(*arguments, "--explain").stdout.split())
    assert "A lost host" not in said and "If a host fails for good, it stays degraded" in said


@pytest.mark.parametrize(("kind", "waited", "absent"), [("chunk-store", 5, 5), ("ceph", 620, 620), ("vsan", 0, 3600)])
def test_a_rebuild_begins_when_its_kind_lets_it(cli, kind, waited, absent):
    sets = (f"storage.pool.kind={kind}", "storage.pool.flash=null", "storage.pool.rebuild.delay=null")
    run = [part for each in sets for part in ("--set", each)]
    length = ("--replications", 1, "--duration", 1, "--warmup", 0)
    twin = json.loads(cli("durability", EXAMPLE, *run, *length, "--format", "json").stdout)["twin"]
    assert twin["detection_s"] == waited
    assert twin["host"] is None or twin["host"]["detection_s"] == absent


def test_a_rebuild_that_the_run_does_not_finish_is_extrapolated_and_said(cli):
    def twin(*more):
        return json.loads(cli("durability", EXAMPLE, "--format", "json", *SHORT, *more).stdout)

    short, whole = twin(), twin("--duration", "60")
    assert not short["twin"]["is_measured"]
    assert short["twin"]["due_gib"] > 0
    assert short["twin"]["rebuild_s"] == pytest.approx(whole["twin"]["rebuild_s"], rel=0.35)
    basis = "the rate so far and the disk with most to rebuild"
    assert f". By {basis}, all data take" in short["repair"]["source"]
    assert f"MB/s (by {basis})" in cli("durability", EXAMPLE, *SHORT, "--explain").stdout.replace("\n", " ")
    assert twin("--detection", "15min")["repair"]["seconds"] == pytest.approx(short["repair"]["seconds"] + 895)


def test_a_slower_rebuild_loses_more(cli):
    def loss(bandwidth):
        throttle = ("--set", f"storage.pool.rebuild.node_bandwidth={bandwidth}")
        found = json.loads(cli("durability", EXAMPLE, "--format", "json", *SHORT, *throttle).stdout)
        return found["schemes"][0]["markov"]["pool_annual_loss"]

    assert loss("5 MB/s") > 10 * loss("300 MB/s")


def test_the_page_of_a_pool_names_it_and_where_its_repair_time_comes_from(cli, tmp_path):
    cli("durability", EXAMPLE, *SHORT, "--warmup", "auto", "--report", "page.html", says="wrote page.html\n")
    page = data((tmp_path / "page.html").read_text())
    assert (page["document"]["twin"]["scenario"], page["document"]["twin"]["pool"]) == ("disk-failure", "pool")
    assert "failure of node-1/disk-1: pool rebuilt" in page["document"]["repair"]["source"]


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("error: --repair 1d: … [one-of]\n  allowed: nothing beside a scenario", (EXAMPLE, "--repair", "1d")),
        ("error: --scheme 3: … [one-of]\n  allowed: nothing beside a scenario", (EXAMPLE, "--scheme", "3")),
        ("error: --groups 5: … [one-of]\n  allowed: nothing beside a scenario", (EXAMPLE, "--groups", "5")),
        ("error: --storage pool: … [one-of]\n  allowed: nothing without a scenario", ("--storage", "pool")),
        ("error: --set run.seed=1: … [one-of]", ("--set", "run.seed=1")),
        ("error: --storage pol", (EXAMPLE, "--storage", "pol")),
        ("error: --detection 5", (EXAMPLE, "--detection", "5")),
        ("error: --afr 2", (EXAMPLE, "--afr", "2")),
        ("allowed: a scenario with a pool", (ROOT / "scenarios" / "small-kvm.yaml",)),
        ("replicas-1 [no-repair]", (EXAMPLE, *SHORT, "--set", f"{POOL}.redundancy=replicas-1")),
        ("without node-1/disk-1, 100 % of the groups find no", (EXAMPLE, *SHORT, *set_all(3, per_node=1))),
        ("storage.pool.stored: node-1/disk-1 holds nothing", (EXAMPLE, *SHORT, *set_all(40, stored="1 MiB"))),
        ("run.duration: nothing was rebuilt", (EXAMPLE, "--replications", 1, "--duration", "10 ms")),
        ("nothing.yaml", ("nothing.yaml",)),
    ],
)  # fmt: skip
def test_a_pool_whose_durability_cannot_be_said_gives_one_message(cli, said, arguments):
    done = cli("durability", *arguments, exits=2)
    assert re.search(re.escape(said).replace("…", ".+"), done.stderr)
