//! VMs stop, start, stand still and change hosts at times that the test chooses, without any policy that decides it.

use crate::support;

use hypertwin_cluster::{Duration, RunTime, Scenario};
use hypertwin_engine::{Driver, Replication, State, View, aggregate, driven_run, run};
use serde_json::{Map, Value, json};
use support::checker::Checker;
use support::{Dice, merge, parse, seeds, usual_seeds};

const SEEDS: u64 = 60;

const MS: u64 = 1_000_000;

/// Two equal hosts between which VMs may move, and a VM on each with a session that always computes.
fn two_hosts(version: &str, vm: Value, workload: Value) -> Scenario {
    let mut host = support::host(version, 1, 2, 1);
    host["count"] = json!(2);
    let mut text = json!({
        "name": "life", "run": {"duration": "1 s", "warmup": "0 s", "sample_interval": "100 ms"},
        "hosts": {"h": host}, "events": [{"at": "1 h", "maintenance": "h-1"}],
        "vms": {"v": {"count": 2, "vcpus": 1, "memory": "1 GiB", "workload": "w", "guest": {"time_slice": "10 s"}}},
        "workloads": {"w": {
            "arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "1 ms", "cv": 0}, "wake_up": "0 s",
        }},
    });
    if workload.get("arrivals").is_some() {
        text["workloads"]["w"]["arrivals"] = Value::Null;
    }
    merge(&mut text["vms"]["v"], vm);
    merge(&mut text["workloads"]["w"], workload);
    parse(&text)
}

/// A verb, with the VM and the host that it is about.
#[derive(Clone, Copy, Debug)]
enum Verb {
    Stop(usize),
    Place(usize, usize),
    Start(usize),
    Pause(usize),
    Resume(usize),
    Throttle(usize, f64),
}

fn act(driver: &mut Driver<'_>, verb: Verb) {
    match verb {
        Verb::Stop(vm) => driver.stop(vm),
        Verb::Place(vm, host) => driver.place(vm, host),
        Verb::Start(vm) => driver.start(vm),
        Verb::Pause(vm) => driver.pause(vm),
        Verb::Resume(vm) => driver.resume(vm),
        Verb::Throttle(vm, fraction) => driver.throttle(vm, fraction),
    }
}

/// A run in which each verb happens at the first event from its time on, in milliseconds.
fn with_verbs(scenario: &Scenario, verbs: &[(u64, Verb)]) -> Replication {
    let mut next = 0;
    let result = driven_run(scenario, 1, |driver| {
        while let Some(&(_, verb)) = verbs.get(next).filter(|(at, _)| driver.view().now() >= at * MS) {
            act(driver, verb);
            next += 1;
        }
    });
    assert_eq!(next, verbs.len(), "all verbs have happened");
    result.expect("the run succeeds")
}

const VERSIONS: [&str; 2] = ["esxi-8.0", "linux-6.12"];

#[test]
fn a_stopped_vm_answers_nothing_and_a_started_one_as_before() {
    for version in VERSIONS {
        let scenario = two_hosts(version, json!({}), json!({}));
        let verbs = [(200, Verb::Stop(0)), (600, Verb::Place(0, 1)), (700, Verb::Start(0))];
        let result = with_verbs(&scenario, &verbs);
        let [moved, other] = &result.vms[..] else {
            panic!("two VMs")
        };
        assert_eq!(moved.host, result.hosts[1].name, "{version}");
        // 200 ms and 300 ms of a core, in transactions of a millisecond; averages are over the time that it was up
        for (what, found, expected, within) in [
            ("throughput", moved.throughput_per_s, 500.0, 3.0),
            ("the other's", other.throughput_per_s, 1000.0, 3.0),
            ("down", moved.down_s, 0.5, 0.002),
            ("run", moved.run_pct, 100.0, 0.5),
            ("wait", moved.wait_pct, 0.0, 0.5),
            ("guest CPU", moved.guest_cpu_pct, 100.0, 0.5),
        ] {
            assert!((found - expected).abs() < within, "{version}: {what}: {found}");
        }
        assert_eq!(other.down_s, 0.0, "{version}");
        let up: f64 = result.timeline.vms[0].up.iter().sum();
        assert!((up - 5.0).abs() < 0.02, "{version}: {:?}", result.timeline.vms[0].up);
        assert_eq!(moved.slow_s, Some(0.0), "{version}");
        // what it used counts where it used it
        let used: Vec<f64> = result
            .hosts
            .iter()
            .map(|host| host.usage_pct - host.overhead_pct)
            .collect();
        assert!(
            (used[0] - 10.0).abs() < 0.5 && (used[1] - 65.0).abs() < 0.5,
            "{version}: {used:?}"
        );
        assert_eq!(result.hosts[0].nodes[0].vcpus, 0, "{version}");
        assert_eq!(result.hosts[1].nodes[0].memory_mb, 2048.0, "{version}");
    }
}

