"""Addresses of vCenter, and a server whose answers are not what they should be."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyVmomi import vim
from tests.conftest import refused

from hypertwin.errors import HypertwinError, SourceError, UnreachableError
from hypertwin.ingest import sources
from hypertwin.ingest.vmware import vcenter_counters, vsphere
from hypertwin.ingest.vmware.vcenter_clusters import Clusters
from hypertwin.ingest.vmware.vcenter_counters import Definition, Subject

ENVELOPE = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>{}</soapenv:Body></soapenv:Envelope>'
)
CONTENT = ENVELOPE.format(
    '<RetrieveServiceContentResponse xmlns="urn:vim25"><returnval><rootFolder type="Folder">group-d1</rootFolder>'
    '<propertyCollector type="PropertyCollector">pc</propertyCollector><about><name>vCenter</name>'
    "<fullName>x</fullName><vendor>x</vendor><version>8</version><build>1</build><osType>l</osType><productLineId>vpx</productLineId>"
    "<apiType>VirtualCenter</apiType><apiVersion>8.0.2.0</apiVersion></about>"
    '<sessionManager type="SessionManager">sm</sessionManager></returnval></RetrieveServiceContentResponse>'
)
FAULT = ENVELOPE.format(
    "<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>{}</faultstring><detail>"
    '<{}Fault xmlns="urn:vim25" xsi:type="{}"/></detail></soapenv:Fault>'
)
SECRET = "planted-secret"


class Answers(BaseHTTPRequestHandler):
    """Answers each request with the next of `answers`, then with the last."""

    answers: ClassVar[list[tuple[int, dict[str, str], bytes]]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        status, headers, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.send_response(status)
        for key, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Plain(vsphere.BoundedConnection):
    """A connection without TLS."""

    def __init__(self, host: str, port: int, timeout: float, context: object) -> None:
        del context
        super().__init__(host, port, timeout=timeout)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def ask(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(vsphere, "_Connection", Plain)
    monkeypatch.setenv("HYPERTWIN_PASSWORD", SECRET)

    def read(*answers: str | bytes | tuple[int, dict[str, str], bytes]) -> None:
        Answers.answers = [
            one if isinstance(one, tuple) else (200, {}, one if isinstance(one, bytes) else one.encode())
            for one in answers
        ]
        sources.read([f"vcenter://auditor@127.0.0.1:{port}"])

    yield read


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, {"Content-Encoding": "gzip"}, b"\x1f\x8b" + bytes(100)), "without compression"),
        ('<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>', "without a document type"),
        ("\ufeff<!-- hello --><x/>", "without a document type"),
        ('<?xml version="1.0" encoding="UTF-16"?><x/>', "XML in UTF-8"),
        (ENVELOPE.encode("utf-16"), "XML in UTF-8"),
        (ENVELOPE.format("<x>y</x>" * 20_000), "source-too-large"),
        (ENVELOPE.format("<x>" + "y" * 200_000), "source-too-large"),
        ("<html><body>It works!</body></html>", "vCenter Server or ESXi"),
        ("<html", "vCenter Server or ESXi"),
        ("", "vCenter Server or ESXi"),
        (CONTENT[: len(CONTENT) // 2], "vCenter Server or ESXi"),
        (CONTENT.replace("<apiVersion>8.0.2.0", "<apiVersion>x"), "5.0 or later"),
        (CONTENT.replace("<apiVersion>8.0.2.0", "<apiVersion>2.5"), "5.0 or later"),
        (CONTENT.replace('type="Folder"', 'type="Nonsense"'), "cannot be read"),
        (CONTENT.replace("<rootFolder", "<oddFolder").replace("</rootFolder", "</oddFolder"), "cannot be read"),
        ((404, {}, b"no"), "no valid HTTP answer"),
        ((302, {"Location": "http://example.com/"}, b""), "no valid HTTP answer"),
        ((200, {"Content-Length": "99999999999"}, CONTENT.encode()[:50]), ""),
    ],
)
def test_an_answer_of_another_form(
    ask: Any, answer: Any, said: str, monkeypatch: pytest.MonkeyPatch, port: int
) -> None:
    monkeypatch.setattr(vsphere, "TIMEOUT_S", 0.5)
    monkeypatch.setattr(vsphere, "MOST_ANSWER_TAGS", 30_000)
    monkeypatch.setattr(vsphere, "MOST_ANSWER_BYTES", 200_000)
    with pytest.raises((SourceError, UnreachableError)) as caught:
        ask(answer)
    assert said in str(caught.value)
    assert SECRET not in str(caught.value)


def test_what_a_fault_says_is_not_repeated(ask: Any) -> None:
    fault = (500, {}, FAULT.format(f"no such password: {SECRET}", "InvalidLogin", "InvalidLogin").encode())
    with pytest.raises(UnreachableError, match="wrong user or password") as caught:
        ask(CONTENT, CONTENT, fault)
    assert SECRET not in str(caught.value)


def test_a_server_that_dribbles_is_left(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vsphere, "ANSWER_TIMEOUT_S", -1)
    with pytest.raises(UnreachableError, match="no answer in time"):
        ask(CONTENT)


@pytest.mark.parametrize(
    "change", ["<", ">", '"', "\x00", "&#0;", "&x;", "<a>", "</about>", "xsi:type='Folder'", "9" * 99]
)
def test_broken_content_is_one_error(ask: Any, change: str) -> None:
    for at in range(150, len(CONTENT), 101):
        with pytest.raises(HypertwinError):
            ask(CONTENT[:at] + change + CONTENT[at + len(change) :])


@pytest.mark.parametrize(
    "text",
    [
        "vcenter://HOST",
        "vcenter://user:secret@host",
        "vcenter://user@host?insecure=yes",
        "vcenter://user@host?insecure=1&hours=-1",
        "vcenter://user@host?hours=nan",
        "vcenter://user@host?interval=1",
        "vcenter://user@host?password=secret",
        "vcenter://user@host?ca=/nowhere/secret.pem",
        "vcenter://user@host?secret",
        "vcenter://user@host:99999",
        "vcenter://user@host#secret",
        "vcenter://user@host/\udcff",
        "vcenter://user@host/\x1b[31m",
    ],
)
def test_bad_addresses(text: str) -> None:
    with refused("bad-address") as caught:
        vsphere.read_address(text)
    assert "secret" not in str(caught.value)


def test_an_address_with_everything() -> None:
    address, options = vsphere.read_address(
        "vcenter://administrator@vsphere.local@[::1]:8443/DC%201/C?hours=24&interval=300"
    )
    assert (address.user, address.host, address.port, address.path) == (
        "administrator@vsphere.local",
        "::1",
        8443,
        "/DC%201/C",
    )
    assert (options.hours, options.interval_s, options.trust.insecure) == (24.0, 300, False)


def test_the_finest_samples_that_are_kept() -> None:
    assert [vcenter_counters.interval_of(hours) for hours in (0.2, 1, 2, 24, 25, 200, 800, 8784)] == [
        *(20, 20, 300, 300, 1800, 7200, 86_400, 86_400)
    ]


def test_names_are_plain_and_distinct() -> None:
    assert vsphere.plain_name("a%2fb%5Cc%25d%41\n") == "a/b\\c%d%41"
    assert vsphere.distinct([("vm-1", "a"), ("vm-2", "b"), ("vm-3", "a"), ("vm-4", "")]) == {
        "vm-1": "a (vm-1)",
        "vm-2": "b",
        "vm-3": "a (vm-3)",
        "vm-4": "(vm-4)",
    }


def reader() -> vcenter_counters._Reader:
    """A reader of counters without a server."""
    source, content = vsphere.outside.Source("vcenter://host", vsphere.HINT), SimpleNamespace(perfManager=None)
    session = SimpleNamespace(content=content, options=vsphere.Options(), source=source, missing={}, name="x")
    made = vcenter_counters._Reader(session)  # type: ignore[arg-type]
    made.definitions = {"cpu.ready.summation": Definition(12, "millisecond", "summation")}
    made.counter_of = {12: "cpu.ready.summation"}
    return made


def answer(samples: str, *series: tuple[int, str, str]) -> Any:
    """An answer of QueryPerf with the values of counters and instances."""
    manager = vim.PerformanceManager
    return manager.EntityMetricCSV(
        entity=vim.VirtualMachine("vm-1"),
        sampleInfoCSV=samples,
        value=[
            manager.MetricSeriesCSV(id=manager.MetricId(counterId=key, instance=instance), value=text)
            for key, instance, text in series
        ],
    )


MACHINE = Subject(vim.VirtualMachine("vm-1"), ("vm", "db"), 4)
TWO = "20,2024-05-31T13:00:20Z,300,2024-05-31T12:55:20+00:00"


def test_each_sample_has_its_own_interval() -> None:
    series = [(12, "", "2000,3000"), (12, "0", ", -1"), (12, "naa.6", "1,1"), (10042, "", "1,1"), (12, "", "7,7")]
    frame = reader()._frame(MACHINE, answer(TWO, *series))
    assert frame is not None
    ready = frame.filter(frame["metric"].cast(str) == "ready_sum_pct")
    assert ready["value"].to_list() == [1.0, 10.0]  # in the order of time
    assert {str(path) for path in frame["entity"]} == {"vm/db", "vm/db/vcpu/0"}


@pytest.mark.parametrize(
    ("samples", "values"),
    [
        (TWO, "1"),
        (TWO, "1,2,3"),
        (TWO, "1,x"),
        (TWO, "1,1.5"),
        (TWO, "1,nan"),
        (TWO, "1," + "9" * 400),
        ("20", "1"),
        ("20,yesterday", "1"),
        ("0,2024-05-31T13:00:20Z", "1"),
        ("x,2024-05-31T13:00:20Z", "1"),
        ("-20,2024-05-31T13:00:20Z", "1"),
        ("99999999999999999999,2024-05-31T13:00:20Z", "1"),
        ("20,0001-01-01T00:00:00+14:00", "1"),
        ("20,2999-01-01T00:00:00Z", "1"),
        (",".join(["20,2024-05-31T13:00:20Z"] * 20_000), "1"),
    ],
)
def test_samples_that_are_refused(samples: str, values: str) -> None:
    with pytest.raises(SourceError):
        reader()._frame(MACHINE, answer(samples, (12, "", values)))


TEXT = st.text(st.sampled_from("0123456789,-:TZ+. \t\nx٣é"), max_size=60)


@given(TEXT | st.just(TWO), TEXT | st.just("1,2"), TEXT, st.integers(-(2**31), 2**31 - 1) | st.just(12))
def test_any_samples_give_a_table_or_one_error(samples: str, values: str, instance: str, key: int) -> None:
    try:
        frame = reader()._frame(MACHINE, answer(samples, (key, instance, values)))
    except SourceError:
        return
    assert frame is None or np.isfinite(frame["value"].to_numpy()).all()


class Estate:
    """A session with two datacenters, each with a cluster of the same name in a folder of its own."""

    content = SimpleNamespace(rootFolder=None)
    found: ClassVar[dict[str, list[tuple[str, dict[str, Any]]]]] = {
        "vim.ClusterComputeResource": [
            ("c-1", {"name": "C", "parent": vim.Folder("f-2")}),
            ("c-2", {"name": "C", "parent": vim.Folder("f-3")}),
            ("c-3", {"name": "D", "parent": vim.Folder("f-3")}),
        ],
        "vim.Datacenter": [("d-1", {"name": "Rome"}), ("d-2", {"name": "Milan"})],
        "vim.Folder": [
            ("f-1", {"parent": vim.Datacenter("d-1")}),
            ("f-2", {"parent": vim.Folder("f-1")}),
            ("f-3", {"parent": vim.Datacenter("d-2")}),
            ("f-4", {"parent": vim.Folder("f-4")}),
        ],
        "vim.ComputeResource": [
            (f"c-{n}", {"parent": vim.Folder(f"f-{folder}")}) for n, folder in ((1, 2), (2, 3), (3, 3))
        ],
    }

    def objects(self, kind: type[Any], *_: object) -> Iterator[tuple[Any, dict[str, Any]]]:
        return ((kind(moid), values) for moid, values in self.found[kind.__name__])


def test_clusters_of_one_name_are_told_apart_by_datacenter() -> None:
    clusters = Clusters(Estate(), vim)  # type: ignore[arg-type]
    assert clusters.names == {"c-1": "C (Rome)", "c-2": "C (Milan)", "c-3": "D"}
    assert [clusters.datacenter(each) for each in ("c-1", "f-3", "f-4", "none")] == ["Rome", "Milan", None, None]
    assert [each.name for each in clusters.facts({"c-3"}, all_of_them=False)] == ["D"]
    assert [each.ha for each in clusters.facts((), all_of_them=True)] == [None] * 3


def test_one_address_at_a_time():
    with refused("bad-address", match="2 addresses"):
        sources.read(["vcenter://a@one", "vcenter://a@two"])


def _cluster(**settings: Any) -> Clusters:
    """Cluster `D` with these settings."""
    estate = Estate()
    configured = vim.cluster.ConfigInfoEx(**settings)
    found = {**estate.found, "vim.ClusterComputeResource": [("c-3", {"name": "D", "configurationEx": configured})]}
    estate.found = found  # type: ignore[misc]
    return Clusters(estate, vim)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("policy", "rule", "pct", "failures"),
    [
        (vim.cluster.FailoverLevelAdmissionControlPolicy(failoverLevel=2), "slots", None, 2),
        (
            vim.cluster.FailoverResourcesAdmissionControlPolicy(
                cpuFailoverResourcesPercent=25, memoryFailoverResourcesPercent=20, autoComputePercentages=False
            ),
            *("percentage", 20.0, None),
        ),
        (None, None, None, 1),
    ],
)
def test_how_admission_control_counts(policy: Any, rule: str | None, pct: float | None, failures: int | None) -> None:
    ha = vim.cluster.DasConfigInfo(enabled=True, admissionControlEnabled=True, failoverLevel=1)
    if policy is not None:
        ha.admissionControlPolicy = policy
    (found,) = _cluster(dasConfig=ha).facts((), all_of_them=True)
    assert (found.admission_policy, found.admission_pct, found.failures) == (rule, pct, failures)
    assert (found.restarts_by, found.drs) == ("fdm", None)


@pytest.mark.parametrize(
    ("enabled", "behaviour", "drs"),
    [(True, "fullyAutomated", True), (True, "partiallyAutomated", False), (False, "fullyAutomated", False)],
)
def test_only_drs_that_asks_nobody_moves_machines(enabled: bool, behaviour: str, drs: bool) -> None:
    said = vim.cluster.DrsConfigInfo(enabled=enabled, defaultVmBehavior=behaviour, vmotionRate=2)
    (found,) = _cluster(drsConfig=said).facts((), all_of_them=True)
    # the API counts from aggressive to conservative
    assert (found.drs, found.drs_threshold) == (drs, 4)


def test_restart_priorities_of_machines_and_of_their_cluster() -> None:
    ha = vim.cluster.DasConfigInfo(defaultVmSettings=vim.cluster.DasVmSettings(restartPriority="low"))
    own = vim.cluster.DasVmConfigInfo(
        key=vim.VirtualMachine("vm-7"), dasSettings=vim.cluster.DasVmSettings(restartPriority="disabled")
    )
    of_vms, of_clusters = _cluster(dasConfig=ha, dasVmConfig=[own]).restart_priorities()
    assert (of_vms, of_clusters) == ({"vm-7": "disabled"}, {"D": "low"})
