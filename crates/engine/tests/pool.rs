//! Distributed storage in the twin, against closed forms: what an I/O takes without load, what it costs the devices,
//! what bounds the throughput, and what a failure means.

use crate::support;

use hypertwin_engine::{PointReport, Replication, run, watched_run};
use hypertwin_sharing as exact;
use serde_json::{Value, json};
use support::{assert_near, host, latency_us, merge, merged, of, parse, pool, vm};

const BLOCK: f64 = 65_536.0;
/// Times of one I/O of `BLOCK` in the cluster of `base`, in microseconds: NVMe's read and acknowledged write, the
/// transfer over the network and to the device, the work of controller, client and service.
const MESSAGE_US: f64 = 40.0;
const READ_US: f64 = 90.0;
const DEVICE_TRANSFER_US: f64 = BLOCK / 2_600.0;
const WRITE_US: f64 = DEVICE_TRANSFER_US + 20.0;
const TRANSFER_US: f64 = BLOCK / 1_000.0;
const COPY_US: f64 = BLOCK / 4_000.0;
const CONTROLLER_US: f64 = 9_300.0 / 20_000.0;
const GUEST_US: f64 = (9_100.0 + 8_000.0) / 20_000.0;
const CLIENT_US: f64 = GUEST_US + CONTROLLER_US + 10.0 + COPY_US;
const SERVICE_US: f64 = 20.0 + COPY_US;

/// `nodes` fast hosts with two NVMe devices each, one other host, and one generator with one I/O at a time on the first
/// node; `more` is merged over it.
fn base(nodes: u32, more: Value) -> Value {
    let mut node = host("esxi-6.5", 1, 8, 1);
    node["clock"] = json!("20 GHz");
    node["count"] = json!(nodes);
    node["network"] = json!({"ports": 1, "bandwidth": "1 GB/s", "latency": "40 us"});
    let mut other = node.clone();
    other["count"] = json!(1);
    let first = if nodes == 1 { "node" } else { "node-1" };
    let machine = vm(
        4,
        "w",
        json!({"storage": "pool", "controller": "nvme", "vdisks": 1, "host": first}),
    );
    let mut text = json!({
        "name": "pool", "run": {"duration": "2 s", "warmup": "0 s", "sample_interval": "100 ms"},
        "hosts": {"node": node, "other": other}, "vms": {"v": machine},
        "workloads": {"w": {
            "arrivals": {"io": {"outstanding": 1}}, "cpu": {"mean": 0, "cv": 0}, "working_set": "100 GiB",
            "block": "64 KiB", "wake_up": "0 s",
        }},
        "storage": {"pool": {
            "kind": "mirrored-mesh", "nodes": "node", "deployment": "mixed", "stored": "100 GiB",
            "devices": {"kind": "nvme", "per_node": 2, "capacity": "1 TB"},
            "service": {"cv": 0, "wake_up": "0 s"},
        }},
    });
    merge(&mut text, more);
    text
}

/// So few I/Os that flash has written what it acknowledged before the next one comes.
fn seldom() -> Value {
    json!({"io": {"outstanding": 1, "rate": "100 /s"}})
}

fn report(text: &Value) -> PointReport {
    support::report(&parse(text), 2)
}

#[test]
fn an_idle_thread_of_a_service_wakes_up_as_deeply_as_its_host_sleeps() {
    let latency = |policy: &str, wake_up: Value| {
        let mut text = base(1, json!({"workloads": {"w": {"arrivals": seldom()}}}));
        text["hosts"]["node"]["power_policy"] = json!(policy);
        // no vCPU keeps a core of the node awake
        text["storage"]["pool"]["deployment"] = json!("two-layer");
        text["vms"]["v"]["host"] = json!("other");
        text["storage"]["pool"]["redundancy"] = json!("replicas-1");
        let mut service = json!({"cv": 0, "wake_up": wake_up});
        service
            .as_object_mut()
            .expect("a mapping")
            .retain(|_, value| !value.is_null());
        text["storage"]["pool"]["service"] = service;
        latency_us(&report(&text))
    };
    for (policy, own_us) in [("balanced", 43.0), ("high-performance", 4.0)] {
        let at_once = latency(policy, json!("0 s"));
        assert_near(latency(policy, Value::Null) - at_once, own_us, 0.02, policy);
        assert_near(latency(policy, json!("100 us")) - at_once, 100.0, 0.02, "given");
    }
}

#[test]
fn a_read_takes_the_sum_of_its_parts_and_is_remote_as_often_as_copies_are() {
    for nodes in [2, 3, 4, 8] {
        let report = report(&base(nodes, json!({})));
        let reads = of(&report).iops * report.duration_s;
        // each remote read passes two ports
        let carried = report.storage["pool-network"].mb_per_s.unwrap() * 1e6 * report.duration_s;
        let remote = carried / 2.0 / BLOCK / reads;
        assert_near(remote, f64::from(nodes - 1) / f64::from(nodes), 0.08, "remote reads");
        let expected = CLIENT_US + SERVICE_US + READ_US + remote * (2.0 * MESSAGE_US + TRANSFER_US);
        assert_near(latency_us(&report), expected, 0.002, &format!("{nodes} nodes"));
    }
}

