"""A session with vCenter Server or ESXi through pyVmomi: log in, read properties in pages, log out.

The server is not trusted. Every response is limited in bytes, elements and time before it becomes objects. Compressed
responses and document types are refused. Every fault becomes one `UnreachableError` or `SourceError` without the
server's text, which is in its language and could repeat the request. Only the frame that logs in has the password.

Interfaces: vSphere Web Services API, `SessionManager.Login`, `PropertyCollector.RetrievePropertiesEx`,
`ViewManager.CreateContainerView` (developer.broadcom.com, Virtual Infrastructure JSON and SOAP API).
"""

from __future__ import annotations

import re
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

from hypertwin.errors import HypertwinError, UnreachableError, short
from hypertwin.extras import needs
from hypertwin.ingest import address as addresses
from hypertwin.ingest import outside, tls
from hypertwin.ingest.address import Address, refuse
from hypertwin.ingest.tls import PinnedConnection, Trust

SCHEME = "vcenter"
TIMEOUT_S = 60.0
"""Maximum seconds without a byte from the server."""
ANSWER_TIMEOUT_S = 300.0
"""Maximum seconds for one whole response."""
MOST_ANSWER_BYTES = 16 * 2**20
MOST_ANSWER_TAGS = 1_000_000
"""Maximum opening and closing tags of one response. A page of VMs has some 100,000."""
MOST_OBJECTS = 50_000
"""Maximum objects of one kind. A vCenter Server has at most 45,000 VMs (VMware Configuration Maximums, vSphere 8.0)."""
HINT = "check that it is a vCenter Server or ESXi"
PAGE = 50
"""Objects in one request."""
VERSIONS = (
    ((8, 0, 0, 1), "vim.version.v8_0_0_1"),
    ((7, 0), "vim.version.v7_0"),
    ((6, 5), "vim.version.version11"),
    ((5, 0), "vim.version.version7"),
)
"""Interface versions that this client supports, newest first: 8.0.0.1 has virtual NUMA, 7.0 readiness, 6.5 NVMe, 5.0
cores per socket. A server supports all versions up to its own."""
_PROLOG = re.compile(rb"""(\xef\xbb\xbf)?\s*(<\?xml(?P<declared>[^>]{0,200})\?>)?\s*<[A-Za-z_]""")
_ENCODING = re.compile(rb"""encoding\s*=\s*["']([^"']*)["']""", re.IGNORECASE)
_ESCAPED = re.compile(r"%(?:25|2[fF]|5[cC])")

T = TypeVar("T")


class FaultError(Exception):
    """Raised if the server refuses a call. `kind` is the name of the fault: `NoPermission`, `InvalidArgument`."""

    def __init__(self, kind: str) -> None:
        """Keep only the name, because the server's message is in its language and is not shown."""
        super().__init__(kind)
        self.kind = kind


@dataclass(frozen=True)
class Options:
    """Options after the `?` of an address."""

    trust: Trust = field(default_factory=Trust)
    """Certificates to trust (`ca=FILE.pem`, `fingerprint=SHA256`, `insecure=1`)."""
    hours: float = 1.0
    """Hours of counters to read, up to now (`hours=24`)."""
    interval_s: int | None = None
    """Length of the samples of counters (`interval=300`); None: the shortest that are kept for `hours`."""


