"""Results that others measured, as campaigns: steps, repeats, VMs, and figures of each generator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import refused
from tests.python.ingest.benchmarks import load_samples as samples
from tests.python.ingest.benchmarks import test_benchmark_outputs, test_io_points

import hypertwin
from hypertwin.benchmark import imported
from hypertwin.benchmark.folder import Folder
from hypertwin.benchmark.plan import Plan
from hypertwin.scenario import loads
from hypertwin.studies import judge as studies
from hypertwin.studies import study

SCENARIO = """
name: old-campaign
run: {duration: 1 s, warmup: 200 ms, replications: 2}
hosts:
  h: {sockets: 1, cores_per_socket: 8, clock: 2.5 GHz, memory_per_node: 64 GiB, hypervisor: linux-6.12}
vms:
  db: {vcpus: 2, memory: 1 GiB, workload: oltp}
  web: {vcpus: 2, memory: 1 GiB, workload: paced}
  io: {vcpus: 2, memory: 1 GiB, workload: fio, array: nvme, vdisks: 1}
workloads:
  oltp: {arrivals: {closed: {population: 1}}, cpu: {mean: 2 ms}, delay: {mean: 8 ms}}
  paced: {arrivals: {open: {rate: 10 /s}}, cpu: {mean: 2 ms}}
  fio: {arrivals: {io: {outstanding: 4}}, block: 4 KiB, cpu: {mean: 2 us}}
arrays: {nvme: {protocol: local, raid: raid-0, disks: {device: P4610, count: 1}}}
"""


def sysbench(rate: float = 100, threads: int = 2, mean: float = 10) -> str:
    """Return output of sysbench 1.0."""
    return (
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\n"
        f"Number of threads: {threads}\nThreads started!\n\nSQL statistics:\n"
        f"    transactions:                        1000   ({rate:.2f} per sec.)\n\nGeneral statistics:\n"
        "    total time:                          10.0000s\n    total number of events:              1000\n\n"
        f"Latency (ms):\n         avg:                                   {mean:.2f}\n"
    )


def make(place: Path, *results: Path, group: str = "db", vms: int | None = None, **more: Any) -> tuple[Folder, Plan]:
    """Make the folder of a campaign of these results."""
    return imported.make(place / "campaign", loads(SCENARIO), list(results), group, vms, more.get("free", ()))


def runs(made: tuple[Folder, Plan]) -> dict[str, list[Any]]:
    """Return the runs of each step, by its title."""
    folder, plan = made
    return {step.title: list(folder.runs(step, plan.repeats)) for step in plan.steps}


def written(path: Path, text: str) -> Path:
    """Write a file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_results_with_one_load_are_repeats_of_one_step(tmp_path):
    files = [written(tmp_path / f"{n}.txt", sysbench(100 + n, threads)) for n, threads in enumerate((2, 4, 2))]
    found = runs(make(tmp_path, *files))
    assert list(found) == ["1 VM, threads 2", "1 VM, threads 4"]
    assert [[run["figures"]["throughput_per_s"] for run in each] for each in found.values()] == [[100, 102], [101]]
    assert [run["repeat"] for run in found["1 VM, threads 2"]] == [1, 2]


def test_a_folder_has_one_file_of_each_vm(tmp_path):
    for name, rate, mean in (("db10", 30, 30), ("db2", 10, 10)):
        written(tmp_path / "run" / name, sysbench(rate, 4, mean))
    written(tmp_path / "run/.hidden", "x")
    made = make(tmp_path, tmp_path / "run")
    ((run,),) = runs(made).values()
    assert made[1].steps[0].title == "2 VMs, threads 4"
    assert run["figures"] == {"throughput_per_s": 40, "response_ms_mean": pytest.approx((10 * 10 + 30 * 30) / 40)}
    assert {name: own["throughput_per_s"] for name, own in run["vms"].items()} == {"vm1": 10, "vm2": 30}
    raw = made[0].path / "steps/vms-2-threads-4/repeat-1"
    assert (raw / "vm1/out").read_text() == sysbench(10, 4, 10)  # db2 comes before db10


def test_a_folder_of_folders_has_one_result_in_each(tmp_path):
    for step in ("a", "b"):
        written(tmp_path / f"all/{step}/vm1", sysbench(threads=2 if step == "a" else 3))
    written(tmp_path / "all/b/vm2", sysbench(threads=3))
    assert list(runs(make(tmp_path, tmp_path / "all"))) == ["1 VM, threads 2", "2 VMs, threads 3"]


