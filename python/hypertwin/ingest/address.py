"""Network addresses of systems, and credentials for them.

A password is never part of an address, a command line, an output file or a message. It comes from the environment
variable `HYPERTWIN_PASSWORD`, or is typed at the terminal.
"""

from __future__ import annotations

import getpass
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote, urlsplit

from hypertwin.errors import fail

PASSWORD_VARIABLE = "HYPERTWIN_PASSWORD"


@dataclass(frozen=True)
class Address:
    """Address `scheme://user@host:port/path?query` without a password, so that `str()` is safe to show."""

    scheme: str
    host: str
    port: int | None = None
    user: str = ""
    path: str = ""
    query: str = ""

    def __str__(self) -> str:
        """Return the address in one line. IPv6 hosts are in brackets."""
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port is not None else ""
        query = "?..." if self.query else ""  # may hold a token or the name of a key file
        return f"{self.scheme}://{user}{host}{port}{self.path}{query}"


def parse(text: str, schemes: tuple[str, ...], allowed: str = "", local: bool = False) -> Address:
    """Return an address with one of these schemes. With `local`, the host is optional.

    Raises SourceError, which lists `allowed` and never shows a password.
    """
    allowed = allowed or " or ".join(f"{scheme}://[USER@]HOST[:PORT][/PATH]" for scheme in schemes)
    if not text.isprintable():
        refuse("an address with an unprintable character", allowed, "type it in UTF-8, without control characters")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        refuse("an invalid address", allowed, "check host and port")
    if parts.password is not None:
        hint = f"leave it out: set {PASSWORD_VARIABLE} in the environment, or type it when asked"
        refuse(f"{parts.scheme}://...@...: an address with a password", allowed, hint)
    if parts.scheme not in schemes or not (parts.hostname or local) or parts.fragment:
        refuse("an invalid address", allowed, "check scheme and host")
    user = unquote(parts.username or "")
    return Address(parts.scheme, parts.hostname or "", port, user, parts.path.rstrip("/"), parts.query)


def is_address(source: str) -> bool:
    """True if a source looks like an address, and no file has that name."""
    return "://" in source and not Path(source).exists()


def path(source: str) -> Path:
    """Return the path of a source, or of the file or folder after the scheme of its address (`test:///FILE`)."""
    return Path(source.partition("://")[2] if is_address(source) else source)


def shown(source: str) -> str:
    """Return safe text for an unparsed source: the name of a file, or only the scheme of an address."""
    return f"{source.partition('://')[0]}://..." if is_address(source) else source


def password(address: Address) -> str:
    """Return the password of a user, or an API key without a user: from the environment, otherwise typed."""
    given = os.environ.get(PASSWORD_VARIABLE)
    if given is not None:
        return given
    if not sys.stdin.isatty():
        hint = f"set {PASSWORD_VARIABLE} in the environment"
        refuse(f"{address}: no password", f"a password in {PASSWORD_VARIABLE} or a terminal to ask at", hint)
    what = f"password of {address.user} at" if address.user else "API key for"
    return getpass.getpass(f"{what} {address.host}: ")


def refuse(value: str, allowed: str, hint: str) -> NoReturn:
    """Raise the SourceError for an address, or an option of one. The value must be safe to show."""
    fail("bad-address", "", value, allowed, hint)
