"""Encrypted connections to servers, and the certificates that they trust.

By default the system's certificate authorities are trusted. Options of an address change that: `ca=FILE.pem` trusts the
certificates of a file instead, `fingerprint=SHA256` exactly one certificate, and `insecure=1` every one.
"""

from __future__ import annotations

import hashlib
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl

from hypertwin.errors import short
from hypertwin.ingest import outside
from hypertwin.ingest.address import refuse

_SHA256 = re.compile(r"(?:[0-9a-f]{2}:?){31}[0-9a-f]{2}")


@dataclass(frozen=True)
class Trust:
    """Certificates that a connection trusts."""

    insecure: bool = False
    """True to accept every certificate."""
    ca: Path | None = None
    """File with the certificates to trust instead of the system's."""
    fingerprint: str | None = None
    """SHA-256 of the only certificate to trust, in lower-case hexadecimal digits."""

    def context(self, shown: str) -> ssl.SSLContext:
        """Return the settings of a connection. Raises SourceError for a file without certificates."""
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except (OSError, ssl.SSLError):
            outside.Source(shown).at("ca").refuse(
                "a file without certificates", "a file with certificates (PEM)", "check the file", "bad-address"
            )
        if self.insecure or self.fingerprint:  # a fingerprint is checked after the handshake
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


class OtherCertificateError(OSError):
    """Raised if a server has another certificate than the trusted one."""

    def __init__(self, found: str) -> None:
        """Keep the fingerprint of the server's certificate."""
        super().__init__("another certificate")
        self.found = found


class PinnedConnection(HTTPSConnection):
    """A connection that sends nothing to a server with another certificate than the trusted one."""

    fingerprint: str | None = None
    """SHA-256 of the trusted certificate, or None if the context decides."""

    def connect(self) -> None:
        """Connect, and check the certificate. Raises OtherCertificateError."""
        super().connect()
        if self.fingerprint is None:
            return
        found = hashlib.sha256(self.sock.getpeercert(binary_form=True) or b"").hexdigest()
        if found != self.fingerprint:
            self.close()
            raise OtherCertificateError(found)


def colons(fingerprint: str) -> str:
    """Return a fingerprint in the form of browsers and of openssl: `AA:BB:...`."""
    return ":".join(fingerprint[at : at + 2] for at in range(0, len(fingerprint), 2)).upper()


def changed(error: OtherCertificateError) -> str:
    """Return the text about a certificate that is not the trusted one."""
    found = f"the server has another certificate, with the SHA-256 fingerprint {colons(error.found)}"
    return f"{found}\n  help: compare it with the one on the server; if it is right, give it as ?fingerprint=SHA256"


def _switch(text: str) -> bool:
    if text not in ("0", "1"):
        refuse(f"insecure={short(text)}", "insecure=0 or insecure=1", "check the option")
    return text == "1"


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        refuse("ca", "the name of a file with certificates (PEM)", "check the name")
    return path


def _fingerprint(text: str) -> str:
    if not _SHA256.fullmatch(text.lower()):
        allowed = "the SHA-256 of a certificate: 64 hexadecimal digits, colons allowed"
        hint = "openssl s_client -connect HOST:PORT < /dev/null | openssl x509 -noout -fingerprint -sha256"
        refuse(f"fingerprint={short(text)}", allowed, hint)
    return text.lower().replace(":", "")


def trust(query: str) -> Trust:
    """Return the certificates to trust by the options of an address. Raises SourceError."""
    pairs = query.split("&", 10)[:10]
    given = dict(parse_qsl("&".join(pairs), keep_blank_values=True))
    if query and len(given) != query.count("&") + 1:
        refuse("options that are not understood", "?OPTION=VALUE&OPTION=VALUE", "check what follows the ?")
    for key in given:
        if key not in OPTIONS:
            refuse(f"option {short(key)!r}", " or ".join(OPTIONS), "check its spelling")
    return Trust(**{key: OPTIONS[key](value) for key, value in given.items()})


OPTIONS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {"insecure": _switch, "ca": _file, "fingerprint": _fingerprint}
)
"""Readers of the options of an address, by name."""
