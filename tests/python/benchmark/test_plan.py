"""Plans of campaigns: steps, order, inventories, and each kind of error with its path."""

from __future__ import annotations

from pathlib import Path

import pytest

from hypertwin.benchmark import esxi
from hypertwin.benchmark import plan as plans
from hypertwin.benchmark.plan import Plan
from hypertwin.benchmark.step import Step
from hypertwin.benchmark.target import Target
from hypertwin.errors import ScenarioError

GOOD = """
name: good
scenario: scenario.yaml
group: db
targets: {a: root@10.0.0.1, b: {address: b, port: 2222}}
load: {kind: sysbench, options: {tables: 4}}
steps: {vms: [1, 2], threads: [1, 4]}
"""


def read(text: str, folder: Path = Path()) -> Plan:
    """Return the plan in a text."""
    return plans.loads(text, "plan.yaml", folder)


def test_a_grid_of_steps_is_the_product_and_a_list_is_as_written():
    assert [step.name for step in read(GOOD).steps] == [
        "vms-1-threads-1",
        "vms-1-threads-4",
        "vms-2-threads-1",
        "vms-2-threads-4",
    ]
    listed = read(GOOD.replace("{vms: [1, 2], threads: [1, 4]}", "[{vms: 2, rate: 30}, {threads: 1}]"))
    assert listed.steps == (Step(2, {"rate": 30}), Step(1, {"threads": 1}))


def test_repeats_have_different_orders_of_the_same_steps():
    plan = read(GOOD)
    orders = [[step.name for step in plan.order(repeat)] for repeat in range(4)]
    assert orders[0] == [step.name for step in plan.steps]
    assert orders[1] == orders[0][::-1]
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    assert orders == [[step.name for step in plan.order(repeat)] for repeat in range(4)]
    assert [read(GOOD + more).seed for more in ("", "seed: 0", "seed: 3")] == [1, 0, 3]
    assert orders[2] != [step.name for step in read(GOOD + "seed: 3").order(2)] or orders[3] != orders[2]


@pytest.mark.parametrize(
    ("old", "new", "path", "code"),
    [
        ("name: good", "", "name", "missing-key"),
        ("name: good", "name: a b", "name", "bad-name"),
        ("group: db", "group: 7", "group", "wrong-type"),
        ("group: db", "grup: db", "grup", "unknown-key"),
        ("root@10.0.0.1", "-oProxyCommand=reboot", "targets.a.address", "bad-address"),
        ("root@10.0.0.1", "'a b'", "targets.a.address", "bad-address"),
        ("port: 2222", "port: 99999", "targets.b.port", "out-of-range"),
        ("port: 2222", "folder: ../x", "targets.b.folder", "wrong-type"),
        ("port: 2222", "folder: /a/../etc", "targets.b.folder", "wrong-type"),
        ("port: 2222", "cgroup: ../../x", "targets.b.cgroup", "wrong-type"),
        ("port: 2222", "host: esx", "targets.b.host", "unknown-reference"),
        ("group: db", "group: db\nhosts: {b: esx1}", "hosts.b", "duplicate-name"),
        ("port: 2222", "options: {mysql-password: x}", "targets.b.options.mysql-password", "password-in-plan"),
        ("port: 2222", "options: {threads: 8}", "targets.b.options.threads", "unknown-key"),
        ("options: {tables: 4}", "options: {threads: 8}", "load.options.threads", "unknown-key"),
        ("vms: [1, 2]", "vms: []", "steps", "wrong-type"),
        ("{vms: [1, 2], threads: [1, 4]}", "[]", "steps", "wrong-type"),
        ("kind: sysbench", "kind: iometer", "load.kind", "unknown-value"),
        ("kind: sysbench,", "", "load.kind", "missing-key"),
        ("options: {tables: 4}", "script: '../x;y'", "load.script", "bad-name"),
        ("options: {tables: 4}", "script: oltp_red_only", "load.script", "unknown-value"),
        ("options: {tables: 4}", "script: fileio", "load.script", "unknown-value"),
        ("options: {tables: 4}", "driver: oracle", "load.driver", "unknown-value"),
        ("options: {tables: 4}", "options: {mysql-password: x}", "load.options.mysql-password", "password-in-plan"),
        ("options: {tables: 4}", "options: {'a b': x}", "load.options.a b", "bad-name"),
        ("options: {tables: 4}", "options: {tables: [1]}", "load.options.tables", "wrong-type"),
        ("threads: [1, 4]", "threads: [1, 1.5]", "steps.threads", "wrong-type"),
        ("threads: [1, 4]", "threads: [0]", "steps.threads", "out-of-range"),
        ("threads: [1, 4]", "threads: [1, 1]", "steps", "duplicate-name"),
        ("threads: [1, 4]", "depth: [1]", "steps.depth", "unknown-key"),
        ("vms: [1, 2]", "vms: [3]", "steps.vms", "out-of-range"),
        ("steps: {vms: [1, 2], threads: [1, 4]}", "", "steps", "missing-key"),
        ("group: db", "group: db\nrepeats: 0", "repeats", "out-of-range"),
        ("group: db", "group: db\nduration: soon", "duration", "bad-quantity"),
        ("group: db", "group: db\nduration: 3 d", "duration", "out-of-range"),
        ("group: db", "group: db\nlimits: {threads: 7}", "steps", "out-of-range"),
        ("group: db", "group: db\nlimits: {time: 1 s}", "steps", "out-of-range"),
        ("group: db", "group: db\nguards: {heat: 7}", "guards.heat", "unknown-key"),
        ("group: db", "group: db\nexclude: [B]", "targets.b", "excluded-target"),
        ("group: db", "group: db\nexclude: ['10.0.*']", "targets.a", "excluded-target"),
        ("group: db", "group: db\ncalibrate: {step: {threads: 9}, free: [x]}", "calibrate.step", "unknown-reference"),
        ("group: db", "group: db\ncalibrate: {step: {threads: 1}}", "calibrate.free", "missing-key"),
    ],
)
def test_each_error_has_its_path_and_line(old: str, new: str, path: str, code: str):
    assert old in GOOD
    with pytest.raises(ScenarioError) as caught:
        read(GOOD.replace(old, new))
    found = [(each.path, each.code) for each in caught.value.mistakes]
    assert (path, code) in found
    assert all(each.line for each in caught.value.mistakes)
    assert all(each.hint and each.allowed for each in caught.value.mistakes)