#[test]
fn a_paused_vm_goes_on_where_it_was_on_another_host() {
    for version in VERSIONS {
        // one transaction of 600 ms, interrupted after 300 ms for as long
        let scenario = two_hosts(version, json!({}), json!({"cpu": {"mean": "600 ms"}}));
        let verbs = [(300, Verb::Pause(0)), (450, Verb::Place(0, 1)), (600, Verb::Resume(0))];
        let result = with_verbs(&scenario, &verbs);
        let [moved, other] = &result.vms[..] else {
            panic!("two VMs")
        };
        assert_eq!((moved.response_count, other.response_count), (1, 1), "{version}");
        let delay_ms = moved.response_mean_ms - other.response_mean_ms;
        assert!((delay_ms - 300.0).abs() < 25.0, "{version}: {delay_ms} ms later");
        assert_eq!(moved.down_s, 0.0, "{version}: a paused VM is not down");
        let slow_s = moved.slow_s.expect("VMs may move");
        assert!((slow_s - 0.3).abs() < 0.025, "{version}: paused for {slow_s} s");
    }
}

/// Once it has left a host, that is no longer its host.
#[test]
fn a_vm_that_has_left_a_host_does_not_fail_with_it() {
    for version in VERSIONS {
        let mut text = serde_json::to_value(two_hosts(version, json!({}), json!({}))).expect("a scenario is JSON");
        text["failures"] = json!([{"at": "500 ms", "fails": ["h-1"], "returns": "800 ms"}]);
        let scenario = parse(&text);
        let verbs = [(200, Verb::Stop(0)), (200, Verb::Place(0, 1)), (200, Verb::Start(0))];
        let moved = &with_verbs(&scenario, &verbs).vms[0];
        let stays = &with_verbs(&scenario, &[]).vms[0];
        assert!(
            moved.down_s < 0.002 && moved.throughput_per_s > 990.0,
            "{version}: {moved:?}"
        );
        assert!((stays.down_s - 0.3).abs() < 0.002, "{version}: {} s", stays.down_s);
    }
}

#[test]
fn arrivals_go_on_while_nobody_answers_and_do_not_double() {
    for version in VERSIONS {
        let open = json!({"arrivals": {"open": {"rate": "500 /s", "cv": 0}}});
        let scenario = two_hosts(version, json!({}), open);
        let verbs = [
            (100, Verb::Stop(0)),
            (101, Verb::Place(0, 0)),
            (102, Verb::Start(0)),
            (300, Verb::Stop(0)),
            (600, Verb::Place(0, 1)),
            (700, Verb::Start(0)),
        ];
        let result = with_verbs(&scenario, &verbs);
        // of 500 arrivals those of 402 ms are lost
        let answered = result.vms[0].response_count;
        assert!((296..=300).contains(&answered), "{version}: {answered}");
        assert!((498..=500).contains(&result.vms[1].response_count), "{version}");
    }
}

