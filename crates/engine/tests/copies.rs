//! Workloads that copy from one storage to another, against what each end can do.

use crate::support;

use hypertwin_cluster::Scenario;
use hypertwin_engine::{Islands, Replication, run};
use serde_json::{Value, json};
use support::{assert_near, host, merge, of, parse, report_of as report, vm};

const BLOCK: f64 = 1_048_576.0;

/// A fast host with a VM of one virtual disk at each end, an array that answers from its cache through a port of 1
/// GB/s, and a pool of one node that can be reached by 500 MB/s; `more` is merged over it.
fn base(read_from: &str, write_to: &str, more: Value) -> Value {
    let mut client = host("esxi-8.0", 1, 8, 1);
    merge(
        &mut client,
        json!({
            "clock": "20 GHz", "adapters": {"ports": 1, "bandwidth": "50 GB/s", "command": 0, "latency": 0},
            "network": {"ports": 1, "bandwidth": "50 GB/s", "latency": 0},
        }),
    );
    let mut node = client.clone();
    node["network"]["bandwidth"] = json!("500 MB/s");
    let array = json!({
        "front_end_ports": 1, "port_bandwidth": "1 GB/s", "port_command": 0, "raid": "raid-0",
        "cache": {"size": "1 TiB", "latency": "100 us", "write_pending": "1 TiB"}, "disks": {"kind": "nvme", "count": 24},
    });
    let pool = |nodes: &str| {
        json!({
            "kind": "mirrored-mesh", "nodes": nodes, "deployment": "mixed", "redundancy": "replicas-1",
            "devices": {"kind": "nvme", "per_node": 8, "capacity": "1 TB"},
        })
    };
    let machine = vm(4, "w", json!({"controller": "nvme", "vdisks": 1, "host": "client"}));
    let mut text = json!({
        "name": "copies", "run": {"duration": "2 s", "warmup": "200 ms", "sample_interval": "100 ms"},
        "hosts": {"client": client, "node": node}, "vms": {"v": machine},
        "workloads": {"w": {
            "arrivals": {"io": {"outstanding": 32}}, "cpu": {"mean": 0, "cv": 0}, "wake_up": 0, "working_set": "10 GB",
            "block": "1 MiB", "random_pct": 0, "read_from": read_from, "write_to": write_to,
        }},
        "arrays": {"san": array, "other": array}, "storage": {"pool": pool("node")},
    });
    merge(&mut text, more);
    text
}

fn copied(text: &Value) -> f64 {
    of(&report(text)).copied_mb_per_s.expect("it copies")
}

#[test]
fn the_slower_end_bounds_a_copy_whichever_it_is() {
    let slow_array = || json!({"arrays": {"san": {"port_bandwidth": "200 MB/s"}}});
    for (from, to) in [("san", "pool"), ("pool", "san")] {
        let way = format!("{from} to {to}");
        assert_near(copied(&base(from, to, json!({}))), 500.0, 0.01, &way);
        assert_near(
            copied(&base(from, to, slow_array())),
            200.0,
            0.01,
            &format!("{way}, slow array"),
        );
    }
    assert_near(copied(&base("san", "other", json!({}))), 1000.0, 0.01, "two arrays");
    // a port sends and receives at the same time
    assert_near(
        copied(&base("san", "san", json!({}))),
        1000.0,
        0.01,
        "a clone on one array",
    );
    assert_near(
        copied(&base("pool", "pool", json!({}))),
        500.0,
        0.01,
        "a clone on one pool",
    );
}

#[test]
fn a_missing_end_is_the_storage_of_the_vm() {
    // the same run, of a group of which something else is said
    let figures = |text: &Value| {
        let mut one = run(&parse(text), 1).expect("it runs");
        one.tasks.clear();
        one.to_bytes()
    };
    let own = |vm: Value, end: Value| {
        let mut text = base("san", "pool", json!({}));
        merge(&mut text["vms"]["v"], vm);
        for key in ["read_from", "write_to"] {
            text["workloads"]["w"].as_object_mut().unwrap().remove(key);
        }
        merge(&mut text["workloads"]["w"], end);
        figures(&text)
    };
    let both = |from, to| figures(&base(from, to, json!({})));
    assert!(own(json!({"array": "san"}), json!({"write_to": "pool"})) == both("san", "pool"));
    assert!(own(json!({"array": "san"}), json!({"read_from": "pool"})) == both("pool", "san"));
    assert!(own(json!({"storage": "pool"}), json!({"read_from": "san"})) == both("san", "pool"));
    assert!(own(json!({"storage": "pool"}), json!({"read_from": "pool"})) == both("pool", "pool"));
}

