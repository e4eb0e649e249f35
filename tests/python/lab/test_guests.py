"""Guests of `hypertwin lab vm`: their parts, what their lines mean, and what is said of them (nothing boots)."""

from __future__ import annotations

import os
import statistics
import struct
from pathlib import Path

import pytest

from hypertwin import scenario
from hypertwin.errors import ScenarioError
from hypertwin.lab import guest, qemu, vm
from hypertwin.lab.qemu import Account, Line
from hypertwin.show import guests as report
from hypertwin.show import view as views

SECOND_NS = 1_000_000_000


def test_a_session_has_the_means_it_was_asked_for_and_varies_like_an_exponential():
    made = guest.session(40, "guest 1 session 1")
    assert made == guest.session(40, "guest 1 session 1")
    assert made != guest.session(40, "guest 1 session 2")
    assert statistics.fmean(made.think_ms) == pytest.approx(40, abs=0.5)
    assert statistics.fmean(made.burst_share) == pytest.approx(1000, abs=1)
    assert 0.9 < guest.variation(made.burst_share) < 1.0
    assert guest.variation([5, 5, 5]) == 0
    rows = guest.TABLE_ROWS
    assert made.work(0, 3 * rows) == pytest.approx(3 * rows, rel=1e-3)
    assert made.work(rows + 2, rows + 4) == pytest.approx(sum(made.burst_share[2:4]) / 1000)


def test_the_table_of_a_session_is_what_the_script_reads():
    lines = guest.Session(think_ms=(7, 1234), burst_share=(500, 1500)).table().splitlines()
    assert lines == ["0.007 7000 500", "1.234 1234000 1500"]


def elf(*headers: int) -> bytes:
    """A 64-bit ELF program that has program headers of these types and nothing else."""
    start = 64
    head = (
        b"\x7fELF\x02".ljust(32, b"\0") + struct.pack("<Q", start) + b"\0" * 14 + struct.pack("<HH", 56, len(headers))
    )
    return head.ljust(start, b"\0") + b"".join(struct.pack("<I", kind).ljust(56, b"\0") for kind in headers)


@pytest.mark.parametrize(("program", "static"), [(elf(1, 1), True), (elf(6, 3, 1), False)])
def test_a_busybox_that_needs_libraries_is_refused(tmp_path, monkeypatch, program, static):
    busybox = tmp_path / "busybox"
    busybox.write_bytes(program)
    busybox.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    if static:
        assert guest.busybox() == busybox
    else:
        with pytest.raises(guest.GuestPartMissingError, match="busybox-static"):
            guest.busybox()


def test_missing_parts_say_how_to_install_them(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for part in (guest.qemu, guest.busybox):
        with pytest.raises(guest.GuestPartMissingError, match="apt install qemu-system-x86 busybox-static") as caught:
            part()
        assert caught.value.exit_code == 1


def test_a_kernel_is_known_by_its_magic_number(tmp_path):
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_bytes(b"\0" * 0x202 + b"HdrS" + b"\0" * 100)
    bad.write_bytes(b"#!/bin/sh\n")
    assert guest.kernel(good) == good
    for wrong in (bad, tmp_path / "missing", tmp_path):
        with pytest.raises(guest.NotAKernelError, match=f"--kernel {wrong}") as caught:
            guest.kernel(wrong)
        assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("plan", "code", "argument"),
    [
        (vm.Plan(cpus="nine"), "bad-affinity", "cpus"),
        (vm.Plan(cpus="3-1"), "bad-affinity", "cpus"),
        (vm.Plan(cpus=""), "bad-affinity", "cpus"),
        (vm.Plan(cpus="9999"), "affinity-outside-host", "cpus"),
        (vm.Plan(cpus=str(min(os.sched_getaffinity(0))), vcpus=2), "vm-wider-than-host", "vcpus"),
    ],
)
def test_a_plan_that_this_machine_cannot_run_is_one_clear_mistake(tmp_path, plan, code, argument):
    out = tmp_path / "out"
    with pytest.raises(ScenarioError) as caught:
        vm.measure(plan, out)
    [mistake] = caught.value.mistakes
    assert (mistake.code, mistake.path) == (code, argument)
    assert not out.exists()


