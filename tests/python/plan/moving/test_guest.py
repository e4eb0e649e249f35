"""Guest operating systems: every identifier that the importer of Proxmox VE knows, and names of RVTools."""

import pytest
from tests.python.plan.moving.vms import vm

from hypertwin.members import SourceVm
from hypertwin.plan.moving import guest

WINDOWS = {
    **dict.fromkeys(("dos", "win31", "win95", "win98"), "other"),
    **dict.fromkeys(("longhorn", "winLonghorn", "winLonghorn-64", "windows7Server-64"), "w2k8"),
    **dict.fromkeys(("winNetBusiness", "winNetEnterprise", "winNetEnterprise-64", "winNetDatacenter"), "w2k3"),
    **dict.fromkeys(("winNetDatacenter-64", "winNetStandard", "winNetStandard-64", "winNetWeb"), "w2k3"),
    **dict.fromkeys(("windows9", "windows9-64", "windows9srv", "windows9srv-64", "windows9Server-64"), "win10"),
    "windows2019srv-64": "win10",
    **dict.fromkeys(("windows11-64", "windows12-64", "windows2019srvNext-64", "windows2022srvNext-64"), "win11"),
    **dict.fromkeys(("win2000AdvServ", "win2000Pro", "win2000Serv"), "w2k"),
    **dict.fromkeys(("windows7", "windows7-64"), "win7"),
    **dict.fromkeys(("windows8", "windows8-64", "windows8Server-64"), "win8"),
    **dict.fromkeys(("winNT", "winXPPro", "winXPPro-64"), "wxp"),
    **dict.fromkeys(("winVista", "winVista-64"), "wvista"),
}
OTHER = {
    **dict.fromkeys(("freeBSD", "freeBSD-64", "os2", "netware5", "netware6", "other", "other-64"), "other"),
    **{f"freeBSD{version}{bits}": "other" for version in (11, 12, 13, 14) for bits in ("", "-64")},
    **dict.fromkeys(("openserver5", "openserver6", "unixware7", "eComStation", "eComStation2"), "other"),
    **{f"vmkernel{version}": "other" for version in ("", "5", "6", "65", "7", "8")},
    **dict.fromkeys(("solaris8", "solaris9", "solaris10", "solaris10-64", "solaris11-64"), "solaris"),
    **dict.fromkeys(("darwin19-64", "darwin"), "other"),
}
LINUX = (
    *("rhel9-64", "ubuntu-64", "debian12-64", "sles15-64", "otherLinux-64", "other5xLinux-64", "nobody-knows", ""),
    *("freeBSD15-64", "windows7srv-64", "WINDOWS9", "windows9_64"),  # by case and spelling, and so Linux
)


def test_the_lists_are_complete() -> None:
    types = ("other", "wxp", "w2k", "w2k3", "w2k8", "wvista", "win7", "win8", "win10", "win11", "l24", "l26", "solaris")
    assert set(types) == guest.TYPES
    assert {**WINDOWS, **{key: value for key, value in OTHER.items() if not key.startswith("darwin")}} == guest.IDS


@pytest.mark.parametrize(
    ("identifier", "ostype", "family"),
    [
        *((key, value, "windows") for key, value in WINDOWS.items()),
        *((key, value, "other") for key, value in OTHER.items()),
        *((key, "l26", "linux") for key in LINUX),
    ],
)
def test_an_identifier_of_a_configuration_file(identifier: str, ostype: str, family: str) -> None:
    found = guest.by_id(identifier)
    assert (found.ostype, found.family) == (ostype, family)


@pytest.mark.parametrize(
    ("identifier", "ostype"),
    [
        *(("windows9Server64Guest", "win10"), ("windows2019srv_64Guest", "win10"), ("windows9_64Guest", "win10")),
        *(
            ("windows2019srvNext_64Guest", "win11"),
            ("windows2022srvNext_64Guest", "win11"),
            ("windows11_64Guest", "win11"),
        ),
        *(("windows8Server64Guest", "win8"), ("windows7Server64Guest", "w2k8"), ("winLonghorn64Guest", "w2k8")),
        *(("winNetStandard64Guest", "w2k3"), ("winXPPro64Guest", "wxp"), ("win2000ServGuest", "w2k")),
        *(("freebsd12_64Guest", "other"), ("freebsdGuest", "other"), ("solaris11_64Guest", "solaris")),
        *(("otherGuest", "other"), ("otherGuest64", "other"), ("otherLinux64Guest", "l26"), ("rhel9_64Guest", "l26")),
        *(("darwin21_64Guest", "other"), ("vmkernel7Guest", "other"), ("centos64Guest", "l26"), ("dosGuest", "other")),
    ],
)
def test_an_identifier_of_the_api(identifier: str, ostype: str) -> None:
    assert guest.by_id(identifier).ostype == ostype


