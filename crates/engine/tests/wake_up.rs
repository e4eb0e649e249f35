//! What it takes to wake an idle vCPU, in closed form, and that a wake-up which is cut short leaves nothing behind.

use crate::support;

use hypertwin_cluster::Scenario;
use hypertwin_engine::{LimitKind, PointReport, State, VmReport, watched_run};
use serde_json::{Value, json};
use support::{host, hungry, merge, parse, vm};

/// One client whose work is 1 ms, and who thinks between.
fn client(think: &str) -> Value {
    json!({"arrivals": {"closed": {"population": 1, "think": {"mean": think, "cv": 0}}}, "cpu": {"mean": "1 ms", "cv": 0}})
}

/// A scenario in which nothing is taken away from wake-ups.
fn scenario(host: Value, vms: Value, workloads: Value, more: Value) -> Scenario {
    let mut text = json!({
        "name": "wake-up", "run": {"duration": "10 s", "warmup": "1 s", "sample_interval": "1 s"},
        "hosts": {"h": host}, "vms": vms, "workloads": workloads,
    });
    merge(&mut text, more);
    parse(&text)
}

/// The VM of a client with `think` and `more`, alone on a host.
fn alone(host: Value, think: &str, more: Value) -> (PointReport, VmReport) {
    let mut workload = client(think);
    merge(&mut workload, more);
    let scenario = scenario(
        host,
        json!({"v": vm(1, "w", json!({}))}),
        json!({"w": workload}),
        json!({}),
    );
    let report = support::report(&scenario, 1);
    let vm = report.vms["v"].clone();
    (report, vm)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3 * b.abs().max(1.0)
}

#[test]
fn a_client_needs_its_work_and_its_wake_up_and_the_deeper_the_cpu_sleeps_the_longer() {
    for (hypervisor, policy, think, think_us, wake_us) in [
        ("esxi-8.0", None, "0 us", 0.0, 7.0),
        ("esxi-8.0", None, "100 us", 100.0, 15.0),
        ("esxi-8.0", None, "9 ms", 9_000.0, 46.0),
        ("esxi-8.0", Some("balanced"), "9 ms", 9_000.0, 46.0),
        ("esxi-8.0", Some("custom"), "9 ms", 9_000.0, 46.0),
        ("esxi-8.0", Some("high-performance"), "9 ms", 9_000.0, 7.0),
        ("esxi-8.0", Some("not-managed"), "9 ms", 9_000.0, 7.0),
        ("esxi-5.1", None, "9 ms", 9_000.0, 7.0),
        ("esxi-5.1", Some("low-power"), "9 ms", 9_000.0, 46.0),
        ("linux-6.6", None, "9 ms", 9_000.0, 46.0),
        ("linux-6.6", Some("high-performance"), "9 ms", 9_000.0, 7.0),
        // KVM polls for 200 us before the CPU sleeps
        ("linux-6.6", None, "0 us", 0.0, 2.0),
        ("linux-6.6", None, "199 us", 199.0, 2.0),
        ("linux-6.6", None, "250 us", 250.0, 15.0),
        ("linux-6.6", Some("high-performance"), "199 us", 199.0, 2.0),
    ] {
        let mut machine = host(hypervisor, 1, 1, 1);
        if let Some(policy) = policy {
            machine["power_policy"] = json!(policy);
        }
        let (report, vm) = alone(machine, think, json!({}));
        let period_us = 1_000.0 + wake_us + think_us;
        let case = format!("{hypervisor} {policy:?} {think}: {vm:?}");
        assert!(close(vm.throughput_per_s, 1e6 / period_us), "{case}");
        assert!(close(vm.response_ms.mean.unwrap(), (1_000.0 + wake_us) / 1e3), "{case}");
        assert!(close(vm.run_pct, 100.0 * 1_000.0 / period_us), "{case}");
        assert!((vm.ready_pct - 100.0 * wake_us / period_us).abs() < 2e-3, "{case}");
        assert!(
            (vm.guest_cpu_pct - vm.run_pct).abs() < 1e-9,
            "idle to the guest: {case}"
        );
        let all = vm.run_pct + vm.ready_pct + vm.costop_pct + vm.wait_pct;
        assert!((all - 100.0).abs() < 1e-9, "{case}");
        let host = &report.hosts["h"];
        assert!(
            (host.utilization_pct - vm.run_pct).abs() < 1e-6,
            "the CPU is not busy: {host:?}"
        );
    }
}

#[test]
fn a_workload_may_have_a_wake_up_of_its_own() {
    for (wake_up, wake_us) in [("0 s", 0.0), ("250 us", 250.0)] {
        let (_, vm) = alone(host("esxi-8.0", 1, 1, 1), "9 ms", json!({"wake_up": wake_up}));
        assert!(close(vm.throughput_per_s, 1e6 / (10_000.0 + wake_us)), "{vm:?}");
    }
}