def test_several_runs_in_the_files_of_vms_belong_together(tmp_path):
    for vm in ("a", "b"):
        written(tmp_path / f"run/{vm}", sysbench(10, 1) + sysbench(20, 2))
    found = runs(make(tmp_path, tmp_path / "run"))
    assert {title: each[0]["figures"]["throughput_per_s"] for title, each in found.items()} == {
        "2 VMs, threads 1": 20,
        "2 VMs, threads 2": 40,
    }


def test_vms_that_share_a_result_share_its_load(tmp_path):
    file = written(tmp_path / "out", sysbench(100, threads=8))
    made = make(tmp_path, file, vms=4)
    ((run,),) = runs(made).values()
    assert made[1].steps[0].to_dict() == {"vms": 4, "threads": 2}
    assert run["figures"]["throughput_per_s"] == 100
    assert run["vms"] == {}
    with refused("bad-source", "8"):
        make(tmp_path / "x", file, vms=3)


def test_vms_share_a_rate_that_is_no_multiple_of_them(tmp_path):
    text = sysbench(50, 4).replace("Threads started!", "Target transaction rate: 50/sec\nThreads started!")
    _, plan = make(tmp_path, written(tmp_path / "out", text), group="web", vms=4)
    assert plan.steps[0].to_dict() == {"vms": 4, "threads": 1, "rate": 12.5}


def test_a_rate_needs_a_workload_with_open_arrivals(tmp_path):
    text = sysbench(50).replace("Threads started!", "Target transaction rate: 50/sec\nThreads started!")
    file = written(tmp_path / "out", text)
    made = make(tmp_path, file, group="web")
    assert made[1].steps[0].values == {"threads": 2, "rate": 50}
    assert made[1].load.settings(made[1].steps[0], loads(SCENARIO), "web") == {
        "workloads.paced.arrivals.open.rate": "50 /s"
    }
    with refused("unlike-benchmark"):
        make(tmp_path / "x", file, group="db")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("text", "title", "figures"),
    [
        (samples.PGBENCH_17, "1 VM, threads 8", {"throughput_per_s": 806.371, "response_ms_mean": 9.921}),
        (samples.HAMMERDB, "1 VM, threads 4", {"throughput_per_s": pytest.approx(460)}),
    ],
)
def test_databases_by_other_generators(tmp_path, text, title, figures):
    found = runs(make(tmp_path, written(tmp_path / "out", text)))
    assert {title: each[0]["figures"] for title, each in found.items()} == {title: figures}


def test_runs_of_vdbench_are_steps_of_io(tmp_path):
    made = make(tmp_path, written(tmp_path / "vdbench/flatfile.html", samples.FLAT).parent, group="io")
    _, plan = made
    assert [step.to_dict() for step in plan.steps] == [
        {"vms": 1, "depth": 16, "block": "8 KiB", "read_pct": 70, "random_pct": 100},
        {"vms": 1, "depth": 32, "rate": 2000, "block": "8 KiB", "read_pct": 70, "random_pct": 100},
    ]
    settings = plan.load.settings(plan.steps[1], loads(SCENARIO), "io")
    assert settings["workloads.fio.arrivals.io.outstanding"] == 32
    assert settings["workloads.fio.arrivals.io.rate"] == "2000 /s"
    assert settings["workloads.fio.block"] == "8192 B"
    raw = made[0].path / "steps" / plan.steps[0].name / "repeat-1"
    assert (raw / "all/out").read_text() == samples.FLAT


def test_an_archive_of_cbt_is_a_step_of_its_clients(tmp_path):
    made = make(tmp_path, samples.write_archive(tmp_path / "cbt"), group="io")
    assert made[1].steps[0].to_dict() == {
        **{"vms": 2, "depth": 32, "disks": 2, "block": "4 KiB", "read_pct": 0, "random_pct": 100}
    }
    ((run,),) = runs(made).values()
    assert run["figures"]["iops"] == 602
    assert run["started"] == "2026-05-04T09:00:00.000+00:00"
    raw = made[0].path / "steps" / made[1].steps[0].name / "repeat-1/all"
    assert (raw / "json_output.1.client2").is_file()
    settings = made[1].load.settings(made[1].steps[0], loads(SCENARIO), "io")
    assert settings["vms.io.vdisks"] == 2
    assert settings["vms.io.count"] == 2


def test_a_summary_of_hcibench_has_its_vms(tmp_path):
    path = written(tmp_path / f"{test_io_points.CASE}-res.txt", samples.RESULT_FIO)
    made = make(tmp_path, path, group="io")
    step = made[1].steps[0]
    assert step.vms > 1 and step.values["disks"] and made[1].load.title == "HCIBench, imported"
    same, _ = make(tmp_path / "same", path, group="io", vms=step.vms)
    assert same.plan().steps == (step,)
    with refused("bad-source", "leave out --vms"):
        make(tmp_path / "x", path, group="io", vms=step.vms + 1)


