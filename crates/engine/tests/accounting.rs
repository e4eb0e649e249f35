//! The accounting identities of ESXi, and shares, reservations and limits, in whole runs.

use crate::support;

use hypertwin_engine::PointReport;
use hypertwin_sharing::{Claim, proportional_share};
use serde_json::{Value, json};
use support::{host, hungry, report, scenario, vm};

#[test]
fn two_always_busy_siblings_run_100_and_use_62_5_percent() {
    let vms = json!({"v": vm(1, "w", json!({"count": 2}))});
    let report = report(
        &scenario(host("esxi-6.0", 1, 1, 2), vms, json!({"w": hungry(1)}), "20 s", "1 s"),
        1,
    );
    for vm in report.vms.values() {
        assert_eq!((vm.run_pct, vm.used_pct, vm.ready_pct), (100.0, 62.5, 0.0));
    }
    let host = &report.hosts["h"];
    assert_eq!(
        (host.utilization_pct, host.core_utilization_pct, host.usage_pct),
        (100.0, 100.0, 100.0)
    );
}

#[test]
fn each_node_has_what_runs_and_lies_on_it() {
    for (hypervisor, shared_charge) in [("esxi-6.5", 0.625), ("linux-6.6", 1.0)] {
        let vms = json!({
            // on cores of their own, and two on the threads of one core
            "apart": vm(2, "two", json!({"affinity": "0-7", "memory": "256 GiB"})),
            "beside": vm(2, "two", json!({"affinity": "8-9", "memory": "512 GiB"})),
            "idle": vm(1, "two", json!({"affinity": "0-7", "load": 0, "memory": "128 GiB"})),
        });
        let workloads = json!({"two": hungry(2)});
        let report = report(&scenario(host(hypervisor, 2, 4, 2), vms, workloads, "2 s", "1 s"), 2);
        let host = &report.hosts["h"];
        let usage = [2.0, 2.0 * shared_charge].map(|cores| 100.0 * cores / 4.0);
        assert_eq!(
            [0, 1].map(|node| host.nodes[&node.to_string()].usage_pct),
            usage,
            "{hypervisor}"
        );
        assert_eq!(host.usage_pct, usage.iter().sum::<f64>() / 2.0);
        let (first, second) = (&host.nodes["0"], &host.nodes["1"]);
        assert_eq!((first.vcpus, second.vcpus), (3.0, 2.0));
        assert_eq!((first.memory_mb, second.memory_mb), (384.0 * 1024.0, 512.0 * 1024.0));
        // of 1 TiB, of which the hypervisor takes some for itself
        let room_mb = [first, second].map(|node| 100.0 * node.memory_mb / node.memory_pct);
        assert!((room_mb[0] - room_mb[1]).abs() < 1e-6 && room_mb[0] <= 1024.0 * 1024.0 && room_mb[0] > 900.0 * 1024.0);
    }
}

/// 10 ms of a 3 GHz core, 40 % of which waits for memory, fifty times a second: 4 of them stay at any clock, 6 are 18 M
/// cycles.
#[test]
fn the_same_work_measured_at_another_clock_costs_the_same() {
    for (reference, cpu, intensity) in [
        ("3 GHz", "10 ms", 0.4),
        ("300 MHz", "64 ms", 4.0 / 64.0),
        ("6 GHz", "7 ms", 4.0 / 7.0),
    ] {
        let mut machine = host("esxi-8.0", 1, 4, 1);
        machine["overhead"] = json!({
            "worlds_per_vm": 1, "cpu_per_io": "0 us", "activity_pct": 10, "interrupt_share_pct": 0, "guest_work_pct": 0,
        });
        let work = json!({
            "arrivals": {"open": {"rate": "50 /s", "cv": 0}}, "cpu": {"mean": cpu, "cv": 0}, "reference_clock": reference,
            "memory_intensity": intensity, "memory_traffic": "1 GB/s",
        });
        let vms = json!({"v": vm(1, "w", json!({}))});
        let report = report(&scenario(machine, vms, json!({"w": work}), "20 s", "1 s"), 1);
        let (vm, host) = (&report.vms["v"], &report.hosts["h"]);
        for (actual, expected, what) in [
            (vm.used_pct, 50.0, "half of a vCPU's time"),
            (host.overhead_pct, 0.1 * 50.0 / 4.0, "a tenth of that, of four cores"),
            (host.usage_pct, 1.1 * 50.0 / 4.0, "both"),
            (vm.memory_gb_per_s, 0.5, "1 GB/s while it computes"),
        ] {
            assert!(
                (actual - expected).abs() < 2e-3 * expected,
                "{reference}: {actual} instead of {expected}, {what}"
            );
        }
    }
}

/// Work that waits for memory takes its time, whatever the work per cycle.
#[test]
fn twice_the_work_per_cycle_halves_the_time_of_what_does_not_wait_for_memory() {
    for (factor, turbo, intensity, expected) in [
        (2.0, "3 GHz", 0.0, 25.0),
        (2.0, "6 GHz", 0.0, 12.5),
        (0.5, "3 GHz", 0.0, 100.0),
        (2.0, "3 GHz", 0.4, 35.0),
    ] {
        let mut machine = host("esxi-8.0", 1, 4, 1);
        machine["turbo"] = json!(turbo);
        machine["work_per_cycle"] = json!(factor);
        let work = json!({
            "arrivals": {"open": {"rate": "10 /s", "cv": 0}}, "cpu": {"mean": "50 ms", "cv": 0},
            "memory_intensity": intensity,
        });
        let vms = json!({"v": vm(2, "w", json!({}))});
        let report = report(&scenario(machine, vms, json!({"w": work}), "20 s", "1 s"), 1);
        let busy_pct = 2.0 * report.vms["v"].run_pct;
        assert!(
            (busy_pct - expected).abs() < 0.01 * expected,
            "{factor}, {turbo}: {busy_pct} instead of {expected}"
        );
    }
}

