"""Moves as text: what the tools get is the name as it is, and a step waits for the one before."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

from hypertwin import scenario as scenarios
from hypertwin.documents.placement import Move
from hypertwin.errors import ScenarioError
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.placement import problem as problems
from hypertwin.plan.placement.texts import TOOLS, Going, commands, tools

HOSTILE = [
    "plain",
    "two words",
    "it's; rm -rf /",
    "$(touch x) `touch y` $HOME ${x}",
    "-rf",
    "--host=x",
    'a "quoted" \\ back\\\\slash',
    "{{ lookup('env', 'HOME') }} {% raw %}",
    "\u2019 curly \u2018 quotes \u201a \u201b",
    "glob * ? [a-z]",
    "100% a/b %2f",
    "!bang #hash ~tilde & | < > ( )",
    "umlaut äöü 数",
    "# comment",
    "'",
    "\u2028line",
    "- item: x",
    "NAME=x",
    "\\",
]


def steps_of(names: list[str]) -> list[list[Going]]:
    """Two steps of moves between hosts of these names, too."""
    moves = [Going(name, names[-each], names[each - 1]) for each, name in enumerate(names, 1)]
    return [moves[:3], moves[3:]]


STEPS = steps_of(HOSTILE)
MOVES = [move for step in STEPS for move in step]

STUB = """#!/bin/sh
{ printf '%s\\0' "${0##*/}" "$@"; printf '\\0'; } >> "$CALLS.$$"
mv "$CALLS.$$" "$CALLS.$$.done"
case "${FAIL-}" in "") ;; *) for word; do [ "$word" = "$FAIL" ] && exit 1; done ;; esac
exit 0
"""


def run(text: str, tmp_path: Path, stubs: list[str], shell: str, **environment: str) -> tuple[int, list[list[str]]]:
    """What tools are called with when a shell runs a text, in any order, and its exit status."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    for name in stubs:
        (folder / name).write_text(STUB)
        (folder / name).chmod(0o755)
    calls = tmp_path / "calls"
    shutil.rmtree(calls, ignore_errors=True)
    calls.mkdir()
    done = subprocess.run(
        [shell, "-c", text],
        env={"PATH": f"{folder}:{os.environ['PATH']}", "CALLS": str(calls / "call"), "HOME": "/nowhere", **environment},
        cwd=tmp_path,
        check=False,
        capture_output=True,
    )
    assert not (tmp_path / "x").exists()
    found = [path.read_bytes().decode().split("\0")[:-2] for path in calls.iterdir()]
    return done.returncode, found


