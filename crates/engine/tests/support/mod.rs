//! Scenarios for tests, written as short as the test allows.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod checker;
pub mod crooked;

use hypertwin_cluster::{Arrivals, Bandwidth, Duration, Frequency, Scenario, VmGroup, Workload};
use hypertwin_engine::{PointReport, PoolReport, Replication, VmReport, aggregate, replication_seed, run};
use hypertwin_kernel::Stream;
use serde_json::{Value, json};

/// A host without hypervisor overhead.
pub fn host(hypervisor: &str, sockets: u32, cores: u32, threads: u32) -> Value {
    json!({
        "sockets": sockets, "cores_per_socket": cores, "threads_per_core": threads, "clock": "3 GHz",
        "memory_per_node": "1 TiB", "hypervisor": hypervisor,
        "overhead": {"worlds_per_vm": 1, "cpu_per_io": "0 us", "activity_pct": 0, "interrupt_share_pct": 0},
    })
}

/// A VM group of one machine; `more` is merged over it.
pub fn vm(vcpus: u32, workload: &str, more: Value) -> Value {
    let mut vm = json!({"vcpus": vcpus, "memory": "1 GiB", "workload": workload, "guest": {"time_slice": "10 s"}});
    vm.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    vm
}

/// A workload that never waits, as long as there are as many processes as vCPUs.
pub fn hungry(processes: u32) -> Value {
    json!({"arrivals": {"closed": {"population": processes}}, "cpu": {"mean": "1 h", "cv": 0}})
}

/// The scenario of a text, which has no mistakes.
#[track_caller]
pub fn parse(text: &Value) -> Scenario {
    Scenario::from_json(&text.to_string()).unwrap_or_else(|mistakes| panic!("{mistakes:#?}\n{text:#}"))
}

/// A scenario of one host group `h`, whose vCPUs begin at once when they are woken.
pub fn scenario(host: Value, vms: Value, mut workloads: Value, duration: &str, warmup: &str) -> Scenario {
    for workload in workloads.as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
        workload["wake_up"] = json!("0 s");
    }
    let text = json!({
        "name": "test",
        "run": {"duration": duration, "warmup": warmup, "sample_interval": "100 ms"},
        "hosts": {"h": host}, "vms": vms, "workloads": workloads,
    });
    parse(&text)
}

/// Writes the work of a workload of a host with this clock as somebody would who measured it at `factor` times that
/// clock.
pub fn measure_at(workload: &mut Workload, clock: Frequency, factor: f64) {
    let stalled = workload.memory_intensity;
    // the part of the time that waits for memory stays, the rest is shorter at a higher clock
    let time = (1.0 - stalled) / factor + stalled;
    let mean_ns = workload.cpu.mean.nanos() as f64 * time;
    workload.cpu.mean = Duration::from_nanos(mean_ns.round() as u64);
    workload.memory_intensity = stalled / time;
    workload.reference_clock = Some(Frequency::from_hz((clock.hz() * factor).round() as u64));
}

/// `seeds` replications.
pub fn replications(scenario: &Scenario, seeds: u64) -> Vec<Replication> {
    (0..seeds)
        .map(|k| run(scenario, replication_seed(7, k)).expect("the run succeeds"))
        .collect()
}

/// The report of `seeds` replications.
pub fn report(scenario: &Scenario, seeds: u64) -> PointReport {
    let runs = replications(scenario, seeds);
    aggregate(&runs.iter().collect::<Vec<_>>())
}

/// The report of one replication of a text.
pub fn report_of(text: &Value) -> PointReport {
    report(&parse(text), 1)
}

/// What is reported of the VMs `v`.
pub fn of(report: &PointReport) -> &VmReport {
    &report.groups["v"]
}

/// What is reported of `pool`.
pub fn pool(report: &PointReport) -> &PoolReport {
    &report.pools["pool"]
}

/// Mean latency of I/Os of the VMs `v`.
pub fn latency_us(report: &PointReport) -> f64 {
    of(report).io_latency_ms.as_ref().unwrap().mean.unwrap() * 1e3
}

/// I/Os of all VMs per second, and their mean latency in milliseconds.
pub fn io(run: &Replication) -> (f64, f64) {
    let all = run.vms.iter().map(|vm| vm.io.as_ref().expect("it has disks").all);
    let count: u64 = all.clone().map(|sums| sums.count).sum();
    let sum: f64 = all.map(|sums| sums.latency_mean_ms * sums.count as f64).sum();
    (count as f64 / run.duration_s, sum / count as f64)
}

