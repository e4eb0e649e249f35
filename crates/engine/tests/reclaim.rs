//! Memory that hosts take from VMs, against closed forms and by accounting for every page.

use crate::support;

use hypertwin_cluster::Scenario;
use hypertwin_engine::{PointReport, driven_run, replication_seed, run, watched_run};
use serde_json::{Value, json};
use support::{Dice, assert_near, host, merge, report, scenario, seeds, vm};

const GIB: f64 = (1_u64 << 30) as f64;
const PAGE: u64 = 4_096;

/// A host with so much memory, and disks to swap to that hardly disturb each other.
fn machine(hypervisor: &str, memory: &str, more: Value) -> Value {
    let mut host = host(hypervisor, 1, 8, 1);
    merge(
        &mut host,
        json!({"memory_per_node": memory, "swap": {"kind": "nvme", "count": 64}}),
    );
    merge(&mut host, more);
    host
}

/// One process that computes for 10 ms at a time, and uses 10,000 pages a second.
fn busy() -> Value {
    json!({
        "arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "10 ms", "cv": 0}, "page_rate": "10000 /s",
    })
}

fn workloads() -> Value {
    json!({"busy": busy(), "rest": {"arrivals": {"closed": {"population": 1, "think": {"mean": "1 h"}}}, "cpu": {"mean": "1 ms"}}})
}

fn simulate(host: Value, vms: Value) -> PointReport {
    report(&scenario(host, vms, workloads(), "8 s", "1 s"), 1)
}

#[test]
fn memory_that_fits_is_nobodys_concern() {
    let plain = |more: Value| {
        let vms = json!({"a": vm(2, "busy", json!({"memory": "8 GiB"}))});
        let scenario = scenario(machine("esxi-8.0", "64 GiB", more), vms, workloads(), "2 s", "1 s");
        run(&scenario, 1).expect("it runs")
    };
    let usual = plain(json!({}));
    let other = plain(json!({"swap": {"kind": "hdd-7.2k"}, "reclamation": {"idle_tax_pct": 0, "page_sharing": "off"}}));
    assert_eq!(usual.to_bytes(), other.to_bytes());
    assert!(usual.vms[0].reclaimed.is_none() && usual.hosts[0].reclaimed.is_none());
    assert!(usual.stations.is_empty());
}

#[test]
fn a_vcpu_waits_for_what_is_away_as_long_as_the_device_takes() {
    for (share_away, latency_us) in [(0.25, 0.0), (0.5, 0.0), (0.5, 400.0)] {
        let vms = json!({"a": vm(1, "busy", json!({
            "memory": "2 GiB", "memory_limit": format!("{} GiB", 2.0 * (1.0 - share_away)), "balloon": false,
        }))});
        let more = json!({"swap": {"latency": format!("{latency_us} us")}, "reclamation": {"compressed_most_pct": 0}});
        let point = simulate(machine("esxi-8.0", "64 GiB", more), vms);
        let vm = &point.vms["a"];
        // a burst of 10 ms uses 100 pages; a read keeps a channel busy for 90 us
        let faults_s = 100.0 * share_away * (90.0 + latency_us) / 1e6;
        assert_near(vm.throughput_per_s, 1.0 / (0.01 + faults_s), 0.03, "throughput");
        let memory = vm.memory.as_ref().expect("it is limited");
        assert_near(
            memory.swap_wait_pct,
            100.0 * faults_s / (0.01 + faults_s),
            0.03,
            "%SWPWT",
        );
        assert_near(memory.swapped_bytes, 2.0 * share_away * GIB, 0.03, "swapped");
        assert_near(
            memory.swap_in_bytes_per_s,
            vm.throughput_per_s * 100.0 * share_away * PAGE as f64,
            0.03,
            "in",
        );
        assert_near(
            memory.swap_out_bytes_per_s,
            memory.swap_in_bytes_per_s,
            0.2,
            "as much goes out as comes in",
        );
        assert_near(vm.guest_cpu_pct, 100.0, 0.01, "its guest takes the vCPU for busy");
        assert_near(vm.run_pct + memory.swap_wait_pct, 100.0, 0.02, "it runs or waits");
        assert!(
            point.storage["h-swap"].throughput_per_s > 1_000.0,
            "the device is a station"
        );
    }
}

