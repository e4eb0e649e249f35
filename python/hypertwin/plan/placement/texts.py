"""Moves as text to paste, with one function per tool and the source of its syntax.

The moves of a step run concurrently, and the next step waits until all have succeeded. Names are those of VMs and hosts
in their own system (labels), with any characters except control characters. They reach the tool unchanged, or the tool
refuses them. New VMs are not moves.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from hypertwin.documents.placement import Move
from hypertwin.errors import fail
from hypertwin.files.yaml_writing import to_yaml
from hypertwin.plan.placement.problem import Problem
from hypertwin.scenario import Scenario

_POWERSHELL_QUOTES = re.compile("(['\u2018\u2019\u201a\u201b])")
"""PowerShell's single quotes. Sources: about_Quoting_Rules, and CharTraits.IsSingleQuote in the PowerShell source."""

_PATTERN = re.compile(r"([*?\[\]\\])")
"""Characters that govc reads as a pattern in the path of an object: Go's `path.Match`, which `\\` escapes."""


@dataclass(frozen=True)
class Going:
    """Move of a VM, with names from its source system."""

    vm: str
    source: str
    target: str
    options: tuple[str, ...] = ()
    """Options of `virsh migrate` for VMs that write faster than the link sends."""


Texts = Sequence[Sequence[Going]]
"""Moves per step."""


def commands(problem: Problem, scenario: Scenario, moves: Sequence[Move], tool: str) -> str:
    """Return moves as text for a tool. Raises ScenarioError if the tool does not support the cluster's hypervisors."""
    known = tools(problem)
    if tool not in known:
        families = " and ".join(sorted({host.options.family_title for host in problem.hosts}))
        hint = f"cluster {problem.cluster} is of {families}"
        fail("unknown-value", "", tool, f"one of {', '.join(known) or '(none)'}", hint, "--commands")
    return known[tool](_going(problem, scenario, moves))


def tools(problem: Problem) -> Mapping[str, Callable[[Texts], str]]:
    """Return the tools for the most common hypervisor of a cluster, by name."""
    counts = {family: sum(host.family == family for host in problem.hosts) for family in TOOLS}
    most = max(counts, key=lambda family: counts[family])
    return TOOLS[most] if counts[most] else {}


def _going(problem: Problem, scenario: Scenario, moves: Sequence[Move]) -> Texts:
    vms = {vm.name: vm.label or vm.name for vm in problem.vms}
    hosts = {host.name: host for host in problem.hosts}
    found: dict[int, list[Going]] = {}
    for move in moves:
        source = move["from"]
        if source is None:
            continue
        of, to = hosts[source], hosts[move["to"]]
        convergence = (scenario.data["hosts"][of.group].get("migration") or {}).get("convergence")
        going = Going(
            vms[move["vm"]], of.label or of.name, to.label or to.name, VIRSH_OPTIONS.get(str(convergence), ())
        )
        found.setdefault(move["step"], []).append(going)
    return [found[step] for step in sorted(found)]


VIRSH_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "auto-converge": ("--auto-converge",),
        "auto-converge-4": ("--auto-converge",),
        "post-copy": ("--postcopy", "--postcopy-after-precopy"),
    }
)


def powercli(steps: Texts) -> str:
    """Return a VMware PowerCLI script for a connection to a vCenter.

    `Move-VM -RunAsync`, `Wait-Task`: PowerCLI Cmdlet Reference (https://developer.broadcom.com/powercli). `-Name` takes
    patterns, so the script compares names, and refuses a name that several objects have.
    """
    lines = [
        "& { # Connect-VIServer first",
        "$ErrorActionPreference = 'Stop'",
        "$vms, $vmHosts = @(Get-VM), @(Get-VMHost)",
        "function Find-One([object[]] $All, [string] $Name) {",
        "    $found = @($All | Where-Object { $_.Name -ceq $Name })",
        '    if ($found.Count -ne 1) { throw "$($found.Count) objects have the name $Name" }',
        "    $found[0]",
        "}",
        "function Start-Move([string] $Vm, [string] $To) {",
        "    Move-VM -VM (Find-One $vms $Vm) -Destination (Find-One $vmHosts $To) -RunAsync -Confirm:$false",
        "}",
    ]
    for number, moves in enumerate(steps, 1):
        lines += ["", _title(number, steps), "$tasks = @("]
        lines += [f"    Start-Move {_powershell(move.vm)} {_powershell(move.target)}" for move in moves]
        lines += [")", "Wait-Task -Task $tasks"]
    return _lines([*lines, "}"])


