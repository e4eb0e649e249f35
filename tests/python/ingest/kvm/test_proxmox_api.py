"""`proxmox://`: the same cluster as from a dump, from a server over TLS that is late, wrong, huge or another one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.estate import in_full, proxmox_server
from tests.estate.proxmox import answers
from tests.estate.proxmox_server import SECRET, TOKEN, USER, refuses, serving
from tests.python.ingest.kvm.test_proxmox import dump

from hypertwin.errors import HypertwinError, SourceError, UnreachableError
from hypertwin.ingest import address, http_json, sources
from hypertwin.ingest.inventory import Inventory
from hypertwin.ingest.kvm import proxmox, proxmox_api, proxmox_series


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(address.PASSWORD_VARIABLE, SECRET)


def month(step_s: int = 1800) -> list[dict[str, Any]]:
    """A month of a guest with 4 CPUs, of which one and a half are in use."""
    return [
        {"time": 1_790_000_000 + step_s * each, "cpu": 0.375, "maxcpu": 4, "mem": 1e9, "netin": each, "maxmem": 4e9}
        for each in range(1_440)
    ]


def of_dump(found: Mapping[str, Any]) -> Inventory:
    bare = {path.strip("/"): answer for path, answer in found.items()}
    return proxmox.inventory(bare, "x")


def same(live: Inventory, dumped: Inventory) -> None:
    """All but source and gaps are equal."""
    gone: Any = {"source": "", "gaps": []}
    assert replace(live, **gone) == replace(dumped, **gone)


@pytest.mark.parametrize("user", [TOKEN, USER])
def test_the_same_cluster_as_from_a_dump(tmp_path: Path, user: str) -> None:
    found = dump()
    with serving(found, tmp_path) as node:
        live = sources.read([node.address(user)])
    asked = {path.partition("?")[0] for path in node.asked}
    assert not any("pve3" in path for path in asked)  # which is offline
    known = {path: answer for path, answer in found.items() if path.strip("/") in asked}
    same(live, of_dump(known))
    assert any("pve3 is offline" in gap.what for gap in live.gaps)
    assert SECRET not in repr(live)
    assert live.source == f"proxmox://{user}@127.0.0.1:{node.port}?..."


def test_a_month_is_asked_of_guests_that_run_only(tmp_path: Path) -> None:
    estate = in_full(3)
    found = answers(estate)
    on = {f"/nodes/{vm.host}/qemu/{number}" for number, vm in enumerate(estate.vms, 100) if vm.on}
    nodes = {f"/nodes/{host.name}" for host in estate.hosts}
    found |= {f"{path}/{name}": month() for path in on | nodes for name in ("rrddata", "rrddata-max")}
    with serving(found, tmp_path) as node:
        live = sources.read([node.address()])
    asked = {path for path in node.asked if "rrddata" in path}
    assert asked == {
        f"{path.strip('/')}/rrddata?timeframe=month&cf={of}" for path in on | nodes for of in ("AVERAGE", "MAX")
    }
    assert all(host.cpu_p95_pct is not None and host.over_s for host in live.hosts)
    same(live, of_dump(found))
    assert all(vm.demand is not None and vm.demand.over_s for vm in live.vms if vm.powered_on)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {3: {"cpu": None}, 5: {"maxcpu": None}},
        {0: {"time": None}},
        {7: {"cpu": "0.25", "maxcpu": "8"}},
        {2: {"cpu": 1e-9}, 4: {"cpu": -1}, 6: {"time": 1.5}},
        {1: {"name": '{"time":1,"cpu":1,"maxcpu":9}'}},
    ],
)
@pytest.mark.parametrize("indent", [None, 3])
def test_a_text_is_searched_as_it_would_be_parsed(change: dict[int, dict[str, Any]], indent: int | None) -> None:
    rows: list[dict[str, Any]] = month()[:20]
    for number, fields in change.items():
        rows[number] = {key: value for key, value in (rows[number] | fields).items() if value is not None}
    for answer in (rows, {"data": rows}):
        text = json.dumps(answer, indent=indent).encode()
        assert proxmox_series.of_text(text, "x") == proxmox_series.series(rows)


def test_an_auditor_without_a_right_gets_what_he_sees_and_is_told_of_the_right(tmp_path: Path) -> None:
    with serving(
        dump(), tmp_path, refuses("nodes/pve1/status", "nodes/pve2/status", "cluster/ha", "cluster/status")
    ) as node:
        live = sources.read([node.address()])
    told = {gap.what: gap.costs for gap in live.gaps}
    assert told["nodes/NODE/status (not allowed: needs Sys.Audit, 2 times)"] == "processors, clock and memory of nodes"
    assert "cluster/ha/resources (not allowed: needs Sys.Audit)" in told
    assert told["cluster/status (not allowed: needs Sys.Audit)"] == "name of the cluster"
    assert {host.name for host in live.hosts} == {"pve1", "pve2"}  # of what /cluster/resources says


def test_a_token_without_rights_is_told_how_to_get_them(tmp_path: Path) -> None:
    nodes = [each for each in dump()["/cluster/resources"] if each["type"] == "node"]
    found = {"cluster/resources": nodes, "access/permissions": {}}
    with serving(found, tmp_path) as node, pytest.raises(SourceError) as caught:
        sources.read([node.address()])
    assert "rights Sys.Audit and VM.Audit on /" in str(caught.value)
    assert "pveum acl modify / --roles PVEAuditor --tokens" in str(caught.value)


def test_a_cluster_without_guests_is_no_lack_of_rights(tmp_path: Path) -> None:
    found = dump()
    found["/cluster/resources"] = [each for each in found["/cluster/resources"] if each["type"] == "node"]
    found["/access/permissions"] = {"/": {"Sys.Audit": 1}, "/vms": {"VM.Audit": 1}}
    with serving(found, tmp_path) as node:
        assert not sources.read([node.address()]).vms


@pytest.mark.parametrize("rights", [[1], {"/": [1]}, "x", None])
def test_rights_in_another_form_are_none(tmp_path: Path, rights: object) -> None:
    found = {"cluster/resources": [], "access/permissions": rights}
    with serving(found, tmp_path) as node, pytest.raises(SourceError, match=r"the rights Sys[.]Audit and VM[.]Audit"):
        sources.read([node.address()])


def test_an_error_at_one_node_ends_the_reading_of_all(tmp_path: Path) -> None:
    instead = lambda path: (401, b"") if path.endswith("/config") else None  # noqa: E731
    with serving(answers(in_full(3)), tmp_path, instead) as node, pytest.raises(UnreachableError, match="wrong user"):
        sources.read([node.address()])
    assert len(node.asked) < 100  # of over 2,000


def test_an_interrupt_ends_all_threads() -> None:
    server = proxmox_api.Server(*proxmox_api.read_address(f"proxmox://{TOKEN}@host"))
    with pytest.raises(KeyboardInterrupt), server.in_parallel(lambda _: server.stopped.wait(3), range(9)):
        raise KeyboardInterrupt
    assert server.stopped.is_set()


@pytest.mark.parametrize("status", [595, 596, 599])
def test_a_node_that_does_not_answer_is_left_and_the_others_read(tmp_path: Path, status: int) -> None:
    with serving(dump(), tmp_path, refuses("nodes/pve1/", status=status)) as node:
        live = sources.read([node.address()])
    assert sum("nodes/pve1" in path for path in node.asked) == 1
    assert any("pve1: the node does not answer" in gap.what for gap in live.gaps)
    assert "web" in {vm.name for vm in live.vms}


def test_a_node_that_answers_late_costs_one_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_json, "TIMEOUT_S", 0.3)
    with serving(dump(), tmp_path, late={"nodes/pve1/status": 1.0}) as node:
        live = sources.read([node.address()])
    assert sum("nodes/pve1" in path for path in node.asked) == 1
    assert any("pve1: no answer in time" in gap.what for gap in live.gaps)


def test_a_guest_that_was_deleted_meanwhile_is_imported_as_listed(tmp_path: Path) -> None:
    with serving(dump(), tmp_path, refuses("nodes/pve1/qemu/100/", status=500)) as node:
        live = sources.read([node.address()])
    assert {vm.name: vm.vcpus for vm in live.vms}["db"] == 12
    assert any(gap.what == "nodes/NODE/qemu/VMID/config (status 500)" for gap in live.gaps)


def test_exactly_one_certificate_is_trusted_by_its_fingerprint(tmp_path: Path) -> None:
    with serving(dump(), tmp_path) as node:
        colons = ":".join(node.fingerprint[at : at + 2] for at in range(0, 64, 2)).upper()
        for text in (node.fingerprint, colons):
            assert sources.read([node.address(trust=f"fingerprint={text}", host="localhost")]).hosts
        node.asked.clear()
        with pytest.raises(UnreachableError, match="another certificate") as caught:
            sources.read([node.address(trust=f"fingerprint={'0' * 64}")])
        assert colons in str(caught.value)
        with pytest.raises(UnreachableError, match="not trusted") as caught:
            sources.read([node.address(trust="insecure=0")])
        assert "pvenode cert info" in str(caught.value)
        assert not node.asked  # no secret before the certificate is right
        assert sources.read([node.address(trust="insecure=1")]).hosts


def test_a_wrong_secret_is_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(address.PASSWORD_VARIABLE, "wrong-wrong")
    with serving(dump(), tmp_path) as node:
        for user in (TOKEN, USER):
            with pytest.raises(UnreachableError, match="wrong user, token or secret") as caught:
                sources.read([node.address(user)])
            assert "wrong-wrong" not in str(caught.value)


@pytest.mark.parametrize("user", [TOKEN, USER])
def test_a_server_that_does_not_answer_at_first_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str
) -> None:
    monkeypatch.setattr(http_json, "TIMEOUT_S", 0.2)
    late = {"cluster/resources": 1.0, "access/ticket": 1.0}
    with serving(dump(), tmp_path, late=late) as node, pytest.raises(UnreachableError, match="no answer in time"):
        sources.read([node.address(user)])


def test_no_text_of_a_server_has_the_secret(tmp_path: Path) -> None:
    with serving(dump(), tmp_path) as node:
        server = proxmox_api.Server(*proxmox_api.read_address(node.address()))
        server.log_in()
        assert SECRET in str(server.headers)
        assert SECRET not in f"{server!r}"


def test_a_second_factor_needs_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxmox_server, "TICKET", "PVE:!tfa!%7B;x")
    with serving(dump(), tmp_path) as node, pytest.raises(SourceError, match="second factor"):
        sources.read([node.address(USER)])


WRONG = {
    "text": b"<html>login</html>",
    "list": b"[]",
    "no data": b'{"errors": {}}',
    "not a number": b'{"data": NaN}',
    "deep": b'{"data":' + b"[" * 100_000,
    "other bytes": b'{"data": "\xff"}',
}


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_a_wrong_response_is_one_clear_error(tmp_path: Path, body: bytes) -> None:
    instead = lambda path: (200, body) if "status" in path else None  # noqa: E731
    with serving(dump(), tmp_path, instead) as node, pytest.raises(SourceError) as caught:
        sources.read([node.address()])
    assert "check that it is a Proxmox VE node" in str(caught.value)


def test_a_huge_response_is_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_json, "MAX_BYTES", 10_000)
    instead = lambda path: (200, b" " * 2**20) if "status" in path else None  # noqa: E731
    with serving(dump(), tmp_path, instead) as node, pytest.raises(SourceError, match="at most 10000 bytes"):
        sources.read([node.address()])


def test_names_from_the_server_are_no_paths(tmp_path: Path) -> None:
    found = dump()
    found["/cluster/resources"] += [{"type": "node", "node": "../../access/ticket?", "maxcpu": 4, "maxmem": 2**34}]
    found["/cluster/resources"] += [{"type": "qemu", "node": "pve1", "vmid": "1/../2", "status": "running"}]
    with serving(found, tmp_path) as node:
        sources.read([node.address()])
    assert not any(".." in path for path in node.asked)


@pytest.mark.parametrize(
    "text",
    [
        "proxmox://host",
        "proxmox://root@host",
        "proxmox://root@pam!@host:x",
        "proxmox://root@pam!a b@host",
        "proxmox://root@pam!twin@host/pve1",
        "proxmox://root@pam!twin@host?fingerprint=12",
        "proxmox://root@pam!twin@host?hours=3",
        "proxmox://root@pam!twin@host?x",
        f"proxmox://root@pam!twin@host?{'&'.join(['insecure=1'] * 20)}",
        "proxmox://root@pam!twin@host?insecure=1&insecure=0",
        "proxmox://root@pam:secret@host",
    ],
)
def test_bad_addresses(text: str) -> None:
    with pytest.raises(HypertwinError) as caught:
        sources.read([text])
    assert caught.value.exit_code == 2
    assert "secret" not in str(caught.value)


def test_a_dump_of_the_same_answers_is_read_alike(tmp_path: Path) -> None:
    found = answers(in_full(5))
    (tmp_path / "dump.json").write_text(json.dumps(found))
    with serving(found, tmp_path) as node:
        live = sources.read([node.address()])
    same(live, sources.read([str(tmp_path / "dump.json")]))
