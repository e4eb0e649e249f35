"""RVTools exports: the `.xlsx` workbook, or the `.csv` files that `ExportAll2csv` writes into a folder.

Tabs and columns are those of published exports, among them the one in tests/data. Columns are found by name, in any
case and order; exports from the command line use internal names (`vInfoVMName` for `VM`), older ones say `MB` for
`MiB`. CPU is in MHz, memory in MiB. `vCPU/Overall` is the CPU that a VM used when the export was made
(`quickStats.overallCpuUsage` of the vSphere API). Formulas and links are never followed: only what a cell shows counts.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
import warnings
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from hypertwin.errors import ScenarioError
from hypertwin.ingest import outside
from hypertwin.ingest.appliances import is_storage_appliance
from hypertwin.ingest.inventory import Assumption, Datastore, Demand, Host, Inventory, VirtualDisk, Vm
from hypertwin.ingest.outside import Gap

MOST_BYTES = 128 * 2**20
"""Largest workbook; one of 800 VMs has about 3 MB."""
MOST_INFLATED = 512 * 2**20
"""Bytes of all parts of a workbook, unpacked; one of 800 VMs has about 40 MB."""
MOST_OTHER_INFLATED = 64 * 2**20
"""Bytes of any other part than a sheet, unpacked: shared texts, styles."""
MOST_BETWEEN_ROWS = 4 * 2**20
"""Bytes of one row of a sheet, or of what is before or after the rows: each is in memory as a whole."""
MOST_CELLS = 10_000_000
"""Cells of a sheet; a tab of 10,000 VMs has a million."""
MOST_TEXT = 1_024
"""Characters of a cell that are kept; of a datastore's list of hosts more."""
MOST_PARTS = 2_000
MOST_COLUMNS = 2_000
MOST_ROWS = 200_000
MOST_NUMBER = 1e15
_SHEET_ROWS = 2**20
_CHUNK = 2**20
_MARK = 8
"""Bytes of the last chunk that are searched again: a row's beginning may be split between chunks."""

TABS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "vHost": {
        "name": ("host", "name"),
        "cluster": ("cluster",),
        "maintenance": ("inmaintenancemode",),
        "model": ("cpumodel",),
        "speed": ("speed", "cpumhz"),
        "ht": ("htactive",),
        "sockets": ("numcpu",),
        "cores_per_socket": ("corespercpu",),
        "cores": ("numcores", "numcpucores"),
        "usage": ("cpuusagepct", "overallcpuusage", "cpuusage"),
        "memory": ("nummemory", "memorysize", "memory"),
        "version": ("esxversion", "fullname"),
    },
    "vInfo": {
        "name": ("vm", "vmname"),
        "power": ("powerstate",),
        "template": ("template",),
        "connection": ("connectionstate",),
        "cpus": ("cpus",),
        "memory": ("memory",),
        "host": ("host",),
        "os_tools": ("osaccordingtothevmwaretools", "ostools"),
        "os": ("osaccordingtotheconfigurationfile", "os"),
        "vcenter": ("visdkservertype",),
        "uuid": ("vmuuid", "instanceuuid"),
    },
    "vCPU": {
        "name": ("vm", "vmname"),
        "cpus": ("cpus",),
        "cores_per_socket": ("coresps", "corespersocket"),
        "overall": ("overall", "overallcpuusage"),
        "level": ("level",),
        "shares": ("shares",),
        "reservation": ("reservation",),
        "limit": ("limit",),
        "hot_add": ("hotadd",),
        "host": ("host",),
        "uuid": ("vmuuid", "instanceuuid"),
    },
    "vMemory": {
        "name": ("vm", "vmname"),
        "size": ("sizemib", "sizemb", "size"),
        "host": ("host",),
        "uuid": ("vmuuid", "instanceuuid"),
    },
    "vDisk": {
        "name": ("vm", "vmname"),
        "capacity": ("capacitymib", "capacitymb", "capacity"),
        "controller": ("controller",),
        "label": ("label",),
        "path": ("diskpath", "path"),
        "uuid": ("vmuuid", "instanceuuid"),
    },
    "vDatastore": {
        "name": ("name",),
        "type": ("type",),
        "capacity": ("capacitymib", "capacitymb", "capacity"),
        "free": ("freemib", "freemb", "freespace"),
        "hosts": ("hosts",),
    },
    "vRP": {"name": ("resourcepoolname", "name"), "limit": ("cpulimit",), "level": ("cpulevel",)},
}
"""Columns that are read, by tab, with their names: in lower case, without blanks and the tab's name in front, `#` as
num, `%` as pct."""

