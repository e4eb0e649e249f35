"""`hypertwin plan` as a user runs it."""

from __future__ import annotations

import json

import pytest
from tests.conftest import ROOT

import hypertwin
from hypertwin import scenario
from hypertwin.documents import placement as documents

FOUR = """
name: four
hosts:
  esx: {count: 4, sockets: 2, cores_per_socket: 8, clock: 2 GHz, memory_per_node: 128 GiB, hypervisor: esxi-8.0}
vms:
  db: {count: 2, vcpus: 8, memory: 64 GiB, host: esx-1, workload: any, measured: {cpu_mhz: 6000}}
  web: {count: 12, vcpus: 2, memory: 32 GiB, host: esx, workload: any, measured: {cpu_mhz: 900}}
rules:
  - {name: databases apart, kind: keep-apart, vms: [db], mandatory: true}
workloads:
  any: {arrivals: {open: {rate: 20 /s}}, cpu: {mean: 5 ms}}
"""
"""Two databases on one host although a rule keeps them apart; 512 of 1,024 GiB in use."""


@pytest.fixture
def four(tmp_path):
    path = tmp_path / "four.yaml"
    path.write_text(FOUR)
    return path


def test_json_has_the_form_of_the_contract(cli, four):
    for command in (["survive"], ["balance"], ["evacuate", "esx-2"], ["place", "--vm", "2*4x16GiB"]):
        ended = cli("plan", command[0], four, *command[1:], "--format", "json")
        found = json.loads(ended.stdout)
        assert set(found) == set(documents.Plan.__annotations__), command
        assert found["command"] == command[0]
        for move in found["moves"]:
            assert set(move) == set(documents.Move.__annotations__)
        for certificate in found["certificate"].values():
            assert set(certificate) == set(documents.Certificate.__annotations__)


def test_a_plan_mends_a_rule_and_is_a_scenario_that_other_commands_read(cli, four, tmp_path):
    made = tmp_path / "plan.yaml"
    ended = cli("plan", "balance", four, "-o", made, exits=0)
    assert ended.stdout.startswith("Move 1 VM in 1 step, ")
    assert ended.stdout.splitlines()[0].endswith(" Optimal.")
    before, after = scenario.load(four).inventory, scenario.load(made).inventory
    assert before.vm.keys() == after.vm.keys()
    assert [name for name, vm in before.vm.items() if vm.host != after.vm[name].host] == ["db-2"]
    assert after.vm["db-1"].host != after.vm["db-2"].host
    assert after.rules[0].vms == ("db-1", "db-2")
    again = cli("plan", "balance", made, exits=0)
    assert "No moves needed" in again.stdout
    cli("capacity", made, exits=0)
    cli("simulate", made, "--duration", "1", "--warmup", "1", "--replications", "1", exits=0)


def test_what_is_not_survived_is_said_with_what_it_lacks_and_what_would_help(cli, four):
    ended = cli("plan", "survive", four, "--set", "vms.web.count=26", exits=1)
    assert "cannot restart: " in ended.stdout and "GiB of memory on esx-" in ended.stdout
    assert "Fixes, any one (each checked): " in ended.stdout
    found = hypertwin.plan_survive(four, overrides={"vms.web.count": 26}).document
    assert not found["feasible"]
    assert any(fix["works"] for fix in found["fixes"])
    # memory for so many: a third more of each VM's hosts would be needed
    assert any(each["cannot_restart"] for each in found["certificate"].values())


def test_no_plan_says_why_and_writes_nothing(cli, four, tmp_path):
    made = tmp_path / "plan.yaml"
    ended = cli("plan", "balance", four, "--set", "vms.web.count=27", "-o", made, "--explain", exits=1)
    assert "Infeasible: room for db-1 on another host" in ended.stdout
    assert "--failures 0" in ended.stdout
    assert "plan.yaml was not written" in ended.stderr
    assert not made.exists()


def test_a_host_is_emptied_and_all_of_them_in_turn(cli, four):
    found = json.loads(cli("plan", "evacuate", four, "esx-2", "--format", "json").stdout)
    assert found["feasible"]
    (host,) = (each for each in found["hosts"] if each["name"] == "esx-2")
    assert (host["vms_before"], host["vms_after"]) == (4, 0)
    rolling = json.loads(cli("plan", "evacuate", four, "--rolling", "--format", "json").stdout)
    assert rolling["feasible"]
    assert sorted(step["empty_host"] for step in rolling["steps"] if "empty_host" in step) == [
        *("esx-1", "esx-2", "esx-3", "esx-4"),
    ]
    # all went back, but for the VM that a rule moved
    assert sum(host["vms_before"] != host["vms_after"] for host in rolling["hosts"]) <= 2