def test_a_step_with_too_many_vms_is_one_error():
    with pytest.raises(ScenarioError) as caught:
        read(GOOD.replace("vms: [1, 2]", "vms: [1, 3]"))
    assert [each.path for each in caught.value.mistakes] == ["steps.vms"]


@pytest.mark.parametrize(
    ("load", "path", "code"),
    [
        ("{kind: fio, options: {filename: /dev/sda}}", "load.options.filename", "unknown-key"),
        ("{kind: fio, options: {exec_prerun: reboot}}", "load.options.exec_prerun", "unknown-key"),
        ("{kind: fio, device: sda}", "load.device", "wrong-type"),
        ("{kind: fio, size: 1 byte}", "load.size", "bad-quantity"),
        ("{kind: fio, size: 1 KiB}", "load.size", "out-of-range"),
        ("{kind: pgbench, script: mine}", "load.script", "unknown-value"),
        ("{kind: pgbench, scale: 0}", "load.scale", "out-of-range"),
        ("{kind: command}", "load.run", "missing-key"),
        ("{kind: command, run: x}", "load.patterns", "missing-key"),
        ("{kind: command, run: 'x {rate}', patterns: {iops: '(1)'}}", "load.run.rate", "missing-key"),
        ("{kind: command, run: x, patterns: {tps: '(1)'}}", "load.patterns.tps", "unknown-key"),
        ("{kind: command, run: x, patterns: {iops: '(1'}}", "load.patterns.iops", "bad-pattern"),
        ("{kind: command, run: x, patterns: {iops: '1'}}", "load.patterns.iops", "bad-pattern"),
    ],
)
def test_each_error_of_a_load_has_its_path(load: str, path: str, code: str):
    text = GOOD.replace("{kind: sysbench, options: {tables: 4}}", load).replace("threads: [1, 4]", "")
    with pytest.raises(ScenarioError) as caught:
        read(text.replace("{vms: [1, 2], }", "{vms: [1, 2]}"))
    assert (path, code) in [(each.path, each.code) for each in caught.value.mistakes]


@pytest.mark.parametrize("text", ["", "[]", "7", "name", "name: x\n" * 3])
def test_a_file_that_is_no_plan_is_one_clear_error(text: str):
    with pytest.raises(ScenarioError) as caught:
        read(text)
    assert caught.value.mistakes


INI = """
[db]
db[1:3] ansible_user=root
other ansible_host=10.0.0.9 ansible_port=2200
[web]
web1 ansible_connection=local
[all_of:children]
db
[db:vars]
ansible_ssh_user=admin
"""
YAML = """
all:
  children:
    db:
      hosts:
        db1: {ansible_host: 10.0.0.1, ansible_user: root}
        db2:
      vars: {ansible_port: 2222}
"""


def test_an_inventory_gives_targets_of_a_group(tmp_path: Path):
    (tmp_path / "hosts.ini").write_text(INI)
    (tmp_path / "hosts.yaml").write_text(YAML)
    base = GOOD.replace("targets: {a: root@10.0.0.1, b: {address: b, port: 2222}}", "inventory: INVENTORY")
    ini = read(base.replace("INVENTORY", "{file: hosts.ini, group: all_of}"), tmp_path)
    assert [(each.name, each.address, each.port) for each in ini.targets] == [
        ("db1", "root@db1", None),
        ("db2", "root@db2", None),
        ("db3", "root@db3", None),
        ("other", "admin@10.0.0.9", 2200),
    ]
    every = read(base.replace("INVENTORY", "hosts.ini"), tmp_path)
    assert every.targets[-1].address == "local"
    told = read(base.replace("INVENTORY", "{file: hosts.yaml, group: db}"), tmp_path)
    assert [(each.name, each.address, each.port) for each in told.targets] == [
        ("db1", "root@10.0.0.1", 2222),
        ("db2", "db2", 2222),
    ]
    with pytest.raises(ScenarioError, match="nothing-like-it"):
        read(base.replace("INVENTORY", "{file: hosts.ini, group: nothing-like-it}"), tmp_path)