COSTS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "vHost": {
        "speed": ("Speed", "clocks: from the name of the CPU model, or assumed"),
        "ht": ("HT Active", "whether hyper-threading is on: taken for on"),
        "version": ("ESX Version", "the hypervisor's version, and with it its scheduler and virtual NUMA"),
        "maintenance": ("in Maintenance Mode", "which hosts take no machines"),
        "usage": ("CPU usage %", "saturated hosts"),
    },
    "vInfo": {"host": ("Host", "on which host each machine is")},
    "vCPU": {
        "overall": ("Overall", "measured demand"),
        "cores_per_socket": ("Cores p/s", "virtual sockets, which shape virtual NUMA"),
        "shares": ("Shares", "shares"),
        "reservation": ("Reservation", "reservations"),
        "limit": ("Limit", "limits"),
        "hot_add": ("Hot Add", "hot-add on wide machines"),
    },
    "vMemory": {},
    "vDisk": {"controller": ("Controller", "virtual storage controllers")},
    "vDatastore": {},
}
"""Columns by tab: the name in RVTools, and what cannot be said without it."""
TAB_COSTS = {
    "vCPU": "measured demand, virtual sockets, shares, reservations, limits and hot-add",
    "vMemory": "memory sizes beside vInfo's",
    "vDisk": "virtual disks and their controllers",
    "vDatastore": "what is stored where",
}
NEVER = (
    Gap("DRS rules (RVTools has only their names)", "placement rules: which moves they forbid"),
    Gap("advanced options numa.* and CPU affinity", "virtual NUMA set by hand, pinned machines"),
    Gap("I/O operations per second", "storage load"),
)
"""What no RVTools export has."""

CONTROLLERS = {"paravirtual": "pvscsi", "lsilogicsas": "lsi-sas", "nvme": "nvme"}
_TRUE = frozenset(("true", "yes", "1", "on", "wahr", "ja", "vrai", "oui", "verdadero", "si", "sí", "истина", "да"))
_GONE = frozenset(("inaccessible", "invalid", "orphaned"))
_GROUPED = re.compile(r"[-+]?[0-9]{1,3}([.,'])[0-9]{3}(?:\1[0-9]{3})*\Z")
_UNIT = re.compile(r" *(?:MiB|MB|MHz|%)\Z", re.IGNORECASE)
_CELLS = (b"<c ", b"<c>", b"<c/", b":c ", b":c>", b":c/")
_ROW = re.compile(rb"[<:]row[ >/]")

Row = Mapping[str, Any]
Tables = Mapping[str, list[Row]]


def recognises(head: bytes) -> bool:
    """Whether it is an Office workbook, or a CSV file with a header that only tabs of RVTools have."""
    if head.startswith(b"PK\x03\x04"):
        return b"[Content_Types].xml" in head or b"xl/" in head
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    columns = {_column(cell, "") for cell in re.split("[,;\t]", first)}
    return {"vm", "powerstate"} <= columns or {"host", "cpumodel"} <= columns or "vinfovmname" in columns


def files(folder: Path) -> Iterable[Path]:
    """The CSV files of tabs in a folder."""
    return _csv_files(folder).values()


def read(sources: Sequence[str]) -> Inventory:
    """The inventory in workbooks, folders and CSV files; each workbook or folder is one export."""
    exports: list[tuple[str, dict[str, _Table]]] = []
    single: dict[str, _Table] = {}
    for source in sources:
        path = Path(source)
        if path.is_dir():
            exports.append((source, {tab: _csv_table(file, tab) for tab, file in _csv_files(path).items()}))
        elif outside.head(path).startswith(b"PK"):
            exports.append((source, _workbook(path)))
        else:
            tab = _tab(path.stem)
            if tab is None or tab in single:
                known = ", ".join(f"RVTools_tab{tab}.csv" for tab in TABS)
                hint = "keep the name that RVTools gave it, and name each tab once"
                outside.refuse(path, "", path.name, f"the name of a tab's file: {known}", hint)
            single[tab] = _csv_table(path, tab)
    if single:
        exports.insert(0, (sources[0], single))
    read_exports = [_Export(source, tables) for source, tables in exports]
    return Inventory(
        source=", ".join(Path(source).name or source for source in sources),
        kind="rvtools",
        hosts=[host for export in read_exports for host in export.hosts],
        vms=[vm for export in read_exports for vm in export.vms],
        datastores=[datastore for export in read_exports for datastore in export.datastores],
        gaps=[*dict.fromkeys(gap for export in read_exports for gap in export.gaps), *NEVER],
        assumptions=[assumption for export in read_exports for assumption in export.assumptions],
    )


