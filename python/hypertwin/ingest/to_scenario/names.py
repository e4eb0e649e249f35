"""Keys of a scenario's entries from names of another system: readable and unique."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

MOST_CHARACTERS = 64
"""Maximum characters of a key."""


def slug(name: str) -> str:
    """Return the name in characters that are valid in a key, or an empty string if nothing is left."""
    plain = unicodedata.normalize("NFKD", name[:1024]).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[^A-Za-z0-9_]+", "-", plain).strip("-_")[:MOST_CHARACTERS].rstrip("-_")


def keys(names: Sequence[str], fallback: str) -> list[str]:
    """Return a unique key for each name: the name's slug, with a number if several are equal."""
    slugs = [slug(name) or fallback for name in names]
    counts = Counter(slugs)
    taken = {each for each, count in counts.items() if count == 1}
    numbers: Counter[str] = Counter()
    made = []
    for each in slugs:
        key = each
        while counts[each] > 1:
            numbers[each] += 1
            key = _numbered(each, numbers[each])
            if key not in taken:
                taken.add(key)
                break
        made.append(key)
    return made


def free(key: str, taken: set[str]) -> str:
    """Return `key`, or the first free one of `key-2`, `key-3` and so on."""
    candidate, number = key, 1
    while candidate in taken:
        number += 1
        candidate = _numbered(key, number)
    return candidate


def short(name: str) -> str:
    """Return a host's name without its domain. An IP address stays whole."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return name.partition(".")[0] or name
    return name


def short_host_names(names: Sequence[str]) -> list[str]:
    """Return the host names without their domain, unless two would become the same or they are IP addresses."""
    first = [short(name) for name in names]
    counts = Counter(label.lower() for label in first)
    return [label if counts[label.lower()] == 1 else name for label, name in zip(first, names, strict=True)]


def _numbered(key: str, number: int) -> str:
    suffix = f"-{number}"
    return f"{key[: MOST_CHARACTERS - len(suffix)]}{suffix}"