#[test]
fn a_layer_of_its_own_costs_its_latency_on_every_io() {
    let two_layer = |latency: &str, read_pct: u32| {
        let report = report(&base(
            4,
            json!({
                "storage": {"pool": {"deployment": "two-layer", "layer_latency": latency, "redundancy": "replicas-1"}},
                "vms": {"v": {"host": "other"}}, "workloads": {"w": {"read_pct": read_pct, "arrivals": seldom()}},
            }),
        ));
        latency_us(&report)
    };
    let way = CLIENT_US + SERVICE_US + TRANSFER_US + 2.0 * MESSAGE_US;
    for (latency, layer_us) in [("0 us", 0.0), ("1 ms", 1000.0)] {
        assert_near(two_layer(latency, 100), way + READ_US + layer_us, 0.001, "reads");
        assert_near(two_layer(latency, 0), way + WRITE_US + layer_us, 0.001, "writes");
    }
}

/// Each of the two messages of an exchange of 1 ms is exponential, so a read has an Erlang distribution of two stages.
/// A write waits for the slower of its two other copies: 1.375 ms, beside the client's exchange.
#[test]
fn software_takes_its_time_once_for_a_read_and_for_the_slowest_copy_of_a_write() {
    let latency = |exchange: &str, copies: u32, read_pct: u32| {
        let report = report(&base(
            4,
            json!({
                "run": {"duration": "100 s"},
                "storage": {"pool": {
                    "exchange_latency": exchange, "write_path": "primary", "redundancy": format!("replicas-{copies}"),
                }},
                "workloads": {"w": {"read_pct": read_pct, "arrivals": seldom()}},
            }),
        ));
        let latency = of(&report).io_latency_ms.as_ref().expect("it has disks");
        [latency.mean, latency.p50, latency.p99].map(|figure| figure.expect("there were I/Os"))
    };
    for (copies, read_pct, exchanges) in [(1, 100, 1.0), (3, 100, 1.0), (1, 0, 1.0), (3, 0, 2.375)] {
        let (with, without) = (latency("1 ms", copies, read_pct), latency("0 us", copies, read_pct));
        let what = format!("{copies} copies, {read_pct} % reads, on the client's own node too");
        assert_near(with[0] - without[0], exchanges, 0.02, &what);
        if exchanges == 1.0 {
            assert_near(with[1] - without[1], 0.839, 0.05, &what);
            assert_near(with[2] - without[0], 3.319, 0.05, &what);
        }
    }
}

#[test]
fn a_write_takes_the_way_of_its_copies() {
    for copies in 1..=4_u32 {
        let more = f64::from(copies - 1);
        let first = CLIENT_US + TRANSFER_US + MESSAGE_US + SERVICE_US;
        let last = WRITE_US + MESSAGE_US;
        let cases = [
            // each node passes it on once its service has it
            (
                "chain",
                first + more * (TRANSFER_US + 2.0 * MESSAGE_US + SERVICE_US) + last,
            ),
            // the first node's port sends one after the other
            (
                "primary",
                first + more * TRANSFER_US + more.min(1.0) * (2.0 * MESSAGE_US + SERVICE_US) + last,
            ),
            // and so does the client's
            ("client", first + more * TRANSFER_US + last),
        ];
        for (path, expected) in cases {
            let report = report(&base(
                4,
                json!({
                    "storage": {"pool": {"redundancy": format!("replicas-{copies}"), "write_path": path}},
                    "vms": {"v": {"host": "other"}}, "workloads": {"w": {"read_pct": 0, "arrivals": seldom()}},
                }),
            ));
            assert_near(
                latency_us(&report),
                expected,
                0.001,
                &format!("{copies} copies, {path}"),
            );
        }
    }
}

#[test]
fn a_write_from_a_node_saves_the_message_to_itself() {
    // Two copies on two nodes, one of which is the client's: the first copy is local or the second one is.
    for (path, local_first, local_second) in [
        ("chain", (1.0, 2.0, 2.0), (2.0, 2.0, 4.0)),
        ("client", (1.0, 1.0, 2.0), (1.0, 1.0, 2.0)),
    ] {
        let report = report(&base(
            2,
            json!({
                "run": {"duration": "20 s"}, "storage": {"pool": {"write_path": path}},
                "workloads": {"w": {"read_pct": 0, "arrivals": seldom()}},
            }),
        ));
        let time = |(transfers, services, messages): (f64, f64, f64)| {
            CLIENT_US + transfers * TRANSFER_US + services * SERVICE_US + messages * MESSAGE_US + WRITE_US
        };
        let expected = (time(local_first) + time(local_second)) / 2.0;
        assert_near(latency_us(&report), expected, 0.02, path);
    }
}

#[test]
fn copies_cost_the_devices_what_they_promise() {
    for (redundancy, copies) in [("replicas-1", 1.0), ("replicas-2", 2.0), ("replicas-3:2", 3.0)] {
        let report = report(&base(
            4,
            json!({
                "storage": {"pool": {"redundancy": redundancy}},
                "workloads": {"w": {"read_pct": 50, "arrivals": {"io": {"outstanding": 4}}}},
            }),
        ));
        let pool = pool(&report);
        assert_near(pool.amplification, copies, 0.002, redundancy);
        assert_near(
            pool.device_write_mb_per_s,
            copies * pool.write_mb_per_s,
            0.002,
            redundancy,
        );
        assert_near(pool.device_read_mb_per_s, pool.read_mb_per_s, 0.002, redundancy);
        let usable = pool.raw_gib / copies;
        assert_near(pool.usable_gib, usable, 1e-9, redundancy);
    }
}

