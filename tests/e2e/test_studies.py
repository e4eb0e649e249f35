"""The studies themselves: which published figures the twin reaches, at full length, and what each says of itself."""

from __future__ import annotations

import pytest

from hypertwin import library
from hypertwin.runs.simulation import Point, run_points
from hypertwin.scenario import load
from hypertwin.show.comparison import MOST_FREE
from hypertwin.studies import judge, record
from hypertwin.studies import study as studies
from hypertwin.studies.accept import WIDE_PCT

OVER_A_QUARTER = {
    *("ceph-hci-quincy-reef", "cpu-limit-example", "kvm-cern", "oracle-vmc-aws", "pgbench-azure", "qemu-librbd"),
    *("qemu-rdma-migration", "scaled-sysbench", "sql-server-2008-vsphere4", "vsphere51-million-iops"),
}
"""Sources with fewer than four figures for each parameter that they had to set."""

OF_DRIVES = {
    f"{key} of drives"
    for key in (
        *("random_read", "random_write", "sequential_read", "sequential_write", "read_latency", "write_latency"),
        *("flush", "seek_read", "write_cache"),
    )
}
"""Keys of drives that are free in each drive of the table."""

OF_CEPH = {
    "cycles of Luminous over Reef",
    "cycles of krbd",
    "cycles of a gateway of Ceph",
    "cycles of a message of Ceph",
    "cycles of a byte in a message of Ceph",
    "cycles of a message by which an OSD of Ceph reads for another",
    "cycles of an erasure-coded operation of Ceph",
    *(f"cycles of a {what} of Ceph{how}" for what in ("read", "write") for how in ("", " that is encrypted")),
    *(f"cycles of a byte that Ceph {does}" for does in ("reads", "writes", "encrypts")),
}
"""What operations of Ceph cost: constants of its table."""

OF_THE_MODEL = {
    "density.slo",
    "cycles of pvscsi",
    "cycles of pvscsi from ESXi 5.1 on",
    "cycles of lsi-sas",
    "cycles of NVMe over TCP on ESXi",
    "cycles of virtio-blk's guest",
    "cycles of an I/O thread",
    "wait of QEMU's main loop",
    "wait of virtio-scsi",
    "wait of Windows",
    "part of a synchronous write in which the controller takes no other",
    "variation of the CPU time of storage services",
    *OF_CEPH,
    *OF_DRIVES,
}
"""Free parameters that are no path into a scenario: an objective, constants of the core, and the table of drives."""

UNNAMED = {
    "ceph-1tib": 1,
    "ceph-erasure-ways": 1,
    "ceph-micron": 1,
    "ceph-one-osd": 4,
    "ceph-rhcs-all-flash": 5,
    "ceph-vm-tails": 2,
    "chunk-store": 2,
    "esxi-vnuma": 50,
    "million-iops": 4,
    "monster-vm": 5,
    "oracle-vsphere4": 2,
    "proxmox-ha-logs": 1,
    "qemu-free-page-hints": 1,
    "scaled-sysbench": 3,
    "sql-server-2008-vsphere4": 2,
    "vsan6-hybrid": 1,
    "zswap-kernel-build": 1,
}
"""Figures of which the source neither says what limits nor which way they go: no new one without a look."""