SHELLS = ["sh", "bash"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("tool", ["govc", "virsh", "qm"])
def test_shells_take_the_text(tool: str, shell: str):
    text = {**TOOLS["esxi"], **TOOLS["linux"]}[tool](STEPS)
    subprocess.run([shell, "-n"], input=text.encode(), check=True)


def unescaped(name: str) -> str:
    """As govc reads a path: `path.Match` without any pattern, then what vCenter escapes."""
    return unquote(re.sub(r"\\(.)", r"\1", name))


@pytest.mark.parametrize("shell", SHELLS)
def test_govc_gets_the_names(shell: str, tmp_path: Path):
    status, calls = run(TOOLS["esxi"]["govc"](STEPS), tmp_path, ["govc"], shell)
    assert status == 0
    got = set()
    for tool, command, host, dashes, vm in calls:
        assert (tool, command, dashes) == ("govc", "vm.migrate", "--")
        assert host.startswith("-host=")
        assert "/" not in vm and not re.search(r"(?<!\\)(?:\\\\)*[*?\[\]]", vm)
        got.add((unescaped(vm), unescaped(host.removeprefix("-host="))))
    assert got == {(move.vm, move.target) for move in MOVES}


@pytest.mark.parametrize("shell", SHELLS)
def test_virsh_gets_the_names(shell: str, tmp_path: Path):
    options = ("--auto-converge",)
    steps = [[Going(move.vm, move.source, move.target, options) for move in step] for step in STEPS]
    status, calls = run(TOOLS["linux"]["virsh"](steps), tmp_path, ["virsh"], shell)
    assert status == 0
    got = set()
    for call in calls:
        assert call[:2] == ["virsh", "-c"] and call[3:7] == ["migrate", "--live", "--persistent", "--undefinesource"]
        assert call[7] == "--auto-converge"
        hosts = [
            re.fullmatch(r"qemu\+ssh://root@([^/]*)/system", uri) for uri in (call[2], call[9][len("--desturi=") :])
        ]
        source, target = (unquote(host[1]) for host in hosts if host)
        got.add((call[8].removeprefix("--domain="), source, target))
    assert got == {(move.vm, move.source, move.target) for move in MOVES}


@pytest.mark.parametrize("shell", SHELLS)
def test_qm_runs_on_the_node_and_looks_names_up(shell: str, tmp_path: Path):
    steps = [[Going("101", "node a", name)] for name in HOSTILE]
    status, calls = run(TOOLS["linux"]["qm"](steps), tmp_path, ["ssh"], shell)
    assert status == 0
    remote = [call[3] for call in calls]
    assert all(call[:3] == ["ssh", "-n", "root@node a"] for call in calls)
    # the shell of the node reads it once more
    assert {tuple(shlex.split(text)) for text in remote} == {
        ("qm", "migrate", "101", name, "--online", "1") for name in HOSTILE
    }


def test_qm_finds_the_number_of_a_name(tmp_path: Path):
    folder = tmp_path / "bin"
    folder.mkdir()
    rows = [("VMID", "NAME"), ("104", "web-1"), ("105", "web-1"), ("106", "db\\1")]
    (tmp_path / "table").write_text("".join(f"{number:>10} {name:<20} running    2048\n" for number, name in rows))
    stub = f'#!/bin/sh\ncase $3 in \'qm migrate\'*) echo "$3" > "$CALLS" ;; *) cat {tmp_path}/table ;; esac\n'
    (folder / "ssh").write_text(stub)
    (folder / "ssh").chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "CALLS": str(tmp_path / "calls")}

    def migrated(name: str) -> int:
        text = TOOLS["linux"]["qm"]([[Going(name, "a", "b")]])
        return subprocess.run(["sh", "-c", text], env=environment, check=False, capture_output=True).returncode

    assert migrated("db\\1") == 0
    assert (tmp_path / "calls").read_text() == "qm migrate 106 b --online 1\n"
    assert migrated("web-1") == 1, "two have the name"
    assert migrated("nobody") == 1


def test_a_step_that_fails_is_the_last(tmp_path: Path):
    steps = [[Going("a", "h", "i"), Going("b", "h", "i")], [Going("c", "h", "i")]]
    text = TOOLS["esxi"]["govc"](steps)
    assert [call[-1] for call in run(text, tmp_path, ["govc"], "sh")[1]].count("c") == 1
    status, calls = run(text, tmp_path, ["govc"], "sh", FAIL="a")
    assert status == 1
    assert sorted(call[-1] for call in calls) == ["a", "b"]


def test_nothing_to_move_is_still_a_text():
    for family in TOOLS.values():
        for tool, write in family.items():
            text = write([])
            if tool not in ("powercli", "ansible"):
                subprocess.run(["sh", "-n"], input=text.encode(), check=True)


class Loader(yaml.SafeLoader):
    """As Ansible reads a playbook: what is not unsafe is a template."""


class Template(str):
    pass


Loader.add_constructor("!unsafe", lambda loader, node: str(loader.construct_scalar(node)))
Loader.add_constructor("tag:yaml.org,2002:str", lambda loader, node: Template(loader.construct_scalar(node)))


