//! Core scheduling in whole runs: what it costs, who shares a core, and that nobody starves.

use crate::support;

use hypertwin_engine::PointReport;
use serde_json::{Value, json};
use support::{host, hungry, report, scenario, vm};

const POLICIES: [(&str, &str); 4] = [
    ("esxi-8.0", "off"),
    ("esxi-6.7", "sca-v1"),
    ("esxi-6.7", "sca-v2"),
    ("linux-6.12", "linux"),
];

/// VMs that never wait on `cores` cores of two threads.
fn run(hypervisor: &str, policy: &str, cores: u32, vms: Value) -> PointReport {
    let mut machine = host(hypervisor, 1, cores, 2);
    machine["smt_yield"] = json!(1.4);
    machine["scheduler"] = json!({"core_scheduling": policy});
    let work = json!({"one": hungry(1), "two": hungry(2)});
    report(&scenario(machine, vms, work, "20 s", "2 s"), 1)
}

#[test]
fn vms_share_a_core_only_without_core_scheduling() {
    for (hypervisor, policy) in POLICIES {
        let result = run(hypervisor, policy, 1, json!({"v": vm(1, "one", json!({"count": 2}))}));
        let expected = if policy == "off" { 100.0 } else { 50.0 };
        for (name, vm) in &result.vms {
            assert!(
                (vm.run_pct - expected).abs() < 2.0,
                "{policy}: {name} runs {} %",
                vm.run_pct
            );
        }
    }
}

#[test]
fn the_vcpus_of_a_vm_share_a_core_except_under_sca_v1() {
    for (hypervisor, policy) in POLICIES {
        let result = run(hypervisor, policy, 1, json!({"v": vm(2, "two", json!({}))}));
        let expected = if policy == "sca-v1" { 50.0 } else { 100.0 };
        let run_pct = result.vms["v"].run_pct;
        assert!((run_pct - expected).abs() < 2.0, "{policy}: {run_pct} %");
    }
}

/// Two VMs take turns on a core: the wide one with both threads.
#[test]
fn a_narrow_vm_gets_its_turn_beside_a_wide_one() {
    for (hypervisor, policy) in [("esxi-6.7", "sca-v2"), ("linux-6.12", "linux")] {
        for (shares, least, most) in [("low", 15.0, 36.0), ("normal", 32.0, 52.0), ("high", 48.0, 70.0)] {
            let vms = json!({"wide": vm(2, "two", json!({})), "narrow": vm(1, "one", json!({"shares": shares}))});
            let result = run(hypervisor, policy, 1, vms);
            let [wide, narrow] = ["wide", "narrow"].map(|name| result.vms[name].run_pct);
            assert!(
                narrow > least && narrow < most,
                "{policy}, {shares} shares: {narrow} % beside {wide} %"
            );
            assert!(
                (wide + narrow - 100.0).abs() < 2.0,
                "{policy}: the core is always busy, with {wide} % and {narrow} %"
            );
        }
    }
}

/// At full load a host loses what its hyper-threads bring, and VMs with several vCPUs lose it under SCAv1 alone.
#[test]
fn the_loss_at_full_load_is_what_hyper_threads_bring() {
    for (hypervisor, policy) in POLICIES {
        let work = json!({"w": {"arrivals": {"closed": {"population": 8}}, "cpu": {"mean": "10 ms", "cv": 0}}});
        let mut machine = host(hypervisor, 1, 4, 2);
        machine["smt_yield"] = json!(1.4);
        machine["scheduler"] = json!({"core_scheduling": policy});
        let throughput = |vcpus: u32, count: u32| {
            let vms = json!({"v": vm(vcpus, "w", json!({"count": count}))});
            report(&scenario(machine.clone(), vms, work.clone(), "10 s", "1 s"), 1).groups["v"].throughput_per_s
        };
        let (alone, shared) = (4.0 / 0.01, 4.0 * 1.4 / 0.01);
        let wide = if policy == "sca-v1" { alone } else { shared };
        let narrow = if policy == "off" { shared } else { alone };
        for (vcpus, count, expected) in [(8, 1, wide), (1, 8, narrow)] {
            let measured = throughput(vcpus, count);
            assert!(
                (measured / expected - 1.0).abs() < 0.02,
                "{policy}, {count} VMs of {vcpus} vCPUs: {measured}/s, not {expected}/s"
            );
        }
    }
}
