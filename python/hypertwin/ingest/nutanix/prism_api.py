"""Nutanix clusters over the v4 API of Prism Central: `nutanix://USER@HOST[:PORT][?OPTION=VALUE]`.

The reader asks for the responses that `prism_v4.py` knows, and changes nothing. It logs in with a password, or with an
API key (`X-ntnx-api-key`) if there is no user. Responses can be missing: refused (403), of a later release (404), or
late. The notes say so. A request that is refused for now (429) is repeated.

Interface: clients of nutanix/ntnx-api-golang-clients (paths, parameters, status that is repeated, and OPTIONS on
`unversioned/info`, by which a server tells its version); developers.nutanix.com. `$limit` is at most 100. Statistics of
VMs need `$select`, with `stats/` before each name. Some releases accept only `*`, and some only from v4.1 (DataDog/
integrations-core, nutanix). Tuples of all metrics have 3 kB, so that fewer of them are asked for.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from hypertwin.errors import UnreachableError
from hypertwin.ingest import address as addresses
from hypertwin.ingest import http_json, outside, tls
from hypertwin.ingest.address import Address
from hypertwin.ingest.http_json import MissingError, Service
from hypertwin.ingest.inventory import Inventory, iso
from hypertwin.ingest.json_fields import below, objects, text
from hypertwin.ingest.nutanix import prism, prism_v4
from hypertwin.ingest.nutanix.prism import Answers
from hypertwin.ingest.tls import Trust

SCHEME = "nutanix"
FORM = f"{SCHEME}://USER@HOST"
NEWEST = 3
"""Newest minor version of v4 whose fields are known."""
LIMIT = 100
"""Entities of a page."""
STATS_LIMIT = 25
"""VMs of a page of statistics: a month of one has 0.1 MB."""
MAX_PAGES = 1_000
MAX_LATE = 3
"""Number of statistics of hosts that are not answered before no others are asked for."""
STEP_S = 3_600
DAYS = 30
DAYS_OF_ALL = 7
"""Days of statistics if a release has only all metrics together."""
OF_VMS = "extId,stats/timestamp,stats/hypervisorCpuUsagePpm,stats/controllerNumIops"
OF_HOSTS = ",".join(("extId", *prism_v4.STATS["clustermgmt.v4.stats.HostStats"].values()))
FORBIDDEN = "not allowed: needs the role"
LATER = "not in this version"
"""Reason of a response that a server does not know."""
_POLICIES = ("vm-host-affinity-policies", "vm-anti-affinity-policies", "legacy-vm-anti-affinity-policies")
_ROLES = {"clustermgmt": "Cluster Viewer", "vmm": "Virtual Machine Viewer", "prism": "Prism Viewer"}
"""Roles that see the entities of a namespace."""
_ID = re.compile("[0-9A-Za-z-]{1,64}")
SERVICE = Service(
    "Prism Central",
    "v4 API of Prism Central",
    9440,
    "/api/",
    "give the fingerprint of its certificate as ?fingerprint=SHA256, or its authority's certificate as ?ca=FILE.pem",
    prism_v4.NEEDED,
    frozenset({408, 429, 503, 504}),
)


def read(sources: Sequence[str]) -> Inventory:
    """Return the inventory at an address. Raises UnreachableError and SourceError. Never shows the secret."""
    if len(sources) > 1:
        hint = "import them one after another; Prism Central answers for all its clusters"
        outside.Source(f"{SCHEME}://").refuse(f"{len(sources)} addresses", "one Prism Central", hint, "bad-address")
    server = Server(*read_address(sources[0]))
    with closing(server):
        server.log_in()
        answers = _Collection(server).answers()
    return prism.inventory(answers, str(server.address), server.gaps())


def read_address(text: str) -> tuple[Address, Trust]:
    """Return the address, and the certificates to trust. Raises SourceError."""
    address = addresses.parse(text, (SCHEME,), f"{FORM}[:PORT]")
    if ":" in address.user:
        outside.Source(address).refuse("a user with a colon", FORM, "check the user", "bad-address")
    if address.path:
        hint = "Prism Central answers for all its clusters; --only-cluster NAME imports one"
        outside.Source(address).refuse("a path", FORM, hint, "bad-address")
    return address, tls.trust(address.query)


class Server(http_json.Client):
    """A Prism Central. Holds the secret, and never shows it."""

    service = SERVICE

    def log_in(self) -> None:
        """Send the password, or the API key if there is no user, with each request from now on."""
        secret = self.secret(f"set {addresses.PASSWORD_VARIABLE} to the password of the user, or to the API key")
        if self.address.user:
            pair = base64.b64encode(f"{self.address.user}:{secret}".encode()).decode()
            self.headers["Authorization"] = f"Basic {pair}"
        else:
            self.headers["X-ntnx-api-key"] = secret
        self.headers["Accept"] = "application/json"

    def get(self, path: str, parameters: Mapping[str, str] | None = None, *, method: str = "GET") -> dict[str, Any]:
        """Return the response to a path. Raises MissingError, UnreachableError or SourceError."""
        query = f"?{urlencode(parameters, safe='$/,:*', quote_via=quote)}" if parameters else ""
        status, data = self.request(f"{path}{query}", method=method)
        if status == 401:
            raise UnreachableError(f"{self.address}: wrong user, password or API key")
        if status != 200:
            role = _ROLES[path.partition("/")[0]]
            reasons = {403: f"{FORBIDDEN} {role}", 404: LATER, 429: "too many requests"}
            raise MissingError(reasons.get(status, f"status {status}"), is_node=status in SERVICE.repeated)
        answer = self.json(path, data)
        if not isinstance(answer, dict):
            self.source.at(path).refuse("a response that is no object", '{"data": ...}')
        return answer

    def pages(self, path: str, limit: int, parameters: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the pages of a list. Raises MissingError, UnreachableError or SourceError."""
        seen = 0
        for page in range(MAX_PAGES):
            answer = self.get(path, {"$page": str(page), "$limit": str(limit), **(parameters or {})})
            yield answer
            count = len(objects(answer.get("data")))
            seen += count
            if count == 0 or not prism_v4.has_more(answer, seen):
                return
        self.source.at(path).too_large("more", f"at most {MAX_PAGES} pages", "import saved responses")


