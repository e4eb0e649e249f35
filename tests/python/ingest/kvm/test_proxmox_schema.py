"""Fixtures have, and the reader reads, only fields that the API of Proxmox VE documents or its code returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.estate import make, proxmox, proxmox_ceph, proxmox_played
from tests.estate.proxmox_ceph import Osd, coded, pool
from tests.estate.proxmox_schema import LOOSE, PUBLISHED, pattern, template
from tests.python.ingest.kvm.test_proxmox import dump

from hypertwin.ingest.kvm import proxmox as reader

Read = set[tuple[str, str]]
"""Fields that were asked for, with the path of their answer."""
NESTED_ALIKE = "children"
"""Field whose objects are like the one that has it."""


def everything() -> Iterator[Mapping[str, Any]]:
    """All kinds of answers that fixtures have."""
    estate = make(2)
    played = proxmox_played.make().answers
    yield proxmox.answers(estate, month=True)
    yield proxmox.offline(proxmox.answers(estate), estate.hosts[0].name)
    yield played
    yield proxmox.offline(played, "pve5", recently=True)
    yield proxmox.without_audit(played, ["pve5"])
    yield dump()
    groups = [{"group": "left", "nodes": "pve1:1,pve2:3", "restricted": 0, "type": "group"}]
    ceph = proxmox_ceph.answers(
        [Osd("pve1"), Osd("pve2", up=False), Osd("pve2", out=True, db="/dev/sda")],
        [pool("vms", 10**12), coded("cold", 10**12, 2, 1, autoscale_status=None)],
        [{"storage": "ceph", "pool": "vms"}, {"storage": "far", "monhost": "10.0.0.1"}],
        flags=["noout"],
        health="HEALTH_WARN",
    )
    yield {**dump(), "/cluster/ha/groups": groups, **ceph}


class Recorded(dict[str, Any]):
    """An object that notes the fields that it is asked for."""

    def __init__(self, fields: Mapping[str, Any], path: str, above: str, asked: Read) -> None:
        super().__init__({key: recorded(value, path, below(above, key), asked) for key, value in fields.items()})
        self.note = lambda key: asked.add((path, f"{above}{key}"))

    def __getitem__(self, key: str) -> Any:
        self.note(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.note(key)
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.note(key)
        return super().get(key, default)


def below(above: str, key: str) -> str:
    return above if key == NESTED_ALIKE else f"{above}{key}."


def recorded(value: Any, path: str, above: str, asked: Read) -> Any:
    """The value, with objects that note what they are asked for."""
    if isinstance(value, dict):
        return Recorded(value, path, above, asked)
    return [recorded(each, path, above, asked) for each in value] if isinstance(value, list) else value


def fields(value: Any, above: str = "") -> Iterator[str]:
    """All fields of an answer, with the path to them."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield f"{above}{key}"
            yield from fields(each, below(above, key))
    elif isinstance(value, list):
        for each in value:
            yield from fields(each, above)


def unknown(found: Read) -> list[str]:
    """The fields that no source has."""
    patterns = {path: pattern(path) for path, _ in found}
    return sorted(f"{path}: {field}" for path, field in found if not patterns[path].fullmatch(field))


def test_fixtures_have_only_fields_of_the_api() -> None:
    found = {
        (template(path), field)
        for answers in everything()
        for path, answer in answers.items()
        for field in set(fields(answer[:2] if path.endswith("rrddata") else answer))
    }
    assert unknown(found) == []


def test_the_reader_asks_only_for_fields_of_the_api() -> None:
    asked: Read = set()
    for answers in everything():
        shorter = {path: answer[:9] if path.endswith("rrddata") else answer for path, answer in answers.items()}
        noting = {path.strip("/"): recorded(answer, template(path), "", asked) for path, answer in shorter.items()}
        reader.inventory(noting, "x")
    assert unknown(asked) == []
    unread = {path for path in (*PUBLISHED, *LOOSE) if not any(path == each for each, _ in asked)}
    assert unread == {"nodes/*/lxc/*/status/current"}, "of a container, the list of resources has all"


@pytest.mark.parametrize(
    ("path", "field", "known"),
    [
        ("nodes/*/qemu/*/config", "scsi30", True),
        ("nodes/*/qemu/*/config", "scsi", False),
        ("nodes/*/qemu/*/config", "rootfs", False),
        ("nodes/*/status", "cpuinfo.mhz", True),
        ("nodes/*/status", "mhz", False),
        ("nodes/*/ceph/pool", "application_metadata.rbd", True),
        ("cluster/ceph/metadata", "osd.device_id", False),
    ],
)
def test_a_field_is_known_by_its_path(path: str, field: str, known: bool) -> None:
    assert (pattern(path).fullmatch(field) is not None) is known