@dataclass(frozen=True)
class _Table:
    """A tab: the columns that it has, and its rows by column."""

    columns: frozenset[str]
    rows: list[Row]


class _Export:
    """The tabs of one export, and the inventory in them."""

    def __init__(self, source: str, tables: Mapping[str, _Table]) -> None:
        self.source = source
        self.tables = tables
        self.assumptions: list[Assumption] = []
        self.need("vHost", ("name", "memory"))
        self.need("vInfo", ("name", "power"))
        if not ({"sockets", "cores_per_socket"} <= tables["vHost"].columns or "cores" in tables["vHost"].columns):
            self.lacks("vHost", "neither # CPU and Cores per CPU nor # Cores", "the columns # CPU and Cores per CPU")
        self.gaps = self.missing()
        self.datastores = [self.datastore(row) for row in self.rows("vDatastore") if _text(row.get("name"))]
        self.hosts = self.read_hosts()
        self.vms = self.read_vms()
        if any((_number(row.get("limit")) or -1) >= 0 for row in self.rows("vRP")):
            text = "their limits, reservations and shares are no part of scenarios"
            self.assumptions.append(Assumption("resource pools", text))

    def rows(self, tab: str) -> list[Row]:
        return self.tables[tab].rows if tab in self.tables else []

    def need(self, tab: str, columns: Iterable[str]) -> None:
        if tab not in self.tables:
            found = ", ".join(self.tables) or "none of RVTools'"
            self.lacks("", f"no tab {tab}; there is {found}", f"the tab {tab}")
        for column in columns:
            if column not in self.tables[tab].columns:
                called = {"name": "Host" if tab == "vHost" else "VM", "memory": "# Memory", "power": "Powerstate"}
                self.lacks(tab, f"no column {called[column]}", f"the column {called[column]}")

    def lacks(self, where: str, value: str, allowed: str) -> None:
        hint = "export all tabs of RVTools, unchanged (File, Export all to Excel)"
        outside.refuse(self.source, where, value, allowed, hint, "source-lacks")

    def missing(self) -> list[Gap]:
        gaps = []
        for tab, columns in COSTS.items():
            if tab not in self.tables:
                gaps.append(Gap(tab, TAB_COSTS[tab]))
                continue
            for column, (called, costs) in columns.items():
                if column not in self.tables[tab].columns:
                    gaps.append(Gap(f"{tab}/{called}", costs))
        return gaps

    # hosts and datastores

    def read_hosts(self) -> list[Host]:
        vcenter = next((text for row in self.rows("vInfo") if (text := _text(row.get("vcenter")))), "")
        version = re.search(r"[0-9]{1,2}\.[0-9]{1,2}(?:\.[0-9]{1,2})?", vcenter)
        hosts, of_vcenter = [], 0
        for row in self.rows("vHost"):
            name = _text(row.get("name"))
            if not name:
                continue
            sockets, cores = _integer(row.get("sockets")), _integer(row.get("cores"))
            per_socket = _integer(row.get("cores_per_socket"))
            if not (sockets and per_socket) and cores:
                sockets = sockets or 1
                per_socket = cores // sockets
            hypervisor = _text(row.get("version")) or None
            if hypervisor is None and version:
                hypervisor, of_vcenter = f"VMware ESXi {version[0]}", of_vcenter + 1
            speed = _number(row.get("speed"))
            hosts.append(
                Host(
                    name=name,
                    sockets=sockets,
                    cores_per_socket=per_socket,
                    threads_per_core=2 if _flag(row.get("ht")) is not False else 1,
                    memory_bytes=_mebibytes(row.get("memory")),
                    clock_hz=speed * 1e6 if speed else None,
                    hypervisor=hypervisor,
                    cluster=_text(row.get("cluster")) or None,
                    cpu_model=_text(row.get("model")) or None,
                    usage_pct=_number(row.get("usage")),
                    in_maintenance=_flag(row.get("maintenance")) is True,
                )
            )
        if of_vcenter and version:
            self.assumptions.append(Assumption(f"{of_vcenter} hosts", f"ESXi of vCenter's version, {version[0]}"))
        return hosts

    def datastore(self, row: Row) -> Datastore:
        return Datastore(
            name=_text(row.get("name")),
            kind=_text(row.get("type")),
            capacity_bytes=_mebibytes(row.get("capacity")) or None,
            free_bytes=_mebibytes(row.get("free")) or None,
            hosts=tuple(outside.name(name) for name in str(row.get("hosts") or "")[:65_536].split(",") if name.strip()),
        )

    # VMs

    def read_vms(self) -> list[Vm]:
        cpu, memory = self.beside("vCPU"), self.beside("vMemory")
        disks: dict[str, list[VirtualDisk]] = defaultdict(list)
        key_of_disk = self.key("vDisk")
        for row in self.rows("vDisk"):
            disks[key_of_disk(row)].append(_disk(row))
        gone = unnamed = 0
        vms = []
        for row in self.rows("vInfo"):
            name = _text(row.get("name"))
            if not name:
                unnamed += 1
                continue
            on = _word(row.get("power")) in ("poweredon", "on")
            template = _flag(row.get("template")) is True
            if on and _word(row.get("connection")) in _GONE:
                on, gone = False, gone + 1
            vms.append(self.vm(row, cpu(row), memory(row), name, on, template, tuple(disks.get(key_of_disk(row), ()))))
        if gone:
            text = "left out: vCenter has lost them (inaccessible, invalid or orphaned)"
            self.assumptions.append(Assumption(f"{gone} machines", text))
        if unnamed:
            self.assumptions.append(Assumption(f"{unnamed} rows of vInfo", "left out: without a name"))
        return vms

    def key(self, tab: str) -> Callable[[Row], str]:
        """What identifies VMs in vInfo and this tab: their UUID if both have it, else their name."""
        has_uuid = all("uuid" in self.tables[each].columns for each in ("vInfo", tab) if each in self.tables)
        return lambda row: (has_uuid and _text(row.get("uuid"))) or _text(row.get("name"))

    def beside(self, tab: str) -> Callable[[Row], Row]:
        """Finds the VM's row in another tab, for rows of vInfo in order: of several with one name, the next."""
        key = self.key(tab)
        by_key: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows(tab):
            by_key[key(row)].append(row)
        used: Counter[str] = Counter()

        def row_beside(row: Row) -> Row:
            own = key(row)
            rows = by_key.get(own, ())
            position = used[own]
            used[own] += 1
            return rows[min(position, len(rows) - 1)] if rows else {}

        return row_beside

    def vm(
        self, info: Row, cpu: Row, memory: Row, name: str, on: bool, template: bool, disks: tuple[VirtualDisk, ...]
    ) -> Vm:
        limit, overall = _number(cpu.get("limit")), _number(cpu.get("overall"))
        level, shares = _word(cpu.get("level")), _integer(cpu.get("shares"))
        return Vm(
            name=name,
            vcpus=_integer(cpu.get("cpus")) or _integer(info.get("cpus")),
            memory_bytes=_mebibytes(memory.get("size")) or _mebibytes(info.get("memory")),
            host=next((text for row in (info, cpu, memory) if (text := _text(row.get("host")))), None),
            powered_on=on,
            is_template=template,
            cores_per_socket=_integer(cpu.get("cores_per_socket")) or None,
            shares=level if level in ("low", "normal", "high") else shares or None,
            reservation_mhz=_number(cpu.get("reservation")),
            limit_mhz=limit if limit is not None and limit > 0 else None,
            cpu_hot_add=_flag(cpu.get("hot_add")),
            disks=disks,
            guest_os=_text(info.get("os_tools")) or _text(info.get("os")) or None,
            demand=Demand(overall, None, "vCPU/Overall, when it was exported") if overall is not None else None,
            storage_appliance=is_storage_appliance(name),
        )