#[test]
fn small_writes_of_erasure_codes_read_and_write_what_the_cheaper_way_needs() {
    // code, fragments read, fragments written
    for (code, nodes, reads, writes) in [
        ("ec-3+2", 5, 2.0, 3.0),
        ("ec-4+1", 5, 2.0, 2.0),
        ("ec-5+2", 7, 3.0, 3.0),
        ("ec-2+1", 3, 1.0, 2.0),
        ("ec-1+1", 2, 0.0, 2.0),
    ] {
        let report = report(&base(
            nodes,
            json!({
                "storage": {"pool": {"redundancy": code, "fragment": "1 MiB"}},
                "workloads": {"w": {"read_pct": 0, "block": "4 KiB"}},
            }),
        ));
        let pool = pool(&report);
        let written = pool.write_mb_per_s;
        assert_near(pool.device_write_mb_per_s / written, writes, 0.003, code);
        assert!(
            (pool.device_read_mb_per_s / written - reads).abs() < 0.003 * (reads + 1.0),
            "{code}"
        );
        let operations = report.storage["pool-devices"].throughput_per_s / of(&report).iops;
        assert_near(operations, reads + writes, 0.003, code);
    }
}

#[test]
fn a_stream_of_writes_costs_exactly_the_code_and_reads_nothing() {
    for (code, nodes, amplification, block) in [
        ("ec-3+2", 5, 5.0 / 3.0, "1 MiB"),
        ("ec-4+2", 6, 1.5, "64 KiB"),
        ("ec-2+1", 3, 1.5, "4 MiB"),
    ] {
        let text = base(
            nodes,
            json!({
                "run": {"duration": "6 s"},
                "storage": {"pool": {"redundancy": code, "fragment": "256 KiB"}},
                "workloads": {"w": {"read_pct": 0, "random_pct": 0, "block": block, "working_set": "30 GiB"}},
            }),
        );
        let report = report(&text);
        assert_near(pool(&report).amplification, amplification, 0.003, code);
        assert_eq!(pool(&report).device_read_mb_per_s, 0.0, "{code}");
        assert_near(
            pool(&report).device_write_mb_per_s,
            amplification * pool(&report).write_mb_per_s,
            0.003,
            code,
        );
    }
}

#[test]
fn a_read_of_what_is_away_takes_as_many_fragments_as_the_code_needs() {
    // Each group is on all five nodes. One of them is away: a fifth of the reads needs three fragments for one.
    let text = base(
        5,
        json!({
            "vms": {"v": {"host": "other"}}, "workloads": {"w": {"block": "4 KiB"}},
            "storage": {"pool": {"redundancy": "ec-3+2", "rebuild": {"delay": "1 h"}}},
            "failures": [{"at": "0 s", "fails": ["node-3"]}],
        }),
    );
    let report = report(&text);
    let operations = report.storage["pool-devices"].throughput_per_s / of(&report).iops;
    assert_near(operations, 4.0 / 5.0 + 3.0 / 5.0, 0.04, "fragments");
    assert_eq!((pool(&report).lost_gib, pool(&report).errors), (0.0, 0.0));
    assert_eq!(pool(&report).degraded_pct, 100.0);
}

#[test]
fn the_read_cache_hits_by_its_part_of_the_working_set() {
    for (cache, share) in [("20 GiB", 20.0), ("55 GiB", 55.0), ("200 GiB", 100.0)] {
        let report = report(&base(
            4,
            json!({"storage": {"pool": {"flash": {"kind": "nvme", "read_cache": cache}}}}),
        ));
        assert_near(pool(&report).cache_hit_pct.unwrap(), share, 0.05, cache);
    }
}

#[test]
fn a_journal_acknowledges_writes_before_the_disks_have_them() {
    let latency = |flash: Value| {
        let mut text = base(
            3,
            json!({
                "storage": {"pool": {"devices": {"kind": "hdd-7.2k"}, "redundancy": "replicas-1"}},
                "vms": {"v": {"host": "other"}}, "workloads": {"w": {"read_pct": 0, "arrivals": seldom()}},
            }),
        );
        merge(&mut text["storage"]["pool"], flash);
        let report = report(&text);
        assert_near(of(&report).iops, 100.0, 0.4, "what comes goes");
        latency_us(&report)
    };
    let way = CLIENT_US + SERVICE_US + TRANSFER_US + 2.0 * MESSAGE_US;
    assert_near(
        latency(json!({"flash": {"kind": "nvme", "journal": "8 GiB"}})),
        way + WRITE_US,
        0.001,
        "journal",
    );
    // at most one operation waits: a seek, half a revolution and the transfer of a 7,200 rpm disk
    assert!(latency(json!({})) > way + 10_000.0, "without a journal");
}