@pytest.mark.parametrize("family", ["esxi", "linux"])
def test_ansible_reads_the_names_and_takes_none_for_a_template(family: str):
    (play,) = yaml.load(TOOLS[family]["ansible"](STEPS), Loader)
    tasks = play["tasks"]
    assert len(tasks) == 2 * len(STEPS)
    loops = [[(item["vm"], item["to"]) for item in task["loop"]] for task in tasks[::2]]
    assert loops == [[(move.vm, move.target) for move in step] for step in STEPS]
    assert not any(isinstance(name, Template) for loop in loops for pair in loop for name in pair)
    assert all(task["loop"] == "{{ started.results }}" for task in tasks[1::2])


def powershell_words(line: str) -> list[str]:
    """The single-quoted strings of a line, by the rules of PowerShell: a quote of any kind, doubled, is one."""
    quotes = "'\u2018\u2019\u201a\u201b"
    words, position = [], 0
    while position < len(line):
        if line[position] not in quotes:
            position += 1
            continue
        position, word = position + 1, ""
        while True:
            if line[position] in quotes:
                if line[position + 1 : position + 2] and line[position + 1] in quotes:
                    word, position = word + line[position], position + 2
                    continue
                break
            word, position = word + line[position], position + 1
        words.append(word)
        position += 1
    return words


def test_powercli_gets_the_names():
    text = TOOLS["esxi"]["powercli"](STEPS)
    lines = [line for line in text.split("\n") if line.startswith("    Start-Move")]
    assert [tuple(powershell_words(line)) for line in lines] == [(move.vm, move.target) for move in MOVES]
    assert text.count("Wait-Task -Task $tasks\n") == len(STEPS)
    if pwsh := shutil.which("pwsh"):
        parse = "[void][Management.Automation.Language.Parser]::ParseInput($input, [ref]$null, [ref]$e)"
        check = f"$e = $null; {parse}; exit $e.Count"
        subprocess.run([pwsh, "-NoProfile", "-Command", check], input=text.encode(), check=True)


def case(hypervisor: str, **migration: Any) -> tuple[Any, Any, list[Move]]:
    data = {
        "name": "made",
        "hosts": {
            "h": {
                "label": "host 'x'",
                "count": 2,
                "sockets": 1,
                "cores_per_socket": 4,
                "clock": "2 GHz",
                "memory_per_node": "8 GiB",
                "hypervisor": hypervisor,
                "migration": migration,
            }
        },
        "vms": {"v": {"label": "my vm", "vcpus": 1, "memory": "1 GiB", "workload": "any", "host": "h-1"}},
        "workloads": {"any": {"arrivals": {"open": {"rate": "1 /s"}}, "cpu": {"mean": "1 ms"}}},
    }
    scenario = scenarios.loads(yaml.safe_dump(data))
    problem = problems.problem(scenario, scenario.inventory.clusters[0], Limits())
    move: Move = {"vm": "v", "from": "h-1", "to": "h-2", "step": 1, "seconds": 1, "temporary": False, "why": ""}
    new: Move = {**move, "from": None}  # type: ignore[typeddict-item]
    return problem, scenario, [move, new]


def test_labels_are_the_names_and_new_vms_no_moves():
    problem, scenario, moves = case("linux-6.12", convergence="post-copy")
    text = commands(problem, scenario, moves, "virsh")
    line = next(line for line in text.split("\n") if line.startswith("virsh"))
    assert shlex.split(line)[:-1] == [
        *("virsh", "-c", "qemu+ssh://root@host%20%27x%27-1/system", "migrate", "--live", "--persistent"),
        *("--undefinesource", "--postcopy", "--postcopy-after-precopy", "--domain=my vm"),
        "--desturi=qemu+ssh://root@host%20%27x%27-2/system",
    ]
    assert text.count("--domain=") == 1


def test_tools_are_those_of_the_hypervisor():
    problem, scenario, moves = case("esxi-8.0")
    assert sorted(tools(problem)) == ["ansible", "govc", "powercli"]
    with pytest.raises(ScenarioError, match="powercli, govc, ansible") as raised:
        commands(problem, scenario, moves, "qm")
    assert "is of ESXi" in str(raised.value)
