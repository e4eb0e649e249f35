"""Numbers of licences: worked figures of public sources, edges, and laws of any estate."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.python.cost.estates import RED_HAT, WINDOWS, cluster, estate, hosts, vms

from hypertwin.cost import prices, rules
from hypertwin.cost.estate import Estate, Vm
from hypertwin.cost.functions import FUNCTIONS, PARAMETERS, UNITS

ORACLE = ("oracle-database",)
SQL = ("sql-server",)
NO_VM_PRESETS = [rule.id for rule in rules.presets() if rule.concerns == rules.Concerns()]


def licences(preset: str, of: Estate, **values: Any) -> float | None:
    """Licences by a preset, with `failures`, `vms`, `clusters` or parameters."""
    given = {name: values.pop(name) for name in ("failures", "vms", "clusters") if name in values}
    count = rules.needed(rules.find(preset), of, values, **given).count
    return None if count is None else count.quantity


def test_broadcom_counts_80_cores_of_two_small_and_two_large_cpus() -> None:
    """Article 313548: host A of 2 x 8 cores and host B of 2 x 24 are 32 + 48 = 80 cores."""
    of = estate(hosts(1, 2, 8, "a"), hosts(1, 2, 24, "b"))
    assert licences("vmware-cloud-foundation", of) == 80
    assert licences("vmware-vsphere-foundation", of) == 80
    assert licences("nutanix-cloud-infrastructure", of) == licences("azure-local", of) == 64


def test_redress_counts_3200_cores_of_100_small_hosts_and_of_50_large_ones() -> None:
    """redresscompliance.com: 100 hosts of 2 x 12 cores, and 50 of 2 x 32, need 3,200 core licences each."""
    assert licences("vmware-cloud-foundation", estate(hosts(100, 2, 12))) == 3200
    assert licences("vmware-cloud-foundation", estate(hosts(50, 2, 32))) == 3200


@pytest.mark.parametrize(("cores", "overage"), [(8, 1.0), (10, 0.6), (12, 1 / 3), (16, 0), (17, 0)])
def test_the_minimum_per_cpu_is_paid_for_cores_that_do_not_exist(cores: int, overage: float) -> None:
    """redresscompliance.com: 100% more at 8 cores per CPU, 60% at 10, 33% at 12."""
    licensed = licences("vmware-vsphere-standard", estate(hosts(1, 1, cores)))
    assert licensed is not None and licensed / cores - 1 == pytest.approx(overage)


@pytest.mark.parametrize(
    ("count", "cpus", "cores", "tib", "needed"),
    [(3, 1, 8, 3.84, 0), (3, 1, 16, 16, 0), (3, 1, 16, 16.1, 1), (3, 2, 8, 40, 24), (3, 2, 8, 40.01, 25)],
)
def test_vcf_includes_one_tib_for_each_licensed_core(
    count: int, cpus: int, cores: int, tib: float, needed: int
) -> None:
    """Article 313548: 3 hosts of one CPU with 8 cores and 3.84 TiB have 48 TiB, 36 more than the 12 they need."""
    assert licences("vmware-vsan-with-vcf", estate(hosts(count, cpus, cores, raw_tib=tib))) == needed


def test_included_capacity_is_pooled_or_counted_for_the_whole_cluster() -> None:
    full, empty = cluster(hosts(2, 2, 16, raw_tib=50)), cluster(hosts(2, 2, 16), name="other")
    assert licences("vmware-vsan-with-vcf", Estate((full,))) == 36
    assert licences("vmware-vsan-with-vcf", Estate((full, empty))) == 0
    # article 326663: above 100 GiB per core the whole cluster, 64 cores of which allow 6.25 TiB
    trial = "vmware-vsan-with-vvf-trial"
    assert licences(trial, Estate((full, empty))) == 100
    assert licences(trial, estate(hosts(2, 2, 16, raw_tib=3.125))) == 0
    assert licences(trial, estate(hosts(2, 2, 16, raw_tib=3.126))) == 7
    assert licences("vmware-vsan-with-vvf", estate(hosts(2, 2, 16, raw_tib=10))) == 4


def test_a_minimum_order_counts_only_for_an_order() -> None:
    assert licences("vmware-cloud-foundation", estate(hosts(1, 2, 16)), minimum_order=72) == 72
    assert licences("vmware-cloud-foundation", estate(hosts(3, 2, 16)), minimum_order=72) == 96
    assert licences("vmware-cloud-foundation", estate(hosts(0)), minimum_order=72) == 0


@pytest.mark.parametrize(
    ("cpus", "cores", "count", "needed"),
    [
        (2, 6, 2, 16),  # software-reuse.eu: 2 x 6 cores and 2 VMs need 16 core licences
        (1, 64, 2, 64),  # dell.com, article 000205142: 64 cores are four packs of 16
        (2, 12, 2, 24),  # itcgeorgia: 2 x 12 cores are 12 packs of 2
        (1, 8, 1, 16),
        (4, 4, 1, 32),
        (1, 17, 1, 18),
        (2, 12, 3, 48),
        (2, 12, 4, 48),
        (2, 12, 5, 72),
    ],
)
def test_windows_standard_licenses_all_cores_for_each_two_vms(cpus: int, cores: int, count: int, needed: int) -> None:
    of = estate(hosts(1, cpus, cores), has=vms(count))
    assert licences("windows-server-standard", of) == needed
    first = estate(hosts(1, cpus, cores), has=vms(1))
    assert licences("windows-server-datacenter", of) == licences("windows-server-standard", first)


def test_packs_are_whole_for_each_host() -> None:
    of = estate(hosts(2, 2, 12), has=vms(2))
    assert licences("windows-server-datacenter", of) == 48
    assert licences("windows-server-datacenter", of, pack=16) == 64


@pytest.mark.parametrize(
    ("failures", "where", "stacks"),
    [(0, "even", 2), (1, "even", 3), (2, "even", 5), (3, "even", 5), (9, "even", 5), (0, "all", 5)],
)
def test_windows_standard_covers_the_vms_of_failed_hosts(failures: int, where: str, stacks: int) -> None:
    """10 VMs on 3 hosts: 4 per host now, 5 after a failure, all 10 on the last."""
    of = estate(hosts(3, 2, 16), has=vms(10))
    assert licences("windows-server-standard", of, failures=failures, vms_on_each_host=where) == stacks * 3 * 32
    assert licences("windows-server-datacenter", of, failures=failures) == 96


@pytest.mark.parametrize(
    ("vcpus", "windows", "sql"), [(1, 16, 4), (4, 16, 4), (5, 16, 6), (8, 16, 8), (9, 16, 10), (17, 18, 18)]
)
def test_licences_by_vm_have_a_minimum_per_vm_and_per_customer(vcpus: int, windows: int, sql: int) -> None:
    of = estate(hosts(3), has=vms(1, vcpus=vcpus, products=SQL))
    assert licences("windows-server-per-vm", of) == windows
    assert licences("sql-server-per-vm", of) == sql
    two = estate(hosts(3), has=vms(3, vcpus=2, products=SQL))
    assert licences("windows-server-per-vm", two) == 24
    assert licences("sql-server-per-vm", two) == 12


def test_sql_server_by_host_licenses_every_core_where_one_can_run() -> None:
    of = estate(hosts(3, 2, 16), has=(*vms(1, products=SQL), *vms(50, name="web")))
    assert licences("sql-server-enterprise-per-host", of) == 96
    assert licences("sql-server-enterprise-per-host", estate(hosts(3, 2, 1), has=of.clusters[0].vms)) == 24


def test_oracle_counts_every_host_where_it_can_run() -> None:
    one = cluster(hosts(3, 2, 16), hosts(1, 1, 7, "odd"), has=vms(1, products=ORACLE))
    other = cluster(hosts(2, 2, 16), has=vms(5, name="web"), name="other")
    assert licences("oracle-database-enterprise", Estate((one,))) == 52  # 103 cores x 0.5, rounded up
    assert licences("oracle-database-enterprise", Estate((one, other))) == 52
    assert licences("oracle-database-enterprise", Estate((one, other)), scope="estate") == 84
    assert licences("oracle-database-enterprise", Estate((other,)), vms=["x-*"]) == 0
    assert licences("oracle-database-enterprise", Estate((one,)), core_factor=1) == 103
    second = estate(hosts(3, 2, 16), has=vms(1, products=("oracle-database-se2",)))
    assert licences("oracle-database-standard-2", second) == 6


@pytest.mark.parametrize(("cpus", "cores", "needed"), [(2, 96, 2), (2, 64, 1), (1, 64, 1), (4, 16, 2), (3, 8, 2)])
def test_openshift_covers_two_sockets_and_128_cores(cpus: int, cores: int, needed: int) -> None:
    """redhat.com, subscription guide: 2 x 96 cores are 192 cores and need 2 subscriptions; 2 x 64 and 1 x 64 one."""
    assert licences("openshift-virtualization-engine", estate(hosts(1, cpus, cores))) == needed
    assert licences("openshift-virtualization-engine", estate(hosts(5, cpus, cores))) == 5 * needed


def test_proxmox_counts_sockets_of_every_host() -> None:
    """List of 2018: 3 hosts of 2 sockets at 398 EUR are 2,388 EUR a year."""
    needed = licences("proxmox-ve", estate(hosts(3, 2, 64)))
    assert needed == 6 and needed * 398 == 2388


def test_red_hat_counts_socket_pairs_or_pairs_of_vms() -> None:
    of = estate(hosts(3, 2), hosts(1, 1, name="small"), has=(*vms(5, RED_HAT), *vms(4, WINDOWS, name="win")))
    assert licences("red-hat-virtual-datacenters", of) == 4
    assert licences("red-hat-enterprise-linux", of) == 3


def test_clusters_without_such_vms_need_no_licence() -> None:
    has, without = cluster(hosts(2), has=vms(1)), cluster(hosts(5), has=vms(9, RED_HAT), name="linux")
    of = Estate((has, without))
    assert licences("windows-server-datacenter", of) == 64
    assert licences("windows-server-datacenter", of, clusters=["linux"]) == 0
    assert licences("proxmox-ve", of, clusters=["LIN*"]) == 10
    assert licences("proxmox-ve", of, clusters=["none"]) == 0


@pytest.mark.parametrize(
    ("guest_os", "windows", "red_hat"),
    [
        (WINDOWS, True, False),
        ("windows2019srv_64Guest", True, False),
        ("windows9Server64Guest", True, False),
        ("winNetEnterpriseGuest", True, False),
        ("w2k8", True, False),
        ("Microsoft Windows 10 (64-bit)", False, False),
        ("windows9_64Guest", False, False),
        ("win11", None, False),
        ("l26", False, None),
        ("Other 3.x or later Linux (64-bit)", False, None),
        ("Other (64-bit)", None, None),
        (RED_HAT, False, True),
        ("rhel8_64Guest", False, True),
        ("Ubuntu Linux (64-bit)", False, False),
        (None, None, None),
        (" ", None, None),
    ],
)
def test_guests_are_recognised_or_counted_as_unknown(
    guest_os: str | None, windows: bool | None, red_hat: bool | None
) -> None:
    of = estate(hosts(1), has=vms(1, guest_os))
    for preset, expected in (("windows-server-datacenter", windows), ("red-hat-virtual-datacenters", red_hat)):
        found = rules.needed(rules.find(preset), of)
        assert (found.concerned, found.unknown) == (expected is True, expected is None)
        assert (found.count is None) == (expected is None)


def test_unknown_guests_beside_known_ones_are_counted_and_not_licensed() -> None:
    of = estate(hosts(1, 2, 16), has=(*vms(2), *vms(3, None, name="dark"), *vms(4, RED_HAT, name="red")))
    found = rules.needed(rules.find("windows-server-standard"), of)
    assert found.count is not None and found.count.quantity == 32
    assert (found.concerned, found.unknown) == (2, 3)
    named = rules.needed(rules.find("windows-server-standard"), of, vms=["dark-*", "VM-1"])
    assert named.count is not None and named.count.quantity == 64
    assert (named.concerned, named.unknown) == (4, 0)
    label = Vm("vm-1", "Accounting", 4, None)
    assert licences("windows-server-datacenter", estate(hosts(1), has=(label,)), vms=["account*"]) == 32


def test_products_that_no_vm_names_are_unknown_and_not_zero() -> None:
    of = estate(hosts(1), has=vms(3))
    assert rules.needed(rules.find("sql-server-per-vm"), of) == rules.Needed(None, 0, 3)
    known = estate(hosts(1), has=(*vms(3), *vms(1, products=("SQL-Server",), name="db")))
    found = rules.needed(rules.find("sql-server-per-vm"), known)
    assert (found.concerned, found.unknown) == (1, 0)
    assert licences("sql-server-per-vm", of, vms=["vm-2"]) == 4
    assert licences("sql-server-per-vm", of, vms=["absent"]) == 0


@pytest.mark.parametrize(("unit", "expected"), [("vm", 3), ("host", 4), ("socket", 8), ("core", 128), ("tib", 10.0)])
def test_lines_without_a_preset_count_a_unit(unit: str, expected: float) -> None:
    of = estate(hosts(4, raw_tib=2.5), has=vms(3))
    found = rules.needed(rules.free("Backup", unit), of)
    assert found.count is not None and found.count.quantity == expected


@pytest.mark.parametrize("preset", [rule.id for rule in rules.presets()])
def test_nothing_needs_nothing(preset: str) -> None:
    by_vm = rules.find(preset).function == "per-vm"
    for of in (Estate(()), estate(), estate(hosts(0)), estate(hosts(0), has=() if by_vm else vms(3))):
        assert not licences(preset, of, failures=2, vms=[] if preset in NO_VM_PRESETS else ["*"])


def test_a_host_without_cores_still_has_minimums() -> None:
    of = estate(hosts(1, 2, 0), has=vms(1))
    assert licences("vmware-cloud-foundation", of) == 32
    assert licences("windows-server-datacenter", of) == 16
    assert licences("azure-local", of) == 0


def test_800_vms_on_34_hosts() -> None:
    of = estate(hosts(34, 2, 32), has=vms(800))
    assert licences("windows-server-standard", of, failures=1) == 34 * 64 * 13  # 25 VMs per host
    assert licences("windows-server-datacenter", of, failures=1) == 34 * 64
    assert licences("windows-server-per-vm", of) == 800 * 8


def test_presets_are_complete() -> None:
    assert len(rules.presets()) == len(set(rules.names())) >= 20
    for rule in rules.presets():
        assert rule.function in FUNCTIONS and rule.unit in UNITS
        assert rule.period in ("once", "year", "month")
        assert rule.sources and re.fullmatch(r"20\d\d-[01]\d", rule.date)
        assert all(PARAMETERS[name].accepts(value) for name, value in rule.parameters.items())
        assert rule.text.startswith(rule.rule) and rule.date in rule.source
    assert "Not checked: " in rules.find("nutanix-cloud-infrastructure").text
    assert "Contested: " in rules.find("oracle-database-enterprise").text


def test_the_reference_page_is_current() -> None:
    page = Path(__file__).parents[3] / "docs" / "licences.md"
    assert page.read_text(encoding="utf-8") == rules.to_markdown()


def test_the_example_of_the_page_is_a_file_of_prices() -> None:
    example = rules.to_markdown().split("```yaml\n")[1].split("```")[0]
    found = prices.loads(example, "prices.yaml")
    assert len(found.licences) == 4
    assert all(option.price for licence in found.licences for option in licence.options)


MEMBERS = st.builds(
    hosts,
    st.integers(0, 40),
    st.integers(0, 4),
    st.integers(0, 128),
    raw_tib=st.floats(0, 400, allow_nan=False),
)
GUESTS = st.lists(
    st.builds(
        Vm,
        st.sampled_from(["db", "web"]),
        st.just(""),
        st.integers(0, 128),
        st.sampled_from([WINDOWS, RED_HAT, "Ubuntu Linux", None]),
        st.sampled_from([(), SQL, ORACLE, ("oracle-database-se2",)]),
    ),
    max_size=12,
)
ESTATES = st.builds(lambda of, has: estate(*of, has=tuple(has)), st.lists(MEMBERS, min_size=1, max_size=3), GUESTS)


def changed(of: Estate, **changes: Any) -> Estate:
    """The estate with changes of its first hosts."""
    first, *others = of.clusters[0].hosts
    return estate(dataclasses.replace(first, **changes), *others, has=of.clusters[0].vms)


@pytest.mark.parametrize("preset", [rule.id for rule in rules.presets() if rule.function != "storage"])
@given(of=ESTATES, failures=st.integers(0, 3), more=st.integers(1, 100))
def test_more_cores_never_need_fewer_licences(preset: str, of: Estate, failures: int, more: int) -> None:
    before = licences(preset, of, failures=failures)
    after = licences(preset, changed(of, cores=of.clusters[0].hosts[0].cores + more), failures=failures)
    assert (before is None) == (after is None)
    assert before is None or after is None or before <= after


@pytest.mark.parametrize(
    "preset",
    # capacity grows with hosts, and so does what their cores include; Standard's stacks shrink
    [rule.id for rule in rules.presets() if rule.function != "storage" and rule.id != "windows-server-standard"],
)
@given(of=ESTATES, more=st.integers(1, 5))
def test_more_hosts_never_need_fewer_licences(preset: str, of: Estate, more: int) -> None:
    before = licences(preset, of)
    after = licences(preset, changed(of, count=of.clusters[0].hosts[0].count + more))
    assert before is None or after is None or before <= after


@given(of=ESTATES)
def test_the_minimum_per_cpu_holds_for_every_estate(of: Estate) -> None:
    total = licences("vmware-cloud-foundation", of)
    of_hosts = [(each.count, max(each.cores, 16 * each.processors)) for each in of.clusters[0].hosts]
    assert total == sum(count * cores for count, cores in of_hosts)


def test_every_function_and_parameter_is_used() -> None:
    assert {rule.function for rule in rules.presets()} | {"per-unit"} == set(FUNCTIONS)
    used: set[str] = set().union(*(rule.parameters for rule in rules.presets()))
    assert used == set(PARAMETERS)


def test_counts_show_their_calculation() -> None:
    of = estate(hosts(3, 2, 12), hosts(1, 1, 64, "big"), has=vms(5))
    found = rules.needed(rules.find("windows-server-standard"), of, failures=1).count
    assert found is not None
    assert found.steps == "3 x r760: 24 cores, 1 x big: 64 cores; x 1 for 2 VMs on each host"
    many = estate(*(hosts(1, name=f"h{number}") for number in range(9)))
    short = rules.needed(rules.find("proxmox-ve"), many).count
    assert short is not None and short.steps.endswith("and 3 more")