def _disk(row: Row) -> VirtualDisk:
    kind, number = _word(row.get("controller")), re.search(r"[0-9]{1,3}\Z", _text(row.get("label")))
    datastore = re.match(r"\[([^\]]{1,256})\]", _text(row.get("path")))
    return VirtualDisk(
        capacity_bytes=_mebibytes(row.get("capacity")),
        controller=next((name for word, name in CONTROLLERS.items() if word in kind), None),
        controller_number=int(number[0]) if number else None,
        datastore=datastore[1] if datastore else None,
    )


# cells


def _text(value: object) -> str:
    """A cell as a name: one line, bounded, no control characters."""
    return "" if value is None else outside.name(value if isinstance(value, str) else _shown(value))


def _shown(value: object) -> str:
    """A name that Excel took for a number (`4711.0`) as it was."""
    return (
        f"{value:.0f}" if isinstance(value, float) and value == value // 1 and abs(value) < MOST_NUMBER else str(value)
    )


def _word(value: object) -> str:
    return re.sub(r"[^a-z0-9]", "", _text(value).lower())


def _flag(value: object) -> bool | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, bool) else _text(value).lower() in _TRUE


def _number(value: object) -> float | None:
    """A number in a cell or in text: `12`, `1,024`, `1.024`, `1 024`, `12,5`, `2295 MHz`. None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) <= MOST_NUMBER else None
    if not isinstance(value, str) or len(value) > 64:
        return None
    text = _UNIT.sub("", value.strip()).translate({ord(blank): None for blank in " \u00a0\u2009\u202f"})
    grouped = _GROUPED.match(text)
    if grouped and not text.lstrip("+-").startswith("0"):
        text = text.replace(grouped[1], "")
    elif "," in text and "." in text:
        thousands, decimal = (",", ".") if text.rindex(".") > text.rindex(",") else (".", ",")
        text = text.replace(thousands, "").replace(decimal, ".")
    else:
        text = text.replace(",", ".")
    number = outside.number(text)
    return number if number is not None and abs(number) <= MOST_NUMBER else None


def _integer(value: object) -> int:
    """A whole number of at least 0; 0 for anything else."""
    return max(int(_number(value) or 0), 0)


def _mebibytes(value: object) -> int:
    """Bytes of a size in MiB. Some exports have `vHostMemorySize` in bytes: read as MiB it would be pebibytes."""
    number = max(_number(value) or 0, 0)
    return int(number) if number > 1e9 else int(number * 2**20)


# tabs


def _column(cell: object, tab: str) -> str:
    """A column's name in the form of `TABS`."""
    text = str(cell if cell is not None else "")[:200].lower().replace("#", "num").replace("%", "pct")
    name = re.sub(r"[^a-z0-9]", "", text)
    return name.removeprefix(tab.lower()) or name if tab else name