#[test]
fn a_copy_takes_as_long_as_its_read_and_its_write() {
    let cpu = json!({"mean": "200 us", "cv": 0});
    let one = json!({"workloads": {"w": {"arrivals": {"io": {"outstanding": 1}}, "cpu": cpu}}});
    for (from, to) in [("san", "pool"), ("pool", "san"), ("san", "other"), ("pool", "pool")] {
        let report = report(&base(from, to, one.clone()));
        let vm = of(&report);
        let part = |io: &Option<hypertwin_engine::IosReport>| io.as_ref().unwrap().latency_ms.mean.unwrap();
        let (reads, writes) = (part(&vm.read), part(&vm.write));
        assert!(
            reads > 1.0 && writes > 1.0,
            "{from} to {to}: {reads} and {writes} ms for a MiB"
        );
        let whole = reads + writes;
        assert_near(vm.response_ms.mean.unwrap(), whole, 1e-3, &format!("{from} to {to}"));
        // the guest's work for both is a part of theirs
        assert_near(vm.throughput_per_s, 1e3 / whole, 5e-3, "one at a time");
        assert_near(vm.iops, 2.0 * vm.throughput_per_s, 5e-3, "a read and a write each");
    }
}

#[test]
fn what_is_read_is_written_but_for_what_is_under_way() {
    for (from, to) in [("san", "pool"), ("pool", "san"), ("pool", "pool")] {
        let mix = json!([{"block": "64 KiB", "share_pct": 50}]);
        let more = json!({"run": {"warmup": "0 s"}, "workloads": {"w": {"block_mix": mix, "random_pct": 50}}});
        let result: Replication = run(&parse(&base(from, to, more)), 1).expect("it runs");
        let io = result.vms[0].io.as_ref().unwrap();
        let [reads, writes] = io.ways.map(|way| way.mb_per_s * 1e6 * result.duration_s);
        assert!(writes > 100.0 * BLOCK, "{from} to {to}: {writes} bytes");
        assert!(
            (0.0..=32.0 * BLOCK + 1.0).contains(&(reads - writes)),
            "{from} to {to}: {reads} bytes read, {writes} written"
        );
    }
}

#[test]
fn a_report_says_how_long_the_working_set_takes() {
    let more =
        json!({"vms": {"v": {"count": 3, "vdisks": 2}}, "workloads": {"w": {"arrivals": {"io": {"outstanding": 8}}}}});
    let report = report(&base("san", "pool", more));
    let group = of(&report);
    let speed = group.copied_mb_per_s.unwrap();
    assert_near(speed, 500.0, 0.01, "all of them together");
    assert_near(group.write.as_ref().unwrap().mb_per_s, speed, 1e-9, "what is written");
    assert_near(
        group.copy_s.unwrap(),
        3.0 * 2.0 * 10e3 / speed,
        1e-9,
        "10 GB of each disk",
    );
    let one = &report.vms["v-2"];
    assert_near(
        one.copy_s.unwrap(),
        2.0 * 10e3 / one.copied_mb_per_s.unwrap(),
        1e-9,
        "one of them",
    );
    // which are measured only of what copies
    let mut plain = base("san", "pool", json!({"vms": {"v": {"array": "san"}}}));
    for key in ["read_from", "write_to"] {
        plain["workloads"]["w"].as_object_mut().unwrap().remove(key);
    }
    let plain = support::report_of(&plain);
    assert!(of(&plain).copied_mb_per_s.is_none() && of(&plain).copy_s.is_none());
}

