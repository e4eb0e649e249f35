//! Hundreds of random clusters, loads and policies under checkers that know only what [`View`] shows, not the code they
//! check. A failure names its seed `n`; `SWARM_FROM=n SWARM_SEEDS=1` runs that one alone.

use crate::support;

use hypertwin_cluster::{Bandwidth, Bytes, Drive, SPLIT_BYTES, Scenario};
use hypertwin_engine::{HostResult, Replication, VmResult, aggregate, replication_seed, run, watched_run};
use hypertwin_models::storage::disk::{Disk, Operation};
use hypertwin_sharing::{Claim, proportional_share};
use serde_json::{Map, Value, json};
use support::checker::Checker;
use support::{Dice, merge, parse, seeds, usual_seeds};

const SEEDS: u64 = 250;
/// Controllers split the I/Os of this one, so that its disks do more operations than its workloads ask for.
const SPLIT_SEED: u64 = 30_015_768;
/// Memory-bound vCPUs lose both threads of a core at once to a vCPU that cannot share it.
const EVICTED_SEED: u64 = 606_736;
const HYPERVISORS: [&str; 6] = [
    "esxi-5.5",
    "esxi-6.0",
    "esxi-6.5",
    "esxi-8.0",
    "linux-6.6",
    "linux-6.12",
];