def _powershell(text: str) -> str:
    doubled = _POWERSHELL_QUOTES.sub(r"\1\1", text)
    return f"'{doubled}'"


def govc(steps: Texts) -> str:
    """Return `govc vm.migrate` commands for a POSIX shell. GOVC_URL and credentials come from the environment.

    Flags: govmomi, cli/vm/migrate.go (https://github.com/vmware/govmomi). govc reads names as patterns. A slash or a
    per cent sign in a name is written as in vCenter, `%2f` and `%25`.
    """

    def move(going: Going) -> str:
        return shlex.join(["govc", "vm.migrate", f"-host={_govc(going.target)}", "--", _govc(going.vm)])

    return _shell(steps, ["# GOVC_URL, GOVC_USERNAME and GOVC_PASSWORD say which vCenter."], move)


def _govc(name: str) -> str:
    return _PATTERN.sub(r"\\\1", name.replace("%", "%25").replace("/", "%2f"))


def virsh(steps: Texts) -> str:
    """Return `virsh migrate` commands for a POSIX shell, over SSH and between hosts that share their storage.

    Options: libvirt, virsh(1), migrate (https://www.libvirt.org/manpages/virsh.html). virsh reads a name of digits as a
    domain ID first.
    """

    def move(going: Going) -> str:
        words = ["virsh", "-c", _uri(going.source), "migrate", "--live", "--persistent", "--undefinesource"]
        return shlex.join([*words, *going.options, f"--domain={going.vm}", f"--desturi={_uri(going.target)}"])

    return _shell(steps, ["# The disks are on storage that both hosts have."], move)


def _uri(host: str) -> str:
    return f"qemu+ssh://root@{quote(host, safe='')}/system"


def qm(steps: Texts) -> str:
    """Return `qm migrate --online` commands of Proxmox VE, run over SSH on the node that has the VM.

    Options: Proxmox VE Administration Guide, qm(1) (https://pve.proxmox.com/pve-docs/qm.1.html). qm takes VM numbers.
    Any other name is looked up on its node, where exactly one VM must have it.
    """
    head = [
        "vmid() { # node, name: its number",
        "    case $2 in",
        "    '' | *[!0-9]*) ;;",
        '    *) printf "%s" "$2"; return ;;',
        "    esac",
        '    ssh -n "root@$1" qm list | NAME=$2 awk \'$2 == ENVIRON["NAME"] { id = $1; n++ }'
        " END { if (n != 1) exit 1; print id }'",
        "}",
        "migrate() { # node, VM, target as the shell of the node reads it",
        '    id=$(vmid "$1" "$2") || { echo "no VM, or several: $2 on $1" >&2; return 1; }',
        '    ssh -n "root@$1" "qm migrate $id $3 --online 1"',
        "}",
    ]

    def move(going: Going) -> str:
        return shlex.join(["migrate", going.source, going.vm, shlex.quote(going.target)])

    return _shell(steps, head, move)


def ansible_vmware(steps: Texts) -> str:
    """Return a playbook with community.vmware.vmware_vmotion.

    VMWARE_HOST and credentials come from the environment.

    Parameters: https://docs.ansible.com/ansible/latest/collections/community/vmware/vmware_vmotion_module.html.
    """
    return _playbook(
        steps,
        "community.vmware.vmware_vmotion",
        lambda move: {"vm": _Unsafe(move.vm), "to": _Unsafe(move.target)},
        {"vm_name": "{{ item.vm }}", "destination_host": "{{ item.to }}"},
        "VMWARE_HOST, VMWARE_USER and VMWARE_PASSWORD say which vCenter.",
    )


