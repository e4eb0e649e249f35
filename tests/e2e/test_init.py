"""`hypertwin init` writes a scenario that runs as it is, and in which everything that its comments offer is valid."""

from __future__ import annotations

import re
import shlex
from itertools import product

import pytest

import hypertwin
from hypertwin import language
from hypertwin.scenario import loads, starter
from hypertwin.scenario.starter import Storage

SIZES = (1, 2, 3, 5, starter.MOST_HOSTS)
KINDS = list(product(starter.newest(), Storage))


def written(name: str, hosts: int, storage: Storage) -> str:
    return starter.text(starter.hypervisor(name), hosts, storage, "mine", "mine.yaml")


def switched_on(text: str) -> list[str]:
    """The scenario with each key that is switched off switched on, one at a time."""
    lines = text.splitlines()
    off = [at for at, line in enumerate(lines) if line.lstrip().startswith("#") and line.lstrip()[1] != " "]
    return ["\n".join([*lines[:at], lines[at].replace("#", "", 1), *lines[at + 1 :]]) for at in off]


@pytest.mark.parametrize(("name", "storage"), KINDS)
@pytest.mark.parametrize("hosts", SIZES)
def test_every_combination_is_valid_and_has_what_was_asked_for(name, hosts, storage):
    text = written(name, hosts, storage)
    inventory = loads(text).inventory
    assert len(inventory.hosts) == hosts
    assert {host.hypervisor for host in inventory.hosts} == {starter.hypervisor(name)}
    assert {(bool(vm.array), bool(vm.pool)) for vm in inventory.vms} == {(storage == "array", storage == "pool")}
    variants = switched_on(text)
    assert len(variants) >= 5
    for variant in variants:
        assert loads(variant).data != loads(text).data


def test_a_kvm_scenario_offers_the_shares_that_libvirt_and_proxmox_give():
    (variant,) = (each for each in switched_on(written("kvm", 3, Storage.none)) if "    shares: 1000 #" in each)
    assert loads(variant).data["vms"]["web"]["shares"] == 1000
    assert "shares: 1000" not in written("esxi", 3, Storage.none)


@pytest.mark.parametrize(("name", "storage"), KINDS)
@pytest.mark.parametrize("hosts", SIZES)
def test_several_hosts_have_ha_that_restarts_vms(name, hosts, storage):
    (cluster,) = hypertwin.capacity(loads(written(name, hosts, storage)))["clusters"].values()
    assert cluster["ha"]["policy"] == (None if hosts == 1 else {"esxi": "fdm", "kvm": "proxmox"}[name])


@pytest.mark.parametrize(("name", "storage"), KINDS)
@pytest.mark.parametrize("hosts", [1, 3])
def test_every_combination_runs(name, hosts, storage):
    point = hypertwin.simulate(loads(written(name, hosts, storage))).to_dict()["points"][0]
    assert point["steady"]
    db = point["groups"]["db"]
    assert 0.9 * 175 * hosts < db["throughput_per_s"] < 1.1 * 185 * hosts
    assert (db["iops"] > 0 and db["io_latency_ms"]["mean"] < 1) if storage != "none" else not db.get("io_latency_ms")


@pytest.mark.parametrize("name", starter.newest())
def test_the_largest_runs(name):
    scenario = loads(written(name, starter.MOST_HOSTS, Storage.pool), ["run.duration=1 s", "run.warmup=500 ms"])
    point = hypertwin.simulate(scenario, replications=1).to_dict()["points"][0]
    assert len(point["hosts"]) == starter.MOST_HOSTS


@pytest.mark.parametrize("name", [*filter(starter.hypervisor, language.hypervisors())])
def test_every_version_is_valid(name):
    assert loads(written(name, 2, Storage.none)).inventory.hosts[0].hypervisor == name


@pytest.mark.parametrize("name", starter.newest())
def test_what_the_comments_of_a_pool_offer_is_valid(name):
    text = written(name, 5, Storage.pool)
    for kind, redundancy in product(("mirrored-mesh", "chunk-store"), ("replicas-2", "replicas-3:2", "ec-3+2")):
        assert kind in text
        loads(text, [f"storage.pool.kind={kind}", f"storage.pool.redundancy={redundancy}"])
    assert "ec-3+2" in text
    assert "ec-3+2" not in written(name, 4, Storage.pool)


@pytest.mark.parametrize(
    ("storage", "disks"), [(Storage.array, "arrays.san.disks"), (Storage.pool, "storage.pool.devices")]
)
def test_the_model_of_drive_that_a_comment_offers_is_known(storage, disks):
    text = written("kvm", 3, storage)
    (device,) = re.findall(r"# or by model: device: (\S+) \(hypertwin devices\)", text)
    assert hypertwin.devices(device)
    loads(text, [f"{disks}.kind=null", f"{disks}.device={device}"])


def test_the_commands_in_its_comments_run(cli, tmp_path):
    done = cli("init", "my cluster.yaml", "--hypervisor", "kvm", "--hosts", "1", "--storage", "pool", exits=0)
    assert done.stdout == ""
    assert done.stderr == "wrote my cluster.yaml; hypertwin simulate 'my cluster.yaml' simulates it\n"
    lines = (tmp_path / "my cluster.yaml").read_text().splitlines()
    assert "name: my-cluster" in lines
    commands = [line.removeprefix("#   hypertwin ") for line in lines if line.startswith("#   hypertwin ")]
    assert len(commands) == 3
    for command in commands:
        done = cli(*shlex.split(command), exits=0)
    assert (tmp_path / "report.html").is_file()


def test_it_is_printed(cli, tmp_path):
    done = cli("init", "-", "--hosts", "1", says="")
    assert done.stdout == starter.text(starter.hypervisor("esxi"), 1, Storage.none, "cluster", "cluster.yaml")
    assert not list(tmp_path.iterdir())


def test_what_exists_is_replaced_only_when_asked(cli, tmp_path):
    file = tmp_path / "scenario.yaml"
    file.write_text("mine")
    refused = cli("init")
    assert (refused.returncode, refused.stderr) == (2, "error: scenario.yaml exists; --force replaces it\n")
    assert file.read_text() == "mine"
    cli("init", "--force", exits=0)
    assert file.read_text() == written("esxi", 3, Storage.none).replace("mine", "scenario")


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a.b.yaml", "a.b"),
        ("1e3.yaml", "1e3"),
        ("true.yaml", "true"),
        ("--.yaml", "cluster"),
        ("Ünï cödé.yaml", "n-c-d-"),
        ("a\nb: c.yaml", "a-b-c"),
        (f"{'a' * 90}.yaml", "a" * 64),
    ],
)
def test_any_file_name_gives_a_valid_name(cli, tmp_path, file, name):
    cli("init", "--", file, exits=0)
    assert hypertwin.load(tmp_path / file).name == name


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("--hypervisor", "esxi-7"), "did you mean esxi-7.0?"),
        (("--hypervisor", "none"), "'none' is not one of esxi, kvm, esxi-4.0, "),
        (("--hypervisor", "proxmox"), "Linux with KVM, whatever manages it, is kvm"),
        (("--hosts", "0"), "'--hosts'"),
        (("--hosts", "101"), "'--hosts'"),
        (("--storage", "vsan"), "'vsan' is not one of none, array, pool"),
        (("missing/x.yaml",), "cannot write missing/x.yaml: the folder "),
        (("/",), "cannot write /: it is a directory"),
    ],
)
def test_what_cannot_be_given_is_refused(cli, tmp_path, line, said):
    done = cli("init", *line, exits=2)
    assert said in done.stderr
    assert not list(tmp_path.iterdir())