/// Any cluster that the schema allows, of a size that is quick to simulate.
fn random_scenario(seed: u64) -> Scenario {
    let mut dice = Dice::new(seed, "swarm");
    // choices of their own, so that the others stay what they were before these keys came
    let (mut guest_dice, mut wake_dice) = (Dice::new(seed, "guest"), Dice::new(seed, "wake-up"));
    let (mut shape_dice, mut device_dice) = (Dice::new(seed, "shape"), Dice::new(seed, "device"));
    let (sockets, mut cores, threads) = (dice.range(1, 3), dice.range(1, 5), dice.range(1, 2));
    let divided = shape_dice
        .one_in(4)
        .then(|| (shape_dice.range(2, 3), shape_dice.range(1, 2)));
    if let Some((nodes, caches)) = divided {
        cores = nodes * caches * shape_dice.range(1, 2);
    }
    let cpus = sockets * cores * threads;
    let hypervisor = dice.pick(&HYPERVISORS);
    let esxi = hypervisor.starts_with("esxi");
    let mut host = json!({
        "count": dice.range(1, 2),
        "sockets": sockets, "cores_per_socket": cores, "threads_per_core": threads, "clock": "2 GHz",
        "memory_per_node": "1 TiB", "hypervisor": hypervisor, "smt_yield": 1.0 + dice.range(0, 10) as f64 / 20.0,
        "power_policy": wake_dice.pick(&["high-performance", "balanced"]),
        "overhead": {
            "worlds_per_vm": dice.range(1, 4), "cpu_per_io": format!("{} us", dice.range(0, 400)),
            "activity_pct": dice.range(0, 10), "interrupt_share_pct": dice.range(0, 100),
        },
    });
    if let Some((nodes, caches)) = divided {
        merge(&mut host, json!({"nodes_per_socket": nodes, "l3_per_node": caches}));
    }
    if dice.one_in(3) {
        host["turbo"] = json!("2.4 GHz");
    }
    if dice.one_in(2) {
        host["memory_system"] = json!({
            "node_bandwidth": format!("{} GB/s", dice.range(2, 40)),
            "interconnect_bandwidth": format!("{} MB/s", dice.range(100, 20_000)),
            "page_migration": format!("{} GB/s", dice.range(0, 400)),
        });
    }
    if esxi && dice.one_in(3) {
        host["scheduler"] = json!({
            "quantum": format!("{} ms", dice.range(1, 60)), "costop_threshold": format!("{} us", dice.range(500, 3000)),
            "costart_threshold": format!("{} us", dice.range(0, 500)), "numa_rebalance_period": "50 ms",
            "ht_whole_core_threshold": format!("{} ms", dice.range(0, 50)), "numa_imbalance_threshold_pct": 1,
        });
    }
    if dice.one_in(3) {
        let policies: &[&str] = match hypervisor {
            "esxi-8.0" => &["sca-v1", "sca-v2"],
            "linux-6.6" | "linux-6.12" => &["linux"],
            _ => &["sca-v1"],
        };
        merge(
            &mut host,
            json!({"scheduler": {"core_scheduling": dice.pick(policies)}}),
        );
    }
    let (mut vms, mut workloads) = (Map::new(), Map::new());
    for index in 0..dice.range(1, 4) {
        let vcpus = dice.range(1, cpus.min(8));
        let name = format!("w{index}");
        let arrivals = if dice.one_in(3) {
            json!({"open": {"rate": format!("{} /s", dice.range(1, 150 * vcpus)), "cv": dice.range(0, 2)}})
        } else {
            let think = json!({"mean": format!("{} ms", dice.range(0, 40)), "cv": dice.range(0, 2)});
            json!({"closed": {"population": dice.range(1, 4 * vcpus), "think": think}})
        };
        let mut workload = json!({
            "arrivals": arrivals, "bursts": dice.range(1, 4),
            "cpu": {"mean": format!("{} us", dice.range(200, 20_000)), "cv": dice.range(0, 3)},
            "delay": {"mean": format!("{} us", dice.range(0, 20_000)), "cv": dice.range(0, 2)},
            "ios": dice.range(0, 10), "memory_intensity": dice.range(0, 10) as f64 / 10.0,
        });
        if dice.one_in(3) {
            workload["memory_traffic"] = json!(format!("{} MB/s", dice.range(1, 9_000)));
            workload["shared_core_traffic"] = json!(1.0 + dice.range(0, 5) as f64 / 10.0);
        }
        if guest_dice.one_in(3) {
            workload["smt_yield"] = json!(1.0 + guest_dice.range(0, 20) as f64 / 20.0);
            let pct = |pct: u64| pct as f64 / 100.0;
            workload["scaling"] =
                json!({"contention": pct(guest_dice.range(0, 20)), "coherency": pct(guest_dice.range(0, 3))});
        }
        if wake_dice.one_in(3) {
            workload["wake_up"] = json!(format!("{} us", wake_dice.range(0, 3_000)));
        }
        let parallel = dice.one_in(6);
        if parallel {
            workload["arrivals"] = json!({"parallel": {"parts": dice.pick(&["node", "vcpu"])}});
            workload["cpu"]["mean"] = json!(format!("{} us", dice.range(200, 20_000) * vcpus));
            workload["delay"] = json!({"mean": 0});
            workload["ios"] = json!(0);
        }
        workloads.insert(name.clone(), workload);
        let mut more = json!({"count": dice.range(1, 3), "shares": dice.pick(&["low", "normal", "high"])});
        more["guest"] = json!({"time_slice": format!("{} us", dice.range(500, 6000))});
        if dice.one_in(4) {
            more["limit"] = json!(format!("{} MHz", dice.range(200, 2000 * vcpus)));
        }
        if esxi && dice.one_in(4) {
            more["reservation"] = json!(format!(
                "{} MHz",
                dice.range(1, 2000 * sockets * cores / 12 + 1).min(200)
            ));
        }
        if dice.one_in(5) {
            let first = dice.range(0, cpus - 1);
            more["affinity"] = json!(format!("{first}-{}", dice.range(first, cpus - 1)));
        }
        if !parallel && dice.one_in(5) {
            more["load_steps"] = json!([{"at": "100 ms", "factor": dice.range(0, 3)}, {"at": "200 ms", "factor": 1}]);
        }
        vms.insert(format!("v{index}"), support::vm(vcpus as u32, &name, more));
    }
    let mut arrays = random_storage(
        &mut dice,
        &mut Dice::new(seed, "path"),
        &mut host,
        &mut vms,
        &mut workloads,
    );
    if guest_dice.one_in(10) {
        without_hypervisor(&mut host, &mut vms, &mut workloads);
    }
    let mut devices = json!({});
    if device_dice.one_in(3) && !arrays["san"].is_null() {
        devices["d"] = support::random_device(&mut device_dice);
        arrays["san"]["disks"] = json!({
            "device": "d", "count": device_dice.range(1, 8), "used_pct": device_dice.range(1, 100),
        });
        enough_disks(&mut arrays["san"]);
        for workload in workloads.values_mut() {
            workload["sync_pct"] = json!(device_dice.pick(&[0, 50, 100]));
        }
    }
    let mut text = json!({
        "name": "swarm", "devices": devices, "run": {"duration": "300 ms", "warmup": "0 s", "sample_interval": "50 ms"},
        "hosts": {"h": host}, "vms": vms, "workloads": workloads, "arrays": arrays,
    });
    if !text["arrays"]["san"].is_null() {
        support::random_copies(seed, &mut text, &["san"]);
    }
    parse(&text)
}