#[test]
fn the_slowest_part_bounds_the_throughput() {
    let deep = |outstanding: u32, more: Value| {
        let mut text = base(
            4,
            json!({"workloads": {"w": {"arrivals": {"io": {"outstanding": outstanding}}}}}),
        );
        text["run"]["warmup"] = json!("1 s");
        text["vms"]["v"]["vdisk_depth"] = json!(256);
        merge(&mut text, more);
        report(&text)
    };
    // The client's one port.
    let network = deep(
        64,
        json!({"vms": {"v": {"host": "other"}}, "workloads": {"w": {"block": "1 MiB"}}}),
    );
    assert_near(of(&network).io_mb_per_s.unwrap(), 1000.0, 0.02, "reads fill the port");
    let copies = deep(
        64,
        json!({
            "vms": {"v": {"host": "other"}}, "workloads": {"w": {"block": "1 MiB", "read_pct": 0}},
            "storage": {"pool": {"redundancy": "replicas-3", "write_path": "client",
                                 "flash": {"kind": "nvme", "per_node": 8, "journal": "100 GiB"}}},
        }),
    );
    assert_near(
        of(&copies).io_mb_per_s.unwrap(),
        1000.0 / 3.0,
        0.03,
        "the client sends three copies",
    );
    // One thread on each of four nodes, one millisecond for each I/O: N / (N + 3) of the bound if times were
    // exponential.
    let threads = deep(
        200,
        json!({"storage": {"pool": {"service": {"threads": 1, "cpu_per_io": "1 ms"}}}}),
    );
    let bound = 4.0 / (1e-3 + COPY_US * 1e-6);
    let reached = of(&threads).iops / bound;
    assert!(
        (200.0 / 204.0..1.0001).contains(&reached),
        "{reached} of the threads' bound"
    );
    assert!(threads.storage["pool-services"].utilization_pct > 97.0);
    // Two threads for each of two disks on four nodes: four times as many, of which a node's CPUs are the bound.
    let more = deep(
        200,
        json!({"storage": {"pool": {"service": {"threads_per_device": 2, "cpu_per_io": "1 ms"}}}}),
    );
    let reached = of(&more).iops / (4.0 * bound);
    assert!(
        (200.0 / 216.0 - 0.05..1.0001).contains(&reached),
        "{reached} of the bound of threads of devices"
    );
    // Eight disks: their mean time at depth 32 is all that counts.
    let disks = deep(
        256,
        json!({
            "storage": {"pool": {"redundancy": "replicas-1", "devices": {"kind": "hdd-7.2k"}}},
            "run": {"duration": "10 s"},
        }),
    );
    let utilization = disks.storage["pool-devices"].utilization_pct / 100.0;
    let revolution_s = 60.0 / 7_200.0;
    let transfer_s = BLOCK / 150e6;
    let slowest = 8.0 / (8.5e-3 * (2.0_f64 / 25.0).sqrt() + revolution_s / 2.0 + transfer_s);
    let fastest = 8.0 / (8.5e-3 * (2.0_f64 / 33.0).sqrt() + revolution_s / 2.0 + transfer_s);
    assert!(utilization > 0.97, "{utilization}");
    let iops = of(&disks).iops;
    assert!(
        (0.95 * slowest..1.02 * fastest).contains(&iops),
        "{slowest} to {fastest}: {iops}"
    );
}

/// Pollaczek and Khinchine, at a constant work of 1 ms and at one that varies.
#[test]
fn a_service_is_an_m_g_1_station() {
    for (rate, cv) in [(300.0, 0.0), (500.0, 0.0), (800.0, 0.0), (300.0, 2.0), (600.0, 1.0)] {
        let mut text = base(
            1,
            json!({
                "run": {"duration": "100 s", "warmup": "1 s"},
                "storage": {"pool": {"redundancy": "replicas-1", "stored": "10 GiB", "service": {
                    "threads": 1, "cpu_per_io": "1 ms", "core_bandwidth": "1 TB/s", "cv": cv}}},
                "vms": {"v": {"vdisk_depth": 1024}},
            }),
        );
        text["workloads"]["w"] = json!({
            "arrivals": {"open": {"rate": format!("{rate} /s")}}, "cpu": {"mean": "1 us", "cv": 0}, "ios": 1,
            "working_set": "1 GiB", "block": "4 KiB",
        });
        let report = support::report(&parse(&text), 6);
        let service = &report.storage["pool-services"];
        let expected = exact::mg1(rate, 1e-3, cv).unwrap();
        let what = format!("{rate}/s, cv {cv}");
        assert_near(service.wait_ms, (expected.response - 1e-3) * 1e3, 0.07, &what);
        assert_near(service.utilization_pct, rate / 10.0, 0.02, &what);
    }
}

// ---- failures

/// I/Os per second of a VM in each tenth of a second.
fn timeline(replication: &Replication, vm: usize) -> &[f64] {
    &replication.timeline.vms[vm].throughput_per_s
}

fn failing(nodes: u32, more: Value, failures: Value) -> Value {
    let mut text = base(
        nodes,
        json!({
            "vms": {"v": {"host": "other"}}, "workloads": {"w": {"read_pct": 0, "block": "4 KiB"}},
            "storage": {"pool": {
                "kind": "chunk-store", "stored": "64 MiB", "chunk": "1 MiB", "client": {"timeout": "5 ms"},
                "rebuild": {"delay": "10 s"},
            }},
        }),
    );
    merge(&mut text, more);
    text["failures"] = failures;
    text
}

