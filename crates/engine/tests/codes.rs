//! Erasure codes in the twin: what requests by a primary read and write, against tables derived by hand; networks of a
//! pool's own.

use crate::support;

use serde_json::{Value, json};
use support::{host, latency_us, merge, report_of as report, vm};

/// Ten nodes with two NVMe devices each, and one generator on another host; `more` is merged over it.
fn base(redundancy: &str, more: Value) -> Value {
    let mut node = host("linux-6.6", 1, 16, 1);
    node["count"] = json!(10);
    node["network"] = json!({"ports": 1, "bandwidth": "5 GB/s", "latency": "20 us"});
    let mut client = node.clone();
    client["count"] = json!(1);
    let machine = vm(
        4,
        "w",
        json!({"storage": "pool", "controller": "virtio-blk", "vdisks": 1, "host": "client"}),
    );
    let mut text = json!({
        "name": "codes", "run": {"duration": "1 s", "warmup": "100 ms", "sample_interval": "100 ms"},
        "hosts": {"node": node, "client": client}, "vms": {"v": machine},
        "workloads": {"w": {
            "arrivals": {"io": {"outstanding": 4}}, "cpu": {"mean": 0, "cv": 0}, "working_set": "20 GiB",
            "block": "4 KiB", "random_pct": 100,
        }},
        "storage": {"pool": {
            "kind": "ceph", "nodes": "node", "deployment": "two-layer", "redundancy": redundancy,
            "ceph": {"release": "tentacle"},
            "devices": {"kind": "nvme", "per_node": 2, "capacity": "1 TB"},
        }},
    });
    merge(&mut text, more);
    text
}

/// Bytes that devices read and write for each byte of the client's, without what goes into logs.
fn on_devices(redundancy: &str, more: &Value) -> [f64; 2] {
    let report = report(&base(redundancy, more.clone()));
    let (pool, vm) = (&report.pools["pool"], &report.groups["v"]);
    let payload = pool.read_mb_per_s + pool.write_mb_per_s;
    assert!(vm.iops > 100.0 && payload > 0.0);
    [
        pool.device_read_mb_per_s / payload,
        pool.amplification * pool.write_mb_per_s / payload,
    ]
}

#[track_caller]
fn assert_near(actual: f64, expected: f64, what: &str) {
    assert!(
        (actual - expected).abs() <= 0.03 * expected + 0.01,
        "{what}: {actual} instead of {expected}"
    );
}

#[test]
fn by_whole_stripes_small_requests_read_and_write_all_fragments() {
    for (redundancy, data, parity) in [("ec-2+2", 2.0, 2.0), ("ec-4+2", 4.0, 2.0), ("ec-8+2", 8.0, 2.0)] {
        let reads = on_devices(redundancy, &json!({"workloads": {"w": {"read_pct": 100}}}));
        assert_near(reads[0], data, "a read of 4 KiB reads all data fragments");
        let writes = on_devices(redundancy, &json!({"workloads": {"w": {"read_pct": 0}}}));
        assert_near(writes[0], data, "a write of 4 KiB reads all data fragments");
        assert_near(writes[1], data + parity, "and writes all fragments");
    }
    // 64 KiB are whole stripes
    let large = json!({"workloads": {"w": {"read_pct": 0, "block": "64 KiB"}}});
    let writes = on_devices("ec-4+2", &large);
    assert_near(writes[0], 0.0, "a write of whole stripes reads nothing");
    assert_near(writes[1], 1.5, "and writes data and parity");
}

#[test]
fn with_optimisations_small_requests_read_and_write_what_they_touch() {
    let fast = |read_pct: u32, block: &str| json!({"workloads": {"w": {"read_pct": read_pct, "block": block}}, "storage": {"pool": {"ceph": {"ec_optimizations": true}}}});
    for (redundancy, reads_of_a_write) in [("ec-2+2", 1.0), ("ec-4+2", 3.0), ("ec-6+2", 3.0), ("ec-8+2", 3.0)] {
        assert_near(
            on_devices(redundancy, &fast(100, "4 KiB"))[0],
            1.0,
            "a read of 4 KiB reads one fragment",
        );
        let writes = on_devices(redundancy, &fast(0, "4 KiB"));
        assert_near(writes[0], reads_of_a_write, "reads of a write of 4 KiB");
        assert_near(writes[1], 3.0, "and it writes data and both parities");
    }
    // two fragments of 16 KiB, or where a stripe of 96 KiB ends none else
    let writes = on_devices("ec-6+2", &fast(0, "32 KiB"));
    assert_near(writes[0], 2.0, "32 KiB: four reads of 16 KiB");
    assert_near(writes[1], 2.0, "and four writes");
}

