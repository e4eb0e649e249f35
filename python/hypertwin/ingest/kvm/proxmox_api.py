"""A Proxmox VE cluster over the API of one of its nodes: `proxmox://USER@REALM!TOKENID@HOST[:PORT][?OPTION=VALUE]`.

The reader asks for the responses that a dump has (`proxmox.py`), and changes nothing. It logs in with an API token
(`PVEAPIToken`), or with a password if the user has no `!TOKENID`. The role PVEAuditor on `/` is enough. A token with
separate privileges does not inherit the role of its user. Responses can be missing: refused (403), not in this version
(501), or on a node that is late or does not answer (595 to 599). The notes say so.

The server is not trusted. Responses are limited in bytes and time, names are checked before they become part of a path,
and no message of the server is shown.

Interface: pve.proxmox.com/pve-docs/api-viewer; "API Tokens" in pve-docs/pveum.adoc. Status of nodes out of reach:
AnyEvent::HTTP, which pve-http-server uses.
"""

from __future__ import annotations

import re
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.parse import parse_qsl, urlencode

from hypertwin.errors import SourceError, UnreachableError, short
from hypertwin.ingest import address as addresses
from hypertwin.ingest import json_fields, outside, tls
from hypertwin.ingest.address import Address
from hypertwin.ingest.inventory import Inventory
from hypertwin.ingest.json_fields import Fields
from hypertwin.ingest.kvm import proxmox, proxmox_series
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.tls import PinnedConnection, Trust, refuse_option

SCHEME = "proxmox"
FORM = f"{SCHEME}://USER@REALM!TOKENID@HOST"
PORT = 8006
TIMEOUT_S = 30.0
"""Maximum seconds without a byte from the server. A node that is offline takes up to that."""
ANSWER_S = 60.0
"""Maximum seconds of one response."""
MAX_BYTES = 16 * 2**20
"""Maximum size of one response. A month of a guest has 0.7 MB."""
MAX_ALL_BYTES = 4 * 2**30
CONNECTIONS = 4
"""Number of nodes that are asked at the same time."""
MAX_LATE = 2
"""Number of responses of a node that can be late before the node counts as not answering."""
UNANSWERED = range(595, 600)
"""Status if the node asked does not answer the one that forwards the request."""
OF_CLUSTER = (
    "cluster/status",
    "cluster/ha/resources",
    "cluster/ha/rules",
    "cluster/ha/groups",
)
OF_CEPH = ("storage", "cluster/ceph/status", "cluster/ceph/flags", "cluster/ceph/metadata")
OF_CEPH_NODE = ("osd", "pool", "crush")
_NODE = re.compile("[A-Za-z0-9](?:[A-Za-z0-9.-]{0,61}[A-Za-z0-9])?")
_NEEDED: Mapping[str, str] = {
    "cluster/status": "name of the cluster",
    "NODE": "processors, memory and guests of the node",
    "status": "processors, clock and memory of nodes",
    "config": "settings and disks of guests",
    "snapshot": "snapshots of guests",
    "current": "memory in the balloon of VMs",
    proxmox.SERIES: "demand of guests over a month",
    "resources": "VMs that HA restarts after a node failure",
    "rules": "placement rules",
    "groups": "placement rules",
    "ceph": "storage pools",
}
"""Results that need a response, by its path or the last part of that."""


def read(sources: Sequence[str]) -> Inventory:
    """Return the inventory at an address. Raises UnreachableError and SourceError. Never shows the secret."""
    if len(sources) > 1:
        hint = "import clusters one after another; one node answers for its whole cluster"
        outside.refuse(f"{SCHEME}://", "", f"{len(sources)} addresses", "one node of a cluster", hint, "bad-address")
    address, trust = read_address(sources[0])
    server = Server(address, trust)
    with closing(server):
        server.log_in()
        answers = _Collection(server).answers()
    return proxmox.inventory(answers, str(address), server.gaps())