/// 10 ms at the host's 3 GHz, which uses 100 pages whatever clock it was measured at.
#[test]
fn pages_are_used_by_cpu_time_of_the_host() {
    for (reference, cpu) in [("3 GHz", "10 ms"), ("300 MHz", "100 ms"), ("6 GHz", "5 ms")] {
        let mut work = busy();
        merge(&mut work, json!({"cpu": {"mean": cpu}, "reference_clock": reference}));
        let swapped = json!({"memory": "2 GiB", "memory_limit": "1 GiB", "balloon": false});
        let mut compressed = swapped.clone();
        merge(
            &mut compressed,
            json!({"memory_limit": "1.9 GiB", "memory_compressible_pct": 100}),
        );
        let point = |vm_more: Value, most_pct: u32| {
            let more = json!({"reclamation": {"compressed_most_pct": most_pct}});
            let vms = json!({"a": vm(1, "busy", vm_more)});
            let scenario = scenario(
                machine("esxi-8.0", "64 GiB", more),
                vms,
                json!({"busy": work}),
                "8 s",
                "1 s",
            );
            report(&scenario, 1)
        };
        let vm = &point(swapped, 0).vms["a"];
        assert_near(
            vm.throughput_per_s,
            1.0 / (0.01 + 50.0 * 90e-6),
            0.03,
            "50 reads of 90 us",
        );
        let vm = &point(compressed, 100).vms["a"];
        let away = vm.memory.as_ref().expect("it is limited").compressed_bytes / (2.0 * GIB);
        assert!(away > 0.05, "{reference}: {away} of its pages are compressed");
        let work_s = 0.01 + 100.0 * away * 20e-6;
        assert_near(
            vm.throughput_per_s,
            1.0 / work_s,
            0.005,
            "each costs 20 us of the host's CPU",
        );
    }
}

#[test]
fn a_guest_pages_itself_what_its_balloon_took_and_its_vcpu_is_free_meanwhile() {
    let vms = json!({"a": vm(1, "busy", json!({"memory": "2 GiB", "memory_limit": "1 GiB"}))});
    let point = simulate(machine("esxi-8.0", "64 GiB", json!({})), vms);
    let (vm, faults_s) = (&point.vms["a"], 50.0 * 90e-6);
    assert_near(vm.throughput_per_s, 1.0 / (0.01 + faults_s), 0.03, "throughput");
    let memory = vm.memory.as_ref().expect("it is limited");
    assert_near(memory.ballooned_bytes, GIB, 0.01, "ballooned");
    assert_eq!((memory.swapped_bytes, memory.swap_wait_pct), (0.0, 0.0));
    assert_near(
        vm.guest_cpu_pct,
        100.0 * 0.01 / (0.01 + faults_s),
        0.03,
        "its guest is idle meanwhile",
    );
}

#[test]
fn compressed_pages_cost_cpu_and_occupy_half() {
    let vms = json!({"a": vm(1, "busy", json!({
        "memory": "2 GiB", "memory_limit": "1.9 GiB", "balloon": false, "memory_compressible_pct": 100,
    }))});
    let point = simulate(machine("esxi-8.0", "64 GiB", json!({})), vms);
    let memory = point.vms["a"].memory.as_ref().expect("it is limited");
    assert_near(memory.compressed_bytes, 0.2 * GIB, 0.05, "twice of what is lacking");
    assert_near(
        memory.granted_bytes + memory.compressed_bytes / 2.0,
        memory.consumed_bytes,
        1e-9,
        "consumed",
    );
    assert_eq!(memory.swapped_bytes, 0.0);
    // 10 of 100 uses cost 20 us each
    assert_near(
        point.vms["a"].throughput_per_s,
        1.0 / (0.01 + 10.0 * 20e-6),
        0.01,
        "throughput",
    );
}