/// Two equal hosts, and on each a VM with a generator of I/Os on an array or a pool.
fn two_hosts_with_disks(version: &str, pool: bool, more: Value) -> Scenario {
    let controller = if version.starts_with("esxi") {
        "nvme"
    } else {
        "virtio-blk"
    };
    let mut vm = json!({"controller": controller, "vdisks": 2});
    vm[if pool { "storage" } else { "array" }] = json!(if pool { "pool" } else { "san" });
    let workload = json!({
        "arrivals": {"io": {"outstanding": 4, "workers": 1}}, "cpu": {"mean": "10 us"}, "block": "8 KiB", "read_pct": 70,
    });
    let mut host = support::host(version, 1, 2, 1);
    host["count"] = json!(2);
    let mut text = json!({
        "name": "life", "run": {"duration": "1 s", "warmup": "0 s", "sample_interval": "100 ms"},
        "hosts": {"h": host, "n": host}, "events": [{"at": "1 h", "maintenance": "n-1"}],
        "vms": {"v": support::vm(1, "w", vm)}, "workloads": {"w": workload},
        "arrays": {"san": {
            "cache": {"size": "1 GiB", "latency": "200 us", "write_back": true}, "raid": "raid-1",
            "disks": {"kind": "sas-ssd", "count": 8},
        }},
        "storage": {"pool": {
            "nodes": "n", "kind": "mirrored-mesh", "redundancy": "replicas-2:1", "deployment": "mixed",
            "devices": {"kind": "nvme", "per_node": 2, "capacity": "1 TB"},
        }},
    });
    merge(
        &mut text,
        json!({"hosts": {"h": {"cluster": "c"}}, "vms": {"v": {"count": 2, "cluster": "c"}}}),
    );
    merge(&mut text, more);
    parse(&text)
}

#[test]
fn a_vm_with_disks_reads_and_writes_as_fast_on_an_equal_host() {
    for (version, pool) in [
        ("esxi-8.0", false),
        ("esxi-8.0", true),
        ("linux-6.12", false),
        ("linux-6.12", true),
    ] {
        let scenario = two_hosts_with_disks(version, pool, json!({}));
        let iops = |verbs: &[(u64, Verb)]| {
            let result = with_verbs(&scenario, verbs);
            (result.vms[0].iops, result.vms[1].iops)
        };
        let (alone, other) = iops(&[(0, Verb::Stop(1))]);
        assert!(alone > 1000.0 && other == 0.0, "{version}: {alone} and {other} IOPS");
        let moved = [
            (0, Verb::Stop(1)),
            (500, Verb::Stop(0)),
            (500, Verb::Place(0, 1)),
            (500, Verb::Start(0)),
        ];
        let (after_restart, _) = iops(&moved);
        assert!(
            (after_restart / alone - 1.0).abs() < 0.02,
            "{version}: {after_restart} instead of {alone} IOPS"
        );
        let half = [(0, Verb::Stop(1)), (500, Verb::Stop(0))];
        assert!((iops(&half).0 / alone - 0.5).abs() < 0.02, "{version}");
    }
}

/// As a live migration does it: paused, and moved as soon as no I/O is in flight.
#[test]
fn a_paused_vm_is_quiet_soon_and_loses_no_io() {
    for pool in [false, true] {
        let scenario = two_hosts_with_disks("esxi-8.0", pool, json!({}));
        let before = with_verbs(&scenario, &[(0, Verb::Stop(1))]).vms[0].iops;
        let (mut paused_at, mut moved_at) = (None, None);
        let result = driven_run(&scenario, 1, |driver| {
            let now = driver.view().now();
            driver.stop(1);
            if paused_at.is_none() && now >= 500 * MS {
                driver.pause(0);
                paused_at = Some(now);
                assert!(!driver.is_quiet(0), "its I/Os are in flight");
            }
            if moved_at.is_none() && paused_at.is_some() && driver.is_quiet(0) {
                driver.place(0, 1);
                driver.resume(0);
                moved_at = Some(now);
            }
        });
        let result = result.expect("the run succeeds");
        let paused_ns = moved_at.expect("it is quiet once") - paused_at.expect("it was paused");
        assert!(paused_ns < 5 * MS, "in flight for {paused_ns} ns");
        let moved = &result.vms[0];
        assert_eq!(moved.host, "h-2");
        let share = moved.iops / before;
        assert!((share - 1.0).abs() < 0.01, "{share} of the IOPS before");
        assert_eq!(moved.down_s, 0.0);
    }
}