#[test]
fn writes_stop_below_the_minimum_and_go_on_when_it_is_back() {
    let two_away = json!([{"at": "500 ms", "fails": ["node-1", "node-2"], "returns": "1200 ms"}]);
    for (redundancy, read_pct, stops) in [
        ("replicas-3:2", 0, true),
        ("replicas-3:2", 100, false),
        ("replicas-3:1", 0, false),
        ("ec-1+2", 0, false),
        ("ec-2+1", 0, true),
        ("ec-2+1", 100, true),
    ] {
        let text = failing(
            3,
            json!({
                "storage": {"pool": {"redundancy": redundancy, "metadata_servers": 1}},
                "workloads": {"w": {"read_pct": read_pct}},
                "hosts": {"node": {"count": 3}},
            }),
            // the one metadata server is on node-1: fail the other two nodes
            json!([{"at": "500 ms", "fails": ["node-2", "node-3"], "returns": "1200 ms"}]),
        );
        let result = run(&parse(&text), 1).unwrap();
        let line = timeline(&result, 0);
        let (pool, what) = (&result.pools[0], format!("{redundancy}, {read_pct} % reads"));
        assert!(line[..5].iter().all(|&rate| rate > 100.0), "{what}: {line:?}");
        assert!(
            line[6..11].iter().all(|&rate| stops == (rate == 0.0)),
            "{what}: {line:?}"
        );
        assert!(line[13..].iter().all(|&rate| rate > 100.0), "{what}: {line:?}");
        assert_eq!(
            pool.report.incidents[0].suspended_pct,
            if stops || redundancy == "replicas-3:2" {
                100.0
            } else {
                0.0
            }
        );
        assert_eq!(
            (pool.count.below_minimum, pool.count.lost, pool.count.errors),
            (0, 0, 0),
            "{what}"
        );
        assert_eq!(pool.report.degraded_pct, 0.0, "{what}: all is made good");
        assert_eq!(
            pool.count.due, pool.count.rebuilt,
            "{what}: missed writes, and nothing else"
        );
        assert_eq!(pool.count.due > 0, !stops && read_pct == 0, "{what}");
    }
    let stopped = run(&parse(&failing(3, json!({}), two_away)), 1).unwrap();
    assert!(
        timeline(&stopped, 0)[6..11].iter().all(|&rate| rate == 0.0),
        "two of three metadata servers"
    );
}

#[test]
fn a_chunk_store_needs_a_majority_of_its_metadata_servers_and_a_mesh_does_not() {
    let away = json!([{"at": "500 ms", "fails": ["pool/metadata-1", "pool/metadata-3"], "returns": "1 s"}]);
    for (kind, stops) in [("chunk-store", true), ("mirrored-mesh", false)] {
        let text = failing(4, json!({"storage": {"pool": {"kind": kind}}}), away.clone());
        let result = run(&parse(&text), 1).unwrap();
        let line = timeline(&result, 0);
        assert!(
            line[6..9].iter().all(|&rate| stops == (rate == 0.0)),
            "{kind}: {line:?}"
        );
        assert!(line[11..].iter().all(|&rate| rate > 100.0), "{kind}: {line:?}");
        let whole = result.pools[0]
            .report
            .incidents
            .iter()
            .all(|incident| incident.degraded_pct == 0.0);
        assert!(whole, "{kind}: no data are away");
    }
    let one = json!([{"at": "500 ms", "fails": ["pool/metadata-2"]}]);
    let result = run(&parse(&failing(4, json!({}), one)), 1).unwrap();
    assert!(
        timeline(&result, 0).iter().all(|&rate| rate > 100.0),
        "two of three are a majority"
    );
}

#[test]
fn nothing_is_replaced_without_a_majority_nor_does_the_run_hang() {
    for delay in ["0 s", "100 ms"] {
        let text = failing(
            4,
            json!({"storage": {"pool": {"kind": "mirrored-mesh", "rebuild": {"delay": delay}}}}),
            json!([
                {"at": "200 ms", "fails": ["pool/metadata-1", "pool/metadata-2"], "returns": "1 s"},
                {"at": "300 ms", "fails": ["node-4"]},
            ]),
        );
        let mut first_rebuilt = None;
        let result = watched_run(&parse(&text), 1, |view| {
            if view.counters(0).rebuilt > 0 && first_rebuilt.is_none() {
                first_rebuilt = Some(view.now());
            }
        });
        assert!(first_rebuilt.unwrap() >= 1_000_000_000, "{first_rebuilt:?}");
        assert_eq!(result.unwrap().pools[0].report.degraded_pct, 0.0, "and then it is");
    }
}

#[test]
fn each_failure_has_the_whole_delay_to_end() {
    // The second host is away for 150 ms only, while the first one's delay of 200 ms ends.
    let text = failing(
        5,
        json!({"storage": {"pool": {"rebuild": {"delay": "200 ms"}}}, "workloads": {"w": {"read_pct": 100}}}),
        json!([
            {"at": "100 ms", "fails": ["node-4"]},
            {"at": "250 ms", "fails": ["node-5"], "returns": "400 ms"},
        ]),
    );
    let mut on_fourth = 0;
    let result = watched_run(&parse(&text), 1, |view| {
        if view.now() < 100_000_000 && on_fourth == 0 {
            on_fourth = view
                .members(0)
                .filter(|member| member.device / 2 == 3)
                .map(|member| member.bytes)
                .sum();
        }
    });
    let count = result.unwrap().pools[0].count;
    assert_eq!(
        (count.due, count.rebuilt),
        (on_fourth, on_fourth),
        "only what was on the first"
    );
}