def test_numbers_of_cpus_are_written_as_the_kernel_lists_them():
    assert qemu.written([0]) == "0"
    assert qemu.written([7, 0, 1, 2, 4]) == "0-2,4,7"


def test_kvm_that_does_not_work_is_named_and_refused_when_it_was_asked_for(tmp_path, monkeypatch):
    settings = qemu.Settings(Path("/bin/false"), tmp_path, tmp_path, "kvm", 1, 96, 0)
    monkeypatch.setattr(qemu, "KVM", tmp_path / "kvm")
    assert vm._accelerator(vm.Plan(accel="tcg"), settings, [0], tmp_path) == ("tcg", "asked for")
    kind, why = vm._accelerator(vm.Plan(accel="auto"), settings, [0], tmp_path)
    assert (kind, why) == ("tcg", f"KVM cannot be used: there is no {tmp_path / 'kvm'}")
    with pytest.raises(qemu.GuestError, match="--accel tcg"):
        vm._accelerator(vm.Plan(accel="kvm"), settings, [0], tmp_path)
    # the device is there, but what should run a guest with it ends at once
    (tmp_path / "kvm").touch()
    cpu = min(os.sched_getaffinity(0))
    kind, why = vm._accelerator(vm.Plan(accel="auto"), settings, [cpu], tmp_path)
    assert kind == "tcg"
    assert "does not boot" in why


def said(second: float, words: str, run_s: float, wait_s: float) -> Line:
    """A line that came `second` seconds into a run, when its vCPU had run and waited so long."""
    at = round(second * SECOND_NS)
    return Line(at, tuple(words.split()), (Account(round(run_s * 1e9), round(wait_s * 1e9), 1),))


SESSION = guest.Session(think_ms=(10, 30), burst_share=(500, 1500))

# ten seconds in which the guest was idle for three, and its vCPU ran for four and waited for another three
LINES = [
    said(0.0, "G 1000000 0 0 0 0 0 0 0 0 0 0 0.00", 5.0, 1.0),
    said(0.5, "S 1 1500000 10 200000", 5.2, 1.2),
    said(5.0, "G 6000000 300 0 50 150 0 0 0 0 40 25 0.50", 7.0, 2.0),
    said(8.5, "S 1 9500000 90 4200000", 8.4, 3.4),
    said(10.0, "G 11000000 600 0 100 300 0 0 0 0 65 50 0.80", 9.0, 4.0),
]


def test_what_guest_and_host_say_between_the_first_and_the_last_line():
    seen = vm.view("guest-1", LINES, 1, [SESSION])
    assert seen.cpu_pct == pytest.approx(70)
    assert seen.steal_pct == 0
    assert seen.run_queue == pytest.approx(1.3)
    assert seen.throughput_per_s == pytest.approx(80 / 8)
    assert seen.response_ms == pytest.approx(4000 / 80)
    assert seen.transactions == 80
    assert (seen.run_pct, seen.wait_pct) == (pytest.approx(40), pytest.approx(30))
    # 0.4 s of CPU a second, and ten bursts of mean length a second
    assert seen.burst_ms == pytest.approx(40)
    assert seen.load1 == 0.8
    times = vm.series(LINES, 0, 1)
    assert [point["time_s"] for point in times] == [5, 10]
    assert [point["run_pct"] for point in times] == [pytest.approx(40), pytest.approx(40)]
    assert [point["cpu_pct"] for point in times] == [pytest.approx(70), pytest.approx(70)]


def test_two_vcpus_count_twice():
    doubled = [Line(line.host_ns, line.words, line.accounts * 2) for line in LINES]
    seen = vm.view("guest-1", doubled, 2, [SESSION])
    assert seen.cpu_pct == pytest.approx(85)  # 3 of 20 CPU seconds idle
    assert seen.run_pct == pytest.approx(40)
    assert seen.burst_ms == pytest.approx(80)


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (LINES[:2], "measure longer"),
        ([LINES[0], LINES[1], LINES[4]], "finished too little"),
        ([said(line.host_ns / 3e9, " ".join(line.words), 0, 0) for line in LINES], "clock of guest-1 runs at 3.00"),
    ],
)
def test_too_little_or_a_wrong_clock_is_an_error_and_no_figure(lines, what):
    with pytest.raises(qemu.GuestError, match=what):
        vm.view("guest-1", lines, 1, [SESSION])


