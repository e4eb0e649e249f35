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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import urlencode

from hypertwin.errors import UnreachableError
from hypertwin.ingest import address as addresses
from hypertwin.ingest import http_json, json_fields, outside, tls
from hypertwin.ingest.address import Address
from hypertwin.ingest.http_json import MissingError, Service
from hypertwin.ingest.inventory import Inventory
from hypertwin.ingest.json_fields import Fields
from hypertwin.ingest.kvm import proxmox, proxmox_series
from hypertwin.ingest.tls import Trust

SCHEME = "proxmox"
FORM = f"{SCHEME}://USER@REALM!TOKENID@HOST"
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
SERVICE = Service(
    "Proxmox VE node",
    "API of Proxmox VE",
    8006,
    "/api2/json/",
    "give the fingerprint that `pvenode cert info` shows as ?fingerprint=SHA256, or "
    "/etc/pve/pve-root-ca.pem as ?ca=FILE.pem",
    {
        "cluster/status": "name of the cluster",
        "NODE": "processors, memory and guests of the node",
        "status": "processors, clock and memory of nodes",
        "config": "settings and disks of guests",
        "snapshot": "snapshots of guests",
        "current": "memory in the balloon of VMs",
        proxmox.SERIES: "demand of guests over a month",
        proxmox.PEAKS: "peaks of demand",
        "resources": "VMs that HA restarts after a node failure",
        "rules": "placement rules",
        "groups": "placement rules",
        "ceph": "storage pools",
    },
)


def read(sources: Sequence[str]) -> Inventory:
    """Return the inventory at an address. Raises UnreachableError and SourceError. Never shows the secret."""
    if len(sources) > 1:
        hint = "import clusters one after another; one node answers for its whole cluster"
        outside.Source(f"{SCHEME}://").refuse(f"{len(sources)} addresses", "one node of a cluster", hint, "bad-address")
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
        outside.Source(address).refuse("no user with a realm", FORM, hint, "bad-address")
    if address.path:
        outside.Source(address).refuse("a path", FORM, "one node answers for its whole cluster", "bad-address")
    return address, tls.trust(address.query)


class Server(http_json.Client):
    """A node that answers for its cluster. Holds the secret, and never shows it."""

    service = SERVICE

    def log_in(self) -> None:
        """Send the token with each request from now on, or get a ticket for the password."""
        secret = self.secret(f"set {addresses.PASSWORD_VARIABLE} to the secret of the token, or to the password")
        if "!" in self.address.user:
            self.headers["Authorization"] = f"PVEAPIToken={self.address.user}={secret}"
            return
        body = urlencode({"username": self.address.user, "password": secret})
        try:
            answer = self._asked("access/ticket", body)
        except MissingError as error:
            raise UnreachableError(f"{self.address}: {error.reason} (access/ticket)") from None
        found = answer if isinstance(answer, dict) else {}
        ticket = json_fields.text(found.get("ticket"))
        if found.get("NeedTFA") or not re.fullmatch(r"[\x21-\x3a\x3c-\x7e]{1,4096}", ticket):
            hint = f"create an API token for it, and import {FORM}"
            self.source.refuse("a user with a second factor", "an API token", hint, "bad-address")
        self.headers["Cookie"] = f"PVEAuthCookie={ticket}"

    def get(self, path: str) -> Any:
        """Return the response to a path. Raises MissingError, UnreachableError or SourceError."""
        return self._asked(path)

    def _asked(self, path: str, body: str | None = None) -> Any:
        form = {} if body is None else {"Content-Type": "application/x-www-form-urlencoded"}
        status, data = self.request(path, body, headers=form)
        if status == 401:
            raise UnreachableError(f"{self.address}: wrong user, token or secret")
        if status in UNANSWERED:
            raise MissingError("the node does not answer", is_node=True)
        if status != 200:
            raise MissingError({403: "not allowed", 501: "not in this version"}.get(status, f"status {status}"))
        if path.partition("?")[0].endswith(proxmox.SERIES):
            read = proxmox_series.peak_of_text if path.endswith("cf=MAX") else proxmox_series.of_text
            return self.checked(path, lambda: read(data, str(self.address)))
        answer = self.json(path, data)
        if not isinstance(answer, dict) or "data" not in answer:
            self.source.at(path).refuse("a response without data", '{"data": ...}')
        return answer["data"]


