//! Memory bandwidth, latency and locality in the twin, against closed forms.

use crate::support;

use hypertwin_engine::VmReport;
use serde_json::{Value, json};
use support::{assert_near, host, report, scenario, vm};

const NODE_GB_PER_S: f64 = 40.0;
const LINK_GB_PER_S: f64 = 10.0;
const CORE_GB_PER_S: f64 = 8.0;

/// A host of `sockets` x 8 cores with 40 GB/s per node and 10 GB/s between nodes.
fn machine(hypervisor: &str, sockets: u32, threads: u32) -> Value {
    let mut host = host(hypervisor, sockets, 8, threads);
    host["memory_system"] = json!({
        "node_bandwidth": format!("{NODE_GB_PER_S} GB/s"), "interconnect_bandwidth": format!("{LINK_GB_PER_S} GB/s"),
        "remote_latency_factor": 1.5,
    });
    host
}

/// An idle VM that takes the memory of the node of some CPUs.
fn filling(cpus: &str) -> Value {
    vm(1, "chase", json!({"load": 0, "affinity": cpus, "memory": "1 TiB"}))
}

/// One process on each vCPU that does nothing but stream; a transaction moves 0.8 GB.
fn stream() -> Value {
    json!({
        "arrivals": {"parallel": {"parts": "node"}}, "cpu": {"mean": "100 ms", "cv": 0}, "bursts": 2,
        "memory_traffic": format!("{CORE_GB_PER_S} GB/s"),
    })
}

/// One process that computes all the time, part of it stalled on memory; a transaction takes 10 ms with local memory.
fn chase(intensity: f64) -> Value {
    json!({
        "arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "10 ms", "cv": 0}, "memory_intensity": intensity,
    })
}

fn run(host: Value, vms: Value, duration: &str, warmup: &str) -> std::collections::BTreeMap<String, VmReport> {
    let workloads = json!({"stream": stream(), "chase": chase(0.6)});
    report(&scenario(host, vms, workloads, duration, warmup), 1).vms
}

/// What a node delivers of `offered` GB/s: the saturation curve in its closed form.
fn saturated(offered: f64) -> f64 {
    offered * (1.0 + (offered / NODE_GB_PER_S).powi(5)).powf(-0.2)
}

#[test]
fn bandwidth_saturates_with_the_cores_in_use() {
    for vcpus in 1..=8 {
        let vms = run(
            machine("esxi-6.5", 1, 1),
            json!({"a": vm(vcpus, "stream", json!({}))}),
            "10 s",
            "1 s",
        );
        let expected = saturated(CORE_GB_PER_S * f64::from(vcpus));
        assert_near(vms["a"].memory_gb_per_s, expected, 1e-3, &format!("{vcpus} vCPUs"));
        assert_near(vms["a"].throughput_per_s * 0.8, expected, 0.02, "transactions follow");
    }
}

#[test]
fn hyper_threads_add_nothing_to_a_saturated_node() {
    let of = |vcpus| {
        let vms = json!({"a": vm(vcpus, "stream", json!({}))});
        run(machine("esxi-6.5", 1, 2), vms, "5 s", "1 s")["a"].memory_gb_per_s
    };
    assert_near(
        of(16),
        saturated(8.0 * 1.25 * CORE_GB_PER_S),
        1e-3,
        "16 vCPUs on 8 cores",
    );
    assert!(of(16) < 1.02 * of(8), "{} against {}", of(16), of(8));
}

#[test]
fn machines_on_one_node_share_its_bandwidth_max_min() {
    let vms = json!({
        "modest": vm(1, "stream", json!({})), "hungry": vm(4, "stream", json!({})), "other": vm(3, "stream", json!({})),
    });
    let vms = run(machine("esxi-6.5", 1, 1), vms, "5 s", "1 s");
    let total = saturated(8.0 * CORE_GB_PER_S);
    let rest = (total - CORE_GB_PER_S) / 2.0;
    assert_near(
        vms["modest"].memory_gb_per_s,
        CORE_GB_PER_S,
        1e-3,
        "one core has all it asks for",
    );
    assert_near(vms["hungry"].memory_gb_per_s, rest, 1e-3, "four cores");
    assert_near(vms["other"].memory_gb_per_s, rest, 1e-3, "three cores get as much");
}

#[test]
fn remote_memory_slows_what_waits_for_it_and_nothing_else() {
    // Memory is where its vCPU is bound to, as far as another VM leaves room there.
    let on = |cpus: &str, full: &str| {
        let vms = json!({"full": filling(full), "v": vm(1, "chase", json!({"affinity": cpus}))});
        let vms = run(machine("esxi-6.5", 2, 1), vms, "5 s", "1 s");
        vms["v"].response_ms.mean.expect("transactions")
    };
    for (own, other) in [("0-7", "8-15"), ("8-15", "0-7")] {
        assert_near(on(own, other), 10.0, 1e-6, "local");
        assert_near(on(own, own), 10.0 * (0.4 + 0.6 * 1.5), 1e-6, "remote");
    }
}

#[test]
fn a_remote_stream_gets_what_the_link_carries() {
    // All its vCPUs are bound to node 0, which has no memory for it.
    let stream = vm(16, "stream", json!({"affinity": "0-15", "cores_per_socket": 8}));
    let vms = json!({"full": filling("0-15"), "v": stream});
    let vms = run(machine("esxi-6.5", 2, 2), vms, "5 s", "1 s");
    assert_near(vms["v"].memory_remote_gb_per_s, LINK_GB_PER_S, 0.02, "over the link");
}

