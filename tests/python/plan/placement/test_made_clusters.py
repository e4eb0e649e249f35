"""The clusters that planners are measured with: what they have, and that they are the same every time."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
import yaml
from bench import clusters

from hypertwin import scenario
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.placement.problem import NOWHERE, problem
from hypertwin.plan.placement.restart import Restarts


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize(("memory", "cpu"), clusters.FILLS)
@pytest.mark.parametrize(("hosts", "vms"), [(8, 200), *clusters.SIZES])
def test_a_cluster_has_what_it_promises(hosts: int, vms: int, memory: float, cpu: float, mixed: bool) -> None:
    for seed in clusters.SEEDS if hosts < 128 else (1,):
        found = clusters.made(hosts, vms, seed, mixed=mixed, memory=memory, cpu=cpu).problem()
        assert (len(found.hosts), len(found.vms)) == (hosts, vms)
        part = found.sizes.sum(axis=0) / found.rooms.sum(axis=0)
        assert part == pytest.approx([cpu, memory], rel=0.02)
        assert 0.15 < found.sizes[:, 1].max() / found.rooms[:, 1].min() < 0.41
        assert (found.fullness(found.at) > 1).any()
        kinds = {rule.kind for rule in found.rules}
        assert kinds == {"keep-apart", "keep-together", "run-on", "not-on"}
        assert any(text.startswith("rule keep-apart") for text in found.broken(found.at))
        assert any(text.startswith("rule keep-together") for text in found.broken(found.at))
        assert found.allowed.any(axis=1).all()
        assert (not found.fits.all()) == mixed


@pytest.mark.parametrize("mixed", [False, True])
def test_the_problem_is_that_of_the_scenario(mixed: bool) -> None:
    cluster = clusters.made(16, 400, 2, mixed=mixed)
    loaded = scenario.loads(yaml.safe_dump(cluster.scenario()))
    whole, direct = problem(loaded, loaded.inventory.clusters[0], Limits()), cluster.problem()
    assert [host.name for host in whole.hosts] == [host.name for host in direct.hosts]
    assert [vm.name for vm in whole.vms] == [vm.name for vm in direct.vms]
    assert whole.resources == direct.resources
    for key in ("sizes", "capacity", "rooms", "failover", "fits", "at", "restarts", "allowed"):
        assert np.array_equal(getattr(whole, key), getattr(direct, key)), key
    assert whole.rules == direct.rules


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("memory", [0.7, 0.9, 0.95])
@pytest.mark.parametrize(("hosts", "vms"), clusters.SIZES[:3])
def test_new_vms_come_beside_others_that_tolerate_any_failure(hosts: int, vms: int, memory: float, mixed: bool) -> None:
    cluster = clusters.made(hosts, vms, 1, mixed=mixed, memory=memory, cpu=memory - 0.04)
    safe = []
    for spare in (2, 3, 4):
        found = clusters.beside(cluster, 1, spare)
        assert found == clusters.beside(cluster, 1, spare)
        assert (found.vms, found.rules) == (cluster.vms, cluster.rules)
        whole = found.problem()
        new = np.flatnonzero(whole.at == NOWHERE).tolist()
        assert len(new) == round(vms / 50)
        assert not {vm for rule in found.rules for vm in rule.vms} & set(new)
        old = whole.without_vms(new)
        bare = replace(old, rules=()).broken(old.at)
        assert old.broken(old.at) == bare  # every rule holds
        unsafe = Restarts(old).first_unsafe(old.at, [(host,) for host in range(hosts)], exact=False)
        safe.append(not bare and unsafe is None)
    assert any(safe) or (hosts, memory) == (16, 0.95)  # 15 hosts have not enough


def test_a_seed_is_the_same_cluster_for_ever() -> None:
    text = yaml.safe_dump(clusters.made(34, 805, 1).scenario())
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "9018c913718fa5c8"
    assert clusters.made(34, 805, 1) != clusters.made(34, 805, 2)