def ansible_proxmox(steps: Texts) -> str:
    """Return a playbook with community.general.proxmox_kvm, for Proxmox VE.

    Parameters: https://docs.ansible.com/ansible/latest/collections/community/general/proxmox_kvm_module.html, where
    `node` is the one to migrate to.
    """

    def entry(move: Going) -> dict[str, Any]:
        return {"vm": _Unsafe(move.vm), "to": _Unsafe(move.target)}

    arguments = {
        "api_host": "{{ lookup('env', 'PROXMOX_HOST') }}",
        "api_user": "{{ lookup('env', 'PROXMOX_USER') }}",
        "api_password": "{{ lookup('env', 'PROXMOX_PASSWORD') }}",
        "name": "{{ item.vm }}",
        "node": "{{ item.to }}",
        "migrate": True,
        "timeout": 86400,
    }
    head = "PROXMOX_HOST, PROXMOX_USER (root@pam) and PROXMOX_PASSWORD say which cluster."
    return _playbook(steps, "community.general.proxmox_kvm", entry, arguments, head)


TOOLS: Mapping[str, Mapping[str, Callable[[Texts], str]]] = MappingProxyType(
    {
        "esxi": {"powercli": powercli, "govc": govc, "ansible": ansible_vmware},
        "linux": {"virsh": virsh, "qm": qm, "ansible": ansible_proxmox},
    }
)
"""All tools by name, by family of hypervisors."""


class _Unsafe(str):
    """Text that Ansible must not interpret as a template."""


def _playbook(
    steps: Texts, module: str, entry: Callable[[Going], dict[str, Any]], arguments: Mapping[str, Any], comment: str
) -> str:
    """Return steps as tasks. The moves of a step start together, and the next step waits for all of them."""
    tasks: list[dict[str, Any]] = []
    for number, moves in enumerate(steps, 1):
        tasks.append(
            {
                "name": f"Step {number} of {len(steps)}",
                module: dict(arguments),
                "loop": [entry(move) for move in moves],
                "async": 86400,
                "poll": 0,
                "register": "started",
            }
        )
        tasks.append(
            {
                "name": f"Wait for step {number}",
                "ansible.builtin.async_status": {"jid": "{{ item.ansible_job_id }}"},
                "loop": "{{ started.results }}",
                "loop_control": {"label": "{{ item.item.vm }}"},
                "register": "done",
                "until": "done.finished",
                "retries": 17280,
                "delay": 5,
            }
        )
    play = {"name": "Moves", "hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
    return f"# {comment}\n---\n{to_yaml([play], tags={_Unsafe: '!unsafe'})}"


def _shell(steps: Texts, head: Sequence[str], command: Callable[[Going], str]) -> str:
    """Return steps as background jobs of a POSIX shell. If one fails, the script ends after its step.

    A subshell contains all commands, so they do not change or end the shell where they are pasted.
    """
    lines = [
        "(",
        "set -u",
        *head,
        "wait_for() { # the moves of a step",
        "    failed=0",
        '    for job in "$@"; do wait "$job" || failed=1; done',
        '    if [ "$failed" -ne 0 ]; then echo "a move failed: nothing more is moved" >&2; exit 1; fi',
        "}",
    ]
    for number, moves in enumerate(steps, 1):
        lines += ["", _title(number, steps), "set --"]
        for move in moves:
            lines += [f"{command(move)} &", 'set -- "$@" "$!"']
        lines.append('wait_for "$@"')
    return _lines([*lines, ")"])


def _title(number: int, steps: Texts) -> str:
    moves = len(steps[number - 1])
    return f"# Step {number} of {len(steps)}: {moves} move{'s' if moves > 1 else ''}"


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
