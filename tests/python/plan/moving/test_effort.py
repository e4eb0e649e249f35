"""Effort classes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.python.plan.moving.vms import GIB, SAS, disks, vm

from hypertwin.members import MeasuredVm, SourceDisk, SourceVm
from hypertwin.plan.moving.context import Context
from hypertwin.plan.moving.effort import effort, os_score, work
from hypertwin.plan.moving.rules import Finding, Severity, findings

TIB = 1024 * GIB
RHEL, SQL = "Red Hat Enterprise Linux 9 (64-bit)", ("sql-server",)


def finding(severity: Severity, *, known: bool = True) -> Finding:
    return Finding("db", "rule", severity, known, "", "", "", "", "")


@pytest.mark.parametrize(
    ("os", "score"),
    [
        *((RHEL, 1), ("Red Hat Enterprise Linux 10 (64-bit)", 1), ("Red Hat Enterprise Linux 5 (64-bit)", 2)),
        *(
            ("CentOS 7 (64-bit)", 1),
            ("CentOS 4 (32-bit)", 2),
            ("Oracle Linux 8 (64-bit)", 1),
            ("Rocky Linux 9 (64-bit)", 1),
        ),
        *(
            ("AlmaLinux 9 (64-bit)", 3),
            ("SUSE Linux Enterprise 15 (64-bit)", 2),
            ("SUSE Linux Enterprise 11 (64-bit)", 3),
        ),
        *(("Microsoft Windows Server 2022 (64-bit)", 2), ("Microsoft Windows Server 2012 (64-bit)", 3)),
        *(("Microsoft Windows 10 (64-bit)", 2), ("Microsoft Windows 7 (64-bit)", 3), ("Ubuntu Linux (64-bit)", 3)),
        *(("Debian GNU/Linux 12 (64-bit)", 3), ("FreeBSD 12 (64-bit)", 3), ("Plan 9", None), (None, None)),
    ],
)
def test_the_score_of_one_operating_system(os: str | None, score: int | None) -> None:
    assert os_score(vm(guest_os=os)) == score


SCORES = {
    1: (
        *(f"Red Hat Enterprise Linux {version}" for version in range(6, 11)),
        *(f"{name} {version}" for name in ("CentOS", "Oracle Linux") for version in range(6, 10)),
        *("Rocky Linux 8", "Rocky Linux 9", "Red Hat Fedora"),
    ),
    2: (
        *(f"{name} {version}" for name in ("Red Hat Enterprise Linux", "CentOS", "Oracle Linux") for version in (4, 5)),
        *(f"Microsoft Windows Server {year}" for year in (2016, 2019, 2022, 2025)),
        *("Microsoft Windows 10", "Microsoft Windows 11", "SUSE Linux Enterprise 12", "SUSE Linux Enterprise 15"),
    ),
    3: (
        *(f"Microsoft Windows Server {year}" for year in (2000, 2003, 2008, "2008 R2", 2012, "2012 R2")),
        *(f"Microsoft Windows {name}" for name in ("XP Professional", "Vista", "7", "8.x")),
        *(f"SUSE Linux Enterprise {version}" for version in range(8, 12)),
        *(f"Debian GNU/Linux {version}" for version in range(5, 13)),
        *("AlmaLinux 8", "AlmaLinux 9", "SUSE openSUSE", "Ubuntu Linux", "Oracle Solaris 10", "Oracle Solaris 11"),
        *("FreeBSD", "VMware Photon OS", "Amazon Linux 2", "CoreOS Linux", "Apple macOS"),
    ),
    4: ("Microsoft SQL Server",),
}


def test_the_scores_of_all_operating_systems() -> None:
    found = {name: os_score(vm(guest_os=f"{name} (64-bit)")) for names in SCORES.values() for name in names}
    assert found == {name: score for score, names in SCORES.items() for name in names}


@pytest.mark.parametrize(
    ("changes", "found", "expected"),
    [
        ({"guest_os": RHEL}, (), "easy"),
        ({"guest_os": "Microsoft Windows Server 2022"}, (), "medium"),
        ({"guest_os": "Ubuntu Linux (64-bit)"}, (), "medium"),
        ({"guest_os": RHEL, "products": SQL}, (), "database"),
        ({}, (), None),
        ({}, (finding("changes"),), "medium"),
        ({}, (finding("blocks"),), "hard"),
        ({}, (finding("blocks", known=False), finding("note")), None),
        ({"guest_os": RHEL}, (finding("note"),), "easy"),
        ({"guest_os": RHEL}, (finding("changes"),), "medium"),
        ({"guest_os": RHEL}, (finding("changes"), finding("blocks")), "hard"),
        ({"products": SQL}, (finding("blocks"),), "database"),
    ],
)
def test_the_class(changes: dict[str, Any], found: tuple[Finding, ...], expected: str | None) -> None:
    assert effort(vm(**changes), found) == expected


@pytest.mark.parametrize(
    ("tib", "expected"), [(10, "easy"), (10.1, "easy"), (20, "easy"), (20.1, "hard"), (50, "hard"), (50.1, "hard")]
)
def test_large_disks(tib: float, expected: str) -> None:
    of = SourceVm(disks=(SourceDisk(capacity_bytes=int(tib * TIB)),))
    assert effort(vm(guest_os=RHEL, source=of), ()) == expected
    measured = MeasuredVm(storage_provisioned_bytes=int(tib * TIB))
    assert effort(vm(guest_os=RHEL, measured=measured), ()) == expected


def test_findings_of_the_rules_raise_the_class() -> None:
    one = vm(guest_os=RHEL, source=SourceVm(disks=disks(SAS, raw="physical"), passthrough_devices=1))
    assert effort(one, findings(one, Context("kvm"))) == "hard"


def test_checks_take_the_published_time_whatever_the_class() -> None:
    """60 minutes a VM: 100 VMs are 12.5 days of 8 hours, and two working days of ten engineers."""
    found = work(["hard"] * 60 + ["not known"] * 40)
    assert [(each["effort"], each["vms"], each["check_days"]) for each in found["classes"]] == [
        ("hard", 60, 7.5),
        ("not known", 40, 5.0),
    ]
    assert found["working_days"] == 2
    assert work(["easy"] * 80)["working_days"] == 1
    assert work(["easy"] * 81)["working_days"] == 2
    assert work([])["working_days"] == 0