#[test]
fn smt_yield_is_what_two_siblings_do_together() {
    let mut machine = host("esxi-6.0", 1, 1, 2);
    machine["smt_yield"] = json!(1.2);
    let work = json!({"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "10 ms", "cv": 0}});
    let vms = json!({"v": vm(1, "w", json!({"count": 2}))});
    let report = report(&scenario(machine, vms, json!({"w": work}), "20 s", "1 s"), 1);
    assert!(
        (report.groups["v"].throughput_per_s - 120.0).abs() < 0.2,
        "{}",
        report.groups["v"].throughput_per_s
    );
}

#[test]
fn each_vcpu_goes_by_the_yield_of_its_own_workload() {
    let mut machine = host("esxi-6.0", 1, 1, 2);
    machine["smt_yield"] = json!(1.2);
    let work = json!({"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "10 ms", "cv": 0}});
    let mut spinning = work.clone();
    spinning["smt_yield"] = json!(1.0);
    let vms = json!({"v": vm(1, "w", json!({})), "s": vm(1, "spinning", json!({}))});
    let report = report(
        &scenario(machine, vms, json!({"w": work, "spinning": spinning}), "20 s", "1 s"),
        1,
    );
    for (name, per_s) in [("v", 60.0), ("s", 50.0)] {
        let found = report.vms[name].throughput_per_s;
        assert!((found - per_s).abs() < 0.1, "{name}: {found}");
    }
}

#[test]
fn a_guest_scales_by_the_universal_law_over_the_vcpus_that_are_busy() {
    let (contention, coherency) = (0.05, 0.002);
    let alone =
        json!({"cpu": {"mean": "2 ms", "cv": 0}, "scaling": {"contention": contention, "coherency": coherency}});
    let arrivals = |kind: &str, busy: u32| match kind {
        "closed" => json!({"closed": {"population": busy}}),
        _ => json!({"parallel": {"parts": "vcpu"}}),
    };
    // the last one: sessions queue in the guest, and no more than its 8 vCPUs are busy
    for (kind, sessions, busy) in [
        ("closed", 1, 1.0),
        ("closed", 3, 3.0),
        ("closed", 8, 8.0),
        ("parallel", 8, 8.0),
        ("closed", 20, 8.0),
    ] {
        let mut work = alone.clone();
        work["arrivals"] = arrivals(kind, sessions);
        if kind == "parallel" {
            work["cpu"]["mean"] = json!("16 ms");
        }
        let scenario = scenario(
            host("esxi-6.0", 1, 8, 1),
            json!({"v": vm(8, "w", json!({}))}),
            json!({"w": work}),
            "5 s",
            "1 s",
        );
        let report = report(&scenario, 1);
        // capacity of `busy` vCPUs, as Gunther writes it
        let capacity = busy / (1.0 + contention * (busy - 1.0) + coherency * busy * (busy - 1.0));
        let per_burst = if kind == "parallel" { 8.0 } else { 1.0 };
        let found = report.vms["v"].throughput_per_s * per_burst / 500.0;
        assert!(
            (found / capacity - 1.0).abs() < 0.005,
            "{kind} {sessions}: {found} for {capacity}"
        );
    }
}

#[test]
fn without_a_hypervisor_the_system_has_the_host_and_nothing_beside_it() {
    let work =
        json!({"arrivals": {"closed": {"population": 12}}, "cpu": {"mean": "10 ms", "cv": 0}, "bursts": 2, "ios": 100});
    // overhead that a hypervisor has by default: each I/O costs it 25 us, of which the guest's CPUs lose 30 %
    let bare = |hypervisor: &str, vcpus: u32, guest_work_pct: f64| {
        let mut machine = host(hypervisor, 1, 4, 2);
        let overhead = machine.as_object_mut().unwrap().remove("overhead").unwrap();
        if hypervisor != "none" {
            machine["overhead"] = overhead;
            machine["overhead"]["guest_work_pct"] = json!(guest_work_pct);
            machine["overhead"]["cpu_per_io"] = json!("25 us");
            machine["overhead"]["interrupt_share_pct"] = json!(30);
        }
        let vms = json!({"v": vm(vcpus, "w", json!({}))});
        report(&scenario(machine, vms, json!({"w": work}), "20 s", "1 s"), 1)
    };
    // four cores, eight threads of which two do 1.25 times one's work, and fewer cores, which come before threads
    for (vcpus, per_s) in [(8, 500.0), (4, 400.0), (3, 300.0), (6, 450.0)] {
        let found = bare("none", vcpus, 0.0);
        let (system, host) = (&found.vms["v"], &found.hosts["h"]);
        assert!(
            (system.throughput_per_s - per_s).abs() < 0.005 * per_s,
            "{vcpus}: {}",
            system.throughput_per_s
        );
        assert!(system.ready_pct + system.costop_pct < 1e-9, "{vcpus}: {system:?}");
        assert!(host.overhead_pct < 1e-9, "{vcpus}");
    }
    let virtual_ = bare("esxi-6.0", 3, 0.0).vms["v"].throughput_per_s;
    assert!(
        virtual_ < 300.0,
        "{virtual_}: the hypervisor's interrupts cost the guest"
    );
    let slower = bare("esxi-6.0", 3, 10.0).vms["v"].throughput_per_s;
    assert!(
        (slower * 1.1 / virtual_ - 1.0).abs() < 0.02,
        "{slower} of {virtual_}: work takes 10 % longer"
    );
}

#[test]
fn turbo_does_more_work_and_is_charged_for_it() {
    let mut machine = host("esxi-6.0", 1, 2, 1);
    machine["turbo"] = json!("3.6 GHz");
    let work = json!({"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "10 ms", "cv": 0}});
    let bound =
        json!({"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "10 ms", "cv": 0}, "memory_intensity": 1});
    let vms = json!({"free": vm(1, "w", json!({})), "stalled": vm(1, "m", json!({}))});
    let report = report(
        &scenario(machine, vms, json!({"w": work, "m": bound}), "20 s", "1 s"),
        1,
    );
    assert!((report.vms["free"].throughput_per_s - 120.0).abs() < 0.2);
    assert!(
        (report.vms["stalled"].throughput_per_s - 100.0).abs() < 0.2,
        "a stall on memory does not end sooner"
    );
    assert!((report.vms["free"].used_pct - 120.0).abs() < 1e-9);
}

#[test]
fn a_reservation_beats_shares_and_the_rest_is_divided_by_shares() {
    // A 6 GHz host: v1 wants 500 MHz; v2 reserves 2,250 MHz; v3 has two vCPUs and twice the shares.
    let sixth = json!({"arrivals": {"open": {"rate": "100 /s", "cv": 0}}, "cpu": {"mean": "1666667 ns", "cv": 0}});
    let vms = json!({
        "v1": vm(1, "sixth", json!({"shares": 1000})),
        "v2": vm(1, "hungry", json!({"shares": 1000, "reservation": "2250 MHz"})),
        "v3": vm(2, "hungry2", json!({"shares": 2000})),
    });
    let workloads = json!({"sixth": sixth, "hungry": hungry(1), "hungry2": hungry(2)});
    let report = report(&scenario(host("esxi-6.0", 1, 2, 1), vms, workloads, "120 s", "5 s"), 1);
    let used = |name: &str| report.vms[name].used_mhz;
    assert!((used("v1") - 500.0).abs() < 10.0, "{}", used("v1"));
    assert!((used("v2") - 2250.0).abs() < 45.0, "{}", used("v2"));
    assert!((used("v3") - 3250.0).abs() < 65.0, "{}", used("v3"));
}

/// Two VMs, high and low, with a session for each vCPU that computes for 100 ms on average and then thinks, on a host
/// that has as many cores as each has vCPUs, with the default overhead. High's part of what both use, and what is due.
fn high_beside_low(hypervisor: &str, vcpus: u32, threads: u32, think_ms: f64) -> (f64, f64) {
    let mut machine = host(hypervisor, 1, vcpus, threads);
    machine.as_object_mut().unwrap().remove("overhead");
    let think = format!("{think_ms} ms");
    let sessions =
        json!({"arrivals": {"closed": {"population": vcpus, "think": {"mean": think}}}, "cpu": {"mean": "100 ms"}});
    let vms = json!({
        "high": vm(vcpus, "w", json!({"shares": "high"})),
        "low": vm(vcpus, "w", json!({"shares": "low"})),
    });
    let report = report(&scenario(machine, vms, json!({"w": sessions}), "200 s", "10 s"), 1);
    let (high, low) = (report.vms["high"].used_mhz, report.vms["low"].used_mhz);
    // Alone each would use so much; what one does not want is the other's.
    let wanted = f64::from(vcpus) * 3000.0 * 100.0 / (100.0 + think_ms);
    let due = proportional_share(high + low, &[Claim::new(4.0, wanted), Claim::new(1.0, wanted)]);
    (high / (high + low), due[0] / (high + low))
}

#[test]
fn high_and_low_shares_divide_80_to_20() {
    for hypervisor in ["esxi-5.0", "esxi-6.7", "esxi-8.0"] {
        for vcpus in [1, 2, 4, 8] {
            for think_ms in [0.0, 20.0, 60.0] {
                let (part, due) = high_beside_low(hypervisor, vcpus, 1, think_ms);
                assert!(
                    (part - due).abs() < 0.02,
                    "{hypervisor}, {vcpus} vCPUs, {think_ms} ms: {part} of {due}"
                );
            }
        }
    }
    for (hypervisor, threads) in [("esxi-6.0", 2), ("linux-6.6", 1)] {
        let vms = json!({
            "high": vm(4, "w", json!({"shares": "high"})),
            "low": vm(4, "w", json!({"shares": "low"})),
        });
        let machine = host(hypervisor, 1, 4, threads);
        let report = report(&scenario(machine, vms, json!({"w": hungry(4)}), "120 s", "10 s"), 1);
        let (high, low) = (report.vms["high"].used_mhz, report.vms["low"].used_mhz);
        let part = high / (high + low);
        assert!((part - 0.8).abs() < 0.02, "{hypervisor} with {threads} threads: {part}");
    }
}

/// Beside limited VMs the others divide what these leave by their shares, whatever the phases of limits and quanta.
#[test]
fn limits_do_not_disturb_the_division_by_shares() {
    let short = json!({"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "5 ms"}});
    let cases = [
        (
            "esxi-8.0",
            2,
            short,
            json!({
                "low": {"shares": "low"}, "normal": {"shares": "normal"},
                "cap-a": {"shares": "high", "limit": "427 MHz"}, "cap-b": {"shares": "normal", "limit": "322 MHz"},
                "cap-c": {"shares": "low", "limit": "144 MHz"},
            }),
            vec![
                ("low", 369.0),
                ("normal", 738.0),
                ("cap-a", 427.0),
                ("cap-b", 322.0),
                ("cap-c", 144.0),
            ],
        ),
        (
            "esxi-6.0",
            3,
            hungry(1),
            json!({
                "a": {"shares": 500}, "b": {"shares": 500}, "d": {"shares": 500}, "e": {"shares": 500},
                "cap": {"shares": 1000, "reservation": "149 MHz", "limit": "421 MHz"},
            }),
            vec![
                ("a", 644.75),
                ("b", 644.75),
                ("d", 644.75),
                ("e", 644.75),
                ("cap", 421.0),
            ],
        ),
        // Two that start together at the same pace would leave the others no core to divide.
        (
            "esxi-6.0",
            2,
            hungry(1),
            json!({
                "low": {"shares": "low"}, "normal": {"shares": "normal"},
                "cap-a": {"shares": "high", "limit": "300 MHz"}, "cap-b": {"shares": "high", "limit": "300 MHz"},
            }),
            vec![("low", 466.7), ("normal", 933.3), ("cap-a", 300.0), ("cap-b", 300.0)],
        ),
    ];
    for (hypervisor, cores, work, specs, due) in cases {
        let mut machine = host(hypervisor, 1, cores, 1);
        machine["clock"] = json!("1 GHz");
        let vms: serde_json::Map<_, _> = specs
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, more)| (name.clone(), vm(1, "w", more.clone())))
            .collect();
        let report = report(&scenario(machine, json!(vms), json!({"w": work}), "60 s", "5 s"), 1);
        for (name, due) in due {
            let used = report.vms[name].used_mhz;
            assert!(
                (used / due - 1.0).abs() < 0.03,
                "{hypervisor}, {name}: {used} MHz of {due}"
            );
        }
    }
}

/// Denneman's example: VM2 is left what VM1 and VM3 do not want; co-scheduling its six vCPUs leaves no core idle.
#[test]
fn a_vm_gets_what_the_others_leave_though_its_vcpus_are_co_scheduled() {
    let mut machine = host("esxi-5.0", 1, 6, 1);
    machine["clock"] = json!("1 GHz");
    let open = |rate: &str| json!({"arrivals": {"open": {"rate": rate}}, "cpu": {"mean": "10 ms"}});
    let vms = json!({
        "vm1": vm(1, "half", json!({"shares": 1000})),
        "vm2": vm(6, "hungry", json!({"shares": 1000, "reservation": "2250 MHz"})),
        "vm3": vm(6, "two", json!({"shares": 2000})),
    });
    let workloads = json!({"half": open("50 /s"), "hungry": hungry(6), "two": open("200 /s")});
    let report = report(&scenario(machine, vms, workloads, "60 s", "5 s"), 1);
    let left = 6000.0 - report.vms["vm1"].used_mhz - report.vms["vm3"].used_mhz;
    let used = report.vms["vm2"].used_mhz;
    assert!((left / 3500.0 - 1.0).abs() < 0.03, "{left}");
    assert!((used / left - 1.0).abs() < 0.01, "{used} MHz of {left}");
}

#[test]
fn on_kvm_shares_hold_for_any_width_with_helpers_and_pauses() {
    for vcpus in [1, 2, 4, 8] {
        let mut machine = host("linux-6.12", 1, vcpus, 1);
        machine.as_object_mut().unwrap().remove("overhead");
        let closed = |population: u32, think: &str, mean: &str| json!({"arrivals": {"closed": {"population": population, "think": {"mean": think}}}, "cpu": {"mean": mean}});
        for work in [closed(vcpus, "0 ms", "100 ms"), closed(8 * vcpus, "20 ms", "20 ms")] {
            let vms = json!({
                "high": vm(vcpus, "w", json!({"shares": "high"})),
                "low": vm(vcpus, "w", json!({"shares": "low"})),
            });
            let text = work.to_string();
            let report = report(&scenario(machine.clone(), vms, json!({"w": work}), "40 s", "5 s"), 1);
            let (high, low) = (report.vms["high"].run_pct, report.vms["low"].run_pct);
            let part = high / (high + low);
            assert!((part - 0.8).abs() < 0.02, "{vcpus} vCPUs, {text}: {part}");
        }
    }
}

/// What `run` and `ready` of busy guests in QEMU on two CPUs were, in per cent of a vCPU.
#[test]
fn busy_guests_on_two_cpus_run_and_wait_as_in_qemu() {
    for (count, vcpus, run_pct, ready_pct) in [
        (1, 1, 99.8, 0.0),
        (1, 2, 97.7, 1.3),
        (2, 2, 49.2, 50.8),
        (2, 4, 24.6, 75.4),
    ] {
        let mut machine = host("linux-6.12", 1, 2, 1);
        machine.as_object_mut().unwrap().remove("overhead");
        let vms = json!({"busy": vm(vcpus, "w", json!({"count": count}))});
        let work = json!({"arrivals": {"closed": {"population": vcpus}}, "cpu": {"mean": "1 s", "cv": 0}});
        let report = report(&scenario(machine, vms, json!({"w": work}), "20 s", "5 s"), 1);
        let busy = &report.groups["busy"];
        assert!(
            (busy.run_pct - run_pct).abs() < 2.0 && (busy.ready_pct - ready_pct).abs() < 2.0,
            "{count} x {vcpus}: {} / {}",
            busy.run_pct,
            busy.ready_pct
        );
    }
}

#[test]
fn a_limit_caps_and_counts_as_limited_ready_time() {
    for hypervisor in ["esxi-6.0", "linux-6.6"] {
        let vms = json!({"v": vm(2, "w", json!({"limit": "1500 MHz"}))});
        let report = report(
            &scenario(host(hypervisor, 1, 2, 1), vms, json!({"w": hungry(2)}), "20 s", "1 s"),
            1,
        );
        let vm = &report.vms["v"];
        assert!((vm.used_mhz - 1500.0).abs() < 15.0, "{}", vm.used_mhz);
        assert!(
            (vm.limited_pct - 75.0).abs() < 1.0
                && (vm.ready_pct - vm.limited_pct).abs() < 1e-9
                && vm.waiting_pct < 1e-9,
            "{vm:?}"
        );
    }
}

/// Two VMs on one core may use a quarter of it each. Renewed together, they would wait for each other for 25 of 100 ms.
/// Renewed d ms apart, they do so for 25 - d, if d is less: 6.25 on average.
#[test]
fn each_quota_of_linux_is_renewed_at_times_of_its_own() {
    let vms = json!({"v": vm(1, "w", json!({"count": 2, "limit": "750 MHz"}))});
    let report = report(
        &scenario(host("linux-6.6", 1, 1, 1), vms, json!({"w": hungry(1)}), "2 s", "1 s"),
        400,
    );
    let waiting_pct = report.vms.values().map(|vm| vm.waiting_pct).sum::<f64>() / 2.0;
    assert!((waiting_pct - 6.25).abs() < 1.0, "{waiting_pct}");
}

/// VMware's example: 4 vCPUs at 2.7 GHz with a limit of 4 GHz use 3.95 GHz, are 40.7 % ready, and want 6.6 GHz.
#[test]
fn waiting_at_a_limit_is_ready_and_no_demand() {
    for hypervisor in ["esxi-6.0", "esxi-8.0", "linux-6.6"] {
        let mut machine = host(hypervisor, 1, 8, 1);
        machine["clock"] = json!("2.7 GHz");
        // alone they would be busy for 10 of 16.4 ms: 6.59 GHz
        let sessions =
            json!({"arrivals": {"closed": {"population": 4, "think": {"mean": "6.4 ms"}}}, "cpu": {"mean": "10 ms"}});
        let vms = json!({"v": vm(4, "w", json!({"limit": "4 GHz"}))});
        let report = report(&scenario(machine, vms, json!({"w": sessions}), "60 s", "10 s"), 1);
        let vm = &report.vms["v"];
        assert!(
            (vm.used_mhz / 3950.0 - 1.0).abs() < 0.02,
            "{hypervisor}: {}",
            vm.used_mhz
        );
        assert!((vm.ready_pct - 40.7).abs() < 2.0, "{hypervisor}: {}", vm.ready_pct);
        assert!(
            (vm.demand_mhz / 6600.0 - 1.0).abs() < 0.02,
            "{hypervisor}: {}",
            vm.demand_mhz
        );
    }
}

#[test]
fn interrupts_are_system_time_of_the_vm_and_overlap_of_what_they_hit() {
    let mut machine = host("esxi-6.0", 1, 1, 1);
    machine["overhead"] =
        json!({"worlds_per_vm": 1, "cpu_per_io": "100 us", "activity_pct": 0, "interrupt_share_pct": 100});
    let work = json!({
        "arrivals": {"closed": {"population": 4}}, "cpu": {"mean": "10 ms", "cv": 0}, "delay": {"mean": "5 ms"}, "ios": 10,
    });
    let vms = json!({"v": vm(1, "w", json!({}))});
    let mut fast = machine.clone();
    fast["turbo"] = json!("4 GHz");
    for host in [&machine, &fast] {
        let report = report(
            &scenario(host.clone(), vms.clone(), json!({"w": work}), "20 s", "1 s"),
            1,
        );
        let vm = &report.vms["v"];
        let expected_pct = vm.iops * 100e-6 * 100.0; // at the nominal clock
        assert!(
            (vm.system_pct / expected_pct - 1.0).abs() < 0.01,
            "{expected_pct}: {vm:?}"
        );
    }
    let report = report(&scenario(machine, vms, json!({"w": work}), "20 s", "1 s"), 1);
    let vm = &report.vms["v"];
    assert!((vm.iops - 10.0 * vm.throughput_per_s).abs() < 20.0);
    assert!(
        vm.overlap_pct > 7.0 && (vm.system_pct - vm.overlap_pct).abs() < 0.5,
        "{vm:?}"
    );
    assert!((vm.used_pct - (vm.run_pct + vm.system_pct - vm.overlap_pct)).abs() < 1e-9);
}

#[test]
fn a_laggard_stops_its_siblings_on_esxi_and_not_on_linux() {
    // A four-vCPU VM whose CPUs are shared with a hungry neighbour on one of them.
    for (hypervisor, costopped) in [("esxi-6.0", true), ("linux-6.6", false)] {
        let vms = json!({
            "wide": vm(4, "w4", json!({"affinity": "0-3"})),
            "thin": vm(1, "w1", json!({"affinity": "0"})),
        });
        let workloads = json!({"w4": hungry(4), "w1": hungry(1)});
        let report = report(&scenario(host(hypervisor, 1, 4, 1), vms, workloads, "20 s", "1 s"), 1);
        let wide = &report.vms["wide"];
        assert_eq!(wide.costop_pct > 1.0, costopped, "{hypervisor}: {wide:?}");
        let total = wide.run_pct + wide.ready_pct + wide.costop_pct + wide.wait_pct;
        assert!((total - 100.0).abs() < 1e-9, "{total}");
    }
}

#[test]
fn the_guest_sees_less_than_the_host() {
    // Two VMs that together want more than the host has: inside, the CPU is busy all the time and nothing looks wrong.
    let vms = json!({"v": vm(4, "w", json!({"count": 2}))});
    let report = report(
        &scenario(host("esxi-6.0", 1, 4, 1), vms, json!({"w": hungry(4)}), "20 s", "1 s"),
        1,
    );
    for vm in report.vms.values() {
        assert!(vm.guest_cpu_pct > 99.0 && vm.run_pct < 52.0, "{vm:?}");
    }
}

#[test]
fn load_steps_change_the_load_over_time() {
    let work = json!({"arrivals": {"open": {"rate": "100 /s", "cv": 0}}, "cpu": {"mean": "1 ms", "cv": 0}});
    let steps =
        json!({"load_steps": [{"at": "10 s", "factor": 2}, {"at": "20 s", "factor": 0}, {"at": "25 s", "factor": 1}]});
    let vms = json!({"v": vm(1, "w", steps)});
    let report = report(
        &scenario(host("esxi-6.0", 1, 1, 1), vms, json!({"w": work}), "30 s", "0 s"),
        1,
    );
    let times = report.timeline.time_s.iter();
    for (time, per_s) in times.zip(&report.timeline.vms["v"].throughput_per_s) {
        // in each 100 ms, as of the first after a step; a transaction may end in the next
        let expected = match *time {
            ..10.05 => 100.0,
            ..20.05 => 200.0,
            ..25.05 => 0.0,
            _ => 100.0,
        };
        assert!((per_s - expected).abs() < 10.5, "{time} s: {per_s} for {expected}");
    }
    let vm = &report.vms["v"];
    assert!((vm.guest_cpu_pct - 35.0 / 3.0).abs() < 0.1, "{vm:?}");
    assert!((vm.guest_cpu_peak_pct - 20.0).abs() < 1e-3, "{vm:?}");
}

/// Those who come at a rate that rises or pauses come as often as it says, in whatever part of a gap that is.
#[test]
fn arrivals_follow_the_load_whatever_gap_is_under_way() {
    let work = |rate: &str, cv: f64| json!({"arrivals": {"open": {"rate": rate, "cv": cv}}, "cpu": {"mean": "1 ms"}});
    let steps = |steps: Value| json!({"count": 60, "load_steps": steps});
    let step = |at: u32, factor: f64| json!({"at": format!("{at} s"), "factor": factor});
    let pauses: Vec<Value> = (1..8)
        .flat_map(|pause| [step(100 * pause, 0.0), step(100 * pause + 1, 1.0)])
        .collect();
    let rises = vec![step(0, 0.02), step(400, 2.0)];
    let vms = json!({
        "even": vm(1, "even", steps(json!(pauses))), "random": vm(1, "random", steps(json!(pauses))),
        "night": vm(1, "random", steps(json!(rises))), "clock": vm(1, "even", steps(json!(rises))),
    });
    let mut large = host("esxi-7.0", 2, 32, 1);
    large["memory_per_node"] = json!("1 TiB");
    let workloads = json!({"even": work("0.2 /s", 0.0), "random": work("0.2 /s", 1.0)});
    let report = report(&scenario(large, vms, workloads, "800 s", "0 s"), 1);
    for (name, seconds, margin) in [
        ("even", 793.0, 0.003),
        ("random", 793.0, 0.05),
        ("night", 8.0 + 800.0, 0.05),
        ("clock", 8.0 + 800.0, 0.003),
    ] {
        let expected = 60.0 * 0.2 * seconds / 800.0;
        let per_s = report.groups[name].throughput_per_s;
        assert!((per_s / expected - 1.0).abs() < margin, "{name}: {per_s} of {expected}");
    }
}

/// VMs that do the same at the same pace do not do it at the same time, nor do sessions that come together.
#[test]
fn paces_of_one_workload_have_phases_of_their_own() {
    let polls = json!({"arrivals": {"open": {"rate": "2 /s", "cv": 0}}, "cpu": {"mean": "20 ms", "cv": 0}});
    let think = json!({"mean": "30 s", "cv": 0});
    let rounds = json!({
        "arrivals": {"closed": {"population": 400, "think": think}}, "cpu": {"mean": "20 ms", "cv": 0},
    });
    // before the sessions of the first would all have thought once
    let grows = json!({"load_steps": [{"at": "0 s", "factor": 0.1}, {"at": "15 s", "factor": 1}]});
    let vms = json!({"polls": vm(1, "polls", json!({"count": 32})), "rounds": vm(2, "rounds", grows)});
    let workloads = json!({"polls": polls, "rounds": rounds});
    let report = report(&scenario(host("esxi-7.0", 2, 6, 1), vms, workloads, "180 s", "0 s"), 1);
    for (name, most_ms) in [("polls", 22.0), ("rounds", 26.0)] {
        let vm = &report.groups[name];
        let mean_ms = vm.response_ms.mean.unwrap();
        assert!(
            (20.0..most_ms).contains(&mean_ms) && vm.ready_pct < 1.0,
            "{name}: {vm:?}"
        );
    }
}

/// Worlds that wait for some CPUs only, and worlds that wait for any, take turns on them by one virtual time.
#[test]
fn a_pinned_vm_has_its_share_beside_vms_that_run_anywhere() {
    let even = |population: u32| json!({"arrivals": {"closed": {"population": population}}, "cpu": {"mean": "10 ms", "cv": 0}});
    let open = json!({"arrivals": {"open": {"rate": "50 /s"}}, "cpu": {"mean": "10 ms", "cv": 0}});
    for version in ["esxi-6.0", "esxi-7.0"] {
        let mut machine = host(version, 1, 4, 1);
        machine.as_object_mut().unwrap().remove("overhead");
        let mut vms = json!({"pinned": vm(2, "w", json!({"affinity": "0-1"})), "free": vm(4, "w", json!({}))});
        let one = report(
            &scenario(machine.clone(), vms.clone(), json!({"w": even(60)}), "40 s", "10 s"),
            1,
        );
        for name in ["pinned", "free"] {
            let run_pct = one.vms[name].run_pct;
            assert!((run_pct - 200.0 / 3.0).abs() < 2.0, "{version}, {name}: {run_pct}");
        }
        // one that has slept for long has its share from then on, and not that of its sleep
        let late = json!({"affinity": "0-1", "load_steps": [{"at": "0 s", "factor": 0}, {"at": "60 s", "factor": 1}]});
        vms["late"] = vm(1, "w", late);
        let one = report(&scenario(machine, vms, json!({"w": even(60)}), "30 s", "64 s"), 1);
        for name in ["pinned", "free", "late"] {
            let run_pct = one.vms[name].run_pct;
            assert!(
                (run_pct - 400.0 / 7.0).abs() < 3.0,
                "{version}, {name} with another: {run_pct}"
            );
        }
        let mut machine = host(version, 2, 4, 1);
        machine.as_object_mut().unwrap().remove("overhead");
        let vms = json!({
            "across": vm(4, "w", json!({"affinity": "2-5"})), "a": vm(4, "w", json!({})), "b": vm(3, "w", json!({})),
            "c": vm(2, "w", json!({})), "web": vm(2, "web", json!({"affinity": "3-4"})),
        });
        let two = report(
            &scenario(machine, vms, json!({"w": even(60), "web": open}), "40 s", "10 s"),
            1,
        );
        for name in ["across", "a", "b", "c"] {
            let run_pct = two.vms[name].run_pct;
            assert!(
                (run_pct - 100.0 * 7.5 / 13.0).abs() < 2.0,
                "{version}, {name}: {run_pct}"
            );
        }
        let web_ms = two.vms["web"].response_ms.mean.unwrap();
        assert!(web_ms < 12.0, "{version}: {web_ms} ms");
    }
}

/// What a VM gets because of its reservation costs the turns of no other, whatever the shares.
#[test]
fn a_reservation_of_one_starves_no_other() {
    let hungry = json!({"arrivals": {"closed": {"population": 60}}, "cpu": {"mean": "10 ms", "cv": 0}});
    let web = json!({"arrivals": {"open": {"rate": "50 /s"}}, "cpu": {"mean": "10 ms", "cv": 0}});
    let workloads = json!({"hungry": hungry, "web": web});
    for (version, shares, reserved) in [
        ("esxi-6.0", 500, "3 GHz"),
        ("esxi-7.0", 500, "3 GHz"),
        ("esxi-7.0", 20, "3 GHz"),
        ("esxi-7.0", 3000, "4.5 GHz"),
        ("esxi-7.0", 50, "4.5 GHz"),
    ] {
        let mut machine = host(version, 1, 4, 1);
        machine["clock"] = json!("2.3 GHz");
        machine.as_object_mut().unwrap().remove("overhead");
        let vms = json!({
            "free": vm(4, "hungry", json!({"shares": 3000})),
            "reserved": vm(3, "hungry", json!({"shares": shares, "reservation": reserved})),
            "limited": vm(2, "hungry", json!({"shares": 4000, "limit": "1 GHz"})),
        });
        let found = report(&scenario(machine.clone(), vms, workloads.clone(), "40 s", "10 s"), 1);
        let case = (version, shares, reserved);
        let used_mhz = found.vms["limited"].used_mhz;
        assert!((used_mhz / 1000.0 - 1.0).abs() < 0.02, "{case:?}: {used_mhz}");
        let vms = json!({
            "free": vm(4, "hungry", json!({})), "web": vm(2, "web", json!({})),
            "reserved": vm(3, "hungry", json!({"shares": shares, "reservation": reserved})),
        });
        let found = report(&scenario(machine, vms, workloads.clone(), "40 s", "10 s"), 1);
        let web_ms = found.vms["web"].response_ms.mean.unwrap();
        assert!(web_ms < 15.0, "{case:?}: {web_ms} ms");
        let reserved_mhz = reserved.trim_end_matches(" GHz").parse::<f64>().unwrap() * 1000.0;
        let used_mhz = found.vms["reserved"].used_mhz;
        assert!((used_mhz / reserved_mhz - 1.0).abs() < 0.02, "{case:?}: {used_mhz}");
    }
}

/// Where virtual time passes quickly on one node, a pinned VM that pauses on the other has no less for it.
#[test]
fn a_pinned_vm_goes_by_the_time_of_its_own_node() {
    let web = json!({"arrivals": {"open": {"rate": "30 /s"}}, "cpu": {"mean": "10 ms", "cv": 0}});
    let hungry = json!({"arrivals": {"closed": {"population": 60}}, "cpu": {"mean": "10 ms", "cv": 0}});
    let vms = json!({
        "web": vm(1, "web", json!({"affinity": "0"})), "busy": vm(4, "hungry", json!({"affinity": "0-1"})),
        "alone": vm(1, "hungry", json!({"affinity": "2", "shares": 50})),
    });
    let workloads = json!({"web": web, "hungry": hungry});
    let report = report(&scenario(host("esxi-7.0", 2, 2, 1), vms, workloads, "40 s", "20 s"), 1);
    let mean_ms = report.vms["web"].response_ms.mean.expect("it does not starve");
    assert!(mean_ms < 20.0, "{mean_ms} ms");
}

/// What a VM got by its reservation while the host was full is not taken from its shares afterwards.
#[test]
fn a_reservation_that_was_needed_is_not_held_against_a_vm_later() {
    let mut machine = host("esxi-7.0", 1, 2, 1);
    machine["clock"] = json!("1 GHz");
    let leaves = json!({"count": 8, "shares": 1000, "load_steps": [{"at": "58 s", "factor": 0}]});
    let vms = json!({
        "reserved": vm(2, "hungry", json!({"shares": 1000, "reservation": "600 MHz"})),
        "rival": vm(2, "hungry", json!({"shares": 1000})), "crowd": vm(1, "hungry", leaves),
    });
    let short = json!({"arrivals": {"closed": {"population": 2}}, "cpu": {"mean": "10 ms"}});
    let report = report(&scenario(machine, vms, json!({"hungry": short}), "20 s", "60 s"), 1);
    for name in ["reserved", "rival"] {
        let used_mhz = report.vms[name].used_mhz;
        assert!((used_mhz / 1000.0 - 1.0).abs() < 0.05, "{name}: {used_mhz}");
    }
}

/// Part of its time that each VM's vCPUs ran after `from_s`.
fn run_after(report: &PointReport, name: &str, from_s: f64) -> f64 {
    let line = &report.timeline.vms[name].run_pct;
    let late = report
        .timeline
        .time_s
        .iter()
        .zip(line)
        .filter(|(time, _)| **time > from_s);
    let (sum, count) = late.fold((0.0, 0), |(sum, count), (_, pct)| (sum + pct, count + 1));
    sum / f64::from(count)
}

/// Whatever VMs did for minutes, seconds after they all want the CPU each has its part by shares and reservation: one
/// that had a host to itself, slept, came from another host, or ran on CPUs of two nodes.
#[test]
fn the_past_is_held_against_nobody_for_long() {
    let hungry = json!({"arrivals": {"closed": {"population": 60}}, "cpu": {"mean": "10 ms", "cv": 0}});
    let late = |factor: f64| json!({"load_steps": [{"at": "0 s", "factor": factor}, {"at": "120 s", "factor": 1}]});
    let with = |mut one: Value, more: Value| {
        support::merge(&mut one, more);
        one
    };
    // VMs of four cores on one node, and the parts that are due to them
    for (case, vms, due) in [
        (
            "a reservation beside a VM that slept",
            json!({"r": vm(4, "w", json!({"reservation": "3 GHz", "shares": 500})), "c": vm(4, "w", with(late(0.0), json!({"shares": 8000})))}),
            vec![("r", 25.0), ("c", 75.0)],
        ),
        (
            "a small reservation beside a VM that slept",
            json!({"r": vm(4, "w", json!({"reservation": "1 GHz"})), "c": vm(4, "w", late(0.0))}),
            vec![("r", 50.0), ("c", 50.0)],
        ),
        (
            "a small reservation beside a VM that did little",
            json!({"r": vm(4, "w", json!({"reservation": "1 GHz"})), "c": vm(4, "w", late(0.02))}),
            vec![("r", 50.0), ("c", 50.0)],
        ),
        (
            "one with many shares that slept",
            json!({"m": vm(4, "w", with(late(0.0), json!({"shares": 16_000}))), "c": vm(4, "w", json!({"count": 2, "shares": 4_000}))}),
            vec![("m", 200.0 / 3.0), ("c-1", 50.0 / 3.0), ("c-2", 50.0 / 3.0)],
        ),
    ] {
        let found = report(
            &scenario(host("esxi-7.0", 1, 4, 1), vms, json!({"w": hungry}), "180 s", "0 s"),
            1,
        );
        for (name, part) in due {
            let run_pct = run_after(&found, name, 130.0);
            assert!((run_pct - part).abs() < 2.0, "{case}: {name} {run_pct} of {part}");
        }
    }
    // two nodes: a pinned VM beside others that begin to roam, and one on CPUs of both
    let vms = json!({
        "pinned": vm(2, "w", json!({"affinity": "0-1"})), "a": vm(3, "w", late(0.02)), "b": vm(3, "w", late(0.02)),
        "c": vm(3, "w", late(0.02)),
    });
    let found = report(
        &scenario(host("esxi-7.0", 2, 4, 1), vms, json!({"w": hungry}), "180 s", "0 s"),
        1,
    );
    for name in ["pinned", "a", "b", "c"] {
        let run_pct = run_after(&found, name, 140.0);
        assert!(
            (run_pct - 800.0 / 11.0).abs() < 4.0,
            "beside roaming VMs: {name} {run_pct}"
        );
    }
    let vms = json!({
        "across": vm(2, "w", json!({"affinity": "1-2"})), "a": vm(2, "w", late(0.02)), "b": vm(2, "w", late(0.02)),
    });
    let found = report(
        &scenario(host("esxi-7.0", 2, 2, 1), vms, json!({"w": hungry}), "180 s", "0 s"),
        1,
    );
    for name in ["across", "a", "b"] {
        let run_pct = run_after(&found, name, 140.0);
        assert!((run_pct - 200.0 / 3.0).abs() < 3.0, "on two nodes: {name} {run_pct}");
    }
}

/// A VM with little share reserves part of what it demands, beside others with much: it gets that, whether it pauses
/// for less time than it is late, or what it is charged on half a core is less than what it reserves.
#[test]
fn a_vm_gets_what_it_reserves_and_demands() {
    let busy = json!({"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "10 ms", "cv": 0}});
    for (threads, cores, others, pause_ms, reserved_mhz, expected) in [
        (1, 1, 3, 0.0, 1_500.0, 1_500.0),
        (1, 1, 3, 0.5, 1_500.0, 1_500.0),
        (1, 1, 3, 3.0, 1_500.0, 1_500.0),
        (1, 1, 3, 10.0, 1_500.0, 1_000.0),
        (1, 2, 6, 3.0, 1_500.0, 1_500.0),
        (2, 2, 7, 0.0, 1_200.0, 1_200.0),
        (2, 2, 7, 0.0, 1_600.0, 1_600.0),
        (2, 2, 7, 0.0, 1_900.0, 1_900.0),
    ] {
        let mut machine = host("esxi-7.0", 1, cores, threads);
        machine["clock"] = json!("2 GHz");
        machine["overhead"] = json!({"activity_pct": 0, "interrupt_share_pct": 0});
        let mut paused = busy.clone();
        paused["wake_up"] = json!("0 s");
        // a vCPU that never sleeps ends its quanta, after which it may claim its core
        paused["arrivals"]["closed"]["population"] = json!(threads);
        paused["arrivals"]["closed"]["think"] = json!({"mean": format!("{pause_ms} ms"), "cv": 0});
        let reserving = json!({"reservation": format!("{reserved_mhz} MHz"), "shares": "low"});
        let vms = json!({
            "reserving": vm(1, "paused", reserving), "busy": vm(1, "busy", json!({"count": others, "shares": "high"})),
        });
        let text = scenario(machine, vms, json!({"paused": paused, "busy": busy}), "20 s", "4 s");
        let used_mhz = report(&text, 1).vms["reserving"].used_mhz;
        let case = (threads, cores, pause_ms, reserved_mhz);
        assert!((0.97..=1.06).contains(&(used_mhz / expected)), "{case:?}: {used_mhz}");
    }
}

/// As many VMs as cores that may run them: each has a core of its own, whatever pins it, on both hypervisors.
#[test]
fn busy_vcpus_find_the_cores_that_they_may_run_on() {
    let pinned = |cpus: &str| json!({"affinity": cpus});
    for hypervisor in ["linux-6.12", "esxi-7.0"] {
        let cases = [
            // over two NUMA nodes, of which either has idle CPUs besides
            (host(hypervisor, 2, 16, 1), json!({"v": vm(16, "w", pinned("8-23"))})),
            (
                host(hypervisor, 2, 4, 1),
                json!({"v": vm(3, "w", pinned("2,3,5")), "free": vm(2, "w", json!({}))}),
            ),
            // the second threads of two cores, and six cores for the others
            (
                host(hypervisor, 1, 8, 2),
                json!({"pinned": vm(2, "w", pinned("1,3")), "free": vm(1, "w", json!({"count": 6}))}),
            ),
            // two of the many that could share a core, one that sleeps for long between
            (
                host(hypervisor, 1, 2, 2),
                json!({
                    "a": vm(1, "w", json!({})), "idle": vm(1, "w", json!({"load": 0})), "b": vm(1, "w", json!({})),
                }),
            ),
            // either of two CPUs for each, one of which runs a VM that may go elsewhere
            (
                host(hypervisor, 1, 8, 1),
                json!({"free": vm(5, "w", json!({})), "pinned": vm(2, "w", pinned("0-1"))}),
            ),
        ];
        for (case, (machine, vms)) in cases.into_iter().enumerate() {
            let run = report(&scenario(machine, vms, json!({"w": even_load(16)}), "40 s", "10 s"), 1);
            for (name, vm) in run.vms.iter().filter(|(name, _)| !name.starts_with("idle")) {
                let alone = 10.0 * f64::from(vm.vcpus);
                let part = vm.throughput_per_s / alone;
                assert!((0.97..1.01).contains(&part), "{hypervisor}, {case}, {name}: {part}");
            }
        }
    }
}

/// Work without end, in pieces of 100 ms.
fn even_load(population: u32) -> Value {
    json!({"arrivals": {"closed": {"population": population}}, "cpu": {"mean": "100 ms", "cv": 0}})
}

/// A thread that must stay idle beside a busy one does not count as one that could run what waits there.
#[test]
fn vms_that_share_no_core_go_to_the_other_node() {
    let mut machine = host("linux-6.12", 2, 4, 2);
    machine["scheduler"] = json!({"core_scheduling": "linux"});
    let each = |index: u32| {
        let load = if index.is_multiple_of(2) {
            json!({})
        } else {
            json!({"load": 0})
        };
        (format!("v{index:02}"), vm(1, "w", load))
    };
    let vms: serde_json::Map<String, Value> = (0..16).map(each).collect();
    let run = report(
        &scenario(machine, vms.into(), json!({"w": even_load(4)}), "20 s", "5 s"),
        1,
    );
    let busy = run.vms.values().filter(|vm| vm.run_pct > 0.0);
    let ready: Vec<f64> = busy.map(|vm| vm.ready_pct).collect();
    assert!(ready.len() == 8 && ready.iter().all(|pct| *pct < 1.0), "{ready:?}");
}