#[test]
fn shares_reservations_and_use_decide_who_gives() {
    let lost = |more: [Value; 2]| {
        let [a, b] = more.map(|more| {
            let mut vm = vm(1, "busy", json!({"memory": "40 GiB"}));
            merge(&mut vm, more);
            vm
        });
        let point = simulate(machine("esxi-8.0", "64 GiB", json!({})), json!({"a": a, "b": b}));
        let host = point.hosts["h"].memory.as_ref().expect("it is short");
        assert!(host.min_free_bytes > 0.0 && host.overcommit_pct > 20.0);
        ["a", "b"].map(|name| {
            let memory = point.vms[name].memory.as_ref().expect("it is short");
            assert_near(
                memory.target_bytes,
                memory.consumed_bytes,
                0.02,
                "it has what it may keep",
            );
            (memory.ballooned_bytes + memory.swapped_bytes + memory.compressed_bytes) / GIB
        })
    };
    let [a, b] = lost([json!({}), json!({})]);
    assert_near(a, b, 1e-3, "equals give alike");
    // 16 GiB, what the host keeps free, and overhead
    assert!(a + b > 16.0 && a + b < 18.5, "{a} {b}");
    let [a, b] = lost([json!({"memory_reservation": "40 GiB"}), json!({})]);
    assert!(a == 0.0 && b > 16.0, "{a} {b}");
    let [a, b] = lost([json!({"huge_pages": true}), json!({})]);
    assert!(a == 0.0 && b > 16.0, "{a} {b}");
    let [a, b] = lost([json!({"memory_shares": "high"}), json!({})]);
    assert!(a < 1.0 && b > 15.0, "{a} {b}");
    let [a, b] = lost([json!({"memory_active": "1 GiB"}), json!({"memory_active": "40 GiB"})]);
    assert!(a > 15.0 && b < 1.0, "{a} {b}");
}

#[test]
fn zeros_are_shared_before_anything_else_is_taken() {
    let vms = json!({"a": vm(1, "busy", json!({"count": 2, "memory": "40 GiB", "memory_zero_pct": 30}))});
    let point = simulate(machine("esxi-8.0", "64 GiB", json!({})), vms.clone());
    let memory = point.groups["a"].memory.as_ref().expect("it is short");
    assert_near(memory.shared_bytes, 24.0 * GIB, 1e-3, "shared");
    assert_eq!(memory.ballooned_bytes + memory.swapped_bytes, 0.0);
    // KSM is off
    let point = simulate(machine("linux-6.12", "64 GiB", json!({})), vms);
    let memory = point.groups["a"].memory.as_ref().expect("it is short");
    assert!(memory.shared_bytes == 0.0 && memory.swapped_bytes > 15.0 * GIB);
}

/// All of it is there from power-on, and none of it is compared, compressed or swapped.
#[test]
fn huge_pages_are_all_there_and_stay() {
    let zeros = json!({"memory_zero_pct": 60});
    let huge = json!({"huge_pages": true, "memory_touched": "1 GiB"});
    let mut vms =
        json!({"a": vm(1, "busy", json!({"memory": "40 GiB"})), "b": vm(1, "busy", json!({"memory": "40 GiB"}))});
    merge(&mut vms["a"], zeros.clone());
    merge(&mut vms["b"], zeros);
    merge(&mut vms["a"], huge);
    for hypervisor in ["linux-6.12", "esxi-8.0"] {
        let mut vms = vms.clone();
        if hypervisor == "esxi-8.0" {
            vms["a"]["memory_reservation"] = json!("40 GiB");
        }
        let point = simulate(
            machine(
                hypervisor,
                "64 GiB",
                json!({"reclamation": {"page_sharing": "between-vms"}}),
            ),
            vms,
        );
        let memory = |name: &str| point.vms[name].memory.expect("the host is short");
        let (a, b) = (memory("a"), memory("b"));
        assert_eq!((a.consumed_bytes, a.shared_bytes), (40.0 * GIB, 0.0), "{hypervisor}");
        assert!(b.shared_bytes > 16.0 * GIB, "{hypervisor}: {b:?}");
    }
}