LONG = {
    "ceph-micron",
    "ceph-osd-cpu",
    "ceph-pacific-quincy",
    "ceph-vm-tails",
    "chunk-store",
    "esxi-vnuma",
    "monster-vm",
}
"""Studies of more than ten seconds of CPU; `make lint` sees that `make evidence` has run them all on this core."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in LONG))
        for name in studies.names()
        if not studies.find(name).slow
    ],
)
def test_each_figure_is_what_was_recorded_and_a_miss_is_explained(name):
    """A miss that is reached again must lose its reason; a figure that leaves its tolerance has regressed."""
    rows = judge.validate([studies.find(name)])
    assert judge.holds(rows)
    outside = {(row["case"], row["metric"]) for row in rows if row["pass"] is False}
    assert outside == {(row.case, row.metric) for row in studies.find(name).rows if row.missed}


def test_every_figure_is_recorded():
    there = {(name, row.case, row.metric) for name in studies.names() for row in studies.find(name).rows}
    assert record.recorded(library.studies()).keys() == there


def test_every_study_declares_its_parameters_and_whether_it_restates_data_sheets():
    texts = {name: (library.studies() / name / studies.FILE).read_text() for name in studies.names()}
    assert [name for name, text in texts.items() if "\nparameters:" not in text] == []
    restating = [name for name in texts if studies.find(name).kind]
    assert restating == ["drive-data-sheets"]


def test_a_wide_tolerance_has_the_spread_of_its_source_as_a_reason():
    """Of those that follow from others, the others are judged."""
    wide = {
        name
        for name in studies.names()
        for row in studies.find(name).rows
        if not (row.accept.is_bound or row.unreachable or row.follows)
        and row.accept.above(figure := float(row.published)) > abs(figure) * (WIDE_PCT + 1e-9) / 100
    }
    assert wide == {name for name in studies.names() if studies.find(name).spread}


def test_what_a_parameter_was_set_by_is_no_prediction():
    calibrated = {
        (name, row.case)
        for name in ("vsphere51-million-iops", "oracle-vmc-aws", "ceph-micron")
        for row in studies.find(name).rows
        if row.kind == "calibrated"
    }
    assert calibrated == {
        ("vsphere51-million-iops", "one-vm"),
        *(("oracle-vmc-aws", case) for case in ("one-8", "one-32")),
        *(("ceph-micron", case) for case in ("read", "write", "mixed")),
    }


def test_the_monster_vm_is_calibrated_alone_and_its_yield_on_two():
    rows = studies.find("monster-vm").rows
    assert {row.case for row in rows if row.kind == "calibrated"} == {"solo-24-1x", "solo-24-3x", "pair-3x"}


def test_a_thirteenth_oracle_vm_costs_where_four_want_more_than_a_host_has():
    oracle = studies.find("oracle-vmc-aws")
    short = {"run.duration": "2 s", "run.warmup": "2 s", "run.replications": 1}

    def thirteen_over_twelve(memory: str) -> float:
        sets = [{**oracle.cases[case], **short, "vms.ora.memory": memory} for case in ("twelve-16", "thirteen-16")]
        points = run_points([Point(each, load(oracle.scenario, each)) for each in sets]).points
        twelve, thirteen = (point["groups"]["ora"]["throughput_per_s"] for point in points)
        return thirteen / twelve

    assert thirteen_over_twelve("126 GiB") > 1.02
    assert thirteen_over_twelve("144 GiB") < 0.93


def test_no_virtual_node_and_nothing_of_esxi_6_0_was_calibrated_on():
    calibrated = [row for row in studies.find("esxi-vnuma").rows if row.kind == "calibrated"]
    assert {row.metric for row in calibrated} == {"PhotoWorxx", "memory copy"}
    assert len(calibrated) == 6
    assert all(row.case.startswith("6.5-") for row in calibrated)


def test_only_the_objective_of_chunk_store_was_calibrated():
    rows = studies.find("chunk-store").rows
    assert [row.case for row in rows if row.kind == "calibrated"] == ["gen6-42"]


def test_only_one_job_of_a_drive_and_ten_of_one_were_calibrated_for_synchronous_writes():
    rows = studies.find("flush-rates").rows
    drives = {row.case for row in rows if row.kind == "calibrated"}
    one_job = {f"{drive}-1" for drive in ("P3700", "P3600", "PM863", "SM863", "850-PRO", "970-PRO", "KC3000")}
    assert drives == {*one_job, "PM863-10"}


def test_only_the_longest_studies_are_left_to_the_page_of_all_figures():
    large = ["ceph-1tib", "ceph-erasure-code", "ceph-hci-quincy-reef"]
    large += ["ceph-pacific-quincy", "ceph-rhcs-all-flash", "ceph-threads-per-osd"]
    assert [name for name in studies.names() if studies.find(name).slow] == [*large, "scaled-sysbench"]


def test_each_figure_has_the_class_that_its_source_names_and_the_words_for_it():
    unnamed = {name: sum(not row.expected for row in studies.find(name).rows) for name in studies.names()}
    assert {name: count for name, count in unnamed.items() if count} == UNNAMED
    assert all(row.words for name in studies.names() for row in studies.find(name).rows if row.expected)


def test_free_parameters_are_at_most_a_quarter_of_a_source_or_it_is_known():
    found = [studies.find(name) for name in studies.names()]
    assert {study.name for study in found if MOST_FREE * len(study.parameters) > len(study.rows)} == OVER_A_QUARTER
    calibrated = {study.name for study in found if any(row.kind == "calibrated" for row in study.rows)}
    assert {study.name for study in found if study.parameters} == calibrated


@pytest.mark.parametrize("name", [name for name in studies.names() if studies.find(name).parameters])
def test_free_parameters_are_in_the_scenario(name):
    study = studies.find(name)
    asked = [case for case in study.cases if case not in study.questions or study.questions[case].name != "durability"]
    scenarios = {study.scenario_of(case) for case in asked}
    for path in study.parameters.keys() - OF_THE_MODEL:
        for file in scenarios:
            data = load(file).data
            for key in path.split("."):
                data = data[key]