#[test]
fn what_a_stopped_vm_held_of_a_shared_queue_goes_to_others() {
    let more = json!({
        "hosts": {"h": {"count": 1, "adapters": {"lun_depth": 1, "dsnro": 8}}}, "arrays": {"san": {"luns": 1}},
        "vms": {"v": {"vdisks": 1, "shared_luns": true}},
    });
    let scenario = two_hosts_with_disks("esxi-8.0", false, more);
    let both = with_verbs(&scenario, &[]);
    let one = with_verbs(&scenario, &[(100, Verb::Stop(0))]);
    let (before, after) = (both.vms[1].iops, (one.vms[1].iops - 0.1 * both.vms[1].iops) / 0.9);
    assert!(
        (before / after - 0.5).abs() < 0.05,
        "{before} IOPS with another, then {after}"
    );
}

#[test]
fn a_throttled_vm_gets_its_part_of_the_time() {
    for version in VERSIONS {
        let scenario = two_hosts(version, json!({}), json!({}));
        for fraction in [0.8, 0.25] {
            let result = with_verbs(&scenario, &[(0, Verb::Throttle(0, fraction))]);
            let part = result.vms[0].throughput_per_s / result.vms[1].throughput_per_s;
            assert!(
                (part - fraction).abs() < 0.02,
                "{version}: {part} instead of {fraction}"
            );
        }
        let verbs = [(0, Verb::Throttle(0, 0.1)), (500, Verb::Throttle(0, 1.0))];
        let part = with_verbs(&scenario, &verbs).vms[0].run_pct;
        assert!((part - 55.0).abs() < 1.5, "{version}: {part} %");
    }
}

#[test]
fn a_run_without_verbs_is_that_without_a_driver() {
    let scenario = two_hosts("esxi-8.0", json!({}), json!({}));
    assert_eq!(
        with_verbs(&scenario, &[]).to_bytes(),
        run(&scenario, 1).expect("it runs").to_bytes()
    );
}

/// Hosts that share an array or a pool, and VMs of all kinds.
fn random_scenario(seed: u64) -> Scenario {
    let mut dice = Dice::new(seed, "life");
    let version = dice.pick(&["esxi-5.5", "esxi-6.5", "esxi-8.0", "linux-6.6", "linux-6.12"]);
    let (sockets, cores, threads) = (dice.range(1, 2), dice.range(1, 4), dice.range(1, 2));
    let mut host = support::host(version, sockets as u32, cores as u32, threads as u32);
    merge(
        &mut host,
        json!({
            "count": dice.range(1, 3), "clock": "2 GHz", "smt_yield": 1.3,
            "overhead": {
                "worlds_per_vm": dice.range(1, 4), "cpu_per_io": format!("{} us", dice.range(0, 200)),
                "activity_pct": dice.range(0, 10), "interrupt_share_pct": dice.range(0, 50),
            },
            "adapters": {
                "ports": dice.range(1, 3), "depth": dice.range(1, 24), "lun_depth": dice.range(1, 16),
                "dsnro": dice.range(1, 8), "bandwidth": format!("{} MB/s", dice.range(20, 800)),
            },
            "scheduler": {},
        }),
    );
    if version.starts_with("esxi") {
        host["scheduler"]["numa_rebalance_period"] = json!("20 ms");
    }
    if dice.one_in(4) {
        let policy = if version.starts_with("esxi") { "sca-v1" } else { "linux" };
        host["scheduler"]["core_scheduling"] = json!(policy);
    }
    // as many vCPUs, and otherwise not the same
    let mut other = host.clone();
    other["count"] = json!(dice.range(1, 2));
    other["overhead"]["worlds_per_vm"] = json!(dice.range(1, 4));
    other["adapters"]["ports"] = json!(dice.range(1, 3));
    if dice.one_in(2) {
        other["clock"] = json!("3 GHz");
    }
    let nodes = host["count"].as_u64().expect("a count");
    let (mut vms, mut workloads) = (Map::new(), Map::new());
    for index in 0..dice.range(1, 4) {
        let vcpus = dice.range(1, (sockets * cores * threads).min(4));
        let name = format!("w{index}");
        let (vm, workload) = random_vm(&mut dice, version, vcpus);
        workloads.insert(name.clone(), workload);
        vms.insert(format!("v{index}"), support::vm(vcpus as u32, &name, vm));
    }
    let mut text = json!({
        "name": "life", "run": {"duration": "200 ms", "warmup": "20 ms", "sample_interval": "50 ms"},
        // so that VMs may move; nothing happens by itself
        "events": [{"at": "1 h", "maintenance": if nodes > 1 { "h-1" } else { "h" }}],
        "hosts": {"h": host, "g": other}, "vms": vms, "workloads": workloads,
        "arrays": {"san": {
            "front_end_ports": dice.range(1, 4), "port_bandwidth": format!("{} MB/s", dice.range(20, 800)),
            "cache": {
                "size": format!("{} MiB", dice.range(0, 2048)), "latency": format!("{} us", dice.range(50, 500)),
                "write_back": dice.one_in(2), "write_pending": format!("{} MiB", dice.range(1, 4)),
            },
            "raid": dice.pick(&["raid-1", "raid-5"]),
            "disks": {"kind": dice.pick(&["hdd-10k", "sata-ssd", "nvme"]), "count": dice.range(3, 8)},
        }},
        "storage": {"pool": {
            "nodes": "h", "kind": dice.pick(&["mirrored-mesh", "chunk-store"]),
            "redundancy": format!("replicas-{}:1", dice.range(1, nodes)), "failure_domain": "host",
            "devices": {"kind": "sata-ssd", "per_node": dice.range(1, 2), "capacity": "100 GB"}, "stored": "8 MiB",
            "service": {"cpu_per_io": "20 us", "in_kernel": dice.one_in(2)},
            "metadata_servers": nodes, "client": {"timeout": "5 ms"},
        }},
        "failures": match dice.one_in(3) {
            true => json!([{"at": "60 ms", "fails": [if nodes > 1 { "h-1" } else { "h" }], "returns": "130 ms"}]),
            false => json!([]),
        },
    });
    let ports = |group: &str| {
        let (count, ports) = (
            &text["hosts"][group]["count"],
            &text["hosts"][group]["adapters"]["ports"],
        );
        let name = if *count == 1 {
            group.to_owned()
        } else {
            format!("{group}-1")
        };
        (name, ports.as_u64().expect("a number"))
    };
    let hosts = [ports("h"), ports("g")];
    support::random_paths(seed, &mut text, &hosts, (1, 200), false);
    support::random_copies(seed, &mut text, &["san", "pool"]);
    parse(&text)
}