#[test]
fn linux_swaps_idle_pages_first_and_balloons_only_where_asked_to() {
    let vms = |more: Value| {
        let mut vm = vm(
            1,
            "busy",
            json!({"count": 2, "memory": "40 GiB", "memory_active": "30 GiB"}),
        );
        merge(&mut vm, more);
        json!({"a": vm})
    };
    let swapping = simulate(machine("linux-6.12", "64 GiB", json!({})), vms(json!({})));
    let memory = swapping.groups["a"].memory.as_ref().expect("it is short");
    assert!(memory.swapped_bytes > 16.0 * GIB && memory.ballooned_bytes == 0.0);
    // what is idle is not missed
    assert_near(swapping.vms["a-1"].throughput_per_s, 100.0, 0.01, "throughput");
    let asked = simulate(
        machine("linux-6.12", "64 GiB", json!({})),
        vms(json!({"balloon": true})),
    );
    let memory = asked.groups["a"].memory.as_ref().expect("it is short");
    // up to 80 % of the host
    assert_near(memory.ballooned_bytes, (80.0 - 0.8 * 64.0) * GIB, 0.01, "ballooned");
}

#[test]
fn linux_kills_the_largest_vm_when_its_swap_is_full() {
    let vms = json!({
        "small": vm(1, "busy", json!({"memory": "20 GiB"})),
        "large": vm(1, "busy", json!({"memory": "50 GiB"})),
    });
    let full = json!({"swap": {"size": "2 GiB"}});
    let killed = simulate(machine("linux-6.12", "64 GiB", full), vms.clone());
    assert_eq!(killed.vms["large"].throughput_per_s, 0.0);
    assert_near(killed.vms["large"].down_s, 8.0, 1e-9, "it stays down");
    let answer = &killed.judgement.text;
    assert!(
        answer.contains("because h had no memory left and killed them: large"),
        "{answer}"
    );
    assert_near(
        killed.vms["small"].throughput_per_s,
        100.0,
        0.2,
        "the other has room again",
    );
    let enough = simulate(
        machine("linux-6.12", "64 GiB", json!({"swap": {"size": "20 GiB"}})),
        vms.clone(),
    );
    assert!(enough.vms["large"].throughput_per_s > 0.0 && enough.vms["large"].down_s == 0.0);
    // ESXi never does
    let held = simulate(machine("esxi-8.0", "64 GiB", json!({"swap": {"size": "2 GiB"}})), vms);
    assert!(held.vms.values().all(|vm| vm.down_s == 0.0));
}

#[test]
fn there_is_a_cliff_where_memory_no_longer_fits_and_none_before() {
    // 13 VMs of 16 vCPUs on a host of 512 GiB, as in a published measurement
    let throughput = |memory: u32| {
        let mut host = host("esxi-6.7", 2, 18, 2);
        host["memory_per_node"] = json!("256 GiB");
        let busy = json!({"arrivals": {"closed": {"population": 4}}, "cpu": {"mean": "10 ms"}});
        let vms = json!({"a": vm(16, "busy", json!({"count": 13, "memory": format!("{memory} GiB")}))});
        let point = report(&scenario(host, vms, json!({"busy": busy}), "1 s", "500 ms"), 1);
        (point.groups["a"].throughput_per_s, point.groups["a"].memory.is_some())
    };
    let (roomy, is_short) = throughput(32);
    assert!(!is_short);
    let (tight, _) = throughput(38);
    assert_near(tight, roomy, 0.01, "494 of 512 GiB");
    let (over, is_short) = throughput(48);
    assert!(is_short && over < 0.5 * roomy, "{over} of {roomy}");
}