def _tab(name: str) -> str | None:
    """The tab in a sheet or file of this name: `vInfo`, `tabvInfo`, `RVTools_tabvInfo`."""
    plain = re.sub(r"^(?:rvtools)?[_ -]*(?:tab)?", "", name.strip().lower())
    return next((tab for tab in TABS if tab.lower() == plain), None)


def _table(tab: str, rows: Iterable[Sequence[Any]], where: str | Path) -> _Table:
    """The known columns of a tab; the first row that is not empty has their names."""
    found: dict[str, int] = {}
    kept: list[Row] = []
    for row in rows:
        if not found:
            names = [_column(cell, tab) for cell in row[:MOST_COLUMNS]]
            for column, called in TABS[tab].items():
                position = next((names.index(name) for name in called if name in names), None)
                if position is not None:
                    found[column] = position
            if not any(names):
                continue
            if not found:
                return _Table(frozenset(), [])
            continue
        values = {
            column: value[:MOST_TEXT] if isinstance(value, str) and column != "hosts" else value
            for column, at in found.items()
            if at < len(row) and (value := row[at]) not in (None, "")
        }
        if not values:
            continue
        if len(kept) == MOST_ROWS:
            allowed = f"at most {MOST_ROWS} rows"
            outside.refuse(where, tab, "more rows", allowed, "export one vCenter at a time", "source-too-large")
        kept.append(values)
    return _Table(frozenset(found), kept)


def _csv_files(folder: Path) -> dict[str, Path]:
    """The CSV files of a folder by tab."""
    files: dict[str, Path] = {}
    try:
        for file in sorted(folder.iterdir())[:10_000]:
            tab = _tab(file.stem) if file.suffix.lower() == ".csv" else None
            if tab is not None:
                files.setdefault(tab, file)
    except OSError:
        return {}
    return files


