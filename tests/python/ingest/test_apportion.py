"""How usage that was measured of hosts is divided among VMs, by hand and by what must hold of any cluster."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypertwin.ingest.apportion import Share, Taker, apportion


def _values(takers: list[Taker], used: dict[str, float]) -> list[float]:
    return [share.value for share in apportion(takers, used) if share is not None]


def test_a_vm_that_was_measured_keeps_its_figure() -> None:
    takers = [Taker(4, 900.0, "a"), Taker(4, None, "a"), Taker(2, None, "a")]
    assert apportion(takers, {"a": 1500.0}) == [Share(900.0, "own"), Share(400.0, "host"), Share(200.0, "host")]


def test_each_host_divides_its_own_usage() -> None:
    takers = [Taker(2, None, "a"), Taker(2, None, "b"), Taker(6, None, "b")]
    assert _values(takers, {"a": 100.0, "b": 4000.0}) == [100.0, 1000.0, 3000.0]


def test_measured_vms_may_have_used_more_than_their_host() -> None:
    assert _values([Taker(2, 500.0, "a"), Taker(2, None, "a")], {"a": 400.0}) == [500.0, 0.0]


def test_vms_whose_host_is_not_known_take_what_the_cluster_used() -> None:
    takers = [Taker(1, None, None), Taker(3, None, None)]
    assert _values(takers, {"a": 100.0, "b": 300.0}) == [100.0, 300.0]


def test_known_and_unknown_hosts_together_take_what_was_used() -> None:
    # 800 are left over 8 vCPUs, 100 for each: 200 for the VM without a host, so that a and b keep three quarters
    takers = [Taker(2, None, "a"), Taker(4, None, "b"), Taker(2, None, None)]
    assert _values(takers, {"a": 200.0, "b": 600.0}) == [150.0, 450.0, 200.0]


def test_usage_that_no_known_vm_explains_is_of_those_without_a_host() -> None:
    takers = [Taker(4, None, "a"), Taker(1, None, None)]
    assert _values(takers, {"a": 400.0, "b": 600.0}) == [400.0, 600.0]


def test_a_vm_on_a_host_that_was_not_measured_is_like_the_others() -> None:
    takers = [Taker(2, 100.0, "a"), Taker(2, None, "b"), Taker(4, None, "c")]
    assert apportion(takers, {"b": 300.0}) == [Share(100.0, "own"), Share(300.0, "host"), Share(400.0, "cluster")]


def test_nothing_measured_is_nothing_known() -> None:
    assert apportion([Taker(2, None, "a"), Taker(2, None, None)], {}) == [None, None]


def test_no_vm_takes_more_than_it_can() -> None:
    assert _values([Taker(2, None, "a", most=50.0)], {"a": 400.0}) == [50.0]


HOSTS = ("a", "b", "c")


@given(
    st.lists(
        st.builds(
            Taker,
            weight=st.integers(1, 64).map(float),
            own=st.none() | st.floats(0, 1e6),
            host=st.none() | st.sampled_from(HOSTS),
        ),
        max_size=12,
    ),
    st.dictionaries(st.sampled_from(HOSTS), st.floats(0, 1e6)),
)
def test_what_hosts_used_is_given_out_once(takers: list[Taker], used: dict[str, float]) -> None:
    shares = apportion(takers, used)
    measured = sum(each.own for each in takers if each.own is not None)
    given_out = sum(
        share.value
        for each, share in zip(takers, shares, strict=True)
        if each.own is None and share is not None and (each.host is None or each.host in used)
    )
    assert all(share is None or share.value >= 0 for share in shares)
    if used:
        assert given_out <= sum(used.values()) * (1 + 1e-9)
    if used and any(each.own is None and each.host is None for each in takers) and not measured:
        assert given_out == pytest.approx(sum(used.values()))