class _Collection:
    """The responses of a cluster, collected by node."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def answers(self) -> dict[str, Any]:
        """Return all responses by path."""
        found: dict[str, Any] = {}
        try:
            found[proxmox.RESOURCES] = self.server.get(proxmox.RESOURCES)
        except MissingError as error:
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
        with self.server.in_parallel(lambda job: self._of_node(*job), jobs) as answers:
            for of_node in answers:
                found |= of_node
        return found

    def _add_ceph(self, found: dict[str, Any], nodes: Sequence[str]) -> None:
        """Store the responses about Ceph, which every node of a cluster with Ceph has. Others answer with an error."""
        paths = [*OF_CEPH, *(f"nodes/{nodes[0]}/ceph/{part}" for part in OF_CEPH_NODE)] if nodes else []
        for path in paths:
            try:
                found[path] = self.server.get(path)
            except MissingError as error:
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
        except MissingError:
            return
        paths = rights.values() if isinstance(rights, dict) else ()
        held = {right for path in paths if isinstance(path, dict) for right in path}
        lacks = [right for right in ("Sys.Audit", "VM.Audit") if right not in held]
        if lacks:
            self.server.source.at("cluster/resources").lacks(
                "sizes of nodes, or guests, that are not visible",
                f"the rights {' and '.join(lacks)} on /",
                "pveum acl modify / --roles PVEAuditor --tokens USER@REALM!TOKENID (--users for a user); a token with "
                "separate privileges does not inherit those of its user",
            )

    def _of_node(self, node: str, guests: Sequence[Fields]) -> dict[str, Any]:
        """Return the responses about a node and its guests. A node that does not answer is not asked again."""
        found: dict[str, Any] = {}
        late = 0
        for kind, path in self._paths(node, guests):
            try:
                self._ask(found, path, kind)
            except MissingError as error:
                late += 1
                if late == MAX_LATE or path.endswith("/status"):
                    self.server.miss("nodes/NODE", f"{node}: {error.reason}")
                    break
                self.server.miss(kind, error.reason)
        return found

    @staticmethod
    def _paths(node: str, guests: Sequence[Fields]) -> Iterator[tuple[str, str]]:
        """Yield the kinds and paths of the responses about a node and its guests."""
        series = {proxmox.SERIES: "timeframe=month&cf=AVERAGE", proxmox.PEAKS: "timeframe=month&cf=MAX"}
        yield "nodes/NODE/status", f"nodes/{node}/status"
        for name, asked in series.items():
            yield f"nodes/NODE/{name}", f"nodes/{node}/{proxmox.SERIES}?{asked}"
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
                for name, asked in series.items():
                    yield f"nodes/NODE/{kind}/VMID/{name}", f"{path}?{asked}"

    def _ask(self, found: dict[str, Any], path: str, kind: str) -> None:
        """Store a response, or note that it is missing. Raises MissingError if its node does not answer."""
        try:
            answer = self.server.get(path)
        except MissingError as error:
            if error.is_node and kind != "cluster":
                raise
            if kind != "cluster" or error.reason != "not in this version":  # of that, the inventory tells
                right = "VM.Audit" if "VMID" in kind else "Sys.Audit"
                reason = f"not allowed: needs {right}" if error.reason == "not allowed" else error.reason
                self.server.miss(path if kind == "cluster" else kind, reason)
            return
        bare, _, query = path.partition("?")
        found[bare.removesuffix(proxmox.SERIES) + proxmox.PEAKS if query.endswith("cf=MAX") else bare] = answer