/// That a figure was measured and is as expected, give or take a part of it.
#[track_caller]
pub fn assert_near(actual: impl Into<Option<f64>>, expected: f64, tolerance: f64, what: &str) {
    let actual = actual.into().expect("it was measured");
    let is_near = (actual - expected).abs() <= tolerance * expected.abs();
    assert!(is_near, "{what}: {actual} instead of {expected}");
}

/// That every I/O is a read or a write, as the workload has them, and in the distribution of its kind.
pub fn check_ios(seed: u64, scenario: &Scenario, result: &Replication) {
    for (vm, (name, spec)) in result.vms.iter().zip(scenario.vm_names()) {
        let Some(io) = &vm.io else { continue };
        let workload = &scenario.workloads[&spec.workload];
        let counts = io.ways.map(|way| way.count);
        let [reads, writes] = counts;
        assert!(workload.read_pct > 0.0 || reads == 0, "seed {seed}: {name} reads");
        assert!(
            workload.read_pct < 100.0 || writes == 0 || workload.copies(),
            "seed {seed}: {name} writes"
        );
        // an I/O of a generator is a transaction, and of one that copies a read and a write are
        match workload.arrivals {
            Arrivals::Io { .. } if workload.copies() => {
                assert_eq!(writes, vm.response_count, "seed {seed}: {name}");
                let moved = io
                    .ways
                    .map(|way| way.mb_per_s * 1e6 * scenario.run.duration.or_zero().seconds());
                let most = under_way(spec, workload);
                assert!(
                    (moved[0] - moved[1]).abs() <= most,
                    "seed {seed}: {name} reads {} and writes {}, with at most {most} under way",
                    moved[0],
                    moved[1]
                );
            }
            Arrivals::Io { .. } => assert_eq!(reads + writes, vm.response_count, "seed {seed}: {name}"),
            _ => {}
        }
        let bytes: f64 = io.ways.iter().map(|way| way.mb_per_s).sum();
        assert!((bytes - io.all.mb_per_s).abs() <= 1e-9 * bytes, "seed {seed}: {name}");
    }
}

/// The most bytes of a VM's generator that can be under way at a time.
fn under_way(vm: &VmGroup, workload: &Workload) -> f64 {
    let Arrivals::Io { outstanding, .. } = workload.arrivals else {
        return 0.0;
    };
    let ios = (f64::from(outstanding) * vm.load).round() * f64::from(vm.vdisks_of_end(workload));
    ios * workload.largest_block().bytes() as f64 + 1.0
}

/// Makes all of a scenario's CPUs and memory equally fast, so that work can be counted in their time.
pub fn level(scenario: &mut Scenario) {
    for host in scenario.hosts.values_mut() {
        host.threads_per_core = 1;
        host.overhead.interrupt_share_pct = 0.0;
        host.turbo = None;
        host.memory_system.remote_latency_factor = 1.0;
        host.memory_system.socket_latency_factor = 1.0;
    }
    for workload in scenario.workloads.values_mut() {
        workload.memory_traffic = Bandwidth::ZERO;
    }
    for vm in scenario.vms.values_mut() {
        vm.vcpus = vm.vcpus.min(scenario.hosts["h"].logical_cpus());
        vm.affinity = None;
    }
}

/// Lays `more` over `value`, key by key.
pub fn merge(value: &mut Value, more: Value) {
    match (value, more) {
        (Value::Object(map), Value::Object(more)) => {
            for (key, part) in more {
                merge(map.entry(key).or_insert(Value::Null), part);
            }
        }
        (value, more) => *value = more,
    }
}

/// `value` with `more` laid over it.
pub fn merged(value: &Value, more: Value) -> Value {
    let mut both = value.clone();
    merge(&mut both, more);
    both
}