/// A host that may be short of memory, and VMs on it.
fn random(seed: u64) -> Scenario {
    let mut dice = Dice::new(seed, "reclaim");
    let hypervisor = dice.pick(&[
        "esxi-4.0",
        "esxi-4.1",
        "esxi-5.5",
        "esxi-6.0",
        "esxi-8.0",
        "linux-6.6",
        "linux-6.12",
    ]);
    let is_esxi = hypervisor.starts_with("esxi");
    let kind = dice.pick(&["hdd-7.2k", "hdd-15k", "sata-ssd", "nvme"]);
    let mut more =
        json!({"swap": {"kind": kind, "count": dice.range(1, 3), "latency": format!("{} us", dice.pick(&[0, 500]))}});
    if dice.one_in(3) {
        more["reclamation"] = json!({
            "page_sharing": dice.pick(&["off", "within-vm", "between-vms"]), "sample_period": "1 s",
            "balloon_most_pct": dice.range(0, 90), "compressed_most_pct": dice.range(0, 30),
        });
    }
    let mut host = machine("esxi-8.0", "8 GiB", more);
    host["hypervisor"] = json!(hypervisor);
    let mut vms = json!({});
    for index in 0..dice.range(2, 5) {
        let memory = dice.range(1, 5);
        let touched = dice.range(memory * 512, memory * 1_024);
        let mut more = json!({
            "memory": format!("{memory} GiB"), "memory_touched": format!("{touched} MiB"),
            "memory_active": format!("{} MiB", dice.range(0, touched)), "memory_zero_pct": dice.pick(&[0, 10, 50]),
            "memory_compressible_pct": dice.range(0, 100), "memory_shares": dice.pick(&["low", "normal", "high"]),
        });
        if dice.one_in(3) {
            more["memory_limit"] = json!(format!("{} MiB", dice.range(64, memory * 1_024)));
        }
        if dice.one_in(3) {
            more["balloon"] = json!(dice.one_in(2));
        }
        if is_esxi && dice.one_in(4) {
            more["memory_reservation"] = json!("64 MiB");
        }
        let workload = dice.pick(&["busy", "many", "all"]);
        if workload != "all" && dice.one_in(3) {
            more["load_steps"] = json!([{"at": "0 s", "factor": 0}, {"at": "1 s", "factor": 1}]);
        }
        vms[format!("v{index}")] = vm(dice.range(1, 3) as u32, workload, more);
    }
    let rate = format!("{} /s", dice.pick(&[100, 5_000, 100_000]));
    let workloads = json!({
        "busy": {"arrivals": {"closed": {"population": 2, "think": {"mean": "1 ms"}}}, "cpu": {"mean": "2 ms"}, "page_rate": rate},
        "many": {"arrivals": {"open": {"rate": "50 /s"}}, "cpu": {"mean": "5 ms"}, "delay": {"mean": "1 ms"}, "page_rate": rate},
        "all": {"arrivals": {"parallel": {"parts": "node"}}, "cpu": {"mean": "10 ms"}, "bursts": 4, "page_rate": rate},
    });
    scenario(host, vms, workloads, "2 s", "500 ms")
}