/// Leaves one system, alone on a host without hypervisor.
fn without_hypervisor(host: &mut Value, vms: &mut Map<String, Value>, workloads: &mut Map<String, Value>) {
    host["hypervisor"] = json!("none");
    vms.retain(|name, _| name == "v0");
    workloads.retain(|name, _| name == "w0");
    for (map, keys) in [
        (host, &["overhead", "scheduler"][..]),
        (
            &mut vms["v0"],
            &[
                "count",
                "shares",
                "limit",
                "reservation",
                "affinity",
                "controller",
                "queues",
                "io_threads",
                "disk_cache",
                "aio",
            ],
        ),
    ] {
        keys.iter()
            .for_each(|key| drop(map.as_object_mut().expect("a mapping").remove(*key)));
    }
}

/// An array for some of the machines, of which some are turned into generators of I/O.
fn random_storage(
    dice: &mut Dice,
    path_dice: &mut Dice,
    host: &mut Value,
    vms: &mut Map<String, Value>,
    workloads: &mut Map<String, Value>,
) -> Value {
    if dice.one_in(2) {
        return json!({});
    }
    host["adapters"] = json!({
        "ports": dice.range(1, 3), "bandwidth": format!("{} MB/s", dice.range(5, 800)), "depth": dice.range(1, 64),
        "lun_depth": dice.range(1, 32), "dsnro": dice.range(1, 8), "latency": format!("{} us", dice.range(0, 200)),
    });
    let linux = host["hypervisor"]
        .as_str()
        .is_some_and(|name| name.starts_with("linux"));
    let kinds: &[&str] = if linux {
        &["virtio-scsi", "virtio-blk"]
    } else {
        &["pvscsi", "lsi-sas", "nvme"]
    };
    for (name, vm) in vms.iter_mut() {
        let workload = &mut workloads[&name.replace('v', "w")];
        workload["block"] = json!(format!("{} B", 512 << dice.range(0, 11)));
        workload["read_pct"] = json!(dice.range(0, 100));
        workload["random_pct"] = json!(dice.range(0, 100));
        workload["working_set"] = json!(format!("{} MiB", dice.range(1, 4096)));
        let parallel = workload["arrivals"].get("parallel").is_some();
        if parallel || dice.one_in(3) {
            continue;
        }
        vm["array"] = json!("san");
        vm["controller"] = json!(dice.pick(kinds));
        vm["controllers"] = json!(dice.range(1, 4));
        vm["vdisks"] = json!(dice.range(1, 6));
        vm["vdisk_depth"] = json!(dice.range(1, 32));
        vm["shared_luns"] = json!(dice.one_in(2));
        random_path(path_dice, linux, vm);
        if dice.one_in(2) {
            workload["arrivals"] = json!({"io": {"outstanding": dice.range(1, 4), "workers": dice.range(1, 8)}});
            workload["cpu"]["mean"] = json!(format!("{} us", dice.range(0, 300)));
            workload["bursts"] = json!(1);
            workload["delay"]["mean"] = json!(0);
            workload["ios"] = json!(0);
            if dice.one_in(3) {
                workload["arrivals"]["io"]["rate"] = json!(format!("{} /s", dice.range(1, 5000)));
            }
            vm.as_object_mut().expect("a mapping").remove("load_steps");
        }
    }
    let mut san = json!({
        "front_end_ports": dice.range(1, 4), "port_bandwidth": format!("{} MB/s", dice.range(5, 800)),
        "cache": {
            "size": format!("{} MiB", dice.range(0, 4096)), "latency": format!("{} us", dice.range(50, 1000)),
            "write_back": dice.one_in(2), "write_pending": format!("{} MiB", dice.range(1, 4)),
        },
        "raid": dice.pick(&["raid-0", "raid-1", "raid-5", "raid-6"]),
        "disks": {
            "kind": dice.pick(&["hdd-15k", "hdd-10k", "hdd-7.2k", "sata-ssd", "sas-ssd", "nvme"]),
            "count": dice.range(1, 24),
        },
    });
    enough_disks(&mut san);
    json!({ "san": san })
}

