"""Samples by target: the files that the readers' own tests have or write."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib
import json
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

from tests import conftest
from tests.e2e import test_hostile_inputs
from tests.python.comparison import test_compare
from tests.python.diagnosis import test_diagnose
from tests.python.diagnosis.estate import PAIR
from tests.python.ingest import test_prometheus, test_prometheus_text, test_storage_paths, test_telemetry_table
from tests.python.ingest.benchmarks import load_samples, test_benchmark_outputs, test_fio, test_io_points
from tests.python.ingest.guests import test_pbuttons, test_sar, test_vmstat
from tests.python.ingest.hyperv import test_cmdlets
from tests.python.ingest.kvm import (
    test_libvirt_import,
    test_lscpu,
    test_nova,
    test_ovirt,
    test_proxmox,
    test_virsh_files,
)
from tests.python.ingest.nutanix import test_prism, test_prism_v4
from tests.python.ingest.vmware import (
    esxtop_files,
    rvtools_estate,
    rvtools_files,
    test_bitbrains,
    test_esxtop,
    test_get_stat,
    test_vsphere_answers,
)

from hypertwin import _core, scenario
from hypertwin.ingest import prometheus_queries, telemetry_table
from hypertwin.ingest.vmware import vsphere
from hypertwin.runs import cache

PART = b"\n\f\n"
"""Between the files of a sample that stands for several."""
CALIBRATION = """\
scenario: tiny
hypertwin: 0.1.0
seed: 7
calibrated_on: the morning's points
set: {workloads.oltp.cpu.mean: 5 ms, vms.web.load: 0.7}
intervals: {workloads.oltp.cpu.mean: [4 ms, 6 ms], vms.web.load: unbounded}
notes: [none]
"""
RVTOOLS_TABS = ("vHost", "vInfo", "vCPU", "vMemory", "vCluster", "vSnapshot", "vDatastore", "vMetaData")
"""The tabs of RVTools in a sample of CSV files, in this order."""
POOL = """\
<pool type='logical'><name>vg</name><capacity unit='bytes'>1000000</capacity><available unit='KiB'>5</available>
<target><path>/dev/vg</path></target></pool>
"""


def of(target: str) -> tuple[bytes, ...]:
    """The samples of a target by its name."""
    return tuple(text.encode() if isinstance(text, str) else text for text in SAMPLES[target]())


def _written(write: Callable[[Path], object]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sample")
        write(path)
        return path.read_bytes()


def _rvtools() -> rvtools_files.Tabs:
    tabs = rvtools_estate.estate([replace(rvtools_estate.CROWDED, vms=10)])
    return {tab: rows[:5] for tab, rows in tabs.items() if tab in (*RVTOOLS_TABS, "vDisk", "vNIC")}


def _workbook() -> list[bytes]:
    return [_written(lambda path: rvtools_files.write_xlsx(_rvtools(), path))]


def _csv() -> list[bytes]:
    made = []
    for separator in ",;":
        with tempfile.TemporaryDirectory() as folder:
            rvtools_files.write_csv(_rvtools(), Path(folder), separator)
            made.append(PART.join(Path(folder, f"RVTools_tab{tab}.csv").read_bytes() for tab in RVTOOLS_TABS))
    return made


def _sick() -> list[bytes]:
    """A table of a cluster with many faults, so that most rules have a finding."""
    wrong = {
        (test_diagnose.DB, "ready_sum_pct"): [90.0, 120.0, 100.0],
        (test_diagnose.DB, "costop_sum_pct"): 60.0,
        (test_diagnose.DB, "used_mhz"): 9000.0,
        (test_diagnose.DB, "numa_local_pct"): 60.0,
        (test_diagnose.DB, "swapped_bytes"): 1e9,
        (test_diagnose.HOST, "usage_pct"): 99.0,
        (test_diagnose.LUN, "kernel_latency_ms"): 9.0,
        (test_diagnose.GUEST, "steal_pct"): 30.0,
    }
    rows: list[tuple[object, str, str, float]] = []
    for (entity, metric), value in {**test_diagnose.HEALTHY, **wrong}.items():
        values = value if isinstance(value, list) else [value] * 3
        rows += [
            (test_diagnose.START + timedelta(seconds=20 * place), entity, metric, float(each))
            for place, each in enumerate(values)
        ]
    return [_written(lambda path: telemetry_table.write([telemetry_table.frame(rows)], path))]


def _esxtop() -> list[str | bytes]:
    text = esxtop_files.text(test_esxtop.HOST | test_esxtop.DB)
    devices = {
        "Physical Disk Adapter(vmhba0)\\Commands/sec": 10,
        "Physical Disk SCSI Device(naa.6)\\Average Driver MilliSec/Command": 3,
        "Virtual Disk(db:scsi0:0)\\Commands/sec": 7,
        "Network Port(vSwitch0:33:db.eth0)\\MBits Received/sec": 2,
        "Numa Node(0)\\% Used": 1,
        "Group Memory(1234:db)\\Memory Size MBytes": 4096,
    }
    return [text, esxtop_files.text(esxtop_files.same(devices)), gzip.compress(text.encode(), mtime=0)]


def _fio_output() -> list[str]:
    made = test_benchmark_outputs._fio(test_benchmark_outputs._job())
    return [made, test_benchmark_outputs.FIO_TEXT, test_benchmark_outputs.FIO_2_TEXT]


def _iostat() -> list[str]:
    pieces = {"first": "11/21/2026 08:15:31 PM\n", "second": "11/21/2026 08:15:36 PM\n"}
    forms = (test_sar.NEW, test_sar.OLD)
    return [
        test_sar.IOSTAT.format(header=form, values=" ".join(["1.50"] * (len(form.split()) - 1)), **pieces)
        for form in forms
    ]


def _prometheus() -> list[bytes]:
    """Answers to: which series are there, samples, and values over time."""
    start = test_prometheus.START
    made = []
    for exporter in prometheus_queries.EXPORTERS:
        names = [exporter.probe, *(query.series for query in exporter.queries)][:4]
        present = [({"__name__": name}, [[start + 30, "1"]]) for name in dict.fromkeys(names)]
        labels = {
            **{"vm_name": "db", "host_name": "esx1", "instance": "db1:9100", "nodename": "db1", "domain": "db"},
            **{"device": "sda", "cpu": "0", "vcpu": "0", "mode": "user", "target_device": "vda"},
        }
        samples: list[tuple[dict[str, str], list[object]]] = [(labels, [[start, "4"], [start + 15, "4"]])]
        values: list[tuple[dict[str, str], list[object]]] = [(labels, [[start + 15, "2800"], [start + 30, "NaN"]])]
        parts = (present, samples, values)
        made.append(PART.join(test_prometheus.success(test_prometheus.matrix(*part)) for part in parts))  # type: ignore[arg-type]
    return made


def _virsh() -> list[bytes]:
    host = test_libvirt_import.capabilities(2, 12, 2)
    running = test_virsh_files.domain("db", f"<devices>{test_libvirt_import.VIRTIO}</devices>", identity=" id='3'")
    rest = (test_virsh_files.POOL, test_virsh_files.DOMSTATS, test_virsh_files.UNAME, test_virsh_files.VERSION)
    few = (host, test_libvirt_import.FULL, "tmpfs\n", test_storage_paths.MULTIPATH)
    parts = (few, (test_virsh_files.NODEINFO, running, *rest))
    return [PART.join(part.encode() for part in each) for each in parts]


def _vcenter() -> list[bytes]:
    """An answer of the PropertyCollector with one object of each kind."""
    from pyVmomi import SoapAdapter, VmomiSupport, vim, vmodl

    def array(kind: str, *elements: Any) -> Any:
        return VmomiSupport.GetVmodlType(f"{kind}[]")(elements)

    host, store = vim.HostSystem("host-1"), vim.Datastore("ds-1")
    cluster, vm = vim.ClusterComputeResource("c-1"), vim.VirtualMachine("vm-1")
    size = vim.host.CpuInfo(numCpuPackages=2, numCpuCores=24, numCpuThreads=48, hz=2_500_000_000)
    summary = vim.host.Summary.HardwareSummary(
        vendor="x", model="y", uuid="z", memorySize=2**38, cpuModel="Xeon @ 2.50GHz", cpuMhz=2500, numCpuPkgs=2,
        numCpuCores=24, numCpuThreads=48, numNics=1, numHBAs=1,
    )  # fmt: skip
    disk = vim.vm.device.VirtualDisk(
        key=2000,
        controllerKey=1000,
        unitNumber=0,
        capacityInKB=2**20,
        backing=vim.vm.device.VirtualDisk.FlatVer2BackingInfo(
            fileName="[ds] db/db.vmdk", datastore=store, diskMode="x"
        ),
    )
    shares = vim.SharesInfo(shares=4000, level="normal")
    controller = vim.vm.device.ParaVirtualSCSIController(key=1000, busNumber=0, sharedBus="noSharing")
    rule = vim.cluster.AntiAffinityRuleSpec(key=1, name="apart", enabled=True, mandatory=True, vm=[vm, vm])
    long = VmomiSupport.long
    option = vim.option.OptionValue(key="numa.vcpu.preferHT", value="TRUE")
    mount = vim.Datastore.HostMount(key=host, mountInfo=vim.host.MountInfo(accessMode="readWrite"))
    folder, center = vim.Folder("group-h1"), vim.Datacenter("datacenter-1")
    made = datetime(2026, 3, 1, tzinfo=UTC)
    unit = vim.vm.FileLayoutEx.DiskUnit(fileKey=[4])
    tree = vim.vm.SnapshotTree(
        **{"snapshot": vim.vm.Snapshot("snapshot-1"), "vm": vm, "name": "a", "description": "", "id": 1},
        **{"createTime": made, "state": "poweredOff", "quiesced": False},
    )
    found: dict[Any, dict[str, Any]] = {
        host: {
            **{
                "name": "esx1.example.com",
                "parent": cluster,
                "runtime.connectionState": vim.HostSystem.ConnectionState.connected,
            },
            **{"runtime.inMaintenanceMode": False, "hardware.cpuInfo": size, "hardware.memorySize": long(2**38)},
            **{"summary.hardware": summary, "summary.quickStats.overallCpuUsage": 12_000},
            "config.product.fullName": "VMware ESXi 7.0.3 build-20328353",
            "config.hyperThread": vim.host.CpuSchedulerSystem.HyperThreadScheduleInfo(
                available=True, active=False, config=True
            ),
            "config.powerSystemInfo": vim.host.PowerSystem.Info(
                currentPolicy=vim.host.PowerSystem.PowerPolicy(key=2, name="x", shortName="dynamic", description="x")
            ),
            **{"summary.quickStats.overallMemoryUsage": 65_536, "summary.maxEVCModeKey": "intel-haswell"},
        },
        folder: {"parent": center},
        center: {"name": "Rome"},
        cluster: {
            **{"name": "old", "parent": folder},
            "configurationEx": vim.cluster.ConfigInfoEx(
                dasConfig=vim.cluster.DasConfigInfo(enabled=True, admissionControlEnabled=True, failoverLevel=1),
                drsConfig=vim.cluster.DrsConfigInfo(),
                rule=[rule],
                group=[],
            ),
        },
        store: {
            **{"name": "ds", "summary.type": "VMFS", "summary.capacity": long(2**40), "summary.freeSpace": long(2**39)},
            "summary.uncommitted": long(2**38),
            "host": array("vim.Datastore.HostMount", mount),
        },
        vm: {
            **{"name": "db%2f1", "runtime.host": host, "runtime.powerState": vim.VirtualMachine.PowerState.poweredOn},
            **{"config.template": False, "config.hardware.numCPU": 4, "config.hardware.memoryMB": 16_384},
            **{"config.hardware.numCoresPerSocket": 2, "config.cpuHotAddEnabled": True},
            "config.cpuAllocation": vim.ResourceAllocationInfo(reservation=0, limit=-1, shares=shares),
            "config.extraConfig": array("vim.option.OptionValue", option),
            "config.hardware.device": array("vim.vm.device.VirtualDevice", controller, disk),
            **{"summary.quickStats.overallCpuUsage": 900, "summary.quickStats.overallCpuReadiness": 3},
            **{"summary.quickStats.hostMemoryUsage": 9_000, "summary.quickStats.balloonedMemory": 10},
            "summary.storage": vim.vm.Summary.StorageSummary(
                committed=long(2**30), uncommitted=long(2**31), unshared=long(0), timestamp=made
            ),
            "snapshot": vim.vm.SnapshotInfo(rootSnapshotList=[tree]),
            "layoutEx": vim.vm.FileLayoutEx(
                file=[vim.vm.FileLayoutEx.FileInfo(key=4, name="a", type="diskExtent", size=long(2**30))],
                disk=[vim.vm.FileLayoutEx.DiskLayout(key=2000, chain=[unit, unit])],
                timestamp=made,
            ),
        },
    }
    collector = vmodl.query.PropertyCollector
    objects = []
    for reference, values in found.items():
        given = [vmodl.DynamicProperty(name=name, val=value) for name, value in values.items()]
        fault = vim.fault.NoPermission(object=reference, privilegeId="System.Read")
        absent = [collector.MissingProperty(path="config.numaInfo", fault=fault)]
        objects.append(collector.ObjectContent(obj=reference, propSet=given, missingSet=absent))
    result = collector.RetrieveResult(objects=objects)
    newest = vsphere.VERSIONS[0][1]
    text = SoapAdapter.SerializeToStr(
        result, VmomiSupport.Object(name="returnval", type=type(result), version=newest, flags=0), newest
    )
    answer = f'<RetrievePropertiesExResponse xmlns="urn:vim25">{text}</RetrievePropertiesExResponse>'
    return [test_vsphere_answers.ENVELOPE.format(answer).encode()]


def _machine() -> list[str]:
    known = test_hostile_inputs.MACHINE
    processor = known["processor"] | {"clock_hz": 2.5e9}
    return [json.dumps(each) for each in (known, known | {"processor": processor, "smt": {"yield": 1.25}})]


def _results() -> list[bytes]:
    written = [(conftest.ROOT / f"tests/data/documents/{name}.json").read_bytes() for name in ("size", "durability")]
    return [json.dumps(test_compare.simulation(test_compare.point())).encode(), *written]


def _page() -> list[str]:
    text = conftest.TINY
    file = {"name": "tiny.yaml", "sha256": hashlib.sha256(text.encode()).hexdigest(), "text": text}
    made = {"version": "1", "date": "2026-01-01", "command": ["simulate", "tiny.yaml"], "files": [file], "seed": 1}
    data = {"page": 1, "made": made | {"calibrated": []}, "document": test_compare.simulation(test_compare.point())}
    packed = base64.b64encode(zlib.compress(json.dumps(data).encode())).decode()
    plain = json.dumps(data).replace("<", "\\u003c")
    return [
        f'<!doctype html><script id="page" type="application/json">{plain}</script>',
        f'<!doctype html><script id="page" type="application/json" data-encoding="deflate">{packed}</script>',
    ]


def _kept() -> list[bytes]:
    result = _core.run(scenario.loads(conftest.TINY, {"run.duration": "1 s"}).json, 1).to_bytes()
    return [cache.pack(b"key", result), result]


SAMPLES: Mapping[str, Callable[[], list[Any]]] = {
    "hypertwin's Parquet table": lambda: [
        _written(lambda path: telemetry_table.write([telemetry_table.frame(test_telemetry_table.rows())], path))
    ],
    "hypertwin's CSV table": lambda: [
        _written(lambda path: telemetry_table.write_csv([telemetry_table.frame(test_telemetry_table.rows())], path))
    ],
    "diagnosis of a table": _sick,
    "Bitbrains trace (GWA-T-12)": lambda: ["\n".join(test_bitbrains.SAMPLE.read_text().splitlines()[:5])],
    "PowerCLI Get-Stat CSV": lambda: [test_get_stat.WHOLE, test_get_stat.SELECTED],
    "esxtop -b": _esxtop,
    "pButtons or SystemPerformance HTML": lambda: [test_pbuttons.LINUX, test_pbuttons.PERFMON],
    "fio": _fio_output,
    "HCIBench results": lambda: [test_benchmark_outputs.RESULT_FIO, test_benchmark_outputs.RESULT_VDBENCH],
    "sysbench": lambda: [
        *(test_benchmark_outputs.SYSBENCH_1_0, test_benchmark_outputs.SYSBENCH_0_5),
        test_benchmark_outputs.SYSBENCH_0_4,
    ],
    "pgbench": lambda: [load_samples.PGBENCH_17, load_samples.PGBENCH_12, load_samples.PGBENCH_PACED],
    "HammerDB": lambda: [load_samples.HAMMERDB + load_samples.PROFILE, load_samples.HAMMERDB_3],
    "Vdbench": lambda: [load_samples.FLAT, load_samples.PRINTED],
    "CBT archive": lambda: [PART.join((load_samples.CBT_CONFIG.encode(), load_samples.fio_report("client1").encode()))],
    "io runs": lambda: [
        *(load_samples.FLAT, load_samples.PRINTED),
        PART.join((load_samples.CBT_CONFIG.encode(), load_samples.fio_report("client1").encode())),
    ],
    "runs of load generators": lambda: [
        *(load_samples.PGBENCH_17, load_samples.HAMMERDB + load_samples.PROFILE, load_samples.PGBENCH_PACED),
        test_benchmark_outputs.SYSBENCH_1_0,
    ],
    "sar or sadf": lambda: [test_sar.DAY, test_sar.SADF, test_sar.JSON],
    "iostat -x": _iostat,
    "vmstat": lambda: [test_vmstat.PLAIN, test_vmstat.TIMED.format(zone="UTC"), test_vmstat.WIDE],
    "RVTools .xlsx": _workbook,
    "RVTools .csv": _csv,
    "Proxmox VE API dump": lambda: [json.dumps(test_proxmox.dump(), indent=1)],
    "lscpu": lambda: [
        test_lscpu.flat(test_lscpu.XEON),
        test_lscpu.nested(test_lscpu.EPYC),
        test_lscpu.plain(test_lscpu.XEON),
    ],
    "Hyper-V Get-VM and Get-VMHost": lambda: [
        PART.join(test_cmdlets.written(name, rows, form) for name, rows in test_cmdlets.objects().items())
        for form in ("csv", "semicolon utf-16", "json")
    ],
    "OpenStack answers": lambda: [
        PART.join(json.dumps(answer, indent=1).encode() for answer in each.values())
        for each in (test_nova.answers(), test_nova.lists())
    ],
    "oVirt API answers": lambda: [
        PART.join(json.dumps(answer, indent=1).encode() for answer in test_ovirt.dump().values()),
        PART.join(test_ovirt.xml(answer).encode() for answer in test_ovirt.dump().values()),
    ],
    "Nutanix Prism answers": lambda: [
        PART.join(json.dumps(answer, indent=1).encode() for answer in each.values())
        for each in (test_prism.element(), test_prism.central(), test_prism_v4.files())
    ],
    "virsh dumpxml": _virsh,
    "lab machine": _machine,
    "lab experiments": lambda: [resources.files("hypertwin.lab").joinpath("experiments.yaml").read_bytes()],
    "limits of clusters": lambda: [
        "clusters:\n  prod: {failures: 2, cpu: 70%, memory: 85%, vcpu_ratio: 4, vm: 8x32GiB}\n"
    ],
    "results": _results,
    "pages": _page,
    "store entries": _kept,
    "list of libvirt URIs": lambda: [
        "# ours\n[prod]\nqemu:///system\nqemu+ssh://root@kvm1/system?no_verify=1  # new\n"
    ],
    "numactl -H": lambda: [test_lscpu.NUMACTL],
    "Prometheus": _prometheus,
    "Prometheus text": lambda: [
        "".join(test_prometheus_text.node(at) + test_prometheus_text.libvirt(at) for at in (0, 30)),
        test_prometheus_text.VMWARE,
    ],
    "libvirt capabilities": lambda: [
        test_libvirt_import.capabilities(1, 2, 2, clock="<counter name='tsc' frequency='2400000000'/>")
    ],
    "libvirt domain": lambda: [test_libvirt_import.FULL],
    "libvirt pool": lambda: [POOL],
    "vCenter inventory": _vcenter,
    "vCenter counters": lambda: [f"{test_vsphere_answers.TWO}\n12;;2000,3000\n12;0;1,-1\n12;naa.6;1,1"],
    "fio job": lambda: [test_fio.JOB],
    "io points": lambda: [(test_io_points.DATA / "fio-grid.json").read_text(), load_samples.RESULT_FIO],
    "measurements": lambda: [importlib.import_module("tests.python.calibration.test_calibration").CSV],
    "calibration": lambda: [CALIBRATION],
    "scenario": lambda: [PAIR, conftest.TINY],
    "addresses": lambda: [
        *("vcenter://ann@host:8443/DC/C?hours=24&interval=300", "prometheus://host:9090?hours=24&step=60s"),
        *("qemu+ssh://root@host/system?no_verify=1", 'prometheuss://[::1]/x?start=2026-01-01T08:00Z&match=a="b"'),
    ],
}