/// A drive of any kind with any of what only some drives have, for `devices` of a swarm's scenario.
pub fn random_device(dice: &mut Dice) -> Value {
    let mut device = json!({"kind": dice.pick(&["nvme", "sas-ssd", "sata-ssd"])});
    if dice.one_in(6) {
        return json!({
            "kind": "hdd-10k", "seek_read": format!("{} us", dice.range(0, 9_000)), "rpm": dice.range(4_000, 15_000),
        });
    }
    let numbers = [
        ("random_read", "/s", 1_000, 1_000_000),
        ("random_write", "/s", 1_000, 600_000),
        ("sequential_read", "MB/s", 100, 7_000),
        ("sequential_write", "MB/s", 100, 7_000),
        ("read_latency", "us", 5, 500),
        ("write_latency", "us", 5, 500),
        ("flush", "us", 0, 5_000),
    ];
    for (key, unit, least, most) in numbers {
        if dice.one_in(2) {
            device[key] = json!(format!("{} {unit}", dice.range(least, most)));
        }
    }
    device["power_loss_protection"] = json!(dice.one_in(2));
    if dice.one_in(2) {
        device["over_provisioning_pct"] = json!(dice.range(1, 60));
    }
    if dice.one_in(3) {
        let size = format!("{} MiB", dice.range(1, 64));
        device["write_cache"] = json!({"size": size, "write": format!("{} MB/s", dice.range(100, 5_000))});
    }
    if dice.one_in(3) {
        let written = format!("{} KiB", dice.range(64, 20_000));
        device["stalls"] = json!({"written": written, "length": format!("{} us", dice.range(1, 20_000))});
    }
    device
}

/// Seeds of a swarm: `count` from 0, or `SWARM_SEEDS` from `SWARM_FROM`, where either is set.
pub fn seeds(count: u64) -> std::ops::Range<u64> {
    let set = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().expect("a number of seeds"))
    };
    let first = set("SWARM_FROM").unwrap_or(0);
    first..first + set("SWARM_SEEDS").unwrap_or(count)
}

/// Several paths to the LUNs of the array `san` of a scenario, half of the time, and ports that fail between these
/// times in milliseconds: of hosts of these names with so many ports, and of the array.
pub fn random_paths(seed: u64, scenario: &mut Value, hosts: &[(String, u64)], between: (u64, u64), always_back: bool) {
    // choices of its own, so that the others stay what they were before these keys came
    let mut dice = Dice::new(seed, "paths");
    if dice.one_in(2) {
        return;
    }
    let per_lun = dice.range(1, 4);
    let policy = dice.pick(&["fixed", "most-recently-used", "round-robin", "queue-length"]);
    scenario["arrays"]["san"]["paths"] = json!({
        "per_lun": per_lun, "optimised": dice.range(1, per_lun), "policy": policy, "iops_limit": dice.range(1, 9),
        "bytes_limit": format!("{} KiB", dice.range(1, 512)), "timeout": format!("{} us", dice.range(0, 20_000)),
        "non_optimised_latency": format!("{} us", dice.range(0, 300)),
    });
    let array_ports = scenario["arrays"]["san"]["front_end_ports"].as_u64().expect("a number");
    let failures = scenario["failures"].as_array_mut().expect("a list");
    for _ in 0..dice.range(0, 8) {
        let (name, ports) = match dice.one_in(2) {
            true => ("san".to_owned(), array_ports),
            false => hosts[dice.range(0, hosts.len() as u64 - 1) as usize].clone(),
        };
        let at = dice.range(between.0, between.1);
        // odd times, so that no other event falls on them
        let mut failure = json!({
            "at": format!("{at}.00013 ms"), "fails": [format!("{name}/port-{}", dice.range(1, ports))],
        });
        if always_back || !dice.one_in(3) {
            failure["returns"] = json!(format!("{}.00017 ms", dice.range(at, between.1)));
        }
        failures.push(failure);
    }
}

/// Lets some generators of a scenario copy: between these storages, or between one of them and their own. Whether any
/// does.
pub fn random_copies(seed: u64, scenario: &mut Value, storages: &[&str]) -> bool {
    // choices of its own, so that the others stay what they were before these keys came
    let mut dice = Dice::new(seed, "copies");
    let mut any = false;
    for workload in scenario["workloads"].as_object_mut().expect("a mapping").values_mut() {
        if workload["arrivals"].get("io").is_none() || !dice.one_in(3) {
            continue;
        }
        any = true;
        workload["read_pct"] = json!(100);
        let ends: &[&str] = dice.pick(&[&["read_from"][..], &["write_to"], &["read_from", "write_to"]]);
        for end in ends {
            workload[*end] = json!(dice.pick(storages));
        }
    }
    any
}

/// Whether a swarm runs the seeds of `make test`, of which it is known what they cover.
pub fn usual_seeds() -> bool {
    ["SWARM_SEEDS", "SWARM_FROM"]
        .iter()
        .all(|name| std::env::var_os(name).is_none())
}

/// Random choices of a swarm.
pub struct Dice(Stream);

impl Dice {
    pub fn new(seed: u64, purpose: &str) -> Self {
        Self(Stream::named(seed, purpose))
    }
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }
    pub fn one_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.below(from.len() as u64) as usize]
    }
}