def test_a_host_that_cannot_be_emptied_comes_first_with_the_reason(cli, four):
    fixed = ("--set", 'vms.db.affinity="0"', "--set", "vms.web.count=2", "--set", "vms.web.host=esx-1")
    ended = cli("plan", "evacuate", four, "esx-1", *fixed, exits=1)
    reason = "esx-1 cannot be evacuated: db-1, db-2 stay, local disks, or CPU affinity."
    assert ended.stdout.startswith(f"{reason} Move 2 VMs in 1 step, about ")
    assert ended.stdout.count(reason) == 1
    assert "Optimal" not in ended.stdout and "see the notes" not in ended.stdout
    found = json.loads(cli("plan", "evacuate", four, "esx-1", *fixed, "--format", "json").stdout)
    assert not found["feasible"] and reason in found["notes"]


def test_hosts_that_cannot_be_emptied_in_turn_come_first(cli, four, tmp_path):
    fixed = ("--set", 'vms.db.affinity="0"', "--set", "vms.db.host=esx", "-o", tmp_path / "after.yaml")
    ended = cli("plan", "evacuate", four, "--rolling", *fixed, exits=1)
    first, *lines = ended.stdout.splitlines()
    hosts = [line.partition(" cannot be evacuated: ")[0] for line in lines if " cannot be evacuated: " in line]
    assert len(hosts) == 2
    assert first.startswith(f"{len(hosts)} of 4 hosts cannot be evacuated: {', '.join(hosts)}. Move ")
    assert "Optimal" not in ended.stdout
    assert "stays, local disks, or CPU affinity" in lines[0]
    assert "see the notes" not in ended.stdout
    assert f"after.yaml was not written: {', '.join(hosts)} cannot be evacuated" in ended.stderr
    found = json.loads(cli("plan", "evacuate", four, "--rolling", *fixed[:4], "--format", "json").stdout)
    assert (found["status"], found["feasible"], found["proven"]) == ("infeasible", False, True)
    assert found["gap_pct"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evacuate", "esx-9"], "esx-9"),
        (["evacuate"], "a host, or --rolling"),
        (["place"], "--repack"),
        (["place", "--vm", "0*4x16GiB"], "0*4x16GiB"),
        (["place", "--vm", "4x16"], "4x16"),
        (["survive", "--failures", "5"], "5"),
        (["survive", "--cpu", "80"], "write 80%"),
        (["survive", "--failover-memory", "lots"], "lots"),
        (["survive", "--cluster", "nobody"], "nobody"),
        (["survive", "--policy", "numma"], "did you mean numa?"),
        (["survive", "--domain", "nobody"], "nobody"),
    ],
)
def test_bad_input_is_one_clear_error(cli, four, arguments, said):
    ended = cli("plan", arguments[0], four, *arguments[1:], exits=2)
    assert ended.stderr.startswith("error: ") and said in ended.stderr


def test_one_host_survives_nothing_and_can_still_be_planned_without_failures(cli, four):
    one = ["--set", "hosts.esx.count=1", "--set", "vms.db.host=null", "--set", "vms.web.count=3"]
    ended = cli("plan", "survive", four, *one, exits=1)
    assert "has one host: no failover" in ended.stdout
    without = [*one, "--set", "vms.db.count=1"]
    cli("plan", "balance", four, *without, "--failures", "0", exits=0)


