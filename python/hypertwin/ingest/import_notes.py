"""Notes of an import: assumptions, changes and omissions, and data that the source lacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hypertwin.ingest.inventory import Assumption, grouped
from hypertwin.ingest.outside import Gap, Source

KINDS = ("cluster", "host", "VM", "OSD")
"""Kinds of subjects in the order of a reader's assumptions."""


@dataclass(frozen=True)
class Note:
    """Text that holds for subjects of a kind."""

    kind: str
    """`host`, `VM` and so on, or `all` for any other subject."""
    text: str
    is_named: bool = True
    """True if subjects are listed by name, false if they are counted."""
    subject: str = ""
    """Subject of a note of kind `all`."""


class ImportNotes:
    """Notes of one import, in order, and the place of its refusals. Equal notes on several subjects are combined."""

    def __init__(self, source: Source, gaps: Iterable[Gap] = ()) -> None:
        """Start with the gaps that are known already."""
        self.source = source
        self.names: dict[Note, list[str]] = {}
        """Names of the subjects of each note."""
        self._gaps = dict.fromkeys(gaps)

    @property
    def gaps(self) -> list[Gap]:
        """Missing data, each once."""
        return list(self._gaps)

    def missing(self, what: str, costs: str) -> None:
        """Note that the source lacks a column or counter, which the results `costs` need."""
        self._gaps[Gap(what, costs)] = None

    def assumed(self, text: str, subject: str = "all") -> None:
        """Note an assumption about all, or about another subject in words."""
        self._add(Note("all", text, subject=subject), subject)

    def host(self, name: str, *texts: str) -> None:
        """Note that these texts hold for the host of this name."""
        for text in texts:
            self._add(Note("host", text), name)

    def unreachable(self, name: str, state: str) -> None:
        """Note that the host of this name is in a state in which it runs no further VMs."""
        self.host(name, f"{state}: assumed in maintenance; its VMs are as of its last connection")

    def vm(self, name: str, text: str, named: bool = True) -> None:
        """Note that `text` holds for the VM of this name. If not `named`, such VMs are counted, not listed."""
        self._add(Note("VM", text, named), name)

    def cluster(self, name: str, text: str) -> None:
        """Note that `text` holds for the cluster of this name."""
        self._add(Note("cluster", text), name)

    def rule(self, name: str, text: str, named: bool = True) -> None:
        """Note that `text` holds for the placement rule of this name."""
        self._add(Note("rule", text, named), name)

    def of(self, kind: str, name: str, text: str) -> None:
        """Note that `text` holds for the subject of this kind and name: a `datastore`, `storage pool` or `OSD`."""
        self._add(Note(kind, text), name)

    def _add(self, note: Note, name: str) -> None:
        self.names.setdefault(note, []).append(name)

    def assumptions(self) -> list[Assumption]:
        """Return a reader's assumptions: about all, then about clusters, hosts and VMs, with their names."""
        of_kind: dict[str, list[Assumption]] = {kind: [] for kind in ("all", *KINDS)}
        for note, names in self.names.items():
            of_kind[note.kind] += [Assumption(name, note.text) for name in names]
        return [*of_kind["all"], *(each for kind in KINDS for each in grouped(kind, of_kind[kind]))]
