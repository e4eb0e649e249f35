"""The million-iops study: both rigs are one set of parameters, and the figures have the causes that the study names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypertwin import load, simulate

STUDY = Path(__file__).resolve().parents[2] / "studies" / "million-iops"
SHORT = {"run.duration": "200 ms", "run.replications": 1}
OWN = {
    ("calibrated_on",),
    ("description",),
    ("name",),
    ("arrays", "san", "front_end_ports"),
    ("arrays", "san", "luns"),
    ("hosts", "esx", "adapters", "ports"),
    *(("vms", "iometer", key) for key in ("controllers", "count", "vcpus", "vdisks")),
}
"""What a rig may have for itself: how much of everything it is made of."""


def leaves(data: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every value by its path."""
    if not hasattr(data, "items"):
        return {path: data}
    return {key: value for name, part in data.items() for key, value in leaves(part, (*path, name)).items()}


def point(file: str, **changes: Any) -> dict[str, Any]:
    (only,) = simulate(STUDY / file, overrides={**SHORT, **changes}).points
    return only


def test_both_rigs_have_the_same_parameters():
    multi, single = (leaves(load(STUDY / file).data) for file in ("multi-vm.yaml", "single-vm.yaml"))
    assert {path for path in multi.keys() | single.keys() if multi.get(path) != single.get(path)} <= OWN


def test_each_rig_has_the_bottleneck_that_the_study_names():
    six = point("multi-vm.yaml")
    assert six["bottleneck"]["station"] == "iometer-vcpus"
    assert six["bottleneck"]["next_station"] == "esx-ports"
    assert point("single-vm.yaml")["bottleneck"]["station"] == "iometer-controllers"
    large = point("multi-vm.yaml", **{"workloads.iometer.block": "64 KiB"})
    assert large["bottleneck"]["station"] == "esx-ports"


def test_without_its_cache_the_array_does_what_its_disks_do():
    enough = {"workloads.iometer.arrivals.io.outstanding": 48, "run.warmup": "500 ms"}
    bare = point("multi-vm.yaml", **{"arrays.san.cache.size": "0 B", **enough})
    assert bare["bottleneck"]["station"] == "san-disks"
    assert 0.9 * 960 * 185 <= bare["groups"]["iometer"]["iops"] <= 1.2 * 960 * 185


def test_reports_name_the_bottleneck_and_draw_the_io(cli, tmp_path):
    page = tmp_path / "io.html"
    sweep = ("--sweep", "workloads.iometer.block=64KiB,512B", "--duration", "0.05", "--replications", "1")
    done = cli("simulate", str(STUDY / "multi-vm.yaml"), *sweep, "--report", str(page), "--explain", exits=0)
    assert "Bottleneck (block 64KiB): esx-ports at 100 % limits I/O" in done.stdout
    assert "Bottleneck (block 512B): iometer-vcpus at 100 % limits I/O" in done.stdout
    text = page.read_text()
    assert all(title in text for title in ("I/O latency", "CPU per I/O", "I/O bandwidth"))
    keys = {"io_latency_ms", "io_mb_per_s", "io_cpu_cycles_per_io"}
    assert keys <= set(point("single-vm.yaml")["vms"]["iometer"])
