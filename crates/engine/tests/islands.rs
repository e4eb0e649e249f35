//! A scenario gives the same bytes whether its hosts are simulated together, or each island by itself, in any order,
//! anywhere.

use crate::support;

use hypertwin_cluster::Scenario;
use hypertwin_engine::{BUILD, BytesError, Islands, Replication, aggregate, run, watched_run};
use serde_json::{Map, Value, json};
use support::{Dice, host, merge, parse, seeds, usual_seeds, vm};

fn islands(scenario: &Scenario) -> Islands {
    Islands::of(scenario.clone()).expect("every VM has a host")
}

/// A cluster in which some hosts share an array, some are a pool, some fail together, and the rest have nothing to do
/// with each other.
fn random_scenario(seed: u64) -> Value {
    let mut dice = Dice::new(seed, "islands");
    let (mut hosts, mut vms) = (Map::new(), Map::new());
    for index in 0..dice.range(1, 4) {
        let mut group = host(
            dice.pick(&["esxi-6.0", "esxi-8.0", "linux-6.6"]),
            dice.range(1, 2) as u32,
            2,
            2,
        );
        merge(
            &mut group,
            json!({"count": dice.range(1, 3), "overhead": {"cpu_per_io": "50 us", "activity_pct": 2}}),
        );
        if dice.one_in(3) {
            let bandwidth = json!({"node_bandwidth": "5 GB/s", "interconnect_bandwidth": "2 GB/s"});
            group["memory_system"] = bandwidth;
        }
        hosts.insert(format!("h{index}"), group);
    }
    for index in 0..dice.range(1, 5) {
        let workload = dice.pick(&["open", "closed", "bursty"]);
        let mut more = json!({"count": dice.range(1, 5)});
        if dice.one_in(3) {
            more["limit"] = json!("2 GHz");
        }
        if dice.one_in(3) {
            more["array"] = json!("array");
        } else if dice.one_in(3) {
            more["storage"] = json!("pool");
        }
        if dice.one_in(2) {
            more["load_steps"] = json!([{"at": "300 ms", "factor": 0.5}]);
        }
        vms.insert(format!("v{index}"), vm(dice.range(1, 3) as u32, workload, more));
    }
    // choices of their own, so that the others stay what they were before these keys came
    let mut copy_dice = Dice::new(seed, "copies");
    if copy_dice.one_in(4) {
        let own = copy_dice.pick(&["array", "storage"]);
        let of = if own == "array" { "array" } else { "pool" };
        let more = json!({"count": copy_dice.range(1, 2), own: of, "vdisks": 2});
        vms.insert("copy".to_owned(), vm(2, "copy", more));
    }
    let (end, other) = copy_dice.pick(&[("read_from", "pool"), ("write_to", "pool"), ("write_to", "array")]);
    let mut node = host("esxi-8.0", 1, 4, 1);
    node["count"] = json!(2);
    hosts.insert("node".to_owned(), node);
    let names: Vec<String> = hosts
        .iter()
        .flat_map(|(name, group)| hypertwin_cluster::member_names(name, group["count"].as_u64().unwrap_or(1) as u32))
        .collect();
    let mut failures = Vec::new();
    for number in 0..dice.range(0, 3) {
        let mut fails = vec![names[dice.range(0, names.len() as u64 - 1) as usize].clone()];
        if dice.one_in(3) && fails[0] != "node-1" {
            fails.push("node-1".to_owned());
        }
        // at the same time, too
        failures.push(json!({"at": format!("{} ms", 250 + 250 * (number / 2)), "fails": fails, "returns": "800 ms"}));
    }
    json!({
        "name": "islands", "calibrated_on": "nothing",
        "run": {"duration": "1 s", "warmup": "200 ms", "sample_interval": "250 ms"},
        "hosts": hosts, "vms": vms, "failures": failures,
        "workloads": {
            "open": {"arrivals": {"open": {"rate": "300 /s"}}, "cpu": {"mean": "3 ms"}, "ios": 2,
                     "memory_traffic": "2 GB/s", "working_set": "1 GiB"},
            "closed": {"arrivals": {"closed": {"population": 4}}, "cpu": {"mean": "2 ms"}, "delay": {"mean": "2 ms"}, "ios": 1,
                       "working_set": "1 GiB"},
            "bursty": {"arrivals": {"closed": {"population": 9, "think": {"mean": "5 ms"}}}, "cpu": {"mean": "4 ms"}, "bursts": 2,
                       "ios": 4, "working_set": "1 GiB"},
            "copy": {"arrivals": {"io": {"outstanding": 2}}, "cpu": {"mean": "20 us"}, "block": "64 KiB",
                     "working_set": "1 GiB", end: other},
        },
        "arrays": {"array": {"disks": {"kind": "sas-ssd", "count": 4}}, "unused": {"disks": {"kind": "nvme", "count": 2}}},
        "storage": {"pool": {"kind": "mirrored-mesh", "nodes": "node", "redundancy": "replicas-2", "deployment": "mixed",
                             "devices": {"kind": "nvme", "per_node": 1, "capacity": "800 GB"}}},
    })
}