/// Gives an array the disks that its RAID level needs.
fn enough_disks(array: &mut Value) {
    let least = match array["raid"].as_str() {
        Some("raid-5") => 3,
        Some("raid-6") => 4,
        _ => 1,
    };
    let count = array["disks"]["count"].as_u64().expect("a number");
    array["disks"]["count"] = json!(count.max(least));
}

/// Kinds of controllers, queues, threads and caches beside those that were there before.
fn random_path(dice: &mut Dice, linux: bool, vm: &mut Value) {
    if dice.one_in(2) {
        return;
    }
    merge(vm, json!({"guest": {"kind": dice.pick(&["linux", "windows"])}}));
    match dice.range(0, 3) {
        0 => {
            let kinds = ["passthrough", "ahci", "ide", if linux { "vhost-blk" } else { "nvme" }];
            vm["controller"] = json!(dice.pick(&kinds));
            if vm["controller"] == "ide" {
                vm["vdisk_depth"] = json!(1);
            }
        }
        1 if linux => {
            vm["controller"] = json!(dice.pick(&["virtio-scsi", "virtio-blk"]));
            vm["queues"] = json!(dice.range(1, 6));
            vm["io_threads"] = json!(dice.range(0, 4));
        }
        2 if linux => {
            vm["controller"] = json!("virtio-scsi");
            vm["disk_cache"] = json!(dice.pick(&["none", "writeback", "unsafe"]));
            vm["aio"] = json!(dice.pick(&["native", "io_uring", "threads"]));
        }
        _ => {
            vm["controller"] = json!(if linux { "vhost-scsi" } else { "pvscsi" });
            vm["queues"] = json!(dice.range(1, 4));
        }
    }
}