/// A group of VMs with their workload.
fn random_vm(dice: &mut Dice, version: &str, vcpus: u64) -> (Value, Value) {
    let arrivals = match dice.range(0, 3) {
        0 => json!({"open": {"rate": format!("{} /s", dice.range(1, 400 * vcpus)), "cv": 1}}),
        1 => json!({"parallel": {"parts": "vcpu"}}),
        _ => {
            json!({"closed": {"population": dice.range(1, 3 * vcpus), "think": {"mean": format!("{} ms", dice.range(0, 10))}}})
        }
    };
    let is_parallel = arrivals.get("parallel").is_some();
    let mut workload = json!({
        "arrivals": arrivals, "bursts": dice.range(1, 3),
        "cpu": {"mean": format!("{} us", dice.range(100, 4_000) * vcpus), "cv": dice.range(0, 2)},
        "delay": {"mean": format!("{} us", if is_parallel { 0 } else { dice.range(0, 3_000) })},
        "ios": if is_parallel { 0 } else { dice.range(0, 8) },
        "block": format!("{} KiB", 1 << dice.range(2, 11)), "read_pct": dice.range(0, 100),
        "random_pct": dice.range(0, 100), "working_set": "64 MiB", "memory_intensity": dice.range(0, 5) as f64 / 10.0,
    });
    if dice.one_in(4) {
        workload["memory_traffic"] = json!(format!("{} MB/s", dice.range(1, 4_000)));
    }
    let mut vm = json!({
        "count": dice.range(1, 3), "memory": "2 GiB", "guest": {"time_slice": format!("{} us", dice.range(500, 6_000))},
    });
    if dice.one_in(3) {
        vm["limit"] = json!(format!("{} MHz", dice.range(200, 2000 * vcpus)));
    }
    if !is_parallel && dice.one_in(4) {
        vm["load_steps"] = json!([{"at": "50 ms", "factor": dice.range(0, 2)}, {"at": "120 ms", "factor": 1}]);
    }
    if is_parallel || dice.one_in(3) {
        return (vm, workload);
    }
    let kinds: &[&str] = match version.starts_with("esxi") {
        true => &["pvscsi", "nvme"],
        false => &["virtio-scsi", "virtio-blk"],
    };
    merge(
        &mut vm,
        json!({"controller": dice.pick(kinds), "vdisks": dice.range(1, 4)}),
    );
    match (dice.range(0, 5), version.starts_with("esxi")) {
        (0, false) => merge(
            &mut vm,
            json!({"queues": dice.range(1, 4), "io_threads": dice.range(0, 3)}),
        ),
        (1, false) => vm["controller"] = json!(dice.pick(&["vhost-blk", "ahci"])),
        (0, true) => vm["queues"] = json!(dice.range(1, 3)),
        (2, _) => vm["controller"] = json!("passthrough"),
        _ => {}
    }
    if dice.one_in(2) {
        vm["storage"] = json!("pool");
    } else {
        merge(
            &mut vm,
            json!({
                "array": "san", "controllers": dice.range(1, 3), "shared_luns": dice.one_in(2),
                "vdisk_depth": dice.range(1, 16),
            }),
        );
    }
    if dice.one_in(2) {
        merge(
            &mut workload,
            json!({"bursts": 1, "ios": 0, "delay": {"mean": "0 s"}, "cpu": {"mean": "50 us"}}),
        );
        workload["arrivals"] = json!({"io": {"outstanding": dice.range(1, 8), "workers": dice.range(1, 4)}});
        if dice.one_in(3) {
            workload["arrivals"]["io"]["rate"] = json!(format!("{} /s", dice.range(100, 5_000)));
        }
        vm.as_object_mut().expect("a mapping").remove("load_steps");
    }
    (vm, workload)
}