def view(cpu: float, run: float, wait: float, steal: float = 0.0) -> vm.View:
    return vm.View(cpu, 1.5, steal, 10.0, 50.0, 100, 20.0, 0.5, ({"run_pct": run, "wait_pct": wait},))


@pytest.mark.parametrize(
    ("seen", "accelerator", "differ", "words"),
    [
        (view(80, 35, 45), "tcg", True, ["different stories", "80 % busy", "waits 45 %", "is not told"]),
        (view(36, 35, 45, 44), "kvm", False, ["36 % busy", "waits 45 %", "steal time says 44 %"]),
        (view(40, 39, 2), "tcg", False, ["agree", "40 % busy", "39 % run"]),
    ],
)
def test_the_sentence_says_whether_guest_and_host_agree(seen, accelerator, differ, words):
    assert vm.differ(seen) is differ
    told = vm.story("guest-1", seen, accelerator)
    assert all(word in told for word in words), told


ALONE = vm.Calibration(20.0, 0.95, 40.0, 0.95, 0.2, 1000, 300, 16.0, 21.0, 32.0, 1.0)


def test_the_prediction_is_a_scenario_anybody_can_run(tmp_path):
    plan = vm.Plan(guests=2, sessions=2)
    predicted = vm.predict(plan, [0], "kvm", ALONE, tmp_path)
    data = scenario.load(tmp_path / vm.SCENARIO).data
    assert sorted(data["vms"]) == sorted(predicted["guests"]) == ["guest-1", "guest-2"]
    assert data["workloads"]["loop"]["arrivals"]["closed"]["population"] == 2
    for each in predicted["guests"].values():
        # two such guests want 120 % of the CPU: the law of utilisation, X = U / S
        assert each["throughput_per_s"] * 0.020 == pytest.approx(each["run_pct"] / 100, rel=0.05)
        assert each["wait_pct"] > 10
        # KVM tells the guest of the wait, which its CPU % leaves out then
        assert each["steal_pct"] == each["wait_pct"]
        assert each["cpu_pct"] < each["run_pct"] + 10
    assert not vm.predict(plan, [0], "tcg", ALONE, tmp_path)["guests"]["guest-1"]["steal_pct"]


def test_the_page_shows_guest_host_and_twin():
    figures = {"cpu_pct": 80.0, "run_queue": 1.5, "steal_pct": 0.0, "run_pct": 35.0, "wait_pct": 45.0}
    twin = {**figures, "throughput_per_s": 11.0, "response_ms": 45.0}
    seen = view(80, 35, 45)
    compared = vm._compare("guest-<b>", seen, twin, "tcg")
    result = {
        "version": "0.1.0",
        "accelerator": "tcg",
        "accelerator_note": "asked for",
        "host": {"cpu": "a CPU", "logical_cpus": 2, "cpus": "0", "kernel": "6.18", "hz": 250},
        "plan": {"guests": 1, "vcpus": 1, "sessions": 2},
        "calibration": {"burst_ms": 20.0, "think_ms": 40.0},
        "prediction": {"written_at": "then", "scenario_file": "scenario.yaml"},
        "measurement": {
            "started_at": "later",
            "seconds": 10.0,
            "steal_pct": 9.0,
            "foreign_pct": 0.0,
            "load1": 1.0,
            "disturbed": True,
        },
        "guests": [{**compared, "series": vm.series(LINES, 0, 1)}],
        "errors": vm._errors([compared]),
    }
    assert result["errors"]["throughput_pct"] == pytest.approx(10)
    assert result["errors"]["response_pct"] == pytest.approx(10)
    shown = report.view(result)
    (table,) = views.tables_of(shown)
    assert [views.head(each) for each in table["columns"][2:5]] == [
        "guest: CPU %",
        "guest: run queue",
        "guest: steal %",
    ]
    assert [(row["guest"], row["by"]) for row in table["rows"]] == [("guest-<b>", "measured"), ("guest-<b>", "twin")]
    assert shown["confidence"][0]["text"].startswith("Disturbed: ")
    assert set(report.NOTES) <= set(shown["assumptions"])