@dataclass
class Session:
    """An open session. `missing` counts properties that the server did not show, by path and name of the fault."""

    address: Address
    options: Options
    instance: Any
    """`vim.ServiceInstance`."""
    content: Any
    """`vim.ServiceInstanceContent`."""
    version: tuple[int, ...]
    """Version of the server's interface: `(8, 0, 2, 0)`."""
    root: Any
    """Object in the address: a folder, datacenter or cluster."""
    missing: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """The address, safe to show."""
        return str(self.address)

    @property
    def source(self) -> outside.Source:
        """The server as the place of errors."""
        return outside.Source(self.address, HINT)

    def call(self, what: str, method: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Call `method(...)`. Raises FaultError, UnreachableError or SourceError for any failure."""
        return _call(self.name, what, method, *arguments, **named)

    def objects(
        self, kind: type[Any], paths: Sequence[str], root: Any = None, page: int = PAGE
    ) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield all objects of a kind under `root`, each with its available properties.

        Forbidden properties are counted in `missing`. Unset ones are left out.
        """
        from pyVmomi import vmodl

        what = kind.__name__.removeprefix("vim.")
        view = self.call(what, self.content.viewManager.CreateContainerView, root or self.root, [kind], True)
        try:
            collector = vmodl.query.PropertyCollector
            members = collector.TraversalSpec(name="view", path="view", skip=False, type=type(view))
            spec = collector.ObjectSpec(obj=view, skip=True, selectSet=[members])
            yield from self._retrieved(kind, [spec], paths, page)
        finally:
            with suppress(FaultError, HypertwinError):
                self.call(what, view.DestroyView)

    def properties(
        self, kind: type[Any], references: Sequence[Any], paths: Sequence[str]
    ) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield the properties of these objects of a kind, in the form of `objects`."""
        from pyVmomi import vmodl

        collector = vmodl.query.PropertyCollector
        for begin in range(0, len(references), PAGE):
            specs = [collector.ObjectSpec(obj=each, skip=False) for each in references[begin : begin + PAGE]]
            yield from self._retrieved(kind, specs, paths, PAGE)

    def _retrieved(
        self, kind: type[Any], specs: Sequence[Any], paths: Sequence[str], page: int
    ) -> Iterator[tuple[Any, dict[str, Any]]]:
        from pyVmomi import vmodl

        what = kind.__name__.removeprefix("vim.")
        collector = vmodl.query.PropertyCollector
        wanted = collector.PropertySpec(type=kind, pathSet=list(paths), all=False)
        spec = collector.FilterSpec(objectSet=list(specs), propSet=[wanted])
        properties = self.content.propertyCollector
        options = collector.RetrieveOptions(maxObjects=page)
        result = self.call(what, properties.RetrievePropertiesEx, [spec], options)
        seen: set[str] = set()
        while result is not None:
            for found in result.objects or ():
                identity = moid(found.obj)
                if not isinstance(found.obj, kind) or identity in seen:
                    continue
                seen.add(identity)
                yield found.obj, self._properties(what, found)
            if len(seen) > MOST_OBJECTS:
                allowed = f"at most {MOST_OBJECTS} objects of a kind"
                self.source.at(what).too_large(f"more than {MOST_OBJECTS}", allowed, "name a datacenter")
            if not result.token or not result.objects:
                break
            result = self.call(what, properties.ContinueRetrievePropertiesEx, result.token)

    def _properties(self, what: str, found: Any) -> dict[str, Any]:
        for absent in found.missingSet or ():
            fault = type(absent.fault).__name__.rpartition(".")[2] if absent.fault is not None else "unknown"
            self.missing[f"{what}.{outside.name(absent.path or '')}", fault] += 1
        return {one.name: one.val for one in found.propSet or () if getattr(one, "val", None) is not None}


def read_address(text: str) -> tuple[Address, Options]:
    """Return the address and its options.

    Raises SourceError for an address without a user or with an unknown option.
    """
    address = addresses.parse(text, (SCHEME,))
    if not address.user:
        refuse(str(address), f"{SCHEME}://USER@HOST", "name a user; the read-only role is enough")
    given: dict[str, str] = {}
    try:
        given = dict(parse_qsl(address.query, keep_blank_values=True, strict_parsing=True, max_num_fields=10))
    except ValueError:
        if address.query:
            refuse(f"{address}", "?OPTION=VALUE&OPTION=VALUE", "check what follows the question mark")
    readers: Mapping[str, Callable[[str], Any]] = {**tls.OPTIONS, "hours": _hours, "interval": _interval}
    named = {"interval": "interval_s"}
    values = {}
    for key, text_value in given.items():
        if key not in readers:
            refuse(f"option {short(key)!r}", " or ".join(readers), "check its spelling")
        values[named.get(key, key)] = readers[key](text_value)
    trust = Trust(**{key: values.pop(key) for key in tls.OPTIONS if key in values})
    return address, Options(trust, **values)


def _hours(text: str) -> float:
    hours = outside.number(text)
    if hours is None or not 0 < hours <= 24 * 366:
        refuse(f"hours={short(text)}", "hours=H, more than 0 and at most 8784", "check the option")
    return hours


def _interval(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 20 <= int(text) <= 86_400:
        allowed = "interval=S in seconds, from 20 to 86400"
        refuse(f"interval={short(text)}", allowed, "20 is real time; 300, 1800, 7200, 86400 are usual")
    return int(text)


@contextmanager
def connected(text: str) -> Iterator[Session]:
    """A session at the address. It is always logged out at the end."""
    address, options = read_address(text)
    needs("vmware", f"{address.scheme}://")
    from pyVmomi import vim

    shown = str(address)
    stub = _stub(address, options, VERSIONS[-1][1])
    try:
        content: Any = _call(shown, "service content", vim.ServiceInstance("ServiceInstance", stub).RetrieveContent)
        version = _version(content)
        spoken = next((name for since, name in VERSIONS if since <= version), None)
        if spoken is None:
            place = outside.Source(shown, "check that it is a vCenter Server", "about.apiVersion")
            place.refuse(version, "version 5.0 or later")
        stub.DropConnections()
        stub = _stub(address, options, spoken)
        instance = vim.ServiceInstance("ServiceInstance", stub)
        content = _call(shown, "service content", instance.RetrieveContent)
        _login(shown, content.sessionManager, address)
        try:
            yield Session(address, options, instance, content, version, _root(shown, content, address.path))
        finally:
            with suppress(FaultError, HypertwinError):
                _call(shown, "log out", content.sessionManager.Logout)
    except FaultError as fault:
        raise UnreachableError(f"{shown}: refused by the server ({fault.kind})") from None
    except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError) as error:
        # pyVmomi checks neither the type of a result nor the types of a list's elements
        value = f"an answer in the wrong form ({type(error).__name__})"
        outside.Source(shown, HINT).refuse(value, "an answer of the vSphere API")
    finally:
        stub.DropConnections()


def _login(shown: str, manager: Any, address: Address) -> None:
    try:
        _call(shown, "log in", manager.Login, address.user, addresses.password(address))
    except FaultError as fault:
        reason = {
            "InvalidLogin": "wrong user or password",
            "NoPermission": "the user may not log in",
            "PasswordExpired": "the password has expired",
        }.get(fault.kind, fault.kind)
        raise UnreachableError(f"{shown}: {reason}") from None


def _root(shown: str, content: Any, path: str) -> Any:
    """Return the object at an inventory path such as `/DC0` or `/DC0/Cluster1`, or the root folder if it is empty."""
    parts = [unquote(part) for part in path.split("/") if part]
    if not parts:
        return content.rootFolder
    ways = ["/".join(parts), *(["/".join([*parts[:-1], "host", parts[-1]])] if len(parts) > 1 else [])]
    for way in ways:
        with suppress(FaultError):
            found = _call(shown, "inventory path", content.searchIndex.FindByInventoryPath, way)
            if found is not None:
                return found
    allowed = "a folder, datacenter or cluster: /DATACENTER or /DATACENTER/CLUSTER"
    return outside.Source(shown).refuse("no such object", allowed, "check the path", "unknown-source")


def _version(content: Any) -> tuple[int, ...]:
    text = getattr(content.about, "apiVersion", None) or ""
    parts = text.split(".")[:6]
    return tuple(int(part) for part in parts if re.fullmatch(r"[0-9]{1,4}", part))


def _stub(address: Address, options: Options, version: str) -> Any:
    from pyVmomi.SoapAdapter import SoapStubAdapter

    stub: Any = SoapStubAdapter(
        host=address.host,
        port=address.port or 443,
        path="/sdk",
        version=version,
        poolSize=1,
        acceptCompressedResponses=False,
        httpConnectionTimeout=TIMEOUT_S,
        sslContext=options.trust.context(str(address)),
    )
    stub.scheme = type("_Connection", (_Connection,), {"fingerprint": options.trust.fingerprint})
    return stub


def _call(shown: str, what: str, method: Callable[..., T], *arguments: Any, **named: Any) -> T:
    from pyVmomi import vmodl

    try:
        return method(*arguments, **named)
    except vmodl.MethodFault as fault:
        raise FaultError(type(fault).__name__.rpartition(".")[2]) from None
    except _RefusedAnswerError as error:
        outside.Source(shown, HINT, what).refuse(error, error.allowed, code=error.code)
    except ssl.SSLCertVerificationError:
        hint = "trust it with ?fingerprint=SHA256 or ?ca=FILE.pem, or take it unseen with ?insecure=1"
        raise UnreachableError(f"{shown}: the certificate of the server is not trusted\n  help: {hint}") from None
    except tls.OtherCertificateError as error:
        raise UnreachableError(f"{shown}: {tls.changed(error)}") from None
    except TimeoutError:
        raise UnreachableError(f"{shown}: no answer in time ({what})") from None
    except OSError as error:
        raise UnreachableError(f"{shown}: {error.strerror or type(error).__name__} ({what})") from None
    except HTTPException as error:
        raise UnreachableError(f"{shown}: no valid HTTP answer ({type(error).__name__}, {what})") from None
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:  # an unexpected element can make pyVmomi raise anything
        value = f"an answer that cannot be read ({type(error).__name__})"
        outside.Source(shown, HINT, what).refuse(value, "an answer of the vSphere API")


def moid(reference: Any) -> str:
    """Return the ID of a managed object on its server: `vm-42`."""
    return str(getattr(reference, "_moId", ""))


def plain_name(text: object) -> str:
    """Return a safe name of an inventory object, without vCenter's escapes (`%2f`, `%5c`, `%25`)."""
    return outside.name(_ESCAPED.sub(lambda match: unquote(match[0]), str(text)))


def distinct(names: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return names by ID. If several objects share a name, each gets its ID added: `web (vm-42)`."""
    listed = list(names)
    often = Counter(name for _, name in listed)
    return {
        identity: outside.told_apart(name, identity) if often[name] > 1 or not name else name
        for identity, name in listed
    }


class _RefusedAnswerError(HTTPException):
    def __init__(self, value: str, allowed: str, code: str = "bad-source") -> None:
        super().__init__(value)
        self.allowed = allowed
        self.code = code


class _Answer(HTTPResponse):
    """A response of limited size: plain XML in UTF-8 without a document type."""

    def begin(self) -> None:
        self.end_time = time.monotonic() + ANSWER_TIMEOUT_S
        self.taken = self.tags = 0
        super().begin()
        encoding = self.getheader("Content-Encoding", "identity").strip().lower()
        if encoding not in ("identity", ""):
            raise _RefusedAnswerError(f"Content-Encoding {encoding[:20]}", "an answer without compression")

    def read(self, amt: int | None = None) -> bytes:
        data = self.read1(65_536 if amt is None else amt)
        if not data:
            return super().read()  # also closes the answer, so that its connection can be used again
        if self.taken == 0:
            while len(data) < 300 and amt is not None and len(data) < amt and (more := self.read1(amt - len(data))):
                data += more
            _check_prolog(data)
        self.taken += len(data)
        self.tags += data.count(b"<")
        if self.taken > MOST_ANSWER_BYTES or self.tags > MOST_ANSWER_TAGS:
            allowed = f"at most {MOST_ANSWER_BYTES} bytes and {MOST_ANSWER_TAGS} tags"
            raise _RefusedAnswerError("a larger answer", allowed, "source-too-large")
        if time.monotonic() > self.end_time:
            raise TimeoutError
        return data


def _check_prolog(head: bytes) -> None:
    match = _PROLOG.match(head)
    declared = _ENCODING.search(match["declared"] or b"") if match else None
    if match is None or (declared and declared[1].lower() not in (b"utf-8", b"us-ascii")):
        raise _RefusedAnswerError("an answer in the wrong form", "XML in UTF-8 without a document type")


class BoundedConnection(HTTPConnection):
    """A connection with limited responses, which close with it."""

    response_class = _Answer
    answer: HTTPResponse | None = None

    def getresponse(self) -> HTTPResponse:
        """Return the next response."""
        self.answer = super().getresponse()
        return self.answer

    def close(self) -> None:
        """Close the response too, because pyVmomi leaves an unreadable one open."""
        super().close()
        if self.answer is not None:
            self.answer.close()


class _Connection(BoundedConnection, PinnedConnection):
    pass