def test_jobs_and_size_of_fio_are_part_of_the_load(tmp_path):
    text = samples.fio_report("a", iodepth="4", numjobs="3", size="2g", fsync="1")
    _, plan = make(tmp_path, written(tmp_path / "fio.json", text), group="io")
    step = plan.steps[0]
    assert step.to_dict() == {
        **{"vms": 1, "depth": 12, "jobs": 3, "block": "4 KiB", "read_pct": 0, "random_pct": 100, "sync_pct": 100},
        "size": "2 GiB",
    }
    settings = plan.load.settings(step, loads(SCENARIO), "io")
    assert settings["workloads.fio.arrivals.io.workers"] == 3
    assert settings["workloads.fio.working_set"] == f"{2 * 2**30} B"


def test_the_plan_of_a_campaign_is_read_again_as_it_was(tmp_path):
    folder, plan = make(tmp_path, samples.write_archive(tmp_path / "cbt"), group="io")
    again = Folder.open(folder.path).plan()
    assert (again.steps, again.repeats, again.name, again.text) == (plan.steps, plan.repeats, "old-campaign", plan.text)


BAD: list[tuple[str, dict[str, str], str]] = [
    ("no throughput", {"out": samples.PGBENCH_12.replace("1001.2", "0.0").replace("1000.96", "0.0")}, "source-lacks"),
    ("no number of threads", {"out": sysbench().replace("Number of threads: 2\n", "")}, "source-lacks"),
    ("0 threads", {"out": sysbench(threads=0)}, "bad-source"),
    (
        "a decimal comma: transactions: 1000 .100,00 per sec",
        {"out": sysbench().replace("100.00", "100,00")},
        "bad-source",
    ),
    ("a decimal comma: avg: 10,00", {"out": sysbench().replace("10.00\n", "10,00\n")}, "bad-source"),
    ("limit of its rate", {"out": samples.PGBENCH_PACED}, "bad-source"),
    (
        "a run that was aborted",
        {"out": samples.PGBENCH_17 + "pgbench: error: Run was aborted; the above results are incomplete.\n"},
        "bad-source",
    ),
    (
        "a test of files by sysbench",
        {"out": sysbench().replace("Threads started!", "Extra file open flags: directio")},
        "bad-source",
    ),
    ("no reader recognises", {"out": "x\n"}, "unknown-source"),
    ("no reader recognises", {"run/a": sysbench(), "run/notes": "x\n"}, "unknown-source"),
    ("threads 3 in b", {"run/a": sysbench(), "run/b": sysbench(threads=3)}, "bad-source"),
    ("2 runs in b", {"run/a": sysbench(), "run/b": sysbench() + sysbench()}, "bad-source"),
    ("pgbench with", {"run/a": sysbench(threads=8), "run/b": samples.PGBENCH_17}, "bad-source"),
    ("results of pgbench", {"run/a/1": sysbench(), "run/b/1": samples.PGBENCH_17}, "bad-source"),
    ("no measurements", {"out": sysbench().partition("SQL statistics")[0] + "Threads fairness:\n"}, "source-lacks"),
]


@pytest.mark.parametrize(("words", "files", "code"), BAD, ids=[words for words, *_ in BAD])
def test_a_bad_result_is_one_clear_error_and_makes_nothing(tmp_path, words, files, code):
    for name, text in files.items():
        written(tmp_path / name, text)
    with refused(code, words) as caught:
        make(tmp_path, tmp_path / next(iter(files)).split("/")[0])
    (mistake,) = caught.value.mistakes
    assert mistake.allowed and mistake.hint and str(tmp_path) in str(caught.value)
    assert not (tmp_path / "campaign").exists()


def test_an_empty_folder_and_an_unknown_group(tmp_path):
    (tmp_path / "run").mkdir()
    with refused("source-lacks", "an empty folder"):
        make(tmp_path, tmp_path / "run")
    file = written(tmp_path / "out", sysbench())
    with refused("unknown-reference", "dbx"):
        make(tmp_path, file, group="dbx")
    with refused("out-of-range", "one step"):
        make(tmp_path, file, free=["workloads.oltp.cpu.mean"])


def test_a_mix_of_block_sizes_is_refused(tmp_path):
    report = json.loads(samples.fio_report("a"))
    report["global options"]["bssplit"] = "4k/60:64k/40"
    del report["global options"]["bs"]
    with refused("unlike-benchmark", "a mix of block sizes"):
        make(tmp_path, written(tmp_path / "fio.json", json.dumps(report, indent=2)), group="io")