#[test]
fn what_is_away_for_longer_than_the_delay_comes_back_with_all_its_data() {
    for (kind, redundancy) in [
        ("mirrored-mesh", "replicas-2"),
        ("ceph", "replicas-2:1"),
        ("ceph", "ec-2+1"),
    ] {
        let text = failing(
            5,
            json!({
                "storage": {"pool": {"kind": kind, "redundancy": redundancy, "rebuild": {"delay": "200 ms"}}},
                "workloads": {"w": {"read_pct": 100}}, "run": {"duration": "4 s"},
            }),
            json!([{"at": "100 ms", "fails": ["node-4", "node-5"], "returns": "1 s"}]),
        );
        let result = run(&parse(&text), 1).unwrap();
        let report = &result.pools[0].report;
        assert_eq!(report.lost_gib, 0.0, "{kind} {redundancy}");
        assert!(report.incidents[0].suspended_pct > 0.0, "some had too few members left");
        assert_eq!(
            (report.degraded_pct, report.suspended_ios),
            (0.0, 0.0),
            "{kind} {redundancy}"
        );
    }
}

#[test]
fn what_is_lost_is_what_no_member_is_left_of() {
    let away = |hosts: &[&str]| json!([{"at": "500 ms", "fails": hosts}]);
    for (redundancy, nodes, hosts, lost) in [
        ("replicas-3:2", 3, &["node-1", "node-2"][..], false),
        ("replicas-3:2", 3, &["node-1", "node-2", "node-3"], true),
        ("replicas-2", 2, &["node-2"], false),
        ("replicas-1", 2, &["node-1", "node-2"], true),
        ("ec-3+2", 5, &["node-4", "node-5"], false),
        ("ec-3+2", 5, &["node-1", "node-4", "node-5"], true),
    ] {
        let text = failing(
            nodes,
            json!({"storage": {"pool": {"redundancy": redundancy}}}),
            away(hosts),
        );
        let result = run(&parse(&text), 1).unwrap();
        let pool = &result.pools[0];
        let expected = if lost { pool.report.stored_gib } else { 0.0 };
        assert!(
            (pool.report.lost_gib - expected).abs() < 1e-9,
            "{redundancy} {hosts:?}: {}",
            pool.report.lost_gib
        );
        assert!(
            (pool.report.incidents[0].lost_gib - expected).abs() < 1e-9,
            "{redundancy} {hosts:?}"
        );
        assert_eq!(pool.report.time_to_whole_s, None, "never, with no host to spare");
    }
}

#[test]
fn a_rebuild_is_as_fast_as_its_throttle_and_makes_anew_what_was_lost() {
    let text = failing(
        6,
        json!({
            "run": {"duration": "10 s"},
            "storage": {"pool": {
                "redundancy": "replicas-2", "stored": "1 GiB", "chunk": "1 MiB",
                "rebuild": {"delay": "500 ms", "node_bandwidth": "40 MB/s", "streams": 8, "unit": "256 KiB"},
            }},
            "workloads": {"w": {"read_pct": 100}},
        }),
        json!([{"at": "1 s", "fails": ["node-6"]}]),
    );
    let mut lost_bytes = 0;
    let result = watched_run(&parse(&text), 1, |view| {
        if lost_bytes == 0 {
            lost_bytes = view
                .members(0)
                .filter(|member| member.device / 2 == 5)
                .map(|member| member.bytes)
                .sum();
        }
    })
    .unwrap();
    let pool = &result.pools[0];
    assert_eq!(
        (pool.count.due, pool.count.rebuilt, pool.count.rebuild_read),
        (lost_bytes, lost_bytes, lost_bytes)
    );
    // Five nodes read and write at the same time, at 40 MB/s each way at most.
    let bound_s = 0.5 + lost_bytes as f64 / (5.0 * 40e6);
    let took_s = pool.report.incidents[0].whole_after_s.unwrap();
    assert!(
        (bound_s..1.6 * bound_s).contains(&took_s),
        "{took_s} s, at least {bound_s} s"
    );
    assert_eq!(pool.report.time_to_whole_s, Some(took_s));
}

#[test]
fn a_rebuild_of_a_code_reads_as_many_fragments_as_it_needs() {
    let text = failing(
        6,
        json!({"storage": {"pool": {"redundancy": "ec-3+2", "rebuild": {"delay": "0 s"}}},
               "workloads": {"w": {"read_pct": 100}}}),
        json!([{"at": "100 ms", "fails": ["node-1/disk-2"]}]),
    );
    let count = run(&parse(&text), 1).unwrap().pools[0].count;
    assert!(count.rebuilt > 0);
    assert_eq!((count.due, count.rebuild_read), (count.rebuilt, 3 * count.rebuilt));
}

