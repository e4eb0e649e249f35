//! What storage takes of the memory of its nodes, by hand.

use hypertwin_cluster::{HostMember, Scenario};
use serde_json::{Value, json};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// The first host of a scenario of four with 256 GiB, which are the nodes of these pools.
fn node(host_more: &Value, pools: &Value) -> HostMember {
    let mut host = json!({
        "count": 4, "sockets": 2, "cores_per_socket": 8, "clock": "2 GHz", "memory_per_node": "128 GiB",
        "hypervisor": "esxi-8.0",
    });
    host.as_object_mut()
        .expect("a mapping")
        .extend(host_more.as_object().expect("a mapping").clone());
    let text = json!({"name": "nodes", "hosts": {"h": host, "other": host}, "storage": pools});
    let scenario = Scenario::from_json(&text.to_string()).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    let inventory = scenario.inventory();
    let other = inventory
        .hosts
        .iter()
        .find(|host| host.group == "other")
        .expect("a host");
    assert_eq!(other.storage_memory.bytes(), 0, "no pool is on it");
    inventory.hosts[0].clone()
}

fn pool(kind: &str, more: Value) -> Value {
    let mut pool = json!({
        "kind": kind, "nodes": "h", "devices": {"kind": "nvme", "per_node": 4, "capacity": "1.92 TB"},
    });
    pool.as_object_mut()
        .expect("a mapping")
        .extend(more.as_object().expect("a mapping").clone());
    pool
}

fn taken(pools: &Value) -> u64 {
    let host = node(&json!({}), pools);
    assert_eq!(host.hypervisor_memory.bytes(), host.storage_memory.bytes());
    host.hypervisor_memory.bytes()
}

#[test]
fn each_osd_of_ceph_takes_four_gib() {
    assert_eq!(taken(&json!({"c": pool("ceph", json!({}))})), 16 * GIB);
    let disks = json!({"kind": "hdd-7.2k", "per_node": 3, "capacity": "8 TB"});
    let two = json!({"ceph": {"osds_per_device": 2}, "more_devices": [disks]});
    assert_eq!(
        taken(&json!({"c": pool("ceph", two)})),
        56 * GIB,
        "two of each of seven devices"
    );
    assert_eq!(
        taken(&json!({"c": pool("ceph", json!({})), "d": pool("ceph", json!({}))})),
        32 * GIB
    );
}

#[test]
fn disk_groups_of_vsan_take_what_its_formula_says() {
    let osa = |device: &str, cache: &str| {
        let devices = json!({"kind": device, "per_node": 6, "capacity": "3.84 TB"});
        let flash = json!({"kind": "nvme", "per_node": 2, "capacity": cache});
        json!({"v": pool("vsan", json!({"vsan": {"architecture": "osa"}, "devices": devices, "flash": flash}))})
    };
    // 0.5 % of 262,144 MB are 1,310.72; of 800 GB of cache 600 count
    let all_flash: f64 = 7_100.0 + 2.0 * (1_360.0 + 1_310.72 + 600.0 * 20.0) + 6.0 * 160.0;
    assert_eq!(taken(&osa("sas-ssd", "800 GB")), all_flash.round() as u64 * MIB);
    let small: f64 = 7_100.0 + 2.0 * (1_360.0 + 1_310.72 + 400.0 * 20.0) + 6.0 * 160.0;
    assert_eq!(taken(&osa("sas-ssd", "400 GB")), small.round() as u64 * MIB);
    let hybrid: f64 = 7_100.0 + 2.0 * (1_610.0 + 1_310.72 + 800.0 * 10.0) + 6.0 * 180.0;
    assert_eq!(taken(&osa("hdd-10k", "800 GB")), hybrid.round() as u64 * MIB);
}

#[test]
fn what_is_not_published_is_nothing() {
    for kind in ["vsan", "chunk-store", "mirrored-mesh"] {
        assert_eq!(taken(&json!({"p": pool(kind, json!({}))})), 0, "{kind}");
    }
}

#[test]
fn the_system_of_a_host_without_hypervisor_has_all_memory() {
    let host = node(&json!({"hypervisor": "none"}), &json!({"c": pool("ceph", json!({}))}));
    assert_eq!(host.hypervisor_memory.bytes(), 0);
}

#[test]
fn what_the_scenario_says_is_all_there_is() {
    let pools = json!({"c": pool("ceph", json!({}))});
    for (said, own) in [("0 B", 0), ("40 GiB", 40 * GIB)] {
        let host = node(&json!({"hypervisor_memory": said}), &pools);
        assert_eq!(
            (host.hypervisor_memory.bytes(), host.storage_memory.bytes()),
            (own, 0),
            "{said}"
        );
    }
    let small = node(&json!({"memory_per_node": "6 GiB"}), &pools);
    assert_eq!(small.hypervisor_memory.bytes(), 12 * GIB, "at most all of it");
}

#[test]
fn it_is_no_part_of_the_scenario_as_it_is_written() {
    let text = json!({
        "name": "nodes", "storage": {"c": pool("ceph", json!({}))},
        "hosts": {"h": {
            "count": 3, "sockets": 1, "cores_per_socket": 8, "clock": "2 GHz", "memory_per_node": "128 GiB",
            "hypervisor": "linux-6.12",
        }},
    });
    let scenario = Scenario::from_json(&text.to_string()).expect("a good scenario");
    let mut written = serde_json::to_value(&scenario).expect("it can be written");
    assert!(written["hosts"]["h"].get("hypervisor_memory").is_none());
    written["storage"]["c"]["devices"]["per_node"] = json!(2);
    let fewer = Scenario::from_json(&written.to_string()).expect("a good scenario");
    assert_eq!(fewer.inventory().hosts[0].hypervisor_memory.bytes(), 8 * GIB);
}

#[test]
fn vms_go_where_storage_leaves_them_room() {
    let host = json!({
        "sockets": 1, "cores_per_socket": 8, "clock": "2 GHz", "memory_per_node": "64 GiB", "hypervisor": "linux-6.12",
    });
    let mut nodes = host.clone();
    nodes["count"] = json!(3);
    let text = json!({
        "name": "nodes", "storage": {"c": pool("ceph", json!({}))}, "hosts": {"h": nodes, "x": host},
        "vms": {"v": {"vcpus": 1, "memory": "50 GiB", "workload": "w"}},
        "workloads": {"w": {"arrivals": {"open": {"rate": "1 /s"}}, "cpu": {"mean": "1 ms"}}},
    });
    let scenario = Scenario::from_json(&text.to_string()).expect("a good scenario");
    assert_eq!(scenario.inventory().vms[0].host, "x", "48 GiB are left of h");
}