#[test]
fn every_page_is_somewhere_and_all_of_a_hosts_memory_is_accounted_for() {
    let mut short = 0;
    for seed in seeds(40) {
        let scenario = random(seed);
        let touched: Vec<u64> = scenario
            .vm_names()
            .into_iter()
            .map(|(_, vm)| vm.touched().bytes() / PAGE)
            .collect();
        let memory = 8 * (GIB as u64) / (PAGE / 2);
        let mut checks = 0_u64;
        let result = watched_run(&scenario, replication_seed(seed, 0), |view| {
            checks += 1;
            if !checks.is_multiple_of(16) {
                return;
            }
            for (vm, &touched) in touched.iter().enumerate() {
                assert_eq!(view.pages(vm).total(), touched, "seed {seed}: pages of VM {vm}");
            }
            let held: u64 = (0..touched.len())
                .map(|vm| 2 * view.pages(vm).granted + view.pages(vm).compressed)
                .sum();
            let (of_host, overhead, free) = view.host_memory(0);
            assert_eq!(held, of_host, "seed {seed}: what VMs hold");
            assert_eq!(
                (held + overhead) as i64 + free,
                memory as i64,
                "seed {seed}: all memory"
            );
        });
        let result = result.expect("it runs");
        let again = run(&scenario, replication_seed(seed, 0)).expect("it runs");
        assert_eq!(result.to_bytes(), again.to_bytes(), "seed {seed}");
        short += u64::from(result.hosts[0].reclaimed.is_some_and(|host| host.state >= 2));
        for vm in &result.vms {
            let times = vm.run_pct + vm.ready_pct + vm.costop_pct + vm.wait_pct;
            assert!((times - 100.0).abs() < 1e-6, "seed {seed}: {times} % of {}", vm.name);
            let waited = vm.reclaimed.map_or(0.0, |memory| memory.swap_wait_pct);
            assert!(
                waited <= vm.wait_pct + 1e-9,
                "seed {seed}: {waited} % of {} waited",
                vm.name
            );
        }
    }
    assert!(short > 5 || !support::usual_seeds(), "{short} were short of memory");
}

#[test]
fn memory_goes_with_vms_that_stop_start_and_move() {
    let mut short = 0;
    for seed in 0..20 {
        let mut dice = Dice::new(seed, "moves");
        let mut host = machine(dice.pick(&["esxi-5.5", "esxi-8.0", "linux-6.12"]), "8 GiB", json!({}));
        host["count"] = json!(2);
        let balloon = dice.one_in(2);
        let vms = json!({"v": vm(1, "busy", json!({"count": 4, "memory": "3 GiB", "balloon": balloon}))});
        let mut scenario = scenario(host, vms, workloads(), "2 s", "0 s");
        let mut text = json!({
            "name": "more", "hosts": {"h": {"count": 2}}, "workloads": workloads(),
            "vms": {"v": vm(1, "busy", json!({}))}, "events": [{"at": "1 h", "maintenance": "h-1"}],
        });
        merge(&mut text["hosts"]["h"], support::host("esxi-8.0", 1, 8, 1));
        scenario.events = Scenario::from_json(&text.to_string()).expect("it is valid").events;
        let (mut next, mut stopped) = (0, None);
        let result = driven_run(&scenario, seed, |driver| {
            if driver.view().now() >= next {
                next += 50_000_000;
                match stopped.take() {
                    None => {
                        let vm = dice.range(0, 3) as usize;
                        driver.stop(vm);
                        assert_eq!(driver.view().pages(vm).total(), 0, "seed {seed}: it gives all back");
                        stopped = Some(vm);
                    }
                    Some(vm) => {
                        driver.place(vm, dice.range(0, 1) as usize);
                        driver.start(vm);
                    }
                }
            }
            let view = driver.view();
            for host in 0..2 {
                let here = (0..4)
                    .filter(|&vm| view.host_of(vm) == Some(host))
                    .map(|vm| view.pages(vm));
                let held: u64 = here.map(|pages| 2 * pages.granted + pages.compressed).sum();
                let (of_host, overhead, free) = view.host_memory(host);
                assert_eq!(held, of_host, "seed {seed}: what VMs hold of host {host}");
                assert_eq!(
                    (held + overhead) as i64 + free,
                    8 * (GIB as i64) / 2_048,
                    "seed {seed}: all memory"
                );
            }
        });
        let hosts = result.expect("it runs").hosts;
        short += hosts
            .iter()
            .filter(|host| host.reclaimed.is_some_and(|memory| memory.state >= 2))
            .count();
    }
    assert!(short > 5, "{short} hosts were short");
}