def _csv_table(path: Path, tab: str) -> _Table:
    """A CSV file with the separator of the Windows that wrote it: comma, semicolon or tab."""
    lines = outside.text_lines(path)
    first = next(lines, "")
    separator = max(",;\t", key=first.count)
    try:
        rows = csv.reader((f"{line}\n" for line in itertools.chain([first], lines)), delimiter=separator)
        return _table(tab, rows, path)
    except csv.Error as error:
        outside.refuse(path, "", str(error), "a CSV file as RVTools writes it", "was it changed or cut off?")


def _workbook(path: Path) -> dict[str, _Table]:
    """The tabs of a workbook."""
    data = outside.read_bytes(path, MOST_BYTES)
    with _as_source_error(path):
        _check_parts(path, data)
        from openpyxl import load_workbook

        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        tables: dict[str, _Table] = {}
        for sheet in book.worksheets:
            tab = _tab(sheet.title)
            if tab is not None and tab not in tables:
                sheet.reset_dimensions()  # they may claim anything
                tables[tab] = _table(tab, _sheet_rows(sheet.iter_rows(values_only=True), path, tab), path)
        return tables


def _sheet_rows(rows: Iterable[Sequence[Any]], path: Path, tab: str) -> Iterator[Sequence[Any]]:
    """Rows that are not empty; openpyxl adds the missing ones, in any number."""
    for number, row in enumerate(rows):
        if number >= _SHEET_ROWS:
            allowed = f"at most {_SHEET_ROWS} rows"
            outside.refuse(path, tab, "a row of a higher number", allowed, "is it an Excel file?", "source-too-large")
        if row:
            yield row


def _check_parts(path: Path, data: bytes) -> None:
    """Refuse a workbook whose parts do not fit into memory: unpacked and counted, since headers can say anything."""
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        entries = parts.infolist()
        if len(entries) > MOST_PARTS:
            _too_large(path, "", f"{len(entries)} parts", f"at most {MOST_PARTS} parts")
        total = 0
        for entry in entries:
            is_sheet = "worksheets/" in entry.filename
            most = MOST_INFLATED - total if is_sheet else min(MOST_OTHER_INFLATED, MOST_INFLATED - total)
            with parts.open(entry) as stream:
                total += _check_part(path, entry.filename, stream, most, is_sheet)


def _check_part(path: Path, name: str, stream: IO[bytes], most: int, is_sheet: bool) -> int:
    """The size of one part, of at most `most` bytes; the rows of a sheet and their length are bounded as well."""
    size = since_row = rows = cells = 0
    tail = b""
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        if size > most:
            _too_large(path, name, f"more than {most} bytes unpacked", f"at most {MOST_INFLATED} bytes in all")
        if not is_sheet:
            continue
        text = tail + chunk
        tail = text[-_MARK:]
        begins = [-since_row, *(found.start() for found in _ROW.finditer(text)), len(text)]
        longest = max(after - before for before, after in itertools.pairwise(begins))
        if longest > MOST_BETWEEN_ROWS:
            _too_large(path, name, f"{longest} bytes without a row", f"rows of at most {MOST_BETWEEN_ROWS} bytes")
        since_row = len(text) - len(tail) - begins[-2]
        rows += len(begins) - 2
        cells += sum(text.count(mark) for mark in _CELLS)
        if rows > _SHEET_ROWS or cells > MOST_CELLS:
            value = f"{rows} rows with {cells} cells so far"
            _too_large(path, name, value, f"at most {_SHEET_ROWS} rows and {MOST_CELLS} cells")
    return size


def _too_large(path: Path, where: str, value: str, allowed: str) -> None:
    hint = "is it an RVTools export? save it anew, without drawings and attachments"
    outside.refuse(path, outside.name(where), value, allowed, hint, "source-too-large")


@contextmanager
def _as_source_error(path: Path) -> Iterator[None]:
    """Turns whatever zipfile and openpyxl raise for a broken workbook into one error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl on styles and extensions that nobody needs here
            yield
    except ScenarioError:
        raise
    except Exception as error:  # openpyxl raises errors of any kind for files that are not what they should be
        said = outside.name(f"{type(error).__name__}: {error}")
        hint = "is it whole, and without a password? export it again"
        outside.refuse(path, "", said, "an .xlsx file as RVTools writes it", hint)
