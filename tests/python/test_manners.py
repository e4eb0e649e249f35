"""What all commands have in common: help, options, forms, errors, completion; in this process."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT, TINY

from hypertwin import library
from hypertwin.calibration import parameters
from hypertwin.cli import catalogue, progress, root, streams, symptoms, tab
from hypertwin.cli.main import run
from hypertwin.scenario import load
from hypertwin.show import conditions
from hypertwin.studies import judge

WIDTHS = (60, 80, 140)


@dataclass
class Ended:
    """How a command line ended."""

    code: int
    stdout: str
    stderr: str


Call = Callable[..., Ended]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tiny: Path) -> Call:
    """Run a command line here, beside tiny.yaml, with a text on stdin."""
    monkeypatch.chdir(tiny.parent)

    def called(line: str, stdin: str = "") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = run(shlex.split(line))
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return called


def commands() -> Iterator[tuple[str, Any]]:
    """Every command and group by its words, with what Typer runs."""
    for name, command in root.group().commands.items():
        yield name, command
        for inner, each in getattr(command, "commands", {}).items():
            yield f"{name} {inner}", each


EVERY = dict(commands())
LEAVES = {words: command for words, command in EVERY.items() if not hasattr(command, "commands")}


# ---- help


def test_the_help_has_every_command_in_a_section(call):
    shown = call("--help").stdout
    for section, listed in catalogue.SECTIONS.items():
        after = shown.split(f"\n{section}:\n")[1].split("\n\n")[0]
        assert [line.split()[0] for line in after.splitlines() if line[2] != " "] == list(listed)
    assert list(catalogue.COMMANDS) == [words for words in EVERY if " " not in words]


@pytest.mark.parametrize("columns", WIDTHS)
def test_help_leaves_nothing_out_at_any_width(call, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for words in ("", *EVERY):
        ended = call(f"{words} -h")
        assert ended.code == 0
        in_text = ended.stdout.partition("\n\n")[2].split("Examples:")[0].splitlines()
        assert not [line for line in in_text if line.endswith("...")], words
        assert max(map(len, in_text)) <= min(columns, catalogue.WIDEST), words
    for text in catalogue.SUMMARIES.values():
        assert text in " ".join(call("--help").stdout.split())


def examples(command: Any) -> list[str]:
    """The command lines at the end of a help, those of several lines as one."""
    lines = (command.epilog or "").removeprefix("\b\nExamples:\n").replace("\\\n", " ")
    return [line.strip() for line in lines.splitlines() if line.strip()]


@pytest.mark.parametrize("words", LEAVES)
def test_examples_are_command_lines(words, call):
    found = examples(LEAVES[words])
    assert 1 <= len(found) <= 3
    assert any(line.startswith(f"hypertwin {words}") for line in found)
    shown = call(f"{words} --help").stdout
    for line in found:
        assert line.split("\\")[0].split("  ")[0] in shown
        for part in line.split(" | "):
            parse(part.split(" > ")[0])


FREE = [line for words in LEAVES for line in examples(LEAVES[words]) if "--free " in line]
FREE += [line for section in symptoms.SYMPTOMS.values() for line in section.values() if "--free " in line]


@pytest.mark.parametrize("line", FREE)
def test_examples_free_parameters_that_can_be_fitted(line):
    words = shlex.split(line)
    named = library.examples() / next(word for word in words if word.endswith(".yaml"))
    shipped = named if named.exists() else library.examples() / "small-esxi.yaml"
    assert parameters.parse([words[words.index("--free") + 1]], load(shipped))


def test_examples_of_the_whole_are_command_lines():
    for line in catalogue.EXAMPLES:
        parse(line)


def parse(line: str) -> None:
    """Have Typer read a command line, without running it."""
    program, *arguments = shlex.split(line)
    assert program == "hypertwin"
    context = root.group().make_context("hypertwin", arguments)
    while hasattr(context.command, "commands"):
        name, command, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)


def test_examples_that_need_no_file_run(call, tmp_path):
    for words in ("init", "examples", "size", "vnuma", "durability", "devices", "presets", "cache list"):
        line = examples(EVERY[words])[0]
        assert call(line.removeprefix("hypertwin ")).code == 0, line


# ---- options that all have


@pytest.mark.parametrize("words", LEAVES)
def test_every_command_has_the_common_options(words):
    options = {option for parameter in LEAVES[words].params for option in parameter.opts}
    assert {"-q", "--quiet", "-v", "--verbose"} <= options
    assert ("--out" in options) == ("-o" in options)


PRINTING = {
    "simulate tiny.yaml": "kind",
    "density tiny.yaml --vm web --slo guest_cpu_pct<90 --max 2": "count",
    "capacity tiny.yaml": "cluster",
    "size --host 2x12 --vcpus 24 --memory 96GiB": "sockets",
    "vnuma --hypervisor esxi-8.0 --sockets 2 --cores 12 --vcpus 24": "home",
    "durability --scheme 3 --scheme 4+2": "scheme",
    "diagnose --cluster tiny.yaml --no-what-if": "severity",
    "devices --kind nvme": "kind",
    "presets": "name",
    "validate monster-vm": "published",
    "compare a.json b.json": "figure",
    "cache list": "",
}
"""Commands that print a result, and a column of its CSV."""

ROW = {
    **{"study": "monster-vm", "case": "24 vCPUs", "metric": "ready_pct", "published": 2.0, "twin": 2.5, "unit": "%"},
    **{"error": 0.5, "error_pct": 25.0, "kind": "predicted", "tolerance": 0.2, "tolerance_pct": 10.0, "pass": False},
    **{
        "promised": False,
        "range": False,
        "settled": True,
        "follows": "",
        "area": "cpu",
        "published_text": "2",
        "tolerance_text": "10 %",
        "reason": "known",
    },
    **{"note": "", "class": "cpu", "expected_class": "", "class_right": None, "words": "", "against": ""},
    "parameters": {"hosts.esx.clock": "x"},
}
"""A published figure that is missed, and was so when the evidence was accepted."""

SHORT = "--set run.duration='1 s' --set run.replications=1"


@pytest.mark.parametrize("line", PRINTING)
def test_every_result_has_three_forms_and_a_file(line, call, monkeypatch):
    monkeypatch.setattr(judge, "validate", lambda _studies, progress: [ROW])
    if line.startswith("compare"):
        call(f"simulate tiny.yaml {SHORT} -o a.json")
        call(f"simulate tiny.yaml {SHORT} -o b.json --set vms.db.load=2")
    if "tiny.yaml" in line:
        Path("tiny.yaml").write_text(TINY + "    unit: orders\n")
        line = f"{line} --set vms.web.memory=3GiB" if not line.startswith("diagnose") else line
    document = json.loads(call(f"{line} --format json").stdout)
    as_csv = call(f"{line} --format csv -q")
    assert as_csv.stderr == ""
    if as_csv.stdout:
        rows = list(csv.reader(io.StringIO(as_csv.stdout)))
        assert PRINTING[line.split(" --set vms.web")[0]] in rows[0]
        assert {len(row) for row in rows} == {len(rows[0])}
    written = call(f"{line} --out result.json")
    assert written.stdout == ""
    assert "wrote result.json" in written.stderr
    assert json.loads(Path("result.json").read_text()) == document
    assert json.loads(call(f"{line} -o - --format json").stdout) == document
    assert call(f"{line} -o result.csv -q").stderr == ""
    assert Path("result.csv").read_text() == as_csv.stdout
    assert not Path("-").exists()


def test_validate_ends_by_what_fails(call, monkeypatch):
    missed = [ROW]
    monkeypatch.setattr(judge, "validate", lambda _studies, progress: missed)
    line = "validate monster-vm --format csv -q"
    assert [call(f"{line} --fail-on {what}").code for what in ("regression", "any", "never")] == [0, 1, 0]
    missed = [{**ROW, "promised": True}]
    assert [call(f"{line} --fail-on {what}").code for what in ("regression", "any", "never")] == [1, 1, 0]
    assert call(line).code == 1


CONDITIONS = {
    "capacity tiny.yaml": ("CAPACITY", {"no-failover", "no-power-on", "no-room"}),
    "capacity tiny.yaml --failures 0 --memory 10% --vm 1x1GiB": ("CAPACITY", {"over-limits", "no-failover", "no-room"}),
    "capacity tiny.yaml --failures 0": ("CAPACITY", set()),
    "density tiny.yaml --vm web --max 2 --slo guest_cpu_pct<1": ("DENSITY", {"none"}),
    "density tiny.yaml --vm web --max 2 --slo guest_cpu_pct<99": ("DENSITY", set()),
    "diagnose --cluster full.yaml --no-what-if": ("DIAGNOSIS", {"info", "warning", "critical"}),
    "diagnose --cluster slow.yaml --no-what-if": ("DIAGNOSIS", {"info"}),
    "diagnose --cluster tiny.yaml --no-what-if": ("DIAGNOSIS", set()),
    "plan place tiny.yaml --failures 0 --vm 1x1GiB": ("PLACEMENT", {"moves", "unproven"}),
    # nobody knows the CPU demand, so nothing is proven
    f"plan balance tiny.yaml --failures 0 {SHORT}": ("PLACEMENT", {"unproven"}),
}
"""Command lines, where their conditions are, and which of these hold."""


@pytest.mark.parametrize("line", CONDITIONS)
def test_a_condition_that_holds_ends_with_1_after_the_result(line, call):
    for name, more in {"full": "measured: {cpu_usage_pct: 99}", "slow": "power_policy: balanced"}.items():
        Path(f"{name}.yaml").write_text(TINY.replace("    hypervisor: ", f"    {more}\n    hypervisor: "))
    group, holding = CONDITIONS[line]
    plain = call(line)
    assert plain.code == 0
    held = {name for name in getattr(conditions, group) if call(f"{line} --fail-on {name}").code == 1}
    assert held == holding
    for name in held:
        ended = call(f"{line} -q --fail-on {name}")
        assert ended.stdout == plain.stdout
        assert ended.stderr.startswith(f"warning: --fail-on {name}: ")


@pytest.mark.parametrize("words", ["capacity", "density", "diagnose", "plan survive", "plan balance", "validate"])
def test_what_fails_is_what_there_is_to_name(words):
    [option] = [each for each in LEAVES[words].params if each.name == "fail_on"]
    group = getattr(
        conditions, {"diagnose": "DIAGNOSIS", "validate": "VALIDATION"}.get(words, words.split()[0].upper()), None
    )
    assert [str(each) for each in option.type_descriptor.choices] == list(group or conditions.PLACEMENT)
    assert all(name in option.help for name in group or conditions.PLACEMENT)


# ---- stdin, quiet, verbose, progress


@pytest.mark.parametrize(
    "line",
    [
        f"simulate {{}} {SHORT}",
        "density {} --vm web --max 2 --slo guest_cpu_pct<99",
        "capacity {}",
        "plan balance {} --failures 0",
        "diagnose --cluster {} --no-what-if",
    ],
)
def test_a_scenario_comes_from_stdin(line, call):
    from_file = call(f"{line.format('tiny.yaml')} --format json")
    from_stdin = call(f"{line.format('-')} --format json", stdin=TINY)
    assert (from_stdin.code, from_stdin.stdout) == (from_file.code, from_file.stdout)
    refused = call(line.format("-"), stdin=TINY.replace("vcpus: 2", "vcpus: 0"))
    assert refused.code == 2
    assert "vms.db.vcpus: 0 [out-of-range]\n  --> stdin:12\n" in refused.stderr


def test_a_page_of_stdin_is_enough_to_run_again(call):
    first = call(f"simulate - {SHORT} --report page.html --format json", stdin=TINY)
    assert call("rerun page.html --format json").stdout == first.stdout


def test_quiet_and_verbose_hold_before_and_after_the_command(call):
    usual = call("simulate tiny.yaml -o result.json")
    assert usual.stderr == "wrote result.json\n"
    for line in ("-q simulate tiny.yaml -o result.json", "simulate tiny.yaml -o result.json --quiet"):
        assert call(line).stderr == ""
    for line in ("-v simulate tiny.yaml", "simulate tiny.yaml --verbose"):
        told = call(line).stderr
        assert f"reading {Path.cwd() / 'tiny.yaml'}, {len(TINY)} bytes" in told
        assert "done in " in told
        assert "no cache" in told
    assert call("simulate tiny.yaml -o result.json").stderr == usual.stderr  # nothing is left of it


def test_quiet_leaves_warnings_and_errors(call):
    assert call("simulate tiny.yaml -q --set vms.db.vcpus=0").stderr.startswith("error: ")
    late = call(f"simulate tiny.yaml {SHORT} -q --format json --set 'failures=[{{at: 9 s, fails: [esx1]}}]'")
    assert (late.code, late.stderr.split(":")[0]) == (0, "warning")


def test_progress_for_programs_is_lines_of_json(monkeypatch, capsys):
    reader, writer = os.pipe()
    monkeypatch.setenv(progress.DESCRIPTOR, str(writer))
    with progress.bar("simulating") as update:
        for done in range(5):
            update(done, 4)
    os.close(reader)
    with progress.bar("simulating") as update:
        update(1, 4)  # the reader is gone
    assert capsys.readouterr().err == ""
    os.close(writer)


def test_each_line_of_progress_for_programs_has_its_label_and_counts(monkeypatch):
    reader, writer = os.pipe()
    monkeypatch.setenv(progress.DESCRIPTOR, str(writer))
    with progress.labelled_bar("samples") as update:
        for label, done in (("one", 0), ("one", 1), ("two", 1), ("two", 4)):
            update(label, done, 4)
    os.close(writer)
    with os.fdopen(reader) as lines:
        told = [json.loads(line) for line in lines]
    assert [(each["label"], each["done"]) for each in told] == [("one", 0), ("two", 1), ("two", 4)]
    assert {(each["total"], each["unit"]) for each in told} == {(4, "samples")}


def test_progress_is_a_line_every_few_seconds_where_there_is_no_terminal(monkeypatch, capsys):
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with progress.bar("simulating") as update:
        for second in range(20):
            now = 100.0 + second
            update(second, 1_000)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"simulating: {at} of 1,000 runs, {at} s" for at in (5, 10, 15)]
    with streams.saying(quiet=True, verbose=False), progress.bar("simulating") as nobody:
        assert nobody is None


# ---- errors


@pytest.mark.parametrize(
    ("line", "said", "command"),
    [
        ("simulate", "missing argument 'SCENARIO.yaml'", "simulate"),
        ("plan survive", "missing argument 'CLUSTER.yaml'", "plan survive"),
        (
            "plan survive tiny.yaml --failures 65",
            "'--failures': '65' is not a whole number from 0 to 64",
            "plan survive",
        ),
        ("simulate tiny.yaml --jobs x", "'--jobs': 'x' is not a whole number from 1 to 1,024", "simulate"),
        ("lab cpu --seconds nan", "'--seconds': 'nan' is not a number from 0.05 to 600", "lab cpu"),
        (
            "capacity tiny.yaml --format tabel",
            "not one of table, json, csv, xlsx; did you mean table?",
            "capacity",
        ),
        ("validate --fail-on all", "'all' is not one of regression, any, never", "validate"),
        ("init x.yaml --hypervisor esx-7", "did you mean esxi-7.0?", "init"),
        ("vnuma --sized-on 2", "'2' is not SOCKETSxCORES", "vnuma"),
        ("simulate tiny.yaml --jbos 2", "no such option: --jbos; did you mean --jobs?", "simulate"),
        ("lab profile --format csv", "allowed: table, json", "lab profile"),
        ("diagnose", "nothing to check", "diagnose"),
        ("cache lst", "no command 'lst'; did you mean list?", "cache"),
        ("simualte", "did you mean simulate?", ""),
    ],
)
def test_bad_usage_points_to_the_help_of_its_command(line, said, command, call):
    ended = call(line)
    assert ended.code == 2
    assert ended.stdout == ""
    assert said in ended.stderr
    assert "alue error" not in ended.stderr
    assert ended.stderr.endswith(f"\nTry 'hypertwin{f' {command}' if command else ''} --help'.\n")


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ("--set hosts.esx1.clock=2500", "for example 2500 MHz"),
        ("--set hosts.esx1.clock=2.5", "for example 2.5 GHz"),
        ("--set hosts.esx1.clock=999999999999", "not in that range with any unit"),
        ("--set 'workloads.oltp.cpu=fast'", "write { mean: fast }"),
        ("--sweep 'workloads.oltp.cpu=slow,fast'", "--sweep workloads.oltp.cpu=slow: workloads.oltp.cpu"),
        ("--set hosts.esx1.hypervisor=vsphere7", "did you mean esxi-7.0?"),
        ("--set hosts.esx1.hypervisor=ESXi", "add the version: did you mean esxi-8.0?"),
        ("--set workloads.oltp.arrivals=10", "or { key: value }"),
        ("--set hosts.esx1.hypervisor=proxmox", "did you mean linux-6.6 (VE 8)"),
        ("--set 'storage.p={preset: ceph, nodes: esx1}'", "did you mean ceph-3x-hdd-nvme-log or ceph-3x-nvme or"),
        ("--set 'storage.p={preset: vsan, nodes: esx1}'", "--set storage.p={preset: vsan, nodes: esx1}: "),
    ],
)
def test_hints_say_what_was_meant(change, hint, call):
    ended = call(f"simulate tiny.yaml {change}")
    assert ended.code == 2
    assert hint in ended.stderr


# ---- completion


@pytest.mark.parametrize(
    ("shell", "has"),
    [
        ("bash", "complete -o default -F _hypertwin_completion hypertwin"),
        ("zsh", "#compdef hypertwin"),
        ("fish", "complete --command hypertwin"),
        ("powershell", "Register-ArgumentCompleter -Native -CommandName hypertwin"),
    ],
)
def test_the_completion_script_of_a_shell(shell, has, call):
    script = call(f"completion {shell}").stdout
    assert has in script
    assert f"_HYPERTWIN_COMPLETE=complete_{shell}" in script.replace(' = "', "=")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("hypertwin dens", ["density"]),
        ("hypertwin plan ev", ["evacuate"]),
        ("hypertwin simulate tiny.yaml --rep", ["--replications", "--report"]),
        ("hypertwin density tiny.yaml --format j", ["json"]),
        ("hypertwin --qu", ["--quiet"]),
        ("hypertwin examples monst", ["monster-vms"]),
        ("hypertwin presets vsan-osa", ["vsan-osa-all-flash", "vsan-osa-hybrid"]),
        ("hypertwin devices --kind nv", ["nvme"]),
        ("hypertwin devices P4610", ["P4610"]),
        ("hypertwin validate million", ["million-iops"]),
        ("hypertwin vnuma --hypervisor esxi-8", ["esxi-8.0"]),
        ("hypertwin init --hypervisor kv", ["kvm"]),
        ("hypertwin plan balance tiny.yaml --policy peak", ["peaks"]),
        ("hypertwin simulate ti", []),
        ("hypertwin simulate tiny.yaml --show answer,ho", ["answer,hosts"]),
        ("hypertwin simulate tiny.yaml --show hosts,hos", []),
        ("hypertwin density tiny.yaml --format = j", ["json"]),
        ("hypertwin density tiny.yaml --format=j", ["json"]),
        ("hypertwin density -- --fo", []),
        ("hypertwin density tiny.yaml --expl", ["--explain"]),
        ("hypertwin density tiny.yaml --explain --expl", []),
        ("hypertwin devices P4610 P4610 P46", ["P4610"]),
        ("hypertwin density 'open quo", []),
        ("hypertwin nonsense --fo", []),
    ],
)
def test_a_shell_completes(words, offered, capsys):
    at = str(len(words.split()) - 1)
    environment = {"_HYPERTWIN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": at}
    assert tab.answer(environment, sys.stdout.write) == 0
    assert capsys.readouterr().out.split() == offered


@pytest.mark.parametrize(
    ("shell", "line", "form"),
    [
        (
            "zsh",
            "hypertwin dens",
            """_arguments '*: :(("density":"Find how many VMs meet service-level objectives"))'\n""",
        ),
        ("zsh", "hypertwin presets vsan-osa-h", """_arguments '*: :(("vsan-osa-hybrid"))'\n"""),
        ("zsh", "hypertwin simulate ti", "_files\n"),
        ("fish", "hypertwin dens", "density\tFind how many VMs meet service-level objectives\n"),
        ("powershell", "hypertwin dens", "density:::Find how many VMs meet service-level objectives\n"),
        ("pwsh", "hypertwin presets vsan-osa-h", "vsan-osa-hybrid::: \n"),
        ("fish", "hypertwin plan survive ", ""),
    ],
)
def test_completions_have_the_form_of_the_shell(shell, line, form, capsys):
    tab.answer({"_HYPERTWIN_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line}, sys.stdout.write)
    assert capsys.readouterr().out == form


def test_powershell_sends_no_space_after_the_last_word(capsys):
    line = {"_TYPER_COMPLETE_ARGS": "hypertwin plan", "_TYPER_COMPLETE_WORD_TO_COMPLETE": ""}
    tab.answer({"_HYPERTWIN_COMPLETE": "complete_powershell", **line}, sys.stdout.write)
    assert "evacuate:::" in capsys.readouterr().out


@pytest.mark.parametrize(("line", "code"), [("hypertwin dens", 0), ("hypertwin plan survive ", 1)])
def test_fish_asks_whether_there_are_completions(line, code, capsys):
    asked = {"_TYPER_COMPLETE_FISH_ACTION": "is-args", "_TYPER_COMPLETE_ARGS": line}
    assert tab.answer({"_HYPERTWIN_COMPLETE": "complete_fish", **asked}, sys.stdout.write) == code
    assert capsys.readouterr().out == ""


def test_a_tab_does_not_wait_for_the_commands():
    """Importing Typer, or a command, takes longer than all else that a Tab does."""
    words = f"hypertwin capacity {ROOT / 'scenarios' / 'clusters.yaml'} --cluster "
    asked = {"_HYPERTWIN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "4"}
    code = "import sys; from hypertwin.cli.main import run; run([]); print(*sys.modules, sep='\\n', file=sys.stderr)"
    called = [sys.executable, "-c", code]
    tabbed = subprocess.run(called, env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert tabbed.stdout.split() == ["general", "database", "edge"]
    assert not {"typer", "rich", "hypertwin.cli.capacity", "hypertwin.runs.simulation"} & set(tabbed.stderr.split())