#[test]
fn the_bytes_are_those_of_the_undivided_run() {
    let (mut divided, mut most) = (0, 0);
    for seed in seeds(60) {
        let scenario = parse(&random_scenario(seed));
        let whole = watched_run(&scenario, seed, |_| ()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let islands = islands(&scenario);
        divided += usize::from(islands.len() > 1);
        most = most.max(islands.len());
        // the last one first, and each on a thread of its own
        let one = |number: usize| std::thread::scope(|scope| scope.spawn(|| islands.run(number, seed)).join().unwrap());
        let mut parts: Vec<Replication> = (0..islands.len()).rev().map(|number| one(number).unwrap()).collect();
        parts.reverse();
        let sent: Vec<Replication> = parts
            .iter()
            .map(|part| Replication::from_bytes(&part.to_bytes()).expect("this build wrote it"))
            .collect();
        let merged = islands.merge(&sent.iter().collect::<Vec<_>>());
        let again = run(&scenario, seed).expect("the run succeeds");
        for other in [&merged, &again] {
            assert_eq!(first_difference(&whole, other), None, "seed {seed}");
            assert!(whole.to_bytes() == other.to_bytes(), "seed {seed}");
        }
    }
    if usual_seeds() {
        assert!(
            divided >= 30 && most >= 6,
            "{divided} scenarios have islands, one {most}"
        );
    }
}

/// Where the reports of two replications begin to differ.
fn first_difference(one: &Replication, other: &Replication) -> Option<String> {
    let lines = |replication| serde_json::to_string_pretty(&aggregate(&[replication])).expect("a report is plain data");
    let (one, other) = (lines(one), lines(other));
    let mut both = one.lines().zip(other.lines()).enumerate();
    let (number, (a, b)) = both.find(|(_, (a, b))| a != b)?;
    let above: Vec<&str> = one.lines().take(number).collect();
    Some(format!("{}\n{a}\n{b}", above[number.saturating_sub(6)..].join("\n")))
}

/// `h` has four hosts, each with one of four VMs.
fn four_hosts() -> Value {
    let mut hosts = host("esxi-8.0", 1, 2, 1);
    hosts["count"] = json!(4);
    json!({
        "name": "four", "run": {"duration": "1 s", "warmup": "0 s"}, "hosts": {"h": hosts},
        "vms": {"v": vm(2, "w", json!({"count": 4}))},
        "workloads": {"w": {"arrivals": {"closed": {"population": 2}}, "cpu": {"mean": "1 ms"}, "ios": 1}},
    })
}

#[test]
fn hosts_that_share_something_are_one_island() {
    let weights = |more: Value| {
        let mut text = four_hosts();
        merge(&mut text, more);
        islands(&parse(&text)).weights()
    };
    assert_eq!(weights(json!({})), [2, 2, 2, 2]);
    let array = json!({"arrays": {"a": {"disks": {"kind": "nvme", "count": 2}}}, "vms": {"v": {"count": 2, "array": "a"}, "w": vm(1, "w", json!({"count": 2}))}});
    assert_eq!(weights(array), [4, 1, 1]);
    let pool = json!({"storage": {"p": {"kind": "chunk-store", "nodes": "h", "redundancy": "replicas-3", "devices": {"kind": "nvme", "per_node": 1, "capacity": "1 TB"}}}});
    assert_eq!(weights(pool), [8]);
    let failures = json!({"failures": [{"at": "1 s", "fails": ["h-2", "h-4"]}, {"at": "1 s", "fails": ["h-3"]}]});
    assert_eq!(weights(failures), [2, 4, 2]);
    // an array that nobody uses, and hosts without VMs
    assert_eq!(
        weights(json!({"arrays": {"a": {"disks": {"kind": "nvme", "count": 2}}}, "vms": {"v": {"count": 1}}})),
        [2, 0, 0, 0]
    );
}

#[test]
fn a_key_changes_with_what_its_island_depends_on() {
    let keys = |more: Value| {
        let mut text = four_hosts();
        merge(&mut text, more);
        islands(&parse(&text)).keys()
    };
    let base = keys(json!({}));
    let same = |more: Value| -> Vec<bool> { base.iter().zip(keys(more)).map(|(one, other)| *one == other).collect() };
    assert!((1..4).all(|number| base[0] != base[number]), "names are part of it");
    assert_eq!(
        same(json!({"run": {"seed": 9, "replications": 7}, "description": "words"})),
        [true; 4]
    );
    assert_eq!(
        same(json!({"hosts": {"h": {"measured": {"cpu_usage_pct": 20}}}})),
        [true; 4]
    );
    assert_eq!(
        same(json!({"vms": {"v": {"guest_os": "Debian 12", "products": ["sql-server"]}}})),
        [true; 4]
    );
    assert_eq!(
        same(json!({"vms": {"v": {"source": {"firmware": "efi", "disks": [{"capacity": "40 GiB"}]}}}})),
        [true; 4]
    );
    assert_eq!(same(json!({"run": {"duration": "2 s"}})), [false; 4]);
    assert_eq!(same(json!({"workloads": {"w": {"cpu": {"mean": "2 ms"}}}})), [false; 4]);
    assert_eq!(same(json!({"hosts": {"h": {"clock": "2.9 GHz"}}})), [false; 4]);
    // one more VM on the third host, and two of the others change places
    assert_eq!(
        same(json!({"vms": {"w": vm(1, "w", json!({"host": "h-3"}))}})),
        [true, true, false, false]
    );
    assert_eq!(
        same(json!({"failures": [{"at": "500 ms", "fails": ["h-2"]}]})),
        [true, false, true, true]
    );
    let base = keys(json!({"vms": {"v": {"array": "a"}}, "arrays": {"a": {"disks": {"kind": "nvme", "count": 2}}}}));
    assert_ne!(
        base,
        keys(json!({"vms": {"v": {"array": "a"}}, "arrays": {"a": {"disks": {"kind": "nvme", "count": 3}}}}))
    );
}

#[test]
fn damaged_bytes_are_refused() {
    let bytes = run(&parse(&four_hosts()), 1).unwrap().to_bytes();
    assert!(Replication::from_bytes(&bytes).unwrap().to_bytes() == bytes);
    for length in (0..bytes.len()).step_by(7) {
        assert!(Replication::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
    }
    for place in (0..bytes.len()).step_by(5) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x10;
        assert!(Replication::from_bytes(&damaged).is_err(), "byte {place}");
    }
    assert_eq!(Replication::from_bytes(b"PK..").unwrap_err(), BytesError::Foreign);
    let other = String::from_utf8_lossy(&bytes[5..5 + BUILD.len()]).replace('+', "-");
    let foreign = [&bytes[..5], other.as_bytes(), &bytes[5 + BUILD.len()..]].concat();
    assert_eq!(
        Replication::from_bytes(&foreign).unwrap_err(),
        BytesError::OtherBuild(other)
    );
}
