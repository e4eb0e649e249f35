"""`nutanix://`: the same clusters as from saved answers, from a server over TLS that is older, busy, late or wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.estate import make, nutanix, nutanix_server
from tests.estate.agreement import agrees, imported
from tests.estate.nutanix_server import API_KEY, SECRET, USER, refuses, serving
from tests.estate.truth import Estate

from hypertwin.errors import HypertwinError, SourceError, UnreachableError
from hypertwin.ingest import address, http_json, sources
from hypertwin.ingest.inventory import Inventory
from hypertwin.ingest.nutanix import prism, prism_api, prism_v4


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(address.PASSWORD_VARIABLE, SECRET)


def small(**knobs: Any) -> tuple[Estate, nutanix.Answers]:
    estate = make(4, hosts=2, vms=8, fill=0.3)
    return estate, nutanix.answers(estate, **knobs)


def saved(answers: nutanix.Answers) -> Inventory:
    """The inventory of the same answers without a server."""
    store = prism.Answers()
    for path, data in answers.items():
        for page in nutanix.pages(path, data):
            prism.take(page, "x", store)
    return prism.inventory(store, "x")


def same(live: Inventory, other: Inventory) -> None:
    """All but source and gaps are equal."""
    gone: Any = {"source": "", "gaps": []}
    assert replace(live, **gone) == replace(other, **gone)


@pytest.mark.parametrize(("user", "secret"), [(USER, SECRET), ("", API_KEY)])
def test_the_same_clusters_as_from_saved_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str, secret: str
) -> None:
    monkeypatch.setenv(address.PASSWORD_VARIABLE, secret)
    _, answers = small(cvms=True)
    with serving(answers, tmp_path) as central:
        live = sources.read([central.address(user)])
    same(live, saved(answers))
    assert not live.gaps
    assert secret not in repr(live)
    who = f"{user}@" if user else ""
    assert live.source == f"nutanix://{who}127.0.0.1:{central.port}?..."
    assert all(path.split("/")[1] == "v4.2" for path in central.asked)


def test_lists_of_several_pages(tmp_path: Path) -> None:
    estate = make(3, hosts=5, vms=230)
    with serving(nutanix.answers(estate), tmp_path) as central:
        agrees(imported(central.address()), estate)
    pages = [path for path in central.asked if "/config/vms" in path]
    assert [path.rpartition("?")[2] for path in pages] == [f"$page={at}&$limit=100" for at in range(3)]
    stats = [path for path in central.asked if "/stats/vms" in path]
    assert len(stats) == -(-len(estate.on) // prism_api.STATS_LIMIT)


def test_a_list_that_does_not_count_is_read_by_its_links(tmp_path: Path) -> None:
    estate, answers = small()

    def instead(path: str) -> nutanix_server.Reply | None:
        if "ahv/config/vms" not in path:
            return None
        at = int(path.partition("$page=")[2].partition("&")[0])
        page = nutanix.envelope(path, answers["vmm/ahv/config/vms"][3 * at : 3 * at + 3])
        if at < 2:
            page["metadata"]["links"].append({"rel": "next", "href": "https://elsewhere.example.com/"})
        return 200, json.dumps(page).encode()

    with serving(answers, tmp_path, instead) as central:
        agrees(imported(central.address()), estate)


def test_vms_without_figures_on_the_first_page_hide_no_others(tmp_path: Path) -> None:
    estate = make(3, hosts=5, vms=60)
    answers = nutanix.answers(estate)
    silent = answers["vmm/ahv/stats/vms"][: prism_api.STATS_LIMIT]
    for vm in silent:
        del vm["stats"][1:]
    with serving(answers, tmp_path) as central:
        live = sources.read([central.address()])
    assert sum(vm.demand is not None for vm in live.vms) == len(estate.on) - len(silent)
    assert not any("$select=*" in path for path in central.asked if "stats/vms" in path)


@pytest.mark.parametrize("newest", [0, 1, 2, 3, 9])
def test_each_release_is_asked_in_a_version_that_it_has(tmp_path: Path, newest: int) -> None:
    estate, answers = small(cvms=True)
    with serving(answers, tmp_path, newest=newest) as central:
        live = sources.read([central.address()])
    assert {path.split("/")[1] for path in central.asked} == {f"v4.{min(newest, 3) if newest >= 2 else 0}"}
    controllers = [vm for vm in live.vms if vm.storage_appliance]
    assert len(controllers) == (len(estate.hosts) if newest >= 2 else 0)
    gap = "config/clusters/ID/cvms (v4.2 and later)"
    assert [each.what for each in live.gaps] == ([] if newest >= 2 else [gap])


@pytest.mark.parametrize("newest", [1, 2])
def test_statistics_of_all_metrics_where_there_are_no_others(tmp_path: Path, newest: int) -> None:
    estate, answers = small()
    with serving(answers, tmp_path, only_all=True, newest=newest) as central:
        agrees(imported(central.address()), estate)
    *_, last = (path for path in central.asked if "/stats/vms" in path)
    assert "$select=*" in last


def test_statistics_only_of_a_later_version(tmp_path: Path) -> None:
    estate, answers = small()
    with serving(answers, tmp_path, refuses("vmm/v4.0/ahv/stats", status=400), newest=1) as central:
        agrees(imported(central.address()), estate)
    assert any("vmm/v4.1/ahv/stats" in path for path in central.asked)


def test_a_server_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    _, answers = small()
    with serving(answers, tmp_path, busy=2) as central:
        live = sources.read([central.address()])
    same(live, saved(answers))
    assert len(central.asked) == 3 * len(set(central.asked))


def test_a_server_that_stays_busy_is_said(tmp_path: Path) -> None:
    _, answers = small()
    instead = lambda path: (429, b"") if "policies" in path else None  # noqa: E731
    with serving(answers, tmp_path, instead) as central:
        central_tries = http_json.MAX_TRIES
        http_json.MAX_TRIES = 1
        try:
            live = sources.read([central.address()])
        finally:
            http_json.MAX_TRIES = central_tries
    assert {gap.what: gap.costs for gap in live.gaps}["policies (too many requests, 3 times)"] == "placement rules"


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("config/clusters?", "clusters (not allowed: needs the role Cluster Viewer)"),
        ("storage-containers", "storage-containers (not allowed: needs the role Cluster Viewer)"),
        ("/cvms", "cvms (not allowed: needs the role Cluster Viewer)"),
        ("ahv/config/vms", "ahv/config/vms (not allowed: needs the role Virtual Machine Viewer)"),
        ("stats/vms", "stats/vms (not allowed: needs the role Virtual Machine Viewer)"),
        ("stats/clusters", "stats/hosts (not allowed: needs the role Cluster Viewer, 2 times)"),
    ],
)
def test_a_missing_right_is_said_with_its_role(tmp_path: Path, part: str, what: str) -> None:
    _, answers = small(cvms=True)
    with serving(answers, tmp_path, refuses(part)) as central:
        live = sources.read([central.address()])
    told = {gap.what: gap.costs for gap in live.gaps}
    assert what in told
    assert list(told.values()).count(told[what]) == 1, "said once"


def test_a_user_who_sees_nothing_is_told_of_the_roles(tmp_path: Path) -> None:
    with serving({}, tmp_path) as central, pytest.raises(SourceError, match="no host that is visible") as caught:
        sources.read([central.address()])
    assert "Cluster Viewer" in str(caught.value)
    _, answers = small()
    with serving({key: data for key, data in answers.items() if "vmm" not in key}, tmp_path) as central:
        live = sources.read([central.address()])
    assert "config/vms (no VM is visible: needs the role Virtual Machine Viewer)" in {gap.what for gap in live.gaps}


def test_categories_are_asked_for_policies_of_hosts(tmp_path: Path) -> None:
    estate, answers = small()
    rack = nutanix.identity("category", "rack")
    answers["vmm/ahv/config/vms"][0] = nutanix.in_categories(answers["vmm/ahv/config/vms"][0], "rack")
    answers["prism/config/categories"] = [nutanix.category("rack", [estate.hosts[0].name])]
    answers["vmm/ahv/policies/vm-host-affinity-policies"] = [
        nutanix.policy("VmHostAffinityPolicy", "licences", vmCategories=[rack], hostCategories=[rack])
    ]
    with serving(answers, tmp_path) as central:
        live = sources.read([central.address()])
    assert [(rule.kind, rule.hosts) for rule in live.rules] == [("run-on", (estate.hosts[0].name,))]
    assert "prism/v4.2/config/categories?$page=0&$limit=100&$expand=detailedAssociations" in central.asked
    with serving(answers, tmp_path, refuses("categories")) as central:
        live = sources.read([central.address()])
    assert [gap.costs for gap in live.gaps].count(prism_v4.NEEDED["categories"]) == 1


def test_vms_of_esxi_clusters(tmp_path: Path) -> None:
    estate, answers = small(hypervisor="ESX")
    with serving(answers, tmp_path) as central:
        agrees(imported(central.address()), estate)
    assert not any("/ahv/" in path for path in central.asked)


def test_late_answers_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_json, "TIMEOUT_S", 0.5)
    _, answers = small()
    with serving(answers, tmp_path, late={"stats/vms": 1.5}) as central:
        live = sources.read([central.address()])
    assert "stats/vms (no answer in time)" in {gap.what for gap in live.gaps}
    with (
        serving(answers, tmp_path, late={"config/hosts": 1.5}) as central,
        pytest.raises(UnreachableError, match=r"no answer in time .config/hosts"),
    ):
        sources.read([central.address()])


def test_statistics_of_hosts_that_stay_late_are_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_json, "TIMEOUT_S", 0.3)
    monkeypatch.setattr(http_json, "CONNECTIONS", 1)
    estate = make(3, hosts=8, vms=20, fill=0.2)
    with serving(nutanix.answers(estate), tmp_path, late={"stats/clusters": 1.0}) as central:
        live = sources.read([central.address()])
    assert "stats/hosts (no answer in time, 8 times)" in {gap.what for gap in live.gaps}
    assert sum("stats/clusters" in path for path in central.asked) == prism_api.MAX_LATE


def test_a_wrong_secret_is_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(address.PASSWORD_VARIABLE, "wrong-wrong")
    _, answers = small()
    with serving(answers, tmp_path) as central:
        for user in (USER, ""):
            with pytest.raises(UnreachableError, match="wrong user, password or API key") as caught:
                sources.read([central.address(user)])
            assert "wrong-wrong" not in str(caught.value)


def test_a_certificate_is_checked_before_the_secret_is_sent(tmp_path: Path) -> None:
    _, answers = small()
    with serving(answers, tmp_path) as central:
        assert sources.read([central.address(trust=f"fingerprint={central.fingerprint}", host="localhost")]).hosts
        central.asked.clear()
        with pytest.raises(UnreachableError, match="another certificate"):
            sources.read([central.address(trust=f"fingerprint={'0' * 64}")])
        with pytest.raises(UnreachableError, match="not trusted") as caught:
            sources.read([central.address(trust="insecure=0")])
        assert "?fingerprint=SHA256" in str(caught.value)
        assert not central.asked
        assert sources.read([central.address(trust="insecure=1")]).hosts


def test_no_text_of_a_server_has_the_secret(tmp_path: Path) -> None:
    with serving({}, tmp_path) as central:
        server = prism_api.Server(*prism_api.read_address(central.address("")))
        server.log_in()
        assert SECRET in str(server.headers)
        assert SECRET not in f"{server!r}"


WRONG = {
    "text": b"<html>login</html>",
    "list": b"[]",
    "not a number": b'{"data": NaN}',
    "deep": b'{"data":' + b"[" * 100_000,
    "other bytes": b'{"data": "\xff"}',
}


@pytest.mark.parametrize("part", ["config/hosts", "stats/clusters"])
@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_a_wrong_response_is_one_clear_error(tmp_path: Path, body: bytes, part: str) -> None:
    _, answers = small()
    instead = lambda path: (200, body) if part in path else None  # noqa: E731
    with serving(answers, tmp_path, instead) as central, pytest.raises(SourceError) as caught:
        sources.read([central.address()])
    assert "check that it is a Prism Central" in str(caught.value)
    assert "login" not in str(caught.value)


def test_a_huge_response_is_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_json, "MAX_BYTES", 50_000)
    _, answers = small()
    instead = lambda path: (200, b" " * 2**20) if "hosts" in path else None  # noqa: E731
    with serving(answers, tmp_path, instead) as central, pytest.raises(SourceError, match="at most 50000 bytes"):
        sources.read([central.address()])


def test_a_list_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prism_api, "MAX_PAGES", 5)
    _, answers = small()
    page = {"data": [{"$objectType": "vmm.v4.ahv.config.Vm"}], "metadata": {"totalAvailableResults": 10**9}}
    instead = lambda path: (200, json.dumps(page).encode()) if "ahv/config/vms" in path else None  # noqa: E731
    with serving(answers, tmp_path, instead) as central, pytest.raises(SourceError, match="at most 5 pages"):
        sources.read([central.address()])


def test_names_from_the_server_are_no_paths(tmp_path: Path) -> None:
    _, answers = small(cvms=True)
    answers["clustermgmt/config/hosts"][1]["extId"] = "../../prism/v4.0/config/users?"
    answers["clustermgmt/config/clusters"].append({"extId": "a/../b", "name": "x"})
    with serving(answers, tmp_path) as central:
        sources.read([central.address()])
    assert not any(".." in path or "users" in path for path in central.asked)


@pytest.mark.parametrize(
    "text",
    [
        "nutanix://",
        "nutanix://admin@host:x",
        "nutanix://admin@host/cluster",
        "nutanix://a%3Ab@host",
        "nutanix://admin@host?fingerprint=12",
        "nutanix://admin@host?days=3",
        "nutanix://admin@host?x",
        "nutanix://admin@host?insecure=1&insecure=0",
        "nutanix://admin:secret@host",
    ],
)
def test_bad_addresses(text: str) -> None:
    with pytest.raises(HypertwinError) as caught:
        sources.read([text])
    assert caught.value.exit_code == 2
    assert "secret" not in str(caught.value)


def test_two_addresses_are_refused() -> None:
    with pytest.raises(SourceError, match="one Prism Central"):
        sources.read(["nutanix://a@one", "nutanix://a@two"])


def test_the_generated_server_refuses_what_releases_refuse() -> None:
    span = {"$startTime": "x", "$endTime": "x", "$samplingInterval": "30", "$statType": "AVG"}
    accepted = nutanix_server._is_accepted
    assert not accepted("vmm/ahv/stats/vms", span, False)
    assert not accepted("vmm/ahv/config/vms", {"$limit": "101"}, False)
    assert not accepted("clustermgmt/stats/clusters/a/hosts/b", {**span, "$select": "stats/x"}, False)