/// That no link carries more than its bandwidth, nothing is busier than always, and no depth holds more than its
/// places.
fn check_storage(seed: u64, scenario: &Scenario, result: &Replication) {
    let slack_s = 0.01;
    let most = |members: usize, bandwidth: Bandwidth, duration_s: f64| {
        2.0 * members as f64 * bandwidth.bytes_per_s() / 1e6 * (1.0 + slack_s / duration_s)
    };
    for station in &result.stations {
        let (name, found) = (&station.name, &station.figures);
        assert!(
            found.utilization_max_pct <= 100.0 + 1e-6 && found.utilization_pct <= found.utilization_max_pct + 1e-6,
            "seed {seed}: {station:?}"
        );
        let rate = if name == "san-front-end" {
            Some(scenario.arrays["san"].port_bandwidth)
        } else if name.ends_with("-ports") {
            Some(scenario.hosts["h"].adapters.bandwidth)
        } else {
            None
        };
        if let (Some(rate), Some(mb_per_s)) = (rate, found.mb_per_s) {
            assert!(
                mb_per_s <= most(found.members, rate, result.duration_s),
                "seed {seed}: {station:?} over {rate}"
            );
        }
        if name == "san-disks" {
            let disks = &scenario.arrays["san"].disks;
            let drive = Drive::of(disks.kind, disks.device.as_deref(), &scenario.devices);
            let disk = Disk::of(drive, disks.used_pct);
            // Each start counts; the fastest operation is a sequential one, controllers split large ones, and flash may
            // have more of them in its depth and its buffer.
            let smallest = scenario
                .workloads
                .values()
                .map(|workload| workload.block.bytes().min(SPLIT_BYTES))
                .min()
                .unwrap_or(512);
            let operation = |write| Operation {
                bytes: smallest,
                write,
                sequential: true,
                is_interrupted: false,
                waiting: 0,
            };
            let rate = |write| match disk.flash() {
                Some(flash) if disk.write_cache.is_some() => 1e9 / flash.transfer_ns(operation(write)) as f64,
                Some(flash) => {
                    let (channels, busy_ns) = flash.work(operation(write));
                    f64::from(flash.channels) / f64::from(channels) * 1e9 / busy_ns as f64
                }
                None => 1e9 / disk.service_ns(operation(write), 0.0, 0.0) as f64,
            };
            let buffered = ((4 << 20) as f64 / smallest as f64).max(1_024.0);
            let more = if disk.flash().is_some() { buffered } else { 0.0 };
            let begun = (f64::from(disk.depth) + more) / result.duration_s;
            let most = (rate(false).max(rate(true)) + begun) * found.members as f64;
            assert!(
                found.throughput_per_s <= most,
                "seed {seed}: {station:?}, at most {most} per second"
            );
        }
    }
}

/// That nodes have what is on their host: its vCPUs, their memory, and its usage less some of the interrupts.
fn check_nodes(seed: u64, host: &HostResult, result: &Replication) {
    let on_it = || result.vms.iter().filter(|vm| vm.host == host.name);
    let vcpus: usize = host.nodes.iter().map(|node| node.vcpus).sum();
    assert_eq!(
        vcpus as u32,
        on_it().map(|vm| vm.vcpus).sum::<u32>(),
        "seed {seed}: {host:?}"
    );
    let memory_mb: f64 = host.nodes.iter().map(|node| node.memory_mb).sum();
    let expected: f64 = on_it().map(|vm| vm.numa_local_mb + vm.numa_remote_mb).sum();
    assert!(
        (memory_mb - expected).abs() < 1e-6,
        "seed {seed}: {memory_mb} MB for {expected}: {host:?}"
    );
    let is_capped = host.nodes.iter().any(|node| node.usage_pct >= 100.0);
    let usage_pct = host.nodes.iter().map(|node| node.usage_pct).sum::<f64>() / host.nodes.len() as f64;
    assert!(
        usage_pct <= host.usage_pct + 1e-6 && (is_capped || usage_pct >= host.usage_pct - host.overhead_pct - 1e-6),
        "seed {seed}: nodes use {usage_pct} %: {host:?}"
    );
}

