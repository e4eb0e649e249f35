"""Facts of VMs for a move, from their configuration in Proxmox VE. Text of notes is searched, and never kept."""

from __future__ import annotations

import re

from hypertwin.ingest import json_fields, outside, secrets
from hypertwin.ingest.json_fields import Fields
from hypertwin.members import SourceNetwork, SourceVm

_NETWORK = re.compile("net[0-9]{1,2}")
MAX_VLAN = 4_094


def of_vm(config: Fields) -> SourceVm | None:
    """Return the facts in the configuration of a VM, or None without a configuration."""
    if not config:
        return None
    text = {key: json_fields.text(value) for key, value in config.items()}
    tags = (outside.name(word) for word in re.split(r"[;, ]", text.get("tags", "")))
    return SourceVm(
        firmware="efi" if text.get("bios") == "ovmf" else "bios",
        tpm="tpmstate0" in config,
        tags=tuple(dict.fromkeys(tag for tag in tags if tag)) or None,
        hot_add_memory="memory" in text.get("hotplug", "").split(","),
        usb_devices=_count("usb", text),
        passthrough_devices=_count("hostpci", text),
        secret_in_notes=secrets.looks_secret(text.get("description", "")),
        networks=tuple(_network(text[key]) for key in sorted(config) if _NETWORK.fullmatch(key)),
    )


def _count(kind: str, text: dict[str, str]) -> int:
    return sum(re.fullmatch(f"{kind}[0-9]{{1,2}}", key) is not None for key in text)


def _network(text: str) -> SourceNetwork:
    """Return an adapter, such as `virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20`."""
    parts = [part.partition("=") for part in text[:4096].split(",")]
    options = {key: value for key, _, value in parts}
    tag = options.get("tag", "0")
    return SourceNetwork(
        adapter=outside.name(options.get("model", parts[0][0])) or None,
        network=outside.name(options.get("bridge", "")) or None,
        vlan=int(tag) if re.fullmatch("[0-9]{1,4}", tag, re.ASCII) and int(tag) <= MAX_VLAN else None,
        connected=options.get("link_down") != "1",
    )
