"""The targets of fuzzing: every parser of outside data, with samples and the checks on what it reads.

A target takes any bytes. It may refuse them with a `HypertwinError` and a short message; any other exception is a
crash. What it reads must be usable: telemetry as a table that can be written and read back, an inventory as a valid
scenario.
"""

from __future__ import annotations

import io
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import polars as pl
from tests.conftest import TINY
from tests.fuzz import samples
from tests.python.ingest import test_prometheus
from tests.python.ingest.benchmarks import test_io_points
from tests.python.ingest.kvm import test_libvirt_import, test_lscpu
from tests.python.ingest.vmware import test_vsphere_answers
from tests.unpacked import unpacked_here

from hypertwin import _core, comparison, diagnosis, scenario
from hypertwin.calibration import file as calibration_file
from hypertwin.calibration import measurements
from hypertwin.cli import output, rerun
from hypertwin.comparison import reading as compare_reading
from hypertwin.errors import HypertwinError, UnreachableError
from hypertwin.ingest import (
    demand,
    formats,
    outside,
    page,
    parquet_table,
    prometheus,
    telemetry,
    telemetry_table,
    to_scenario,
)
from hypertwin.ingest.benchmarks import fio, io_points, load_runs
from hypertwin.ingest.hyperv import cmdlets
from hypertwin.ingest.inventory import Host, Inventory, Vm
from hypertwin.ingest.kvm import libvirt_uri, libvirt_xml, lscpu, nova, ovirt, proxmox, virsh_files
from hypertwin.ingest.nutanix import prism
from hypertwin.ingest.vmware import rvtools, vcenter, vsphere
from hypertwin.lab import cpu, profile
from hypertwin.plan.capacity import limits
from hypertwin.runs import cache as result_cache
from hypertwin.show import registry
from hypertwin.show.page import made_now

LONGEST_MESSAGE = 100_000
"""Of an error: a list of mistakes may be long, a file poured into it is not."""
SLOW = 0.25
"""Share of a parser that takes some tenths of a second for each input; every other has 1."""
SECRET = "planted-tr0ub4dor"
"""The password of every system: no message may contain it."""


@dataclass(frozen=True)
class Target:
    """One parser."""

    name: str
    take: Callable[[bytes], object]
    weight: float = 1.0
    """Its share of the inputs, relative to other targets."""

    @property
    def samples(self) -> tuple[bytes, ...]:
        """The samples to begin from."""
        return samples.of(self.name)

    def check(self, data: bytes) -> bool:
        """Whether it accepts these bytes. Raises anything that is a finding."""
        try:
            self.take(data)
        except HypertwinError as error:
            message = str(error)
            assert error.exit_code == (1 if isinstance(error, UnreachableError) else 2), message[:200]
            assert 0 < len(message) < LONGEST_MESSAGE, f"a message of {len(message)} characters"
            assert "\x1b" not in message and SECRET not in message, message[:200]
            return False
        return True


@cache
def targets() -> Mapping[str, Target]:
    """All targets by name."""
    return {target.name: target for target in (*_telemetry(), *_inventories(), *_answers(), *_own())}