#[test]
fn a_vcpu_halts_once_however_often_it_is_sampled_meanwhile() {
    // it pauses for longer than KVM polls, and is sampled within every fourth pause
    let mut workload = client("250 us");
    workload["cpu"]["mean"] = json!("20 us");
    let [seldom, often] = ["1 s", "1 ms"].map(|interval| {
        let run = json!({"run": {"duration": "1 s", "warmup": "0 s", "sample_interval": interval}});
        let vms = json!({"v": vm(1, "w", json!({}))});
        let scenario = scenario(host("linux-6.6", 1, 1, 1), vms, json!({"w": workload}), run);
        support::report(&scenario, 1).vms["v"].throughput_per_s
    });
    assert!(close(seldom, 1e6 / 285.0) && close(often, seldom), "{seldom} {often}");
}

#[test]
fn a_host_polls_for_a_vcpu_that_halted_lately_however_long_its_cpu_has_been_idle() {
    // a pauses for 250 us, in which b runs on the same CPU: a has halted for too long, though its CPU has just been
    // busy
    let client = |work: &str, gap: &str| json!({"arrivals": {"closed": {"population": 1, "think": {"mean": gap, "cv": 0}}}, "cpu": {"mean": work, "cv": 0}});
    let vms = json!({"a": vm(1, "long", json!({})), "b": vm(1, "short", json!({}))});
    let workloads = json!({"long": client("1 ms", "250 us"), "short": client("10 us", "90 us")});
    let scenario = scenario(host("linux-6.6", 1, 1, 1), vms, workloads, json!({}));
    let mean_us = support::report(&scenario, 1).vms["a"].response_ms.mean.unwrap() * 1e3;
    assert!(mean_us > 1_005.0, "{mean_us}");
}

#[test]
fn a_core_of_which_one_thread_is_busy_does_not_sleep() {
    let vms = json!({
        "client": vm(1, "client", json!({"affinity": "0"})),
        "busy": vm(1, "busy", json!({"affinity": "1"})),
    });
    let mut machine = host("esxi-8.0", 1, 1, 2);
    machine["smt_yield"] = json!(2.0); // so that they do not slow each other down
    let scenario = scenario(
        machine,
        vms,
        json!({"client": client("9 ms"), "busy": hungry(1)}),
        json!({}),
    );
    let vm = &support::report(&scenario, 1).vms["client"];
    assert!(close(vm.throughput_per_s, 1e6 / 10_007.0), "{vm:?}");
}

#[test]
fn a_process_that_becomes_runnable_on_a_busy_vcpu_pays_nothing() {
    // two processes take turns on one vCPU, which is never idle
    let (_, vm) = alone(
        host("esxi-8.0", 1, 1, 1),
        "0 s",
        json!({"arrivals": {"closed": {"population": 2}}}),
    );
    assert!(close(vm.throughput_per_s, 1_000.0) && vm.ready_pct < 1e-6, "{vm:?}");
}

#[test]
fn one_client_of_a_database_waits_for_wake_ups_and_many_do_not() {
    // pgbench, read-only, 8 vCPUs on 4 cores of a cloud: 30,000 transactions per second with one client and 265,500
    // with
    // 25. Client and server wake each other; the work is what one client leaves after two wake-ups from C1.
    let throughput = |clients: u32| {
        let mut machine = host("linux-6.6", 1, 4, 2);
        machine["smt_yield"] = json!(1.35);
        let work_us = 1e6 / 30_000.0 - 2.0 * 7.0;
        // the host was Hyper-V, which does not poll as KVM does
        let workload = json!({
            "arrivals": {"closed": {"population": clients}}, "bursts": 2, "wake_up": "7 us",
            "cpu": {"mean": format!("{work_us:.3} us"), "cv": 0.5},
        });
        let vms = json!({"pg": vm(8, "select", json!({}))});
        let run = json!({"run": {"duration": "100 ms", "warmup": "10 ms", "sample_interval": "10 ms"}});
        let scenario = scenario(machine, vms, json!({"select": workload}), run);
        support::report(&scenario, 1).vms["pg"].throughput_per_s
    };
    let (one, many) = (throughput(1), throughput(25));
    assert!((one / 30_000.0 - 1.0).abs() < 0.02, "{one}");
    assert!((many / 265_500.0 - 1.0).abs() < 0.15, "{many}");
}