#[test]
fn random_clusters_keep_the_laws() {
    let found = [SPLIT_SEED, EVICTED_SEED].into_iter().filter(|_| usual_seeds());
    for seed in seeds(SEEDS).chain(found) {
        let scenario = random_scenario(seed);
        let mut checker = Checker::new(seed, &scenario);
        let result = watched_run(&scenario, seed, |view| checker.check(view))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let period_s = 0.1;
        for (vm, (_, spec)) in result.vms.iter().zip(scenario.vm_names()) {
            let total = vm.run_pct + vm.ready_pct + vm.costop_pct + vm.wait_pct;
            assert!((total - 100.0).abs() < 1e-9, "seed {seed}: {total} %");
            if let Some(limit) = spec.limit {
                // All that was left at the start may be spent, and the budget of each period that begins later. It may
                // be overrun by one check, which is paid back in the next. A quota is of run time, whatever the clock.
                let overrun = f64::from(spec.vcpus) * 0.001 * 2400.0 / result.duration_s;
                let budgets = 1.0 + (result.duration_s / period_s).ceil();
                let most = limit.mhz() * budgets * period_s / result.duration_s + overrun;
                let counted_pct = match scenario.hosts["h"].hypervisor.family().facts().limits_by_quota {
                    true => vm.run_pct,
                    false => (vm.used_pct - vm.system_pct).max(0.0),
                };
                let counted = counted_pct / 100.0 * f64::from(vm.vcpus) * 2000.0;
                assert!(counted <= most, "seed {seed}: {} had {counted} of {most} MHz", vm.name);
            }
        }
        let hosts = scenario.host_names();
        let links: f64 = hosts
            .iter()
            .map(|(_, host)| {
                let links = f64::from(host.sockets * (host.sockets - 1));
                links * host.memory_system.interconnect_bandwidth.bytes_per_s() / 1e9
            })
            .sum();
        let crossed: f64 = result.vms.iter().map(|vm| vm.memory_remote_gb_per_s).sum();
        // within a socket nothing is crossed
        assert!(
            hosts[0].1.nodes_per_socket > 1 || crossed <= links * (1.0 + 1e-9),
            "seed {seed}: {crossed} GB/s over links for {links}"
        );
        for host in &result.hosts {
            let (_, spec) = hosts.iter().find(|(name, _)| *name == host.name).expect("a known host");
            let most = spec.memory_system.node_bandwidth.bytes_per_s() / 1e9 * (1.0 + 1e-9);
            assert!(
                host.nodes.iter().all(|node| node.memory_gb_per_s <= most),
                "seed {seed}: nodes deliver {:?} of {most} GB/s",
                host.nodes
            );
            check_nodes(seed, host, &result);
            assert!(
                host.usage_pct <= 100.0 && host.utilization_pct <= 100.0 + 1e-9,
                "seed {seed}: {host:?}"
            );
        }
        check_storage(seed, &scenario, &result);
        support::check_ios(seed, &scenario, &result);
        aggregate(&[&result]);
    }
}

