"""Forklift: a network map, a storage map and a plan for each wave.

Fields are those of `mapping.go`, `plan.go` and `ref/ref.go` in `pkg/apis/forklift/v1beta1` of kubev2v/forklift at
d42511bb, and of `proc_migrating-vms-cli-vmware.adoc` in kubev2v/forklift-documentation at 23f553c9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hypertwin.documents.move import MovedVm, Wave
from hypertwin.files.yaml_writing import to_yaml
from hypertwin.plan.moving.handover import shell

NAMESPACE = "openshift-mtv"
API = "forklift.konveyor.io/v1beta1"
_HERE = {"namespace": NAMESPACE}
_PROVIDERS = {"source": {"name": "SOURCE-PROVIDER", **_HERE}, "destination": {"name": "host", **_HERE}}


def text(wave: Wave, vms: Sequence[MovedVm]) -> str:
    """Return the maps and the plan of a wave as YAML documents."""
    name = f"wave-{wave['number']}"
    networks = _distinct(nic["network"] for vm in vms for nic in vm["networks"])
    stores = _distinct(store for vm in vms for store in vm["datastores"])
    plan = {
        "warm": wave["mode"] == "warm",
        "preserveStaticIPs": True,
        "provider": _PROVIDERS,
        "map": {"network": {"name": f"{name}-network", **_HERE}, "storage": {"name": f"{name}-storage", **_HERE}},
        "targetNamespace": "TARGET-NAMESPACE",
        "vms": [_vm(vm) for vm in vms],
    }
    return "---\n".join(
        (
            _document("NetworkMap", f"{name}-network", {"provider": _PROVIDERS, "map": _networks(networks)}),
            _document("StorageMap", f"{name}-storage", {"provider": _PROVIDERS, "map": _storage(stores)}),
            _document("Plan", name, plan),
        )
    )


def _document(kind: str, name: str, spec: Any) -> str:
    return to_yaml({"apiVersion": API, "kind": kind, "metadata": {"name": name, **_HERE}, "spec": spec})


def _networks(names: Sequence[str]) -> list[Any]:
    """Return one entry for each network that the wave uses, or a placeholder without any known one."""
    place = {"type": "multus", "namespace": "NETWORK-NAMESPACE"}
    made = shell.numbered(tuple(names) or ("SOURCE-NETWORK",), "NETWORK")
    return [{"source": {"name": name}, "destination": {**place, "name": new}} for name, new in made.items()]


def _storage(names: Sequence[str]) -> list[Any]:
    made = shell.numbered(tuple(names) or ("SOURCE-DATASTORE",), "STORAGE-CLASS")
    return [
        {"source": {"name": name}, "destination": {"storageClass": new, "accessMode": "ACCESS-MODE"}}
        for name, new in made.items()
    ]


def _vm(vm: MovedVm) -> dict[str, str]:
    name = str(vm["becomes"].get("name") or "")
    renamed = {"targetName": name} if name and name != vm["label"] else {}
    return {"name": vm["label"], **renamed, **({"targetPowerState": "off"} if vm["power"] == "off" else {})}


def _distinct(names: Iterable[str | None]) -> list[str]:
    return sorted({name for name in names if name})