#[test]
fn both_ends_hold_what_is_copied() {
    // half of the reads hit: the other array's cache holds a working set, this one's two
    let random = |from: &str, to: &str| {
        let more = json!({
            "arrays": {"san": {"cache": {"size": "10 GB"}}}, "workloads": {"w": {"random_pct": 100}},
            "run": {"duration": "4 s"},
        });
        let report = report(&base(from, to, more));
        report.storage["san-cache"].hit_pct.unwrap()
    };
    assert_near(random("san", "other"), 100.0, 1e-9, "one end");
    assert_near(random("san", "san"), 50.0, 0.05, "both ends");
    // so does a pool, unless it says what is stored
    for (from, to, most) in [("pool", "san", 0.8), ("san", "pool", 0.8), ("pool", "pool", 1.6)] {
        let text = base(from, to, json!({"workloads": {"w": {"working_set": "100 GB"}}}));
        let used = report(&text).pools["pool"].stored_gib;
        assert_near(
            used,
            most / 0.8 * 100e9 / f64::from(1 << 30),
            0.01,
            &format!("{from} to {to}"),
        );
    }
}

#[test]
fn a_copy_makes_the_hosts_of_both_ends_one_island() {
    let machine = |array: &str, host: &str| vm(1, "plain", json!({"array": array, "vdisks": 1, "host": host}));
    let plain = json!({"arrivals": {"io": {"outstanding": 1}}, "cpu": {"mean": 0}});
    let more = json!({
        "hosts": {"third": host("esxi-8.0", 1, 2, 1), "fourth": host("esxi-8.0", 1, 2, 1)},
        "vms": {"a": machine("san", "third"), "b": machine("other", "fourth")}, "workloads": {"plain": plain},
    });
    let islands = |from: &str, to: &str| {
        Islands::of(parse(&base(from, to, more.clone())))
            .expect("all fit")
            .len()
    };
    assert_eq!(islands("san", "other"), 2, "the node of the pool is by itself");
    assert_eq!(islands("san", "pool"), 2, "the host of the other array is");
    assert_eq!(islands("pool", "other"), 2);
    assert_eq!(islands("pool", "pool"), 3);
}

/// Codes and paths of what is wrong with a scenario.
fn mistakes(text: &Value) -> Vec<(String, String)> {
    let mistakes = Scenario::from_json(&text.to_string()).expect_err("something is wrong");
    mistakes
        .into_iter()
        .map(|mistake| (mistake.code.to_string(), mistake.path))
        .collect()
}

#[test]
fn both_pools_decide_where_a_copying_vm_may_be() {
    let second = |deployment: &str| {
        let mut text = base("pool", "second", json!({}));
        let mut pool = text["storage"]["pool"].clone();
        merge(&mut pool, json!({"nodes": "client", "deployment": deployment}));
        text["storage"]["second"] = pool;
        text["vms"]["v"].as_object_mut().unwrap().remove("host");
        text
    };
    let placed = |text: &Value| parse(text).placement().expect("it fits")[0];
    assert_eq!(placed(&second("hci")), 0, "a node of the second");
    assert_eq!(placed(&second("two-layer")), 1, "no node of the second");
    let mut torn = second("hci");
    torn["storage"]["pool"]["deployment"] = json!("hci");
    assert_eq!(
        mistakes(&torn),
        [("wrong-layer".to_owned(), "vms.v.workload".to_owned())]
    );
    torn["vms"]["v"]["host"] = json!("client");
    assert_eq!(mistakes(&torn), [("wrong-layer".to_owned(), "vms.v.host".to_owned())]);
}

#[test]
fn an_end_that_may_be_an_array_or_a_pool_is_a_mistake() {
    let mut text = base("pool", "san", json!({}));
    text["arrays"]["pool"] = text["arrays"]["san"].clone();
    assert_eq!(
        mistakes(&text),
        [("two-storages".to_owned(), "workloads.w.read_from".to_owned())]
    );
}

#[test]
fn disks_inside_a_host_are_only_for_its_vms_at_either_end() {
    let mut text = base("san", "other", json!({}));
    text["arrays"]["other"] = json!({"protocol": "local", "disks": {"kind": "nvme", "count": 2}});
    assert_eq!(support::report_of(&text).vms.len(), 1, "one host");
    text["vms"]["v"]["count"] = json!(2);
    text["hosts"]["client"]["count"] = json!(2);
    assert_eq!(mistakes(&text), [("not-local".to_owned(), "vms.v.workload".to_owned())]);
}
