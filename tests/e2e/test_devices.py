"""`hypertwin devices`: the drives that scenarios may name, as a user sees them."""

from __future__ import annotations

import csv
import io
import json

import pytest
from rich.console import Console

import hypertwin
from hypertwin import _core
from hypertwin.documents.devices import Device
from hypertwin.scenario import drives
from hypertwin.show import registry


def test_json_has_every_drive_of_the_core_in_numbers(cli):
    done = cli("devices", "--format", "json", says="")
    found = json.loads(done.stdout)
    table = json.loads(_core.drives())
    assert {each["name"]: each["kind"] for each in found["devices"]} == {name: of["kind"] for name, of in table.items()}
    kinds = list(dict.fromkeys(each["kind"] for each in found["devices"]))
    assert kinds == [kind for kind in drives.kinds() if kind in kinds]
    (optane,) = (each for each in found["devices"] if each["name"] == "P4800X")
    assert optane | {"source": ""} == {
        **dict.fromkeys(Device.__annotations__),
        **optane,
        "capacity_gb": 375,
        "random_read_iops": 550_000,
        "random_write_iops": 500_000,
        "sequential_write_mb_per_s": 2000,
        "write_latency_us": 10,
        "power_loss_protection": True,
        "dwpd": 30,
        "source": "",
    }
    assert all(each["source"] for each in found["devices"])


def test_the_function_gives_the_same_as_the_command(cli):
    assert hypertwin.devices() == json.loads(cli("devices", "--format", "json").stdout)["devices"]
    assert [each["name"] for each in hypertwin.devices("P4800X", kind="nvme")] == ["P4800X"]
    assert {each["kind"] for each in hypertwin.devices(kind="nvme")} == {"nvme"}
    assert hypertwin.devices("P4800X", kind="sata-ssd") == []


def test_csv_has_a_column_for_each_key(cli):
    rows = list(csv.DictReader(io.StringIO(cli("devices", "P4800X", "--format", "csv").stdout)))
    assert [list(row) for row in rows] == [list(Device.__annotations__)]
    assert (rows[0]["random_read_iops"], rows[0]["power_loss_protection"], rows[0]["rpm"]) == ("550000.0", "true", "")


def test_a_named_drive_is_shown_with_its_source_and_how_to_name_it(cli):
    text = cli("devices", "P4800X", "--explain").stdout
    assert "P4800X: Intel Optane SSD DC P4800X data sheet, 2017" in text
    assert "disks: { device: P4800X, count: 8 }" in text
    assert "550" in text and "yes" in text
    assert "no drive of this kind" in cli("devices", "P4800X", "--kind", "hdd-15k").stdout


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_table_of_all_fits_a_narrow_terminal(width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(registry.DEVICES.table({"version": "", "devices": hypertwin.devices()}))
    text = console.export_text()
    assert "…" not in text
    for device in hypertwin.devices():
        assert f"  {device['name']} " in text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("P480X",), ["unknown name `P480X` [unknown-value]", "did you mean P4800X?"]),
        (("p4800x",), ["unknown name `p4800x` [unknown-value]", "did you mean P4800X?"]),
        (("860 pro",), ["unknown name `860 pro` [unknown-value]", "did you mean 860-PRO?"]),
        (("860 QVO",), ["unknown name `860 QVO` [unknown-value]", "all names: hypertwin devices"]),
        (("P4800X", "floppy"), ["unknown name `floppy` [unknown-value]", "all names: hypertwin devices"]),
        (
            ("--kind", "nvm"),
            ["--kind nvm: a value outside the allowed list [unknown-value]", "allowed: hdd-15k", "did you mean nvme?"],
        ),
        (("P480X", "--kind", "nvm"), ["2 errors", "unknown name `P480X`", "--kind nvm: "]),
    ],
)
def test_an_unknown_drive_or_kind_is_an_error_with_a_hint(cli, line, said):
    done = cli("devices", *line, exits=2)
    assert all(text in done.stderr for text in said)