def read_address(text: str) -> tuple[Address, Trust]:
    """Return the address, and the certificates to trust. Raises SourceError."""
    address = addresses.parse(text, (SCHEME,), f"{FORM}[:PORT]")
    user, _, token = address.user.partition("!")
    if "@" not in user.strip("@") or (token and not re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]{1,127}", token)):
        hint = "name the user with its realm (auditor@pve), and !TOKENID for an API token"
        outside.refuse(str(address), "", "no user with a realm", FORM, hint, "bad-address")
    if address.path:
        outside.refuse(str(address), "", "a path", FORM, "one node answers for its whole cluster", "bad-address")
    pairs = address.query.split("&", 10)[:10]
    given = dict(parse_qsl("&".join(pairs), keep_blank_values=True))
    if address.query and len(given) != address.query.count("&") + 1:
        refuse_option("options that are not understood", "?OPTION=VALUE&OPTION=VALUE", "check what follows the ?")
    for key in given:
        if key not in tls.OPTIONS:
            refuse_option(f"option {short(key)!r}", " or ".join(tls.OPTIONS), "check its spelling")
    return address, Trust(**{key: tls.OPTIONS[key](value) for key, value in given.items()})


class _MissingError(Exception):
    """Raised if there is no response to a path, with the reason for the notes."""

    def __init__(self, reason: str, *, is_node: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_node = is_node
        """True if the node does not answer."""


@dataclass
class Server:
    """A node that answers for its cluster. Holds the secret, and never shows it."""

    address: Address
    trust: Trust
    headers: dict[str, str] = field(
        default_factory=lambda: {"Accept-Encoding": "identity", "Connection": "keep-alive"}, repr=False
    )
    missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Responses that are missing, by kind of path and reason."""
    taken: int = 0
    """Bytes of all responses."""

    def __post_init__(self) -> None:
        """Prepare a connection for each thread."""
        self._context = self.trust.context(str(self.address))
        self._local = threading.local()
        self._open: list[PinnedConnection] = []
        self._lock = threading.Lock()
        self.stopped = threading.Event()
        """Set after an error or an interrupt, which ends all threads."""

    def log_in(self) -> None:
        """Send the token with each request from now on, or get a ticket for the password."""
        secret = addresses.password(self.address)
        if not secret.isascii() or not secret.isprintable() or not secret:
            hint = f"set {addresses.PASSWORD_VARIABLE} to the secret of the token, or to the password"
            outside.refuse(str(self.address), "", "a secret that cannot be sent", "printable ASCII", hint)
        if "!" in self.address.user:
            self.headers["Authorization"] = f"PVEAPIToken={self.address.user}={secret}"
            return
        body = urlencode({"username": self.address.user, "password": secret})
        try:
            answer = self._asked("access/ticket", body)
        except _MissingError as error:
            raise UnreachableError(f"{self.address}: {error.reason} (access/ticket)") from None
        found = answer if isinstance(answer, dict) else {}
        ticket = json_fields.text(found.get("ticket"))
        if found.get("NeedTFA") or not re.fullmatch(r"[\x21-\x3a\x3c-\x7e]{1,4096}", ticket):
            hint = f"create an API token for it, and import {FORM}"
            outside.refuse(str(self.address), "", "a user with a second factor", "an API token", hint, "bad-address")
        self.headers["Cookie"] = f"PVEAuthCookie={ticket}"

    def get(self, path: str) -> Any:
        """Return the response to a path. Raises _MissingError, UnreachableError or SourceError."""
        return self._asked(path)

    def miss(self, kind: str, reason: str) -> None:
        """Note that a response is missing."""
        with self._lock:
            self.missing[kind, reason] += 1

    def gaps(self) -> list[Gap]:
        """Return the missing responses by kind, each with the reason and what needs it."""
        return [
            Gap(
                f"{kind} ({reason}{f', {count} times' if count > 1 else ''})",
                _NEEDED.get(kind) or _NEEDED[kind.rpartition("/")[2]],
            )
            for (kind, reason), count in sorted(self.missing.items())
        ]

    def _asked(self, path: str, body: str | None = None) -> Any:
        status, data = self._response(path, body)
        if status == 401:
            raise UnreachableError(f"{self.address}: wrong user, token or secret")
        if status in UNANSWERED:
            raise _MissingError("the node does not answer", is_node=True)
        if status != 200:
            raise _MissingError({403: "not allowed", 501: "not in this version"}.get(status, f"status {status}"))
        if path.partition("?")[0].endswith(proxmox.SERIES):
            return self._checked(path, lambda: proxmox_series.of_text(data, str(self.address)))
        answer = self._checked(path, lambda: outside.parsed(data, str(self.address)))
        if not isinstance(answer, dict) or "data" not in answer:
            hint = "check that it is a Proxmox VE node, and its port"
            outside.refuse(str(self.address), path, "a response without data", '{"data": ...}', hint)
        return answer["data"]

    def _checked(self, path: str, parse: Callable[[], Any]) -> Any:
        try:
            return parse()
        except SourceError as error:
            value, allowed = "a response in the wrong form", "JSON of the API of Proxmox VE"
            hint = "check that it is a Proxmox VE node, and its port"
            outside.refuse(str(self.address), path, value, allowed, hint, error.code)

    def _response(self, path: str, body: str | None) -> tuple[int, bytes]:
        """Return the status and the bytes of a response. A connection that the server has closed is opened again."""
        for attempt in (1, 2):
            try:
                return self._exchange(path, body)
            except (OSError, HTTPException) as error:
                self._close()
                self._give_up(path, error, is_last=attempt == 2)
        raise AssertionError

    def _give_up(self, path: str, error: OSError | HTTPException, *, is_last: bool) -> None:
        """Raise the error of a failed request, unless it is worth another attempt."""
        shown = str(self.address)
        if isinstance(error, ssl.SSLCertVerificationError):
            hint = (
                "give the fingerprint that `pvenode cert info` shows as ?fingerprint=SHA256, or "
                "/etc/pve/pve-root-ca.pem as ?ca=FILE.pem"
            )
            raise UnreachableError(f"{shown}: the certificate of the server is not trusted\n  help: {hint}") from None
        if isinstance(error, tls.OtherCertificateError):
            raise UnreachableError(f"{shown}: {tls.changed(error)}") from None
        if isinstance(error, TimeoutError):
            raise _MissingError("no answer in time", is_node=True) from None
        if is_last:
            reason = error.strerror if isinstance(error, OSError) else None
            raise UnreachableError(f"{shown}: {reason or type(error).__name__} ({path})") from None

    def _exchange(self, path: str, body: str | None) -> tuple[int, bytes]:
        if self.stopped.is_set():
            raise _MissingError("stopped", is_node=True)
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = PinnedConnection(
                self.address.host, self.address.port or PORT, timeout=TIMEOUT_S, context=self._context
            )
            connection.fingerprint = self.trust.fingerprint
            self._local.connection = connection
            with self._lock:
                self._open.append(connection)
        end = time.monotonic() + ANSWER_S
        headers = dict(self.headers)
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request("GET" if body is None else "POST", f"/api2/json/{path}", body, headers)
        response = connection.getresponse()
        try:
            data = self._bytes(response, path, end)
        except BaseException:
            self._close()
            raise
        return response.status, data

    def _bytes(self, response: HTTPResponse, path: str, end: float) -> bytes:
        parts, size = [], 0
        while part := response.read1(2**16):
            size += len(part)
            parts.append(part)
            if time.monotonic() > end:
                raise TimeoutError
            if size > MAX_BYTES:
                allowed = f"at most {MAX_BYTES} bytes"
                hint = "check that it is a Proxmox VE node"
                outside.refuse(str(self.address), path, "a larger response", allowed, hint, "source-too-large")
        response.close()
        with self._lock:
            self.taken += size
            if self.taken > MAX_ALL_BYTES:
                allowed = f"at most {MAX_ALL_BYTES} bytes of all responses"
                outside.refuse(str(self.address), path, "more", allowed, "import a dump", "source-too-large")
        return b"".join(parts)

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in self._open:
            connection.close()

    def _close(self) -> None:
        """Close the connection of this thread. The next request opens it again."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()


class _Collection:
    """The responses of a cluster, collected by node."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def answers(self) -> dict[str, Any]:
        """Return all responses by path."""
        found: dict[str, Any] = {}
        try:
            found[proxmox.RESOURCES] = self.server.get(proxmox.RESOURCES)
        except _MissingError as error:
            raise UnreachableError(f"{self.server.address}: {error.reason} ({proxmox.RESOURCES})") from None
        kinds = proxmox.by_type(found, str(self.server.address))
        self._check_seen(kinds)
        for path in OF_CLUSTER:
            self._ask(found, path, "cluster")
        guests: dict[str, list[Fields]] = {}
        for each in (*kinds.get("qemu", ()), *kinds.get("lxc", ())):
            guests.setdefault(json_fields.text(each.get("node")), []).append(each)
        jobs: list[tuple[str, list[Fields]]] = []
        for each in kinds.get("node", ()):
            name = json_fields.text(each.get("node"))
            if not _NODE.fullmatch(name):
                continue
            if each.get("status") == "offline":
                self.server.miss("nodes/NODE", f"{name} is offline")
                continue
            jobs.append((name, guests.get(name, [])))
        self._add_ceph(found, [node for node, _ in jobs])
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            try:
                for of_node in pool.map(lambda job: self._of_node(*job), jobs):
                    found |= of_node
            except BaseException:
                self.server.stopped.set()
                raise
        return found

    def _add_ceph(self, found: dict[str, Any], nodes: Sequence[str]) -> None:
        """Store the responses about Ceph, which every node of a cluster with Ceph has. Others answer with an error."""
        paths = [*OF_CEPH, *(f"nodes/{nodes[0]}/ceph/{part}" for part in OF_CEPH_NODE)] if nodes else []
        for path in paths:
            try:
                found[path] = self.server.get(path)
            except _MissingError as error:
                if error.reason == "not allowed":
                    self.server.miss("ceph", "not allowed: needs Sys.Audit and Datastore.Audit")
                if path == OF_CEPH[1]:
                    return

    def _check_seen(self, kinds: Mapping[str, Sequence[Fields]]) -> None:
        """Refuse a cluster without visible guests or sizes of nodes because of lacking rights."""
        nodes = [each for each in kinds.get("node", ()) if each.get("status") != "offline"]
        if any("maxmem" in each for each in nodes) and (kinds.get("qemu") or kinds.get("lxc")):
            return
        try:
            rights = self.server.get("access/permissions")
        except _MissingError:
            return
        paths = rights.values() if isinstance(rights, dict) else ()
        held = {right for path in paths if isinstance(path, dict) for right in path}
        lacks = [right for right in ("Sys.Audit", "VM.Audit") if right not in held]
        if lacks:
            hint = (
                "pveum acl modify / --roles PVEAuditor --tokens USER@REALM!TOKENID (--users for a user); a token with "
                "separate privileges does not inherit those of its user"
            )
            value = "sizes of nodes, or guests, that are not visible"
            outside.refuse(
                str(self.server.address),
                "cluster/resources",
                value,
                f"the rights {' and '.join(lacks)} on /",
                hint,
                "source-lacks",
            )

    def _of_node(self, node: str, guests: Sequence[Fields]) -> dict[str, Any]:
        """Return the responses about a node and its guests. A node that does not answer is not asked again."""
        found: dict[str, Any] = {}
        late = 0
        for kind, path in self._paths(node, guests):
            try:
                self._ask(found, path, kind)
            except _MissingError as error:
                late += 1
                if late == MAX_LATE or path.endswith("/status"):
                    self.server.miss("nodes/NODE", f"{node}: {error.reason}")
                    break
                self.server.miss(kind, error.reason)
        return found

    @staticmethod
    def _paths(node: str, guests: Sequence[Fields]) -> Iterator[tuple[str, str]]:
        """Yield the kinds and paths of the responses about a node and its guests."""
        month = "timeframe=month&cf=AVERAGE"
        yield "nodes/NODE/status", f"nodes/{node}/status"
        yield f"nodes/NODE/{proxmox.SERIES}", f"nodes/{node}/{proxmox.SERIES}?{month}"
        for each in guests:
            number = json_fields.whole(each.get("vmid"))
            if not number:
                continue
            kind = "lxc" if each.get("type") == "lxc" else "qemu"
            runs = each.get("status") == "running"
            for part in ("config", "snapshot", *(("status/current",) if runs and kind == "qemu" else ())):
                yield f"nodes/NODE/{kind}/VMID/{part}", f"nodes/{node}/{kind}/{number}/{part}"
            if runs:
                path = f"nodes/{node}/{kind}/{number}/{proxmox.SERIES}"
                yield f"nodes/NODE/{kind}/VMID/{proxmox.SERIES}", f"{path}?{month}"

    def _ask(self, found: dict[str, Any], path: str, kind: str) -> None:
        """Store a response, or note that it is missing. Raises _MissingError if its node does not answer."""
        try:
            answer = self.server.get(path)
        except _MissingError as error:
            if error.is_node and kind != "cluster":
                raise
            if kind != "cluster" or error.reason != "not in this version":  # of that, the inventory tells
                right = "VM.Audit" if "VMID" in kind else "Sys.Audit"
                reason = f"not allowed: needs {right}" if error.reason == "not allowed" else error.reason
                self.server.miss(path if kind == "cluster" else kind, reason)
            return
        found[path.partition("?")[0]] = answer
