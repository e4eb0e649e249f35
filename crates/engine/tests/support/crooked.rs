//! A cluster in which no two figures are alike, so that a weight, a unit or a term left out shows.
//!
//! | host | logical CPUs | memory | its own | network |
//! |---|---|---|---|---|
//! | `small` | 4 of 2 GHz | 24 GiB | 3 GiB | 30 us |
//! | `large` | 2 x 8 of 2.5 GHz | 2 x 40 GiB | 7 GiB | 70 us |
//! | `node-1` to `node-3` | 6 of 3 GHz, 3.3 with turbo | 50 GiB | 5 GiB | 500 us |
//!
//! VMs do nothing unless a test says what: `app` is on `small`, `base` on `large`, `files` on `node-1`; `files` has
//! disks of two policies in the pool `mesh` of the nodes.

use super::{host, merge, vm};
use hypertwin_cluster::Scenario;
use serde_json::{Value, json};

/// The cluster as a scenario, with `more` laid over it.
pub fn crooked(more: Value) -> Scenario {
    let sized = |sockets: u32, cores: u32, own: Value| {
        let mut host = host("esxi-8.0", sockets, cores, 1);
        merge(&mut host, own);
        host
    };
    let files = json!({"host": "node-1", "storage": "mesh", "vdisks": 2, "vdisk_policies": ["three", "two"]});
    let mut text = json!({
        "name": "crooked",
        "run": {"duration": "60 s", "warmup": "0 s", "sample_interval": "1 s"},
        "hosts": {
            "small": sized(1, 4, json!({
                "clock": "2 GHz", "memory_per_node": "24 GiB", "hypervisor_memory": "3 GiB", "network": {"latency": "30 us"},
            })),
            "large": sized(2, 8, json!({
                "clock": "2.5 GHz", "memory_per_node": "40 GiB", "hypervisor_memory": "7 GiB", "network": {"latency": "70 us"},
            })),
            "node": sized(1, 6, json!({
                "count": 3, "clock": "3 GHz", "turbo": "3.3 GHz", "memory_per_node": "50 GiB", "hypervisor_memory": "5 GiB",
                "network": {"latency": "500 us"},
            })),
        },
        "clusters": {"default": {"ha": {"policy": "fdm", "boot": "7 s"}}},
        "vms": {
            "app": vm(2, "idle", json!({"host": "small", "memory": "9 GiB"})),
            "base": vm(3, "idle", json!({"host": "large", "memory": "11 GiB"})),
            "files": vm(1, "idle", files),
        },
        "workloads": {
            "idle": {"arrivals": {"closed": {"population": 1, "think": {"mean": "1 d"}}}, "cpu": {"mean": "1 ms"}},
        },
        "storage": {"mesh": {
            "kind": "mirrored-mesh", "nodes": "node", "deployment": "mixed", "stored": "100 GiB",
            "policies": {"two": {"redundancy": "replicas-2"}, "three": {"redundancy": "replicas-3"}},
            "devices": {"kind": "nvme", "per_node": 2, "capacity": "1 TB"},
        }},
    });
    merge(&mut text, more);
    Scenario::from_json(&text.to_string()).unwrap_or_else(|mistakes| panic!("{mistakes:#?}\n{text:#}"))
}