#[test]
fn what_is_away_is_decoded_and_what_it_misses_is_counted() {
    for optimized in [false, true] {
        let more = |read_pct: u32| {
            json!({
                "workloads": {"w": {"read_pct": read_pct}}, "failures": [{"at": "50 ms", "fails": ["node-3"]}],
                "storage": {"pool": {"ceph": {"ec_optimizations": optimized}, "client": {"timeout": "10 ms"}}},
            })
        };
        let whole = on_devices(
            "ec-4+2",
            &json!({
                "workloads": {"w": {"read_pct": 100}}, "storage": {"pool": {"ceph": {"ec_optimizations": optimized}}},
            }),
        );
        let reads = on_devices("ec-4+2", &more(100));
        // one of ten nodes: the fragment asked for is away for a tenth, and then four others are read
        let expected = if optimized { 0.9 + 0.1 * 4.0 } else { whole[0] };
        assert_near(reads[0], expected, "reads with a node away");
        let report = report(&base("ec-4+2", more(0)));
        let pool = &report.pools["pool"];
        assert!(pool.due_gib >= 0.0 && pool.degraded_pct > 50.0 && pool.errors == 0.0);
        assert!(report.groups["v"].iops > 100.0);
    }
}

#[test]
fn a_request_passes_the_primary_and_its_own_fragment_no_network() {
    // two of 2+2 fragments of each stripe hold data: a read of 8 KiB gets 4 KiB from the primary itself, and 4 KiB from
    // another node
    let report = report(&base(
        "ec-2+2",
        json!({
            "workloads": {"w": {"read_pct": 100, "block": "8 KiB"}},
            "storage": {"pool": {"networks": {"cluster": {"ports": 1, "bandwidth": "1 GB/s", "latency": "20 us"}}}},
        }),
    ));
    let payload = report.pools["pool"].read_mb_per_s;
    let passed = |station: &str| report.storage[station].mb_per_s.unwrap();
    // each byte leaves one port and enters another
    assert_near(passed("pool-cluster-network") / payload, 2.0 * 0.5, "between nodes");
    assert_near(passed("pool-network") / payload, 1.0, "nodes to the client");
    assert_near(passed("pool-client-network") / payload, 1.0, "into the client");
}

#[test]
fn what_nodes_send_to_one_another_passes_ports_of_their_own() {
    let written = |cluster: Option<Value>| {
        let mut more = json!({
            "workloads": {"w": {"read_pct": 0, "block": "64 KiB", "arrivals": {"io": {"outstanding": 1}}}},
        });
        if let Some(cluster) = cluster {
            more["storage"] = json!({"pool": {"networks": {"cluster": cluster}}});
        }
        report(&base("replicas-3", more))
    };
    let without = latency_us(&written(None));
    let of_the_same = written(Some(json!({"ports": 1, "bandwidth": "5 GB/s", "latency": "20 us"})));
    let slower = written(Some(json!({"ports": 1, "bandwidth": "5 GB/s", "latency": "520 us"})));
    let payload = of_the_same.pools["pool"].write_mb_per_s;
    assert_near(
        of_the_same.storage["pool-cluster-network"].mb_per_s.unwrap() / payload,
        4.0,
        "two copies out and in",
    );
    assert_near(
        of_the_same.storage["pool-network"].mb_per_s.unwrap() / payload,
        1.0,
        "clients alone",
    );
    // copies leave from a port of their own, and need not wait for one another any less
    assert!((latency_us(&of_the_same) - without).abs() < 0.05 * without);
    assert_near(
        latency_us(&slower) - latency_us(&of_the_same),
        1_000.0,
        "a message there and back",
    );
}

#[test]
fn racks_are_as_far_apart_as_what_lies_between_them() {
    // every other node is of the client's own rack
    let between = |spec: Value, duration: &str| {
        report(&base(
            "replicas-1",
            json!({
                "run": {"duration": duration},
                "workloads": {"w": {"read_pct": 100, "block": "64 KiB", "wake_up": "0 s"}},
                "storage": {"pool": {"racks": 2, "networks": {"between_racks": spec}}},
            }),
        ))
    };
    let near = between(json!({"latency": "0 us"}), "2 s");
    let far = between(json!({"latency": "2 ms"}), "4 s");
    assert_near(
        latency_us(&far) - latency_us(&near),
        1_000.0,
        "half of the reads are of the other rack",
    );
    // half of 64 KiB for each read at 8 MB/s
    let thin = between(json!({"latency": "0 us", "bandwidth": "8 MB/s"}), "60 s");
    assert_near(
        thin.pools["pool"].read_mb_per_s,
        16.0,
        "the link carries every other read",
    );
    let link = &thin.storage["pool-rack-network"];
    assert!(link.utilization_pct > 99.0, "{link:?}");
    assert_near(link.mb_per_s.unwrap(), 8.0, "what it carries");
    assert!(
        !far.storage.contains_key("pool-rack-network"),
        "without a limit it has no station"
    );
}