#[test]
fn machines_of_a_failed_host_stand_still_and_the_others_go_on() {
    let mut text = failing(
        4,
        json!({"storage": {"pool": {"kind": "mirrored-mesh"}}}),
        json!([{"at": "500 ms", "fails": ["node-2"], "returns": "1001 ms"}]),
    );
    let machine = |host: &str, workload: &str, more: Value| {
        let mut machine = vm(1, workload, json!({"host": host}));
        merge(&mut machine, more);
        machine
    };
    text["vms"]["computing"] = machine("node-2", "compute", json!({"limit": "10 GHz"}));
    text["vms"]["elsewhere"] = machine("node-1", "compute", json!({}));
    text["vms"]["storing"] = machine("node-2", "w", json!({"storage": "pool", "controller": "nvme"}));
    text["workloads"]["compute"] = json!({"arrivals": {"closed": {"population": 2}}, "cpu": {"mean": "1 ms"}, "delay": {"mean": "1 ms"}, "ios": 1});
    for hypervisor in ["esxi-6.5", "linux-6.6"] {
        text["hosts"]["node"]["hypervisor"] = json!(hypervisor);
        text["vms"]["storing"]["controller"] = json!(if hypervisor == "esxi-6.5" { "nvme" } else { "virtio-blk" });
        let result = run(&parse(&text), 3).unwrap();
        for (index, vm) in result.vms.iter().enumerate() {
            let line = timeline(&result, index);
            let on_failed = ["computing", "storing"].contains(&vm.name.as_str());
            for (tenth, rate) in line.iter().enumerate() {
                let still = on_failed && (5..10).contains(&tenth);
                assert!(
                    still == (*rate == 0.0),
                    "{hypervisor}, {} in tenth {tenth}: {line:?}",
                    vm.name
                );
            }
            let total = vm.run_pct + vm.ready_pct + vm.costop_pct + vm.wait_pct;
            assert_near(total, 100.0, 1e-9, "time adds up");
            let ran = &result.timeline.vms[index].run_pct;
            assert!(!on_failed || ran[5..10].iter().all(|&share| share == 0.0), "{ran:?}");
        }
    }
}

#[test]
fn a_machine_elsewhere_moves_no_data() {
    let text = |more: bool| {
        let mut text = failing(
            4,
            json!({"workloads": {"w": {"read_pct": 50}}, "storage": {"pool": {
                "rebuild": {"delay": "100 ms"}, "flash": {"kind": "nvme", "per_node": 2, "journal": "1 GiB",
                "read_cache": "10 GiB"}}}}),
            json!([{"at": "500 ms", "fails": ["node-2"], "returns": "1 s"}]),
        );
        if more {
            text["hosts"]["another"] = text["hosts"]["other"].clone();
            text["hosts"]["third"] = text["hosts"]["other"].clone();
            text["storage"]["another"] = text["storage"]["pool"].clone();
            merge(
                &mut text["storage"]["another"],
                json!({"nodes": "third", "redundancy": "replicas-1"}),
            );
            text["vms"]["a"] = text["vms"]["v"].clone();
            merge(&mut text["vms"]["a"], json!({"host": "another", "storage": "another"}));
        }
        let mut places = Vec::new();
        let index = usize::from(more);
        let result = watched_run(&parse(&text), 5, |view| {
            if places.is_empty() {
                places = view.members(index).collect();
            }
        });
        let result = result.unwrap();
        let vm = result.vms.iter().find(|vm| vm.name == "v").unwrap();
        (places, format!("{:?} {vm:?}", result.pools[index].count))
    };
    let (places, measured) = text(false);
    let (places_too, measured_too) = text(true);
    assert_eq!(places, places_too);
    let without_group = |text: &str| text.replacen("group: 0", "", 1).replacen("group: 1", "", 1);
    assert_eq!(without_group(&measured), without_group(&measured_too));
}

/// A pool of five nodes with the generator `v` on three copies, and `w` on `policy`, in equal working sets.
fn two_policies(policy: Value, more: Value) -> Value {
    let machine = |policy: Option<&str>| {
        let mut machine = vm(
            4,
            "w",
            json!({"storage": "pool", "controller": "nvme", "vdisks": 1, "host": "other"}),
        );
        if let Some(policy) = policy {
            machine["policy"] = json!(policy);
        }
        machine
    };
    let mut text = base(
        5,
        json!({
            "vms": {"v": machine(None), "w": machine(Some("p"))},
            "workloads": {"w": {"working_set": "10 GiB", "read_pct": 0, "arrivals": seldom()}},
            "storage": {"pool": {"redundancy": "replicas-3", "policies": {"p": policy}}},
        }),
    );
    text["storage"]["pool"].as_object_mut().unwrap().remove("stored");
    merge(&mut text, more);
    text
}

#[test]
fn data_of_a_policy_are_kept_as_it_says() {
    let report = report(&two_policies(
        json!({"redundancy": "ec-3+1", "fragment": "16 KiB"}),
        json!({}),
    ));
    let pool = pool(&report);
    let told: Vec<_> = pool
        .policies
        .iter()
        .map(|one| (one.policy.as_deref(), one.redundancy.as_str()))
        .collect();
    assert_eq!(told, [(None, "replicas-3"), (Some("p"), "ec-3+1")]);
    for (one, (amplification, stored)) in pool.policies.iter().zip([(3.0, 10.0), (4.0 / 3.0, 10.0)]) {
        assert_near(one.stored_gib, stored, 1e-6, "stored");
        assert_near(one.raw_gib, amplification * stored, 1e-6, "raw");
    }
    assert_eq!(
        pool.placement_groups,
        pool.policies.iter().map(|one| one.placement_groups).sum::<usize>()
    );
    assert_near(pool.stored_gib, 20.0, 1e-6, "stored in all");
    assert_near(
        pool.raw_gib / pool.usable_gib,
        (3.0 + 4.0 / 3.0) / 2.0,
        1e-6,
        "raw for what is stored",
    );
    // three copies of the one; of the other, which writes more than a stripe, a parity for three fragments
    assert_near(pool.amplification, (3.0 + 4.0 / 3.0) / 2.0, 0.01, "written");
}

