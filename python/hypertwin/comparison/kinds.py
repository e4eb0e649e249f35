"""Kinds of results: how their shape identifies a document, and which parts are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Kind:
    """Kind of result that a command prints with `--format json`."""

    name: str
    """Value of `kind` in pages with the result."""
    command: str
    keys: frozenset[str]
    """Fields that identify the kind. The first kind with all its fields in the document matches."""
    settings: tuple[str, ...] = ()
    """Fields with the request. All other numbers are figures."""
    items: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Lists and maps of entities, with the fields that name an entity. The keys of a map are names, so its list is
    empty."""
    left_out: frozenset[str] = frozenset()
    """Fields that are not compared: series over time, and derived values."""
    words: frozenset[str] = frozenset()
    """Fields with words that are also compared."""


_ONE = ("scenario", "seed", "duration_s", "replications", "calibration", "set")

KINDS = (
    Kind(
        "density",
        "density",
        frozenset({"vm", "slo", "answer", "points"}),
        settings=(*_ONE, "vm", "min", "max", "memory_overcommit"),
        items={"points": ("count",)},
        left_out=frozenset({"slo", "exceptions"}),
        words=frozenset({"limiting", "limited_by", "meets", "sure", "at_worst", "steady"}),
    ),
    Kind(
        "capacity",
        "capacity",
        frozenset({"scenario", "clusters", "total", "datastores"}),
        settings=("scenario",),
        items={"clusters": (), "datastores": ("name",), "pools": (), "policies": ("name",)},
        left_out=frozenset({"known_pct", "over_s", "vm", "reclaimable"}),
        words=frozenset({"limited_by", "kind"}),
    ),
    Kind(
        "durability",
        "durability",
        frozenset({"annual_failure_rate", "repair", "schemes"}),
        settings=("annual_failure_rate", "groups", "usable_bytes"),
        items={"schemes": ("scheme",)},
    ),
    Kind(
        "size",
        "size",
        frozenset({"asked", "advice", "candidates"}),
        settings=("asked", "host"),
        items={"candidates": ("name",)},
        left_out=frozenset({"vpds", "ppds", "homes"}),
        words=frozenset({"fits_node"}),
    ),
    Kind(
        "vnuma",
        "vnuma",
        frozenset({"vpds", "ppds", "host_topology"}),
        settings=("host", "hypervisor", "host_topology", "memory_bytes"),
        items={"clients": ("first_vcpu",)},
        left_out=frozenset({"vpds", "ppds", "homes", "settled_homes", "memory"}),
        words=frozenset({"vnuma", "collapsed"}),
    ),
    Kind(
        "calibration",
        "calibrate",
        frozenset({"calibrated_on", "parameters", "residual_scale"}),
        settings=(*_ONE, "measurements"),
        items={"parameters": ("path",), "metrics": ("metric",), "points": ("row", "metric")},
        left_out=frozenset({"interval", "correlated", "inseparable", "model_error"}),
        words=frozenset({"converged", "identified", "at_bound", "errors_explain"}),
    ),
    Kind(
        "diagnosis",
        "diagnose",
        frozenset({"findings", "not_checked", "read"}),
        settings=("cluster",),
        items={"findings": ("code", "entity"), "evidence": ("metric", "what"), "read": ("source",)},
        left_out=frozenset({"what_if", "band", "beyond", "gaps"}),
        words=frozenset({"severity"}),
    ),
    Kind(
        "telemetry",
        "telemetry",
        frozenset({"rows", "entities", "lines"}),
        items={"lines": ("kind", "metric"), "ready": ("entity",), "sources": ("source",)},
        left_out=frozenset({"gaps"}),
    ),
    Kind(
        "contention",
        "lab cpu",
        frozenset({"experiments", "medians", "promised"}),
        settings=("seconds", "repeat", "control_groups", "machine"),
        items={"experiments": ("experiment",), "rows": ("group",)},
        left_out=frozenset({"promised", "spread"}),
        words=frozenset({"flagged"}),
    ),
    Kind(
        "guests",
        "lab vm",
        frozenset({"guests", "accelerator", "measurement"}),
        settings=("accelerator", "host", "plan"),
        items={"guests": ("name",)},
        left_out=frozenset({"series", "vcpus"}),
        words=frozenset({"differ", "disturbed"}),
    ),
    Kind(
        "profile",
        "lab profile",
        frozenset({"spin", "timers", "context_switch_ns"}),
        settings=("processor", "kernel", "topology"),
        items={
            "bandwidth": ("node", "threads"),
            "rows": ("scheme", "operation", "lost", "working_set", "kind", "depth"),
        },
        left_out=frozenset({"together", "alone", "cpus"}),
    ),
    Kind(
        "coding",
        "lab erasure-coding",
        frozenset({"library", "fits", "rows"}),
        settings=("machine", "library", "seconds", "repetitions", "fragment_bytes"),
        items={"rows": ("scheme", "operation", "lost", "working_set"), "fits": ("operation", "working_set")},
        left_out=frozenset({"losses_rebuilt"}),
    ),
    # last, since densities and calibrations have these fields, too
    Kind(
        "simulation",
        "simulate",
        frozenset({"scenario", "seed", "points"}),
        settings=("scenario", "seed"),
        items={"hosts": (), "vms": (), "groups": (), "storage": (), "pools": (), "clusters": (), "nodes": ()}
        | {"space": (), "policies": ("policy", "name"), "limits": ()},
        left_out=frozenset(
            {"model_error", "timeline", "incidents", "outcomes", "events", "simulated_s", "response_count"}
        )
        | {"judgement", "causes", "breaks", "text", "more", "of", "value_pct"},
        words=frozenset({"steady", "station", "state", "scrub_keeps_up", "tone", "kind"}),
    ),
)

VALIDATION = Kind(
    "validation",
    "validate",
    frozenset({"study", "case", "metric", "published", "twin"}),
    items={"figures": ("study", "case", "metric")},
    left_out=frozenset({"tolerance", "tolerance_pct", "error", "low", "high"}),
    words=frozenset({"pass"}),
)
"""Only document that is a list. Its rows have these keys."""


def kind_of(document: Any) -> Kind | None:
    """Return the kind of a document, by its shape, or None if unknown."""
    if isinstance(document, list):
        rows = [row for row in document if isinstance(row, dict) and row.keys() >= VALIDATION.keys]
        return VALIDATION if rows and len(rows) == len(document) else None
    if isinstance(document, dict):
        return next((kind for kind in KINDS if document.keys() >= kind.keys), None)
    return None