#[test]
fn a_host_that_fails_during_a_wake_up_begins_it_again() {
    // wake up until the failure at 0.5 s; from 2.5 s on wake up for 1 s, work until 3.51 s, and wake up again
    let workload = json!({
        "arrivals": {"closed": {"population": 1, "think": {"mean": "1 us", "cv": 0}}},
        "cpu": {"mean": "10 ms", "cv": 0}, "wake_up": "1 s",
    });
    let more = json!({
        "run": {"duration": "4 s", "warmup": "0 s", "sample_interval": "500 ms"},
        "failures": [{"at": "500 ms", "fails": ["h"], "returns": "2.5 s"}],
    });
    let vms = json!({"v": vm(1, "w", json!({}))});
    let report = support::report(
        &scenario(host("esxi-8.0", 1, 1, 1), vms, json!({"w": workload}), more),
        1,
    );
    let vm = &report.vms["v"];
    assert!(close(vm.response_ms.mean.unwrap(), 3_510.0), "{vm:?}");
    assert!(close(vm.ready_pct, 100.0 * (0.5 + 1.0 + 0.49) / 4.0), "{vm:?}");
    assert!(close(vm.run_pct, 100.0 * 0.01 / 4.0), "{vm:?}");
}

#[test]
fn a_vcpu_that_is_held_back_while_it_wakes_up_does_not_wake_up_again() {
    // One vCPU runs while the other wakes up, until the limit stops both.
    let workload = json!({
        "arrivals": {"closed": {"population": 2, "think": {"mean": "5 ms", "cv": 1}}},
        "cpu": {"mean": "30 ms", "cv": 1}, "wake_up": "50 ms",
    });
    for hypervisor in ["esxi-8.0", "linux-6.6"] {
        let vms = json!({"v": vm(2, "w", json!({"limit": "600 MHz"}))});
        let run = json!({"run": {"duration": "60 s", "warmup": "0 s"}});
        let scenario = scenario(host(hypervisor, 1, 2, 1), vms, json!({"w": workload}), run);
        let (mut held, mut before, mut is_awake, mut begun) = (0, None, false, None);
        let result = watched_run(&scenario, 1, |view| {
            let world = view.worlds().find(|world| world.vm == Some(0)).expect("its first vCPU");
            let account = *world.account;
            let total_ns = account.total_ns() + view.now() - world.since;
            assert_eq!(total_ns, view.now(), "{hypervisor}: all its time is accounted for");
            match (before, world.state) {
                (Some((State::Run, run_ns)), State::Ready) => {
                    held += u32::from(run_ns == account.run_ns);
                    is_awake = true;
                }
                (Some((State::Ready, _)), State::Run) if is_awake => begun = Some((world.since, account.run_ns)),
                (_, State::Wait) => (is_awake, begun) = (false, None),
                _ => {}
            }
            if let (Some((since, run_ns)), State::Run) = (begun, world.state) {
                assert_eq!(
                    account.run_ns - run_ns,
                    world.since - since,
                    "{hypervisor}: it begins at once"
                );
            }
            before = Some((world.state, account.run_ns));
        });
        result.expect("the run succeeds");
        assert!(held > 5, "{hypervisor}: {held} times");
    }
}

#[test]
fn ready_time_of_wake_ups_is_no_wait_for_a_logical_cpu() {
    let short = json!({"cpu": {"mean": "10 us", "cv": 0}});
    let (report, vm) = alone(host("esxi-8.0", 1, 4, 1), "30 us", short);
    assert!(
        vm.ready_pct > 20.0 && close(vm.waiting_pct, 0.0),
        "{} and {}",
        vm.ready_pct,
        vm.waiting_pct
    );
    assert!(report.judgement.vms.is_empty(), "{:?}", report.judgement.vms);
    assert_ne!(report.judgement.limits["v"].kind, LimitKind::HostCpu);
}

#[test]
fn a_vcpu_that_finds_all_cpus_busy_waits_for_them_however_lately_it_woke() {
    let workload = |wake_up: &str| {
        json!({
            "arrivals": {"open": {"rate": "1400 /s"}}, "cpu": {"mean": "200 us", "cv": 0}, "wake_up": wake_up,
        })
    };
    for hypervisor in ["esxi-8.0", "linux-6.6"] {
        let [none, some] = ["0 s", "10 us"].map(|wake_up| {
            let mut vms = json!({"v": vm(1, "w", json!({}))});
            vms["v"]["count"] = json!(6);
            let workloads = json!({"w": workload(wake_up)});
            let scenario = scenario(host(hypervisor, 1, 2, 1), vms, workloads, json!({}));
            support::report(&scenario, 1).vms["v-1"].clone()
        });
        assert!(none.ready_pct > 1.0, "{hypervisor}: {none:?}");
        assert_eq!(none.waiting_pct, none.ready_pct, "{hypervisor}");
        // at most every arrival wakes its vCPU
        let wakes_pct = some.ready_pct - some.waiting_pct;
        assert!(wakes_pct > 0.0 && wakes_pct <= 1.4 * 1.05, "{hypervisor}: {some:?}");
    }
}
