"""Facts of VMs for a move: firmware, disks, adapters, tools, file systems of guests.

A fact is unknown if the export lacks its column. Exports without names have empty columns, so a text counts as empty
only if another VM has one. Text of annotations and snapshots is searched for passwords and keys, and never kept.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from hypertwin.ingest import secrets
from hypertwin.ingest.vmware.rvtools import cells
from hypertwin.ingest.vmware.rvtools.export import Export
from hypertwin.ingest.vmware.rvtools.tables import Row, Table
from hypertwin.members import SourceDisk, SourceNetwork, SourcePartition, SourceVm

FIRMWARE = {"bios": "bios", "efi": "efi"}
TOOLS = {
    **{"toolsok": "running", "toolsold": "running", "toolsnotrunning": "not-running"},
    "toolsnotinstalled": "not-installed",
}
MODES = {
    "persistent": "persistent",
    "independentpersistent": "independent-persistent",
    "independentnonpersistent": "independent-nonpersistent",
}
_NOT_SHARED = frozenset(("nosharing", "sharingnone", "false", "none"))
_NO_FT = frozenset(("notconfigured", "disabled"))
_VLAN = re.compile(r"[0-9]{1,4}\Z", re.ASCII)


class Sources:
    """Facts of the VMs of an export."""

    def __init__(self, export: Export, key: Callable[[Export, str], Callable[[Row], str]]) -> None:
        """Read the tabs. `key` returns the key of VMs in vInfo and another tab."""
        tabs = ("vDisk", "vNetwork", "vPartition", "vSnapshot", "vTools", "vUSB", "vCD")
        self._info = export.table("vInfo")
        self._keys = {tab: key(export, tab) for tab in tabs}
        self._tables = {tab: export.table(tab) for tab in self._keys}
        self._rows = {tab: self._by_vm(tab, table) for tab, table in self._tables.items()}
        self._users = _users(self._tables["vDisk"], self._keys["vDisk"])
        self._vlans = _vlans(export)
        self._filled = {
            (tab, column)
            for tab, column, text in (
                ("vInfo", "dns", cells.text),
                ("vInfo", "ip", cells.text),
                ("vDisk", "path", _path),
            )
            if any(text(row.get(column)) for row in export.table(tab).rows)
        }

    def _by_vm(self, tab: str, table: Table) -> Mapping[str, list[Row]]:
        rows: dict[str, list[Row]] = defaultdict(list)
        for row in table.rows:
            rows[self._keys[tab](row)].append(row)
        return rows

    def _of(self, tab: str, row: Row) -> Sequence[Row]:
        return self._rows[tab].get(self._keys[tab](row), ())

    def of_vm(self, row: Row, memory: Row) -> SourceVm:
        """Return the facts of a VM, from its rows in vInfo and vMemory."""
        tools = [cells.word(each.get("tools")) for each in self._of("vTools", row)]
        version = re.search(r"[0-9]{1,3}\Z", cells.text(row.get("hw_version")))
        configured, reported = cells.text(row.get("os")), cells.text(row.get("os_tools"))
        return SourceVm(
            guest_id=configured if reported and configured != reported and configured else None,
            firmware=FIRMWARE.get(cells.word(row.get("firmware"))),
            secure_boot=cells.flag(row.get("secure_boot")),
            hardware_version=int(version[0]) if version else None,
            tools=next((TOOLS[word] for word in tools if word in TOOLS), None),
            host_name=self._text("dns", row),
            has_ip=None if (address := self._text("ip", row)) is None else bool(address),
            folder=cells.text(row.get("folder")) or None,
            tags=_tags(row.get("tags")) or None,
            hot_add_memory=cells.flag(memory.get("hot_add")),
            changed_block_tracking=cells.flag(row.get("cbt")),
            consolidation_needed=cells.flag(row.get("consolidation")),
            fault_tolerance=_word(row.get("ft_state"), lambda word: word not in _NO_FT),
            disk_uuid=cells.flag(row.get("disk_uuid")),
            cds_connected=self._count("vCD", "connected", row),
            usb_devices=self._count("vUSB", "name", row),
            secret_in_notes=self._has_secret(row),
            disks=self._disks(row),
            networks=self._networks(row),
            partitions=self._partitions(row) or None,
        )

    def _text(self, column: str, row: Row) -> str | None:
        return cells.text(row.get(column)) if ("vInfo", column) in self._filled else None

    def _count(self, tab: str, column: str, row: Row) -> int | None:
        """Return the number of rows of a VM in a tab. In a column of yes and no, only a yes counts."""
        if column not in self._tables[tab].columns:
            return None
        rows = self._of(tab, row)
        return len(rows) if column == "name" else sum(cells.flag(each.get(column)) is True for each in rows)

    def _has_secret(self, row: Row) -> bool | None:
        notes = [row.get("annotation"), row.get("tags"), row.get("folder")]
        for each in self._of("vSnapshot", row):
            notes += [each.get("snapshot"), each.get("description")]
        if any(isinstance(note, str) and secrets.looks_secret(note) for note in notes):
            return True
        return False if "annotation" in self._info.columns else None

    def _disks(self, row: Row) -> tuple[SourceDisk, ...] | None:
        table = self._tables["vDisk"]
        return tuple(self._disk(table, each) for each in self._of("vDisk", row)) if table.columns else None

    def _disk(self, table: Table, row: Row) -> SourceDisk:
        number = re.search(r"[0-9]{1,3}\Z", cells.text(row.get("label")))
        raw, path = cells.flag(row.get("raw")), _path(row.get("path"))
        unit = cells.number(row.get("unit"))
        return SourceDisk(
            label=cells.text(row.get("disk")) or None,
            capacity_bytes=table.size(row, "capacity"),
            controller=cells.text(row.get("controller")) or None,
            controller_number=int(number[0]) if number else None,
            unit=None if unit is None else int(unit),
            mode=MODES.get(cells.word(row.get("mode"))),
            raw=None if raw is None else "none" if not raw else _raw(cells.word(row.get("raw_mode"))),
            shared=self._is_shared(row),
            thin=cells.flag(row.get("thin")),
            path=path if path or ("vDisk", "path") in self._filled else None,
        )

    def _is_shared(self, row: Row) -> bool | None:
        """True if other VMs use the disk, by its sharing mode, the bus of its controller, or its file."""
        known = [_word(row.get(column), lambda word: word not in _NOT_SHARED) for column in ("sharing", "bus")]
        if True in known or self._users[_file(row)] > 1:
            return True
        return False if False in known else None

    def _networks(self, row: Row) -> tuple[SourceNetwork, ...] | None:
        if not self._tables["vNetwork"].columns:
            return None
        found = []
        for each in self._of("vNetwork", row):
            network, switch = cells.text(each.get("network")) or None, cells.text(each.get("switch")) or None
            found.append(
                SourceNetwork(
                    adapter=cells.text(each.get("adapter")) or None,
                    network=network,
                    switch=switch,
                    vlan=self._vlans.get((switch, network)),
                    connected=cells.flag(each.get("connected")),
                )
            )
        return tuple(found)

    def _partitions(self, row: Row) -> tuple[SourcePartition, ...]:
        size = self._tables["vPartition"].size
        return tuple(
            SourcePartition(cells.text(each.get("disk")) or None, size(each, "capacity"), size(each, "free"))
            for each in self._of("vPartition", row)
        )


def _path(value: object) -> str:
    """Return the file of a disk with its datastore, such as `[san-1] db/db.vmdk`, or an empty string."""
    path = cells.text(value)
    return path if path.startswith("[") else ""


def _file(row: Row) -> Hashable:
    return cells.text(row.get("vcenter")), cells.text(row.get("datacenter")), _path(row.get("path"))


def _users(table: Table, key: Callable[[Row], str]) -> Counter[Hashable]:
    """Return the number of VMs that use each file of a disk."""
    pairs = {(_file(row), key(row)) for row in table.rows if _path(row.get("path"))}
    return Counter(file for file, _ in pairs)


def _raw(mode: str) -> str:
    """Return the kind of a raw device mapping. Without a mode, the kind with more restrictions."""
    return "virtual" if mode.startswith("virtual") else "physical"


def _vlans(export: Export) -> Mapping[tuple[str | None, str | None], int]:
    """Return the VLAN of each port group, by switch and name. Port groups with several VLANs have none."""
    found: dict[tuple[str | None, str | None], set[str]] = defaultdict(set)
    for tab, column in (("vPort", "port_group"), ("dvPort", "port")):
        for row in export.table(tab).rows:
            name, switch = cells.text(row.get(column)), cells.text(row.get("switch"))
            if name and (vlan := cells.text(row.get("vlan"))):
                found[switch or None, name].add(vlan)
    return {at: int(vlan) for at, (vlan, *more) in found.items() if not more and _VLAN.match(vlan)}


def _tags(value: Any) -> tuple[str, ...]:
    words = re.split(r"[,;|]", cells.text(value))
    return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))


def _word(value: object, known: Callable[[str], bool]) -> bool | None:
    word = cells.word(value)
    return known(word) if word else None