@cache
def _scratch() -> Path:
    """A folder in memory, where the system has such, for readers that take a path."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    return Path(tempfile.mkdtemp(prefix=f"hypertwin-fuzz-{os.getpid()}-", dir=memory))


def clean() -> None:
    """Remove what targets wrote."""
    shutil.rmtree(_scratch(), ignore_errors=True)
    _scratch.cache_clear()


def _file(data: bytes, name: str = "input") -> Path:
    path = _scratch() / name
    path.write_bytes(data)
    return path


def _folder(name: str) -> Path:
    """An empty folder."""
    path = _scratch() / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def _archive(data: bytes) -> Path:
    """An archive of CBT: the settings of a test, and the report of a process."""
    config, _, report = data.partition(samples.PART)
    folder = _folder("archive")
    (folder / "benchmark_config.yaml").write_bytes(config)
    (folder / "output.0.client1").write_bytes(report)
    return folder


# telemetry


def _telemetry() -> Iterator[Target]:
    for candidate in formats.FORMATS:

        def take(data: bytes, candidate: formats.Format = candidate) -> None:
            candidate.recognises(data[: outside.HEAD_BYTES])
            source = _archive(data) if candidate.name == "CBT archive" else _file(data)
            reading = candidate.read(source)
            _is_table(reading.frames)
            assert all(gap.what and gap.costs for gap in reading.gaps)
            assert all(reading.notes)

        yield Target(candidate.name, take, SLOW if candidate.recognises(parquet_table.MAGIC) else 1)

    def judged(data: bytes) -> None:
        path = str(_file(data))
        hosts, vms = [Host("esx1", 2, 12, 2, 2**38, clock_hz=2.5e9)], [Vm("db", 8, 2**35, host="esx1")]
        _is_inventory(demand.with_measured(Inventory("x", "x", hosts, vms), [parquet_table.read(Path(path))]))
        with mock.patch.object(parquet_table, "_unpacked", unpacked_here):  # it was read already
            found = diagnosis.diagnose([path], charts=True)
        told = {"version": "1", **found.document}
        assert registry.DIAGNOSIS.page is not None
        registry.DIAGNOSIS.page(told, series=[finding.charts for finding in found.findings]).html(made_now("1"))
        output.render(registry.DIAGNOSIS.table(told))

    yield Target("diagnosis of a table", judged, SLOW)


def _is_table(frames: Iterable[pl.DataFrame]) -> None:
    """Every part has the table's columns, known metrics, finite values, and entities that the table's reader takes."""
    for part in frames:
        assert part.schema == pl.Schema(telemetry_table.SCHEMA), part.schema
        assert part["value"].is_finite().all(), "a value that is not finite"
        times = part["time"].drop_nulls().dt.epoch("us")
        assert times.is_between(0, telemetry.LAST_TIME_US).all(), "a time that the table does not take"
        for metric, unit in part.select("metric", "unit").unique().iter_rows():
            assert telemetry.METRICS[metric].unit == unit, (metric, unit)
        for entity in part["entity"].cast(pl.String).unique():
            assert parquet_table.is_entity(entity), entity


# inventories


def _inventories() -> Iterator[Target]:
    def workbook(data: bytes) -> None:
        _is_inventory(rvtools.read([str(_file(data, "input.xlsx"))]))

    def tabs(data: bytes) -> None:
        parts = data.split(samples.PART)
        names = [f"RVTools_tab{tab}.csv" for tab in samples.RVTOOLS_TABS]
        paths = [_file(part, name) for part, name in zip(parts, names, strict=False)]
        rvtools.recognises(parts[0][: outside.HEAD_BYTES])
        _is_inventory(rvtools.read([str(path) for path in paths]))

    def of_file(reader: Any) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            reader.recognises(data)
            _is_inventory(reader.read([str(_file(data))]))

        return take

    def nodes(data: bytes) -> None:
        good = _file(test_lscpu.flat(test_lscpu.XEON).encode(), "lscpu.json")
        lscpu.recognises(data)
        _is_inventory(lscpu.read([str(good), str(_file(b"available: " + data.removeprefix(b"available: ")))]))

    def of_files(reader: Any, ending: str, most: int) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            """Files of a folder, each of the kind that it looks like."""
            folder = _folder("kvm1")
            for number, part in enumerate(data.split(samples.PART)[:most]):
                (folder / f"{number}.{ending}").write_bytes(part)
            reader.recognises(data[: outside.HEAD_BYTES])
            _is_inventory(reader.read([str(folder)]))

        return take

    yield Target("Hyper-V Get-VM and Get-VMHost", of_files(cmdlets, "csv", 9))
    yield Target("OpenStack answers", of_files(nova, "json", 8))
    yield Target("oVirt API answers", of_files(ovirt, "json", 8))
    yield Target("Nutanix Prism answers", of_files(prism, "json", 20))
    yield Target("virsh dumpxml", of_files(virsh_files, "xml", 8))
    yield Target("RVTools .xlsx", workbook, SLOW)
    yield Target("RVTools .csv", tabs)
    yield Target("Proxmox VE API dump", of_file(proxmox))
    yield Target("lscpu", of_file(lscpu))
    yield Target("numactl -H", nodes)


def _is_inventory(inventory: Inventory) -> None:
    """It becomes a valid scenario, whose text can be read back."""
    assert all(math.isfinite(vm.demand.cpu_mhz) for vm in inventory.vms if vm.demand)
    made, assumptions = to_scenario.to_scenario(inventory)
    lines = to_scenario.summary(inventory, made, assumptions)
    assert sum(map(len, lines)) < LONGEST_MESSAGE * 10
    scenario.loads(to_scenario.to_yaml(made))


# answers of systems that are asked


def _answers() -> Iterator[Target]:
    numbering = libvirt_xml.host(
        test_libvirt_import.capabilities(2, 12, 2), test_libvirt_import.INFO, "", "here"
    ).numbering

    def capabilities(data: bytes) -> None:
        text, _, sysinfo = data.decode("utf-8", "surrogateescape").partition(samples.PART.decode())
        libvirt_xml.host(text, test_libvirt_import.INFO, sysinfo, "here")

    def domain(data: bytes) -> None:
        libvirt_xml.domain(data.decode("utf-8", "surrogateescape"), numbering, "here")

    def pool(data: bytes) -> None:
        libvirt_xml.pool(data.decode("utf-8", "surrogateescape"), (), "here")

    yield Target("Prometheus", _ask_prometheus, SLOW)
    yield Target("libvirt capabilities", capabilities)
    yield Target("libvirt domain", domain)
    yield Target("libvirt pool", pool)
    yield Target("vCenter inventory", _ask_vcenter, SLOW)
    yield Target("vCenter counters", _counters)


def _ask_prometheus(data: bytes) -> None:
    """Every question gets one of three answers: which series there are, samples, values over time."""
    present, samples_of, values = (*data.split(samples.PART), b"", b"")[:3]

    def answer(request: httpx.Request) -> httpx.Response:
        about = request.url.params.get("query", "")
        body = present if "__name__=~" in about else samples_of if request.url.path.endswith("/query") else values
        return httpx.Response(200, stream=httpx.ByteStream(body))

    start = test_prometheus.START
    transport = httpx.MockTransport(answer)
    with mock.patch.object(prometheus._Server, "client", lambda _self: httpx.Client(transport=transport)):
        reading = prometheus.read(f"prometheus://host?start={start}&end={start + 60}&step=15s")
        _is_table(reading.frames)


class _Canned(vsphere.BoundedConnection):
    """A connection to a vCenter Server that answers from memory."""

    properties = b""
    """The answer to every question of the PropertyCollector."""

    def __init__(self, host: str, *_: object, **__: object) -> None:
        super().__init__(host)

    def connect(self) -> None:
        self.sock = _Socket()  # type: ignore[assignment]


class _Socket:
    def __init__(self) -> None:
        self.asked = b""

    def sendall(self, data: Any) -> None:
        self.asked += bytes(data)

    def makefile(self, *_: object) -> io.BytesIO:
        asked, self.asked = self.asked, b""
        fixed = (body for method, body in _METHODS.items() if b"<" + method.encode() in asked)
        content = next(fixed, "").encode() or _Canned.properties
        return io.BytesIO(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content))

    def close(self) -> None:
        """Nothing is open."""


def _answered(method: str, result: str = "") -> str:
    response = f'<{method}Response xmlns="urn:vim25">{result}</{method}Response>'
    return test_vsphere_answers.ENVELOPE.format(response)


_METHODS = {
    "RetrieveServiceContent": test_vsphere_answers.CONTENT.replace(
        '<propertyCollector type="PropertyCollector">pc</propertyCollector>',
        '<propertyCollector type="PropertyCollector">pc</propertyCollector>'
        '<viewManager type="ViewManager">views</viewManager>',
    ),
    "Login": _answered(
        "Login",
        "<returnval><key>k</key><userName>u</userName><fullName>u</fullName><loginTime>2026-01-01T00:00:00Z</loginTime>"
        "<lastActiveTime>2026-01-01T00:00:00Z</lastActiveTime><locale>en</locale><messageLocale>en</messageLocale>"
        "</returnval>",
    ),
    "Logout": _answered("Logout"),
    "CurrentTime": _answered("CurrentTime", "<returnval>2026-06-01T08:00:00Z</returnval>"),
    "CreateContainerView": _answered("CreateContainerView", '<returnval type="ContainerView">view</returnval>'),
    "DestroyView": _answered("DestroyView"),
}


@contextmanager
def _canned() -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(vsphere, "_Connection", _Canned))
        stack.enter_context(mock.patch.object(vsphere.Trust, "context", lambda *_: None))
        stack.enter_context(mock.patch.dict(os.environ, {"HYPERTWIN_PASSWORD": SECRET}))
        yield


def _ask_vcenter(data: bytes) -> None:
    """The server is sound but for what it says of hosts, machines, clusters and datastores."""
    _Canned.properties = data
    with _canned():
        _is_inventory(vcenter.read(["vcenter://ann@host"]))


def _counters(data: bytes) -> None:
    """What QueryPerf says: a line of intervals and times, then a counter, an instance and values in each line."""
    about, *lines = data.decode("utf-8", "replace").splitlines() or [""]
    series = []
    for line in lines[:100]:
        counter, _, rest = line.partition(";")
        instance, _, values = rest.partition(";")
        number = outside.number(counter)
        series.append((int(number) if number is not None and abs(number) < 2**31 else 12, instance, values))
    answer = test_vsphere_answers.answer(about, *series)
    frame = test_vsphere_answers.reader()._frame(test_vsphere_answers.MACHINE, answer)
    _is_table([frame] if frame is not None else [])


# what people write for hypertwin


def _own() -> Iterator[Target]:
    tiny = scenario.loads(TINY)

    def scenario_text(data: bytes) -> None:
        loaded = scenario.load(_file(data, "input.yaml"))
        diagnosis.diagnose(cluster=loaded, simulate=False)

    def io_point(data: bytes) -> None:
        points, _ = io_points.read([_file(data, f"{test_io_points.CASE}-res.txt")])
        assert all(math.isfinite(value) for point in points for value in point.figures.values())

    def io_run(data: bytes) -> None:
        """Results of Vdbench, or an archive of CBT, as points."""
        points, _ = io_points.read([_archive(data) if samples.PART in data else _file(data)])
        assert all(math.isfinite(value) for point in points for value in point.figures.values())

    def load_run(data: bytes) -> None:
        """Runs by every reader of them, whichever printed the file."""
        load_runs.generator(data[: outside.HEAD_BYTES])
        for name in load_runs.LINES:
            try:
                runs, _ = load_runs.read(_file(data), name)
            except HypertwinError as error:
                assert error.exit_code == 2, error
                continue
            assert all(math.isfinite(value) and value >= 0 for run in runs for value in run.figures.values())

    def fio_job(data: bytes) -> None:
        _file(data, "input.fio")
        fio.workload("input.fio", _scratch())

    def addresses(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        for parse in (
            vsphere.read_address,
            lambda text: prometheus._window(prometheus.address.parse(text, tuple(prometheus.SCHEMES))),
            lambda text: libvirt_uri.target(text, 5, 1),
        ):
            try:
                parse(text)
            except HypertwinError as error:
                assert error.exit_code == 2, error

    def uris(data: bytes) -> None:
        libvirt_uri.recognises(data)
        libvirt_uri.listed(_file(data))

    def machine(data: bytes) -> None:
        known = profile.read(_file(data))
        experiment = cpu.read()[0]
        if cpu.why_not(experiment, cpu.cpu_order(known), None, "") is None:
            scenario.loads(cpu.scenario_of(experiment, known))

    def results(data: bytes) -> None:
        """Of two documents, or one and itself; what is found is shown."""
        parts = [_file(part, f"{number}.json") for number, part in enumerate(data.split(samples.PART)[:2])]
        found = comparison.compare(parts[0], parts[-1], version="1")
        output.render(registry.COMPARISON.table(found))

    def made(data: bytes) -> None:
        path = _file(data, "input.html")
        rerun._check(path, page.made(path))
        compare_reading.read(path)

    def kept(data: bytes) -> None:
        """A value of the store, or what one holds."""
        found = result_cache.unpack(b"key", data)
        try:
            _core.Replication.from_bytes(data if found is None else found)
        except ValueError as error:  # it is simulated again
            outside.Source("store").refuse(error, "a result", "none is needed")

    yield Target("lab machine", machine)
    yield Target("lab experiments", lambda data: cpu.read(_file(data, "input.yaml")))
    named = {"prod": None, "test": "Test Cluster"}
    limited = limits.Limits()
    yield Target("limits of clusters", lambda data: limits.of_file(_file(data, "input.yaml"), limited, named))
    yield Target("results", results)
    yield Target("pages", made)
    yield Target("store entries", kept)
    yield Target("list of libvirt URIs", uris)
    yield Target("fio job", fio_job)
    yield Target("io points", io_point)
    yield Target("io runs", io_run)
    yield Target("runs of load generators", load_run)
    yield Target("measurements", lambda data: measurements.read(_file(data), tiny))
    yield Target("calibration", lambda data: calibration_file.apply(tiny, _file(data, "input.yaml")))
    yield Target("scenario", scenario_text)
    yield Target("addresses", addresses)