@pytest.mark.parametrize(
    ("name", "ostype"),
    [
        *(("Microsoft Windows Server 2025 (64-bit)", "win11"), ("Microsoft Windows Server 2022 (64-bit)", "win11")),
        *(("Microsoft Windows Server 2019 (64-bit)", "win10"), ("Microsoft Windows Server 2016 (64-bit)", "win10")),
        ("Microsoft Windows Server 2016 or later (64-bit)", "win10"),
        *(("Microsoft Windows Server 2012 (64-bit)", "win8"), ("Microsoft Windows Server 2012 R2 (64-bit)", "win8")),
        *(("Microsoft Windows Server 2008 R2 (64-bit)", "w2k8"), ("Microsoft Windows Server 2008 (32-bit)", "w2k8")),
        ("Microsoft Windows Server 2003 Standard (32-bit)", "w2k3"),
        *(("Microsoft Windows 2000 Server", "w2k"), ("Microsoft Windows 11 (64-bit)", "win11")),
        *(("Microsoft Windows 10 (64-bit)", "win10"), ("Microsoft Windows 8.x (64-bit)", "win8")),
        *(("Microsoft Windows 7 (64-bit)", "win7"), ("Microsoft Windows Vista (32-bit)", "wvista")),
        *(("Microsoft Windows XP Professional (32-bit)", "wxp"), ("Microsoft Windows NT", "wxp")),
        *(("Microsoft Windows 98", "other"), ("Microsoft MS-DOS", "other"), ("Oracle Solaris 11 (64-bit)", "solaris")),
        *(
            ("FreeBSD 12 (64-bit)", "other"),
            ("FreeBSD Pre-11 versions (64-bit)", "other"),
            ("FreeBSD 15 (64-bit)", "l26"),
        ),
        *(
            ("Apple macOS 12 (64-bit)", "other"),
            ("Apple Mac OS X 10.6 (64-bit)", "other"),
            ("VMware ESXi 7.x", "other"),
        ),
        *(("Other (64-bit)", "other"), ("Other (32-bit)", "other"), ("Other", "other")),
        *(("Other 5.x or later Linux (64-bit)", "l26"), ("Other Linux (64-bit)", "l26")),
        *(
            ("Red Hat Enterprise Linux 9 (64-bit)", "l26"),
            ("CentOS 7 (64-bit)", "l26"),
            ("Ubuntu Linux (64-bit)", "l26"),
        ),
        *(("Oracle Linux 8 (64-bit)", "l26"), ("SUSE Linux Enterprise 15 (64-bit)", "l26"), ("Plan 9", "l26")),
        *(("VMware Photon OS (64-bit)", "l26"), ("Novell NetWare 6.x", "other"), ("SCO UnixWare 7.x", "other")),
        *(("MICROSOFT WINDOWS SERVER 2019", "win10"), ("Microsoft Windows Server 2099", "win11"), ("win10", "win10")),
        *(("w2k8", "w2k8"), ("solaris", "solaris"), ("l24", "l24"), ("other", "other")),
    ],
)
def test_a_name(name: str, ostype: str) -> None:
    assert guest.by_name(name).ostype == ostype


def test_the_identifier_counts_before_the_name() -> None:
    both = vm(guest_os="Microsoft Windows 10 (64-bit)", source=SourceVm(guest_id="rhel9_64Guest"))
    assert guest.guest(both) == guest.by_id("rhel9_64Guest")
    named = vm(guest_os="Microsoft Windows 10 (64-bit)", source=SourceVm(guest_id="Microsoft Windows 7 (64-bit)"))
    assert guest.guest(named) == guest.by_name("Microsoft Windows 7 (64-bit)")
    assert guest.by_name("win10").family == "windows"
    assert guest.guest(vm()) is guest.guest(vm(guest_os="  ")) is None


@pytest.mark.parametrize(
    ("name", "known"), [("Ubuntu Linux (64-bit)", True), ("Plan 9", False), ("Other (64-bit)", True)]
)
def test_a_recognised_guest(name: str, known: bool) -> None:
    assert guest.is_recognised(guest.by_name(name)) is known
