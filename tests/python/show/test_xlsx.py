"""Workbooks: a sheet for each table, numbers as numbers, and nothing that a spreadsheet would run."""

from __future__ import annotations

import io
import zipfile

import pytest
from openpyxl import load_workbook
from tests.conftest import TINY
from tests.e2e.results import document

import hypertwin
from hypertwin.show import registry, xlsx
from hypertwin.show import view as v

HOSTILE = ("=1+1", "+1", "-cmd|' /C calc'!A0", "@SUM(A1)", "\ttab", "a\x1b[31m", "\udcff", "x" * 40_000)


def opened(content: bytes):
    return load_workbook(io.BytesIO(content))


def test_no_text_is_a_formula_and_all_can_be_read():
    rows = [{"name": text, "value": 1.5} for text in HOSTILE]
    columns = [v.words("name", "=HEAD"), v.figures("value", "figure", "%")]
    content = xlsx.of_view(v.tabular("t", v.table("t", "=A [1]: b/c", columns, rows)))
    sheet = opened(content).worksheets[0]
    cells = [cell for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} == {"s", "n"}
    assert [cell.value for cell in sheet[1]] == ["=HEAD", "figure (%)"]
    assert [cell.value for cell in sheet["A"][1:5]] == list(HOSTILE[:4])
    assert sheet["A9"].value == "x" * 32_767
    assert sheet["B2"].value == 1.5
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        assert not any(b"<f>" in parts.read(name) for name in parts.namelist())


def test_titles_are_allowed_short_and_different():
    taken: set[str] = set()
    titles = [xlsx.title(text, taken) for text in ("A [b]: c/d?", "a b c d", "x" * 40, "X" * 40, "", "'quoted'", "::")]
    assert titles == ["A b c d", "a b c d 2", "x" * 31, "X" * 29 + " 2", "table", "quoted", "table 2"]
    assert all(len(each) <= xlsx.MAX_TITLE for each in titles)


def test_half_widths_have_a_column_of_their_own_and_heads_stay_in_sight():
    columns = [v.words("name", "VM"), v.figures("ready", "ready", "%")]
    rows = [{"name": "a", "ready": v.figure(3.0, half_width=0.2)}, {"name": "b", "ready": None}]
    (sheet,) = opened(xlsx.of_view(v.tabular("t", v.table("t", "T", columns, rows)))).worksheets
    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [
        ["VM", "ready (%)", "ready (%) ±"],
        ["a", 3, 0.2],
        ["b", None, None],
    ]
    assert sheet.freeze_panes == "A2"


@pytest.mark.parametrize("name", ["capacity", "placement", "diagnosis", "durability", "validation"])
def test_every_table_of_a_result_is_a_sheet(name):
    views = getattr(registry, name.upper())
    found = document(name)
    tables = v.tables_of(views.page(found).view)
    book = opened(views.xlsx(found))
    assert [sheet.max_row for sheet in book] == [len(table["rows"]) + 1 for table in tables]


def test_a_simulation_has_a_sheet_for_each_kind_of_thing():
    result = hypertwin.simulate(TINY, sweep={"vms.db.load": [1, 2]}, duration=1, replications=1).document
    book = opened(registry.SIMULATION.xlsx(result))
    assert book.sheetnames == ["Clusters", "Groups", "VMs", "Hosts"]
    heads = [cell.value for cell in book["VMs"][1]]
    assert heads[:3] == ["name", "point", "vms.db.load"]
    assert "Ready (%)" in heads
    vms = list(result["points"][0]["vms"].values())
    row = dict(zip(heads, (cell.value for cell in book["VMs"][2]), strict=True))
    assert row["Ready (%)"] == vms[0]["ready_pct"]


def test_the_command_writes_a_workbook_and_prints_none(cli, tiny):
    assert cli("capacity", tiny, "-o", "c.xlsx").stderr == "wrote c.xlsx\n"
    refused = cli("capacity", tiny, "--format", "xlsx", exits=2)
    assert "--format xlsx is binary" in refused.stderr