class _Collection:
    """The responses of a Prism Central."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.found = Answers()
        self.versions: dict[str, str] = {}
        self.unanswered: Counter[str] = Counter()
        """Statistics of hosts that were not answered, by reason."""
        self.end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)

    def answers(self) -> Answers:
        """Return the entities of all responses."""
        try:
            self._take_pages(self._path("clustermgmt", "config/hosts"))
        except MissingError as error:
            raise UnreachableError(f"{self.server.address}: {error.reason} (config/hosts)") from None
        if not self.found.hosts:
            hint = f"give the user the role {_ROLES['clustermgmt']} for all clusters"
            value, allowed = "no host that is visible", "one or more hosts"
            self.server.source.at("config/hosts").lacks(value, allowed, hint)
        self._ask("clusters", "clustermgmt", "config/clusters")
        self._ask("storage-containers", "clustermgmt", "config/storage-containers")
        for uuid, cluster in list(self.found.clusters.items()):
            if _ID.fullmatch(uuid) and not prism.is_central(cluster):
                self._ask("cvms", "clustermgmt", f"config/clusters/{uuid}/cvms")
        kinds = {each.get("hypervisor_type") for each in self.found.own_hosts().values()}
        families = {"esxi" if kind == "ESX" else "ahv" for kind in kinds}
        for family in sorted(families):
            self._ask(f"{family}/config/vms", "vmm", f"{family}/config/vms")
        if not self.found.vms and not any(kind.endswith("config/vms") for kind, _ in self.server.missing):
            self.server.miss("config/vms", f"no VM is visible: needs the role {_ROLES['vmm']}")
        if "ahv" in families:
            for policies in _POLICIES:
                self._ask("policies", "vmm", f"ahv/policies/{policies}")
            if any(each["policy"] == "VmHostAffinityPolicy" for each in self.found.policies.values()):
                self._ask("categories", "prism", "config/categories", {"$expand": "detailedAssociations"})
        for family in sorted(families):
            self._add_vm_stats(family)
        self._add_host_stats()
        return self.found

    def _path(self, namespace: str, path: str, version: str | None = None) -> str:
        return f"{namespace}/{version or self._version(namespace)}/{path}"

    def _version(self, namespace: str) -> str:
        """Return the version of a namespace: the newest of the server, as far as it is known, or v4.0."""
        if namespace not in self.versions:
            self.versions[namespace] = "v4.0"
            try:
                told = text(self.server.get(f"{namespace}/unversioned/info", method="OPTIONS").get("data"))
            except MissingError:
                told = ""
            if found := re.fullmatch(r"v4\.([0-9]{1,3})", told):
                self.versions[namespace] = f"v4.{min(int(found[1]), NEWEST)}"
        return self.versions[namespace]

    def _ask(self, kind: str, namespace: str, path: str, parameters: Mapping[str, str] | None = None) -> None:
        """Store the pages of a list, or note that it is missing."""
        try:
            self._take_pages(self._path(namespace, path), parameters)
        except MissingError as error:
            if kind != "cvms" or error.reason != LATER:  # of that, the inventory tells
                self.server.miss(kind, error.reason)

    def _take_pages(self, path: str, parameters: Mapping[str, str] | None = None) -> None:
        for answer in self.server.pages(path, LIMIT, parameters):
            prism.take(answer, str(self.server.address), self.found)

    def _span(self, days: int) -> dict[str, str]:
        start = self.end - timedelta(days=days)
        return {
            "$startTime": iso(start.timestamp()),
            "$endTime": iso(self.end.timestamp()),
            "$samplingInterval": str(STEP_S),
            "$statType": "AVG",
        }

    def _add_vm_stats(self, family: str) -> None:
        """Store the statistics of VMs, by the first way that gives values with times."""
        reason = ""
        for version in dict.fromkeys((self._version("vmm"), "v4.1")):
            for select, days in ((OF_VMS, DAYS), ("*", DAYS_OF_ALL)):
                try:
                    if self._take_vm_stats(self._path("vmm", f"{family}/stats/vms", version), select, days):
                        return
                except MissingError as error:
                    reason = reason or error.reason
                    if error.is_node or error.reason.startswith(FORBIDDEN):
                        break
        if reason:
            self.server.miss("stats/vms", reason)

    def _take_vm_stats(self, path: str, select: str, days: int) -> bool:
        """Store the pages of statistics. Return false without values, or as soon as values have no times."""
        is_timed = False
        for answer in self.server.pages(path, STATS_LIMIT, {**self._span(days), "$select": select}):
            prism.take(answer, str(self.server.address), self.found)
            measured = [each for each in self.found.usage.values() if each.cpu_ppm is not None]
            is_timed = any(each.series is not None for each in measured)
            if measured and not is_timed:
                return False
        return is_timed

    def _add_host_stats(self) -> None:
        """Store the statistics of hosts, several at a time."""
        hosts = [(uuid, text(each.get("cluster_uuid"))) for uuid, each in self.found.own_hosts().items()]
        asked = [host for host in hosts if all(map(_ID.fullmatch, host))]
        with self.server.in_parallel(lambda host: self._of_host(*host), asked) as answers:
            for (uuid, _), answer in zip(asked, answers, strict=True):
                if answer is not None:
                    answer["data"] = {**below(answer, "data"), "extId": uuid}
                    prism.take(answer, str(self.server.address), self.found)

    def _of_host(self, uuid: str, cluster: str) -> dict[str, Any] | None:
        """Return the statistics of a host, of all metrics if the release has no others."""
        path = self._path("clustermgmt", f"stats/clusters/{cluster}/hosts/{uuid}")
        reason = self.unanswered.most_common(1)[0][0] if self.unanswered.total() >= MAX_LATE else ""
        for select in () if reason else ({"$select": OF_HOSTS}, {}):
            try:
                return self.server.get(path, {**self._span(DAYS), **select})
            except MissingError as error:
                reason = reason or error.reason
                if error.is_node:
                    self.unanswered[error.reason] += 1
                if error.is_node or error.reason.startswith(FORBIDDEN):
                    break
        self.server.miss("stats/hosts", reason)
        return None