#[test]
fn hot_add_interleaves_memory_over_the_nodes() {
    let wide = |hot_add| {
        let vms = json!({"a": vm(16, "stream", json!({"cores_per_socket": 8, "cpu_hot_add": hot_add}))});
        run(machine("esxi-6.5", 2, 1), vms, "5 s", "1 s")
            .remove("a")
            .expect("the machine")
    };
    let (seen, hidden) = (wide(false), wide(true));
    assert_eq!((seen.virtual_nodes, hidden.virtual_nodes), (2, 1));
    assert_near(
        seen.memory_gb_per_s,
        2.0 * saturated(8.0 * CORE_GB_PER_S),
        1e-3,
        "all local",
    );
    assert_eq!(seen.memory_remote_gb_per_s, 0.0);
    // Half of every thread's accesses cross a link, one in each direction.
    assert_near(
        hidden.memory_remote_gb_per_s,
        2.0 * LINK_GB_PER_S,
        0.02,
        "over both links",
    );
    assert_near(
        hidden.memory_gb_per_s,
        4.0 * LINK_GB_PER_S,
        0.02,
        "as fast as its slowest half",
    );
}

#[test]
fn clients_that_cannot_be_spread_collapse_and_their_pages_follow() {
    let uneven = |migration: &str| {
        let mut host = machine("esxi-6.5", 2, 2);
        host["memory_system"]["page_migration"] = json!(migration);
        let vms = json!({"a": vm(18, "stream", json!({"cores_per_socket": 6, "memory": "18 GiB"}))});
        run(host, vms, "5 s", "20 s").remove("a").expect("the machine")
    };
    let (collapsed, left_behind) = (uneven("1 GB/s"), uneven("0 GB/s"));
    assert_eq!(collapsed.virtual_nodes, 3);
    assert_near(
        collapsed.numa_local_pct,
        100.0,
        1e-9,
        "N%L once the pages have followed",
    );
    assert_near(collapsed.numa_local_mb, 18.0 * 1024.0, 1e-9, "NLMEM");
    assert_near(left_behind.numa_local_pct, 200.0 / 3.0, 1e-3, "N%L while they stay");
}

/// Threads of KVM have no home: their memory is local while they run on its node.
#[test]
fn memory_is_local_where_threads_without_a_home_run() {
    let vm = |cpus: &str| vm(2, "stream", json!({"affinity": cpus, "memory": "18 GiB"}));
    let vms = json!({
        "all": filling("0-7"), "far": vm("0-3"), "half": vm("7-8"), "near": vm("12-15"),
        "resting": {"vcpus": 1, "memory": "1 GiB", "workload": "chase", "load": 0, "affinity": "5"},
    });
    for hypervisor in ["linux-6.12", "esxi-7.0"] {
        let seen = run(machine(hypervisor, 2, 1), vms.clone(), "4 s", "1 s");
        for (name, expected) in [("far", 0.0), ("half", 50.0), ("near", 100.0)] {
            let (all, remote) = (seen[name].memory_gb_per_s, seen[name].memory_remote_gb_per_s);
            assert_near(seen[name].numa_local_pct, expected, 1e-9, name);
            assert!(
                (100.0 * (all - remote) / all - expected).abs() < 5.0,
                "{hypervisor}, {name}: {remote} of {all}"
            );
        }
        assert_near(seen["resting"].numa_local_pct, 0.0, 1e-9, "what has not run");
    }
}

/// What the hypervisor keeps is spread over the nodes, and VMs have the rest of each.
#[test]
fn a_node_has_the_memory_that_the_hypervisor_leaves() {
    for (hypervisor, keeps, expected) in [
        ("linux-6.12", Some("0 GiB"), 25.0),
        ("linux-6.12", Some("1024 GiB"), 50.0),
        ("linux-6.12", None, 25.0),
        ("esxi-8.0", Some("0 GiB"), 25.0),
        ("esxi-8.0", Some("1024 GiB"), 50.0),
        // where it is not known, as in a published example
        ("esxi-8.0", None, 25.0 / 0.89),
    ] {
        let mut host = machine(hypervisor, 2, 1);
        if let Some(keeps) = keeps {
            host["hypervisor_memory"] = json!(keeps);
        }
        let vms = json!({"a": vm(8, "chase", json!({"memory": "256 GiB", "count": 2}))});
        let text = scenario(host, vms, json!({"chase": chase(0.5)}), "1 s", "0 s");
        let nodes = report(&text, 1).hosts.remove("h").expect("the host").nodes;
        for (name, node) in nodes {
            assert_near(
                node.memory_pct,
                expected,
                1e-6,
                &format!("{hypervisor}, {keeps:?}: node {name}"),
            );
        }
    }
}

#[test]
fn a_parallel_transaction_takes_as_long_as_its_slowest_part() {
    // Three vCPUs on two cores of one thread each: one of them waits for its turn.
    let of = |parts: &str| {
        let mut host = host("esxi-6.5", 1, 2, 1);
        host["scheduler"] = json!({"quantum": "1 ms"});
        let workloads = json!({"w": {
            "arrivals": {"parallel": {"parts": parts}}, "cpu": {"mean": "600 ms", "cv": 0}, "bursts": 100,
        }});
        let vms = json!({"a": vm(2, "w", json!({})), "b": vm(1, "w", json!({}))});
        let reports = report(&scenario(host, vms, workloads, "60 s", "5 s"), 1).vms;
        reports["a"].response_ms.mean.expect("transactions")
    };
    // Machine a has two thirds of the shares of two cores: 600 ms of work take 600 / (4 / 3).
    assert_near(of("node"), 450.0, 0.03, "the node's threads help each other");
    assert!(
        of("vcpu") >= 0.99 * of("node"),
        "with a part for each vCPU it is no faster"
    );
}