def test_a_cluster_without_vms_has_nothing_to_plan(cli, four):
    ended = cli("plan", "balance", four, "--set", "vms.db.count=0", "--set", "vms.web.count=0", exits=0)
    assert "No moves needed" in ended.stdout


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("plan survive {}", 0, "survives all 2 host failures"),
        ("plan balance {}", 0, "No moves needed"),
        ("plan evacuate {} h-1", 0, "No moves needed"),
        ("plan evacuate {} --rolling", 0, "No moves needed"),
        ("plan place {} --repack", 0, "No moves needed"),
        ("plan place {} --repack --goal hosts", 0, "No moves needed"),
        ("plan place {} --repack --goal hosts --failures 2", 0, "No moves needed"),
        ("plan place {} --vm 2*2x4GiB", 0, "Place 2 VMs in 1 step"),
        ("capacity {}", 0, "no VM is on"),
        ("diagnose --cluster {}", 0, "Nothing was measured"),
        ("density {} --vm web --slo hosts.*.usage_pct<80", 2, "the scenario has no VMs"),
        ("simulate {} --set run.duration=2s", 0, "Hosts"),
    ],
)
def test_hosts_alone_get_an_answer_or_one_clear_error(cli, tmp_path, line, code, said):
    path = tmp_path / "none.yaml"
    path.write_text(
        "name: none\nhosts: {h: {count: 2, sockets: 1, cores_per_socket: 2, clock: 2 GHz, memory_per_node: 16 GiB,"
        " hypervisor: esxi-8.0}}\n"
    )
    ended = cli(*line.format(path).split())
    assert ended.returncode == code, ended.stderr
    assert said in " ".join((ended.stdout + ended.stderr).split())
    assert ended.stderr.count("error: ") == (code != 0)


def test_a_vm_that_never_restarts_binds_no_other_that_is_kept_with_it(cli, tmp_path):
    path = tmp_path / "together.yaml"
    path.write_text("""
name: together
hosts:
  a: {count: 2, sockets: 1, cores_per_socket: 8, clock: 2 GHz, memory_per_node: 96 GiB, hypervisor: esxi-8.0}
  b: {sockets: 1, cores_per_socket: 8, clock: 2 GHz, memory_per_node: 96 GiB, hypervisor: esxi-8.0}
vms:
  fixed: {host: b, vcpus: 2, memory: 8 GiB, workload: any, affinity: 0-1, measured: {cpu_p95_mhz: 500}}
  other: {host: b, vcpus: 2, memory: 8 GiB, workload: any, measured: {cpu_p95_mhz: 500}}
workloads: {any: {arrivals: {closed: {population: 1, think: {mean: 1 s}}}, cpu: {mean: 1 ms}}}
rules: [{name: pair, kind: keep-together, vms: [fixed, other], mandatory: true}]
""")
    ended = cli("plan", "place", path, "--repack", "--goal", "hosts", exits=0)
    assert "2 hosts. Optimal." in ended.stdout  # b, which has both, and one where `other` restarts


def test_the_same_plan_comes_out_again(cli, four):
    first, second = (cli("plan", "balance", four, "--format", "json").stdout for _ in range(2))
    assert first == second


def test_a_page_of_a_plan(cli, four, tmp_path):
    page = tmp_path / "plan.html"
    cli("plan", "balance", four, "--report", page, exits=0)
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert "Move 1 VM in 1 step, " in text and "Optimal." in text


def test_several_clusters_are_planned_one_at_a_time(cli):
    path = ROOT / "scenarios" / "clusters.yaml"
    ended = cli("plan", "survive", path, exits=1)
    assert [ended.stdout.count(f"{name} ") > 0 for name in ("database", "edge", "general")] == [True] * 3
    assert ended.stdout.count("More: ") == 3
    cli("plan", "survive", path, "--cluster", "edge", "--failures", "0", exits=0)


def test_new_vms_are_placed_beside_what_is_wrong_already(cli, four, tmp_path):
    # two databases on one host against the rule
    made = tmp_path / "plan.yaml"
    ended = cli("plan", "place", four, "--vm", "2*2x8GiBx500MHz", "-o", made, exits=0)
    assert "Already violated by VMs that stay: databases apart." in " ".join(ended.stdout.split())
    before, after = scenario.load(four).inventory, scenario.load(made).inventory
    assert all(after.vm[name].host == vm.host for name, vm in before.vm.items())
    assert after.vm["new-1"].measured.cpu_p95_mhz == 500


def test_a_hypervisor_has_its_own_tools(cli, four):
    ended = cli("plan", "balance", four, "--commands", "virsh")
    assert ended.returncode == 2 and "powercli" in ended.stderr
    text = cli("plan", "balance", four, "--commands", "powercli").stdout
    script = text[text.index("& {") :]
    assert script.count("{") == script.count("}")


GUESSED = ("--set", "vms.web.host_is_guess=true")


def test_guessed_hosts_are_said_first(cli, four):
    for command in (["survive"], ["balance"], ["place", "--vm", "2x8GiB"]):
        first = cli("plan", command[0], four, *command[1:], *GUESSED).stdout.splitlines()[0]
        assert first.startswith("The host of 12 of 1"), first
        assert "is a guess" in first
    assert "guess" not in cli("plan", "survive", four).stdout