def test_variables_of_an_inventory_go_from_all_inwards_and_a_host_has_the_last_word(tmp_path: Path):
    (tmp_path / "hosts.ini").write_text(
        "[db]\none\ntwo ansible_user=own\n[site:children]\ndb\n[a_site:children]\nsite\n"
        "[db:vars]\nansible_user=inner\n[site:vars]\nansible_user=outer\nansible_port=22\n"
        "[all:vars]\nansible_user=all\nansible_port=1\n[other]\nthree\n"
    )
    base = GOOD.replace("targets: {a: root@10.0.0.1, b: {address: b, port: 2222}}", "inventory: hosts.ini")
    assert [(each.address, each.port) for each in read(base, tmp_path).targets] == [
        ("inner@one", 22),
        ("own@two", 22),
        ("all@three", 1),
    ]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("h.yaml", "all: {hosts: [a, b]}", "all.hosts"),
        ("h.yaml", "all: {children: x}", "all.children"),
        ("h.yaml", "all: {hosts: {'a[1:9999][1:9999]': {}}}", "more hosts"),
        ("h.ini", "a[1:9999][1:9999]", "more hosts"),
        ("h.ini", "[a:children]\nb\n[b:children]\na\n[a:vars]\nx=1", "no host"),
    ],
)
def test_an_inventory_that_is_wrong_or_endless_is_one_error(tmp_path: Path, name: str, text: str, words: str):
    (tmp_path / name).write_text(text)
    base = GOOD.replace("targets: {a: root@10.0.0.1, b: {address: b, port: 2222}}", f"inventory: {name}")
    with pytest.raises(ScenarioError, match=words):
        read(base, tmp_path)


def test_space_and_time_are_limits(tmp_path: Path):
    plan = read(GOOD + "limits: {space: 1 GiB, time: 2 h}")
    assert plan.limits == {"space": 2**30, "time": 7200}
    assert plan.longest_s == 4 * 3 * (5 + 30 + 2)


HOSTS = "hosts: {esx: {kind: esxi, address: root@esx1}, kvm: {kind: linux, address: kvm1}, other: kvm2}\n"


def test_esxi_hosts_are_apart_from_those_with_counters_of_linux():
    text = GOOD.replace("a: root@10.0.0.1", "a: {address: root@10.0.0.1, host: esx, vm: VM A}")
    found = read(text + HOSTS)
    assert [each.name for each in found.hosts] == ["kvm", "other"]
    assert [(each.name, each.address, each.command) for each in found.esxi] == [("esx", "root@esx1", None)]
    assert (found.targets[0].host, found.targets[0].vm) == ("esx", "VM A")
    assert found.target("esx") is found.esxi[0]


@pytest.mark.parametrize(
    ("host", "path", "code"),
    [
        ("{kind: hyperv, address: x}", "hosts.h.kind", "unknown-value"),
        ("{kind: [esxi], address: x}", "hosts.h.kind", "unknown-value"),
        ("{kind: esxi, address: x, folder: /tmp}", "hosts.h.folder", "unknown-key"),
        ("{kind: esxi, address: x, collect: [date]}", "hosts.h.collect", "unknown-key"),
        ("{address: x, command: esxtop}", "hosts.h.command", "unknown-key"),
        ("{kind: esxi}", "hosts.h.address", "missing-key"),
    ],
)
def test_each_error_of_a_host_has_its_path(host: str, path: str, code: str):
    with pytest.raises(ScenarioError) as caught:
        read(f"{GOOD}hosts: {{h: {host}}}\n")
    assert [(path, code)] == [(each.path, each.code) for each in caught.value.mistakes]


@pytest.mark.parametrize(("seconds", "samples"), [(1, 2), (30, 15), (31, 16)])
def test_esxtop_takes_samples_for_the_whole_run(seconds: float, samples: int):
    host = Target("esx", "root@esx1")
    assert esxi.command(host, seconds) == f"esxtop -b -a -d 2 -n {samples}\n"


def test_several_steps_and_chosen_figures_can_set_parameters():
    text = GOOD + "calibrate: {step: [{threads: 1}, {threads: 4}], free: [x], figures: [throughput_per_s]}"
    found = read(text).calibrate
    assert found is not None
    assert [step.name for step in found.steps] == ["vms-1-threads-1", "vms-1-threads-4"]
    assert found.figures == ("throughput_per_s",)
    with pytest.raises(ScenarioError) as caught:
        read(text.replace("{threads: 4}]", "{threads: 9}]").replace("[throughput_per_s]", "[tps]"))
    assert {each.path for each in caught.value.mistakes} == {"calibrate.step.1", "calibrate.figures"}