#[test]
fn a_policy_that_all_name_is_the_pools_own_redundancy() {
    for redundancy in ["replicas-3", "ec-3+1"] {
        let failure = json!({"failures": [{"at": "500 ms", "fails": ["node-2"]}], "storage": {"pool": {
            "stored": "1 GiB", "rebuild": {"delay": "100 ms"},
        }}});
        let own = report(&base(
            5,
            merged(&failure, json!({"storage": {"pool": {"redundancy": redundancy}}})),
        ));
        let policies = json!({"p": {"redundancy": redundancy}});
        let named = json!({"storage": {"pool": {"policies": policies}}, "vms": {"v": {"policy": "p"}}});
        let mut named = report(&base(5, merged(&failure, named)));
        assert!(pool(&own).rebuilt_gib > 0.0 && pool(&own).policies.is_empty());
        let told = std::mem::take(&mut named.pools.get_mut("pool").unwrap().policies);
        assert_eq!(told.len(), 1);
        assert_eq!(json!(own), json!(named));
    }
}

#[test]
fn virtual_disks_of_one_machine_are_kept_as_their_own_policies_say() {
    // small writes: three copies, or two reads and two writes for data and parity
    let policies = json!({"log": {"redundancy": "replicas-3"}, "data": {"redundancy": "ec-3+1"}});
    let machine = |vdisk_policies: Value| {
        let mut text = two_policies(json!({"redundancy": "replicas-2"}), json!({}));
        text["vms"].as_object_mut().unwrap().remove("w");
        text["storage"]["pool"]["policies"] = policies.clone();
        text["workloads"]["w"]["block"] = json!("4 KiB");
        text["vms"]["v"]["vdisks"] = json!(2);
        text["vms"]["v"]["vdisk_policies"] = vdisk_policies;
        report(&text)
    };
    for (dealt, reads, writes) in [
        (json!(["log"]), 0.0, 3.0),
        (json!(["data"]), 2.0, 2.0),
        (json!(["log", "data"]), 1.0, 2.5),
        (json!(["data", "log"]), 1.0, 2.5),
    ] {
        let both = machine(dealt.clone());
        let pool = pool(&both);
        assert_near(pool.amplification, writes, 0.005, &dealt.to_string());
        let read = pool.device_read_mb_per_s / pool.write_mb_per_s;
        assert!((read - reads).abs() < 0.01, "{dealt}: {read}");
        let stored: Vec<_> = pool.policies.iter().map(|one| one.stored_gib).collect();
        let expected = 20.0 / stored.len() as f64;
        stored
            .iter()
            .for_each(|&one| assert_near(one, expected, 1e-6, "stored"));
    }
}

#[test]
fn a_policy_that_all_virtual_disks_have_is_that_of_the_machine() {
    for (kind, redundancy) in [
        ("mirrored-mesh", "ec-3+1"),
        ("ceph", "ec-3+1"),
        ("vsan", "replicas-2"),
        ("vsan", "ec-2+1"),
    ] {
        let text = |key: &str, policy: Value| {
            let mut text = two_policies(json!({"redundancy": redundancy}), json!({"vms": {"w": {"vdisks": 3}}}));
            text["storage"]["pool"]["kind"] = json!(kind);
            text["vms"]["w"].as_object_mut().unwrap().remove("policy");
            text["vms"]["w"][key] = policy;
            json!(report(&text))
        };
        let named = text("policy", json!("p"));
        let dealt = text("vdisk_policies", json!(["p", "p"]));
        assert!(named == dealt, "{kind} {redundancy}");
    }
}

#[test]
fn each_policy_survives_what_it_says() {
    // of two nodes that are gone, the copies survive, and the groups of 3+1 with a member on both do not
    let failure = json!({
        "failures": [{"at": "500 ms", "fails": ["node-2", "node-3"]}],
        "storage": {"pool": {"rebuild": {"delay": "100 ms", "node_bandwidth": "1 TB/s"}, "stored": "1 GiB"}},
    });
    let lost = |policy: &str| pool(&report(&two_policies(json!({"redundancy": policy}), failure.clone()))).lost_gib;
    // a group of four members on five nodes has one on both unless it lacks one of them: three of five
    assert_near(lost("ec-3+1"), 0.5 * 0.6, 0.15, "GiB lost");
    assert_eq!(lost("ec-2+2"), 0.0);
    let whole = report(&two_policies(
        json!({"redundancy": "ec-2+1"}),
        json!({
            "failures": [{"at": "100 ms", "fails": ["node-2"]}],
            "storage": {"pool": {"rebuild": {"delay": "1 ms", "node_bandwidth": "1 TB/s"}, "stored": "200 MiB"}},
        }),
    ));
    assert_eq!(
        (pool(&whole).degraded_pct, pool(&whole).lost_gib),
        (0.0, 0.0),
        "all is whole again"
    );
    assert!(pool(&whole).rebuilt_gib > 0.0);
}