def test_commands_for_guessed_hosts_are_refused_unless_asked_for(cli, four):
    ended = cli("plan", "evacuate", four, "esx-2", "--commands", "powercli", *GUESSED, exits=2)
    assert "--commands powercli: 4 moves of VMs whose host is a guess [guessed-host]" in ended.stderr
    assert "--commands-for-guesses" in ended.stderr
    asked = cli(
        "plan", "evacuate", four, "esx-2", "--commands", "powercli", "--commands-for-guesses", *GUESSED, exits=0
    )
    assert "Move-VM" in asked.stdout
    found = json.loads(cli("plan", "evacuate", four, "esx-2", *GUESSED, "--format", "json").stdout)
    assert found["commands"] == {}
    assert "No commands: the hosts of 4 VMs to move are guesses (--commands-for-guesses)." in found["notes"]
    cli("plan", "evacuate", four, "esx-1", "--commands", "powercli", "--set", "vms.db.host_is_guess=false", exits=0)


def test_wishes_give_way_where_there_is_no_plan_with_them(cli, four):
    apart = ["--set", "hosts.esx.count=2", "--set", "vms.web.count=3", "--failures", "0"]
    third = ["--set", "vms.db.count=3", "--set", "vms.db.memory=16 GiB"]
    assert "Infeasible: rule databases apart" in cli("plan", "balance", four, *apart, *third).stdout
    wish = [*apart, *third, "--set", "rules.0.mandatory=false"]
    ended = cli("plan", "balance", four, *wish, exits=0)
    assert "Should rules that this plan violates: databases apart." in " ".join(ended.stdout.split())


def test_the_scenario_of_a_plan_goes_to_stdout(cli, four):
    ended = cli("plan", "balance", four, "-o", "-", exits=0)
    assert scenario.loads(ended.stdout).inventory.vm["db-2"].host != "esx-1"


def test_what_is_wrong_now_is_said_of_what_survives(cli, four):
    assert "Already violated: databases apart." in " ".join(cli("plan", "survive", four).stdout.split())


def test_each_limit_and_demand_counts(four):
    measured = {
        "vms.web.measured": {"cpu_mhz": 900, "cpu_p95_mhz": 1800, "cpu_peak_mhz": 2700, "memory_consumed": "8 GiB"},
        "vms.db.measured": {"cpu_mhz": 6000, "cpu_p95_mhz": 6000, "cpu_peak_mhz": 6000, "memory_consumed": "16 GiB"},
    }

    def plan(**options):
        return hypertwin.plan_survive(four, overrides=measured, **options).document

    def fullest(resource, **options):
        (host,) = (each for each in plan(**options)["hosts"] if each["name"] == "esx-2")
        return host["before_pct"][resource]

    # four web VMs on 16 cores of 2 GHz with 256 GiB
    assert fullest("cpu") == pytest.approx(100 * 4 * 1800 / 32_000)
    assert fullest("cpu", demand="mean") == pytest.approx(100 * 4 * 900 / 32_000)
    assert fullest("cpu", demand="peak") == pytest.approx(100 * 4 * 2700 / 32_000)
    assert fullest("memory") == pytest.approx(100 * 128 / 256)
    assert fullest("memory", memory_demand="consumed") == pytest.approx(100 * 32 / 256)
    assert fullest("vcpus", vcpu_ratio=2) == pytest.approx(100 * 8 / 16)
    # 512 GiB on three hosts of 256: whole VMs of 64 and 32 fit 224 of 230, and no more than 160 of 166
    assert plan()["feasible"]
    assert not plan(failover_memory="65%")["feasible"]
    assert plan(memory="65%", failover_memory="90%")["feasible"]
    assert not plan(failover_cpu="15%")["feasible"]
    assert not plan(vcpu_ratio=0.4)["feasible"]
    assert len(plan(failures=2)["certificate"]) == 4 + 6
    assert plan(failures=0)["certificate"] == {}


def test_an_overfull_host_stays_so_when_new_vms_come(cli, four):
    # 64 + 64 + 5 x 32 GiB on a host that may give 230
    full = ["--set", "vms.web.host=esx-1", "--set", "vms.web.count=4", "--set", "rules=[]", "--failures", "0"]
    ended = cli("plan", "place", four, "--vm", "8x64GiB", *full, exits=0)
    assert "Already above its limits: esx-1 by 25.6 GiB of memory (see plan balance)." in " ".join(ended.stdout.split())