/// What VMs do next, at random, and what must hold of them after every event.
struct Lives {
    seed: u64,
    dice: Dice,
    next_at: u64,
    /// Memory of each host with its VMs.
    memory: Vec<u64>,
    /// How often each verb was used: stop, place, start, pause, resume, throttle; a move of a paused VM.
    used: [u32; 7],
}

impl Lives {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            dice: Dice::new(seed, "verbs"),
            next_at: 0,
            memory: Vec::new(),
            used: [0; 7],
        }
    }

    /// What a VM does at random; it stops at the end.
    fn drive(&mut self, driver: &mut Driver<'_>, vms: usize, end: u64) {
        let now = driver.view().now();
        if now >= end {
            (0..vms).for_each(|vm| driver.stop(vm));
        } else if now >= self.next_at {
            self.next_at = now + self.dice.range(0, 8 * MS);
            let vm = self.dice.range(0, vms as u64 - 1) as usize;
            self.act(driver, vm);
        }
    }

    fn act(&mut self, driver: &mut Driver<'_>, vm: usize) {
        let hosts = driver.view().hosts() as u64;
        let host = self.dice.range(0, hosts - 1) as usize;
        let is_up = driver.is_up(host);
        let runs = driver.runs(vm);
        let verb = match driver.view().host_of(vm) {
            None if is_up => {
                driver.place(vm, host);
                1
            }
            None => return,
            Some(host) if driver.is_off(vm) && driver.is_up(host) => {
                driver.start(vm);
                2
            }
            Some(_) if driver.is_off(vm) => return,
            Some(_) if self.dice.one_in(4) => {
                driver.stop(vm);
                0
            }
            Some(_) if runs && self.dice.one_in(3) => {
                driver.throttle(vm, self.dice.pick(&[0.2, 0.5, 0.9, 1.0]));
                5
            }
            Some(_) if runs => {
                driver.pause(vm);
                3
            }
            Some(_) if driver.is_quiet(vm) && is_up && self.dice.one_in(2) => {
                driver.place(vm, host);
                6
            }
            Some(_) => {
                driver.resume(vm);
                4
            }
        };
        self.used[verb] += 1;
    }

    fn check(&mut self, view: &View<'_>) {
        let (seed, now) = (self.seed, view.now());
        for world in view.worlds() {
            assert!(
                world.is_placed || world.state == State::Wait,
                "seed {seed} at {now}: a world on no host is {:?}",
                world.state
            );
            if let Some(vm) = world.vm {
                let host = world.is_placed.then_some(world.host);
                assert_eq!(host, view.host_of(vm), "seed {seed} at {now}: VM {vm} and its vCPU");
            }
        }
        for (slots, used, queued) in view.depths() {
            assert!(
                used <= slots && (queued == 0 || used == slots),
                "seed {seed} at {now}: {queued} wait for {used} of {slots} slots"
            );
        }
        let memory = (0..view.hosts()).map(|host| view.memory(host).iter().map(|(free, vms)| free + vms).sum());
        let memory: Vec<u64> = memory.collect();
        if self.memory.is_empty() {
            self.memory.clone_from(&memory);
        }
        assert_eq!(memory, self.memory, "seed {seed} at {now}: memory is with VMs or free");
    }

    /// That nothing is left of VMs that are off.
    fn check_nothing_left(&self, view: &View<'_>, vms: usize) {
        let seed = self.seed;
        assert!(
            view.depths().all(|(_, used, queued)| used == 0 && queued == 0),
            "seed {seed}: slots that nobody gives back: {:?}",
            view.depths().collect::<Vec<_>>()
        );
        for host in 0..view.hosts() {
            let bytes: u64 = view.memory(host).iter().map(|(_, vms)| vms).sum();
            assert_eq!(bytes, 0, "seed {seed}: memory of VMs that are off");
        }
        for vm in 0..vms {
            assert_eq!(view.processes(vm), (0, 0), "seed {seed}: processes of a VM that is off");
            assert_eq!(view.host_of(vm), None, "seed {seed}");
        }
    }
}

