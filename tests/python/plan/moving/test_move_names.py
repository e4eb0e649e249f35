"""Names of VMs on each target, and VMs that get the same name."""

import pytest
from tests.python.plan.moving.vms import vm

from hypertwin.plan.moving import names
from hypertwin.plan.moving.context import Context


@pytest.mark.parametrize(
    ("name", "new"),
    [
        *(("db", "db"), ("DB-1.example", "DB-1.example"), ("DB 1", "DB-1"), ("a\tb", "a-b"), ("a  b", "a--b")),
        *(("db_1", "db1"), ("web (old)", "web-old"), (" db ", "db"), ("-.db.-", "db"), ("a.-b", "a.-b"), ("ü", "")),
        *(("база 1", "1"), ("...", ""), ("a" * 80, "a" * 80), ("", "")),
    ],
)
def test_the_name_on_proxmox(name: str, new: str) -> None:
    assert names.on("proxmox", name) == new


@pytest.mark.parametrize(
    ("name", "new"),
    [
        *(("db", "db"), ("DB-1", "db-1"), ("DB 1", "db-1"), ("a_b+c*d/e\\f", "a-b-c-d-e-f"), ("a--b", "a-b")),
        *(
            ("web (old)", "web-old"),
            (".a.b.", "a.b"),
            ("a..b", "a.b"),
            ("-a-.-b-", "a.b"),
            ("ü", ""),
            ("a" * 64, "a" * 63),
        ),
        *(("a" * 62 + ".b", "a" * 62), ("a" * 62 + "-b", "a" * 62), ("", "")),
    ],
)
def test_the_name_on_openshift(name: str, new: str) -> None:
    assert names.on("openshift", name) == new


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        *(("db", True), ("DB-1.a", True), ("a" * 63, True), ("a" * 64, False), ("db_1", False), ("db 1", False)),
        *(("-db", False), ("db-", False), ("db\n", False), ("ü", False), ("", True)),
    ],
)
def test_a_name_that_forklift_accepts(name: str, valid: bool) -> None:
    assert names.is_valid_for_openshift(name) is valid


@pytest.mark.parametrize("target", ["kvm", "hyperv", "ahv"])
def test_other_targets_keep_the_name(target: names.Target) -> None:
    assert names.on(target, "DB 1 (ü)") == "DB 1 (ü)"


def test_vms_that_get_the_same_name() -> None:
    called = {"a": "web 1", "b": "web-1", "c": "WEB_-1", "d": "web1", "e": "ü", "f": "ä"}
    vms = {name: vm(name, label=label) for name, label in called.items()}
    on = Context("proxmox", called=called)
    assert {name: on.same_name(each) for name, each in vms.items()} == {
        **{"a": ["web-1", "WEB_-1"], "b": ["web 1", "WEB_-1"], "c": ["web 1", "web-1"], "d": [], "e": [], "f": []}
    }
    same = Context("kvm", called=called)
    assert all(same.same_name(each) == [] for each in vms.values())