#[test]
fn work_is_conserved() {
    for seed in seeds(SEEDS) {
        let mut scenario = random_scenario(seed);
        support::level(&mut scenario);
        let vms = scenario.vm_names().len();
        let mut checker = Checker::new(seed, &scenario);
        watched_run(&scenario, seed, |view| {
            checker.check(view);
            checker.check_work(view, 1.0, vms);
        })
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

/// Bursts are whole nanoseconds, so two runs of the same work may part after a while: their sums agree, on average
/// closely. Pages that are swapped in are few, so it takes many.
#[test]
fn the_clock_at_which_work_was_measured_changes_nothing() {
    let (mut sums, mut count, most) = ([[0.0; 2]; 5], 0, 4 * SEEDS);
    for seed in seeds(most) {
        let mut dice = Dice::new(seed, "reference");
        let mut scenario = random_scenario(seed);
        if dice.one_in(2) {
            // memory is short then
            let vms = scenario.vm_names().len() as u64;
            for host in scenario.hosts.values_mut() {
                host.memory_per_node = Bytes::from_gib(1 + vms / 3);
            }
        }
        let mut rewritten = scenario.clone();
        let factor = dice.pick(&[0.1, 0.5, 2.0]);
        for workload in rewritten.workloads.values_mut() {
            support::measure_at(workload, scenario.hosts["h"].clock, factor);
        }
        let figures = [&scenario, &rewritten].map(|scenario| {
            let result = run(scenario, replication_seed(seed, 0));
            sums_of(&result.unwrap_or_else(|error| panic!("seed {seed}: {error}")))
        });
        let overhead = figures.map(|figures| figures[1]);
        assert!(
            (overhead[0] - overhead[1]).abs() <= 0.5 * overhead[0] + 1.0,
            "seed {seed}: overhead of {overhead:?} % with work measured at {factor} times the clock"
        );
        for (sum, number) in sums.iter_mut().zip(0..) {
            *sum = [0, 1].map(|run| sum[run] + figures[run][number]);
        }
        count += 1;
    }
    for [one, two] in sums {
        assert!(
            (one - two).abs() <= 0.01 * one || count < most,
            "sums of {count} clusters: {sums:?}"
        );
    }
}

/// CPU of VMs and of hypervisors, memory traffic, transactions, and pages that came back from swap devices, of a run.
fn sums_of(result: &Replication) -> [f64; 5] {
    let pages = |vm: &VmResult| vm.reclaimed.map_or(0.0, |memory| memory.swap_in_bytes_per_s / 4096.0);
    [
        result.vms.iter().map(|vm| vm.used_mhz).sum(),
        result.hosts.iter().map(|host| host.overhead_pct).sum(),
        result.vms.iter().map(|vm| vm.memory_gb_per_s).sum(),
        result.vms.iter().map(|vm| vm.throughput_per_s).sum(),
        result.vms.iter().map(pages).sum(),
    ]
}

/// Hungry one-vCPU machines on one node share its time as the exact division says, less what the hypervisor itself
/// takes.
#[test]
fn shares_limits_and_reservations_are_honoured() {
    let mut checked = 0;
    for seed in seeds(120) {
        let mut dice = Dice::new(seed, "fair");
        let esxi = !dice.one_in(3);
        // Linux keeps a queue for each CPU: with several, weights hold per queue only.
        let cores = if esxi { dice.range(1, 3) } else { 1 };
        let (mut vms, mut claims) = (Map::new(), Vec::new());
        for index in 0..dice.range(2, 6) {
            let shares = dice.pick(&[500.0, 1000.0, 2000.0]);
            // No single vCPU can use more than one core.
            let mut claim = Claim::new(shares, 1000.0);
            let mut more = json!({"shares": shares});
            if esxi && dice.one_in(4) {
                let reservation = dice.range(1, 1000 * cores / 8) as f64;
                claim = claim.reserved(reservation);
                more["reservation"] = json!(format!("{reservation} MHz"));
            }
            if dice.one_in(4) {
                let limit = claim.reservation + dice.range(50, 500) as f64;
                claim = claim.limited(limit);
                more["limit"] = json!(format!("{limit} MHz"));
            }
            claims.push(claim);
            vms.insert(format!("v{index}"), support::vm(1, "w", more));
        }
        let version = Dice::new(seed, "fair-version").pick(&["esxi-5.0", "esxi-6.0", "esxi-6.7", "esxi-8.0"]);
        let mut host = support::host(if esxi { version } else { "linux-6.6" }, 1, cores as u32, 1);
        host["clock"] = json!("1 GHz");
        host.as_object_mut().expect("a mapping").remove("overhead");
        let scenario = support::scenario(
            host,
            Value::Object(vms),
            json!({"w": support::hungry(1)}),
            "60 s",
            "5 s",
        );
        let expected = proportional_share(1000.0 * cores as f64, &claims);
        if cores > 1 && expected.iter().any(|mhz| *mhz > 750.0) {
            // Who is due most of a core cannot catch up after a quantum that another had.
            continue;
        }
        checked += 1;
        let result = run(&scenario, replication_seed(seed, 0)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let overhead = result.hosts[0].overhead_pct / 100.0;
        let expected = proportional_share(1000.0 * cores as f64 * (1.0 - overhead), &claims);
        for ((vm, expected), claim) in result.vms.iter().zip(expected).zip(&claims) {
            assert!(
                (vm.used_mhz - expected).abs() <= 0.03 * expected + 12.0,
                "seed {seed}: {} used {} MHz of {expected}; {claim:?} of {claims:?} on {cores} cores",
                vm.name,
                vm.used_mhz
            );
        }
    }
    assert!(checked >= 60 || !usual_seeds(), "only {checked} divisions were checked");
}

/// Hungry machines of several vCPUs, and some that want little, on the cores of a node: however unequal their shares
/// and reservations are, none starves. What co-scheduling leaves idle goes to others.
#[test]
fn wide_machines_do_not_starve() {
    let mut checked = 0;
    for seed in seeds(120) {
        let mut dice = Dice::new(seed, "wide");
        let cores = dice.range(2, 6);
        let (mut vms, mut claims, mut wide) = (Map::new(), Vec::new(), Vec::new());
        let (mut workloads, mut reserved) = (Map::new(), 0.0);
        for index in 0..dice.range(2, 5) {
            let vcpus = dice.range(1, cores.min(4));
            let shares = dice.pick(&[50.0, 500.0, 1000.0, 2000.0, 4000.0]) * vcpus as f64;
            let mut more = json!({"shares": shares});
            let most = 1000.0 * vcpus as f64;
            let wanted = if dice.one_in(3) {
                most * dice.range(5, 40) as f64 / 100.0
            } else {
                most
            };
            let mut claim = Claim::new(shares, wanted);
            if dice.one_in(3) {
                let reservation = (most / 2.0).min(800.0 * cores as f64 - reserved).max(0.0).round();
                reserved += reservation;
                claim = claim.reserved(reservation);
                more["reservation"] = json!(format!("{reservation} MHz"));
            }
            if dice.one_in(4) {
                let limit = claim.reservation + dice.range(50, 500) as f64;
                claim = claim.limited(limit);
                more["limit"] = json!(format!("{limit} MHz"));
            }
            let work = if wanted < most {
                json!({"arrivals": {"open": {"rate": format!("{} /s", wanted / 5.0)}}, "cpu": {"mean": "5 ms"}})
            } else {
                support::hungry(vcpus as u32)
            };
            workloads.insert(format!("w{index}"), work);
            vms.insert(
                format!("v{index}"),
                support::vm(vcpus as u32, &format!("w{index}"), more),
            );
            claims.push(claim);
            wide.push(most);
        }
        let mut host = support::host(
            dice.pick(&["esxi-5.0", "esxi-6.0", "esxi-6.7", "esxi-8.0"]),
            1,
            cores as u32,
            1,
        );
        host["clock"] = json!("1 GHz");
        host.as_object_mut().expect("a mapping").remove("overhead");
        let scenario = support::scenario(host, Value::Object(vms), Value::Object(workloads), "60 s", "10 s");
        let result = run(&scenario, replication_seed(seed, 0)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let overhead = result.hosts[0].overhead_pct / 100.0;
        let expected = proportional_share(1000.0 * cores as f64 * (1.0 - overhead), &claims);
        if expected.iter().zip(&wide).any(|(mhz, most)| *mhz > 0.75 * most) {
            // Who is due most of its cores cannot catch up after a quantum that another had.
            continue;
        }
        checked += 1;
        for ((vm, expected), claim) in result.vms.iter().zip(expected).zip(&claims) {
            assert!(
                vm.used_mhz >= 0.6 * expected - 15.0 * cores as f64,
                "seed {seed}: {} used {} MHz of {expected}; {claim:?} of {claims:?} on {cores} cores, {:?}",
                vm.name,
                vm.used_mhz,
                result.vms.iter().map(|vm| vm.used_mhz).collect::<Vec<_>>()
            );
        }
    }
    assert!(checked >= 40 || !usual_seeds(), "only {checked} divisions were checked");
}