/// Random verbs, with all checks after every event; how often each was used.
fn live(seed: u64, scenario: &Scenario, mut more: impl FnMut(&mut Checker, &View<'_>)) -> [u32; 7] {
    let mut checker = Checker::new(seed, scenario);
    let mut lives = Lives::new(seed);
    let vms = scenario.vm_names().len();
    let end = scenario.run.warmup.or_zero().nanos() + scenario.run.duration.or_zero().nanos() * 9 / 10;
    let result = driven_run(scenario, seed, |driver| {
        lives.drive(driver, vms, end);
        lives.check(&driver.view());
        // measuring begins anew
        if !scenario.run.warmup.or_zero().is_zero() {
            return;
        }
        checker.check(&driver.view());
        more(&mut checker, &driver.view());
        if driver.view().now() >= end {
            lives.check_nothing_left(&driver.view(), vms);
        }
    });
    let result = result.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let duration_s = result.duration_s;
    for vm in &result.vms {
        let total = vm.run_pct + vm.ready_pct + vm.costop_pct + vm.wait_pct;
        assert!(
            (total - 100.0).abs() < 1e-9 || vm.down_s >= duration_s,
            "seed {seed}: {total} % of {}",
            vm.name
        );
        assert!(
            (0.0..=duration_s + 1e-9).contains(&vm.down_s),
            "seed {seed}: down for {} s",
            vm.down_s
        );
    }
    for host in &result.hosts {
        assert!((0.0..=100.0).contains(&host.usage_pct), "seed {seed}: {host:?}");
    }
    aggregate(&[&result]);
    lives.used
}

#[test]
fn random_lives_keep_the_laws() {
    let mut used = [0; 7];
    for seed in seeds(SEEDS) {
        let mut scenario = random_scenario(seed);
        if seed % 4 > 0 {
            scenario.run.warmup = RunTime::Given(Duration::ZERO);
        }
        let of_seed = live(seed, &scenario, |_, _| {});
        used.iter_mut().zip(of_seed).for_each(|(sum, one)| *sum += one);
    }
    assert!(
        used.iter().all(|&count| count >= 20) || !usual_seeds(),
        "too few verbs: {used:?}"
    );
}

/// As in the swarm of runs in which nothing moves, and what a VM had begun and lost when it was stopped is neither done
/// nor left.
#[test]
fn work_is_conserved_over_moves() {
    for seed in seeds(SEEDS / 2) {
        let mut scenario = random_scenario(seed);
        scenario.run.warmup = RunTime::Given(Duration::ZERO);
        support::level(&mut scenario);
        for host in scenario.hosts.values_mut() {
            host.clock = "2 GHz".parse().expect("a clock");
        }
        let vms = scenario.vm_names().len();
        live(seed, &scenario, |checker, view| checker.check_work(view, 1.0, vms));
    }
}