def test_a_campaign_without_a_folder_keeps_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = [written(tmp_path / f"{n}", sysbench(97 * n, n)) for n in (1, 2)]
    before = sorted(tmp_path.iterdir())
    found = hypertwin.import_benchmark(loads(SCENARIO), files, group="db").document
    assert sorted(tmp_path.iterdir()) == before
    assert not found["blind"]
    assert found["load"] == "sysbench, imported"
    assert found["missing"] == [] and found["first_run"] is None
    assert [step["limit"]["right"] for step in found["steps"]] == [None, None]
    assert {score["figure"]: score["of"] for score in found["scores"]} == {"throughput": 2, "mean latency": 2}


def test_notes_on_results_are_those_of_their_runs_and_of_the_answer(tmp_path):
    failed = samples.PGBENCH_17.replace("transactions: 0 (0.000%)", "transactions: 80 (1.000%)")
    files = [written(tmp_path / name, text) for name, text in (("a", samples.PGBENCH_17), ("b", failed), ("c", failed))]
    found = hypertwin.import_benchmark(loads(SCENARIO), files, group="db").document
    note = "number of failed transactions: 80 (1.000%)"
    assert [run["notes"] for step in found["steps"] for run in step["runs"]] == [[], [note], [note]]
    assert found["notes"] == [f"1 VM, threads 8, repeat 2 and 1 more run: {note}."]


def test_notes_of_all_vms_and_of_all_runs_are_there_once(tmp_path):
    lost = sysbench() + "sysbench 1.0.20\n[ 1s ] thds: 2 tps: 80.00 lat (ms,95%): 12.00\nFATAL: gone\n"
    for vm in ("a", "b"):
        written(tmp_path / "run" / vm, lost.replace("\nGeneral", "\n    ignored errors: 7 (0.70 per sec.)\n\nGeneral"))
    found = hypertwin.import_benchmark(loads(SCENARIO), tmp_path / "run", group="db").document
    notes = ["ignored errors: 7", "a run without a summary: it was ended, or has failed"]
    assert found["steps"][0]["runs"][0]["notes"] == notes
    assert found["notes"] == [f"All runs: {note}." for note in notes]


def test_a_guessed_number_of_disks_is_a_note(tmp_path):
    ((run,), _) = runs(make(tmp_path, written(tmp_path / "flatfile.html", samples.FLAT), group="io")).values()
    assert "a queue of 31.9 I/Os with 16 threads of each disk (SD) means 2 disks" in run["notes"]


def test_a_failed_job_of_fio_is_refused(tmp_path):
    report = json.loads(samples.fio_report("a"))
    report["jobs"][0]["error"] = 5
    with refused("bad-source", "a job that ended with error 5"):
        make(tmp_path, written(tmp_path / "fio.json", json.dumps(report, indent=2)), group="io")


def test_the_study_of_a_campaign_gives_the_same_verdicts(tmp_path):
    repeats = {1: [(90, 12), (111, 8)], 2: [(100, 400), (400, 100)], 4: [(200, 20)]}
    texts = [sysbench(rate, threads, mean) for threads, each in repeats.items() for rate, mean in each]
    files = [written(tmp_path / f"{number}", text) for number, text in enumerate(texts)]
    found = hypertwin.import_benchmark(loads(SCENARIO), files, group="db", out=tmp_path / "out").document
    figures = [figure for step in found["steps"] for figure in step["figures"]]
    assert [figure["promise"] for figure in figures] == [
        *("±42%", "none, repeats differ", "none, repeats differ", "none, repeats differ", "±15%", "±20%")
    ]
    judged = studies.validate([study.read(tmp_path / "out/study")])
    assert [row["pass"] for row in judged] == [figure["within"] for figure in figures]
    assert "No verdict, because repeats differ by more than 25%: 3 figures." in found["notes"]
    assert {score["figure"]: score["of"] for score in found["scores"]} == {"throughput": 2, "mean latency": 1}


def test_uneven_repeats_are_complete(tmp_path):
    text = test_benchmark_outputs.SYSBENCH_1_0.replace("Number of threads: 32", "Number of threads: 2")
    files = [written(tmp_path / name, sysbench(97) if name != "c" else text) for name in "abc"]
    files.append(written(tmp_path / "d", sysbench(50, 1)))
    found = hypertwin.import_benchmark(loads(SCENARIO), files, group="db").document
    assert [len(step["runs"]) for step in found["steps"]] == [3, 1]
    assert found["missing"] == []
